/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets and ring entries: the queues as the burst functions see them, and the
 * functions with which the control path fills, starts and empties them.
 *
 * Life of a queue. The control path owns the struct (zeroed, cache aligned) and
 * the arrays that its conf names. Each start, once the kernel objects have ring
 * memory:
 *
 *   Rx  mana_rxq_init()           lay out the rings, indices at zero
 *       mana_rxq_fill()           allocate mbufs and write WQEs
 *       (RSS QP created: the identifiers are known)
 *       mana_rxq_open()           give them to the device
 *       ... bursts ...
 *       mana_rxq_close()          bursts return 0 from now on
 *       (QP and WQ destroyed: the device no longer accesses the buffers)
 *       mana_rxq_release_mbufs()  free them
 *
 *   Tx  (QP created)
 *       mana_txq_init()
 *       ... bursts ...
 *       mana_txq_close()
 *       (QP destroyed)
 *       mana_txq_release_mbufs()
 *
 * Statistics are never reset here: they survive restarts.
 */

#ifndef MANA_RXTX_H
#define MANA_RXTX_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_pause.h>

#include "mana_compat.h"
#include "mana_gdma.h"
#include "mana_hw.h"
#include "mana_mr.h"

/* Why a queue has failed. Only new rings help. */
enum mana_queue_failure {
	MANA_FAILURE_NONE = 0,
	MANA_FAILURE_OVERRUN, /* CQEs were overwritten before they were read */
	MANA_FAILURE_UNKNOWN_CQE, /* Rx: unknown types; buffer order is unsure */
	MANA_FAILURE_DISABLED, /* Tx: the device disabled it (GDMA_ERR) */
	MANA_FAILURE_KILLED, /* a process died in a burst of it */
};

/* State of a descriptor. */
enum mana_desc_state {
	MANA_DESC_POSTED, /* the device has it */
	MANA_DESC_DONE, /* Rx: a packet waits; Tx: free, or about to be */
	MANA_DESC_NONE, /* not in use */
};

/* ---- mana_bad_cqe.c: unexpected completions --------------------------------- */

/*
 * A burst copies the first unexpected completion of each kind; the control path
 * logs it, because a burst makes no system call.
 */
enum mana_bad_cqe_kind {
	MANA_BAD_CQE_UNKNOWN, /* type */
	MANA_BAD_CQE_ZERO_LENGTH,
	MANA_BAD_CQE_OVERSIZE,
	MANA_BAD_CQE_TRUNCATED,
	MANA_BAD_CQE_UNSCATTERED, /* only the first buffer was written */
	MANA_BAD_CQE_FOREIGN, /* names another work queue */
	MANA_BAD_CQE_SPURIOUS, /* nothing was posted */
	MANA_BAD_CQE_OVERRUN,
	MANA_BAD_CQE_POSITION, /* names a WQE that it cannot be of */
	MANA_BAD_CQE_TX_ERROR, /* and the nine types behind the first */
	MANA_NB_BAD_CQE = MANA_BAD_CQE_TX_ERROR + MANA_NB_CQE_TX_ERR
};

/* Written by bursts, read by any thread. */
struct mana_bad_cqes {
	MANA_ATOMIC(uint32_t) seen; /* kinds; their cqe is written before */
	uint32_t last_header; /* of the last one */
	uint32_t fatal_header; /* of the one that made the queue fail */
	struct gdma_cqe cqe[MANA_NB_BAD_CQE];
};

/* Record an unexpected CQE, in the ring or a copy. */
__rte_cold __rte_noinline
void mana_bad_cqe_note(struct mana_bad_cqes *bad, const struct gdma_cqe *cqe,
		       enum mana_bad_cqe_kind kind);

/* Add the kinds of from that to lacks. No burst writes to. */
void mana_bad_cqes_merge(struct mana_bad_cqes *to,
			 const struct mana_bad_cqes *from);

/* ---- Locks -------------------------------------------------------------------- */

/* A fence of a pause, where the control path cannot execute it for other threads. */
static inline void
mana_pause_fence(void)
{
	if (unlikely(mana_has_fences))
		rte_mb();
}

/* A spinlock with the number of the process that holds it; 0: free. */
static inline bool
mana_look_trylock(MANA_ATOMIC(uint32_t) *look)
{
	if (!mana_atomic_take(look, mana_atomic_load(&mana_process_id)))
		return false;
	mana_pause_fence();
	return true;
}

