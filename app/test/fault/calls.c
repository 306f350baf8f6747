/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <rte_errno.h>

#include "calls.h"

/* None is armed. */
#define NEVER UINT32_MAX

static unsigned int first_failing = NEVER;
static unsigned int last_failing;
static unsigned int nb_calls, nb_failed;
static const char *first_name;

static bool
must_fail(const char *name)
{
	const unsigned int n = __atomic_add_fetch(&nb_calls, 1, __ATOMIC_RELAXED);

	if (n < __atomic_load_n(&first_failing, __ATOMIC_RELAXED) ||
	    n > __atomic_load_n(&last_failing, __ATOMIC_RELAXED))
		return false;
	if (__atomic_fetch_add(&nb_failed, 1, __ATOMIC_RELAXED) == 0)
		first_name = name;
	errno = ENOMEM;
	rte_errno = ENOMEM;
	return true;
}

void
calls_arm(unsigned int nth, bool and_later)
{
	calls_disarm();
	__atomic_store_n(&nb_calls, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&nb_failed, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&last_failing, and_later ? NEVER - 1 : nth, __ATOMIC_RELAXED);
	if (nth > 0)
		__atomic_store_n(&first_failing, nth, __ATOMIC_RELAXED);
}

void
calls_disarm(void)
{
	__atomic_store_n(&first_failing, NEVER, __ATOMIC_RELAXED);
}

unsigned int
calls_failed(void)
{
	return __atomic_load_n(&nb_failed, __ATOMIC_RELAXED);
}

const char *
calls_first_failed(void)
{
	return calls_failed() > 0 ? first_name : "none";
}

unsigned int
calls_made(void)
{
	return __atomic_load_n(&nb_calls, __ATOMIC_RELAXED);
}

/*
 * In a program that does not know this library: MANA_FAULT_CALL=N, or N+ for all later
 * ones as well, lets calls fail from the start. At the end a line reports them.
 */
#define VARIABLE "MANA_FAULT_CALL"

__attribute__((constructor)) static void
arm_from_environment(void)
{
	const char *text = getenv(VARIABLE);
	char *end;

	if (text != NULL)
		calls_arm(strtoul(text, &end, 10), *end == '+');
}

__attribute__((destructor)) static void
report(void)
{
	if (getenv(VARIABLE) != NULL)
		printf("driver calls: %u, failed: %u, first: %s\n", calls_made(),
		       calls_failed(), calls_first_failed());
}

/*
 * ld --wrap calls __wrap_f() for f(), and f() as __real_f(). Pointers are void * here,
 * because the linker sees no types. The list in meson.build must contain each of these.
 */
#define WRAP(type, failure, name, parameters, arguments) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		return must_fail(#name) ? (failure) : __real_##name arguments; \
	}

#define NETLINK_NO_MEMORY (-5) /* libnl3 netlink/errno.h: NLE_NOMEM */

/* ---- The C library -------------------------------------------------------------- */

WRAP(void *, NULL, malloc, (size_t size), (size))
WRAP(void *, NULL, calloc, (size_t nb, size_t size), (nb, size))
WRAP(void *, NULL, realloc, (void *old, size_t size), (old, size))
WRAP(void *, NULL, realpath, (const char *path, char *to), (path, to))
WRAP(void *, NULL, opendir, (const char *path), (path))
WRAP(void *, NULL, fopen64, (const char *path, const char *mode), (path, mode))
WRAP(void *, NULL, open_memstream, (void *text, void *size), (text, size))
WRAP(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol))
WRAP(int, -1, socketpair, (int domain, int type, int protocol, int *pair),
	(domain, type, protocol, pair))
WRAP(ssize_t, -1, sendmsg, (int fd, const void *message, int flags), (fd, message, flags))
WRAP(int, -1, epoll_create1, (int flags), (flags))
WRAP(int, -1, epoll_ctl, (int epfd, int op, int fd, void *event), (epfd, op, fd, event))
WRAP(int, -1, eventfd, (unsigned int value, int flags), (value, flags))
WRAP(int, ENOMEM, pthread_mutex_init, (void *mutex, const void *attr), (mutex, attr))
WRAP(int, ENOMEM, pthread_cond_init, (void *cond, const void *attr), (cond, attr))

void *__real_mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset);

/* Plain memory in place of a doorbell page is the end of that page: no failure helps. */
void *
__wrap_mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	const bool is_end = (flags & MAP_FIXED) != 0 && (flags & MAP_ANONYMOUS) != 0;

	return !is_end && must_fail("mmap64") ? MAP_FAILED :
		__real_mmap64(at, size, prot, flags, fd, offset);
}

