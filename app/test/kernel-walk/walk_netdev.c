/* SPDX-License-Identifier: BSD-3-Clause */

/* Interface ioctls of the netdevs, and the ethtool ones that drivers use. */

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
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
		 "testinfo_len %u, eedump_len %u, regdump_len %u",
		 info.driver, info.fw_version, walk_symbols(info.bus_info),
		 info.erom_version, info.testinfo_len, info.eedump_len,
		 info.regdump_len);
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
channels(uint32_t port)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	int error = netdev_ethtool(port, &channels);

	walk_say(error, "GCHANNELS",
		 "max rx %u, max tx %u, max other %u, rx %u, tx %u, other %u",
		 channels.max_rx, channels.max_tx, channels.max_other,
		 channels.rx_count, channels.tx_count, channels.other_count);
	walk_note("GCHANNELS combined", "%u of %u", channels.combined_count,
		  channels.max_combined);
}

/* Commands that mana does not have. */
static void
other_commands(uint32_t port)
{
	struct ethtool_wolinfo wake = { .cmd = ETHTOOL_GWOL };
	struct ethtool_value unknown = { .cmd = 0xdead };

	walk_result(netdev_ethtool(port, &wake), "GWOL");
	walk_result(netdev_ethtool(port, &unknown), "0xdead");
}

static void
permanent_address(uint32_t port)
{
	union {
		struct ethtool_perm_addr head; /* ends with the address */
		uint8_t room[sizeof(struct ethtool_perm_addr) + 32];
	} address = { .head = { .cmd = ETHTOOL_GPERMADDR, .size = 32 } };
	int error = netdev_ethtool(port, &address);

	walk_say(error, "GPERMADDR", "size %u", address.head.size);
	address.head.size = 4;
	walk_result(netdev_ethtool(port, &address), "GPERMADDR of 4 bytes");
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
		channels(0);
		other_commands(0);
		permanent_address(0);
	}
	walk_name("port 1 up");
	walk_result(netdev_set_up(0, false), "set it down");
}
