/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Mempools that only one thread may use: the driver accesses a mempool only in bursts,
 * in tx_done_cleanup, and in start, stop, release and close of a queue.
 */

#include <pthread.h>
#include <unistd.h>

#include <sys/syscall.h>

#include <rte_cycles.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memzone.h>
#include <rte_mempool.h>

#include "fixture.h"

#define RESET "reset fn=0 outage=5ms"
#define NB_RECOVERIES 100
#define NB_UPDATES 1000
#define NB_MBUFS 4095
#define NB_FRAMES 50
#define NB_STARTS 50

static const struct fx_config four = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = FX_RSS };

/* ---- Mempools of one thread ------------------------------------------------------- */

static pid_t owner; /* the only thread that may use these mempools; 0: none may */
static unsigned int nb_wrong, nb_calls;

static void
note_thread(bool is_get __rte_unused)
{
	nb_calls++;
	if (__atomic_load_n(&owner, __ATOMIC_ACQUIRE) != (pid_t)syscall(SYS_gettid))
		__atomic_add_fetch(&nb_wrong, 1, __ATOMIC_SEQ_CST);
}

static void
owner_set(pid_t tid)
{
	__atomic_store_n(&owner, tid, __ATOMIC_RELEASE);
}

static struct rte_mempool *
pool_of_one_thread(const char *ops)
{
	struct rte_mempool *pool;

	fx_pool_hook = note_thread;
	owner_set(syscall(SYS_gettid));
	pool = rte_pktmbuf_pool_create_by_ops("one_thread", NB_MBUFS, 0, 0,
					      RTE_MBUF_DEFAULT_BUF_SIZE,
					      SOCKET_ID_ANY, ops);
	assert_non_null(pool);
	return pool;
}

/* Each mbuf is in the pool, once. */
static void
check_pool(struct rte_mempool *pool)
{
	static struct rte_mbuf *all[NB_MBUFS];

	fx_pool_caches_flush();
	assert_int_equal(rte_mempool_avail_count(pool), NB_MBUFS);
	assert_int_equal(rte_mempool_get_bulk(pool, (void **)all, NB_MBUFS), 0);
	for (unsigned int i = 0; i < NB_MBUFS; i++) {
		assert_int_equal(rte_mbuf_refcnt_read(all[i]), 1);
		rte_mbuf_refcnt_set(all[i], 7); /* of an mbuf that is there twice */
	}
	for (unsigned int i = 0; i < NB_MBUFS; i++)
		rte_mbuf_refcnt_set(all[i], 1);
	rte_mempool_put_bulk(pool, (void **)all, NB_MBUFS);
	fx_pool_caches_flush();
}

/* Stops the ports, which refer to the pool no longer, and frees it. */
static void
end(struct fixture *fx, struct rte_mempool *pool)
{
	fx_stop(fx);
	check_pool(pool);
	for (unsigned int side = 0; side < FX_NB_PORTS; side++)
		assert_int_equal(fx_configure(fx, fx->port[side], &four), 0);
	check_pool(pool);
	rte_mempool_free(pool);
	fx->ignore_counters = true;
}

static void
begin(struct fixture *fx, struct rte_mempool *pool)
{
	struct fx_config config = four;

	config.rx_pool = pool;
	fx_start(fx, &config);
}

/* ---- One thread ---------------------------------------------------------------- */

/* Frames of this pool, from port 0 to port 1, as long as none is lost. */
static unsigned int
pass(const struct fixture *fx, struct rte_mempool *pool, unsigned int nb)
{
	unsigned int nb_got = 0;

	for (unsigned int i = 0; i < nb; i++) {
		struct rte_mbuf *m = fx_frame(pool, 100, i);

		if (rte_eth_tx_burst(fx->port[0], 0, &m, 1) == 0)
			rte_pktmbuf_free(m);
	}
	for (uint16_t q = 0; q < four.nb_rxq; q++)
		nb_got += fx_receive_all(fx->port[1], q);
	return nb_got;
}

