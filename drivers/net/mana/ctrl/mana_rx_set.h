/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The Rx set of a running port: its hardware Rx queues, 2^n of them, the verbs table
 * over them and the RSS object.
 *
 * The kernel can change nothing of an RSS object, allows one of them, and a CQ or
 * WQ that was part of one is used up (Linux mana_ib_create_qp_rss). So every change
 * of key, ring or buffers builds a new set beside the old one and swaps it in, with
 * bursts paused (mana_pause.c):
 *
 *   the old RSS object is destroyed           reception ends
 *   what the old rings hold is freed, and counted
 *   the old CQs and WQs are destroyed; the new RSS object is created
 *   doorbells                                 reception begins
 *   ethdev queues get their lists
 *
 * Then the buffers of the old rings go back to their pools: an adapter that still
 * writes to one after the RSS object was destroyed spoils no packet. Where a pool
 * cannot fill the new rings without them, they go back to it before. When the kernel
 * refuses the new RSS object, a set as before is built and swapped in.
 *
 * Entry i of the RSS table is hardware queue i. Which ethdev queue polls it is up to
 * the driver (struct mana_rx_list), so a table is changed without the kernel.
 */

#ifndef MANA_RX_SET_H
#define MANA_RX_SET_H

#include "mana.h"

/* A hardware Rx queue: kernel objects and buffers of a struct mana_rxq. */
struct mana_rx_hwq {
	struct mana_rxq rxq;
	struct ibv_cq *cq;
	struct ibv_wq *wq;
	/* Of its CQ; NULL without interrupts. */
	struct ibv_comp_channel *channel;
	struct rte_mbuf **mbufs;
	uint16_t owner; /* the ethdev queue that polls it while that runs */
	/* False: its owner was released or not set up; it has no buffers. */
	bool has_buffers;
	bool is_mixed; /* it was moved: it may hold mbufs of another owner's pool */
	uint64_t offloads; /* of the ethdev queue that it was built for */
	uint16_t nb_desc;
};

struct mana_rx_set {
	struct ibv_rwq_ind_table *ind;
	struct ibv_qp *rss_qp;
	bool is_short; /* of buffers that the set before it has */
	uint32_t nb; /* a power of two */
	struct mana_rx_hwq hwqs[];
};

/* ---- mana_rxq.c: one hardware queue ------------------------------------------ */

/*
 * CQ, WQ and buffers for its owner; after a failure mana_rx_hwq_destroy() takes
 * what was made. is_polled: bursts run, so a pool for one thread is left alone. may_lack:
 * the pool may have too few mbufs just now. *lacks is set when the ring is to be
 * filled in the pause, for one of these reasons.
 */
int mana_rx_hwq_create(struct mana_priv *priv, struct mana_rx_hwq *hwq,
		       uint16_t owner, bool is_polled, bool may_lack, bool *lacks);
/* Gives CQ and WQ back to the kernel. */
void mana_rx_hwq_objects_destroy(const struct mana_priv *priv,
				 struct mana_rx_hwq *hwq);
/*
 * Destroys the objects and frees the rings. is_gone: the device no longer accesses the
 * buffers, which return to their pools.
 */
void mana_rx_hwq_destroy(struct mana_priv *priv, struct mana_rx_hwq *hwq,
			 bool is_gone);
/* Why it cannot be made. */
void mana_rx_hwq_diag(const struct mana_priv *priv, const struct mana_rx_hwq *hwq,
		      int error);
/*
 * Whether another ethdev queue can poll it as it is: same layout of buffers and
 * same offloads, and several threads may use the pools.
 */
bool mana_rx_hwq_can_move(const struct mana_priv *priv,
			  const struct mana_rx_hwq *hwq,
			  const struct mana_eth_rxq *to);
/* op: EPOLL_CTL_ADD, its channel wakes this ethdev queue, too; or EPOLL_CTL_DEL. */
int mana_rx_hwq_intr(const struct mana_priv *priv, const struct mana_rx_hwq *hwq,
		     uint16_t queue_id, int op);
/* Bursts are paused. Counters stay with the old owner, refills use the new pool. */
void mana_rx_hwq_move(struct mana_rx_hwq *hwq, struct mana_eth_rxq *from,
		      const struct mana_eth_rxq *to, uint16_t owner);

/* ---- mana_rx_set.c ---------------------------------------------------------- */

/* The ethdev queue will be freed: its buffers go back to their pools. */
void mana_rx_set_queue_release(struct mana_priv *priv, uint16_t queue_id);
/* Bytes of the smallest packet buffer that a running queue has; or UINT32_MAX. */
uint32_t mana_rx_set_room_bytes(const struct mana_priv *priv, uint16_t queue_id);
/*
 * Copies unexpected CQEs of its hardware queues to ctl->bad_cqes, and returns their
 * failure (enum mana_queue_failure). Under the lock of mana_registry.c.
 */
uint8_t mana_rx_set_bad_cqes(const struct mana_priv *priv, struct mana_eth_rxq *ctl);

/*
 * Builds the set of a port that starts, and installs it; the queues stay paused. After a
 * failure there is none, and a message was given.
 */
int mana_rx_set_start(struct mana_priv *priv);
/*
 * Ends reception, and pauses the queues; may be called again. What the rings hold is
 * freed and counted.
 */
void mana_rx_set_stop(struct mana_priv *priv);

#endif /* MANA_RX_SET_H */
