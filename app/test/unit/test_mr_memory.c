/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which memory the driver registers, and what it does when that fails. Runs without EAL:
 * the test plays the functions of EAL and of the kernel that mana_mr.c calls.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_mempool.h>

#include "mana.h"

#define PAGE UINT64_C(4096)
#define AT UINT64_C(0x40000000) /* memory of the tests, never accessed */

int mana_logtype_driver;

/* What the kernel and EAL do and have done. */
static struct {
	/* Results of the next registrations; afterwards 0. */
	int create_errors[4];
	uint32_t nb_creates;
	uintptr_t addr; /* of the last registration */
	size_t len;
	int destroy_error;
	int pd_error, pd_destroy_error, parent_destroy_error;
	uint32_t nb_reports;
	bool no_hugepages;
	struct rte_memseg_list *msl[2]; /* by base_va and len */
	int pool_event_error;
	int mem_event_error; /* a value of rte_errno */
	struct rte_mempool *pools[2]; /* that exist */
	/* The primary process, for a secondary one. */
	int peer_result;
	const struct rte_mempool *peer_pool; /* of the last request */
	size_t peer_len;
	rte_mem_event_callback_t mem_event;
	rte_mempool_event_callback *pool_event;
} play;

static struct rte_eth_dev_data data = { .name = "port" };
static struct mana_priv priv;

int
mana_peers_mr_get(const struct mana_priv *p, uintptr_t addr, size_t len,
		  const struct rte_mempool *pool, struct mana_mr_range *range)
{
	assert_ptr_equal(p, &priv);
	assert_int_not_equal(mana_process_id, MANA_PROCESS_PRIMARY);
	play.peer_pool = pool;
	play.peer_len = len;
	if (play.peer_result == 0)
		*range = (struct mana_mr_range){
			.base = addr, .len_bytes = len, .lkey = 77,
		};
	return play.peer_result;
}

void
rte_mempool_walk(void (*func)(struct rte_mempool *, void *), void *arg)
{
	for (uint32_t i = 0; i < RTE_DIM(play.pools); i++)
		if (play.pools[i] != NULL)
			func(play.pools[i], arg);
}

int
mana_verbs_mr_create(struct ibv_pd *pd, uintptr_t addr, size_t len, bool is_writable,
		     struct ibv_mr **mr, uint32_t *lkey)
{
	RTE_SET_USED(pd);
	RTE_SET_USED(is_writable);
	play.addr = addr;
	play.len = len;
	*lkey = ++play.nb_creates;
	if (play.nb_creates <= RTE_DIM(play.create_errors) &&
	    play.create_errors[play.nb_creates - 1] != 0)
		return play.create_errors[play.nb_creates - 1];
	*mr = (struct ibv_mr *)(uintptr_t)*lkey;
	return 0;
}

int
mana_verbs_pd_create(struct ibv_context *ctx, uint32_t port, struct ibv_pd **pd,
		     struct ibv_pd **parent)
{
	RTE_SET_USED(ctx);
	RTE_SET_USED(port);
	*pd = NULL;
	*parent = NULL;
	if (play.pd_error != 0)
		return play.pd_error;
	*pd = (struct ibv_pd *)&play.pd_error;
	*parent = (struct ibv_pd *)&play;
	return 0;
}

int
ibv_dealloc_pd(struct ibv_pd *pd)
{
	return pd == (struct ibv_pd *)&play ? play.parent_destroy_error :
					      play.pd_destroy_error;
}

int
mana_verbs_mr_destroy(struct ibv_mr *mr)
{
	RTE_SET_USED(mr);
	return play.destroy_error;
}

void
mana_diag_mr(const struct mana_priv *port, uintptr_t addr, size_t len, int error)
{
	RTE_SET_USED(port);
	RTE_SET_USED(addr);
	RTE_SET_USED(len);
	assert_true(error < 0);
	play.nb_reports++;
}

int
rte_eal_has_hugepages(void)
{
	return !play.no_hugepages;
}

