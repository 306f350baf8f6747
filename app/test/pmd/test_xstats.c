/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Extended statistics: names, meaning, and the account of every packet on the
 * wire.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ether.h>

#include "fixture.h"

#define FRAME 100

static const struct fx_config defaults;

/* Names for a port with one Rx and one Tx queue, in order. */
static const char *const names_of_one[] = {
	"rx_good_packets", "tx_good_packets", "rx_good_bytes", "tx_good_bytes",
	"rx_missed_errors", "rx_errors", "tx_errors",
	"rx_mbuf_allocation_errors",
	"rx_cqe_truncated", "rx_cqe_oversize", "rx_cqe_zero_length",
	"rx_cqe_fence", "rx_cqe_unknown", "rx_cqe_wrong_queue", "rx_cqe_spurious",
	"rx_cqe_overrun", "rx_failed", "rx_drop_unscattered",
	"rx_drop_stopped", "rx_drop_reconfig", "rx_ring_empty",
	"rx_refill_mr_failures",
	"rx_rq_doorbells", "rx_cq_doorbells", "rx_mr_misses",
	"tx_cqe_errors", "tx_cqe_sa_drop", "tx_cqe_mtu_drop",
	"tx_cqe_invalid_oob", "tx_cqe_invalid_eth_type",
	"tx_cqe_hdr_processing_error", "tx_cqe_vf_disabled",
	"tx_cqe_vport_idx_out_of_range", "tx_cqe_vport_disabled",
	"tx_cqe_vlan_tagging_violation", "tx_cqe_gdma_err", "tx_cqe_unknown",
	"tx_cqe_wrong_queue", "tx_cqe_spurious", "tx_cqe_overrun", "tx_failed",
	"tx_cqe_wqe_offset", "tx_unfinished", "tx_stalled",
	"tx_drops",
	"tx_drop_offload", "tx_drop_malformed", "tx_drop_nomem", "tx_drop_mr",
	"tx_linearized", "tx_bounced_headers", "tx_sq_doorbells",
	"tx_cq_doorbells", "tx_mr_misses",
	"mr_registrations", "mr_registration_ns", "mr_deregistrations", "resets", "recoveries",
	"recovery_ns", "recovery_rebuild_ns", "recovery_rebuild_max_ns", "queue_repairs",
	"rx_outages", "rx_outage_ns", "rx_outage_max_ns",
	"rx_q0_packets", "rx_q0_bytes", "rx_q0_errors",
	"rx_q0_cqe_truncated", "rx_q0_cqe_oversize", "rx_q0_failed",
	"rx_q0_drop_unscattered", "rx_q0_drop_stopped",
	"rx_q0_drop_reconfig", "rx_q0_ring_empty",
	"rx_q0_refill_nombuf", "rx_q0_refill_mr_failures", "rx_q0_rq_doorbells",
	"rx_q0_cq_doorbells",
	"tx_q0_packets", "tx_q0_bytes", "tx_q0_errors", "tx_q0_cqe_errors",
	"tx_q0_failed", "tx_q0_unfinished", "tx_q0_stalled", "tx_q0_drops", "tx_q0_linearized", "tx_q0_bounced_headers",
	"tx_q0_sq_doorbells", "tx_q0_cq_doorbells",
};

/* A queue's counter, like "tx", 17, "packets". */
static uint64_t
xstat_of_queue(uint16_t port, const char *side, unsigned int queue, const char *what)
{
	char name[RTE_ETH_XSTATS_NAME_SIZE];

	snprintf(name, sizeof(name), "%s_q%u_%s", side, queue, what);
	return fx_xstat(port, name);
}

/* Reaps completions of queue 0 until the counter has this value. */
static void
await_tx(const struct fixture *fx, const char *name, uint64_t wanted)
{
	uint64_t end = fx_deadline();

	while (fx_xstat(fx->port[0], name) != wanted && rte_get_timer_cycles() < end)
		rte_eth_tx_done_cleanup(fx->port[0], 0, 0);
	assert_int_equal(fx_xstat(fx->port[0], name), wanted);
}

/* ---- Names and ids ------------------------------------------------------- */