static inline void
mana_look_lock(MANA_ATOMIC(uint32_t) *look)
{
	while (!mana_look_trylock(look))
		rte_pause();
}

static inline void
mana_look_unlock(MANA_ATOMIC(uint32_t) *look)
{
	mana_atomic_release(look, 0);
}

/* ---- Bursts ------------------------------------------------------------- */

/* Function type of ethdev's rx_pkt_burst and tx_pkt_burst. */
typedef uint16_t (*mana_burst_t)(void *queue, struct rte_mbuf **pkts,
				 uint16_t nb_pkts);

/* ---- Rx ----------------------------------------------------------------- */

/* Counters of rare events. Packets and bytes are in the queue itself. */
struct mana_rxq_stats {
	/* Dropped packets: each has used one WQE. */
	uint64_t truncated; /* longer than the buffer, as the device reports */
	uint64_t oversize; /* length in the CQE beyond the buffer */
	uint64_t stopped; /* came while the queue was stopped: freed */
	uint64_t reconfig; /* waiting when the rings were replaced: freed */
	uint64_t unscattered; /* only the first buffer was written */
	uint64_t resynced; /* WQEs that a completion below has used */
	/* CQEs without a packet. */
	uint64_t zero_len;
	uint64_t fence;
	uint64_t cqe_unknown;
	uint64_t cqe_foreign; /* of another work queue */
	uint64_t cqe_spurious; /* nothing was posted */
	uint64_t cqe_overrun; /* the queue has failed */
	uint64_t failed; /* times that the queue has failed: see failure */
	/* Refill. */
	uint64_t ring_empty; /* times the device was found without a buffer */
	uint64_t nombuf; /* refills that found the pool empty */
	uint64_t mr_failed; /* buffers in no memory region */
	uint64_t rq_doorbells;
	uint64_t cq_doorbells;
};

/* The last CQE of the slow lane, and which of its packets were delivered. */
struct mana_rx_part {
	struct gdma_cqe cqe; /* a private copy */
	uint8_t next; /* next packet to deliver */
	uint8_t nb; /* number of packets; next == nb: nothing is left */
};

/* What a completion says about the place of its WQEs. */
struct mana_rx_mark {
	uint32_t offset; /* its meaning and unit are not known */
	uint32_t nb_wqes;
};

/* Completions that may have used WQEs: see mana_rx_resync.c. */
struct mana_rx_doubt {
	uint32_t nb; /* since the last sure one; 0: none */
	uint32_t max_wqes; /* that these may have used */
	uint32_t meanings; /* of offsets; earlier completions agree with them */
	struct mana_rx_mark before; /* the last sure one */
};

/* Slow-path flags of a hardware queue; none in steady state. */
/* Packets are left in rxq->part, or rxq->doubt.nb is not 0. */
#define MANA_RX_SLOW_LANE RTE_BIT32(0)
/* The last refill fell short: the next poll tries again. */
#define MANA_RX_REFILL_RETRY RTE_BIT32(1)
#define MANA_RX_STAND_IN RTE_BIT32(2) /* see the list */

struct mana_rxq;
struct mana_rx_list;

/*
 * Poll one hardware Rx queue, and end the burst of the list: mana_burst_leave().
 * A caller whose burst does not end gives a list of its own.
 */
typedef uint16_t (*mana_rx_poll_t)(struct mana_rx_list *list,
				   struct rte_mbuf **pkts, uint16_t nb_pkts,
				   struct mana_rxq *rxq);

/* A burst function; all deliver the same. */
struct mana_rx_path {
	const char *name; /* what burst_mode_get reports */
	const char *key; /* of the devarg rx_path */
	uint16_t simd_bits; /* width of its vectors; 0: it has none */
	mana_burst_t burst;
	mana_rx_poll_t poll;
};

/* The paths of this build: the fastest first, the scalar one last. */
extern const struct mana_rx_path mana_rx_paths[];
extern const uint32_t mana_rx_nb_paths;

/* Whether the processor has, and EAL allows, vectors of this width. */
bool mana_rx_path_is_allowed(const struct mana_rx_path *path);
/*
 * The path with this key, NULL: the fastest one. Only allowed paths are selected; if
 * there is none, the last one.
 */
const struct mana_rx_path *mana_rx_path_select(const char *key);
/* ethdev's rx_pkt_burst for a path: its burst, or one with fences that calls it. */
mana_burst_t mana_rx_burst_get(const struct mana_rx_path *path);
/* The path of this burst function, NULL for any other function. */
const struct mana_rx_path *mana_rx_path_find(mana_burst_t burst);