struct rte_memseg_list *
rte_mem_virt2memseg_list(const void *addr)
{
	for (uint32_t i = 0; i < RTE_DIM(play.msl); i++)
		if (play.msl[i] != NULL &&
		    (uintptr_t)addr - (uintptr_t)play.msl[i]->base_va < play.msl[i]->len)
			return play.msl[i];
	return NULL;
}

int
rte_mempool_event_callback_register(rte_mempool_event_callback *func, void *arg)
{
	RTE_SET_USED(arg);
	play.pool_event = func;
	rte_errno = play.pool_event_error;
	return -play.pool_event_error;
}

int
rte_mempool_event_callback_unregister(rte_mempool_event_callback *func, void *arg)
{
	RTE_SET_USED(func);
	RTE_SET_USED(arg);
	return 0;
}

int
rte_mem_event_callback_register(const char *name, rte_mem_event_callback_t func, void *arg)
{
	RTE_SET_USED(name);
	RTE_SET_USED(arg);
	play.mem_event = func;
	rte_errno = play.mem_event_error;
	return play.mem_event_error != 0 ? -1 : 0;
}

int
rte_mem_event_callback_unregister(const char *name, void *arg)
{
	RTE_SET_USED(name);
	RTE_SET_USED(arg);
	return 0;
}

static int
setup(void **state)
{
	RTE_SET_USED(state);
	memset(&play, 0, sizeof(play));
	memset(&priv, 0, sizeof(priv));
	priv.data = &data;
	return mana_mr_table_create(&priv) != 0 || mana_mr_table_attach(&priv) != 0;
}

static int
teardown(void **state)
{
	RTE_SET_USED(state);
	assert_int_equal(mana_mr_table_detach(&priv), 0);
	mana_mr_table_destroy(&priv);
	assert_int_equal(priv.mrs.nb_regions, 0);
	return 0;
}

/* What a burst finds or registers; 0 if it fails. */
static uint32_t
lkey_of(const struct rte_mbuf *m, uintptr_t addr, uint32_t len)
{
	struct mana_mr_cache cache = { .ctx = &priv };
	struct mana_mr_range range = { .lkey = 0 };

	if (mana_mr_miss(&cache, m, addr, len, &range) != 0)
		return 0;
	assert_true(mana_mr_range_holds(&range, addr, len));
	return range.lkey;
}

/* ---- Packet pools -------------------------------------------------------- */

/* A pool as rte_pktmbuf_pool_create() makes, with chunks that are never accessed. */
struct pool {
	struct rte_mempool mp;
	struct rte_pktmbuf_pool_private private;
	struct rte_mempool_memhdr chunks[3];
};

static void
pool_init(struct pool *pool)
{
	memset(pool, 0, sizeof(*pool));
	STAILQ_INIT(&pool->mp.mem_list);
	pool->mp.size = pool->mp.populated_size = 64;
	pool->mp.elt_size = sizeof(struct rte_mbuf) + 2048;
	pool->mp.private_data_size = sizeof(pool->private);
	pool->private.mbuf_data_room_size = 2048;
	assert_ptr_equal(rte_mempool_get_priv(&pool->mp), &pool->private);
}

static void
pool_chunk(struct pool *pool, uintptr_t addr, size_t len)
{
	struct rte_mempool_memhdr *chunk = &pool->chunks[pool->mp.nb_mem_chunks++];

	chunk->addr = (void *)addr;
	chunk->len = len;
	STAILQ_INSERT_TAIL(&pool->mp.mem_list, chunk, next);
}

/* The key of all of the pool; 0 if there is none. */
static uint32_t
pool_lkey(struct pool *pool)
{
	struct mana_mr_cache cache = { .ctx = &priv };
	uint32_t lkey = 0;

	return mana_mr_pool_key(&cache, &pool->mp, &lkey) ? lkey : 0;
}

/* ---- Tests --------------------------------------------------------------- */

/* Huge pages of any size, with the smallest of arm64. */
static void
test_freed_huge_pages_are_deregistered(void **state)
{
	static const uint64_t sizes[] = { RTE_PGSIZE_64K, RTE_PGSIZE_2M, RTE_PGSIZE_1G };
	unsigned int i;

	RTE_SET_USED(state);
	assert_true(rte_eal_has_hugepages());
	for (i = 0; i < RTE_DIM(sizes); i++) {
		struct rte_memseg_list msl = { .page_sz = sizes[i] };

		assert_false(mana_mr_is_permanent(&msl));
		msl.external = 1;
		assert_false(mana_mr_is_permanent(&msl));
	}
	assert_false(mana_mr_is_permanent(NULL));
}

