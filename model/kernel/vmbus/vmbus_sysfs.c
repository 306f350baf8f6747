/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Folders of VMBus devices, with the contents of Linux 6.12
 * (drivers/hv/vmbus_drv.c, drivers/uio/uio.c).
 */

#include <stdio.h>

#include "card.h"
#include "kernel_state.h"
#include "netdev_list.h"
#include "sysfs.h"
#include "synthetic.h"
#include "vmbus.h"

#define DIR_BYTES     96

/* As on Azure: the address of the port, repeated. */
void
vmbus_device_name(uint32_t number, char uuid[VMBUS_NAME_BYTES])
{
	uint32_t fn = 0, port = 0;
	uint8_t m[6];

	synthetic_port(number, &fn, &port);
	card_port_mac(fn, port, m);
	snprintf(uuid, VMBUS_NAME_BYTES,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 m[0], m[1], m[2], m[3], m[4], m[5], m[0], m[1], m[2], m[3],
		 m[4], m[5], m[0], m[1], m[2], m[3]);
}

static void
device_dir(uint32_t number, char dir[DIR_BYTES])
{
	char uuid[VMBUS_NAME_BYTES];

	vmbus_device_name(number, uuid);
	snprintf(dir, DIR_BYTES, "devices/vmbus/%s", uuid);
}

static void
put_channel(struct tree *tree, const char *device, uint32_t number,
	    uint32_t channel)
{
	char dir[DIR_BYTES + 32];

	snprintf(dir, sizeof(dir), "%s/channels/%u", device,
		 synthetic_relid(number, channel));
	tree_dirs(tree, dir);
	tree_text(tree, dir, "subchannel_id", "%u\n", channel);
	tree_text(tree, dir, "monitor_id", "%u\n",
		  synthetic_monitor_id(number, channel));
	tree_sparse(tree, dir, "ring", 2 * VMBUS_RING_BYTES);
}

void
vmbus_sysfs_channels(uint32_t number)
{
	uint32_t *nb_shown = &segment_kernel()->vmbus.nb_channels[number];
	const uint32_t nb = synthetic_channels(number);
	char device[DIR_BYTES], dir[DIR_BYTES + 32];
	struct tree tree;

	if (*nb_shown == nb)
		return;
	device_dir(number, device);
	tree_open(&tree);
	for (; *nb_shown < nb; ++*nb_shown)
		put_channel(&tree, device, number, *nb_shown);
	for (; *nb_shown > nb; --*nb_shown) {
		snprintf(dir, sizeof(dir), "%s/channels/%u", device,
			 synthetic_relid(number, *nb_shown - 1));
		tree_remove(&tree, dir);
	}
	tree_close_logged(&tree);
}

void
vmbus_sysfs_device(uint32_t number)
{
	char dir[DIR_BYTES], uuid[VMBUS_NAME_BYTES];
	struct tree tree;

	vmbus_device_name(number, uuid);
	device_dir(number, dir);
	tree_open(&tree);
	tree_dirs(&tree, dir);
	tree_text(&tree, dir, "class_id", "{%s}\n", VMBUS_NETWORK_CLASS);
	tree_text(&tree, dir, "device_id", "{%s}\n", uuid);
	tree_text(&tree, dir, "id", "%u\n", synthetic_relid(number, 0));
	tree_text(&tree, dir, "monitor_id", "%u\n",
		  synthetic_monitor_id(number, 0));
	tree_text(&tree, dir, "numa_node", "%d\n",
		  segment_config()->numa_node < 0 ?
			  0 : segment_config()->numa_node);
	tree_text(&tree, dir, "state", "3\n");
	tree_text(&tree, dir, "modalias", "vmbus:%s\n",
		  "635161f83edfc546913ff2d2f965ed0e");
	tree_link(&tree, dir, "subsystem", "bus/vmbus");
	tree_link(&tree, "bus/vmbus/devices", uuid, dir);
	tree_close_logged(&tree);
	vmbus_sysfs_channels(number);
}

