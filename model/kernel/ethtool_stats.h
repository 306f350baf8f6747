/* SPDX-License-Identifier: BSD-3-Clause */

/* Statistics of a netdev, as each age of kernel names them (traits.h). */

#ifndef MODEL_ETHTOOL_STATS_H
#define MODEL_ETHTOOL_STATS_H

#include "ethtool_sets.h"

/* Some of them in a row; a list of these ends with one that has none. */
struct ethtool_stats_group {
	uint32_t nb;
	uint32_t nb_repeats; /* of all nb; 0: for each channel */
	const char *const *name;
	const char *format;  /* number of the repeat, name; NULL: the name */
	bool is_of_card;     /* has values */
};

extern const struct ethtool_stats_group ethtool_stats_6_2[];
extern const struct ethtool_stats_group ethtool_stats_6_12[];
extern const struct ethtool_stats_group ethtool_stats_7_2[];

uint32_t ethtool_stats_count(const struct kernel_netdev *netdev);
/* name is left as it is for n past the last. */
void ethtool_stats_name(const struct kernel_netdev *netdev, uint32_t n,
			char name[ETHTOOL_NAME_BYTES]);
uint64_t ethtool_stats_value(const struct kernel_netdev *netdev, uint32_t n);

#endif /* MODEL_ETHTOOL_STATS_H */
