/* SPDX-License-Identifier: BSD-3-Clause */

/* What the files of the receive path share among themselves. */

#ifndef MANA_RX_H
#define MANA_RX_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "mana_compat.h"
#include "mana_hw.h"

struct mana_rxq;
struct mana_rxq_conf;

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
extern const uint16_t mana_rx_csum_flags[MANA_RX_CQE_CSUM_M + 1] MANA_HIDDEN;
/* What the hash type of a CQE, MANA_RX_HASH_TYPE(), tells of a packet. */
struct mana_rx_hash {
	uint32_t ptype;
	uint32_t ol_flags;
};
extern const struct mana_rx_hash
	mana_rx_hash[MANA_RX_CQE_HASH_TYPE_M + 1] MANA_HIDDEN;
#define MANA_RX_HASH_TYPE(flags) \
	((flags) >> MANA_RX_CQE_HASH_TYPE_S & MANA_RX_CQE_HASH_TYPE_M)

/*
 * The packet type by what the frame says itself, len bytes of it at hand.
 * RTE_PTYPE_UNKNOWN when it is not IP.
 */
uint32_t mana_rx_ptype_by_headers(const void *frame, uint32_t len);
/* It looks no further than this: Ethernet, a tag, IPv6. */
#define MANA_RX_PTYPE_BYTES 58u

/*
 * What is due now and then: tell the device how far its CQEs were read, post
 * as many buffers as the pool gives, then ring. What an empty pool denied is
 * tried again by each later poll, whether a completion came or not: the queue
 * is hungry (union mana_rx_odd).
 *
 * may_lag: there may be CQEs that were not looked at. The second: of a queue
 * with several buffers a WQE.
 */
void mana_rx_replenish(struct mana_rxq *rxq, bool may_lag);
void mana_rx_scatter_replenish(struct mana_rxq *rxq, bool may_lag);

/* data_off, refcnt, nb_segs and port of a packet, as the mbuf holds them. */
uint64_t mana_rx_rearm(uint16_t port_id, uint16_t data_off);
/* Flags that all mbufs of a pool have for ever. */
uint64_t mana_rx_pool_flags(struct rte_mempool *mp);

/* What all packets of a CQE share. */
struct mana_rx_meta {
	uint64_t ol_flags;
	uint32_t ptype;
	uint32_t flags;
};

/* ---- mana_rx.c: what a burst meets rarely -------------------------------- */

/* A packet that came with a tag: into the mbuf, or back into the frame. */
void mana_rx_vlan(const struct mana_rxq *rxq, struct rte_mbuf *m, uint16_t tci);

/* What every CQE of ours says, of the first packet where there are more. */
struct mana_rx_head {
	uint32_t header;
	uint32_t flags;
	uint32_t len; /* low 16 bits; the rest reserved */
	uint32_t hash;
};

/* CQEs of which something was loaded already. */
#define MANA_RX_NB_AHEAD 4
struct mana_rx_ahead {
	uint32_t nb; /* of these the trailers were loaded, */
	uint32_t nb_heads; /* of these what they say, too: they are ours, */
	bool has_parts; /* and all packets of the first one, a coalesced CQE */
	bool more; /* out: there may be another CQE behind them */
	uint32_t budget; /* in, out: CQEs without packet that may be taken */
	uint64_t bytes; /* in, out: delivered */
	alignas(16) uint32_t trailers[MANA_RX_NB_AHEAD];
	alignas(16) struct mana_rx_head heads[MANA_RX_NB_AHEAD];
	struct mana_rx_head parts[MANA_RX_CQE_NB_PPI]; /* len, hash */
};

/*
 * Take the next CQEs, whatever they are, those in ahead and no more. Returns
 * packets delivered, nb_pkts at most.
 */
uint32_t mana_rx_take_ahead(struct mana_rxq *rxq, struct mana_rx_ahead *ahead,
			    struct rte_mbuf **pkts, uint32_t nb_pkts);
/* Deliver up to nb_pkts packets of the coalesced CQE that was taken last. */
uint32_t mana_rx_rest_deliver(struct mana_rxq *rxq, struct rte_mbuf **pkts,
			      uint32_t nb_pkts, uint64_t *bytes);

/* ---- The paths ------------------------------------------------------------ */

/* Behind the first look, without vectors: for small bursts of any path. */
uint16_t mana_rx_work_scalar(struct mana_rxq *rxq, struct rte_mbuf **pkts,
			     uint32_t nb_pkts, uint32_t trailer);

/*
 * The same for bursts of one where nothing is odd. in_lap: trailer of the next
 * CQE as mana_rx_trailer_in_lap().
 */
uint16_t mana_rx_work_one(struct mana_rxq *rxq, struct rte_mbuf **pkts,
			  const struct gdma_cqe *cqe, uint32_t in_lap);

uint16_t mana_rx_burst_scalar(void *rxq, struct rte_mbuf **pkts,
			      uint16_t nb_pkts);
uint16_t mana_rx_burst_parsed(void *rxq, struct rte_mbuf **pkts,
			      uint16_t nb_pkts);
uint16_t mana_rx_burst_scattered(void *rxq, struct rte_mbuf **pkts,
				 uint16_t nb_pkts);
uint16_t mana_rx_burst_scattered_parsed(void *rxq, struct rte_mbuf **pkts,
					uint16_t nb_pkts);
uint16_t mana_rx_burst_vec128(void *rxq, struct rte_mbuf **pkts,
			      uint16_t nb_pkts);
uint16_t mana_rx_burst_avx2(void *rxq, struct rte_mbuf **pkts,
			    uint16_t nb_pkts);

/* ---- mana_rx_scatter.c: queues with several buffers a WQE --------------- */

/* For mana_rxq_init(): -EINVAL or -ENOTSUP as there. */
int mana_rx_scatter_check(const struct mana_rxq_conf *conf);
void mana_rx_scatter_init(struct mana_rxq *rxq,
			  const struct mana_rxq_conf *conf);
/* Post up to the limit. 0, -ENOMEM or -EFAULT, as mana_rxq_fill(). */
int mana_rx_scatter_fill(struct mana_rxq *rxq);
/*
 * The oldest WQE becomes a packet of len bytes, 1 to rxq->buf_bytes; there is
 * one. Returns the bytes delivered.
 */
uint32_t mana_rx_scatter_deliver(struct mana_rxq *rxq, struct rte_mbuf **pkt,
				 const struct mana_rx_meta *meta, uint32_t len,
				 uint32_t hash);
/* The oldest WQE brought nothing; its buffers are posted again. */
void mana_rx_scatter_drop(struct mana_rxq *rxq);
/* Put a tag back where the addresses may lie in several segments. */
void mana_rx_scatter_tag(struct rte_mbuf *m, uint16_t tci);
/* Free all mbufs; those of posted WQEs only if the device let go of them. */
void mana_rx_scatter_release(struct mana_rxq *rxq, bool is_gone);

#endif /* MANA_RX_H */
