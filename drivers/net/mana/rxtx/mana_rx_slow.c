/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The slow lane of the Rx burst: any CQE, one at a time, packet by packet. It
 * copies a CQE once, after it has checked the owner bits, and makes all
 * decisions on the copy, because the device may change the original at any time.
 * The next burst delivers the packets of a CQE that do not fit in a burst.
 */

#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_net.h>

#include "mana_rx.h"

#define MANA_RX_SLOW_CQES 4 /* before the kernel tries again */

/* ---- Fields of the copy ------------------------------------------------- */

struct mana_rx_pkt {
	uint32_t len;
	uint32_t hash;
};

/* Packet i, below MANA_RX_CQE_MAX_PKTS, below 4 where not coalesced by 8. */
static inline struct mana_rx_pkt
mana_rx_cqe_pkt(const struct gdma_cqe *cqe, uint32_t i)
{
	if (likely(mana_rx_cqe_type(cqe) != MANA_CQE_RX_COALESCED_8))
		return (struct mana_rx_pkt){
			rte_le_to_cpu_32(cqe->rx.ppi[i].len) & UINT16_MAX,
			rte_le_to_cpu_32(cqe->rx.ppi[i].hash),
		};
	/* Two in each entry; its words are hash, both lengths, hash. */
	return (struct mana_rx_pkt){
		rte_le_to_cpu_32(cqe->rx.ppi[i / 2].reserved) >> i % 2 * 16 &
			UINT16_MAX,
		rte_le_to_cpu_32(i % 2 == 0 ? cqe->rx.ppi[i / 2].len :
					      cqe->rx.ppi[i / 2].hash),
	};
}

/* Its packets: the first length of 0 ends the list. */
static inline uint32_t
mana_rx_cqe_nb_pkts(const struct gdma_cqe *cqe)
{
	const uint32_t type = mana_rx_cqe_type(cqe);
	uint32_t max = 0, nb = 0;

	if (type == MANA_CQE_RX_OKAY)
		max = 1;
	else if (type == MANA_CQE_RX_COALESCED_4)
		max = MANA_RX_CQE_NB_PPI;
	else if (type == MANA_CQE_RX_COALESCED_8)
		max = MANA_RX_CQE_MAX_PKTS;
	while (nb < max && mana_rx_cqe_pkt(cqe, nb).len != 0)
		nb++;
	return nb;
}

uint32_t
mana_rx_cqe_nb_wqes(const struct gdma_cqe *cqe)
{
	return mana_rx_cqe_type(cqe) == MANA_CQE_RX_TRUNCATED ?
		       1 : mana_rx_cqe_nb_pkts(cqe);
}

/* ---- CQEs and packets that are not delivered ---------------------------- */

/* Record the CQE that was taken last: it, or one of its packets, is unexpected. */
static void
mana_rx_note(struct mana_rxq *rxq, enum mana_bad_cqe_kind kind)
{
	mana_bad_cqe_note(&rxq->bad_cqes, &rxq->part.cqe, kind);
}

__rte_noinline void
mana_rx_drop(struct mana_rxq *rxq, uint64_t *counter)
{
	struct rte_mbuf *m;

	if (mana_rxq_nb_posted(rxq) == 0) {
		rxq->stats.cqe_spurious++;
		mana_rx_note(rxq, MANA_BAD_CQE_SPURIOUS);
		return;
	}
	(*counter)++;
	/* Several buffers stay in their slot, and are posted again. */
	m = rxq->mbufs[rxq->rq.ci & rxq->mbuf_mask];
	/* First, as in mana_tx_free_to(). */
	rxq->rq.ci++;
	rte_compiler_barrier();
	if (rxq->scatter.nb_segs == 0)
		rte_mempool_put(m->pool, m);
}

void
mana_rxq_fail(struct mana_rxq *rxq, enum mana_queue_failure failure)
{
	mana_atomic_store(&rxq->failure, failure);
	rxq->stats.failed++;
	rxq->bad_cqes.fatal_header = rxq->bad_cqes.last_header;
	mana_rxq_close(rxq);
}

/* The CQE that was taken last has no packet. */
static __rte_noinline __rte_cold void
mana_rx_no_packet(struct mana_rxq *rxq)
{
	const struct mana_rx_scatter *scatter = &rxq->scatter;
	const uint32_t len = mana_rx_cqe_pkt(&rxq->part.cqe, 0).len;

	switch (mana_rx_cqe_type(&rxq->part.cqe)) {
	case MANA_CQE_RX_OKAY:
	case MANA_CQE_RX_COALESCED_4:
	case MANA_CQE_RX_COALESCED_8:
		rxq->stats.zero_len++;
		mana_rx_note(rxq, MANA_BAD_CQE_ZERO_LENGTH);
		mana_rx_doubt(rxq, 1);
		break;
	case MANA_CQE_RX_OBJECT_FENCE:
		rxq->stats.fence++;
		break;
	case MANA_CQE_RX_TRUNCATED:
		/* It would have fitted, had the device used all buffers. */
		mana_rx_note(rxq, scatter->nb_segs != 0 &&
				  len > scatter->segs[0].bytes &&
				  len <= scatter->bytes ?
				  MANA_BAD_CQE_UNSCATTERED : MANA_BAD_CQE_TRUNCATED);
		mana_rx_drop(rxq, &rxq->stats.truncated);
		break;
	default:
		rxq->stats.cqe_unknown++;
		mana_rx_note(rxq, MANA_BAD_CQE_UNKNOWN);
		mana_rx_doubt(rxq, MANA_RX_CQE_MAX_PKTS);
	}
}

