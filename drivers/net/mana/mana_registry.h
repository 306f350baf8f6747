/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which ports and queues there are, for those who ask from another thread
 * (telemetry) while the application goes on. ethdev's own tables are no help:
 * they have no lock, and queues go while somebody looks.
 *
 * One lock for all ports of the process. What is looked up stays until it is
 * released: a port or queue that is to go waits that long. No burst and no
 * system call is under the lock.
 */

#ifndef MANA_REGISTRY_H
#define MANA_REGISTRY_H

#include <stdint.h>

#include "mana.h"

/* A queue as it was set up; ctl is NULL when there is none. */
struct mana_shown_queue {
	const void *ctl; /* struct mana_rxq_ctl or mana_txq_ctl */
	char mempool[RTE_MEMPOOL_NAMESIZE]; /* the pool itself may have gone */
};

/* The port is ready, or about to go (also one that was never added). */
int mana_registry_add(struct mana_priv *priv);
void mana_registry_remove(struct mana_priv *priv);

/* A queue was set up, or is about to be released: ctl NULL. */
void mana_registry_set_rxq(struct mana_priv *priv, uint16_t queue_id,
			   const struct mana_rxq_ctl *ctl);
void mana_registry_set_txq(struct mana_priv *priv, uint16_t queue_id,
			   const struct mana_txq_ctl *ctl);

/* Between the two ports and queues stay. */
void mana_registry_lock(void);
void mana_registry_unlock(void);

/* ---- With the lock held -------------------------------------------------- */

/* The next port from this number on, NULL after the last. */
struct mana_priv *mana_registry_next(uint32_t from_port_id);
/* The port of this number, or NULL. */
struct mana_priv *mana_registry_find(uint64_t port_id);
/* NULL when there is no such queue. */
const struct mana_shown_queue *
mana_registry_rxq(const struct mana_priv *priv, uint64_t queue_id);
const struct mana_shown_queue *
mana_registry_txq(const struct mana_priv *priv, uint64_t queue_id);

#endif /* MANA_REGISTRY_H */