FX_TEST(test_names)
{
	struct rte_eth_xstat_name names[RTE_DIM(names_of_one)];

	assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
	assert_int_equal(rte_eth_xstats_get_names(fx->port[0], NULL, 0),
			 RTE_DIM(names));
	assert_int_equal(rte_eth_xstats_get_names(fx->port[0], names, RTE_DIM(names)),
			 RTE_DIM(names));
	for (unsigned int i = 0; i < RTE_DIM(names); i++) {
		assert_string_equal(names[i].name, names_of_one[i]);
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(names[i].name, names[j].name);
	}
}

/* Before and after queues exist, with unequal numbers. */
FX_TEST(test_names_follow_the_queues)
{
	struct fx_config uneven = { .nb_rxq = 4, .nb_txq = 3, .rss_hf = FX_RSS };
	const unsigned int nb_port = RTE_DIM(names_of_one) - 14 - 12;
	uint64_t id;

	assert_int_equal(rte_eth_xstats_get_names(fx->port[0], NULL, 0), nb_port);
	assert_int_equal(fx_configure(fx, fx->port[0], &uneven), 0);
	assert_int_equal(rte_eth_xstats_get_names(fx->port[0], NULL, 0),
			 nb_port + 4 * 14 + 3 * 12);
	assert_int_equal(fx_xstat(fx->port[0], "rx_q3_packets"), 0);
	assert_int_equal(fx_xstat(fx->port[0], "tx_q2_packets"), 0);
	assert_int_not_equal(rte_eth_xstats_get_id_by_name(fx->port[0],
							   "tx_q3_packets", &id), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &defaults), 0);
	assert_int_equal(rte_eth_xstats_get_names(fx->port[0], NULL, 0),
			 RTE_DIM(names_of_one));
}

/* All query functions agree, also for a table that is too small. */
FX_TEST(test_all_and_by_id)
{
	uint16_t port = fx->port[0];
	struct rte_eth_xstat xstats[RTE_DIM(names_of_one)];
	struct rte_eth_xstat_name name;
	const unsigned int nb = RTE_DIM(xstats);
	uint64_t ids[2], values[2];

	fx_start(fx, &defaults);
	fx_pass_one(fx);
	assert_int_equal(rte_eth_xstats_get(port, NULL, 0), nb);
	memset(xstats, 0xee, sizeof(xstats));
	assert_int_equal(rte_eth_xstats_get(port, xstats, nb - 1), nb);
	assert_int_equal(xstats[nb - 1].id, 0xeeeeeeeeeeeeeeee);
	assert_int_equal(rte_eth_xstats_get(port, xstats, nb), nb);
	for (unsigned int i = 0; i < nb; i++) {
		assert_int_equal(xstats[i].id, i);
		ids[0] = i;
		ids[1] = nb - 1 - i;
		assert_int_equal(rte_eth_xstats_get_names_by_id(port, &name, 1, ids), 1);
		assert_string_equal(name.name, names_of_one[i]);
		assert_int_equal(rte_eth_xstats_get_by_id(port, ids, values, 2), 2);
		assert_int_equal(values[0], xstats[i].value);
		assert_int_equal(values[1], xstats[nb - 1 - i].value);
	}
	ids[0] = nb;
	fx_expect_error("");
	assert_true(rte_eth_xstats_get_by_id(port, ids, values, 1) < 0);
	assert_true(rte_eth_xstats_get_names_by_id(port, &name, 1, ids) < 0);
	assert_int_equal(fx_xstat(port, "tx_good_packets"), 1);
	assert_int_equal(fx_xstat(port, "tx_q0_packets"), 1);
	assert_int_equal(fx_xstat(port, "rx_q0_packets"), 1);
}

/* ---- Errors that the device reports -------------------------------------- */

