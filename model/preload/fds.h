/* SPDX-License-Identifier: BSD-3-Clause */

/* Emulated descriptors. Lookup takes no lock; other descriptors cost a load. */

#ifndef MODEL_FDS_H
#define MODEL_FDS_H

#include <stdbool.h>
#include <stdint.h>

enum fd_kind {
	FD_NONE,
	FD_CONTEXT,	  /* an uverbs file */
	FD_CHANNEL,	  /* completion events */
	FD_ASYNC,	  /* asynchronous events */
	FD_PAGEMAP,	  /* /proc/self/pagemap */
	FD_VMBUS,	  /* /dev/uioN, a ring or an attribute of VMBus */
	FD_NETLINK_RDMA,
	FD_NETLINK_ROUTE,
	FD_NETLINK_UEVENT,
	FD_NETLINK_GENERIC,
};

static inline bool
fds_is_netlink(enum fd_kind kind)
{
	return kind == FD_NETLINK_RDMA || kind == FD_NETLINK_ROUTE ||
		kind == FD_NETLINK_UEVENT || kind == FD_NETLINK_GENERIC;
}

/*
 * Kind of a descriptor of this process. A child of vfork() or clone(), which
 * may share memory with its parent, has none.
 */
enum fd_kind fds_kind(int fd);

static inline int
fds_is_event(enum fd_kind kind)
{
	return kind == FD_CHANNEL || kind == FD_ASYNC;
}

void fds_set(int fd, enum fd_kind kind);
/* Call the function for each emulated descriptor in the range. */
void fds_for_each(unsigned int first, unsigned int last,
		  void (*visit)(int fd, enum fd_kind kind, void *arg),
		  void *arg);
/*
 * Call in the child: forget inherited descriptors, except for netlink sockets,
 * which the child may use instead of its parent (daemons do).
 */
void fds_after_fork(void);

#endif /* MODEL_FDS_H */
