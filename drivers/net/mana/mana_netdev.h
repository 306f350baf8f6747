/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The kernel's network interface of a port: sysfs, rtnetlink and ethtool.
 * No verb tells the MAC address, the MTU limits, the carrier or the speed.
 *
 * Functions return 0 or a negative errno and need no privilege, unless said
 * otherwise.
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
 * ibdev_path. -ENOENT: the kernel has made none; -ENODEV: it has, and it is in
 * another network namespace than /sys shows. (Linux hides such entries of the
 * folder net/, which is there while the device has any netdev: drivers/base/
 * core.c, class_dir_child_ns_type().)
 */
int mana_netdev_find(const char *ibdev_path, uint32_t port,
		     struct mana_netdev *netdev);
/*
 * Its state now. -ENODEV: this program's network namespace has it not; the
 * state has the name only then.
 */
int mana_netdev_state_get(const struct mana_netdev *netdev,
			  struct mana_netdev_state *state);
/*
 * As `ip link set dev ... up` (or down). -EPERM: it takes CAP_NET_ADMIN;
 * -EBUSY: a program has the port.
 */
int mana_netdev_up_set(const struct mana_netdev *netdev, bool is_up);
/* As `ip link set dev ... mtu`: of no effect on a program's queues. -EPERM. */
int mana_netdev_mtu_set(const struct mana_netdev *netdev, uint32_t mtu);
/* Queues of each direction that the vPort may have (ethtool -l). */
int mana_netdev_max_queues_get(const struct mana_netdev *netdev,
			       uint32_t *max_queues);
/* Speed in Mb/s; -ENOTSUP when the kernel does not know it. */
int mana_netdev_speed_get(const struct mana_netdev *netdev, uint32_t *mbps);

/* ---- mana_netdev_watch.c ----------------------------------------------- */

/* A descriptor on which changes of interfaces are told; the caller's to close. */
int mana_netdev_watch_open(int *fd);
/*
 * Reads what there is, without waiting. Whether something has happened to
 * this interface, or may have: ask for its state.
 */
bool mana_netdev_watch_read(int fd, const struct mana_netdev *netdev);

#endif /* MANA_NETDEV_H */
