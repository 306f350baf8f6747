/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Notifications: datagrams that the kernel sends to each netlink socket that
 * has joined a group, in any process of the machine.
 *
 * The segment keeps the last datagrams, numbered. As with answers
 * (preload/nl_socket.h), the socket's queue only receives a placeholder: the
 * process that runs the kernel code duplicates the socket from its process with
 * pidfd_getfd() and sends NLMSG_NOOP on it. The acknowledgement contains the
 * number, and the receive call replaces it by the datagram. (The real kernel
 * allows pidfd_getfd() whenever it allows process_vm_readv(), which every
 * machine needs.)
 *
 * Lock-free and async-signal-safe; usable with or without the machine's lock.
 */

#ifndef MODEL_NL_EVENT_H
#define MODEL_NL_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NL_EVENT_MAX_BYTES 2032
/* nlmsg_pid of such a placeholder; nlmsg_seq is the event's number. */
#define NL_EVENT_MARK 0x4d4e4556u

/* Send a datagram to all sockets of the protocol in the group (from 1). */
void nl_event_publish(int protocol, uint32_t group, const void *datagram,
		      size_t nb_bytes);

/*
 * A socket of this process joins or leaves groups: bit 0 is group 1. 0, or
 * -ENOBUFS if the machine has too many listeners.
 */
int nl_event_join(int fd, int protocol, uint32_t groups);
void nl_event_leave(int fd, uint32_t groups);
/* Call in the child: register the sockets that it inherited. */
void nl_event_after_fork(void);
/* This process replaced its program: forget its sockets and listeners. */
void nl_event_forget_process(void);

/* Copy a datagram and its group. Its length, or -ENOBUFS if overwritten. */
ssize_t nl_event_read(uint32_t number, char datagram[NL_EVENT_MAX_BYTES],
		      uint32_t *group);

/* In the segment. */
#define NL_EVENT_NB 256
#define NL_EVENT_NB_LISTENERS 64

struct nl_event {
	uint64_t number; /* atomic; 0 while it is being written */
	uint32_t nb_bytes;
	uint32_t group;
	char datagram[NL_EVENT_MAX_BYTES];
};

struct nl_listener {
	uint32_t state; /* atomic: free, being changed, listening */
	int32_t pid, fd;
	int32_t protocol;
	uint32_t groups;
	uint64_t ino; /* of the socket, since descriptors are reused */
};

struct nl_events {
	uint64_t last; /* number of the latest event, atomic */
	uint64_t uevent_seqnum; /* atomic */
	struct nl_listener listener[NL_EVENT_NB_LISTENERS];
	struct nl_event event[NL_EVENT_NB];
};

#endif /* MODEL_NL_EVENT_H */
