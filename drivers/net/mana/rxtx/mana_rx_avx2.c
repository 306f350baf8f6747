/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The Rx burst for x86-64 with AVX2, for which this file is compiled: the
 * kernel in vectors, in instructions of three operands.
 */

#include "mana_rx.h"
#include "mana_rx_burst.h"
#include "mana_rxtx.h"

static __rte_noinline uint16_t
mana_rx_many_avx2(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		  uint16_t nb_pkts)
{
	return mana_rx_poll_tmpl(rxq, pkts, nb_pkts, mana_rx_vec_kernel);
}

uint16_t
mana_rx_poll_avx2(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		  uint16_t nb_pkts)
{
	if (nb_pkts < MANA_RX_VEC_N)
		return mana_rx_poll_scalar(rxq, pkts, nb_pkts);
	return mana_rx_many_avx2(rxq, pkts, nb_pkts);
}

static __rte_noinline uint16_t
mana_rx_found_avx2(struct mana_rx_list *list, struct rte_mbuf **pkts,
		   uint16_t nb_pkts, struct mana_rxq *rxq)
{
	return mana_rx_found_tmpl(list, pkts, nb_pkts, rxq, mana_rx_poll_avx2);
}

uint16_t
mana_rx_burst_avx2(void *list, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	return mana_rx_burst_tmpl(list, pkts, nb_pkts, mana_rx_found_avx2);
}
