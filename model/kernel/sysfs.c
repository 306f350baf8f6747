/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Laid out as the kernel does it: one folder per device below devices/, links
 * to it from bus/ and class/. Written are the files that libibverbs (util.c,
 * init.c, verbs.c), ibv_devinfo, DPDK's PCI bus (drivers/bus/pci/linux/pci.c)
 * and drivers for the device read; contents as Linux 7.2 gives them.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "kernel.h"
#include "segment.h"
#include "sysfs.h"

/* Linux gdma_main.c mana_id_table; OpenVMM gdma/src/lib.rs hardware ids. */
#define PCI_VENDOR 0x1414
#define PCI_DEVICE 0x00ba
#define PCI_CLASS 0x020000
#define PCI_DOMAIN 0x7870 /* as a Hyper-V VM numbers them */

#define BAR0_BYTES 0x8000000u /* registers and doorbell pages */
#define BAR4_BYTES 0x8000u    /* MSI-X table */
#define BAR_BASE 0xfe0000000u

/* A tree that is being written; the first error sticks. */
struct tree {
	int root; /* descriptor of sys/ */
	int error;
	char at[256]; /* where it stuck */
};

static void
fail(struct tree *tree, const char *path)
{
	if (tree->error != 0)
		return;
	tree->error = -errno;
	snprintf(tree->at, sizeof(tree->at), "%.*s",
		 (int)sizeof(tree->at) - 1, path);
}

static void
make_dirs(struct tree *tree, const char *path)
{
	char part[256];

	for (size_t i = 1; i <= strlen(path); i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		if (mkdirat(tree->root, part, 0755) != 0 && errno != EEXIST)
			fail(tree, part);
	}
}

static void
put_bytes(struct tree *tree, const char *dir, const char *name,
	  const void *bytes, size_t nb_bytes)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = openat(tree->root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0644);
	if (fd < 0 || write(fd, bytes, nb_bytes) != (ssize_t)nb_bytes)
		fail(tree, path);
	if (fd >= 0)
		close(fd);
}

static void __attribute__((format(printf, 4, 5)))
put(struct tree *tree, const char *dir, const char *name, const char *format,
    ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put_bytes(tree, dir, name, text, strlen(text));
}

/* The link dir/name to a path below the root. */
static void
put_link(struct tree *tree, const char *dir, const char *name,
	 const char *target)
{
	char path[512], text[512];
	size_t at = 0;

	for (const char *p = dir; *p != '\0'; p++)
		if (p == dir || *p == '/')
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "../");
	snprintf(text + at, sizeof(text) - at, "%s", target);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (symlinkat(text, tree->root, path) != 0)
		fail(tree, path);
}

/* The first 64 bytes of a configuration space (PCI 3.0, 6.1). */
static void
put_pci_config(struct tree *tree, const char *dir)
{
	uint8_t config[256] = {
		[0x00] = PCI_VENDOR & 0xff, [0x01] = PCI_VENDOR >> 8,
		[0x02] = PCI_DEVICE & 0xff, [0x03] = PCI_DEVICE >> 8,
		[0x04] = 0x06, /* memory space, bus master */
		[0x0a] = (PCI_CLASS >> 8) & 0xff, [0x0b] = PCI_CLASS >> 16,
		[0x2c] = PCI_VENDOR & 0xff, [0x2d] = PCI_VENDOR >> 8,
		[0x2e] = PCI_DEVICE & 0xff, [0x2f] = PCI_DEVICE >> 8,
	};

	put_bytes(tree, dir, "config", config, sizeof(config));
}

static void
put_pci_resources(struct tree *tree, const char *dir, uint32_t fn)
{
	const uint64_t bar0 = BAR_BASE + (uint64_t)fn * 2 * BAR0_BYTES;
	const uint64_t bar4 = bar0 + BAR0_BYTES;
	char text[13 * 64] = "";
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
	put(tree, dir, "resource", "%s", text);
}

