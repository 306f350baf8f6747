/* SPDX-License-Identifier: BSD-3-Clause */

/* ethdev operations with valid arguments, and their results in each state. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_flow.h>
#include <rte_power_intrinsics.h>

#include "states.h"

#define OP(name) static int op_##name(struct fixture *fx, uint16_t port)

/* ---- Configuration and queues ------------------------------------------------ */

OP(configure)
{
	struct rte_eth_conf conf = { 0 };

	return rte_eth_dev_configure(port, 1, 1, &conf);
}

OP(start)
{
	return rte_eth_dev_start(port);
}

OP(stop)
{
	return rte_eth_dev_stop(port);
}

OP(close)
{
	return rte_eth_dev_close(port);
}

OP(rx_queue_setup)
{
	return rte_eth_rx_queue_setup(port, 0, STATES_NB_DESC, SOCKET_ID_ANY, NULL,
				      fx->pool);
}

OP(tx_queue_setup)
{
	return rte_eth_tx_queue_setup(port, 0, STATES_NB_DESC, SOCKET_ID_ANY, NULL);
}

OP(rx_queue_start)
{
	return rte_eth_dev_rx_queue_start(port, STATES_NB_RXQ - 1);
}

OP(rx_queue_stop)
{
	return rte_eth_dev_rx_queue_stop(port, STATES_NB_RXQ - 1);
}

OP(tx_queue_start)
{
	return rte_eth_dev_tx_queue_start(port, STATES_NB_TXQ - 1);
}

OP(tx_queue_stop)
{
	return rte_eth_dev_tx_queue_stop(port, STATES_NB_TXQ - 1);
}

OP(tx_done_cleanup)
{
	int ret = rte_eth_tx_done_cleanup(port, 0, 0);

	return ret > 0 ? 0 : ret;
}

OP(rx_burst_mode)
{
	struct rte_eth_burst_mode mode;

	return rte_eth_rx_burst_mode_get(port, 0, &mode);
}

OP(tx_burst_mode)
{
	struct rte_eth_burst_mode mode;

	return rte_eth_tx_burst_mode_get(port, 0, &mode);
}

OP(rx_queue_info)
{
	struct rte_eth_rxq_info info;

	return rte_eth_rx_queue_info_get(port, STATES_NB_RXQ - 1, &info);
}

OP(tx_queue_info)
{
	struct rte_eth_txq_info info;

	return rte_eth_tx_queue_info_get(port, STATES_NB_TXQ - 1, &info);
}

/*
 * ---- Queries
 * ---------------------------------------------------------------------
 */

OP(info)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(port, &info);
}

OP(conf)
{
	struct rte_eth_conf conf;

	return rte_eth_dev_conf_get(port, &conf);
}

OP(link)
{
	struct rte_eth_link link;

	return rte_eth_link_get(port, &link);
}

OP(link_nowait)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(port, &link);
}

OP(link_up)
{
	return rte_eth_dev_set_link_up(port);
}

OP(link_down)
{
	return rte_eth_dev_set_link_down(port);
}

OP(is_removed)
{
	return rte_eth_dev_is_removed(port);
}

OP(reset)
{
	return rte_eth_dev_reset(port);
}

/* The configuration has no Rx interrupts. */
OP(rx_intr_enable)
{
	return rte_eth_dev_rx_intr_enable(port, 0);
}

OP(rx_intr_disable)
{
	return rte_eth_dev_rx_intr_disable(port, 0);
}

OP(stats)
{
	struct rte_eth_stats stats;

	return rte_eth_stats_get(port, &stats);
}

OP(stats_reset)
{
	return rte_eth_stats_reset(port);
}

OP(xstats_reset)
{
	return rte_eth_xstats_reset(port);
}

OP(xstats)
{
	struct rte_eth_xstat xstats[4096];
	int nb = rte_eth_xstats_get(port, NULL, 0);

	if (nb < 0)
		return nb;
	assert_in_range(nb, 1, RTE_DIM(xstats));
	return rte_eth_xstats_get(port, xstats, nb) == nb ? 0 : -EIO;
}

OP(xstats_names)
{
	int nb = rte_eth_xstats_get_names(port, NULL, 0);

	return nb > 0 ? 0 : nb;
}

OP(xstats_by_id)
{
	uint64_t id = 0, value;
	int nb = rte_eth_xstats_get_by_id(port, &id, &value, 1);

	return nb == 1 ? 0 : nb;
}

