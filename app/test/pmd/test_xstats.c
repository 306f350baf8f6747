/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Extended statistics: their names, that each counts what it says, and that
 * together they account for every packet of the wire.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_malloc.h>

#include "bench.h"

#define FRAME 100
#define NB_ETHDEV 8 /* ethdev's own, before ours */

static const struct bench_config plain;

/* Those of a port with one queue of each direction, in this order. */
static const char *const names_of_one[] = {
	"rx_good_packets", "tx_good_packets", "rx_good_bytes", "tx_good_bytes",
	"rx_missed_errors", "rx_errors", "tx_errors",
	"rx_mbuf_allocation_errors",
	"rx_cqe_truncated", "rx_cqe_oversize", "rx_cqe_zero_length",
	"rx_cqe_fence", "rx_cqe_unknown", "rx_cqe_foreign", "rx_cqe_spurious",
	"rx_cqe_overrun", "rx_drop_stopped", "rx_ring_empty",
	"rx_refill_mr_failures",
	"rx_rq_doorbells", "rx_cq_doorbells", "rx_mr_misses",
	"tx_cqe_errors", "tx_cqe_sa_drop", "tx_cqe_mtu_drop",
	"tx_cqe_invalid_oob", "tx_cqe_invalid_eth_type",
	"tx_cqe_hdr_processing_error", "tx_cqe_vf_disabled",
	"tx_cqe_vport_idx_out_of_range", "tx_cqe_vport_disabled",
	"tx_cqe_vlan_tagging_violation", "tx_cqe_gdma_err", "tx_cqe_unknown",
	"tx_cqe_foreign", "tx_cqe_spurious", "tx_cqe_overrun",
	"tx_cqe_position", "tx_unfinished",
	"tx_drops",
	"tx_drop_offload", "tx_drop_malformed", "tx_drop_nomem", "tx_drop_mr",
	"tx_linearized", "tx_bounced_headers", "tx_sq_doorbells",
	"tx_cq_doorbells", "tx_mr_misses",
	"mr_registrations", "mr_deregistrations", "resets",
	"rss_gaps", "rss_gap_ns", "rss_gap_max_ns",
	"rx_q0_packets", "rx_q0_bytes", "rx_q0_errors",
	"rx_q0_cqe_truncated", "rx_q0_cqe_oversize", "rx_q0_drop_stopped", "rx_q0_ring_empty",
	"rx_q0_refill_nombuf", "rx_q0_refill_mr_failures", "rx_q0_rq_doorbells",
	"rx_q0_cq_doorbells",
	"tx_q0_packets", "tx_q0_bytes", "tx_q0_errors", "tx_q0_cqe_errors",
	"tx_q0_unfinished", "tx_q0_drops", "tx_q0_linearized", "tx_q0_bounced_headers",
	"tx_q0_sq_doorbells", "tx_q0_cq_doorbells",
};

/* One counter by name; there is such a name. */
static uint64_t
xstat(uint16_t port, const char *name)
{
	uint64_t id, value;

	if (rte_eth_xstats_get_id_by_name(port, name, &id) != 0)
		fail_msg("port %u has no xstat %s", port, name);
	assert_int_equal(rte_eth_xstats_get_by_id(port, &id, &value, 1), 1);
	return value;
}

/* The same of a queue: "tx", 17, "packets". */
static uint64_t
xstat_of_queue(uint16_t port, const char *side, unsigned int queue, const char *what)
{
	char name[RTE_ETH_XSTATS_NAME_SIZE];

	snprintf(name, sizeof(name), "%s_q%u_%s", side, queue, what);
	return xstat(port, name);
}

/* Looks at completions of queue 0 until the counter has this value. */
static void
await_tx(const struct bench *bench, const char *name, uint64_t wanted)
{
	uint64_t end = bench_deadline();

	while (xstat(bench->port[0], name) != wanted && rte_get_timer_cycles() < end)
		rte_eth_tx_done_cleanup(bench->port[0], 0, 0);
	assert_int_equal(xstat(bench->port[0], name), wanted);
}

static void
send_one(const struct bench *bench, uint32_t seed)
{
	struct rte_mbuf *m = bench_frame(bench->pool, FRAME, seed);

	bench_send(bench->port[0], 0, &m, 1);
}

