/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Netlink sockets on which the modelled kernel answers.
 *
 * The program's descriptor is a real NETLINK_ROUTE socket, even if it requested
 * NETLINK_RDMA or uevents, so that bind, getsockname, options, poll and epoll
 * are native. For each modelled answer the model sends NLMSG_NOOP to the real
 * kernel; when the program receives the acknowledgement, it gets the answer
 * instead. So order, readiness and blocking are correct. Notifications work in
 * the same way (nl_event.h).
 */

#ifndef MODEL_NL_SOCKET_H
#define MODEL_NL_SOCKET_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Results like those of the system calls; -errno on failure. */
int nl_socket_open(int type, int protocol);
/* Whether fd is such a socket. */
bool nl_socket_is_one(int fd);
int nl_socket_bind(int fd, const struct sockaddr_nl *addr);
/* NETLINK_ADD_MEMBERSHIP, NETLINK_DROP_MEMBERSHIP. */
int nl_socket_membership(int fd, uint32_t group, bool joins);
/* Get the modelled kernel's notifications in groups; bit 0 is group 1. */
int nl_socket_join(int fd, uint32_t groups);
ssize_t nl_socket_send(int fd, const struct msghdr *msg, int flags);
ssize_t nl_socket_receive(int fd, struct msghdr *msg, int flags);
void nl_socket_closed(int fd);
void nl_socket_after_fork(void);

/* Answers of the model, kept until the program receives their placeholders. */
struct nl_answer {
	struct nl_answer *next;
	int fd;
	uint32_t placeholder; /* sequence number of the NLMSG_NOOP */
	uint32_t nb_bytes;
	char data[];
};

/* NULL: no memory. Fill in the data before sending the NLMSG_NOOP. */
struct nl_answer *nl_answers_add(int fd, const void *data, size_t nb_bytes);
/* Find an answer; if take, unlink it, and the caller frees it. */
struct nl_answer *nl_answers_find(int fd, uint32_t placeholder, bool take);
/* The socket is closed. */
void nl_answers_drop(int fd);
/* Call in the child: drop the answers, which the parent receives. */
void nl_answers_after_fork(void);

/*
 * Forward dump requests to the real kernel, whose answers precede those of the
 * model. They use a separate socket with the options of the program's.
 *
 * Pass the messages of the answer to the sink, a datagram at a time, without the
 * NLMSG_DONE. False on an error, which the sink has received.
 */
struct netlink_sink;
bool nl_relay_dump(int fd, const struct nlmsghdr *request, struct netlink_sink *sink);

#endif /* MODEL_NL_SOCKET_H */