static void
pass_again(const struct fixture *fx, struct rte_mempool *pool)
{
	const uint64_t limit = fx_deadline();

	while (pass(fx, pool, NB_FRAMES) == 0)
		assert_true(rte_get_timer_cycles() < limit);
}

static void
await(const struct fixture *fx, const char *counter, uint64_t nb)
{
	const uint64_t limit = fx_deadline();

	for (unsigned int side = 0; side < FX_NB_PORTS; side++)
		while (fx_xstat(fx->port[side], counter) < nb)
			assert_true(rte_get_timer_cycles() < limit);
}

static int
table_set(uint16_t port, unsigned int shift)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };

	for (unsigned int i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = (i + shift) % four.nb_rxq;
	return rte_eth_dev_rss_reta_update(port, &reta, RTE_ETH_RETA_GROUP_SIZE);
}

/* The interrupt thread, and operations that start or stop nothing, use no mempool. */
FX_TEST(test_threads)
{
	struct rte_mempool *pool = pool_of_one_thread(fx_pool_ops);
	uint8_t key[40] = { 7 };
	struct rte_eth_rss_conf rss = { .rss_hf = FX_RSS, .rss_key = key,
					.rss_key_len = sizeof(key) };
	uint64_t limit;

	nb_wrong = 0;
	fx_expect_error("has failed (");
	begin(fx, pool);
	pass_again(fx, pool);
	for (unsigned int i = 1; i <= 10; i++) {
		/* packets that wait in both directions */
		(void)pass(fx, pool, NB_FRAMES);
		for (unsigned int k = 0; k < NB_FRAMES; k++) {
			struct rte_mbuf *m = fx_frame(pool, 100, k);

			fx_send(fx->port[0], 0, &m, 1);
		}
		nb_calls = 0;
		fx_command(RESET);
		await(fx, "recoveries", i);
		key[0]++;
		assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &rss), 0);
		assert_int_equal(table_set(fx->port[1], i), 0);
		assert_int_equal(rte_eth_dev_set_mtu(fx->port[1], fx_mtu(fx->port[1]) - i), 0);
		assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], 1), 0);
		assert_int_equal(nb_calls, 0);
		assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[1], 1), 0);
		pass_again(fx, pool);
	}
	/* a failed queue, which a thread without bursts awaits */
	limit = fx_deadline();
	fx_command("bogus port=2 rx what=type type=20");
	while (fx_xstat(fx->port[1], "rx_failed") == 0) {
		(void)pass(fx, pool, 1);
		assert_true(rte_get_timer_cycles() < limit);
	}
	nb_calls = 0;
	while (fx_xstat(fx->port[1], "queue_repairs") == 0)
		assert_true(rte_get_timer_cycles() < limit);
	assert_int_equal(nb_calls, 0);
	pass_again(fx, pool);
	fx_command("cqe port=1 tx type=42");
	while (fx_xstat(fx->port[0], "tx_failed") == 0) {
		(void)pass(fx, pool, 1);
		assert_true(rte_get_timer_cycles() < limit);
	}
	nb_calls = 0;
	while (fx_xstat(fx->port[0], "queue_repairs") == 0)
		assert_true(rte_get_timer_cycles() < limit);
	assert_int_equal(nb_calls, 0);
	pass_again(fx, pool);
	end(fx, pool);
	assert_int_equal(nb_wrong, 0);
}

/* Frees what was sent and received. Frames that a removal has lost never arrive. */
static void
settle(const struct fixture *fx, const struct rte_mempool *pool)
{
	unsigned int nb_quiet = 0, nb_free;

	while (nb_quiet < 20) {
		nb_free = rte_mempool_avail_count(pool);
		rte_delay_us_sleep(1000);
		(void)rte_eth_tx_done_cleanup(fx->port[0], 0, 0);
		for (uint16_t q = 0; q < four.nb_rxq; q++)
			(void)fx_receive_all(fx->port[1], q);
		nb_quiet = rte_mempool_avail_count(pool) == nb_free ? nb_quiet + 1 : 0;
	}
}