/* The next frames that arrive at port 1 are these. */
static void
expect(const struct bench *bench, uint32_t seed, unsigned int nb)
{
	uint8_t bytes[FRAME];
	struct rte_mbuf *m;

	for (unsigned int i = 0; i < nb; i++) {
		assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
		bench_frame_bytes(bytes, FRAME, seed + i);
		bench_check_bytes(m, bytes, FRAME);
		rte_pktmbuf_free(m);
	}
}

/* ---- Names and numbers ---------------------------------------------------- */

static void
test_names(void **state)
{
	struct bench *bench = *state;
	struct rte_eth_xstat_name names[RTE_DIM(names_of_one)];

	assert_int_equal(bench_configure(bench, bench->port[0], &plain), 0);
	assert_int_equal(rte_eth_xstats_get_names(bench->port[0], NULL, 0),
			 RTE_DIM(names));
	assert_int_equal(rte_eth_xstats_get_names(bench->port[0], names, RTE_DIM(names)),
			 RTE_DIM(names));
	for (unsigned int i = 0; i < RTE_DIM(names); i++) {
		assert_string_equal(names[i].name, names_of_one[i]);
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(names[i].name, names[j].name);
	}
}

/* Before there are queues, after they have gone, with unequal numbers. */
static void
test_names_follow_the_queues(void **state)
{
	struct bench *bench = *state;
	struct bench_config uneven = { .nb_rxq = 4, .nb_txq = 3, .rss_hf = BENCH_RSS };
	const unsigned int nb_port = RTE_DIM(names_of_one) - 11 - 10;
	uint64_t id;

	assert_int_equal(rte_eth_xstats_get_names(bench->port[0], NULL, 0), nb_port);
	assert_int_equal(bench_configure(bench, bench->port[0], &uneven), 0);
	assert_int_equal(rte_eth_xstats_get_names(bench->port[0], NULL, 0),
			 nb_port + 4 * 11 + 3 * 10);
	assert_int_equal(xstat(bench->port[0], "rx_q3_packets"), 0);
	assert_int_equal(xstat(bench->port[0], "tx_q2_packets"), 0);
	assert_int_not_equal(rte_eth_xstats_get_id_by_name(bench->port[0],
							   "tx_q3_packets", &id), 0);
	assert_int_equal(bench_configure(bench, bench->port[0], &plain), 0);
	assert_int_equal(rte_eth_xstats_get_names(bench->port[0], NULL, 0),
			 RTE_DIM(names_of_one));
}

/* The four ways to ask agree; a table that is too small is left alone. */
static void
test_all_and_by_id(void **state)
{
	struct bench *bench = *state;
	uint16_t port = bench->port[0];
	struct rte_eth_xstat xstats[RTE_DIM(names_of_one)];
	struct rte_eth_xstat_name name;
	const unsigned int nb = RTE_DIM(xstats);
	uint64_t ids[2], values[2];

	bench_start(bench, &plain);
	bench_pass_one(bench);
	assert_int_equal(rte_eth_xstats_get(port, NULL, 0), nb);
	memset(xstats, 0xee, sizeof(xstats));
	assert_int_equal(rte_eth_xstats_get(port, xstats, nb - 1), nb);
	assert_int_equal(xstats[NB_ETHDEV].id, 0xeeeeeeeeeeeeeeee);
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
	bench_expect_error("");
	assert_true(rte_eth_xstats_get_by_id(port, ids, values, 1) < 0);
	assert_true(rte_eth_xstats_get_names_by_id(port, &name, 1, ids) < 0);
	assert_int_equal(xstat(port, "tx_good_packets"), 1);
	assert_int_equal(xstat(port, "tx_q0_packets"), 1);
	assert_int_equal(xstat(port, "rx_q0_packets"), 1);
}

/* ---- What the device reports ------------------------------------------------- */

