/* SPDX-License-Identifier: BSD-3-Clause */

/* Operations with invalid arguments, in each state. */

#include <errno.h>
#include <string.h>

#include "states.h"

#define OP(name) static int op_##name(struct fixture *fx, uint16_t port)

/* ---- configure -------------------------------------------------------------------- */

static int
configure(uint16_t port, uint16_t nb_rxq, uint16_t nb_txq, const struct rte_eth_conf *conf)
{
	static const struct rte_eth_conf defaults;

	return rte_eth_dev_configure(port, nb_rxq, nb_txq,
				     conf != NULL ? conf : &defaults);
}

OP(null_conf)
{
	return rte_eth_dev_configure(port, 1, 1, NULL);
}

OP(too_many_rx_queues)
{
	return configure(port, RTE_MAX_QUEUES_PER_PORT, 1, NULL);
}

OP(too_many_tx_queues)
{
	return configure(port, 1, RTE_MAX_QUEUES_PER_PORT, NULL);
}

OP(unknown_rx_offload)
{
	struct rte_eth_conf conf = { .rxmode = { .offloads = RTE_ETH_RX_OFFLOAD_TCP_LRO } };

	return configure(port, 1, 1, &conf);
}

OP(unknown_tx_offload)
{
	struct rte_eth_conf conf = { .txmode = { .offloads = RTE_ETH_TX_OFFLOAD_MACSEC_INSERT } };

	return configure(port, 1, 1, &conf);
}

OP(mtu_too_large)
{
	struct rte_eth_conf conf = { .rxmode = { .mtu = 60000 } };

	return configure(port, 1, 1, &conf);
}

OP(mtu_too_small)
{
	struct rte_eth_conf conf = { .rxmode = { .mtu = 20 } };

	return configure(port, 1, 1, &conf);
}

OP(fixed_speed)
{
	struct rte_eth_conf conf = {
		.link_speeds = RTE_ETH_LINK_SPEED_FIXED | RTE_ETH_LINK_SPEED_100G,
	};

	return configure(port, 1, 1, &conf);
}

OP(dcb)
{
	struct rte_eth_conf conf = { .rxmode = { .mq_mode = RTE_ETH_MQ_RX_DCB } };

	return configure(port, 1, 1, &conf);
}

OP(vmdq)
{
	struct rte_eth_conf conf = { .txmode = { .mq_mode = RTE_ETH_MQ_TX_VMDQ_ONLY } };

	return configure(port, 1, 1, &conf);
}

OP(foreign_rss_type)
{
	struct rte_eth_conf conf = {
		.rxmode = { .mq_mode = RTE_ETH_MQ_RX_RSS },
		.rx_adv_conf = { .rss_conf = { .rss_hf = RTE_ETH_RSS_L2_PAYLOAD } },
	};

	return configure(port, 1, 1, &conf);
}

OP(short_rss_key)
{
	static uint8_t key[16];
	struct rte_eth_conf conf = {
		.rxmode = { .mq_mode = RTE_ETH_MQ_RX_RSS },
		.rx_adv_conf = { .rss_conf = { .rss_hf = RTE_ETH_RSS_IPV4, .rss_key = key,
					       .rss_key_len = sizeof(key) } },
	};

	return configure(port, 1, 1, &conf);
}

/* ---- Queues ------------------------------------------------------------------------- */

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

OP(no_such_rx_queue)
{
	return rx_setup(fx, port, STATES_NB_RXQ, STATES_NB_DESC, 0);
}

OP(no_such_tx_queue)
{
	return tx_setup(port, STATES_NB_TXQ, STATES_NB_DESC, 0);
}

OP(rx_descriptors_too_many)
{
	return rx_setup(fx, port, 0, UINT16_MAX, 0);
}

OP(tx_descriptors_too_many)
{
	return tx_setup(port, 0, UINT16_MAX, 0);
}

OP(rx_queue_offload)
{
	return rx_setup(fx, port, 0, STATES_NB_DESC, RTE_ETH_RX_OFFLOAD_TCP_LRO);
}

OP(tx_queue_offload)
{
	return tx_setup(port, 0, STATES_NB_DESC, RTE_ETH_TX_OFFLOAD_MACSEC_INSERT);
}

OP(rx_no_pool)
{
	return rte_eth_rx_queue_setup(port, 0, STATES_NB_DESC, SOCKET_ID_ANY, NULL, NULL);
}

/* Not an mbuf pool: it has another private area. */
OP(rx_foreign_pool)
{
	struct rte_mempool *pool = rte_mempool_create("no_mbufs", 63, 64, 0, 0, NULL, NULL,
						      NULL, NULL, SOCKET_ID_ANY, 0);
	int ret;

	assert_non_null(pool);
	ret = rte_eth_rx_queue_setup(port, 0, STATES_NB_DESC, SOCKET_ID_ANY, NULL, pool);
	rte_mempool_free(pool);
	return ret;
}

