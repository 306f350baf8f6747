/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Generic netlink. The modelled kernel has no ethtool family (as one built
 * without CONFIG_ETHTOOL_NETLINK): ethtool(8), and whoever else speaks it, then
 * takes the ioctl, which knows the modelled netdevs. All else is the real
 * kernel's.
 */

#include <errno.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

#include "netlink.h"

bool
genl_request(const struct nlmsghdr *request, struct netlink_sink *sink)
{
	const struct genlmsghdr *genl =
		(const void *)((const char *)request + NLMSG_HDRLEN);
	const struct nlattr *name;

	if (request->nlmsg_type != GENL_ID_CTRL ||
	    request->nlmsg_len < (uint32_t)NLMSG_LENGTH(GENL_HDRLEN) ||
	    genl->cmd != CTRL_CMD_GETFAMILY ||
	    (request->nlmsg_flags & NLM_F_DUMP) != 0)
		return false;
	name = nlmsg_find_attr((struct nlmsghdr *)(uintptr_t)request,
			       GENL_HDRLEN, CTRL_ATTR_FAMILY_NAME);
	if (name == NULL || nla_strcmp(name, ETHTOOL_GENL_NAME) != 0)
		return false;
	sink->text = NULL;
	netlink_finish(request, -ENOENT, sink);
	return true;
}