static void
put_pci(struct tree *tree, uint32_t fn, const char *slot, const char *dir)
{
	static const char modalias[] =
		"pci:v00001414d000000BAsv00001414sd000000BAbc02sc00i00";

	make_dirs(tree, dir);
	put(tree, dir, "vendor", "0x%04x\n", PCI_VENDOR);
	put(tree, dir, "device", "0x%04x\n", PCI_DEVICE);
	put(tree, dir, "subsystem_vendor", "0x%04x\n", PCI_VENDOR);
	put(tree, dir, "subsystem_device", "0x%04x\n", PCI_DEVICE);
	put(tree, dir, "class", "0x%06x\n", PCI_CLASS);
	put(tree, dir, "revision", "0x00\n");
	put(tree, dir, "irq", "0\n");
	put(tree, dir, "enable", "1\n");
	put(tree, dir, "max_vfs", "0\n");
	put(tree, dir, "numa_node", "0\n");
	put(tree, dir, "modalias", "%s\n", modalias);
	put(tree, dir, "uevent",
	    "DRIVER=mana\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\n"
	    "PCI_SUBSYS_ID=%04X:%04X\nPCI_SLOT_NAME=%s\nMODALIAS=%s\n",
	    PCI_CLASS, PCI_VENDOR, PCI_DEVICE, PCI_VENDOR, PCI_DEVICE, slot,
	    modalias);
	put_pci_resources(tree, dir, fn);
	put_pci_config(tree, dir);
	put_link(tree, dir, "driver", "bus/pci/drivers/mana");
	put_link(tree, dir, "subsystem", "bus/pci");
	put_link(tree, "bus/pci/devices", slot, dir);
	put_link(tree, "bus/pci/drivers/mana", slot, dir);
}

