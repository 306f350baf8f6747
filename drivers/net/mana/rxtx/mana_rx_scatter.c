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
 * rxq->mbufs has a slot of nb_segs entries for each WQE index, masked. An entry
 * is an mbuf of the queue or NULL. Buffers that a short or dropped frame did not
 * use stay in their entries. The next WQE of the slot posts them again, and new
 * mbufs are allocated only for NULL entries.
 *
 * It is not known whether every device scatters. Therefore the second buffers of the
 * first WQEs begin with a canary: random bytes that no peer knows. If a packet needs
 * its second buffer and the canary is still there, the packet was not scattered and
 * is dropped. After some scattered packets the driver writes and checks no canary.
 *
 * The packets of such a queue take the slow lane: rxq->buf_bytes is 0.
 */

#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
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
mana_rx_slot(const struct mana_rxq *rxq, uint32_t wqe)
{
	return &rxq->mbufs[(size_t)(wqe & rxq->mbuf_mask) *
			   rxq->scatter.nb_segs];
}

int
mana_rx_scatter_check(const struct mana_rxq_conf *conf)
{
	uint32_t wqe_bu = mana_wqe_bu(GDMA_WQE_SGL_SHORT_BYTES, conf->nb_segs);
	uint32_t bytes = 0;

	if (conf->nb_segs > GDMA_RQ_WQE_MAX_SGE ||
	    conf->nb_desc * wqe_bu > conf->rq_bytes / GDMA_BU_BYTES)
		return -EINVAL;
	for (uint32_t i = 0; i < conf->nb_segs; i++) {
		const struct mana_rx_seg *seg = &conf->segs[i];

		if (seg->mp == NULL || seg->bytes == 0 ||
		    (uint32_t)seg->offset + seg->bytes >
			    rte_pktmbuf_data_room_size(seg->mp))
			return -EINVAL;
		bytes += seg->bytes;
	}
	if (bytes < RTE_ETHER_MIN_LEN ||
	    (!conf->vlan_strip && conf->segs[0].offset < RTE_VLAN_HLEN))
		return -ENOTSUP;
	return 0;
}

/* ---- Does the device scatter? ------------------------------------------- */

