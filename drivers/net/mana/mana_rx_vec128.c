/* SPDX-License-Identifier: BSD-3-Clause */

/* The receive path with the vectors that every machine of ours has. */

#include "mana_rx.h"
#include "mana_rx_burst.h"
#include "mana_rx_vec.h"
#include "mana_rxtx.h"

static __rte_noinline uint16_t
mana_rx_work_vec128(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		    uint32_t nb_pkts, uint32_t trailer)
{
	return mana_rx_work_tmpl(rxq, pkts, nb_pkts, trailer,
				 mana_rx_vec_kernel, false);
}

uint16_t
mana_rx_burst_vec128(void *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	return mana_rx_burst_tmpl(rxq, pkts, nb_pkts, mana_rx_burst_vec128,
				  mana_rx_work_vec128, MANA_RX_VEC_N);
}
