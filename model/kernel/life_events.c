/* SPDX-License-Identifier: BSD-3-Clause */

#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "kernel_state.h"
#include "life_events.h"
#include "netdev.h"
#include "sysfs.h"
#include "uevent.h"

#define PATH_BYTES (SYSFS_PCI_DIR_BYTES + 48)
#define LINE_BYTES 48

/* DRIVER is told while the driver is bound (Linux drivers/base/core.c). */
void
life_tell_pci(uint32_t fn, const char *action)
{
	uevent_pci(fn, action, strcmp(action, "bind") == 0 ? "DRIVER=mana" :
							     NULL);
}

/*
 * Linux core/dev.c unregister_netdevice_many_notify(): RTM_DELLINK, then the
 * uevent; register_netdevice(): the uevent, then RTM_NEWLINK.
 */
void
life_tell_netdevs(uint32_t fn, const char *action)
{
	const bool is_new = strcmp(action, "add") == 0;
	struct kernel_netdev netdev;
	uint32_t p;

	for (p = 0; p < segment_config()->nb_ports[fn]; p++) {
		netdev_get(fn, p, &netdev);
		if (netdev.place != KERNEL_NETDEV_HERE)
			continue;
		if (is_new)
			uevent_net(&netdev, action);
		netdev_announce(&netdev, is_new ? RTM_NEWLINK : RTM_DELLINK,
				UINT32_MAX);
		if (!is_new)
			uevent_net(&netdev, action);
	}
}

/* Linux core/uverbs_main.c uverbs_devnode(), drivers/base/core.c dev_uevent(). */
void
life_tell_uverbs(const struct rdma_device *device, const char *action)
{
	const uint32_t n = device->number;
	char dir[SYSFS_PCI_DIR_BYTES], path[PATH_BYTES];
	char minor[LINE_BYTES], name[LINE_BYTES];
	const char *extra[] = { "MAJOR=231", minor, name, "DEVMODE=0666", NULL };

	static_assert(KERNEL_UVERBS_MAJOR == 231, "MAJOR");
	sysfs_pci_dir(device->fn, dir);
	snprintf(path, sizeof(path), "/%s/infiniband_verbs/uverbs%u", dir, n);
	snprintf(minor, sizeof(minor), "MINOR=%u", KERNEL_UVERBS_MINOR_BASE + n);
	snprintf(name, sizeof(name), "DEVNAME=infiniband/uverbs%u", n);
	kernel_uevent(action, path, "infiniband_verbs", extra);
}

/* Linux core/device.c ib_device_uevent(). */
void
life_tell_rdma(const struct rdma_device *device, const char *action)
{
	char dir[SYSFS_PCI_DIR_BYTES], path[PATH_BYTES], name[LINE_BYTES];
	const char *extra[] = { name, NULL };

	sysfs_pci_dir(device->fn, dir);
	snprintf(path, sizeof(path), "/%s/infiniband/%s", dir,
		 device->name);
	snprintf(name, sizeof(name), "NAME=%s", device->name);
	kernel_uevent(action, path, "infiniband", extra);
}
