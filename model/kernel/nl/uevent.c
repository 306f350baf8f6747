/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdio.h>

#include "kernel_state.h"
#include "netdev_list.h"
#include "nl_event.h"
#include "segment.h"
#include "sysfs.h"
#include "uevent.h"

#define GROUP_KERNEL 1 /* of NETLINK_KOBJECT_UEVENT; udev itself uses 2 */

struct text {
	char bytes[NL_EVENT_MAX_BYTES];
	size_t nb_bytes;
};

/* Append a line with its terminating zero, if there is room. */
static void __attribute__((format(printf, 2, 3)))
add(struct text *text, const char *format, ...)
{
	size_t room = sizeof(text->bytes) - text->nb_bytes;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text->bytes + text->nb_bytes, room, format, args);
	va_end(args);
	if (len >= 0 && (size_t)len < room)
		text->nb_bytes += (size_t)len + 1;
}

/* Linux lib/kobject_uevent.c kobject_uevent_env(), alloc_uevent_skb(). */
void
kernel_uevent(const char *action, const char *devpath, const char *subsystem,
	      const char *const extra[])
{
	uint64_t seqnum = __atomic_add_fetch(
		&segment_kernel()->events.uevent_seqnum, 1, __ATOMIC_ACQ_REL);
	struct text text = { .nb_bytes = 0 };
	uint32_t i;

	add(&text, "%s@%s", action, devpath);
	add(&text, "ACTION=%s", action);
	add(&text, "DEVPATH=%s", devpath);
	add(&text, "SUBSYSTEM=%s", subsystem);
	for (i = 0; extra != NULL && extra[i] != NULL; i++)
		add(&text, "%s", extra[i]);
	add(&text, "SEQNUM=%" PRIu64, seqnum);
	nl_event_publish(NETLINK_KOBJECT_UEVENT, GROUP_KERNEL, text.bytes,
			 text.nb_bytes);
}

#define MAX_LINES 10
#define DEVPATH_BYTES (SYSFS_PCI_DIR_BYTES + 1)
#define LINE_BYTES 80

static void
pci_devpath(uint32_t fn, char path[DEVPATH_BYTES])
{
	char dir[SYSFS_PCI_DIR_BYTES];

	sysfs_pci_dir(fn, dir);
	snprintf(path, DEVPATH_BYTES, "/%s", dir);
}

/* Linux drivers/pci/pci-driver.c pci_uevent(), after core.c dev_uevent(). */
void
uevent_pci(uint32_t fn, const char *action, const char *first)
{
	const unsigned int device = segment_config()->pci_device;
	char path[DEVPATH_BYTES], slot[LINE_BYTES], pci[NETDEV_PCI_BYTES];
	char class[LINE_BYTES], id[LINE_BYTES], subsystem[LINE_BYTES];
	char modalias[SYSFS_MODALIAS_BYTES], alias[LINE_BYTES];
	const char *extra[MAX_LINES];
	uint32_t nb = 0;

	pci_devpath(fn, path);
	netdev_pci_address(fn, pci);
	snprintf(slot, sizeof(slot), "PCI_SLOT_NAME=%s", pci);
	snprintf(class, sizeof(class), "PCI_CLASS=%X", SYSFS_PCI_CLASS);
	snprintf(id, sizeof(id), "PCI_ID=%04X:%04X", MODEL_PCI_VENDOR, device);
	snprintf(subsystem, sizeof(subsystem), "PCI_SUBSYS_ID=%04X:%04X",
		 MODEL_PCI_VENDOR, device);
	sysfs_pci_modalias(modalias);
	snprintf(alias, sizeof(alias), "MODALIAS=%s", modalias);
	if (first != NULL)
		extra[nb++] = first;
	extra[nb++] = class;
	extra[nb++] = id;
	extra[nb++] = subsystem;
	extra[nb++] = slot;
	extra[nb++] = alias;
	extra[nb] = NULL;
	kernel_uevent(action, path, "pci", extra);
}

/* Linux net/core/net-sysfs.c netdev_uevent(). */
void
uevent_net(const struct kernel_netdev *netdev, const char *action)
{
	char pci[DEVPATH_BYTES], path[DEVPATH_BYTES + 32];
	char interface[LINE_BYTES], ifindex[LINE_BYTES];
	const char *extra[] = { interface, ifindex, NULL };

	pci_devpath(netdev->fn, pci);
	snprintf(path, sizeof(path), "%s/net/%s", pci, netdev->name);
	snprintf(interface, sizeof(interface), "INTERFACE=%s", netdev->name);
	snprintf(ifindex, sizeof(ifindex), "IFINDEX=%u", netdev->ifindex);
	kernel_uevent(action, path, "net", extra);
}
