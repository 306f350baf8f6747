/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Netlink requests to the modelled kernel. Call these without the lock, outside of
 * signal handlers: they allocate memory.
 */

#ifndef MODEL_NETLINK_H
#define MODEL_NETLINK_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct netlink_sink {
	/* Receives the answers in order: a datagram of one or more messages. */
	void (*answer)(struct netlink_sink *sink, void *messages, size_t nb_bytes);
	/*
	 * Send a dump request to the real kernel and forward its answer without
	 * the final NLMSG_DONE. False: it failed, and the error was answered.
	 */
	bool (*relay_dump)(struct netlink_sink *sink,
			   const struct nlmsghdr *request);
	bool wants_text; /* NETLINK_EXT_ACK */
	bool caps_acks; /* NETLINK_CAP_ACK */
	const char *text; /* error message, for wants_text */
};

/* A request on a NETLINK_RDMA socket; always answered, as its flags demand. */
void rdma_netlink_request(const struct nlmsghdr *request,
			  struct netlink_sink *sink);

/*
 * A request on a NETLINK_ROUTE socket. False: it is not about a modelled
 * netdev, so the real kernel must answer.
 */
bool rtnetlink_request(const struct nlmsghdr *request,
		       struct netlink_sink *sink);
/* The part for requests other than links. */
bool rtnetlink_other_request(const struct nlmsghdr *request,
			     struct netlink_sink *sink);

/* The same for a NETLINK_GENERIC socket. */
bool genl_request(const struct nlmsghdr *request, struct netlink_sink *sink);

/* Answer NLMSG_ERROR with error, 0 (an acknowledgement) or negative. */
void netlink_answer_error(const struct nlmsghdr *request, int error,
			  struct netlink_sink *sink);
/* Answer NLMSG_DONE, the end of a dump. */
void netlink_answer_done(const struct nlmsghdr *request,
			 struct netlink_sink *sink);
/* End a request: answer an error, or the acknowledgement that it demands. */
void netlink_finish(const struct nlmsghdr *request, int error,
		    struct netlink_sink *sink);

#endif /* MODEL_NETLINK_H */
