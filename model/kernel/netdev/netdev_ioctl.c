/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "function.h"
#include "kernel_version.h"
#include "machine.h"
#include "mem.h"
#include "netdev.h"
#include "segment.h"

#define MAC_BYTES 6
#define ETOOSMALL 525 /* Linux include/linux/errno.h */
/* Words of each of the three link mode masks, as Linux 6.x needs. */
#define LINK_MODE_WORDS 4


static void
get_hwaddr(const struct kernel_netdev *netdev, struct ifreq *ifr)
{
	memset(&ifr->ifr_hwaddr, 0, sizeof(ifr->ifr_hwaddr));
	ifr->ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(ifr->ifr_hwaddr.sa_data, netdev->mac, MAC_BYTES);
}

/* A request on a known netdev. *answered: copy ifr back to the program. */
static int
run_ioctl(const struct kernel_netdev *netdev, unsigned long request,
	  struct ifreq *ifr, bool *answered)
{
	*answered = true;
	switch (request) {
	case SIOCGIFINDEX:
		ifr->ifr_ifindex = netdev->ifindex;
		return 0;
	case SIOCGIFFLAGS:
		ifr->ifr_flags = netdev_flags(netdev);
		return 0;
	case SIOCGIFMTU:
		ifr->ifr_mtu = netdev->mtu;
		return 0;
	case SIOCGIFHWADDR:
		get_hwaddr(netdev, ifr);
		return 0;
	case SIOCGIFMETRIC:
		ifr->ifr_metric = 0;
		return 0;
	case SIOCGIFTXQLEN:
		ifr->ifr_qlen = (int)netdev->tx_queue_len;
		return 0;
	case SIOCGIFMAP: /* mana sets none of it */
		memset(&ifr->ifr_map, 0, sizeof(ifr->ifr_map));
		return 0;
	default:
		break;
	}

	*answered = false;
	switch (request) {
	case SIOCSIFFLAGS:
		/* Only flags that fit the short (dev_ifsioc()). */
		return kernel_netdev_set_flags(netdev->ifindex,
					       (uint16_t)ifr->ifr_flags,
					       UINT16_MAX);
	case SIOCSIFMTU:
		return kernel_netdev_set_mtu(netdev->ifindex, ifr->ifr_mtu);
	case SIOCSIFTXQLEN:
		return ifr->ifr_qlen < 0 ? -EINVAL :
			       kernel_netdev_set_tx_queue_len(netdev->ifindex,
							      ifr->ifr_qlen);
	case SIOCETHTOOL:
		return netdev_ethtool(netdev, (uintptr_t)ifr->ifr_data);
	case SIOCGIFADDR:
	case SIOCGIFNETMASK:
	case SIOCGIFBRDADDR:
	case SIOCGIFDSTADDR:
		return -EADDRNOTAVAIL;
	default: /* no ndo_set_mac_address, and so on */
		return -EOPNOTSUPP;
	}
}

int
netdev_ioctl(unsigned long request, void *arg)
{
	uint64_t user = (uintptr_t)arg;
	struct kernel_netdev netdev;
	struct ifreq ifr;
	bool answered;
	int rc;

	/* Requests without a struct ifreq. */
	if (request == SIOCGIFCONF || request == SIOCADDRT ||
	    request == SIOCDELRT)
		return NETDEV_NOT_OURS;
	if (mem_read(model_self, user, &ifr, sizeof(ifr)) < 0)
		return NETDEV_NOT_OURS;

	if (request == SIOCGIFNAME) {
		if (netdev_find(ifr.ifr_ifindex, NULL, &netdev) < 0)
			return NETDEV_NOT_OURS;
		memcpy(ifr.ifr_name, netdev.name, IFNAMSIZ);
		return mem_write(model_self, user, &ifr, sizeof(ifr));
	}
	ifr.ifr_name[IFNAMSIZ - 1] = '\0';
	if (kernel_netdev_by_name(ifr.ifr_name, &netdev) < 0) {
		rc = netdev_master_ioctl(request, &ifr);
		return rc != 0 ? rc :
				 mem_write(model_self, user, &ifr, sizeof(ifr));
	}
	rc = run_ioctl(&netdev, request, &ifr, &answered);
	if (rc == 0 && answered)
		rc = mem_write(model_self, user, &ifr, sizeof(ifr));
	machine_tick();
	return rc;
}

