/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a PCI machine reports about a function. It is in the segment, so that
 * mana-model ctl reads it in another process. Access it with the machine's lock
 * held.
 */

#ifndef MODEL_PCI_STATUS_H
#define MODEL_PCI_STATUS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "fault.h"
#include "pci_device.h"

#define PCI_DRIVER_BYTES 128u

struct pci_status {
	bool is_connected; /* a virtual machine's monitor */
	uint64_t nb_connections;
	uint64_t nb_resets; /* by the guest (FLR) or its monitor */
	uint64_t nb_interrupts;
	uint64_t nb_dma_faults; /* accesses to memory that the guest does not have */
	bool is_channel_open; /* the hardware channel */
	/* Resets, and clients that went, while the channel was open. */
	uint64_t nb_cut_off;
	/* Versions that the guest's driver gives, from its last start. */
	char driver[PCI_DRIVER_BYTES];
	/* By request, from FAULT_FIRST_REQUEST; status: other than success. */
	uint64_t nb_requests[NB_FAULT_REQUESTS];
	uint64_t nb_refused[NB_FAULT_REQUESTS];
	struct pci_objects objects; /* that exist */
	/* Objects that the driver left when it closed its channel; sum. */
	struct pci_objects left;
};
static_assert(MODEL_MAX_FUNCTIONS * sizeof(struct pci_status) <=
	      SEGMENT_PCI_BYTES, "struct pci_status");

static inline struct pci_status *
pci_status(uint32_t fn)
{
	return &segment_pci()[fn];
}

#endif /* MODEL_PCI_STATUS_H */