/* What a Tx queue had posted is freed while the port still recovers. */
FX_TEST(test_tx_while_away)
{
	struct rte_mempool *pool = pool_of_one_thread(fx_pool_ops);
	struct rte_mbuf *pkts[NB_FRAMES];
	uint64_t limit = fx_deadline();
	unsigned int nb_free;

	nb_wrong = 0;
	begin(fx, pool);
	for (unsigned int burst = 0; burst < 2; burst++) {
		pass_again(fx, pool);
		settle(fx, pool);
		nb_free = rte_mempool_avail_count(pool);
		fx_command("stall port=1 tx");
		for (unsigned int i = 0; i < NB_FRAMES; i++)
			pkts[i] = fx_frame(pool, 100, i);
		fx_send(fx->port[0], 0, pkts, NB_FRAMES);
		assert_int_equal(rte_mempool_avail_count(pool), nb_free - NB_FRAMES);
		fx_command("inject off");
		fx_command("remove fn=0");
		while (rte_mempool_avail_count(pool) != nb_free) {
			if (burst != 0)
				(void)rte_eth_tx_burst(fx->port[0], 0, NULL, 0);
			else
				(void)rte_eth_tx_done_cleanup(fx->port[0], 0, 0);
			if (rte_get_timer_cycles() >= limit)
				fail_msg("%u mbufs, %u before", rte_mempool_avail_count(pool), nb_free);
		}
		assert_int_equal(fx_xstat(fx->port[0], "recoveries"), burst);
		fx_command("return fn=0");
		await(fx, "recoveries", burst + 1);
	}
	pass_again(fx, pool);
	end(fx, pool);
	assert_int_equal(nb_wrong, 0);
}

/* A port that is stopped while it recovers returns all. */
FX_TEST(test_stop_while_away)
{
	struct rte_mempool *pool = pool_of_one_thread(fx_pool_ops);
	struct rte_mbuf *m;

	nb_wrong = 0;
	fx_expect_error("");
	begin(fx, pool);
	pass_again(fx, pool);
	for (unsigned int i = 0; i < NB_FRAMES; i++) {
		m = fx_frame(pool, 100, i);
		fx_send(fx->port[0], 0, &m, 1);
	}
	fx_command("remove fn=0");
	for (unsigned int side = 0; side < FX_NB_PORTS; side++)
		while (rte_eth_dev_set_mtu(fx->port[side], 1400) != -EBUSY)
			rte_delay_us_sleep(100);
	fx_stop(fx);
	check_pool(pool);
	fx_command("return fn=0");
	await(fx, "recoveries", 1);
	end(fx, pool);
	assert_int_equal(nb_wrong, 0);
}

/* No mbuf is lost, none is freed twice. */
static void
check_recoveries(struct fixture *fx, const char *ops)
{
	struct rte_mempool *pool = pool_of_one_thread(ops);

	begin(fx, pool);
	for (unsigned int i = 1; i <= NB_RECOVERIES; i++) {
		pass_again(fx, pool);
		fx_command(RESET);
		for (unsigned int side = 0; side < FX_NB_PORTS; side++)
			while (fx_xstat(fx->port[side], "recoveries") < i)
				(void)pass(fx, pool, NB_FRAMES);
	}
	end(fx, pool);
}

FX_TEST(test_recoveries)
{
	check_recoveries(fx, "ring_sp_sc");
}

FX_TEST(test_recoveries_with_caches)
{
	check_recoveries(fx, fx_pool_cache_ops);
}

/* ---- Two threads --------------------------------------------------------------- */

struct poller {
	const struct fixture *fx;
	struct rte_mempool *pool;
	uint64_t nb_got;
	bool is_over;
};

