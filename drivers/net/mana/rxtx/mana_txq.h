/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A Tx queue: what a burst sees of it comes first, then the functions with which the
 * control path starts and empties it.
 */

#ifndef MANA_TXQ_H
#define MANA_TXQ_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_gdma.h"
#include "mana_mr.h"
#include "mana_queue.h"
#include "mana_vec.h"

struct ibv_cq;
struct ibv_qp;

/* ---- What a burst sees ---------------------------------------------------- */

/*
 * WQEs that complete together: one that requests a CQE, and those without
 * request before it. The n-th good CQE belongs to the n-th group. The
 * free-running indices are those of the rings after the group has completed.
 */
struct mana_tx_group {
	/* The pool of all its mbufs, each with one reference; NULL: see txq->pools. */
	struct rte_mempool *mp;
	uint32_t wqe_end;
	uint32_t mbuf_end;
	uint32_t bu_end;
	uint32_t bu_at; /* the WQE that requests the CQE */
};

/* What a burst needs of a region: see mana_tx.h. */
struct mana_tx_origin {
	mana_vec_t from_sge; /* what turns an SGE without a key into a place */
	mana_vec_t to_sge; /* what turns a place into an SGE */
	mana_vec_t bytes; /* of the region, less the smallest size */
};

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
	struct mana_tx_headers hdrs;
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

/* The buffer of a packet that the device could not read. */
struct mana_tx_bad_buf {
	uint64_t addr; /* of an SGE whose key is not that of a region, or of the first one */
	uint32_t len_bytes;
	char mempool[RTE_MEMPOOL_NAMESIZE]; /* of the mbuf; empty: it has none */
};

/* The progress of a Tx queue: see mana_dump.c. */
struct mana_tx_progress {
	uint32_t ci;
	bool is_reported; /* since since_ns */
	uint64_t since_ns;
	uint64_t stalled_ns; /* when a stall was seen last, since the start; 0: never */
};

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
	/* WQEs outstanding at most; 0: dead or closed, and batch_space is 0, too. */
	uint32_t limit;

	struct mana_wq sq;
	uint64_t oob; /* queue's part of the short OOB */
	uint64_t no_cqe; /* of every WQE but the last of a group; or 0 */
	struct rte_mbuf **mbufs; /* by mbuf index, masked */
	uint16_t *info; /* by WQE index, masked: MANA_TX_INFO() */

	struct mana_tx_group *groups; /* by group index, masked */
	struct mana_mr_range region; /* of the packet before; none after a change */
	uint32_t mask; /* of WQE and group indices */
	uint32_t mbuf_mask;
	uint32_t mbuf_pi;
	uint32_t mbuf_ci;
	uint32_t group_pi;
	uint32_t group_ci;
	/*
	 * One-BU packets that may be posted at once, a burst that is a group;
	 * 0: none. And until something has to be looked at; 0: now.
	 */
	uint32_t batch_max;
	uint32_t batch_space;

	/* The group that is being filled; between bursts there is none. */
	struct rte_mempool *open_mp; /* as its mp will be */
	uint32_t open_pi; /* where it starts */
	uint32_t open_bu;
	uint32_t open_mbuf;
	uint32_t last_bu; /* its last WQE */
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
	/* The queue is not paused, nor freed. The control path writes it: mana_pause.c. */
	volatile bool runs;
	volatile bool is_stopping; /* the stop frees the old mbufs, not a burst; as runs */
	uint32_t last_right; /* position, while learning */
	uint32_t nb_failed; /* rounds of the last batch that followed regions; see write_batch() */
	uint32_t reaped_pi; /* pi when a burst last looked at completions */
	MANA_ATOMIC(uintptr_t) is_busy; /* these as in struct mana_rxq */
	MANA_ATOMIC(uint32_t) user;
	uint32_t device;
	/* All mbufs of the ring are of an SQ that was destroyed. */
	MANA_ATOMIC(uint32_t) has_old;

	/* The request in known that the fast lane met last. */
	const struct mana_tx_known *last_known;

	uint8_t *bounce; /* a slot of MANA_TX_BOUNCE_BYTES for each WQE index */
	struct rte_mempool *bounce_mp; /* for copies */
	uint32_t copy_end; /* WQE index behind the last copy */
	uint32_t mtu; /* of the adapter: a segment of TSO fits it */
	uint64_t long_drop; /* bits of oob that the long form does without */

	struct mana_mr_cache mr;
	struct mana_tx_origin origin; /* of region */
	struct mana_tx_known known[MANA_TX_NB_KNOWN];
	/*
	 * By mbuf index, masked, where groups have no mp: the pool of an mbuf with one
	 * reference; NULL: the mbuf has to be checked when it is freed.
	 */
	struct rte_mempool **pools;
	struct mana_txq_stats stats;
	struct mana_bad_cqes bad_cqes;
	struct mana_tx_bad_buf bad_buf; /* written before failure */

	/* ---- Queries and the control path only ---- */
	alignas(RTE_CACHE_LINE_SIZE) uint16_t queue_id;
	MANA_ATOMIC(uint64_t) query_lock; /* mana_txq_lock() */

	uint16_t nb_desc; /* the device may have refused what was asked for */
	uint16_t asked_desc;
	uint16_t free_thresh;
	bool is_deferred; /* not started with the port */
	int socket_id;
	uint64_t offloads;

	/* Exist while the queue runs. */
	struct ibv_cq *ibv_cq;
	struct ibv_qp *qp;

	/* Under the registry's lock: */
	struct mana_reported reported;
	struct mana_tx_progress progress;
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

