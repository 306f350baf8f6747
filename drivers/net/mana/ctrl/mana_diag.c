/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bus_pci_driver.h>

#include "mana.h"
#include "mana_log.h"

#define MODPROBE "modprobe -a mana mana_ib ib_uverbs"

static bool
pci_has(const char *pci_name, const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", rte_pci_get_sysfs_path(),
		 pci_name, file);
	return access(path, F_OK) == 0;
}

/*
 * The kernel driver of the function, or NULL. EAL does not probe a function without a
 * driver: its scan leaves it out.
 */
static const char *
pci_driver(const char *pci_name, char target[PATH_MAX])
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/driver", rte_pci_get_sysfs_path(),
		 pci_name);
	return realpath(path, target) != NULL ? strrchr(target, '/') + 1 : NULL;
}

void
mana_diag_no_rdma(const char *pci_name, int error)
{
	if (error == -ENOSYS)
		MANA_PORT_LOG(ERR, pci_name,
			      "this kernel has no RDMA user access (ib_uverbs); `" MODPROBE
			     "`, kernel 6.2 or later");
	else if (error == -EPERM || error == -EACCES)
		MANA_PORT_LOG(ERR, pci_name,
			      "no permission to list RDMA devices; check /dev/infiniband/uverbs*");
	else
		MANA_PORT_LOG(ERR, pci_name, "cannot list RDMA devices: %s",
			      strerror(-error));
}

void
mana_diag_no_device(const char *pci_name, const char *refused)
{
	char target[PATH_MAX];
	const char *driver = pci_driver(pci_name, target);

	if (refused != NULL)
		MANA_PORT_LOG(ERR, pci_name,
			      "its only RDMA device %s is not an Ethernet one (no raw packets); module mana_ib has not made the Ethernet device",
			      refused);
	else if (driver != NULL && strcmp(driver, "mana") != 0)
		MANA_PORT_LOG(ERR, pci_name,
			      "the function belongs to the kernel driver %s and must belong to mana: `modprobe mana` and `dpdk-devbind.py -b mana %s`",
			      driver, pci_name);
	else if (pci_has(pci_name, "infiniband"))
		MANA_PORT_LOG(ERR, pci_name,
			      "the kernel has an RDMA device, but libibverbs does not list it; check that /dev/infiniband/uverbs* exist here, that rdma-core's provider libmana is installed (package ibverbs-providers, rdma-core 44 or later), and that the device is in this network namespace (`rdma system` says `netns shared`)");
	else if (pci_has(pci_name, "net"))
		MANA_PORT_LOG(ERR, pci_name,
			      "has a netdev but no RDMA device; `" MODPROBE
			     "`, kernel 6.2 or later; kernels up to 6.12 also need an adapter with the RNIC function");
	else
		MANA_PORT_LOG(ERR, pci_name,
			      "no RDMA device and no netdev; `" MODPROBE
			     "`, and check whether the netdev lives in another network namespace");
}

void
mana_diag_no_netdev(const char *pci_name, uint32_t port, int error)
{
	if (error == -ENODEV)
		MANA_DRV_LOG(ERR,
			     "%s port %u: its netdev is in another network namespace; run the program there (`ip netns exec <name> <program>`), or move it here: `ip link set dev <netdev> netns <this one>` there",
			     pci_name, port);
	else if (error == -ENOENT)
		MANA_DRV_LOG(ERR,
			     "%s port %u: it has no netdev; `" MODPROBE
			     "`, or wait until the kernel has reset the adapter",
			     pci_name, port);
	else
		MANA_DRV_LOG(ERR, "%s port %u: cannot find its netdev: %s",
			     pci_name, port, strerror(-error));
}

void
mana_diag_open(const char *pci_name, const char *device, const char *node,
	       int error)
{
	if (error == -EACCES)
		MANA_PORT_LOG(ERR, pci_name,
			      "no permission to open /dev/infiniband/%s (%s); run as root, or give the user the node (`chown`, a udev rule)",
			      node, device);
	else if (error == -EPERM)
		MANA_PORT_LOG(ERR, pci_name,
			      "no permission to open /dev/infiniband/%s (%s); the device rules of the container (cgroup) forbid it, start it with `--device /dev/infiniband/%s`",
			      node, device, node);
	else if (error == -ENOMEM || error == -EPROTO)
		MANA_PORT_LOG(ERR, pci_name,
			      "cannot open %s: %s; the adapter may have no doorbell page left, close other programs that use it",
			      device, strerror(-error));
	else
		MANA_PORT_LOG(ERR, pci_name, "cannot use %s: %s", device,
			      strerror(-error));
}

