/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "fds.h"
#include "host.h"
#include "mem.h"
#include "nl_answers.h"
#include "nl_event.h"
#include "nl_socket.h"
#include "segment.h"

/* A datagram of the modelled kernel. */
struct datagram {
	const char *data;
	size_t nb_bytes;
	uint32_t group; /* 0: to this socket alone */
};

/*
 * What is at the head of the socket's queue. 1: a placeholder, that is the
 * acknowledgement of *noop; 0: something else; -errno.
 */
static int
peek(int fd, int flags, struct nlmsghdr *noop)
{
	struct {
		struct nlmsghdr hdr;
		struct nlmsgerr err;
	} head;
	ssize_t len;

	len = syscall(SYS_recvfrom, fd, &head, sizeof(head),
		      MSG_PEEK | (flags & MSG_DONTWAIT), NULL, NULL);
	if (len < 0)
		return -errno;
	if ((size_t)len < sizeof(head) || head.hdr.nlmsg_type != NLMSG_ERROR ||
	    head.err.error != 0 || head.err.msg.nlmsg_type != NLMSG_NOOP)
		return 0;
	*noop = head.err.msg;
	return 1;
}

/* Credentials of the kernel, for those who asked (SO_PASSCRED: udev). */
static void
put_credentials(int fd, struct msghdr *msg)
{
	const struct ucred kernel = { 0, 0, 0 };
	size_t room = msg->msg_controllen;
	struct cmsghdr *cmsg;
	socklen_t len = sizeof(int);
	int is_wanted = 0;

	msg->msg_controllen = 0;
	syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PASSCRED, &is_wanted, &len);
	if (!is_wanted || msg->msg_control == NULL)
		return;
	if (room < CMSG_LEN(sizeof(kernel))) {
		msg->msg_flags |= MSG_CTRUNC;
		return;
	}
	cmsg = msg->msg_control;
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_CREDENTIALS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(kernel));
	memcpy(CMSG_DATA(cmsg), &kernel, sizeof(kernel));
	msg->msg_controllen = room < CMSG_SPACE(sizeof(kernel)) ?
		room : CMSG_SPACE(sizeof(kernel));
}

/* As recvmsg() of a datagram from the kernel. */
static ssize_t
deliver(int fd, const struct datagram *from, struct msghdr *msg, int flags)
{
	const struct sockaddr_nl kernel = {
		.nl_family = AF_NETLINK,
		.nl_groups = from->group == 0 ? 0 : 1u << (from->group - 1),
	};
	size_t i, at = 0;

	for (i = 0; i < msg->msg_iovlen && at < from->nb_bytes; i++) {
		size_t len = msg->msg_iov[i].iov_len;

		if (len > from->nb_bytes - at)
			len = from->nb_bytes - at;
		if (mem_write(model_self, (uintptr_t)msg->msg_iov[i].iov_base,
			      from->data + at, len) < 0)
			return -EFAULT;
		at += len;
	}
	if (msg->msg_name != NULL) {
		memcpy(msg->msg_name, &kernel,
		       msg->msg_namelen < sizeof(kernel) ? msg->msg_namelen :
							   sizeof(kernel));
		msg->msg_namelen = sizeof(kernel);
	}
	msg->msg_flags = at < from->nb_bytes ? MSG_TRUNC : 0;
	put_credentials(fd, msg);
	return (flags & MSG_TRUNC) != 0 ? (ssize_t)from->nb_bytes : (ssize_t)at;
}

/* Take the placeholder off the queue. */
static void
drop_placeholder(int fd)
{
	char dummy;

	syscall(SYS_recvfrom, fd, &dummy, sizeof(dummy), MSG_DONTWAIT, NULL,
		NULL);
}

static ssize_t
receive_event(int fd, uint32_t number, struct msghdr *msg, int flags)
{
	char bytes[NL_EVENT_MAX_BYTES];
	struct datagram from = { .data = bytes };
	ssize_t len;

	len = nl_event_read(number, bytes, &from.group);
	if (len < 0 || (flags & MSG_PEEK) == 0)
		drop_placeholder(fd);
	if (len < 0)
		return len;
	from.nb_bytes = len;
	return deliver(fd, &from, msg, flags);
}

static ssize_t
receive_answer(int fd, struct nl_answer *answer, struct msghdr *msg, int flags)
{
	struct datagram from = { answer->data, answer->nb_bytes, 0 };
	ssize_t rc;

	if ((flags & MSG_PEEK) == 0)
		drop_placeholder(fd);
	rc = deliver(fd, &from, msg, flags);
	if ((flags & MSG_PEEK) == 0)
		free(answer);
	return rc;
}

ssize_t
nl_socket_receive(int fd, struct msghdr *msg, int flags)
{
	struct nl_answer *answer;
	struct nlmsghdr noop = { 0 };
	int rc;

	/* Events come from other processes too: any time. */
	if (model == NULL)
		goto native;
	rc = peek(fd, flags, &noop);
	if (rc < 0)
		return rc;
	/* A child may have the socket, and no part in the machine yet. */
	if (rc == 0 || !attach_machine())
		goto native;
	if (noop.nlmsg_pid == NL_EVENT_MARK)
		return receive_event(fd, noop.nlmsg_seq, msg, flags);
	answer = nl_answers_find(fd, noop.nlmsg_seq, (flags & MSG_PEEK) == 0);
	if (answer != NULL)
		return receive_answer(fd, answer, msg, flags);
native:
	return host_result(syscall(SYS_recvmsg, fd, msg, flags));
}
