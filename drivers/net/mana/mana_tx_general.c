/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The general way of a packet into the send queue: chains, VLAN tags, long
 * OOB, TSO, headers that are not ours to write, and what cannot be sent at all.
 *
 * In this order: survey the packet, decide, look for room, find the keys; only
 * then write, and advance the indices last. So a packet that does not make it
 * leaves nothing behind in the ring, and is itself as it was.
 */

#include <string.h>

#include <rte_mbuf.h>

#include "mana_tx_request.h"

/* What is known of a packet before anything is written. */
struct mana_tx_plan {
	struct mana_tx_request req;
	uint64_t oob;
	uint64_t loob;
	uint32_t nb_sge;
	uint32_t hdr_bytes; /* first bytes, in an SGE of their own; or 0 */
	bool is_bounced; /* and they are sent from the bounce slot */
	bool is_long;
	struct {
		uint64_t addr;
		uint64_t word;
	} sge[GDMA_SQ_WQE_MAX_SGE];
};

/* Frame length, and segments with bytes behind the first skip bytes. */
static int
mana_tx_survey(const struct rte_mbuf *m, uint32_t skip, uint32_t *bytes,
	       uint32_t *nb_sge)
{
	uint32_t left = m->nb_segs;
	uint32_t end = 0, nb = 0;

	for (; left > 0 && m != NULL; left--, m = m->next) {
		end += m->data_len;
		if (m->data_len != 0 && end > skip)
			nb++;
	}
	if (unlikely(left != 0 || end < MANA_TX_MIN_BYTES))
		return -EINVAL;
	*bytes = end;
	*nb_sge = nb;
	return 0;
}

static void
mana_tx_plan_oob(const struct mana_txq *txq, const struct rte_mbuf *m,
		 struct mana_tx_plan *plan)
{
	plan->oob = txq->oob | plan->req.csum.oob;
	plan->loob = txq->loob;
	plan->is_long = txq->is_long;
	if (m->ol_flags & RTE_MBUF_F_TX_VLAN) {
		plan->loob |= MANA_TX_LOOB_VLAN(m->vlan_tci);
		plan->is_long = true;
	}
	if (plan->is_long)
		plan->oob |= UINT64_C(1) << MANA_TX_OOB_PKT_FMT_S;
}

/*
 * Where the header is sent from: where it is, if its fields are right already
 * or ours to write; otherwise the bounce slot of this descriptor. It has an
 * SGE of its own there, and always for segmentation.
 */
static void
mana_tx_plan_header(struct rte_mbuf *m, struct mana_tx_plan *plan)
{
	const struct mana_tx_request *req = &plan->req;
	uint32_t bytes = req->csum.hdr_bytes;

	plan->is_bounced = bytes != 0 &&
		(m->data_len < bytes ||
		 (!mana_tx_hdr_is_private(m) &&
		  !mana_tx_request_fix(rte_pktmbuf_mtod(m, uint8_t *), req,
				       false)));
	plan->hdr_bytes = plan->is_bounced || req->mss_bytes != 0 ? bytes : 0;
}

static bool
mana_tx_plan_sge(struct mana_txq *txq, struct mana_tx_plan *plan,
		 const struct rte_mbuf *m, uintptr_t addr, uint32_t len)
{
	uint32_t lkey;

	if (unlikely(!mana_mr_lkey(&txq->mr, m, addr, len, &lkey)))
		return false;
	plan->sge[plan->nb_sge].addr = addr;
	plan->sge[plan->nb_sge].word = GDMA_SGE_WORD(lkey, len);
	plan->nb_sge++;
	return true;
}

static uint8_t *
mana_tx_bounce_slot(const struct mana_txq *txq)
{
	return txq->bounce +
	       (size_t)(txq->pi & txq->mask) * MANA_TX_BOUNCE_BYTES;
}

/* Copy the header to the slot and finish it there. */
static void
mana_tx_bounce_header(struct mana_txq *txq, const struct rte_mbuf *m,
		      const struct mana_tx_request *req)
{
	uint8_t *slot = mana_tx_bounce_slot(txq);
	const struct rte_mbuf *seg;
	uint32_t at, len;

	/* By data_len, as everything here: pkt_len is the caller's word. */
	for (seg = m, at = 0; at < req->csum.hdr_bytes;
	     seg = seg->next, at += len) {
		len = RTE_MIN((uint32_t)seg->data_len,
			      req->csum.hdr_bytes - at);
		memcpy(slot + at, rte_pktmbuf_mtod(seg, void *), len);
	}
	mana_tx_request_fix(slot, req, true);
	txq->stats.bounced++;
}