/* Each Tx error has its counter and counts in oerrors. */
FX_TEST(test_tx_errors)
{
	static const char *const reasons[] = {
		"tx_cqe_sa_drop", "tx_cqe_mtu_drop", "tx_cqe_invalid_oob",
		"tx_cqe_invalid_eth_type", "tx_cqe_hdr_processing_error",
		"tx_cqe_vf_disabled", "tx_cqe_vport_idx_out_of_range",
		"tx_cqe_vport_disabled", "tx_cqe_vlan_tagging_violation",
		"tx_cqe_gdma_err", /* the last: it disables the queue */
	};
	struct mana_model_port wire;
	char command[64];

	fx_expect_error("has failed (disabled)");
	fx_start(fx, &defaults);
	for (unsigned int i = 0; i < RTE_DIM(reasons); i++) {
		snprintf(command, sizeof(command), "cqe port=1 tx type=%u", 33 + i);
		fx_send_one(fx, 1);
		fx_expect_frames(fx, 1, 1);
		fx_command(command);
		fx_send_one(fx, 2);
		fx->refused_bytes[0] += FRAME;
		await_tx(fx, reasons[i], 1);
		assert_int_equal(fx_xstat(fx->port[0], "tx_cqe_errors"), i + 1);
		assert_int_equal(fx_xstat(fx->port[0], "tx_q0_cqe_errors"), i + 1);
		assert_int_equal(fx_xstat(fx->port[0], "tx_q0_errors"), i + 1);
		assert_int_equal(fx_xstat(fx->port[0], "tx_errors"), i + 1);
	}
	assert_int_equal(fx_xstat(fx->port[0], "tx_drops"), 0);
	/* opackets minus errors is what was sent */
	wire = fx_wire(fx, 0);
	assert_int_equal(wire.tx_errors, RTE_DIM(reasons));
	assert_int_equal(fx_xstat(fx->port[0], "tx_good_packets"),
			 wire.tx_packets + RTE_DIM(reasons));
	/* a restart keeps the counts */
	fx_stop(fx);
	fx_restart(fx);
	fx_pass_one(fx);
	assert_int_equal(fx_xstat(fx->port[0], "tx_cqe_errors"), RTE_DIM(reasons));
	assert_int_equal(fx_xstat(fx->port[0], "tx_q0_packets"),
			 wire.tx_packets + RTE_DIM(reasons) + 1);
}

/* Invalid Tx completions. */
FX_TEST(test_tx_invalid_completions)
{
	fx_start(fx, &defaults);
	fx_command("bogus port=1 tx what=wrong-queue");
	fx_send_one(fx, 1);
	fx_send_one(fx, 2);
	await_tx(fx, "tx_cqe_wrong_queue", 1);
	fx_command("bogus port=1 tx what=spurious");
	fx_send_one(fx, 3);
	await_tx(fx, "tx_cqe_spurious", 1);
	assert_int_equal(fx_xstat(fx->port[0], "tx_errors"), 0);
	fx_command("bogus port=1 tx what=type type=50");
	fx_send_one(fx, 4);
	await_tx(fx, "tx_cqe_unknown", 1);
	assert_int_equal(fx_xstat(fx->port[0], "tx_errors"), 1);
	fx_expect_frames(fx, 1, 4);
}

/* Unsent packets of a disabled queue when it is stopped. */
FX_TEST(test_tx_unfinished)
{
	struct rte_mbuf *pkts[20];
	struct mana_model_port wire;

	fx->ignore_counters = true; /* the test compares with the wire */
	fx_start(fx, &defaults);
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = fx_frame(fx->pool, FRAME, i);
	fx_expect_error("has failed (disabled)");
	fx_command("cqe port=1 tx type=42 packet=6");
	fx_send(fx->port[0], 0, pkts, RTE_DIM(pkts));
	await_tx(fx, "tx_cqe_gdma_err", 1);
	fx_expect_frames(fx, 0, 5);
	assert_int_equal(fx_xstat(fx->port[0], "tx_unfinished"), 0);
	fx_stop(fx);
	wire = fx_wire(fx, 0);
	assert_int_equal(wire.tx_packets, 5);
	assert_int_equal(fx_xstat(fx->port[0], "tx_good_packets"), RTE_DIM(pkts));
	assert_int_equal(fx_xstat(fx->port[0], "tx_unfinished"), RTE_DIM(pkts) - 6);
	assert_int_equal(fx_xstat(fx->port[0], "tx_q0_unfinished"), RTE_DIM(pkts) - 6);
	assert_int_equal(fx_xstat(fx->port[0], "tx_errors"), RTE_DIM(pkts) - 5);
	assert_int_equal(fx_xstat(fx->port[0], "tx_drops"), 0);
}

