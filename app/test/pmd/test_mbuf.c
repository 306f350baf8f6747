/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Mbufs of all kinds: chains, clones, external buffers, and pools created and
 * freed at run time.
 */

#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static const struct fx_config defaults;
static const struct fx_config multi = {
	.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
};

/* Sends bytes as a chain of such segments and compares what arrives. */
static void
send_chain(struct fixture *fx, uint32_t len_bytes, uint32_t seg_bytes)
{
	uint8_t bytes[1514];
	struct rte_mbuf *m;

	fx_frame_bytes(bytes, len_bytes, seg_bytes);
	m = fx_chain(fx->pool, bytes, len_bytes, seg_bytes);
	fx_send(fx->port[0], 0, &m, 1);
	fx_expect_bytes(fx->port[1], 0, bytes, len_bytes);
}

FX_TEST(test_chains)
{
	/* 1 to 30 segments fit a WQE; more are copied into fewer */
	static const uint16_t nb_segs[] = { 1, 2, 3, 4, 5, 7, 15, 16, 28, 29, 30, 31, 32,
					    33, 64, 100, 255 };

	fx_start(fx, &multi);
	for (unsigned int i = 0; i < RTE_DIM(nb_segs); i++)
		for (uint32_t seg_bytes = 2; seg_bytes < 60; seg_bytes += 19)
			if (nb_segs[i] * seg_bytes >= 42 && nb_segs[i] * seg_bytes <= 1514)
				send_chain(fx, nb_segs[i] * seg_bytes, seg_bytes);
	/* also the header in segments of one byte */
	send_chain(fx, 42, 1);
}

/* WQEs of many sizes in a row: each wraps elsewhere. */
FX_TEST(test_chains_over_many_laps)
{
	struct fx_config config = multi;

	config.nb_txd = 64;
	fx_start(fx, &config);
	for (unsigned int i = 0; i < 3000; i++)
		send_chain(fx, 60 + i % 900, 30 + i % 97);
}

/* An empty segment in a chain is accepted. */
FX_TEST(test_empty_segment)
{
	struct rte_mbuf *m, *empty;
	uint8_t bytes[200];

	fx_start(fx, &multi);
	fx_frame_bytes(bytes, sizeof(bytes), 3);
	m = fx_chain(fx->pool, bytes, sizeof(bytes), 100);
	empty = rte_pktmbuf_alloc(fx->pool);
	empty->next = m->next;
	m->next = empty;
	m->nb_segs++;
	fx_send(fx->port[0], 0, &m, 1);
	fx_expect_bytes(fx->port[1], 0, bytes, sizeof(bytes));
}

FX_TEST(test_clones)
{
	struct rte_mbuf *m, *clones[4], *got[4];
	uint8_t bytes[300];

	fx_start(fx, &multi);
	fx_frame_bytes(bytes, sizeof(bytes), 8);
	m = fx_chain(fx->pool, bytes, sizeof(bytes), 120);
	for (unsigned int i = 0; i < RTE_DIM(clones); i++)
		clones[i] = rte_pktmbuf_clone(m, fx->pool);
	fx_send(fx->port[0], 0, clones, RTE_DIM(clones));
	assert_int_equal(fx_receive(fx->port[1], 0, got, RTE_DIM(got)), RTE_DIM(got));
	for (unsigned int i = 0; i < RTE_DIM(got); i++)
		fx_check_bytes(got[i], bytes, sizeof(bytes));
	rte_pktmbuf_free_bulk(got, RTE_DIM(got));
	fx_check_bytes(m, bytes, sizeof(bytes));
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
external_mbuf(struct fixture *fx, uint8_t *memory, struct rte_mbuf_ext_shared_info *shinfo)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(fx->pool);

	shinfo->free_cb = external_free;
	shinfo->fcb_opaque = NULL;
	rte_mbuf_ext_refcnt_set(shinfo, 1);
	/* the device uses virtual addresses: the IOVA must not be used */
	rte_pktmbuf_attach_extbuf(m, memory, RTE_BAD_IOVA, 4096, shinfo);
	m->data_off = 0;
	return m;
}

/* Memory of malloc(), unknown to DPDK. */
FX_TEST(test_external_buffers)
{
	uint8_t *memory = malloc(EXTERNAL_BYTES);
	struct rte_mbuf_ext_shared_info shinfo[64];

	assert_non_null(memory);
	fx_start(fx, &defaults);
	nb_external_freed = 0;
	for (unsigned int i = 0; i < RTE_DIM(shinfo); i++) {
		struct rte_mbuf *m = external_mbuf(fx, memory + i * 16384, &shinfo[i]);
		uint8_t bytes[1000];

		fx_frame_bytes(bytes, sizeof(bytes), i);
		memcpy(rte_pktmbuf_append(m, sizeof(bytes)), bytes, sizeof(bytes));
		fx_send(fx->port[0], 0, &m, 1);
		fx_expect_bytes(fx->port[1], 0, bytes, sizeof(bytes));
	}
	fx_drain(fx);
	fx_stop(fx);
	assert_int_equal(nb_external_freed, RTE_DIM(shinfo));
	free(memory);
	fx->is_started[0] = fx->is_started[1] = false;
}

