/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdlib.h>

#include "fds.h"
#include "host.h"
#include "machine.h"
#include "mem.h"
#include "netlink.h"
#include "nl_event.h"
#include "nl_socket.h"
#include "preload.h"
#include "segment.h"

#define MAX_REQUEST_BYTES 65536

/* State of one request. */
struct socket_sink {
	struct netlink_sink sink;
	int fd;
	uint32_t port_id;
};

static const struct sockaddr_nl to_kernel = { .nl_family = AF_NETLINK };

static ssize_t
real_sendto(int fd, const void *buf, size_t len, int flags)
{
	return host_result(syscall(SYS_sendto, fd, buf, len, flags, &to_kernel,
				   sizeof(to_kernel)));
}

static enum fd_kind
kind_of(int protocol)
{
	switch (protocol) {
	case NETLINK_ROUTE:
		return FD_NETLINK_ROUTE;
	case NETLINK_RDMA:
		return FD_NETLINK_RDMA;
	case NETLINK_KOBJECT_UEVENT:
		return FD_NETLINK_UEVENT;
	case NETLINK_GENERIC:
		return FD_NETLINK_GENERIC;
	default:
		return FD_NONE;
	}
}

bool
nl_socket_is_one(int fd)
{
	return fds_is_netlink(fds_kind(fd));
}

int
nl_socket_open(int type, int protocol)
{
	enum fd_kind kind = kind_of(protocol);
	int real = protocol, fd;

	if (kind == FD_NETLINK_RDMA || kind == FD_NETLINK_UEVENT) {
		if (attach_machine())
			real = NETLINK_ROUTE;
		else
			kind = FD_NONE;
	}
	fd = host_result(syscall(SYS_socket, AF_NETLINK, type, real));
	if (fd >= 0)
		fds_set(fd, kind);
	return fd;
}

/* ---- groups ---- */

/* Whether the real kernel has the groups, too (NETLINK_ROUTE, _GENERIC). */
static bool
has_own_groups(int fd)
{
	return fds_kind(fd) == FD_NETLINK_ROUTE ||
		fds_kind(fd) == FD_NETLINK_GENERIC;
}

int
nl_socket_join(int fd, uint32_t groups)
{
	enum fd_kind kind = fds_kind(fd);

	if (groups == 0 || (kind != FD_NETLINK_ROUTE &&
			    kind != FD_NETLINK_UEVENT) || !attach_machine())
		return 0;
	return nl_event_join(fd, kind == FD_NETLINK_UEVENT ?
					 NETLINK_KOBJECT_UEVENT : NETLINK_ROUTE,
			     groups);
}

int
nl_socket_bind(int fd, const struct sockaddr_nl *addr)
{
	struct sockaddr_nl own = *addr;
	int rc;

	/* Other protocols use a NETLINK_ROUTE socket, whose groups differ. */
	if (!has_own_groups(fd))
		own.nl_groups = 0;
	rc = host_result(syscall(SYS_bind, fd, &own, sizeof(own)));
	return rc < 0 ? rc : nl_socket_join(fd, addr->nl_groups);
}

int
nl_socket_membership(int fd, uint32_t group, bool joins)
{
	uint32_t bit = group >= 1 && group <= 32 ? 1u << (group - 1) : 0;
	int rc = 0;

	if (has_own_groups(fd))
		rc = host_result(syscall(SYS_setsockopt, fd, SOL_NETLINK,
					 joins ? NETLINK_ADD_MEMBERSHIP :
						 NETLINK_DROP_MEMBERSHIP,
					 &group, sizeof(group)));
	if (rc < 0 || joins)
		return rc < 0 ? rc : nl_socket_join(fd, bit);
	if (attach_is_attached())
		nl_event_leave(fd, bit);
	return 0;
}

void
nl_socket_closed(int fd)
{
	nl_answers_drop(fd);
	if (model != NULL)
		nl_event_leave(fd, ~0u);
}

void
nl_socket_after_fork(void)
{
	nl_answers_after_fork();
	if (model != NULL)
		nl_event_after_fork();
}

/* ---- requests ---- */

/* Queue a datagram of the modelled kernel. */
static void
answer(struct netlink_sink *sink, void *messages, size_t nb_bytes)
{
	struct socket_sink *to = (struct socket_sink *)sink;
	struct nlmsghdr noop = {
		.nlmsg_len = sizeof(noop),
		.nlmsg_type = NLMSG_NOOP,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
	};
	struct nlmsghdr *hdr = messages;
	struct nl_answer *new;
	int left = (int)nb_bytes;

	for (; NLMSG_OK(hdr, (unsigned int)left); hdr = NLMSG_NEXT(hdr, left))
		hdr->nlmsg_pid = to->port_id;
	new = nl_answers_add(to->fd, messages, nb_bytes);
	if (new == NULL)
		return;
	noop.nlmsg_seq = new->placeholder;
	if (real_sendto(to->fd, &noop, sizeof(noop), 0) < 0)
		free(nl_answers_find(to->fd, noop.nlmsg_seq, true));
}