/* Packets that the driver drops. */
FX_TEST(test_tx_drops)
{
	struct rte_mbuf *m;

	fx_start(fx, &defaults);
	m = fx_frame(fx->pool, FRAME, 1);
	m->ol_flags |= RTE_MBUF_F_TX_UDP_SEG;
	/* as a program does that ignores prepare's result */
	assert_int_equal(rte_eth_tx_prepare(fx->port[0], 0, &m, 1), 0);
	assert_int_equal(rte_errno, ENOTSUP);
	fx_send(fx->port[0], 0, &m, 1);
	m = fx_frame(fx->pool, FRAME, 1);
	m->data_len = m->pkt_len = 13;
	fx_send(fx->port[0], 0, &m, 1);
	fx_send_one(fx, 5);
	fx_expect_frames(fx, 5, 1);
	assert_int_equal(fx_xstat(fx->port[0], "tx_drop_offload"), 1);
	assert_int_equal(fx_xstat(fx->port[0], "tx_drop_malformed"), 1);
	assert_int_equal(fx_xstat(fx->port[0], "tx_drops"), 2);
	assert_int_equal(fx_xstat(fx->port[0], "tx_q0_drops"), 2);
	assert_int_equal(fx_xstat(fx->port[0], "tx_errors"), 2);
	assert_int_equal(fx_xstat(fx->port[0], "tx_cqe_errors"), 0);
	assert_int_equal(fx_xstat(fx->port[0], "tx_good_packets"), 1);
}

/* A fault in the next packet: it is lost, or the completion is extra. */
static const struct {
	const char *command;
	const char *counter;
	bool is_lost; /* the packet is lost, and uses a buffer */
	bool is_error;
} rx_faults[] = {
	{ "truncate port=2 bytes=20", "rx_cqe_truncated", true, true },
	{ "bogus port=2 rx what=long", "rx_cqe_oversize", true, true },
	{ "bogus port=2 rx what=wrong-queue", "rx_cqe_wrong_queue", false, false },
};

FX_TEST(test_rx_faults)
{
	unsigned int nb_lost = 0, nb_errors = 0;
	struct mana_model_port wire;

	fx->ignore_counters = true; /* the test compares with the wire */
	fx_start(fx, &defaults);
	for (unsigned int i = 0; i < RTE_DIM(rx_faults); i++) {
		fx_command(rx_faults[i].command);
		fx_send_one(fx, 1);
		fx_send_one(fx, 2);
		if (rx_faults[i].is_lost)
			fx_expect_frames(fx, 2, 1);
		else
			fx_expect_frames(fx, 1, 2);
		nb_lost += rx_faults[i].is_lost;
		nb_errors += rx_faults[i].is_error;
		assert_int_equal(fx_xstat(fx->port[1], rx_faults[i].counter), 1);
		assert_int_equal(fx_xstat(fx->port[1], "rx_errors"), nb_errors);
		assert_int_equal(fx_xstat(fx->port[1], "rx_q0_errors"), nb_errors);
	}
	fx_command("fence port=2 queue=0");
	fx_send_one(fx, 3);
	fx_expect_frames(fx, 3, 1);
	assert_int_equal(fx_xstat(fx->port[1], "rx_cqe_fence"), 1);
	assert_int_equal(fx_xstat(fx->port[1], "rx_errors"), nb_errors);
	/* ipackets and the named drops are all packets received */
	wire = fx_wire(fx, 1);
	assert_int_equal(wire.rx_packets + wire.rx_truncated,
			 fx_xstat(fx->port[1], "rx_good_packets") + nb_lost);
	assert_int_equal(wire.rx_packets + wire.rx_truncated,
			 fx_xstat(fx->port[1], "rx_q0_packets") +
				 fx_xstat(fx->port[1], "rx_q0_cqe_truncated") +
				 fx_xstat(fx->port[1], "rx_q0_cqe_oversize"));
}

