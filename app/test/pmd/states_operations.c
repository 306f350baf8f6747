/* SPDX-License-Identifier: BSD-3-Clause */

/* ethdev operations with valid arguments, and their results in each state. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_flow.h>
#include <rte_power_intrinsics.h>

#include "states.h"

/* ---- Calls of several lines ------------------------------------------------ */

/* Operations that return a number. */
static int
error_of(int ret)
{
	return RTE_MIN(ret, 0);
}

static int
xstats_get(uint16_t port)
{
	struct rte_eth_xstat xstats[4096];
	int nb = rte_eth_xstats_get(port, NULL, 0);

	if (nb < 0)
		return nb;
	assert_uint_in_range(nb, 1, RTE_DIM(xstats));
	return rte_eth_xstats_get(port, xstats, nb) == nb ? 0 : -EIO;
}

static int
same_mac_set(uint16_t port)
{
	struct rte_ether_addr mac;
	int ret = rte_eth_macaddr_get(port, &mac);

	return ret != 0 ? ret : rte_eth_dev_default_mac_addr_set(port, &mac);
}

static int
rss_conf_get(uint16_t port)
{
	uint8_t key[64];
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_key_len = sizeof(key) };

	return rte_eth_dev_rss_hash_conf_get(port, &conf);
}

static int
rss_conf_set(uint16_t port)
{
	uint8_t key[40] = { 1, 2, 3 };
	struct rte_eth_rss_conf conf = { .rss_hf = FX_RSS, .rss_key = key,
					 .rss_key_len = sizeof(key) };

	return rte_eth_dev_rss_hash_update(port, &conf);
}

static int
reta_get(uint16_t port)
{
	struct rte_eth_rss_reta_entry64 reta[8];
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(port, &info);

	if (ret != 0)
		return ret;
	memset(reta, 0xff, sizeof(reta));
	return rte_eth_dev_rss_reta_query(port, reta, info.reta_size);
}

