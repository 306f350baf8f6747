/* SPDX-License-Identifier: BSD-3-Clause */

/* What the files of the receive path share among themselves. */

#ifndef MANA_RX_H
#define MANA_RX_H

#include <stdint.h>

#include "mana_hw.h"

struct mana_rxq;

/* mbuf flags by the six checksum bits of a CQE. */
extern const uint16_t mana_rx_csum_flags[MANA_RX_CQE_CSUM_M + 1];
/* Packet type by the hash type of a CQE. */
extern const uint32_t mana_rx_ptype[MANA_RX_CQE_HASH_TYPE_M + 1];

/*
 * Post as many buffers as the pool gives, then ring. The need is computed
 * from the ring, so what an empty pool denied is tried again by each later
 * poll, whether a completion came or not.
 */
void mana_rx_replenish(struct mana_rxq *rxq);

#endif /* MANA_RX_H */