/* Now that nothing can fail: the header's fields. */
static void
mana_tx_write_header(struct mana_txq *txq, struct rte_mbuf *m,
		     const struct mana_tx_plan *plan)
{
	if (plan->is_bounced)
		mana_tx_bounce_header(txq, m, &plan->req);
	else if (plan->req.csum.hdr_bytes != 0 && mana_tx_hdr_is_private(m))
		mana_tx_request_fix(rte_pktmbuf_mtod(m, uint8_t *), &plan->req,
				    true);
}

/* Keys for all pieces; segments without bytes are left out. */
static int
mana_tx_plan_sgl(struct mana_txq *txq, const struct rte_mbuf *m,
		 struct mana_tx_plan *plan)
{
	uint32_t skip = plan->hdr_bytes;
	uint32_t left = m->nb_segs;

	plan->nb_sge = 0;
	if (plan->is_bounced) {
		if (!mana_tx_plan_sge(txq, plan, NULL,
				      (uintptr_t)mana_tx_bounce_slot(txq), skip))
			return -EFAULT;
	} else if (skip != 0) {
		if (!mana_tx_plan_sge(txq, plan, m,
				      rte_pktmbuf_mtod(m, uintptr_t), skip))
			return -EFAULT;
	}
	for (; left > 0; left--, m = m->next) {
		uint32_t len = m->data_len;

		if (len <= skip) {
			skip -= len;
			continue;
		}
		if (!mana_tx_plan_sge(txq, plan, m,
				      rte_pktmbuf_mtod(m, uintptr_t) + skip,
				      len - skip))
			return -EFAULT;
		skip = 0;
	}
	return 0;
}

/*
 * The WQE. Header and OOB never leave the first BU; the SGL may go round the
 * end of the ring, but only between BUs, two SGEs each.
 */
static uint32_t
mana_tx_write(const struct mana_txq *txq, const struct mana_tx_plan *plan)
{
	uint32_t idx = txq->sq.pi;
	uint64_t *wqe = mana_wq_bu(&txq->sq, idx);
	uint32_t at, i;

	wqe[0] = rte_cpu_to_le_64(GDMA_WQE_HEADER(plan->nb_sge,
		plan->is_long ? GDMA_OOB_LONG_DIV4 : GDMA_OOB_SHORT_DIV4) |
		mana_tx_request_header(&plan->req));
	wqe[1] = rte_cpu_to_le_64(plan->oob | txq->no_cqe);
	at = 2;
	if (plan->is_long) {
		wqe[2] = rte_cpu_to_le_64(plan->loob);
		wqe[3] = 0;
		at = 4;
	}
	for (i = 0; i < plan->nb_sge; i++) {
		if (at == GDMA_BU_WORDS) {
			wqe = mana_wq_bu(&txq->sq, ++idx);
			at = 0;
		}
		wqe[at] = rte_cpu_to_le_64(plan->sge[i].addr);
		wqe[at + 1] = rte_cpu_to_le_64(plan->sge[i].word);
		at += 2;
	}
	/* What is left of the last BU is not read; no stale bytes all the same. */
	if (at != GDMA_BU_WORDS)
		wqe[2] = wqe[3] = 0;
	return idx + 1 - txq->sq.pi;
}

static uint32_t
mana_tx_plan_bu(const struct mana_tx_plan *plan, uint32_t nb_sge)
{
	return mana_wqe_bu(plan->is_long ? GDMA_WQE_SGL_LONG_BYTES :
					   GDMA_WQE_SGL_SHORT_BYTES, nb_sge);
}

/*
 * Decide how a packet is sent as it is. -E2BIG: more segments than a WQE may
 * have; -ENOBUFS: a header that the slot cannot hold. Either takes a copy of
 * the whole.
 */
static int
mana_tx_plan_make(const struct mana_txq *txq, struct rte_mbuf *m,
		  struct mana_tx_plan *plan)
{
	uint32_t bytes;
	int ret;