/* ---- Buffers ------------------------------------------------------------------ */

/* Waits for nb frames on port 1, with or without buffer. */
static void
wait_come(const struct fixture *fx, uint64_t nb)
{
	uint64_t end = fx_deadline();
	struct mana_model_port wire;

	do {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(100);
		wire = fx_wire(fx, 1);
	} while (wire.rx_packets + wire.rx_no_wqe < nb);
}

/* Without polls the device uses up its buffers, once per turn. */
FX_TEST(test_ring_empty)
{
	struct fx_config config = { .nb_rxd = 64 };
	struct rte_eth_stats stats;

	fx_start(fx, &config);
	for (unsigned int round = 1; round <= 3; round++) {
		/* use all posted buffers (refill threshold 32), then more */
		for (unsigned int i = 0; i < 32; i++)
			fx_send_one(fx, i);
		fx_drain(fx);
		assert_int_equal(fx_xstat(fx->port[1], "rx_ring_empty"), round - 1);
		for (unsigned int i = 0; i < 70; i++)
			fx_send_one(fx, i);
		wait_come(fx, round * (32 + 70));
		fx_drain(fx);
		assert_int_equal(fx_xstat(fx->port[1], "rx_ring_empty"), round);
		assert_int_equal(fx_xstat(fx->port[1], "rx_q0_ring_empty"), round);
	}
	assert_true(fx_wire(fx, 1).rx_no_wqe > 0);
	/* the driver cannot see packets without buffer */
	assert_int_equal(rte_eth_stats_get(fx->port[1], &stats), 0);
	assert_int_equal(stats.imissed + stats.ierrors, 0);
}

/* The application holds all mbufs of the pool. */
FX_TEST(test_refill_without_mbufs)
{
	struct fx_config config = { .nb_rxd = 64 };
	struct rte_mbuf *held[80];
	unsigned int nb = 0;

	config.rx_pool = fx_pool(fx, 2 * 64 + 15, RTE_MBUF_DEFAULT_BUF_SIZE);
	fx_start(fx, &config);
	for (unsigned int i = 0; i < RTE_DIM(held); i++)
		fx_send_one(fx, i);
	fx_settle(fx);
	while (nb < RTE_DIM(held)) {
		uint16_t got = rte_eth_rx_burst(fx->port[1], 0, held + nb,
						RTE_DIM(held) - nb);

		if (got == 0)
			break;
		nb += got;
	}
	assert_true(nb >= 63);
	assert_true(fx_xstat(fx->port[1], "rx_q0_refill_nombuf") > 0);
	assert_int_equal(fx_xstat(fx->port[1], "rx_q0_refill_nombuf"),
			 fx_xstat(fx->port[1], "rx_mbuf_allocation_errors"));
	rte_pktmbuf_free_bulk(held, nb);
}

FX_TEST(test_copies)
{
	struct fx_config config = {
		.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
			       RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
	};
	uint8_t bytes[400];
	struct rte_mbuf *m, *clone;

	fx_start(fx, &config);
	fx_frame_bytes(bytes, sizeof(bytes), 1);
	m = fx_chain(fx->pool, bytes, sizeof(bytes), 10);
	fx_send(fx->port[0], 0, &m, 1);
	fx_expect_bytes(fx->port[1], 0, bytes, sizeof(bytes));
	assert_int_equal(fx_xstat(fx->port[0], "tx_linearized"), 1);

	m = fx_frame(fx->pool, FRAME, 2);
	m->l2_len = sizeof(struct rte_ether_hdr);
	m->l3_len = sizeof(struct rte_ipv4_hdr);
	m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
	clone = rte_pktmbuf_clone(m, fx->pool);
	assert_non_null(clone);
	fx_send(fx->port[0], 0, &clone, 1);
	rte_pktmbuf_free(m);
	rte_pktmbuf_free(fx_receive_one(fx->port[1], 0));
	assert_int_equal(fx_xstat(fx->port[0], "tx_bounced_headers"), 1);
	assert_int_equal(fx_xstat(fx->port[0], "tx_q0_linearized"), 1);
	assert_int_equal(fx_xstat(fx->port[0], "tx_q0_bounced_headers"), 1);
}

