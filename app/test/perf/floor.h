/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The floor: burst functions with the least work that a packet can cost. They
 * are no driver: one pool in one region, no length check, no error completions,
 * no statistics but two sums. The program ends at anything else.
 */

#ifndef FLOOR_H
#define FLOOR_H

#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mana_model.h"

/* Missing buffers before a refill with one doorbell. */
#define FLOOR_RX_THRESH 32

/* Memory of a queue and its pool. */
struct floor_conf {
	struct mana_model_queue at;
	volatile void *doorbells; /* the same page, writable */
	struct rte_mempool *pool;
	uint32_t key;
	uint16_t nb_desc; /* power of two; Rx: one WQE each */
	uint16_t port;
	uint16_t rx_thresh; /* default FLOOR_RX_THRESH */
};

void *floor_rx_create(const struct floor_conf *conf);
void *floor_tx_create(const struct floor_conf *conf);
/* Free the queue and its mbufs. */
void floor_rx_destroy(void *rxq);
void floor_tx_destroy(void *txq);

uint16_t floor_rx(void *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts);
uint16_t floor_tx(void *txq, struct rte_mbuf **pkts, uint16_t nb_pkts);

#endif /* FLOOR_H */