static void *
poll_all(void *arg)
{
	struct poller *poller = arg;

	owner_set(syscall(SYS_gettid));
	while (!__atomic_load_n(&poller->is_over, __ATOMIC_ACQUIRE))
		__atomic_add_fetch(&poller->nb_got, pass(poller->fx, poller->pool, 8),
				   __ATOMIC_RELEASE);
	return NULL;
}

static void
check_updates(struct fixture *fx, const char *ops)
{
	struct rte_mempool *pool = pool_of_one_thread(ops);
	struct poller poller = { .fx = fx, .pool = pool };
	pthread_t thread;
	uint64_t before;

	nb_wrong = 0;
	begin(fx, pool);
	owner_set(0);
	assert_int_equal(pthread_create(&thread, NULL, poll_all, &poller), 0);
	while (__atomic_load_n(&owner, __ATOMIC_ACQUIRE) == 0)
		rte_delay_us_sleep(100);
	for (unsigned int i = 0; i < NB_UPDATES; i++)
		assert_int_equal(table_set(fx->port[1], i % four.nb_rxq), 0);
	before = __atomic_load_n(&poller.nb_got, __ATOMIC_ACQUIRE);
	while (__atomic_load_n(&poller.nb_got, __ATOMIC_ACQUIRE) == before)
		rte_delay_us_sleep(100);
	__atomic_store_n(&poller.is_over, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0);
	owner_set(syscall(SYS_gettid));
	end(fx, pool);
	assert_int_equal(nb_wrong, 0);
}

FX_TEST(test_updates)
{
	check_updates(fx, fx_pool_ops);
}

FX_TEST(test_updates_sp_sc)
{
	check_updates(fx, "ring_sp_sc");
}

/* ---- Two threads, each with a queue and a pool ------------------------------------ */

struct side {
	const struct fixture *fx;
	struct rte_mempool *pool; /* that only this thread uses */
	uint16_t queue;
	uint64_t nb_got, nb_foreign;
	bool is_over;
	pthread_t thread;
};

static void *
use_own_pool(void *arg)
{
	struct side *side = arg;
	struct rte_mbuf *pkts[FX_BURST];
	uint32_t seed = 0;

	while (!__atomic_load_n(&side->is_over, __ATOMIC_ACQUIRE)) {
		struct rte_mbuf *m = fx_frame(side->pool, 100, seed++);
		uint16_t nb;

		if (m != NULL && rte_eth_tx_burst(side->fx->port[0], side->queue, &m, 1) == 0)
			rte_pktmbuf_free(m);
		nb = rte_eth_rx_burst(side->fx->port[1], side->queue, pkts, FX_BURST);
		for (uint16_t i = 0; i < nb; i++)
			side->nb_foreign += pkts[i]->pool != side->pool;
		rte_pktmbuf_free_bulk(pkts, nb);
		__atomic_add_fetch(&side->nb_got, nb, __ATOMIC_RELEASE);
	}
	fx_pool_caches_flush();
	return NULL;
}

