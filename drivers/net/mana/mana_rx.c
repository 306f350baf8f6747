/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The receive burst: completions in, mbufs out, buffers back to the device.
 *
 * What the device writes is input like any other: each word of a CQE is loaded
 * once, after its owner bits; each length is checked against the buffer that
 * was posted; every loop is bounded by our own counts.
 *
 * One receive WQE is one BU with one SGE, so the free-running BU indices of
 * the RQ are WQE indices as well.
 */

#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_rx.h"
#include "mana_rxtx.h"

/*
 * The stripped tag goes into the mbuf, or back into the frame when the
 * application did not ask for stripping: the device always strips. Priority
 * and DEI are lost (Linux mana.h: rx_vlan_id has 12 bits).
 */
static __rte_noinline void
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
	m->data_off -= RTE_VLAN_HLEN;
	m->data_len += RTE_VLAN_HLEN;
	m->pkt_len += RTE_VLAN_HLEN;
	frame = rte_pktmbuf_mtod(m, uint8_t *);
	memmove(frame, frame + RTE_VLAN_HLEN, 2 * RTE_ETHER_ADDR_LEN);
	memcpy(frame + 2 * RTE_ETHER_ADDR_LEN, tag, sizeof(tag));
}

/* A packet that is not delivered; its buffer goes back to the pool. */
static __rte_noinline __rte_cold void
mana_rx_drop(struct mana_rxq *rxq, uint64_t *counter)
{
	if (mana_wq_used_bu(&rxq->rq) == 0) {
		rxq->stats.cqe_spurious++;
		return;
	}
	rte_mempool_put(rxq->mp, rxq->mbufs[rxq->rq.ci & rxq->mbuf_mask]);
	rxq->rq.ci++;
	(*counter)++;
}

static __rte_cold void
mana_rx_lose(struct mana_rxq *rxq, enum mana_queue_fate fate)
{
	rxq->fate = fate;
	mana_cq_close(&rxq->cq);
}

/* What is neither of the two types that bring packets. */
static __rte_noinline __rte_cold void
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
static __rte_noinline __rte_cold void
mana_rx_odd_length(struct mana_rxq *rxq, uint32_t len)
{
	if (len == 0)
		rxq->stats.zero_len++; /* takes no WQE: Linux mana_en.c */
	else
		mana_rx_drop(rxq, &rxq->stats.oversize);
}

/* Not a CQE of ours. True when there may be one behind it. */
static __rte_noinline __rte_cold bool
mana_rx_skip(struct mana_rxq *rxq, uint32_t trailer)
{
	if (mana_cq_state(&rxq->cq, rxq->cq.ci, trailer) ==
	    MANA_CQE_FOREIGN) {
		rxq->stats.cqe_foreign++;
		rxq->cq.ci++;
		return true;
	}
	rxq->stats.cqe_overrun++;
	mana_rx_lose(rxq, MANA_QUEUE_OVERRUN);
	return false;
}

/* What all packets of a CQE share. */
struct mana_rx_meta {
	uint64_t ol_flags;
	uint32_t ptype;
	uint32_t flags;
};

static inline struct mana_rx_meta
mana_rx_meta(const struct mana_rxq *rxq, uint32_t flags, const uint32_t f)
{
	struct mana_rx_meta meta = {
		.ol_flags = rxq->ol_flags,
		.flags = flags,
	};
	uint32_t type;

	if (f & MANA_RX_F_CSUM)
		meta.ol_flags |= mana_rx_csum_flags[flags >> MANA_RX_CQE_CSUM_S &
						    MANA_RX_CQE_CSUM_M];
	if (f & MANA_RX_F_HASH) {
		type = flags >> MANA_RX_CQE_HASH_TYPE_S & MANA_RX_CQE_HASH_TYPE_M;
		if (type != 0)
			meta.ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
		meta.ptype = mana_rx_ptype[type];
	}
	return meta;
}

/*
 * The oldest posted buffer becomes a packet. The caller has checked len and
 * that there is one. Returns the bytes delivered.
 */
