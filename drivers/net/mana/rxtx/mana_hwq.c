/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A hardware Rx queue (hwq), from ring initialisation to the release of its buffers;
 * and the queues of ethdev (rxq): which hwqs their bursts poll, and their state for
 * threads beside the bursts.
 *
 * An rxq of one hwq costs a burst one load. An rxq that is paused, has no hwq or several,
 * or has spares takes the slow path, which polls its hwqs in turn.
 */

#include <errno.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_rx.h"

#define MANA_RX_RETURN_MAX 64 /* spares that a burst returns */

/* Flags that all mbufs of a pool always have. */
static uint64_t
mana_rx_pool_flags(struct rte_mempool *mp)
{
	return (rte_pktmbuf_priv_flags(mp) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0 ?
		       RTE_MBUF_F_EXTERNAL : 0;
}

static void
compare_delta(struct rte_mempool *mp __rte_unused, void *pool_delta, void *obj, unsigned int idx)
{
	const struct rte_mbuf *m = obj;
	uint64_t delta = (uintptr_t)m->buf_addr + RTE_PKTMBUF_HEADROOM - (uintptr_t)m;
	uint64_t *all = pool_delta;

	if (idx == 0)
		*all = delta;
	else if (*all != delta)
		*all = MANA_RX_DELTA_VARIES;
}

/*
 * The distances differ only if buffers are external, or mbufs are attached to others just now.
 * A complete pool gets no further mbufs.
 */
uint64_t
mana_rx_pool_delta(struct rte_mempool *mp)
{
	uint64_t delta = MANA_RX_DELTA_VARIES;

	if (mp->populated_size == mp->size && mana_rx_pool_flags(mp) == 0)
		rte_mempool_obj_iter(mp, compare_delta, &delta);
	return delta;
}

/* WQEs that may be posted: each may have a CQE, and a fence needs one more. */
static uint32_t
mana_rx_limit(uint16_t nb_desc, uint32_t nb_cqe)
{
	return RTE_MIN((uint32_t)nb_desc, nb_cqe - 1);
}

uint32_t
mana_rx_refill_thresh(uint32_t asked, uint16_t nb_desc, uint32_t nb_cqe)
{
	uint32_t thresh = asked != 0 ? asked : RTE_MIN(64u, nb_desc / 4u);

	thresh = RTE_MIN(thresh, mana_rx_limit(nb_desc, nb_cqe) / 2);
	return RTE_MAX(1u, thresh);
}

/* Returns as mana_hwq_init(). */
static int
mana_rx_bufs_init(struct mana_hwq *hwq, const struct mana_queue_rings *rings, uint16_t port_id)
{
	struct mana_rx_scatter *scatter = &hwq->scatter;
	const uint32_t nb_bufs = mana_rx_nb_bufs(scatter);
	struct rte_mbuf m;

	scatter->wqe_bu = mana_wqe_bu(GDMA_WQE_SGL_SHORT_BYTES, nb_bufs);
	scatter->bytes = 0;
	if (hwq->nb_desc == 0 || hwq->nb_desc > hwq->mbuf_mask + 1 ||
	    nb_bufs > GDMA_RQ_WQE_MAX_SGE ||
	    hwq->nb_desc * scatter->wqe_bu > rings->ring_bytes / GDMA_BU_BYTES)
		return -EINVAL;
	for (uint32_t i = 0; i < nb_bufs; i++) {
		struct mana_rx_seg *seg = &scatter->segs[i];

		if (seg->mp == NULL || seg->bytes == 0 ||
		    (uint32_t)seg->offset + seg->bytes >
			    rte_pktmbuf_data_room_size(seg->mp))
			return -EINVAL;
		/* data_off, refcnt, nb_segs and port of a packet, as the mbuf holds them. */
		m = (struct rte_mbuf){ .data_off = seg->offset, .nb_segs = 1, .port = port_id };
		rte_mbuf_refcnt_set(&m, 1);
		seg->rearm = *MANA_MBUF_REARM(&m);
		seg->ol_flags = mana_rx_pool_flags(seg->mp);
		scatter->bytes += seg->bytes;
	}
	if (scatter->bytes < RTE_ETHER_MIN_LEN ||
	    (!hwq->vlan_strip && scatter->segs[0].offset < RTE_VLAN_HLEN))
		return -ENOTSUP;
	hwq->mp = scatter->segs[0].mp;
	hwq->rearm = scatter->segs[0].rearm;
	hwq->ol_flags = scatter->segs[0].ol_flags;
	hwq->buf_bytes = scatter->nb_segs == 0 ? scatter->bytes : 0;
	return 0;
}

/* One buffer per WQE. */
static void
mana_hwq_init_single(struct mana_hwq *hwq)
{
	const struct rte_mempool_memhdr *memhdr;
	uintptr_t base = UINTPTR_MAX, end = 0;

	STAILQ_FOREACH(memhdr, &hwq->mp->mem_list, next) {
		base = RTE_MIN(base, (uintptr_t)memhdr->addr);
		end = RTE_MAX(end, (uintptr_t)memhdr->addr + memhdr->len);
	}
	hwq->pool_base = RTE_MIN(base, end);
	hwq->pool_bytes = end - hwq->pool_base;
	/* The next refill finds out whether the pool is in one region. */
	hwq->in_one_region = false;
	hwq->mr.view.seq = MANA_MR_SEQ_NONE;
	for (uint32_t i = 0; i < RTE_DIM(hwq->vec_reported); i++) {
		hwq->vec_reported[i] = hwq->reported_flags;
		hwq->vec_bound[i] = hwq->buf_bytes - 1;
	}
	/* Header and OOB are the same in every WQE. The device ignores the OOB of an RQ. */
	for (uint32_t i = 0; i <= hwq->rq.mask_bu; i++) {
		uint64_t *wqe = mana_wq_bu(&hwq->rq, i);

		wqe[0] = rte_cpu_to_le_64(GDMA_WQE_HEADER(1, GDMA_OOB_SHORT_DIV4));
		wqe[1] = 0;
	}
}

int
mana_hwq_init(struct mana_hwq *hwq, const struct mana_queue_rings *rings, uint16_t port_id)
{
	int ret = mana_rx_bufs_init(hwq, rings, port_id);

	if (ret == 0)
		ret = mana_wq_init(&hwq->rq, rings->ring, rings->ring_bytes,
				   rings->db_page, GDMA_DB_RQ_OFFSET);
	if (ret == 0)
		ret = mana_cq_init(&hwq->cq, rings->cq_ring, rings->nb_cqe, false, rings->db_page);
	if (ret != 0)
		return ret;

	hwq->reported_flags = (hwq->offloads & RTE_ETH_RX_OFFLOAD_CHECKSUM) != 0 ?
				      UINT32_MAX : ~MANA_RX_CSUM_FLAGS;
	hwq->limit = mana_rx_limit(hwq->nb_desc, rings->nb_cqe);
	mana_atomic_store(&hwq->failure, MANA_FAILURE_NONE);
	hwq->ppi_shift = 0;
	hwq->empty_ci = hwq->rq.ci;
	mana_hwq_close(hwq);
	if (hwq->scatter.nb_segs != 0)
		mana_rx_scatter_init(hwq);
	else
		mana_hwq_init_single(hwq);
	return 0;
}

void
mana_hwq_open(struct mana_hwq *hwq, uint32_t rq_id, uint32_t cq_id)
{
	mana_wq_open(&hwq->rq, rq_id);
	mana_cq_open(&hwq->cq, cq_id, rq_id);
	if (mana_hwq_nb_posted(hwq) != 0)
		mana_rx_ring(hwq);
	if (mana_hwq_nb_posted(hwq) != hwq->limit)
		hwq->slow_flags |= MANA_RX_REFILL_RETRY;
}

void
mana_hwq_close(struct mana_hwq *hwq)
{
	mana_cq_close(&hwq->cq);
	hwq->part.next = 0;
	hwq->part.nb = 0;
	hwq->slow_flags = 0;
}

void
mana_hwq_collect(struct mana_hwq *hwq, bool is_gone, struct mana_rxq *rxq,
		 struct mana_rx_spares *spares)
{
	mana_hwq_close(hwq);
	*spares = (struct mana_rx_spares){ .mbufs = hwq->mbufs, .mask = UINT32_MAX };
	if (hwq->scatter.nb_segs != 0) {
		spares->nb = mana_rx_scatter_collect(hwq, is_gone);
	} else if (is_gone) {
		spares->first = hwq->rq.ci;
		spares->mask = hwq->mbuf_mask;
		spares->nb = mana_hwq_nb_posted(hwq);
	}
	hwq->rq.ci = hwq->rq.pi;
	spares->next = rxq->spares;
	rxq->spares = spares;
	rxq->nb_spares += spares->nb;
}

/* ---- Bursts of an rxq without exactly one queue ------------------------- */

/* The next burst starts behind the last queue that this one has polled. */
__rte_noinline __rte_cold uint16_t
mana_rxq_poll(struct mana_rxq *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts, mana_rx_poll_t poll)
{
	const bool is_paused = mana_rxq_is_paused(rxq);
	struct mana_hwq *first = is_paused ? NULL : rxq->first, *at = first;
	struct mana_rxq unused;
	uint16_t nb = 0;

	if (!is_paused && rxq->nb_spares != 0)
		mana_rx_spares_return(rxq, MANA_RX_RETURN_MAX);
	if (at != NULL && rxq->nb_spares == 0)
		at->slow_flags &= ~MANA_RX_SEE_RXQ;
	while (at != NULL && nb < nb_pkts) {
		if (at->slow_flags != 0 || !mana_rx_is_empty(&at->cq))
			nb += poll(&unused, pkts + nb, nb_pkts - nb, at);
		at = at->next;
		rxq->first = at;
		if (at == first)
			break;
	}
	mana_burst_leave(&rxq->is_busy);
	return nb;
}

/* ---- The hardware queues of an rxq -------------------------------------- */

void
mana_rxq_init(struct mana_rxq *rxq, struct mana_hwq *stand_in)
{
	stand_in->slow_flags = MANA_RX_SEE_RXQ;
	rxq->stand_in = stand_in;
	mana_rxq_pause(rxq, false);
}

void
mana_rxq_add(struct mana_rxq *rxq, struct mana_hwq *hwq)
{
	if (rxq->first == NULL)
		rxq->first = hwq->next = hwq;
	hwq->next = rxq->first->next;
	rxq->first->next = hwq;
	hwq->bad_cqes = &rxq->bad_cqes;
}

void
mana_rxq_pause(struct mana_rxq *rxq, bool is_paused)
{
	struct mana_hwq *only = rxq->first;

	if (is_paused || only == NULL || only->next != only)
		only = rxq->stand_in;
	/* A burst may run where a pause has failed. Then the flag is there, and not written. */
	else if (rxq->nb_spares != 0 && (only->slow_flags & MANA_RX_SEE_RXQ) == 0)
		only->slow_flags |= MANA_RX_SEE_RXQ;
	MANA_ORDER_BEFORE(rxq);
	rxq->is_paused = is_paused;
	rxq->only = only;
}

bool
mana_rxq_lock(struct mana_rxq *rxq)
{
	mana_query_lock(&rxq->query_lock);
	return mana_query_admit(&rxq->query_lock, mana_rxq_is_paused(rxq));
}

/* ---- Spares ------------------------------------------------------------- */

static struct rte_mbuf **
spare_at(const struct mana_rx_spares *spares, uint32_t i)
{
	return &spares->mbufs[(spares->first + i) & spares->mask];
}

/* Take spare i of a block; the last one takes its place. */
static struct rte_mbuf *
spare_remove(struct mana_rxq *rxq, struct mana_rx_spares *spares, uint32_t i)
{
	struct rte_mbuf *m = *spare_at(spares, i);

	rxq->nb_spares--;
	spares->nb--;
	*spare_at(spares, i) = *spare_at(spares, spares->nb);
	return m;
}

struct rte_mbuf *
mana_rx_spares_take(struct mana_rxq *rxq, struct mana_mr_cache *mr,
		    const struct mana_rx_seg *seg, uint32_t *lkey)
{
	for (struct mana_rx_spares *at = rxq->spares; at != NULL; at = at->next)
		for (uint32_t i = at->nb; i-- != 0;) {
			struct rte_mbuf *m = *spare_at(at, i);

			if (m->pool == seg->mp &&
			    mana_mr_lkey(mr, m, (uintptr_t)m->buf_addr + seg->offset,
					 seg->bytes, lkey) == 0)
				return spare_remove(rxq, at, i);
		}
	return NULL;
}

void
mana_rx_spares_return(struct mana_rxq *rxq, uint32_t max)
{
	for (struct mana_rx_spares *at = rxq->spares; at != NULL; at = at->next)
		for (; at->nb != 0 && max != 0; max--) {
			struct rte_mbuf *m = spare_remove(rxq, at, at->nb - 1);

			/* The mbuf is removed before the free, as in mana_tx_free_to(). */
			rte_compiler_barrier();
			rte_mempool_put(m->pool, m);
		}
}

/* ---- Interrupts, armed by the datapath ---------------------------------- */

/*
 * The doorbell has the index of the next CQE. A device that takes no index twice ignores the
 * doorbell if nothing was polled since the last one. The CQ is then still armed, or the ring
 * has the CQE that has used the arming: this looks at the ring again behind the doorbell.
 */
int
mana_hwq_arm(struct mana_hwq *hwq, bool *wakes)
{
	if (mana_hwq_failure(hwq) != MANA_FAILURE_NONE)
		return -EIO;
	if (mana_cq_is_closed(&hwq->cq))
		return 0;
	/* A sleeping application does not poll, so nothing would refill the queue. */
	if (mana_hwq_nb_posted(hwq) == 0)
		mana_rx_replenish(hwq);
	mana_cq_ring(&hwq->cq, true);
	hwq->stats.cq_doorbells++;
	rte_mb();
	if (hwq->part.next != hwq->part.nb || !mana_rx_is_empty(&hwq->cq))
		*wakes = true;
	return mana_hwq_nb_posted(hwq) != 0 ? 0 : -ENOMEM;
}

/* ---- State: completions are read, not taken ----------------------------- */

uint32_t
mana_hwq_posted_snapshot(const struct mana_hwq *hwq)
{
	/* ci first, as in mana_txq_posted_snapshot(). */
	uint32_t ci = *(const volatile uint32_t *)&hwq->rq.ci;
	uint32_t pi;

	rte_io_rmb();
	pi = *(const volatile uint32_t *)&hwq->rq.pi;
	return RTE_MIN(pi - ci, hwq->limit);
}

/* Each packet has one descriptor, dropped or not; a CQE may bring up to eight. */
uint32_t
mana_hwq_nb_waiting(const struct mana_hwq *hwq, uint32_t max)
{
	const struct mana_cq *cq = &hwq->cq;
	uint32_t nb = (uint8_t)(hwq->part.nb - hwq->part.next);
	struct gdma_cqe cqe;

	/* Closed: the ring may be gone. */
	if (cq->ring == NULL || mana_cq_is_closed(cq))
		return 0;
	for (uint32_t i = 0; i < mana_cq_size(cq) && nb < max; i++) {
		if (!mana_cq_copy(cq, cq->ci + i, &cqe))
			break;
		nb += mana_rx_cqe_nb_wqes(&cqe);
	}
	nb = RTE_MIN(nb, max);
	return RTE_MIN(nb, mana_hwq_posted_snapshot(hwq));
}

/* Descriptors of all hwqs of an rxq: done ones up to max, and posted ones, which include them. */
static void
rxq_snapshot(struct mana_rxq *rxq, uint32_t max, uint32_t *done, uint32_t *posted)
{
	struct mana_hwq *first, *at;

	*done = *posted = 0;
	if (rxq == NULL || !mana_rxq_lock(rxq))
		return;
	/* Bursts change it. */
	first = at = *(struct mana_hwq *const volatile *)&rxq->first;
	while (at != NULL) {
		*done += mana_hwq_nb_waiting(at, max - *done);
		if (!mana_cq_is_closed(&at->cq))
			*posted += mana_hwq_posted_snapshot(at);
		at = at->next != first ? at->next : NULL;
	}
	mana_query_unlock(&rxq->query_lock);
}

mana_queue_count_t
mana_rxq_count(void *rxq)
{
	uint32_t done, posted;

	rxq_snapshot(rxq, UINT32_MAX, &done, &posted);
	return done;
}

int
mana_rxq_desc_state(struct mana_rxq *rxq, uint32_t offset)
{
	uint32_t done, posted;

	rxq_snapshot(rxq, offset + 1, &done, &posted);
	if (offset < done)
		return RTE_ETH_RX_DESC_DONE;
	return offset < posted ? RTE_ETH_RX_DESC_AVAIL : RTE_ETH_RX_DESC_UNAVAIL;
}
