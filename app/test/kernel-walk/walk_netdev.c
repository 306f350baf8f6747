/* SPDX-License-Identifier: BSD-3-Clause */

/* Interface and ethtool ioctls of the netdevs. */

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netdev.h"
#include "walk.h"

static int
any_socket(void)
{
	static int sock = -1;

	if (sock < 0)
		sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return sock;
}

static int
ioctl_by_name(const char *name, unsigned long request, struct ifreq *ifr)
{
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%.15s", name);
	return ioctl(any_socket(), request, ifr) < 0 ? errno : 0;
}

int
netdev_ioctl(uint32_t port, unsigned long request, struct ifreq *ifr)
{
	return ioctl_by_name(walk_device.netdev[port], request, ifr);
}

int
netdev_set_up(uint32_t port, bool up)
{
	struct ifreq ifr;
	int error;

	memset(&ifr, 0, sizeof(ifr));
	error = netdev_ioctl(port, SIOCGIFFLAGS, &ifr);
	if (error != 0)
		return error;
	if (up)
		ifr.ifr_flags |= IFF_UP;
	else
		ifr.ifr_flags &= ~IFF_UP;
	return netdev_ioctl(port, SIOCSIFFLAGS, &ifr);
}

int
netdev_set_mtu(uint32_t port, int mtu)
{
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	ifr.ifr_mtu = mtu;
	return netdev_ioctl(port, SIOCSIFMTU, &ifr);
}

int
netdev_ethtool(uint32_t port, void *data)
{
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	ifr.ifr_data = data;
	return netdev_ioctl(port, SIOCETHTOOL, &ifr);
}

static void
interface(uint32_t port)
{
	struct ethtool_value link = { .cmd = ETHTOOL_GLINK };
	struct ifreq ifr;
	int error;

	memset(&ifr, 0, sizeof(ifr));
	error = netdev_ioctl(port, SIOCGIFINDEX, &ifr);
	walk_say(error, "SIOCGIFINDEX", "%s",
		 (uint32_t)ifr.ifr_ifindex == walk_device.ifindex[port] ?
			 "as in sysfs" :
			 "not as in sysfs");
	error = ioctl(any_socket(), SIOCGIFNAME, &ifr) < 0 ? errno : 0;
	walk_say(error, "SIOCGIFNAME", "%s", walk_symbols(ifr.ifr_name));
	error = netdev_ioctl(port, SIOCGIFFLAGS, &ifr);
	walk_say(error, "SIOCGIFFLAGS", "0x%x", (uint16_t)ifr.ifr_flags);
	error = netdev_ioctl(port, SIOCGIFMTU, &ifr);
	walk_say(error, "SIOCGIFMTU", "%d", ifr.ifr_mtu);
	error = netdev_ioctl(port, SIOCGIFMETRIC, &ifr);
	walk_say(error, "SIOCGIFMETRIC", "%d", ifr.ifr_metric);
	error = netdev_ioctl(port, SIOCGIFTXQLEN, &ifr);
	walk_say(error, "SIOCGIFTXQLEN", "%d", ifr.ifr_qlen);
	memset(&ifr, 0, sizeof(ifr));
	error = netdev_ioctl(port, SIOCGIFHWADDR, &ifr);
	walk_say(error, "SIOCGIFHWADDR", "family %u, address %s",
		 ifr.ifr_hwaddr.sa_family,
		 memcmp(ifr.ifr_hwaddr.sa_data, "\0\0\0\0\0\0", 6) == 0 ? "0" :
									  "MAC");
	walk_result(netdev_ioctl(port, SIOCSIFHWADDR, &ifr),
		    "SIOCSIFHWADDR, the same");
	memset(&ifr, 0, sizeof(ifr));
	walk_result(netdev_ioctl(port, SIOCGIFADDR, &ifr), "SIOCGIFADDR");
	error = netdev_ioctl(port, SIOCGIFMAP, &ifr);
	walk_say(error, "SIOCGIFMAP", "irq %u", ifr.ifr_map.irq);
	walk_result(netdev_ioctl(port, SIOCGMIIPHY, &ifr), "SIOCGMIIPHY");
	walk_result(netdev_ioctl(port, SIOCDEVPRIVATE, &ifr), "SIOCDEVPRIVATE");
	walk_result(netdev_ioctl(port, SIOCGHWTSTAMP, &ifr), "SIOCGHWTSTAMP");
	walk_result(netdev_ioctl(port, SIOCETHTOOL, &ifr),
		    "SIOCETHTOOL, data at 0");
	walk_result(ioctl_by_name("nosuchdev0", SIOCGIFINDEX, &ifr),
		    "unknown name, SIOCGIFINDEX");
	ifr.ifr_data = (void *)&link;
	walk_result(ioctl_by_name("nosuchdev0", SIOCETHTOOL, &ifr),
		    "unknown name, SIOCETHTOOL");
}

