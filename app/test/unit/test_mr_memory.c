/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which memory the driver registers, and what it does when that fails. Runs without EAL:
 * the test plays the functions of EAL and of the kernel that mana_mr.c calls.
 */

#include <errno.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_eal_memconfig.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_mempool.h>

#include "../../../model/test/test.h"
#include "mana_locks.h"
#include "mana_queues.h"

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
	uint32_t nb_asks; /* of a secondary process */
	bool no_memory;
	bool is_unlisted; /* the port, which closes */
	void (*meanwhile)(void); /* another thread, during the next call that may wait */
	rte_mem_event_callback_t mem_event;
	rte_mempool_event_callback *pool_event;
} play;

static struct rte_eth_dev_data data = { .name = "port" };
static struct mana_priv priv;

/* Regions, by address. */
static uint32_t
nb_regions(void)
{
	return priv.mrs.nb;
}

static const struct mana_mr_region *
region(uint32_t i)
{
	const struct mana_mr_region *at = TAILQ_FIRST(&priv.mrs.regions);

	while (i-- != 0)
		at = TAILQ_NEXT(at, next);
	assert_non_null(at);
	return at;
}

void
mana_peers_ask(void)
{
	assert_int_not_equal(mana_process_id, MANA_PROCESS_PRIMARY);
	play.nb_asks++;
}

static void
another_thread(void)
{
	void (*func)(void) = play.meanwhile;

	play.meanwhile = NULL;
	if (func != NULL)
		func();
}

void *
mana_queue_alloc(const char *what, size_t size, int socket_id)
{
	void *memory = play.no_memory ? NULL :
		aligned_alloc(RTE_CACHE_LINE_SIZE,
			      RTE_ALIGN_CEIL(size, (size_t)RTE_CACHE_LINE_SIZE));

	RTE_SET_USED(what);
	RTE_SET_USED(socket_id);
	another_thread();
	return memory != NULL ? memset(memory, 0, size) : NULL;
}

uint64_t
rte_get_tsc_hz(void)
{
	return UINT64_C(1000000000000000); /* no time passes but what a test adds */
}

void
rte_free(void *memory)
{
	free(memory);
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
		     struct ibv_mr **mr)
{
	static struct ibv_mr mrs[1024];

