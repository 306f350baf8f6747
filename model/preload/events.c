/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <rdma/ib_user_verbs.h>

#include "events.h"
#include "fds.h"
#include "host.h"
#include "kernel.h"
#include "preload.h"
#include "process_lock.h"

/* Maximum of event files in epoll sets; further ones are not corrected. */
#define NB_WATCHES 1024
struct watch {
	bool used;
	int epoll, fd;
	uint64_t data;
};

static struct watch watches[NB_WATCHES];
static uint32_t nb_watches; /* highest used index + 1 */

static bool
is_at_end(int fd)
{
	return fds_kind(fd) == FD_CHANNEL && kernel_channel_is_dead(fd);
}

/* core/uverbs_main.c ib_uverbs_event_read(): waits, then fails. */
static ssize_t
read_too_little(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	int flags = (int)syscall(SYS_fcntl, fd, F_GETFL, 0L);
	const struct timespec now = { 0 };
	int rc;

	rc = host_result(syscall(SYS_ppoll, &pollfd, 1L,
				 flags & O_NONBLOCK ? &now : NULL, NULL, 0L));
	if (rc < 0)
		return rc;
	if (is_at_end(fd))
		return -EIO;
	return rc == 0 ? -EAGAIN : -EINVAL;
}

ssize_t
events_read(int fd, void *buf, size_t nb_bytes)
{
	const size_t record = fds_kind(fd) == FD_ASYNC ?
				      sizeof(struct ib_uverbs_async_event_desc) :
				      sizeof(struct ib_uverbs_comp_event_desc);
	static const char end[KERNEL_CHANNEL_END_BYTES];
	ssize_t rc;

	if (is_at_end(fd))
		return -EIO;
	if (nb_bytes < record)
		return read_too_little(fd);
	rc = host_read(fd, buf, record);
	/* There may be several end bytes: a killed process has left one. */
	if (rc <= 0 || (size_t)rc == record)
		return rc;
	/* The end came while waiting. Write the byte back for other waiters. */
	host_write(fd, end, sizeof(end));
	return -EIO;
}

/* Whether a device of the machine was ever removed. */
static bool
has_ends(void)
{
	return attach_is_attached() && kernel_has_dead();
}

bool
events_poll_is_due(struct pollfd *fds, nfds_t nb_fds)
{
	if (!has_ends())
		return false;
	for (nfds_t i = 0; i < nb_fds; i++)
		if (fds[i].fd >= 0 && is_at_end(fds[i].fd))
			return true;
	return false;
}

int
events_poll_done(struct pollfd *fds, nfds_t nb_fds, int rc)
{
	if (rc < 0 || !has_ends())
		return rc;
	for (nfds_t i = 0; i < nb_fds; i++) {
		if (fds[i].fd < 0 || !is_at_end(fds[i].fd))
			continue;
		rc += fds[i].revents == 0;
		fds[i].revents = POLLERR;
	}
	return rc;
}

int
events_poll(struct pollfd *fds, nfds_t nb_fds, int timeout)
{
	if (events_poll_is_due(fds, nb_fds))
		timeout = 0;
	return events_poll_done(fds, nb_fds,
				MODEL_REAL(poll)(fds, nb_fds, timeout));
}

static struct watch *
find_watch(int epoll, int fd)
{
	for (uint32_t i = 0; i < nb_watches; i++)
		if (watches[i].used && watches[i].epoll == epoll &&
		    watches[i].fd == fd)
			return &watches[i];
	return NULL;
}

static struct watch *
free_watch(void)
{
	for (uint32_t i = 0; i < NB_WATCHES; i++) {
		if (i == nb_watches)
			nb_watches++;
		/* Entries of closed files are free. */
		if (!watches[i].used || fds_kind(watches[i].fd) != FD_CHANNEL)
			return &watches[i];
	}
	return NULL;
}

void
events_watch(int epoll, int op, int fd, const struct epoll_event *event)
{
	struct watch *watch;
	uint64_t mask;

	if (fds_kind(fd) != FD_CHANNEL)
		return;
	mask = signals_block_all();
	process_lock(PROCESS_LOCK_WATCHES);
	watch = find_watch(epoll, fd);
	if (op == EPOLL_CTL_DEL) {
		if (watch != NULL)
			watch->used = false;
	} else {
		if (watch == NULL)
			watch = free_watch();
		if (watch != NULL)
			*watch = (struct watch){ true, epoll, fd,
						 event->data.u64 };
	}
	process_unlock(PROCESS_LOCK_WATCHES);
	signals_restore_all(mask);
}

static bool
watch_is_at_end(int epoll, uint64_t data)
{
	bool found = false;
	uint64_t mask;

	mask = signals_block_all();
	process_lock(PROCESS_LOCK_WATCHES);
	for (uint32_t i = 0; i < nb_watches && !found; i++)
		found = watches[i].used && watches[i].epoll == epoll &&
			watches[i].data == data && is_at_end(watches[i].fd);
	process_unlock(PROCESS_LOCK_WATCHES);
	signals_restore_all(mask);
	return found;
}

int
events_epoll_done(int epoll, struct epoll_event *events, int rc)
{
	if (rc <= 0 || !has_ends())
		return rc;
	for (int i = 0; i < rc; i++)
		if ((events[i].events & EPOLLIN) != 0 &&
		    watch_is_at_end(epoll, events[i].data.u64))
			events[i].events = EPOLLERR;
	return rc;
}
