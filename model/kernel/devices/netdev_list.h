/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The netdevs of the modelled ports and their masters, to read. kernel.h declares
 * functions of general use.
 */

#ifndef MODEL_NETDEV_LIST_H
#define MODEL_NETDEV_LIST_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel.h"

#define NETDEV_MIN_MTU 68 /* ETH_MIN_MTU */
#define NETDEV_TX_QUEUE_LEN 1000 /* DEFAULT_TX_QUEUE_LEN */
/* Queues of a port: MANA_MAX_NUM_QUEUES; in use are version.nb_channels. */
#define NETDEV_MAX_CHANNELS 64
/* QoS-limited speed in Mb/s; OpenVMM's value for an unknown speed. */
#define NETDEV_SPEED_MBPS 200000

/* PCI address of a function, as in sysfs. */
#define NETDEV_PCI_BYTES 16
void netdev_pci_address(uint32_t fn, char address[NETDEV_PCI_BYTES]);

/* The netdev of a port, even if its function is removed. With the lock held. */
void netdev_get(uint32_t fn, uint32_t port, struct kernel_netdev *netdev);

/* Find a netdev and its port. Takes the lock, unless it fails (NULL). */
struct kernel_port *netdev_begin(uint32_t ifindex, struct kernel_netdev *netdev);

/* Result of an ioctl that is on no modelled netdev; the real kernel must answer. */
#define NETDEV_NOT_OURS 1
/* The index of its hv_netvsc master; 0: none. */
uint32_t netdev_master(const struct kernel_netdev *netdev);
/* Its name would be this. */
void netdev_name_master(const struct kernel_netdev *netdev, char name[IFNAMSIZ]);
/* The netdev of a port or an hv_netvsc master of a name (NULL: of an index). 0 or -ENODEV. */
int netdev_find(uint32_t ifindex, const char *name, struct kernel_netdev *netdev);
/* The n-th of the ports' netdevs, which their masters follow. 0 or -ENODEV. */
int netdev_nth(uint32_t n, struct kernel_netdev *netdev);
/* SIOCETHTOOL, SIOCGIFINDEX, SIOCGIFHWADDR of a master: 0, -errno or NETDEV_NOT_OURS. */
int netdev_master_ioctl(unsigned long request, struct ifreq *ifr);

/* The current IFF_* flags, including IFF_LOWER_UP of linux/if.h. */
#define NETDEV_LOWER_UP (1u << 16)
uint32_t netdev_flags(const struct kernel_netdev *netdev);

#endif /* MODEL_NETDEV_LIST_H */
