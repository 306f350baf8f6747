/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Assumptions about the adapter that device arguments change, or the driver by
 * itself.
 */

#include "fixture.h"

#define NB_DESC 64
#define BU_BYTES 32
/* Bits of the first OOB word. */
#define OOB_NO_CQE (1u << 7)
#define OOB_LONG (1u << 0)

static const struct fx_config small_config = { .nb_txd = NB_DESC, .nb_rxd = NB_DESC };

/* Passes n packets in bursts of up to 16. */
static void
pass_bursts(struct fixture *fx, unsigned int n)
{
	struct rte_mbuf *pkts[16];

	for (unsigned int done = 0; done < n; done += RTE_DIM(pkts)) {
		for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = fx_frame(fx->pool, 100 + i, i);
		fx_send(fx->port[0], 0, pkts, RTE_DIM(pkts));
		fx_expect_some(fx->port[1], 0, RTE_DIM(pkts));
	}
}

/* WQEs of one BU in the first Tx ring with these OOB bits. */
static unsigned int
nb_wqes_with(uint32_t bits)
{
	struct mana_model_queue queue;
	unsigned int nb = 0;

	assert_int_equal(fx_model.queue(0, 0, true, 0, &queue), 0);
	for (uint32_t at = 0; at < queue.ring_bytes; at += BU_BYTES) {
		const uint32_t *words = RTE_PTR_ADD(queue.ring, at);

		nb += words[1] != 0 && (words[2] & bits) == bits;
	}
	return nb;
}

/* tx_suppress=0: every WQE requests a CQE, even with right WQE offsets. */
FX_TEST_BARE(test_tx_suppress)
{
	static const char *const args[] = { "", "tx_suppress=1", "tx_suppress=0" };

	for (unsigned int i = 0; i < RTE_DIM(args); i++) {
		assert_int_equal(fx_probe(fx, args[i]), 0);
		fx_start(fx, &small_config);
		pass_bursts(fx, 4 * NB_DESC);
		assert_int_equal(nb_wqes_with(OOB_NO_CQE) == 0, i == 2);
		fx_stop(fx);
		fx_remove(fx);
	}
}

/* tx_oob and tx_vport select the form and its vPort field. */
FX_TEST_BARE(test_tx_oob)
{
	static const struct {
		const char *args;
		bool is_long, has_short_vp, has_long_vp;
	} cases[] = {
		{ "", false, true, false },
		{ "tx_oob=short,tx_vport=long", false, true, false },
		{ "tx_oob=long", true, true, true },
		{ "tx_oob=long,tx_vport=both", true, true, true },
		{ "tx_oob=long,tx_vport=short", true, true, false },
		{ "tx_oob=long,tx_vport=long", true, false, true },
	};
	struct mana_model_queue queue;

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		const uint32_t *words;

		assert_int_equal(fx_probe(fx, cases[i].args), 0);
		fx_start(fx, &small_config);
		pass_bursts(fx, 16);
		assert_int_equal(fx_model.queue(0, 0, true, 0, &queue), 0);
		assert_int_not_equal(queue.vp_offset, 0);
		words = queue.ring; /* of the first packet */
		assert_int_equal(words[2] & OOB_LONG, cases[i].is_long);
		assert_int_equal(words[3] >> 24, cases[i].has_short_vp ?
						      queue.vp_offset : 0);
		if (cases[i].is_long)
			assert_int_equal(words[5] >> 16 & 0xfff,
					 cases[i].has_long_vp ? queue.vp_offset : 0);
		fx_stop(fx);
		fx_remove(fx);
	}
}

/* max_desc limits nb_desc, and queues of that size work. */
FX_TEST_BARE(test_max_desc)
{
	static const struct fx_config most = { .nb_txd = 128, .nb_rxd = 128 };
	static const struct fx_config more = { .nb_txd = 256, .nb_rxd = 128 };
	struct rte_eth_dev_info info;

	fx_expect_error("Invalid value for nb_tx_desc");
	assert_int_equal(fx_probe(fx, "max_desc=128"), 0);
	assert_int_equal(rte_eth_dev_info_get(fx->port[0], &info), 0);
	assert_int_equal(info.rx_desc_lim.nb_max, 128);
	assert_int_equal(info.tx_desc_lim.nb_max, 128);
	assert_int_not_equal(fx_configure(fx, fx->port[0], &more), 0);
	fx_start(fx, &most);
	pass_bursts(fx, 1024);
}

/* max_send_sge: packets with more segments are copied, none is lost. */
FX_TEST_BARE(test_max_send_sge)
{
	static const struct fx_config chains = {
		.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
	};
	uint8_t bytes[600];

	fx_frame_bytes(bytes, sizeof(bytes), 7);
	assert_int_equal(fx_probe(fx, "max_send_sge=3"), 0);
	assert_int_equal(fx_info(fx->port[0]).tx_desc_lim.nb_seg_max, 3);
	fx_start(fx, &chains);
	for (uint16_t seg_bytes = 60; seg_bytes <= 600; seg_bytes += 20) {
		struct rte_mbuf *m = fx_chain(fx->pool, bytes,
					      sizeof(bytes), seg_bytes);
		struct mana_model_queue queue;

		fx_send(fx->port[0], 0, &m, 1);
		fx_expect_bytes(fx->port[1], 0, bytes, sizeof(bytes));
		assert_int_equal(fx_model.queue(0, 0, true, 0, &queue), 0);
		/* The ring holds WQEs with this number of SGEs. */
		assert_int_equal(queue.ring_bytes, 256 * 64);
	}
}
