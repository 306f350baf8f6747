/* SPDX-License-Identifier: BSD-3-Clause */

/* Dumps: descriptors in words, and what the driver knows of a port. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bench.h"

#define FRAME 100
#define NB_DESC 64

static const struct bench_config small = {
	.nb_rxd = NB_DESC,
	.nb_txd = NB_DESC,
	.rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP,
	.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_VLAN_INSERT,
};

/* The text of the last dump, and what the call returned. */
static char *text;
static size_t text_bytes;

typedef int (*dump_fn)(uint16_t port, uint16_t queue, uint16_t offset, uint16_t num,
		       FILE *file);

static int
dump(dump_fn fn, uint16_t port, uint16_t queue, uint16_t offset, uint16_t num)
{
	FILE *file;
	int ret;

	free(text);
	text = NULL;
	file = open_memstream(&text, &text_bytes);
	assert_non_null(file);
	if (fn != NULL)
		ret = fn(port, queue, offset, num, file);
	else
		ret = rte_eth_dev_priv_dump(port, file);
	fclose(file);
	return ret;
}

static void
expect_text(const char *wanted)
{
	if (strstr(text, wanted) == NULL)
		fail_msg("no \"%s\" in:\n%s", wanted, text);
}

static void
expect_no_text(const char *unwanted)
{
	if (strstr(text, unwanted) != NULL)
		fail_msg("\"%s\" in:\n%s", unwanted, text);
}

static unsigned int
nb_texts(const char *wanted)
{
	unsigned int nb = 0;

	for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++)
		nb++;
	return nb;
}

static void
await_rx(const struct bench *bench, int nb)
{
	uint64_t end = bench_deadline();

	while (rte_eth_rx_queue_count(bench->port[1], 0) != nb &&
	       rte_get_timer_cycles() < end)
		;
	assert_int_equal(rte_eth_rx_queue_count(bench->port[1], 0), nb);
}

static void
test_rx_descriptors(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *m = bench_frame(bench->pool, FRAME, 1);

	bench_start(bench, &small);
	bench_send(bench->port[0], 0, &m, 1);
	await_rx(bench, 1);
	assert_int_equal(dump(rte_eth_rx_descriptor_dump, bench->port[1], 0, 0, 2), 0);
	expect_text("rx queue 0 descriptor 0: done\n  WQE at BU 0: last_vbytes 0 num_sge 1 inline_oob_size_div4 2");
	expect_text("    SGE 0: address 0x");
	expect_text(" size 2048\n");
	expect_text("owner_bits 1 of lap 1, is_sq 0 wq_num ");
	expect_text("    cqe_type 1 (RX_OKAY) client_type 1 vendor_err 0x0\n");
	expect_text(" rx_vlantag_present 0");
	expect_text(" rx_iphdr_csum_succeed 1 rx_iphdr_csum_fail 0");
	expect_text("    ppi 0: pkt_len 100 pkt_hash 0x");
	expect_text("rx queue 0 descriptor 1: posted\n  WQE at BU 1:");
	expect_text(", not written\n");
	expect_no_text("descriptor 2");

	/* what was polled is behind us; not refilled yet */
	assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
	rte_pktmbuf_free(m);
	assert_int_equal(dump(rte_eth_rx_descriptor_dump, bench->port[1], 0, 0, NB_DESC),
			 0);
	expect_text("rx queue 0 descriptor 0: posted\n  WQE at BU 1:");
	expect_text("rx queue 0 descriptor 63: free\n");
	assert_int_equal(nb_texts(": posted"), NB_DESC - 1);
	assert_int_equal(nb_texts("SGE 0"), NB_DESC - 1);
	assert_int_equal(nb_texts("not written"), NB_DESC);
}

static void
test_tx_descriptors(void **state)
{
	struct bench *bench = *state;
	uint8_t bytes[90];
	struct rte_mbuf *m;

	bench_start(bench, &small);
	bench_tell("stall port=1 tx");
	bench_frame_bytes(bytes, sizeof(bytes), 1);
	m = bench_chain(bench->pool, bytes, sizeof(bytes), 30);
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 0xa005;
	bench_send(bench->port[0], 0, &m, 1);
	bench->nb_tags[0]++;
	m = bench_frame(bench->pool, FRAME, 2);
	bench_send(bench->port[0], 0, &m, 1);

	assert_int_equal(dump(rte_eth_tx_descriptor_dump, bench->port[0], 0, 0, NB_DESC),
			 0);
	assert_int_equal(nb_texts(": free\n"), NB_DESC - 2);
	assert_int_equal(nb_texts("not written"), 2);
	expect_text("descriptor 62: posted\n  WQE at BU 0: last_vbytes 0 num_sge 3 inline_oob_size_div4 6");
	expect_text(" pkt_fmt 1 ");
	expect_text(" inject_vlan_pri_tag 1 pcp 5 dei 0 vlan_id 5 ");
	expect_text("    SGE 2: address 0x");
	/* 8 + 24 + 3 * 16 bytes are three units */
	expect_text("descriptor 63: posted\n  WQE at BU 3: last_vbytes 0 num_sge 1 inline_oob_size_div4 2");
	expect_text(" size 100\n");

	bench_tell("resume port=1 tx");
	bench_settle(bench);
	/* the place of the next one, and the newest */
	assert_int_equal(dump(rte_eth_tx_descriptor_dump, bench->port[0], 0, 0, 1), 0);
	expect_text("descriptor 0: free\n");
}

