/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Names, order and values of "ethtool -S". Sources: mana_ethtool.c of Linux
 * 6.12.117, 7.2 and 7.3. For 6.2, the first patch after it: 6.2 has none of the
 * card's statistics, and three per Tx queue.
 */

#include <errno.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <string.h>

#include "card.h"
#include "ethtool_stats.h"
#include "hw.h"
#include "kernel_version.h"
#include "segment.h"

#define NB_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *const of_port[] = {
	"stop_queue", "wake_queue", "tx_cq_err", "tx_cqe_unknown_type",
	"tx_linear_pkt_cnt", "rx_cqe_unknown_type",
};
#define NB_OF_PORT_6_2 2 /* the first ones of the table */

static const char *const of_port_6_12[] = {
	"tx_cq_err", "tx_cqe_unknown_type", "rx_coalesced_err",
	"rx_cqe_unknown_type",
};

/* Counted by the card, as sums over all ports of the function. */
static const char *const of_card[] = {
	"hc_rx_discards_no_wqe", "hc_rx_err_vport_disabled", "hc_rx_bytes",
	"hc_rx_ucast_pkts", "hc_rx_ucast_bytes", "hc_rx_bcast_pkts",
	"hc_rx_bcast_bytes", "hc_rx_mcast_pkts", "hc_rx_mcast_bytes",
	"hc_tx_err_gf_disabled", "hc_tx_err_vport_disabled",
	"hc_tx_err_inval_vportoffset_pkt", "hc_tx_err_vlan_enforcement",
	"hc_tx_err_eth_type_enforcement", "hc_tx_err_sa_enforcement",
	"hc_tx_err_sqpdid_enforcement", "hc_tx_err_cqpdid_enforcement",
	"hc_tx_err_mtu_violation", "hc_tx_err_inval_oob", "hc_tx_err_gdma",
	"hc_tx_bytes", "hc_tx_ucast_pkts", "hc_tx_ucast_bytes",
	"hc_tx_bcast_pkts", "hc_tx_bcast_bytes", "hc_tx_mcast_pkts",
	"hc_tx_mcast_bytes",
};

/* Physical port: drops, then by traffic class. */
#define NB_CLASSES 8
static const char *const of_drops[] = { "hc_rx_pkt_drop_phy",
					"hc_tx_pkt_drop_phy" };
static const char *const of_class[] = { "rx_pkt", "rx_byte", "tx_pkt",
					"tx_byte" };
static const char *const of_pause[] = { "rx_pause", "tx_pause" };

static const char *const of_rx_queue[] = {
	"packets", "bytes", "xdp_drop", "xdp_tx", "xdp_redirect",
	"pkt_len0_err", "coalesced_cqe_2", "coalesced_cqe_3",
	"coalesced_cqe_4", "coalesced_cqe_5", "coalesced_cqe_6",
	"coalesced_cqe_7", "coalesced_cqe_8",
};
#define NB_OF_RX_QUEUE_7_2 9 /* the first ones of the table */
#define NB_OF_RX_QUEUE_6_2 5 /* the first ones of the table; 6.12 has the same */

static const char *const of_tx_queue[] = {
	"packets", "bytes", "xdp_xmit", "tso_packets", "tso_bytes",
	"tso_inner_packets", "tso_inner_bytes", "long_pkt_fmt",
	"short_pkt_fmt", "csum_partial", "mana_map_err",
};
#define NB_OF_TX_QUEUE_6_2 3 /* the first ones of the table */

#define PLAIN(names, n)	 { .nb = n, .nb_repeats = 1, .name = names }
#define CARD(names)	 { .nb = NB_OF(names), .nb_repeats = 1, .name = names, \
			   .is_of_card = true }
#define CLASSES(names)	 { .nb = NB_OF(names), .nb_repeats = NB_CLASSES, \
			   .name = names, .format = "hc_tc%u_%s_phy" }
#define RX_QUEUES(n)	 { .nb = n, .name = of_rx_queue, .format = "rx_%u_%s" }
#define TX_QUEUES(n)	 { .nb = n, .name = of_tx_queue, .format = "tx_%u_%s" }

const struct ethtool_stats_group ethtool_stats_6_2[] = {
	PLAIN(of_port, NB_OF_PORT_6_2),
	RX_QUEUES(NB_OF_RX_QUEUE_6_2),
	TX_QUEUES(NB_OF_TX_QUEUE_6_2),
	{ .nb = 0 },
};

const struct ethtool_stats_group ethtool_stats_6_12[] = {
	PLAIN(of_port, NB_OF_PORT_6_2),
	CARD(of_card),
	PLAIN(of_port_6_12, NB_OF(of_port_6_12)),
	RX_QUEUES(NB_OF_RX_QUEUE_6_2),
	TX_QUEUES(NB_OF(of_tx_queue)),
	{ .nb = 0 },
};