/* The ring has no room for many segments without the offload. */
FX_TEST(test_chains_without_offload)
{
	const struct fx_config config = { .tx_offloads = 0 };
	uint8_t bytes[400];
	struct rte_mbuf *m;
	unsigned int per_seg;

	fx_start(fx, &config);
	fx_frame_bytes(bytes, sizeof(bytes), 1);
	/* Two segments, four, one. */
	for (per_seg = 200; per_seg != 0;
	     per_seg = per_seg == 200 ? 100 : per_seg == 100 ? 400 : 0) {
		m = fx_chain(fx->pool, bytes, sizeof(bytes), per_seg);
		fx_send(fx->port[0], 0, &m, 1);
		fx_expect_bytes(fx->port[1], 0, bytes, sizeof(bytes));
	}
	assert_int_equal(fx_xstat(fx->port[0], "tx_linearized"), 1);
	assert_int_equal(fx_xstat(fx->port[0], "tx_drops"), 0);
}

/* Foreign memory is registered when it is first sent. */
FX_TEST(test_registrations)
{
	static struct rte_mbuf_ext_shared_info shinfo;
	uint64_t nb_registered, registration_ns, nb_misses, nb_gone;
	struct rte_mbuf *m = rte_pktmbuf_alloc(fx->pool);
	uint8_t *buf = aligned_alloc(4096, 4096);

	assert_non_null(m);
	assert_non_null(buf);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
	nb_registered = fx_xstat(fx->port[0], "mr_registrations");
	registration_ns = fx_xstat(fx->port[0], "mr_registration_ns");
	nb_misses = fx_xstat(fx->port[0], "tx_mr_misses");
	nb_gone = fx_xstat(fx->port[0], "mr_deregistrations");
	assert_true(nb_registered > 0);
	/* The setup has registered the pool of the Rx queue. */
	assert_int_equal(fx_xstat(fx->port[0], "rx_mr_misses"), 0);

	fx_frame_bytes(buf, FRAME, 3);
	shinfo.free_cb = (rte_mbuf_extbuf_free_callback_t)(uintptr_t)NULL;
	rte_mbuf_ext_refcnt_set(&shinfo, 2); /* never freed through the mbuf */
	rte_pktmbuf_attach_extbuf(m, buf, RTE_BAD_IOVA, 4096, &shinfo);
	m->data_off = 0;
	m->data_len = m->pkt_len = FRAME;
	fx_send(fx->port[0], 0, &m, 1);
	fx_expect_frames(fx, 3, 1);
	assert_int_equal(fx_xstat(fx->port[0], "mr_registrations"), nb_registered + 1);
	assert_true(registration_ns > 0);
	assert_true(fx_xstat(fx->port[0], "mr_registration_ns") > registration_ns);
	assert_int_equal(fx_xstat(fx->port[0], "tx_mr_misses"), nb_misses + 1);
	/* the port stop deregisters the memory */
	fx_stop(fx);
	assert_true(fx_xstat(fx->port[0], "mr_deregistrations") > nb_gone);
	free(buf);
}

/* Counts each RSS rebuild under traffic, and its duration. */
FX_TEST(test_rss_rebuilds)
{
	struct fx_config two = { .nb_rxq = 2, .rss_hf = FX_RSS };
	uint8_t key[40] = { 1, 2, 3 };
	struct rte_eth_rss_conf conf = {
		.rss_key = key, .rss_key_len = sizeof(key), .rss_hf = FX_RSS,
	};
	uint16_t port = fx->port[1];
	uint64_t first, both;

	fx_start(fx, &two);
	assert_int_equal(fx_xstat(port, "rx_outages"), 0);
	assert_int_equal(rte_eth_dev_rss_hash_update(port, &conf), 0);
	assert_int_equal(fx_xstat(port, "rx_outages"), 1);
	first = fx_xstat(port, "rx_outage_ns");
	assert_true(first > 0);
	assert_int_equal(fx_xstat(port, "rx_outage_max_ns"), first);
	key[0]++;
	assert_int_equal(rte_eth_dev_rss_hash_update(port, &conf), 0);
	assert_int_equal(fx_xstat(port, "rx_outages"), 2);
	both = fx_xstat(port, "rx_outage_ns");
	assert_int_equal(fx_xstat(port, "rx_outage_max_ns"), RTE_MAX(first, both - first));
	assert_int_equal(rte_eth_xstats_reset(port), 0);
	assert_int_equal(fx_xstat(port, "rx_outages") + fx_xstat(port, "rx_outage_ns") +
				 fx_xstat(port, "rx_outage_max_ns"),
			 0);
	fx_send_one(fx, 1);
	fx_drain(fx);
	assert_int_equal(fx_xstat(port, "rx_good_packets"), 1);
}