/* The first load between enter and leave, as mana_rxq_only() is for Rx. */
static inline bool
mana_txq_is_paused(const struct mana_txq *txq)
{
	bool is_paused = !txq->runs;

	rte_compiler_barrier();
	MANA_ORDER_BEHIND(txq);
	return is_paused;
}

/* enum mana_queue_failure, which any thread may read beside the bursts */
static inline uint8_t
mana_txq_failure(const struct mana_txq *txq)
{
	return mana_atomic_load(&txq->failure);
}

/* WQEs without completion, or whose CQE has not been looked at. */
static inline uint32_t
mana_txq_nb_posted(const struct mana_txq *txq)
{
	return (uint32_t)txq->pi - txq->ci;
}

/* Whether bursts may use instructions of AVX2. Tests change it while no burst runs. */
extern bool mana_tx_uses_avx2 MANA_HIDDEN;
/* Sends packets: ethdev's tx_pkt_burst. */
uint16_t mana_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts);
/* The name of this burst function, NULL for any other function. */
const char *mana_tx_burst_name(mana_burst_t function);

/*
 * Check packets, and write the pseudo-header checksum (and zero to the IPv4 one) where the
 * header is private and in one piece; the burst copies other headers. ethdev's
 * tx_pkt_prepare. Returns how many are ready for the burst; rte_errno says why the next
 * one is not: ENOTSUP, a request that the device cannot meet; EINVAL, lengths or flags
 * that contradict each other.
 */
uint16_t mana_tx_pkt_prepare(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts);

/* ---- Choices -------------------------------------------------------------- */

/* State of the WQE-offset check: see mana_txq.c. */
enum mana_tx_offset_check {
	MANA_TX_OFFSET_LEARNING = 0, /* every WQE requests a CQE */
	MANA_TX_OFFSET_RIGHT, /* one WQE per group requests a CQE */
	/* Until the queue is restarted, every WQE requests a CQE: */
	MANA_TX_OFFSET_UNUSED, /* offsets were never right, or as configured */
	MANA_TX_OFFSET_WRONG, /* an offset was unexpected after RIGHT */
};

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

/* What the device arguments tx_suppress, tx_oob and tx_vport choose. */
struct mana_txq_conf {
	uint32_t suppress; /* 1: request a CQE in some WQEs only; the default */
	enum mana_tx_form form;
	enum mana_tx_vport vport;
};

/* ---- Control path, of a queue that no burst uses; and its state ------------- */

