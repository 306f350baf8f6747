/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fds.h"
#include "host.h"
#include "mem.h"
#include "nl_event.h"
#include "nl_socket.h"
#include "preload.h"
#include "segment.h"

/* A datagram of the modelled kernel. */
struct datagram {
	const char *data;
	size_t nb_bytes;
	uint32_t group; /* 0: an answer to this socket */
};

/*
 * Look at the head of the socket's queue. 1: a placeholder, the acknowledgement
 * of *noop; 0: another datagram; or -errno.
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

/* Add credentials of the kernel, if requested (SO_PASSCRED: udev). */
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

/* Return a datagram like recvmsg() from the kernel. */
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

/* Remove the placeholder from the queue. */
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

	/* Other processes send events, too: at any time. */
	if (model == NULL)
		goto native;
	rc = peek(fd, flags, &noop);
	if (rc < 0)
		return rc;
	/* An unattached child process may have inherited the socket. */
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

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct nl_answer *answers; /* oldest first */
static uint32_t last_placeholder = 0x4d4e0000;

struct nl_answer *
nl_answers_add(int fd, const void *data, size_t nb_bytes)
{
	struct nl_answer **last, *answer;

	answer = malloc(sizeof(*answer) + nb_bytes);
	if (answer == NULL)
		return NULL;
	answer->next = NULL;
	answer->fd = fd;
	answer->nb_bytes = nb_bytes;
	memcpy(answer->data, data, nb_bytes);

	pthread_mutex_lock(&mutex);
	answer->placeholder = ++last_placeholder;
	for (last = &answers; *last != NULL; last = &(*last)->next)
		continue;
	*last = answer;
	pthread_mutex_unlock(&mutex);
	return answer;
}

struct nl_answer *
nl_answers_find(int fd, uint32_t placeholder, bool take)
{
	struct nl_answer **at, *found;

	pthread_mutex_lock(&mutex);
	for (at = &answers; *at != NULL; at = &(*at)->next)
		if ((*at)->fd == fd && (*at)->placeholder == placeholder)
			break;
	found = *at;
	if (found != NULL && take)
		*at = found->next;
	pthread_mutex_unlock(&mutex);
	return found;
}

void
nl_answers_drop(int fd)
{
	struct nl_answer **at, *gone;

	pthread_mutex_lock(&mutex);
	for (at = &answers; *at != NULL;) {
		if ((*at)->fd != fd) {
			at = &(*at)->next;
			continue;
		}
		gone = *at;
		*at = gone->next;
		free(gone);
	}
	pthread_mutex_unlock(&mutex);
}

void
nl_answers_after_fork(void)
{
	pthread_mutex_init(&mutex, NULL);
	answers = NULL;
}
