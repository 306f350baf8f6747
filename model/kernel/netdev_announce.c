/* SPDX-License-Identifier: BSD-3-Clause */

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "link_message.h"
#include "netdev.h"
#include "segment.h"
#include "trace.h"
#include "trace_wire.h"

#define PATH_BYTES (MODEL_MAX_PATH + 128)

/* An attribute file of the netdev, if the launcher has made it. */
static void
write_attribute(const struct kernel_netdev *netdev, const char *attribute,
		const char *value)
{
	char path[PATH_BYTES], pci[NETDEV_PCI_BYTES];
	int fd;

	netdev_pci_address(netdev->fn, pci);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/net/%s/%s",
		 segment_run_dir(), pci, netdev->name, attribute);
	fd = host_open(path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	host_write(fd, value, strlen(value));
	host_close(fd);
}

void
netdev_write_attributes(const struct kernel_netdev *netdev)
{
	char value[32];

	snprintf(value, sizeof(value), "%u\n", netdev->mtu);
	write_attribute(netdev, "mtu", value);
	snprintf(value, sizeof(value), "0x%x\n",
		 netdev_flags(netdev) & ~(IFF_RUNNING | NETDEV_LOWER_UP));
	write_attribute(netdev, "flags", value);
	snprintf(value, sizeof(value), "%u\n", netdev->tx_queue_len);
	write_attribute(netdev, "tx_queue_len", value);
	write_attribute(netdev, "carrier", netdev->carrier ? "1\n" : "0\n");
	snprintf(value, sizeof(value), "%d\n", (int)netdev->speed_mbps);
	write_attribute(netdev, "speed", value);
	write_attribute(netdev, "operstate",
			netdev->is_up && netdev->carrier ? "up\n" : "down\n");
}

void
netdev_announce(const struct kernel_netdev *netdev, uint16_t type,
		uint32_t change)
{
	trace_event("kind=netdev port=%u exists=%d up=%d carrier=%d mtu=%u",
		    trace_port(netdev->fn, netdev->port), type == RTM_NEWLINK,
		    netdev->is_up, netdev->carrier, netdev->mtu);
	if (type == RTM_NEWLINK)
		netdev_write_attributes(netdev);
	if (netdev->place == KERNEL_NETDEV_HERE)
		link_message_notify(netdev, type, change);
}
