/* SPDX-License-Identifier: BSD-3-Clause */

/* Between the files of queues: mana_queue.c, mana_rxq.c and mana_txq.c. */

#ifndef MANA_QUEUE_H
#define MANA_QUEUE_H

#include "mana.h"

/* Between two tries of something that the kernel may do soon. */
#define MANA_QUEUE_RETRY_US 20000

/* CQEs for nb_desc WQEs and nb_spare more, if there may be so many. */
uint32_t mana_queue_nb_cqe(const struct mana_priv *priv, uint16_t nb_desc,
			   uint32_t nb_spare);
/* Zeroed, a cache line aligned, of the socket or of any other. */
void *mana_queue_alloc(const char *what, size_t size, int socket_id);
/*
 * Logs that the kernel keeps an object, if it does. Returns whether the device
 * has let go of the queue's memory: when it is gone, too.
 */
bool mana_queue_is_gone(const struct mana_priv *priv, const char *what,
			int error);

/* ---- mana_rxq.c: one receive queue -------------------------------------- */

/* Its memory, but not its place in ethdev's table. NULL: no memory. */
struct mana_rxq_ctl *mana_rxq_alloc(struct mana_priv *priv,
				    enum mana_rxq_kind kind, uint16_t owner,
				    uint16_t nb_desc, int socket_id,
				    const struct mana_rx_shape *shape);
/* What struct mana_rxq_conf wants as mbufs, for the queue; rte_free() it. */
struct rte_mbuf **mana_rxq_mbufs_alloc(const struct mana_priv *priv,
				       const struct mana_rxq_ctl *ctl);
void mana_rxq_free(struct mana_rxq_ctl *ctl);
/* CQ and WQ, the latter over the former. After a failure there is none. */
int mana_rxq_create(struct mana_priv *priv, const struct mana_rxq_ctl *ctl,
		    struct ibv_cq **cq, struct ibv_wq **wq);
void mana_rxq_destroy(const struct mana_priv *priv, struct ibv_cq *cq,
		      struct ibv_wq *wq);
/* Lays the rings of cq and wq and fills the queue: rxq is ctl's or a copy. */
int mana_rxq_lay(const struct mana_priv *priv, const struct mana_rxq_ctl *ctl,
		 struct mana_rxq *rxq, struct ibv_cq *cq, struct ibv_wq *wq);
/* Tells it the ids, which the RSS QP has brought, and rings for its WQEs. */
int mana_rxq_enable(struct mana_rxq *rxq, struct ibv_cq *cq, struct ibv_wq *wq);
/* A queue that gets no traffic: a closed CQ over an empty ring, no WQEs. */
void mana_rxq_idle(const struct mana_priv *priv, struct mana_rxq_ctl *ctl);
/* Why it cannot be made. posted: WQEs that were written. */
void mana_rxq_diag(const struct mana_priv *priv, const struct mana_rxq_ctl *ctl,
		   uint32_t nb_posted, bool is_fill, int error);

/* ---- mana_rxq_slot.c: what stands behind the device's work queues -------- */

/* Whether this ethdev queue is, or at start shall be, running. */
bool mana_rxq_is_running(const struct mana_priv *priv, uint16_t queue_id);
/*
 * The queue that shall stand in a slot: the one in old if that will do, or
 * a new one. NULL after a message.
 */
struct mana_rxq_ctl *mana_rx_slot_queue(struct mana_priv *priv, uint32_t slot,
					struct mana_rxq_ctl *old);
/* Frees a hidden queue or sink, keeps its counters; nothing for the others. */
void mana_rx_slot_drop(struct mana_priv *priv, struct mana_rxq_ctl *ctl);
/* Lets go of the pool of sinks when none is left. */
void mana_rx_sinks_end(struct mana_priv *priv);
/* Tells the running ethdev queues which of the slots they poll as well. */
void mana_rx_slots_chain(struct mana_priv *priv);

/*
 * All queues of a side. A start that fails leaves its part for the stop; the
 * stops take anything and may be called again.
 */
int mana_txqs_start(struct mana_priv *priv);
void mana_txqs_stop(struct mana_priv *priv);
int mana_rxqs_start(struct mana_priv *priv);
void mana_rxqs_stop(struct mana_priv *priv);

#endif /* MANA_QUEUE_H */