/*
 * The poll list of an ethdev queue: the hardware queues whose packets its bursts
 * return. Usually one, possibly none. This is what ethdev's queue pointer points to.
 */
struct mana_rx_list {
	/*
	 * The hardware queue to poll if the list has exactly one and is not
	 * paused; else stand_in. The control path writes it.
	 */
	alignas(RTE_CACHE_LINE_SIZE) struct mana_rxq *volatile only;
	MANA_ATOMIC(uint32_t) is_busy; /* a burst is in here: mana_pause.c */
	MANA_ATOMIC(uint32_t) user; /* the secondary process whose burst it is, or 0 */
	volatile uint8_t is_paused;
	MANA_ATOMIC(uint32_t) is_fenced; /* a burst with fences is in here */
	/* A circle by mana_rxq.next: where the next burst begins; NULL: empty. */
	struct mana_rxq *first;
	MANA_ATOMIC(uint32_t) look; /* mana_rx_list_lock() */
	/* Has the flag MANA_RX_STAND_IN and nothing else: bursts take the slow path. */
	struct mana_rxq *stand_in;
};

/* One buffer of an Rx WQE. */
struct mana_rx_seg {
	struct rte_mempool *mp;
	uint16_t offset; /* of the data, from the start of the buffer */
	uint16_t bytes; /* given to the device there */
	/* mana_rxq_init() sets these: */
	uint64_t rearm;
	uint64_t ol_flags;
};

/* WQEs of several buffers: see mana_rx_scatter.c. */
struct mana_rx_scatter {
	/* Always set: */
	uint16_t nb_segs; /* of each WQE; 0: one buffer */
	uint16_t wqe_bu; /* of each WQE */
	uint32_t bytes; /* that the buffers of a WQE hold */
	/* Only with several buffers: */
	uint16_t nb_unproven; /* packets until it is certain that the device scatters */
	bool has_missed; /* one of these was in the first buffer alone */
	uint64_t canary[2]; /* in the second buffers until nb_unproven is 0 */
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
};

/* Whether all buffers of the pool are in one region, at one distance from mbufs. */
enum mana_rx_flat {
	MANA_RX_FLAT_UNKNOWN = 0,
	MANA_RX_FLAT_NO,
	MANA_RX_FLAT_YES,
};

struct mana_rxq {
	/* All that an empty poll reads. */
	alignas(RTE_CACHE_LINE_SIZE) uint32_t slow_flags; /* MANA_RX_... */
	uint32_t reported_flags; /* mask of ol_flags that completions set */
	struct mana_cq cq;
	/* The first two words that are written to an mbuf, in this order. */
	uint64_t rearm; /* data_off, refcnt, nb_segs, port of a fresh mbuf */
	uint64_t ol_flags; /* of every mbuf: EXTERNAL with pinned buffers */

	struct mana_wq rq; /* pi and ci count WQEs, all of one size */
	struct rte_mbuf **mbufs; /* by free-running WQE index, masked */
	uint32_t mbuf_mask;
	uint32_t limit; /* WQEs that may be posted at a time */
	uint32_t refill_thresh;
	/* Of the buffer of a WQE; 0: it has several. */
	uint32_t buf_bytes;
	uint64_t packets;

	struct rte_mempool *mp;
	uint64_t bytes;
	uint64_t sge_word; /* flat: key and size of every buffer, and */
	uint64_t data_delta; /* where it starts, from its mbuf on; MANA_RX_UNEVEN */
	/* reported_flags, and the largest length less 1, for the kernels in vectors. */
	alignas(16) uint32_t vec_reported[4];
	uint32_t vec_bound[4];
	uint8_t flat; /* enum mana_rx_flat */
	bool vlan_strip; /* false: the driver puts tags back */
	bool ptypes; /* false: packet types need not be correct */
	bool parse; /* the control path sets it: find packet types by the headers, too */
	bool scrub; /* zero the buffers before the device gets them; never flat */
	MANA_ATOMIC(uint8_t) failure; /* enum mana_queue_failure */
	uint8_t ppi_shift; /* log2 of the most packets per CQE so far, rounded up */
	uint32_t look_ci; /* WQE index before which ring_empty needs no check */
	struct mana_rx_scatter scatter; /* all bursts read its first word */

	struct mana_rx_part part;
	struct mana_mr_cache mr;
	struct mana_rxq_stats stats;
	struct mana_rx_doubt doubt;
	struct mana_bad_cqes bad_cqes;

