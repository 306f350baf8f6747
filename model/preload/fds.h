/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which descriptors of this process are emulated ones. Lookups take no lock
 * and cost one load for a descriptor of no interest.
 */

#ifndef MODEL_FDS_H
#define MODEL_FDS_H

#include <stdint.h>

enum fd_kind {
	FD_NONE,
	FD_CONTEXT,	  /* an uverbs file */
	FD_EVENT,	  /* completion channel or asynchronous events */
	FD_NETLINK_RDMA,
	FD_NETLINK_ROUTE,
};

/*
 * Kind of a descriptor of this process. A child made by vfork() or clone(),
 * which may share our memory, has none.
 */
enum fd_kind fds_kind(int fd);
void fds_set(int fd, enum fd_kind kind);
/* Call for each known descriptor in the range. */
void fds_for_each(unsigned int first, unsigned int last,
		  void (*visit)(int fd, enum fd_kind kind, void *arg),
		  void *arg);
/* In the child: what it inherited is no concern of the machine's. */
void fds_after_fork(void);

#endif /* MODEL_FDS_H */
