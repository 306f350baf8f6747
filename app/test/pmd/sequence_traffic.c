/* SPDX-License-Identifier: BSD-3-Clause */

/* Traffic between the ports, and model commands. */

#include <inttypes.h>
#include <stdio.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "sequence.h"

#define MIN_FRAME_BYTES 60u
#define MAX_FRAME_BYTES 1514u
/* Part of the seed in the source port of fx_frame_bytes(). */
#define FRAME_SEEDS 0x3fff
#define FIRST_PORT 1024

/* The model rejects stalling a queue that does not exist. */
static int __attribute__((format(printf, 3, 4)))
try_command(char *message, size_t message_bytes, const char *format, ...)
{
	char line[128];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	return fx_model.command(line, message, message_bytes);
}

#define COMMAND(...)                                                      \
	do {                                                               \
		char message[256] = "";                                    \
		if (try_command(message, sizeof(message), __VA_ARGS__) != 0) \
			fail_msg("%s", message);                            \
	} while (0)

static void
stall(unsigned int index, const char *side)
{
	char message[256];

	(void)try_command(message, sizeof(message), "stall port=%u %s", index + 1, side);
}

static void
resume(unsigned int index)
{
	char message[256];

	(void)try_command(message, sizeof(message), "resume port=%u", index + 1);
}

/* ---- Receiving ---------------------------------------------------------------- */

/* The frame is complete and unchanged. */
static void
check_frame(const struct rte_mbuf *m)
{
	uint8_t expected[MAX_FRAME_BYTES];
	const struct rte_udp_hdr *udp;
	struct rte_udp_hdr in_pieces;

	assert_uint_in_range(m->pkt_len, MIN_FRAME_BYTES, MAX_FRAME_BYTES);
	udp = rte_pktmbuf_read(m, RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr),
			       sizeof(*udp), &in_pieces);
	fx_frame_bytes(expected, m->pkt_len,
		       rte_be_to_cpu_16(udp->src_port) - FIRST_PORT);
	fx_check_bytes(m, expected, m->pkt_len);
}

static unsigned int
receive(struct seq *seq, unsigned int index, uint16_t queue, unsigned int nb_max)
{
	struct seq_port *port = &seq->port[index];
	struct rte_mbuf *pkts[SEQ_MAX_BURST];
	uint16_t nb = rte_eth_rx_burst(seq->fx->port[index], queue, pkts, nb_max);

	for (uint16_t i = 0; i < nb; i++) {
		check_frame(pkts[i]);
		port->received_bytes += pkts[i]->pkt_len;
	}
	port->nb_received += nb;
	port->all_received += nb;
	rte_pktmbuf_free_bulk(pkts, nb);
	return nb;
}

static unsigned int
receive_once(struct seq *seq)
{
	unsigned int nb = 0;

	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		for (uint16_t q = 0; q < seq->port[i].nb_rxq; q++)
			if (seq->port[i].rxq[q].is_on)
				nb += receive(seq, i, q, SEQ_MAX_BURST);
	return nb;
}

/* Receives all packets of all queues and ports. */
static void
receive_all(struct seq *seq)
{
	while (receive_once(seq) != 0)
		;
}

/*
 * ---- Comparison with the wire
 * ------------------------------------------------------
 */

struct account {
	uint64_t on_wire, ours;
};

uint64_t
seq_dropped(uint16_t id)
{
	static const char *const names[] = { "rx_drop_stopped", "rx_drop_reconfig" };
	uint64_t xstat, value, sum;

	sum = fx_stats(id).ierrors;
	for (unsigned int i = 0; i < RTE_DIM(names); i++) {
		assert_int_equal(rte_eth_xstats_get_id_by_name(id, names[i], &xstat), 0);
		assert_int_equal(rte_eth_xstats_get_by_id(id, &xstat, &value, 1), 1);
		sum += value;
	}
	return sum;
}

/* The rings of a stopped queue hold their packets until it starts. */
static bool
has_waiting_room(const struct seq_port *port)
{
	for (uint16_t q = 0; q < port->nb_rxq; q++)
		if (!port->rxq[q].is_on)
			return port->is_started;
	return false;
}

static bool
is_rx_even(const struct seq_port *port, const struct account *rx)
{
	return has_waiting_room(port) ? rx->ours <= rx->on_wire :
					rx->ours == rx->on_wire;
}