const struct ethtool_stats_group ethtool_stats_7_2[] = {
	PLAIN(of_port, NB_OF(of_port)),
	CARD(of_card),
	PLAIN(of_drops, NB_OF(of_drops)),
	CLASSES(of_class),
	CLASSES(of_pause),
	RX_QUEUES(NB_OF_RX_QUEUE_7_2),
	TX_QUEUES(NB_OF(of_tx_queue)),
	{ .nb = 0 },
};

const struct ethtool_stats_group ethtool_stats_7_3[] = {
	PLAIN(of_port, NB_OF(of_port)),
	CARD(of_card),
	PLAIN(of_drops, NB_OF(of_drops)),
	CLASSES(of_class),
	CLASSES(of_pause),
	RX_QUEUES(NB_OF(of_rx_queue)),
	TX_QUEUES(NB_OF(of_tx_queue)),
	{ .nb = 0 },
};

static uint32_t
nb_in(const struct ethtool_stats_group *group,
      const struct kernel_netdev *netdev)
{
	return group->nb * (group->nb_repeats != 0 ? group->nb_repeats :
						     netdev->nb_channels);
}

static uint32_t
stats_count(const struct kernel_netdev *netdev)
{
	const struct ethtool_stats_group *group = kernel_version()->statistics;
	uint32_t nb = 0;

	for (; group->nb != 0; group++)
		nb += nb_in(group, netdev);
	return nb;
}

/* The group of statistic *n, or NULL; *n becomes its index in the group. */
static const struct ethtool_stats_group *
group_of(const struct kernel_netdev *netdev, uint32_t *n)
{
	const struct ethtool_stats_group *group = kernel_version()->statistics;

	for (; group->nb != 0; group++) {
		if (*n < nb_in(group, netdev))
			return group;
		*n -= nb_in(group, netdev);
	}
	return NULL;
}

/* Leaves name unchanged if n is too large. */
static void
stats_name(const struct kernel_netdev *netdev, uint32_t n, char name[ETHTOOL_NAME_BYTES])
{
	const struct ethtool_stats_group *group = group_of(netdev, &n);

	if (group == NULL)
		return;
	if (group->format == NULL)
		snprintf(name, ETHTOOL_NAME_BYTES, "%s", group->name[n]);
	else
		snprintf(name, ETHTOOL_NAME_BYTES, group->format, n / group->nb,
			 group->name[n % group->nb]);
}

/* The value, if the model's card counts it, else 0. */
static uint64_t
card_value(const struct card_port_counters *sum, const char *name)
{
#define TX_ERROR(type) &sum->tx_errors[HW_CQE_TX_##type - HW_CQE_TX_SA_DROP]
	const struct {
		const char *name;
		const uint64_t *value;
	} values[] = {
		{ "hc_rx_discards_no_wqe", &sum->rx_no_wqe },
		{ "hc_rx_err_vport_disabled", &sum->rx_no_steering },
		{ "hc_rx_bytes", &sum->rx_bytes },
		{ "hc_rx_ucast_pkts", &sum->rx_casts[CARD_UNICAST].packets },
		{ "hc_rx_ucast_bytes", &sum->rx_casts[CARD_UNICAST].bytes },
		{ "hc_rx_bcast_pkts", &sum->rx_casts[CARD_BROADCAST].packets },
		{ "hc_rx_bcast_bytes", &sum->rx_casts[CARD_BROADCAST].bytes },
		{ "hc_rx_mcast_pkts", &sum->rx_casts[CARD_MULTICAST].packets },
		{ "hc_rx_mcast_bytes", &sum->rx_casts[CARD_MULTICAST].bytes },
		{ "hc_tx_bytes", &sum->tx_bytes },
		{ "hc_tx_ucast_pkts", &sum->tx_casts[CARD_UNICAST].packets },
		{ "hc_tx_ucast_bytes", &sum->tx_casts[CARD_UNICAST].bytes },
		{ "hc_tx_bcast_pkts", &sum->tx_casts[CARD_BROADCAST].packets },
		{ "hc_tx_bcast_bytes", &sum->tx_casts[CARD_BROADCAST].bytes },
		{ "hc_tx_mcast_pkts", &sum->tx_casts[CARD_MULTICAST].packets },
		{ "hc_tx_mcast_bytes", &sum->tx_casts[CARD_MULTICAST].bytes },
		{ "hc_tx_err_sa_enforcement", TX_ERROR(SA_DROP) },
		{ "hc_tx_err_mtu_violation", TX_ERROR(MTU_DROP) },
		{ "hc_tx_err_inval_oob", TX_ERROR(INVALID_OOB) },
		{ "hc_tx_err_eth_type_enforcement", TX_ERROR(INVALID_ETH_TYPE) },
		{ "hc_tx_err_gf_disabled", TX_ERROR(VF_DISABLED) },
		{ "hc_tx_err_inval_vportoffset_pkt",
		  TX_ERROR(VPORT_IDX_OUT_OF_RANGE) },
		{ "hc_tx_err_vport_disabled", TX_ERROR(VPORT_DISABLED) },
		{ "hc_tx_err_vlan_enforcement",
		  TX_ERROR(VLAN_TAGGING_VIOLATION) },
		{ "hc_tx_err_gdma", TX_ERROR(GDMA_ERR) },
	};
#undef TX_ERROR
	uint32_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (strcmp(name, values[i].name) == 0)
			return *values[i].value;
	return 0;
}

