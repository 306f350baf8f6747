/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/ethtool.h>
#include <string.h>

#include "ethtool_sets.h"
#include "ethtool_stats.h"
#include "traits.h"

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
		return (int)ethtool_stats_count(netdev);
	case ETH_SS_FEATURES:
		return ETHTOOL_NB_FEATURES;
	case ETH_SS_PRIV_FLAGS:
		return kernel_traits()->has_private_flags ? 1 : -EINVAL;
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
		ethtool_stats_name(netdev, n, name);
	else if (set == ETH_SS_FEATURES && n < ETHTOOL_NB_FEATURES)
		strcpy(name, features[n]);
	else if (set == ETH_SS_PRIV_FLAGS && n == 0)
		strcpy(name, private_flag);
}