/* Only memory that DPDK does not manage may be for reading alone. */
static void
test_read_only_memory(void **state)
{
	RTE_SET_USED(state);
	play.create_errors[0] = -EFAULT;
	assert_int_equal(mana_mr_add_range(&priv, AT, PAGE), -EFAULT);
	assert_int_equal(play.nb_creates, 1);
	assert_int_equal(play.nb_reports, 1);
	play.create_errors[1] = -EFAULT;
	assert_int_equal(lkey_of(NULL, AT, 64), 3);
	assert_int_equal(play.nb_creates, 3);
	assert_int_equal(play.nb_reports, 1);
}

/* The application takes back exactly the range that it gave. */
static void
test_user_range_matches_exactly(void **state)
{
	RTE_SET_USED(state);
	assert_int_equal(mana_mr_add_range(&priv, AT, 2 * PAGE), 0);
	assert_int_equal(mana_mr_remove_range(&priv, AT, PAGE), -ENOENT);
	assert_int_equal(mana_mr_remove_range(&priv, AT + PAGE, PAGE), -ENOENT);
	assert_int_equal(priv.mrs.nb_regions, 1);
	assert_int_equal(mana_mr_remove_range(&priv, AT, 2 * PAGE), 0);
	assert_int_equal(priv.mrs.nb_regions, 0);
}

/* EAL frees a range: what overlaps it is deregistered, its neighbours are not. */
static void
test_freed_memory_is_deregistered(void **state)
{
	RTE_SET_USED(state);
	assert_int_equal(mana_mr_add_range(&priv, AT + PAGE, PAGE), 0);
	play.mem_event(RTE_MEM_EVENT_ALLOC, (void *)(AT + PAGE), PAGE, &priv);
	play.mem_event(RTE_MEM_EVENT_FREE, (void *)AT, PAGE, &priv);
	play.mem_event(RTE_MEM_EVENT_FREE, (void *)(AT + 2 * PAGE), PAGE, &priv);
	assert_int_equal(priv.mrs.nb_regions, 1);
	play.mem_event(RTE_MEM_EVENT_FREE, (void *)(AT + 2 * PAGE - 1), 1, &priv);
	assert_int_equal(priv.mrs.nb_regions, 0);
	assert_int_equal(priv.mr_generation, 1);
}

/* A region is forgotten even if the kernel keeps it. */
static void
test_deregistration_fails(void **state)
{
	RTE_SET_USED(state);
	play.destroy_error = -EBUSY;
	for (uint32_t is_gone = 0; is_gone < 2; is_gone++) {
		mana_atomic_store(&priv.is_lost, is_gone);
		assert_int_equal(mana_mr_add_range(&priv, AT, PAGE), 0);
		assert_int_equal(mana_mr_remove_range(&priv, AT, PAGE), 0);
		assert_int_equal(priv.mrs.nb_regions, 0);
	}
	assert_int_equal(priv.counters.mr_deregistrations, 2);
}

/* The buffer of an mbuf is registered, except for an address outside of it. */
static void
test_pages_of_a_buffer(void **state)
{
	static const struct {
		uint64_t addr;
		uint32_t len;
		uint64_t base;
		uint64_t pages;
	} cases[] = {
		{ AT + PAGE + 100, 64, AT + PAGE, 3 }, /* inside */
		{ AT + PAGE - 64, 64, AT, 1 }, /* before */
		{ AT + 4 * PAGE, 64, AT + 4 * PAGE, 1 }, /* behind */
		{ AT + 3 * PAGE, PAGE + 1, AT + 3 * PAGE, 2 }, /* beyond its end */
	};
	struct rte_mbuf m = {
		.buf_addr = (void *)(AT + PAGE),
		.buf_len = 3 * PAGE,
	};

	if (sysconf(_SC_PAGESIZE) != PAGE)
		skip();
	for (size_t i = 0; i < RTE_DIM(cases); i++) {
		setup(state);
		assert_int_not_equal(lkey_of(&m, cases[i].addr, cases[i].len), 0);
		assert_int_equal(play.addr, cases[i].base);
		assert_int_equal(play.len, cases[i].pages * PAGE);
		teardown(state);
	}
}

