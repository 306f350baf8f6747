/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completions access no mbuf: after posting, the memory of the pool, headers
 * and data, is inaccessible. The queue returns all pointers to the cache
 * without a fault.
 */

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

#define NB_MBUFS 512
#define NB_CACHE 256
#define ELT_BYTES 4096

static struct {
	struct rte_mempool *mp;
	void *memory;
	size_t bytes;
} hidden;

/* A pool with mbufs on pages of its own. */
static void
pool_make(void)
{
	unsigned int nb;

	hidden.bytes = (NB_MBUFS + 1) * (size_t)ELT_BYTES;
	hidden.memory = mmap(NULL, hidden.bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(hidden.memory != MAP_FAILED);
	hidden.mp = rte_mempool_create_empty("hidden", NB_MBUFS,
		sizeof(struct rte_mbuf) + RTE_PKTMBUF_HEADROOM + FX_ROOM_BYTES,
		NB_CACHE, sizeof(struct rte_pktmbuf_pool_private), SOCKET_ID_ANY, 0);
	assert_non_null(hidden.mp);
	rte_pktmbuf_pool_init(hidden.mp, NULL);
	nb = rte_mempool_populate_iova(hidden.mp, hidden.memory, RTE_BAD_IOVA,
				       hidden.bytes, NULL, NULL);
	assert_int_equal(nb, NB_MBUFS);
	rte_mempool_obj_iter(hidden.mp, rte_pktmbuf_init, NULL);
	fx_mr_add_pool(hidden.mp, 0x5001);
}

static void
pool_delete(void)
{
	assert_eq(fx_pool_missing(hidden.mp, NB_MBUFS), 0);
	rte_mempool_free(hidden.mp);
	munmap(hidden.memory, hidden.bytes);
}

static void
hide(void)
{
	assert_int_equal(mprotect(hidden.memory, hidden.bytes, PROT_NONE), 0);
}

static void
show(void)
{
	assert_int_equal(mprotect(hidden.memory, hidden.bytes,
				  PROT_READ | PROT_WRITE), 0);
}

enum reaper {
	BY_EMPTY_BURST,
	BY_BURST_OF_OTHERS,
	BY_CLEANUP,
	NB_REAPERS,
};

static void
reap(struct fx_tx *fx, enum reaper reaper)
{
	struct rte_mbuf *m;

	switch (reaper) {
	case BY_EMPTY_BURST:
		assert_eq(fx->burst(fx->txq, NULL, 0), 0);
		break;
	case BY_BURST_OF_OTHERS:
		m = fx_mbuf(fx->mp, 60, 0);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		break;
	default:
		mana_txq_done_cleanup(fx->txq, 0);
		break;
	}
}

/* Sends nb packets of nb_segs segments; all mbufs return without access. */
static void
round_trip(struct fx_tx *fx, uint32_t nb, uint32_t nb_segs, enum reaper reaper)
{
	const struct rte_mempool_cache *cache;
	struct rte_mbuf *pkts[64];

	for (uint32_t i = 0; i < nb; i++)
		pkts[i] = fx_chain(hidden.mp, nb_segs, 60, i);
	cache = rte_mempool_default_cache(hidden.mp, rte_lcore_id());
	assert_non_null(cache);
	assert_eq(fx->burst(fx->txq, pkts, nb), nb);
	assert_eq(fx_tx_complete_all(fx), nb);
	assert_eq(fx_pool_missing(hidden.mp, NB_MBUFS), nb * nb_segs);
	hide();
	reap(fx, reaper);
	assert_eq(fx_pool_missing(hidden.mp, NB_MBUFS), 0);
	/* The last cache entries are these mbufs. */
	assert_true(cache->len >= nb * nb_segs);
	for (uint32_t i = 0; i < nb * nb_segs; i++) {
		uintptr_t at = (uintptr_t)cache->objs[cache->len - 1 - i];

		assert_true(at - (uintptr_t)hidden.memory < hidden.bytes);
	}
	show();
	fx_tx_complete_all(fx);
	mana_txq_done_cleanup(fx->txq, 0);
}

static void
round_trips(struct fx_tx *fx, uint32_t nb_segs)
{
	for (uint32_t reaper = 0; reaper < NB_REAPERS; reaper++)
		for (uint32_t nb = 1; nb <= 32; nb++)
			round_trip(fx, nb, nb_segs, reaper);
}

/* Every WQE requests a completion. */
TEST(one_completion_each)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.zero_position = true });

	pool_make();
	round_trips(fx, 1);
	pool_delete();
	fx_tx_delete(fx);
}

TEST(completions_of_groups)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

	pool_make();
	fx_tx_pass_offset_check(fx);
	round_trips(fx, 1);
	pool_delete();
	fx_tx_delete(fx);
}

TEST(direct_chains)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

	pool_make();
	fx_tx_pass_offset_check(fx);
	for (uint32_t nb_segs = 2; nb_segs <= 4; nb_segs++)
		round_trips(fx, nb_segs);
	pool_delete();
	fx_tx_delete(fx);
}

/* An access that is necessary faults: the protection works. */
TEST(shared_mbuf_is_read)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	struct rte_mbuf *m;
	int status;
	pid_t pid;

	pool_make();
	m = fx_mbuf(hidden.mp, 60, 0);
	rte_mbuf_refcnt_update(m, 1);
	assert_eq(fx->burst(fx->txq, &m, 1), 1);
	assert_eq(fx_tx_complete_all(fx), 1);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		hide();
		reap(fx, BY_EMPTY_BURST);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	reap(fx, BY_EMPTY_BURST);
	rte_pktmbuf_free(m);
	pool_delete();
	fx_tx_delete(fx);
}

int
main(void)
{
	return test_run("unit", fx_group_setup, NULL);
}
