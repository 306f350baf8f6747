/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>

#include "netdev.h"
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
	char path[DEVPATH_BYTES], slot[LINE_BYTES], pci[NETDEV_PCI_BYTES];
	const char *extra[MAX_LINES];
	uint32_t nb = 0;

	pci_devpath(fn, path);
	netdev_pci_address(fn, pci);
	snprintf(slot, sizeof(slot), "PCI_SLOT_NAME=%s", pci);
	if (first != NULL)
		extra[nb++] = first;
	extra[nb++] = "PCI_CLASS=20000";
	extra[nb++] = "PCI_ID=1414:00BA";
	extra[nb++] = "PCI_SUBSYS_ID=1414:00BA";
	extra[nb++] = slot;
	extra[nb++] = "MODALIAS=pci:v00001414d000000BAsv00001414sd000000BA"
		      "bc02sc00i00";
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
