/* SPDX-License-Identifier: BSD-3-Clause */

/* Discovery: the RDMA device of a PCI function, and its ports with their netdevs. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bus_pci_driver.h>

#include "mana_discover.h"
#include "mana_log.h"
#include "mana_verbs.h"

/* GDMA device type of the Ethernet function (Linux gdma.h, GDMA_DEVICE_MANA). */
#define GDMA_DEVICE_MANA 2

/*
 * Whether an RDMA device is that of the PCI function: its "device" link leads to the PCI
 * device in all known kernels.
 */
static bool
is_device_of(const struct ibv_device *device, const struct rte_pci_addr *addr)
{
	char path[PATH_MAX], target[PATH_MAX];
	struct rte_pci_addr found;

	snprintf(path, sizeof(path), "%s/device", device->ibdev_path);
	return realpath(path, target) != NULL &&
	       rte_pci_addr_parse(strrchr(target, '/') + 1, &found) == 0 &&
	       rte_pci_addr_cmp(addr, &found) == 0;
}

/*
 * Takes the device and its ports if it is the function's Ethernet device. 0: it is; 1: it is the
 * RNIC, a second device with the same PCI address and no raw packets; -errno: the device cannot
 * be used. Older kernels fill neither field of their only device (Linux mana_ib_query_device).
 */
static int
try_device(struct mana_function *function, struct ibv_device *device)
{
	struct mana_verbs_caps caps;
	struct ibv_context *ctx;
	int ret = mana_verbs_open(device, &ctx);

	if (ret != 0)
		return ret;
	ret = mana_verbs_query(ctx, &caps);
	mana_verbs_close(ctx);
	if (ret != 0)
		return ret;
	if (caps.vendor_part_id != 0 &&
	    (caps.vendor_part_id != GDMA_DEVICE_MANA || caps.raw_packet_caps == 0))
		return 1;
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

/*
 * Before libibverbs is initialised. If a user asks for safe forks (RDMAV_FORK_SAFE), it has to
 * ask for the size of pages, or fails to register a part of a huge page.
 */
RTE_INIT(huge_pages_set)
{
	(void)setenv("RDMAV_HUGEPAGES_SAFE", "1", 0);
}

int
mana_discover(const struct rte_pci_addr *addr, const char *pci_name, bool is_logged,
	      struct mana_function *function)
{
	const struct ibv_device *refused = NULL; /* the RNIC */
	const struct ibv_device *failed = NULL; /* cannot be used */
	int nb_devices = 0, error, ret = 1;

	*function = (struct mana_function){ .pci_name = pci_name };
	error = MANA_VERBS_CREATE(function->list, ibv_get_device_list(&nb_devices));
	if (error != 0) {
		if (is_logged)
			mana_diag_no_rdma(pci_name, error);
		return error;
	}
	error = -ENODEV;
	for (int i = 0; i < nb_devices && ret != 0; i++) {
		struct ibv_device *device = function->list[i];

		if (!is_device_of(device, addr))
			continue;
		ret = try_device(function, device);
		/* This may be the RNIC, and another device the Ethernet one. */
		if (ret < 0) {
			failed = device;
			error = ret;
		} else if (ret > 0) {
			refused = device;
		}
	}
	if (ret == 0)
		return 0;
	if (is_logged && failed != NULL)
		mana_diag_open(pci_name, failed->name, failed->dev_name, error);
	else if (is_logged)
		mana_diag_no_device(pci_name, refused != NULL ? refused->name : NULL);
	mana_discover_release(function);
	return error;
}

void
mana_discover_release(struct mana_function *function)
{
	ibv_free_device_list(function->list);
	free(function->ports);
}

void
mana_discover_log_ports(const struct mana_function *function)
{
	for (unsigned int i = 0; i < function->nb_ports; i++) {
		const struct mana_port_info *info = &function->ports[i];
		struct mana_netdev_state state;
		char mac[RTE_ETHER_ADDR_FMT_SIZE];

		if (info->netdev_error != 0) {
			mana_diag_no_netdev(function->pci_name, info->port, info->netdev_error);
			continue;
		}
		(void)mana_netdev_state_get(&info->netdev, &state);
		rte_ether_format_addr(mac, sizeof(mac), &info->netdev.mac);
		MANA_INIT_LOG(ERR, "%s port %u: %s, netdev %s, %s",
			      function->pci_name, info->port, mac, state.name,
			      state.is_up ? "up (must be down for DPDK)" : "down");
	}
}