/* linux/ethtool.h: the first call queries the size of the masks. */
static int
get_link_settings(const struct kernel_netdev *netdev, uint64_t data)
{
	static const uint32_t no_modes[3 * LINK_MODE_WORDS];
	struct ethtool_link_settings settings;
	int8_t nb_words;
	int rc;

	rc = mem_read(model_self, data, &settings, sizeof(settings));
	if (rc < 0)
		return rc;
	nb_words = settings.link_mode_masks_nwords;
	memset(&settings, 0, sizeof(settings));
	settings.cmd = ETHTOOL_GLINKSETTINGS;
	settings.link_mode_masks_nwords = -LINK_MODE_WORDS;
	if (nb_words == LINK_MODE_WORDS) {
		settings.link_mode_masks_nwords = LINK_MODE_WORDS;
		settings.speed = netdev->speed_mbps;
		settings.duplex = DUPLEX_FULL;
		settings.port = PORT_OTHER;
		rc = mem_write(model_self, data + sizeof(settings), no_modes,
			       sizeof(no_modes));
	}
	if (rc == 0)
		rc = mem_write(model_self, data, &settings, sizeof(settings));
	return rc;
}

static int
get_settings(const struct kernel_netdev *netdev, uint64_t data)
{
	struct ethtool_cmd settings = {
		.cmd = ETHTOOL_GSET,
		.duplex = DUPLEX_FULL,
		.port = PORT_OTHER,
	};

	ethtool_cmd_speed_set(&settings, netdev->speed_mbps);
	return mem_write(model_self, data, &settings, sizeof(settings));
}

static int
get_driver(const struct kernel_netdev *netdev, uint64_t data)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

	strcpy(info.driver, "mana");
	/* No operation of mana's own: net/ethtool/ioctl.c. */
	snprintf(info.version, sizeof(info.version), "%s",
		 kernel_version()->version);
	netdev_pci_address(netdev->fn, info.bus_info);
	return mem_write(model_self, data, &info, sizeof(info));
}

static int
get_channels(const struct kernel_netdev *netdev, uint64_t data)
{
	struct ethtool_channels channels = {
		.cmd = ETHTOOL_GCHANNELS,
		.max_combined = NETDEV_MAX_CHANNELS,
		.combined_count = kernel_version()->nb_channels,
	};

	return mem_write(model_self, data, &channels, sizeof(channels));
}

static int
get_link(const struct kernel_netdev *netdev, uint64_t data)
{
	struct ethtool_value value = {
		.cmd = ETHTOOL_GLINK,
		/* ethtool_op_get_link(): no link while the netdev is down. */
		.data = netdev->is_up && netdev->carrier,
	};

	return mem_write(model_self, data, &value, sizeof(value));
}

static int
get_address(const struct kernel_netdev *netdev, uint64_t data)
{
	struct ethtool_perm_addr head;
	int rc;

	rc = mem_read(model_self, data, &head, sizeof(head));
	if (rc < 0)
		return rc;
	if (head.size < MAC_BYTES)
		return -ETOOSMALL;
	head.size = MAC_BYTES;
	rc = mem_write(model_self, data, &head, sizeof(head));
	if (rc == 0)
		rc = mem_write(model_self, data + sizeof(head), netdev->mac,
			       MAC_BYTES);
	return rc;
}

/* Commands without operation do not exist: net/ethtool/ioctl.c. */
static bool
has_command(uint32_t cmd)
{
	switch (cmd) {
	case ETHTOOL_GLINKSETTINGS:
	case ETHTOOL_GSET:
	case ETHTOOL_GLINK:
		return kernel_version()->has_link_settings;
	default:
		return true;
	}
}

int
netdev_ethtool(const struct kernel_netdev *netdev, uint64_t data)
{
	uint32_t cmd;
	int rc;

	segment_lock();
	rc = fault_check(FAULT_ethtool);
	/* net/ethtool/ioctl.c __dev_ethtool() */
	if (rc == 0 && function_is_detached(netdev->fn))
		rc = -ENODEV;
	segment_unlock();
	if (rc == 0)
		rc = mem_read(model_self, data, &cmd, sizeof(cmd));
	if (rc == 0 && !has_command(cmd))
		rc = -EOPNOTSUPP;
	if (rc < 0)
		return rc;

	switch (cmd) {
	case ETHTOOL_GLINKSETTINGS:
		return get_link_settings(netdev, data);
	case ETHTOOL_GSET:
		return get_settings(netdev, data);
	case ETHTOOL_GDRVINFO:
		return get_driver(netdev, data);
	case ETHTOOL_GCHANNELS:
		return get_channels(netdev, data);
	case ETHTOOL_GLINK:
		return get_link(netdev, data);
	case ETHTOOL_GPERMADDR:
		return get_address(netdev, data);
	default: /* also some that Linux has, but no driver uses */
		return -EOPNOTSUPP;
	}
}
