/* SPDX-License-Identifier: BSD-3-Clause */

#include <netlink/msg.h>

#include "netlink.h"

void
netlink_answer_error(const struct nlmsghdr *request, int error,
		     struct netlink_sink *sink)
{
	struct nlmsgerr body = { .error = error, .msg = *request };
	struct nl_msg *msg;

	msg = nlmsg_alloc_simple(NLMSG_ERROR, NLM_F_CAPPED);
	if (msg == NULL)
		return; /* as when the real kernel has no memory */
	nlmsg_hdr(msg)->nlmsg_seq = request->nlmsg_seq;
	if (nlmsg_append(msg, &body, sizeof(body), NLMSG_ALIGNTO) == 0)
		sink->answer(sink, msg);
	nlmsg_free(msg);
}

void
netlink_finish(const struct nlmsghdr *request, int error,
	       struct netlink_sink *sink)
{
	if (error != 0 || (request->nlmsg_flags & NLM_F_ACK) != 0)
		netlink_answer_error(request, error, sink);
}
