/* SPDX-License-Identifier: BSD-3-Clause */

/* RTM_GETLINK, RTM_NEWLINK, RTM_SETLINK, RTM_DELLINK of modelled netdevs. */

#include <errno.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

#include "fault.h"
#include "link_message.h"
#include "machine.h"
#include "netdev.h"
#include "netlink.h"
#include "segment.h"

#define ALT_NAME_BYTES 128 /* ALTIFNAMSIZ */
/*
 * Size of a dump's datagram. Linux starts with NLMSG_GOODSIZE (8192 less some
 * hundred bytes), which every program accepts.
 */
#define DUMP_BYTES 7168

static const struct nla_policy link_policy[IFLA_MAX + 1] = {
	[IFLA_IFNAME] = { .type = NLA_STRING, .maxlen = IFNAMSIZ },
	[IFLA_ALT_IFNAME] = { .type = NLA_STRING, .maxlen = ALT_NAME_BYTES },
	[IFLA_MTU] = { .type = NLA_U32 },
	[IFLA_TXQLEN] = { .type = NLA_U32 },
	[IFLA_MASTER] = { .type = NLA_U32 },
	[IFLA_EXT_MASK] = { .type = NLA_U32 },
};

static uint32_t
get_u32(struct nlattr **attrs, int type)
{
	return attrs[type] == NULL ? 0 : nla_get_u32(attrs[type]);
}

/* ---- queries ---- */

static int
answer_link(const struct nlmsghdr *request, struct nlattr **attrs,
	    const struct kernel_netdev *netdev, struct netlink_sink *sink)
{
	const struct link_message how = {
		.type = RTM_NEWLINK,
		.seq = request->nlmsg_seq,
		.ext_mask = get_u32(attrs, IFLA_EXT_MASK),
	};
	char buf[LINK_MESSAGE_MAX_BYTES] __attribute__((aligned(8)));
	struct nl_write w = { .buf = buf, .room = sizeof(buf) };

	link_message_write(&w, &how, netdev);
	sink->answer(sink, buf, w.nb_bytes);
	return 0;
}

static void
dump_links(const struct nlmsghdr *request, struct nlattr **attrs,
	   struct netlink_sink *sink)
{
	const struct link_message how = {
		.type = RTM_NEWLINK,
		.flags = NLM_F_MULTI,
		.seq = request->nlmsg_seq,
		.ext_mask = get_u32(attrs, IFLA_EXT_MASK),
	};
	const uint32_t master = get_u32(attrs, IFLA_MASTER);
	char buf[DUMP_BYTES] __attribute__((aligned(8)));
	struct nl_write w = { .buf = buf, .room = sizeof(buf) };
	struct kernel_netdev netdev;
	uint32_t n;

	for (n = 0; netdev_nth(n, &netdev) == 0; n++) {
		if (master != 0 && netdev_master(&netdev) != master)
			continue;
		if (w.room - w.nb_bytes < LINK_MESSAGE_MAX_BYTES) {
			sink->answer(sink, buf, w.nb_bytes);
			w.nb_bytes = 0;
		}
		link_message_write(&w, &how, &netdev);
	}
	if (w.nb_bytes > 0)
		sink->answer(sink, buf, w.nb_bytes);
}

/* Dump the real netdevs, then the modelled ones as if created later. */
static bool
run_dump(const struct nlmsghdr *request, const struct ifinfomsg *info,
	 struct nlattr **attrs, struct netlink_sink *sink)
{
	int rc;

	/* These two families do not report links. */
	if (info->ifi_family == AF_BRIDGE || info->ifi_family == AF_INET6)
		return false;
	segment_lock();
	rc = fault_check(FAULT_rtnetlink);
	segment_unlock();
	if (rc < 0) {
		netlink_finish(request, rc, sink);
		return true;
	}
	if (!sink->relay_dump(sink, request))
		return true;
	/* Modelled netdevs have no kind (link_dump_filtered()). */
	if (attrs[IFLA_LINKINFO] == NULL)
		dump_links(request, attrs, sink);
	netlink_answer_done(request, sink);
	return true;
}

