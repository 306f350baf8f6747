/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdlib.h>
#include <string.h>

#include "netlink.h"
#include "nl_write.h"

#define TEXT_BYTES 256

/* Linux net/netlink/af_netlink.c netlink_ack(). */
void
netlink_answer_error(const struct nlmsghdr *request, int error,
		     struct netlink_sink *sink)
{
	const struct nlmsgerr body = { .error = error, .msg = *request };
	bool has_all = error != 0 && !sink->caps_acks;
	bool has_text = sink->wants_text && error != 0 && sink->text != NULL;
	size_t room = NLMSG_SPACE(sizeof(body)) + TEXT_BYTES +
		(has_all ? NLMSG_ALIGN(request->nlmsg_len) : 0);
	struct nl_write w = { .room = room };
	struct nlmsghdr *hdr;
	void *rest;

	w.buf = malloc(room);
	if (w.buf == NULL)
		return; /* as the real kernel without memory */
	hdr = nl_write_begin(&w, NLMSG_ERROR,
			     (has_all ? 0 : NLM_F_CAPPED) |
			     (has_text ? NLM_F_ACK_TLVS : 0),
			     request->nlmsg_seq, &body, sizeof(body));
	if (has_all) {
		rest = nl_write_space(&w, request->nlmsg_len - NLMSG_HDRLEN);
		if (rest != NULL)
			memcpy(rest, request + 1,
			       request->nlmsg_len - NLMSG_HDRLEN);
	}
	if (has_text)
		nl_write_text(&w, NLMSGERR_ATTR_MSG, sink->text);
	nl_write_end(&w, hdr);
	sink->answer(sink, w.buf, w.nb_bytes);
	free(w.buf);
}

void
netlink_answer_done(const struct nlmsghdr *request, struct netlink_sink *sink)
{
	char buf[NLMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct nl_write w = { .buf = buf, .room = sizeof(buf) };
	const int error = 0;

	nl_write_end(&w, nl_write_begin(&w, NLMSG_DONE, NLM_F_MULTI,
					request->nlmsg_seq, &error,
					sizeof(error)));
	sink->answer(sink, buf, w.nb_bytes);
}

void
netlink_finish(const struct nlmsghdr *request, int error,
	       struct netlink_sink *sink)
{
	if (error != 0 || (request->nlmsg_flags & NLM_F_ACK) != 0)
		netlink_answer_error(request, error, sink);
}

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
