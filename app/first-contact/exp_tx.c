/* SPDX-License-Identifier: BSD-3-Clause */

/* Experiments on Tx WQEs and their completions. */

#include <errno.h>
#include <string.h>

#include "first_contact.h"

static const struct fc_frame_spec plain = { .payload_bytes = 64 };

/* A plain frame in this form. */
static int
send_form(struct fc *fc, enum fc_form form)
{
	struct fc_frame frame;
	struct fc_tx tx;

	fc_frame_build(fc, &plain, &frame);
	tx = fc_tx_of(&frame);
	tx.form = form;
	return fc_send(fc, &tx);
}

/* Later experiments use the long form if the short one is refused. */
static void
short_vp_form(struct fc *fc, struct fc_finding *finding)
{
	int type, long_type;

	if (fc->txq.vp_offset > MANA_TX_OOB_SHORT_VP_M) {
		fc_undecided(finding,
			     "the vPort offset %u does not fit the short "
			     "form",
			     fc->txq.vp_offset);
		return;
	}
	type = send_form(fc, FC_FORM_SHORT);
	if (type == MANA_CQE_TX_OKAY) {
		fc_decide(finding, "allowed", "", "a short OOB: %s",
			  fc_cqe_name(type));
		return;
	}
	long_type = send_form(fc, FC_FORM_LONG);
	fc->use_long = long_type == MANA_CQE_TX_OKAY;
	if (fc->use_long && type == MANA_CQE_TX_INVALID_OOB)
		fc_decide(finding, "refused", "tx_oob=long",
			  "a short OOB: %s, a long one: TX_OKAY",
			  fc_cqe_name(type));
	else
		fc_unexpected(finding, "a short OOB", type);
}

/* A frame in the long form, whose vPort offset is in these fields. */
static int
send_vp(struct fc *fc, uint32_t short_vp, uint32_t long_vp)
{
	struct fc_frame frame;
	struct fc_tx tx;

	fc_frame_build(fc, &plain, &frame);
	tx = fc_tx_of(&frame);
	tx.form = FC_FORM_LONG;
	tx.short_vp = short_vp;
	tx.long_vp = long_vp;
	return fc_send(fc, &tx);
}

static void
long_vp_offset(struct fc *fc, struct fc_finding *finding)
{
	const uint32_t vp = fc->txq.vp_offset;
	int short_type, long_type;
	const bool is_short_ok = (short_type = send_vp(fc, vp, 0)) ==
				 MANA_CQE_TX_OKAY;
	const bool is_long_ok = (long_type = send_vp(fc, 0, vp)) ==
				MANA_CQE_TX_OKAY;

	if (vp == 0) {
		fc_undecided(finding,
			     "the vPort offset is 0, so both fields look the "
			     "same; try another port");
		return;
	}
	if (vp > MANA_TX_OOB_SHORT_VP_M) {
		fc_undecided(finding,
			     "the vPort offset %u fits the long field only", vp);
		return;
	}
	if (is_short_ok && is_long_ok)
		fc_decide(finding, "either", "",
			  "offset %u: each field alone is "
			  "accepted",
			  vp);
	else if (is_short_ok || is_long_ok)
		fc_decide(finding, is_short_ok ? "short" : "long",
			  send_vp(fc, vp, vp) == MANA_CQE_TX_OKAY ? "" :
			  is_short_ok ? "tx_vport=short" :
					"tx_vport=long",
			  "offset %u in the short field alone: %s; in the %s",
			  vp, is_short_ok ? "accepted" : fc_cqe_name(short_type),
			  is_long_ok ? "long field alone: accepted" :
				       "long field alone: refused");
	else
		fc_undecided(finding, "each field alone is refused (%s)",
			     fc_cqe_name(long_type));
}

/* More completions than the driver needs to trust the offset. */
#define NB_OFFSETS 12

