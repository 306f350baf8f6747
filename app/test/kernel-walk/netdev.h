/* SPDX-License-Identifier: BSD-3-Clause */

/* Interface ioctls of the walked function's netdevs, by port from 0. */

#ifndef KERNEL_WALK_NETDEV_H
#define KERNEL_WALK_NETDEV_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

/* All return 0 or a positive errno. */
int netdev_ioctl(uint32_t port, unsigned long request, struct ifreq *ifr);
int netdev_set_up(uint32_t port, bool up);
int netdev_set_mtu(uint32_t port, int mtu);
/* SIOCETHTOOL with data that starts with the command. */
int netdev_ethtool(uint32_t port, void *data);

#endif /* KERNEL_WALK_NETDEV_H */
