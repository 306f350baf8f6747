/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A hardware Rx queue, from ring initialisation to the release of its buffers;
 * interrupts, and the state of the queue for threads beside the bursts.
 */

#include <errno.h>

#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_rx.h"

static int
mana_rxq_conf_check(const struct mana_rxq_conf *conf)
{
	uint32_t room;

	if (conf->mbufs == NULL || !rte_is_power_of_2(conf->nb_mbufs) ||
	    conf->nb_desc == 0 || conf->nb_desc > conf->nb_mbufs)
		return -EINVAL;
	if (conf->nb_segs != 0)
		return mana_rx_scatter_check(conf);
	if (conf->mp == NULL || conf->nb_desc > conf->rq_bytes / GDMA_BU_BYTES)
		return -EINVAL;
	room = rte_pktmbuf_data_room_size(conf->mp);
	if (room < RTE_PKTMBUF_HEADROOM + RTE_ETHER_MIN_LEN)
		return -ENOTSUP;
	if (!conf->vlan_strip && RTE_PKTMBUF_HEADROOM < RTE_VLAN_HLEN)
		return -ENOTSUP;
	return 0;
}

uint64_t
mana_rx_rearm(uint16_t port_id, uint16_t data_off)
{
	struct rte_mbuf m = {
		.data_off = data_off,
		.nb_segs = 1,
		.port = port_id,
	};

	rte_mbuf_refcnt_set(&m, 1);
	return *MANA_MBUF_REARM(&m);
}

