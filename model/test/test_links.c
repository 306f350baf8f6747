/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * rtnetlink dumps, notifications, addresses and routes of a netdev, error
 * messages. Run under mana-model with two functions of two ports.
 */

#include <net/if.h>
#include <sys/wait.h>

#include "nl_request.h"

#define FIRST_IFINDEX 10001
#define NB_NETDEVS 4

/* Contents of a dump. */
struct dump {
	uint32_t nb_real, nb_modelled;
	bool is_sorted; /* modelled netdevs last, in order, with the correct names */
	int error;
};

static void
count_link(struct nlmsghdr *hdr, struct dump *dump)
{
	static const char *const names[] = { "mana0p0", "mana0p1", "mana1p0",
					     "mana1p1" };
	const struct ifinfomsg *info = NLMSG_DATA(hdr);
	struct rtattr *attr = IFLA_RTA(NLMSG_DATA(hdr));

	assert_int_equal(hdr->nlmsg_type, RTM_NEWLINK);
	assert_true(hdr->nlmsg_flags & NLM_F_MULTI);
	if (info->ifi_index < FIRST_IFINDEX) {
		dump->nb_real++;
		dump->is_sorted &= dump->nb_modelled == 0;
		return;
	}
	assert_true(dump->nb_modelled < NB_NETDEVS);
	assert_int_equal(attr->rta_type, IFLA_IFNAME);
	assert_string_equal(RTA_DATA(attr), names[dump->nb_modelled]);
	dump->is_sorted &= info->ifi_index ==
		(int)(FIRST_IFINDEX + dump->nb_modelled);
	dump->nb_modelled++;
}

static struct dump
run_dump(int sock, struct request *request)
{
	struct dump dump = { .is_sorted = true };
	struct nlmsghdr *hdr;
	bool is_done = false;
	int len;

	request->hdr.nlmsg_flags |= NLM_F_DUMP;
	assert_true(send(sock, request, request->hdr.nlmsg_len, 0) > 0);
	while (!is_done) {
		len = (int)recv(sock, answer, sizeof(answer), 0);
		assert_true(len > 0);
		for (hdr = (void *)answer; NLMSG_OK(hdr, (uint32_t)len);
		     hdr = NLMSG_NEXT(hdr, len)) {
			assert_int_equal(hdr->nlmsg_seq, request->hdr.nlmsg_seq);
			assert_false(is_done);
			is_done = hdr->nlmsg_type == NLMSG_DONE ||
				hdr->nlmsg_type == NLMSG_ERROR;
			if (is_done)
				dump.error = *(int *)NLMSG_DATA(hdr);
			else
				count_link(hdr, &dump);
		}
		assert_int_equal(len, 0);
	}
	assert_int_equal(recv(sock, answer, 1, MSG_DONTWAIT), -1);
	return dump;
}

TEST(dump_lists_real_links_then_modelled)
{
	struct request request = new_request(RTM_GETLINK, 0);
	int sock = open_socket(), one = 1;
	struct dump dump;

	dump = run_dump(sock, &request);
	assert_true(dump.nb_real > 0);
	assert_int_equal(dump.nb_modelled, NB_NETDEVS);
	assert_true(dump.is_sorted);
	assert_int_equal(dump.error, 0);

	/* Modelled netdevs have no master. */
	request = new_request(RTM_GETLINK, 0);
	add_attr(&request, IFLA_MASTER, &(uint32_t){ 1 }, 4);
	assert_int_equal(run_dump(sock, &request).nb_modelled, 0);

	/* With this option the real kernel checks requests strictly. */
	assert_int_equal(setsockopt(sock, SOL_NETLINK, NETLINK_GET_STRICT_CHK,
				    &one, sizeof(one)), 0);
	request = new_request(RTM_GETLINK, 0);
	assert_int_equal(run_dump(sock, &request).nb_modelled, NB_NETDEVS);
	request = new_request(RTM_GETLINK, 0);
	request.info.ifi_change = 1;
	dump = run_dump(sock, &request);
	assert_int_equal(dump.error, -EINVAL);
	assert_int_equal(dump.nb_modelled, 0);
	close(sock);
}

