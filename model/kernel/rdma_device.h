/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The RDMA devices that mana_ib has registered for a PCI function: which there
 * are, and how they and their uverbs nodes are called. What each can do is in
 * traits.h.
 */

#ifndef MODEL_RDMA_DEVICE_H
#define MODEL_RDMA_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define RDMA_NAME_BYTES 32

struct rdma_device {
	uint32_t number; /* N of uverbs<N> */
	uint32_t index;	 /* DEV_INDEX of RDMA netlink */
	uint32_t fn;
	bool is_rnic;	 /* the second one, of the RNIC: no raw QPs */
	uint32_t nb_ports;
	uint8_t node_guid[8]; /* in the order of the wire */
	char name[RDMA_NAME_BYTES];
};

/* The n-th of the machine. False: there are no more. Takes the lock. */
bool rdma_device_nth(uint32_t n, struct rdma_device *device);
/* The one behind /dev/infiniband/uverbs<number>. Takes the lock. */
bool rdma_device_find(uint32_t number, struct rdma_device *device);
/*
 * Of a function: the one for raw QPs, or the RNIC's. False: it has none.
 * Lock held.
 */
bool rdma_device_get(uint32_t fn, bool is_rnic, struct rdma_device *device);

#endif /* MODEL_RDMA_DEVICE_H */