/* The next CQE is not a new one of this queue. True when it is skipped. */
static bool
mana_rx_skip(struct mana_rxq *rxq, uint32_t trailer)
{
	const struct gdma_cqe *cqe = mana_cq_cqe(&rxq->cq, rxq->cq.ci);
	enum mana_cqe_state state = mana_cq_state(&rxq->cq, rxq->cq.ci, trailer);

	if (state == MANA_CQE_FOREIGN) {
		rxq->stats.cqe_foreign++;
		mana_bad_cqe_note(&rxq->bad_cqes, cqe, MANA_BAD_CQE_FOREIGN);
		rxq->cq.ci++;
	} else if (state == MANA_CQE_OVERRUN) {
		rxq->stats.cqe_overrun++;
		mana_bad_cqe_note(&rxq->bad_cqes, cqe, MANA_BAD_CQE_OVERRUN);
		mana_rxq_fail(rxq, MANA_FAILURE_OVERRUN);
	}
	return state == MANA_CQE_FOREIGN;
}

/* ---- Packets ------------------------------------------------------------ */

/*
 * Put a tag back into the frame. The first segment grows by the tag, and what
 * moves may lie in several segments.
 */
static __rte_noinline void
mana_rx_tag_insert(struct rte_mbuf *m, uint16_t tci)
{
	uint8_t head[2 * RTE_ETHER_ADDR_LEN + RTE_VLAN_HLEN];
	uint32_t nb = RTE_MIN(m->pkt_len, 2u * RTE_ETHER_ADDR_LEN);
	uint32_t at = 0, part;

	memmove(head, rte_pktmbuf_read(m, 0, nb, head), nb);
	head[nb++] = RTE_ETHER_TYPE_VLAN >> 8;
	head[nb++] = RTE_ETHER_TYPE_VLAN & 0xff;
	head[nb++] = tci >> 8;
	head[nb++] = tci & 0xff;
	/* mana_rxq_init() has checked that the headroom suffices. */
	m->data_off -= RTE_VLAN_HLEN;
	m->data_len += RTE_VLAN_HLEN;
	m->pkt_len += RTE_VLAN_HLEN;
	for (; at < nb; at += part, m = m->next) {
		part = RTE_MIN((uint32_t)m->data_len, nb - at);
		memcpy(rte_pktmbuf_mtod(m, uint8_t *), head + at, part);
	}
}

/*
 * The device always strips tags. The tag goes into the mbuf, and back into the
 * frame if the application did not ask for stripping. Priority and DEI are lost
 * (Linux mana.h: rx_vlan_id has 12 bits).
 */
static __rte_noinline void
mana_rx_vlan(const struct mana_rxq *rxq, struct rte_mbuf *m, uint16_t tci)
{
	m->ol_flags |= RTE_MBUF_F_RX_VLAN;
	m->vlan_tci = tci;
	if (rxq->vlan_strip) {
		m->ol_flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
		return;
	}
	if (m->packet_type != RTE_PTYPE_UNKNOWN)
		m->packet_type ^= RTE_PTYPE_L2_ETHER ^ RTE_PTYPE_L2_ETHER_VLAN;
	mana_rx_tag_insert(m, tci);
}

/* The oldest WQE becomes a packet. There is such a WQE, and pkt->len is valid. */
static struct rte_mbuf *
mana_rx_deliver(struct mana_rxq *rxq, const struct mana_rx_pkt *pkt)
{
	const uint32_t flags = rte_le_to_cpu_32(rxq->part.cqe.rx.flags);
	struct rte_mbuf *m;

	if (rxq->scatter.nb_segs != 0) {
		m = mana_rx_scatter_chain(rxq, pkt->len);
	} else {
		m = rxq->mbufs[rxq->rq.ci & rxq->mbuf_mask];
		*MANA_MBUF_REARM(m) = rxq->rearm;
		m->data_len = pkt->len;
	}
	rxq->rq.ci++;
	mana_rx_describe(rxq, m, flags, pkt->len, pkt->hash);
	if (unlikely((flags & RTE_BIT32(MANA_RX_CQE_VLAN_S)) != 0))
		mana_rx_vlan(rxq, m, flags & MANA_RX_CQE_VLAN_ID_M);
	rxq->bytes += m->pkt_len;
	return m;
}

