/* SPDX-License-Identifier: BSD-3-Clause */

/* Error messages about the kernel, the device and memory, each with cause and remedy. */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include <bus_pci_driver.h>

#include "mana_log.h"
#include "mana_port.h"

#define MODPROBE "modprobe -a mana mana_ib ib_uverbs"

/* The last part of the path to which a file of the function's folder leads, or NULL. */
static const char *
pci_link(const char *pci_name, const char *file, char target[PATH_MAX])
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", rte_pci_get_sysfs_path(), pci_name, file);
	return realpath(path, target) != NULL ? strrchr(target, '/') + 1 : NULL;
}

void
mana_diag_no_rdma(const char *pci_name, int error)
{
	const char *reason = strerror(-error);

	if (error == -ENOSYS)
		reason = "this kernel has no RDMA user access (ib_uverbs); `" MODPROBE
			 "`, kernel 6.2 or later";
	else if (error == -EPERM || error == -EACCES)
		reason = "no permission; check /dev/infiniband/uverbs*";
	MANA_PORT_LOG(ERR, pci_name, "cannot list RDMA devices: %s", reason);
}

void
mana_diag_no_device(const char *pci_name, const char *refused)
{
	char target[PATH_MAX];
	/* EAL does not probe a function without a driver: its scan leaves it out. */
	const char *driver = pci_link(pci_name, "driver", target);

	if (refused != NULL)
		MANA_PORT_LOG(ERR, pci_name,
			      "its only RDMA device %s is the RNIC; mana_ib has not created the Ethernet device: see `dmesg`",
			      refused);
	else if (driver != NULL && strcmp(driver, "mana") != 0)
		MANA_PORT_LOG(ERR, pci_name,
			      "the function belongs to the kernel driver %s and must belong to mana: `modprobe mana` and `dpdk-devbind.py -b mana %s`",
			      driver, pci_name);
	else
		MANA_PORT_LOG(ERR, pci_name, "%s",
			      pci_link(pci_name, "infiniband", target) != NULL ?
			      "the kernel has an RDMA device, but libibverbs does not list it; check that /dev/infiniband/uverbs* exist here, that rdma-core's provider libmana is installed (package ibverbs-providers, rdma-core 44 or later), and that the device is in this network namespace (`rdma system` says `netns shared`)" :
			      pci_link(pci_name, "net", target) != NULL ?
			      "has a netdev but no RDMA device; `" MODPROBE
			      "`, kernel 6.2 or later; kernels up to 6.12 also need an adapter with the RNIC function" :
			      "no RDMA device and no netdev; `" MODPROBE
			      "`, and check whether the netdev lives in another network namespace");
}

void
mana_diag_no_netdev(const char *pci_name, uint32_t port, int error)
{
	const char *reason = strerror(-error);

	if (error == -ENODEV)
		reason = "it is in another network namespace; run the program there (`ip netns exec <name> <program>`), or move it here: `ip link set dev <netdev> netns <this one>` there";
	else if (error == -ENOENT)
		reason = "the port has none; `" MODPROBE
			 "`, or wait until the kernel has reset the adapter";
	MANA_DRV_LOG(ERR, "%s port %u: cannot find its netdev: %s", pci_name, port, reason);
}

void
mana_diag_open(const char *pci_name, const char *device, const char *node, int error)
{
	const char *remedy = "";

	if (error == -EACCES)
		remedy = "; run as root, or give the user the node (`chown`, a udev rule)";
	else if (error == -EPERM)
		remedy = "; the device rules of the container (cgroup) forbid it, start it with `--device` and the node";
	else if (error == -ENOMEM || error == -EPROTO)
		remedy = "; the adapter may have no doorbell page left, close other programs that use it";
	MANA_PORT_LOG(ERR, pci_name, "cannot use %s (/dev/infiniband/%s): %s%s", device,
		      node, strerror(-error), remedy);
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

/*
 * The limit of memory that the program may lock, or RLIM_INFINITY: it has none, or with
 * CAP_IPC_LOCK in the initial user namespace it does not count (Linux ib_umem_get()).
 */
static rlim_t
memlock_limit_bytes(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };
	const ino_t initial = 0xeffffffd; /* Linux proc_ns.h PROC_USER_INIT_INO */
	struct rlimit limit;
	struct stat ns;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		return RLIM_INFINITY;
	if (syscall(SYS_capget, &header, caps) == 0 &&
	    (caps[0].effective & RTE_BIT32(CAP_IPC_LOCK)) != 0 &&
	    stat("/proc/self/ns/user", &ns) == 0 && ns.st_ino == initial)
		return RLIM_INFINITY;
	return limit.rlim_cur;
}

static const char *
object_reason(int error)
{
	switch (error) {
	case -EPERM:
		return "raw packet queues need CAP_NET_RAW (in the initial user namespace): run as root or `setcap cap_net_raw,cap_ipc_lock+ep <program>`";
	case -ENOMEM:
		return memlock_limit_bytes() == RLIM_INFINITY ? "out of memory" :
			"out of memory, or its ring cannot be pinned: raise RLIMIT_MEMLOCK (`ulimit -l unlimited`) or give the program CAP_IPC_LOCK";
	case -EMFILE:
		return "no file descriptor left; each Rx interrupt needs several, raise `ulimit -n`";
	case -EINVAL:
		return "the kernel refused it; another program that stops its queues may still have the id of its CQ, try again";
	case -EIO:
		return "the device was removed or reset";
	case -EPROTO:
		return "the adapter refused it; it may have no queue left, use fewer, or smaller ones";
	default:
		return strerror(-error);
	}
}

void
mana_diag_object(const struct mana_priv *priv, const char *what, uint32_t id, int error)
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
		MANA_PORT_LOG(ERR, priv->data->name, "%s: %s", object, object_reason(error));
}

void
mana_diag_netdev_down(const char *name, const char *netdev, int error)
{
	const char *reason = strerror(-error), *where = "before the probe";

	if (error == -EPERM) {
		reason = "no permission, give the program CAP_NET_ADMIN (`setcap cap_net_admin,cap_net_raw,cap_ipc_lock+ep <program>`)";
		where = "before the probe instead";
	} else if (error == -ENODEV) {
		reason = "it is not in this program's network namespace";
		where = "there, without netdev_down=1 here";
	}
	MANA_PORT_LOG(ERR, name,
		      "netdev_down=1: cannot set netdev %s down: %s; `ip link set dev %s down` %s",
		      netdev, reason, netdev, where);
}

void
mana_diag_mr(const struct mana_priv *priv, uintptr_t addr, size_t len, int error)
{
	const char *name = priv->data->name;
	const rlim_t limit = memlock_limit_bytes();

	if (error == -ENOMEM && limit != RLIM_INFINITY)
		MANA_PORT_LOG(ERR, name,
			      "cannot register %zu bytes at 0x%" PRIxPTR
			      ": RLIMIT_MEMLOCK is %" PRIu64
			      " bytes; `ulimit -l unlimited` or give the program CAP_IPC_LOCK",
			      len, addr, (uint64_t)limit);
	else if (error == -EACCES)
		MANA_PORT_LOG(ERR, name,
			      "no key for %zu bytes at 0x%" PRIxPTR
			      " of a secondary process: this process does not have the memory; use DPDK's own memory, or rte_extmem_register() in both",
			      len, addr);
	else
		MANA_PORT_LOG(ERR, name,
			      "cannot register %zu bytes at 0x%" PRIxPTR ": %s",
			      len, addr, strerror(-error));
}
