/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * With --netvsc: hv_netvsc netdevs, masters of the ports' netdevs (Linux
 * netvsc_drv.c netvsc_prepare_bonding(), netvsc_vf_join()), while hv_netvsc owns the
 * synthetic device. They have an index, a name, a driver and a folder in sysfs, are
 * down, and carry no traffic.
 */

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>

#include "mem.h"
#include "netdev_list.h"
#include "kernel_state.h"
#include "segment.h"
#include "synthetic.h"

/* Above the indices of modelled netdevs (kernel_state.h). */
#define MASTER_IFINDEX 0x100000u

uint32_t
netdev_master(const struct kernel_netdev *netdev)
{
	const struct kernel_vmbus *vmbus = &segment_kernel()->vmbus;
	uint32_t number;

	if (segment_config()->netvsc == MODEL_NETVSC_NONE || netdev->is_master ||
	    (synthetic_number(netdev->fn, netdev->port, &number) &&
	     vmbus->driver[number] != KERNEL_VMBUS_HV))
		return 0;
	return MASTER_IFINDEX + netdev->ifindex;
}

void
netdev_name_master(const struct kernel_netdev *netdev, char name[IFNAMSIZ])
{
	/* Named after the slave: "mana0p1" and "hv0p1". */
	snprintf(name, IFNAMSIZ, "hv%s", netdev->name + strlen("mana"));
}

/* It is down, and has the address and MTU of its slave. */
static void
master_of(const struct kernel_netdev *slave, struct kernel_netdev *master)
{
	*master = (struct kernel_netdev){
		.ifindex = netdev_master(slave),
		.mtu = slave->mtu,
		.max_mtu = slave->max_mtu,
		.speed_mbps = slave->speed_mbps,
		.more_flags = IFF_MULTICAST,
		.tx_queue_len = NETDEV_TX_QUEUE_LEN,
		.fn = slave->fn,
		.port = slave->port,
		.is_master = true,
	};
	netdev_name_master(slave, master->name);
	memcpy(master->mac, slave->mac, sizeof(master->mac));
}

static int
master_nth(uint32_t n, struct kernel_netdev *master)
{
	struct kernel_netdev slave;

	for (uint32_t i = 0; kernel_netdev_nth(i, &slave) == 0; i++) {
		if (netdev_master(&slave) == 0 || n-- > 0)
			continue;
		master_of(&slave, master);
		return 0;
	}
	return -ENODEV;
}

int
netdev_nth(uint32_t n, struct kernel_netdev *netdev)
{
	struct kernel_netdev port;
	uint32_t nb = 0;

	if (kernel_netdev_nth(n, netdev) == 0)
		return 0;
	while (kernel_netdev_nth(nb, &port) == 0)
		nb++;
	return master_nth(n - nb, netdev);
}

static int
master_find(uint32_t ifindex, const char *name, struct kernel_netdev *master)
{
	uint32_t n = 0;

	while (master_nth(n++, master) == 0)
		if (name != NULL ? strcmp(master->name, name) == 0 :
				   master->ifindex == ifindex)
			return 0;
	return -ENODEV;
}

int
netdev_find(uint32_t ifindex, const char *name, struct kernel_netdev *netdev)
{
	int rc = name != NULL ? kernel_netdev_by_name(name, netdev) :
				kernel_netdev_by_index(ifindex, netdev);

	return rc == 0 ? 0 : master_find(ifindex, name, netdev);
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
	struct kernel_netdev master;

	if (master_find(0, ifr->ifr_name, &master) < 0)
		return NETDEV_NOT_OURS;
	if (request == SIOCETHTOOL)
		return get_driver((uintptr_t)ifr->ifr_data);
	if (request == SIOCGIFHWADDR) {
		ifr->ifr_hwaddr.sa_family = ARPHRD_ETHER;
		memcpy(ifr->ifr_hwaddr.sa_data, master.mac, sizeof(master.mac));
		return 0;
	}
	if (request != SIOCGIFINDEX)
		return -EOPNOTSUPP;
	ifr->ifr_ifindex = (int)master.ifindex;
	return 0;
}
