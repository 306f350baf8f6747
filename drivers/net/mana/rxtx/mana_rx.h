/* SPDX-License-Identifier: BSD-3-Clause */

/* What the files of the receive path share among themselves. */

#ifndef MANA_RX_H
#define MANA_RX_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "mana_compat.h"
#include "mana_hw.h"
#include "mana_rxtx.h"

/* ---- mana_rx.c: completion bits to mbuf fields -------------------------- */

/*
 * Good and bad at once says nothing: unknown. The L4 result stands by itself:
 * Linux wants a good IP header too, OpenVMM does not, and whether the device
 * reports one for IPv6 is not known.
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
struct mana_rx_table {
	struct mana_rx_hash hash[MANA_RX_CQE_HASH_TYPE_M + 1];
	uint16_t csum_flags[MANA_RX_CQE_CSUM_M + 1];
};
extern const struct mana_rx_table mana_rx_table MANA_HIDDEN;
#define MANA_RX_HASH_TYPE(flags) \
	((flags) >> MANA_RX_CQE_HASH_TYPE_S & MANA_RX_CQE_HASH_TYPE_M)

/* mbuf flags by what a CQE says of checksums. */
static inline uint32_t
mana_rx_csum_told(const struct mana_rxq *rxq, uint32_t flags)
{
	return mana_rx_table.csum_flags[flags >> MANA_RX_CQE_CSUM_S &
					MANA_RX_CQE_CSUM_M] & rxq->reported_flags;
}

/* All that a CQE says of a packet, but for data_len and a tag. */
static inline void
mana_rx_describe(const struct mana_rxq *rxq, struct rte_mbuf *m, uint32_t flags,
		 uint32_t len, uint32_t hash)
{
	const struct mana_rx_hash *type =
		&mana_rx_table.hash[MANA_RX_HASH_TYPE(flags)];

	m->ol_flags = rxq->ol_flags | type->ol_flags |
		      mana_rx_csum_told(rxq, flags);
	m->packet_type = type->ptype;
	m->pkt_len = len;
	m->hash.rss = hash;
}

/*
 * Whether the next CQE is not yet written: the owner bits are still those of
 * the lap before. Less those of its own lap, they are all set then.
 */
static inline bool
mana_rx_is_empty(const struct mana_cq *cq)
{
	return mana_cq_trailer(cq, cq->ci) - mana_cq_owner(cq, cq->ci) >=
	       MANA_CQ_OWNER_M;
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
 * Deliver what is left of the CQE that was taken last, then take the next CQEs
 * whatever they are: a few, for then the kernel may go on.
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
/* The oldest packet is not delivered: its buffer goes back, and is counted. */
void mana_rx_drop(struct mana_rxq *rxq, uint64_t *counter);
/* The queue gives no more packets. */
void mana_rxq_fail(struct mana_rxq *rxq, enum mana_queue_failure failure);
/*
 * The end of a poll (mana_rx_poll_t) that has to refill, or to find packet types
 * by the headers. Returns nb, the number of packets.
 */
uint16_t mana_rx_chores(struct mana_rx_list *list, struct rte_mbuf **pkts,
			uint16_t nb, struct mana_rxq *rxq);

/* ---- mana_rx_resync.c: completions that may have used WQEs -------------- */

/* The completion that was taken last may have used as many WQEs. */
void mana_rx_doubt(struct mana_rxq *rxq, uint32_t max_wqes);
/*
 * The next completion, of which this is the copy, says how many WQEs those
 * before have used: these are dropped. False when it does not, and the queue is
 * lost.
 */
bool mana_rx_resync(struct mana_rxq *rxq, const struct gdma_cqe *cqe);

/* ---- mana_rx_refill.c --------------------------------------------------- */

/*
 * What is due now and then: tell the device how far its CQEs were read, post
 * as many buffers as the pool gives, then ring. What an empty pool denied is
 * tried again by each later poll, whether a completion came or not: the queue
 * has MANA_RX_REFILL_RETRY.
 */
void mana_rx_replenish(struct mana_rxq *rxq);
static inline bool
mana_rx_is_refill_due(const struct mana_rxq *rxq)
{
	return rxq->limit - mana_rxq_nb_posted(rxq) >= rxq->refill_thresh;
}

/* Everything up to pi becomes the device's. */
void mana_rx_ring(struct mana_rxq *rxq);

static inline void
mana_rx_cq_update(struct mana_rxq *rxq)
{
	if (mana_cq_update(&rxq->cq))
		rxq->stats.cq_doorbells++;
}

/* data_off, refcnt, nb_segs and port of a packet, as the mbuf holds them. */
uint64_t mana_rx_rearm(uint16_t port_id, uint16_t data_off);
/* Flags that all mbufs of a pool have for ever. */
uint64_t mana_rx_pool_flags(struct rte_mempool *mp);

/* ---- Of one hardware queue, and of an ethdev queue (struct mana_rx_list) ---- */

uint16_t mana_rx_poll_scalar(struct mana_rx_list *list, struct rte_mbuf **pkts,
			     uint16_t nb_pkts, struct mana_rxq *rxq) MANA_HIDDEN;
uint16_t mana_rx_poll_avx2(struct mana_rx_list *list, struct rte_mbuf **pkts,
			   uint16_t nb_pkts, struct mana_rxq *rxq) MANA_HIDDEN;
uint16_t mana_rx_burst_avx2(void *list, struct rte_mbuf **pkts,
			    uint16_t nb_pkts);

/* ---- mana_rx_scatter.c: queues with several buffers a WQE --------------- */

/* For mana_rxq_init(): -EINVAL or -ENOTSUP as there. */
int mana_rx_scatter_check(const struct mana_rxq_conf *conf);
void mana_rx_scatter_init(struct mana_rxq *rxq,
			  const struct mana_rxq_conf *conf);
/* Post up to the limit. 0, -ENOMEM or -EFAULT, as mana_rxq_fill(). */
int mana_rx_scatter_fill(struct mana_rxq *rxq);
/*
 * Whether a packet of len bytes, in the oldest WQE, of which there is one, is
 * complete: not when it needs the second buffer, and the device has not written
 * there.
 */
bool mana_rx_scatter_is_whole(struct mana_rxq *rxq, uint32_t len);
/*
 * The buffers of the oldest WQE, there is one, as a chain of len bytes, 1 to
 * scatter.bytes; those that are not needed stay in the slot.
 */
struct rte_mbuf *mana_rx_scatter_chain(struct mana_rxq *rxq, uint32_t len);
/* Free all mbufs. is_gone: also those of posted WQEs, which the device has lost. */
void mana_rx_scatter_release(struct mana_rxq *rxq, bool is_gone);

#endif /* MANA_RX_H */
