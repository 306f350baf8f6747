/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Notifications: datagrams that the kernel sends to every netlink socket which
 * has joined a group, in any process of the machine.
 *
 * The last of them stand in the segment, numbered. A socket is told of one by
 * a placeholder in its queue, as with answers (preload/nl_socket.h): whoever
 * runs kernel code borrows the socket from its process (pidfd_getfd(), which
 * the kernel allows whenever it allows process_vm_readv(), and without that no
 * machine works) and sends NLMSG_NOOP on it; the acknowledgement carries the
 * number. Receiving replaces it by the datagram.
 *
 * Lock-free and async-signal-safe: with or without the machine's lock.
 */

#ifndef MODEL_NL_EVENT_H
#define MODEL_NL_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NL_EVENT_MAX_BYTES 2032
/* nlmsg_pid of such a placeholder; nlmsg_seq is the event's number. */
#define NL_EVENT_MARK 0x4d4e4556u

/* Send to all sockets of the protocol that are in the group, from 1. */
void nl_event_publish(int protocol, uint32_t group, const void *datagram,
		      size_t nb_bytes);

/*
 * A socket of this process joins groups, bit 0 being group 1, or leaves them.
 * 0, or -ENOBUFS: the machine has no room for another listener.
 */
int nl_event_join(int fd, int protocol, uint32_t groups);
void nl_event_leave(int fd, uint32_t groups);
/* In the child: it hears what the parent does, on the sockets it inherited. */
void nl_event_after_fork(void);
/* This process has replaced its program: its sockets have no shim. */
void nl_event_forget_process(void);

/*
 * Copy the datagram: its length and group, or -ENOBUFS when it was overtaken
 * by too many later ones.
 */
ssize_t nl_event_read(uint32_t number, char datagram[NL_EVENT_MAX_BYTES],
		      uint32_t *group);

/* Placed in the segment. */
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
	uint64_t ino; /* of the socket: descriptors are used again */
};

struct nl_events {
	uint64_t last; /* number of the latest event, atomic */
	uint64_t uevent_seqnum; /* atomic */
	struct nl_listener listener[NL_EVENT_NB_LISTENERS];
	struct nl_event event[NL_EVENT_NB];
};

#endif /* MODEL_NL_EVENT_H */
