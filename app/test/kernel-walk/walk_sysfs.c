/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The files of sysfs that libibverbs, DPDK's PCI bus, our driver and the tools
 * of rdma-core and iproute2 read, and the folders that they list.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netdev.h"
#include "walk.h"

#define NB_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Print a file's text in one line. secret: only whether it has one. */
static void
show(const char *folder, const char *file, bool is_own)
{
	char path[512], text[1024];
	ssize_t len = -1;
	int fd, error = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		error = errno;
	else if ((len = read(fd, text, sizeof(text) - 1)) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	text[len < 0 ? 0 : len] = '\0';
	for (char *c = text; *c != '\0'; c++)
		if (*c == '\n')
			*c = c[1] == '\0' ? '\0' : '|';
	walk_say(error, file, "%s",
		 is_own ? (text[0] == '\0' ? "empty" : "value") :
			  walk_symbols(text));
}

static void
show_link(const char *folder, const char *file)
{
	char path[512], target[512];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	len = readlink(path, target, sizeof(target) - 1);
	target[len < 0 ? 0 : len] = '\0';
	walk_say(len < 0 ? errno : 0, file, "-> %s",
		 len < 0 ? "" :
			   walk_symbols(strrchr(target, '/') == NULL ?
						target :
						strrchr(target, '/') + 1));
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* The names in a folder: all, or those that are listed. */
static void
list(const char *folder, const char *file)
{
	char path[512], names[1024] = "";
	struct dirent **entries;
	int count;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	count = scandir(path, &entries, NULL, by_name);
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		size_t at = strlen(names);

		if (name[0] != '.')
			snprintf(names + at, sizeof(names) - at, " %s",
				 walk_symbols(name));
		free(entries[i]);
	}
	walk_say(count < 0 ? errno : 0, file, "lists%s", names);
	if (count >= 0)
		free(entries);
}

static void
rdma(void)
{
	static const char *const files[] = {
		"node_type", "node_desc", "fw_ver", "hca_type", "hw_rev",
		"board_id",
	};
	static const char *const port_files[] = {
		"state", "phys_state", "rate", "link_layer", "lid",
		"lid_mask_count", "sm_lid", "sm_sl", "cap_mask", "gids/0",
		"gids/15", "gids/16", "pkeys/0", "pkeys/1",
		"gid_attrs/ndevs/0", "gid_attrs/types/0",
		"counters/port_xmit_data", "hw_counters/lifespan",
	};
	char folder[256];

	walk_name("sysfs of the RDMA device");
	snprintf(folder, sizeof(folder), "/sys/class/infiniband/%s",
		 walk_device.rdma);
	for (size_t i = 0; i < NB_OF(files); i++)
		show(folder, files[i], strcmp(files[i], "node_desc") == 0);
	show(folder, "node_guid", true);
	show(folder, "sys_image_guid", true);
	show_link(folder, "device");
	show_link(folder, "subsystem");
	list(folder, "ports");
	list(folder, "device/infiniband");
	list(folder, "device/infiniband_verbs");
	list(folder, "device/net");
	for (uint32_t port = 1; port <= 2; port++) {
		walk_name(port == 1 ? "sysfs of RDMA port 1" :
				      "sysfs of RDMA port 2");
		snprintf(folder, sizeof(folder),
			 "/sys/class/infiniband/%s/ports/%u", walk_device.rdma,
			 port);
		for (size_t i = 0; i < NB_OF(port_files); i++)
			show(folder, port_files[i], false);
	}
	walk_name("sysfs of the uverbs device");
	show("/sys/class/infiniband_verbs", "abi_version", false);
	snprintf(folder, sizeof(folder), "/sys/class/infiniband_verbs/%s",
		 walk_device.uverbs);
	show(folder, "ibdev", false);
	show(folder, "abi_version", false);
	show(folder, "dev", true);
	show(folder, "uevent", true);
	show_link(folder, "device");
	show_link(folder, "subsystem");
}

static void
pci(void)
{
	static const char *const files[] = {
		"vendor", "device", "subsystem_vendor", "subsystem_device",
		"class", "revision", "max_vfs", "sriov_numvfs",
		"sriov_totalvfs", "numa_node", "enable", "driver_override",
		"modalias",
	};
	char folder[256];

	walk_name("sysfs of the PCI function");
	snprintf(folder, sizeof(folder), "/sys/bus/pci/devices/%s",
		 walk_device.pci);
	for (size_t i = 0; i < NB_OF(files); i++)
		show(folder, files[i], false);
	show(folder, "uevent", false);
	show(folder, "irq", true);
	show(folder, "resource", true);
	show(folder, "config", true);
	show_link(folder, "driver");
	show_link(folder, "subsystem");
	list(folder, "net");
	list(folder, "infiniband");
	list(folder, "infiniband_verbs");
}

static void
netdev(const char *name)
{
	static const char *const files[] = {
		"addr_assign_type", "addr_len", "broadcast", "carrier",
		"carrier_changes", "carrier_down_count", "carrier_up_count",
		"dev_id", "dev_port", "dormant", "duplex", "flags",
		"gro_flush_timeout", "group", "ifalias", "link_mode", "mtu",
		"name_assign_type", "netdev_group", "operstate",
		"phys_port_id", "phys_port_name", "phys_switch_id",
		"proto_down", "speed", "testing", "threaded", "tx_queue_len",
		"type",
	};
	char folder[256];

	walk_name(name);
	snprintf(folder, sizeof(folder), "/sys/class/net/%s",
		 walk_device.netdev[0]);
	for (size_t i = 0; i < NB_OF(files); i++)
		show(folder, files[i], false);
	show(folder, "address", true);
	show(folder, "ifindex", true);
	show(folder, "iflink", true);
	show(folder, "uevent", true);
	show_link(folder, "device");
	show_link(folder, "subsystem");
}

void
walk_sysfs(void)
{
	rdma();
	pci();
	netdev("sysfs of the netdev, down");
	walk_result(netdev_set_up(0, true), "set it up");
	walk_settle();
	netdev("sysfs of the netdev, up");
	walk_result(netdev_set_up(0, false), "set it down");
	netdev("sysfs of the netdev, down again");
}
