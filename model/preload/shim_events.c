/* SPDX-License-Identifier: BSD-3-Clause */

/* Interposed functions, part 4: waiting for events. read(): shim_net.c. */

/* The C library's fortified headers redirect functions defined here. */
#undef _FORTIFY_SOURCE

#include <poll.h>
#include <sys/epoll.h>

#include "events.h"
#include "preload.h"

/* ppoll() and epoll_pwait(), which have masks: signals_interpose.c. */
MODEL_EXPORT int
poll(struct pollfd *fds, nfds_t nb_fds, int timeout)
{
	return events_poll(fds, nb_fds, timeout);
}

MODEL_EXPORT int __poll_chk(struct pollfd *fds, nfds_t nb_fds, int timeout,
			    size_t size);
int
__poll_chk(struct pollfd *fds, nfds_t nb_fds, int timeout, size_t size)
{
	if (size / sizeof(*fds) >= nb_fds)
		return events_poll(fds, nb_fds, timeout);
	return MODEL_REAL(__poll_chk)(fds, nb_fds, timeout, size);
}

MODEL_EXPORT int
epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	int rc = MODEL_REAL(epoll_ctl)(epoll, op, fd, event);

	if (rc == 0)
		events_watch(epoll, op, fd, event);
	return rc;
}

MODEL_EXPORT int
epoll_wait(int epoll, struct epoll_event *events, int max_events, int timeout)
{
	return events_epoll_done(epoll, events,
				 MODEL_REAL(epoll_wait)(epoll, events,
							max_events, timeout));
}