static void
tx_wqe_offset(struct fc *fc, struct fc_finding *finding)
{
	uint32_t nb_right = 0, nb_zero = 0, offset = 0, pos = 0;

	for (uint32_t i = 0; i < NB_OFFSETS; i++) {
		struct fc_frame frame;
		struct gdma_cqe cqe;
		struct fc_tx tx;
		int type;

		fc_frame_build(fc, &plain, &frame);
		tx = fc_tx_of(&frame);
		pos = fc->txq.sq.pi;
		fc_post(fc, &tx);
		fc_ring(fc);
		type = fc_tx_wait(fc, &cqe);
		if (type != MANA_CQE_TX_OKAY) {
			fc_unexpected(finding, "a plain frame", type);
			return;
		}
		fc->txq.sq.ci = fc->txq.sq.pi;
		offset = rte_le_to_cpu_32(cqe.tx.offsets) >>
			 MANA_TX_CQE_WQE_OFFSET_S;
		nb_right += offset == pos;
		nb_zero += offset == 0;
	}
	if (nb_right == NB_OFFSETS)
		fc_decide(finding, "filled", "",
			  "%u completions with the position "
			  "of their WQE",
			  nb_right);
	else if (nb_zero == NB_OFFSETS)
		fc_decide(finding, "zero", "tx_suppress=0",
			  "%u completions with 0", nb_zero);
	else
		fc_undecided(finding,
			     "neither the position in BU nor 0: %u of %u are "
			     "right, the last is %u instead of %u: use tx_suppress=0",
			     nb_right, NB_OFFSETS, offset, pos);
}

/* A WQE that fails: it requests a TCP checksum of a UDP frame. */
static struct fc_tx
build_bad(struct fc *fc)
{
	struct fc_frame frame;
	struct fc_tx tx;

	fc_frame_build(fc, &plain, &frame);
	tx = fc_tx_csum(&frame);
	tx.oob &= ~FC_OOB(UDP_CSUM);
	tx.oob |= FC_OOB(TCP_CSUM);
	return tx;
}

/*
 * A suppressed WQE, one that is not, and a third one: one good completion before that
 * of the third WQE, or two. The third fails, so that its completion is known.
 */
static void
tx_suppress(struct fc *fc, struct fc_finding *finding)
{
	uint32_t nb_good = 0;
	struct fc_frame frame;
	struct fc_tx tx;
	int type;

	for (uint32_t i = 0; i < 2; i++) {
		fc_frame_build(fc, &plain, &frame);
		tx = fc_tx_of(&frame);
		if (i == 0)
			tx.oob |= FC_OOB(NO_CQE);
		fc_post(fc, &tx);
	}
	tx = build_bad(fc);
	fc_post(fc, &tx);
	fc_ring(fc);
	do {
		type = fc_tx_wait(fc, NULL);
		nb_good += type == MANA_CQE_TX_OKAY;
	} while (type == MANA_CQE_TX_OKAY);
	/* A queue that continues has completed the third WQE as a good one. */
	if (type == -ETIMEDOUT && nb_good > 0 &&
	    fc_send_plain(fc) == MANA_CQE_TX_OKAY)
		nb_good--;
	else if (type < 0)
		nb_good = 0;
	if (nb_good == 1)
		fc_decide(finding, "honoured", "",
			  "the suppressed WQE has no completion");
	else if (nb_good == 2)
		fc_decide(finding, "ignored", "tx_suppress=0",
			  "the suppressed WQE has a completion");
	else
		fc_unexpected(finding, "two frames", type);
}

static void
tx_suppress_error(struct fc *fc, struct fc_finding *finding)
{
	struct fc_tx tx = build_bad(fc);
	struct fc_frame frame;
	int type = fc_send(fc, &tx);

	if (type == MANA_CQE_TX_OKAY || type < 0) {
		fc_undecided(finding,
			     "no WQE that fails is known: a TCP checksum of UDP "
			     "gives %s",
			     fc_cqe_name(type));
		return;
	}
	tx.oob |= FC_OOB(NO_CQE);
	fc_post(fc, &tx);
	fc_frame_build(fc, &plain, &frame);
	tx = fc_tx_of(&frame);
	fc_post(fc, &tx);
	fc_ring(fc);
	type = fc_tx_wait(fc, NULL);
	if (type == MANA_CQE_TX_OKAY)
		fc_observe(finding, "tx_suppress=0", "none",
			   "the suppressed WQE that failed has no completion");
	else if (type >= 0)
		fc_observe(finding, "", "completion",
			   "the suppressed WQE that failed has a completion: %s",
			   fc_cqe_name(type));
	else
		fc_unexpected(finding, "a suppressed WQE that fails", type);
}

