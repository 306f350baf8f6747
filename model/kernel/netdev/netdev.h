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

#include "kernel.h"

#define NETDEV_MIN_MTU 68 /* ETH_MIN_MTU */
#define NETDEV_TX_QUEUE_LEN 1000 /* DEFAULT_TX_QUEUE_LEN */
/* Queues of a port: MANA_MAX_NUM_QUEUES; initially version.nb_channels. */
#define NETDEV_MAX_CHANNELS 64
#define NETDEV_DEF_TX_RING 256	/* DEF_TX_BUFFERS_PER_QUEUE */
/* QoS-limited speed in Mb/s; OpenVMM's value for an unknown speed. */
#define NETDEV_SPEED_MBPS 200000

/* PCI address of a function, as in sysfs. */
#define NETDEV_PCI_BYTES 16
void netdev_pci_address(uint32_t fn, char address[NETDEV_PCI_BYTES]);

/* The netdev of a port, even if its function is removed. With the lock held. */
void netdev_get(uint32_t fn, uint32_t port, struct kernel_netdev *netdev);

/* Write its sysfs files. */
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

struct kernel_port;
/* The driver restarts a netdev that is up, to change it. With the lock held. */
void netdev_restart(struct kernel_port *port);

/* The index of its hv_netvsc master; 0: none. */
uint32_t netdev_master(const struct kernel_netdev *netdev);
/* The name of an hv_netvsc master. 0 or -ENODEV. */
int netdev_master_name(uint32_t ifindex, char name[IFNAMSIZ]);
/* SIOCETHTOOL, SIOCGIFINDEX of a master: 0, -errno or NETDEV_NOT_OURS. */
int netdev_master_ioctl(unsigned long request, struct ifreq *ifr);

/* The current IFF_* flags, including IFF_LOWER_UP of linux/if.h. */
#define NETDEV_LOWER_UP (1u << 16)
uint32_t netdev_flags(const struct kernel_netdev *netdev);

/*
 * A SIOC* ioctl; arg is the program's pointer, accessed by guarded copies.
 * NETDEV_NOT_OURS: on no modelled netdev; the real kernel must answer.
 */
#define NETDEV_NOT_OURS 1
int netdev_ioctl(unsigned long request, void *arg);
/* SIOCETHTOOL: data is the address in the program's ifr_data. */
int netdev_ethtool(const struct kernel_netdev *netdev, uint64_t data);
/* The part that drivers do not use. */
int netdev_ethtool_more(const struct kernel_netdev *netdev, uint32_t cmd,
			uint64_t data);

#endif /* MODEL_NETDEV_H */
