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

#define LINES_BYTES 512 /* of one event */
#define GROUP_KERNEL 1 /* of NETLINK_KOBJECT_UEVENT; udev itself uses 2 */

/* Linux lib/kobject_uevent.c kobject_uevent_env(), alloc_uevent_skb(). */
void
kernel_uevent(const char *action, const char *devpath, const char *subsystem,
	      const char *format, ...)
{
	uint64_t seqnum = __atomic_add_fetch(
		&segment_kernel()->events.uevent_seqnum, 1, __ATOMIC_ACQ_REL);
	char lines[LINES_BYTES], text[NL_EVENT_MAX_BYTES];
	va_list args;
	int len;

	va_start(args, format);
	vsnprintf(lines, sizeof(lines), format, args);
	va_end(args);
	len = snprintf(text, sizeof(text),
		       "%s@%s\nACTION=%s\nDEVPATH=%s\nSUBSYSTEM=%s\n%sSEQNUM=%" PRIu64 "\n",
		       action, devpath, action, devpath, subsystem, lines, seqnum);
	/* Each line ends with a zero. */
	for (int i = 0; i < len; i++)
		if (text[i] == '\n')
			text[i] = '\0';
	nl_event_publish(NETLINK_KOBJECT_UEVENT, GROUP_KERNEL, text, (size_t)len);
}

#define DEVPATH_BYTES (SYSFS_PCI_DIR_BYTES + 1)

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
	char path[DEVPATH_BYTES], pci[NETDEV_PCI_BYTES];
	char modalias[SYSFS_MODALIAS_BYTES];

	pci_devpath(fn, path);
	netdev_pci_address(fn, pci);
	sysfs_pci_modalias(modalias);
	kernel_uevent(action, path, "pci",
		      "%sPCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n"
		      "PCI_SLOT_NAME=%s\nMODALIAS=%s\n", first, SYSFS_PCI_CLASS,
		      MODEL_PCI_VENDOR, device, MODEL_PCI_VENDOR, device, pci, modalias);
}

/* Linux net/core/net-sysfs.c netdev_uevent(). */
void
uevent_net(const struct kernel_netdev *netdev, const char *action)
{
	char pci[DEVPATH_BYTES], path[DEVPATH_BYTES + 32];

	pci_devpath(netdev->fn, pci);
	snprintf(path, sizeof(path), "%s/net/%s", pci, netdev->name);
	kernel_uevent(action, path, "net", "INTERFACE=%s\nIFINDEX=%u\n", netdev->name,
		      netdev->ifindex);
}
