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
#define NETDEV_TX_QUEUE_LEN 1000 /* DEFAULT_TX_QUEUE_LEN */
/* Queues of a port: MANA_MAX_NUM_QUEUES; it starts with traits.nb_channels. */
#define NETDEV_MAX_CHANNELS 64
#define NETDEV_DEF_TX_RING 256	/* DEF_TX_BUFFERS_PER_QUEUE */
/* QoS-limited speed in Mb/s; what OpenVMM assumes of an unknown one. */
#define NETDEV_SPEED_MBPS 200000

/* PCI address of a function, as in sysfs. */
#define NETDEV_PCI_BYTES 16
void netdev_pci_address(uint32_t fn, char address[NETDEV_PCI_BYTES]);

/* The netdev of a port, whether its function is there or not; lock held. */
void netdev_get(uint32_t fn, uint32_t port, struct kernel_netdev *netdev);

/* Its files in sysfs. */
void netdev_write_attributes(const struct kernel_netdev *netdev);
/*
 * It has come (RTM_NEWLINK), changed, or is about to go (RTM_DELLINK): tell
 * sysfs and, where the programs are, all who listen to rtnetlink. change: the IFF_* that are new.
 * With or without the lock; async-signal-safe.
 */
void netdev_announce(const struct kernel_netdev *netdev, uint16_t type,
		     uint32_t change);

/* IFF_* flags as they are now; IFF_LOWER_UP of linux/if.h among them. */
#define NETDEV_LOWER_UP (1u << 16)
uint32_t netdev_flags(const struct kernel_netdev *netdev);

/*
 * A SIOC* ioctl; arg is the program's pointer, read and written guarded.
 * NETDEV_NOT_OURS: no modelled netdev is meant, ask the real kernel.
 */
#define NETDEV_NOT_OURS 1
int netdev_ioctl(unsigned long request, void *arg);
/* SIOCETHTOOL: data is what the program's ifr_data points to. */
int netdev_ethtool(const struct kernel_netdev *netdev, uint64_t data);
/* A part of it: what no driver asks for. */
int netdev_ethtool_more(const struct kernel_netdev *netdev, uint32_t cmd,
			uint64_t data);

#endif /* MODEL_NETDEV_H */
