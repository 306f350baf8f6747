/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * PCI functions in the kernel: their present devices with names and numbers.
 * Call these with the machine's lock held unless stated otherwise.
 */

#ifndef MODEL_FUNCTION_H
#define MODEL_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel_state.h"

static inline struct kernel_function *
function_at(uint32_t fn)
{
	return &segment_kernel()->function[fn];
}

/* A suspended driver detached its netdevs: !netif_device_present(). */
static inline bool
function_is_detached(uint32_t fn)
{
	return function_at(fn)->is_suspended;
}

/* Set all functions to their state at boot. */
void function_init(void);

/* Set the ports of a function to their state after the driver's probe. */
void function_init_ports(uint32_t fn);

/*
 * The drivers' probes. New netdevs are down, with new indices; new RDMA devices
 * of this kernel version have numbers not used recently.
 */
void function_add_netdevs(uint32_t fn);
void function_add_rdma(uint32_t fn);
/* Whether mana_ib creates RDMA devices for this adapter. */
bool function_makes_rdma(void);
/* Remove the RDMA devices; open files of them are not changed. */
void function_remove_rdma(uint32_t fn);

/*
 * The RDMA devices that mana_ib has registered for a PCI function, with the
 * names of their uverbs nodes. kernel_version.h has their capabilities.
 */
#define RDMA_NAME_BYTES 32

struct rdma_device {
	uint32_t number; /* N of uverbs<N> */
	uint32_t index;	 /* DEV_INDEX of RDMA netlink */
	uint32_t fn;
	bool is_rnic;	 /* the RNIC's device, without raw QPs */
	uint32_t nb_ports;
	uint8_t node_guid[8]; /* in wire order */
	char name[RDMA_NAME_BYTES];
};

/* The n-th device of the machine; false past the end. Takes the lock. */
bool rdma_device_nth(uint32_t n, struct rdma_device *device);
/* The device of /dev/infiniband/uverbs<number>. Takes the lock. */
bool rdma_device_find(uint32_t number, struct rdma_device *device);
/* A function's device for raw QPs or of its RNIC; false: none. Lock held. */
bool rdma_device_get(uint32_t fn, bool is_rnic, struct rdma_device *device);

#endif /* MODEL_FUNCTION_H */
