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
#include <rte_spinlock.h>

#include "mana_compat.h"
#include "mana_gdma.h"
#include "mana_hw.h"
#include "mana_mr.h"
#include "mana_path.h"

/* Why a queue gives and takes no more packets. Only a restart helps. */
enum mana_queue_fate {
	MANA_QUEUE_ALIVE = 0,
	MANA_QUEUE_OVERRUN, /* CQEs were overwritten before we read them */
	MANA_QUEUE_UNKNOWN_CQE, /* Rx: unknown types; buffer order is unsure */
	MANA_QUEUE_DISABLED, /* Tx: the device disabled it (GDMA_ERR) */
};

/* What became of a descriptor. */
enum mana_desc_state {
	MANA_DESC_POSTED, /* the device has it */
	MANA_DESC_DONE, /* Rx: a packet waits; Tx: free, or about to be */
	MANA_DESC_NONE, /* not in use */
};

/* ---- Receive ---------------------------------------------------------- */

/* What happens rarely. Packets and bytes are in the queue itself. */
struct mana_rxq_stats {
	/* Dropped packets: each of these cost one receive WQE. */
	uint64_t truncated; /* longer than the buffer, said the device */
	uint64_t oversize; /* length in the CQE beyond the buffer */
	/* Packets of a queue that was stopped, or stopped then: freed. */
	uint64_t stopped;
	/* CQEs that brought no packet. */
	uint64_t zero_len;
	uint64_t fence;
	uint64_t cqe_unknown;
	uint64_t cqe_foreign; /* of another work queue */
	uint64_t cqe_spurious; /* nothing was posted */
	uint64_t cqe_overrun; /* the queue is lost */
	/* Refill. */
	uint64_t ring_empty; /* times the device was found without a buffer */
	uint64_t nombuf; /* refills that found the pool empty */
	uint64_t mr_failed; /* buffers in no memory region */
	uint64_t rq_doorbells;
	uint64_t cq_doorbells;
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

/*
 * What keeps a burst from the straight way, all in one word, since a queue
 * has none of it nearly always. Each byte has one writer.
 */
union mana_rx_odd {
	uint32_t any;
	struct {
		/* Written by bursts. */
		uint8_t rest; /* of a coalesced CQE: rxq->rest */
		/*
		 * Set by the control path, cleared by the burst that finds
		 * nothing more: rxq->more.
		 */
		uint8_t more;
		/* Written by the control path: keep off, see mana_quiesce.h. */
		uint8_t held;
		/*
		 * Written by bursts: the last refill did not get what it
		 * wanted, so the next poll tries again, packets or not.
		 */
		uint8_t hungry;
	};
};
static_assert(sizeof(union mana_rx_odd) == sizeof(uint32_t),
	      "mana_rx_odd is one word");

/*
 * What a poll of an ethdev queue brings beside the packets of its own work
 * queue: see mana_rx_more.c.
 */
struct mana_rx_more {
	MANA_ATOMIC(uint32_t) is_busy; /* as mana_rxq's */
	/* An arming has met a queue that is held: whoever lets go of it arms. */
	MANA_ATOMIC(uint32_t) is_arm_due;
	/* Packets taken off a completion queue that is gone; first of all. */
	uint32_t backlog_next;
	uint32_t backlog_nb;
	struct rte_mbuf **backlog;
	/*
	 * A ring of queues by their chain_next, this one among them: that of
	 * whose turn it is. NULL: no others.
	 */
	struct mana_rxq *turn;
	rte_spinlock_t look; /* mana_rxq_look_begin() */
};

/* One buffer of a receive WQE. */
struct mana_rx_seg {
	struct rte_mempool *mp;
	uint16_t offset; /* of the data, from the start of the buffer */
	uint16_t bytes; /* given to the device there */
	/* Of the queue's own: */
	uint64_t rearm;
	uint64_t ol_flags;
};

/* WQEs of several buffers: see mana_rx_scatter.c. */
struct mana_rx_scatter {
	uint16_t nb_segs; /* of each WQE; 0: one buffer, the rest is unused */
	uint16_t wqe_bu;
	uint32_t pi; /* WQE indices, free running; the RQ's count BUs */
	uint32_t ci;
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
};

/* What is known of all buffers of the pool at once. */
enum mana_rx_flat {
	MANA_RX_FLAT_UNKNOWN = 0, /* to be found out */
	MANA_RX_FLAT_NO,
	/* One distance from mbuf to buffer, one memory region: no look-up. */
	MANA_RX_FLAT_YES,
};

struct mana_rxq {
	/* All that an empty poll looks at. */
	alignas(RTE_CACHE_LINE_SIZE) union mana_rx_odd odd;
	MANA_ATOMIC(uint32_t) is_busy; /* a burst is in here: mana_quiesce.h */
	struct mana_cq cq;
	/* The two words that begin what is written to an mbuf, in this order. */
	uint64_t rearm; /* data_off, refcnt, nb_segs, port of a fresh mbuf */
	uint64_t ol_flags; /* of every mbuf: EXTERNAL with pinned buffers */