static void
change_mtu(uint32_t port)
{
	static const int mtus[] = { 67,	  68,	 1500, 9000, 1501, 9216,
				    9217, 65535, 0,    -1,   1500 };
	struct ifreq ifr;
	char what[32];
	int error;

	memset(&ifr, 0, sizeof(ifr));
	for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		snprintf(what, sizeof(what), "set MTU %d", mtus[i]);
		walk_result(netdev_set_mtu(port, mtus[i]), what);
	}
	error = netdev_ioctl(port, SIOCGIFMTU, &ifr);
	walk_say(error, "MTU then", "%d", ifr.ifr_mtu);
}

static void
change_queue_length(uint32_t port)
{
	static const int lengths[] = { 500, -1, 1000 };
	struct ifreq ifr;
	char what[32];

	memset(&ifr, 0, sizeof(ifr));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		ifr.ifr_qlen = lengths[i];
		snprintf(what, sizeof(what), "Tx queue length %d", lengths[i]);
		walk_result(netdev_ioctl(port, SIOCSIFTXQLEN, &ifr), what);
	}
}

/* ---- ethtool ---- */

static void
driver(uint32_t port)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	int error;

	error = netdev_ethtool(port, &info);
	walk_say(error, "GDRVINFO",
		 "driver %s, fw_version \"%s\", bus %s, erom \"%s\", "
		 "n_priv_flags %u, testinfo_len %u, eedump_len %u, "
		 "regdump_len %u",
		 info.driver, info.fw_version, walk_symbols(info.bus_info),
		 info.erom_version, info.n_priv_flags, info.testinfo_len,
		 info.eedump_len, info.regdump_len);
	walk_note("GDRVINFO n_stats", "%u", info.n_stats);
}

static void
link_settings(uint32_t port)
{
	/* Ends with three masks of up to 127 words. */
	union {
		struct ethtool_link_settings head;
		uint32_t room[sizeof(struct ethtool_link_settings) / 4 + 3 * 127];
	} all;
	struct ethtool_cmd old = { .cmd = ETHTOOL_GSET };
	struct ethtool_value link = { .cmd = ETHTOOL_GLINK };
	int error, nb_words;

	error = netdev_ethtool(port, &link);
	walk_say(error, "GLINK", "%u", link.data);
	memset(&all, 0, sizeof(all));
	all.head.cmd = ETHTOOL_GLINKSETTINGS;
	error = netdev_ethtool(port, &all);
	nb_words = all.head.link_mode_masks_nwords;
	walk_say(error, "GLINKSETTINGS, handshake", "%s",
		 nb_words < 0 ? "number of words" : "none");
	if (error == 0 && nb_words < 0) {
		all.head.cmd = ETHTOOL_GLINKSETTINGS;
		all.head.link_mode_masks_nwords = (int8_t)-nb_words;
		error = netdev_ethtool(port, &all);
		walk_say(error, "GLINKSETTINGS",
			 "speed %d, duplex %u, port %u, phy %u, autoneg %u, "
			 "mdio %u, eth_tp_mdix %u, transceiver %u, "
			 "masks %s",
			 (int)all.head.speed, all.head.duplex, all.head.port,
			 all.head.phy_address, all.head.autoneg,
			 all.head.mdio_support, all.head.eth_tp_mdix,
			 all.head.transceiver,
			 all.head.link_mode_masks[0] == 0 ? "0" : "set");
	}
	error = netdev_ethtool(port, &old);
	walk_say(error, "GSET", "speed %d, duplex %u, port %u, autoneg %u",
		 (int)ethtool_cmd_speed(&old), old.duplex, old.port, old.autoneg);
}