/* Hardware queues change hands, and never the buffers of a pool. */
static void
check_two_pools(struct fixture *fx, const char *ops)
{
	static const uint16_t tables[][4] = {
		{ 0, 1, 0, 1 }, { 1, 0, 1, 0 }, { 0, 1, 1, 1 }, { 0, 0, 0, 1 },
	};
	const struct fx_config two = { .nb_rxq = 2, .nb_txq = 2, .nb_rxd = 64, .nb_txd = 64,
				       .rss_hf = FX_RSS };
	struct side sides[2];

	fx_pool_hook = NULL;
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_configure(fx, fx->port[i], &two), 0);
	for (uint16_t q = 0; q < RTE_DIM(sides); q++) {
		sides[q] = (struct side){ .fx = fx, .queue = q };
		sides[q].pool = rte_pktmbuf_pool_create_by_ops(
			q == 0 ? "first" : "second", NB_MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
			SOCKET_ID_ANY, ops);
		assert_non_null(sides[q].pool);
		fx_rx_setup(fx->port[1], q, 64, NULL, sides[q].pool);
	}
	fx_restart(fx);
	fx_pool_caches_flush();
	for (unsigned int q = 0; q < RTE_DIM(sides); q++)
		assert_int_equal(pthread_create(&sides[q].thread, NULL, use_own_pool, &sides[q]), 0);
	for (unsigned int i = 0; i < NB_UPDATES / fx_part(); i++) {
		struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };

		for (unsigned int k = 0; k < RTE_ETH_RETA_GROUP_SIZE; k++)
			reta.reta[k] = tables[i % RTE_DIM(tables)][k % 4];
		assert_int_equal(rte_eth_dev_rss_reta_update(fx->port[1], &reta,
							     RTE_ETH_RETA_GROUP_SIZE), 0);
	}
	for (unsigned int q = 0; q < RTE_DIM(sides); q++) {
		const uint64_t before = __atomic_load_n(&sides[q].nb_got, __ATOMIC_ACQUIRE);
		const uint64_t limit = fx_deadline();

		while (__atomic_load_n(&sides[q].nb_got, __ATOMIC_ACQUIRE) == before)
			assert_true(rte_get_timer_cycles() < limit);
	}
	for (unsigned int q = 0; q < RTE_DIM(sides); q++) {
		__atomic_store_n(&sides[q].is_over, true, __ATOMIC_RELEASE);
		assert_int_equal(pthread_join(sides[q].thread, NULL), 0);
		assert_int_equal(sides[q].nb_foreign, 0);
	}
	fx_stop(fx);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_configure(fx, fx->port[i], &two), 0);
	for (unsigned int q = 0; q < RTE_DIM(sides); q++) {
		check_pool(sides[q].pool);
		rte_mempool_free(sides[q].pool);
	}
	fx->ignore_counters = true;
}

FX_TEST(test_two_pools_sp_sc)
{
	check_two_pools(fx, "ring_sp_sc");
}

FX_TEST(test_two_pools_with_caches)
{
	check_two_pools(fx, fx_pool_cache_ops);
}

/* ---- A queue that does not start ----------------------------------------------- */

static pid_t control;

/* So that another thread may do the same meanwhile. */
static void
control_is_slow(bool is_get)
{
	if (!is_get && control == (pid_t)syscall(SYS_gettid))
		rte_delay_us_block(20);
}

static void *
poll_queues(void *arg)
{
	struct poller *poller = arg;

	while (!__atomic_load_n(&poller->is_over, __ATOMIC_ACQUIRE))
		for (uint16_t q = 0; q < four.nb_rxq; q++)
			(void)fx_receive_all(poller->fx->port[1], q);
	return NULL;
}

/* Its mbufs are returned once, though a thread polls it. */
FX_TEST(test_failed_start_while_polled)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create_by_ops(
		"too_small", 63, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, fx_pool_ops);
	struct poller poller = { .fx = fx };
	pthread_t thread;

	assert_non_null(pool);
	control = syscall(SYS_gettid);
	fx_pool_hook = control_is_slow;
	fx_start(fx, &four);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], 1), 0);
	fx_rx_setup(fx->port[1], 1, 64, NULL, pool);
	fx_expect_error("too few mbufs");
	assert_int_equal(pthread_create(&thread, NULL, poll_queues, &poller), 0);
	for (unsigned int i = 0; i < NB_STARTS; i++) {
		assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[1], 1), -ENOMEM);
		assert_int_equal(rte_mempool_avail_count(pool), 63);
	}
	__atomic_store_n(&poller.is_over, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0);
	fx_stop(fx);
	assert_int_equal(fx_configure(fx, fx->port[1], &four), 0);
	fx_pool_hook = NULL;
	rte_mempool_free(pool);
}

/* ---- A burst that begins late, at a stop ----------------------------------------- */

