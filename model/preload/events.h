/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Event files as the kernel's: one record for each read(), and the end of a
 * completion channel whose device is gone. The file is a FIFO, which knows no
 * POLLERR: at its end it is readable for ever, and what the program is told of
 * that is put right here.
 */

#ifndef MODEL_EVENTS_H
#define MODEL_EVENTS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/types.h>

/* read() of an event file: bytes or -errno. */
ssize_t events_read(int fd, void *buf, size_t nb_bytes);

/*
 * Whether poll() has something to tell at once, without waiting. Cheap as long
 * as no device of the machine has ever gone; as are those below.
 */
bool events_poll_is_due(struct pollfd *fds, nfds_t nb_fds);
/* What poll() has found, as it is to be told: the new result. */
int events_poll_done(struct pollfd *fds, nfds_t nb_fds, int rc);

/* poll(): the result of the real one, put right. */
int events_poll(struct pollfd *fds, nfds_t nb_fds, int timeout);

/* After an epoll_ctl() that went well. */
void events_watch(int epoll, int op, int fd, const struct epoll_event *event);
/* What epoll_wait() has found, its result being rc, which is returned. */
int events_epoll_done(int epoll, struct epoll_event *events, int rc);

#endif /* MODEL_EVENTS_H */