/* Each reason to refuse a packet has its counter, and adds to oerrors. */
static void
test_tx_errors(void **state)
{
	struct bench *bench = *state;
	static const char *const reasons[] = {
		"tx_cqe_sa_drop", "tx_cqe_mtu_drop", "tx_cqe_invalid_oob",
		"tx_cqe_invalid_eth_type", "tx_cqe_hdr_processing_error",
		"tx_cqe_vf_disabled", "tx_cqe_vport_idx_out_of_range",
		"tx_cqe_vport_disabled", "tx_cqe_vlan_tagging_violation",
		"tx_cqe_gdma_err", /* the last: the queue is dead then */
	};
	struct mana_model_port wire;
	char command[64];

	bench_start(bench, &plain);
	for (unsigned int i = 0; i < RTE_DIM(reasons); i++) {
		snprintf(command, sizeof(command), "cqe port=1 tx type=%u", 33 + i);
		send_one(bench, 1);
		expect(bench, 1, 1);
		bench_tell(command);
		send_one(bench, 2);
		bench->refused_bytes[0] += FRAME;
		await_tx(bench, reasons[i], 1);
		assert_int_equal(xstat(bench->port[0], "tx_cqe_errors"), i + 1);
		assert_int_equal(xstat(bench->port[0], "tx_q0_cqe_errors"), i + 1);
		assert_int_equal(xstat(bench->port[0], "tx_q0_errors"), i + 1);
		assert_int_equal(xstat(bench->port[0], "tx_errors"), i + 1);
	}
	assert_int_equal(xstat(bench->port[0], "tx_drops"), 0);
	/* opackets less errors is what went out */
	wire = bench_wire(bench, 0);
	assert_int_equal(wire.tx_errors, RTE_DIM(reasons));
	assert_int_equal(xstat(bench->port[0], "tx_good_packets"),
			 wire.tx_packets + RTE_DIM(reasons));
	/* a new queue goes on counting */
	bench_stop(bench);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	bench_pass_one(bench);
	assert_int_equal(xstat(bench->port[0], "tx_cqe_errors"), RTE_DIM(reasons));
	assert_int_equal(xstat(bench->port[0], "tx_q0_packets"),
			 wire.tx_packets + RTE_DIM(reasons) + 1);
}

/* Completions that the driver can make nothing of. */
static void
test_tx_odd_completions(void **state)
{
	struct bench *bench = *state;

	bench_start(bench, &plain);
	bench_tell("bogus port=1 tx what=wrong-queue");
	send_one(bench, 1);
	send_one(bench, 2);
	await_tx(bench, "tx_cqe_foreign", 1);
	bench_tell("bogus port=1 tx what=spurious");
	send_one(bench, 3);
	await_tx(bench, "tx_cqe_spurious", 1);
	assert_int_equal(xstat(bench->port[0], "tx_errors"), 0);
	bench_tell("bogus port=1 tx what=type type=50");
	send_one(bench, 4);
	await_tx(bench, "tx_cqe_unknown", 1);
	assert_int_equal(xstat(bench->port[0], "tx_errors"), 1);
	expect(bench, 1, 4);
}

/* What a disabled queue still has when it is stopped was not sent. */
static void
test_tx_unfinished(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *pkts[20];
	struct mana_model_port wire;

	bench->ignore_counters = true; /* the wire's are compared here */
	bench_start(bench, &plain);
	for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
		pkts[i] = bench_frame(bench->pool, FRAME, i);
	bench_tell("cqe port=1 tx type=42 packet=6");
	bench_send(bench->port[0], 0, pkts, RTE_DIM(pkts));
	await_tx(bench, "tx_cqe_gdma_err", 1);
	expect(bench, 0, 5);
	assert_int_equal(xstat(bench->port[0], "tx_unfinished"), 0);
	bench_stop(bench);
	wire = bench_wire(bench, 0);
	assert_int_equal(wire.tx_packets, 5);
	assert_int_equal(xstat(bench->port[0], "tx_good_packets"), RTE_DIM(pkts));
	assert_int_equal(xstat(bench->port[0], "tx_unfinished"), RTE_DIM(pkts) - 6);
	assert_int_equal(xstat(bench->port[0], "tx_q0_unfinished"), RTE_DIM(pkts) - 6);
	assert_int_equal(xstat(bench->port[0], "tx_errors"), RTE_DIM(pkts) - 5);
	assert_int_equal(xstat(bench->port[0], "tx_drops"), 0);
}

