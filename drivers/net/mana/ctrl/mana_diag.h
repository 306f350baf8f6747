/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each function turns an error of the kernel into one message of level ERR that
 * names cause and remedy.
 */

#ifndef MANA_DIAG_H
#define MANA_DIAG_H

#include <stddef.h>
#include <stdint.h>

#include "mana_netdev.h"

/* There is no list of RDMA devices at all. */
void mana_diag_no_rdma(const char *pci_name, int error);
/*
 * No RDMA device belongs to the function, or only `refused`, which is not an
 * Ethernet one (else NULL).
 */
void mana_diag_no_device(const char *pci_name, const char *refused);
/* The netdev of a port was not found: what mana_netdev_find() returned. */
void mana_diag_no_netdev(const char *pci_name, uint32_t port, int error);
/* The RDMA device, with this node below /dev/infiniband, cannot be used. */
void mana_diag_open(const char *pci_name, const char *device, const char *node,
		    int error);
/*
 * An object of the port could not be created: "Tx queue" and its number, or
 * MANA_DIAG_NO_ID.
 */
#define MANA_DIAG_NO_ID UINT32_MAX
void mana_diag_object(const char *name, const struct mana_netdev *netdev,
		      const char *what, uint32_t id, int error);
/* netdev_down=1: the interface could not be taken down. */
void mana_diag_netdev_down(const char *name, const char *netdev, int error);
/* Memory could not be registered. */
void mana_diag_mr(const char *name, uintptr_t addr, size_t len, int error);

#endif /* MANA_DIAG_H */
