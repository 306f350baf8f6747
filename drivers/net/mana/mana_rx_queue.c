/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive buffers: laying the ring, filling it, refilling it, emptying it.
 */

#include <errno.h>

#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_rx.h"
#include "mana_rxtx.h"

#define MANA_RX_REFILL_MAX 64 /* mbufs taken from the pool at a time */

static int
mana_rxq_conf_check(const struct mana_rxq_conf *conf)
{
	uint32_t nb_bu = conf->rq_bytes / GDMA_BU_BYTES;
	uint32_t room;

	if (conf->mp == NULL || conf->mbufs == NULL ||
	    !rte_is_power_of_2(conf->nb_mbufs) || conf->nb_desc == 0 ||
	    conf->nb_desc > conf->nb_mbufs || conf->nb_desc > nb_bu)
		return -EINVAL;
	room = rte_pktmbuf_data_room_size(conf->mp);
	if (room < RTE_PKTMBUF_HEADROOM + RTE_ETHER_MIN_LEN)
		return -ENOTSUP;
	if (!conf->vlan_strip && RTE_PKTMBUF_HEADROOM < RTE_VLAN_HLEN)
		return -ENOTSUP;
	return 0;
}

/* data_off, refcnt, nb_segs and port of a packet, as the mbuf holds them. */
static uint64_t
mana_rx_rearm(uint16_t port_id)
{
	struct rte_mbuf m = {
		.data_off = RTE_PKTMBUF_HEADROOM,
		.nb_segs = 1,
		.port = port_id,
	};

	rte_mbuf_refcnt_set(&m, 1);
	return *MANA_MBUF_REARM(&m);
}

int
mana_rxq_init(struct mana_rxq *rxq, const struct mana_rxq_conf *conf)
{
	struct mana_cq cq;
	struct mana_wq rq;
	uint32_t thresh, i;
	int ret;

	ret = mana_rxq_conf_check(conf);
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
	rxq->mp = conf->mp;
	rxq->port_id = conf->port_id;
	rxq->queue_id = conf->queue_id;
	rxq->vlan_strip = conf->vlan_strip;
	rxq->rearm = mana_rx_rearm(conf->port_id);
	rxq->ol_flags = rte_pktmbuf_priv_flags(conf->mp) &
			RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF ?
			RTE_MBUF_F_EXTERNAL : 0;
	rxq->buf_bytes = rte_pktmbuf_data_room_size(conf->mp) -
			 RTE_PKTMBUF_HEADROOM;
	/* Each WQE may give a CQE, and a fence needs one more. */
	rxq->limit = RTE_MIN((uint32_t)conf->nb_desc, conf->nb_cqe - 1);
	thresh = conf->free_thresh != 0 ? conf->free_thresh :
					  MANA_RX_REFILL_THRESH;
	thresh = RTE_MIN(thresh, rxq->limit / 2);
	rxq->refill_thresh = RTE_MAX(1u, thresh);
	rxq->rest = (struct mana_rx_rest){0};
	rxq->fate = MANA_QUEUE_ALIVE;
	rxq->nb_unknown = 0;

	/*
	 * Header and OOB are the same in every WQE: once and for all. The
	 * device ignores the OOB of an RQ.
	 */
	for (i = 0; i <= rq.mask_bu; i++) {
		uint64_t *wqe = mana_wq_bu(&rq, i);

		wqe[0] = rte_cpu_to_le_64(GDMA_WQE_HEADER(1, GDMA_OOB_SHORT_DIV4));
		wqe[1] = 0;
	}
	return 0;
}

/*
 * Fresh mbufs, as many as there are up to nb: a bulk is given whole or not at
 * all, so ask for less until the pool agrees.
 */
static uint32_t
mana_rx_alloc(struct rte_mempool *mp, struct rte_mbuf **mbufs, uint32_t nb)
{
	while (nb > 0 && rte_mempool_get_bulk(mp, (void **)mbufs, nb) != 0)
		nb >>= 1;
	return nb;
}

