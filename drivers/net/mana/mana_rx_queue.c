/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A receive queue from the laying of its ring to the release of its buffers.
 */

#include <errno.h>

#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_rx.h"
#include "mana_rxtx.h"

static int
mana_rxq_conf_check(const struct mana_rxq_conf *conf)
{
	uint32_t nb_bu = conf->rq_bytes / GDMA_BU_BYTES;
	uint32_t room;

	if (conf->mbufs == NULL || !rte_is_power_of_2(conf->nb_mbufs) ||
	    conf->nb_desc == 0 || conf->nb_desc > conf->nb_mbufs)
		return -EINVAL;
	if (conf->nb_segs != 0)
		return mana_rx_scatter_check(conf);
	if (conf->mp == NULL || conf->nb_desc > nb_bu)
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
	return rte_pktmbuf_priv_flags(mp) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF ?
		       RTE_MBUF_F_EXTERNAL : 0;
}

/* Where an mbuf's data begins, from the mbuf on. */
static uint64_t
mana_rx_data_delta(const struct rte_mbuf *m)
{
	return (uintptr_t)m->buf_addr + RTE_PKTMBUF_HEADROOM - (uintptr_t)m;
}

static void
mana_rx_compare_delta(struct rte_mempool *mp, void *rxq_arg, void *obj,
		      unsigned int idx)
{
	struct mana_rxq *rxq = rxq_arg;

	RTE_SET_USED(mp);
	if (idx == 0)
		rxq->data_delta = mana_rx_data_delta(obj);
	rxq->is_even &= rxq->data_delta == mana_rx_data_delta(obj);
}

/*
 * Whether the buffers of the pool are all at one distance from their mbufs.
 * They are, unless they are external or some are lent to clones just now; a
 * pool that is complete gets no others.
 */
static void
mana_rxq_init_delta(struct mana_rxq *rxq)
{
	rxq->is_even = rxq->mp->populated_size == rxq->mp->size &&
		       rxq->ol_flags == 0;
	rxq->flat = MANA_RX_FLAT_UNKNOWN;
	if (rxq->is_even)
		rte_mempool_obj_iter(rxq->mp, mana_rx_compare_delta, rxq);
}

/* One buffer a WQE. */
static void
mana_rxq_init_single(struct mana_rxq *rxq, const struct mana_rxq_conf *conf)
{
	uint32_t i;

	rxq->scatter.nb_segs = 0;
	rxq->mp = conf->mp;
	rxq->rearm = mana_rx_rearm(conf->port_id, RTE_PKTMBUF_HEADROOM);
	rxq->ol_flags = mana_rx_pool_flags(conf->mp);
	rxq->buf_bytes = rte_pktmbuf_data_room_size(conf->mp) -
			 RTE_PKTMBUF_HEADROOM;
	mana_rxq_init_delta(rxq);
	for (i = 0; i < RTE_DIM(rxq->vec_told); i++) {
		rxq->vec_told[i] = rxq->told_flags;
		rxq->vec_bound[i] = rxq->buf_bytes - 1;
		rxq->vec_bound_hi[i] = (rxq->buf_bytes - 1) << 16;
	}
	/*
	 * Header and OOB are the same in every WQE: once and for all. The
	 * device ignores the OOB of an RQ.
	 */
	for (i = 0; i <= rxq->rq.mask_bu; i++) {
		uint64_t *wqe = mana_wq_bu(&rxq->rq, i);

		wqe[0] = rte_cpu_to_le_64(GDMA_WQE_HEADER(1, GDMA_OOB_SHORT_DIV4));
		wqe[1] = 0;
	}
}

int
mana_rxq_init(struct mana_rxq *rxq, const struct mana_rxq_conf *conf)
{
	struct mana_cq cq;
	struct mana_wq rq;
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
	rxq->port_id = conf->port_id;
	rxq->queue_id = conf->queue_id;
	rxq->vlan_strip = conf->vlan_strip;
	rxq->told_flags = ~(conf->csum ? 0 : MANA_RX_CSUM_FLAGS);
	rxq->limit = mana_rx_limit(conf->nb_desc, conf->nb_cqe);
	rxq->refill_thresh = mana_rx_refill_thresh(conf->free_thresh,
						   conf->nb_desc, conf->nb_cqe);
	rxq->rest = (struct mana_rx_rest){0};
	rxq->odd.rest = 0;
	rxq->odd.hungry = 0;
	rxq->fate = MANA_QUEUE_ALIVE;
	rxq->nb_unknown = 0;
	rxq->ppi_shift = 0;
	rxq->look_ci = rq.ci;
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
	if (mana_rxq_nb_posted(rxq) == 0)
		return;
	mana_wq_ring(&rxq->rq);
	rxq->stats.rq_doorbells++;
}

void
mana_rxq_close(struct mana_rxq *rxq)
{
	mana_cq_close(&rxq->cq);
	mana_rxq_arm_forget(rxq);
	rxq->rest = (struct mana_rx_rest){0};
	rxq->odd.rest = 0;
	rxq->odd.hungry = 0;
}

void
mana_rxq_release_mbufs(struct mana_rxq *rxq, bool is_gone)
{
	mana_rxq_close(rxq);
	if (rxq->scatter.nb_segs != 0) {
		mana_rx_scatter_release(rxq, is_gone);
		return;
	}
	/* Posted mbufs are as the pool gave them: they go back raw. */
	for (; rxq->rq.ci != rxq->rq.pi; rxq->rq.ci++)
		if (is_gone)
			rte_mempool_put(rxq->mp,
					rxq->mbufs[rxq->rq.ci & rxq->mbuf_mask]);
}
