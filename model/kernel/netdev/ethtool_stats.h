/* SPDX-License-Identifier: BSD-3-Clause */

/* Names in ethtool for a netdev: statistics, features, private flags. */

#ifndef MODEL_ETHTOOL_STATS_H
#define MODEL_ETHTOOL_STATS_H

#include "kernel.h"

#define ETHTOOL_NAME_BYTES 32 /* ETH_GSTRING_LEN */

/* The number of names of a set (ETH_SS_*), or -EINVAL. */
int ethtool_set_count(const struct kernel_netdev *netdev, uint32_t set);
/* Name n of a set, padded with zeros. */
void ethtool_set_name(const struct kernel_netdev *netdev, uint32_t set,
		      uint32_t n, char name[ETHTOOL_NAME_BYTES]);

/* Bits of features, in the order of their names (netdev_features.h). */
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

/* Features that are on, and features that can be changed (hw_features). */
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

/* Consecutive statistics; a list of groups ends with an empty one. */
struct ethtool_stats_group {
	uint32_t nb;
	uint32_t nb_repeats; /* repetitions of all nb; 0: one per channel */
	const char *const *name;
	const char *format;  /* with repetition and name; NULL: name only */
	bool is_of_card;     /* counted by the card */
};

extern const struct ethtool_stats_group ethtool_stats_6_2[];
extern const struct ethtool_stats_group ethtool_stats_6_12[];
extern const struct ethtool_stats_group ethtool_stats_7_2[];
extern const struct ethtool_stats_group ethtool_stats_7_3[];

uint64_t ethtool_stats_value(const struct kernel_netdev *netdev, uint32_t n);

#endif /* MODEL_ETHTOOL_STATS_H */
