/* SPDX-License-Identifier: BSD-3-Clause */

/* Descriptor dumps and the port dump. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "fixture.h"

#define FRAME 100
#define NB_DESC 64

static const struct fx_config small = {
	.nb_rxd = NB_DESC,
	.nb_txd = NB_DESC,
	.rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP,
	.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_VLAN_INSERT,
};

/* Text of the last dump. */
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
await_rx(const struct fixture *fx, int nb)
{
	uint64_t end = fx_deadline();

	while (rte_eth_rx_queue_count(fx->port[1], 0) != nb &&
	       rte_get_timer_cycles() < end)
		;
	assert_int_equal(rte_eth_rx_queue_count(fx->port[1], 0), nb);
}

static int
drop_text(void **state)
{
	free(text);
	text = NULL;
	return fx_teardown(state);
}

#define DUMP_TEST(name) FX_TEST_OF(name, fx_setup, drop_text)

DUMP_TEST(test_rx_descriptors)
{
	struct rte_mbuf *m = fx_frame(fx->pool, FRAME, 1);

	fx_start(fx, &small);
	fx_send(fx->port[0], 0, &m, 1);
	await_rx(fx, 1);
	assert_int_equal(dump(rte_eth_rx_descriptor_dump, fx->port[1], 0, 0, 2), 0);
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

	/* consumed descriptors are free until the refill */
	rte_pktmbuf_free(fx_receive_one(fx->port[1], 0));
	assert_int_equal(dump(rte_eth_rx_descriptor_dump, fx->port[1], 0, 0, NB_DESC),
			 0);
	expect_text("rx queue 0 descriptor 0: posted\n  WQE at BU 1:");
	expect_text("rx queue 0 descriptor 63: free\n");
	assert_int_equal(nb_texts(": posted"), NB_DESC - 1);
	assert_int_equal(nb_texts("SGE 0"), NB_DESC - 1);
	assert_int_equal(nb_texts("not written"), NB_DESC);
}

DUMP_TEST(test_tx_descriptors)
{
	uint8_t bytes[90];
	struct rte_mbuf *m;

	fx_start(fx, &small);
	fx_command("stall port=1 tx");
	fx_frame_bytes(bytes, sizeof(bytes), 1);
	m = fx_chain(fx->pool, bytes, sizeof(bytes), 30);
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 0xa005;
	fx_send(fx->port[0], 0, &m, 1);
	fx->nb_tags[0]++;
	m = fx_frame(fx->pool, FRAME, 2);
	fx_send(fx->port[0], 0, &m, 1);

	assert_int_equal(dump(rte_eth_tx_descriptor_dump, fx->port[0], 0, 0, NB_DESC),
			 0);
	assert_int_equal(nb_texts(": free\n"), NB_DESC - 2);
	assert_int_equal(nb_texts("not written"), 2);
	expect_text("descriptor 62: posted\n  WQE at BU 0: last_vbytes 0 num_sge 3 inline_oob_size_div4 6");
	expect_text(" pkt_fmt 1 ");
	expect_text(" inject_vlan_pri_tag 1 pcp 5 dei 0 vlan_id 5 ");
	expect_text("    SGE 2: address 0x");
	/* 8 + 24 + 3 * 16 bytes are three BUs */
	expect_text("descriptor 63: posted\n  WQE at BU 3: last_vbytes 0 num_sge 1 inline_oob_size_div4 2");
	expect_text(" size 100\n");

	fx_command("resume port=1 tx");
	fx_settle(fx);
	/* the next descriptor and the newest */
	assert_int_equal(dump(rte_eth_tx_descriptor_dump, fx->port[0], 0, 0, 1), 0);
	expect_text("descriptor 0: free\n");
}

/*
 * Dumps the newest nb descriptors when the device is done with them. A dump reads the
 * state of a descriptor before its completion, which may arrive between the two.
 */
