/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The Rx burst for x86-64 with AVX2, for which this file is compiled: the
 * kernel in vectors, in instructions of three operands.
 */

#include "mana_rx.h"
#include "mana_rx_burst.h"

__rte_noinline uint16_t
mana_rx_poll_avx2(struct mana_rx_list *list, struct rte_mbuf **pkts,
		  uint16_t nb_pkts, struct mana_rxq *rxq)
{
	return mana_rx_poll_tmpl(list, pkts, nb_pkts, rxq,
				 mana_rx_vec_kernel);
}

uint16_t
mana_rx_burst_avx2(void *list, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	return mana_rx_burst_tmpl(list, pkts, nb_pkts, mana_rx_poll_avx2);
}