/* A pool with pinned external buffers. */
FX_TEST(test_pinned_external_pool)
{
	struct rte_pktmbuf_extmem extmem = { .buf_len = 4u << 20, .elt_size = 2176 };
	struct rte_mempool *pool;
	struct rte_mbuf *m;
	uint8_t bytes[500];

	/* page-aligned memory of the test */
	extmem.buf_ptr = aligned_alloc(1u << 21, extmem.buf_len);
	assert_non_null(extmem.buf_ptr);
	extmem.buf_iova = (rte_iova_t)(uintptr_t)extmem.buf_ptr;
	pool = rte_pktmbuf_pool_create_extbuf("pinned", 511, 0, 0, 2176, SOCKET_ID_ANY,
					      &extmem, 1);
	assert_non_null(pool);
	fx_start(fx, &defaults);
	for (unsigned int i = 0; i < 1000; i++) {
		m = fx_frame(pool, sizeof(bytes), i);
		fx_send(fx->port[0], 0, &m, 1);
		fx_frame_bytes(bytes, sizeof(bytes), i);
		fx_expect_bytes(fx->port[1], 0, bytes, sizeof(bytes));
	}
	fx_drain(fx);
	fx_stop(fx);
	assert_int_equal(rte_mempool_avail_count(pool), 511);
	rte_mempool_free(pool);
	free(extmem.buf_ptr);
}

/* Pools created after the start, more than queues. */
FX_TEST(test_several_pools)
{
	struct rte_mempool *pools[5];

	fx_start(fx, &defaults);
	for (unsigned int i = 0; i < RTE_DIM(pools); i++)
		pools[i] = fx_pool(fx, 127, RTE_MBUF_DEFAULT_BUF_SIZE);
	for (unsigned int i = 0; i < 1000; i++) {
		struct rte_mbuf *m = fx_frame(pools[i % RTE_DIM(pools)], 64, i);

		fx_send(fx->port[0], 0, &m, 1);
		rte_pktmbuf_free(fx_receive_one(fx->port[1], 0));
	}
}

/* A freed pool is deregistered, on a started or stopped port. */
FX_TEST(test_pool_freed)
{
	struct fx_holdings running;
	struct rte_mempool *pool;

	fx_start(fx, &defaults);
	fx_pass_one(fx);
	fx_holdings_get(&running);
	for (unsigned int round = 0; round < 10; round++) {
		struct rte_mbuf *m;

		pool = fx_pool(fx, 63, RTE_MBUF_DEFAULT_BUF_SIZE);
		m = fx_frame(pool, 64, round);
		fx_send(fx->port[0], 0, &m, 1);
		rte_pktmbuf_free(fx_receive_one(fx->port[1], 0));
		/* its mbuf returns with the completion, at the next burst */
		fx_pass_one(fx);
		rte_eth_tx_done_cleanup(fx->port[0], 0, 0);
		fx_pool_free(fx, pool);
		fx_check_holdings(&running, "after the pool was freed");
	}
}

/* The Rx pool is freed on a stopped port; the next start has another. */
FX_TEST(test_rx_pool_freed_while_stopped)
{
	for (unsigned int round = 0; round < 5; round++) {
		struct fx_config config = { 0 };

		config.rx_pool = fx_pool(fx, 1023, RTE_MBUF_DEFAULT_BUF_SIZE);
		fx_start(fx, &config);
		fx_pass_one(fx);
		fx_stop(fx);
		fx_pool_free(fx, config.rx_pool);
	}
	fx_start(fx, &defaults);
	fx_pass_one(fx);
}

/* MBUF_FAST_FREE: mbufs of one pool and one reference all return. */
FX_TEST(test_fast_free)
{
	struct fx_config config = { .tx_offloads = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE };
	struct rte_eth_dev_info info;
	unsigned int in_use;

	assert_int_equal(rte_eth_dev_info_get(fx->port[0], &info), 0);
	assert_true(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
	assert_true(info.tx_queue_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
	fx_start(fx, &config);
	in_use = rte_mempool_in_use_count(fx->pool);
	for (unsigned int turn = 0; turn < 50; turn++) {
		fx_send_burst(fx, 0, 100, FX_BURST);
		fx_expect_some(fx->port[1], 0, FX_BURST);
	}
	fx_settle(fx);
	rte_eth_tx_done_cleanup(fx->port[0], 0, 0);
	/* an Rx ring may lack up to a burst */
	assert_uint_in_range(rte_mempool_in_use_count(fx->pool), in_use - FX_BURST,
			in_use);
}