static void
dump_done(const struct fixture *fx, uint16_t nb)
{
	uint64_t end = fx_deadline();

	do {
		assert_int_equal(dump(rte_eth_tx_descriptor_dump, fx->port[0], 0,
				      NB_DESC - nb, nb), 0);
	} while (nb_texts(": done\n") < nb && rte_get_timer_cycles() < end);
}

/* The dump names why the device rejected a packet. */
DUMP_TEST(test_tx_error)
{
	struct rte_mbuf *m = fx_frame(fx->pool, FRAME, 2);

	fx_start(fx, &small);
	fx_command("cqe port=1 tx type=33");
	fx->refused_bytes[0] = FRAME;
	fx_send(fx->port[0], 0, &m, 1);
	dump_done(fx, 1);
	expect_text("tx queue 0 descriptor 63: done\n");
	expect_text("is_sq 1 wq_num ");
	expect_text("    cqe_type 33 (TX_SA_DROP) client_type 1 ");
	expect_text("tx_wqe_offset 0\n");
}

/* Without suppression each descriptor is shown with the completion of its packet. */
FX_TEST_OF(test_tx_completions, fx_setup_bare, drop_text)
{
	const char *newest;

	assert_int_equal(fx_probe(fx, "tx_suppress=0"), 0);
	fx_start(fx, &small);
	fx_command("cqe port=1 tx type=33");
	fx->refused_bytes[0] = FRAME;
	fx_send_burst(fx, 0, FRAME, 2);
	dump_done(fx, 2);
	newest = strstr(text, "tx queue 0 descriptor 63: done\n");
	assert_non_null(newest);
	assert_non_null(strstr(newest, "    cqe_type 32 (TX_OKAY)"));
	assert_null(strstr(newest, "TX_SA_DROP"));
	expect_text("tx queue 0 descriptor 62: done\n");
	expect_text("    cqe_type 33 (TX_SA_DROP)");
}

DUMP_TEST(test_refused)
{
	uint16_t port = fx->port[0];
	const dump_fn fns[] = { rte_eth_rx_descriptor_dump, rte_eth_tx_descriptor_dump };

	fx_expect_error("");
	for (unsigned int i = 0; i < RTE_DIM(fns); i++) {
		assert_int_equal(fx_configure(fx, port, &small), 0);
		/* no rings before the start and after the stop */
		assert_int_equal(dump(fns[i], port, 0, 0, 1), -EINVAL);
		assert_int_equal(fx_dev_start(fx, 0), 0);
		assert_int_equal(dump(fns[i], port, 0, 0, 1), 0);
		assert_int_equal(dump(fns[i], port, 0, NB_DESC - 1, 1), 0);
		assert_int_equal(dump(fns[i], port, 0, NB_DESC, 0), 0);
		assert_int_equal(dump(fns[i], port, 0, NB_DESC, 1), -EINVAL);
		assert_int_equal(dump(fns[i], port, 0, 1, NB_DESC), -EINVAL);
		assert_int_equal(dump(fns[i], port, 0, UINT16_MAX, UINT16_MAX), -EINVAL);
		assert_int_equal(dump(fns[i], port, 1, 0, 1), -EINVAL);
		assert_int_equal(text_bytes, 0);
		assert_int_equal(fns[i](port, 0, 0, 1, NULL), -EINVAL);
		assert_int_equal(fx_dev_stop(fx, 0), 0);
		assert_int_equal(dump(fns[i], port, 0, 0, 1), -EINVAL);
	}
}