/* Packets taken that are not posted: the driver's own reasons. */
static void
test_tx_drops(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *m;

	bench_start(bench, &plain);
	m = bench_frame(bench->pool, FRAME, 1);
	m->ol_flags |= RTE_MBUF_F_TX_UDP_SEG;
	bench_send(bench->port[0], 0, &m, 1);
	m = bench_frame(bench->pool, FRAME, 1);
	m->data_len = m->pkt_len = 13;
	bench_send(bench->port[0], 0, &m, 1);
	send_one(bench, 5);
	expect(bench, 5, 1);
	assert_int_equal(xstat(bench->port[0], "tx_drop_offload"), 1);
	assert_int_equal(xstat(bench->port[0], "tx_drop_malformed"), 1);
	assert_int_equal(xstat(bench->port[0], "tx_drops"), 2);
	assert_int_equal(xstat(bench->port[0], "tx_q0_drops"), 2);
	assert_int_equal(xstat(bench->port[0], "tx_errors"), 2);
	assert_int_equal(xstat(bench->port[0], "tx_cqe_errors"), 0);
	assert_int_equal(xstat(bench->port[0], "tx_good_packets"), 1);
}

/* A fault in the coming packet; it is lost, or the completion is one too many. */
static const struct {
	const char *command;
	const char *counter;
	bool is_lost; /* the packet itself, and with it a buffer */
	bool is_error;
} rx_faults[] = {
	{ "truncate port=2 bytes=20", "rx_cqe_truncated", true, true },
	{ "bogus port=2 rx what=long", "rx_cqe_oversize", true, true },
	{ "bogus port=2 rx what=zero", "rx_cqe_zero_length", false, true },
	{ "bogus port=2 rx what=wrong-queue", "rx_cqe_foreign", false, false },
	/* once is forgiven */
	{ "bogus port=2 rx what=type type=20 extra", "rx_cqe_unknown", false, true },
};

static void
test_rx_faults(void **state)
{
	struct bench *bench = *state;
	unsigned int nb_lost = 0, nb_errors = 0;
	struct mana_model_port wire;

	bench->ignore_counters = true; /* the wire's are compared here */
	bench_start(bench, &plain);
	for (unsigned int i = 0; i < RTE_DIM(rx_faults); i++) {
		bench_tell(rx_faults[i].command);
		send_one(bench, 1);
		send_one(bench, 2);
		if (rx_faults[i].is_lost)
			expect(bench, 2, 1);
		else
			expect(bench, 1, 2);
		nb_lost += rx_faults[i].is_lost;
		nb_errors += rx_faults[i].is_error;
		assert_int_equal(xstat(bench->port[1], rx_faults[i].counter), 1);
		assert_int_equal(xstat(bench->port[1], "rx_errors"), nb_errors);
		assert_int_equal(xstat(bench->port[1], "rx_q0_errors"), nb_errors);
	}
	bench_tell("fence port=2 queue=0");
	send_one(bench, 3);
	expect(bench, 3, 1);
	assert_int_equal(xstat(bench->port[1], "rx_cqe_fence"), 1);
	assert_int_equal(xstat(bench->port[1], "rx_errors"), nb_errors);
	/* ipackets and the named drops are what came in */
	wire = bench_wire(bench, 1);
	assert_int_equal(wire.rx_packets + wire.rx_truncated,
			 xstat(bench->port[1], "rx_good_packets") + nb_lost);
	assert_int_equal(wire.rx_packets + wire.rx_truncated,
			 xstat(bench->port[1], "rx_q0_packets") +
				 xstat(bench->port[1], "rx_q0_cqe_truncated") +
				 xstat(bench->port[1], "rx_q0_cqe_oversize"));
}

/*
 * A completion of unknown type in the place of a packet's own: whether it takes
 * a buffer is unsure, so none may be handed out that the device still fills.
 * When it happens again, nothing more is delivered.
 */
