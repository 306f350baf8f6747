/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/ethtool.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "ethtool_sets.h"
#include "hw.h"
#include "segment.h"

#define NB_OF(array) (sizeof(array) / sizeof((array)[0]))

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

/* Linux 7.2 mana_ethtool.c, as are all below. */
static const char private_flag[] = "full-page-rx";

static const char *const of_port[] = {
	"stop_queue", "wake_queue", "tx_cq_err", "tx_cqe_unknown_type",
	"tx_linear_pkt_cnt", "rx_cqe_unknown_type",
};

/* Counted by the card, for all ports of the function together. */
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

/* Of the physical port: drops, then by traffic class. */
#define NB_CLASSES 8
static const char *const of_drops[] = { "hc_rx_pkt_drop_phy",
					"hc_tx_pkt_drop_phy" };
static const char *const of_class[] = { "rx_pkt", "rx_byte", "tx_pkt",
					"tx_byte" };
static const char *const of_pause[] = { "rx_pause", "tx_pause" };

static const char *const of_rx_queue[] = {
	"packets", "bytes", "xdp_drop", "xdp_tx", "xdp_redirect",
	"pkt_len0_err", "coalesced_cqe_2", "coalesced_cqe_3",
	"coalesced_cqe_4",
};
static const char *const of_tx_queue[] = {
	"packets", "bytes", "xdp_xmit", "tso_packets", "tso_bytes",
	"tso_inner_packets", "tso_inner_bytes", "long_pkt_fmt",
	"short_pkt_fmt", "csum_partial", "mana_map_err",
};

#define NB_PHYSICAL \
	(NB_OF(of_drops) + NB_CLASSES * (NB_OF(of_class) + NB_OF(of_pause)))

static uint32_t
nb_statistics(const struct kernel_netdev *netdev)
{
	return NB_OF(of_port) + NB_OF(of_card) + NB_PHYSICAL +
		netdev->nb_channels *
			(NB_OF(of_rx_queue) + NB_OF(of_tx_queue));
}

/* n is below what there is; *n becomes the place after the group. */
static bool
is_in(uint32_t *n, uint32_t nb)
{
	if (*n < nb)
		return true;
	*n -= nb;
	return false;
}

/* One of nb groups of the same names. */
static void
name_of_many(char *name, const char *format, uint32_t group, const char *each)
{
	snprintf(name, ETHTOOL_NAME_BYTES, format, group, each);
}

static void
statistic_name(const struct kernel_netdev *netdev, uint32_t n,
	       char name[ETHTOOL_NAME_BYTES])
{
	const uint32_t nb_class = NB_OF(of_class), nb_pause = NB_OF(of_pause);
	const uint32_t nb_rx = NB_OF(of_rx_queue), nb_tx = NB_OF(of_tx_queue);

	if (is_in(&n, NB_OF(of_port)))
		strcpy(name, of_port[n]);
	else if (is_in(&n, NB_OF(of_card)))
		strcpy(name, of_card[n]);
	else if (is_in(&n, NB_OF(of_drops)))
		strcpy(name, of_drops[n]);
	else if (is_in(&n, NB_CLASSES * nb_class))
		name_of_many(name, "hc_tc%u_%s_phy", n / nb_class,
			     of_class[n % nb_class]);
	else if (is_in(&n, NB_CLASSES * nb_pause))
		name_of_many(name, "hc_tc%u_%s_phy", n / nb_pause,
			     of_pause[n % nb_pause]);
	else if (is_in(&n, netdev->nb_channels * nb_rx))
		name_of_many(name, "rx_%u_%s", n / nb_rx,
			     of_rx_queue[n % nb_rx]);
	else if (is_in(&n, netdev->nb_channels * nb_tx))
		name_of_many(name, "tx_%u_%s", n / nb_tx,
			     of_tx_queue[n % nb_tx]);
}

int
ethtool_set_count(const struct kernel_netdev *netdev, uint32_t set)
{
	switch (set) {
	case ETH_SS_STATS:
		return (int)nb_statistics(netdev);
	case ETH_SS_FEATURES:
		return ETHTOOL_NB_FEATURES;
	case ETH_SS_PRIV_FLAGS:
		return 1;
	default:
		return -EOPNOTSUPP;
	}
}

void
ethtool_set_name(const struct kernel_netdev *netdev, uint32_t set, uint32_t n,
		 char name[ETHTOOL_NAME_BYTES])
{
	memset(name, 0, ETHTOOL_NAME_BYTES);
	if (set == ETH_SS_STATS)
		statistic_name(netdev, n, name);
	else if (set == ETH_SS_FEATURES && n < ETHTOOL_NB_FEATURES)
		strcpy(name, features[n]);
	else if (set == ETH_SS_PRIV_FLAGS && n == 0)
		strcpy(name, private_flag);
}

/* The counters of all ports of a function; with the lock. */
static void
add_up(uint32_t fn, struct device_port_counters *sum)
{
	struct device_port_counters one;
	uint32_t p, i;

	memset(sum, 0, sizeof(*sum));
	for (p = 0; p < segment_config()->nb_ports[fn]; p++) {
		device_port_counters(fn, p, &one);
		sum->rx_no_wqe += one.rx_no_wqe;
		sum->rx_no_steering += one.rx_no_steering;
		sum->rx_bytes += one.rx_bytes;
		sum->tx_bytes += one.tx_bytes;
		for (i = 0; i < DEVICE_NB_TX_ERRORS; i++)
			sum->tx_errors[i] += one.tx_errors[i];
	}
}

/* Of what the model's card counts; the rest is 0. */
static uint64_t
card_value(const struct device_port_counters *sum, const char *name)
{
	static const char *const errors[DEVICE_NB_TX_ERRORS] = {
		"hc_tx_err_sa_enforcement", "hc_tx_err_mtu_violation",
		"hc_tx_err_inval_oob", "hc_tx_err_eth_type_enforcement",
		"", "hc_tx_err_gf_disabled", "hc_tx_err_inval_vportoffset_pkt",
		"hc_tx_err_vport_disabled", "hc_tx_err_vlan_enforcement",
		"hc_tx_err_gdma",
	};
	uint32_t i;

	for (i = 0; i < DEVICE_NB_TX_ERRORS; i++)
		if (strcmp(name, errors[i]) == 0)
			return sum->tx_errors[i];
	if (strcmp(name, "hc_rx_discards_no_wqe") == 0)
		return sum->rx_no_wqe;
	if (strcmp(name, "hc_rx_err_vport_disabled") == 0)
		return sum->rx_no_steering;
	if (strcmp(name, "hc_rx_bytes") == 0)
		return sum->rx_bytes;
	return strcmp(name, "hc_tx_bytes") == 0 ? sum->tx_bytes : 0;
}

uint64_t
ethtool_statistic(const struct kernel_netdev *netdev, uint32_t n)
{
	struct device_port_counters sum;

	/* mana_get_ethtool_stats() returns at once while it is down. */
	if (!netdev->is_up || is_in(&n, NB_OF(of_port)) ||
	    n >= NB_OF(of_card))
		return 0;
	segment_lock();
	add_up(netdev->fn, &sum);
	segment_unlock();
	return card_value(&sum, of_card[n]);
}
