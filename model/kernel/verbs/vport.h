/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The user of a vPort: its netdev, or the raw QPs of one PD (mana_en.c
 * mana_cfg_vport(), mana ib/main.c mana_ib_cfg_vport()). With the lock held.
 */

#ifndef MODEL_VPORT_H
#define MODEL_VPORT_H

#include "kernel_state.h"

/* Whether neither the netdev nor a PD of a living program uses it. */
bool vport_is_free(uint32_t fn, uint32_t port);
/* The MTU of the netdev changes: a violation while raw QPs exist. */
void vport_netdev_changes(uint32_t fn, uint32_t port);

/*
 * Add a raw QP of this PD on the port. -EINVAL: the PD uses another port, where
 * this kernel checks it. -EBUSY: the netdev is up, or another PD has it.
 */
int vport_get(uint32_t pd_handle, uint32_t fn, uint32_t port, uint32_t page);
void vport_put(uint32_t pd_handle);
/* The PD is being destroyed, maybe of a program that died creating a QP. */
void vport_abandon(uint32_t pd_handle);

#endif /* MODEL_VPORT_H */
