/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The netdevs of the modelled ports, with the behaviour of mana_en.c, and their
 * socket ioctls. kernel.h declares state and functions of general use.
 */

#ifndef MODEL_NETDEV_H
#define MODEL_NETDEV_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "netdev_list.h"

/* Write the sysfs files of a netdev. */
void netdev_write_attributes(const struct kernel_netdev *netdev);
/*
 * A netdev was created or has changed (RTM_NEWLINK), or will be removed
 * (RTM_DELLINK): update sysfs and notify rtnetlink listeners of the programs'
 * namespace. change: the changed IFF_*. Lock or not; async-signal-safe.
 */
void netdev_announce(const struct kernel_netdev *netdev, uint16_t type,
		     uint32_t change);

/*
 * The same after a link event of the card, before the carrier itself is announced
 * (is_carrier_new).
 */
void netdev_announce_link(const struct kernel_netdev *netdev);

/*
 * A SIOC* ioctl; arg is the program's pointer, accessed by guarded copies.
 * NETDEV_NOT_OURS: on no modelled netdev; the real kernel must answer.
 */
int netdev_ioctl(unsigned long request, void *arg);
/* SIOCETHTOOL: data is the address in the program's ifr_data. What drivers use. */
int netdev_ethtool(const struct kernel_netdev *netdev, uint64_t data);

#endif /* MODEL_NETDEV_H */
