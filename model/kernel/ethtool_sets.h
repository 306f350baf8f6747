/* SPDX-License-Identifier: BSD-3-Clause */

/* What ethtool has names for: statistics, features, private flags. */

#ifndef MODEL_ETHTOOL_SETS_H
#define MODEL_ETHTOOL_SETS_H

#include "kernel.h"

#define ETHTOOL_NAME_BYTES 32 /* ETH_GSTRING_LEN */

/* Number of names of a set (ETH_SS_*), or -EINVAL. */
int ethtool_set_count(const struct kernel_netdev *netdev, uint32_t set);
/* Name n of a set, filled up with zeros. */
void ethtool_set_name(const struct kernel_netdev *netdev, uint32_t set,
		      uint32_t n, char name[ETHTOOL_NAME_BYTES]);

/* Bits of features, numbered as their names are (netdev_features.h). */
#define ETHTOOL_NB_FEATURES 64
#define FEATURE_SG (1ull << 0)
#define FEATURE_IP_CSUM (1ull << 1)
#define FEATURE_IPV6_CSUM (1ull << 4)
#define FEATURE_VLAN_TX (1ull << 7)
#define FEATURE_VLAN_RX (1ull << 8)
#define FEATURE_GSO (1ull << 11)
#define FEATURE_GRO (1ull << 14)
#define FEATURE_TSO (1ull << 16)
#define FEATURE_TSO_MANGLEID (1ull << 19)
#define FEATURE_TSO6 (1ull << 20)
#define FEATURE_RXHASH (1ull << 39)
#define FEATURE_RXCSUM (1ull << 40)
#define FEATURE_NOCACHE_COPY (1ull << 41)
#define FEATURE_GRO_FRAGLIST (1ull << 57)
#define FEATURE_GRO_UDP_FWD (1ull << 59)

/* Those that are on, and those that can be switched (hw_features). */
#define FEATURES_SWITCHED_ON                                            \
	(FEATURE_SG | FEATURE_IP_CSUM | FEATURE_IPV6_CSUM |             \
	 FEATURE_RXCSUM | FEATURE_TSO | FEATURE_TSO6 | FEATURE_RXHASH | \
	 FEATURE_GSO | FEATURE_GRO)
#define FEATURES_ACTIVE \
	(FEATURES_SWITCHED_ON | FEATURE_VLAN_TX | FEATURE_VLAN_RX)
#define FEATURES_AVAILABLE                                              \
	(FEATURES_SWITCHED_ON | FEATURE_NOCACHE_COPY |                  \
	 FEATURE_TSO_MANGLEID | FEATURE_GRO_FRAGLIST | FEATURE_GRO_UDP_FWD)
#define FEATURES_NEVER_CHANGED (1ull << 10) /* vlan-challenged */

#endif /* MODEL_ETHTOOL_SETS_H */
