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

#define PATH_BYTES (MODEL_MAX_PATH + 128)

/* Write an attribute file of the netdev, if the launcher has created it. */
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
	snprintf(value, sizeof(value), "%u\n", netdev->nb_carrier_up);
	write_attribute(netdev, "carrier_up_count", value);
	snprintf(value, sizeof(value), "%u\n", netdev->nb_carrier_down);
	write_attribute(netdev, "carrier_down_count", value);
	snprintf(value, sizeof(value), "%u\n",
		 netdev->nb_carrier_up + netdev->nb_carrier_down);
	write_attribute(netdev, "carrier_changes", value);
	write_attribute(netdev, "carrier", netdev->carrier ? "1\n" : "0\n");
	snprintf(value, sizeof(value), "%d\n", (int)netdev->speed_mbps);
	write_attribute(netdev, "speed", value);
	write_attribute(netdev, "operstate",
			netdev->is_up && netdev->carrier ? "up\n" : "down\n");
}

static void
notify(const struct kernel_netdev *netdev, const struct link_message *how)
{
	if (netdev->ns == KERNEL_NETDEV_OWN_NS)
		link_message_notify(how, netdev);
}

/* Update sysfs. */
static void
show(const struct kernel_netdev *netdev, uint16_t type)
{
	trace_event("kind=netdev port=%u exists=%d up=%d carrier=%d mtu=%u",
		    trace_port(netdev->fn, netdev->port), type == RTM_NEWLINK,
		    netdev->is_up, netdev->carrier, netdev->mtu);
	if (type == RTM_NEWLINK)
		netdev_write_attributes(netdev);
}

void
netdev_announce(const struct kernel_netdev *netdev, uint16_t type,
		uint32_t change)
{
	const struct link_message how = { .type = type, .change = change };

	show(netdev, type);
	notify(netdev, &how);
}

/*
 * mana_en.c mana_link_state_handle(). Link up notifies peers, even of a netdev
 * that is down: NETDEV_NOTIFY_PEERS, NETDEV_RESEND_IGMP (net/core/rtnetlink.c
 * rtnetlink_event()). The carrier change itself is announced later, after those of
 * all ports, and only if the netdev is up (net/core/link_watch.c
 * linkwatch_do_dev()): kernel_netdev_announce_carrier().
 */
void
netdev_announce_link(const struct kernel_netdev *netdev)
{
	const struct link_message peers = {
		.type = RTM_NEWLINK, .event = IFLA_EVENT_NOTIFY_PEERS };
	const struct link_message igmp = {
		.type = RTM_NEWLINK, .event = IFLA_EVENT_IGMP_RESEND };

	if (netdev->is_carrier_new)
		show(netdev, RTM_NEWLINK);
	if (netdev->carrier) {
		notify(netdev, &peers);
		notify(netdev, &igmp);
	}
}
