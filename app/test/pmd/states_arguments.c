/* SPDX-License-Identifier: BSD-3-Clause */

/* Operations with invalid arguments, in each state. */

#include <errno.h>
#include <string.h>

#include "states.h"

/* ---- Calls of several lines ------------------------------------------------ */

static int
configure_queues(uint16_t port, uint16_t nb_rxq, uint16_t nb_txq)
{
	static const struct rte_eth_conf defaults;

	return rte_eth_dev_configure(port, nb_rxq, nb_txq, &defaults);
}

/* One queue each way, and this member of the configuration. */
#define CONFIGURE(...) \
	rte_eth_dev_configure(port, 1, 1, &(struct rte_eth_conf){ __VA_ARGS__ })

static int
rx_setup(struct fixture *fx, uint16_t port, uint16_t queue, uint16_t nb_desc,
	 uint64_t offloads)
{
	struct rte_eth_rxconf conf = { .offloads = offloads };

	return rte_eth_rx_queue_setup(port, queue, nb_desc, SOCKET_ID_ANY, &conf,
				      fx->pool);
}

static int
tx_setup(uint16_t port, uint16_t queue, uint16_t nb_desc, uint64_t offloads)
{
	struct rte_eth_txconf conf = { .offloads = offloads };

	return rte_eth_tx_queue_setup(port, queue, nb_desc, SOCKET_ID_ANY, &conf);
}

static int
pool_setup(uint16_t port, struct rte_mempool *pool)
{
	return rte_eth_rx_queue_setup(port, 0, STATES_NB_DESC, SOCKET_ID_ANY, NULL, pool);
}

/* Not an mbuf pool: it has another private area. */
static int
foreign_pool_setup(uint16_t port)
{
	struct rte_mempool *pool = rte_mempool_create("no_mbufs", 63, 64, 0, 0, NULL, NULL,
						      NULL, NULL, SOCKET_ID_ANY, 0);
	int ret;

	assert_non_null(pool);
	ret = pool_setup(port, pool);
	rte_mempool_free(pool);
	return ret;
}

/* Buffers too small for frames of the MTU. */
static int
small_pool_setup(struct fixture *fx, uint16_t port)
{
	struct rte_mempool *pool = fx_pool(fx, 63, 1024 + RTE_PKTMBUF_HEADROOM);
	int ret = pool_setup(port, pool);

	fx_pool_free(fx, pool);
	return ret;
}

static int
reta_get(uint16_t port, uint64_t mask, uint16_t size)
{
	struct rte_eth_rss_reta_entry64 reta[16];

	for (unsigned int i = 0; i < RTE_DIM(reta); i++)
		reta[i].mask = mask;
	return rte_eth_dev_rss_reta_query(port, reta, size);
}

/* ethdev's order of checks decides the error. */
static int
refused(int ret)
{
	return ret < 0 && ret != -ENODEV ? -EINVAL : ret;
}

static int
reta_set(uint16_t port, uint64_t mask, uint16_t queue, uint16_t size)
{
	struct rte_eth_rss_reta_entry64 reta[16];

	memset(reta, 0, sizeof(reta));
	for (unsigned int i = 0; i < RTE_DIM(reta); i++)
		reta[i].mask = mask;
	reta[0].reta[0] = queue;
	return refused(rte_eth_dev_rss_reta_update(port, reta, size));
}

static uint8_t short_key[16] = { 1 };
static struct rte_ether_addr multicast_mac = { .addr_bytes = { 1, 0, 0, 0, 0, 1 } };

static int
rss_set(uint16_t port, uint64_t types, uint8_t *key)
{
	struct rte_eth_rss_conf conf = { .rss_hf = types, .rss_key = key,
					 .rss_key_len = key != NULL ? sizeof(short_key) : 0 };

	return refused(rte_eth_dev_rss_hash_update(port, &conf));
}

/* errnos: new, without queues, ready, running, stopped, closed */
#define CONFIGURED(error) error, error, error, EBUSY, error, ENODEV
/* ethdev checks queue, pool and numbers first, */
#define SETUP(error) EINVAL, error, error, error, error, ENODEV
/* then the state, and drops the existing queue. */
#define SETUP_AGAIN(error) EINVAL, error, error, EBUSY, error, ENODEV