/* A burst's buffer cannot be registered. */
static void
test_registration_fails(void **state)
{
	RTE_SET_USED(state);
	for (size_t i = 0; i < RTE_DIM(play.create_errors); i++)
		play.create_errors[i] = -ENOMEM;
	assert_int_equal(lkey_of(NULL, AT, 64), 0);
	assert_int_equal(play.nb_creates, 2);
	assert_int_equal(priv.mrs.nb_regions, 0);
	assert_false(priv.mrs.is_unknown_noted);
}

/* A buffer reaches beyond the external memory that holds its start. */
static void
test_buffer_beyond_its_memory(void **state)
{
	struct rte_memseg_list msl = {
		.base_va = (void *)AT,
		.len = PAGE,
		.page_sz = PAGE,
		.external = 1,
	};

	RTE_SET_USED(state);
	play.msl[0] = &msl;
	assert_int_equal(lkey_of(NULL, AT + PAGE - 32, 64), 0);
	assert_int_not_equal(lkey_of(NULL, AT + PAGE - 32, 32), 0);
	assert_int_equal(play.nb_creates, 1);
}

/* The mbuf that owns a clone's data gives the pool; either may have none. */
static void
test_pool_of_a_clone(void **state)
{
	static struct pool pool;
	struct {
		struct rte_mbuf m;
		uint8_t data[64];
	} owner = { .m = { .pool = &pool.mp } };
	const uintptr_t at = (uintptr_t)owner.data;
	struct rte_mbuf clone = {
		.buf_addr = owner.data,
		.buf_len = sizeof(owner.data),
		.ol_flags = RTE_MBUF_F_INDIRECT,
	};

	RTE_SET_USED(state);
	pool_init(&pool);
	pool_chunk(&pool, at, sizeof(owner.data));
	assert_int_equal(lkey_of(&clone, at, 64), 1);
	assert_ptr_equal(priv.mrs.regions[0].pool, &pool.mp);
	owner.m.pool = NULL;
	play.pool_event(RTE_MEMPOOL_EVENT_DESTROY, &pool.mp, &priv);
	assert_int_equal(lkey_of(&clone, at, 64), 2);
	assert_null(priv.mrs.regions[0].pool);
}

/* A pool has one key if all of its packets are in one region. */
static void
test_key_of_a_pool(void **state)
{
	struct pool pool;

	RTE_SET_USED(state);
	pool_init(&pool);
	assert_int_equal(pool_lkey(&pool), 0);
	pool_chunk(&pool, AT + PAGE, PAGE);
	assert_int_equal(pool_lkey(&pool), 1);
	/* Chunks that touch are one, in any order. */
	pool_chunk(&pool, AT, PAGE);
	assert_int_equal(pool_lkey(&pool), 2);
	assert_int_equal(play.len, 2 * PAGE);
	pool_chunk(&pool, AT + 4 * PAGE, PAGE);
	assert_int_equal(pool_lkey(&pool), 0);
}

/* The gap between chunks may be registered only if it is never unmapped. */
static void
test_chunks_of_permanent_memory(void **state)
{
	struct rte_memseg_list first = {
		.base_va = (void *)AT, .len = 4 * PAGE, .page_sz = PAGE,
	};
	struct rte_memseg_list second = {
		.base_va = (void *)(AT + 4 * PAGE), .len = 4 * PAGE, .page_sz = PAGE,
	};
	struct pool pool;

	RTE_SET_USED(state);
	play.msl[0] = &first;
	play.msl[1] = &second;
	pool_init(&pool);
	pool_chunk(&pool, AT, PAGE);
	pool_chunk(&pool, AT + 2 * PAGE, PAGE);
	assert_int_equal(pool_lkey(&pool), 0);
	play.no_hugepages = true;
	assert_int_not_equal(pool_lkey(&pool), 0);
	pool_chunk(&pool, AT + 4 * PAGE + 64, PAGE);
	assert_int_equal(pool_lkey(&pool), 0);
}