DUMP_TEST(test_port)
{
	struct fx_config config = {
		.nb_rxq = 3, .nb_txq = 2, .nb_rxd = NB_DESC, .rss_hf = FX_RSS,
	};
	char wanted[128];

	assert_int_equal(dump(NULL, fx->port[0], 0, 0, 0), 0);
	expect_text("_p1\n");
	expect_text("    netdev mana0p0\n");
	expect_text("    verbs_port 1\n");
	expect_text("    state stopped\n");
	expect_no_text("queue 0");
	fx_start(fx, &config);
	assert_int_equal(dump(NULL, fx->port[0], 0, 0, 0), 0);
	expect_text("    rss 1\n");
	expect_text("    hw_rxq 4\n");
	expect_text("  rx queue 2:\n");
	snprintf(wanted, sizeof(wanted), "    mempool %s\n", fx->pool->name);
	assert_int_equal(nb_texts(wanted), 3);
	assert_int_equal(nb_texts("  hardware rx queue "), 4);
	assert_int_equal(nb_texts("  tx queue "), 2);
	assert_int_equal(nb_texts("    failure none\n"), 9);
	assert_int_equal(nb_texts("    cq_closed 0\n"), 6);
	assert_int_equal(nb_texts("    nb_posted 64\n"), 6);
	assert_int_equal(nb_texts("    max_posted 64\n"), 2);
	assert_int_equal(nb_texts("    buffer_bytes 2048\n"), 3);
	assert_int_equal(nb_texts("    oob short\n"), 2);
	assert_int_equal(nb_texts("    state started\n"), 6);
	fx_stop(fx);
	assert_int_equal(dump(NULL, fx->port[0], 0, 0, 0), 0);
	assert_int_equal(nb_texts("    free_thresh 16\n"), 3);
	assert_int_equal(nb_texts("    nb_posted 0\n"), 5);
	fx_expect_error("");
	assert_int_equal(rte_eth_dev_priv_dump(fx->port[0], NULL), -EINVAL);
}

/* mr_failures of port 1's Rx queue. */
static unsigned long
nb_mr_failures(const struct fixture *fx)
{
	const char *at;

	assert_int_equal(dump(NULL, fx->port[1], 0, 0, 0), 0);
	at = strstr(text, "  rx queue 0:\n");
	assert_non_null(at);
	at = strstr(at, "mr_failures ");
	assert_non_null(at);
	return strtoul(at + strlen("mr_failures "), NULL, 10);
}

/*
 * Ring replacement keeps the count of failed look-ups. The rings use the first 150 buffers
 * of the pool; those of the others are in memory that cannot be registered.
 */
FX_TEST_OF(test_mr_failures_kept, fx_setup_bare, drop_text)
{
	struct fx_config config = small;
	struct rte_mbuf *all[511], *m;
	unsigned long nb;
	char *foreign;
	uint32_t i;

	foreign = aligned_alloc(4096, RTE_DIM(all) * 4096);
	assert_non_null(foreign);
	config.rx_pool = rte_pktmbuf_pool_create("moved", RTE_DIM(all), 0, 0,
						 RTE_MBUF_DEFAULT_BUF_SIZE,
						 SOCKET_ID_ANY);
	assert_non_null(config.rx_pool);
	assert_int_equal(rte_mempool_get_bulk(config.rx_pool, (void **)all, RTE_DIM(all)),
			 0);
	for (i = 150; i < RTE_DIM(all); i++)
		all[i]->buf_addr = foreign + i * 4096;
	rte_mempool_put_bulk(config.rx_pool, (void **)all, RTE_DIM(all));
	assert_int_equal(fx_probe(fx, ""), 0);
	fx_start(fx, &config);
	fx_pass_one(fx); /* The pool of frames to send has a key from now on. */
	assert_int_equal(nb_mr_failures(fx), 0);
	fx_expect_error("cannot register");
	assert_int_equal(fx_model.fault_arm_from("reg_mr", 1, EPROTO), 0);
	for (i = 0; i < 48; i++) {
		m = fx_frame(fx->pool, FRAME, i);
		fx_send(fx->port[0], 0, &m, 1);
		rte_pktmbuf_free(fx_receive_one(fx->port[1], 0));
	}
	fx_model.fault_disarm();
	nb = nb_mr_failures(fx);
	assert_true(nb > 0);
	fx_stop(fx);
	assert_int_equal(nb_mr_failures(fx), nb);
	rte_mempool_free(config.rx_pool);
	free(foreign);
}
