/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rx WQEs with several buffers: for frames larger than an mbuf, and for frames
 * that are split by length.
 *
 * The device fills the SGEs of a WQE in order and reports only the length of the
 * frame (OpenVMM net_mana push_rqe(); emulator GuestBuffers). All WQEs of a
 * queue have the same SGEs, so a WQE is a fixed number of BUs. This number need
 * not divide the ring: a WQE is written BU by BU across the end of the ring.
 *
 * hwq->mbufs has a slot of nb_segs entries for each WQE index, masked. An entry
 * is an mbuf of the queue or NULL. Buffers that a short or dropped frame did not
 * use stay in their entries. The next WQE of the slot posts them again, and new
 * mbufs are allocated only for NULL entries.
 *
 * It is not known whether every device scatters. Therefore the second buffers of the
 * first WQEs begin with a canary: random bytes that no peer knows. If a packet needs
 * its second buffer and the canary is still there, the packet was not scattered and
 * is dropped. After some scattered packets the driver writes and checks no canary.
 * ASSUMED: scatter
 *
 * The packets of such a queue take the slow lane: hwq->buf_bytes is 0.
 */

#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_random.h>

#include "mana_rx.h"

#define MANA_RX_NB_UNPROVEN 8

/* The words of SGE i in the WQE at this BU. The SGL starts half a BU in. */
static inline uint64_t *
mana_rx_sge(const struct mana_wq *rq, uint32_t bu, uint32_t i)
{
	static_assert(GDMA_WQE_SGL_SHORT_BYTES == GDMA_SGE_BYTES &&
		      GDMA_BU_BYTES == 2 * GDMA_SGE_BYTES,
		      "SGE i is the half BU i + 1 of its WQE");

	return mana_wq_bu(rq, bu + (i + 1) / 2) + (i + 1) % 2 * 2;
}

static inline struct rte_mbuf **
mana_rx_slot(const struct mana_hwq *hwq, uint32_t wqe)
{
	return &hwq->mbufs[(size_t)(wqe & hwq->mbuf_mask) * hwq->scatter.nb_segs];
}

/* ---- Does the device scatter? ------------------------------------------- */

bool
mana_rx_scatter_is_whole(struct mana_hwq *hwq, uint32_t len)
{
	struct mana_rx_scatter *scatter = &hwq->scatter;
	const struct rte_mbuf *second;

	if (likely(scatter->nb_unproven == 0) || len <= scatter->segs[0].bytes)
		return true;
	/* A few bytes may be equal by chance. */
	if (len - scatter->segs[0].bytes < sizeof(scatter->canary))
		return !scatter->has_missed;
	second = mana_rx_slot(hwq, hwq->rq.ci)[1];
	if (memcmp(RTE_PTR_ADD(second->buf_addr, scatter->segs[1].offset),
		   scatter->canary, sizeof(scatter->canary)) == 0) {
		scatter->has_missed = true;
		return false;
	}
	scatter->nb_unproven--;
	return true;
}

/* ---- Filling ------------------------------------------------------------ */

void
mana_rx_scatter_init(struct mana_hwq *hwq)
{
	struct mana_rx_scatter *scatter = &hwq->scatter;

	scatter->has_missed = false;
	/* A smaller second buffer has no space for the canary. */
	scatter->nb_unproven = scatter->nb_segs >= 2 &&
			       scatter->segs[1].bytes >= sizeof(scatter->canary) ?
				       MANA_RX_NB_UNPROVEN : 0;
	scatter->canary[0] = rte_rand();
	scatter->canary[1] = rte_rand();
	/* No entry has an mbuf. */
	memset(hwq->mbufs, 0, ((size_t)hwq->mbuf_mask + 1) * scatter->nb_segs *
				      sizeof(*hwq->mbufs));
}

