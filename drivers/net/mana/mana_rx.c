/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a receive burst's kernel leaves: completions of any kind, one by one,
 * packet by packet. All of it works on the queue itself; the burst brings its
 * indices there before.
 */

#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_rx.h"
#include "mana_rx_burst.h"
#include "mana_rxtx.h"

/*
 * The stripped tag goes into the mbuf, or back into the frame when the
 * application did not ask for stripping: the device always strips. Priority
 * and DEI are lost (Linux mana.h: rx_vlan_id has 12 bits).
 */
void
mana_rx_vlan(const struct mana_rxq *rxq, struct rte_mbuf *m, uint16_t tci)
{
	const uint16_t tag[2] = {
		rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN),
		rte_cpu_to_be_16(tci),
	};
	uint8_t *frame;

	m->ol_flags |= RTE_MBUF_F_RX_VLAN;
	m->vlan_tci = tci;
	if (rxq->vlan_strip) {
		m->ol_flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
		return;
	}
	/* mana_rxq_init() has seen to the headroom. */
	if (m->packet_type != RTE_PTYPE_UNKNOWN)
		m->packet_type ^= RTE_PTYPE_L2_ETHER ^ RTE_PTYPE_L2_ETHER_VLAN;
	if (unlikely(m->data_len < 2 * RTE_ETHER_ADDR_LEN)) {
		mana_rx_scatter_tag(m, tci);
		return;
	}
	m->data_off -= RTE_VLAN_HLEN;
	m->data_len += RTE_VLAN_HLEN;
	m->pkt_len += RTE_VLAN_HLEN;
	frame = rte_pktmbuf_mtod(m, uint8_t *);
	memmove(frame, frame + RTE_VLAN_HLEN, 2 * RTE_ETHER_ADDR_LEN);
	memcpy(frame + 2 * RTE_ETHER_ADDR_LEN, tag, sizeof(tag));
}

/* A packet that is not delivered; its buffer goes back to the pool. */
static void
mana_rx_drop(struct mana_rxq *rxq, uint64_t *counter)
{
	if (mana_wq_used_bu(&rxq->rq) == 0) {
		rxq->stats.cqe_spurious++;
		return;
	}
	(*counter)++;
	if (rxq->scatter.nb_segs != 0) {
		mana_rx_scatter_drop(rxq);
		return;
	}
	rte_mempool_put(rxq->mp, rxq->mbufs[rxq->rq.ci & rxq->mbuf_mask]);
	rxq->rq.ci++;
}

static void
mana_rx_lose(struct mana_rxq *rxq, enum mana_queue_fate fate)
{
	rxq->fate = fate;
	mana_cq_close(&rxq->cq);
	/* It gets no buffer any more: polls need not try. */
	rxq->odd.hungry = 0;
}

/* What is neither of the two types that bring packets. */
static void
mana_rx_odd_type(struct mana_rxq *rxq, uint32_t type)
{
	switch (type) {
	case MANA_CQE_RX_OBJECT_FENCE:
		rxq->stats.fence++;
		break;
	case MANA_CQE_RX_TRUNCATED:
		mana_rx_drop(rxq, &rxq->stats.truncated);
		break;
	default:
		/*
		 * Whether it took a WQE is unknown: Linux says no, OpenVMM yes.
		 * Free nothing: a slot that leaks is better than a buffer
		 * that the device may still own. When it happens again,
		 * deliver no more.
		 */
		rxq->stats.cqe_unknown++;
		if (++rxq->nb_unknown > 1)
			mana_rx_lose(rxq, MANA_QUEUE_UNKNOWN_CQE);
	}
}

/* A length that no packet of ours can have. */
static void
mana_rx_odd_length(struct mana_rxq *rxq, uint32_t len)
{
	if (len == 0)
		rxq->stats.zero_len++; /* takes no WQE: Linux mana_en.c */
	else
		mana_rx_drop(rxq, &rxq->stats.oversize);
}

/* Not a CQE of ours. True when there may be one behind it. */
static bool
mana_rx_skip(struct mana_rxq *rxq, uint32_t trailer)
{
	switch (mana_cq_state(&rxq->cq, rxq->cq.ci, trailer)) {
	case MANA_CQE_FOREIGN:
		rxq->stats.cqe_foreign++;
		rxq->cq.ci++;
		return true;
	case MANA_CQE_OVERRUN:
		rxq->stats.cqe_overrun++;
		mana_rx_lose(rxq, MANA_QUEUE_OVERRUN);
		return false;
	default:
		return false;
	}
}

/*
 * Copy a coalesced CQE: packets beyond the burst wait for the next one. The
 * first zero ends the list.
 */
static void
mana_rx_rest_take(struct mana_rx_rest *rest, const struct gdma_cqe *cqe,
		  const struct mana_rx_head *head,
		  const struct mana_rx_head *parts)
{
	uint32_t i = 0;

	rest->flags = head->flags;
	rest->len[0] = head->len & UINT16_MAX;
	rest->hash[0] = head->hash;
	while (rest->len[i] != 0 && ++i < MANA_RX_CQE_NB_PPI) {
		rest->len[i] = parts != NULL ? parts[i].len :
			mana_cqe_load(&cqe->rx.ppi[i].len) & UINT16_MAX;
		rest->hash[i] = parts != NULL ? parts[i].hash :
			mana_cqe_load(&cqe->rx.ppi[i].hash);
	}
	rest->next = 0;
	rest->nb = i;
}