/* The netdev of hv_netvsc. It carries no traffic here. */
static void
put_netdev(struct tree *tree, const char *device, uint32_t number, bool is_added)
{
	struct kernel_netdev slave;
	char dir[DIR_BYTES + 32], name[IFNAMSIZ];
	uint32_t fn, port;

	synthetic_port(number, &fn, &port);
	netdev_get(fn, port, &slave);
	netdev_name_master(&slave, name);
	snprintf(dir, sizeof(dir), "%s/net/%s", device, name);
	if (!is_added) {
		tree_unlink(tree, "class/net", name);
		tree_remove(tree, dir);
		return;
	}
	tree_dirs(tree, dir);
	tree_text(tree, dir, "address", "%02x:%02x:%02x:%02x:%02x:%02x\n",
		  slave.mac[0], slave.mac[1], slave.mac[2], slave.mac[3],
		  slave.mac[4], slave.mac[5]);
	tree_text(tree, dir, "ifindex", "%u\n", netdev_master(&slave));
	tree_text(tree, dir, "type", "1\n");
	tree_text(tree, dir, "mtu", "%u\n", slave.mtu);
	tree_text(tree, dir, "flags", "0x1002\n");
	tree_text(tree, dir, "operstate", "down\n");
	tree_link(tree, dir, "device", device);
	tree_link(tree, dir, "subsystem", "class/net");
	tree_link(tree, "class/net", name, dir);
}

static void
put_uio(struct tree *tree, const char *device, uint32_t number, bool is_added)
{
	static const char *const names[VMBUS_NB_MAPS] = {
		"txrx_rings", "int_page", "monitor_page", "recv", "send",
	};
	char uio[DIR_BYTES + 32], dir[DIR_BYTES + 64], name[16];
	char file[VMBUS_PATH_BYTES];
	size_t nb_bytes;

	snprintf(name, sizeof(name), "uio%u", number);
	snprintf(uio, sizeof(uio), "%s/uio/%s", device, name);
	if (!is_added) {
		tree_unlink(tree, "class/uio", name);
		snprintf(uio, sizeof(uio), "%s/uio", device);
		tree_remove(tree, uio);
		return;
	}
	tree_dirs(tree, uio);
	tree_text(tree, uio, "name", "uio_hv_generic\n");
	for (uint32_t i = 0; i < VMBUS_NB_MAPS; i++) {
		snprintf(dir, sizeof(dir), "%s/maps/map%u", uio, i);
		tree_dirs(tree, dir);
		if (i >= VMBUS_MAP_RECEIVE)
			tree_text(tree, dir, "name", "%s:%u\n", names[i],
				  synthetic_gpadl(number, (enum vmbus_map)i));
		else
			tree_text(tree, dir, "name", "%s\n", names[i]);
		vmbus_map_path(number, i, file, &nb_bytes);
		tree_text(tree, dir, "size", "0x%016zx\n", nb_bytes);
		tree_text(tree, dir, "addr", "0x%016x\n", 0);
		tree_text(tree, dir, "offset", "0x0\n");
	}
	tree_link(tree, uio, "device", device);
	tree_link(tree, uio, "subsystem", "class/uio");
	tree_link(tree, "class/uio", name, uio);
}

void
vmbus_sysfs_driver(uint32_t number, bool is_added)
{
	const uint32_t driver = segment_kernel()->vmbus.driver[number];
	char device[DIR_BYTES], uuid[VMBUS_NAME_BYTES], folder[48];
	struct tree tree;

	vmbus_device_name(number, uuid);
	device_dir(number, device);
	tree_open(&tree);
	snprintf(folder, sizeof(folder), "bus/vmbus/drivers/%s",
		 driver == KERNEL_VMBUS_HV ? "hv_netvsc" : "uio_hv_generic");
	if (is_added) {
		tree_link(&tree, device, "driver", folder);
		tree_link(&tree, folder, uuid, device);
	} else {
		tree_unlink(&tree, device, "driver");
		tree_unlink(&tree, folder, uuid);
	}
	if (driver == KERNEL_VMBUS_HV)
		put_netdev(&tree, device, number, is_added);
	else
		put_uio(&tree, device, number, is_added);
	tree_close_logged(&tree);
}