#define ARGUMENTS(R, D) \
	/* ethdev checks the pointer first */ \
	R(null_conf, rte_eth_dev_configure(port, 1, 1, NULL), ALL(EINVAL)) \
	/* the adapter has 64 */ \
	D(too_many_rx_queues, NULL, configure_queues(port, 65, 1), CONFIGURED(EINVAL)) \
	D(too_many_tx_queues, NULL, configure_queues(port, 1, RTE_MAX_QUEUES_PER_PORT), \
	  CONFIGURED(EINVAL)) \
	D(unknown_rx_offload, NULL, \
	  CONFIGURE(.rxmode.offloads = RTE_ETH_RX_OFFLOAD_TCP_LRO), CONFIGURED(EINVAL)) \
	D(unknown_tx_offload, NULL, \
	  CONFIGURE(.txmode.offloads = RTE_ETH_TX_OFFLOAD_MACSEC_INSERT), CONFIGURED(EINVAL)) \
	D(mtu_too_large, NULL, CONFIGURE(.rxmode.mtu = 60000), CONFIGURED(EINVAL)) \
	D(mtu_too_small, NULL, CONFIGURE(.rxmode.mtu = 20), CONFIGURED(EINVAL)) \
	D(fixed_speed, "link speed", \
	  CONFIGURE(.link_speeds = RTE_ETH_LINK_SPEED_FIXED | RTE_ETH_LINK_SPEED_100G), \
	  CONFIGURED(ENOTSUP)) \
	D(dcb, "Rx mq_mode", CONFIGURE(.rxmode.mq_mode = RTE_ETH_MQ_RX_DCB), \
	  CONFIGURED(ENOTSUP)) \
	D(vmdq, "Tx mq_mode", CONFIGURE(.txmode.mq_mode = RTE_ETH_MQ_TX_VMDQ_ONLY), \
	  CONFIGURED(ENOTSUP)) \
	D(rx_vmdq, "Rx mq_mode", CONFIGURE(.rxmode.mq_mode = RTE_ETH_MQ_RX_VMDQ_ONLY), \
	  CONFIGURED(ENOTSUP)) \
	D(tx_dcb, "Tx mq_mode", CONFIGURE(.txmode.mq_mode = RTE_ETH_MQ_TX_DCB), \
	  CONFIGURED(ENOTSUP)) \
	D(foreign_rss_type, NULL, CONFIGURE(.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS, \
		.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_L2_PAYLOAD), CONFIGURED(EINVAL)) \
	D(short_rss_key, NULL, CONFIGURE(.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS, \
		.rx_adv_conf.rss_conf = { .rss_hf = RTE_ETH_RSS_IPV4, .rss_key = short_key, \
					  .rss_key_len = sizeof(short_key) }), \
	  CONFIGURED(EINVAL)) \
	R(no_such_rx_queue, rx_setup(fx, port, STATES_NB_RXQ, STATES_NB_DESC, 0), \
	  SETUP(EINVAL)) \
	R(no_such_tx_queue, tx_setup(port, STATES_NB_TXQ, STATES_NB_DESC, 0), SETUP(EINVAL)) \
	R(rx_descriptors_too_many, rx_setup(fx, port, 0, UINT16_MAX, 0), SETUP(EINVAL)) \
	R(tx_descriptors_too_many, tx_setup(port, 0, UINT16_MAX, 0), SETUP(EINVAL)) \
	D(rx_queue_offload, NULL, \
	  rx_setup(fx, port, 0, STATES_NB_DESC, RTE_ETH_RX_OFFLOAD_TCP_LRO), \
	  SETUP_AGAIN(EINVAL)) \
	D(tx_queue_offload, NULL, \
	  tx_setup(port, 0, STATES_NB_DESC, RTE_ETH_TX_OFFLOAD_MACSEC_INSERT), \
	  SETUP_AGAIN(EINVAL)) \
	R(rx_no_pool, pool_setup(port, NULL), SETUP(EINVAL)) \
	R(rx_foreign_pool, foreign_pool_setup(port), SETUP(ENOSPC)) \
	D(rx_pool_of_small_buffers, "data_room_size", small_pool_setup(fx, port), \
	  SETUP_AGAIN(EINVAL)) \
	R(rx_info_of_no_queue, rte_eth_rx_queue_info_get(port, STATES_NB_RXQ, \
			&(struct rte_eth_rxq_info){ 0 }), ALL(EINVAL)) \
	R(tx_info_of_no_queue, rte_eth_tx_queue_info_get(port, STATES_NB_TXQ, \
			&(struct rte_eth_txq_info){ 0 }), ALL(EINVAL)) \
	R(rx_info_nowhere, rte_eth_rx_queue_info_get(port, 0, NULL), ALL(EINVAL)) \
	R(rx_start_of_no_queue, rte_eth_dev_rx_queue_start(port, STATES_NB_RXQ), ALL(EINVAL)) \
	R(rx_stop_of_no_queue, rte_eth_dev_rx_queue_stop(port, STATES_NB_RXQ), ALL(EINVAL)) \
	R(tx_start_of_no_queue, rte_eth_dev_tx_queue_start(port, STATES_NB_TXQ), ALL(EINVAL)) \
	R(tx_stop_of_no_queue, rte_eth_dev_tx_queue_stop(port, STATES_NB_TXQ), ALL(EINVAL)) \
	R(mtu_above, rte_eth_dev_set_mtu(port, 60000), ALL(EINVAL)) \
	R(mtu_below, rte_eth_dev_set_mtu(port, 20), ALL(EINVAL)) \
	R(info_nowhere, rte_eth_dev_info_get(port, NULL), ALL(EINVAL)) \
	R(link_nowhere, rte_eth_link_get(port, NULL), ALL(EINVAL)) \
	R(stats_nowhere, rte_eth_stats_get(port, NULL), ALL(EINVAL)) \
	R(mac_nowhere, rte_eth_macaddr_get(port, NULL), ALL(EINVAL)) \
	R(null_mac, rte_eth_dev_default_mac_addr_set(port, NULL), ALL(EINVAL)) \
	R(multicast_mac, rte_eth_dev_default_mac_addr_set(port, &multicast_mac), ALL(EINVAL)) \
	R(rss_conf_nowhere, rte_eth_dev_rss_hash_conf_get(port, NULL), ALL(EINVAL)) \
	R(reta_query_nowhere, rte_eth_dev_rss_reta_query(port, NULL, RTE_ETH_RETA_GROUP_SIZE), \
	  ALL(EINVAL)) \
	R(reta_query_of_other_size, reta_get(port, UINT64_MAX, 1000), ALL(EINVAL)) \
	R(reta_query_of_nothing, reta_get(port, 0, RTE_ETH_RETA_GROUP_SIZE), ALL(EINVAL)) \
	R(reta_update_of_other_size, reta_set(port, UINT64_MAX, 0, 1000), ALL(EINVAL)) \
	R(reta_update_to_no_queue, reta_set(port, 1, STATES_NB_RXQ, RTE_ETH_RETA_GROUP_SIZE), \
	  ALL(EINVAL)) \
	R(rss_update_of_foreign_type, rss_set(port, RTE_ETH_RSS_L2_PAYLOAD, NULL), ALL(EINVAL)) \
	R(rss_update_of_short_key, rss_set(port, RTE_ETH_RSS_IPV4, short_key), ALL(EINVAL)) \
	R(rss_update_of_nothing, rte_eth_dev_rss_hash_update(port, NULL), ALL(EINVAL)) \
	R(vlan_strip_on_no_queue, rte_eth_dev_set_vlan_strip_on_queue(port, STATES_NB_RXQ, 1), \
	  ALL(EINVAL)) \
	R(vlan_filter_of_no_vlan, refused(rte_eth_dev_vlan_filter(port, 4096, 1)), ALL(EINVAL))

ARGUMENTS(STATES_FUNCTION, STATES_FUNCTION_S)
const struct states_row states_arguments[] = { ARGUMENTS(STATES_ROW, STATES_ROW_D) };
const unsigned int states_nb_arguments = RTE_DIM(states_arguments);