static void
test_pools_without_a_key(void **state)
{
	struct pool pool;

	RTE_SET_USED(state);
	pool_init(&pool);
	pool_chunk(&pool, AT, PAGE);
	pool.mp.flags = RTE_MEMPOOL_F_NON_IO;
	assert_int_equal(pool_lkey(&pool), 0);
	pool.mp.flags = 0;
	pool.mp.private_data_size = sizeof(pool.private) - 1;
	assert_int_equal(pool_lkey(&pool), 0);
	pool.mp.private_data_size = sizeof(pool.private);
	pool.private.mbuf_data_room_size = 0;
	assert_int_equal(pool_lkey(&pool), 0);
	pool.private.mbuf_data_room_size = 2049;
	assert_int_equal(pool_lkey(&pool), 0);
	pool.private.mbuf_data_room_size = 2048;
	pool.mp.populated_size--;
	assert_int_equal(pool_lkey(&pool), 0);
	pool.mp.populated_size++;
	pool.private.flags = RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF;
	assert_int_equal(pool_lkey(&pool), 0);
	pool.private.flags = 0;
	play.create_errors[0] = -ENOMEM;
	assert_int_equal(pool_lkey(&pool), 0);
	assert_int_equal(play.nb_creates, 1);
	assert_int_equal(pool_lkey(&pool), 2);
}

/* The second of three chunks fails: the third is not tried. */
static void
test_chunk_fails(void **state)
{
	struct pool pool;

	RTE_SET_USED(state);
	pool_init(&pool);
	pool_chunk(&pool, AT, PAGE);
	pool_chunk(&pool, AT + 2 * PAGE, PAGE);
	pool_chunk(&pool, AT + 4 * PAGE, PAGE);
	play.create_errors[1] = -ENOMEM;
	assert_int_equal(mana_mr_add_pool(&priv, &pool.mp), -ENOMEM);
	assert_int_equal(play.nb_creates, 2);
	assert_int_equal(play.addr, AT + 2 * PAGE);
	assert_int_equal(play.nb_reports, 1);
}

/*
 * The device is lost and returns. Memory of pools that cannot be registered is left for
 * its first packet; memory that the application has mapped makes the attach fail, after
 * which each region is in the table once.
 */