/* Buffers too small for frames of the MTU. */
OP(rx_pool_of_small_buffers)
{
	struct rte_mempool *pool = fx_pool(fx, 63, 1024 + RTE_PKTMBUF_HEADROOM);
	int ret;

	ret = rte_eth_rx_queue_setup(port, 0, STATES_NB_DESC, SOCKET_ID_ANY, NULL, pool);
	fx_pool_free(fx, pool);
	return ret;
}

OP(rx_info_of_no_queue)
{
	struct rte_eth_rxq_info info;

	return rte_eth_rx_queue_info_get(port, STATES_NB_RXQ, &info);
}

OP(tx_info_of_no_queue)
{
	struct rte_eth_txq_info info;

	return rte_eth_tx_queue_info_get(port, STATES_NB_TXQ, &info);
}

OP(rx_info_nowhere)
{
	return rte_eth_rx_queue_info_get(port, 0, NULL);
}

OP(rx_start_of_no_queue)
{
	return rte_eth_dev_rx_queue_start(port, STATES_NB_RXQ);
}

OP(rx_stop_of_no_queue)
{
	return rte_eth_dev_rx_queue_stop(port, STATES_NB_RXQ);
}

OP(tx_start_of_no_queue)
{
	return rte_eth_dev_tx_queue_start(port, STATES_NB_TXQ);
}

OP(tx_stop_of_no_queue)
{
	return rte_eth_dev_tx_queue_stop(port, STATES_NB_TXQ);
}

/* ethdev's order of checks decides the error. */
static int
refused(int ret)
{
	return ret < 0 && ret != -ENODEV ? -EINVAL : ret;
}

/* ---- The others --------------------------------------------------------------------- */

OP(mtu_above)
{
	return rte_eth_dev_set_mtu(port, 60000);
}

OP(mtu_below)
{
	return rte_eth_dev_set_mtu(port, 20);
}

OP(info_nowhere)
{
	return rte_eth_dev_info_get(port, NULL);
}

OP(link_nowhere)
{
	return rte_eth_link_get(port, NULL);
}

OP(stats_nowhere)
{
	return rte_eth_stats_get(port, NULL);
}

OP(mac_nowhere)
{
	return rte_eth_macaddr_get(port, NULL);
}

OP(null_mac)
{
	return rte_eth_dev_default_mac_addr_set(port, NULL);
}

OP(multicast_mac)
{
	struct rte_ether_addr mac = { .addr_bytes = { 1, 0, 0, 0, 0, 1 } };

	return rte_eth_dev_default_mac_addr_set(port, &mac);
}

OP(rss_conf_nowhere)
{
	return rte_eth_dev_rss_hash_conf_get(port, NULL);
}

OP(reta_query_nowhere)
{
	return rte_eth_dev_rss_reta_query(port, NULL, RTE_ETH_RETA_GROUP_SIZE);
}

OP(reta_query_of_other_size)
{
	struct rte_eth_rss_reta_entry64 reta[16];

	memset(reta, 0xff, sizeof(reta));
	return rte_eth_dev_rss_reta_query(port, reta, 1000);
}

OP(reta_query_of_nothing)
{
	struct rte_eth_rss_reta_entry64 reta[8];

	memset(reta, 0, sizeof(reta));
	return rte_eth_dev_rss_reta_query(port, reta, RTE_ETH_RETA_GROUP_SIZE);
}

OP(reta_update_of_other_size)
{
	struct rte_eth_rss_reta_entry64 reta[16];

	memset(reta, 0, sizeof(reta));
	for (unsigned int i = 0; i < RTE_DIM(reta); i++)
		reta[i].mask = UINT64_MAX;
	return refused(rte_eth_dev_rss_reta_update(port, reta, 1000));
}

OP(reta_update_to_no_queue)
{
	struct rte_eth_rss_reta_entry64 reta[1] = { { .mask = 1, .reta = { STATES_NB_RXQ } } };

	return refused(rte_eth_dev_rss_reta_update(port, reta, RTE_ETH_RETA_GROUP_SIZE));
}

OP(rss_update_of_foreign_type)
{
	struct rte_eth_rss_conf conf = { .rss_hf = RTE_ETH_RSS_L2_PAYLOAD };

	return refused(rte_eth_dev_rss_hash_update(port, &conf));
}

OP(rss_update_of_short_key)
{
	uint8_t key[16] = { 1 };
	struct rte_eth_rss_conf conf = { .rss_hf = RTE_ETH_RSS_IPV4, .rss_key = key,
					 .rss_key_len = sizeof(key) };

	return refused(rte_eth_dev_rss_hash_update(port, &conf));
}