static void
test_rx_unknown_type(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *first, *later[2];
	uint8_t bytes[FRAME];

	bench->ignore_counters = true; /* the wire's count what was lost */
	bench_start(bench, &plain);
	bench_tell("bogus port=2 rx what=type type=20");
	send_one(bench, 1);
	send_one(bench, 2);
	assert_int_equal(bench_receive(bench->port[1], 0, &first, 1), 1);
	assert_int_equal(rte_pktmbuf_pkt_len(first), FRAME);
	assert_int_equal(xstat(bench->port[1], "rx_cqe_unknown"), 1);
	memcpy(bytes, rte_pktmbuf_mtod(first, void *), FRAME);
	send_one(bench, 3);
	send_one(bench, 4);
	assert_int_equal(bench_receive(bench->port[1], 0, later, 2), 2);
	bench_check_bytes(first, bytes, FRAME);
	rte_pktmbuf_free(first);
	rte_pktmbuf_free_bulk(later, RTE_DIM(later));
	bench_tell("bogus port=2 rx what=type type=20");
	send_one(bench, 5);
	send_one(bench, 6);
	bench_settle(bench);
	assert_int_equal(rte_eth_rx_burst(bench->port[1], 0, later, 2), 0);
	assert_int_equal(rte_eth_rx_burst(bench->port[1], 0, later, 2), 0);
	assert_int_equal(xstat(bench->port[1], "rx_cqe_unknown"), 2);
	/* A restart helps. */
	bench_stop(bench);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	bench_pass_one(bench);
}

/* ---- Buffers ------------------------------------------------------------------ */

/* Until as many frames have come to port 1, or found no buffer there. */
static void
wait_come(const struct bench *bench, uint64_t nb)
{
	uint64_t end = bench_deadline();
	struct mana_model_port wire;

	do {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(100);
		wire = bench_wire(bench, 1);
	} while (wire.rx_packets + wire.rx_no_wqe < nb);
}

/* Nobody polls: the device uses up its buffers, once each time. */
static void
test_ring_empty(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxd = 64 };
	struct rte_eth_stats stats;

	bench_start(bench, &config);
	for (unsigned int round = 1; round <= 3; round++) {
		/* what is always posted (it is refilled by 32), then more than all */
		for (unsigned int i = 0; i < 32; i++)
			send_one(bench, i);
		bench_drain(bench);
		assert_int_equal(xstat(bench->port[1], "rx_ring_empty"), round - 1);
		for (unsigned int i = 0; i < 70; i++)
			send_one(bench, i);
		wait_come(bench, round * (32 + 70));
		bench_drain(bench);
		assert_int_equal(xstat(bench->port[1], "rx_ring_empty"), round);
		assert_int_equal(xstat(bench->port[1], "rx_q0_ring_empty"), round);
	}
	assert_true(bench_wire(bench, 1).rx_no_wqe > 0);
	/* user space cannot see what the device had no buffer for */
	assert_int_equal(rte_eth_stats_get(bench->port[1], &stats), 0);
	assert_int_equal(stats.imissed + stats.ierrors, 0);
}

/* The application holds all buffers of the pool. */
static void
test_refill_without_mbufs(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxd = 64 };
	struct rte_mbuf *held[80];
	unsigned int nb = 0;

	config.rx_pool = bench_pool(bench, 2 * 64 + 15, RTE_MBUF_DEFAULT_BUF_SIZE);
	bench_start(bench, &config);
	for (unsigned int i = 0; i < RTE_DIM(held); i++)
		send_one(bench, i);
	bench_settle(bench);
	while (nb < RTE_DIM(held)) {
		uint16_t got = rte_eth_rx_burst(bench->port[1], 0, held + nb,
						RTE_DIM(held) - nb);

		if (got == 0)
			break;
		nb += got;
	}
	assert_true(nb >= 63);
	assert_true(xstat(bench->port[1], "rx_q0_refill_nombuf") > 0);
	assert_int_equal(xstat(bench->port[1], "rx_q0_refill_nombuf"),
			 xstat(bench->port[1], "rx_mbuf_allocation_errors"));
	rte_pktmbuf_free_bulk(held, nb);
}