static void
test_lost_device(void **state)
{
	static struct pool pools[2];

	RTE_SET_USED(state);
	for (uint32_t i = 0; i < RTE_DIM(pools); i++) {
		pool_init(&pools[i]);
		pool_chunk(&pools[i], AT + 4 * i * PAGE, PAGE);
		assert_true(pool_lkey(&pools[i]) != 0);
	}
	assert_int_equal(mana_mr_add_range(&priv, AT + 8 * PAGE, PAGE), 0);
	/* Without a key from the loss until the device is back. */
	mana_atomic_store(&priv.is_lost, 1);
	mana_atomic_store(&priv.state, MANA_STATE_RECOVERING);
	assert_int_equal(mana_mr_add_range(&priv, AT + 12 * PAGE, PAGE), 0);
	assert_int_equal(mana_mr_table_detach(&priv), 0);
	mana_atomic_store(&priv.is_lost, 0);
	assert_int_equal(mana_mr_add_range(&priv, AT + 10 * PAGE, PAGE), 0);
	assert_int_equal(play.nb_creates, 3);

	memset(&play.create_errors, 0, sizeof(play.create_errors));
	play.nb_creates = 0;
	play.create_errors[0] = -ENOMEM;
	play.create_errors[1] = -ENOMEM;
	play.create_errors[3] = -ENOMEM;
	assert_int_equal(mana_mr_table_attach(&priv), -ENOMEM);
	assert_int_equal(play.nb_reports, 1);
	assert_int_equal(priv.mrs.nb_regions, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(priv.mrs.regions[i].base, AT + (8 + 2 * i) * PAGE);
	assert_int_equal(mana_mr_table_detach(&priv), 0);

	play.nb_creates = RTE_DIM(play.create_errors);
	assert_int_equal(mana_mr_table_attach(&priv), 0);
	assert_int_equal(priv.mrs.nb_regions, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_non_null(priv.mrs.regions[i].mr);
	assert_int_equal(mana_mr_remove_range(&priv, AT + 10 * PAGE, PAGE), 0);
}

/* ---- Secondary processes ---- */

/* The key that a secondary process gets; 0 if the answer is this error. */
static uint32_t
served_lkey(uintptr_t addr, size_t len, const struct pool *pool, int error)
{
	struct mana_mr_range range = { .lkey = 0 };

	assert_int_equal(mana_mr_serve(&priv, addr, len, (const void *)pool, &range), error);
	return error == 0 ? range.lkey : 0;
}

/* Pools, which the process names by any value, and which it may have filled itself. */
static void
test_serve_pool(void **state)
{
	struct rte_memseg_list msl = { .base_va = (void *)AT, .len = 8 * PAGE, .page_sz = PAGE };
	struct pool pool, other;

	RTE_SET_USED(state);
	play.msl[0] = &msl;
	pool_init(&pool);
	pool_init(&other);
	play.pools[0] = &other.mp;
	pool_chunk(&pool, AT, PAGE);
	served_lkey(0, 0, &pool, -ENOENT);
	served_lkey(0, 0, NULL, -ENOENT);
	play.pools[1] = &pool.mp;
	served_lkey(0, 0, &other, -ENOENT);
	assert_int_equal(play.nb_creates, 0);
	/* Not such as packets live in. */
	pool.mp.flags = RTE_MEMPOOL_F_NON_IO;
	served_lkey(0, 0, &pool, -ENOENT);
	pool.mp.flags = 0;
	pool.private.flags = RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF;
	served_lkey(0, 0, &pool, -ENOENT);
	pool.private.flags = 0;
	/* In memory that is not the same in both processes, whole or in part. */
	msl.external = 1;
	served_lkey(0, 0, &pool, -ENOENT);
	msl.external = 0;
	msl.len = PAGE / 2;
	served_lkey(0, 0, &pool, -ENOENT);
	msl.len = 8 * PAGE;
	assert_int_equal(play.nb_creates, 0);
	play.create_errors[0] = -ENOMEM;
	served_lkey(0, 0, &pool, -ENOENT);
	assert_int_equal(served_lkey(0, 0, &pool, 0), 2);
	assert_int_equal(served_lkey(0, 0, &pool, 0), 2);
	pool.mp.populated_size--;
	served_lkey(0, 0, &pool, -ENOENT);
	pool.mp.populated_size++;
	pool_chunk(&pool, AT + 4 * PAGE, PAGE);
	served_lkey(0, 0, &pool, -ENOENT);
	/* The buffer of a pool is in the pool's region. */
	assert_int_equal(served_lkey(AT + 4 * PAGE, 64, &pool, 0), 3);
}

/* Only memory that both processes have is registered; what is registered is found. */
static void
test_serve_buffer(void **state)
{
	struct rte_memseg_list msl = { .base_va = (void *)AT, .len = 2 * PAGE, .page_sz = PAGE };

	RTE_SET_USED(state);
	served_lkey(AT, 64, NULL, -EACCES);
	play.msl[0] = &msl;
	msl.external = 1;
	served_lkey(AT, 64, NULL, -EACCES);
	msl.external = 0;
	served_lkey(AT, 2 * PAGE + 1, NULL, -EACCES);
	served_lkey(AT + PAGE, PAGE + 1, NULL, -EACCES);
	assert_int_equal(play.nb_creates, 0);
	assert_int_equal(served_lkey(AT + PAGE, PAGE, NULL, 0), 1);
	play.msl[0] = NULL;
	assert_int_equal(mana_mr_add_range(&priv, AT + 4 * PAGE, PAGE), 0);
	assert_int_equal(served_lkey(AT + 4 * PAGE, 64, NULL, 0), 2);
	/* What the primary process alone has there: its own burst has registered it. */
	assert_int_equal(lkey_of(NULL, AT + 8 * PAGE, 64), 3);
	served_lkey(AT + 8 * PAGE, 64, NULL, -EACCES);
}

/* A burst of a secondary process registers nothing itself. */
static void
test_ask_primary(void **state)
{
	struct rte_mbuf m = { .buf_addr = (void *)AT, .buf_len = PAGE };
	struct pool pool;

	RTE_SET_USED(state);
	pool_init(&pool);
	m.pool = &pool.mp;
	mana_process_id = MANA_PROCESS_PRIMARY + 1;
	assert_int_equal(lkey_of(NULL, AT, 64), 77);
	assert_null(play.peer_pool);
	assert_int_equal(lkey_of(&m, AT, 64), 77);
	assert_ptr_equal(play.peer_pool, &pool.mp);
	assert_int_equal(play.peer_len, 64);
	assert_int_equal(pool_lkey(&pool), 77);
	assert_int_equal(play.peer_len, 0);
	play.peer_result = -EACCES;
	assert_int_equal(lkey_of(&m, AT, 64), 0);
	assert_int_equal(pool_lkey(&pool), 0);
	mana_process_id = MANA_PROCESS_PRIMARY;
	assert_int_equal(play.nb_creates, 0);
}

/* The device is lost again while it is attached: no region is forgotten. */
static void
test_lost_while_attached(void **state)
{
	static const int errors[] = { -EIO, -ENODEV };
	static struct pool pool;

	RTE_SET_USED(state);
	pool_init(&pool);
	pool_chunk(&pool, AT, PAGE);
	assert_true(pool_lkey(&pool) != 0);
	for (uint32_t i = 0; i < RTE_DIM(errors); i++) {
		assert_int_equal(mana_mr_table_detach(&priv), 0);
		play.nb_creates = 0;
		play.create_errors[0] = errors[i];
		assert_int_equal(mana_mr_table_attach(&priv), errors[i]);
		assert_int_equal(priv.mrs.nb_regions, 1);
	}
	assert_int_equal(mana_mr_table_detach(&priv), 0);
	play.pd_error = -ENOMEM;
	assert_int_equal(mana_mr_table_attach(&priv), -ENOMEM);
	assert_int_equal(priv.mrs.nb_regions, 1);
	play.pd_error = 0;
	play.create_errors[0] = 0;
	assert_int_equal(mana_mr_table_attach(&priv), 0);
	/* The first error of the kernel is reported. */
	play.pd_destroy_error = EBUSY;
	assert_int_equal(mana_mr_table_detach(&priv), -EBUSY);
	assert_int_equal(mana_mr_table_attach(&priv), 0);
	play.parent_destroy_error = EIO;
	assert_int_equal(mana_mr_table_detach(&priv), -EIO);
	play.parent_destroy_error = 0;
	play.pd_destroy_error = 0;
}

/* Memory without events (--no-huge) is no error; anything else is. */
static void
test_events_are_refused(void **state)
{
	RTE_SET_USED(state);
	play.mem_event_error = ENOTSUP;
	assert_int_equal(mana_mr_table_create(&priv), 0);
	play.mem_event_error = ENOMEM;
	assert_int_equal(mana_mr_table_create(&priv), -ENOMEM);
	play.pool_event_error = ENOMEM;
	assert_int_equal(mana_mr_table_create(&priv), -ENOMEM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_freed_huge_pages_are_deregistered),
		TEST(test_lost_device),
		TEST(test_lost_while_attached),
		TEST(test_read_only_memory),
		TEST(test_user_range_matches_exactly),
		TEST(test_freed_memory_is_deregistered),
		TEST(test_deregistration_fails),
		TEST(test_pages_of_a_buffer),
		TEST(test_registration_fails),
		TEST(test_buffer_beyond_its_memory),
		TEST(test_pool_of_a_clone),
		TEST(test_key_of_a_pool),
		TEST(test_chunks_of_permanent_memory),
		TEST(test_pools_without_a_key),
		TEST(test_chunk_fails),
		TEST(test_events_are_refused),
		TEST(test_serve_pool),
		TEST(test_serve_buffer),
		TEST(test_ask_primary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
