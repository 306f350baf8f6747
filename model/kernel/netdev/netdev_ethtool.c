/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * ethtool(8) requests that drivers do not use. Comments name functions of Linux
 * net/ethtool/ioctl.c and mana_ethtool.c.
 */

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>

#include "card.h"
#include "ethtool_stats.h"
#include "function.h"
#include "kernel_version.h"
#include "mem.h"
#include "netdev.h"
#include "vport.h"

/* include/net/mana/mana.h */
#define MIN_RING 128 /* MIN_RX_BUFFERS_PER_QUEUE, MIN_TX_... */
#define MAX_RX_RING 8192
#define MAX_TX_RING 16384

#define COPY_IN(data, what) mem_read(model_self, data, &(what), sizeof(what))
#define COPY_OUT(data, what) mem_write(model_self, data, &(what), sizeof(what))

/* ethtool_get_sset_info() */
static int
get_set_info(const struct kernel_netdev *netdev, uint64_t data)
{
	struct ethtool_sset_info info;
	uint32_t set, length;
	uint64_t wanted;
	int rc, count;

	rc = COPY_IN(data, info);
	wanted = info.sset_mask;
	info.sset_mask = 0;
	for (set = 0; rc == 0 && set < 64; set++) {
		if ((wanted & (1ull << set)) == 0)
			continue;
		count = ethtool_set_count(netdev, set);
		if (count < 0)
			continue;
		length = (uint32_t)count;
		rc = COPY_OUT(data + sizeof(info) +
			      __builtin_popcountll(info.sset_mask) *
				      sizeof(length), length);
		info.sset_mask |= 1ull << set;
	}
	return rc < 0 ? rc : COPY_OUT(data, info);
}

/* ethtool_get_strings() */
static int
get_names(const struct kernel_netdev *netdev, uint64_t data)
{
	struct ethtool_gstrings head;
	char name[ETHTOOL_NAME_BYTES];
	int rc, count;
	uint32_t n;

	rc = COPY_IN(data, head);
	if (rc < 0)
		return rc;
	count = ethtool_set_count(netdev, head.string_set);
	if (count < 0)
		return count;
	head.len = (uint32_t)count;
	rc = COPY_OUT(data, head);
	for (n = 0; rc == 0 && n < head.len; n++) {
		ethtool_set_name(netdev, head.string_set, n, name);
		rc = COPY_OUT(data + sizeof(head) + n * sizeof(name), name);
	}
	return rc;
}

/* ethtool_get_stats() */
static int
get_statistics(const struct kernel_netdev *netdev, uint64_t data)
{
	struct ethtool_stats head = { .cmd = ETHTOOL_GSTATS };
	uint64_t value;
	uint32_t n;
	int rc;

	head.n_stats = (uint32_t)ethtool_set_count(netdev, ETH_SS_STATS);
	rc = COPY_OUT(data, head);
	for (n = 0; rc == 0 && n < head.n_stats; n++) {
		value = ethtool_stats_value(netdev, n);
		rc = COPY_OUT(data + sizeof(head) + n * sizeof(value), value);
	}
	return rc;
}

/* ethtool_get_features(): in words of 32. */
static int
get_features(uint64_t data)
{
	struct ethtool_get_features_block block;
	struct ethtool_gfeatures head;
	uint32_t i, nb_wanted;
	int rc;

	rc = COPY_IN(data, head);
	if (rc < 0)
		return rc;
	nb_wanted = head.size;
	head.size = ETHTOOL_NB_FEATURES / 32;
	rc = COPY_OUT(data, head);
	for (i = 0; rc == 0 && i < head.size && i < nb_wanted; i++) {
		block.available = (uint32_t)(FEATURES_AVAILABLE >> (32 * i));
		block.requested = (uint32_t)(FEATURES_SWITCHED_ON >> (32 * i));
		block.active = (uint32_t)(FEATURES_ACTIVE >> (32 * i));
		block.never_changed =
			(uint32_t)(FEATURES_NEVER_CHANGED >> (32 * i));
		rc = COPY_OUT(data + sizeof(head) + i * sizeof(block), block);
	}
	return rc;
}

/* ethtool_get_one_feature(), __ethtool_get_flags(); -1: not such a command. */
static int64_t
value_of(uint32_t cmd)
{
	switch (cmd) {
	case ETHTOOL_GRXCSUM:
	case ETHTOOL_GTXCSUM:
	case ETHTOOL_GSG:
	case ETHTOOL_GTSO:
	case ETHTOOL_GGSO:
	case ETHTOOL_GGRO:
		return 1;
	case ETHTOOL_GPFLAGS: /* full-page-rx is off */
		return 0;
	case ETHTOOL_GFLAGS:
		return ETH_FLAG_TXVLAN | ETH_FLAG_RXVLAN | ETH_FLAG_RXHASH;
	default:
		return -1;
	}
}

/* mana_set_channels() and ethtool_set_channels(). */
static int
check_channels(const struct kernel_netdev *netdev,
	       const struct ethtool_channels *wanted)
{
	bool is_free;

	if (wanted->rx_count != 0 || wanted->tx_count != 0 ||
	    wanted->other_count != 0 || wanted->combined_count == 0 ||
	    wanted->combined_count > NETDEV_MAX_CHANNELS)
		return -EINVAL;
	if (netdev->is_up || !kernel_version()->channels_are_busy)
		return 0;
	segment_lock();
	is_free = vport_is_free(netdev->fn, netdev->port);
	segment_unlock();
	return is_free ? 0 : -EBUSY;
}

