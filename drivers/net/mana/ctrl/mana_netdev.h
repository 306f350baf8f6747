/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The kernel's netdev of a port: sysfs, rtnetlink and ethtool. No verb reports the
 * MAC address, the MTU limits, the carrier or the speed.
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

struct nl_sock;

/* Constant while the netdev exists. */
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
	uint32_t max_mtu; /* 0: the kernel does not report it */
	unsigned int master; /* ifindex of the interface it is a slave of, or 0 */
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
/* -ENODEV: the netdev is not in this network namespace; state has only its name. */
int mana_netdev_state_get(const struct mana_netdev *netdev,
			  struct mana_netdev_state *state);
/*
 * As `ip link set dev ... up` (or down). -EPERM: the program lacks CAP_NET_ADMIN;
 * -EBUSY: a program has the port.
 */
int mana_netdev_up_set(const struct mana_netdev *netdev, bool is_up);
/* As `ip link set dev ... mtu`: of no effect on a program's queues. -EPERM. */
int mana_netdev_mtu_set(const struct mana_netdev *netdev, uint32_t mtu);
/* Queues of each direction that the vPort may have (ethtool -l). */
int mana_netdev_max_queues_get(const struct mana_netdev *netdev,
			       uint32_t *max_queues);
/* "mana 6.12.117": the kernel's driver and its version (ethtool -i). */
#define MANA_NETDEV_DRIVER_BYTES 65
int mana_netdev_driver_get(const struct mana_netdev *netdev,
			   char text[MANA_NETDEV_DRIVER_BYTES]);
/* Speed in Mb/s; -ENOTSUP when the kernel does not know it. */
int mana_netdev_speed_get(const struct mana_netdev *netdev, uint32_t *mbps);

/* Whether a master is Hyper-V's synthetic interface (and no bond or bridge); its name. */
bool mana_netdev_is_netvsc(unsigned int master, char name[IF_NAMESIZE]);

/* Subscribes to changes of netdevs: *fd, of the socket, becomes readable at each. */
int mana_netdev_watch_open(struct nl_sock **sock, int *fd);
void mana_netdev_watch_close(struct nl_sock *sock);
/* Reads notifications, without waiting. Whether this netdev may have changed. */
bool mana_netdev_watch_read(struct nl_sock *sock,
			    const struct mana_netdev *netdev);

#endif /* MANA_NETDEV_H */
