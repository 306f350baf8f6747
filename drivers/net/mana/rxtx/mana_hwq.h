/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rx queues: a hardware queue (hwq), and the queue of ethdev (rxq), a circle of the hwqs
 * that its bursts poll. What a burst sees comes first, then the functions with which the
 * control path fills, starts and empties them.
 */

#ifndef MANA_HWQ_H
#define MANA_HWQ_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_gdma.h"
#include "mana_mr.h"
#include "mana_queue.h"

struct ibv_comp_channel;
struct ibv_cq;
struct ibv_wq;

/* ---- What a burst sees: one hardware queue ------------------------------- */

/* Slow-path flags of a hardware queue; none in steady state. */
/* Packets are left in hwq->part. */
#define MANA_RX_SLOW_LANE RTE_BIT32(0)
/* The last refill fell short: the next poll tries again. */
#define MANA_RX_REFILL_RETRY RTE_BIT32(1)
#define MANA_RX_SEE_RXQ RTE_BIT32(2) /* a stand-in, or the rxq has spares */

/* The last CQE of the slow lane, and which of its packets were delivered. */
struct mana_rx_part {
	struct gdma_cqe cqe; /* a private copy */
	uint8_t next; /* next packet to deliver */
	uint8_t nb; /* number of packets; next == nb: nothing is left */
};

/* One buffer of an Rx WQE. */
struct mana_rx_seg {
	struct rte_mempool *mp;
	uint16_t offset; /* of the data, from the start of the buffer */
	uint16_t bytes; /* given to the device there */
	/* mana_hwq_init() sets these: */
	uint64_t rearm;
	uint64_t ol_flags;
};

/* The buffers of each WQE. Several: see mana_rx_scatter.c. */
struct mana_rx_scatter {
	/* 0: one whole buffer, segs[0], behind the usual headroom. */
	uint16_t nb_segs;
	uint16_t wqe_bu; /* of each WQE */
	uint32_t bytes; /* that the buffers of a WQE hold */
	/* Only if nb_segs is not 0: */
	uint16_t nb_unproven; /* packets until it is certain that the device scatters */
	bool has_missed; /* a packet of several buffers was in the first one alone */
	uint64_t canary[2]; /* in the second buffers until nb_unproven is 0 */
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
};

struct mana_hwq {
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
	/* Size of the buffer of a WQE; 0: it has several. */
	uint32_t buf_bytes;
	uint64_t packets;

	struct rte_mempool *mp;
	uint64_t bytes;
	uint64_t sge_word; /* of a pool in_one_region: key and size of every buffer, and */
	uint64_t data_delta; /* where it starts, from its mbuf on: mana_rx_pool_delta() */
	/* reported_flags, and the largest length less 1, for the loops in vectors. */
	alignas(16) uint32_t vec_reported[4];
	uint32_t vec_bound[4];
	/* All buffers of the pool are in one region, at one distance from their mbufs. */
	bool in_one_region;
	bool vlan_strip; /* false: the driver puts tags back */
	bool ptypes; /* false: packet types need not be correct */
	bool parse; /* the control path sets it: find packet types by the headers, too */
	bool scrub; /* zero the buffers first; never in_one_region */
	MANA_ATOMIC(uint8_t) failure; /* enum mana_queue_failure */
	uint8_t ppi_shift; /* log2 of the most packets per CQE so far, rounded up */
	uint32_t empty_ci; /* WQE index before which ring_empty needs no check */
	struct mana_rx_scatter scatter; /* all bursts read its first word */

	struct mana_rx_part part;
	struct mana_mr_cache mr;
	/* Where the memory of the pool begins and ends, maybe with other memory inside. */
	uintptr_t pool_base;
	uint64_t pool_bytes;
	struct mana_hwq_stats stats;
	struct mana_bad_cqes *bad_cqes; /* of the rxq that has had the queue last */

	/* ---- The control path, and rare events ---- */
	/* The queue of ethdev that polls it while that runs. */
	alignas(RTE_CACHE_LINE_SIZE) uint16_t queue_id;
	uint16_t nb_desc;
	struct mana_hwq *next; /* in the circle of its rxq; NULL: in none */
	struct ibv_cq *ibv_cq;
	struct ibv_wq *wq;
	struct ibv_comp_channel *channel; /* of ibv_cq; NULL without interrupts */
	/* The array mbufs is behind it. NULL: no buffers, the owner is not set up. */
	struct mana_rx_spares *block;
	uint64_t offloads; /* of the ethdev queue that it was built for */
};
static_assert(offsetof(struct mana_hwq, ol_flags) ==
	      offsetof(struct mana_hwq, rearm) + 8, "mana_hwq: as in an mbuf");
