/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The list in meson.build has the functions that fail. Of the other imports of the driver
 * (nm -D --undefined-only) none needs to:
 * - ibv_close_device(), ibv_dealloc_pd(), ibv_dereg_mr(), ibv_destroy_*(), and the inline
 *   verbs except ibv_alloc_parent_domain(): the model lets their kernel calls fail
 * - eventfd_write(): fails only where the descriptor is readable anyway. eventfd_read():
 *   what it leaves wakes the application once more
 * - fprintf(), fputc(): a stream that lacks memory reports it in fclose(), too
 * - access(), dladdr(), getrlimit(), rte_log_register_type_and_pick_level(): only a message
 *   or a name depends on them
 * - rte_malloc_validate(), rte_memzone_lookup(), nlmsg_parse(), rte_ether_unformat_addr(),
 *   rte_pci_addr_parse(), __rte_pktmbuf_read(): fail by what they are given. Tests and fuzz
 *   targets of the driver give it.
 * - rte_eth_dev_callback_process(), _close(), _stop() and _release_port(), rte_mempool_walk()
 *   and _obj_iter(): call the application, the driver or nothing that fails
 * - what ends, unlocks, frees or unregisters, attributes of mutexes, clocks, numbers of the
 *   system, strings, and data
 */

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

#include <rte_errno.h>

#include "calls.h"

/* None is armed. */
#define NEVER UINT32_MAX
/* The last call that fails. */
#define NO_LAST (NEVER - 1)

static unsigned int first_failing = NEVER;
static unsigned int last_failing;
static unsigned int nb_calls, nb_failed, nb_singles;
static const char *first_name;

/* Whether the nth call fails. */
static bool
fails(const char *name, unsigned int n)
{
	if (n < __atomic_load_n(&first_failing, __ATOMIC_RELAXED) ||
	    n > __atomic_load_n(&last_failing, __ATOMIC_RELAXED))
		return false;
	if (__atomic_fetch_add(&nb_failed, 1, __ATOMIC_RELAXED) == 0)
		first_name = name;
	errno = ENOMEM;
	rte_errno = ENOMEM;
	return true;
}

static bool
must_fail(const char *name)
{
	return fails(name, __atomic_add_fetch(&nb_calls, 1, __ATOMIC_RELAXED));
}

