/* SPDX-License-Identifier: BSD-3-Clause */

/* rtnetlink: links of the netdevs, changes of them, and their events. */

#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "netdev.h"
#include "netlink.h"
#include "walk.h"

/* Attributes whose presence and value a program may use. */
static const struct attr_name {
	uint16_t type;
	const char *name;
	enum {
		NUMBER,
		TEXT,
		PRESENCE
	} kind;
} names[] = {
	{ IFLA_IFNAME, "IFNAME", TEXT },
	{ IFLA_TXQLEN, "TXQLEN", NUMBER },
	{ IFLA_OPERSTATE, "OPERSTATE", NUMBER },
	{ IFLA_LINKMODE, "LINKMODE", NUMBER },
	{ IFLA_MTU, "MTU", NUMBER },
	{ IFLA_MIN_MTU, "MIN_MTU", NUMBER },
	{ IFLA_MAX_MTU, "MAX_MTU", NUMBER },
	{ IFLA_GROUP, "GROUP", NUMBER },
	{ IFLA_PROMISCUITY, "PROMISCUITY", NUMBER },
	{ 61, "ALLMULTI", NUMBER },
	{ IFLA_NUM_TX_QUEUES, "NUM_TX_QUEUES", NUMBER },
	{ IFLA_NUM_RX_QUEUES, "NUM_RX_QUEUES", NUMBER },
	{ IFLA_GSO_MAX_SEGS, "GSO_MAX_SEGS", NUMBER },
	{ IFLA_GSO_MAX_SIZE, "GSO_MAX_SIZE", NUMBER },
	{ 58, "GRO_MAX_SIZE", NUMBER },
	{ 59, "TSO_MAX_SIZE", NUMBER },
	{ 60, "TSO_MAX_SEGS", NUMBER },
	{ 63, "GSO_IPV4_MAX_SIZE", NUMBER },
	{ 64, "GRO_IPV4_MAX_SIZE", NUMBER },
	{ 66, "MAX_PACING_OFFLOAD_HORIZON", NUMBER },
	{ IFLA_MASTER, "MASTER", PRESENCE },
	{ IFLA_CARRIER, "CARRIER", NUMBER },
	{ IFLA_QDISC, "QDISC", TEXT },
	{ IFLA_IFALIAS, "IFALIAS", TEXT },
	{ IFLA_CARRIER_CHANGES, "CARRIER_CHANGES", NUMBER },
	{ IFLA_CARRIER_UP_COUNT, "CARRIER_UP_COUNT", NUMBER },
	{ IFLA_CARRIER_DOWN_COUNT, "CARRIER_DOWN_COUNT", NUMBER },
	{ IFLA_PROTO_DOWN, "PROTO_DOWN", NUMBER },
	{ IFLA_EVENT, "EVENT", NUMBER },
	{ IFLA_MAP, "MAP", PRESENCE },
	{ IFLA_ADDRESS, "ADDRESS", PRESENCE },
	{ IFLA_BROADCAST, "BROADCAST", PRESENCE },
	{ IFLA_PERM_ADDRESS, "PERM_ADDRESS", PRESENCE },
	{ IFLA_STATS64, "STATS64", PRESENCE },
	{ IFLA_STATS, "STATS", PRESENCE },
	{ IFLA_XDP, "XDP", PRESENCE },
	{ IFLA_AF_SPEC, "AF_SPEC", PRESENCE },
	{ IFLA_LINKINFO, "LINKINFO", PRESENCE },
	{ IFLA_NUM_VF, "NUM_VF", NUMBER },
	{ IFLA_PHYS_PORT_NAME, "PHYS_PORT_NAME", PRESENCE },
	{ IFLA_PARENT_DEV_NAME, "PARENT_DEV_NAME", TEXT },
	{ IFLA_PARENT_DEV_BUS_NAME, "PARENT_DEV_BUS_NAME", TEXT },
	{ 65, "DEVLINK_PORT", PRESENCE },
};
#define NB_NAMES (sizeof(names) / sizeof(names[0]))

static const char *prefix;
static bool all_attrs; /* also those that an event rarely changes */

