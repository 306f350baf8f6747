/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The slow lane: one packet of any kind at a time. Chains, VLAN tags, long OOB,
 * segmentation, several pools, headers that must not be written, the end of the
 * ring, and packets that cannot be sent at all.
 *
 * The order is: check the packet, decide, check the room, find the keys; only
 * then write, and advance the indices last. So a packet that fails leaves nothing
 * in the ring, and is itself unchanged.
 */

#include <string.h>

#include <rte_mbuf.h>

#include "mana_tx.h"
#include "mana_tx_request.h"

static_assert(MANA_TX_LSO_HDR_MAX_BYTES <= MANA_TX_BOUNCE_BYTES,
	      "any header of LSO fits a bounce slot");

/* How to send a packet. */
struct plan {
	struct mana_tx_request req;
	uint32_t hdr_bytes; /* first bytes, in an SGE of their own; or 0 */
	bool is_bounced; /* these are sent from the bounce slot */
	bool is_long;
	uint32_t nb_sge;
	struct {
		const struct rte_mbuf *m; /* NULL: the bounce slot */
		uintptr_t addr;
		uint32_t bytes;
		uint32_t lkey;
	} sge[GDMA_SQ_WQE_MAX_SGE];
};

static uint8_t *
bounce_slot(const struct mana_txq *txq)
{
	return txq->bounce +
	       (size_t)(txq->pi & txq->mask) * MANA_TX_BOUNCE_BYTES;
}

/*
 * Decide from where the header is sent: in place, if its fields are correct or
 * may be written; else from the bounce slot of this descriptor. There it has an
 * SGE of its own, and always for segmentation: SGE 0 is then exactly the headers
 * (Linux mana_en.c mana_start_xmit).
 */
static void
plan_header(struct rte_mbuf *m, struct plan *plan)
{
	const struct mana_tx_request *req = &plan->req;
	uint32_t bytes = req->hdr_bytes;

	plan->is_bounced = bytes != 0 &&
		(m->data_len < bytes ||
		 (!mana_tx_hdr_is_private(m) &&
		  !mana_tx_request_fix(rte_pktmbuf_mtod(m, uint8_t *), req,
				       false)));
	plan->hdr_bytes = plan->is_bounced || req->mss_bytes != 0 ? bytes : 0;
}

static void
plan_sge(struct plan *plan, const struct rte_mbuf *m, uintptr_t addr, uint32_t bytes)
{
	plan->sge[plan->nb_sge].m = m;
	plan->sge[plan->nb_sge].addr = addr;
	plan->sge[plan->nb_sge].bytes = bytes;
	plan->nb_sge++;
}

/*
 * Decide how to send a packet as it is. -E2BIG: it has more segments than a WQE
 * may have; -ENOBUFS: its header does not fit the slot. Both need a copy of the
 * packet.
 */
static int
plan_make(const struct mana_txq *txq, struct rte_mbuf *m, struct plan *plan)
{
	uint32_t bytes = mana_tx_frame_bytes(m), left = m->nb_segs, skip;
	int ret;

	if (bytes < MANA_TX_MIN_BYTES)
		return -EINVAL;
	ret = mana_tx_request_check(m, bytes, txq->mtu, &plan->req);
	if (ret != 0)
		return ret;
	plan->is_long = txq->is_long ||
			(m->ol_flags & RTE_MBUF_F_TX_VLAN) != 0;
	plan->nb_sge = 0;
	plan_header(m, plan);
	skip = plan->hdr_bytes;
	if (plan->is_bounced) {
		if (txq->bounce == NULL || skip > MANA_TX_BOUNCE_BYTES)
			return -ENOBUFS;
		plan_sge(plan, NULL, (uintptr_t)bounce_slot(txq), skip);
	} else if (skip != 0) {
		plan_sge(plan, m, rte_pktmbuf_mtod(m, uintptr_t), skip);
	}
	/* Empty segments need no SGE. */
	for (; left > 0; left--, m = m->next) {
		if (m->data_len <= skip) {
			skip -= m->data_len;
			continue;
		}
		if (plan->nb_sge == txq->max_sge)
			return -E2BIG;
		plan_sge(plan, m, rte_pktmbuf_mtod(m, uintptr_t) + skip,
			 m->data_len - skip);
		skip = 0;
	}
	return 0;
}

