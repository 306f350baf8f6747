/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * rtnetlink requests and their answers, without libnl. For programs that run
 * under mana-model.
 */

#ifndef MODEL_TEST_NL_REQUEST_H
#define MODEL_TEST_NL_REQUEST_H

#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>

#include "verbs_fixture.h"

struct request {
	struct nlmsghdr hdr;
	struct ifinfomsg info;
	char attrs[256];
};

static inline struct request
new_request(uint16_t type, uint32_t ifindex)
{
	static uint32_t seq = 100;
	struct request request;

	memset(&request, 0, sizeof(request));
	request.hdr.nlmsg_len = NLMSG_LENGTH(sizeof(request.info));
	request.hdr.nlmsg_type = type;
	request.hdr.nlmsg_flags = NLM_F_REQUEST;
	request.hdr.nlmsg_seq = ++seq;
	request.info.ifi_index = ifindex;
	return request;
}

static inline void
add_attr(struct request *request, uint16_t type, const void *data, uint16_t len)
{
	struct rtattr *attr = (struct rtattr *)((char *)request +
		NLMSG_ALIGN(request->hdr.nlmsg_len));

	attr->rta_type = type;
	attr->rta_len = RTA_LENGTH(len);
	memcpy(RTA_DATA(attr), data, len);
	request->hdr.nlmsg_len = NLMSG_ALIGN(request->hdr.nlmsg_len) +
		RTA_ALIGN(attr->rta_len);
}

static inline int
open_socket(void)
{
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	assert_true(sock >= 0);
	return sock;
}

static char answer[16384] __attribute__((aligned(8)));

/* Send a request and receive one datagram; returns its length. */
static inline ssize_t
ask(int sock, struct request *request)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };
	struct nlmsghdr *hdr = (struct nlmsghdr *)answer;
	ssize_t len;

	assert_int_equal(send(sock, request, request->hdr.nlmsg_len, 0),
			 request->hdr.nlmsg_len);
	assert_int_equal(poll(&pfd, 1, 1000), 1);
	len = recv(sock, NULL, 0, MSG_PEEK | MSG_TRUNC);
	assert_true(len > 0);
	assert_int_equal(recv(sock, answer, sizeof(answer), 0), len);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	assert_int_equal(hdr->nlmsg_seq, request->hdr.nlmsg_seq);
	return len;
}

/* Request an acknowledgement; returns its error as a positive errno. */
static inline int
ask_ack(int sock, struct request *request)
{
	request->hdr.nlmsg_flags |= NLM_F_ACK;
	ask(sock, request);
	assert_int_equal(((struct nlmsghdr *)answer)->nlmsg_type, NLMSG_ERROR);
	return -((struct nlmsgerr *)NLMSG_DATA((struct nlmsghdr *)answer))
			->error;
}

static inline const void *
find_attr(uint16_t type, ssize_t len)
{
	struct nlmsghdr *hdr = (struct nlmsghdr *)answer;
	struct rtattr *attr = IFLA_RTA(NLMSG_DATA(hdr));
	int left = len - NLMSG_SPACE(sizeof(struct ifinfomsg));

	assert_int_equal(hdr->nlmsg_type, RTM_NEWLINK);
	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left))
		if (attr->rta_type == type)
			return RTA_DATA(attr);
	fail_msg("no attribute %u", type);
	return NULL;
}

#endif /* MODEL_TEST_NL_REQUEST_H */
