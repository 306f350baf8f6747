/* SPDX-License-Identifier: BSD-3-Clause */

/* Interposed functions, part 3: netlink sockets and names of netdevs. */

/* The C library's fortified headers redirect functions defined here. */
#undef _FORTIFY_SOURCE

#include <errno.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "events.h"
#include "fds.h"
#include "kernel.h"
#include "netdev_list.h"
#include "nl_socket.h"
#include "pagemap.h"
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
	return nl_socket_is_one(fd);
}

MODEL_EXPORT int
socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK &&
	    (protocol == NETLINK_RDMA || protocol == NETLINK_ROUTE ||
	     protocol == NETLINK_KOBJECT_UEVENT || protocol == NETLINK_GENERIC))
		return result(nl_socket_open(type, protocol));
	return MODEL_REAL(socket)(domain, type, protocol);
}

MODEL_EXPORT int
bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_nl nl;

	if (!is_netlink(fd) || len < sizeof(nl))
		return MODEL_REAL(bind)(fd, addr, len);
	memcpy(&nl, addr, sizeof(nl));
	return result(nl_socket_bind(fd, &nl));
}

MODEL_EXPORT int
setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	uint32_t group;

	if (level != SOL_NETLINK || !is_netlink(fd) || len < sizeof(group) ||
	    (name != NETLINK_ADD_MEMBERSHIP && name != NETLINK_DROP_MEMBERSHIP))
		return MODEL_REAL(setsockopt)(fd, level, name, value, len);
	memcpy(&group, value, sizeof(group));
	return result(nl_socket_membership(fd, group,
					   name == NETLINK_ADD_MEMBERSHIP));
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

/* The _FORTIFY_SOURCE variants of both; size is the buffer's. */
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

/* For a datagram, read() is recv() without flags. */
MODEL_EXPORT ssize_t
read(int fd, void *buf, size_t len)
{
	if (is_netlink(fd))
		return recvfrom(fd, buf, len, 0, NULL, NULL);
	if (fds_is_event(fds_kind(fd)))
		return result(events_read(fd, buf, len));
	if (fds_kind(fd) == FD_PAGEMAP)
		return result(pagemap_read(fd, buf, len));
	return MODEL_REAL(read)(fd, buf, len);
}

MODEL_EXPORT ssize_t __read_chk(int fd, void *buf, size_t len, size_t size);
ssize_t
__read_chk(int fd, void *buf, size_t len, size_t size)
{
	if (len <= size)
		return read(fd, buf, len);
	return MODEL_REAL(__read_chk)(fd, buf, len, size);
}

MODEL_EXPORT unsigned int
if_nametoindex(const char *name)
{
	struct kernel_netdev netdev;

	if ((strncmp(name, "mana", 4) == 0 || strncmp(name, "hv", 2) == 0) &&
	    attach_machine() && netdev_find(0, name, &netdev) == 0)
		return netdev.ifindex;
	return MODEL_REAL(if_nametoindex)(name);
}

/* Real and modelled netdevs, in memory that if_freenameindex() frees. */
static struct if_nameindex *
with_modelled(struct if_nameindex *real)
{
	struct if_nameindex *all, *next;
	struct kernel_netdev netdev;
	size_t nb = 0, nb_modelled = 0;

	while (real[nb].if_index != 0 || real[nb].if_name != NULL)
		nb++;
	while (netdev_nth(nb_modelled, &netdev) == 0)
		nb_modelled++;
	all = realloc(real, (nb + nb_modelled + 1) * sizeof(*all));
	if (all == NULL)
		return real;
	next = all + nb;
	for (size_t n = 0; n < nb_modelled; n++) {
		if (netdev_nth(n, &netdev) != 0)
			break;
		next->if_name = strdup(netdev.name);
		next->if_index = netdev.ifindex;
		if (next->if_name == NULL)
			break;
		next++;
	}
	*next = (struct if_nameindex){ 0, NULL };
	return all;
}

MODEL_EXPORT struct if_nameindex *
if_nameindex(void)
{
	struct if_nameindex *real = MODEL_REAL(if_nameindex)();

	return real == NULL || !attach_machine() ? real : with_modelled(real);
}

MODEL_EXPORT char *
if_indextoname(unsigned int ifindex, char name[IF_NAMESIZE])
{
	struct kernel_netdev netdev;

	if (ifindex >= KERNEL_IFINDEX_BASE && attach_machine() &&
	    netdev_find(ifindex, NULL, &netdev) == 0)
		return strcpy(name, netdev.name);
	return MODEL_REAL(if_indextoname)(ifindex, name);
}
