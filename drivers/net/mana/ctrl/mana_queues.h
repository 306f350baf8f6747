/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The queues of a port: their setup, start, stop and repair. What mana_port.h says of its
 * functions holds for these.
 */

#ifndef MANA_QUEUES_H
#define MANA_QUEUES_H

#include "mana_port.h"

/* ---- mana_queues.c: all queues ------------------------------------------------- */

/*
 * Creates kernel objects of all queues and starts traffic; the queues stay paused. After a
 * failure no objects remain. In a recovery, which accesses no mempool, the Rx rings get the
 * mbufs that mana_queues_stop() has kept, and no others.
 */
int mana_queues_start(struct mana_priv *priv);
/*
 * Destroys the kernel objects, and pauses the queues, which keep the mbufs if the port runs;
 * else these are freed. May be called again.
 */
void mana_queues_stop(struct mana_priv *priv);
/* Frees all queues of a stopped port. */
void mana_queues_release(struct mana_priv *priv);

/*
 * Waits before the start of a port repeats what the kernel may accept when another program has
 * ended its queues; each time twice as long, 1.3 s in all: a program that stops 64 queues takes a
 * while. So after -EINVAL for a QP: the device may have reused the id of a CQ that the kernel
 * keeps in its table until that program destroys the CQ, after its QP (Linux
 * mana_ib_install_cq_cb, mana_ib_remove_cq_cb). tries: number of attempts, from 1. False without
 * a wait: there were too many, or the port runs, so reception may be down, and the tick tries
 * again.
 */
bool mana_queue_wait(const struct mana_priv *priv, unsigned int tries);
/* The first of nb queues that is set up, from at on, which becomes the one behind it; or NULL. */
static inline void *
mana_queue_next(void **queues, uint32_t nb, uint32_t *at)
{
	while (*at < nb && queues[*at] == NULL)
		++*at;
	return *at < nb ? queues[(*at)++] : NULL;
}
/* Each ethdev queue of the port that is set up. */
#define MANA_FOREACH_RXQ(priv, rxq) \
	for (uint32_t at_ = 0; ((rxq) = mana_queue_next((priv)->data->rx_queues, \
	     (priv)->data->nb_rx_queues, &at_)) != NULL;)
#define MANA_FOREACH_TXQ(priv, txq) \
	for (uint32_t at_ = 0; ((txq) = mana_queue_next((priv)->data->tx_queues, \
	     (priv)->data->nb_tx_queues, &at_)) != NULL;)
/* CQEs for nb_desc WQEs and nb_spare more, if there may be so many. */
uint32_t mana_queue_nb_cqe(const struct mana_priv *priv, uint16_t nb_desc, uint32_t nb_spare);
/* Zeroed, a cache line aligned, of the socket or of any other. */
void *mana_queue_alloc(const char *what, size_t size, int socket_id);
/*
 * Takes the result of a destroy; logs an error. Returns whether the device no longer
 * accesses the queue's memory: a removed device does not.
 */
bool mana_queue_is_gone(const struct mana_priv *priv, const char *what, int error);
/* "none"; "unknown" for a number that is none of enum mana_queue_failure. */
const char *mana_queue_failure_name(uint8_t failure);

/* ---- mana_queues.c: Tx queues ------------------------------------------------------ */

int mana_txq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
		   unsigned int socket_id, const struct rte_eth_txconf *conf);
/* Frees a stopped queue, if there is one: net_netvsc calls for others, too. */
void mana_txq_release(struct mana_priv *priv, uint16_t queue_id);
/* One Tx queue of a running port. */
int mana_txq_start(struct mana_priv *priv, uint16_t queue_id);
int mana_txq_stop(struct mana_priv *priv, uint16_t queue_id);
/*
 * Replaces the objects of a failed queue of a running port, and of no other. What was posted is
 * counted, and freed by the next burst. 1: done; 0: no need to; or an error: the queue sends
 * nothing, as before.
 */
