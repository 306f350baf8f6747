/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The layout is the kernel's: a folder per device below devices/, and links to
 * it in bus/ and class/. The tree has the files that libibverbs (util.c,
 * init.c, verbs.c), ibv_devinfo, DPDK's PCI bus (drivers/bus/pci/linux/pci.c)
 * and drivers for the device read, with the contents of Linux 7.2.
 *
 * Devices are added and removed while programs run, in any of their threads. So
 * these functions run with the machine's lock held, are async-signal-safe, and
 * use direct system calls.
 */

#include <stdio.h>

#include "function.h"
#include "kernel_version.h"
#include "netdev_list.h"
#include "sysfs.h"

#define PCI_DOMAIN 0x7870 /* as in a Hyper-V VM */

#define BAR0_BYTES 0x8000000u /* registers and doorbell pages */
#define BAR4_BYTES 0x8000u /* MSI-X table */
#define BAR_BASE   0xfe0000000u

/* The first 64 bytes of a configuration space (PCI 3.0, 6.1). */
static void
put_pci_config(struct tree *tree, const char *dir)
{
	const uint16_t device = segment_config()->pci_device;
	uint8_t config[256] = {
		[0x00] = MODEL_PCI_VENDOR & 0xff,
		[0x01] = MODEL_PCI_VENDOR >> 8,
		[0x02] = device & 0xff,
		[0x03] = device >> 8,
		[0x04] = 0x06, /* memory space, bus master */
		[0x0a] = (SYSFS_PCI_CLASS >> 8) & 0xff,
		[0x0b] = SYSFS_PCI_CLASS >> 16,
		[0x2c] = MODEL_PCI_VENDOR & 0xff,
		[0x2d] = MODEL_PCI_VENDOR >> 8,
		[0x2e] = device & 0xff,
		[0x2f] = device >> 8,
	};

	tree_bytes(tree, dir, "config", config, sizeof(config));
}

static void
put_pci_resources(struct tree *tree, const char *dir, uint32_t fn)
{
	const uint64_t bar0 = BAR_BASE + (uint64_t)fn * 2 * BAR0_BYTES;
	const uint64_t bar4 = bar0 + BAR0_BYTES;
	static char text[13 * 64];
	size_t at = 0;

	for (int i = 0; i < 13; i++) {
		uint64_t start = i == 0 ? bar0 : i == 4 ? bar4 : 0;
		uint64_t bytes = i == 0 ? BAR0_BYTES : i == 4 ? BAR4_BYTES : 0;

		/* Flags: memory, prefetchable, 64-bit (Linux ioport.h). */
		at += (size_t)snprintf(
			text + at, sizeof(text) - at,
			"0x%016llx 0x%016llx 0x%016llx\n",
			(unsigned long long)start,
			(unsigned long long)(bytes != 0 ? start + bytes - 1 : 0),
			bytes != 0 ? 0x14220cULL : 0ULL);
	}
	tree_text(tree, dir, "resource", "%s", text);
}

void
sysfs_pci_modalias(char modalias[SYSFS_MODALIAS_BYTES])
{
	const unsigned int device = segment_config()->pci_device;

	snprintf(modalias, SYSFS_MODALIAS_BYTES,
		 "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X",
		 MODEL_PCI_VENDOR, device, MODEL_PCI_VENDOR, device,
		 SYSFS_PCI_CLASS >> 16, SYSFS_PCI_CLASS >> 8 & 0xff,
		 SYSFS_PCI_CLASS & 0xff);
}

static void
put_pci(struct tree *tree, uint32_t fn, const char *slot, const char *dir)
{
	const unsigned int device = segment_config()->pci_device;
	char modalias[SYSFS_MODALIAS_BYTES];

	sysfs_pci_modalias(modalias);
	tree_dirs(tree, dir);
	tree_text(tree, dir, "vendor", "0x%04x\n", MODEL_PCI_VENDOR);
	tree_text(tree, dir, "device", "0x%04x\n", device);
	tree_text(tree, dir, "subsystem_vendor", "0x%04x\n", MODEL_PCI_VENDOR);
	tree_text(tree, dir, "subsystem_device", "0x%04x\n", device);
	tree_text(tree, dir, "class", "0x%06x\n", SYSFS_PCI_CLASS);
	tree_text(tree, dir, "revision", "0x00\n");
	tree_text(tree, dir, "irq", "0\n");
	tree_text(tree, dir, "enable", "1\n");
	tree_text(tree, dir, "driver_override", "(null)\n");
	tree_text(tree, dir, "numa_node", "%d\n", segment_config()->numa_node);
	tree_text(tree, dir, "modalias", "%s\n", modalias);
	tree_text(tree, dir, "uevent",
		  "DRIVER=mana\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\n"
		  "PCI_SUBSYS_ID=%04X:%04X\nPCI_SLOT_NAME=%s\nMODALIAS=%s\n",
		  SYSFS_PCI_CLASS, MODEL_PCI_VENDOR, device, MODEL_PCI_VENDOR,
		  device, slot, modalias);
	put_pci_resources(tree, dir, fn);
	put_pci_config(tree, dir);
	tree_link(tree, dir, "driver", "bus/pci/drivers/mana");
	tree_link(tree, dir, "subsystem", "bus/pci");
	tree_link(tree, "bus/pci/devices", slot, dir);
	tree_link(tree, "bus/pci/drivers/mana", slot, dir);
}