/* The reverse order of the initial table. */
static int
reta_set(uint16_t port)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };

	for (uint16_t i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = i % STATES_NB_RXQ;
	return rte_eth_dev_rss_reta_update(port, &reta, RTE_ETH_RETA_GROUP_SIZE);
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

#define RXQ (STATES_NB_RXQ - 1)
#define TXQ (STATES_NB_TXQ - 1)
/* A place for a result that the table does not check. */
#define OUT(type) &(type){ 0 }
#define PTYPES (uint32_t[32]){ 0 }, 32

/* errnos: new, without queues, ready, running, stopped, closed */
#define WHILE_RUNNING EINVAL, EINVAL, EINVAL, 0, EINVAL, ENODEV
#define WITH_QUEUES EINVAL, EINVAL, 0, 0, 0, ENODEV
#define CONFIGURED EINVAL, 0, 0, 0, 0, ENODEV
#define SETUP EINVAL, 0, 0, EBUSY, 0, ENODEV

#define OPERATIONS(R) \
	R(configure, rte_eth_dev_configure(port, 1, 1, OUT(struct rte_eth_conf)), \
	  0, 0, 0, EBUSY, 0, ENODEV) \
	/* a mode that most drivers ignore */ \
	R(configure_loopback, rte_eth_dev_configure(port, 1, 1, &(struct rte_eth_conf){ \
			.lpbk_mode = 1 }), 0, 0, 0, EBUSY, 0, ENODEV) \
	R(start, rte_eth_dev_start(port), EINVAL, EINVAL, 0, 0, 0, ENODEV) \
	R(stop, rte_eth_dev_stop(port), ALWAYS) \
	R(reset, rte_eth_dev_reset(port), ALWAYS) \
	R(rx_queue_setup, rte_eth_rx_queue_setup(port, 0, STATES_NB_DESC, SOCKET_ID_ANY, NULL, \
						 fx->pool), SETUP) \
	R(tx_queue_setup, rte_eth_tx_queue_setup(port, 0, STATES_NB_DESC, SOCKET_ID_ANY, \
						 NULL), SETUP) \
	R(rx_queue_start, rte_eth_dev_rx_queue_start(port, RXQ), WHILE_RUNNING) \
	R(rx_queue_stop, rte_eth_dev_rx_queue_stop(port, RXQ), WITH_QUEUES) \
	R(tx_queue_start, rte_eth_dev_tx_queue_start(port, TXQ), WHILE_RUNNING) \
	R(tx_queue_stop, rte_eth_dev_tx_queue_stop(port, TXQ), WITH_QUEUES) \
	R(tx_done_cleanup, error_of(rte_eth_tx_done_cleanup(port, 0, 0)), \
	  STATES_UNDEFINED, EINVAL, 0, 0, 0, ENODEV) \
	R(rx_burst_mode, rte_eth_rx_burst_mode_get(port, 0, OUT(struct rte_eth_burst_mode)), \
	  WHILE_RUNNING) \
	R(tx_burst_mode, rte_eth_tx_burst_mode_get(port, 0, OUT(struct rte_eth_burst_mode)), \
	  WHILE_RUNNING) \
	/* the link is up already */ \
	R(link_up, rte_eth_dev_set_link_up(port), \
	  ENOTSUP, ENOTSUP, ENOTSUP, 0, ENOTSUP, ENODEV) \
	R(is_removed, rte_eth_dev_is_removed(port), 0, 0, 0, 0, 0, 0) \
	/* the configuration has no Rx interrupts */ \
	R(rx_intr_enable, rte_eth_dev_rx_intr_enable(port, 0), ALL(EINVAL)) \
	R(rx_intr_disable, rte_eth_dev_rx_intr_disable(port, 0), ALL(EINVAL)) \
	R(monitor_addr, rte_eth_get_monitor_addr(port, 0, OUT(struct rte_power_monitor_cond)), \
	  WITH_QUEUES) \
	R(rx_descriptor_dump, dump(rte_eth_rx_descriptor_dump, port), WHILE_RUNNING) \
	R(tx_descriptor_dump, dump(rte_eth_tx_descriptor_dump, port), WHILE_RUNNING) \
	R(priv_dump, dump(NULL, port), ALWAYS) \
	R(rx_queue_info, rte_eth_rx_queue_info_get(port, RXQ, OUT(struct rte_eth_rxq_info)), \
	  WITH_QUEUES) \
	R(tx_queue_info, rte_eth_tx_queue_info_get(port, TXQ, OUT(struct rte_eth_txq_info)), \
	  WITH_QUEUES) \
	R(info, rte_eth_dev_info_get(port, OUT(struct rte_eth_dev_info)), ALWAYS) \
	R(conf, rte_eth_dev_conf_get(port, OUT(struct rte_eth_conf)), ALWAYS) \
	R(link, rte_eth_link_get(port, OUT(struct rte_eth_link)), ALWAYS) \
	R(link_nowait, rte_eth_link_get_nowait(port, OUT(struct rte_eth_link)), ALWAYS) \
	R(stats, rte_eth_stats_get(port, OUT(struct rte_eth_stats)), ALWAYS) \
	R(stats_reset, rte_eth_stats_reset(port), ALWAYS) \
	R(xstats, xstats_get(port), ALWAYS) \
	R(xstats_names, error_of(rte_eth_xstats_get_names(port, NULL, 0)), ALWAYS) \
	R(xstats_by_id, error_of(rte_eth_xstats_get_by_id(port, OUT(uint64_t), OUT(uint64_t), \
							  1)), ALWAYS) \
	R(xstats_reset, rte_eth_xstats_reset(port), ALWAYS) \
	R(mac, rte_eth_macaddr_get(port, OUT(struct rte_ether_addr)), ALWAYS) \
	R(ptypes, error_of(rte_eth_dev_get_supported_ptypes(port, UINT32_MAX, PTYPES)), ALWAYS) \
	R(set_ptypes, rte_eth_dev_set_ptypes(port, RTE_PTYPE_L3_MASK, PTYPES), ALWAYS) \
	R(mtu, rte_eth_dev_set_mtu(port, STATES_MTU - 1), CONFIGURED) \
	R(mtu_get, rte_eth_dev_get_mtu(port, OUT(uint16_t)), ALWAYS) \
	R(promiscuous_enable, rte_eth_promiscuous_enable(port), ALWAYS) \
	R(promiscuous_disable, rte_eth_promiscuous_disable(port), ALWAYS) \
	R(allmulticast_enable, rte_eth_allmulticast_enable(port), ALWAYS) \
	R(allmulticast_disable, rte_eth_allmulticast_disable(port), ALWAYS) \
	R(mc_addr_list, rte_eth_dev_set_mc_addr_list(port, (struct rte_ether_addr[]){ \
			{ { 1, 0, 0x5e, 0, 0, 1 } } }, 1), ALWAYS) \
	R(vlan_strip, rte_eth_dev_set_vlan_offload(port, RTE_ETH_VLAN_STRIP_OFFLOAD), ALWAYS) \
	R(vlan_strip_on_queue, rte_eth_dev_set_vlan_strip_on_queue(port, RXQ, 1), CONFIGURED) \
	R(same_mac, same_mac_set(port), ALWAYS) \
	R(rss_conf, rss_conf_get(port), ALWAYS) \
	R(reta_query, reta_get(port), CONFIGURED) \
	/* a new port has no RSS */ \
	R(rss_update, rss_conf_set(port), ENOTSUP, 0, 0, 0, 0, ENODEV) \
	R(reta_update, reta_set(port), CONFIGURED) \
	R(close, rte_eth_dev_close(port), 0, 0, 0, EINVAL, 0, ENODEV)

OPERATIONS(STATES_FUNCTION)
const struct states_row states_operations[] = { OPERATIONS(STATES_ROW) };
const unsigned int states_nb_operations = RTE_DIM(states_operations);

/* ---- Unsupported operations ------------------------------------------------ */

static struct rte_ether_addr other_mac = { .addr_bytes = { 2, 0, 0, 0, 0, 9 } };
static struct rte_eth_udp_tunnel tunnel = { .udp_port = 4789,
					    .prot_type = RTE_ETH_TUNNEL_TYPE_VXLAN };
static struct rte_eth_fc_conf flow_ctrl = { .mode = RTE_ETH_FC_FULL };
static struct rte_dev_eeprom_info eeprom = { .length = 1 };

#define UNSUPPORTED(R, S) \
	S(other_mac, "the MAC address belongs to the vPort", \
	  rte_eth_dev_default_mac_addr_set(port, &other_mac), NEVER) \
	/* ethdev has room for one address, the port's own, and for no hash table */ \
	R(mac_addr_add, rte_eth_dev_mac_addr_add(port, &other_mac, 0), ALL(ENOSPC)) \
	R(mac_addr_remove, rte_eth_dev_mac_addr_remove(port, &other_mac), NEVER) \
	R(uc_hash_table, rte_eth_dev_uc_hash_table_set(port, &other_mac, 1), ALL(ENOSPC)) \
	R(uc_all_hash_table, rte_eth_dev_uc_all_hash_table_set(port, 1), NEVER) \
	R(vlan_ether_type, rte_eth_dev_set_vlan_ether_type(port, RTE_ETH_VLAN_TYPE_OUTER, \
							   0x88a8), NEVER) \
	R(vlan_filter, rte_eth_dev_vlan_filter(port, 1, 1), ALL(ENOSYS)) \
	R(vlan_pvid, rte_eth_dev_set_vlan_pvid(port, 7, 1), NEVER) \
	R(flow_flush, rte_flow_flush(port, OUT(struct rte_flow_error)), NEVER) \
	R(udp_tunnel_add, rte_eth_dev_udp_tunnel_port_add(port, &tunnel), NEVER) \
	R(udp_tunnel_delete, rte_eth_dev_udp_tunnel_port_delete(port, &tunnel), NEVER) \
	R(flow_ctrl_get, rte_eth_dev_flow_ctrl_get(port, OUT(struct rte_eth_fc_conf)), NEVER) \
	R(flow_ctrl_set, rte_eth_dev_flow_ctrl_set(port, &flow_ctrl), NEVER) \
	R(priority_flow_ctrl, rte_eth_dev_priority_flow_ctrl_set(port, \
			OUT(struct rte_eth_pfc_conf)), NEVER) \
	R(rate_limit, rte_eth_set_queue_rate_limit(port, 0, 1), NEVER) \
	R(timesync_enable, rte_eth_timesync_enable(port), NEVER) \
	R(timesync_disable, rte_eth_timesync_disable(port), NEVER) \
	R(timesync_rx, rte_eth_timesync_read_rx_timestamp(port, OUT(struct timespec), 0), NEVER) \
	R(timesync_tx, rte_eth_timesync_read_tx_timestamp(port, OUT(struct timespec)), NEVER) \
	R(timesync_adjust, rte_eth_timesync_adjust_time(port, 0), NEVER) \
	R(timesync_read, rte_eth_timesync_read_time(port, OUT(struct timespec)), NEVER) \
	R(timesync_write, rte_eth_timesync_write_time(port, OUT(struct timespec)), NEVER) \
	R(read_clock, rte_eth_read_clock(port, OUT(uint64_t)), NEVER) \
	R(eeprom_length, rte_eth_dev_get_eeprom_length(port), NEVER) \
	R(eeprom, rte_eth_dev_get_eeprom(port, &eeprom), NEVER) \
	R(module_info, rte_eth_dev_get_module_info(port, OUT(struct rte_eth_dev_module_info)), \
	  NEVER) \
	R(registers, rte_eth_dev_get_reg_info(port, OUT(struct rte_dev_reg_info)), NEVER) \
	R(led_on, rte_eth_led_on(port), NEVER) \
	R(led_off, rte_eth_led_off(port), NEVER) \
	/* Open vSwitch takes -ENOTSUP as done */ \
	R(link_down, rte_eth_dev_set_link_down(port), ALL(EPERM)) \
	R(dcb_info, rte_eth_dev_get_dcb_info(port, OUT(struct rte_eth_dcb_info)), NEVER) \
	R(fec_get, rte_eth_fec_get(port, OUT(uint32_t)), NEVER) \
	R(fec, rte_eth_fec_set(port, RTE_ETH_FEC_MODE_TO_CAPA(RTE_ETH_FEC_RS)), NEVER) \
	R(hairpin, rte_eth_dev_hairpin_capability_get(port, OUT(struct rte_eth_hairpin_cap)), \
	  NEVER) \
	R(representors, error_of(rte_eth_representor_info_get(port, NULL)), NEVER) \
	/* ethdev first requires a configured port */ \
	R(ip_reassembly, rte_eth_ip_reassembly_capability_get(port, \
			OUT(struct rte_eth_ip_reassembly_params)), \
	  EINVAL, ENOTSUP, ENOTSUP, ENOTSUP, ENOTSUP, ENODEV)

UNSUPPORTED(STATES_FUNCTION, STATES_FUNCTION_S)
const struct states_row states_unsupported[] = { UNSUPPORTED(STATES_ROW, STATES_ROW_S) };
const unsigned int states_nb_unsupported = RTE_DIM(states_unsupported);