static bool
relay_dump(struct netlink_sink *sink, const struct nlmsghdr *request)
{
	return nl_relay_dump(((struct socket_sink *)sink)->fd, request, sink);
}

/* Whether an option of the program's netlink socket is set. */
static bool
has_option(int fd, int option)
{
	socklen_t len = sizeof(int);
	int value = 0;

	syscall(SYS_getsockopt, fd, SOL_NETLINK, option, &value, &len);
	return value != 0;
}

/* The port id; binds the socket if necessary. */
static uint32_t
port_id_of(int fd)
{
	struct sockaddr_nl self = { .nl_family = AF_NETLINK };
	socklen_t len = sizeof(self);

	if (syscall(SYS_getsockname, fd, &self, &len) < 0)
		return 0;
	if (self.nl_pid == 0) {
		syscall(SYS_bind, fd, &self, sizeof(self));
		len = sizeof(self);
		syscall(SYS_getsockname, fd, &self, &len);
	}
	return self.nl_pid;
}

/* Process a request: the model answers it, or it is forwarded. */
static ssize_t
send_one(struct socket_sink *to, enum fd_kind kind, const struct nlmsghdr *hdr,
	 int flags)
{
	if (kind == FD_NETLINK_RDMA) {
		rdma_netlink_request(hdr, &to->sink);
		return 0;
	}
	if (kind == FD_NETLINK_GENERIC ? genl_request(hdr, &to->sink) :
					 rtnetlink_request(hdr, &to->sink))
		return 0;
	return real_sendto(to->fd, hdr, hdr->nlmsg_len, flags);
}

static ssize_t
send_all(int fd, void *buf, size_t nb_bytes, int flags)
{
	enum fd_kind kind = fds_kind(fd);
	struct socket_sink to = {
		.sink = {
			.answer = answer,
			.relay_dump = relay_dump,
			.wants_text = has_option(fd, NETLINK_EXT_ACK),
			.caps_acks = has_option(fd, NETLINK_CAP_ACK),
		},
		.fd = fd,
		.port_id = port_id_of(fd),
	};
	struct nlmsghdr *hdr;
	int len = nb_bytes;
	ssize_t rc;

	/* After a last message of odd length, len is negative. */
	for (hdr = buf; len >= (int)sizeof(*hdr) &&
	     NLMSG_OK(hdr, (unsigned int)len); hdr = NLMSG_NEXT(hdr, len)) {
		rc = send_one(&to, kind, hdr, flags);
		if (rc < 0)
			return rc;
	}
	return nb_bytes;
}

/* Copy the program's buffers into one. NULL with *rc set on error. */
static void *
gather(const struct msghdr *msg, size_t *nb_bytes, ssize_t *rc)
{
	size_t i, at = 0, total = 0;
	char *buf;

	for (i = 0; i < msg->msg_iovlen; i++)
		total += msg->msg_iov[i].iov_len;
	*rc = -EMSGSIZE;
	if (total > MAX_REQUEST_BYTES)
		return NULL;
	*rc = -ENOMEM;
	buf = malloc(total + 1);
	if (buf == NULL)
		return NULL;
	for (i = 0; i < msg->msg_iovlen; i++) {
		size_t len = msg->msg_iov[i].iov_len;

		*rc = mem_read(model_self,
			       (uintptr_t)msg->msg_iov[i].iov_base, buf + at,
			       len);
		if (*rc < 0) {
			free(buf);
			return NULL;
		}
		at += len;
	}
	*nb_bytes = total;
	return buf;
}

ssize_t
nl_socket_send(int fd, const struct msghdr *msg, int flags)
{
	size_t nb_bytes;
	ssize_t rc = 0;
	void *buf;

	/* Programs cannot send uevents (uevent_net_rcv()). */
	if (fds_kind(fd) == FD_NETLINK_UEVENT)
		return -EPERM;
	/* Guarded copies need the machine. */
	if (!attach_machine())
		return host_result(syscall(SYS_sendmsg, fd, msg, flags));
	buf = gather(msg, &nb_bytes, &rc);
	if (buf != NULL)
		rc = send_all(fd, buf, nb_bytes, flags);
	free(buf);
	machine_slow();
	return rc;
}