int mana_txq_repair(struct mana_priv *priv, struct mana_txq *txq);
/* Logs once that a Tx queue has changed to the long form of the OOB. */
void mana_tx_form_report(struct mana_priv *priv);
/* Whether the program may still make raw queues: -EPERM after a message. */
int mana_txq_permission_check(struct mana_priv *priv);

/* ---- mana_queues.c: Rx queues ------------------------------------------------------ */

int mana_rxq_setup(struct mana_priv *priv, uint16_t queue_id, uint16_t nb_desc,
		   unsigned int socket_id, const struct rte_eth_rxconf *conf,
		   struct rte_mempool *mp);
/* Frees a stopped queue, likewise. */
void mana_rxq_release(struct mana_priv *priv, uint16_t queue_id);

/* Buffers of a WQE at most. */
uint16_t mana_rx_max_segs(const struct mana_priv *priv);
/*
 * Sets nb_segs and segs of scatter: the buffers of a WQE for frames of this MTU. -EINVAL if
 * no WQE can hold the frames.
 */
int mana_rx_layout_check(const struct mana_priv *priv, const struct mana_rx_layout *layout,
			 uint16_t mtu, struct mana_rx_scatter *scatter);

/* ---- mana_rx_set.c: the hardware Rx queues of a port --------------------------------- */

struct mana_rx_set {
	struct ibv_rwq_ind_table *ind;
	struct ibv_qp *rss_qp;
	uint32_t nb; /* a power of two */
	struct mana_hwq hwqs[];
};

/* Each hardware queue of the set, which may be NULL. */
#define MANA_FOREACH_HWQ(set, hwq) \
	for (uint32_t i_ = 0; (set) != NULL && i_ < (set)->nb && \
	     ((hwq) = &(set)->hwqs[i_]) != NULL; i_++)
/* Each one that the ethdev queue polls while that runs. before: the last one, NULL at first. */
static inline struct mana_hwq *
mana_rx_set_next(struct mana_rx_set *set, uint16_t queue_id, const struct mana_hwq *before)
{
	struct mana_hwq *hwq;

	MANA_FOREACH_HWQ(set, hwq)
		if (hwq->queue_id == queue_id && (before == NULL || hwq > before))
			return hwq;
	return NULL;
}
#define MANA_FOREACH_HWQ_OF(set, id, hwq) \
	for ((hwq) = mana_rx_set_next(set, id, NULL); (hwq) != NULL; \
	     (hwq) = mana_rx_set_next(set, id, hwq))

/* Descriptors of each of its hardware queues. Under the registry's lock, or it is a new queue. */
void mana_rxq_resize(const struct mana_priv *priv, struct mana_rxq *rxq, uint16_t nb_desc);
/* The ethdev queue will be freed: its buffers go back to their pools. */
void mana_rx_set_queue_release(struct mana_priv *priv, uint16_t queue_id);

/* Builds the set; the queues stay paused. After a failure there is none. */
int mana_rx_set_start(struct mana_priv *priv);
/* Ends reception, and pauses the queues; may be called again. */
void mana_rx_set_stop(struct mana_priv *priv);

/*
 * The hash key of a configured port; of a running one by a rebuild. After a failure the
 * key is as before, and so is Rx, or it is down after a message.
 */
int mana_rx_set_key(struct mana_priv *priv, const uint8_t *key);
/* The table, and its number of hardware queues, likewise. -ENOTSUP: too few mbufs in a mempool. */
int mana_rx_set_assign(struct mana_priv *priv, const uint8_t *reta, uint32_t nb);
/* Start or stop an Rx queue of a running port, likewise. */
int mana_rx_set_queue_start(struct mana_priv *priv, uint16_t queue_id);
int mana_rx_set_queue_stop(struct mana_priv *priv, uint16_t queue_id);
/*
 * Rebuilds all hardware queues of a running port if one has failed, or if there are none
 * since a rebuild failed. 1: done; 0: no need to; or an error.
 */
int mana_rx_set_repair(struct mana_priv *priv);

#endif /* MANA_QUEUES_H */