	ret = mana_tx_survey(m, 0, &bytes, &plan->nb_sge);
	if (likely(ret == 0))
		ret = mana_tx_request_check(m, bytes, &plan->req);
	if (unlikely(ret != 0))
		return ret;
	mana_tx_plan_oob(txq, m, plan);
	mana_tx_plan_header(m, plan);
	if (plan->hdr_bytes != 0) {
		if (plan->is_bounced && (txq->bounce == NULL ||
					 plan->hdr_bytes > MANA_TX_BOUNCE_BYTES))
			return -ENOBUFS;
		mana_tx_survey(m, plan->hdr_bytes, &bytes, &plan->nb_sge);
		plan->nb_sge++;
	}
	return likely(plan->nb_sge <= txq->max_sge) ? 0 : -E2BIG;
}

/* Post a packet as it is, header bounced where needed. */
static int
mana_tx_put_as_is(struct mana_txq *txq, struct rte_mbuf *m)
{
	struct mana_tx_plan plan;
	uint32_t nb_bu;
	int ret;

	ret = mana_tx_plan_make(txq, m, &plan);
	if (unlikely(ret != 0))
		return ret;
	if (mana_tx_plan_bu(&plan, plan.nb_sge) > mana_wq_free_bu(&txq->sq))
		return -EAGAIN;
	ret = mana_tx_plan_sgl(txq, m, &plan);
	if (unlikely(ret != 0))
		return ret;

	mana_tx_write_header(txq, m, &plan);
	nb_bu = mana_tx_write(txq, &plan);
	mana_tx_record(txq, m, nb_bu);
	return plan.req.bytes;
}

/*
 * No mbuf for a copy: -EAGAIN when a copy of ours is on its way, that is,
 * there will be some.
 */
static int
mana_tx_copy_failed(const struct mana_txq *txq)
{
	return txq->copy_end - 1 - txq->ci < mana_txq_nb_posted(txq) ? -EAGAIN :
								       -ENOMEM;
}

/* Post a copy in mbufs of the driver's own; the original is freed. */
static __rte_noinline int
mana_tx_put_copy(struct mana_txq *txq, struct rte_mbuf *m, int reason)
{
	struct rte_mbuf *copy;
	uint32_t bytes, nb_sge;
	int ret;

	/* A copy takes the largest WQE at most: do not copy in vain. */
	if (mana_wq_free_bu(&txq->sq) < GDMA_SQ_WQE_MAX_BU)
		return -EAGAIN;
	/* rte_pktmbuf_copy() believes pkt_len. */
	ret = mana_tx_survey(m, 0, &bytes, &nb_sge);
	if (ret != 0 || m->pkt_len != bytes)
		return -EINVAL;
	if (txq->bounce_mp == NULL)
		return -ENOMEM;
	copy = rte_pktmbuf_copy(m, txq->bounce_mp, 0, UINT32_MAX);
	if (copy == NULL)
		return mana_tx_copy_failed(txq);
	ret = mana_tx_put_as_is(txq, copy);
	if (ret <= 0) {
		rte_pktmbuf_free(copy);
		return ret == -E2BIG ? -ENOMEM : ret;
	}
	txq->copy_end = txq->pi;
	if (reason == -E2BIG)
		txq->stats.linearized++;
	else
		txq->stats.bounced++;
	rte_pktmbuf_free(m);
	return ret;
}

/* Freed and counted: it is ours. */
static __rte_noinline __rte_cold void
mana_tx_drop(struct mana_txq *txq, struct rte_mbuf *m, int reason)
{
	switch (reason) {
	case -ENOTSUP:
		txq->stats.drop_offload++;
		break;
	case -EFAULT:
		txq->stats.drop_mr++;
		break;
	case -ENOMEM:
		txq->stats.drop_nomem++;
		break;
	default:
		txq->stats.drop_malformed++;
		break;
	}
	rte_pktmbuf_free(m);
}

__rte_noinline int
mana_tx_put_any(struct mana_txq *txq, struct rte_mbuf *m)
{
	int ret = mana_tx_put_as_is(txq, m);

	if (unlikely(ret == -E2BIG || ret == -ENOBUFS))
		ret = mana_tx_put_copy(txq, m, ret);
	if (unlikely(ret < 0 && ret != -EAGAIN)) {
		mana_tx_drop(txq, m, ret);
		return 0;
	}
	return ret;
}