static void
test_copies(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = {
		.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
			       RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
	};
	uint8_t bytes[400];
	struct rte_mbuf *m, *clone;

	bench_start(bench, &config);
	bench_frame_bytes(bytes, sizeof(bytes), 1);
	m = bench_chain(bench->pool, bytes, sizeof(bytes), 10);
	bench_send(bench->port[0], 0, &m, 1);
	assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
	bench_check_bytes(m, bytes, sizeof(bytes));
	rte_pktmbuf_free(m);
	assert_int_equal(xstat(bench->port[0], "tx_linearized"), 1);

	m = bench_frame(bench->pool, FRAME, 2);
	m->l2_len = sizeof(struct rte_ether_hdr);
	m->l3_len = sizeof(struct rte_ipv4_hdr);
	m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
	clone = rte_pktmbuf_clone(m, bench->pool);
	assert_non_null(clone);
	bench_send(bench->port[0], 0, &clone, 1);
	rte_pktmbuf_free(m);
	assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
	rte_pktmbuf_free(m);
	assert_int_equal(xstat(bench->port[0], "tx_bounced_headers"), 1);
	assert_int_equal(xstat(bench->port[0], "tx_q0_linearized"), 1);
	assert_int_equal(xstat(bench->port[0], "tx_q0_bounced_headers"), 1);
}

/* Chains are not to be expected: the ring has no room for many segments. */
static void
test_chains_without_offload(void **state)
{
	struct bench *bench = *state;
	const struct bench_config config = { .tx_offloads = 0 };
	uint8_t bytes[400];
	struct rte_mbuf *m;
	unsigned int per_seg;

	bench_start(bench, &config);
	bench_frame_bytes(bytes, sizeof(bytes), 1);
	/* Two segments, four, one. */
	for (per_seg = 200; per_seg != 0;
	     per_seg = per_seg == 200 ? 100 : per_seg == 100 ? 400 : 0) {
		m = bench_chain(bench->pool, bytes, sizeof(bytes), per_seg);
		bench_send(bench->port[0], 0, &m, 1);
		assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
		bench_check_bytes(m, bytes, sizeof(bytes));
		rte_pktmbuf_free(m);
	}
	assert_int_equal(xstat(bench->port[0], "tx_linearized"), 1);
	assert_int_equal(xstat(bench->port[0], "tx_drops"), 0);
}

/* Memory that nobody has announced is registered when it is first sent. */
static void
test_registrations(void **state)
{
	struct bench *bench = *state;
	static struct rte_mbuf_ext_shared_info shinfo;
	uint64_t nb_registered, nb_misses, nb_gone;
	struct rte_mbuf *m = rte_pktmbuf_alloc(bench->pool);
	uint8_t *buf = aligned_alloc(4096, 4096);

	assert_non_null(m);
	assert_non_null(buf);
	bench_start(bench, &plain);
	bench_pass_one(bench);
	nb_registered = xstat(bench->port[0], "mr_registrations");
	nb_misses = xstat(bench->port[0], "tx_mr_misses");
	nb_gone = xstat(bench->port[0], "mr_deregistrations");
	assert_true(nb_registered > 0);
	assert_true(xstat(bench->port[0], "rx_mr_misses") > 0);

	bench_frame_bytes(buf, FRAME, 3);
	shinfo.free_cb = (rte_mbuf_extbuf_free_callback_t)(uintptr_t)NULL;
	rte_mbuf_ext_refcnt_set(&shinfo, 2); /* never freed through the mbuf */
	rte_pktmbuf_attach_extbuf(m, buf, RTE_BAD_IOVA, 4096, &shinfo);
	m->data_off = 0;
	m->data_len = m->pkt_len = FRAME;
	bench_send(bench->port[0], 0, &m, 1);
	expect(bench, 3, 1);
	assert_int_equal(xstat(bench->port[0], "mr_registrations"), nb_registered + 1);
	assert_int_equal(xstat(bench->port[0], "tx_mr_misses"), nb_misses + 1);
	/* that memory is forgotten when the port stops */
	bench_stop(bench);
	assert_true(xstat(bench->port[0], "mr_deregistrations") > nb_gone);
	free(buf);
}