OP(mac)
{
	struct rte_ether_addr mac;

	return rte_eth_macaddr_get(port, &mac);
}

OP(ptypes)
{
	uint32_t ptypes[32];
	int nb = rte_eth_dev_get_supported_ptypes(port, UINT32_MAX, ptypes,
						  RTE_DIM(ptypes));

	return nb > 0 ? 0 : nb;
}

OP(set_ptypes)
{
	uint32_t ptypes[32];

	return rte_eth_dev_set_ptypes(port, RTE_PTYPE_L3_MASK, ptypes, RTE_DIM(ptypes));
}

/* ---- Modes and tables ------------------------------------------------------------ */

OP(mtu)
{
	return rte_eth_dev_set_mtu(port, STATES_MTU - 1);
}

OP(mtu_get)
{
	uint16_t mtu;

	return rte_eth_dev_get_mtu(port, &mtu);
}

OP(promiscuous_enable)
{
	return rte_eth_promiscuous_enable(port);
}

OP(promiscuous_disable)
{
	return rte_eth_promiscuous_disable(port);
}

OP(allmulticast_enable)
{
	return rte_eth_allmulticast_enable(port);
}

OP(allmulticast_disable)
{
	return rte_eth_allmulticast_disable(port);
}

OP(vlan_strip)
{
	return rte_eth_dev_set_vlan_offload(port, RTE_ETH_VLAN_STRIP_OFFLOAD);
}

OP(vlan_strip_on_queue)
{
	return rte_eth_dev_set_vlan_strip_on_queue(port, STATES_NB_RXQ - 1, 1);
}

OP(same_mac)
{
	struct rte_ether_addr mac;
	int ret = rte_eth_macaddr_get(port, &mac);

	return ret != 0 ? ret : rte_eth_dev_default_mac_addr_set(port, &mac);
}

OP(rss_conf)
{
	uint8_t key[64];
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = sizeof(key) };

	return rte_eth_dev_rss_hash_conf_get(port, &conf);
}

OP(reta_query)
{
	struct rte_eth_rss_reta_entry64 reta[8];
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(port, &info);

	if (ret != 0)
		return ret;
	memset(reta, 0xff, sizeof(reta));
	return rte_eth_dev_rss_reta_query(port, reta, info.reta_size);
}

OP(rss_update)
{
	uint8_t key[40] = { 1, 2, 3 };
	struct rte_eth_rss_conf conf = { .rss_hf = FX_RSS, .rss_key = key,
					 .rss_key_len = sizeof(key) };

	return rte_eth_dev_rss_hash_update(port, &conf);
}

/* The reverse order of the initial table. */
OP(reta_update)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };

	for (uint16_t i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = i % STATES_NB_RXQ;
	return rte_eth_dev_rss_reta_update(port, &reta, RTE_ETH_RETA_GROUP_SIZE);
}

OP(monitor_addr)
{
	struct rte_power_monitor_cond pmc;

	return rte_eth_get_monitor_addr(port, 0, &pmc);
}

/* Writes a dump to /dev/null. */
static int
dump(int (*write)(uint16_t port, uint16_t queue, uint16_t offset, uint16_t num,
		  FILE *file),
     uint16_t port)
{
	FILE *file = fopen("/dev/null", "w");
	int ret;

	assert_non_null(file);
	ret = write != NULL ? write(port, 0, 0, 2, file) :
			      rte_eth_dev_priv_dump(port, file);
	fclose(file);
	return ret;
}

OP(rx_descriptor_dump)
{
	return dump(rte_eth_rx_descriptor_dump, port);
}

OP(tx_descriptor_dump)
{
	return dump(rte_eth_tx_descriptor_dump, port);
}

OP(priv_dump)
{
	return dump(NULL, port);
}

#define ROW(name, ...) { #name, op_##name, { __VA_ARGS__ }, NULL, false }