uint64_t
ethtool_stats_value(const struct kernel_netdev *netdev, uint32_t n)
{
	const struct ethtool_stats_group *group = group_of(netdev, &n);
	struct card_port_counters sum;

	/* mana_get_ethtool_stats() gives zeros while the netdev is down. */
	if (!netdev->is_up || group == NULL || !group->is_of_card)
		return 0;
	segment_lock();
	card_function_counters(netdev->fn, &sum);
	segment_unlock();
	return card_value(&sum, group->name[n]);
}

/* Linux include/linux/netdev_features.h, names of net/ethtool/common.c. */
static const char *const features[ETHTOOL_NB_FEATURES] = {
	"tx-scatter-gather", "tx-checksum-ipv4", "", "tx-checksum-ip-generic",
	"tx-checksum-ipv6", "highdma", "tx-scatter-gather-fraglist",
	"tx-vlan-hw-insert", "rx-vlan-hw-parse", "rx-vlan-filter",
	"vlan-challenged", "tx-generic-segmentation", "", "", "rx-gro",
	"rx-lro", "tx-tcp-segmentation", "tx-gso-robust",
	"tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation",
	"tx-tcp6-segmentation", "tx-fcoe-segmentation", "tx-gre-segmentation",
	"tx-gre-csum-segmentation", "tx-ipxip4-segmentation",
	"tx-ipxip6-segmentation", "tx-udp_tnl-segmentation",
	"tx-udp_tnl-csum-segmentation", "tx-gso-partial",
	"tx-tunnel-remcsum-segmentation", "tx-sctp-segmentation",
	"tx-esp-segmentation", "", "tx-udp-segmentation", "tx-gso-list",
	"tx-tcp-accecn-segmentation", "tx-checksum-fcoe-crc",
	"tx-checksum-sctp", "rx-ntuple-filter", "rx-hashing", "rx-checksum",
	"tx-nocache-copy", "loopback", "rx-fcs", "rx-all",
	"tx-vlan-stag-hw-insert", "rx-vlan-stag-hw-parse",
	"rx-vlan-stag-filter", "l2-fwd-offload", "hw-tc-offload",
	"esp-hw-offload", "esp-tx-csum-hw-offload",
	"rx-udp_tunnel-port-offload", "tls-hw-tx-offload", "tls-hw-rx-offload",
	"rx-gro-hw", "tls-hw-record", "rx-gro-list", "macsec-hw-offload",
	"rx-udp-gro-forwarding", "hsr-tag-ins-offload", "hsr-tag-rm-offload",
	"hsr-fwd-offload", "hsr-dup-offload",
};

/* Linux 7.2 mana_ethtool.c. */
static const char private_flag[] = "full-page-rx";

int
ethtool_set_count(const struct kernel_netdev *netdev, uint32_t set)
{
	switch (set) {
	case ETH_SS_STATS:
		return (int)stats_count(netdev);
	case ETH_SS_FEATURES:
		return ETHTOOL_NB_FEATURES;
	case ETH_SS_PRIV_FLAGS:
		return kernel_version()->has_private_flags ? 1 : -EINVAL;
	default: /* mana_get_sset_count() */
		return -EINVAL;
	}
}

void
ethtool_set_name(const struct kernel_netdev *netdev, uint32_t set, uint32_t n,
		 char name[ETHTOOL_NAME_BYTES])
{
	memset(name, 0, ETHTOOL_NAME_BYTES);
	if (set == ETH_SS_STATS)
		stats_name(netdev, n, name);
	else if (set == ETH_SS_FEATURES && n < ETHTOOL_NB_FEATURES)
		strcpy(name, features[n]);
	else if (set == ETH_SS_PRIV_FLAGS && n == 0)
		strcpy(name, private_flag);
}