/* Each change of RSS under traffic, and how long it took. */
static void
test_rss_gaps(void **state)
{
	struct bench *bench = *state;
	struct bench_config two = { .nb_rxq = 2, .rss_hf = BENCH_RSS };
	uint8_t key[40] = { 1, 2, 3 };
	struct rte_eth_rss_conf conf = {
		.rss_key = key, .rss_key_len = sizeof(key), .rss_hf = BENCH_RSS,
	};
	uint16_t port = bench->port[1];
	uint64_t first, both;

	bench_start(bench, &two);
	assert_int_equal(xstat(port, "rss_gaps"), 0);
	assert_int_equal(rte_eth_dev_rss_hash_update(port, &conf), 0);
	assert_int_equal(xstat(port, "rss_gaps"), 1);
	first = xstat(port, "rss_gap_ns");
	assert_true(first > 0);
	assert_int_equal(xstat(port, "rss_gap_max_ns"), first);
	key[0]++;
	assert_int_equal(rte_eth_dev_rss_hash_update(port, &conf), 0);
	assert_int_equal(xstat(port, "rss_gaps"), 2);
	both = xstat(port, "rss_gap_ns");
	assert_int_equal(xstat(port, "rss_gap_max_ns"), RTE_MAX(first, both - first));
	assert_int_equal(rte_eth_xstats_reset(port), 0);
	assert_int_equal(xstat(port, "rss_gaps") + xstat(port, "rss_gap_ns") +
				 xstat(port, "rss_gap_max_ns"),
			 0);
	send_one(bench, 1);
	bench_drain(bench);
	assert_int_equal(xstat(port, "rx_good_packets"), 1);
}

/* ---- Doorbells ------------------------------------------------------------------ */

static void
test_doorbells(void **state)
{
	struct bench *bench = *state;
	struct rte_mbuf *pkts[BENCH_BURST];
	uint64_t nb_rq;

	bench_start(bench, &plain);
	nb_rq = xstat(bench->port[1], "rx_rq_doorbells");
	assert_int_equal(nb_rq, 1); /* the start's */
	/* one for each burst that posts something, and none for others */
	for (unsigned int i = 0; i < 20; i++) {
		for (unsigned int k = 0; k < RTE_DIM(pkts); k++)
			pkts[k] = bench_frame(bench->pool, FRAME, k);
		bench_send(bench->port[0], 0, pkts, i % RTE_DIM(pkts) + 1);
		assert_int_equal(bench_receive(bench->port[1], 0, pkts,
					       i % RTE_DIM(pkts) + 1),
				 i % RTE_DIM(pkts) + 1);
		rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));
		assert_int_equal(rte_eth_tx_burst(bench->port[0], 0, pkts, 0), 0);
	}
	assert_true(xstat(bench->port[0], "tx_sq_doorbells") >= 20);
	assert_int_equal(xstat(bench->port[0], "tx_q0_sq_doorbells"),
			 xstat(bench->port[0], "tx_sq_doorbells"));
	/* 210 packets: refilled at each 32, and each 128 CQEs of 256 are told */
	assert_in_range(xstat(bench->port[1], "rx_rq_doorbells"), nb_rq + 3, nb_rq + 6);
	assert_int_equal(xstat(bench->port[1], "rx_cq_doorbells"), 1);
	/* the sender gets but one CQE a burst soon */
	assert_int_equal(xstat(bench->port[0], "tx_cq_doorbells"), 0);
}

/* ---- Many queues, many lives ------------------------------------------------- */

/* Per queue beyond the 16 that ethdev's own statistics know. */
static void
test_each_of_many_queues(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = {
		.nb_rxq = 32, .nb_txq = 32, .nb_rxd = 64, .nb_txd = 64,
		.rss_hf = BENCH_RSS,
	};
	uint64_t tx = 0, rx = 0, rx_bytes = 0;
	struct rte_eth_dev_info info;
	struct rte_mbuf *m;

	assert_int_equal(rte_eth_dev_info_get(bench->port[0], &info), 0);
	if (info.max_rx_queues < 32 || info.max_tx_queues < 32)
		skip();
	config.rx_pool = bench_pool(bench, 8191, RTE_MBUF_DEFAULT_BUF_SIZE);
	bench_start(bench, &config);
	for (uint16_t q = 0; q < 32; q++) {
		for (unsigned int i = 0; i <= q; i++) {
			m = bench_frame(bench->pool, FRAME, q * 32 + i);
			bench_send(bench->port[0], q, &m, 1);
		}
		bench_drain(bench);
	}
	for (unsigned int q = 0; q < 32; q++) {
		assert_int_equal(xstat_of_queue(bench->port[0], "tx", q, "packets"), q + 1);
		assert_int_equal(xstat_of_queue(bench->port[0], "tx", q, "bytes"),
				 (q + 1) * FRAME);
		tx += xstat_of_queue(bench->port[0], "tx", q, "packets");
		rx += xstat_of_queue(bench->port[1], "rx", q, "packets");
		rx_bytes += xstat_of_queue(bench->port[1], "rx", q, "bytes");
	}
	assert_int_equal(tx, xstat(bench->port[0], "tx_good_packets"));
	assert_int_equal(rx, xstat(bench->port[1], "rx_good_packets"));
	assert_int_equal(rx_bytes, xstat(bench->port[1], "rx_good_bytes"));
	assert_int_equal(rx, tx);
}