/* new, without queues, ready, running, stopped, closed */
const struct states_row states_operations[] = {
	ROW(configure, 0, 0, 0, EBUSY, 0, ENODEV),
	ROW(start, EINVAL, EINVAL, 0, 0, 0, ENODEV),
	ROW(stop, 0, 0, 0, 0, 0, ENODEV),
	ROW(reset, 0, 0, 0, 0, 0, ENODEV),
	ROW(rx_queue_setup, EINVAL, 0, 0, EBUSY, 0, ENODEV),
	ROW(tx_queue_setup, EINVAL, 0, 0, EBUSY, 0, ENODEV),
	ROW(rx_queue_start, EINVAL, EINVAL, EINVAL, 0, EINVAL, ENODEV),
	ROW(rx_queue_stop, EINVAL, EINVAL, 0, 0, 0, ENODEV),
	ROW(tx_queue_start, EINVAL, EINVAL, EINVAL, 0, EINVAL, ENODEV),
	ROW(tx_queue_stop, EINVAL, EINVAL, 0, 0, 0, ENODEV),
	ROW(tx_done_cleanup, STATES_UNDEFINED, EINVAL, 0, 0, 0, ENODEV),
	ROW(rx_burst_mode, EINVAL, EINVAL, EINVAL, 0, EINVAL, ENODEV),
	ROW(tx_burst_mode, EINVAL, EINVAL, EINVAL, 0, EINVAL, ENODEV),
	/* the link is up already */
	ROW(link_up, ENOTSUP, ENOTSUP, ENOTSUP, 0, ENOTSUP, ENODEV),
	ROW(is_removed, 0, 0, 0, 0, 0, 0),
	ROW(rx_intr_enable, EINVAL, EINVAL, EINVAL, EINVAL, EINVAL, ENODEV),
	ROW(rx_intr_disable, EINVAL, EINVAL, EINVAL, EINVAL, EINVAL, ENODEV),
	ROW(monitor_addr, EINVAL, EINVAL, 0, 0, 0, ENODEV),
	ROW(rx_descriptor_dump, EINVAL, EINVAL, EINVAL, 0, EINVAL, ENODEV),
	ROW(tx_descriptor_dump, EINVAL, EINVAL, EINVAL, 0, EINVAL, ENODEV),
	ROW(priv_dump, 0, 0, 0, 0, 0, ENODEV),
	ROW(rx_queue_info, EINVAL, EINVAL, 0, 0, 0, ENODEV),
	ROW(tx_queue_info, EINVAL, EINVAL, 0, 0, 0, ENODEV),
	ROW(info, 0, 0, 0, 0, 0, ENODEV),
	ROW(conf, 0, 0, 0, 0, 0, ENODEV),
	ROW(link, 0, 0, 0, 0, 0, ENODEV),
	ROW(link_nowait, 0, 0, 0, 0, 0, ENODEV),
	ROW(stats, 0, 0, 0, 0, 0, ENODEV),
	ROW(stats_reset, 0, 0, 0, 0, 0, ENODEV),
	ROW(xstats, 0, 0, 0, 0, 0, ENODEV),
	ROW(xstats_names, 0, 0, 0, 0, 0, ENODEV),
	ROW(xstats_by_id, 0, 0, 0, 0, 0, ENODEV),
	ROW(xstats_reset, 0, 0, 0, 0, 0, ENODEV),
	ROW(mac, 0, 0, 0, 0, 0, ENODEV),
	ROW(ptypes, 0, 0, 0, 0, 0, ENODEV),
	ROW(set_ptypes, 0, 0, 0, 0, 0, ENODEV),
	ROW(mtu, EINVAL, 0, 0, 0, 0, ENODEV),
	ROW(mtu_get, 0, 0, 0, 0, 0, ENODEV),
	ROW(promiscuous_enable, 0, 0, 0, 0, 0, ENODEV),
	ROW(promiscuous_disable, 0, 0, 0, 0, 0, ENODEV),
	ROW(allmulticast_enable, 0, 0, 0, 0, 0, ENODEV),
	ROW(allmulticast_disable, 0, 0, 0, 0, 0, ENODEV),
	ROW(vlan_strip, 0, 0, 0, 0, 0, ENODEV),
	ROW(vlan_strip_on_queue, EINVAL, 0, 0, 0, 0, ENODEV),
	ROW(same_mac, 0, 0, 0, 0, 0, ENODEV),
	ROW(rss_conf, 0, 0, 0, 0, 0, ENODEV),
	ROW(reta_query, EINVAL, 0, 0, 0, 0, ENODEV),
	/* a new port has no RSS */
	ROW(rss_update, ENOTSUP, 0, 0, 0, 0, ENODEV),
	ROW(reta_update, EINVAL, 0, 0, 0, 0, ENODEV),
	ROW(close, 0, 0, 0, EINVAL, 0, ENODEV),
};
const unsigned int states_nb_operations = RTE_DIM(states_operations);

/*
 * ---- Unsupported operations
 * ----------------------------------------------------
 */