/* A non-blocking listener. */
static int
open_listener(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK,
				    .nl_groups = RTMGRP_LINK };
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			  NETLINK_ROUTE);

	assert_true(sock >= 0);
	assert_int_equal(bind(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return sock;
}

/* The next notification about a modelled netdev; its length, or 0. */
static ssize_t
next_event(int sock)
{
	struct ifinfomsg *info = NLMSG_DATA((struct nlmsghdr *)answer);
	struct sockaddr_nl from;
	socklen_t from_len;
	ssize_t len;

	/* Real links may change at any time. */
	do {
		from_len = sizeof(from);
		len = recvfrom(sock, answer, sizeof(answer), 0,
			       (struct sockaddr *)&from, &from_len);
		if (len < 0) {
			assert_int_equal(errno, EAGAIN);
			return 0;
		}
		assert_int_equal(from.nl_pid, 0);
		assert_int_equal(from.nl_groups, RTMGRP_LINK);
	} while (info->ifi_index < FIRST_IFINDEX);
	return len;
}

TEST(changes_are_announced)
{
	struct ifinfomsg *info = NLMSG_DATA((struct nlmsghdr *)answer);
	int sock = open_listener();
	ssize_t len;

	assert_int_equal(fx_command("netdev port=2 up"), 0);
	len = next_event(sock);
	assert_true(len > 0);
	assert_int_equal(info->ifi_index, FIRST_IFINDEX + 1);
	assert_int_equal(info->ifi_change, IFF_UP);
	assert_int_equal(info->ifi_flags & (IFF_UP | IFF_RUNNING),
			 IFF_UP | IFF_RUNNING);
	assert_string_equal(find_attr(IFLA_IFNAME, len), "mana0p1");
	assert_int_equal(*(const uint8_t *)find_attr(IFLA_OPERSTATE, len), 6);
	assert_int_equal(next_event(sock), 0);
	/* Without a change there is no notification. */
	assert_int_equal(fx_command("netdev port=2 up"), 0);
	assert_int_equal(next_event(sock), 0);

	assert_int_equal(fx_command("mtu port=2 mtu=1200"), 0);
	len = next_event(sock);
	assert_true(len > 0);
	assert_int_equal(*(const uint32_t *)find_attr(IFLA_MTU, len), 1200);
	assert_int_equal(info->ifi_change, 0);
	assert_int_equal(fx_command("netdev port=2 down"), 0);
	len = next_event(sock);
	assert_true(len > 0);
	assert_int_equal(info->ifi_flags & (IFF_UP | IFF_RUNNING), 0);
	assert_int_equal(fx_command("mtu port=2 mtu=9"), -EINVAL);
	assert_int_equal(fx_command("mtu port=2 mtu=1500"), 0);
	assert_true(next_event(sock) > 0);
	assert_int_equal(next_event(sock), 0);
	close(sock);
}

TEST(changes_of_other_processes_are_announced)
{
	struct pollfd pfd = { .events = POLLIN };
	ssize_t len;
	int status;
	pid_t pid;

	pfd.fd = open_listener();
	pid = fork();
	if (pid == 0)
		_exit(fx_command("mtu port=3 mtu=1000") == 0 ? 0 : 1);
	do {
		assert_int_equal(poll(&pfd, 1, 10000), 1);
		len = next_event(pfd.fd);
	} while (len == 0);
	assert_int_equal(*(const uint32_t *)find_attr(IFLA_MTU, len), 1000);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(fx_command("mtu port=3 mtu=1500"), 0);
	close(pfd.fd);
}

/* An error repeats the request, and has a message on request. */
TEST(errors_have_extended_ack_message)
{
	struct nlmsghdr *hdr = (struct nlmsghdr *)answer;
	struct nlmsgerr *err = NLMSG_DATA(hdr);
	int sock = open_socket(), one = 1;
	struct request request;
	struct nlattr *attr;
	ssize_t len;

	request = new_request(RTM_NEWLINK, FIRST_IFINDEX);
	add_attr(&request, IFLA_MTU, &(uint32_t){ 9001 }, 4);
	len = ask(sock, &request);
	assert_int_equal(err->error, -EINVAL);
	assert_int_equal(hdr->nlmsg_flags & NLM_F_CAPPED, 0);
	assert_int_equal(len, NLMSG_LENGTH(sizeof(*err)) + 16 + 8);
	assert_memory_equal(&err->msg, &request, request.hdr.nlmsg_len);

	setsockopt(sock, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(sock, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	ask(sock, &request);
	assert_int_equal(hdr->nlmsg_flags, NLM_F_CAPPED | NLM_F_ACK_TLVS);
	attr = (struct nlattr *)(err + 1);
	assert_int_equal(attr->nla_type, NLMSGERR_ATTR_MSG);
	assert_string_equal((char *)(attr + 1),
			    "mtu greater than device maximum");
	close(sock);
}

TEST(changes_refused_by_linux_are_refused)
{
	int sock = open_socket();
	struct request request;

	request = new_request(RTM_NEWLINK, FIRST_IFINDEX);
	request.hdr.nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
	assert_int_equal(ask_ack(sock, &request), EEXIST);
	request = new_request(RTM_SETLINK, FIRST_IFINDEX);
	add_attr(&request, IFLA_MASTER, &(uint32_t){ 1 }, 4);
	assert_int_equal(ask_ack(sock, &request), EOPNOTSUPP);
	request = new_request(RTM_SETLINK, FIRST_IFINDEX);
	add_attr(&request, IFLA_MASTER, &(uint32_t){ 0 }, 4);
	assert_int_equal(ask_ack(sock, &request), 0);
	request = new_request(RTM_GETLINK, 0);
	add_attr(&request, IFLA_ALT_IFNAME, "mana0p0", 8);
	ask(sock, &request);
	assert_int_equal(((struct nlmsghdr *)answer)->nlmsg_type, RTM_NEWLINK);
	close(sock);
}

TEST(modelled_netdev_has_no_addresses)
{
	struct {
		struct nlmsghdr hdr;
		struct ifaddrmsg addr;
	} request = { .hdr = { .nlmsg_len = sizeof(request),
			       .nlmsg_type = RTM_GETADDR, .nlmsg_seq = 7,
			       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		      .addr = { .ifa_family = AF_INET,
				.ifa_index = FIRST_IFINDEX } };
	struct nlmsghdr *hdr = (struct nlmsghdr *)answer;
	int sock = open_socket(), one = 1;

	setsockopt(sock, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one,
		   sizeof(one));
	assert_true(send(sock, &request, sizeof(request), 0) > 0);
	assert_true(recv(sock, answer, sizeof(answer), 0) > 0);
	assert_int_equal(hdr->nlmsg_type, NLMSG_DONE);
	assert_int_equal(hdr->nlmsg_seq, 7);
	request.hdr.nlmsg_type = RTM_NEWADDR;
	request.hdr.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	assert_true(send(sock, &request, sizeof(request), 0) > 0);
	assert_true(recv(sock, answer, sizeof(answer), 0) > 0);
	assert_int_equal(hdr->nlmsg_type, NLMSG_ERROR);
	assert_int_equal(((struct nlmsgerr *)NLMSG_DATA(hdr))->error,
			 -EOPNOTSUPP);
	/* Requests about real netdevs go to the real kernel. */
	request.hdr.nlmsg_type = RTM_GETADDR;
	request.hdr.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	request.addr.ifa_index = 1;
	assert_true(send(sock, &request, sizeof(request), 0) > 0);
	assert_true(recv(sock, answer, sizeof(answer), 0) > 0);
	close(sock);
}