int
mana_rx_scatter_post(struct mana_hwq *hwq)
{
	struct mana_rx_scatter *scatter = &hwq->scatter;
	struct rte_mbuf **slot = mana_rx_slot(hwq, hwq->rq.pi);
	const uint32_t at = hwq->rq.pi * scatter->wqe_bu;
	uint64_t *wqe = mana_wq_bu(&hwq->rq, at);
	uint32_t lkey;
	int ret;

	for (uint32_t i = 0; i < scatter->nb_segs; i++) {
		const struct mana_rx_seg *seg = &scatter->segs[i];
		uint64_t *sge = mana_rx_sge(&hwq->rq, at, i);
		uintptr_t addr;

		if (slot[i] == NULL && rte_mempool_get(seg->mp, (void **)&slot[i]) != 0) {
			slot[i] = NULL;
			hwq->stats.nombuf++;
			return -ENOMEM;
		}
		addr = (uintptr_t)slot[i]->buf_addr + seg->offset;
		ret = mana_mr_lkey(&hwq->mr, slot[i], addr, seg->bytes, &lkey);
		if (ret == -EAGAIN)
			return ret;
		if (ret != 0) {
			struct rte_mbuf *m = slot[i];

			/* The next one may lie elsewhere. First, as in mana_tx_free_to(). */
			slot[i] = NULL;
			rte_compiler_barrier();
			rte_mempool_put(seg->mp, m);
			hwq->stats.mr_failed++;
			return -EFAULT;
		}
		/* The buffer is not the device's yet. */
		if (hwq->scrub)
			memset((void *)addr, 0, seg->bytes);
		if (unlikely(i == 1 && scatter->nb_unproven != 0))
			memcpy((void *)addr, scatter->canary, sizeof(scatter->canary));
		sge[0] = rte_cpu_to_le_64(addr);
		sge[1] = rte_cpu_to_le_64(GDMA_SGE_WORD(lkey, seg->bytes));
	}
	wqe[0] = rte_cpu_to_le_64(GDMA_WQE_HEADER(scatter->nb_segs, GDMA_OOB_SHORT_DIV4));
	wqe[1] = 0;
	hwq->rq.pi++;
	return 0;
}

/* Whether the next slot is full, with spares: then a WQE for it uses no pool. */
static bool
mana_rx_scatter_take(struct mana_hwq *hwq, struct mana_rxq *rxq)
{
	struct rte_mbuf **slot = mana_rx_slot(hwq, hwq->rq.pi);
	uint32_t lkey;

	for (uint32_t i = 0; i < hwq->scatter.nb_segs; i++) {
		if (slot[i] == NULL && rxq != NULL)
			slot[i] = mana_rx_spares_take(rxq, &hwq->mr, &hwq->scatter.segs[i], &lkey);
		if (slot[i] == NULL)
			return false;
	}
	return true;
}

void
mana_rx_scatter_repost(struct mana_hwq *hwq, struct mana_rxq *rxq, uint32_t max)
{
	while (mana_hwq_nb_posted(hwq) < max && mana_rx_scatter_take(hwq, rxq) &&
	       mana_rx_scatter_post(hwq) == 0)
		;
}

struct rte_mbuf *
mana_rx_scatter_chain(struct mana_hwq *hwq, uint32_t len)
{
	struct rte_mbuf **slot = mana_rx_slot(hwq, hwq->rq.ci);
	const struct mana_rx_seg *seg = hwq->scatter.segs;
	struct rte_mbuf *head = slot[0], *last = NULL;
	uint32_t part, i;

	/* len is at most the sum of the segments, so i stays below nb_segs. */
	for (i = 0; len > 0; i++, seg++) {
		struct rte_mbuf *m = slot[i];

		slot[i] = NULL;
		part = RTE_MIN(len, (uint32_t)seg->bytes);
		*MANA_MBUF_REARM(m) = seg->rearm;
		m->ol_flags = seg->ol_flags;
		m->data_len = part;
		if (last != NULL)
			last->next = m;
		last = m;
		len -= part;
	}
	head->nb_segs = i;
	return head;
}

uint32_t
mana_rx_scatter_collect(struct mana_hwq *hwq, bool is_gone)
{
	const uint32_t nb_segs = hwq->scatter.nb_segs;
	uint32_t nb = 0;

	/* Every slot, those of posted WQEs and those where buffers wait. */
	for (uint32_t slot = 0; slot <= hwq->mbuf_mask; slot++) {
		bool is_posted = ((slot - hwq->rq.ci) & hwq->mbuf_mask) < mana_hwq_nb_posted(hwq);

		for (uint32_t i = slot * nb_segs; i < (slot + 1) * nb_segs; i++) {
			struct rte_mbuf *m = hwq->mbufs[i];

			hwq->mbufs[i] = NULL;
			if (m != NULL && (is_gone || !is_posted))
				hwq->mbufs[nb++] = m;
		}
	}
	return nb;
}