static bool
is_ours(uint32_t ifindex)
{
	for (uint32_t p = 0; p < walk_device.nb_ports; p++)
		if (walk_device.ifindex[p] == ifindex)
			return true;
	return false;
}

static void
print_attr(const struct attr_name *name, struct rtattr *attr)
{
	char what[128], text[256];

	snprintf(what, sizeof(what), "%s %s", prefix, name->name);
	if (name->kind == TEXT) {
		snprintf(text, sizeof(text), "%.*s", (int)RTA_PAYLOAD(attr),
			 (const char *)RTA_DATA(attr));
		walk_note(what, "%s", walk_symbols(text));
	} else if (name->kind == NUMBER) {
		walk_note(what, "%llu", (unsigned long long)netlink_number(attr));
	} else {
		walk_note(what, "present");
	}
}

static struct rtattr *
find(struct nlmsghdr *hdr, uint16_t type)
{
	struct rtattr *attr;
	int left;

	NETLINK_FOR_EACH(attr, left, hdr, sizeof(struct ifinfomsg))
	if (attr->rta_type == type)
		return attr;
	return NULL;
}

static unsigned long long
number_of(struct nlmsghdr *hdr, uint16_t type)
{
	struct rtattr *attr = find(hdr, type);

	return attr == NULL ? 999 : netlink_number(attr);
}

static void
print_link(struct nlmsghdr *hdr)
{
	const struct ifinfomsg *info = NLMSG_DATA(hdr);
	struct rtattr *attr;

	if ((hdr->nlmsg_type != RTM_NEWLINK && hdr->nlmsg_type != RTM_DELLINK) ||
	    !is_ours((uint32_t)info->ifi_index))
		return;
	walk_note(prefix,
		  "%s, family %u, type %u, flags 0x%x, change 0x%x, "
		  "operstate %llu, carrier %llu, MTU %llu, event %llu",
		  hdr->nlmsg_type == RTM_NEWLINK ? "NEWLINK" : "DELLINK",
		  info->ifi_family, info->ifi_type, info->ifi_flags,
		  info->ifi_change, number_of(hdr, IFLA_OPERSTATE),
		  number_of(hdr, IFLA_CARRIER), number_of(hdr, IFLA_MTU),
		  number_of(hdr, IFLA_EVENT));
	if (!all_attrs)
		return;
	for (size_t i = 0; i < NB_NAMES; i++) {
		attr = find(hdr, names[i].type);
		if (attr != NULL)
			print_attr(&names[i], attr);
	}
}

static void
get_link(int sock, uint32_t index, const char *what)
{
	struct ifinfomsg info = { .ifi_index = (int)index };
	struct netlink_request request;

	prefix = what;
	netlink_start(&request, RTM_GETLINK, 0, &info, sizeof(info));
	walk_result(netlink_ask(sock, &request, print_link), what);
}

static void
requests(int sock)
{
	const uint32_t skip_stats = 1 << 3; /* RTEXT_FILTER_SKIP_STATS */
	struct ifinfomsg info = { 0 };
	struct netlink_request request;

	walk_name("RTM_GETLINK");
	all_attrs = true;
	get_link(sock, walk_device.ifindex[0], "port 1");
	all_attrs = false;
	get_link(sock, walk_device.ifindex[1], "port 2");
	prefix = "by name";
	netlink_start(&request, RTM_GETLINK, 0, &info, sizeof(info));
	netlink_add(&request, IFLA_IFNAME, walk_device.netdev[0],
		    (uint16_t)(strlen(walk_device.netdev[0]) + 1));
	walk_result(netlink_ask(sock, &request, print_link), prefix);
	get_link(sock, 99999, "unknown index");
	get_link(sock, 0, "index 0 and no name");
	prefix = "dump";
	netlink_start(&request, RTM_GETLINK, NLM_F_DUMP, &info, sizeof(info));
	netlink_add(&request, IFLA_EXT_MASK, &skip_stats, sizeof(skip_stats));
	walk_result(netlink_ask(sock, &request, print_link), prefix);
	walk_name("RTM_DELLINK");
	info.ifi_index = (int)walk_device.ifindex[0];
	netlink_start(&request, RTM_DELLINK, NLM_F_ACK, &info, sizeof(info));
	walk_result(netlink_ask(sock, &request, print_link), "port 1");
}