bool
mana_rx_scatter_is_whole(struct mana_rxq *rxq, uint32_t len)
{
	struct mana_rx_scatter *scatter = &rxq->scatter;
	const struct rte_mbuf *second;

	if (likely(scatter->nb_unproven == 0) || len <= scatter->segs[0].bytes)
		return true;
	/* A few bytes may be equal by chance. */
	if (len - scatter->segs[0].bytes < sizeof(scatter->canary))
		return !scatter->has_missed;
	second = mana_rx_slot(rxq, rxq->rq.ci)[1];
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
mana_rx_scatter_init(struct mana_rxq *rxq, const struct mana_rxq_conf *conf)
{
	struct mana_rx_scatter *scatter = &rxq->scatter;

	scatter->nb_segs = conf->nb_segs;
	scatter->wqe_bu = mana_wqe_bu(GDMA_WQE_SGL_SHORT_BYTES, conf->nb_segs);
	scatter->bytes = 0;
	for (uint32_t i = 0; i < conf->nb_segs; i++) {
		struct mana_rx_seg *seg = &scatter->segs[i];

		*seg = conf->segs[i];
		seg->rearm = mana_rx_rearm(conf->port_id, seg->offset);
		seg->ol_flags = mana_rx_pool_flags(seg->mp);
		scatter->bytes += seg->bytes;
	}
	rxq->buf_bytes = 0;
	scatter->has_missed = false;
	/* A smaller second buffer has no room for the canary. */
	scatter->nb_unproven = scatter->nb_segs >= 2 &&
			       scatter->segs[1].bytes >= sizeof(scatter->canary) ?
				       MANA_RX_NB_UNPROVEN : 0;
	scatter->canary[0] = rte_rand();
	scatter->canary[1] = rte_rand();
	rxq->mp = scatter->segs[0].mp;
	rxq->ol_flags = scatter->segs[0].ol_flags;
	memset(rxq->mbufs, 0, (size_t)conf->nb_mbufs * conf->nb_segs *
				      sizeof(*rxq->mbufs));
}

/*
 * Write the WQE of the next slot. Returns 0; after -ENOMEM and -EFAULT nothing
 * was posted, and the mbufs allocated so far stay in the slot.
 */
static int
mana_rx_scatter_post(struct mana_rxq *rxq)
{
	struct mana_rx_scatter *scatter = &rxq->scatter;
	struct rte_mbuf **slot = mana_rx_slot(rxq, rxq->rq.pi);
	const uint32_t at = rxq->rq.pi * scatter->wqe_bu;
	uint64_t *wqe = mana_wq_bu(&rxq->rq, at);
	uint32_t lkey;

	for (uint32_t i = 0; i < scatter->nb_segs; i++) {
		const struct mana_rx_seg *seg = &scatter->segs[i];
		uint64_t *sge = mana_rx_sge(&rxq->rq, at, i);
		uintptr_t addr;

		if (slot[i] == NULL &&
		    rte_mempool_get(seg->mp, (void **)&slot[i]) != 0) {
			slot[i] = NULL;
			rxq->stats.nombuf++;
			return -ENOMEM;
		}
		addr = (uintptr_t)slot[i]->buf_addr + seg->offset;
		if (!mana_mr_lkey(&rxq->mr, slot[i], addr, seg->bytes, &lkey)) {
			struct rte_mbuf *m = slot[i];

			/* The next one may lie elsewhere. First, as in mana_tx_free_to(). */
			slot[i] = NULL;
			rte_compiler_barrier();
			rte_mempool_put(seg->mp, m);
			rxq->stats.mr_failed++;
			return -EFAULT;
		}
		/* Not the device's yet. */
		if (rxq->scrub)
			memset((void *)addr, 0, seg->bytes);
		if (unlikely(i == 1 && scatter->nb_unproven != 0))
			memcpy((void *)addr, scatter->canary,
			       sizeof(scatter->canary));
		sge[0] = rte_cpu_to_le_64(addr);
		sge[1] = rte_cpu_to_le_64(GDMA_SGE_WORD(lkey, seg->bytes));
	}
	wqe[0] = rte_cpu_to_le_64(
		GDMA_WQE_HEADER(scatter->nb_segs, GDMA_OOB_SHORT_DIV4));
	wqe[1] = 0;
	rxq->rq.pi++;
	return 0;
}

int
mana_rx_scatter_fill(struct mana_rxq *rxq)
{
	int ret = 0;

	while (ret == 0 && mana_rxq_nb_posted(rxq) < rxq->limit)
		ret = mana_rx_scatter_post(rxq);
	return ret;
}

struct rte_mbuf *
mana_rx_scatter_chain(struct mana_rxq *rxq, uint32_t len)
{
	struct rte_mbuf **slot = mana_rx_slot(rxq, rxq->rq.ci);
	const struct mana_rx_seg *seg = rxq->scatter.segs;
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

void
mana_rx_scatter_release(struct mana_rxq *rxq, bool is_gone)
{
	const struct mana_rx_scatter *scatter = &rxq->scatter;

	/* Every slot, those of posted WQEs and those where buffers wait. */
	for (uint32_t wqe = 0; wqe <= rxq->mbuf_mask; wqe++) {
		struct rte_mbuf **slot = mana_rx_slot(rxq, rxq->rq.ci + wqe);
		bool is_posted = wqe < mana_rxq_nb_posted(rxq);

		for (uint32_t i = 0; i < scatter->nb_segs; i++) {
			if (slot[i] != NULL && (is_gone || !is_posted))
				rte_mempool_put(scatter->segs[i].mp, slot[i]);
			slot[i] = NULL;
		}
	}
	rxq->rq.ci = rxq->rq.pi;
}