static struct rte_ether_addr other_mac = { .addr_bytes = { 2, 0, 0, 0, 0, 9 } };

OP(other_mac)
{
	return rte_eth_dev_default_mac_addr_set(port, &other_mac);
}

OP(mac_addr_add)
{
	return rte_eth_dev_mac_addr_add(port, &other_mac, 0);
}

OP(mc_addr_list)
{
	struct rte_ether_addr group = { .addr_bytes = { 1, 0, 0x5e, 0, 0, 1 } };

	return rte_eth_dev_set_mc_addr_list(port, &group, 1);
}

OP(uc_all_hash_table)
{
	return rte_eth_dev_uc_all_hash_table_set(port, 1);
}

OP(vlan_ether_type)
{
	return rte_eth_dev_set_vlan_ether_type(port, RTE_ETH_VLAN_TYPE_OUTER, 0x88a8);
}

OP(vlan_pvid)
{
	return rte_eth_dev_set_vlan_pvid(port, 7, 1);
}

OP(flow_flush)
{
	struct rte_flow_error error;

	return rte_flow_flush(port, &error);
}

OP(udp_tunnel_add)
{
	struct rte_eth_udp_tunnel tunnel = { .udp_port = 4789,
					     .prot_type = RTE_ETH_TUNNEL_TYPE_VXLAN };

	return rte_eth_dev_udp_tunnel_port_add(port, &tunnel);
}

OP(flow_ctrl_get)
{
	struct rte_eth_fc_conf conf;

	return rte_eth_dev_flow_ctrl_get(port, &conf);
}

OP(flow_ctrl_set)
{
	struct rte_eth_fc_conf conf = { .mode = RTE_ETH_FC_FULL };

	return rte_eth_dev_flow_ctrl_set(port, &conf);
}

OP(timesync_enable)
{
	return rte_eth_timesync_enable(port);
}

OP(read_clock)
{
	uint64_t clock;

	return rte_eth_read_clock(port, &clock);
}

OP(eeprom_length)
{
	return rte_eth_dev_get_eeprom_length(port);
}

OP(module_info)
{
	struct rte_eth_dev_module_info info;

	return rte_eth_dev_get_module_info(port, &info);
}

OP(registers)
{
	struct rte_dev_reg_info info = { .data = NULL };

	return rte_eth_dev_get_reg_info(port, &info);
}

OP(led_on)
{
	return rte_eth_led_on(port);
}

OP(dcb_info)
{
	struct rte_eth_dcb_info info;

	return rte_eth_dev_get_dcb_info(port, &info);
}

OP(fec)
{
	return rte_eth_fec_set(port, RTE_ETH_FEC_MODE_TO_CAPA(RTE_ETH_FEC_RS));
}

OP(hairpin)
{
	struct rte_eth_hairpin_cap cap;

	return rte_eth_dev_hairpin_capability_get(port, &cap);
}

OP(ip_reassembly)
{
	struct rte_eth_ip_reassembly_params params;

	return rte_eth_ip_reassembly_capability_get(port, &params);
}

OP(representors)
{
	int ret = rte_eth_representor_info_get(port, NULL);

	return ret > 0 ? 0 : ret;
}

#define NEVER(name) { #name, op_##name, \
	{ ENOTSUP, ENOTSUP, ENOTSUP, ENOTSUP, ENOTSUP, ENODEV }, NULL, false }

const struct states_row states_unsupported[] = {
	NEVER(other_mac),
	NEVER(mac_addr_add),
	NEVER(mc_addr_list),
	NEVER(uc_all_hash_table),
	NEVER(vlan_ether_type),
	NEVER(vlan_pvid),
	NEVER(flow_flush),
	NEVER(udp_tunnel_add),
	NEVER(flow_ctrl_get),
	NEVER(flow_ctrl_set),
	NEVER(timesync_enable),
	NEVER(read_clock),
	NEVER(eeprom_length),
	NEVER(module_info),
	NEVER(registers),
	NEVER(led_on),
	NEVER(link_down),
	NEVER(dcb_info),
	NEVER(fec),
	NEVER(hairpin),
	NEVER(representors),
	/* ethdev first requires a configured port */
	ROW(ip_reassembly, EINVAL, ENOTSUP, ENOTSUP, ENOTSUP, ENOTSUP, ENODEV),
};
const unsigned int states_nb_unsupported = RTE_DIM(states_unsupported);
