/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The receive path for x86-64 with AVX2, for which this file is compiled: the
 * same kernel, in instructions of three operands.
 */

#include "mana_rx.h"
#include "mana_rx_burst.h"
#include "mana_rx_vec.h"
#include "mana_rxtx.h"

static __rte_noinline uint16_t
mana_rx_work_avx2(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		  uint32_t nb_pkts, uint32_t trailer)
{
	return mana_rx_work_tmpl(rxq, pkts, nb_pkts, trailer,
				 mana_rx_vec_kernel, false);
}

uint16_t
mana_rx_burst_avx2(void *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	return mana_rx_burst_tmpl(rxq, pkts, nb_pkts, mana_rx_burst_avx2,
				  mana_rx_work_avx2, MANA_RX_VEC_N);
}