/* Whether a packet of this length can be delivered; else drop it. */
static bool
mana_rx_is_good(struct mana_rxq *rxq, uint32_t len)
{
	if (likely(len <= rxq->buf_bytes))
		return true;
	if (len > rxq->scatter.bytes) {
		mana_rx_note(rxq, MANA_BAD_CQE_OVERSIZE);
		mana_rx_drop(rxq, &rxq->stats.oversize);
		return false;
	}
	if (mana_rxq_nb_posted(rxq) == 0 || mana_rx_scatter_is_whole(rxq, len))
		return true;
	mana_rx_note(rxq, MANA_BAD_CQE_UNSCATTERED);
	mana_rx_drop(rxq, &rxq->stats.unscattered);
	return false;
}

/* The packets of the CQE that was taken last. Returns those delivered. */
static uint32_t
mana_rx_part_deliver(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		     uint32_t nb_pkts)
{
	struct mana_rx_part *part = &rxq->part;
	uint32_t nb = 0;

	while (nb < nb_pkts && part->next != part->nb) {
		const struct mana_rx_pkt pkt =
			mana_rx_cqe_pkt(&part->cqe, part->next++);

		if (unlikely(!mana_rx_is_good(rxq, pkt.len)))
			continue;
		if (unlikely(mana_rxq_nb_posted(rxq) == 0))
			mana_rx_drop(rxq, &rxq->stats.cqe_spurious);
		else
			pkts[nb++] = mana_rx_deliver(rxq, &pkt);
	}
	return nb;
}

/* The next CQE, if there is one: false when there is not, or the queue is lost. */
static bool
mana_rx_take(struct mana_rxq *rxq)
{
	const uint32_t idx = rxq->cq.ci;
	const uint32_t trailer = mana_cq_trailer(&rxq->cq, idx);
	struct mana_rx_part *part = &rxq->part;

	if (unlikely(!mana_cq_is_ours(&rxq->cq, idx, trailer)))
		return mana_rx_skip(rxq, trailer);
	mana_cqe_copy(&part->cqe, mana_cq_cqe(&rxq->cq, idx));
	if (unlikely(rxq->doubt.nb != 0) && !mana_rx_resync(rxq, &part->cqe))
		return false;
	rxq->cq.ci = idx + 1;
	part->next = 0;
	part->nb = mana_rx_cqe_nb_pkts(&part->cqe);
	if (unlikely(part->nb == 0))
		mana_rx_no_packet(rxq);
	else if (part->nb > MANA_RX_CQE_NB_PPI)
		rxq->ppi_shift = MANA_RX_CQE_MAX_PKTS_SHIFT;
	else if (part->nb > 1)
		rxq->ppi_shift = RTE_MAX(rxq->ppi_shift, MANA_RX_CQE_PPI_SHIFT);
	return true;
}

__rte_noinline uint32_t
mana_rx_slow(struct mana_rxq *rxq, struct rte_mbuf **pkts, uint32_t nb_pkts,
	     uint32_t *budget)
{
	const struct mana_rx_part *part = &rxq->part;
	uint32_t nb = 0, nb_cqes = 0, nb_new;

	do {
		if (part->next == part->nb && !mana_rx_take(rxq)) {
			*budget = 0;
			break;
		}
		nb_new = mana_rx_part_deliver(rxq, &pkts[nb], nb_pkts - nb);
		nb += nb_new;
		if (unlikely(nb_new == 0)) {
			(*budget)--;
			/* No refill may come with it that tells the device. */
			mana_rx_cq_update(rxq);
		}
		/* The kernel believes that each CQE uses WQEs in order. */
	} while (nb < nb_pkts && *budget > 0 &&
		 (++nb_cqes < MANA_RX_SLOW_CQES || rxq->doubt.nb != 0));
	rxq->slow_flags &= ~MANA_RX_SLOW_LANE;
	if (part->next != part->nb || rxq->doubt.nb != 0)
		rxq->slow_flags |= MANA_RX_SLOW_LANE;
	return nb;
}

/* ---- The end of a poll -------------------------------------------------- */

__rte_noinline uint16_t
mana_rx_chores(struct mana_rx_list *list, struct rte_mbuf **pkts, uint16_t nb,
	       struct mana_rxq *rxq)
{
	if (mana_rx_is_refill_due(rxq))
		mana_rx_replenish(rxq);
	/*
	 * A device that receives into one queue only computes no hash, and so
	 * reports no types (Linux mana_ib main.c, mana_ib_cfg_vport_steering()).
	 */
	for (uint16_t i = 0; i < nb && rxq->parse; i++)
		if (pkts[i]->packet_type == RTE_PTYPE_UNKNOWN)
			pkts[i]->packet_type = rte_net_get_ptype(pkts[i], NULL,
				RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK |
				RTE_PTYPE_L4_MASK);
	mana_burst_leave(&list->is_busy);
	return nb;
}
