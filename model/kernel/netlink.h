/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Netlink requests to the modelled kernel. Called without the lock, outside
 * of signal handlers: messages are built with libnl, which allocates.
 */

#ifndef MODEL_NETLINK_H
#define MODEL_NETLINK_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nl_msg;

/* Where answers go, in order. The message stays the caller's. */
struct netlink_sink {
	void (*answer)(struct netlink_sink *sink, struct nl_msg *msg);
	/* The same with a datagram of any number of messages. */
	void (*answer_raw)(struct netlink_sink *sink, void *messages,
			   size_t nb_bytes);
	/*
	 * Put a dump to the real kernel and pass its answer on, but for the
	 * NLMSG_DONE at its end. False: it failed, which is answered, too.
	 */
	bool (*relay_dump)(struct netlink_sink *sink,
			   const struct nlmsghdr *request);
	bool wants_text; /* NETLINK_EXT_ACK */
	bool caps_acks; /* NETLINK_CAP_ACK */
	const char *text; /* what the error is about, for such a program */
};

/* A request on a NETLINK_RDMA socket; always answered as its flags ask. */
void rdma_netlink_request(const struct nlmsghdr *request,
			  struct netlink_sink *sink);

/*
 * A request on a NETLINK_ROUTE socket. False: it is not about a modelled
 * netdev, the real kernel is to answer.
 */
bool rtnetlink_request(const struct nlmsghdr *request,
		       struct netlink_sink *sink);
/* A part of it: everything but links. */
bool rtnetlink_other_request(const struct nlmsghdr *request,
			     struct netlink_sink *sink);

/* The same for a NETLINK_GENERIC socket. */
bool genl_request(const struct nlmsghdr *request, struct netlink_sink *sink);

/* NLMSG_ERROR with this error, 0 or negative: an acknowledgement. */
void netlink_answer_error(const struct nlmsghdr *request, int error,
			  struct netlink_sink *sink);
/* NLMSG_DONE: the end of a dump. */
void netlink_answer_done(const struct nlmsghdr *request,
			 struct netlink_sink *sink);
/*
 * The end of a request: an error is always told, success only when the
 * request asked for it.
 */
void netlink_finish(const struct nlmsghdr *request, int error,
		    struct netlink_sink *sink);

#endif /* MODEL_NETLINK_H */
