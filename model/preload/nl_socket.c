/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/netlink.h>
#include <netlink/msg.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "fds.h"
#include "host.h"
#include "mem.h"
#include "netlink.h"
#include "nl_socket.h"
#include "segment.h"

#define MAX_REQUEST_BYTES 65536

/* An answer that waits for its placeholder to be received. */
struct answer {
	struct answer *next;
	int fd;
	uint32_t placeholder; /* sequence number of the NLMSG_NOOP */
	uint32_t nb_bytes;
	char data[];
};

static pthread_mutex_t answers_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct answer *answers; /* oldest first */
static uint32_t last_placeholder = 0x4d4e0000;

/* For one request. */
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

int
nl_socket_open(int type, int protocol)
{
	int fd;

	if (protocol == NETLINK_RDMA && !attach_machine())
		return host_result(syscall(SYS_socket, AF_NETLINK, type,
					   protocol));
	fd = host_result(syscall(SYS_socket, AF_NETLINK, type, NETLINK_ROUTE));
	if (fd >= 0)
		fds_set(fd, protocol == NETLINK_RDMA ? FD_NETLINK_RDMA :
						       FD_NETLINK_ROUTE);
	return fd;
}

static void
append(struct answer *answer)
{
	struct answer **last;

	pthread_mutex_lock(&answers_mutex);
	answer->placeholder = ++last_placeholder;
	for (last = &answers; *last != NULL; last = &(*last)->next)
		continue;
	*last = answer;
	pthread_mutex_unlock(&answers_mutex);
}

/* Take an answer out of the list, or only look at it. */
static struct answer *
find(int fd, uint32_t placeholder, bool take)
{
	struct answer **at, *found;

	pthread_mutex_lock(&answers_mutex);
	for (at = &answers; *at != NULL; at = &(*at)->next)
		if ((*at)->fd == fd && (*at)->placeholder == placeholder)
			break;
	found = *at;
	if (found != NULL && take)
		*at = found->next;
	pthread_mutex_unlock(&answers_mutex);
	return found;
}

void
nl_socket_closed(int fd)
{
	struct answer **at, *gone;

	pthread_mutex_lock(&answers_mutex);
	for (at = &answers; *at != NULL;) {
		if ((*at)->fd != fd) {
			at = &(*at)->next;
			continue;
		}
		gone = *at;
		*at = gone->next;
		free(gone);
	}
	pthread_mutex_unlock(&answers_mutex);
}

/* What waits is for the parent's sockets. */
void
nl_socket_after_fork(void)
{
	pthread_mutex_init(&answers_mutex, NULL);
	answers = NULL;
}

static void
answer(struct netlink_sink *sink, struct nl_msg *msg)
{
	struct socket_sink *to = (struct socket_sink *)sink;
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct nlmsghdr noop = {
		.nlmsg_len = sizeof(noop),
		.nlmsg_type = NLMSG_NOOP,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
	};
	struct answer *new;

	hdr->nlmsg_pid = to->port_id;
	new = malloc(sizeof(*new) + hdr->nlmsg_len);
	if (new == NULL)
		return;
	new->next = NULL;
	new->fd = to->fd;
	new->nb_bytes = hdr->nlmsg_len;
	memcpy(new->data, hdr, hdr->nlmsg_len);
	append(new);

	noop.nlmsg_seq = new->placeholder;
	if (real_sendto(to->fd, &noop, sizeof(noop), 0) < 0)
		free(find(to->fd, noop.nlmsg_seq, true));
}

/* The port id; binds the socket if that was not done. */
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

/* One request: answered by the model, or sent on. */
static ssize_t
send_one(struct socket_sink *to, enum fd_kind kind, const struct nlmsghdr *hdr,
	 int flags)
{
	if (kind == FD_NETLINK_RDMA) {
		rdma_netlink_request(hdr, &to->sink);
		return 0;
	}
	if (rtnetlink_request(hdr, &to->sink))
		return 0;
	return real_sendto(to->fd, hdr, hdr->nlmsg_len, flags);
}

