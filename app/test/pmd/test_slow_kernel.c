/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A kernel that waits for the adapter while it registers or deregisters memory. Only the
 * caller waits: bursts, statistics, link status and telemetry do not.
 *
 * This program has its own functions of libibverbs that register and deregister, which wait
 * at a gate (verbs_gate.c).
 */

#include <pthread.h>
#include <stdatomic.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_malloc.h>

#include "../verbs_gate.h"
#include "fixture.h"

#define NB_MBUFS 63
#define NB_BURSTS 100
#define NB_XSTATS 1024
#define FRAME 100
#define WRONG_MS 100 /* time for what the driver must not do */
#define MAPPED_BYTES 4096

/* ---- Work beside ------------------------------------------------------------ */

static struct rte_mempool *
pool_create(const char *name)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(name, NB_MBUFS, 0, 0,
							   RTE_MBUF_DEFAULT_BUF_SIZE,
							   SOCKET_ID_ANY);

	assert_non_null(pool);
	return pool;
}

struct pool_free {
	struct rte_mempool *pool;
	atomic_bool is_over;
};

static void *
free_pool(void *arg)
{
	struct pool_free *work = arg;

	rte_mempool_free(work->pool);
	atomic_store(&work->is_over, true);
	return NULL;
}

/* A burst of one packet on a Tx queue of port 0. */
struct send {
	uint16_t port, queue;
	struct rte_mbuf *m;
	uint16_t nb;
};

static void *
send_one(void *arg)
{
	struct send *send = arg;

	send->nb = rte_eth_tx_burst(send->port, send->queue, &send->m, 1);
	return NULL;
}

static void
check_reports(struct fixture *fx)
{
	static struct rte_eth_xstat xstats[NB_XSTATS];

	for (unsigned int p = 0; p < FX_NB_PORTS; p++) {
		assert_true(fx_stats(fx->port[p]).opackets > 0);
		assert_true(rte_eth_xstats_get(fx->port[p], xstats, NB_XSTATS) > 0);
		assert_int_equal(fx_link(fx->port[p]).link_status, RTE_ETH_LINK_UP);
		/* also /mana/mr */
		assert_true(fx_telemetry_ask_all(fx->port[p]));
	}
}

/* Receives and frees nb packets of port 1. */
static void
receive(struct fixture *fx, unsigned int nb)
{
	fx_expect_some(fx->port[1], 0, nb);
}

/* A pool that port 0 has sent from is freed; its deregistration waits at the gate. */
static pthread_t
free_begin(struct fixture *fx, struct pool_free *work)
{
	struct rte_mbuf *m = fx_frame(work->pool, FRAME, 0);
	pthread_t thread;

	fx_send(fx->port[0], 0, &m, 1);
	fx_drain(fx);
	assert_true(rte_eth_tx_done_cleanup(fx->port[0], 0, 0) >= 0);
	gate_shut(&dereg_gate);
	assert_int_equal(pthread_create(&thread, NULL, free_pool, work), 0);
	assert_true(gate_await(&dereg_gate, 1));
	gate_unlock(&dereg_gate);
	return thread;
}

