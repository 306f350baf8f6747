/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>

#include "kernel_version.h"
#include "link_message.h"
#include "netdev_list.h"
#include "nl_event.h"

#define MAC_BYTES 6
#define OPER_DOWN 2 /* RFC 2863 */
#define OPER_UP 6
/* Linux include/linux/netcard.h: GSO_LEGACY_MAX_SIZE, GSO_MAX_SEGS. */
#define GSO_MAX_BYTES 65536
#define GSO_MAX_SEGS 65535
/* Attributes that the build's headers may lack. */
#define ATTR_ALLMULTI 61
#define ATTR_GSO_IPV4_MAX_SIZE 63
#define ATTR_GRO_IPV4_MAX_SIZE 64

static_assert(LINK_MESSAGE_MAX_BYTES <= NL_EVENT_MAX_BYTES, "notifications");

static void
put_queues(struct nl_write *w)
{
	nl_write_u32(w, IFLA_NUM_TX_QUEUES, NETDEV_MAX_CHANNELS);
	nl_write_u32(w, IFLA_GSO_MAX_SEGS, GSO_MAX_SEGS);
	nl_write_u32(w, IFLA_GSO_MAX_SIZE, GSO_MAX_BYTES);
	nl_write_u32(w, IFLA_GRO_MAX_SIZE, GSO_MAX_BYTES);
	nl_write_u32(w, ATTR_GSO_IPV4_MAX_SIZE, GSO_MAX_BYTES);
	nl_write_u32(w, ATTR_GRO_IPV4_MAX_SIZE, GSO_MAX_BYTES);
	nl_write_u32(w, IFLA_TSO_MAX_SIZE, kernel_version()->tso_max_bytes);
	nl_write_u32(w, IFLA_TSO_MAX_SEGS, GSO_MAX_SEGS);
	nl_write_u32(w, IFLA_NUM_RX_QUEUES, NETDEV_MAX_CHANNELS);
}

static void
put_carrier(struct nl_write *w, const struct kernel_netdev *netdev)
{
	nl_write_u8(w, IFLA_CARRIER, netdev->carrier);
	/* A netdev that was never up has no queueing discipline. */
	nl_write_text(w, IFLA_QDISC, netdev->was_up ? "mq" : "noop");
	nl_write_u32(w, IFLA_CARRIER_CHANGES,
		     netdev->nb_carrier_up + netdev->nb_carrier_down);
	nl_write_u32(w, IFLA_CARRIER_UP_COUNT, netdev->nb_carrier_up);
	nl_write_u32(w, IFLA_CARRIER_DOWN_COUNT, netdev->nb_carrier_down);
	nl_write_u8(w, IFLA_PROTO_DOWN, 0);
}

/* All 0: mana_get_stats64() counts packets of a stack that is not modelled. */
static void
put_stats(struct nl_write *w, uint32_t ext_mask)
{
	static const struct rtnl_link_stats64 stats64;
	static const struct rtnl_link_stats stats;

	if ((ext_mask & RTEXT_FILTER_SKIP_STATS) != 0)
		return;
	nl_write_attr(w, IFLA_STATS64, &stats64, sizeof(stats64));
	nl_write_attr(w, IFLA_STATS, &stats, sizeof(stats));
}

static void
put_addresses(struct nl_write *w, const struct kernel_netdev *netdev)
{
	static const uint8_t broadcast[MAC_BYTES] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	nl_write_attr(w, IFLA_ADDRESS, netdev->mac, MAC_BYTES);
	nl_write_attr(w, IFLA_BROADCAST, broadcast, MAC_BYTES);
	nl_write_attr(w, IFLA_PERM_ADDRESS, netdev->mac, MAC_BYTES);
}

/* The order is that of Linux net/core/rtnetlink.c rtnl_fill_ifinfo(). */
void
link_message_write(struct nl_write *w, const struct link_message *how,
		   const struct kernel_netdev *netdev)
{
	const struct ifinfomsg info = {
		.ifi_family = AF_UNSPEC,
		.ifi_type = ARPHRD_ETHER,
		.ifi_index = (int)netdev->ifindex,
		.ifi_flags = netdev_flags(netdev),
		.ifi_change = how->change,
	};
	const bool runs = (netdev_flags(netdev) & IFF_RUNNING) != 0;
	static const struct rtnl_link_ifmap map; /* mana sets no addresses */
	char pci[NETDEV_PCI_BYTES];
	struct nlmsghdr *hdr;

	netdev_pci_address(netdev->fn, pci);
	hdr = nl_write_begin(w, how->type, how->flags, how->seq, &info,
			     sizeof(info));
	nl_write_text(w, IFLA_IFNAME, netdev->name);
	nl_write_u32(w, IFLA_TXQLEN, netdev->tx_queue_len);
	nl_write_u8(w, IFLA_OPERSTATE, runs ? OPER_UP : OPER_DOWN);
	nl_write_u8(w, IFLA_LINKMODE, 0);
	nl_write_u32(w, IFLA_MTU, netdev->mtu);
	nl_write_u32(w, IFLA_MIN_MTU, NETDEV_MIN_MTU);
	nl_write_u32(w, IFLA_MAX_MTU, netdev->max_mtu);
	nl_write_u32(w, IFLA_GROUP, 0);
	nl_write_u32(w, IFLA_PROMISCUITY,
		     (netdev->more_flags & IFF_PROMISC) != 0);
	nl_write_u32(w, ATTR_ALLMULTI,
		     (netdev->more_flags & IFF_ALLMULTI) != 0);
	put_queues(w);
	if (netdev_master(netdev) != 0)
		nl_write_u32(w, IFLA_MASTER, netdev_master(netdev));
	put_carrier(w, netdev);
	if (how->event != IFLA_EVENT_NONE)
		nl_write_u32(w, IFLA_EVENT, how->event);
	nl_write_attr(w, IFLA_MAP, &map, sizeof(map));
	put_addresses(w, netdev);
	put_stats(w, how->ext_mask);
	if (!netdev->is_master) {
		nl_write_text(w, IFLA_PARENT_DEV_NAME, pci);
		nl_write_text(w, IFLA_PARENT_DEV_BUS_NAME, "pci");
	}
	nl_write_end(w, hdr);
}

void
link_message_notify(const struct link_message *how,
		    const struct kernel_netdev *netdev)
{
	char buf[LINK_MESSAGE_MAX_BYTES] __attribute__((aligned(8)));
	struct nl_write w = { .buf = buf, .room = sizeof(buf) };

	link_message_write(&w, how, netdev);
	nl_event_publish(NETLINK_ROUTE, RTNLGRP_LINK, buf, w.nb_bytes);
}
