/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * rtnetlink requests about what hangs on a netdev: addresses, routes,
 * neighbours, queueing. The modelled netdevs have none of it.
 */

#include <errno.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

#include "netdev.h"
#include "netlink.h"

/* RTM_NEW<X>, DEL, GET, SET follow each other, from a multiple of 4. */
#define GROUP(type) (((type)-RTM_BASE) / 4)
#define VERB(type) (((type)-RTM_BASE) % 4)
#define VERB_GET 2

/* Where a request of each kind has its interface index. */
static const struct {
	uint8_t header_bytes; /* 0: no such request */
	uint8_t offset; /* in the header; 0: in the attribute */
	uint16_t attr;
} kinds[] = {
	[GROUP(RTM_NEWADDR)] = { sizeof(struct ifaddrmsg),
				 offsetof(struct ifaddrmsg, ifa_index), 0 },
	[GROUP(RTM_NEWROUTE)] = { sizeof(struct rtmsg), 0, RTA_OIF },
	[GROUP(RTM_NEWNEIGH)] = { sizeof(struct ndmsg),
				  offsetof(struct ndmsg, ndm_ifindex), 0 },
	[GROUP(RTM_NEWQDISC)] = { sizeof(struct tcmsg),
				  offsetof(struct tcmsg, tcm_ifindex), 0 },
	[GROUP(RTM_NEWTCLASS)] = { sizeof(struct tcmsg),
				   offsetof(struct tcmsg, tcm_ifindex), 0 },
	[GROUP(RTM_NEWTFILTER)] = { sizeof(struct tcmsg),
				    offsetof(struct tcmsg, tcm_ifindex), 0 },
	[GROUP(RTM_NEWNETCONF)] = { sizeof(struct netconfmsg), 0,
				    NETCONFA_IFINDEX },
	[GROUP(RTM_NEWSTATS)] = { sizeof(struct if_stats_msg),
				  offsetof(struct if_stats_msg, ifindex), 0 },
};

/* 0: it names none. */
static uint32_t
ifindex_of(const struct nlmsghdr *request)
{
	const uint32_t group = GROUP(request->nlmsg_type);
	const char *body = (const char *)request + NLMSG_HDRLEN;
	struct nlattr *attr;
	uint32_t ifindex;

	if (request->nlmsg_type < RTM_BASE ||
	    group >= sizeof(kinds) / sizeof(kinds[0]) ||
	    kinds[group].header_bytes == 0 ||
	    request->nlmsg_len <
		    (uint32_t)NLMSG_LENGTH(kinds[group].header_bytes))
		return 0;
	if (kinds[group].offset != 0) {
		memcpy(&ifindex, body + kinds[group].offset, sizeof(ifindex));
		return ifindex;
	}
	attr = nlmsg_find_attr((struct nlmsghdr *)(uintptr_t)request,
			       kinds[group].header_bytes, kinds[group].attr);
	return attr == NULL || nla_len(attr) < (int)sizeof(ifindex) ? 0 :
								nla_get_u32(attr);
}

bool
rtnetlink_other_request(const struct nlmsghdr *request,
			struct netlink_sink *sink)
{
	uint32_t ifindex = ifindex_of(request);
	struct kernel_netdev netdev;

	if (ifindex == 0 || kernel_netdev_by_index(ifindex, &netdev) < 0)
		return false;
	sink->text = NULL;
	if (VERB(request->nlmsg_type) != VERB_GET) {
		sink->text = "mana-model: a modelled netdev has no network "
			     "stack";
		netlink_finish(request, -EOPNOTSUPP, sink);
	} else if ((request->nlmsg_flags & NLM_F_DUMP) != 0) {
		netlink_answer_done(request, sink);
	} else {
		netlink_finish(request, -ENOENT, sink);
	}
	return true;
}
