/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The netdevs of the modelled ports, as mana_en.c presents them, and their
 * socket ioctls. State and prototypes of general use are in kernel.h.
 */

#ifndef MODEL_NETDEV_H
#define MODEL_NETDEV_H

#include <stdint.h>

#include "kernel.h"

#define NETDEV_MIN_MTU 68 /* ETH_MIN_MTU */
/* Queues of a port: MANA_MAX_NUM_QUEUES, MANA_DEF_NUM_QUEUES. */
#define NETDEV_MAX_CHANNELS 64
#define NETDEV_DEF_CHANNELS 16
/* QoS-limited speed in Mb/s; what OpenVMM assumes of an unknown one. */
#define NETDEV_SPEED_MBPS 200000

/* PCI address of a function, as in sysfs. */
#define NETDEV_PCI_BYTES 16
void netdev_pci_address(uint32_t fn, char address[NETDEV_PCI_BYTES]);

/* IFF_* flags as they are now. */
uint32_t netdev_flags(const struct kernel_netdev *netdev);

/*
 * A SIOC* ioctl; arg is the program's pointer, read and written guarded.
 * NETDEV_NOT_OURS: no modelled netdev is meant, ask the real kernel.
 */
#define NETDEV_NOT_OURS 1
int netdev_ioctl(unsigned long request, void *arg);
/* SIOCETHTOOL: data is what the program's ifr_data points to. */
int netdev_ethtool(const struct kernel_netdev *netdev, uint64_t data);

#endif /* MODEL_NETDEV_H */
