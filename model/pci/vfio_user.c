/* SPDX-License-Identifier: BSD-3-Clause */

/* Framing of messages: receive, reply, descriptors. */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "msix.h"
#include "vfio_user.h"
#include "violation_log.h"

#define HEADER_BYTES ((uint32_t)sizeof(struct vfio_user_header))

static void
drop_fds(struct vfio_user *client)
{
	for (uint32_t i = 0; i < client->nb_fds; i++)
		if (client->fds[i] >= 0)
			close(client->fds[i]);
	client->nb_fds = 0;
	client->has_bad_fds = false;
}

void
vfio_user_open(struct vfio_user *client, uint32_t fn, int fd)
{
	memset(client, 0, sizeof(*client));
	client->fn = fn;
	client->fd = fd;
}

void
vfio_user_close(struct vfio_user *client)
{
	drop_fds(client);
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}

short
vfio_user_events(const struct vfio_user *client)
{
	return client->nb_out != 0 ? POLLIN | POLLOUT : POLLIN;
}

/*
 * A client needs to give files and eventfds only. Others may hold the client's own
 * end of the socket, and with it the connection of a client that is gone.
 */
static bool
is_useful(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	       (S_ISREG(st.st_mode) || msix_is_eventfd(fd));
}

static void
keep_fds(struct vfio_user *client, struct msghdr *message)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
		const uint8_t *data = CMSG_DATA(c);
		size_t nb;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		nb = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < nb; i++) {
			int fd;

			memcpy(&fd, data + i * sizeof(fd), sizeof(fd));
			if (client->nb_fds < VFIO_USER_MAX_FDS && is_useful(fd)) {
				client->fds[client->nb_fds++] = fd;
			} else {
				client->has_bad_fds = true;
				close(fd);
			}
		}
	}
	if ((message->msg_flags & MSG_CTRUNC) != 0)
		client->has_bad_fds = true;
}

/*
 * Receive up to wanted bytes of the message. Descriptors come with the first byte
 * of the message they were sent with, so no read crosses the end of a message.
 */
static enum vfio_user_result
receive_until(struct vfio_user *client, uint32_t wanted)
{
	char control[CMSG_SPACE(sizeof(int) * VFIO_USER_MAX_FDS)]
		__attribute__((aligned(_Alignof(struct cmsghdr))));

	while (client->nb_in < wanted) {
		struct iovec part = {
			.iov_base = client->in + client->nb_in,
			.iov_len = wanted - client->nb_in,
		};
		struct msghdr message = {
			.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control),
		};
		const ssize_t n = recvmsg(client->fd, &message,
					  MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return VFIO_USER_NONE;
		if (n <= 0)
			return VFIO_USER_GONE;
		keep_fds(client, &message);
		client->nb_in += (uint32_t)n;
	}
	return VFIO_USER_DONE;
}

static enum vfio_user_result
send_replies(struct vfio_user *client)
{
	while (client->out_at < client->nb_out) {
		const ssize_t n = send(client->fd, client->out + client->out_at,
				       client->nb_out - client->out_at,
				       MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return VFIO_USER_NONE;
		if (n < 0)
			return VFIO_USER_GONE;
		client->out_at += (uint32_t)n;
	}
	client->nb_out = client->out_at = 0;
	return VFIO_USER_DONE;
}

/* Room for another reply behind those that wait. False: there is none. */
static bool
make_room(struct vfio_user *client)
{
	client->nb_out -= client->out_at;
	memmove(client->out, client->out + client->out_at, client->nb_out);
	client->out_at = 0;
	return sizeof(client->out) - client->nb_out >= VFIO_USER_MAX_BYTES;
}

static void
put_reply(struct vfio_user *client, const struct vfio_user_header *request,
	  int result)
{
	const struct vfio_user_header header = {
		.id = request->id,
		.command = request->command,
		.size_bytes = HEADER_BYTES + (result > 0 ? (uint32_t)result : 0),
		.flags = VFIO_USER_FLAG_REPLY |
			 (result < 0 ? VFIO_USER_FLAG_ERROR : 0),
		.error = result < 0 ? (uint32_t)-result : 0,
	};

	memcpy(client->out + client->nb_out, &header, sizeof(header));
	client->nb_out += header.size_bytes;
}

/* A client's mistake; only the first is logged, since a client may repeat it. */
static void
complain(struct vfio_user *client, const struct vfio_user_header *header,
	 const char *reason)
{
	if (client->has_complained)
		return;
	client->has_complained = true;
	model_log("function-%u: a message of the client is refused (command "
		  "%u, %u bytes): %s; use a client of vfio-user 0.0, such as "
		  "QEMU 10.1 or later",
		  client->fn, header->command, header->size_bytes, reason);
}

static const char *
wrong_header(const struct vfio_user_header *header)
{
	if (header->size_bytes < HEADER_BYTES)
		return "it is shorter than its header";
	if (header->size_bytes > VFIO_USER_MAX_BYTES)
		return "it is too long";
	if ((header->flags & VFIO_USER_FLAG_TYPE) != 0)
		return "it is no request";
	return NULL;
}

static void
carry_out(struct vfio_user *client, const struct vfio_user_header *header)
{
	const uint32_t known = VFIO_USER_FLAG_TYPE | VFIO_USER_FLAG_NO_REPLY;
	int result = -EINVAL;

	if ((header->flags & ~known) == 0 && !client->has_bad_fds)
		result = vfio_user_request(client, header->command,
					   client->in + HEADER_BYTES,
					   header->size_bytes - HEADER_BYTES,
					   client->out + client->nb_out +
						   HEADER_BYTES);
	/* -ENOTSUP: the client can do without it. */
	if (result < 0 && result != -ENOTSUP)
		complain(client, header, strerror(-result));
	if ((header->flags & VFIO_USER_FLAG_NO_REPLY) == 0)
		put_reply(client, header, result);
	drop_fds(client);
	client->nb_in = 0;
}

enum vfio_user_result
vfio_user_receive(struct vfio_user *client)
{
	struct vfio_user_header header;
	enum vfio_user_result result;
	const char *wrong;

	if (send_replies(client) == VFIO_USER_GONE)
		return VFIO_USER_GONE;
	result = receive_until(client, HEADER_BYTES);
	if (result != VFIO_USER_DONE)
		return result;
	memcpy(&header, client->in, sizeof(header));
	wrong = wrong_header(&header);
	if (wrong != NULL) {
		complain(client, &header, wrong);
		return VFIO_USER_GONE;
	}
	result = receive_until(client, header.size_bytes);
	if (result != VFIO_USER_DONE)
		return result;
	if (!make_room(client)) {
		complain(client, &header, "its replies are not read");
		return VFIO_USER_GONE;
	}
	carry_out(client, &header);
	return send_replies(client) == VFIO_USER_GONE ? VFIO_USER_GONE :
							VFIO_USER_DONE;
}