static_assert(offsetof(struct mana_hwq, rearm) % 16 == 0, "mana_hwq: rearm is loaded as a vector");
static_assert(offsetof(struct mana_hwq, rq) == 1 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_hwq: rq starts a line");
static_assert(offsetof(struct mana_hwq, mp) == 2 * RTE_CACHE_LINE_SIZE ||
	      RTE_CACHE_LINE_SIZE != 64, "mana_hwq: hot part is two lines");
static_assert(offsetof(struct mana_hwq, queue_id) % RTE_CACHE_LINE_SIZE == 0,
	      "mana_hwq: control starts a line");
static_assert(sizeof(struct mana_hwq) % RTE_CACHE_LINE_SIZE == 0,
	      "mana_hwq: no line shared with a neighbour");

/* enum mana_queue_failure, which any thread may read beside the bursts */
static inline uint8_t
mana_hwq_failure(const struct mana_hwq *hwq)
{
	return mana_atomic_load(&hwq->failure);
}

/* WQEs that the device has, or whose completion was not polled. */
static inline uint32_t
mana_hwq_nb_posted(const struct mana_hwq *hwq)
{
	return hwq->rq.pi - hwq->rq.ci;
}

/* ---- What a burst sees: a queue of ethdev --------------------------------- */

/*
 * Mbufs that a hardware queue had when its rings went, as their pools gave them. The
 * control path owns the block, the array is behind it.
 */
struct mana_rx_spares {
	struct mana_rx_spares *next;
	struct rte_mbuf **mbufs;
	uint32_t first; /* index of the oldest one */
	uint32_t mask; /* of indices */
	uint32_t nb;
};

/* Which buffers an Rx queue was given: see mana_queues.c. */
struct mana_rx_layout {
	struct mana_rx_seg segs[GDMA_RQ_WQE_MAX_SGE];
	uint16_t nb_segs; /* at least 1 */
	bool is_split; /* by the application */
	bool can_grow; /* as many more as a frame takes */
	union rte_eth_rxseg rx_seg[GDMA_RQ_WQE_MAX_SGE]; /* of the split */
};

/* A queue of ethdev: its bursts return the packets of its hwqs, usually one, or none. */
struct mana_rxq {
	/*
	 * The hardware queue to poll if the rxq has exactly one and is not
	 * paused; else stand_in. The control path writes it.
	 */
	alignas(RTE_CACHE_LINE_SIZE) struct mana_hwq *volatile only;
	MANA_ATOMIC(uintptr_t) is_busy; /* a burst is in here: mana_burst_enter() */
	MANA_ATOMIC(uint32_t) user; /* the secondary process whose burst it is, or 0 */
	uint32_t device; /* of the rings: mana_device_id(); 0: none */
	volatile uint8_t is_paused;
	/* A circle by mana_hwq.next: where the next burst begins; NULL: empty. */
	struct mana_hwq *first;
	MANA_ATOMIC(uint64_t) query_lock; /* mana_rxq_lock() */
	/* Has the flag MANA_RX_SEE_RXQ and nothing else: bursts take the slow path. */
	struct mana_hwq *stand_in;
	/* Mbufs for the next rings. What these do not take, the bursts return to its pools. */
	struct mana_rx_spares *spares;
	uint32_t nb_spares; /* in all these */
	struct mana_bad_cqes bad_cqes; /* of the hardware queues while it has them */

	/* ---- The control path only ---- */
	alignas(RTE_CACHE_LINE_SIZE) uint16_t queue_id;
	bool is_deferred; /* not started with the port */
	bool is_released; /* no hardware queue may use its pool any more */
	bool may_fill; /* its rings, from its pools: the application starts it */

	/* Chosen at setup; a hardware queue that is built for it gets these. */
	struct mana_rx_layout layout;
	struct mana_rx_scatter scatter; /* by layout, and the MTU at the last start */
	uint64_t data_delta; /* of its first pool: mana_rx_pool_delta() */
	/* Sizes of each hardware queue; the device may have refused what was asked for. */
	uint16_t nb_desc;
	uint16_t free_thresh; /* as it is in effect */
	uint16_t asked_desc;
	uint16_t asked_thresh;
	int socket_id;
	uint64_t offloads;

	/* Under the registry's lock: */
	char mempool[RTE_MEMPOOL_NAMESIZE]; /* its name: the pool may be gone */
	/* What hardware queues counted and met that it does not poll any more. */
	struct mana_counters folded;
	struct mana_reported reported;
};

static inline bool
mana_rxq_is_paused(const struct mana_rxq *rxq)
{
	uint8_t is_paused = rxq->is_paused;

	rte_compiler_barrier();
	MANA_ORDER_BEHIND(rxq);
	return is_paused != 0;
}

/*
 * Poll one hardware Rx queue, and end the burst of the rxq: mana_burst_leave().
 * A caller whose burst does not end gives an rxq of its own.
 */
typedef uint16_t (*mana_rx_poll_t)(struct mana_rxq *rxq,
				   struct rte_mbuf **pkts, uint16_t nb_pkts,
				   struct mana_hwq *hwq);

/* The rest of a burst if the rxq is paused or has not exactly one hardware queue. */
uint16_t mana_rxq_poll(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		       uint16_t nb_pkts, mana_rx_poll_t poll);

/* ---- Burst functions ------------------------------------------------------ */

/* A burst function; all deliver the same. */
struct mana_rx_path {
	const char *name; /* what burst_mode_get reports */
	uint16_t simd_bits; /* width of its vectors; 0: it has none */
	mana_burst_t burst;
};

/* The paths of this build: the fastest first, the scalar one last. */
extern const struct mana_rx_path mana_rx_paths[];
extern const uint32_t mana_rx_nb_paths;

/* Whether the processor has, and EAL allows, vectors of this width. */
bool mana_rx_path_is_allowed(const struct mana_rx_path *path);
/* The fastest path that is allowed. */
const struct mana_rx_path *mana_rx_path_select(void);
/* The name of this burst function, NULL for any other function. */
const char *mana_rx_burst_name(mana_burst_t function);

/* ---- Control path: a hardware queue that no burst polls ------------------- */

/*
 * Life of a hardware queue. The control path owns the struct (zeroed, cache aligned) and
 * its arrays. Each start, once the kernel objects have ring memory:
 *
 *   mana_hwq_init()           lay out the rings, indices at zero
 *   mana_hwq_fill()           allocate mbufs and write WQEs
 *   (RSS QP created: the identifiers are known)
 *   mana_hwq_open()           give them to the device
 *   ... bursts ...
 *   mana_hwq_close()          bursts return 0 from now on
 *   (QP and WQ destroyed: the device no longer accesses the buffers)
 *   mana_hwq_collect()        hand them over as spares
 *
 * Statistics are never reset here: they survive restarts.
 */

static inline uint32_t
mana_rx_nb_bufs(const struct mana_rx_scatter *scatter)
{
	return RTE_MAX(scatter->nb_segs, 1);
}

/*
 * WQEs per doorbell: the number asked for (0: a quarter of the ring, at most 64), but at
 * most half of those that may be posted.
 */
uint32_t mana_rx_refill_thresh(uint32_t asked, uint16_t nb_desc, uint32_t nb_cqe);

/*
 * Initialise the rings of a hardware Rx queue. Control path, not polled. Before, the
 * control path has set in a zeroed queue: mr (mana_mr_cache_init()), queue_id, offloads,
 * nb_desc (any number of WQEs that fits the rings), refill_thresh, data_delta, vlan_strip,
 * ptypes, scrub; nb_segs and segs of scatter; mbuf_mask, and the array mbufs of
 * mbuf_mask + 1 entries, of any contents, for each buffer of a WQE. The identifiers come
 * with mana_hwq_open().
 *
 * Returns 0; -EINVAL when a ring, an array or a pool does not fit; -ENOTSUP when the
 * buffers are too small to receive anything, or the headroom is when tags have to be put
 * back. After a failure it has no buffers.
 */
int mana_hwq_init(struct mana_hwq *hwq, const struct mana_queue_rings *rings, uint16_t port_id);

/*
 * Allocate mbufs and write Rx WQEs up to the limit. No doorbell. After a failure another
 * call continues where this one stopped. Returns 0; -ENOMEM when the pool has too few
 * mbufs; -EFAULT when a buffer is in no memory region and none could be registered;
 * -EAGAIN when its key is not known yet. What was written so far stays owned by the queue
 * until mana_hwq_collect().
 */
int mana_hwq_fill(struct mana_hwq *hwq);

/* Set the identifiers: accept CQEs, and ring for the WQEs that were filled. */
void mana_hwq_open(struct mana_hwq *hwq, uint32_t rq_id, uint32_t cq_id);

/* The queue has failed and delivers no more packets. */
void mana_hwq_fail(struct mana_hwq *hwq, enum mana_queue_failure failure);

/* Bursts return 0 from now on. Safe on a queue that was never opened. */
void mana_hwq_close(struct mana_hwq *hwq);

/*
 * Move all mbufs to spares of the rxq, which take the queue's array; the queue needs another.
 * is_gone: the device no longer accesses them (WQ destroyed). Otherwise posted ones are
 * leaked on purpose, because the device may still write to them. No burst may run.
 */
void mana_hwq_collect(struct mana_hwq *hwq, bool is_gone, struct mana_rxq *rxq,
		      struct mana_rx_spares *spares);
/*
 * Write up to max Rx WQEs, and up to the limit, for spares of the rxq that are of the
 * queue's pools, the oldest last. No doorbell, no access to a pool.
 */
void mana_hwq_repost(struct mana_hwq *hwq, struct mana_rxq *rxq, uint32_t max);

/* ---- Control path, for an rxq that is paused or not polled --------------- */

/* A zeroed rxq, which has no hardware queues; the zeroed stand-in is in shared memory. */
void mana_rxq_init(struct mana_rxq *rxq, struct mana_hwq *stand_in);
/* Adds a hardware queue, which is in no rxq. */
void mana_rxq_add(struct mana_rxq *rxq, struct mana_hwq *hwq);
/* Pause or resume: see mana_pause.c. */
void mana_rxq_pause(struct mana_rxq *rxq, bool is_paused);

/* Return up to max spares to their pools. Also in bursts. */
void mana_rx_spares_return(struct mana_rxq *rxq, uint32_t max);

/*
 * Drop the packets that have arrived, and post their buffers again; rings, without access
 * to a pool. Returns their number; the caller counts them. No thread may poll the queue.
 */
uint32_t mana_hwq_recycle(struct mana_hwq *hwq);

#define MANA_RX_DELTA_VARIES UINT64_MAX
/*
 * Bytes from an mbuf of the pool to its data, or MANA_RX_DELTA_VARIES if they differ.
 * Reads all mbufs, which takes long for a large pool: control path.
 */
uint64_t mana_rx_pool_delta(struct rte_mempool *mp);

/*
 * Request one event on the queue's completion channel for the next completion. Does
 * nothing if the queue is not open. Datapath of the rxq it is in, which is not paused.
 * Sets *wakes if a poll would find something already, for which the device may send no
 * event. Returns 0; -EIO if the queue has failed; -ENOMEM if neither the device nor the
 * pool has a buffer: no packet can come.
 */
int mana_hwq_arm(struct mana_hwq *hwq, bool *wakes);

/*
 * Descriptors of this queue that are done and were not polled, from CQEs, up to
 * max. For the polling thread, or with the lock of mana_rxq_lock().
 */
uint32_t mana_hwq_nb_waiting(const struct mana_hwq *hwq, uint32_t max);

/*
 * Lock an rxq to read its rings outside of a burst, in any thread. False: the rxq
 * is paused; the rings must not be read, and the rxq is not locked. The control
 * path waits for the holder, so be short. mana_query_unlock() ends it.
 */
bool mana_rxq_lock(struct mana_rxq *rxq);

/* Packets that wait for a burst of this ethdev queue. Any thread, a snapshot. */
mana_queue_count_t mana_rxq_count(void *rxq);

/* RTE_ETH_RX_DESC_... of the descriptor offset places behind the next one, likewise. */
int mana_rxq_desc_state(struct mana_rxq *rxq, uint32_t offset);

/* mana_hwq_nb_posted() from any thread: a snapshot, at most hwq->limit. */
uint32_t mana_hwq_posted_snapshot(const struct mana_hwq *hwq);

/* Packets lost to errors: ethdev's ierrors. */
static inline uint64_t
mana_hwq_stats_errors(const struct mana_hwq_stats *stats)
{
	return stats->truncated + stats->oversize + stats->unscattered +
	       stats->zero_len + stats->cqe_unknown + stats->cqe_spurious;
}

#endif /* MANA_HWQ_H */