/* Functions with variable arguments: the driver passes at most so many, each a word. */
#define WRAP_VARIABLE(type, first_type, second_type, name, nb) \
	type __real_##name(first_type first, second_type second, ...); \
	type __wrap_##name(first_type first, second_type second, ...); \
	type __wrap_##name(first_type first, second_type second, ...) \
	{ \
		uintptr_t rest[2] = { 0 }; \
		va_list args; \
		va_start(args, second); \
		for (unsigned int i = 0; i < (nb); i++) \
			rest[i] = va_arg(args, uintptr_t); \
		va_end(args); \
		return must_fail(#name) ? -1 : __real_##name(first, second, rest[0], rest[1]); \
	}

WRAP_VARIABLE(int, const char *, int, open64, 1)
WRAP_VARIABLE(int, int, unsigned long, ioctl, 1)
WRAP_VARIABLE(int, int, int, fcntl64, 1)
WRAP_VARIABLE(long, long, long, syscall, 2)

/* ---- DPDK ----------------------------------------------------------------------- */

WRAP(void *, NULL, rte_zmalloc, (const char *type, size_t size, unsigned int align),
	(type, size, align))
WRAP(void *, NULL, rte_zmalloc_socket,
	(const char *type, size_t size, unsigned int align, int socket),
	(type, size, align, socket))
WRAP(const void *, NULL, rte_memzone_reserve,
	(const char *name, size_t len, int socket, unsigned int flags),
	(name, len, socket, flags))
WRAP(void *, NULL, rte_pktmbuf_pool_create,
	(const char *name, unsigned int n, unsigned int cache, uint16_t priv, uint16_t room,
	 int socket),
	(name, n, cache, priv, room, socket))
WRAP(void *, NULL, rte_tel_data_alloc, (void), ())
WRAP(int, -ENOMEM, rte_tel_data_add_array_int, (void *data, intptr_t value),
	(data, value))
WRAP(int, -ENOMEM, rte_tel_data_add_dict_int,
	(void *data, const char *name, intptr_t value), (data, name, value))
WRAP(int, -ENOMEM, rte_tel_data_add_dict_string,
	(void *data, const char *name, const char *value), (data, name, value))
WRAP(int, -ENOMEM, rte_tel_data_add_dict_container,
	(void *data, const char *name, void *value, int keep), (data, name, value, keep))
WRAP(void *, NULL, rte_kvargs_parse, (const char *args, const void *keys), (args, keys))
WRAP(void *, NULL, rte_eth_dev_allocate, (const char *name), (name))
WRAP(void *, NULL, rte_eth_dev_attach_secondary, (const char *name), (name))
WRAP(void *, NULL, rte_intr_instance_alloc, (uint32_t flags), (flags))
WRAP(int, -ENOMEM, rte_intr_vec_list_alloc, (void *handle, const char *name, int size),
	(handle, name, size))
WRAP(int, -ENOMEM, rte_intr_callback_register,
	(const void *handle, void *callback, void *arg), (handle, callback, arg))
WRAP(int, -ENOMEM, rte_eal_alarm_set, (uint64_t us, void *callback, void *arg),
	(us, callback, arg))
WRAP(int, -1, rte_mem_event_callback_register,
	(const char *name, void *callback, void *arg), (name, callback, arg))
WRAP(int, -ENOMEM, rte_mempool_event_callback_register, (void *callback, void *arg),
	(callback, arg))
WRAP(int, -1, rte_mp_action_register, (const char *name, void *action), (name, action))
WRAP(int, -1, rte_mp_request_sync, (void *request, void *reply, const void *time),
	(request, reply, time))
WRAP(int, -1, rte_mp_reply, (void *message, const char *peer), (message, peer))

/* ---- libnl ---------------------------------------------------------------------- */

WRAP(void *, NULL, nl_socket_alloc, (void), ())
WRAP(int, NETLINK_NO_MEMORY, nl_connect, (void *sock, int protocol), (sock, protocol))
WRAP(int, NETLINK_NO_MEMORY, nl_socket_set_nonblocking, (const void *sock), (sock))
WRAP(int, NETLINK_NO_MEMORY, nl_socket_add_membership, (void *sock, int group),
	(sock, group))
WRAP(int, NETLINK_NO_MEMORY, nl_socket_modify_cb,
	(void *sock, int type, int kind, void *callback, void *arg),
	(sock, type, kind, callback, arg))
WRAP(int, NETLINK_NO_MEMORY, nl_socket_modify_err_cb,
	(void *sock, int kind, void *callback, void *arg), (sock, kind, callback, arg))
WRAP(int, NETLINK_NO_MEMORY, nl_send_auto, (void *sock, void *message), (sock, message))
WRAP(int, NETLINK_NO_MEMORY, nl_recvmsgs_default, (void *sock), (sock))
WRAP(void *, NULL, nlmsg_alloc_simple, (int type, int flags), (type, flags))
WRAP(int, NETLINK_NO_MEMORY, nlmsg_append,
	(void *message, void *data, size_t len, int pad), (message, data, len, pad))
WRAP(int, NETLINK_NO_MEMORY, nla_put_u32, (void *message, int type, uint32_t value),
	(message, type, value))

/* ---- libibverbs and libmana, whose kernel calls the model lets fail --------------- */

WRAP(void *, NULL, ibv_get_device_list, (int *nb), (nb))
WRAP(void *, NULL, ibv_open_device, (void *device), (device))
WRAP(int, ENOMEM, ibv_query_device, (void *context, void *attr), (context, attr))
WRAP(void *, NULL, ibv_alloc_pd, (void *context), (context))
WRAP(void *, NULL, ibv_reg_mr, (void *pd, void *addr, size_t len, int access),
	(pd, addr, len, access))
WRAP(void *, NULL, ibv_create_comp_channel, (void *context), (context))
WRAP(void *, NULL, ibv_create_cq,
	(void *context, int nb, void *user, void *channel, int vector),
	(context, nb, user, channel, vector))
WRAP(void *, NULL, ibv_create_qp, (void *pd, void *attr), (pd, attr))
WRAP(int, -1, ibv_get_async_event, (void *context, void *event), (context, event))
WRAP(int, -1, ibv_get_cq_event, (void *channel, void *cq, void *user),
	(channel, cq, user))
WRAP(int, ENOMEM, manadv_set_context_attr, (void *context, int type, void *attr),
	(context, type, attr))
WRAP(int, ENOMEM, manadv_init_obj, (void *object, uint64_t type), (object, type))