/* ---- changes ---- */

/* Attributes that mana_devops has no operation for (do_setlink()). */
static const uint16_t refused[] = {
	IFLA_ADDRESS, IFLA_MASTER, IFLA_CARRIER, IFLA_PROTO_DOWN,
	IFLA_VFINFO_LIST, IFLA_VF_PORTS, IFLA_PORT_SELF, IFLA_MAP,
};

/* Attributes that Linux supports for any netdev, but the model does not. */
static const uint16_t not_modelled[] = {
	IFLA_NET_NS_PID, IFLA_NET_NS_FD, IFLA_LINKINFO, IFLA_XDP,
	IFLA_PROP_LIST,
};

static int
check_attrs(struct nlattr **attrs, const struct kernel_netdev *netdev,
	    const char **text)
{
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		/* It has no master: accept the removal. */
		if (attrs[refused[i]] != NULL &&
		    (refused[i] != IFLA_MASTER || get_u32(attrs, IFLA_MASTER)))
			return -EOPNOTSUPP;
	*text = "mana-model: not modelled";
	for (i = 0; i < sizeof(not_modelled) / sizeof(not_modelled[0]); i++)
		if (attrs[not_modelled[i]] != NULL)
			return -EOPNOTSUPP;
	*text = "mana-model: a modelled netdev keeps its name";
	if (attrs[IFLA_IFNAME] != NULL &&
	    nla_strcmp(attrs[IFLA_IFNAME], netdev->name) != 0)
		return -EOPNOTSUPP;
	*text = NULL;
	return 0;
}

/* dev_validate_mtu() */
static int
change_mtu(uint32_t mtu, const struct kernel_netdev *netdev, const char **text)
{
	if (mtu < NETDEV_MIN_MTU)
		*text = "mtu less than device minimum";
	else if (mtu > netdev->max_mtu)
		*text = "mtu greater than device maximum";
	return kernel_netdev_set_mtu(netdev->ifindex, mtu);
}

/* do_setlink(): attributes first, then flags. */
static int
change_link(const struct ifinfomsg *info, struct nlattr **attrs,
	    const struct kernel_netdev *netdev, const char **text)
{
	uint32_t change = info->ifi_change;
	int rc;

	/* It is down and stays so. */
	if (netdev->is_master)
		return change == IFF_UP && (info->ifi_flags & IFF_UP) == 0 ?
			       0 : -EOPNOTSUPP;
	rc = check_attrs(attrs, netdev, text);
	if (rc == 0 && attrs[IFLA_MTU] != NULL)
		rc = change_mtu(get_u32(attrs, IFLA_MTU), netdev, text);
	/* A change mask of 0, from old programs, means all flags. */
	if (change == 0 && info->ifi_flags != 0)
		change = UINT32_MAX;
	if (rc == 0 && change != 0)
		rc = kernel_netdev_set_flags(netdev->ifindex, info->ifi_flags,
					     change);
	if (rc == 0 && attrs[IFLA_TXQLEN] != NULL)
		rc = kernel_netdev_set_tx_queue_len(
			netdev->ifindex, get_u32(attrs, IFLA_TXQLEN));
	return rc;
}

static int
new_link(const struct nlmsghdr *request, const struct ifinfomsg *info,
	 struct nlattr **attrs, const struct kernel_netdev *netdev,
	 const char **text)
{
	/* __rtnl_newlink(): for an existing netdev. */
	if ((request->nlmsg_flags & NLM_F_EXCL) != 0)
		return -EEXIST;
	if ((request->nlmsg_flags & NLM_F_REPLACE) != 0)
		return -EOPNOTSUPP;
	return change_link(info, attrs, netdev, text);
}

/* ---- the netdev of a request ---- */

