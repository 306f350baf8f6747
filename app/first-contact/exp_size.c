/* SPDX-License-Identifier: BSD-3-Clause */

/* How many queues there are, how large the RSS table is, and what a doorbell costs. */

#include "first_contact.h"

static const struct fc_frame_spec plain = { .payload_bytes = 64 };

static void
tx_queues(struct fc *fc, struct fc_finding *finding)
{
	const uint32_t nb = fc_use_txqs(fc);

	if (nb == 0) {
		fc_undecided(finding, "a plain frame cannot be sent");
		return;
	}
	fc_observe(finding, "", "", "each sent a frame%s%s",
		   nb < FC_MAX_TXQ ? "; then: " : "; there may be more",
		   nb < FC_MAX_TXQ ? fc->reason : "");
	snprintf(finding->value, sizeof(finding->value), "%u", nb);
}

static void
rx_queues(struct fc *fc, struct fc_finding *finding)
{
	uint32_t nb, good = 0;

	for (nb = 1; nb <= FC_MAX_RXQ; nb *= 2) {
		const struct fc_setup setup = { .nb_rxq = nb, .is_empty = true };

		if (fc_open(fc, &setup) != 0)
			break;
		good = nb;
	}
	if (good == 0) {
		fc_undecided(finding, "%s", fc->reason);
		return;
	}
	fc_observe(finding, "", "", "they and their RSS object were created%s%s",
		   nb <= FC_MAX_RXQ ? "; with more: " : "; more were not tried",
		   nb <= FC_MAX_RXQ ? fc->reason : "");
	snprintf(finding->value, sizeof(finding->value), "%u", good);
}

/* Does the hash modulo the table's size select the entry? 1: yes; 0: no; -1: said why. */
static int
table_is_used(struct fc *fc, struct fc_finding *finding)
{
	for (uint32_t i = 0; i < FC_NB_FLOWS; i++) {
		struct fc_packet packet;
		struct fc_frame frame;
		const int type = fc_pass_flow(fc, i, &frame, &packet);

		if (type != MANA_CQE_TX_OKAY) {
			fc_unexpected(finding, "a plain frame", type);
			return -1;
		}
		if (packet.queue != packet.hash % fc->setup.nb_rxq)
			return 0;
	}
	return 1;
}

/*
 * Fewer and fewer Rx queues, each in one entry: the kernel repeats them in the adapter's
 * table.
 */
static void
rss_table_size(struct fc *fc, struct fc_finding *finding)
{
	bool is_taken = false;
	int ret = 0;

	for (uint32_t nb = FC_MAX_RXQ; nb > 1 && ret == 0; nb /= 2) {
		const struct fc_setup setup = { .nb_rxq = nb };

		if (fc_open(fc, &setup) != 0)
			continue;
		is_taken = true;
		ret = table_is_used(fc, finding);
		if (ret <= 0)
			continue;
		fc_observe(finding, "", "", "%u flows arrive at the queue of entry (hash "
			   "modulo %u)", FC_NB_FLOWS, nb);
		snprintf(finding->value, sizeof(finding->value), "%u", nb);
	}
	if (ret == 0)
		fc_undecided(finding, "%s", is_taken ? "flows arrive at other queues" :
							fc->reason);
}

static void
doorbell_32(struct fc *fc, struct fc_finding *finding)
{
	struct fc_frame frame;
	struct fc_tx tx;
	int type;

	if (fc->txq.sq.id > FC_DB_SHORT_MAX_ID) {
		fc_undecided(finding, "the queue's id, %u, does not fit the field",
			     fc->txq.sq.id);
		return;
	}
	type = fc_send_plain(fc);
	if (type != MANA_CQE_TX_OKAY) {
		fc_unexpected(finding, "a plain frame", type);
		return;
	}
	fc_frame_build(fc, &plain, &frame);
	tx = fc_tx_of(&frame);
	fc_post(fc, &tx);
	fc_ring_short(fc);
	type = fc_tx_wait(fc, NULL);
	if (type == MANA_CQE_TX_OKAY) {
		fc_observe(finding, "", "works", "the frame is sent");
		return;
	}
	if (type == -ETIMEDOUT) {
		fc_ring(fc);
		type = fc_tx_wait(fc, NULL);
	}
	if (type == MANA_CQE_TX_OKAY)
		fc_observe(finding, "", "ignored", "the frame waits for another doorbell");
	else
		fc_unexpected(finding, "the frame", type);
}