static bool
is_link_request(const struct nlmsghdr *hdr)
{
	return hdr->nlmsg_type >= 16 && hdr->nlmsg_type <= 19;
}

/* Whether the model has anything to do with a message at all. */
static bool
concerns_us(enum fd_kind kind, void *buf, int len)
{
	struct nlmsghdr *hdr;

	if (kind == FD_NETLINK_RDMA)
		return true;
	for (hdr = buf; NLMSG_OK(hdr, (unsigned int)len);
	     hdr = NLMSG_NEXT(hdr, len))
		if (is_link_request(hdr))
			return attach_machine();
	return false;
}

static ssize_t
send_all(int fd, void *buf, size_t nb_bytes, int flags)
{
	enum fd_kind kind = fds_kind(fd);
	struct socket_sink to = { { answer }, fd, port_id_of(fd) };
	struct nlmsghdr *hdr;
	int len = nb_bytes;
	ssize_t rc;

	for (hdr = buf; NLMSG_OK(hdr, (unsigned int)len);
	     hdr = NLMSG_NEXT(hdr, len)) {
		rc = send_one(&to, kind, hdr, flags);
		if (rc < 0)
			return rc;
	}
	return nb_bytes;
}

/* The program's buffers as one, or NULL with *rc set. */
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
	enum fd_kind kind = fds_kind(fd);
	bool is_ours = false;
	size_t nb_bytes;
	ssize_t rc = 0;
	void *buf;

	/* Guarded copies need the machine; without it nothing is modelled. */
	if (attach_machine()) {
		buf = gather(msg, &nb_bytes, &rc);
		is_ours = buf != NULL && concerns_us(kind, buf, nb_bytes);
		if (is_ours)
			rc = send_all(fd, buf, nb_bytes, flags);
		free(buf);
	}
	if (is_ours)
		return rc;
	return host_result(syscall(SYS_sendmsg, fd, msg, flags));
}

/* The placeholder at the head of the socket's queue: its number, or 0. */
static ssize_t
peek(int fd, int flags, uint32_t *placeholder)
{
	struct {
		struct nlmsghdr hdr;
		struct nlmsgerr err;
	} head;
	ssize_t len;

	*placeholder = 0;
	len = syscall(SYS_recvfrom, fd, &head, sizeof(head),
		      MSG_PEEK | (flags & MSG_DONTWAIT), NULL, NULL);
	if (len < 0)
		return -errno;
	if ((size_t)len >= sizeof(head) && head.hdr.nlmsg_type == NLMSG_ERROR &&
	    head.err.error == 0 && head.err.msg.nlmsg_type == NLMSG_NOOP)
		*placeholder = head.err.msg.nlmsg_seq;
	return 0;
}

/* As recvmsg() of a datagram from the kernel. */
static ssize_t
deliver(const struct answer *from, struct msghdr *msg, int flags)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
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
	msg->msg_controllen = 0;
	msg->msg_flags = at < from->nb_bytes ? MSG_TRUNC : 0;
	return (flags & MSG_TRUNC) != 0 ? (ssize_t)from->nb_bytes : (ssize_t)at;
}

ssize_t
nl_socket_receive(int fd, struct msghdr *msg, int flags)
{
	bool take = (flags & MSG_PEEK) == 0;
	struct answer *found;
	uint32_t placeholder;
	char dummy;
	ssize_t rc;

	if (__atomic_load_n(&answers, __ATOMIC_ACQUIRE) == NULL)
		goto native;
	rc = peek(fd, flags, &placeholder);
	if (rc < 0)
		return rc;
	found = placeholder == 0 ? NULL : find(fd, placeholder, take);
	if (found == NULL)
		goto native;
	if (take)
		syscall(SYS_recvfrom, fd, &dummy, sizeof(dummy), MSG_DONTWAIT,
			NULL, NULL);
	rc = deliver(found, msg, flags);
	if (take)
		free(found);
	return rc;
native:
	return host_result(syscall(SYS_recvmsg, fd, msg, flags));
}
