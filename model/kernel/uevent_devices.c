/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>

#include "netdev.h"
#include "segment.h"
#include "sysfs.h"
#include "uevent.h"

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
