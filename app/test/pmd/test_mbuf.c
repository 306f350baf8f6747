/* SPDX-License-Identifier: BSD-3-Clause */

/* Mbufs of every kind: chains, clones, external buffers, pools that come and go. */

#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const struct bench_config plain;
static const struct bench_config multi = {
	.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
};

/* Bytes leave as a chain of such segments and arrive as they were. */
static void
send_chain(struct bench *bench, uint32_t len_bytes, uint32_t seg_bytes)
{
	uint8_t bytes[1514];
	struct rte_mbuf *m;

	bench_frame_bytes(bytes, len_bytes, seg_bytes);
	m = bench_chain(bench->pool, bytes, len_bytes, seg_bytes);
	bench_send(bench->port[0], 0, &m, 1);
	assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
	bench_check_bytes(m, bytes, len_bytes);
	rte_pktmbuf_free(m);
}

static void
test_chains(void **state)
{
	/* 1 to 30 segments fit a WQE; 31 and more are made into fewer */
	static const uint16_t nb_segs[] = { 1, 2, 3, 4, 5, 7, 15, 16, 28, 29, 30, 31, 32,
					    33, 64, 100, 255 };
	struct bench *bench = *state;

	bench_start(bench, &multi);
	for (unsigned int i = 0; i < RTE_DIM(nb_segs); i++)
		for (uint32_t seg_bytes = 2; seg_bytes < 60; seg_bytes += 19)
			if (nb_segs[i] * seg_bytes >= 42 && nb_segs[i] * seg_bytes <= 1514)
				send_chain(bench, nb_segs[i] * seg_bytes, seg_bytes);
	/* the header itself in pieces of one byte */
	send_chain(bench, 42, 1);
}

/* WQEs of many sizes in a row: every one wraps somewhere else. */
static void
test_chains_over_many_laps(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = multi;

	config.nb_txd = 64;
	bench_start(bench, &config);
	for (unsigned int i = 0; i < 3000; i++)
		send_chain(bench, 60 + i % 900, 30 + i % 97);
}

/* An empty segment amid a chain carries nothing and harms nothing. */
static void
test_empty_segment(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *m, *empty;
	uint8_t bytes[200];

	bench_start(bench, &multi);
	bench_frame_bytes(bytes, sizeof(bytes), 3);
	m = bench_chain(bench->pool, bytes, sizeof(bytes), 100);
	empty = rte_pktmbuf_alloc(bench->pool);
	empty->next = m->next;
	m->next = empty;
	m->nb_segs++;
	bench_send(bench->port[0], 0, &m, 1);
	assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
	bench_check_bytes(m, bytes, sizeof(bytes));
	rte_pktmbuf_free(m);
}

static void
test_clones(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *m, *clones[4], *got[4];
	uint8_t bytes[300];

	bench_start(bench, &multi);
	bench_frame_bytes(bytes, sizeof(bytes), 8);
	m = bench_chain(bench->pool, bytes, sizeof(bytes), 120);
	for (unsigned int i = 0; i < RTE_DIM(clones); i++)
		clones[i] = rte_pktmbuf_clone(m, bench->pool);
	bench_send(bench->port[0], 0, clones, RTE_DIM(clones));
	assert_int_equal(bench_receive(bench->port[1], 0, got, RTE_DIM(got)), RTE_DIM(got));
	for (unsigned int i = 0; i < RTE_DIM(got); i++)
		bench_check_bytes(got[i], bytes, sizeof(bytes));
	rte_pktmbuf_free_bulk(got, RTE_DIM(got));
	bench_check_bytes(m, bytes, sizeof(bytes));
	rte_pktmbuf_free(m);
}

#define EXTERNAL_BYTES (1u << 20)

static unsigned int nb_external_freed;

static void
external_free(void *addr __rte_unused, void *opaque __rte_unused)
{
	nb_external_freed++;
}

static struct rte_mbuf *
external_mbuf(struct bench *bench, uint8_t *memory, struct rte_mbuf_ext_shared_info *shinfo)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(bench->pool);

	shinfo->free_cb = external_free;
	shinfo->fcb_opaque = NULL;
	rte_mbuf_ext_refcnt_set(shinfo, 1);
	/* the device is given virtual addresses: nobody may look at this one */
	rte_pktmbuf_attach_extbuf(m, memory, RTE_BAD_IOVA, 4096, shinfo);
	m->data_off = 0;
	return m;
}

