/* SPDX-License-Identifier: BSD-3-Clause */

/* Internals of the Rx path, shared by its files. */

#ifndef MANA_RX_H
#define MANA_RX_H

#include <rte_byteorder.h>

#include "mana_hwq.h"

/* ---- mana_rx_slow.c: completion bits to mbuf fields --------------------- */

/* mbuf flags by the six checksum bits of a CQE: */
#define MANA_RX_CSUM_FLAGS \
	((uint32_t)(RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_BAD | \
		    RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD))
/* mbuf fields by the hash type of a CQE, MANA_RX_HASH_TYPE(). */
struct mana_rx_hash {
	uint32_t ptype;
	uint32_t ol_flags;
};
struct mana_rx_fields {
	struct mana_rx_hash hash[MANA_RX_CQE_HASH_TYPE_M + 1];
	uint16_t csum_flags[MANA_RX_CQE_CSUM_M + 1];
};
extern struct mana_rx_fields mana_rx_fields MANA_HIDDEN;
/* Constants of the loop in vectors, whose comment has the shuffles. */
struct mana_rx_vec_const {
	/* mbuf flags, shifted right by one, by flags bits 25 on, and 27 on */
	alignas(16) uint8_t ip[16];
	uint8_t l4[16];
	uint8_t first[16]; /* of v */
	uint8_t mid[16]; /* of b and of join */
	uint8_t last[16]; /* of d */
	uint32_t types[4]; /* of CQEs with one packet each */
	uint32_t type[4]; /* of a header */
	uint32_t hash_type[4]; /* of a flags word */
	uint32_t trailers[4]; /* what counts of them */
	uint32_t tag[4]; /* of a flags word */
	uint32_t len[4]; /* of v's lane 1 */
};
extern const struct mana_rx_vec_const mana_rx_vec_const MANA_HIDDEN;
#define MANA_RX_HASH_TYPE(flags) \
	((flags) >> MANA_RX_CQE_HASH_TYPE_S & MANA_RX_CQE_HASH_TYPE_M)

/* mbuf flags by the checksum bits of a CQE. */
static inline uint32_t
mana_rx_csum_flags(const struct mana_hwq *hwq, uint32_t flags)
{
	return mana_rx_fields.csum_flags[flags >> MANA_RX_CQE_CSUM_S &
					MANA_RX_CQE_CSUM_M] & hwq->reported_flags;
}

/* Set the mbuf fields that a CQE determines, except data_len and a VLAN tag. */
static inline void
mana_rx_describe(const struct mana_hwq *hwq, struct rte_mbuf *m, uint32_t flags,
		 uint32_t len, uint32_t hash)
{
	const struct mana_rx_hash *type = &mana_rx_fields.hash[MANA_RX_HASH_TYPE(flags)];

	m->ol_flags = hwq->ol_flags | type->ol_flags | mana_rx_csum_flags(hwq, flags);
	m->packet_type = type->ptype;
	m->pkt_len = len;
	m->hash.rss = hash;
}

/* Whether the next CQE is not yet written. */
static inline bool
mana_rx_is_empty(const struct mana_cq *cq)
{
	return mana_cq_is_empty(cq, cq->ci, mana_cq_trailer(cq, cq->ci));
}

/* ---- A private copy of a CQE -------------------------------------------- */

static inline uint32_t
mana_rx_cqe_type(const struct gdma_cqe *cqe)
{
	return rte_le_to_cpu_32(cqe->rx.header) & MANA_CQE_TYPE_M;
}

/* WQEs that the completion has used for sure. */
uint32_t mana_rx_cqe_nb_wqes(const struct gdma_cqe *cqe);

/* ---- mana_rx_slow.c: the slow lane -------------------------------------- */

/*
 * Deliver the remaining packets of the last CQE, then take a few more CQEs of any
 * kind. The loop continues after them. nb_pkts, room in pkts, is not 0. budget: CQEs
 * without a packet that may still be taken, not 0 before; 0 afterwards: the burst ends
 * here. Returns the packets delivered.
 */
uint32_t mana_rx_slow(struct mana_hwq *hwq, struct rte_mbuf **pkts,
		      uint32_t nb_pkts, uint32_t *budget);

/* ---- Spares of an rxq --------------------------------------------------- */

/*
 * Take a spare of this buffer's pool, whose bytes have a memory key; or NULL. The
 * newest one first: the adapter may still write to the oldest ones. ASSUMED: late-write
 */
struct rte_mbuf *mana_rx_spares_take(struct mana_rxq *rxq, struct mana_mr_cache *mr,
				     const struct mana_rx_seg *seg, uint32_t *lkey);

/* ---- mana_rx_refill.c --------------------------------------------------- */

/*
 * Report to the device which CQEs were read, post as many buffers as the pool
 * gives, and ring. If the pool gave too few, each later poll tries again, with or
 * without a completion: the queue has MANA_RX_REFILL_RETRY.
 */
void mana_rx_replenish(struct mana_hwq *hwq);
static inline bool
mana_rx_is_refill_due(const struct mana_hwq *hwq)
{
	return hwq->limit - mana_hwq_nb_posted(hwq) >= hwq->refill_thresh;
}

/*
 * The end of a poll that has to refill, or to find packet types by the headers. Returns
 * nb, the number of packets.
 */
uint16_t mana_rx_chores(struct mana_rxq *rxq, struct rte_mbuf **pkts,
			uint16_t nb, struct mana_hwq *hwq);

/* The end of every poll. */
static inline uint16_t
mana_rx_finish(struct mana_rxq *rxq, struct rte_mbuf **pkts, uint32_t nb, struct mana_hwq *hwq)
{
	hwq->packets += nb;
	if (unlikely(mana_rx_is_refill_due(hwq) || hwq->parse))
		return mana_rx_chores(rxq, pkts, nb, hwq);
	mana_burst_leave(&rxq->is_busy);
	return nb;
}

/* Pass all WQEs up to pi to the device. */
void mana_rx_ring(struct mana_hwq *hwq);

static inline void
mana_rx_cq_update(struct mana_hwq *hwq)
{
	if (mana_cq_update(&hwq->cq))
		hwq->stats.cq_doorbells++;
}

/* ---- mana_rx_scatter.c: queues with several buffers per WQE ------------- */

/* Part of mana_hwq_init(). */
void mana_rx_scatter_init(struct mana_hwq *hwq);
/*
 * Write the WQE of the next slot. Returns as mana_hwq_fill(); after a failure nothing was
 * posted, and the mbufs allocated so far stay in the slot.
 */
int mana_rx_scatter_post(struct mana_hwq *hwq);
/*
 * Whether the packet of len bytes in the oldest WQE is complete. It is not if it
 * needs the second buffer and the device has not written there. A WQE is posted.
 */
bool mana_rx_scatter_is_whole(struct mana_hwq *hwq, uint32_t len);
/*
 * The buffers of the oldest WQE as a chain of len bytes, 1 to scatter.bytes.
 * Buffers that are not needed stay in the slot. A WQE is posted.
 */
struct rte_mbuf *mana_rx_scatter_chain(struct mana_hwq *hwq, uint32_t len);
/*
 * Move all mbufs to the front of the array, those of posted WQEs only if is_gone
 * (mana_hwq_collect). Returns their number.
 */
uint32_t mana_rx_scatter_collect(struct mana_hwq *hwq, bool is_gone);
/* mana_hwq_repost(); of rxq NULL only buffers that are in their slots already */
void mana_rx_scatter_repost(struct mana_hwq *hwq, struct mana_rxq *rxq, uint32_t max);

#endif /* MANA_RX_H */
