/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The kernel's semantics of event files: one record per read(), and the end of
 * a completion channel after removal of its device. The file is a FIFO, which
 * cannot report POLLERR: after the end it stays readable, and these functions
 * correct the results that the program sees.
 */

#ifndef MODEL_EVENTS_H
#define MODEL_EVENTS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/types.h>

/* read() of an event file. Bytes or -errno. */
ssize_t events_read(int fd, void *buf, size_t nb_bytes);

/*
 * Whether poll() must return at once. This and the functions below are cheap
 * until the first removal of a device.
 */
bool events_poll_is_due(struct pollfd *fds, nfds_t nb_fds);
/* Correct the results of poll(); returns the new result. */
int events_poll_done(struct pollfd *fds, nfds_t nb_fds, int rc);

/* poll(), with corrected results. */
int events_poll(struct pollfd *fds, nfds_t nb_fds, int timeout);

/* Call after a successful epoll_ctl(). */
void events_watch(int epoll, int op, int fd, const struct epoll_event *event);
/* Correct the events of an epoll_wait() that returned rc; returns rc. */
int events_epoll_done(int epoll, struct epoll_event *events, int rc);

#endif /* MODEL_EVENTS_H */