static void
rings(uint32_t port)
{
	struct ethtool_ringparam ring = { .cmd = ETHTOOL_GRINGPARAM };
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	struct ethtool_coalesce coalesce = { .cmd = ETHTOOL_GCOALESCE };
	struct ethtool_pauseparam pause = { .cmd = ETHTOOL_GPAUSEPARAM };
	int error;

	error = netdev_ethtool(port, &ring);
	walk_say(error, "GRINGPARAM",
		 "rx %u of %u, tx %u of %u, mini %u of %u, jumbo %u of %u",
		 ring.rx_pending, ring.rx_max_pending, ring.tx_pending,
		 ring.tx_max_pending, ring.rx_mini_pending,
		 ring.rx_mini_max_pending, ring.rx_jumbo_pending,
		 ring.rx_jumbo_max_pending);
	if (error == 0) {
		ring.cmd = ETHTOOL_SRINGPARAM;
		ring.rx_pending = 100;
		walk_result(netdev_ethtool(port, &ring), "SRINGPARAM rx 100");
		ring.rx_pending = 10000;
		walk_result(netdev_ethtool(port, &ring), "SRINGPARAM rx 10000");
		ring.rx_pending = 300;
		walk_result(netdev_ethtool(port, &ring), "SRINGPARAM rx 300");
		ring.cmd = ETHTOOL_GRINGPARAM;
		netdev_ethtool(port, &ring);
		walk_note("GRINGPARAM then", "rx %u, tx %u", ring.rx_pending,
			  ring.tx_pending);
	}
	error = netdev_ethtool(port, &channels);
	walk_say(error, "GCHANNELS",
		 "max rx %u, max tx %u, max other %u, rx %u, tx %u, other %u",
		 channels.max_rx, channels.max_tx, channels.max_other,
		 channels.rx_count, channels.tx_count, channels.other_count);
	walk_note("GCHANNELS combined", "%u of %u", channels.combined_count,
		  channels.max_combined);
	channels.cmd = ETHTOOL_SCHANNELS;
	channels.combined_count = channels.max_combined + 1;
	walk_result(netdev_ethtool(port, &channels),
		    "SCHANNELS above the maximum");
	channels.combined_count = 0;
	walk_result(netdev_ethtool(port, &channels), "SCHANNELS 0");
	error = netdev_ethtool(port, &coalesce);
	walk_say(error, "GCOALESCE",
		 "rx %u us %u frames, tx %u us %u frames, adaptive %u %u",
		 coalesce.rx_coalesce_usecs, coalesce.rx_max_coalesced_frames,
		 coalesce.tx_coalesce_usecs, coalesce.tx_max_coalesced_frames,
		 coalesce.use_adaptive_rx_coalesce,
		 coalesce.use_adaptive_tx_coalesce);
	walk_result(netdev_ethtool(port, &pause), "GPAUSEPARAM");
}

/* A counter of a queue is printed for queue 0 only. */
static bool
is_of_other_queue(const char *counter)
{
	char *end;

	if (strncmp(counter, "rx_", 3) != 0 && strncmp(counter, "tx_", 3) != 0)
		return false;
	return strtoul(counter + 3, &end, 10) > 0 && *end == '_' &&
	       end > counter + 3;
}

static void
print_names(uint32_t port, uint32_t set, const char *what, uint32_t count)
{
	struct ethtool_gstrings *names;
	int error;

	names = calloc(1, sizeof(*names) + (size_t)count * ETH_GSTRING_LEN);
	if (names == NULL)
		return;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = set;
	names->len = count;
	error = netdev_ethtool(port, names);
	walk_say(error, what, "%s",
		 names->len == count ? "as counted" : "not as counted");
	for (uint32_t i = 0; i < names->len && i < count; i++) {
		const char *name = (char *)names->data + i * ETH_GSTRING_LEN;

		if (!is_of_other_queue(name))
			walk_note(what, "%.32s", name);
	}
	free(names);
}

static void
string_sets(uint32_t port)
{
	union {
		struct ethtool_sset_info head; /* ends with a count */
		uint32_t room[sizeof(struct ethtool_sset_info) / 4 + 1];
	} info;
	char what[64];
	int error;

	for (uint32_t set = 0; set < 24; set++) {
		memset(&info, 0, sizeof(info));
		info.head.cmd = ETHTOOL_GSSET_INFO;
		info.head.sset_mask = UINT64_C(1) << set;
		snprintf(what, sizeof(what), "GSSET_INFO of set %u", set);
		error = netdev_ethtool(port, &info);
		walk_say(error, what, "%s",
			 info.head.sset_mask == 0 ? "no such set" : "exists");
		if (set != ETH_SS_STATS && set != ETH_SS_PRIV_FLAGS)
			continue;
		snprintf(what, sizeof(what), "GSTRINGS of set %u", set);
		if (info.head.sset_mask != 0)
			print_names(port, set, what, info.head.data[0]);
	}
}