static int
by_name(struct nlattr *attr, struct kernel_netdev *netdev)
{
	char name[IFNAMSIZ];

	if (attr == NULL || nla_len(attr) > (int)sizeof(name))
		return -ENODEV;
	nla_strlcpy(name, attr, sizeof(name));
	return netdev_find(0, name, netdev);
}

/*
 * Find the netdev of a request; false if it is no modelled one. Linux searches
 * both attributes among names and alternative names (rtnl_dev_get()); modelled
 * netdevs have no alternative names.
 */
static bool
find_netdev(const struct ifinfomsg *info, struct nlattr **attrs,
	    struct kernel_netdev *netdev)
{
	if (info->ifi_index > 0)
		return netdev_find(info->ifi_index, NULL, netdev) == 0;
	return by_name(attrs[IFLA_IFNAME], netdev) == 0 ||
		by_name(attrs[IFLA_ALT_IFNAME], netdev) == 0;
}

static int
run(const struct nlmsghdr *request, const struct ifinfomsg *info,
    struct nlattr **attrs, struct netlink_sink *sink)
{
	struct kernel_netdev netdev;
	int rc;

	if (!find_netdev(info, attrs, &netdev))
		return -ENODEV;
	segment_lock();
	rc = fault_check(FAULT_rtnetlink);
	segment_unlock();
	if (rc < 0)
		return rc;
	switch (request->nlmsg_type) {
	case RTM_GETLINK:
		return answer_link(request, attrs, &netdev, sink);
	case RTM_NEWLINK:
		return new_link(request, info, attrs, &netdev, &sink->text);
	case RTM_SETLINK:
		return change_link(info, attrs, &netdev, &sink->text);
	default: /* RTM_DELLINK: it has no rtnl_link_ops */
		return -EOPNOTSUPP;
	}
}

/*
 * A wrong attribute of a modelled netdev; the real kernel, which does not know
 * it, might ask for rights first.
 */
static bool
refuse_malformed(const struct nlmsghdr *request, struct netlink_sink *sink)
{
	const struct ifinfomsg *info =
		(const void *)((const char *)request + NLMSG_HDRLEN);
	struct kernel_netdev netdev;

	if (request->nlmsg_len < NLMSG_LENGTH(sizeof(*info)) ||
	    kernel_netdev_by_index((uint32_t)info->ifi_index, &netdev) < 0)
		return false;
	sink->text = NULL;
	netlink_finish(request, -ERANGE, sink);
	return true;
}

bool
rtnetlink_request(const struct nlmsghdr *request, struct netlink_sink *sink)
{
	struct nlattr *attrs[IFLA_MAX + 1];
	const struct ifinfomsg *info;
	struct kernel_netdev netdev;

	if ((request->nlmsg_flags & NLM_F_REQUEST) == 0)
		return false;
	if (request->nlmsg_type < RTM_NEWLINK ||
	    request->nlmsg_type > RTM_SETLINK)
		return rtnetlink_other_request(request, sink);
	if (nlmsg_parse((struct nlmsghdr *)(uintptr_t)request, sizeof(*info),
			attrs, IFLA_MAX, link_policy) < 0)
		return refuse_malformed(request, sink);
	info = (const void *)((const char *)request + NLMSG_HDRLEN);
	if (request->nlmsg_type == RTM_GETLINK &&
	    (request->nlmsg_flags & NLM_F_DUMP) != 0)
		return run_dump(request, info, attrs, sink);
	if (!find_netdev(info, attrs, &netdev))
		return false;
	sink->text = NULL;
	netlink_finish(request, run(request, info, attrs, sink), sink);
	machine_tick();
	return true;
}

/* RTM_NEW<X>, DEL, GET, SET follow each other, from a multiple of 4. */
#define GROUP(type) (((type)-RTM_BASE) / 4)
#define VERB(type) (((type)-RTM_BASE) % 4)
#define VERB_GET 2

/* Location of the interface index in each kind of request. */
static const struct {
	uint8_t header_bytes; /* 0: no index in this kind */
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

/* The interface index of a request; 0: none. */
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