void
calls_arm(unsigned int nth, bool and_later)
{
	calls_disarm();
	__atomic_store_n(&nb_calls, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&nb_failed, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&nb_singles, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&last_failing, and_later ? NO_LAST : nth, __ATOMIC_RELAXED);
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

/* A ring of packets in several buffers gets each of them by itself: one of so many counts. */
#define SINGLES_PER_CALL 16

/* Whether this is in this library, which has the driver in it. */
static bool
is_of_driver(const void *code)
{
	static const void *base;
	Dl_info info;

	if (base == NULL && dladdr(&first_failing, &info) != 0)
		base = info.dli_fbase;
	return dladdr(code, &info) != 0 && info.dli_fbase == base;
}

bool
calls_pool_get(const void *caller, unsigned int nb_mbufs)
{
	if (!is_of_driver(caller))
		return false;
	if (nb_mbufs > 1 ||
	    __atomic_fetch_add(&nb_singles, 1, __ATOMIC_RELAXED) % SINGLES_PER_CALL == 0)
		return must_fail("mempool");
	/* The others fail with the calls before and behind them. */
	return __atomic_load_n(&last_failing, __ATOMIC_RELAXED) == NO_LAST &&
	       fails("mempool", calls_made());
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
WRAP(void *, NULL, readdir64, (void *dir), (dir))
WRAP(void *, NULL, fopen64, (const char *path, const char *mode), (path, mode))
WRAP(void *, NULL, fgets, (char *line, int size, void *file), (line, size, file))
WRAP(size_t, 0, fwrite, (const void *data, size_t size, size_t nb, void *file),
	(data, size, nb, file))
WRAP(void *, NULL, open_memstream, (void *text, void *size), (text, size))
WRAP(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol))
WRAP(int, -1, poll, (void *fds, unsigned long nb, int ms), (fds, nb, ms))
WRAP(int, -1, epoll_create1, (int flags), (flags))
WRAP(int, -1, epoll_ctl, (int epfd, int op, int fd, void *event), (epfd, op, fd, event))
WRAP(int, -1, eventfd, (unsigned int value, int flags), (value, flags))
WRAP(int, -1, eventfd_write, (int fd, uint64_t value), (fd, value))
WRAP(int, ENOMEM, pthread_mutex_init, (void *mutex, const void *attr), (mutex, attr))
WRAP(int, ENOMEM, pthread_cond_init, (void *cond, const void *attr), (cond, attr))

int __real_fclose(FILE *file);
int __wrap_fclose(FILE *file);

/* A stream in memory, which has no descriptor, may lack the memory for its end. */
int
__wrap_fclose(FILE *file)
{
	const bool is_text = fileno(file) < 0;
	int ret = __real_fclose(file);

	return is_text && must_fail("fclose") ? EOF : ret;
}

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
WRAP(void *, NULL, rte_pktmbuf_copy,
	(const void *m, void *pool, uint32_t offset, uint32_t length),
	(m, pool, offset, length))
WRAP(int, -ENOMEM, rte_telemetry_register_cmd,
	(const char *name, void *callback, const char *help), (name, callback, help))
WRAP(void *, NULL, rte_tel_data_alloc, (void), ())
WRAP(int, -ENOMEM, rte_tel_data_add_array_int, (void *data, intptr_t value),
	(data, value))
WRAP(int, -ENOMEM, rte_tel_data_add_dict_int,
	(void *data, const char *name, intptr_t value), (data, name, value))
#ifdef FAULT_DICT_UINT
WRAP(int, -ENOMEM, rte_tel_data_add_dict_uint,
	(void *data, const char *name, uint64_t value), (data, name, value))
#else
WRAP(int, -ENOMEM, rte_tel_data_add_dict_u64,
	(void *data, const char *name, uint64_t value), (data, name, value))
#endif
WRAP(int, -ENOMEM, rte_tel_data_add_dict_string,
	(void *data, const char *name, const char *value), (data, name, value))
WRAP(int, -ENOMEM, rte_tel_data_add_dict_container,
	(void *data, const char *name, void *value, int keep), (data, name, value, keep))
WRAP(void *, NULL, rte_kvargs_parse, (const char *args, const void *keys), (args, keys))
WRAP(void *, NULL, rte_eth_dev_allocate, (const char *name), (name))
WRAP(void *, NULL, rte_eth_dev_attach_secondary, (const char *name), (name))
WRAP(void *, NULL, rte_intr_instance_alloc, (uint32_t flags), (flags))
WRAP(int, -EINVAL, rte_intr_type_set, (void *handle, int type), (handle, type))
WRAP(int, -EINVAL, rte_intr_fd_set, (void *handle, int fd), (handle, fd))
WRAP(int, -ERANGE, rte_intr_efds_index_set, (void *handle, int i, int fd),
	(handle, i, fd))
WRAP(int, -ERANGE, rte_intr_vec_list_index_set, (void *handle, int i, int vector),
	(handle, i, vector))
int __real_rte_intr_nb_efd_set(void *handle, int nb);
int __wrap_rte_intr_nb_efd_set(void *handle, int nb);

/* None is possible. */
int
__wrap_rte_intr_nb_efd_set(void *handle, int nb)
{
	return nb > 0 && must_fail("rte_intr_nb_efd_set") ?
		       -ERANGE : __real_rte_intr_nb_efd_set(handle, nb);
}

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
WRAP(int, NETLINK_NO_MEMORY, nl_socket_modify_cb,
	(void *sock, int type, int kind, void *callback, void *arg),
	(sock, type, kind, callback, arg))
WRAP(int, NETLINK_NO_MEMORY, nl_socket_modify_err_cb,
	(void *sock, int kind, void *callback, void *arg), (sock, kind, callback, arg))
WRAP(int, NETLINK_NO_MEMORY, nl_send_simple,
	(void *sock, int type, int flags, void *data, size_t len),
	(sock, type, flags, data, len))
WRAP(int, NETLINK_NO_MEMORY, nl_recvmsgs_default, (void *sock), (sock))

/* ---- libibverbs and libmana, whose kernel calls the model lets fail --------------- */

WRAP(void *, NULL, ibv_get_device_list, (int *nb), (nb))

static struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *context,
					     struct ibv_parent_domain_init_attr *attr);

/* Makes no kernel call. */
static struct ibv_pd *
parent_domain_or_failure(struct ibv_context *context,
			 struct ibv_parent_domain_init_attr *attr)
{
	return must_fail("ibv_alloc_parent_domain") ? NULL :
						      alloc_parent_domain(context, attr);
}

struct ibv_context *__real_ibv_open_device(struct ibv_device *device);
struct ibv_context *__wrap_ibv_open_device(struct ibv_device *device);

struct ibv_context *
__wrap_ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *context;
	struct verbs_context *verbs;

	if (must_fail("ibv_open_device"))
		return NULL;
	context = __real_ibv_open_device(device);
	verbs = context != NULL ? verbs_get_ctx_op(context, alloc_parent_domain) : NULL;
	if (verbs != NULL) {
		/* All contexts are libmana's. */
		alloc_parent_domain = verbs->alloc_parent_domain;
		verbs->alloc_parent_domain = parent_domain_or_failure;
	}
	return context;
}

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
