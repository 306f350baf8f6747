/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdbool.h>
#include <unistd.h>

#include "fds.h"

#define NB_FDS 65536u /* higher descriptors are not emulated */

static uint8_t kinds[NB_FDS];
static uint32_t nb_used; /* highest set descriptor + 1 */
static pid_t owner;

enum fd_kind
fds_kind(int fd)
{
	enum fd_kind kind;

	if ((unsigned int)fd >= NB_FDS)
		return FD_NONE;
	kind = __atomic_load_n(&kinds[fd], __ATOMIC_ACQUIRE);
	if (kind != FD_NONE && owner != getpid())
		return FD_NONE;
	return kind;
}

void
fds_set(int fd, enum fd_kind kind)
{
	uint32_t seen = __atomic_load_n(&nb_used, __ATOMIC_RELAXED);

	if ((unsigned int)fd >= NB_FDS)
		return;
	if (kind == FD_NONE && kinds[fd] == FD_NONE)
		return;
	if (owner != getpid())
		fds_after_fork();
	__atomic_store_n(&kinds[fd], kind, __ATOMIC_RELEASE);
	while (kind != FD_NONE && seen <= (uint32_t)fd &&
	       !__atomic_compare_exchange_n(&nb_used, &seen, fd + 1u, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		continue;
}

void
fds_for_each(unsigned int first, unsigned int last,
	     void (*visit)(int fd, enum fd_kind kind, void *arg), void *arg)
{
	uint32_t end = __atomic_load_n(&nb_used, __ATOMIC_RELAXED);
	unsigned int fd;

	for (fd = first; fd < end && fd <= last; fd++) {
		enum fd_kind kind = fds_kind(fd);

		if (kind != FD_NONE)
			visit(fd, kind, arg);
	}
}

void
fds_after_fork(void)
{
	uint32_t fd;

	for (fd = 0; fd < nb_used; fd++)
		if (!fds_is_netlink(kinds[fd]))
			kinds[fd] = FD_NONE;
	owner = getpid();
}
