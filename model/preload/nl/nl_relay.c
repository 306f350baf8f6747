/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "host.h"
#include "netlink.h"
#include "nl_socket.h"

/* Options of a netlink socket that change the contents of a dump. */
static const int options[] = { NETLINK_GET_STRICT_CHK, NETLINK_EXT_ACK,
			       NETLINK_CAP_ACK };

static int
open_like(int fd)
{
	int own, value;
	socklen_t len;
	size_t i;

	own = host_result(syscall(SYS_socket, AF_NETLINK,
				  SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
	for (i = 0; own >= 0 && i < sizeof(options) / sizeof(options[0]); i++) {
		len = sizeof(value);
		if (syscall(SYS_getsockopt, fd, SOL_NETLINK, options[i], &value,
			    &len) == 0)
			syscall(SYS_setsockopt, own, SOL_NETLINK, options[i],
				&value, sizeof(value));
	}
	return own;
}

enum state { MORE, ENDED, FAILED };

/* A dump's state after a datagram. Its error is in NLMSG_DONE, passed on. */
static enum state
state_after(char *buf, ssize_t *nb_bytes)
{
	/* The macros of netlink.h need non-const pointers. */
	struct nlmsghdr *hdr = (void *)buf;
	int left = (int)*nb_bytes;

	for (; NLMSG_OK(hdr, (unsigned int)left); hdr = NLMSG_NEXT(hdr, left)) {
		if (hdr->nlmsg_type == NLMSG_ERROR ||
		    (hdr->nlmsg_type == NLMSG_DONE &&
		     hdr->nlmsg_len >= NLMSG_LENGTH(sizeof(int)) &&
		     *(const int *)NLMSG_DATA(hdr) != 0))
			return FAILED;
		if (hdr->nlmsg_type == NLMSG_DONE) {
			*nb_bytes = (char *)hdr - buf;
			return ENDED;
		}
	}
	return MORE;
}

static ssize_t
receive(int fd, char **buf)
{
	ssize_t len;

	len = host_result(syscall(SYS_recvfrom, fd, NULL, 0L,
				  MSG_PEEK | MSG_TRUNC, NULL, NULL));
	if (len < 0)
		return len;
	*buf = malloc((size_t)len + 1);
	if (*buf == NULL)
		return -ENOMEM;
	return host_result(syscall(SYS_recvfrom, fd, *buf, len, 0, NULL, NULL));
}

bool
nl_relay_dump(int fd, const struct nlmsghdr *request, struct netlink_sink *sink)
{
	static const struct sockaddr_nl to_kernel = { .nl_family = AF_NETLINK };
	enum state state = MORE;
	int own = open_like(fd);
	ssize_t len = own;
	char *buf;

	if (own >= 0)
		len = host_result(syscall(SYS_sendto, own, request,
					  request->nlmsg_len, 0, &to_kernel,
					  sizeof(to_kernel)));
	while (len >= 0 && state == MORE) {
		buf = NULL;
		len = receive(own, &buf);
		if (len > 0) {
			state = state_after(buf, &len);
			if (len > 0)
				sink->answer(sink, buf, (size_t)len);
		}
		free(buf);
	}
	if (own >= 0)
		host_close(own);
	if (len < 0)
		netlink_answer_error(request, (int)len, sink);
	return state == ENDED;
}