OP(rss_update_of_nothing)
{
	return rte_eth_dev_rss_hash_update(port, NULL);
}

OP(vlan_strip_on_no_queue)
{
	return rte_eth_dev_set_vlan_strip_on_queue(port, STATES_NB_RXQ, 1);
}

OP(vlan_filter_of_no_vlan)
{
	return refused(rte_eth_dev_vlan_filter(port, 4096, 1));
}

#define EVERYWHERE(name, error) { #name, op_##name, \
	{ error, error, error, error, error, ENODEV }, NULL, false }
/* ethdev drops the configuration before it calls the driver. */
#define CONFIGURE(name, error, says) { #name, op_##name, \
	{ error, error, error, EBUSY, error, ENODEV }, says, true }
/* ethdev checks queue, pool and numbers first, */
#define SETUP(name, error) { #name, op_##name, \
	{ EINVAL, error, error, error, error, ENODEV }, NULL, false }
/* then the state, and drops the existing queue. */
#define SETUP_AGAIN(name, error, says) { #name, op_##name, \
	{ EINVAL, error, error, EBUSY, error, ENODEV }, says, true }

const struct states_row states_arguments[] = {
	/* ethdev checks the pointer first */
	EVERYWHERE(null_conf, EINVAL),
	CONFIGURE(too_many_rx_queues, EINVAL, NULL),
	CONFIGURE(too_many_tx_queues, EINVAL, NULL),
	CONFIGURE(unknown_rx_offload, EINVAL, NULL),
	CONFIGURE(unknown_tx_offload, EINVAL, NULL),
	CONFIGURE(mtu_too_large, EINVAL, NULL),
	CONFIGURE(mtu_too_small, EINVAL, NULL),
	CONFIGURE(fixed_speed, ENOTSUP, "link speed"),
	CONFIGURE(dcb, ENOTSUP, "Rx mq_mode"),
	CONFIGURE(vmdq, ENOTSUP, "Tx mq_mode"),
	CONFIGURE(foreign_rss_type, EINVAL, NULL),
	CONFIGURE(short_rss_key, EINVAL, NULL),
	SETUP(no_such_rx_queue, EINVAL),
	SETUP(no_such_tx_queue, EINVAL),
	SETUP(rx_descriptors_too_many, EINVAL),
	SETUP(tx_descriptors_too_many, EINVAL),
	SETUP_AGAIN(rx_queue_offload, EINVAL, NULL),
	SETUP_AGAIN(tx_queue_offload, EINVAL, NULL),
	SETUP(rx_no_pool, EINVAL),
	SETUP(rx_foreign_pool, ENOSPC),
	SETUP_AGAIN(rx_pool_of_small_buffers, EINVAL, "data_room_size"),
	EVERYWHERE(rx_info_of_no_queue, EINVAL),
	EVERYWHERE(tx_info_of_no_queue, EINVAL),
	EVERYWHERE(rx_info_nowhere, EINVAL),
	EVERYWHERE(rx_start_of_no_queue, EINVAL),
	EVERYWHERE(rx_stop_of_no_queue, EINVAL),
	EVERYWHERE(tx_start_of_no_queue, EINVAL),
	EVERYWHERE(tx_stop_of_no_queue, EINVAL),
	EVERYWHERE(mtu_above, EINVAL),
	EVERYWHERE(mtu_below, EINVAL),
	EVERYWHERE(info_nowhere, EINVAL),
	EVERYWHERE(link_nowhere, EINVAL),
	EVERYWHERE(stats_nowhere, EINVAL),
	EVERYWHERE(mac_nowhere, EINVAL),
	EVERYWHERE(null_mac, EINVAL),
	EVERYWHERE(multicast_mac, EINVAL),
	EVERYWHERE(rss_conf_nowhere, EINVAL),
	EVERYWHERE(reta_query_nowhere, EINVAL),
	EVERYWHERE(reta_query_of_other_size, EINVAL),
	EVERYWHERE(reta_query_of_nothing, EINVAL),
	EVERYWHERE(reta_update_of_other_size, EINVAL),
	EVERYWHERE(reta_update_to_no_queue, EINVAL),
	EVERYWHERE(rss_update_of_foreign_type, EINVAL),
	EVERYWHERE(rss_update_of_short_key, EINVAL),
	EVERYWHERE(rss_update_of_nothing, EINVAL),
	EVERYWHERE(vlan_strip_on_no_queue, EINVAL),
	EVERYWHERE(vlan_filter_of_no_vlan, EINVAL),
};
const unsigned int states_nb_arguments = RTE_DIM(states_arguments);
