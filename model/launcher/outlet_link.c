/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Outlets that are links to another machine: a packet of a Unix socket is a
 * frame. Who comes first listens, and goes on listening when the other goes.
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

#include "outlet.h"
#include "rundir.h"
#include "segment.h"

#define RETRY_MS 50
#define BUFFER_BYTES (4 << 20)
/* Behind the path, while the socket is made. */
#define MAX_SUFFIX_BYTES 16

struct link {
	struct sockaddr_un address;
	int listener; /* -1: we are not who listens */
	ino_t ino; /* of its file */
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

	if (fd >= 0) /* as far as the system allows */
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
 * Put a listening socket in place: made beside it, so that whoever finds it can
 * connect. A dead one is replaced. 0 or -errno: -EEXIST when somebody else was
 * quicker.
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

/* Join the other, or wait for it. 0, or -errno when that is not possible. */
static int
seek(struct outlet *outlet)
{
	struct link *link = outlet->state;
	const char *path = link->address.sun_path;
	ino_t ino = 0;
	int fd, ret;

	if (outlet->fd >= 0)
		return 0;
	if (link->listener >= 0) {
		if (is_socket(path, &ino) && ino == link->ino)
			return 0;
		stop_listening(link); /* it was taken from us */
	}
	fd = make_socket();
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&link->address,
		    sizeof(link->address)) == 0) {
		outlet->fd = fd;
		return 0;
	}
	ret = -errno;
	close(fd);
	if (ret == -EAGAIN)
		return 0; /* it is there, and busy */
	if (ret == -ECONNREFUSED && !is_socket(path, &ino))
		return -ENOTSOCK;
	if (ret != -ENOENT && ret != -ECONNREFUSED)
		return ret;
	ret = start_listening(link, ret == -ECONNREFUSED);
	return ret == -EEXIST ? 0 : ret;
}

static int
link_open(struct outlet *outlet, const char *args)
{
	struct link *link = calloc(1, sizeof(*link));
	const size_t room = sizeof(link->address.sun_path) - MAX_SUFFIX_BYTES;
	int ret;

	outlet->state = link;
	if (link == NULL) {
		options_complain("no memory for the link %s", args);
		return -1;
	}
	link->listener = -1;
	link->address.sun_family = AF_UNIX;
	if (strlen(args) >= room) {
		options_complain("--wire %u=link:%s: the path has more than %zu "
				 "bytes: give a shorter one",
				 outlet->number + 1, args, room - 1);
		return -1;
	}
	strcpy(link->address.sun_path, args);
	ret = seek(outlet);
	if (ret == 0)
		return 0;
	options_complain("--wire %u=link:%s: %s; give the path of a socket, "
			 "which need not be there yet", outlet->number + 1,
			 args, strerror(-ret));
	return -1;
}

static void
link_lost(struct outlet *outlet)
{
	struct link *link = outlet->state;

	close(outlet->fd);
	outlet->fd = -1;
	link->next_try_ms = 0;
}

static void
link_pollfds(const struct outlet *outlet, struct pollfd *fds)
{
	const struct link *link = outlet->state;

	fds[0].fd = outlet->fd;
	fds[1].fd = link->listener;
}

/* One end is enough: a third machine is sent away. */
static void
link_accept(struct outlet *outlet)
{
	const struct link *link = outlet->state;
	const int room = BUFFER_BYTES;
	int fd = link->listener < 0 ? -1 :
		 accept4(link->listener, NULL, NULL,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (outlet->fd >= 0) {
		close(fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	outlet->fd = fd;
}

static uint32_t
link_receive(struct outlet *outlet, void *buf, uint32_t buf_bytes)
{
	ssize_t n;

	link_accept(outlet);
	if (outlet->fd < 0)
		return 0;
	n = recv(outlet->fd, buf, buf_bytes, MSG_DONTWAIT);
	if (n > 0)
		return (uint32_t)n;
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		link_lost(outlet);
	return 0;
}

static bool
link_transmit(struct outlet *outlet, const void *frame, uint32_t nb_bytes,
	      uint64_t at_ns)
{
	(void)at_ns;
	link_accept(outlet);
	if (outlet->fd < 0)
		return false;
	/* What a slow other end has no room for is lost, as on any wire. */
	if (send(outlet->fd, frame, nb_bytes, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return true;
	if (errno != EAGAIN && errno != EINTR && errno != EMSGSIZE)
		link_lost(outlet);
	return false;
}

static void
link_tick(struct outlet *outlet)
{
	struct link *link = outlet->state;
	const uint64_t now = now_ms();

	if (now < link->next_try_ms)
		return;
	link->next_try_ms = now + RETRY_MS;
	seek(outlet);
}

static void
link_close(struct outlet *outlet)
{
	struct link *link = outlet->state;

	if (outlet->fd >= 0)
		close(outlet->fd);
	if (link != NULL)
		stop_listening(link);
	free(link);
}

const struct outlet_ops outlet_link = {
	.open = link_open,
	.pollfds = link_pollfds,
	.receive = link_receive,
	.transmit = link_transmit,
	.tick = link_tick,
	.close = link_close,
};
