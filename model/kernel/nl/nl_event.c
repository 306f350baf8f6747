/* SPDX-License-Identifier: BSD-3-Clause */

#include <linux/netlink.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "host.h"
#include "kernel_state.h"
#include "nl_event.h"

enum { LISTENER_FREE, LISTENER_CHANGING, LISTENER_ACTIVE };

/* 0: this process has no listener yet. */
static pid_t own_pid;

static struct nl_events *
events(void)
{
	return &segment_kernel()->events;
}

/* ---- listeners ---- */

static bool
take(struct nl_listener *listener, uint32_t from)
{
	return __atomic_compare_exchange_n(&listener->state, &from,
					   LISTENER_CHANGING, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void
give(struct nl_listener *listener, uint32_t state)
{
	__atomic_store_n(&listener->state, state, __ATOMIC_RELEASE);
}

static uint64_t
socket_ino(int fd)
{
	dev_t dev;
	ino_t ino;

	return host_identity(fd, &dev, &ino) == 0 ? ino : 0;
}

static bool
is_dead(const struct nl_listener *listener)
{
	return syscall(SYS_kill, listener->pid, 0) != 0 && errno == ESRCH;
}

static void
release_if_dead(struct nl_listener *listener)
{
	if (is_dead(listener) && take(listener, LISTENER_ACTIVE))
		give(listener, is_dead(listener) ? LISTENER_FREE :
						   LISTENER_ACTIVE);
}

static struct nl_listener *
take_free(void)
{
	uint32_t i;

	for (i = 0; i < NL_EVENT_NB_LISTENERS; i++)
		if (take(&events()->listener[i], LISTENER_FREE))
			return &events()->listener[i];
	return NULL;
}

/* Take a free slot; NULL if all are in use. */
static struct nl_listener *
new_slot(void)
{
	struct nl_listener *listener = take_free();
	uint32_t i;

	if (listener != NULL)
		return listener;
	for (i = 0; i < NL_EVENT_NB_LISTENERS; i++)
		release_if_dead(&events()->listener[i]);
	return take_free();
}

/* Take the slot of a socket of this process; NULL if it has none. */
static struct nl_listener *
find_own(int fd)
{
	uint32_t i;

	for (i = 0; i < NL_EVENT_NB_LISTENERS; i++) {
		struct nl_listener *listener = &events()->listener[i];

		if (listener->pid != getpid() || listener->fd != fd ||
		    !take(listener, LISTENER_ACTIVE))
			continue;
		if (listener->pid == getpid() && listener->fd == fd)
			return listener;
		give(listener, LISTENER_ACTIVE);
	}
	return NULL;
}

int
nl_event_join(int fd, int protocol, uint32_t groups)
{
	struct nl_listener *listener = find_own(fd);
	uint64_t ino = socket_ino(fd);

	if (listener == NULL)
		listener = new_slot();
	if (listener == NULL)
		return -ENOBUFS;
	if (listener->pid != getpid() || listener->fd != fd ||
	    listener->ino != ino)
		listener->groups = 0;
	listener->pid = getpid();
	listener->fd = fd;
	listener->ino = ino;
	listener->protocol = protocol;
	listener->groups |= groups;
	give(listener, LISTENER_ACTIVE);
	own_pid = getpid();
	return 0;
}

void
nl_event_leave(int fd, uint32_t groups)
{
	struct nl_listener *listener = find_own(fd);

	if (listener == NULL)
		return;
	listener->groups &= ~groups;
	give(listener, listener->groups == 0 ? LISTENER_FREE : LISTENER_ACTIVE);
}

void
nl_event_after_fork(void)
{
	uint32_t i;

	for (i = 0; own_pid != 0 && i < NL_EVENT_NB_LISTENERS; i++) {
		const struct nl_listener *of_parent = &events()->listener[i];
		struct nl_listener *listener;

		if (of_parent->pid != own_pid ||
		    __atomic_load_n(&of_parent->state, __ATOMIC_ACQUIRE) !=
			    LISTENER_ACTIVE)
			continue;
		listener = new_slot();
		if (listener == NULL)
			break;
		*listener = *of_parent;
		listener->pid = getpid();
		give(listener, LISTENER_ACTIVE);
	}
	own_pid = own_pid == 0 ? 0 : getpid();
}

void
nl_event_forget_process(void)
{
	uint32_t i;

	for (i = 0; i < NL_EVENT_NB_LISTENERS; i++) {
		struct nl_listener *listener = &events()->listener[i];

		if (listener->pid == getpid() &&
		    take(listener, LISTENER_ACTIVE))
			give(listener, LISTENER_FREE);
	}
}

/* ---- notifications ---- */

/* Get the listener's socket or -errno. *owned: the caller must close it. */
static int
listener_socket(const struct nl_listener *listener, bool *owned)
{
	int pidfd, fd;

	*owned = listener->pid != getpid();
	if (!*owned)
		return listener->fd;
	pidfd = host_result(syscall(SYS_pidfd_open, listener->pid, 0));
	if (pidfd < 0)
		return pidfd;
	fd = host_result(syscall(SYS_pidfd_getfd, pidfd, listener->fd, 0));
	host_close(pidfd);
	return fd;
}

/* False: the listener no longer exists. */
static bool
send_noop(const struct nl_listener *listener, uint32_t number)
{
	static const struct sockaddr_nl to_kernel = { .nl_family = AF_NETLINK };
	struct nlmsghdr noop = {
		.nlmsg_len = sizeof(noop),
		.nlmsg_type = NLMSG_NOOP,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		.nlmsg_seq = number,
		.nlmsg_pid = NL_EVENT_MARK,
	};
	bool owned, is_same;
	int fd;

	fd = listener_socket(listener, &owned);
	if (fd < 0)
		return fd != -ESRCH && fd != -EBADF;
	is_same = socket_ino(fd) == listener->ino;
	if (is_same)
		syscall(SYS_sendto, fd, &noop, sizeof(noop), MSG_DONTWAIT,
			&to_kernel, sizeof(to_kernel));
	if (owned)
		host_close(fd);
	return is_same;
}

/* The sockets notified so far: after a fork processes share sockets. */
struct notified {
	uint32_t nb;
	uint64_t ino[NL_EVENT_NB_LISTENERS];
};

static bool
is_notified(const struct notified *notified, uint64_t ino)
{
	uint32_t i;

	for (i = 0; i < notified->nb; i++)
		if (notified->ino[i] == ino)
			return true;
	return false;
}

/* A notification in progress. */
struct notification {
	uint32_t number, group;
	int protocol;
	struct notified notified;
};

static void
notify_listener(struct nl_listener *listener, struct notification *what)
{
	struct nl_listener copy = *listener;

	if (__atomic_load_n(&listener->state, __ATOMIC_ACQUIRE) !=
		    LISTENER_ACTIVE || copy.protocol != what->protocol ||
	    (copy.groups & (1u << (what->group - 1))) == 0)
		return;
	if (is_notified(&what->notified, copy.ino)) {
		release_if_dead(listener);
		return;
	}
	if (send_noop(&copy, what->number)) {
		what->notified.ino[what->notified.nb++] = copy.ino;
		return;
	}
	if (!take(listener, LISTENER_ACTIVE))
		return;
	give(listener, listener->pid == copy.pid && listener->fd == copy.fd &&
			       listener->ino == copy.ino ?
		       LISTENER_FREE : LISTENER_ACTIVE);
}

void
nl_event_publish(int protocol, uint32_t group, const void *datagram,
		 size_t nb_bytes)
{
	uint64_t number = __atomic_add_fetch(&events()->last, 1,
					     __ATOMIC_ACQ_REL);
	struct nl_event *event = &events()->event[number % NL_EVENT_NB];
	struct notification what = { .number = (uint32_t)number,
				     .group = group,
				     .protocol = protocol };
	uint32_t i;

	if (nb_bytes > NL_EVENT_MAX_BYTES)
		return;
	__atomic_store_n(&event->number, 0, __ATOMIC_SEQ_CST);
	event->nb_bytes = nb_bytes;
	event->group = group;
	memcpy(event->datagram, datagram, nb_bytes);
	__atomic_store_n(&event->number, number, __ATOMIC_SEQ_CST);
	for (i = 0; i < NL_EVENT_NB_LISTENERS; i++)
		notify_listener(&events()->listener[i], &what);
}

ssize_t
nl_event_read(uint32_t number, char datagram[NL_EVENT_MAX_BYTES],
	      uint32_t *group)
{
	const struct nl_event *event = &events()->event[number % NL_EVENT_NB];
	uint64_t seen = __atomic_load_n(&event->number, __ATOMIC_SEQ_CST);
	uint32_t nb_bytes = event->nb_bytes;

	if ((uint32_t)seen != number || nb_bytes > NL_EVENT_MAX_BYTES)
		return -ENOBUFS;
	*group = event->group;
	memcpy(datagram, event->datagram, nb_bytes);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&event->number, __ATOMIC_SEQ_CST) != seen)
		return -ENOBUFS;
	return nb_bytes;
}
