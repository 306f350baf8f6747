/* SPDX-License-Identifier: BSD-3-Clause */

/* What known_tx.c and known_tx_header.c both need. */

#ifndef KNOWN_TX_H
#define KNOWN_TX_H

#include "bed.h"

static struct bed_tx_wqe wqe;

/* The device reads the next WQE: these bytes, from seed on. */
static inline void
expect_frame(struct bed_tx *bed, uint32_t len_bytes, uint8_t seed)
{
	assert_true(bed_tx_fetch(bed, &wqe));
	assert_eq(wqe.bytes, len_bytes);
	for (uint32_t i = 0; i < len_bytes; i++)
		assert_eq(wqe.frame[i], (uint8_t)(seed + i));
}

static inline void
complete_all(struct bed_tx *bed)
{
	bed_tx_complete_all(bed);
	while (bed->ci != bed->done_bu)
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	assert_eq(bed->burst(bed->txq, NULL, 0), 0);
	assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 0);
}

#endif /* KNOWN_TX_H */