/* The thread at the gate is not late: it goes on, and the test waits for its end. */
static void
end_at(struct gate *gate, pthread_t thread)
{
	assert_false(atomic_load(&gate->is_late));
	gate_open(gate, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- Tests ------------------------------------------------------------------ */

/* The end of a pool waits for the kernel, and nothing else does. */
FX_TEST(test_pool_is_freed)
{
	const struct fx_config config = { .nb_txq = 2 };
	struct pool_free work = { .pool = pool_create("freed") };
	unsigned int nb_registered;
	struct rte_mbuf *m;
	pthread_t thread;

	fx_start(fx, &config);
	fx_pass_one(fx);
	m = fx_frame(work.pool, FRAME, 0);
	fx_send(fx->port[0], 0, &m, 1);
	receive(fx, 1);
	nb_registered = fx_nb_mrs();
	assert_true(rte_eth_tx_done_cleanup(fx->port[0], 0, 0) >= 0);
	gate_shut(&dereg_gate);
	assert_int_equal(pthread_create(&thread, NULL, free_pool, &work), 0);
	assert_true(gate_await(&dereg_gate, 1));
	for (unsigned int i = 0; i < NB_BURSTS; i++)
		fx_pass_one(fx);
	m = fx_frame(fx->pool, FRAME, 0);
	fx_send(fx->port[0], 1, &m, 1);
	receive(fx, 1);
	check_reports(fx);
	assert_false(atomic_load(&work.is_over));
	end_at(&dereg_gate, thread);
	assert_true(atomic_load(&work.is_over));
	assert_true(fx_nb_mrs() < nb_registered);
	fx_pass_one(fx);
}

/* The first packet of a pool waits for the kernel, but no burst of another queue. */
FX_TEST(test_pool_is_registered)
{
	const struct fx_config config = { .nb_txq = 2 };
	struct rte_mempool *pool = pool_create("late");
	struct send send = { .m = fx_frame(pool, FRAME, 0) };
	pthread_t thread;

	fx_start(fx, &config);
	fx_pass_one(fx);
	send.port = fx->port[0];
	send.queue = 1;
	gate_shut(&reg_gate);
	assert_int_equal(pthread_create(&thread, NULL, send_one, &send), 0);
	assert_true(gate_await(&reg_gate, 1));
	for (unsigned int i = 0; i < NB_BURSTS; i++)
		fx_pass_one(fx);
	check_reports(fx);
	end_at(&reg_gate, thread);
	assert_int_equal(send.nb, 1);
	receive(fx, 1);
	assert_true(rte_eth_tx_done_cleanup(fx->port[0], 1, 0) >= 0);
	rte_mempool_free(pool);
}

/* The end of a pool that no port has registered does not wait for the kernel. */
FX_TEST(test_other_pool_is_freed)
{
	const struct fx_config config = { 0 };
	struct rte_mempool *pool = pool_create("late"), *others[2];
	struct pool_free work = { .pool = pool_create("freed") };
	struct send send = { .m = fx_frame(pool, FRAME, 0) };
	pthread_t thread;

	for (unsigned int i = 0; i < RTE_DIM(others); i++)
		others[i] = pool_create(i == 0 ? "other0" : "other1");
	fx_start(fx, &config);
	fx_pass_one(fx);
	thread = free_begin(fx, &work);
	rte_mempool_free(others[0]);
	end_at(&dereg_gate, thread);
	send.port = fx->port[0];
	gate_shut(&reg_gate);
	assert_int_equal(pthread_create(&thread, NULL, send_one, &send), 0);
	assert_true(gate_await(&reg_gate, 1));
	rte_mempool_free(others[1]);
	end_at(&reg_gate, thread);
	assert_int_equal(send.nb, 1);
	fx_drain(fx);
	assert_true(rte_eth_tx_done_cleanup(fx->port[0], 0, 0) >= 0);
	rte_mempool_free(pool);
}

/* Of two bursts that miss the same memory one registers it. The other ends, and does not wait. */
FX_TEST(test_two_register)
{
	const struct fx_config config = { .nb_txq = 2 };
	struct rte_mempool *pool = pool_create("twice");
	struct send send = { .m = fx_frame(pool, FRAME, 0) };
	struct rte_mbuf *m = fx_frame(pool, FRAME, 1);
	unsigned int before;
	pthread_t thread;

	fx_start(fx, &config);
	fx_pass_one(fx);
	before = fx_nb_mrs();
	send.port = fx->port[0];
	gate_shut(&reg_gate);
	assert_int_equal(pthread_create(&thread, NULL, send_one, &send), 0);
	assert_true(gate_await(&reg_gate, 1));
	assert_int_equal(rte_eth_tx_burst(fx->port[0], 1, &m, 1), 0);
	end_at(&reg_gate, thread);
	assert_int_equal(send.nb, 1);
	fx_send(fx->port[0], 1, &m, 1);
	assert_int_equal(fx_nb_mrs(), before + 1);
	receive(fx, 2);
	for (uint16_t q = 0; q < 2; q++)
		assert_true(rte_eth_tx_done_cleanup(fx->port[0], q, 0) >= 0);
	rte_mempool_free(pool);
	assert_int_equal(fx_nb_mrs(), before);
}

static void *
close_port(void *arg)
{
	const uint16_t *port = arg;

	if (rte_eth_dev_stop(*port) != 0)
		return NULL;
	return rte_eth_dev_close(*port) == 0 ? arg : NULL;
}

/* A RETA update on either port does not wait for the end of a pool. */
FX_TEST(test_table_changes_meanwhile)
{
	const struct fx_config config = { .nb_rxq = 2, .rss_hf = FX_RSS };
	struct pool_free work = { .pool = pool_create("freed") };
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	pthread_t freeing;

	fx_start(fx, &config);
	freeing = free_begin(fx, &work);
	for (unsigned int i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = i & 1;
	for (unsigned int p = 0; p < FX_NB_PORTS; p++) {
		assert_int_equal(rte_eth_dev_rss_reta_update(fx->port[p], &reta,
							     RTE_ETH_RETA_GROUP_SIZE), 0);
		for (unsigned int i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
			reta.reta[i] = 1 - (i & 1);
		assert_int_equal(rte_eth_dev_rss_reta_update(fx->port[p], &reta,
							     RTE_ETH_RETA_GROUP_SIZE), 0);
	}
	assert_int_equal(atomic_load(&nb_inside), 1);
	end_at(&dereg_gate, freeing);
}

/* A port closes while another thread frees a pool: the close waits for that thread. */
FX_TEST(test_closed_meanwhile)
{
	const struct fx_config config = { 0 };
	struct pool_free work = { .pool = pool_create("freed") };
	pthread_t freeing, closing;
	void *closed;

	fx_start(fx, &config);
	fx_pass_one(fx);
	freeing = free_begin(fx, &work);
	fx->ignore_counters = true;
	fx->is_started[0] = false;
	assert_int_equal(pthread_create(&closing, NULL, close_port, &fx->port[0]), 0);
	rte_delay_ms(WRONG_MS);
	gate_open(&dereg_gate, 1);
	assert_int_equal(pthread_join(freeing, NULL), 0);
	assert_int_equal(pthread_join(closing, &closed), 0);
	assert_non_null(closed);
	assert_int_equal(atomic_load(&nb_pds_early), 0);
	assert_false(atomic_load(&dereg_gate.is_late));
}

/* A port is lost and recovers while another thread frees a pool. */
FX_TEST(test_lost_meanwhile)
{
	static const enum rte_eth_event_type event = RTE_ETH_EVENT_RECOVERY_SUCCESS;
	const struct fx_config config = { 0 };
	struct pool_free work = { .pool = pool_create("freed") };
	pthread_t freeing;

	fx_listen(fx, &event, 1);
	fx_start(fx, &config);
	fx_pass_one(fx);
	freeing = free_begin(fx, &work);
	fx_command("remove fn=0");
	rte_delay_ms(WRONG_MS);
	gate_open(&dereg_gate, 1);
	fx_command("return fn=0");
	fx_wait_event(fx, event, 1);
	assert_int_equal(pthread_join(freeing, NULL), 0);
	assert_int_equal(atomic_load(&nb_pds_early), 0);
	fx_pass_one(fx);
	fx_unlisten(fx, &event, 1);
}

struct map {
	const struct rte_device *device;
	void *memory;
	int ret;
};

static void *
map_memory(void *arg)
{
	struct map *map = arg;

	map->ret = rte_dev_dma_map((struct rte_device *)(uintptr_t)map->device, map->memory, 0,
				   MAPPED_BYTES);
	return NULL;
}

/* A port is lost and recovers while another thread maps memory. */
FX_TEST(test_lost_while_mapped)
{
	static const enum rte_eth_event_type event = RTE_ETH_EVENT_RECOVERY_SUCCESS;
	const struct fx_config config = { 0 };
	struct map map = { .ret = 1 };
	pthread_t mapping;

	fx_listen(fx, &event, 1);
	fx_start(fx, &config);
	fx_pass_one(fx);
	map.device = fx_info(fx->port[0]).device;
	map.memory = rte_malloc(NULL, MAPPED_BYTES, MAPPED_BYTES);
	assert_non_null(map.memory);
	gate_shut(&reg_gate);
	assert_int_equal(pthread_create(&mapping, NULL, map_memory, &map), 0);
	assert_true(gate_await(&reg_gate, 1));
	gate_unlock(&reg_gate);
	fx_command("remove fn=0");
	rte_delay_ms(WRONG_MS);
	fx_expect_error("cannot register");
	gate_open(&reg_gate, 1);
	assert_int_equal(pthread_join(mapping, NULL), 0);
	fx_command("return fn=0");
	fx_wait_event(fx, event, 1);
	assert_int_equal(atomic_load(&nb_pds_early), 0);
	/* The lost device has refused it, at one port at least; now both have it. */
	(void)rte_dev_dma_unmap((struct rte_device *)(uintptr_t)map.device, map.memory, 0,
				MAPPED_BYTES);
	(void)map_memory(&map);
	assert_int_equal(map.ret, 0);
	assert_int_equal(rte_dev_dma_unmap((struct rte_device *)(uintptr_t)map.device,
					   map.memory, 0, MAPPED_BYTES), 0);
	rte_free(map.memory);
	fx_pass_one(fx);
	fx_unlisten(fx, &event, 1);
}

int
main(void)
{
	fx_has_telemetry = true;
	return FX_RUN("slow-kernel");
}