static void
short_oob_sges(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .payload_bytes = 100 };
	int type = 0;

	for (uint32_t nb = FC_MAX_TX_SGE - 1; nb <= FC_MAX_TX_SGE; nb++) {
		struct fc_frame frame;
		struct fc_tx tx;

		fc_frame_build(fc, &spec, &frame);
		tx = fc_tx_of(&frame);
		tx.form = FC_FORM_SHORT;
		tx.nb_sge = nb;
		for (uint32_t i = 0; i < nb; i++) {
			tx.sge[i].off = frame.off + i;
			tx.sge[i].nb_bytes = i + 1 < nb ? 1 : frame.nb_bytes - i;
		}
		type = fc_send(fc, &tx);
		if (nb < FC_MAX_TX_SGE && type == MANA_CQE_TX_GDMA_ERR) {
			fc_undecided(finding,
				     "30 SGEs are refused already: %s; try "
				     "max_send_sge=15",
				     fc_cqe_name(type));
			return;
		}
	}
	if (type == MANA_CQE_TX_GDMA_ERR)
		fc_decide(finding, "30", "", "31 SGEs: %s", fc_cqe_name(type));
	else if (type >= 0) /* the WQE was read */
		fc_decide(finding, "31", "", "31 SGEs: %s", fc_cqe_name(type));
	else
		fc_unexpected(finding, "31 SGEs", type);
}

/* A frame in pieces at odd addresses, which lie in different regions. */
static void
sge_keys(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .payload_bytes = 100 };
	static const uint32_t cuts[] = { 0, 17, 18, 55 };
	const uint32_t nb = RTE_DIM(cuts);
	struct fc_packet packet;
	struct fc_frame frame;
	struct ibv_mr *mr;
	struct fc_tx tx;
	int type;

	mr = ibv_reg_mr(fc->tx->pd, fc->memory, FC_MEMORY_BYTES,
			IBV_ACCESS_LOCAL_WRITE);
	if (mr == NULL) {
		fc_undecided(finding, "no second region: %s", strerror(errno));
		return;
	}
	fc_frame_build(fc, &spec, &frame);
	tx = fc_tx_of(&frame);
	tx.other_mr = mr;
	tx.nb_sge = nb;
	for (uint32_t i = 0; i < nb; i++) {
		tx.sge[i].off = frame.off + cuts[i];
		tx.sge[i].nb_bytes =
			(i + 1 < nb ? cuts[i + 1] : frame.nb_bytes) - cuts[i];
	}
	type = fc_pass(fc, &frame, &tx, &packet);
	ibv_dereg_mr(mr);
	if (type == MANA_CQE_TX_OKAY && (packet.csum & MANA_RX_CSUM_UDP_OK) != 0)
		fc_observe(finding, "", "accepted",
			   "%u SGEs at odd addresses, with two keys", nb);
	else if (type == MANA_CQE_TX_OKAY)
		fc_undecided(finding, "the frame arrives with a wrong checksum");
	else if (type == MANA_CQE_TX_GDMA_ERR)
		fc_observe(finding, "", "refused", "%u SGEs with two keys: %s",
			   nb, fc_cqe_name(type));
	else
		fc_unexpected(finding, "SGEs with two keys", type);
}

static void
runts(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .payload_bytes = FC_TAG_BYTES };
	struct fc_packet packet;
	struct fc_frame frame;
	int type = fc_pass_spec(fc, &spec, &frame, &packet);

	if (type == MANA_CQE_TX_HDR_PROCESSING_ERROR)
		fc_decide(finding, "refused", "", "a frame of %u bytes: %s",
			  frame.nb_bytes, fc_cqe_name(type));
	else if (type != MANA_CQE_TX_OKAY)
		fc_unexpected(finding, "a frame of 50 bytes", type);
	else if (packet.nb_bytes == frame.nb_bytes)
		fc_decide(finding, "taken", "",
			  "a frame of %u bytes arrives with "
			  "%u bytes",
			  frame.nb_bytes, packet.nb_bytes);
	else if (packet.nb_bytes == 60)
		fc_decide(finding, "padded", "",
			  "a frame of %u bytes arrives with "
			  "%u bytes",
			  frame.nb_bytes, packet.nb_bytes);
	else
		fc_undecided(finding, "a frame of %u bytes arrives with %u bytes",
			     frame.nb_bytes, packet.nb_bytes);
}

