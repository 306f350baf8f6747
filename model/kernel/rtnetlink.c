/* SPDX-License-Identifier: BSD-3-Clause */

/* RTM_GETLINK, RTM_NEWLINK and RTM_SETLINK for the modelled netdevs. */

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

#include "fault.h"
#include "netdev.h"
#include "netlink.h"
#include "segment.h"

#define MAC_BYTES 6
#define TX_QUEUE_LEN 1000
#define OPER_DOWN 2 /* RFC 2863 */
#define OPER_UP 6

static const struct nla_policy link_policy[IFLA_MAX + 1] = {
	[IFLA_IFNAME] = { .type = NLA_NUL_STRING, .maxlen = IFNAMSIZ },
	[IFLA_MTU] = { .type = NLA_U32 },
};

/* What can fail only for lack of memory, chained. */
#define PUT(rc, put) ((rc) = (rc) == 0 ? (put) : (rc))

static int
put_link(struct nl_msg *msg, const struct kernel_netdev *netdev)
{
	static const uint8_t broadcast[MAC_BYTES] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	char pci[NETDEV_PCI_BYTES];
	int rc = 0;

	netdev_pci_address(netdev->fn, pci);
	PUT(rc, nla_put_string(msg, IFLA_IFNAME, netdev->name));
	PUT(rc, nla_put_u32(msg, IFLA_TXQLEN, TX_QUEUE_LEN));
	PUT(rc, nla_put_u8(msg, IFLA_OPERSTATE,
			   netdev->is_up ? OPER_UP : OPER_DOWN));
	PUT(rc, nla_put_u8(msg, IFLA_LINKMODE, 0));
	PUT(rc, nla_put_u32(msg, IFLA_MTU, netdev->mtu));
	PUT(rc, nla_put_u32(msg, IFLA_MIN_MTU, NETDEV_MIN_MTU));
	PUT(rc, nla_put_u32(msg, IFLA_MAX_MTU, netdev->max_mtu));
	PUT(rc, nla_put_u32(msg, IFLA_GROUP, 0));
	PUT(rc, nla_put_u32(msg, IFLA_PROMISCUITY, 0));
	PUT(rc, nla_put_u32(msg, IFLA_NUM_TX_QUEUES, NETDEV_MAX_CHANNELS));
	PUT(rc, nla_put_u32(msg, IFLA_NUM_RX_QUEUES, NETDEV_MAX_CHANNELS));
	PUT(rc, nla_put_u8(msg, IFLA_CARRIER, netdev->carrier));
	PUT(rc, nla_put(msg, IFLA_ADDRESS, MAC_BYTES, netdev->mac));
	PUT(rc, nla_put(msg, IFLA_BROADCAST, MAC_BYTES, broadcast));
	PUT(rc, nla_put(msg, IFLA_PERM_ADDRESS, MAC_BYTES, netdev->mac));
	PUT(rc, nla_put_string(msg, IFLA_PARENT_DEV_NAME, pci));
	PUT(rc, nla_put_string(msg, IFLA_PARENT_DEV_BUS_NAME, "pci"));
	return rc < 0 ? -ENOMEM : 0;
}

static int
answer_link(const struct nlmsghdr *request, const struct kernel_netdev *netdev,
	    struct netlink_sink *sink)
{
	struct ifinfomsg info = {
		.ifi_family = AF_UNSPEC,
		.ifi_type = ARPHRD_ETHER,
		.ifi_index = netdev->ifindex,
		.ifi_flags = netdev_flags(netdev),
	};
	struct nl_msg *msg;
	int rc;

	msg = nlmsg_alloc_simple(RTM_NEWLINK, 0);
	if (msg == NULL)
		return -ENOMEM;
	nlmsg_hdr(msg)->nlmsg_seq = request->nlmsg_seq;
	rc = nlmsg_append(msg, &info, sizeof(info), NLMSG_ALIGNTO);
	if (rc == 0)
		rc = put_link(msg, netdev);
	if (rc == 0)
		sink->answer(sink, msg);
	nlmsg_free(msg);
	return rc < 0 ? -ENOMEM : 0;
}

/* do_setlink(): the attributes first, the flags then. */
static int
change_link(const struct ifinfomsg *info, struct nlattr **attrs,
	    const struct kernel_netdev *netdev)
{
	uint32_t change = info->ifi_change;
	int rc = 0;

	/* mana_devops has none of the operations for these. */
	if (attrs[IFLA_ADDRESS] != NULL || attrs[IFLA_MASTER] != NULL)
		return -EOPNOTSUPP;
	if (attrs[IFLA_MTU] != NULL)
		rc = kernel_netdev_set_mtu(netdev->ifindex,
					   nla_get_u32(attrs[IFLA_MTU]));
	/* Old callers leave the change mask 0 and mean all flags. */
	if (change == 0 && info->ifi_flags != 0)
		change = UINT32_MAX;
	if (rc == 0 && (change & IFF_UP) != 0)
		rc = kernel_netdev_set_up(netdev->ifindex,
					  (info->ifi_flags & IFF_UP) != 0);
	return rc;
}

/* The netdev a request is about; false when it is not one of ours. */
static bool
find_netdev(const struct ifinfomsg *info, struct nlattr **attrs,
	    struct kernel_netdev *netdev)
{
	if (info->ifi_index > 0)
		return kernel_netdev_by_index(info->ifi_index, netdev) == 0;
	if (attrs[IFLA_IFNAME] != NULL)
		return kernel_netdev_by_name(nla_get_string(attrs[IFLA_IFNAME]),
					     netdev) == 0;
	return false;
}

bool
rtnetlink_request(const struct nlmsghdr *request, struct netlink_sink *sink)
{
	struct nlattr *attrs[IFLA_MAX + 1];
	const struct ifinfomsg *info;
	struct kernel_netdev netdev;
	int rc;

	if (request->nlmsg_type != RTM_GETLINK &&
	    request->nlmsg_type != RTM_NEWLINK &&
	    request->nlmsg_type != RTM_SETLINK)
		return false;
	if ((request->nlmsg_flags & NLM_F_REQUEST) == 0 ||
	    (request->nlmsg_type == RTM_GETLINK &&
	     (request->nlmsg_flags & NLM_F_DUMP) != 0))
		return false;
	if (nlmsg_parse((struct nlmsghdr *)(uintptr_t)request, sizeof(*info),
			attrs, IFLA_MAX, link_policy) < 0)
		return false;
	info = (const void *)((const char *)request + NLMSG_HDRLEN);
	if (!find_netdev(info, attrs, &netdev))
		return false;

	segment_lock();
	rc = fault_check(FAULT_rtnetlink);
	segment_unlock();
	if (rc == 0 && request->nlmsg_type == RTM_GETLINK)
		rc = answer_link(request, &netdev, sink);
	else if (rc == 0)
		rc = change_link(info, attrs, &netdev);
	netlink_finish(request, rc, sink);
	return true;
}