static void
balance(const struct seq *seq, unsigned int index, struct account *tx, struct account *rx)
{
	const struct seq_port *port = &seq->port[index];
	struct mana_model_port now;

	assert_int_equal(fx_model.port(0, index, &now), 0);
	tx->on_wire = now.tx_packets + now.tx_errors -
		      port->wire.tx_packets - port->wire.tx_errors;
	tx->ours = port->all_sent - port->unsent;
	rx->on_wire = now.rx_packets + now.rx_truncated -
		      port->wire.rx_packets - port->wire.rx_truncated;
	rx->ours = port->all_received + port->dropped_before_reset +
		   seq_dropped(seq->fx->port[index]) + port->unread;
}

/* Compares one direction of all ports. */
static bool
is_side_even(const struct seq *seq, bool is_rx)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		struct account tx, rx;

		if (!seq->port[i].is_open)
			continue;
		balance(seq, i, &tx, &rx);
		if (is_rx ? !is_rx_even(&seq->port[i], &rx) : tx.on_wire != tx.ours)
			return false;
	}
	return true;
}

/* Checks Tx first: packets sent later than the Rx check are no difference. */
static bool
is_balanced(const struct seq *seq)
{
	return is_side_even(seq, false) && is_side_even(seq, true);
}

static void
resume_all(struct seq *seq)
{
	COMMAND("inject off");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		resume(i);
	seq->is_stalled = false;
}

void
seq_settle(struct seq *seq)
{
	uint64_t end = fx_deadline();

	resume_all(seq);
	receive_all(seq);
	while (!is_balanced(seq) && rte_get_timer_cycles() < end) {
		rte_delay_us_sleep(50);
		receive_all(seq);
	}
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		struct account tx, rx;

		if (!seq->port[i].is_open)
			continue;
		balance(seq, i, &tx, &rx);
		if (tx.on_wire != tx.ours || !is_rx_even(&seq->port[i], &rx))
			fail_msg("port %u: sent %" PRIu64 ", on the wire %" PRIu64
				 "; received and dropped %" PRIu64
				 ", from the wire %" PRIu64,
				 i, tx.ours, tx.on_wire, rx.ours, rx.on_wire);
	}
}

void
seq_write_off(struct seq *seq, unsigned int index, bool was_settled)
{
	struct seq_port *port = &seq->port[index];
	struct account tx, rx;

	balance(seq, index, &tx, &rx);
	if (tx.ours < tx.on_wire || rx.on_wire < rx.ours)
		fail_msg("port %u: more packets counted than on the wire", index);
	if (was_settled && (tx.ours != tx.on_wire || rx.ours != rx.on_wire))
		fail_msg("port %u: the stop lost packets", index);
	port->unsent += tx.ours - tx.on_wire;
	port->unread += rx.on_wire - rx.ours;
}

void
seq_write_off_unsent(struct seq *seq, unsigned int index)
{
	struct account tx, rx;

	if (!seq->is_stalled)
		return;
	resume_all(seq);
	balance(seq, index, &tx, &rx);
	assert_true(tx.ours >= tx.on_wire);
	seq->port[index].unsent += tx.ours - tx.on_wire;
}

/* ---- Steps -------------------------------------------------------------------------- */