/* Commands that mana does not have, or that only read a flag. */
static void
other_commands(uint32_t port)
{
	static const struct {
		const char *name;
		uint32_t cmd;
	} commands[] = {
		{ "GWOL", ETHTOOL_GWOL },
		{ "GREGS", ETHTOOL_GREGS },
		{ "GMSGLVL", ETHTOOL_GMSGLVL },
		{ "NWAY_RST", ETHTOOL_NWAY_RST },
		{ "GEEPROM", ETHTOOL_GEEPROM },
		{ "GRXCSUM", ETHTOOL_GRXCSUM },
		{ "GTXCSUM", ETHTOOL_GTXCSUM },
		{ "GSG", ETHTOOL_GSG },
		{ "GTSO", ETHTOOL_GTSO },
		{ "GUFO", ETHTOOL_GUFO },
		{ "GGSO", ETHTOOL_GGSO },
		{ "GGRO", ETHTOOL_GGRO },
		{ "GFLAGS", ETHTOOL_GFLAGS },
		{ "GPFLAGS", ETHTOOL_GPFLAGS },
		{ "PHYS_ID", ETHTOOL_PHYS_ID },
		{ "RESET", ETHTOOL_RESET },
		{ "GEEE", ETHTOOL_GEEE },
		{ "GMODULEINFO", ETHTOOL_GMODULEINFO },
		{ "GTUNABLE", ETHTOOL_GTUNABLE },
		{ "GFECPARAM", ETHTOOL_GFECPARAM },
		{ "GET_DUMP_FLAG", ETHTOOL_GET_DUMP_FLAG },
		{ "0xdead", 0xdead },
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		union {
			struct ethtool_value value;
			char room[512];
		} data;
		int error;

		memset(&data, 0, sizeof(data));
		data.value.cmd = commands[i].cmd;
		error = netdev_ethtool(port, &data);
		walk_say(error, commands[i].name, "0x%x", data.value.data);
	}
}

static void
more(uint32_t port)
{
	union {
		struct ethtool_perm_addr head; /* ends with the address */
		uint8_t room[sizeof(struct ethtool_perm_addr) + 32];
	} address = { .head = { .cmd = ETHTOOL_GPERMADDR, .size = 32 } };
	union {
		struct ethtool_gfeatures head; /* ends with blocks */
		uint8_t room[sizeof(struct ethtool_gfeatures) +
			     4 * sizeof(struct ethtool_get_features_block)];
	} features = { .head = { .cmd = ETHTOOL_GFEATURES, .size = 4 } };
	struct ethtool_rxnfc rxnfc = { .cmd = ETHTOOL_GRXRINGS };
	struct ethtool_rxfh rxfh = { .cmd = ETHTOOL_GRSSH };
	struct ethtool_rxfh_indir indir = { .cmd = ETHTOOL_GRXFHINDIR };
	struct ethtool_ts_info ts = { .cmd = ETHTOOL_GET_TS_INFO };
	int error;

	error = netdev_ethtool(port, &address);
	walk_say(error, "GPERMADDR", "size %u", address.head.size);
	address.head.size = 4;
	walk_result(netdev_ethtool(port, &address), "GPERMADDR of 4 bytes");
	error = netdev_ethtool(port, &features);
	walk_say(error, "GFEATURES", "%u words", features.head.size);
	for (uint32_t i = 0; i < features.head.size && i < 4; i++)
		walk_note("GFEATURES",
			  "available 0x%x, requested 0x%x, "
			  "active 0x%x, never changed 0x%x",
			  features.head.features[i].available,
			  features.head.features[i].requested,
			  features.head.features[i].active,
			  features.head.features[i].never_changed);
	error = netdev_ethtool(port, &rxnfc);
	walk_say(error, "GRXRINGS", "%s", rxnfc.data != 0 ? "rings" : "0");
	error = netdev_ethtool(port, &rxfh);
	walk_say(error, "GRSSH", "table %u, key %u, function %u",
		 rxfh.indir_size, rxfh.key_size, rxfh.hfunc);
	error = netdev_ethtool(port, &indir);
	walk_say(error, "GRXFHINDIR", "%u", indir.size);
	error = netdev_ethtool(port, &ts);
	walk_say(error, "GET_TS_INFO", "so 0x%x, phc %d, tx 0x%x, rx 0x%x",
		 ts.so_timestamping, ts.phc_index, ts.tx_types, ts.rx_filters);
}

static void
set_up(void)
{
	walk_result(netdev_set_up(0, true), "set it up");
	walk_settle();
}

void
walk_netdev(void)
{
	static const char *const names[2][2] = {
		{ "port 1 down", "port 1 down, ethtool" },
		{ "port 1 up", "port 1 up, ethtool" },
	};

	for (int up = 0; up < 2; up++) {
		walk_name(names[up][0]);
		if (up)
			set_up();
		interface(0);
		change_mtu(0);
		change_queue_length(0);
		walk_name(names[up][1]);
		driver(0);
		link_settings(0);
		rings(0);
		string_sets(0);
		other_commands(0);
		more(0);
	}
	walk_name("port 1 up");
	walk_result(netdev_set_up(0, false), "set it down");
}
