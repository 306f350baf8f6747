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

/*
 * All queues of a side. A start that fails leaves its part for the stop; the
 * stops take anything and may be called again.
 */
int mana_txqs_start(struct mana_priv *priv);
void mana_txqs_stop(struct mana_priv *priv);
int mana_rxqs_start(struct mana_priv *priv);
void mana_rxqs_stop(struct mana_priv *priv);

#endif /* MANA_QUEUE_H */
