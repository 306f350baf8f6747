/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Netlink sockets that the modelled kernel answers on.
 *
 * The program's descriptor is a real NETLINK_ROUTE socket, also where it
 * asked for NETLINK_RDMA or uevents, so that bind, getsockname, options, poll
 * and epoll are native. For each modelled answer the real kernel is asked for a
 * meaningless acknowledgement (of NLMSG_NOOP); when the program receives it,
 * it is replaced by the answer. Order, readiness and blocking are thus right.
 * Notifications come in the same way (nl_event.h).
 */

#ifndef MODEL_NL_SOCKET_H
#define MODEL_NL_SOCKET_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Results as of the system calls, -errno on failure. */
int nl_socket_open(int type, int protocol);
/* Whether it is one that is answered on. */
bool nl_socket_is_one(int fd);
int nl_socket_bind(int fd, const struct sockaddr_nl *addr);
/* NETLINK_ADD_MEMBERSHIP, NETLINK_DROP_MEMBERSHIP. */
int nl_socket_membership(int fd, uint32_t group, bool joins);
/* Hear the modelled kernel on these groups, bit 0 being group 1. */
int nl_socket_join(int fd, uint32_t groups);
ssize_t nl_socket_send(int fd, const struct msghdr *msg, int flags);
ssize_t nl_socket_receive(int fd, struct msghdr *msg, int flags);
void nl_socket_closed(int fd);
void nl_socket_after_fork(void);

#endif /* MODEL_NL_SOCKET_H */