static inline uint32_t
mana_rx_deliver(struct mana_rxq *rxq, struct rte_mbuf **pkt,
		const struct mana_rx_meta *meta, uint32_t len, uint32_t hash,
		const uint32_t f)
{
	struct rte_mbuf *m = rxq->mbufs[rxq->rq.ci & rxq->mbuf_mask];

	rxq->rq.ci++;
	*MANA_MBUF_REARM(m) = rxq->rearm;
	m->ol_flags = meta->ol_flags;
	m->packet_type = meta->ptype;
	m->pkt_len = len;
	m->data_len = len;
	if (f & MANA_RX_F_HASH)
		m->hash.rss = hash;
	if (unlikely(meta->flags & RTE_BIT32(MANA_RX_CQE_VLAN_S))) {
		mana_rx_vlan(rxq, m, meta->flags & MANA_RX_CQE_VLAN_ID_M);
		len = m->pkt_len;
	}
	*pkt = m;
	return len;
}

/* Copy a coalesced CQE: packets beyond the burst wait for the next one. */
static inline void
mana_rx_rest_take(struct mana_rx_rest *rest, const struct gdma_cqe *cqe,
		  uint32_t flags)
{
	uint32_t i;

	for (i = 0; i < MANA_RX_CQE_NB_PPI; i++) {
		rest->len[i] = mana_cqe_load(&cqe->rx.ppi[i].len) & UINT16_MAX;
		rest->hash[i] = mana_cqe_load(&cqe->rx.ppi[i].hash);
		if (rest->len[i] == 0)
			break;
	}
	rest->flags = flags;
	rest->next = 0;
	rest->nb = i;
}

/* Deliver up to nb_pkts packets of the CQE that was taken last. */
static inline uint32_t
mana_rx_rest_deliver(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		     uint32_t nb_pkts, uint64_t *bytes, const uint32_t f)
{
	struct mana_rx_rest *rest = &rxq->rest;
	struct mana_rx_meta meta = mana_rx_meta(rxq, rest->flags, f);
	uint32_t nb = 0;

	while (nb < nb_pkts && rest->next != rest->nb) {
		uint32_t i = rest->next++;

		if (unlikely(rest->len[i] > rxq->buf_bytes)) {
			mana_rx_odd_length(rxq, rest->len[i]);
			continue;
		}
		if (unlikely(mana_wq_used_bu(&rxq->rq) == 0)) {
			rxq->stats.cqe_spurious++;
			continue;
		}
		*bytes += mana_rx_deliver(rxq, &pkts[nb++], &meta, rest->len[i],
					  rest->hash[i], f);
	}
	return nb;
}

/* A CQE that is not of the most common type. Returns packets delivered. */
static inline uint32_t
mana_rx_other(struct mana_rxq *rxq, const struct gdma_cqe *cqe, uint32_t type,
	      struct rte_mbuf **pkts, uint32_t nb_pkts, uint64_t *bytes,
	      const uint32_t f)
{
	if (unlikely(type != MANA_CQE_RX_COALESCED_4)) {
		mana_rx_odd_type(rxq, type);
		return 0;
	}
	mana_rx_rest_take(&rxq->rest, cqe, mana_cqe_load(&cqe->rx.flags));
	if (unlikely(rxq->rest.nb == 0))
		mana_rx_odd_length(rxq, 0);
	return mana_rx_rest_deliver(rxq, pkts, nb_pkts, bytes, f);
}

/* One CQE with one packet. Returns the bytes delivered; 0: there is none. */
static inline uint32_t
mana_rx_single(struct mana_rxq *rxq, const struct gdma_cqe *cqe,
	       struct rte_mbuf **pkt, const uint32_t f)
{
	uint32_t len = mana_cqe_load(&cqe->rx.ppi[0].len) & UINT16_MAX;
	struct mana_rx_meta meta;