static struct rte_mbuf *
make_frame(struct seq *seq, const struct seq_port *port)
{
	uint32_t max = RTE_MIN(MAX_FRAME_BYTES, (uint32_t)port->mtu + RTE_ETHER_HDR_LEN);
	uint32_t len = MIN_FRAME_BYTES + seq_random(seq, max - MIN_FRAME_BYTES + 1);
	uint32_t seg = len;
	uint8_t bytes[MAX_FRAME_BYTES];

	fx_frame_bytes(bytes, len, seq_random(seq, FRAME_SEEDS));
	if ((port->tx_offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0)
		seg = 64 + seq_random(seq, len);
	return fx_chain(seq->pools[0], bytes, len, seg);
}

static void
run_send(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	struct rte_mbuf *pkts[SEQ_MAX_BURST];
	uint32_t lengths[SEQ_MAX_BURST];
	uint16_t nb = 1 + seq_random(seq, SEQ_MAX_BURST);
	uint16_t queue = seq_random(seq, SEQ_MAX_QUEUES) % RTE_MAX(port->nb_txq, 1);
	uint16_t nb_sent;

	/* a frame has at most 24 segments */
	if (!port->is_started || port->nb_txq == 0 || !port->txq[queue].is_on ||
	    rte_mempool_avail_count(seq->pools[0]) < nb * 24u)
		return;
	for (uint16_t i = 0; i < nb; i++) {
		pkts[i] = make_frame(seq, port);
		lengths[i] = pkts[i]->pkt_len;
	}
	nb_sent = rte_eth_tx_burst(seq->fx->port[index], queue, pkts, nb);
	seq_note(seq, " queue %u: %u of %u", queue, nb_sent, nb);
	assert_true(nb_sent <= nb);
	for (uint16_t i = 0; i < nb_sent; i++)
		port->sent_bytes += lengths[i];
	port->nb_sent += nb_sent;
	port->all_sent += nb_sent;
	rte_pktmbuf_free_bulk(pkts + nb_sent, nb - nb_sent);
}

static void
run_receive(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	uint16_t queue = seq_random(seq, SEQ_MAX_QUEUES) % RTE_MAX(port->nb_rxq, 1);
	unsigned int nb_max = 1 + seq_random(seq, SEQ_MAX_BURST);

	if (!port->is_started || port->nb_rxq == 0 || !port->rxq[queue].is_on)
		return;
	seq_note(seq, " queue %u: %u", queue, receive(seq, index, queue, nb_max));
}

static void
run_receive_all(struct seq *seq, unsigned int index)
{
	receive_all(seq);
}

static void
run_settle(struct seq *seq, unsigned int index)
{
	seq_release_held(seq);
	seq_settle(seq);
}

static void
run_tx_cleanup(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	uint16_t queue = seq_random(seq, SEQ_MAX_QUEUES) % RTE_MAX(port->nb_txq, 1);
	int ret;

	/* ethdev does not check the queue number */
	if (!port->is_open || queue >= port->nb_txq)
		return;
	ret = rte_eth_tx_done_cleanup(seq->fx->port[index], queue, seq_random(seq, 8));
	seq_judge(seq, port->txq[queue].is_set ? SEQ_OK : SEQ_REFUSED, RTE_MIN(ret, 0));
}

/*
 * ---- Empty pool
 * ------------------------------------------------------------------------
 */

void
seq_release_held(struct seq *seq)
{
	rte_pktmbuf_free_bulk(seq->held, seq->nb_held);
	seq->nb_held = 0;
	seq->held_pool = NULL;
}

static void
run_hold(struct seq *seq, unsigned int index)
{
	struct rte_mempool *pool = seq->pools[seq_random(seq, SEQ_NB_POOLS)];
	unsigned int nb_left = seq_random(seq, 64);
	unsigned int nb_avail = rte_mempool_avail_count(pool);

	if (seq->nb_held != 0) {
		seq_note(seq, " no more");
		seq_release_held(seq);
		return;
	}
	if (nb_avail <= nb_left)
		return;
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, seq->held, nb_avail - nb_left), 0);
	seq->nb_held = nb_avail - nb_left;
	seq->held_pool = pool;
	seq_note(seq, " %u of %s", seq->nb_held, pool->name);
}

/*
 * ---- Model commands
 * ----------------------------------------------------------------------
 */

static void
run_link(struct seq *seq, unsigned int index)
{
	bool is_up = !seq_one_in(seq, 4);

	seq_note(seq, " %s", is_up ? "up" : "down");
	COMMAND("link port=%u %s", index + 1, is_up ? "up" : "down");
}

static void
run_stall(struct seq *seq, unsigned int index)
{
	const char *side = seq_random(seq, 2) ? "tx" : "rx";

	seq->is_stalled = !seq->is_stalled;
	seq_note(seq, " %s %s", seq->is_stalled ? "stall" : "resume", side);
	if (seq->is_stalled)
		stall(index, side);
	else
		for (unsigned int i = 0; i < FX_NB_PORTS; i++)
			resume(i);
}

/* Errors that do not stop the queue. */
static void
run_error(struct seq *seq, unsigned int index)
{
	/* CQE types 33 to 41 report an unsent packet */
	unsigned int type = 33 + seq_random(seq, 9);
	unsigned int packet = 1 + seq_random(seq, 8);

	switch (seq_random(seq, 3)) {
	case 0:
		seq_note(seq, " tx %u", type);
		COMMAND("cqe port=%u tx type=%u packet=%u", index + 1, type, packet);
		break;
	case 1:
		seq_note(seq, " rx truncated");
		COMMAND("cqe port=%u rx type=4 packet=%u", index + 1, packet);
		break;
	default:
		seq_note(seq, " rx cut");
		COMMAND("truncate port=%u bytes=40 packet=%u", index + 1, packet);
	}
}

const struct seq_operation seq_traffic[] = {
	{ "send", 160, run_send },
	{ "receive", 120, run_receive },
	{ "receive_all", 20, run_receive_all },
	{ "settle", 12, run_settle },
	{ "tx_cleanup", 20, run_tx_cleanup },
	{ "hold", 8, run_hold },
	{ "link", 12, run_link },
	{ "stall", 12, run_stall },
	{ "error", 12, run_error },
};
const unsigned int seq_nb_traffic = RTE_DIM(seq_traffic);