static void
put_netdev(struct tree *tree, const struct kernel_netdev *netdev,
	   const char *pci_dir)
{
	const uint8_t *mac = netdev->mac;
	char dir[192];

	snprintf(dir, sizeof(dir), "%s/net/%s", pci_dir, netdev->name);
	tree_dirs(tree, dir);
	tree_text(tree, dir, "address", "%02x:%02x:%02x:%02x:%02x:%02x\n",
		  mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	tree_text(tree, dir, "broadcast", "ff:ff:ff:ff:ff:ff\n");
	tree_text(tree, dir, "addr_len", "6\n");
	tree_text(tree, dir, "addr_assign_type", "0\n");
	tree_text(tree, dir, "type", "1\n");
	tree_text(tree, dir, "dev_id", "0x0\n");
	tree_text(tree, dir, "dev_port", "%u\n", netdev->port);
	tree_text(tree, dir, "ifindex", "%u\n", netdev->ifindex);
	tree_text(tree, dir, "iflink", "%u\n", netdev->ifindex);
	tree_text(tree, dir, "mtu", "%u\n", netdev->mtu);
	/* IFF_BROADCAST and IFF_MULTICAST, with IFF_UP when up, and IFF_SLAVE. */
	tree_text(tree, dir, "flags", "0x%x\n",
		  (netdev->is_up ? 0x1003 : 0x1002) |
			  (netdev_master(netdev) != 0 ? IFF_SLAVE : 0));
	tree_text(tree, dir, "operstate", "%s\n", netdev->is_up ? "up" : "down");
	tree_text(tree, dir, "tx_queue_len", "1000\n");
	/* Some are readable only while it is up (preload/sysfs_path.c). */
	tree_text(tree, dir, "carrier", "%d\n", netdev->carrier);
	tree_text(tree, dir, "speed", "%d\n", (int)netdev->speed_mbps);
	tree_text(tree, dir, "duplex", "full\n");
	tree_text(tree, dir, "dormant", "0\n");
	tree_text(tree, dir, "testing", "0\n");
	tree_text(tree, dir, "carrier_changes", "%u\n",
		  netdev->nb_carrier_up + netdev->nb_carrier_down);
	tree_text(tree, dir, "carrier_up_count", "%u\n", netdev->nb_carrier_up);
	tree_text(tree, dir, "carrier_down_count", "%u\n",
		  netdev->nb_carrier_down);
	tree_text(tree, dir, "gro_flush_timeout", "0\n");
	tree_text(tree, dir, "ifalias", "\n");
	tree_text(tree, dir, "link_mode", "0\n");
	tree_text(tree, dir, "name_assign_type", "1\n"); /* NET_NAME_ENUM */
	tree_text(tree, dir, "netdev_group", "0\n");
	tree_text(tree, dir, "proto_down", "0\n");
	tree_text(tree, dir, "threaded", "0\n");
	tree_text(tree, dir, "uevent", "INTERFACE=%s\nIFINDEX=%u\n",
		  netdev->name, netdev->ifindex);
	tree_link(tree, dir, "device", pci_dir);
	tree_link(tree, dir, "subsystem", "class/net");
	tree_link(tree, "class/net", netdev->name, dir);
}

void
sysfs_pci_dir(uint32_t fn, char dir[SYSFS_PCI_DIR_BYTES])
{
	char slot[NETDEV_PCI_BYTES];

	netdev_pci_address(fn, slot);
	snprintf(dir, SYSFS_PCI_DIR_BYTES, "devices/pci%04x:00/%s",
		 PCI_DOMAIN + fn, slot);
}

static void
put_parts(struct tree *tree, uint32_t fn, uint32_t parts)
{
	char slot[NETDEV_PCI_BYTES], pci_dir[SYSFS_PCI_DIR_BYTES];
	struct kernel_netdev netdev;
	struct rdma_device device;

	netdev_pci_address(fn, slot);
	sysfs_pci_dir(fn, pci_dir);
	if (parts & SYSFS_PCI)
		put_pci(tree, fn, slot, pci_dir);
	for (uint32_t p = 0; p < segment_config()->nb_ports[fn]; p++) {
		netdev_get(fn, p, &netdev);
		if ((parts & SYSFS_NET) && netdev.ns != KERNEL_NETDEV_OTHER_NS)
			put_netdev(tree, &netdev, pci_dir);
	}
	for (int i = 0; i < 2; i++)
		if ((parts & SYSFS_RDMA) && rdma_device_get(fn, i != 0, &device))
			sysfs_put_rdma(tree, &device, pci_dir);
}

void
sysfs_put(uint32_t fn, uint32_t parts)
{
	struct tree tree;

	tree_open(&tree);
	if (tree.error == 0)
		put_parts(&tree, fn, parts);
	tree_close_logged(&tree);
}

void
sysfs_put_netdev(const struct kernel_netdev *netdev)
{
	char pci_dir[SYSFS_PCI_DIR_BYTES];
	struct tree tree;

	sysfs_pci_dir(netdev->fn, pci_dir);
	tree_open(&tree);
	if (tree.error == 0)
		put_netdev(&tree, netdev, pci_dir);
	tree_close_logged(&tree);
}

int
sysfs_create(char *where, unsigned int where_bytes)
{
	static const char *const folders[] = {
		"bus/pci/devices",  "bus/pci/drivers/mana",
		"class/infiniband", "class/infiniband_verbs",
		"class/net",	    "devices",
	};
	struct tree tree;

	tree_open(&tree);
	if (tree.error == 0) {
		for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
			tree_dirs(&tree, folders[i]);
		tree_text(&tree, "class/infiniband_verbs", "abi_version", "6\n");
		segment_lock();
		for (uint32_t fn = 0; fn < segment_config()->nb_functions; fn++)
			put_parts(&tree, fn, SYSFS_ALL);
		segment_kernel()->is_made = tree.error == 0;
		segment_unlock();
	}
	tree_close(&tree);
	snprintf(where, where_bytes, "%s", tree.at);
	return tree.error;
}

/*
 * Linux core/sysfs.c rate_show() from width and speed of query_port. An empty file
 * reads as EINVAL (preload/sysfs_path.c).
 */
static const char *
rate_of(const struct kernel_port_answer *answer, uint32_t port)
{
	uint8_t width = port == 1 ? answer->width_first : answer->width_others;

	return width == 2 ? "100 Gb/sec (4X EDR)\n" :
	       width == 0 ? "" : "2.5 Gb/sec (1X SDR)\n";
}

/* The GID table; only entry 0 is used, see uverbs_gid.c. */
static void
put_gids(struct tree *tree, const struct rdma_device *device,
	 const char *rdma_dir, uint32_t port, uint32_t nb_gids,
	 const char *netdev)
{
	const uint8_t *guid = device->node_guid;
	char dir[256], name[16];

	snprintf(dir, sizeof(dir), "%s/ports/%u/gids", rdma_dir, port);
	tree_dirs(tree, dir);
	for (uint32_t i = 1; i < nb_gids; i++) {
		snprintf(name, sizeof(name), "%u", i);
		tree_text(tree, dir, name,
			  "0000:0000:0000:0000:0000:0000:0000:0000\n");
	}
	if (nb_gids == 0)
		return;
	tree_text(tree, dir, "0",
		  "fe80:0000:0000:0000:%02x%02x:%02x%02x:%02x%02x:%02x%02x\n",
		  guid[0], guid[1], guid[2], guid[3], guid[4], guid[5],
		  guid[6], guid[7]);
	snprintf(dir, sizeof(dir), "%s/ports/%u/gid_attrs/ndevs", rdma_dir, port);
	tree_dirs(tree, dir);
	tree_text(tree, dir, "0", "%s\n", netdev);
	snprintf(dir, sizeof(dir), "%s/ports/%u/gid_attrs/types", rdma_dir, port);
	tree_dirs(tree, dir);
	tree_text(tree, dir, "0", "RoCE v2\n");
}

/* Verbs port, from 1. It is down because its netdev is (Linux ib/main.c). */
static void
put_rdma_port(struct tree *tree, const struct rdma_device *device,
	      const char *rdma_dir, uint32_t port, const char *netdev)
{
	const struct kernel_port_answer *answer = kernel_version_port(device->is_rnic);
	char dir[256];

	snprintf(dir, sizeof(dir), "%s/ports/%u", rdma_dir, port);
	tree_dirs(tree, dir);
	tree_text(tree, dir, "state",
		  answer->is_filled ? "1: DOWN\n" : "0: NOP\n");
	tree_text(tree, dir, "phys_state",
		  answer->is_filled ? "3: Disabled\n" : "0: <unknown>\n");
	tree_text(tree, dir, "rate", "%s", rate_of(answer, port));
	tree_text(tree, dir, "link_layer",
		  answer->link_layer == 2 ? "Ethernet\n" : "InfiniBand\n");
	tree_text(tree, dir, "lid", "0x0\n");
	tree_text(tree, dir, "lid_mask_count", "0\n");
	tree_text(tree, dir, "sm_lid", "0x0\n");
	tree_text(tree, dir, "sm_sl", "0\n");
	tree_text(tree, dir, "cap_mask", "0x00000000\n");
	snprintf(dir, sizeof(dir), "%s/ports/%u/pkeys", rdma_dir, port);
	tree_dirs(tree, dir);
	tree_text(tree, dir, "0", "0xffff\n"); /* mana_ib_query_pkey() */
	put_gids(tree, device, rdma_dir, port,
		 port == 1 ? answer->nb_gids_first : answer->nb_gids_others,
		 netdev);
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
	tree_text(tree, dir, "node_desc", "\n");
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