uint64_t
mana_rx_pool_flags(struct rte_mempool *mp)
{
	return (rte_pktmbuf_priv_flags(mp) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0 ?
		       RTE_MBUF_F_EXTERNAL : 0;
}

static void
mana_rx_compare_delta(struct rte_mempool *mp, void *pool_delta, void *obj,
		      unsigned int idx)
{
	const struct rte_mbuf *m = obj;
	uint64_t delta = (uintptr_t)m->buf_addr + RTE_PKTMBUF_HEADROOM -
			 (uintptr_t)m;
	uint64_t *all = pool_delta;

	RTE_SET_USED(mp);
	if (idx == 0)
		*all = delta;
	else if (*all != delta)
		*all = MANA_RX_UNEVEN;
}

/*
 * The distances differ only if buffers are external or some mbufs are attached
 * to others just now. A complete pool gets no further mbufs.
 */
uint64_t
mana_rx_pool_delta(struct rte_mempool *mp)
{
	uint64_t delta = MANA_RX_UNEVEN;

	if (mp->populated_size == mp->size && mana_rx_pool_flags(mp) == 0)
		rte_mempool_obj_iter(mp, mana_rx_compare_delta, &delta);
	return delta;
}

/* One buffer per WQE. */
static void
mana_rxq_init_single(struct mana_rxq *rxq, const struct mana_rxq_conf *conf)
{
	rxq->scatter.nb_segs = 0;
	rxq->scatter.wqe_bu = 1;
	rxq->mp = conf->mp;
	rxq->rearm = mana_rx_rearm(conf->port_id, RTE_PKTMBUF_HEADROOM);
	rxq->ol_flags = mana_rx_pool_flags(conf->mp);
	rxq->buf_bytes = rte_pktmbuf_data_room_size(conf->mp) -
			 RTE_PKTMBUF_HEADROOM;
	rxq->scatter.bytes = rxq->buf_bytes;
	rxq->data_delta = conf->data_delta;
	rxq->flat = MANA_RX_FLAT_UNKNOWN;
	for (uint32_t i = 0; i < RTE_DIM(rxq->vec_reported); i++) {
		rxq->vec_reported[i] = rxq->reported_flags;
		rxq->vec_bound[i] = rxq->buf_bytes - 1;
	}
	/*
	 * Header and OOB are the same in every WQE, and are written once. The
	 * device ignores the OOB of an RQ.
	 */
	for (uint32_t i = 0; i <= rxq->rq.mask_bu; i++) {
		uint64_t *wqe = mana_wq_bu(&rxq->rq, i);

		wqe[0] = rte_cpu_to_le_64(GDMA_WQE_HEADER(1, GDMA_OOB_SHORT_DIV4));
		wqe[1] = 0;
	}
}

int
mana_rxq_init(struct mana_rxq *rxq, const struct mana_rxq_conf *conf)
{
	int ret = mana_rxq_conf_check(conf);
	struct mana_cq cq;
	struct mana_wq rq;

	if (ret == 0)
		ret = mana_wq_init(&rq, conf->rq_ring, conf->rq_bytes,
				   conf->db_page, GDMA_DB_RQ_OFFSET);
	if (ret == 0)
		ret = mana_cq_init(&cq, conf->cq_ring, conf->nb_cqe, false,
				   conf->db_page);
	if (ret != 0)
		return ret;

	rxq->rq = rq;
	rxq->cq = cq;
	rxq->mbufs = conf->mbufs;
	rxq->mbuf_mask = conf->nb_mbufs - 1;
	rxq->port_id = conf->port_id;
	rxq->queue_id = conf->queue_id;
	rxq->vlan_strip = conf->vlan_strip;
	rxq->ptypes = conf->ptypes;
	rxq->scrub = conf->scrub;
	rxq->reported_flags = ~(conf->csum ? 0 : MANA_RX_CSUM_FLAGS);
	rxq->limit = mana_rx_limit(conf->nb_desc, conf->nb_cqe);
	rxq->refill_thresh = conf->free_thresh;
	mana_atomic_store(&rxq->failure, MANA_FAILURE_NONE);
	rxq->doubt.meanings = 0;
	rxq->ppi_shift = 0;
	rxq->look_ci = rq.ci;
	mana_rxq_close(rxq);
	if (conf->nb_segs != 0)
		mana_rx_scatter_init(rxq, conf);
	else
		mana_rxq_init_single(rxq, conf);
	return 0;
}

void
mana_rxq_open(struct mana_rxq *rxq, uint32_t rq_id, uint32_t cq_id)
{
	mana_wq_open(&rxq->rq, rq_id);
	mana_cq_open(&rxq->cq, cq_id, rq_id);
	if (mana_rxq_nb_posted(rxq) != 0)
		mana_rx_ring(rxq);
}

void
mana_rxq_close(struct mana_rxq *rxq)
{
	mana_cq_close(&rxq->cq);
	rxq->part.next = 0;
	rxq->part.nb = 0;
	rxq->doubt.nb = 0;
	rxq->slow_flags = 0;
}

void
mana_rxq_release_mbufs(struct mana_rxq *rxq, bool is_gone)
{
	mana_rxq_close(rxq);
	if (rxq->scatter.nb_segs != 0) {
		mana_rx_scatter_release(rxq, is_gone);
		return;
	}
	/*
	 * Posted mbufs are as their pool gave them: they go back raw. The pool may
	 * not be that of the queue (mana_rxq_assign).
	 */
	for (; rxq->rq.ci != rxq->rq.pi; rxq->rq.ci++) {
		struct rte_mbuf *m = rxq->mbufs[rxq->rq.ci & rxq->mbuf_mask];

		if (is_gone)
			rte_mempool_put(m->pool, m);
	}
}

void
mana_rxq_assign(struct mana_rxq *rxq, uint16_t queue_id, struct rte_mempool *mp,
		uint64_t data_delta, bool vlan_strip)
{
	rxq->queue_id = queue_id;
	rxq->vlan_strip = vlan_strip;
	if (rxq->mp == mp || rxq->scatter.nb_segs != 0)
		return;
	rxq->mp = mp;
	rxq->data_delta = data_delta;
	rxq->flat = MANA_RX_FLAT_UNKNOWN;
}

/* ---- Interrupts, armed by the datapath ---------------------------------- */

/*
 * The doorbell has the index of the next CQE. If nothing was polled since the
 * last doorbell, the index is the same, and a device that takes no index twice
 * ignores the doorbell. The CQ is then still armed, or the ring has the CQE that
 * has used the arming. Therefore this looks at the ring again behind the
 * doorbell, and the device's answer does not matter.
 */
int
mana_rxq_arm(struct mana_rxq *rxq, bool *wakes)
{
	if (mana_rxq_failure(rxq) != MANA_FAILURE_NONE)
		return -EIO;
	if (mana_cq_is_closed(&rxq->cq))
		return 0;
	/* A sleeping application does not poll, so nothing would refill the queue. */
	if (mana_rxq_nb_posted(rxq) == 0)
		mana_rx_replenish(rxq);
	mana_cq_ring(&rxq->cq, true);
	rxq->stats.cq_doorbells++;
	rte_mb();
	if (rxq->part.next != rxq->part.nb ||
	    !mana_cq_is_empty(&rxq->cq, rxq->cq.ci,
			      mana_cq_trailer(&rxq->cq, rxq->cq.ci)))
		*wakes = true;
	return mana_rxq_nb_posted(rxq) != 0 ? 0 : -ENOMEM;
}

/* ---- State: completions are read, not taken ----------------------------- */

uint32_t
mana_rxq_look_posted(const struct mana_rxq *rxq)
{
	/* ci first, as in mana_txq_look_posted(). */
	uint32_t ci = *(const volatile uint32_t *)&rxq->rq.ci;
	uint32_t pi;

	rte_io_rmb();
	pi = *(const volatile uint32_t *)&rxq->rq.pi;
	return RTE_MIN(pi - ci, rxq->limit);
}

/* Each packet has one descriptor, dropped or not; a CQE may bring up to eight. */
uint32_t
mana_rxq_nb_waiting(const struct mana_rxq *rxq, uint32_t max)
{
	const struct mana_cq *cq = &rxq->cq;
	uint32_t nb = (uint8_t)(rxq->part.nb - rxq->part.next);
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
	return RTE_MIN(nb, mana_rxq_look_posted(rxq));
}

/*
 * Descriptors of all hardware queues of a list: done ones up to max, and posted
 * ones, which include these.
 */
static void
mana_rx_list_look(struct mana_rx_list *list, uint32_t max, uint32_t *done,
		  uint32_t *posted)
{
	struct mana_rxq *first, *at;

	*done = *posted = 0;
	if (!mana_rx_list_lock(list))
		return;
	/* Bursts change it. */
	first = at = *(struct mana_rxq *const volatile *)&list->first;
	while (at != NULL) {
		*done += mana_rxq_nb_waiting(at, max - *done);
		if (!mana_cq_is_closed(&at->cq))
			*posted += mana_rxq_look_posted(at);
		at = at->next != first ? at->next : NULL;
	}
	mana_rx_list_unlock(list);
}

uint32_t
mana_rx_list_count(struct mana_rx_list *list)
{
	uint32_t done, posted;

	mana_rx_list_look(list, UINT32_MAX, &done, &posted);
	return done;
}

enum mana_desc_state
mana_rx_list_desc_state(struct mana_rx_list *list, uint32_t offset)
{
	uint32_t done, posted;

	mana_rx_list_look(list, offset + 1, &done, &posted);
	if (offset < done)
		return MANA_DESC_DONE;
	return offset < posted ? MANA_DESC_POSTED : MANA_DESC_NONE;
}
