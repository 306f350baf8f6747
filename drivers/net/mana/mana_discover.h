/* SPDX-License-Identifier: BSD-3-Clause */

/* From a PCI function to its RDMA device and the ports with their netdevs. */

#ifndef MANA_DISCOVER_H
#define MANA_DISCOVER_H

#include <stdint.h>

#include <rte_pci.h>

#include "mana_netdev.h"
#include "mana_verbs.h"

struct mana_port_info {
	uint32_t port; /* verbs port, from 1 */
	int netdev_error; /* 0, or why mana_netdev_find() failed */
	struct mana_netdev netdev;
};

/* A PCI function as seen through its RDMA device. */
struct mana_function {
	const char *pci_name;
	struct ibv_device **list; /* keeps device alive */
	struct ibv_device *device;
	unsigned int nb_ports;
	struct mana_port_info *ports;
};

/*
 * Finds the Ethernet RDMA device of the function. Returns 0, or after a
 * message that names cause and remedy -ENODEV, -EACCES, ...; *function holds
 * nothing then. pci_name is kept.
 */
int mana_discover(const struct rte_pci_addr *addr, const char *pci_name,
		  struct mana_function *function);
void mana_discover_release(struct mana_function *function);
/* Logs one line per port: MAC, netdev, state. */
void mana_discover_log_ports(const struct mana_function *function);

#endif /* MANA_DISCOVER_H */