/* ---- Doorbells ------------------------------------------------------------------ */

FX_TEST(test_doorbells)
{
	struct rte_mbuf *pkts[FX_BURST];
	uint64_t nb_rq;

	fx_start(fx, &defaults);
	nb_rq = fx_xstat(fx->port[1], "rx_rq_doorbells");
	assert_int_equal(nb_rq, 1); /* at the start */
	/* one per burst that posts packets */
	for (unsigned int i = 0; i < 40; i++) {
		for (unsigned int k = 0; k < RTE_DIM(pkts); k++)
			pkts[k] = fx_frame(fx->pool, FRAME, k);
		fx_send(fx->port[0], 0, pkts, i % RTE_DIM(pkts) + 1);
		assert_int_equal(fx_receive(fx->port[1], 0, pkts,
					    i % RTE_DIM(pkts) + 1),
				 i % RTE_DIM(pkts) + 1);
		rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));
		assert_int_equal(rte_eth_tx_burst(fx->port[0], 0, pkts, 0), 0);
	}
	assert_true(fx_xstat(fx->port[0], "tx_sq_doorbells") >= 40);
	assert_int_equal(fx_xstat(fx->port[0], "tx_q0_sq_doorbells"),
			 fx_xstat(fx->port[0], "tx_sq_doorbells"));
	/*
	 * 564 packets: a refill per 32 to 96, a CQ doorbell per half of the CQEs: of 256, all that
	 * rdma-core 44 to 48 allow, or of up to 1024.
	 */
	assert_uint_in_range(fx_xstat(fx->port[1], "rx_rq_doorbells"), nb_rq + 5, nb_rq + 17);
	assert_uint_in_range(fx_xstat(fx->port[1], "rx_cq_doorbells"), 564 / 512, 564 / 128);
	/* the sender soon gets one CQE per burst */
	assert_int_equal(fx_xstat(fx->port[0], "tx_cq_doorbells"), 0);
}

/* ---- Many queues, new queues --------------------------------------------- */

/* Queues beyond the 16 of ethdev's statistics. */
FX_TEST(test_each_of_many_queues)
{
	struct fx_config config = {
		.nb_rxq = 32, .nb_txq = 32, .nb_rxd = 64, .nb_txd = 64,
		.rss_hf = FX_RSS,
	};
	uint64_t tx = 0, rx = 0, rx_bytes = 0;
	struct rte_eth_dev_info info;
	struct rte_mbuf *m;

	assert_int_equal(rte_eth_dev_info_get(fx->port[0], &info), 0);
	if (info.max_rx_queues < 32 || info.max_tx_queues < 32)
		skip();
	config.rx_pool = fx_pool(fx, 8191, RTE_MBUF_DEFAULT_BUF_SIZE);
	fx_start(fx, &config);
	for (uint16_t q = 0; q < 32; q++) {
		for (unsigned int i = 0; i <= q; i++) {
			m = fx_frame(fx->pool, FRAME, q * 32 + i);
			fx_send(fx->port[0], q, &m, 1);
		}
		fx_drain(fx);
	}
	for (unsigned int q = 0; q < 32; q++) {
		assert_int_equal(xstat_of_queue(fx->port[0], "tx", q, "packets"), q + 1);
		assert_int_equal(xstat_of_queue(fx->port[0], "tx", q, "bytes"),
				 (q + 1) * FRAME);
		tx += xstat_of_queue(fx->port[0], "tx", q, "packets");
		rx += xstat_of_queue(fx->port[1], "rx", q, "packets");
		rx_bytes += xstat_of_queue(fx->port[1], "rx", q, "bytes");
	}
	assert_int_equal(tx, fx_xstat(fx->port[0], "tx_good_packets"));
	assert_int_equal(rx, fx_xstat(fx->port[1], "rx_good_packets"));
	assert_int_equal(rx_bytes, fx_xstat(fx->port[1], "rx_good_bytes"));
	assert_int_equal(rx, tx);
}

