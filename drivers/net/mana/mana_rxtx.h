/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets and ring entries: the queues as the burst functions see them, and
 * what the control path calls to fill, start and empty them.
 *
 * Life of a queue. The control path owns the struct (zeroed, cache aligned)
 * and the arrays that its conf names. Each start, once the kernel objects have
 * ring memory:
 *
 *   Rx  mana_rxq_init()           lay the rings, indices at zero
 *       mana_rxq_fill()           allocate and write the receive WQEs
 *       (RSS QP created: the identifiers are known)
 *       mana_rxq_open()           give them to the device
 *       ... bursts ...
 *       mana_rxq_close()          bursts return 0 from now on
 *       (QP and WQ destroyed: the device lets go of the buffers)
 *       mana_rxq_release_mbufs()  free them
 *
 *   Tx  (QP created)
 *       mana_txq_init()
 *       ... bursts ...
 *       mana_txq_close()
 *       (QP destroyed)
 *       mana_txq_release_mbufs()
 *
 * Statistics are never reset here: they live through restarts.
 */

#ifndef MANA_RXTX_H
#define MANA_RXTX_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_compat.h"
#include "mana_gdma.h"
#include "mana_hw.h"
#include "mana_mr.h"

/* Why a queue gives and takes no more packets. Only a restart helps. */
enum mana_queue_fate {
	MANA_QUEUE_ALIVE = 0,
	MANA_QUEUE_OVERRUN, /* CQEs were overwritten before we read them */
	MANA_QUEUE_UNKNOWN_CQE, /* Rx: unknown types; buffer order is unsure */
	MANA_QUEUE_DISABLED, /* Tx: the device disabled it (GDMA_ERR) */
};

/* Function type of ethdev's rx_pkt_burst and tx_pkt_burst. */
typedef uint16_t (*mana_burst_t)(void *queue, struct rte_mbuf **pkts,
				 uint16_t nb_pkts);

/* A burst function: the name that burst_mode_get reports, what it covers. */
struct mana_path {
	const char *name;
	uint32_t flags;
	mana_burst_t burst;
};

/* ---- Receive ---------------------------------------------------------- */

/* What is delivered beside the bytes; for the choice of a path. */
#define MANA_RX_F_CSUM (1u << 0)
#define MANA_RX_F_HASH (1u << 1) /* RSS hash and packet type */
#define MANA_RX_F_VLAN (1u << 2) /* strip is on for some queue */

/* What happens rarely. Packets and bytes are in the queue itself. */
struct mana_rxq_stats {
	/* Dropped packets: each of these cost one receive WQE. */
	uint64_t truncated; /* longer than the buffer, said the device */
	uint64_t oversize; /* length in the CQE beyond the buffer */
	/* CQEs that brought no packet. */
	uint64_t zero_len;
	uint64_t fence;
	uint64_t cqe_unknown;
	uint64_t cqe_foreign; /* of another work queue */
	uint64_t cqe_spurious; /* nothing was posted */
	uint64_t cqe_overrun; /* the queue is lost */
	/* Refill. */
	uint64_t nombuf; /* refills that found the pool empty */
	uint64_t mr_failed; /* buffers in no memory region */
};

/* The rest of a coalesced CQE, copied once when it was taken. */
struct mana_rx_rest {
	uint8_t next; /* next packet to deliver */
	uint8_t nb; /* number of packets; next == nb: no rest */
	uint16_t vlan_tci;
	uint32_t flags; /* the CQE's */
	uint32_t len[MANA_RX_CQE_NB_PPI];
	uint32_t hash[MANA_RX_CQE_NB_PPI];
};

struct mana_rxq {
	/* Read and written by every burst. */
	alignas(RTE_CACHE_LINE_SIZE) struct mana_cq cq;
	uint64_t rearm; /* data_off, refcnt, nb_segs, port of a fresh mbuf */
	uint64_t packets;
	uint64_t bytes;