static bool
plan_find_keys(struct mana_txq *txq, struct plan *plan)
{
	for (uint32_t i = 0; i < plan->nb_sge; i++)
		if (!mana_mr_lkey(&txq->mr, plan->sge[i].m, plan->sge[i].addr,
				  plan->sge[i].bytes, &plan->sge[i].lkey))
			return false;
	return true;
}

/* Write the header's fields, in place or in the slot. */
static void
write_header(struct mana_txq *txq, struct rte_mbuf *m, const struct plan *plan)
{
	uint32_t bytes = plan->req.hdr_bytes, at, len;
	uint8_t *slot;

	if (!plan->is_bounced) {
		if (bytes != 0 && mana_tx_hdr_is_private(m))
			mana_tx_request_fix(rte_pktmbuf_mtod(m, uint8_t *),
					    &plan->req, true);
		return;
	}
	slot = bounce_slot(txq);
	/* The lengths are those of the segments: pkt_len may be wrong. */
	for (at = 0; at < bytes; m = m->next, at += len) {
		len = RTE_MIN((uint32_t)m->data_len, bytes - at);
		memcpy(slot + at, rte_pktmbuf_mtod(m, void *), len);
	}
	mana_tx_request_fix(slot, &plan->req, true);
	txq->stats.bounced++;
}

/*
 * Write the WQE. Header and OOB are in the first BU. The SGL may wrap at the end of
 * the ring, but only between BUs of two SGEs each.
 */
static void
write_wqe(const struct mana_txq *txq, const struct rte_mbuf *m,
	  const struct plan *plan)
{
	uint64_t oob = plan->is_long ? mana_tx_long_oob(txq) :
				       txq->oob | txq->no_cqe;
	uint32_t idx = txq->sq.pi;
	uint64_t *wqe = mana_wq_bu(&txq->sq, idx);
	uint32_t at = 2;

	wqe[0] = rte_cpu_to_le_64(GDMA_WQE_HEADER(plan->nb_sge,
		plan->is_long ? GDMA_OOB_LONG_DIV4 : GDMA_OOB_SHORT_DIV4) |
		plan->req.wqe_header);
	if (plan->is_long) {
		wqe[2] = rte_cpu_to_le_64(mana_tx_loob(txq, m));
		wqe[3] = 0;
		at = 4;
	}
	wqe[1] = rte_cpu_to_le_64(oob | plan->req.hdrs.oob);
	for (uint32_t i = 0; i < plan->nb_sge; i++) {
		if (at == GDMA_BU_WORDS) {
			wqe = mana_wq_bu(&txq->sq, ++idx);
			at = 0;
		}
		wqe[at] = rte_cpu_to_le_64(plan->sge[i].addr);
		wqe[at + 1] = rte_cpu_to_le_64(
			GDMA_SGE_WORD(plan->sge[i].lkey, plan->sge[i].bytes));
		at += 2;
	}
	/* The device does not read the rest of the last BU; it is 0 all the same. */
	if (at != GDMA_BU_WORDS)
		wqe[2] = wqe[3] = 0;
}

/* Whether all segments are direct, of one reference and of one pool. */
static bool
is_of_pool(const struct rte_mbuf *m)
{
	const struct rte_mempool *mp = m->pool;

	for (uint32_t left = m->nb_segs; left > 0; left--, m = m->next)
		if (rte_mbuf_refcnt_read(m) != 1 || !RTE_MBUF_DIRECT(m) ||
		    m->pool != mp || (left == 1) != (m->next == NULL))
			return false;
	return true;
}

/*
 * Post a packet whose WQE is written. As in the fast lane, a chain is split if all
 * of it can return to its pool unread, and there is room for its mbufs; else it is
 * freed by its head.
 */