/* The reason why the device has refused a packet stands in the dump. */
static void
test_tx_error(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *m = bench_frame(bench->pool, FRAME, 2);
	uint64_t end = bench_deadline();

	bench_start(bench, &small);
	bench_tell("cqe port=1 tx type=33");
	bench->refused_bytes[0] = FRAME;
	bench_send(bench->port[0], 0, &m, 1);
	do {
		assert_int_equal(dump(rte_eth_tx_descriptor_dump, bench->port[0], 0,
				      NB_DESC - 1, 1), 0);
	} while (strstr(text, "not written") != NULL && rte_get_timer_cycles() < end);
	expect_text("tx queue 0 descriptor 63: done\n");
	expect_text("is_sq 1 wq_num ");
	expect_text("    cqe_type 33 (TX_SA_DROP) client_type 1 ");
	expect_text("tx_wqe_offset 0\n");
}

static void
test_refused(void **state)
{
	struct bench *bench = *state;
	uint16_t port = bench->port[0];
	const dump_fn fns[] = { rte_eth_rx_descriptor_dump, rte_eth_tx_descriptor_dump };

	bench_expect_error("");
	for (unsigned int i = 0; i < RTE_DIM(fns); i++) {
		assert_int_equal(bench_configure(bench, port, &small), 0);
		/* no rings before the start and after the stop */
		assert_int_equal(dump(fns[i], port, 0, 0, 1), -EINVAL);
		assert_int_equal(bench_dev_start(bench, 0), 0);
		assert_int_equal(dump(fns[i], port, 0, 0, 1), 0);
		assert_int_equal(dump(fns[i], port, 0, NB_DESC - 1, 1), 0);
		assert_int_equal(dump(fns[i], port, 0, NB_DESC, 0), 0);
		assert_int_equal(dump(fns[i], port, 0, NB_DESC, 1), -EINVAL);
		assert_int_equal(dump(fns[i], port, 0, 1, NB_DESC), -EINVAL);
		assert_int_equal(dump(fns[i], port, 0, UINT16_MAX, UINT16_MAX), -EINVAL);
		assert_int_equal(dump(fns[i], port, 1, 0, 1), -EINVAL);
		assert_int_equal(text_bytes, 0);
		assert_int_equal(fns[i](port, 0, 0, 1, NULL), -EINVAL);
		assert_int_equal(bench_dev_stop(bench, 0), 0);
		assert_int_equal(dump(fns[i], port, 0, 0, 1), -EINVAL);
	}
}

static void
test_port(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = {
		.nb_rxq = 3, .nb_txq = 2, .nb_rxd = NB_DESC, .rss_hf = BENCH_RSS,
	};
	char wanted[128];

	assert_int_equal(dump(NULL, bench->port[0], 0, 0, 0), 0);
	expect_text("_port1: netdev mana0p0, verbs port 1, stopped\n");
	expect_no_text("queue 0");
	bench_start(bench, &config);
	assert_int_equal(dump(NULL, bench->port[0], 0, 0, 0), 0);
	expect_text(", started\n");
	expect_text("RSS on, 4 work queues\n");
	snprintf(wanted, sizeof(wanted),
		 "  rx queue 2: open, alive, 64 descriptors, mempool %s\n",
		 bench->pool->name);
	expect_text(wanted);
	assert_int_equal(nb_texts("work queue polled with rx queue "), 1);
	assert_int_equal(nb_texts("  tx queue "), 2);
	assert_int_equal(nb_texts("    RQ: id "), 4);
	assert_int_equal(nb_texts("    SQ: id "), 2);
	assert_int_equal(nb_texts("    CQ: id "), 6);
	expect_text("posted 64 of 64, buffers of 2048 bytes, refill at 16");
	expect_text(": start nb_rxq 3 nb_txq 2 (0)\n");
	bench_stop(bench);
	assert_int_equal(dump(NULL, bench->port[0], 0, 0, 0), 0);
	expect_text("rx queue 0: closed, alive");
	assert_int_equal(nb_texts("refill at 16"), 3);
	bench_expect_error("");
	assert_int_equal(rte_eth_dev_priv_dump(bench->port[0], NULL), -EINVAL);
}

static int
drop_text(void **state)
{
	free(text);
	text = NULL;
	return bench_teardown(state);
}

#define DUMP_TEST(fn) cmocka_unit_test_setup_teardown(fn, bench_setup, drop_text)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		DUMP_TEST(test_rx_descriptors),
		DUMP_TEST(test_tx_descriptors),
		DUMP_TEST(test_tx_error),
		DUMP_TEST(test_refused),
		DUMP_TEST(test_port),
	};

	return BENCH_RUN("dump", tests);
}