/*
 * Life of a queue. The control path owns the struct (zeroed, cache aligned) and its
 * arrays. Each start:
 *
 *   (QP created: ring memory and identifiers are known)
 *   mana_txq_init()
 *   ... bursts ...
 *   mana_txq_close()
 *   (QP destroyed)
 *   mana_txq_release_mbufs()  free them; or mana_txq_keep_mbufs(), for the bursts
 *
 * Statistics are never reset here: they survive restarts.
 */

/* A header that must not be written in place is copied to a slot of this size. */
#define MANA_TX_BOUNCE_BYTES 256u

/*
 * Initialise the rings of a Tx queue; it accepts packets from now on. Control path, not
 * polled. Before, the control path has set in a zeroed queue: mr (mana_mr_cache_init()),
 * queue_id, mtu, bounce_mp, nb_desc (WQEs outstanding at most; clipped to nb_cqe), max_sge
 * (as the QP was created, at most 30); mask, and the arrays info, groups and bounce of
 * mask + 1 entries; mbuf_mask, at least mask, and the arrays mbufs and pools of
 * mbuf_mask + 1 entries. vp_offset of rings is at most 4095.
 *
 * Returns 0; -EINVAL when a ring or the arrays do not fit; -ERANGE when vp_offset does not
 * fit its field. After a failure the queue is closed, as before.
 */
int mana_txq_init(struct mana_txq *txq, const struct mana_queue_rings *rings,
		  const struct mana_txq_conf *conf);

/* The queue has failed and takes no more packets. */
void mana_txq_fail(struct mana_txq *txq, enum mana_queue_failure failure);

/* Bursts take nothing and return 0 from now on. */
void mana_txq_close(struct mana_txq *txq);

/*
 * The mbufs of WQEs without completion stay in the ring: the next burst, also of the
 * paused queue, frees them, or mana_txq_done_cleanup(). The device must no longer access
 * them (QP destroyed), and the queue is paused. Safe on a zeroed queue and when called
 * twice.
 */
void mana_txq_keep_mbufs(struct mana_txq *txq);
/* mana_txq_keep_mbufs(), and free them, where no burst can run. */
void mana_txq_release_mbufs(struct mana_txq *txq);
/* Leak the mbufs on purpose: the device may still read them. */
void mana_txq_forget_mbufs(struct mana_txq *txq);

/*
 * Free what has completed, up to max packets (0: no limit): the tx_done_cleanup operation.
 * Datapath of this queue. Returns the number of packets; -EINVAL for NULL, not set up.
 */
int mana_txq_done_cleanup(void *txq, uint32_t max);
/* mana_txq_done_cleanup() for the control path, of a queue that is paused or not polled. */
uint32_t mana_txq_settle(struct mana_txq *txq, uint32_t max);

/*
 * Lock a queue to read its rings outside of a burst, in any thread. False: the queue
 * is paused; the rings must not be read, and the queue is not locked. The control path
 * waits for the holder, so be short. mana_query_unlock() ends it.
 */
bool mana_txq_lock(struct mana_txq *txq);
/* mana_txq_lock(), but false if another thread has the lock. */
bool mana_txq_trylock(struct mana_txq *txq);

/*
 * Packets whose completion was not yet looked at, up to max or somewhat more, a snapshot.
 * For the sending thread, or with the lock of mana_txq_lock(). Bounded,
 * whatever a burst on another core does meanwhile.
 */
uint32_t mana_txq_nb_done(const struct mana_txq *txq, uint32_t max);

/* Packets that the device has not yet done with. Any thread, a snapshot. */
int mana_txq_count(void *txq);

/* RTE_ETH_TX_DESC_... of the descriptor offset places from the next one, likewise. */
int mana_txq_desc_state(struct mana_txq *txq, uint32_t offset);

/* mana_txq_nb_posted() from any thread, unlocked: a snapshot, at most the ring. */
uint32_t mana_txq_posted_snapshot(const struct mana_txq *txq);

/* Packets that were posted and that the device did not send. */
uint64_t mana_txq_stats_cqe_errors(const struct mana_txq_stats *stats);
/* Packets that were not sent, also those taken and not posted: ethdev's oerrors. */
uint64_t mana_txq_stats_errors(const struct mana_txq_stats *stats);

#endif /* MANA_TXQ_H */