	if (unlikely(len - 1 >= rxq->buf_bytes)) {
		mana_rx_odd_length(rxq, len);
		return 0;
	}
	if (unlikely(mana_wq_used_bu(&rxq->rq) == 0)) {
		rxq->stats.cqe_spurious++;
		return 0;
	}
	meta = mana_rx_meta(rxq, mana_cqe_load(&cqe->rx.flags), f);
	return mana_rx_deliver(rxq, pkt, &meta, len,
			       mana_cqe_load(&cqe->rx.ppi[0].hash), f);
}

static __rte_always_inline uint16_t
mana_rx_burst_tmpl(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		   uint16_t nb_pkts, const uint32_t f)
{
	/* CQEs to look at: one for each packet wanted, at most a lap. */
	uint32_t budget = RTE_MIN((uint32_t)nb_pkts, mana_cq_credit(&rxq->cq));
	uint32_t nb = 0, len, type;
	uint64_t bytes = 0;

	if (unlikely(rxq->rest.next != rxq->rest.nb))
		nb = mana_rx_rest_deliver(rxq, pkts, nb_pkts, &bytes, f);

	for (; budget > 0 && nb < nb_pkts; budget--) {
		uint32_t idx = rxq->cq.ci;
		uint32_t trailer = mana_cq_trailer(&rxq->cq, idx);
		const struct gdma_cqe *cqe = mana_cq_cqe(&rxq->cq, idx);

		if (!mana_cq_is_ours(&rxq->cq, idx, trailer)) {
			if (likely(mana_cq_state(&rxq->cq, idx, trailer) ==
				   MANA_CQE_EMPTY) ||
			    !mana_rx_skip(rxq, trailer))
				break;
			continue;
		}
		rxq->cq.ci = idx + 1;
		type = mana_cqe_load(&cqe->rx.header) & MANA_CQE_TYPE_M;
		if (likely(type == MANA_CQE_RX_OKAY)) {
			len = mana_rx_single(rxq, cqe, &pkts[nb], f);
			bytes += len;
			nb += len != 0;
		} else {
			nb += mana_rx_other(rxq, cqe, type, &pkts[nb],
					    nb_pkts - nb, &bytes, f);
		}
	}

	mana_cq_update(&rxq->cq);
	if (rxq->limit - mana_wq_used_bu(&rxq->rq) >= rxq->refill_thresh)
		mana_rx_replenish(rxq);
	if (nb != 0) {
		rxq->packets += nb;
		rxq->bytes += bytes;
	}
	return nb;
}

#define MANA_RX_BURST(name, flags) \
static uint16_t \
mana_rx_burst_##name(void *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts) \
{ \
	return mana_rx_burst_tmpl(rxq, pkts, nb_pkts, flags); \
}

#define MANA_RX_F_ALL (MANA_RX_F_CSUM | MANA_RX_F_HASH)

MANA_RX_BURST(plain, 0)
MANA_RX_BURST(csum, MANA_RX_F_CSUM)
MANA_RX_BURST(full, MANA_RX_F_ALL)

/* The cheapest first. */
static const struct mana_path mana_rx_paths[] = {
	{ "Scalar", MANA_RX_F_VLAN, mana_rx_burst_plain },
	{ "Scalar Checksum", MANA_RX_F_VLAN | MANA_RX_F_CSUM, mana_rx_burst_csum },
	{ "Scalar Full", MANA_RX_F_VLAN | MANA_RX_F_ALL, mana_rx_burst_full },
};

const struct mana_path *
mana_rx_path_select(uint32_t flags)
{
	uint32_t i;

	for (i = 0; i < RTE_DIM(mana_rx_paths) - 1; i++)
		if ((flags & ~mana_rx_paths[i].flags) == 0)
			break;
	return &mana_rx_paths[i];
}

const struct mana_path *
mana_rx_path_find(mana_burst_t burst)
{
	uint32_t i;

	for (i = 0; i < RTE_DIM(mana_rx_paths); i++)
		if (mana_rx_paths[i].burst == burst)
			return &mana_rx_paths[i];
	return NULL;
}