static int
send_bytes(struct fc *fc, uint32_t nb_bytes, uint32_t nb_tags)
{
	const uint32_t headers = FC_ETH_BYTES + nb_tags * FC_VLAN_BYTES + 28;
	const struct fc_frame_spec spec = {
		.nb_tags = nb_tags,
		.tci = 1,
		.payload_bytes = nb_bytes - headers,
	};
	struct fc_frame frame;
	struct fc_tx tx;

	fc_frame_build(fc, &spec, &frame);
	tx = fc_tx_of(&frame);
	return fc_send(fc, &tx);
}

/* MTUs from the smallest of IPv4 to the largest of the model, and one more. */
#define FRAME_MIN_BYTES (68u + FC_ETH_BYTES)
#define FRAME_MAX_BYTES (9216u + FC_ETH_BYTES + 1)

/* The longest frame that is not dropped as too long. */
static void
max_frame(struct fc *fc, struct fc_finding *finding)
{
	uint32_t good = FRAME_MIN_BYTES, bad = FRAME_MAX_BYTES;
	int type = send_bytes(fc, good, 0), tagged;

	if (type == MANA_CQE_TX_OKAY)
		type = send_bytes(fc, bad, 0);
	if (type != MANA_CQE_TX_MTU_DROP) {
		fc_unexpected(finding, "a frame of 9231 bytes", type);
		return;
	}
	while (bad - good > 1) {
		const uint32_t middle = (good + bad) / 2;

		type = send_bytes(fc, middle, 0);
		if (type == MANA_CQE_TX_OKAY) {
			good = middle;
		} else if (type == MANA_CQE_TX_MTU_DROP) {
			bad = middle;
		} else {
			fc_unexpected(finding, "a long frame", type);
			return;
		}
	}
	tagged = send_bytes(fc, good + FC_VLAN_BYTES, 1);
	fc_observe(finding, "", "",
		   "%u bytes without a tag; with one in the frame, "
		   "%u bytes: %s",
		   good, good + FC_VLAN_BYTES, fc_cqe_name(tagged));
	snprintf(finding->value, sizeof(finding->value), "%u", good);
}

static void
vp_offset(struct fc *fc, struct fc_finding *finding)
{
	fc_observe(finding, "", "", "the kernel's answer for %s port %u",
		   fc->tx->device, fc->tx->number);
	snprintf(finding->value, sizeof(finding->value), "%u", fc->txq.vp_offset);
}

const struct fc_experiment fc_tx_experiments[] = {
	/* First: later experiments use the form that the vPort takes. */
	{ "short-vp-form", "may the vPort use the short OOB?", short_vp_form, {} },
	{ "vp-offset", "the Tx vPort offset", vp_offset, {} },
	{ "long-vp-offset",
	  "which field of the long OOB holds the vPort offset?",
	  long_vp_offset,
	  {} },
	{ "tx-wqe-offset",
	  "do Tx completions have the position of their WQE?",
	  tx_wqe_offset,
	  {} },
	{ "tx-suppress",
	  "does a good Tx WQE suppress its completion?",
	  tx_suppress,
	  {} },
	{ "tx-suppress-error",
	  "does a failed WQE have a completion if it is "
	  "suppressed?",
	  tx_suppress_error,
	  {} },
	{ "short-oob-sges", "the most SGEs with the short OOB", short_oob_sges, {} },
	{ "sge-keys", "SGEs of different regions, at odd addresses", sge_keys, {} },
	{ "runts", "frames of less than 60 bytes", runts, {} },
	{ "max-frame", "the longest frame in bytes", max_frame, {} },
	{ 0 },
};