/* The oldest buffer, which is posted, becomes a packet. Returns its bytes. */
static uint32_t
mana_rx_deliver_any(struct mana_rxq *rxq, struct rte_mbuf **pkt,
		    const struct mana_rx_meta *meta, uint32_t len, uint32_t hash)
{
	if (rxq->scatter.nb_segs != 0)
		return mana_rx_scatter_deliver(rxq, pkt, meta, len, hash);
	*pkt = rxq->mbufs[rxq->rq.ci++ & rxq->mbuf_mask];
	return mana_rx_deliver(rxq, *pkt, meta, len, hash);
}

uint32_t
mana_rx_rest_deliver(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		     uint32_t nb_pkts, uint64_t *bytes)
{
	struct mana_rx_rest *rest = &rxq->rest;
	const struct mana_rx_meta meta = mana_rx_meta(rxq, rest->flags);
	uint32_t nb = 0;

	while (nb < nb_pkts && rest->next != rest->nb) {
		uint32_t i = rest->next++;

		if (unlikely(rest->len[i] > rxq->buf_bytes))
			mana_rx_odd_length(rxq, rest->len[i]);
		else if (unlikely(mana_wq_used_bu(&rxq->rq) == 0))
			rxq->stats.cqe_spurious++;
		else
			*bytes += mana_rx_deliver_any(rxq, &pkts[nb++], &meta,
						      rest->len[i],
						      rest->hash[i]);
	}
	rxq->odd.rest = rest->next != rest->nb;
	return nb;
}

/* One CQE with one packet, which may be odd. Returns packets delivered. */
static uint32_t
mana_rx_single(struct mana_rxq *rxq, const struct mana_rx_head *head,
	       struct rte_mbuf **pkt, uint64_t *bytes)
{
	const uint32_t len = head->len & UINT16_MAX;
	struct mana_rx_meta meta;

	if (len - 1 >= rxq->buf_bytes) {
		mana_rx_odd_length(rxq, len);
		return 0;
	}
	if (mana_wq_used_bu(&rxq->rq) == 0) {
		rxq->stats.cqe_spurious++;
		return 0;
	}
	meta = mana_rx_meta(rxq, head->flags);
	*bytes += mana_rx_deliver_any(rxq, pkt, &meta, len, head->hash);
	return 1;
}

/* What a CQE says, for all types. It is ours. */
static struct mana_rx_head
mana_rx_head_load(const struct gdma_cqe *cqe)
{
	return (struct mana_rx_head){
		.header = mana_cqe_load(&cqe->rx.header),
		.flags = mana_cqe_load(&cqe->rx.flags),
		.len = mana_cqe_load(&cqe->rx.ppi[0].len),
		.hash = mana_cqe_load(&cqe->rx.ppi[0].hash),
	};
}

/* A CQE of ours. Returns packets delivered. */
static uint32_t
mana_rx_take(struct mana_rxq *rxq, const struct gdma_cqe *cqe,
	     const struct mana_rx_head *head, const struct mana_rx_head *parts,
	     struct rte_mbuf **pkts, uint32_t nb_pkts, uint64_t *bytes)
{
	uint32_t type = head->header & MANA_CQE_TYPE_M;

	switch (type) {
	case MANA_CQE_RX_OKAY:
		return mana_rx_single(rxq, head, pkts, bytes);
	case MANA_CQE_RX_COALESCED_4:
		rxq->ppi_shift = MANA_RX_CQE_PPI_SHIFT;
		mana_rx_rest_take(&rxq->rest, cqe, head, parts);
		if (rxq->rest.nb == 0)
			mana_rx_odd_length(rxq, 0);
		return mana_rx_rest_deliver(rxq, pkts, nb_pkts, bytes);
	default:
		mana_rx_odd_type(rxq, type);
		return 0;
	}
}

uint32_t
mana_rx_take_ahead(struct mana_rxq *rxq, struct mana_rx_ahead *ahead,
		   struct rte_mbuf **pkts, uint32_t nb_pkts)
{
	uint32_t nb = 0, i;

	ahead->more = true;
	for (i = 0; i < ahead->nb && ahead->budget > 0 && nb < nb_pkts; i++) {
		const uint32_t idx = rxq->cq.ci;
		const struct gdma_cqe *cqe = mana_cq_cqe(&rxq->cq, idx);
		struct mana_rx_head head;
		uint32_t nb_taken = 0;

		if (!mana_cq_is_ours(&rxq->cq, idx, ahead->trailers[i])) {
			ahead->more = mana_rx_skip(rxq, ahead->trailers[i]);
			if (!ahead->more)
				break;
		} else {
			rxq->cq.ci = idx + 1;
			head = i < ahead->nb_heads ? ahead->heads[i] :
						     mana_rx_head_load(cqe);
			nb_taken = mana_rx_take(rxq, cqe, &head,
						i == 0 && ahead->has_parts ?
							ahead->parts : NULL,
						&pkts[nb], nb_pkts - nb,
						&ahead->bytes);
		}
		nb += nb_taken;
		ahead->budget -= nb_taken == 0;
	}
	return nb;
}