	RTE_SET_USED(pd);
	RTE_SET_USED(is_writable);
	assert_true(mana_mutex_trylock(&priv.mrs.lock));
	mana_mutex_unlock(&priv.mrs.lock);
	another_thread();
	play.addr = addr;
	play.len = len;
	play.nb_creates++;
	if (play.nb_creates <= RTE_DIM(play.create_errors) &&
	    play.create_errors[play.nb_creates - 1] != 0)
		return play.create_errors[play.nb_creates - 1];
	assert_true(play.nb_creates < RTE_DIM(mrs));
	*mr = &mrs[play.nb_creates];
	(*mr)->lkey = play.nb_creates;
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
ibv_dereg_mr(struct ibv_mr *mr)
{
	struct mana_mr_array *array = priv.mr_table.array;
	const uint32_t seq = priv.mr_table.seq[MANA_KIND_PRIMARY];
	const struct mana_mr_entry *entries = mana_mr_list(array, seq, MANA_KIND_PRIMARY);

	/* Nobody waits for the kernel: the lock is free, and readers have no such key. */
	assert_true(mana_mutex_trylock(&priv.mrs.lock));
	mana_mutex_unlock(&priv.mrs.lock);
	for (uint32_t i = 1; mr != NULL && i < array->nb[seq & 1][MANA_KIND_PRIMARY]; i++)
		assert_true(entries[i].range.base == UINTPTR_MAX ||
			    entries[i].range.lkey != mr->lkey);
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

void
mana_registry_unlock(void)
{
	another_thread();
}

struct mana_priv *
mana_registry_hold(const struct rte_eth_dev *dev)
{
	return dev == &rte_eth_devices[0] && !play.is_unlisted ? &priv : NULL;
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
	assert_int_equal(nb_regions(), 0);
	return 0;
}

#define MR_TEST(name) TEST_WITH(name, setup, teardown)

/* What a burst finds or registers; 0 if it fails. */
static uint32_t
lkey_of(const struct rte_mbuf *m, uintptr_t addr, uint32_t len)
{
	struct mana_mr_range range = { .lkey = 0 };
	struct mana_mr_cache cache;

	mana_mr_cache_init(&cache, &priv.mr_table);
	if (mana_mr_lookup(&cache, m, addr, len, &range) != 0)
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

/* The key of a packet at this address of the pool; 0 if there is none. */
static uint32_t
pool_lkey(struct pool *pool, uintptr_t addr)
{
	const struct rte_mbuf m = {
		.pool = &pool->mp, .buf_addr = (void *)addr, .buf_len = 64,
	};

	return lkey_of(&m, addr, 64);
}

/* ---- Tests --------------------------------------------------------------- */

/* Huge pages of any size, with the smallest of arm64. */
MR_TEST(test_freed_huge_pages_are_deregistered)
{
	static const uint64_t sizes[] = { RTE_PGSIZE_64K, RTE_PGSIZE_2M, RTE_PGSIZE_1G };

	for (uint32_t i = 0; i < RTE_DIM(sizes); i++) {
		struct rte_memseg_list msl = {
			.base_va = (void *)AT, .len = 2 * sizes[i], .page_sz = sizes[i],
		};

		play.msl[0] = &msl;
		assert_int_not_equal(lkey_of(NULL, AT + sizes[i], 64), 0);
		assert_int_equal(play.len, sizes[i]);
		play.mem_event(RTE_MEM_EVENT_FREE, (void *)(AT + sizes[i]), sizes[i], NULL);
		assert_int_equal(nb_regions(), 0);
	}
	play.msl[0] = NULL;
}

/* Only memory that DPDK does not manage may be for reading alone. */
MR_TEST(test_read_only_memory)
{
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
MR_TEST(test_user_range_matches_exactly)
{
	assert_int_equal(mana_mr_add_range(&priv, AT, 2 * PAGE), 0);
	assert_int_equal(mana_mr_remove_range(&priv, AT, PAGE), -ENOENT);
	assert_int_equal(mana_mr_remove_range(&priv, AT + PAGE, PAGE), -ENOENT);
	assert_int_equal(nb_regions(), 1);
	/* One within another is there for itself. */
	assert_int_equal(mana_mr_add_range(&priv, AT, PAGE), 0);
	assert_int_equal(nb_regions(), 2);
	assert_int_equal(mana_mr_remove_range(&priv, AT, 2 * PAGE), 0);
	assert_int_equal(lkey_of(NULL, AT, PAGE), 2);
	assert_int_equal(mana_mr_remove_range(&priv, AT, PAGE), 0);
	assert_int_equal(nb_regions(), 0);
}

/* EAL frees a range: what overlaps it is deregistered, its neighbours are not. */
MR_TEST(test_freed_memory_is_deregistered)
{
	assert_int_equal(mana_mr_add_range(&priv, AT + PAGE, PAGE), 0);
	play.mem_event(RTE_MEM_EVENT_ALLOC, (void *)(AT + PAGE), PAGE, NULL);
	play.mem_event(RTE_MEM_EVENT_FREE, (void *)AT, PAGE, NULL);
	play.mem_event(RTE_MEM_EVENT_FREE, (void *)(AT + 2 * PAGE), PAGE, NULL);
	assert_int_equal(nb_regions(), 1);
	play.mem_event(RTE_MEM_EVENT_FREE, (void *)(AT + 2 * PAGE - 1), 1, NULL);
	assert_int_equal(nb_regions(), 0);
}

/* A region is forgotten even if the kernel keeps it. */
MR_TEST(test_deregistration_fails)
{
	play.destroy_error = -EBUSY;
	for (uint32_t is_gone = 0; is_gone < 2; is_gone++) {
		mana_atomic_store(&priv.is_lost, is_gone);
		assert_int_equal(mana_mr_add_range(&priv, AT, PAGE), 0);
		assert_int_equal(mana_mr_remove_range(&priv, AT, PAGE), 0);
		assert_int_equal(nb_regions(), 0);
	}
	assert_int_equal(priv.counters.mr_deregistrations, 2);
}

/* The buffer of an mbuf is registered, except for an address outside of it. */
MR_TEST(test_pages_of_a_buffer)
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
		assert_int_not_equal(lkey_of(&m, cases[i].addr, cases[i].len), 0);
		assert_int_equal(play.addr, cases[i].base);
		assert_int_equal(play.len, cases[i].pages * PAGE);
		teardown(state);
		setup(state);
	}
}

/* A burst's buffer cannot be registered. */
MR_TEST(test_registration_fails)
{
	for (size_t i = 0; i < RTE_DIM(play.create_errors); i++)
		play.create_errors[i] = -ENOMEM;
	assert_int_equal(lkey_of(NULL, AT, 64), 0);
	assert_int_equal(play.nb_creates, 2);
	assert_int_equal(nb_regions(), 0);
	assert_false(priv.mrs.is_unknown_noted);
}

/* A buffer reaches beyond the external memory that holds its start. */
MR_TEST(test_buffer_beyond_its_memory)
{
	struct rte_memseg_list msl = {
		.base_va = (void *)AT,
		.len = PAGE,
		.page_sz = PAGE,
		.external = 1,
	};

	play.msl[0] = &msl;
	assert_int_equal(lkey_of(NULL, AT + PAGE - 32, 64), 0);
	assert_int_not_equal(lkey_of(NULL, AT + PAGE - 32, 32), 0);
	assert_int_equal(play.nb_creates, 1);
}

/* The mbuf that owns a clone's data gives the pool; either may have none. */
MR_TEST(test_pool_of_a_clone)
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

	pool_init(&pool);
	pool_chunk(&pool, at, sizeof(owner.data));
	assert_int_equal(lkey_of(&clone, at, 64), 1);
	assert_ptr_equal(region(0)->pool, &pool.mp);
	owner.m.pool = NULL;
	play.pool_event(RTE_MEMPOOL_EVENT_DESTROY, &pool.mp, NULL);
	assert_int_equal(lkey_of(&clone, at, 64), 2);
	assert_null(region(0)->pool);
}

/* The first packet registers all of the pool. Chunks that touch are one. */
MR_TEST(test_chunks_of_a_pool)
{
	struct pool pool;

	pool_init(&pool);
	pool_chunk(&pool, AT, PAGE);
	pool_chunk(&pool, AT + PAGE, PAGE);
	pool_chunk(&pool, AT + 4 * PAGE, PAGE);
	assert_int_equal(pool_lkey(&pool, AT + PAGE), 1);
	assert_int_equal(nb_regions(), 2);
	assert_int_equal(region(0)->base, AT);
	assert_int_equal(region(0)->end, AT + 2 * PAGE);
	assert_int_equal(region(1)->base, AT + 4 * PAGE);
	assert_int_equal(pool_lkey(&pool, AT + 4 * PAGE), 2);
	assert_int_equal(mana_mr_add_pool(&priv, &pool.mp), 0);
	assert_int_equal(play.nb_creates, 2);
	play.pool_event(RTE_MEMPOOL_EVENT_READY, &pool.mp, NULL);
	assert_int_equal(nb_regions(), 2);
	play.pool_event(RTE_MEMPOOL_EVENT_DESTROY, &pool.mp, NULL);
	assert_int_equal(nb_regions(), 0);
}

/* A pool has no memory yet, and then gets more than it had when its chunks were counted. */
MR_TEST(test_pool_grows)
{
	struct pool pool;

	pool_init(&pool);
	assert_int_equal(mana_mr_add_pool(&priv, &pool.mp), 0);
	assert_int_equal(play.nb_creates, 0);
	for (uint32_t i = 0; i < 3; i++)
		pool_chunk(&pool, AT + 2 * i * PAGE, PAGE);
	pool.mp.nb_mem_chunks = 1;
	assert_int_equal(mana_mr_add_pool(&priv, &pool.mp), 0);
	assert_int_equal(nb_regions(), 2);
	pool.mp.nb_mem_chunks = 3;
	assert_int_equal(pool_lkey(&pool, AT + 4 * PAGE), 3);
	assert_ptr_equal(region(2)->pool, &pool.mp);
}

/* Memory of pools that the application has mapped too, and of two pools. */
MR_TEST(test_same_address)
{
	struct pool pool, other;

	for (uint32_t is_pool_first = 0; is_pool_first < 2; is_pool_first++) {
		pool_init(&pool);
		pool_init(&other);
		pool_chunk(&pool, AT, PAGE);
		pool_chunk(&other, AT, PAGE);
		if (is_pool_first)
			assert_int_equal(mana_mr_add_pool(&priv, &pool.mp), 0);
		assert_int_equal(mana_mr_add_range(&priv, AT, 2 * PAGE), 0);
		assert_int_equal(mana_mr_add_pool(&priv, &pool.mp), 0);
		assert_int_equal(play.nb_creates, 2);
		assert_int_equal(region(0)->kind, MANA_MR_USER);
		assert_ptr_equal(region(1)->pool, &pool.mp);
		assert_int_equal(lkey_of(NULL, AT, 64), region(1)->lkey);
		assert_int_equal(lkey_of(NULL, AT, PAGE + 1), region(0)->lkey);
		assert_int_equal(mana_mr_add_pool(&priv, &other.mp), 0);
		assert_int_equal(nb_regions(), 3);
		/* Its memory is another one's, so it was gone. */
		play.pool_event(RTE_MEMPOOL_EVENT_DESTROY, &pool.mp, NULL);
		assert_int_equal(lkey_of(NULL, AT, 64), 3);
		assert_int_equal(mana_mr_remove_range(&priv, AT, 2 * PAGE), 0);
		assert_int_equal(nb_regions(), 2);
		mana_mr_remove_unknown(&priv);
		assert_int_equal(nb_regions(), 1);
		assert_int_equal(play.nb_creates, 3);
		teardown(state);
		setup(state);
	}
}

/*
 * A secondary process has freed a pool, and another one takes a part of its place, with or
 * without the address of the first one: packets of the second get its own key, and keys of
 * the first remain until the port stops.
 */
MR_TEST(test_pool_in_the_place_of_another)
{
	struct pool pool, other, *next = &pool;

	for (uint32_t i = 0; i < 2; i++, next = &other) {
		pool_init(&pool);
		pool_chunk(&pool, AT, 4 * PAGE);
		assert_int_equal(mana_mr_add_pool(&priv, &pool.mp), 0);
		assert_int_equal(lkey_of(NULL, AT, 64), 1);
		pool_init(next);
		pool_chunk(next, AT + PAGE, PAGE);
		assert_int_equal(mana_mr_add_pool(&priv, &next->mp), 0);
		assert_int_equal(pool_lkey(next, AT + PAGE), 2);
		/* EAL unmaps the rest. */
		play.mem_event(RTE_MEM_EVENT_FREE, (void *)(AT + 2 * PAGE), 2 * PAGE, NULL);
		assert_int_equal(priv.counters.mr_deregistrations, 0);
		assert_int_equal(pool_lkey(next, AT + PAGE), 2);
		/* What is mapped there now is not what the first one's key maps. */
		assert_int_equal(lkey_of(NULL, AT + 3 * PAGE, 64), 3);
		mana_mr_remove_unknown(&priv);
		assert_int_equal(priv.counters.mr_deregistrations, 2);
		assert_int_equal(nb_regions(), 1);
		assert_int_equal(pool_lkey(next, AT + PAGE), 2);
		teardown(state);
		setup(state);
	}
}

/* The end of one pool takes nothing from another in the same memory. */
MR_TEST(test_end_of_a_neighbour)
{
	struct pool pools[2];

	play.no_hugepages = true;
	for (uint32_t i = 0; i < RTE_DIM(pools); i++) {
		pool_init(&pools[i]);
		pool_chunk(&pools[i], AT + i * PAGE, PAGE);
		pool_chunk(&pools[i], AT + (2 + i) * PAGE, PAGE);
		assert_int_equal(mana_mr_add_pool(&priv, &pools[i].mp), 0);
	}
	play.pool_event(RTE_MEMPOOL_EVENT_DESTROY, &pools[0].mp, NULL);
	assert_int_equal(nb_regions(), 2);
	play.nb_creates = 0;
	assert_int_not_equal(pool_lkey(&pools[1], AT + PAGE), 0);
	assert_int_not_equal(pool_lkey(&pools[1], AT + 3 * PAGE), 0);
	assert_int_equal(play.nb_creates, 0);
}

/* Data of an mbuf outside of the memory of its pool. */
MR_TEST(test_data_outside_of_the_pool)
{
	struct pool pool;

	pool_init(&pool);
	pool_chunk(&pool, AT, PAGE);
	assert_int_equal(pool_lkey(&pool, AT + 8 * PAGE), 2);
	assert_int_equal(nb_regions(), 2);
	assert_null(region(1)->pool);
	assert_int_equal(region(1)->kind, MANA_MR_UNKNOWN);
}

/* Pools whose memory is not registered: only the buffer's pages are. */
MR_TEST(test_other_pools)
{
	struct pool pool;

	for (uint32_t i = 0; i < 4; i++) {
		pool_init(&pool);
		pool_chunk(&pool, AT, 4 * PAGE);
		if (i == 0)
			pool.mp.flags = RTE_MEMPOOL_F_NON_IO;
		else if (i == 1)
			pool.mp.private_data_size = sizeof(pool.private) - 1;
		else if (i == 2)
			pool.private.mbuf_data_room_size = 0;
		else
			pool.private.mbuf_data_room_size = 2049;
		assert_int_equal(pool_lkey(&pool, AT), 1);
		assert_null(region(0)->pool);
		assert_int_equal(play.len, sysconf(_SC_PAGESIZE));
		teardown(state);
		setup(state);
	}
}

/* The table grows where the driver may wait, and a burst does without. */
MR_TEST(test_table_grows)
{
	const struct mana_mr_array *first = priv.mr_table.array;
	struct pool pool;
	uint32_t nb = 0;

	pool_init(&pool);
	pool_chunk(&pool, AT - PAGE, PAGE);
	while (lkey_of(NULL, AT + 2 * nb * PAGE, 64) != 0)
		nb++;
	assert_int_equal(nb, first->capacity - 1);
	assert_ptr_equal(priv.mr_table.array, first);
	play.no_memory = true;
	assert_int_equal(mana_mr_reserve(&priv), -ENOMEM);
	assert_int_equal(mana_mr_add_range(&priv, AT + 2 * nb * PAGE, PAGE), -ENOMEM);
	assert_int_equal(mana_mr_add_pool(&priv, &pool.mp), -ENOMEM);
	assert_int_equal(nb_regions(), nb);
	play.no_memory = false;
	assert_int_equal(mana_mr_reserve(&priv), 0);
	assert_ptr_equal(priv.mr_table.array->outgrown, first);
	assert_int_not_equal(lkey_of(NULL, AT + 2 * nb * PAGE, 64), 0);
	for (uint32_t i = 0; i <= nb; i++) {
		play.nb_creates = 100000;
		assert_int_not_equal(lkey_of(NULL, AT + 2 * i * PAGE, 64), 0);
		assert_int_equal(play.nb_creates, 100000);
	}
	mana_mr_remove_unknown(&priv);
	assert_int_equal(nb_regions(), 0);
	assert_int_equal(mana_mr_reserve(&priv), 0);
	assert_ptr_equal(priv.mr_table.array->outgrown, first);
}

/* The table, with more than its spare entries used, is to grow. */
static void
reserve(void)
{
	assert_int_equal(mana_mr_reserve(&priv), 0);
}

/* Two threads make the table grow at the same time: it grows once. */
MR_TEST(test_two_threads_grow)
{
	const struct mana_mr_array *first = priv.mr_table.array;

	for (uint32_t i = 0; nb_regions() + 1 + 64 <= first->capacity; i++)
		assert_int_not_equal(lkey_of(NULL, AT + 2 * i * PAGE, 64), 0);
	play.meanwhile = reserve;
	reserve();
	assert_null(play.meanwhile);
	assert_ptr_equal(priv.mr_table.array->outgrown, first);
	assert_int_equal(priv.mr_table.array->capacity, 2 * first->capacity);
	assert_int_equal(lkey_of(NULL, AT, 64), 1);
}

/* A burst misses memory while another thread registers: it ends, and the next one has the key. */
static void
miss(void)
{
	assert_int_equal(lkey_of(NULL, AT, 64), 0);
}

MR_TEST(test_miss_while_another_registers)
{
	play.meanwhile = miss;
	assert_int_equal(lkey_of(NULL, AT, 64), 1);
	assert_null(play.meanwhile);
	assert_int_equal(play.nb_creates, 1);
	assert_int_equal(play.nb_reports, 0);
	assert_int_equal(nb_regions(), 1);
	assert_int_equal(lkey_of(NULL, AT, 64), 1);
}

/* Memory is freed while its port closes, which deregisters all: nothing is left to do. */
static void
unlist(void)
{
	play.is_unlisted = true;
}

MR_TEST(test_freed_while_the_port_closes)
{
	assert_int_equal(mana_mr_add_range(&priv, AT, PAGE), 0);
	play.meanwhile = unlist;
	play.mem_event(RTE_MEM_EVENT_FREE, (void *)AT, PAGE, NULL);
	assert_true(play.is_unlisted);
	assert_int_equal(priv.counters.mr_deregistrations, 0);
	assert_int_equal(nb_regions(), 1);
	/* The lock is free for the close. */
	assert_int_equal(mana_mr_remove_range(&priv, AT, PAGE), 0);
}

/* Memory is freed while the port has no device. */
MR_TEST(test_freed_while_detached)
{
	struct pool pool;

	pool_init(&pool);
	for (uint32_t i = 0; i < 3; i++)
		pool_chunk(&pool, AT + 2 * i * PAGE, PAGE);
	assert_int_equal(mana_mr_add_pool(&priv, &pool.mp), 0);
	assert_int_equal(mana_mr_table_detach(&priv), 0);
	assert_int_equal(priv.counters.mr_deregistrations, 3);
	play.mem_event(RTE_MEM_EVENT_FREE, (void *)AT, 3 * PAGE, NULL);
	assert_int_equal(mana_mr_table_attach(&priv), 0);
	assert_int_equal(play.nb_creates, 4);
	assert_int_equal(priv.counters.mr_deregistrations, 3);
	assert_int_equal(nb_regions(), 1);
	assert_int_equal(region(0)->base, AT + 4 * PAGE);
	assert_int_equal(region(0)->lkey, 4);
	assert_non_null(region(0)->mr);
}

/* The second of three chunks fails: the third is not tried. */
MR_TEST(test_chunk_fails)
{
	struct pool pool;

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
MR_TEST(test_lost_device)
{
	static struct pool pools[2];

	for (uint32_t i = 0; i < RTE_DIM(pools); i++) {
		pool_init(&pools[i]);
		pool_chunk(&pools[i], AT + 4 * i * PAGE, PAGE);
		assert_int_equal(mana_mr_add_pool(&priv, &pools[i].mp), 0);
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
	assert_int_equal(nb_regions(), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(region(i)->base, AT + (8 + 2 * i) * PAGE);
	assert_int_equal(mana_mr_table_detach(&priv), 0);

	play.nb_creates = RTE_DIM(play.create_errors);
	assert_int_equal(mana_mr_table_attach(&priv), 0);
	assert_int_equal(nb_regions(), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_non_null(region(i)->mr);
	assert_int_equal(mana_mr_remove_range(&priv, AT + 10 * PAGE, PAGE), 0);
}

/* ---- Secondary processes ---- */

/* The key that bursts of a secondary process find; 0: none. */
static uint32_t
secondary_lkey(uintptr_t addr, size_t len)
{
	struct mana_mr_range range = { .lkey = 0 };
	struct mana_mr_cache cache;

	mana_process_kind = MANA_KIND_SECONDARY;
	mana_mr_cache_init(&cache, &priv.mr_table);
	(void)mana_mr_find(&cache, addr, len, &range);
	mana_process_kind = MANA_KIND_PRIMARY;
	return range.lkey;
}

static int
serve(uintptr_t addr, const struct pool *pool)
{
	return mana_mr_serve(&priv, addr, 64, (const void *)pool);
}

/* Pools, which the process names by any value, and which it may have filled itself. */
MR_TEST(test_serve_pool)
{
	struct rte_memseg_list msl = { .base_va = (void *)AT, .len = 8 * PAGE, .page_sz = PAGE };
	struct pool pool, other;
	alignas(RTE_CACHE_LINE_SIZE) uint8_t object[RTE_CACHE_LINE_SIZE +
						    sizeof(struct rte_mbuf)] = { 0 };
	struct rte_mbuf *m = (void *)&object[RTE_CACHE_LINE_SIZE];
	struct rte_mempool_objhdr *header = (struct rte_mempool_objhdr *)m - 1;

	play.msl[0] = &msl;
	pool_init(&pool);
	pool_init(&other);
	play.pools[0] = &other.mp;
	pool_chunk(&pool, AT, 2 * PAGE);
	/* A pool that does not exist: the buffer's own page. */
	assert_int_equal(serve(AT, &pool), 0);
	assert_int_equal(play.len, PAGE);
	assert_int_equal(secondary_lkey(AT, 64), 1);
	play.pools[1] = &pool.mp;
	assert_int_equal(serve(AT + PAGE, &pool), 0);
	assert_int_equal(play.len, 2 * PAGE);
	assert_int_equal(secondary_lkey(AT + PAGE, 64), 2);
	/* What has a key is found again. */
	assert_int_equal(serve(AT + PAGE, &pool), 0);
	assert_int_equal(play.nb_creates, 2);
	/* Not such as packets live in, or in memory that only this process has. */
	pool_chunk(&pool, AT + 4 * PAGE, 2 * PAGE);
	pool.mp.flags = RTE_MEMPOOL_F_NON_IO;
	assert_int_equal(serve(AT + 4 * PAGE, &pool), 0);
	assert_int_equal(play.len, PAGE);
	pool.mp.flags = 0;
	/* Nor pools whose buffers may be anywhere. */
	STAILQ_INIT(&pool.mp.elt_list);
	STAILQ_INSERT_TAIL(&pool.mp.elt_list, header, next);
	m->buf_addr = (void *)(AT + 32 * PAGE);
	m->buf_len = 2048;
	pool.private.flags = RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF;
	assert_int_equal(serve(AT + 6 * PAGE, &pool), 0);
	assert_int_equal(play.addr, AT + 6 * PAGE);
	assert_int_equal(play.len, PAGE);
	pool.private.flags = 0;
	pool_chunk(&pool, AT + 16 * PAGE, PAGE);
	assert_int_equal(serve(AT + 5 * PAGE, &pool), 0);
	assert_int_equal(play.len, PAGE);
	assert_int_equal(nb_regions(), 5);
}

/* Only memory that all processes have is registered, and found. */
MR_TEST(test_serve_buffer)
{
	struct rte_memseg_list msl = { .base_va = (void *)AT, .len = 2 * PAGE, .page_sz = PAGE };
	struct rte_memseg_list attached = {
		.base_va = (void *)(AT + 8 * PAGE), .len = PAGE, .page_sz = PAGE, .external = 1,
	};

	assert_int_equal(serve(AT, NULL), -EACCES);
	play.msl[0] = &msl;
	assert_int_equal(mana_mr_serve(&priv, AT, 2 * PAGE + 1, NULL), -EACCES);
	assert_int_equal(mana_mr_serve(&priv, AT + PAGE, PAGE + 1, NULL), -EACCES);
	assert_int_equal(play.nb_creates, 0);
	assert_int_equal(mana_mr_serve(&priv, AT + PAGE, PAGE, NULL), 0);
	assert_int_equal(secondary_lkey(AT + PAGE, PAGE), 1);
	/* Attached external memory is the same in all processes. */
	msl.external = 1;
	assert_int_equal(serve(AT, NULL), 0);
	assert_int_equal(secondary_lkey(AT, 64), 2);
	/* What the primary process alone has there: mapped, or its own burst's. */
	play.msl[0] = NULL;
	assert_int_equal(mana_mr_add_range(&priv, AT + 4 * PAGE, PAGE), 0);
	assert_int_equal(lkey_of(NULL, AT + 4 * PAGE, 64), 3);
	assert_int_equal(serve(AT + 4 * PAGE, NULL), -EACCES);
	assert_int_equal(secondary_lkey(AT + 4 * PAGE, 64), 0);
	assert_int_equal(lkey_of(NULL, AT + 8 * PAGE, 64), 4);
	assert_int_equal(serve(AT + 8 * PAGE, NULL), -EACCES);
	assert_int_equal(secondary_lkey(AT + 8 * PAGE, 64), 0);
	/* What the primary process alone had there is attached: it is everyone's. */
	play.msl[1] = &attached;
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(serve(AT + 8 * PAGE, NULL), 0);
		assert_int_equal(secondary_lkey(AT + 8 * PAGE, 64), 5);
	}
	/* Without memory for the table. */
	play.no_memory = true;
	for (uint32_t i = 0; nb_regions() + 64 < priv.mr_table.array->capacity; i++)
		assert_int_not_equal(lkey_of(NULL, AT + (10 + 2 * i) * PAGE, 64), 0);
	assert_int_equal(serve(AT + PAGE, NULL), -ENOMEM);
}

/*
 * A burst of a secondary process registers nothing itself. It asks, does not wait, and asks
 * again for other memory when it has the answer.
 */
MR_TEST(test_ask_primary)
{
	struct rte_mbuf m = { .buf_addr = (void *)AT, .buf_len = PAGE };
	struct mana_mr_range range;
	struct mana_mr_cache cache;
	struct mana_mr_ask *ask = &cache.ask;
	struct pool pool;

	pool_init(&pool);
	m.pool = &pool.mp;
	mana_process_id = MANA_PROCESS_PRIMARY + 1;
	mana_process_kind = MANA_KIND_SECONDARY;
	mana_mr_cache_init(&cache, &priv.mr_table);
	assert_int_equal(mana_mr_lookup(&cache, &m, AT, 64, &range), -EAGAIN);
	assert_int_equal(play.nb_asks, 1);
	assert_int_equal(ask->addr, AT);
	assert_int_equal(ask->len_bytes, 64);
	assert_ptr_equal(ask->pool, &pool.mp);
	assert_int_equal(ask->nr, ask->nr_answered + 1);
	/* No answer yet: nothing is asked for. */
	assert_int_equal(mana_mr_lookup(&cache, &m, AT, 64, &range), -EAGAIN);
	assert_int_equal(mana_mr_lookup(&cache, NULL, AT + PAGE, 64, &range), -EAGAIN);
	/* The table had the memory, and has lost it: it is asked for after a while. */
	ask->nr_answered = ask->nr;
	assert_int_equal(mana_mr_lookup(&cache, &m, AT, 64, &range), -EAGAIN);
	assert_int_equal(ask->addr, AT);
	assert_int_equal(cache.nb_misses, 4);
	assert_int_equal(play.nb_asks, 1);
	/* Refused: this memory is not asked for, other memory is, at once. */
	ask->error = -EACCES;
	ask->nr_answered = ask->nr;
	assert_int_equal(mana_mr_lookup(&cache, &m, AT, 64, &range), -EACCES);
	assert_int_equal(mana_mr_lookup(&cache, &m, AT, 64, &range), -EACCES);
	assert_int_equal(cache.nb_failures, 2);
	assert_int_equal(play.nb_asks, 1);
	assert_int_equal(mana_mr_lookup(&cache, &m, AT, 65, &range), -EAGAIN);
	assert_int_equal(play.nb_asks, 2);
	assert_int_equal(ask->len_bytes, 65);
	ask->nr_answered = ask->nr;
	assert_int_equal(mana_mr_lookup(&cache, NULL, AT + PAGE, 64, &range), -EAGAIN);
	assert_int_equal(play.nb_asks, 3);
	assert_null(ask->pool);
	/* A refusal and a request are repeated after a while. */
	ask->nr_answered = ask->nr;
	ask->time -= 2 * rte_get_timer_hz();
	assert_int_equal(mana_mr_lookup(&cache, NULL, AT + PAGE, 64, &range), -EAGAIN);
	assert_int_equal(play.nb_asks, 4);
	ask->time -= rte_get_timer_hz() / 50;
	assert_int_equal(mana_mr_lookup(&cache, NULL, AT + PAGE, 64, &range), -EAGAIN);
	assert_int_equal(play.nb_asks, 5);
	mana_process_id = MANA_PROCESS_PRIMARY;
	mana_process_kind = MANA_KIND_PRIMARY;
	assert_int_equal(play.nb_creates, 0);
}

/* The device is lost again while it is attached: no region is forgotten. */
MR_TEST(test_lost_while_attached)
{
	static const int errors[] = { -EIO, -ENODEV };
	static struct pool pool;
	struct mana_mr_range range;
	struct mana_mr_cache cache;

	pool_init(&pool);
	pool_chunk(&pool, AT, PAGE);
	assert_int_equal(mana_mr_add_pool(&priv, &pool.mp), 0);
	for (uint32_t i = 0; i < RTE_DIM(errors); i++) {
		assert_int_equal(mana_mr_table_detach(&priv), 0);
		play.nb_creates = 0;
		play.create_errors[0] = errors[i];
		assert_int_equal(mana_mr_table_attach(&priv), errors[i]);
		assert_int_equal(nb_regions(), 1);
		/* No burst finds the region without a key. */
		mana_mr_cache_init(&cache, &priv.mr_table);
		assert_false(mana_mr_find(&cache, AT, 64, &range));
	}
	assert_int_equal(mana_mr_table_detach(&priv), 0);
	play.pd_error = -ENOMEM;
	assert_int_equal(mana_mr_table_attach(&priv), -ENOMEM);
	assert_int_equal(nb_regions(), 1);
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
MR_TEST(test_events_are_refused)
{
	mana_mr_table_destroy(&priv);
	play.mem_event_error = ENOTSUP;
	assert_int_equal(mana_mr_table_create(&priv), 0);
	mana_mr_table_destroy(&priv);
	play.mem_event_error = ENOMEM;
	assert_int_equal(mana_mr_table_create(&priv), -ENOMEM);
	mana_mr_table_destroy(&priv);
	play.mem_event_error = 0;
	play.pool_event_error = EEXIST; /* another port has registered it */
	assert_int_equal(mana_mr_table_create(&priv), 0);
	mana_mr_table_destroy(&priv);
	play.pool_event_error = ENOMEM;
	assert_int_equal(mana_mr_table_create(&priv), -ENOMEM);
}
