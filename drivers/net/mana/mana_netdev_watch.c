/* SPDX-License-Identifier: BSD-3-Clause */

/* Notifications of rtnetlink: that something has happened, not what. */

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/rtnetlink.h>

#include "mana_netdev.h"

/* A longer message is cut off, which costs a look at the interface. */
#define MESSAGE_BYTES 8192
/* More than these wait for the next call. */
#define MAX_MESSAGES 64

int
mana_netdev_watch_open(int *fd)
{
	struct sockaddr_nl local = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK,
	};
	int ret;

	*fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC,
		     NETLINK_ROUTE);
	if (*fd < 0)
		return -errno;
	if (bind(*fd, (const struct sockaddr *)&local, sizeof(local)) == 0)
		return 0;
	ret = -errno;
	close(*fd);
	*fd = -1;
	return ret;
}

/* Whether one of the messages in a datagram is of this interface. */
static bool
tells_of(struct nlmsghdr *header, ssize_t len, unsigned int ifindex)
{
	for (; NLMSG_OK(header, len); header = NLMSG_NEXT(header, len)) {
		const struct ifinfomsg *info = NLMSG_DATA(header);

		if ((header->nlmsg_type == RTM_NEWLINK ||
		     header->nlmsg_type == RTM_DELLINK) &&
		    header->nlmsg_len >= NLMSG_LENGTH(sizeof(*info)) &&
		    (unsigned int)info->ifi_index == ifindex)
			return true;
	}
	return false;
}

bool
mana_netdev_watch_read(int fd, const struct mana_netdev *netdev)
{
	union {
		struct nlmsghdr header; /* for its alignment */
		uint8_t bytes[MESSAGE_BYTES];
	} buf;
	bool is_told = false;
	unsigned int i;

	for (i = 0; i < MAX_MESSAGES; i++) {
		struct sockaddr_nl from = { 0 };
		socklen_t from_bytes = sizeof(from);
		ssize_t len;

		len = recvfrom(fd, &buf, sizeof(buf), MSG_DONTWAIT | MSG_TRUNC,
			       (struct sockaddr *)&from, &from_bytes);
		if (len < 0) {
			/* ENOBUFS: some are lost, of this one maybe. */
			if (errno == EAGAIN || errno == EINTR)
				break;
			is_told = true;
		} else if (from.nl_pid == 0) { /* the kernel's */
			is_told = is_told || len > (ssize_t)sizeof(buf) ||
				  tells_of(&buf.header, len, netdev->ifindex);
		}
	}
	return is_told;
}
