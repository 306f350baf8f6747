/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include <rte_errno.h>
#include <rte_interrupts.h>
#include <rte_mbuf.h>

#include "allocations.h"

static unsigned int left; /* 0: not armed */
static unsigned int nb_hits;

static bool
must_fail(void)
{
	if (left == 0 || --left != 0)
		return false;
	nb_hits++;
	errno = ENOMEM;
	rte_errno = ENOMEM;
	return true;
}

void
allocations_arm(unsigned int nth)
{
	nb_hits = 0;
	left = nth;
}

void
allocations_disarm(void)
{
	left = 0;
}

unsigned int
allocations_hits(void)
{
	return nb_hits;
}

/* ld --wrap calls __wrap_f() for f(), and f() as __real_f(). */
#define WRAP(type, failure, name, parameters, arguments) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		return must_fail() ? (failure) : __real_##name arguments; \
	}

/* The list in meson.build must contain each of these. */
WRAP(void *, NULL, malloc, (size_t size), (size))
WRAP(void *, NULL, calloc, (size_t nb, size_t size), (nb, size))
WRAP(void *, NULL, realloc, (void *old, size_t size), (old, size))
WRAP(void *, NULL, rte_zmalloc, (const char *type, size_t size, unsigned int align),
	(type, size, align))
WRAP(void *, NULL, rte_zmalloc_socket,
	(const char *type, size_t size, unsigned int align, int socket),
	(type, size, align, socket))
WRAP(struct rte_mempool *, NULL, rte_pktmbuf_pool_create,
	(const char *name, unsigned int n, unsigned int cache, uint16_t priv, uint16_t room,
	 int socket),
	(name, n, cache, priv, room, socket))
WRAP(struct rte_intr_handle *, NULL, rte_intr_instance_alloc, (uint32_t flags), (flags))
WRAP(int, -ENOMEM, rte_intr_callback_register,
	(const struct rte_intr_handle *handle, rte_intr_callback_fn callback, void *arg),
	(handle, callback, arg))
WRAP(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol))
WRAP(int, -1, epoll_create1, (int flags), (flags))
WRAP(int, -1, epoll_ctl, (int epfd, int op, int fd, struct epoll_event *event),
	(epfd, op, fd, event))
WRAP(int, -1, eventfd, (unsigned int value, int flags), (value, flags))
