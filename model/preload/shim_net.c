/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The preloaded surface, part 3: netlink sockets and names of netdevs.
 */

/* The C library's fortified headers redirect what is defined here. */
#undef _FORTIFY_SOURCE

#include <errno.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "attach.h"
#include "fds.h"
#include "kernel.h"
#include "nl_socket.h"
#include "preload.h"

static ssize_t
result(ssize_t rc)
{
	if (rc >= 0)
		return rc;
	errno = -rc;
	return -1;
}

static bool
is_netlink(int fd)
{
	enum fd_kind kind = fds_kind(fd);

	return kind == FD_NETLINK_RDMA || kind == FD_NETLINK_ROUTE;
}

MODEL_EXPORT int
socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK &&
	    (protocol == NETLINK_RDMA || protocol == NETLINK_ROUTE))
		return result(nl_socket_open(type, protocol));
	return MODEL_REAL(socket)(domain, type, protocol);
}

MODEL_EXPORT int
bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_nl nl;

	if (fds_kind(fd) != FD_NETLINK_RDMA || len < sizeof(nl))
		return MODEL_REAL(bind)(fd, addr, len);
	/* Groups of RDMA are not those of the socket that carries it. */
	memcpy(&nl, addr, sizeof(nl));
	nl.nl_groups = 0;
	return MODEL_REAL(bind)(fd, (struct sockaddr *)&nl, sizeof(nl));
}

MODEL_EXPORT ssize_t
sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (is_netlink(fd))
		return result(nl_socket_send(fd, msg, flags));
	return MODEL_REAL(sendmsg)(fd, msg, flags);
}

MODEL_EXPORT ssize_t
sendto(int fd, const void *buf, size_t len, int flags,
       const struct sockaddr *addr, socklen_t addr_len)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct msghdr msg = {
		.msg_name = (void *)(uintptr_t)addr,
		.msg_namelen = addr_len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};

	if (is_netlink(fd))
		return result(nl_socket_send(fd, &msg, flags));
	return MODEL_REAL(sendto)(fd, buf, len, flags, addr, addr_len);
}

MODEL_EXPORT ssize_t
send(int fd, const void *buf, size_t len, int flags)
{
	if (is_netlink(fd))
		return sendto(fd, buf, len, flags, NULL, 0);
	return MODEL_REAL(send)(fd, buf, len, flags);
}

MODEL_EXPORT ssize_t
recvmsg(int fd, struct msghdr *msg, int flags)
{
	if (is_netlink(fd))
		return result(nl_socket_receive(fd, msg, flags));
	return MODEL_REAL(recvmsg)(fd, msg, flags);
}

MODEL_EXPORT ssize_t
recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *addr,
	 socklen_t *addr_len)
{
	struct iovec iov = { buf, len };
	struct msghdr msg = {
		.msg_name = addr,
		.msg_namelen = addr == NULL ? 0 : *addr_len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	ssize_t rc;

	if (!is_netlink(fd))
		return MODEL_REAL(recvfrom)(fd, buf, len, flags, addr,
					    addr_len);
	rc = nl_socket_receive(fd, &msg, flags);
	if (rc >= 0 && addr != NULL)
		*addr_len = msg.msg_namelen;
	return result(rc);
}

MODEL_EXPORT ssize_t
recv(int fd, void *buf, size_t len, int flags)
{
	if (is_netlink(fd))
		return recvfrom(fd, buf, len, flags, NULL, NULL);
	return MODEL_REAL(recv)(fd, buf, len, flags);
}

/* What _FORTIFY_SOURCE makes of the two; size is that of the buffer. */
MODEL_EXPORT ssize_t __recv_chk(int fd, void *buf, size_t len, size_t size,
				int flags);
ssize_t
__recv_chk(int fd, void *buf, size_t len, size_t size, int flags)
{
	if (is_netlink(fd) && len <= size)
		return recvfrom(fd, buf, len, flags, NULL, NULL);
	return MODEL_REAL(__recv_chk)(fd, buf, len, size, flags);
}

MODEL_EXPORT ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t size,
				    int flags, struct sockaddr *addr,
				    socklen_t *addr_len);
ssize_t
__recvfrom_chk(int fd, void *buf, size_t len, size_t size, int flags,
	       struct sockaddr *addr, socklen_t *addr_len)
{
	if (is_netlink(fd) && len <= size)
		return recvfrom(fd, buf, len, flags, addr, addr_len);
	return MODEL_REAL(__recvfrom_chk)(fd, buf, len, size, flags, addr,
					  addr_len);
}

MODEL_EXPORT unsigned int
if_nametoindex(const char *name)
{
	struct kernel_netdev netdev;

	if (strncmp(name, "mana", 4) == 0 && attach_machine() &&
	    kernel_netdev_by_name(name, &netdev) == 0)
		return netdev.ifindex;
	return MODEL_REAL(if_nametoindex)(name);
}

MODEL_EXPORT char *
if_indextoname(unsigned int ifindex, char name[IF_NAMESIZE])
{
	struct kernel_netdev netdev;

	if (ifindex >= KERNEL_IFINDEX_BASE && attach_machine() &&
	    kernel_netdev_by_index(ifindex, &netdev) == 0)
		return strcpy(name, netdev.name);
	return MODEL_REAL(if_indextoname)(ifindex, name);
}
