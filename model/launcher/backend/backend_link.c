/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Backends that link to another machine: each packet of a Unix socket is a
 * frame. The first machine listens, also after the other disconnects.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "rundir.h"
#include "segment.h"

#define RETRY_MS 50
#define BUFFER_BYTES (4 << 20)
/* Suffix of the path while the socket is created. */
#define MAX_SUFFIX_BYTES 16

struct link {
	struct sockaddr_un address;
	int listener; /* -1: the other machine listens */
	ino_t ino; /* of the socket's file */
	uint64_t next_try_ms;
};

static uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int
make_socket(void)
{
	const int room = BUFFER_BYTES;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC,
			0);

	if (fd >= 0) /* up to the system's limit */
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return fd;
}

static bool
is_socket(const char *path, ino_t *ino)
{
	struct stat st;

	if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return false;
	*ino = st.st_ino;
	return true;
}

static void
stop_listening(struct link *link)
{
	const char *path = link->address.sun_path;
	ino_t ino;

	if (link->listener < 0)
		return;
	if (is_socket(path, &ino) && ino == link->ino)
		unlink(path);
	close(link->listener);
	link->listener = -1;
}

/*
 * Create a listening socket under a temporary name and rename it, so that it
 * accepts connections once it is visible. Replaces a dead socket. 0 or -errno:
 * -EEXIST if another launcher was faster.
 */
static int
start_listening(struct link *link, bool is_dead_there)
{
	const char *path = link->address.sun_path;
	struct sockaddr_un beside = link->address;
	int fd = make_socket(), ret = 0;

	if (fd < 0)
		return -errno;
	snprintf(beside.sun_path + strlen(path), MAX_SUFFIX_BYTES, ".%d",
		 (int)getpid());
	unlink(beside.sun_path);
	if (bind(fd, (struct sockaddr *)&beside, sizeof(beside)) != 0 ||
	    listen(fd, 1) != 0 || !is_socket(beside.sun_path, &link->ino))
		ret = -errno;
	else if (is_dead_there)
		ret = rename(beside.sun_path, path) == 0 ? 0 : -errno;
	else if (linkat(AT_FDCWD, beside.sun_path, AT_FDCWD, path, 0) != 0)
		ret = -errno;
	unlink(beside.sun_path);
	if (ret != 0) {
		close(fd);
		return ret;
	}
	link->listener = fd;
	rundir_leave(segment_run_dir(), path, link->ino);
	return 0;
}

/* Connect to the other machine, or listen for it. 0 or -errno. */
static int
seek(struct backend *backend)
{
	struct link *link = backend->state;
	const char *path = link->address.sun_path;
	ino_t ino = 0;
	int fd, ret;

	if (backend->fd >= 0)
		return 0;
	if (link->listener >= 0) {
		if (is_socket(path, &ino) && ino == link->ino)
			return 0;
		stop_listening(link); /* another launcher has replaced it */
	}
	fd = make_socket();
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&link->address,
		    sizeof(link->address)) == 0) {
		backend->fd = fd;
		return 0;
	}
	ret = -errno;
	close(fd);
	if (ret == -EAGAIN)
		return 0; /* it exists, but is busy */
	if (ret == -ECONNREFUSED && !is_socket(path, &ino))
		return -ENOTSOCK;
	if (ret != -ENOENT && ret != -ECONNREFUSED)
		return ret;
	ret = start_listening(link, ret == -ECONNREFUSED);
	return ret == -EEXIST ? 0 : ret;
}

static int
link_open(struct backend *backend, const char *args)
{
	struct link *link = calloc(1, sizeof(*link));
	const size_t room = sizeof(link->address.sun_path) - MAX_SUFFIX_BYTES;
	int ret;

	backend->state = link;
	if (link == NULL) {
		options_error("no memory for the link %s", args);
		return -1;
	}
	link->listener = -1;
	link->address.sun_family = AF_UNIX;
	if (strlen(args) >= room) {
		options_error("--wire %u=link:%s: the path has more than %zu "
			      "bytes: give a shorter one",
			      backend->number + 1, args, room - 1);
		return -1;
	}
	strcpy(link->address.sun_path, args);
	ret = seek(backend);
	if (ret == 0)
		return 0;
	options_error("--wire %u=link:%s: %s; give the path of a socket, which "
		      "need not exist yet",
		      backend->number + 1, args, strerror(-ret));
	return -1;
}

static void
link_lost(struct backend *backend)
{
	struct link *link = backend->state;

	close(backend->fd);
	backend->fd = -1;
	link->next_try_ms = 0;
}

static void
link_pollfds(const struct backend *backend, struct pollfd *fds)
{
	const struct link *link = backend->state;

	fds[0].fd = backend->fd;
	fds[1].fd = link->listener;
}

/* Accept one machine; refuse further ones. */
static void
link_accept(struct backend *backend)
{
	const struct link *link = backend->state;
	const int room = BUFFER_BYTES;
	int fd = link->listener < 0 ? -1 :
		 accept4(link->listener, NULL, NULL,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (backend->fd >= 0) {
		close(fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	backend->fd = fd;
}

static uint32_t
link_receive(struct backend *backend, void *buf, uint32_t buf_bytes)
{
	ssize_t n;

	link_accept(backend);
	if (backend->fd < 0)
		return 0;
	n = recv(backend->fd, buf, buf_bytes, MSG_DONTWAIT);
	if (n > 0)
		return (uint32_t)n;
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		link_lost(backend);
	return 0;
}

static bool
link_transmit(struct backend *backend, const void *frame, uint32_t nb_bytes,
	      uint64_t at_ns)
{
	(void)at_ns;
	link_accept(backend);
	if (backend->fd < 0)
		return false;
	/* Frames that a slow peer has no room for are lost, as on any wire. */
	if (send(backend->fd, frame, nb_bytes, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return true;
	if (errno != EAGAIN && errno != EINTR && errno != EMSGSIZE)
		link_lost(backend);
	return false;
}

static void
link_tick(struct backend *backend)
{
	struct link *link = backend->state;
	const uint64_t now = now_ms();

	if (now < link->next_try_ms)
		return;
	link->next_try_ms = now + RETRY_MS;
	seek(backend);
}

static void
link_close(struct backend *backend)
{
	struct link *link = backend->state;

	if (backend->fd >= 0)
		close(backend->fd);
	if (link != NULL)
		stop_listening(link);
	free(link);
}

const struct backend_ops backend_link = {
	.open = link_open,
	.pollfds = link_pollfds,
	.receive = link_receive,
	.transmit = link_transmit,
	.tick = link_tick,
	.close = link_close,
};
