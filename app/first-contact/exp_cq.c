/* SPDX-License-Identifier: BSD-3-Clause */

/* Experiments on completion queues, their doorbells and events, and on rings. */

#include <errno.h>
#include <string.h>

#include "first_contact.h"

/* Takes all events of a channel that are there. */
static uint32_t
drain(struct ibv_comp_channel *channel)
{
	uint32_t nb = 0;

	while (fc_event(channel, 0))
		nb++;
	return nb;
}

/* A CQ doorbell with the index of the next CQE. */
static void
ring_cq(struct mana_cq *cq, bool arm)
{
	const uint64_t tail = cq->ci & (mana_cq_size(cq) * 8 - 1);

	mana_db_ring(cq->db, MANA_SHIFT_VAL64(arm, GDMA_DB_CQ_ARM_S) |
				     MANA_SHIFT_VAL64(tail, GDMA_DB_TAIL_S) |
				     cq->id);
}

/*
 * Rx queue 0 is examined. An event of Rx queue 1 then shows that all earlier ones of
 * queue 0 have been delivered, because the CQs of a port and vector share an EQ. The
 * flow of each queue is found with other queues than those of the experiment.
 */
static bool
open_two(struct fc *fc, uint32_t flow[2], struct fc_finding *finding)
{
	const struct fc_setup setup = fc->setup;

	if (!fc_find_flows(fc, flow)) {
		fc_undecided(finding, "no flows for two Rx queues were found");
		return false;
	}
	if (fc_open(fc, &setup) != 0) {
		fc_undecided(finding, "%s", fc->reason);
		return false;
	}
	fc->no_cq_doorbell = true;
	return true;
}