static void
post(struct mana_txq *txq, struct rte_mbuf *m, uint32_t nb_bu)
{
	/* Reserve one entry for each WQE that may still be posted. */
	uint32_t left = txq->limit - mana_txq_nb_posted(txq);
	uint32_t room = txq->mbuf_mask + 1 - (txq->mbuf_pi - txq->mbuf_ci) - left;
	struct rte_mempool *mp = NULL;
	uint32_t nb = 1;

	/*
	 * Empty segments are not bounded by the WQE. A WQE of one BU has one
	 * entry: place_next() in mana_tx_done.c relies on it.
	 */
	if (m->nb_segs <= RTE_MIN(room + 1, GDMA_SQ_WQE_MAX_SGE) &&
	    (nb_bu > 1 || m->nb_segs == 1) && is_of_pool(m)) {
		mp = m->pool;
		nb = m->nb_segs;
	}
	for (uint32_t i = 0; i < nb; i++) {
		struct rte_mbuf *next = m->next;

		txq->mbufs[(txq->mbuf_pi + i) & txq->mbuf_mask] = m;
		if (mp != NULL) {
			m->next = NULL;
			m->nb_segs = 1;
		}
		m = next;
	}
	txq->info[txq->pi & txq->mask] = MANA_TX_INFO(nb_bu, nb);
	mana_tx_post(txq, 1, nb_bu, nb_bu, nb, mp);
}

/* Post a packet as it is, with the header bounced where needed. */
static int
put_as_is(struct mana_txq *txq, struct rte_mbuf *m)
{
	struct plan plan;
	int ret = plan_make(txq, m, &plan);
	uint32_t nb_bu;

	if (ret != 0)
		return ret;
	nb_bu = mana_wqe_bu(plan.is_long ? GDMA_WQE_SGL_LONG_BYTES :
					   GDMA_WQE_SGL_SHORT_BYTES, plan.nb_sge);
	if (nb_bu > mana_wq_free_bu(&txq->sq))
		return -EAGAIN;
	if (!plan_find_keys(txq, &plan))
		return -EFAULT;
	write_header(txq, m, &plan);
	write_wqe(txq, m, &plan);
	post(txq, m, nb_bu);
	return plan.req.bytes;
}

/* Post a copy in the driver's own mbufs, and free the original. */
static int
put_copy(struct mana_txq *txq, struct rte_mbuf *m, int reason)
{
	struct rte_mbuf *copy;
	int ret;

	/* A copy needs at most the largest WQE: do not copy in vain. */
	if (mana_wq_free_bu(&txq->sq) < GDMA_SQ_WQE_MAX_BU)
		return -EAGAIN;
	/* rte_pktmbuf_copy() relies on pkt_len. */
	if (mana_tx_frame_bytes(m) != m->pkt_len)
		return -EINVAL;
	if (txq->bounce_mp == NULL)
		return -ENOMEM;
	copy = rte_pktmbuf_copy(m, txq->bounce_mp, 0, UINT32_MAX);
	if (copy == NULL)
		/* An mbuf will return if a posted copy has yet to complete. */
		return txq->copy_end - 1 - txq->ci < mana_txq_nb_posted(txq) ?
			       -EAGAIN : -ENOMEM;
	ret = mana_tx_asks_inner(copy) ? mana_tx_inner_fix(copy) : 0;
	if (ret == 0)
		ret = put_as_is(txq, copy);
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

/* Free and count a packet that cannot be sent. */
static void
drop(struct mana_txq *txq, struct rte_mbuf *m, int reason)
{
	if (reason == -ENOTSUP)
		txq->stats.drop_offload++;
	else if (reason == -EFAULT)
		txq->stats.drop_mr++;
	else if (reason == -ENOMEM)
		txq->stats.drop_nomem++;
	else
		txq->stats.drop_malformed++;
	rte_pktmbuf_free(m);
}

int
mana_tx_slow(struct mana_txq *txq, struct rte_mbuf *m)
{
	const uint64_t asked = m->ol_flags;
	int ret = 0;

	if (mana_tx_asks_inner(m)) {
		/* A packet that stays with the caller must not change. */
		if (mana_wq_free_bu(&txq->sq) < GDMA_SQ_WQE_MAX_BU)
			return -EAGAIN;
		ret = mana_tx_inner_fix(m);
	}
	if (ret == 0)
		ret = put_as_is(txq, m);
	if (ret == -E2BIG || ret == -ENOBUFS)
		ret = put_copy(txq, m, ret);
	/* The next burst computes the same checksums again. */
	if (ret == -EAGAIN)
		m->ol_flags = asked;
	if (ret < 0 && ret != -EAGAIN) {
		drop(txq, m, ret);
		return 0;
	}
	return ret;
}