	/* Rare, or control path only. */
	alignas(RTE_CACHE_LINE_SIZE) uint16_t port_id;
	uint16_t queue_id;
	struct mana_rxq *next; /* in the circle of its list; NULL: in none */
};
static_assert(offsetof(struct mana_rxq, ol_flags) ==
	      offsetof(struct mana_rxq, rearm) + 8, "mana_rxq: as in an mbuf");
static_assert(offsetof(struct mana_rxq, rearm) % 16 == 0,
	      "mana_rxq: rearm is loaded as a vector");
static_assert(offsetof(struct mana_rxq, rq) == 1 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_rxq: rq starts a line");
static_assert(offsetof(struct mana_rxq, mp) == 2 * RTE_CACHE_LINE_SIZE ||
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
	struct rte_mempool *mp; /* with one buffer per WQE; not used with segs */
	uint64_t data_delta; /* mana_rx_pool_delta(mp); takes long for a large pool */
	/*
	 * The buffers of each WQE, if there are several or only parts are used;
	 * nb_segs 0: one buffer of mp, behind the usual headroom.
	 */
	const struct mana_rx_seg *segs;
	uint16_t nb_segs;
	uint16_t nb_desc; /* any number of WQEs that fits the rings */
	/*
	 * nb_mbufs entries, with segs nb_segs times as many, of any contents.
	 * nb_mbufs is a power of two, at least nb_desc.
	 */
	struct rte_mbuf **mbufs;
	uint32_t nb_mbufs;
	uint16_t free_thresh; /* mana_rx_refill_thresh() */
	uint16_t port_id;
	uint16_t queue_id;
	bool vlan_strip;
	bool csum; /* report checksums */
	bool ptypes; /* set packet types; false: as is cheaper, set or unknown */
	bool scrub; /* zero each buffer before the device gets it */
};

/* WQEs that may be posted: each may have a CQE, and a fence needs one more. */
static inline uint32_t
mana_rx_limit(uint16_t nb_desc, uint32_t nb_cqe)
{
	return RTE_MIN((uint32_t)nb_desc, nb_cqe - 1);
}

/*
 * WQEs per doorbell: the number asked for (0: a quarter of the ring, at most
 * 64), but at most half of those that may be posted.
 */
static inline uint32_t
mana_rx_refill_thresh(uint32_t asked, uint16_t nb_desc, uint32_t nb_cqe)
{
	uint32_t thresh = asked != 0 ? asked : RTE_MIN(64u, nb_desc / 4u);

	thresh = RTE_MIN(thresh, mana_rx_limit(nb_desc, nb_cqe) / 2);
	return RTE_MAX(1u, thresh);
}

/**
 * Initialise the rings of a hardware Rx queue. rxq->mr must have been set up by
 * mana_mr_cache_init() before. Control path, not polled.
 *
 * @return
 *   0; -EINVAL when a ring, an array or the pool does not fit; -ENOTSUP when
 *   the pool's buffers are too small to receive anything, or the headroom is
 *   when tags have to be put back. Nothing has changed on failure.
 */
int mana_rxq_init(struct mana_rxq *rxq, const struct mana_rxq_conf *conf);

/**
 * Allocate mbufs and write Rx WQEs up to the limit. No doorbell. After a failure
 * another call continues where this one stopped.
 *
 * @return
 *   0; -ENOMEM when the pool has too few mbufs; -EFAULT when a buffer is in no
 *   memory region and none could be registered. What was written so far stays
 *   owned by the queue: mana_rxq_release_mbufs() frees it.
 */
int mana_rxq_fill(struct mana_rxq *rxq);

/* Set the identifiers: accept CQEs, and ring for the WQEs that were filled. */
void mana_rxq_open(struct mana_rxq *rxq, uint32_t rq_id, uint32_t cq_id);

/* The queue has failed and delivers no more packets. */
void mana_rxq_fail(struct mana_rxq *rxq, enum mana_queue_failure failure);

/* Bursts return 0 from now on. Safe on a queue that was never opened. */
void mana_rxq_close(struct mana_rxq *rxq);

/*
 * Free the posted mbufs; no burst may run. is_gone: the device no longer accesses
 * them (WQ destroyed). Otherwise they are not freed, because the device may still
 * write to them. Safe on a zeroed queue and when called twice.
 */
void mana_rxq_release_mbufs(struct mana_rxq *rxq, bool is_gone);

/*
 * Each access to a queue from the datapath is between these two: see
 * mana_pause.c. Two plain stores; the compiler must not move them.
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
	MANA_ORDER_BEFORE(is_busy);
	mana_atomic_store(is_busy, 0);
}

/*
 * Each burst is between these two where it contains the fences of a pause. The check of
 * the pause follows enter, and mana_pause_fence() that.
 */
static inline void
mana_fenced_enter(MANA_ATOMIC(uint32_t) *is_fenced)
{
	mana_atomic_store(is_fenced, 1);
	mana_pause_fence();
}

static inline void
mana_fenced_leave(MANA_ATOMIC(uint32_t) *is_fenced)
{
	mana_atomic_release(is_fenced, 0);
}

/*
 * The hardware queue to poll; the control path changes it to pause the list. It is
 * the first load between enter and leave: the compiler may move no load before it.
 * For the processor, the control path takes care of that (mana_pause.c).
 */
static inline struct mana_rxq *
mana_rx_list_only(const struct mana_rx_list *list)
{
	struct mana_rxq *rxq = list->only;

	rte_compiler_barrier();
	MANA_ORDER_BEHIND(list);
	return rxq;
}

/* enum mana_queue_failure, which any thread may read beside the bursts */
static inline uint8_t
mana_rxq_failure(const struct mana_rxq *rxq)
{
	return mana_atomic_load(&rxq->failure);
}

static inline bool
mana_rx_list_is_paused(const struct mana_rx_list *list)
{
	uint8_t is_paused = list->is_paused;

	rte_compiler_barrier();
	MANA_ORDER_BEHIND(list);
	return is_paused != 0;
}

/* The rest of a burst if the list is paused or has not exactly one hardware queue. */
uint16_t mana_rx_list_poll(struct mana_rx_list *list, struct rte_mbuf **pkts,
			   uint16_t nb_pkts, mana_rx_poll_t poll);

/* ---- Control path, for a list that is paused or not polled --------------- */

/* An empty list. The stand-in is zeroed, in memory that processes share. */
void mana_rx_list_init(struct mana_rx_list *list, struct mana_rxq *stand_in);
/* Appends a hardware queue. */
void mana_rx_list_add(struct mana_rx_list *list, struct mana_rxq *rxq);
/* The list is empty; the hardware queues are in no list. */
void mana_rx_list_clear(struct mana_rx_list *list);

/* Pause or resume: see mana_pause.c. */
void mana_rx_list_pause(struct mana_rx_list *list, bool is_paused);

/*
 * Free the packets that have arrived. Returns their number; the caller counts them.
 * No thread may poll the queue. is_gone: the device no longer accesses the queue,
 * and the queue gets no new buffers.
 */
uint32_t mana_rxq_drain(struct mana_rxq *rxq, mana_rx_poll_t poll, bool is_gone);

/*
 * Another ethdev queue will poll the hardware queue. Refills take mbufs of mp, which
 * have the same size; posted mbufs stay. data_delta: mana_rx_pool_delta(mp). The
 * queue's list is paused.
 */
void mana_rxq_assign(struct mana_rxq *rxq, uint16_t queue_id,
		     struct rte_mempool *mp, uint64_t data_delta,
		     bool vlan_strip);

#define MANA_RX_UNEVEN UINT64_MAX
/*
 * Bytes from an mbuf of the pool to its data, or MANA_RX_UNEVEN if they differ.
 * Reads all mbufs: control path.
 */
uint64_t mana_rx_pool_delta(struct rte_mempool *mp);

/**
 * Request one event on the queue's completion channel for the next completion. Does
 * nothing if the queue is not open. Datapath of the list it is in, which is not
 * paused.
 *
 * @param wakes
 *   Set to true if a poll would find something already, for which the device may
 *   send no event.
 * @return
 *   0; -EIO if the queue has failed; -ENOMEM if neither the device nor the pool has
 *   a buffer: no packet can come.
 */
int mana_rxq_arm(struct mana_rxq *rxq, bool *wakes);

/*
 * Descriptors of this queue that are done and were not polled, from CQEs, up to
 * max. For the polling thread, or between mana_rx_list_lock() and
 * mana_rx_list_unlock().
 */
uint32_t mana_rxq_nb_waiting(const struct mana_rxq *rxq, uint32_t max);

/*
 * Lock a list to read its rings outside of a burst, in any thread. False: the list
 * is paused; the rings must not be read, and the list is not locked. The control
 * path waits for the holder, so be short.
 */
bool mana_rx_list_lock(struct mana_rx_list *list);
void mana_rx_list_unlock(struct mana_rx_list *list);

/* Packets that wait for a burst of this ethdev queue. Any thread, a snapshot. */
uint32_t mana_rx_list_count(struct mana_rx_list *list);

/* State of the descriptor offset places behind the next one, likewise. */
enum mana_desc_state mana_rx_list_desc_state(struct mana_rx_list *list,
					     uint32_t offset);

/* WQEs that the device has, or whose completion was not polled. */
static inline uint32_t
mana_rxq_nb_posted(const struct mana_rxq *rxq)
{
	return rxq->rq.pi - rxq->rq.ci;
}

/* The same from any thread: a snapshot, at most rxq->limit. */
uint32_t mana_rxq_look_posted(const struct mana_rxq *rxq);

/* Packets lost to errors: ethdev's ierrors. */
static inline uint64_t
mana_rxq_stats_errors(const struct mana_rxq_stats *stats)
{
	return stats->truncated + stats->oversize + stats->unscattered +
	       stats->zero_len + stats->cqe_unknown + stats->cqe_spurious;
}

/* ---- Transmit ----------------------------------------------------------- */

/* Counters of rare events. Packets, bytes, doorbells are in the queue. */
struct mana_txq_stats {
	/* Error completions by type, MANA_CQE_TX_ERR_FIRST on. */
	uint64_t cqe_error[MANA_NB_CQE_TX_ERR];
	uint64_t cqe_unknown; /* another type: released, counted as error */
	/* CQEs that released nothing. */
	uint64_t cqe_foreign;
	uint64_t cqe_spurious; /* nothing was outstanding */
	uint64_t cqe_overrun; /* the queue is lost */
	uint64_t failed; /* times that the queue has failed: see failure */
	uint64_t cqe_position; /* unexpected WQE offset: the check has failed */
	/* Packets taken, freed and not sent. */
	uint64_t drop_offload; /* a request that the device cannot meet */
	uint64_t drop_malformed; /* contradictory lengths or segments */
	uint64_t drop_nomem; /* a copy was needed, no mbuf for it */
	uint64_t drop_mr; /* in no memory region */
	/* Posted, and without completion when the queue stopped: sent or not. */
	uint64_t unfinished;
	uint64_t stalled; /* times without progress, by the interrupt thread */
	/* Sent after a copy. */
	uint64_t linearized; /* the packet: it has too many segments */
	uint64_t bounced; /* the header: it must not be written, or is in pieces */
	uint64_t cq_doorbells;
};

/*
 * A posted WQE: its size, and the number of mbuf ring entries that are freed with
 * it. The driver reads this to find the WQE of an error completion.
 */
#define MANA_TX_INFO_BU_M 0x1fu
#define MANA_TX_INFO_MBUFS_S 5
#define MANA_TX_INFO(nb_bu, nb_mbufs) \
	((uint16_t)((nb_bu) | (nb_mbufs) << MANA_TX_INFO_MBUFS_S))

/*
 * WQEs that complete together: one that requests a CQE, and those without
 * request before it. The n-th good CQE belongs to the n-th group. The
 * free-running indices are those of the rings after the group has completed.
 */
struct mana_tx_group {
	/* The pool of all its mbufs, each with one reference; NULL: check each. */
	struct rte_mempool *mp;
	uint32_t wqe_end;
	uint32_t mbuf_end;
	uint32_t bu_end;
	uint32_t bu_at; /* the WQE that requests the CQE */
};

/* State of the WQE-offset check: see mana_tx_done.c. */
enum mana_tx_offset_check {
	MANA_TX_OFFSET_LEARNING = 0, /* every WQE requests a CQE */
	MANA_TX_OFFSET_RIGHT, /* one WQE per group requests a CQE */
	/* Until the queue is restarted, every WQE requests a CQE: */
	MANA_TX_OFFSET_UNUSED, /* offsets were never right, or as configured */
	MANA_TX_OFFSET_WRONG, /* an offset was unexpected after RIGHT */
};

/* How completions are taken. */
enum mana_tx_reap {
	MANA_TX_REAP_ONE, /* one at a time, with a check of each position */
	MANA_TX_REAP_GROUPS, /* good CQEs, one per group */
	MANA_TX_REAP_EACH, /* good CQEs, one per WQE */
};

/* Good CQEs in succession with correct offsets, at distinct places but 0. */
#define MANA_TX_OFFSET_NB_RIGHT 8

/* The form of the OOB. VLAN insertion always needs the long form. */
enum mana_tx_form {
	MANA_TX_FORM_AUTO, /* short if possible, unless the device refuses it */
	MANA_TX_FORM_SHORT, /* short if possible */
	MANA_TX_FORM_LONG,
};

/* Where the long OOB has the vPort's offset; the values of tx_vport. */
enum mana_tx_vport {
	MANA_TX_VPORT_BOTH, /* in the short field only if it fits */
	MANA_TX_VPORT_SHORT, /* as Linux */
	MANA_TX_VPORT_LONG, /* as OpenVMM */
};

/*
 * The queue changes to the long form after this many TX_INVALID_OOB for packets in
 * the short form, if none was sent before.
 */
#define MANA_TX_FORM_TRIES 8

/* A pool that lies in one memory region, and its key. */
struct mana_tx_pool {
	struct rte_mempool *mp; /* NULL: an empty slot */
	uint32_t lkey;
	bool has_key; /* false: a key look-up for each mbuf */
	uint32_t nb_wait; /* packets until the next try */
	uint32_t retry_wait; /* of the try after it */
};

#define MANA_TX_NB_POOLS 8

/* Header fields that a request has the driver write, and the request's OOB. */
struct mana_tx_headers {
	uint64_t oob; /* bits to add to the short OOB */
	uint64_t sum; /* of the pseudo header, without what the packet's own has */
	uint32_t l3_off;
	uint32_t sum_off; /* of the L4 checksum; 0: none */
	bool is_ipv4;
	bool is_ip_csum;
	bool is_lso;
};

/* A request that the device can meet. */
struct mana_tx_request {
	struct mana_tx_headers hdrs; /* of a tunnel, those outside */
	/* Frame bytes that are read or written, of LSO all headers; 0: none. */
	uint32_t hdr_bytes;
	uint32_t bytes; /* of the frame */
	/* Payload bytes of a segment; 0: one frame, no LSO. */
	uint32_t mss_bytes;
	/* Segmentation was asked for, maybe of what fits one segment. */
	bool is_tso;
	uint64_t wqe_header; /* bits to add to the first word of the WQE */
};

/* A request that the fast lane met, and what packets with the same one have. */
struct mana_tx_known {
	uint64_t offload; /* tx_offload */
	uint64_t fields; /* bits of it that count */
	uint32_t flags; /* of MANA_TX_OL_KEY, upper half; 0: none */
	struct mana_tx_request req;
};
/* A request for each of TCP and UDP, IPv4 and IPv6, with and without TSO. */
#define MANA_TX_NB_KNOWN 8u

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
	/* The group that is being filled; between bursts there is none. */
	uint32_t open_pi; /* where it starts */
	uint32_t open_bu;
	uint32_t last_bu; /* its last WQE */
	/*
	 * One-BU packets that may be posted at once, a burst that is a group;
	 * 0: none. And until something has to be looked at; 0: now.
	 */
	uint32_t run_max;
	uint32_t run_room;

	struct rte_mempool *open_mp;
	uint32_t group_wqes; /* so large may a group become */
	uint32_t group_bu;
	uint64_t loob; /* queue's part of the long OOB's second word */
	uint64_t sq_doorbells;
	uint16_t max_sge;
	bool is_long; /* every WQE needs the long OOB */
	MANA_ATOMIC(uint8_t) failure; /* enum mana_queue_failure */
	uint8_t offset_check; /* enum mana_tx_offset_check */
	uint8_t reap; /* enum mana_tx_reap */
	uint8_t nb_right; /* while learning */
	uint8_t form_tries; /* MANA_TX_FORM_TRIES less those; 0: all is said */
	bool is_form_changed; /* to the long one */
	volatile bool is_paused; /* the control path writes it: mana_pause.c */
	uint32_t last_right; /* position, while learning */
	uint32_t look_pi; /* pi when a burst last looked at completions */
	MANA_ATOMIC(uint32_t) is_busy; /* these as in struct mana_rx_list */
	MANA_ATOMIC(uint32_t) user;

	/* Of known: the request that the fast lane met last. */
	const struct mana_tx_known *last_known;

	uint8_t *bounce; /* a slot for each WQE index; may be NULL */
	struct rte_mempool *bounce_mp; /* for copies; may be NULL */
	uint32_t copy_end; /* WQE index behind the last copy */
	uint32_t mtu; /* of the adapter: a segment of TSO fits it */
	uint64_t long_drop; /* bits of oob that the long form does without */

	struct mana_mr_cache mr;
	struct mana_tx_known known[MANA_TX_NB_KNOWN];
	struct mana_tx_pool pools[MANA_TX_NB_POOLS];
	uint32_t pool_next; /* the slot that is replaced next */
	uint32_t nb_pool_misses; /* since one was */
	struct mana_txq_stats stats;
	struct mana_bad_cqes bad_cqes;

	/* Control path and status only. */
	alignas(RTE_CACHE_LINE_SIZE) uint16_t queue_id;
	MANA_ATOMIC(uint32_t) look; /* mana_txq_lock() */
	MANA_ATOMIC(uint32_t) is_fenced; /* as in struct mana_rx_list */
};
static_assert(offsetof(struct mana_txq, sq) == 1 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_txq: sq starts a line");
static_assert(offsetof(struct mana_txq, groups) == 2 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_txq: groups starts a line");
static_assert(offsetof(struct mana_txq, open_mp) == 3 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_txq: hot part is four lines");
static_assert(offsetof(struct mana_txq, queue_id) % RTE_CACHE_LINE_SIZE == 0,
	      "mana_txq: control starts a line");
static_assert(sizeof(struct mana_txq) % RTE_CACHE_LINE_SIZE == 0,
	      "mana_txq: no line shared with a neighbour");

/* The first load between enter and leave, as mana_rx_list_only() is for Rx. */
static inline bool
mana_txq_is_paused(const struct mana_txq *txq)
{
	bool is_paused = txq->is_paused;

	rte_compiler_barrier();
	MANA_ORDER_BEHIND(txq);
	return is_paused;
}

/* As mana_rxq_failure(). */
static inline uint8_t
mana_txq_failure(const struct mana_txq *txq)
{
	return mana_atomic_load(&txq->failure);
}

/* A header that must not be written in place is copied to a slot of this size. */
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
	bool no_suppress; /* request a CQE in every WQE always */
	enum mana_tx_form form;
	enum mana_tx_vport vport;
	uint32_t mtu; /* of the adapter, for TSO */
};

/**
 * Initialise the rings of a Tx queue; it accepts packets from now on. txq->mr must
 * have been set up by mana_mr_cache_init() before; queue_id is left alone. Control
 * path, not polled.
 *
 * @return
 *   0; -EINVAL when a ring or an array does not fit; -ERANGE when vp_offset
 *   does not fit its field. Nothing has changed on failure.
 */
int mana_txq_init(struct mana_txq *txq, const struct mana_txq_conf *conf);

/* The queue has failed and takes no more packets. */
void mana_txq_fail(struct mana_txq *txq, enum mana_queue_failure failure);

/* Bursts take nothing and return 0 from now on. */
void mana_txq_close(struct mana_txq *txq);

/*
 * Free the mbufs of WQEs without completion. The device must no longer access them
 * (QP destroyed) and no burst may run. Safe on a zeroed queue and when called twice.
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
/* The same for the control path, for a queue that is paused or without bursts. */
uint32_t mana_txq_settle(struct mana_txq *txq, uint32_t max);

/*
 * Lock a queue to read its rings outside of a burst, in any thread. False: the queue
 * is paused; the rings must not be read, and the queue is not locked. The control path
 * waits for the holder, so be short.
 */
bool mana_txq_lock(struct mana_txq *txq);
/* The same, and false if another thread has the lock. */
bool mana_txq_trylock(struct mana_txq *txq);
void mana_txq_unlock(struct mana_txq *txq);

/*
 * Packets whose completion was not yet looked at, a snapshot. For the sending thread,
 * or between mana_txq_lock() and mana_txq_unlock().
 */
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

/* The same from any thread, unlocked: of those that the ring has, a snapshot. */
uint32_t mana_txq_look_posted(const struct mana_txq *txq);

/* Packets that were posted and that the device did not send. */
uint64_t mana_txq_stats_cqe_errors(const struct mana_txq_stats *stats);
/* These, and what was taken and not posted: ethdev's oerrors. */
uint64_t mana_txq_stats_errors(const struct mana_txq_stats *stats);

/* Sends packets. */
uint16_t mana_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts);
/* ethdev's tx_pkt_burst: this one, or one with fences that calls it. */
mana_burst_t mana_tx_burst_get(void);
/* What burst_mode_get reports, NULL for any other function. */
const char *mana_tx_burst_name(mana_burst_t function);

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
