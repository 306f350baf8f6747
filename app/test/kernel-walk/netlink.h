/* SPDX-License-Identifier: BSD-3-Clause */

/* Netlink sockets, requests and attributes, without a library. */

#ifndef KERNEL_WALK_NETLINK_H
#define KERNEL_WALK_NETLINK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>

struct netlink_request {
	struct nlmsghdr hdr;
	char body[1024];
};

/* A bound socket; groups: bit n - 1 joins group n. Ends the program if none. */
int netlink_open(int protocol, uint32_t groups);
void netlink_start(struct netlink_request *request, uint16_t type,
		   uint16_t flags, const void *head, size_t head_bytes);
void netlink_add(struct netlink_request *request, uint16_t type,
		 const void *data, uint16_t nb_bytes);
/*
 * Send it, and call visit for each answer but acknowledgements and the end of
 * a dump. Returns the positive errno of the error message; ETIMEDOUT if the
 * answer does not end.
 */
int netlink_ask(int sock, struct netlink_request *request,
		void (*visit)(struct nlmsghdr *hdr));
/* Call visit for each message until none comes for walk_settle_ms. */
void netlink_drain(int sock, void (*visit)(struct nlmsghdr *hdr));

/* The attributes behind a head of head_bytes. */
#define NETLINK_FOR_EACH(attr, left, hdr, head_bytes)                 \
	for (attr = (struct rtattr *)((char *)NLMSG_DATA(hdr) +       \
				      NLMSG_ALIGN(head_bytes)),       \
	    left = (int)((hdr)->nlmsg_len - NLMSG_SPACE(head_bytes)); \
	     RTA_OK(attr, left); attr = RTA_NEXT(attr, left))
uint64_t netlink_number(struct rtattr *attr);

#endif /* KERNEL_WALK_NETLINK_H */
