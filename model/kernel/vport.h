/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Who uses a vPort: its netdev, or the raw QPs of one PD (Linux mana_en.c
 * mana_cfg_vport(), mana ib/main.c mana_ib_cfg_vport()). Lock held.
 */

#ifndef MODEL_VPORT_H
#define MODEL_VPORT_H

#include "kernel_state.h"

/* The ports of a function as its driver's probe leaves them. */
void vport_init(uint32_t fn);

/* Whether neither the netdev nor a PD of a living program uses it. */
bool vport_is_free(uint32_t fn, uint32_t port);

/*
 * One more raw QP of this PD on the port. -EINVAL: the PD is at work on
 * another port, if this age of kernel looks. -EBUSY: the netdev is up, or another PD has the vPort.
 */
int vport_get(uint32_t pd_handle, uint32_t fn, uint32_t port, uint32_t page);
void vport_put(uint32_t pd_handle);
/* The PD goes: its program may have died on the way to a raw QP. */
void vport_abandon(uint32_t pd_handle);

#endif /* MODEL_VPORT_H */