	struct mana_wq rq;
	struct rte_mbuf **mbufs; /* by free-running WQE index, masked */
	uint32_t mbuf_mask;
	uint32_t limit; /* WQEs that may be posted at a time */
	uint32_t refill_thresh;
	uint32_t buf_bytes; /* given to the device in a WQE, packets' bound */
	uint64_t packets;

	uint64_t bytes;
	struct rte_mempool *mp;
	uint64_t sge_word; /* flat: key and size of every buffer, and */
	uint64_t data_delta; /* where it starts, from its mbuf on */
	uint32_t told_flags; /* of what completions tell, wanted in ol_flags */
	/* The same, and a length's bound less 1, as the kernels want them. */
	alignas(16) uint32_t vec_told[4];
	uint32_t vec_bound[4]; /* low half words */
	uint32_t vec_bound_hi[4]; /* high ones */
	uint32_t keyed_from; /* index from which on all slots have sge_word */
	bool is_keyed; /* flat: every slot of the ring has it */
	bool is_even; /* data_delta holds for all of the pool */
	uint8_t flat; /* enum mana_rx_flat */
	bool vlan_strip; /* off: tags are put back by software */
	uint8_t fate; /* enum mana_queue_fate */
	uint8_t nb_unknown; /* CQEs of unknown type since the start */
	/* log2 of the packets that a CQE may have: more once one had more. */
	uint8_t ppi_shift;
	uint32_t look_ci; /* index of the WQE from which on to look for an empty ring */

	struct mana_rx_rest rest;
	struct mana_mr_cache mr;
	struct mana_rxq_stats stats;
	struct mana_rx_scatter scatter;

