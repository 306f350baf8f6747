/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * With --netvsc: hv_netvsc netdevs, masters of the ports' netdevs (Linux
 * netvsc_drv.c netvsc_prepare_bonding(), netvsc_vf_join()). They have an index,
 * a name and a driver, but carry no traffic and appear in no list.
 */

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "mem.h"
#include "netdev.h"
#include "segment.h"

/* Above the indices of modelled netdevs (kernel_state.h). */
#define MASTER_IFINDEX 0x100000u

uint32_t
netdev_master(const struct kernel_netdev *netdev)
{
	return segment_config()->netvsc ? MASTER_IFINDEX + netdev->ifindex : 0;
}

static void
master_name(const struct kernel_netdev *netdev, char name[IFNAMSIZ])
{
	/* Named after the slave: "mana0p1" and "hv0p1". */
	snprintf(name, IFNAMSIZ, "hv%s", netdev->name + strlen("mana"));
}

int
netdev_master_name(uint32_t ifindex, char name[IFNAMSIZ])
{
	struct kernel_netdev netdev;

	if (!segment_config()->netvsc || ifindex < MASTER_IFINDEX ||
	    kernel_netdev_by_index(ifindex - MASTER_IFINDEX, &netdev) < 0)
		return -ENODEV;
	master_name(&netdev, name);
	return 0;
}

static int
get_driver(uint64_t data)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	uint32_t cmd;
	int rc;

	rc = mem_read(model_self, data, &cmd, sizeof(cmd));
	if (rc < 0)
		return rc;
	if (cmd != ETHTOOL_GDRVINFO)
		return -EOPNOTSUPP;
	strcpy(info.driver, "hv_netvsc");
	return mem_write(model_self, data, &info, sizeof(info));
}

int
netdev_master_ioctl(unsigned long request, struct ifreq *ifr)
{
	struct kernel_netdev netdev;
	char name[IFNAMSIZ];
	uint32_t n;

	if (!segment_config()->netvsc)
		return NETDEV_NOT_OURS;
	for (n = 0; kernel_netdev_nth(n, &netdev) == 0; n++) {
		master_name(&netdev, name);
		if (strcmp(name, ifr->ifr_name) != 0)
			continue;
		if (request == SIOCETHTOOL)
			return get_driver((uintptr_t)ifr->ifr_data);
		if (request != SIOCGIFINDEX)
			return -EOPNOTSUPP;
		ifr->ifr_ifindex = (int)netdev_master(&netdev);
		return 0;
	}
	return NETDEV_NOT_OURS;
}