void
walk_events(int events, const char *what)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s, event", what);
	prefix = text;
	netlink_drain(events, print_link);
}

/* Change a link, then wait for the events of that. */
static void
change(int sock, int events, const char *what, uint32_t flags, uint32_t mask,
       uint16_t type, const void *data, uint16_t nb_bytes)
{
	struct ifinfomsg info = { .ifi_index = (int)walk_device.ifindex[0],
				  .ifi_flags = flags,
				  .ifi_change = mask };
	struct netlink_request request;

	netlink_start(&request, RTM_NEWLINK, NLM_F_ACK, &info, sizeof(info));
	if (type != 0)
		netlink_add(&request, type, data, nb_bytes);
	walk_result(netlink_ask(sock, &request, print_link), what);
	walk_events(events, what);
}

static void
changes(int sock, int events)
{
	const uint32_t mtu = 1400, old_mtu = 1500, small = 67, large = 9217;
	const uint32_t queue_length = 777, old_length = 1000;
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 }, carrier = 0;

	walk_name("RTM_NEWLINK");
	change(sock, events, "nothing", 0, 0, 0, NULL, 0);
	change(sock, events, "MTU 1400, down", 0, 0, IFLA_MTU, &mtu, 4);
	change(sock, events, "MTU 1400 again", 0, 0, IFLA_MTU, &mtu, 4);
	change(sock, events, "MTU 67", 0, 0, IFLA_MTU, &small, 4);
	change(sock, events, "MTU 9217", 0, 0, IFLA_MTU, &large, 4);
	change(sock, events, "Tx queue length 777", 0, 0, IFLA_TXQLEN,
	       &queue_length, 4);
	change(sock, events, "Tx queue length 1000", 0, 0, IFLA_TXQLEN,
	       &old_length, 4);
	change(sock, events, "another MAC address", 0, 0, IFLA_ADDRESS, mac, 6);
	change(sock, events, "carrier 0", 0, 0, IFLA_CARRIER, &carrier, 1);
	change(sock, events, "MTU of 1 byte", 0, 0, IFLA_MTU, mac, 1);
	change(sock, events, "up", IFF_UP, IFF_UP, 0, NULL, 0);
	get_link(sock, walk_device.ifindex[0], "link");
	change(sock, events, "up again", IFF_UP, IFF_UP, 0, NULL, 0);
	change(sock, events, "MTU 1500, up", 0, 0, IFLA_MTU, &old_mtu, 4);
	change(sock, events, "promiscuous", IFF_PROMISC, IFF_PROMISC, 0, NULL, 0);
	change(sock, events, "not promiscuous", 0, IFF_PROMISC, 0, NULL, 0);
	change(sock, events, "allmulti", IFF_ALLMULTI, IFF_ALLMULTI, 0, NULL, 0);
	change(sock, events, "not allmulti", 0, IFF_ALLMULTI, 0, NULL, 0);
	change(sock, events, "down", 0, IFF_UP, 0, NULL, 0);
	get_link(sock, walk_device.ifindex[0], "link");
	walk_name("SIOCSIFFLAGS");
	walk_result(netdev_set_up(0, true), "up");
	walk_events(events, "up");
	walk_result(netdev_set_up(0, false), "down");
	walk_events(events, "down");
	walk_result(netdev_set_mtu(0, 1400), "MTU 1400");
	walk_events(events, "MTU 1400");
	walk_result(netdev_set_mtu(0, 1500), "MTU 1500");
	walk_events(events, "MTU 1500");
}

void
walk_rtnetlink(void)
{
	int sock = netlink_open(NETLINK_ROUTE, 0);
	int events = netlink_open(NETLINK_ROUTE, RTMGRP_LINK);

	requests(sock);
	changes(sock, events);
	close(events);
	close(sock);
}