/* The kernel's netdev or another program owns the vPort. */
static void
diag_busy(const struct mana_priv *priv, const char *what)
{
	const char *name = priv->data->name;
	struct mana_netdev_state state;
	int ret = mana_netdev_state_get(&priv->netdev, &state);

	if (ret == -ENODEV)
		MANA_PORT_LOG(ERR, name,
			      "%s: the port is in use; its netdev %s is in another network namespace, and owns the port if it is up there: `ip link set dev %s down` there, or another DPDK program has it",
			      what, state.name, state.name);
	else if (ret == 0 && state.is_up)
		MANA_PORT_LOG(ERR, name,
			      "%s: netdev %s is up and owns the port; `ip link set dev %s down`",
			      what, state.name, state.name);
	else
		MANA_PORT_LOG(ERR, name,
			      "%s: the port of netdev %s is in use; another DPDK program has it, or the netdev is changing its queues, then try again",
			      what, state.name);
}

static const char *
object_reason(int error)
{
	switch (error) {
	case -EPERM:
		return "raw packet queues need CAP_NET_RAW (in the initial user namespace): run as root or `setcap cap_net_raw,cap_ipc_lock+ep <program>`";
	case -ENOMEM:
		return "out of memory, or its ring cannot be pinned: raise RLIMIT_MEMLOCK (`ulimit -l unlimited`) or give the program CAP_IPC_LOCK";
	case -EMFILE:
		return "no file descriptor left; each Rx interrupt needs several, raise `ulimit -n`";
	case -EIO:
		return "the device was removed or reset";
	case -EPROTO:
		return "the adapter refused it; it may have no queue left, use fewer, or smaller ones";
	default:
		return strerror(-error);
	}
}

void
mana_diag_object(const struct mana_priv *priv, const char *what, uint32_t id,
		 int error)
{
	char object[64];

	if (id != MANA_DIAG_NO_ID)
		snprintf(object, sizeof(object), "%s %u", what, id);
	else
		snprintf(object, sizeof(object), "%s", what);
	/* ENODEV: Linux up to 6.12. */
	if (error == -EBUSY || error == -ENODEV)
		diag_busy(priv, object);
	else
		MANA_PORT_LOG(ERR, priv->data->name, "%s: %s", object,
			      object_reason(error));
}

void
mana_diag_netdev_down(const char *name, const char *netdev, int error)
{
	if (error == -EPERM)
		MANA_PORT_LOG(ERR, name,
			      "netdev_down=1: no permission to set netdev %s down; give the program CAP_NET_ADMIN (`setcap cap_net_admin,cap_net_raw,cap_ipc_lock+ep <program>`), or `ip link set dev %s down` before the probe",
			      netdev, netdev);
	else if (error == -ENODEV)
		MANA_PORT_LOG(ERR, name,
			      "netdev_down=1: netdev %s is not in this program's network namespace; `ip link set dev %s down` there, without netdev_down=1 here",
			      netdev, netdev);
	else
		MANA_PORT_LOG(ERR, name,
			      "netdev_down=1: cannot set netdev %s down: %s; `ip link set dev %s down` before the probe",
			      netdev, strerror(-error), netdev);
}

void
mana_diag_mr(const struct mana_priv *priv, uintptr_t addr, size_t len, int error)
{
	const char *name = priv->data->name;
	struct rlimit limit;

	if (error == -ENOMEM && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		MANA_PORT_LOG(ERR, name,
			      "cannot register %zu bytes at 0x%" PRIxPTR
			      ": RLIMIT_MEMLOCK is %" PRIu64
			      " bytes; `ulimit -l unlimited` or give the program CAP_IPC_LOCK",
			      len, addr, (uint64_t)limit.rlim_cur);
	else if (error == -EACCES) /* the driver's: Linux ib_umem_get() has none */
		MANA_PORT_LOG(ERR, name,
			      "foreign_mem=refuse: DPDK does not manage the %zu bytes at 0x%" PRIxPTR
			      "; use rte_extmem_register() and rte_dev_dma_map(), or remove the argument",
			      len, addr);
	else
		MANA_PORT_LOG(ERR, name,
			      "cannot register %zu bytes at 0x%" PRIxPTR ": %s",
			      len, addr, strerror(-error));
}
