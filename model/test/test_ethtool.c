/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * ethtool on the netdev of a port: what mana-kernel-walk, which has evidence of
 * Linux, cannot ask for or does not change. Run under mana-model with two functions of
 * two ports.
 */

#include <linux/ethtool.h>

#include "verbs_fixture.h"

#define NAME "mana1p1" /* the fourth port of the machine */

TEST(channels_are_changed)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_SCHANNELS,
					     .combined_count = 1 };
	struct ethtool_drvinfo driver = { .cmd = ETHTOOL_GDRVINFO };

	assert_int_equal(fx_ethtool(NAME, &driver), 0);
	assert_string_equal(driver.bus_info, "7871:00:00.0");
	assert_int_equal(fx_ethtool(NAME, &channels), 0);
	channels.cmd = ETHTOOL_GCHANNELS;
	assert_int_equal(fx_ethtool(NAME, &channels), 0);
	assert_int_equal(channels.combined_count, 1);
	channels.cmd = ETHTOOL_SCHANNELS;
	channels.combined_count = 16;
	assert_int_equal(fx_ethtool(NAME, &channels), 0);
	assert_int_equal(fx_ethtool(NAME, (void *)8), EFAULT);
}

/* Each statistic has a unique name, and a value. */
TEST(statistics_have_unique_names)
{
	/* With room for the flexible array: a count per set. */
	struct ethtool_sset_info *sets =
		calloc(1, sizeof(*sets) + 2 * sizeof(uint32_t));
	struct ethtool_gstrings *names;
	struct ethtool_stats *stats;
	const char *name;
	uint32_t i, nb;

	sets->cmd = ETHTOOL_GSSET_INFO;
	sets->sset_mask = 1ull << ETH_SS_TEST | 1ull << ETH_SS_STATS |
			  1ull << ETH_SS_FEATURES;
	assert_int_equal(fx_ethtool(NAME, sets), 0);
	assert_int_equal(sets->sset_mask,
			 1ull << ETH_SS_STATS | 1ull << ETH_SS_FEATURES);
	nb = sets->data[0];
	/* 6 + 27 of the port, 50 physical, 13 + 11 of each of 16 queues. */
	assert_int_equal(nb, 6 + 27 + 50 + 16 * 24);
	assert_int_equal(sets->data[1], 64);
	free(sets);

	names = calloc(1, sizeof(*names) + nb * ETH_GSTRING_LEN);
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_TEST; /* it has none */
	assert_int_equal(fx_ethtool(NAME, names), EINVAL);
	names->string_set = ETH_SS_STATS;
	assert_int_equal(fx_ethtool(NAME, names), 0);
	assert_int_equal(names->len, nb);
	name = (const char *)names->data;
	assert_string_equal(name + 6 * 32, "hc_rx_discards_no_wqe");
	assert_string_equal(name + (6 + 27 + 2 + 31) * 32, "hc_tc7_tx_byte_phy");
	assert_string_equal(name + (nb - 1) * 32, "tx_15_mana_map_err");
	for (i = 1; i < nb; i++)
		assert_string_not_equal(name + i * 32, name + (i - 1) * 32);
	stats = calloc(1, sizeof(*stats) + nb * sizeof(uint64_t));
	stats->cmd = ETHTOOL_GSTATS;
	assert_int_equal(fx_ethtool(NAME, stats), 0);
	assert_int_equal(stats->n_stats, nb);
	assert_int_equal(stats->data[nb - 1], 0);
	free(names);
	free(stats);
}

/* The link speed, as set by a command. */
TEST(speed_is_reported_by_card)
{
	uint32_t words[128] = { ETHTOOL_GLINKSETTINGS };
	struct ethtool_link_settings *link = (void *)words;

	fx_do("speed port=4 mbps=40000");
	assert_int_equal(fx_ethtool(NAME, link), 0);
	link->link_mode_masks_nwords *= -1;
	assert_int_equal(fx_ethtool(NAME, link), 0);
	assert_int_equal(link->speed, 40000);
	fx_do("speed port=4 unknown");
	assert_int_equal(fx_ethtool(NAME, link), 0);
	assert_int_equal(link->speed, UINT32_MAX);
	assert_int_equal(fx_command("speed port=4"), -EINVAL);
	assert_non_null(strstr(fx_message, "mbps=N"));
	fx_do("speed port=4 mbps=200000");
}