	struct mana_wq rq;
	struct rte_mbuf **mbufs; /* by free-running WQE index, masked */
	struct rte_mempool *mp;
	uint32_t mbuf_mask;
	uint32_t limit; /* WQEs that may be posted at a time */
	uint32_t refill_thresh;
	uint32_t buf_bytes; /* size given to the device, packets' bound */

	struct mana_rx_rest rest;
	uint64_t ol_flags; /* of every mbuf: EXTERNAL with pinned buffers */
	bool vlan_strip; /* off: tags are put back by software */
	uint8_t fate; /* enum mana_queue_fate */
	uint8_t nb_unknown; /* CQEs of unknown type since the start */

	struct mana_mr_cache mr;
	struct mana_rxq_stats stats;

	/* Control path only. */
	alignas(RTE_CACHE_LINE_SIZE) uint16_t port_id;
	uint16_t queue_id;
	void *ctl; /* the control path's own part of the queue */
};
static_assert(offsetof(struct mana_rxq, rq) == 1 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_rxq: rq starts a line");
static_assert(offsetof(struct mana_rxq, rest) == 2 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_rxq: hot part is two lines");
static_assert(offsetof(struct mana_rxq, port_id) % RTE_CACHE_LINE_SIZE == 0,
	      "mana_rxq: control starts a line");
static_assert(sizeof(struct mana_rxq) % RTE_CACHE_LINE_SIZE == 0,
	      "mana_rxq: no line shared with a neighbour");

struct mana_rxq_conf {
	void *rq_ring;
	uint32_t rq_bytes;
	void *cq_ring;
	uint32_t nb_cqe; /* power of two, at least 64 */
	volatile void *db_page;
	struct rte_mempool *mp;
	/* nb_mbufs entries, a power of two, nb_desc at least, any contents */
	struct rte_mbuf **mbufs;
	uint32_t nb_mbufs;
	uint16_t nb_desc; /* any number the rings have room for */
	uint16_t free_thresh; /* 0: the default */
	uint16_t port_id;
	uint16_t queue_id;
	bool vlan_strip;
};

#define MANA_RX_REFILL_THRESH 32 /* WQEs a doorbell, unless told otherwise */

/**
 * Lay the rings of a receive queue. rxq->mr must have been set up by
 * mana_mr_cache_init() before, ctl is left alone. Control path, not polled.
 *
 * @return
 *   0; -EINVAL when a ring, an array or the pool does not fit; -ENOTSUP when
 *   the pool's buffers are too small to receive anything, or the headroom is
 *   when tags have to be put back. Nothing has changed on failure.
 */
int mana_rxq_init(struct mana_rxq *rxq, const struct mana_rxq_conf *conf);

/**
 * Allocate mbufs and write receive WQEs up to the limit. No doorbell. May be
 * called again after a failure: it goes on where it stopped.
 *
 * @return
 *   0; -ENOMEM when the pool has too few mbufs; -EFAULT when a buffer is in no
 *   memory region and none could be registered. What was written so far stays
 *   owned by the queue: mana_rxq_release_mbufs() frees it.
 */
int mana_rxq_fill(struct mana_rxq *rxq);

/* The identifiers are known: accept CQEs, and ring for what was filled. */
void mana_rxq_open(struct mana_rxq *rxq, uint32_t rq_id, uint32_t cq_id);

/* Bursts return 0 from now on. Safe on a queue that was never opened. */
void mana_rxq_close(struct mana_rxq *rxq);

/*
 * Free the posted mbufs. The device must have let go of them (WQ destroyed)
 * and no burst may run. Safe on a zeroed queue and when called twice.
 */
void mana_rxq_release_mbufs(struct mana_rxq *rxq);

/* Packets that wait to be polled, counted from CQEs: any thread, a snapshot. */
uint32_t mana_rxq_nb_waiting(const struct mana_rxq *rxq);

/* WQEs the device has, or that wait in the CQ. */
static inline uint32_t
mana_rxq_nb_posted(const struct mana_rxq *rxq)
{
	return mana_wq_used_bu(&rxq->rq);
}

/* Packets lost to errors: ethdev's ierrors. */
static inline uint64_t
mana_rxq_stats_errors(const struct mana_rxq_stats *stats)
{
	return stats->truncated + stats->oversize + stats->zero_len +
	       stats->cqe_unknown + stats->cqe_spurious;
}

static inline uint64_t
mana_rxq_errors(const struct mana_rxq *rxq)
{
	return mana_rxq_stats_errors(&rxq->stats);
}

/* The cheapest path that covers flags (MANA_RX_F_*). Never NULL. */
const struct mana_path *mana_rx_path_select(uint32_t flags);
/* The path of this burst function, NULL for a foreign one. */
const struct mana_path *mana_rx_path_find(mana_burst_t burst);

/* ---- Transmit --------------------------------------------------------- */

/*
 * What the fast part of a path covers. All paths send every packet right;
 * what the fast part does not cover takes the general way.
 */
#define MANA_TX_F_CSUM (1u << 0)
#define MANA_TX_F_WIDE (1u << 1) /* several segments, VLAN, long OOB */

/* What happens rarely. Packets and bytes, as posted, are in the queue. */
struct mana_txq_stats {
	/* Error completions by type, MANA_CQE_TX_ERR_FIRST on. */
	uint64_t cqe_error[MANA_NB_CQE_TX_ERR];
	uint64_t cqe_unknown; /* another type: released, counted as error */
	/* CQEs that released nothing. */
	uint64_t cqe_foreign;
	uint64_t cqe_spurious; /* nothing was outstanding */
	uint64_t cqe_overrun; /* the queue is lost */
	/* Packets taken, freed and not sent. */
	uint64_t drop_offload; /* a request that the device cannot meet */
	uint64_t drop_malformed; /* lengths or segments that contradict */
	uint64_t drop_nomem; /* a copy was needed, no mbuf for it */
	uint64_t drop_mr; /* in no memory region */
	/* Sent all the same. */
	uint64_t linearized; /* copied: too many segments */
	uint64_t bounced; /* header copied: not ours to write, or in pieces */
};

/* What is known of a posted WQE: its size and how its mbuf is freed. */
#define MANA_TX_INFO_BU_M 0x1fu
#define MANA_TX_INFO_PLAIN (1u << 7) /* one direct mbuf of txq->mp, ours alone */

struct mana_txq {
	/* Read and written by every burst. */
	alignas(RTE_CACHE_LINE_SIZE) struct mana_cq cq;
	uint32_t pi; /* descriptor index, free running: one for each WQE */
	uint32_t ci;
	uint64_t packets;
	uint64_t bytes;

	struct mana_wq sq;
	uint64_t oob; /* queue's part of the short OOB */
	struct rte_mbuf **mbufs; /* by descriptor index, masked */
	uint8_t *info; /* likewise, MANA_TX_INFO_* */
	uint32_t mask; /* of the two arrays */
	uint32_t limit; /* WQEs outstanding at most; 0: dead or closed */

	struct rte_mempool *mp; /* of the PLAIN mbufs outstanding */
	/*
	 * What ol_flags masked must be for the one-BU path: 0. All ones when
	 * the vport offset needs the long OOB: no packet can have that.
	 */
	uint64_t plain_match;
	uint64_t loob; /* queue's part of the long OOB's second word */
	uint32_t last_plain; /* descriptor index after the last PLAIN one */
	uint16_t max_sge;
	bool is_long; /* every WQE needs the long OOB */
	uint8_t fate; /* enum mana_queue_fate */

	uint8_t *bounce; /* a slot for each descriptor; may be NULL */
	struct rte_mempool *bounce_mp; /* for copies; may be NULL */

	struct mana_mr_cache mr;
	struct mana_txq_stats stats;

	/* Control path only. */
	alignas(RTE_CACHE_LINE_SIZE) uint16_t port_id;
	uint16_t queue_id;
	void *ctl; /* the control path's own part of the queue */
};
static_assert(offsetof(struct mana_txq, sq) == 1 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_txq: sq starts a line");
static_assert(offsetof(struct mana_txq, mp) == 2 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_txq: hot part is three lines");
static_assert(offsetof(struct mana_txq, port_id) % RTE_CACHE_LINE_SIZE == 0,
	      "mana_txq: control starts a line");
static_assert(sizeof(struct mana_txq) % RTE_CACHE_LINE_SIZE == 0,
	      "mana_txq: no line shared with a neighbour");

/* A header that must be written but is not ours goes to a slot of this size. */
#define MANA_TX_BOUNCE_BYTES 256u

struct mana_txq_conf {
	void *sq_ring;
	uint32_t sq_bytes;
	void *cq_ring;
	uint32_t nb_cqe; /* power of two, at least 64 */
	volatile void *db_page;
	uint32_t sq_id;
	uint32_t cq_id;
	uint32_t vp_offset; /* of the QP; at most 4095 */
	/* nb_mbufs entries each, a power of two, any contents */
	struct rte_mbuf **mbufs;
	uint8_t *info;
	uint32_t nb_mbufs;
	/* nb_mbufs slots of MANA_TX_BOUNCE_BYTES, or NULL: whole copies then */
	uint8_t *bounce;
	/* Pool for copies, or NULL: what needs a copy is dropped and counted. */
	struct rte_mempool *bounce_mp;
	uint16_t nb_desc; /* WQEs outstanding at most; clipped to nb_cqe */
	uint16_t max_sge; /* as the QP was created, at most 30 */
	uint16_t port_id;
	uint16_t queue_id;
};

/**
 * Lay the rings of a send queue; it takes packets from now on. txq->mr must
 * have been set up by mana_mr_cache_init() before, ctl is left alone. Control
 * path, not polled.
 *
 * @return
 *   0; -EINVAL when a ring or an array does not fit; -ERANGE when vp_offset
 *   exceeds the 12 bits of the long OOB. Nothing has changed on failure.
 */
int mana_txq_init(struct mana_txq *txq, const struct mana_txq_conf *conf);

/* Bursts take nothing and return 0 from now on. */
void mana_txq_close(struct mana_txq *txq);

/*
 * Free the mbufs of WQEs without completion. The device must have let go of
 * them (QP destroyed) and no burst may run. Safe on a zeroed queue and when
 * called twice.
 */
void mana_txq_release_mbufs(struct mana_txq *txq);

/**
 * Free what has completed: the tx_done_cleanup operation. Datapath of this
 * queue.
 *
 * @param max
 *   Packets to free at most; 0: no limit.
 * @return
 *   Packets freed.
 */
uint32_t mana_txq_done_cleanup(struct mana_txq *txq, uint32_t max);

/* Completions not yet looked at: any thread, a snapshot. */
uint32_t mana_txq_nb_done(const struct mana_txq *txq);

/* WQEs without completion, or whose CQE has not been looked at. */
static inline uint32_t
mana_txq_nb_posted(const struct mana_txq *txq)
{
	return txq->pi - txq->ci;
}

/* Packets not sent or sent with an error: ethdev's oerrors. */
uint64_t mana_txq_stats_errors(const struct mana_txq_stats *stats);

static inline uint64_t
mana_txq_errors(const struct mana_txq *txq)
{
	return mana_txq_stats_errors(&txq->stats);
}

/**
 * Check packets, and write the pseudo-header checksum (and zero to the IPv4
 * one) where the header is private and in one piece; other headers are copied
 * by the burst. ethdev's tx_pkt_prepare.
 *
 * @return
 *   Number of packets ready for the burst. When less than nb_pkts, rte_errno
 *   says why the next one is not: ENOTSUP, a request that the device cannot
 *   meet; EINVAL, lengths or flags that contradict each other.
 */
uint16_t mana_tx_pkt_prepare(void *queue, struct rte_mbuf **pkts,
			     uint16_t nb_pkts);

/* The cheapest path whose fast part covers flags (MANA_TX_F_*). Never NULL. */
const struct mana_path *mana_tx_path_select(uint32_t flags);
const struct mana_path *mana_tx_path_find(mana_burst_t burst);

#endif /* MANA_RXTX_H */
