/* SPDX-License-Identifier: BSD-3-Clause */

/* Common parts of known_tx.c and known_tx_header.c. */

#ifndef KNOWN_TX_H
#define KNOWN_TX_H

#include "fixture.h"

static struct fx_tx_wqe wqe;

/* The device fetches the next WQE: bytes that count up from seed. */
static inline void
expect_frame(struct fx_tx *fx, uint32_t len_bytes, uint8_t seed)
{
	assert_true(fx_tx_fetch(fx, &wqe));
	assert_eq(wqe.bytes, len_bytes);
	for (uint32_t i = 0; i < len_bytes; i++)
		assert_eq(wqe.frame[i], (uint8_t)(seed + i));
}

static inline void
complete_all(struct fx_tx *fx)
{
	fx_tx_complete_all(fx);
	while (fx->ci != fx->done_bu)
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
	assert_eq(fx->burst(fx->txq, NULL, 0), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
}

#endif /* KNOWN_TX_H */
