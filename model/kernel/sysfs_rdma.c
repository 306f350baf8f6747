/* SPDX-License-Identifier: BSD-3-Clause */

/* RDMA devices and their uverbs in sysfs. */

#include <stdio.h>

#include "netdev.h"
#include "rdma_device.h"
#include "sysfs_tree.h"
#include "traits.h"

/* Linux core/sysfs.c rate_show() of the width and speed of query_port. */
static const char *
rate_of(const struct kernel_port_answer *answer, uint32_t port)
{
	uint8_t width = port == 1 ? answer->width_first : answer->width_others;

	return width == 2 ? "100 Gb/sec (4X EDR)" :
	       width == 0 ? "-22" :
			    "2.5 Gb/sec (1X SDR)";
}

/* Verbs port, from 1; the netdev is down, so the port is (Linux ib/main.c). */
static void
put_rdma_port(struct tree *tree, const struct rdma_device *device,
	      const char *rdma_dir, uint32_t port, const char *netdev)
{
	const struct kernel_traits *traits = kernel_traits();
	const struct kernel_port_answer *answer = device->is_rnic ?
							  &traits->rnic_port :
							  &traits->raw_port;
	char dir[256];

	snprintf(dir, sizeof(dir), "%s/ports/%u", rdma_dir, port);
	tree_dirs(tree, dir);
	tree_text(tree, dir, "state",
		  answer->is_filled ? "1: DOWN\n" : "0: NOP\n");
	tree_text(tree, dir, "phys_state",
		  answer->is_filled ? "3: Disabled\n" : "0: <unknown>\n");
	tree_text(tree, dir, "rate", "%s\n", rate_of(answer, port));
	tree_text(tree, dir, "link_layer",
		  answer->link_layer == 2 ? "Ethernet\n" : "InfiniBand\n");
	tree_text(tree, dir, "lid", "0x0\n");
	tree_text(tree, dir, "lid_mask_count", "0\n");
	tree_text(tree, dir, "sm_lid", "0x0\n");
	tree_text(tree, dir, "sm_sl", "0\n");
	tree_text(tree, dir, "cap_mask", "0x00000000\n");
	snprintf(dir, sizeof(dir), "%s/ports/%u/gids", rdma_dir, port);
	tree_dirs(tree, dir);
	tree_text(tree, dir, "0", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	snprintf(dir, sizeof(dir), "%s/ports/%u/gid_attrs/ndevs", rdma_dir, port);
	tree_dirs(tree, dir);
	tree_text(tree, dir, "0", "%s\n", netdev);
	snprintf(dir, sizeof(dir), "%s/ports/%u/gid_attrs/types", rdma_dir, port);
	tree_dirs(tree, dir);
	tree_text(tree, dir, "0", "IB/RoCE v1\n");
}

static void
put_uverbs(struct tree *tree, const struct rdma_device *device,
	   const char *pci_dir)
{
	const uint32_t minor = KERNEL_UVERBS_MINOR_BASE + device->number;
	char name[32], dir[192];

	snprintf(name, sizeof(name), "uverbs%u", device->number);
	snprintf(dir, sizeof(dir), "%s/infiniband_verbs/%s", pci_dir, name);
	tree_dirs(tree, dir);
	tree_text(tree, dir, "ibdev", "%s\n", device->name);
	tree_text(tree, dir, "dev", "%d:%u\n", KERNEL_UVERBS_MAJOR, minor);
	tree_text(tree, dir, "abi_version", "1\n");
	tree_text(tree, dir, "uevent",
		  "MAJOR=%d\nMINOR=%u\nDEVNAME=infiniband/%s\n",
		  KERNEL_UVERBS_MAJOR, minor, name);
	tree_link(tree, dir, "device", pci_dir);
	tree_link(tree, dir, "subsystem", "class/infiniband_verbs");
	tree_link(tree, "class/infiniband_verbs", name, dir);
}

void
sysfs_put_rdma(struct tree *tree, const struct rdma_device *device,
	       const char *pci_dir)
{
	const uint8_t *guid = device->node_guid;
	struct kernel_netdev netdev;
	char dir[192];

	snprintf(dir, sizeof(dir), "%s/infiniband/%s", pci_dir, device->name);
	tree_dirs(tree, dir);
	tree_text(tree, dir, "node_type", "1: CA\n");
	tree_text(tree, dir, "node_guid",
		  "%02x%02x:%02x%02x:%02x%02x:%02x%02x\n", guid[0], guid[1],
		  guid[2], guid[3], guid[4], guid[5], guid[6], guid[7]);
	tree_text(tree, dir, "sys_image_guid", "0000:0000:0000:0000\n");
	tree_text(tree, dir, "node_desc", "%s\n", device->name);
	tree_text(tree, dir, "fw_ver", "\n");
	tree_link(tree, dir, "device", pci_dir);
	tree_link(tree, dir, "subsystem", "class/infiniband");
	tree_link(tree, "class/infiniband", device->name, dir);
	for (uint32_t p = 0; p < device->nb_ports; p++) {
		netdev_get(device->fn, p, &netdev);
		put_rdma_port(tree, device, dir, p + 1, netdev.name);
	}
	put_uverbs(tree, device, pci_dir);
}