/* Verbs port, from 1; the netdev is down, so the port is (Linux ib/main.c). */
static void
put_rdma_port(struct tree *tree, const char *rdma_dir, uint32_t port,
	      const char *netdev)
{
	char dir[256];

	snprintf(dir, sizeof(dir), "%s/ports/%u", rdma_dir, port);
	make_dirs(tree, dir);
	put(tree, dir, "state", "1: DOWN\n");
	put(tree, dir, "phys_state", "3: Disabled\n");
	put(tree, dir, "rate", "2.5 Gb/sec (1X SDR)\n");
	put(tree, dir, "link_layer", "Ethernet\n");
	put(tree, dir, "lid", "0x0\n");
	put(tree, dir, "lid_mask_count", "0\n");
	put(tree, dir, "sm_lid", "0x0\n");
	put(tree, dir, "sm_sl", "0\n");
	put(tree, dir, "cap_mask", "0x00000000\n");
	snprintf(dir, sizeof(dir), "%s/ports/%u/gids", rdma_dir, port);
	make_dirs(tree, dir);
	put(tree, dir, "0", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	snprintf(dir, sizeof(dir), "%s/ports/%u/gid_attrs/ndevs", rdma_dir,
		 port);
	make_dirs(tree, dir);
	put(tree, dir, "0", "%s\n", netdev);
	snprintf(dir, sizeof(dir), "%s/ports/%u/gid_attrs/types", rdma_dir,
		 port);
	make_dirs(tree, dir);
	put(tree, dir, "0", "IB/RoCE v1\n");
}

static void
put_rdma(struct tree *tree, uint32_t fn, const char *pci_dir)
{
	char name[32], dir[192];

	snprintf(name, sizeof(name), "manae_%u", fn);
	snprintf(dir, sizeof(dir), "%s/infiniband/%s", pci_dir, name);
	make_dirs(tree, dir);
	put(tree, dir, "node_type", "1: CA\n");
	put(tree, dir, "node_guid", "0000:0000:0000:0000\n");
	put(tree, dir, "sys_image_guid", "0000:0000:0000:0000\n");
	put(tree, dir, "node_desc", "%s\n", name);
	put(tree, dir, "fw_ver", "\n");
	put_link(tree, dir, "device", pci_dir);
	put_link(tree, dir, "subsystem", "class/infiniband");
	put_link(tree, "class/infiniband", name, dir);

	snprintf(name, sizeof(name), "uverbs%u", fn);
	snprintf(dir, sizeof(dir), "%s/infiniband_verbs/%s", pci_dir, name);
	make_dirs(tree, dir);
	put(tree, dir, "ibdev", "manae_%u\n", fn);
	put(tree, dir, "dev", "%d:%u\n", KERNEL_UVERBS_MAJOR,
	    KERNEL_UVERBS_MINOR_BASE + fn);
	put(tree, dir, "abi_version", "1\n");
	put(tree, dir, "uevent", "MAJOR=%d\nMINOR=%u\nDEVNAME=infiniband/%s\n",
	    KERNEL_UVERBS_MAJOR, KERNEL_UVERBS_MINOR_BASE + fn, name);
	put_link(tree, dir, "device", pci_dir);
	put_link(tree, dir, "subsystem", "class/infiniband_verbs");
	put_link(tree, "class/infiniband_verbs", name, dir);
}

static void
put_netdev(struct tree *tree, const struct kernel_netdev *netdev,
	   const char *pci_dir)
{
	const uint8_t *mac = netdev->mac;
	char dir[192];

	snprintf(dir, sizeof(dir), "%s/net/%s", pci_dir, netdev->name);
	make_dirs(tree, dir);
	put(tree, dir, "address", "%02x:%02x:%02x:%02x:%02x:%02x\n", mac[0],
	    mac[1], mac[2], mac[3], mac[4], mac[5]);
	put(tree, dir, "broadcast", "ff:ff:ff:ff:ff:ff\n");
	put(tree, dir, "addr_len", "6\n");
	put(tree, dir, "addr_assign_type", "0\n");
	put(tree, dir, "type", "1\n");
	put(tree, dir, "dev_id", "0x0\n");
	put(tree, dir, "dev_port", "%u\n", netdev->port);
	put(tree, dir, "ifindex", "%u\n", netdev->ifindex);
	put(tree, dir, "iflink", "%u\n", netdev->ifindex);
	put(tree, dir, "mtu", "%u\n", netdev->mtu);
	/* IFF_BROADCAST and IFF_MULTICAST, with IFF_UP when up. */
	put(tree, dir, "flags", "0x%x\n", netdev->is_up ? 0x1003 : 0x1002);
	put(tree, dir, "operstate", "%s\n", netdev->is_up ? "up" : "down");
	put(tree, dir, "tx_queue_len", "1000\n");
	put(tree, dir, "uevent", "INTERFACE=%s\nIFINDEX=%u\n", netdev->name,
	    netdev->ifindex);
	put_link(tree, dir, "device", pci_dir);
	put_link(tree, dir, "subsystem", "class/net");
	put_link(tree, "class/net", netdev->name, dir);
}

static void
put_function(struct tree *tree, uint32_t fn)
{
	struct kernel_netdev netdev;
	char slot[32], pci_dir[96];

	snprintf(slot, sizeof(slot), "%04x:00:00.0", PCI_DOMAIN + fn);
	snprintf(pci_dir, sizeof(pci_dir), "devices/pci%04x:00/%s",
		 PCI_DOMAIN + fn, slot);
	put_pci(tree, fn, slot, pci_dir);
	put_rdma(tree, fn, pci_dir);
	for (uint32_t n = 0; kernel_netdev_nth(n, &netdev) == 0; n++) {
		char rdma_dir[160];

		if (netdev.fn != fn)
			continue;
		put_netdev(tree, &netdev, pci_dir);
		snprintf(rdma_dir, sizeof(rdma_dir), "%s/infiniband/manae_%u",
			 pci_dir, fn);
		put_rdma_port(tree, rdma_dir, netdev.port + 1, netdev.name);
	}
}

int
sysfs_create(const char *run_dir, char *where, unsigned int where_bytes)
{
	static const char *const folders[] = {
		"bus/pci/devices", "bus/pci/drivers/mana", "class/infiniband",
		"class/infiniband_verbs", "class/net", "devices",
	};
	struct tree tree = {.error = 0};
	char path[MODEL_MAX_PATH + 8];

	snprintf(path, sizeof(path), "%s/sys", run_dir);
	tree.root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tree.root < 0) {
		fail(&tree, path);
	} else {
		for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
			make_dirs(&tree, folders[i]);
		put(&tree, "class/infiniband_verbs", "abi_version", "6\n");
		for (uint32_t fn = 0; fn < segment_config()->nb_functions; fn++)
			put_function(&tree, fn);
		close(tree.root);
	}
	snprintf(where, where_bytes, "%s", tree.at);
	return tree.error;
}