	/* Rare, or control path only. */
	alignas(RTE_CACHE_LINE_SIZE) uint16_t port_id;
	uint16_t queue_id;
	bool is_sink; /* what arrives is freed: of a queue that is stopped */
	void *ctl; /* the control path's own part of the queue */
	struct mana_rxq *chain_next;
	struct mana_rx_more more;
};
static_assert(offsetof(struct mana_rxq, ol_flags) ==
	      offsetof(struct mana_rxq, rearm) + 8, "mana_rxq: as in an mbuf");
static_assert(offsetof(struct mana_rxq, rearm) % 16 == 0,
	      "mana_rxq: rearm is loaded as a vector");
static_assert(offsetof(struct mana_rxq, rq) == 1 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_rxq: rq starts a line");
static_assert(offsetof(struct mana_rxq, bytes) == 2 * RTE_CACHE_LINE_SIZE ||
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
	struct rte_mempool *mp; /* one buffer a WQE; not used with segs */
	/*
	 * The buffers of each WQE, when they are several or are to be used in
	 * part; nb_segs 0: one buffer of mp, behind the usual headroom.
	 */
	const struct mana_rx_seg *segs;
	uint16_t nb_segs;
	uint16_t nb_desc; /* any number of WQEs the rings have room for */
	/*
	 * nb_mbufs entries, a power of two, nb_desc at least, any contents;
	 * with segs nb_segs times as many
	 */
	struct rte_mbuf **mbufs;
	uint32_t nb_mbufs;
	uint16_t free_thresh; /* 0: the default */
	uint16_t port_id;
	uint16_t queue_id;
	bool vlan_strip;
	bool csum; /* tell of checksums */
};

/* WQEs that may be posted: each may give a CQE, and a fence needs one more. */
static inline uint32_t
mana_rx_limit(uint16_t nb_desc, uint32_t nb_cqe)
{
	return RTE_MIN((uint32_t)nb_desc, nb_cqe - 1);
}

/*
 * WQEs a doorbell, of what is asked for (0: a quarter of the ring): at most
 * half of what may be posted. What it returns it returns when asked for it.
 */
static inline uint32_t
mana_rx_refill_thresh(uint32_t asked, uint16_t nb_desc, uint32_t nb_cqe)
{
	uint32_t thresh = asked != 0 ? asked : RTE_MIN(64u, nb_desc / 4u);

	thresh = RTE_MIN(thresh, mana_rx_limit(nb_desc, nb_cqe) / 2);
	return RTE_MAX(1u, thresh);
}

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
 * Free the posted mbufs; no burst may run. is_gone: the device has let go of
 * them (WQ destroyed). When not, they are forgotten: better lost than written
 * to by the device. Safe on a zeroed queue and when called twice.
 */
void mana_rxq_release_mbufs(struct mana_rxq *rxq, bool is_gone);

/*
 * The first and last thing of whoever looks at a queue from the datapath:
 * see mana_quiesce.h. Two plain stores; the compiler must keep their place.
 */
static inline void
mana_burst_enter(MANA_ATOMIC(uint32_t) *is_busy)
{
	mana_atomic_store(is_busy, 1);
	rte_compiler_barrier();
}

static inline void
mana_burst_leave(MANA_ATOMIC(uint32_t) *is_busy)
{
	rte_compiler_barrier();
	mana_atomic_store(is_busy, 0);
}

/*
 * And what is looked at in between, before anything else of the queue, which
 * the control path changes while it holds it: whether that is so, alone or
 * with all else that is odd. No load of the burst may come before this one;
 * the processor is the control path's business (mana_quiesce.h).
 */
static inline bool
mana_rxq_is_held(const struct mana_rxq *rxq)
{
	uint8_t held = *(const volatile uint8_t *)&rxq->odd.held;

	rte_compiler_barrier();
	return held != 0;
}

static inline uint32_t
mana_rxq_odd(const struct mana_rxq *rxq)
{
	uint32_t odd = *(const volatile uint32_t *)&rxq->odd.any;

	rte_compiler_barrier();
	return odd;
}

#define MANA_RX_TAKE_BURST 32

/**
 * Take off the CQ what has arrived, as a burst does, but count and refill
 * nothing: the device has let go of the queue, which nobody polls.
 *
 * @param rxq
 *   The queue, or a copy of it: odd and is_busy are changed.
 * @param pkts
 *   Room for mana_rxq_nb_posted() + MANA_RX_TAKE_BURST packets.
 * @return
 *   Packets taken.
 */
uint32_t mana_rxq_take(struct mana_rxq *rxq, mana_burst_t burst,
		       struct rte_mbuf **pkts);

/*
 * Free what has arrived, backlog included, and count it as stopped. The
 * device has let go of the queue, which nobody polls and that ends here.
 */
void mana_rxq_discard(struct mana_rxq *rxq, mana_burst_t burst);

/*
 * The copy of a queue, with new rings, becomes what bursts see. What control
 * path and bursts write at any time stays: odd, is_busy, more.
 */
void mana_rxq_replace(struct mana_rxq *rxq, const struct mana_rxq *copy);

/* The burst of a queue where odd is not 0 for more than a rest. */
uint16_t mana_rx_odd_burst(struct mana_rxq *rxq, struct rte_mbuf **pkts,
			   uint16_t nb_pkts, mana_burst_t burst);

/*
 * What a poll of rxq shall bring beside its own packets; nobody polls it now.
 * A chain: the queues from this one on, by their chain_next up to NULL; the
 * last one's is changed. A backlog: an array of rte_malloc's memory, which
 * rxq owns from now on, in the place of that it has.
 */
void mana_rxq_chain(struct mana_rxq *rxq, struct mana_rxq *chain);
void mana_rxq_backlog(struct mana_rxq *rxq, struct rte_mbuf **backlog,
		      uint32_t nb);
/* Frees the backlog's packets, too. Returns how many they were. */
uint32_t mana_rxq_backlog_free(struct mana_rxq *rxq);

/* Whether polls of the queue bring packets of other work queues, too. */
static inline bool
mana_rxq_has_chain(const struct mana_rxq *rxq)
{
	return rxq->more.turn != NULL;
}

static inline uint32_t
mana_rxq_nb_backlog(const struct mana_rxq *rxq)
{
	return rxq->more.backlog_nb - rxq->more.backlog_next;
}

/**
 * Ask for one event of the queue's completion channel when there is something
 * to poll, also what is there already; nothing on a queue without traffic.
 * Datapath of this queue; while it is held it is noted, for who lets go.
 *
 * @return
 *   0; -EIO when the queue is lost; -ENOMEM when it has no buffer in which
 *   to receive, and its pool none to give: nothing may ever come.
 */
int mana_rxq_arm(struct mana_rxq *rxq);

/* The same for the control path, which holds the queue: nothing is due then. */
void mana_rxq_arm_held(struct mana_rxq *rxq);
/* Whether an arming was noted since. */
static inline bool
mana_rxq_is_arm_due(const struct mana_rxq *rxq)
{
	return mana_atomic_load(&rxq->more.is_arm_due) != 0;
}
/* What was noted while the queue was held is not wanted any more. */
static inline void
mana_rxq_arm_forget(struct mana_rxq *rxq)
{
	mana_atomic_store(&rxq->more.is_arm_due, 0);
}

/* The event is not wanted any more; it may still come. As mana_rxq_arm(). */
void mana_rxq_disarm(struct mana_rxq *rxq);

/*
 * Descriptors of this queue alone that are done and were not polled, from
 * CQEs. By whoever may burst, or between the two of the look below.
 */
uint32_t mana_rxq_nb_waiting(const struct mana_rxq *rxq);

/*
 * To look at the rings from outside of a burst, in any thread. When false
 * nothing may be looked at, and no end is due: the control path is just
 * replacing them. It waits for those who look, so be short.
 */
bool mana_rxq_look_begin(struct mana_rxq *rxq)
	__rte_try_acquire_capability(true, &rxq->more.look);
void mana_rxq_look_end(struct mana_rxq *rxq)
	__rte_release_capability(&rxq->more.look);

/* Packets that wait for a poll of this ethdev queue. Any thread, a snapshot. */
uint32_t mana_rxq_count(struct mana_rxq *rxq);

/* State of the descriptor offset places from the next one, likewise. */
enum mana_desc_state mana_rxq_desc_state(struct mana_rxq *rxq, uint32_t offset);

/* WQEs the device has, or that wait in the CQ. */
static inline uint32_t
mana_rxq_nb_posted(const struct mana_rxq *rxq)
{
	return rxq->scatter.nb_segs != 0 ? rxq->scatter.pi - rxq->scatter.ci :
					   mana_wq_used_bu(&rxq->rq);
}

/* The same from any thread: of those that the ring has, a snapshot. */
uint32_t mana_rxq_look_posted(const struct mana_rxq *rxq);

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

/* ---- Transmit --------------------------------------------------------- */

/* What happens rarely. Packets, bytes, doorbells are in the queue. */
struct mana_txq_stats {
	/* Error completions by type, MANA_CQE_TX_ERR_FIRST on. */
	uint64_t cqe_error[MANA_NB_CQE_TX_ERR];
	uint64_t cqe_unknown; /* another type: released, counted as error */
	/* CQEs that released nothing. */
	uint64_t cqe_foreign;
	uint64_t cqe_spurious; /* nothing was outstanding */
	uint64_t cqe_overrun; /* the queue is lost */
	uint64_t cqe_position; /* tells the wrong one: trust has ended there */
	/* Packets taken, freed and not sent. */
	uint64_t drop_offload; /* a request that the device cannot meet */
	uint64_t drop_malformed; /* lengths or segments that contradict */
	uint64_t drop_nomem; /* a copy was needed, no mbuf for it */
	uint64_t drop_mr; /* in no memory region */
	/* Posted, without a completion when the queue stopped: sent or not. */
	uint64_t unfinished;
	/* Sent all the same. */
	uint64_t linearized; /* copied: too many segments */
	uint64_t bounced; /* header copied: not ours to write, or in pieces */
	uint64_t cq_doorbells;
};

/*
 * What is known of a posted WQE: its size, and how many entries of the mbuf
 * ring are freed with it. Read when an error completion has to be found.
 */
#define MANA_TX_INFO_BU_M 0x1fu
#define MANA_TX_INFO_MBUFS_S 5
#define MANA_TX_INFO(nb_bu, nb_mbufs) \
	((uint16_t)((nb_bu) | (nb_mbufs) << MANA_TX_INFO_MBUFS_S))

/*
 * WQEs that complete together: one that asks for a CQE, and those without
 * request before it. The n-th good CQE belongs to the n-th group. All indices
 * run free; they tell where the rings are when the group has completed.
 */
struct mana_tx_group {
	/* The pool of all its mbufs, each ours alone; NULL: look at them. */
	struct rte_mempool *mp;
	uint32_t wqe_end;
	uint32_t mbuf_end;
	uint32_t bu_end;
	uint32_t bu_at; /* the WQE that asked */
};

/* Whether CQEs tell the position of their WQE: see mana_tx_done.c. */
enum mana_tx_trust {
	MANA_TX_TRUST_LEARNING = 0, /* every WQE asks for a CQE */
	MANA_TX_TRUST_FULL, /* one in a group does */
	MANA_TX_TRUST_DENIED, /* every WQE asks, until the queue starts again */
};

/* OK completions at distinct positions, not 0, that have to be right. */
#define MANA_TX_TRUST_AFTER 8

/* A pool that lies in one memory region, and its key. */
struct mana_tx_pool {
	struct rte_mempool *mp; /* NULL: an empty slot */
	uint32_t lkey;
	bool has_key; /* false: it does not, look its mbufs up one by one */
};

#define MANA_TX_NB_POOLS 8

struct mana_txq {
	/* Read and written by every burst. */
	alignas(RTE_CACHE_LINE_SIZE) struct mana_cq cq;
	/*
	 * WQE indices, free running. pi is the number of packets posted so far
	 * as well, so it is wider and never reset.
	 */
	uint64_t pi;
	uint64_t bytes;
	uint32_t ci;
	/* WQEs outstanding at most; 0: dead or closed, and run_room is 0, too. */
	uint32_t limit;

	struct mana_wq sq;
	uint64_t oob; /* queue's part of the short OOB */
	uint64_t no_cqe; /* of every WQE but the last of a group; or 0 */
	struct rte_mbuf **mbufs; /* by mbuf index, masked */
	uint16_t *info; /* by WQE index, masked: MANA_TX_INFO() */

	struct mana_tx_group *groups; /* by group index, masked */
	struct rte_mempool *mp; /* of the one-BU path; NULL: none */
	uint32_t lkey; /* its only region's */
	uint32_t mask; /* of WQE and group indices */
	uint32_t mbuf_mask;
	uint32_t mbuf_pi;
	uint32_t mbuf_ci;
	uint32_t group_pi;
	uint32_t group_ci;
	/* A CQE is as expected when its position is, under the mask. */
	uint32_t trust_mask;
	uint32_t trust_want; /* 0; 1: never */
	/* The group that is being filled; between bursts there is none. */
	uint32_t open_pi; /* where it starts */
	uint32_t open_bu;
	uint32_t last_bu; /* its last WQE */

	struct rte_mempool *open_mp;
	uint32_t group_wqes; /* so large may a group become */
	uint32_t group_bu;
	/*
	 * One-BU packets that may be posted at once, a burst that is a group;
	 * 0: none. And until something has to be looked at; 0: now.
	 */
	uint32_t run_max;
	uint32_t run_room;
	uint64_t loob; /* queue's part of the long OOB's second word */
	uint64_t sq_doorbells;
	uint16_t max_sge;
	bool is_long; /* every WQE needs the long OOB */
	uint8_t fate; /* enum mana_queue_fate */
	uint8_t trust; /* enum mana_tx_trust */
	uint8_t nb_right; /* while learning */
	uint8_t nb_unsure; /* groups that may be over without a good CQE */
	uint32_t last_right; /* position, while learning */
	uint32_t look_pi; /* pi when a burst last looked at completions */

	uint8_t *bounce; /* a slot for each WQE index; may be NULL */
	struct rte_mempool *bounce_mp; /* for copies; may be NULL */
	uint32_t copy_end; /* WQE index behind the last copy */

	struct mana_mr_cache mr;
	struct mana_tx_pool pools[MANA_TX_NB_POOLS];
	uint32_t pool_next; /* the slot that is replaced next */
	uint32_t nb_pool_misses; /* since one was */
	struct mana_txq_stats stats;

	/* Control path only. */
	alignas(RTE_CACHE_LINE_SIZE) uint16_t port_id;
	uint16_t queue_id;
	void *ctl; /* the control path's own part of the queue */
};
static_assert(offsetof(struct mana_txq, sq) == 1 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_txq: sq starts a line");
static_assert(offsetof(struct mana_txq, groups) == 2 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_txq: groups starts a line");
static_assert(offsetof(struct mana_txq, open_mp) == 3 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_txq: hot part is four lines");
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
	/* nb_mbufs entries, a power of two, nb_wqes at least, any contents */
	struct rte_mbuf **mbufs;
	uint32_t nb_mbufs;
	/* nb_wqes entries each, a power of two, any contents */
	uint16_t *info;
	struct mana_tx_group *groups;
	uint32_t nb_wqes;
	/* nb_wqes slots of MANA_TX_BOUNCE_BYTES, or NULL: whole copies then */
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

/* The same where the device may still read them: better lost than used by two. */
void mana_txq_forget_mbufs(struct mana_txq *txq);

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

/* Packets whose completion was not yet looked at: any thread, a snapshot. */
uint32_t mana_txq_nb_done(const struct mana_txq *txq);

/* Packets that the device has not yet done with, likewise. */
uint32_t mana_txq_count(const struct mana_txq *txq);

/* State of the descriptor offset places from the next one, likewise. */
enum mana_desc_state mana_txq_desc_state(const struct mana_txq *txq,
					 uint32_t offset);

/* WQEs without completion, or whose CQE has not been looked at. */
static inline uint32_t
mana_txq_nb_posted(const struct mana_txq *txq)
{
	return (uint32_t)txq->pi - txq->ci;
}

/* The same from any thread: of those that the ring has, a snapshot. */
uint32_t mana_txq_look_posted(const struct mana_txq *txq);

/* Packets posted since the queue was made. */
static inline uint64_t
mana_txq_packets(const struct mana_txq *txq)
{
	return txq->pi;
}

/* Packets that were posted and that the device did not send. */
uint64_t mana_txq_stats_cqe_errors(const struct mana_txq_stats *stats);
/* These, and what was taken and not posted: ethdev's oerrors. */
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

#endif /* MANA_RXTX_H */