static int
set_channels(const struct kernel_netdev *netdev, uint64_t data)
{
	struct ethtool_channels wanted;
	struct kernel_port *port;
	int rc;

	rc = COPY_IN(data, wanted);
	if (rc == 0 && wanted.combined_count == netdev->nb_channels &&
	    wanted.rx_count == 0 && wanted.tx_count == 0 &&
	    wanted.other_count == 0)
		return 0; /* no change */
	if (rc == 0)
		rc = check_channels(netdev, &wanted);
	if (rc < 0)
		return rc;
	segment_lock();
	port = &segment_kernel()->port[netdev->fn][netdev->port];
	port->nb_channels = wanted.combined_count;
	netdev_restart(port);
	segment_unlock();
	return 0;
}

static int
get_rings(const struct kernel_netdev *netdev, uint64_t data)
{
	struct ethtool_ringparam rings = {
		.cmd = ETHTOOL_GRINGPARAM,
		.rx_max_pending = MAX_RX_RING,
		.tx_max_pending = MAX_TX_RING,
		.rx_pending = netdev->rx_ring,
		.tx_pending = netdev->tx_ring,
	};

	return COPY_OUT(data, rings);
}

static uint32_t
next_power_of_two(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

/* ethtool_set_ringparam(), mana_set_ringparam(). */
static int
set_rings(const struct kernel_netdev *netdev, uint64_t data)
{
	struct ethtool_ringparam wanted;
	struct kernel_port *port;
	int rc;

	rc = COPY_IN(data, wanted);
	if (rc < 0)
		return rc;
	if (wanted.rx_mini_pending != 0 || wanted.rx_jumbo_pending != 0 ||
	    wanted.rx_pending < MIN_RING || wanted.rx_pending > MAX_RX_RING ||
	    wanted.tx_pending < MIN_RING || wanted.tx_pending > MAX_TX_RING)
		return -EINVAL;
	segment_lock();
	/* mana_set_ringparam() does not compare old and new values. */
	vport_netdev_changes(netdev->fn, netdev->port);
	port = &segment_kernel()->port[netdev->fn][netdev->port];
	port->rx_ring = next_power_of_two(wanted.rx_pending);
	port->tx_ring = next_power_of_two(wanted.tx_pending);
	netdev_restart(port);
	segment_unlock();
	return 0;
}

static int
get_rx_rings(const struct kernel_netdev *netdev, uint64_t data)
{
	/* ethtool_rxnfc_copy_to_user(): the old, short form */
	struct {
		uint32_t cmd, flow_type;
		uint64_t data;
	} rings = { .cmd = ETHTOOL_GRXRINGS, .data = netdev->nb_channels };

	return COPY_OUT(data, rings);
}

/* A query of the sizes; tables and keys of netdevs are not modelled. */
static int
get_rss(uint64_t data)
{
	struct ethtool_rxfh rss;
	int rc = COPY_IN(data, rss);

	if (rc < 0)
		return rc;
	if (rss.rss_context != 0 || rss.indir_size != 0 || rss.key_size != 0)
		return -EOPNOTSUPP;
	rss.indir_size = CARD_RSS_TABLE_SIZE;
	rss.key_size = CARD_RSS_KEY_BYTES;
	rss.hfunc = 1; /* ETH_RSS_HASH_TOP */
	return COPY_OUT(data, rss);
}

static int
get_indirection(uint64_t data)
{
	struct ethtool_rxfh_indir indir;
	int rc = COPY_IN(data, indir);

	if (rc < 0)
		return rc;
	if (indir.size != 0)
		return -EOPNOTSUPP;
	indir.size = CARD_RSS_TABLE_SIZE;
	return COPY_OUT(data, indir);
}

/* No operation of mana's own: software timestamps of received packets. */
static int
get_timestamping(uint64_t data)
{
	struct ethtool_ts_info info = {
		.cmd = ETHTOOL_GET_TS_INFO,
		.so_timestamping = SOF_TIMESTAMPING_RX_SOFTWARE |
				   SOF_TIMESTAMPING_SOFTWARE,
		.phc_index = -1,
	};

	return COPY_OUT(data, info);
}

int
netdev_ethtool_more(const struct kernel_netdev *netdev, uint32_t cmd,
		    uint64_t data)
{
	struct ethtool_coalesce coalesce = { .cmd = ETHTOOL_GCOALESCE };
	struct ethtool_value value = { .cmd = cmd };

	switch (cmd) {
	case ETHTOOL_GSSET_INFO:
		return get_set_info(netdev, data);
	case ETHTOOL_GSTRINGS:
		return get_names(netdev, data);
	case ETHTOOL_GSTATS:
		return get_statistics(netdev, data);
	case ETHTOOL_GFEATURES:
		return get_features(data);
	case ETHTOOL_GRXRINGS:
		return get_rx_rings(netdev, data);
	case ETHTOOL_GRSSH:
		return get_rss(data);
	case ETHTOOL_GRXFHINDIR:
		return get_indirection(data);
	case ETHTOOL_GET_TS_INFO:
		return get_timestamping(data);
	case ETHTOOL_SCHANNELS:
		return set_channels(netdev, data);
	case ETHTOOL_GRINGPARAM:
		return get_rings(netdev, data);
	case ETHTOOL_SRINGPARAM:
		return set_rings(netdev, data);
	case ETHTOOL_GCOALESCE: /* rx_cqe_frames is in netlink only */
		return COPY_OUT(data, coalesce);
	default:
		if (value_of(cmd) < 0)
			return -EOPNOTSUPP;
		value.data = (uint32_t)value_of(cmd);
		return COPY_OUT(data, value);
	}
}