#define NB_TIMES 10u
#define NB_RINGS 100u

/* Each tells the position that the adapter knows: there is nothing to fetch. */
static void
doorbell_cost(struct fc *fc, struct fc_finding *finding)
{
	uint64_t best_ns = UINT64_MAX;

	for (uint32_t i = 0; i < NB_TIMES; i++) {
		const uint64_t start_ns = fc_now_ns();

		for (uint32_t ring = 0; ring < NB_RINGS; ring++)
			fc_ring(fc);
		best_ns = RTE_MIN(best_ns, fc_now_ns() - start_ns);
	}
	fc_observe(finding, "", "", "the fastest %u of %u stores", NB_RINGS,
		   NB_TIMES * NB_RINGS);
	snprintf(finding->value, sizeof(finding->value), "%llu ns",
		 (unsigned long long)(best_ns / NB_RINGS));
}

#define NB_RATE_BURST	16u
#define NB_RATE_PACKETS (512u * NB_RATE_BURST)

/* As many as the rings take, each with a completion. */
static void
packet_rate(struct fc *fc, struct fc_finding *finding)
{
	uint32_t nb_posted = 0, nb_done, i, bu;
	struct fc_frame frame;
	struct fc_tx tx;
	uint64_t ns;
	int type;

	fc_frame_build(fc, &plain, &frame);
	tx = fc_tx_of(&frame);
	bu = fc->txq.sq.pi;
	type = fc_send(fc, &tx);
	bu = fc->txq.sq.pi - bu;
	ns = fc_now_ns();
	for (nb_done = 0; type == MANA_CQE_TX_OKAY && nb_done < NB_RATE_PACKETS; nb_done++) {
		if (nb_posted < NB_RATE_PACKETS &&
		    nb_posted - nb_done <= fc->setup.nb_desc - NB_RATE_BURST) {
			for (i = 0; i < NB_RATE_BURST; i++)
				fc_post(fc, &tx);
			fc_ring(fc);
			nb_posted += NB_RATE_BURST;
		}
		type = fc_tx_wait(fc, NULL);
		fc->txq.sq.ci += bu;
	}
	ns = fc_now_ns() - ns;
	if (type != MANA_CQE_TX_OKAY) {
		fc_unexpected(finding, "a packet", type);
		return;
	}
	fc_observe(finding, "", "", "%u frames of %u bytes on one queue of %u, %u a doorbell",
		   NB_RATE_PACKETS, frame.nb_bytes, fc->setup.nb_desc, NB_RATE_BURST);
	snprintf(finding->value, sizeof(finding->value), "%llu kpps",
		 (unsigned long long)(NB_RATE_PACKETS * UINT64_C(1000000) / RTE_MAX(ns, 1u)));
}

const struct fc_experiment fc_size_experiments[] = {
	{ "tx-queues", "how many Tx queues of a port can be used?", tx_queues, {} },
	{ "rx-queues", "how many Rx queues of a port can be created?", rx_queues, {} },
	{ "rss-table-size", "how many entries of the RSS table differ?", rss_table_size, {} },
	{ "doorbell-32", "does a doorbell of 32 bits work?", doorbell_32, {} },
	{ "doorbell-cost", "how long does the store to a doorbell take?", doorbell_cost, {},
	  true },
	{ "packet-rate", "how many packets does a Tx queue send?", packet_rate,
	  { .is_empty = true }, true },
	{ 0 },
};
