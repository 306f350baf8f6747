/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "mana.h"
#include "mana_log.h"

/* GDMA device type of the Ethernet function (Linux gdma.h, GDMA_DEVICE_MANA). */
#define GDMA_DEVICE_MANA 2

/*
 * The PCI function of an RDMA device: its "device" link leads to the PCI device in
 * all known kernels. -ENOENT: it does not.
 */
static int
rdma_pci_addr(const struct ibv_device *device, struct rte_pci_addr *addr)
{
	static const char key[] = "PCI_SLOT_NAME=";
	char path[PATH_MAX];
	char line[128];
	int ret = -ENOENT;
	FILE *f;

	if (snprintf(path, sizeof(path), "%s/device/uevent",
		     device->ibdev_path) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	f = fopen(path, "re");
	if (f == NULL)
		return -ENOENT;
	while (ret != 0 && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, key, sizeof(key) - 1) == 0)
			ret = rte_pci_addr_parse(line + sizeof(key) - 1, addr);
	}
	fclose(f);
	return ret;
}

/*
 * A function may have a second RDMA device, the RNIC, with the same PCI
 * address and no raw packets. Older kernels fill neither field of their only
 * one (Linux mana_ib_query_device).
 */
static bool
is_ethernet(const struct mana_verbs_caps *caps)
{
	return caps->vendor_part_id == 0 ||
	       (caps->vendor_part_id == GDMA_DEVICE_MANA &&
		caps->raw_packet_caps != 0);
}

/*
 * Takes the device and its ports if it is the function's Ethernet device. 0: it is; 1: it
 * is the RNIC; -errno: the device cannot be used.
 */
static int
try_device(struct mana_function *function, struct ibv_device *device)
{
	struct mana_verbs_caps caps;
	struct ibv_context *ctx;
	int ret;

	ret = mana_verbs_open(device, &ctx);
	if (ret != 0)
		return ret;
	ret = mana_verbs_query(ctx, &caps);
	mana_verbs_close(ctx);
	if (ret != 0)
		return ret;
	if (!is_ethernet(&caps)) {
		MANA_INIT_LOG(DEBUG,
			      "%s: %s is not the Ethernet device (part %u, raw packet capabilities %#x)",
			      function->pci_name, device->name,
			      caps.vendor_part_id, caps.raw_packet_caps);
		return 1;
	}
	if (caps.nb_ports == 0)
		return -ENODEV;
	function->ports = calloc(caps.nb_ports, sizeof(*function->ports));
	if (function->ports == NULL)
		return -ENOMEM;
	function->device = device;
	function->nb_ports = caps.nb_ports;
	for (uint32_t i = 0; i < caps.nb_ports; i++) {
		struct mana_port_info *info = &function->ports[i];

		info->port = i + 1;
		info->netdev_error = mana_netdev_find(device->ibdev_path,
						      info->port, &info->netdev);
	}
	return 0;
}

/* Why a function has no Ethernet device: the list of them keeps the names. */
struct reason {
	const struct ibv_device *refused; /* the RNIC, or NULL */
	const struct ibv_device *failed; /* the device cannot be used, or NULL */
};

/* After a failure the caller releases the function. */
static int
discover(const struct rte_pci_addr *addr, const char *pci_name,
	 struct mana_function *function, struct reason *reason)
{
	struct rte_pci_addr found;
	int nb_devices, error = -ENODEV;
	int ret;

	memset(reason, 0, sizeof(*reason));
	memset(function, 0, sizeof(*function));
	function->pci_name = pci_name;
	ret = mana_verbs_list_get(&function->list, &nb_devices);
	if (ret != 0)
		return ret;
	ret = 1;
	for (int i = 0; i < nb_devices && ret != 0; i++) {
		struct ibv_device *device = function->list[i];

		if (rdma_pci_addr(device, &found) != 0 ||
		    rte_pci_addr_cmp(addr, &found) != 0)
			continue;
		ret = try_device(function, device);
		/* This may be the RNIC, and another device the Ethernet one. */
		if (ret < 0) {
			reason->failed = device;
			error = ret;
		} else if (ret > 0) {
			reason->refused = device;
		}
	}
	return ret == 0 ? 0 : error;
}

int
mana_discover_silently(const struct rte_pci_addr *addr, const char *pci_name,
		       struct mana_function *function)
{
	struct reason reason;
	int ret = discover(addr, pci_name, function, &reason);

	if (ret != 0)
		mana_discover_release(function);
	return ret;
}

int
mana_discover(const struct rte_pci_addr *addr, const char *pci_name,
	      struct mana_function *function)
{
	struct reason reason;
	int ret = discover(addr, pci_name, function, &reason);

	if (ret == 0)
		return 0;
	if (function->list == NULL)
		mana_diag_no_rdma(pci_name, ret);
	else if (reason.failed != NULL)
		mana_diag_open(pci_name, reason.failed->name,
			       reason.failed->dev_name, ret);
	else
		mana_diag_no_device(pci_name, reason.refused != NULL ?
					      reason.refused->name : NULL);
	mana_discover_release(function);
	return ret;
}

void
mana_discover_release(struct mana_function *function)
{
	if (function->list != NULL)
		ibv_free_device_list(function->list);
	free(function->ports);
	memset(function, 0, sizeof(*function));
}

void
mana_discover_log_ports(const struct mana_function *function)
{
	for (unsigned int i = 0; i < function->nb_ports; i++) {
		const struct mana_port_info *info = &function->ports[i];
		struct mana_netdev_state state;
		char mac[RTE_ETHER_ADDR_FMT_SIZE];

		if (info->netdev_error != 0) {
			mana_diag_no_netdev(function->pci_name, info->port,
					    info->netdev_error);
			continue;
		}
		(void)mana_netdev_state_get(&info->netdev, &state);
		rte_ether_format_addr(mac, sizeof(mac), &info->netdev.mac);
		MANA_INIT_LOG(ERR, "%s port %u: %s, netdev %s, %s",
			      function->pci_name, info->port, mac, state.name,
			      state.is_up ? "up (must be down for DPDK)" : "down");
	}
}