/* Write one WQE for each mbuf, up to the first that is in no memory region. */
static uint32_t
mana_rx_write(struct mana_rxq *rxq, struct rte_mbuf **mbufs, uint32_t nb)
{
	const uint32_t len = rxq->buf_bytes;
	uint32_t i, lkey;

	for (i = 0; i < nb; i++) {
		uint64_t *wqe = mana_wq_bu(&rxq->rq, rxq->rq.pi + i);
		uintptr_t addr = (uintptr_t)mbufs[i]->buf_addr +
				 RTE_PKTMBUF_HEADROOM;

		if (unlikely(!mana_mr_lkey(&rxq->mr, mbufs[i], addr, len, &lkey)))
			break;
		wqe[2] = rte_cpu_to_le_64(addr);
		wqe[3] = rte_cpu_to_le_64(GDMA_SGE_WORD(lkey, len));
	}
	return i;
}

/* Returns 0 when the ring is full up to the limit. */
static int
mana_rx_fill(struct mana_rxq *rxq)
{
	uint32_t room, want, got, done, at;

	while ((room = rxq->limit - mana_wq_used_bu(&rxq->rq)) > 0) {
		at = rxq->rq.pi & rxq->mbuf_mask;
		want = RTE_MIN(room, rxq->mbuf_mask + 1 - at);
		want = RTE_MIN(want, (uint32_t)MANA_RX_REFILL_MAX);
		got = mana_rx_alloc(rxq->mp, &rxq->mbufs[at], want);
		done = mana_rx_write(rxq, &rxq->mbufs[at], got);
		rxq->rq.pi += done;
		if (unlikely(done < got)) {
			rte_mempool_put_bulk(rxq->mp,
					     (void **)&rxq->mbufs[at + done],
					     got - done);
			rxq->stats.mr_failed += got - done;
			return -EFAULT;
		}
		if (unlikely(got == 0)) {
			rxq->stats.nombuf++;
			return -ENOMEM;
		}
	}
	return 0;
}

int
mana_rxq_fill(struct mana_rxq *rxq)
{
	mana_mr_cache_sync(&rxq->mr);
	return mana_rx_fill(rxq);
}

__rte_noinline void
mana_rx_replenish(struct mana_rxq *rxq)
{
	uint32_t pi = rxq->rq.pi;

	if (unlikely(mana_cq_is_closed(&rxq->cq)))
		return;
	mana_mr_cache_sync(&rxq->mr);
	/* What is missing is seen in the ring by the next poll. */
	(void)mana_rx_fill(rxq);
	if (rxq->rq.pi != pi)
		mana_wq_ring(&rxq->rq);
}

void
mana_rxq_open(struct mana_rxq *rxq, uint32_t rq_id, uint32_t cq_id)
{
	mana_wq_open(&rxq->rq, rq_id);
	mana_cq_open(&rxq->cq, cq_id, rq_id);
	if (mana_rxq_nb_posted(rxq) != 0)
		mana_wq_ring(&rxq->rq);
}

void
mana_rxq_close(struct mana_rxq *rxq)
{
	mana_cq_close(&rxq->cq);
	rxq->rest = (struct mana_rx_rest){0};
}

void
mana_rxq_release_mbufs(struct mana_rxq *rxq)
{
	mana_rxq_close(rxq);
	/* Posted mbufs are as the pool gave them: they go back raw. */
	for (; rxq->rq.ci != rxq->rq.pi; rxq->rq.ci++)
		rte_mempool_put(rxq->mp,
				rxq->mbufs[rxq->rq.ci & rxq->mbuf_mask]);
}

uint32_t
mana_rxq_nb_waiting(const struct mana_rxq *rxq)
{
	const struct mana_cq *cq = &rxq->cq;
	uint32_t nb = (uint8_t)(rxq->rest.nb - rxq->rest.next);
	uint32_t i, p, idx, type;

	/* Closed: the ring may be gone. */
	if (cq->ring == NULL || mana_cq_is_closed(cq))
		return 0;
	for (i = 0; i < mana_cq_size(cq); i++) {
		const struct gdma_cqe *cqe = mana_cq_cqe(cq, cq->ci + i);

		idx = cq->ci + i;
		if (!mana_cq_is_ours(cq, idx, mana_cq_trailer(cq, idx)))
			break;
		type = mana_cqe_load(&cqe->rx.header) & MANA_CQE_TYPE_M;
		if (type == MANA_CQE_RX_OKAY)
			nb++;
		for (p = 0; type == MANA_CQE_RX_COALESCED_4 &&
			    p < MANA_RX_CQE_NB_PPI; p++)
			if ((mana_cqe_load(&cqe->rx.ppi[p].len) & UINT16_MAX) != 0)
				nb++;
	}
	return RTE_MIN(nb, mana_rxq_nb_posted(rxq));
}
