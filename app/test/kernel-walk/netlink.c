/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink.h"
#include "walk.h"

#define ANSWER_MS 5000
static char answer[65536] __attribute__((aligned(8)));

int
netlink_open(int protocol, uint32_t groups)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK,
				       .nl_groups = groups };
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	if (sock >= 0 &&
	    bind(sock, (struct sockaddr *)&address, sizeof(address)) == 0)
		return sock;
	fprintf(stderr, "netlink socket of protocol %d: %s\n", protocol,
		strerror(errno));
	exit(2);
}

void
netlink_start(struct netlink_request *request, uint16_t type, uint16_t flags,
	      const void *head, size_t head_bytes)
{
	static uint32_t seq = 1;

	memset(request, 0, sizeof(*request));
	request->hdr.nlmsg_type = type;
	request->hdr.nlmsg_flags = NLM_F_REQUEST | flags;
	request->hdr.nlmsg_seq = ++seq;
	request->hdr.nlmsg_len = NLMSG_LENGTH(head_bytes);
	if (head_bytes > 0)
		memcpy(request->body, head, head_bytes);
}

void
netlink_add(struct netlink_request *request, uint16_t type, const void *data,
	    uint16_t nb_bytes)
{
	struct rtattr attr = { .rta_type = type,
			       .rta_len = (uint16_t)RTA_LENGTH(nb_bytes) };
	char *at = (char *)request + NLMSG_ALIGN(request->hdr.nlmsg_len);

	memcpy(at, &attr, sizeof(attr));
	memcpy(at + RTA_LENGTH(0), data, nb_bytes);
	request->hdr.nlmsg_len = NLMSG_ALIGN(request->hdr.nlmsg_len) +
				 RTA_ALIGN(attr.rta_len);
}

/* One datagram; its length, 0 if none comes in time. */
static size_t
receive(int sock, int timeout_ms)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };
	ssize_t len;

	if (poll(&pfd, 1, timeout_ms) <= 0)
		return 0;
	len = recv(sock, answer, sizeof(answer), 0);
	return len < 0 ? 0 : (size_t)len;
}

int
netlink_ask(int sock, struct netlink_request *request,
	    void (*visit)(struct nlmsghdr *hdr))
{
	struct nlmsghdr *hdr;
	size_t len;

	if (send(sock, request, request->hdr.nlmsg_len, 0) < 0)
		return errno;
	while ((len = receive(sock, ANSWER_MS)) > 0) {
		for (hdr = (struct nlmsghdr *)answer; NLMSG_OK(hdr, len);
		     hdr = NLMSG_NEXT(hdr, len)) {
			if (hdr->nlmsg_seq != request->hdr.nlmsg_seq)
				continue;
			if (hdr->nlmsg_type == NLMSG_DONE)
				return 0;
			if (hdr->nlmsg_type == NLMSG_ERROR)
				return -((struct nlmsgerr *)NLMSG_DATA(hdr))->error;
			visit(hdr);
			/* A single answer, without acknowledgement. */
			if (!(hdr->nlmsg_flags & NLM_F_MULTI) &&
			    !(request->hdr.nlmsg_flags & NLM_F_ACK))
				return 0;
		}
	}
	return ETIMEDOUT;
}

void
netlink_drain(int sock, void (*visit)(struct nlmsghdr *hdr))
{
	struct nlmsghdr *hdr;
	size_t len;

	while ((len = receive(sock, walk_settle_ms)) > 0)
		for (hdr = (struct nlmsghdr *)answer; NLMSG_OK(hdr, len);
		     hdr = NLMSG_NEXT(hdr, len))
			visit(hdr);
}

uint64_t
netlink_number(struct rtattr *attr)
{
	uint64_t value = 0;
	size_t nb_bytes = RTA_PAYLOAD(attr);

	memcpy(&value, RTA_DATA(attr),
	       nb_bytes < sizeof(value) ? nb_bytes : sizeof(value));
	return value;
}