/* Stop, release and setup keep all counts. */
FX_TEST(test_queue_setup_keeps_counts)
{
	struct fx_config two = { .nb_rxq = 2, .nb_txq = 2, .rss_hf = FX_RSS };
	const struct fx_config *configs[] = { &two, &defaults, &two };
	uint64_t nb_sent = 0;

	for (unsigned int round = 0; round < RTE_DIM(configs); round++) {
		fx_start(fx, configs[round]);
		for (uint16_t q = 0; q < configs[round]->nb_txq || q == 0; q++) {
			struct rte_mbuf *m = fx_frame(fx->pool, FRAME, q);

			fx_send(fx->port[0], q, &m, 1);
			nb_sent++;
		}
		fx_drain(fx);
		assert_int_equal(fx_xstat(fx->port[0], "tx_q0_packets"), round + 1);
		assert_int_equal(fx_xstat(fx->port[0], "tx_good_packets"), nb_sent);
		assert_int_equal(fx_xstat(fx->port[1], "rx_good_packets"), nb_sent);
		assert_int_equal(fx_xstat(fx->port[0], "tx_good_bytes"), nb_sent * FRAME);
		fx_stop(fx);
	}
	/* queue 1 did not exist meanwhile */
	assert_int_equal(fx_xstat(fx->port[0], "tx_q1_packets"), 2);
	assert_int_equal(fx_xstat(fx->port[1], "rx_q0_packets") +
			 fx_xstat(fx->port[1], "rx_q1_packets"), nb_sent);
}

static void
check_all_zero(uint16_t port)
{
	struct rte_eth_xstat xstats[RTE_DIM(names_of_one)];

	assert_int_equal(rte_eth_xstats_get(port, xstats, RTE_DIM(xstats)),
			 RTE_DIM(xstats));
	for (unsigned int i = 0; i < RTE_DIM(xstats); i++)
		if (xstats[i].value != 0)
			fail_msg("%s is %" PRIu64 " after a reset", names_of_one[i],
				 xstats[i].value);
}

/* Resets of an existing and a released queue, by both functions. */
FX_TEST(test_reset)
{
	fx->ignore_counters = true;
	for (unsigned int round = 0; round < 2; round++) {
		int (*reset)(uint16_t) = round == 0 ? rte_eth_xstats_reset :
						      rte_eth_stats_reset;

		for (unsigned int i = 0; i < 2; i++) {
			fx_start(fx, &defaults);
			fx_pass_one(fx);
			if (i == 0)
				fx_stop(fx);
		}
		assert_int_equal(fx_xstat(fx->port[0], "tx_q0_packets"), 2);
		assert_int_equal(reset(fx->port[0]), 0);
		check_all_zero(fx->port[0]);
		assert_int_equal(fx_xstat(fx->port[1], "tx_q0_packets"), 2);
		fx_pass_one(fx);
		assert_int_equal(fx_xstat(fx->port[0], "tx_good_packets"), 1);
		assert_int_equal(fx_xstat(fx->port[0], "rx_q0_packets"), 1);
		assert_int_equal(fx_xstat(fx->port[0], "tx_sq_doorbells"), 1);
		fx_stop(fx);
		assert_int_equal(rte_eth_xstats_reset(fx->port[0]), 0);
		check_all_zero(fx->port[0]);
		assert_int_equal(rte_eth_xstats_reset(fx->port[1]), 0);
	}
}

int
main(void)
{
	/* failed queues stay as they are */
	fx_devargs = "recovery_timeout=0";
	return FX_RUN("xstats");
}
