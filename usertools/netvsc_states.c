/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * For LD_PRELOAD into testpmd of DPDK 22.11, which does not forward on queues that look
 * stopped. net_netvsc before 23.11, and DPDK's own net_mana of 22.11, set no states: the
 * answers of these functions say that they are started.
 */

#include <dlfcn.h>

#include <rte_ethdev.h>

#define IS_STARTED(function, type) \
int \
function(uint16_t port, uint16_t queue, struct type *info) \
{ \
	__typeof__(&function) next = (__typeof__(next))dlsym(RTLD_NEXT, #function); \
	int ret = next(port, queue, info); \
\
	if (ret == 0) \
		info->queue_state = RTE_ETH_QUEUE_STATE_STARTED; \
	return ret; \
}

IS_STARTED(rte_eth_rx_queue_info_get, rte_eth_rxq_info)
IS_STARTED(rte_eth_tx_queue_info_get, rte_eth_txq_info)