/* Sends a packet to an Rx queue, and takes it. */
static bool
pass_flow(struct fc *fc, uint32_t flow, struct fc_finding *finding)
{
	const struct fc_frame_spec spec = { .flow = (uint16_t)flow,
					    .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;
	bool has_arrived = false;

	if (fc_send_flow(fc, &spec, &frame))
		for (uint32_t i = 0;
		     i < FC_NB_DESC && !has_arrived && fc_rx_wait(fc, &packet);
		     i++)
			has_arrived = fc_has_tag(&packet, frame.tag);
	if (!has_arrived)
		fc_undecided(finding, "a packet was lost");
	return has_arrived;
}

static void
rx_interrupt(struct fc *fc, struct fc_finding *finding)
{
	struct fc_rxq *rxq = &fc->rxq[0];

	/* A new CQ may be armed or not: with this doorbell, it is. */
	fc->no_cq_doorbell = true;
	for (uint32_t i = 0; i < 2; i++) {
		ring_cq(&rxq->cq, true);
		if (!pass_flow(fc, 0, finding))
			return;
		if (!fc_event(rxq->channel, fc->wait_ms)) {
			fc_observe(finding, "rx_intr=0", "no",
				   "an armed CQ gives no event within %u ms",
				   fc->wait_ms);
			return;
		}
	}
	fc_observe(finding, "", "yes", "an armed CQ gives an event");
}

static void
cq_created_armed(struct fc *fc, struct fc_finding *finding)
{
	uint32_t flow[2];

	if (!open_two(fc, flow, finding))
		return;
	ring_cq(&fc->rxq[1].cq, true);
	if (!pass_flow(fc, flow[0], finding) || !pass_flow(fc, flow[1], finding))
		return;
	if (!fc_event(fc->rxq[1].channel, fc->wait_ms))
		fc_undecided(finding, "completion queues give no events here");
	else
		fc_observe(finding, "",
			   drain(fc->rxq[0].channel) > 0 ? "yes" : "no",
			   "the first completion of a CQ that was never armed");
}

/* Arms a CQ at the index of the doorbell before. */
static void
cq_index(struct fc *fc, struct fc_finding *finding)
{
	struct fc_rxq *rxq = fc->rxq;
	uint32_t flow[2];

	if (!open_two(fc, flow, finding))
		return;
	for (uint32_t i = 0; i < 2; i++) {
		ring_cq(&rxq[i].cq, true);
		if (!pass_flow(fc, flow[i], finding))
			return;
		if (!fc_event(rxq[i].channel, fc->wait_ms)) {
			fc_undecided(finding,
				     "completion queues give no events here");
			return;
		}
	}
	ring_cq(&rxq[0].cq, false);
	ring_cq(&rxq[0].cq, true);
	ring_cq(&rxq[1].cq, true);
	if (!pass_flow(fc, flow[0], finding) || !pass_flow(fc, flow[1], finding))
		return;
	if (!fc_event(rxq[1].channel, fc->wait_ms))
		fc_undecided(finding, "a CQ gives one event only");
	else if (drain(rxq[0].channel) > 0)
		fc_decide(finding, "any", "",
			  "armed at the index of the doorbell before: an event");
	else
		fc_decide(finding, "must-advance", "",
			  "armed at the index of the doorbell before: no event");
}

#define NB_LAPS 10

/* Laps of the Tx CQ without a doorbell. */
static void
cq_doorbell(struct fc *fc, struct fc_finding *finding)
{
	int type;

	fc->no_cq_doorbell = true;
	for (uint32_t i = 0; i < NB_LAPS * FC_NB_DESC; i++) {
		type = fc_send_plain(fc);
		/* Once more: a slow adapter has not stopped. */
		if (type == -ETIMEDOUT)
			type = fc_tx_wait(fc, NULL);
		if (type == -ETIMEDOUT && i >= FC_NB_DESC) {
			fc_observe(finding, "", "strict",
				   "without a doorbell the CQ stops after %u "
				   "completions, %u laps",
				   i, i / FC_NB_DESC);
			return;
		}
		if (type != MANA_CQE_TX_OKAY) {
			fc_unexpected(finding, "a plain frame", type);
			return;
		}
	}
	fc_observe(finding, "", "lax",
		   "%u laps without a doorbell: the CQ continues", NB_LAPS);
}

#define MAX_DESC 2048u

/* Longer and longer rings, until the adapter or the kernel refuses one. */
static void
ring_max(struct fc *fc, struct fc_finding *finding)
{
	uint32_t largest = 0, nb_desc, good = 0;
	int ret = 0;

	for (nb_desc = FC_NB_DESC; nb_desc <= MAX_DESC; nb_desc *= 2) {
		const struct fc_setup setup = { .nb_desc = nb_desc };

		ret = fc_open(fc, &setup);
		if (ret != 0)
			break;
		good = nb_desc;
		largest = nb_desc * GDMA_CQE_BYTES;
		largest = RTE_MAX(largest,
				  (fc->txq.sq.mask_bu + 1) * GDMA_BU_BYTES);
		largest = RTE_MAX(largest,
				  (fc->rxq[0].rq.mask_bu + 1) * GDMA_BU_BYTES);
	}
	if (good == 0) {
		fc_undecided(finding, "%s", fc->reason);
	} else if (ret != -EPROTO) {
		fc_decide(finding, "any", "",
			  "up to %u bytes (%u descriptors)%s%s", largest, good,
			  ret != 0 ? "; then the kernel or libmana: " : "",
			  ret != 0 ? strerror(-ret) : "");
	} else {
		/* The model has one such limit. */
		char argument[32];

		snprintf(argument, sizeof(argument), "max_desc=%u", good);
		fc_decide(finding, "8k", argument,
			  "the adapter refuses rings of more than %u bytes",
			  largest);
		if (largest != 8192) {
			finding->is_quirk = false;
			snprintf(finding->value, sizeof(finding->value), "%u",
				 largest);
		}
	}
}

static void
max_send_sge(struct fc *fc, struct fc_finding *finding)
{
	static const uint32_t tried[] = { 30, 15, 8, 4, 3 };
	int ret = 0;

	for (uint32_t i = 0; i < RTE_DIM(tried); i++) {
		char argument[32] = "";

		ret = fc_try_send_sge(fc, tried[i]);
		if (ret != 0)
			continue;
		if (i > 0)
			snprintf(argument, sizeof(argument), "max_send_sge=%u",
				 tried[i]);
		fc_observe(finding, argument, "",
			   "a Tx queue with this number of SGEs was created");
		snprintf(finding->value, sizeof(finding->value), "%u", tried[i]);
		return;
	}
	fc_undecided(finding, "%s", fc->reason);
}

const struct fc_experiment fc_cq_experiments[] = {
	{ "rx-interrupt",
	  "does an armed CQ give an event?",
	  rx_interrupt,
	  { .has_events = true } },
	{ "cq-created-armed",
	  "is a new CQ armed?",
	  cq_created_armed,
	  { .nb_rxq = 2, .has_events = true } },
	{ "cq-index",
	  "does a CQ doorbell count if its index has not advanced?",
	  cq_index,
	  { .nb_rxq = 2, .has_events = true } },
	{ "cq-doorbell", "a CQ without a doorbell for 10 laps", cq_doorbell, {} },
	{ "ring-max", "the largest ring of a queue in bytes", ring_max, {} },
	{ "max-send-sge",
	  "the most SGEs of a Tx queue for the kernel",
	  max_send_sge,
	  {} },
	{ 0 },
};