/* Stopping, releasing and setting up anew lose nothing. */
static void
test_through_new_queues(void **state)
{
	struct bench *bench = *state;
	struct bench_config two = { .nb_rxq = 2, .nb_txq = 2, .rss_hf = BENCH_RSS };
	const struct bench_config *configs[] = { &two, &plain, &two };
	uint64_t nb_sent = 0;

	for (unsigned int round = 0; round < RTE_DIM(configs); round++) {
		bench_start(bench, configs[round]);
		for (uint16_t q = 0; q < configs[round]->nb_txq || q == 0; q++) {
			struct rte_mbuf *m = bench_frame(bench->pool, FRAME, q);

			bench_send(bench->port[0], q, &m, 1);
			nb_sent++;
		}
		bench_drain(bench);
		assert_int_equal(xstat(bench->port[0], "tx_q0_packets"), round + 1);
		assert_int_equal(xstat(bench->port[0], "tx_good_packets"), nb_sent);
		assert_int_equal(xstat(bench->port[1], "rx_good_packets"), nb_sent);
		assert_int_equal(xstat(bench->port[0], "tx_good_bytes"), nb_sent * FRAME);
		bench_stop(bench);
	}
	/* queue 1 was away in between */
	assert_int_equal(xstat(bench->port[0], "tx_q1_packets"), 2);
	assert_int_equal(xstat(bench->port[1], "rx_q0_packets") +
			 xstat(bench->port[1], "rx_q1_packets"), nb_sent);
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

/* Of a running queue and of one that has gone, by either function. */
static void
test_reset(void **state)
{
	struct bench *bench = *state;

	bench->ignore_counters = true;
	for (unsigned int round = 0; round < 2; round++) {
		int (*reset)(uint16_t) = round == 0 ? rte_eth_xstats_reset :
						      rte_eth_stats_reset;

		for (unsigned int i = 0; i < 2; i++) {
			bench_start(bench, &plain);
			bench_pass_one(bench);
			if (i == 0)
				bench_stop(bench);
		}
		assert_int_equal(xstat(bench->port[0], "tx_q0_packets"), 2);
		assert_int_equal(reset(bench->port[0]), 0);
		check_all_zero(bench->port[0]);
		assert_int_equal(xstat(bench->port[1], "tx_q0_packets"), 2);
		bench_pass_one(bench);
		assert_int_equal(xstat(bench->port[0], "tx_good_packets"), 1);
		assert_int_equal(xstat(bench->port[0], "rx_q0_packets"), 1);
		assert_int_equal(xstat(bench->port[0], "tx_sq_doorbells"), 1);
		bench_stop(bench);
		assert_int_equal(rte_eth_xstats_reset(bench->port[0]), 0);
		check_all_zero(bench->port[0]);
		assert_int_equal(rte_eth_xstats_reset(bench->port[1]), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_names),
		BENCH_TEST(test_names_follow_the_queues),
		BENCH_TEST(test_all_and_by_id),
		BENCH_TEST(test_tx_errors),
		BENCH_TEST(test_tx_odd_completions),
		BENCH_TEST(test_tx_unfinished),
		BENCH_TEST(test_tx_drops),
		BENCH_TEST(test_rx_faults),
		BENCH_TEST(test_rx_unknown_type),
		BENCH_TEST(test_ring_empty),
		BENCH_TEST(test_refill_without_mbufs),
		BENCH_TEST(test_copies),
		BENCH_TEST(test_chains_without_offload),
		BENCH_TEST(test_registrations),
		BENCH_TEST(test_rss_gaps),
		BENCH_TEST(test_doorbells),
		BENCH_TEST(test_each_of_many_queues),
		BENCH_TEST(test_through_new_queues),
		BENCH_TEST(test_reset),
	};

	return BENCH_RUN("xstats", tests);
}