/* Memory of malloc(), which DPDK has never heard of. */
static void
test_external_buffers(void **state)
{
	struct bench *bench = *state;
	uint8_t *memory = malloc(EXTERNAL_BYTES);
	struct rte_mbuf_ext_shared_info shinfo[64];

	assert_non_null(memory);
	bench_start(bench, &plain);
	nb_external_freed = 0;
	for (unsigned int i = 0; i < RTE_DIM(shinfo); i++) {
		struct rte_mbuf *m = external_mbuf(bench, memory + i * 16384, &shinfo[i]);
		uint8_t bytes[1000];

		bench_frame_bytes(bytes, sizeof(bytes), i);
		memcpy(rte_pktmbuf_append(m, sizeof(bytes)), bytes, sizeof(bytes));
		bench_send(bench->port[0], 0, &m, 1);
		assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
		bench_check_bytes(m, bytes, sizeof(bytes));
		rte_pktmbuf_free(m);
	}
	bench_drain(bench);
	bench_stop(bench);
	assert_int_equal(nb_external_freed, RTE_DIM(shinfo));
	free(memory);
	bench->is_started[0] = bench->is_started[1] = false;
}

/* What the pool's memory lends to others: pinned external buffers. */
static void
test_pinned_external_pool(void **state)
{
	struct bench *bench = *state;
	struct rte_pktmbuf_extmem extmem = { .buf_len = 4u << 20, .elt_size = 2176 };
	struct rte_mempool *pool;
	struct rte_mbuf *m;
	uint8_t bytes[500];

	/* page-aligned memory of our own */
	extmem.buf_ptr = aligned_alloc(1u << 21, extmem.buf_len);
	assert_non_null(extmem.buf_ptr);
	extmem.buf_iova = (rte_iova_t)(uintptr_t)extmem.buf_ptr;
	pool = rte_pktmbuf_pool_create_extbuf("pinned", 511, 0, 0, 2176, SOCKET_ID_ANY,
					      &extmem, 1);
	assert_non_null(pool);
	bench_start(bench, &plain);
	for (unsigned int i = 0; i < 1000; i++) {
		m = bench_frame(pool, sizeof(bytes), i);
		bench_send(bench->port[0], 0, &m, 1);
		assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
		bench_frame_bytes(bytes, sizeof(bytes), i);
		bench_check_bytes(m, bytes, sizeof(bytes));
		rte_pktmbuf_free(m);
	}
	bench_drain(bench);
	bench_stop(bench);
	assert_int_equal(rte_mempool_avail_count(pool), 511);
	rte_mempool_free(pool);
	free(extmem.buf_ptr);
}

/* Pools that came after the start, and more of them than queues. */
static void
test_several_pools(void **state)
{
	struct bench *bench = *state;
	struct rte_mempool *pools[5];

	bench_start(bench, &plain);
	for (unsigned int i = 0; i < RTE_DIM(pools); i++)
		pools[i] = bench_pool(bench, 127, RTE_MBUF_DEFAULT_BUF_SIZE);
	for (unsigned int i = 0; i < 1000; i++) {
		struct rte_mbuf *m = bench_frame(pools[i % RTE_DIM(pools)], 64, i);

		bench_send(bench->port[0], 0, &m, 1);
		assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
		rte_pktmbuf_free(m);
	}
}

/* A freed pool is deregistered, with the port started or stopped. */
static void
test_pool_freed(void **state)
{
	struct bench *bench = *state;
	struct bench_holdings running;
	struct rte_mempool *pool;

	bench_start(bench, &plain);
	bench_pass_one(bench);
	bench_hold(&running);
	for (unsigned int round = 0; round < 10; round++) {
		struct rte_mbuf *m;

		pool = bench_pool(bench, 63, RTE_MBUF_DEFAULT_BUF_SIZE);
		m = bench_frame(pool, 64, round);
		bench_send(bench->port[0], 0, &m, 1);
		assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
		rte_pktmbuf_free(m);
		/* its mbuf comes back with the completion, at the next burst */
		bench_pass_one(bench);
		rte_eth_tx_done_cleanup(bench->port[0], 0, 0);
		bench_pool_free(bench, pool);
		bench_check_held(&running, "after the pool was freed");
	}
}

/* The Rx pool itself, freed while stopped; the next start has another one. */
static void
test_rx_pool_freed_while_stopped(void **state)
{
	struct bench *bench = *state;

	for (unsigned int round = 0; round < 5; round++) {
		struct bench_config config = { 0 };

		config.rx_pool = bench_pool(bench, 1023, RTE_MBUF_DEFAULT_BUF_SIZE);
		bench_start(bench, &config);
		bench_pass_one(bench);
		bench_stop(bench);
		bench_pool_free(bench, config.rx_pool);
	}
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_chains),
		BENCH_TEST(test_chains_over_many_laps),
		BENCH_TEST(test_empty_segment),
		BENCH_TEST(test_clones),
		BENCH_TEST(test_external_buffers),
		BENCH_TEST(test_pinned_external_pool),
		BENCH_TEST(test_several_pools),
		BENCH_TEST(test_pool_freed),
		BENCH_TEST(test_rx_pool_freed_while_stopped),
	};

	return BENCH_RUN("mbuf", tests);
}
