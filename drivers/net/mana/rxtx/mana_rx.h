/* SPDX-License-Identifier: BSD-3-Clause */

/* Internals of the Rx path, shared by its files. */

#ifndef MANA_RX_H
#define MANA_RX_H

#include <rte_byteorder.h>

#include "mana_rxtx.h"

/* ---- mana_rx.c: completion bits to mbuf fields -------------------------- */

/*
 * Both good and bad means unknown. The L4 result does not depend on the IP result:
 * Linux requires a good IP header, OpenVMM does not, and it is not known whether the
 * device reports one for IPv6.
 */
#define MANA_RX_VERDICT(bits, ok, bad, f_ok, f_bad) \
	(((bits) & (ok)) && !((bits) & (bad)) ? (f_ok) : \
	 ((bits) & (bad)) && !((bits) & (ok)) ? (f_bad) : 0)

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
extern const struct mana_rx_fields mana_rx_fields MANA_HIDDEN;
#define MANA_RX_HASH_TYPE(flags) \
	((flags) >> MANA_RX_CQE_HASH_TYPE_S & MANA_RX_CQE_HASH_TYPE_M)

/* mbuf flags by the checksum bits of a CQE. */
static inline uint32_t
mana_rx_csum_flags(const struct mana_rxq *rxq, uint32_t flags)
{
	return mana_rx_fields.csum_flags[flags >> MANA_RX_CQE_CSUM_S &
					MANA_RX_CQE_CSUM_M] & rxq->reported_flags;
}

/* Set the mbuf fields that a CQE determines, except data_len and a VLAN tag. */
static inline void
mana_rx_describe(const struct mana_rxq *rxq, struct rte_mbuf *m, uint32_t flags,
		 uint32_t len, uint32_t hash)
{
	const struct mana_rx_hash *type =
		&mana_rx_fields.hash[MANA_RX_HASH_TYPE(flags)];

	m->ol_flags = rxq->ol_flags | type->ol_flags |
		      mana_rx_csum_flags(rxq, flags);
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

/**
 * Deliver the remaining packets of the last CQE, then take a few more CQEs of any
 * kind. The kernel continues after them.
 *
 * @param pkts, nb_pkts
 *   Room for packets, not 0.
 * @param[in, out] budget
 *   CQEs without a packet that may still be taken, not 0 before; 0 afterwards:
 *   the burst ends here.
 * @return
 *   Packets delivered.
 */
uint32_t mana_rx_slow(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		      uint32_t nb_pkts, uint32_t *budget);
/*
 * Drop the oldest packet: count it, and free its buffer. If nothing is posted,
 * count a spurious completion instead.
 */
void mana_rx_drop(struct mana_rxq *rxq, uint64_t *counter);
/*
 * The end of a poll (mana_rx_poll_t) that has to refill, or to find packet types
 * by the headers. Returns nb, the number of packets.
 */
uint16_t mana_rx_chores(struct mana_rx_list *list, struct rte_mbuf **pkts,
			uint16_t nb, struct mana_rxq *rxq);

/* ---- mana_rx_resync.c: completions that may have used WQEs -------------- */

/* The last completion may have used up to max_wqes WQEs. */
void mana_rx_doubt(struct mana_rxq *rxq, uint32_t max_wqes);
/*
 * Find from the next completion, a private copy, how many WQEs the completions in
 * doubt have used, and drop these. False if it does not say: the queue has failed.
 */
bool mana_rx_resync(struct mana_rxq *rxq, const struct gdma_cqe *cqe);

/* ---- mana_rx_refill.c --------------------------------------------------- */

/*
 * Report to the device which CQEs were read, post as many buffers as the pool
 * gives, and ring. If the pool gave too few, each later poll tries again, with or
 * without a completion: the queue has MANA_RX_REFILL_RETRY.
 */
void mana_rx_replenish(struct mana_rxq *rxq);
static inline bool
mana_rx_is_refill_due(const struct mana_rxq *rxq)
{
	return rxq->limit - mana_rxq_nb_posted(rxq) >= rxq->refill_thresh;
}

/* Pass all WQEs up to pi to the device. */
void mana_rx_ring(struct mana_rxq *rxq);

static inline void
mana_rx_cq_update(struct mana_rxq *rxq)
{
	if (mana_cq_update(&rxq->cq))
		rxq->stats.cq_doorbells++;
}

/* data_off, refcnt, nb_segs and port of a packet, as the mbuf holds them. */
uint64_t mana_rx_rearm(uint16_t port_id, uint16_t data_off);
/* Flags that all mbufs of a pool always have. */
uint64_t mana_rx_pool_flags(struct rte_mempool *mp);

/* ---- Of one hardware queue, and of an ethdev queue (struct mana_rx_list) ---- */

uint16_t mana_rx_poll_scalar(struct mana_rx_list *list, struct rte_mbuf **pkts,
			     uint16_t nb_pkts, struct mana_rxq *rxq) MANA_HIDDEN;
uint16_t mana_rx_poll_avx2(struct mana_rx_list *list, struct rte_mbuf **pkts,
			   uint16_t nb_pkts, struct mana_rxq *rxq) MANA_HIDDEN;
uint16_t mana_rx_burst_avx2(void *list, struct rte_mbuf **pkts,
			    uint16_t nb_pkts);

/* ---- mana_rx_scatter.c: queues with several buffers per WQE ------------- */

/* Part of mana_rxq_init(), with its return values. */
int mana_rx_scatter_check(const struct mana_rxq_conf *conf);
void mana_rx_scatter_init(struct mana_rxq *rxq,
			  const struct mana_rxq_conf *conf);
/* Post up to the limit. Returns as mana_rxq_fill(). */
int mana_rx_scatter_fill(struct mana_rxq *rxq);
/*
 * Whether the packet of len bytes in the oldest WQE is complete. It is not if it
 * needs the second buffer and the device has not written there. A WQE is posted.
 */
bool mana_rx_scatter_is_whole(struct mana_rxq *rxq, uint32_t len);
/*
 * The buffers of the oldest WQE as a chain of len bytes, 1 to scatter.bytes.
 * Buffers that are not needed stay in the slot. A WQE is posted.
 */
struct rte_mbuf *mana_rx_scatter_chain(struct mana_rxq *rxq, uint32_t len);
/* Free all mbufs; those of posted WQEs only if is_gone (mana_rxq_release_mbufs). */
void mana_rx_scatter_release(struct mana_rxq *rxq, bool is_gone);

#endif /* MANA_RX_H */