static struct late {
	uint16_t (*burst)(void *txq, struct rte_mbuf **pkts, uint16_t nb);
	void *txq;
	pthread_t thread;
	pid_t control, tid; /* of the stop, and of the burst */
	bool is_begun, is_inside, is_over, is_stop_over; /* atomic but for the first */
} late;

static void *
burst_late(void *arg __rte_unused)
{
	__atomic_store_n(&late.tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	(void)late.burst(late.txq, NULL, 0);
	__atomic_store_n(&late.is_over, true, __ATOMIC_RELEASE);
	return NULL;
}

/* The burst begins while the stop frees mbufs; if it frees some too, it does so at the end. */
static void
burst_while_stopped(bool is_get)
{
	const pid_t tid = syscall(SYS_gettid);

	if (is_get)
		return;
	if (tid == __atomic_load_n(&late.tid, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&late.is_inside, true, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&late.is_stop_over, __ATOMIC_ACQUIRE))
			rte_delay_us_sleep(100);
	} else if (tid == late.control && !late.is_begun) {
		late.is_begun = true;
		assert_int_equal(pthread_create(&late.thread, NULL, burst_late, NULL), 0);
		while (!__atomic_load_n(&late.is_inside, __ATOMIC_ACQUIRE) &&
		       !__atomic_load_n(&late.is_over, __ATOMIC_ACQUIRE))
			rte_delay_us_sleep(100);
	}
}

/* A thread that has read the burst function before a stop calls it in the middle of the stop. */
FX_TEST(test_late_burst_at_stop)
{
	const struct fx_config config = { .nb_txq = 3 };
	struct rte_mempool *pool = rte_pktmbuf_pool_create_by_ops(
		"late", NB_MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, fx_pool_ops);

	assert_non_null(pool);
	fx_expect_error("");
	fx_start(fx, &config);
	fx_pass_one(fx);
	fx_command("stall port=1 tx");
	for (uint16_t i = 0; i < 3 * NB_FRAMES; i++) {
		struct rte_mbuf *m = fx_frame(pool, 100, i);

		fx_send(fx->port[0], i % 3, &m, 1);
	}
	fx_command("inject off");
	fx_command("remove fn=0");
	/* Until bursts free the mbufs of the paused queues, here all of queue 0. */
	while (rte_mempool_avail_count(pool) != NB_MBUFS - 2 * NB_FRAMES) {
		(void)rte_eth_tx_burst(fx->port[0], 0, NULL, 0);
		rte_delay_us_sleep(100);
	}
	late = (struct late){
		.burst = rte_eth_fp_ops[fx->port[0]].tx_pkt_burst,
		.txq = rte_eth_fp_ops[fx->port[0]].txq.data[2],
		.control = syscall(SYS_gettid),
	};
	fx_pool_hook = burst_while_stopped;
	fx_stop(fx);
	__atomic_store_n(&late.is_stop_over, true, __ATOMIC_RELEASE);
	assert_true(late.is_begun);
	assert_int_equal(pthread_join(late.thread, NULL), 0);
	assert_false(late.is_inside);
	fx_pool_hook = NULL;
	check_pool(pool);
	rte_mempool_free(pool);
	fx->ignore_counters = true;
	fx_command("return fn=0");
	await(fx, "recoveries", 1);
}

/* The application's choice of operations is for its own pools. */
FX_TEST(test_pool_of_copies)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	assert_int_equal(rte_mbuf_set_user_mempool_ops("ring_sp_sc"), 0);
	for (unsigned int side = 0; side < FX_NB_PORTS; side++) {
		assert_int_equal(fx_configure(fx, fx->port[side], &four), 0);
		snprintf(name, sizeof(name), "mana_copy_%u", fx->port[side]);
		pool = rte_mempool_lookup(name);
		assert_non_null(pool);
		assert_string_equal(rte_mempool_get_ops(pool->ops_index)->name,
				    RTE_MBUF_DEFAULT_MEMPOOL_OPS);
	}
	assert_int_equal(rte_memzone_free(rte_memzone_lookup("mbuf_user_pool_ops")), 0);
}
