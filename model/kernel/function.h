/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * PCI functions as the kernel has them: what there is now, under which names
 * and numbers. With the machine's lock held unless stated otherwise.
 */

#ifndef MODEL_FUNCTION_H
#define MODEL_FUNCTION_H

#include "kernel_state.h"

static inline struct kernel_function *
function_at(uint32_t fn)
{
	return &segment_kernel()->function[fn];
}

/*
 * A driver that is suspended has detached its netdevs: netif_device_present()
 * is false.
 */
static inline bool
function_is_detached(uint32_t fn)
{
	return function_at(fn)->is_suspended;
}

/* All functions as they are at boot. */
void function_init(void);

/*
 * The drivers' probes: netdevs get new numbers and are down; the RDMA
 * devices that this age of kernel makes get numbers not in use lately.
 */
void function_add_netdevs(uint32_t fn);
void function_add_rdma(uint32_t fn);
/* Whether mana_ib makes any of the adapter at all. */
bool function_makes_rdma(void);
/* It is not to be found any more; open files of it are not touched. */
void function_remove_rdma(uint32_t fn);

#endif /* MODEL_FUNCTION_H */
