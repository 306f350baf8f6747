/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The kernel's network interface of a port: sysfs, rtnetlink and ethtool.
 * No verb tells the MAC address, the MTU limits, the carrier or the speed.
 *
 * Functions return 0 or a negative errno and need no privilege.
 */

#ifndef MANA_NETDEV_H
#define MANA_NETDEV_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

/* What does not change while the interface lives. */
struct mana_netdev {
	unsigned int ifindex;
	struct rte_ether_addr mac;
	char name[IF_NAMESIZE]; /* when it was found; it may be renamed */
};

struct mana_netdev_state {
	char name[IF_NAMESIZE];
	bool is_up;   /* administratively: then the kernel owns the vPort */
	bool carrier;
	uint32_t mtu;
	uint32_t max_mtu; /* 0 when the kernel does not tell */
};

/*
 * The interface of verbs port `port` (from 1) of the RDMA device at
 * ibdev_path. -ENODEV: none, or it lives in another network namespace.
 */
int mana_netdev_find(const char *ibdev_path, uint32_t port,
		     struct mana_netdev *netdev);
int mana_netdev_state_get(const struct mana_netdev *netdev,
			  struct mana_netdev_state *state);
/* Queues of each direction that the vPort may have (ethtool -l). */
int mana_netdev_max_queues_get(const struct mana_netdev *netdev,
			       uint32_t *max_queues);
/* Speed in Mb/s; -ENOTSUP when the kernel does not know it. */
int mana_netdev_speed_get(const struct mana_netdev *netdev, uint32_t *mbps);

#endif /* MANA_NETDEV_H */
