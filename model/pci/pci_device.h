/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The adapter behind a PCI function: what it does with accesses to BAR0. The
 * transport (pci.h) calls these functions with the machine's lock held. The
 * device calls dma.h and msix.h in return.
 *
 * fn is the number of the function, from 0.
 */

#ifndef MODEL_PCI_DEVICE_H
#define MODEL_PCI_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "platform.h"
#include "segment.h"

/*
 * The address space of a function, in the range of process slots. A PCI machine
 * uses no other slot than the launcher's.
 */
#define PCI_SPACE(fn) (SEGMENT_LAUNCHER + 1u + (fn))
_Static_assert(PCI_SPACE(MODEL_MAX_FUNCTIONS) <= MODEL_MAX_PROCESSES,
	       "address spaces");

/* The platform of a PCI machine. */
extern const struct platform pci_platform;

/*
 * An access of the guest to BAR0. The transport has checked that it lies in the
 * BAR, and that nb_bytes is 1, 2, 4 or 8. It may be unaligned. A wrong access is
 * a violation; such a read returns all ones. value has no bits above nb_bytes.
 */
uint64_t pci_bar0_read(uint32_t fn, uint64_t offset, uint32_t nb_bytes);
void pci_bar0_write(uint32_t fn, uint64_t offset, uint64_t value,
		    uint32_t nb_bytes);

/*
 * Do work that waits, but not more than others can wait for: answer a request,
 * send frames. True if there was some; there may be more.
 */
bool pci_device_run(uint32_t fn);

/*
 * Function level reset, reset by the client, or the client is gone: destroy
 * every object and send no event. Guest memory may be unmapped already.
 */
void pci_device_reset(uint32_t fn);

/*
 * The adapter does not answer requests, or does again: waiting ones are answered
 * then.
 */
void pci_stop_answering(uint32_t fn, bool is_silent);

/*
 * Objects that exist in a function now. X(kind, name): hardware channel (0 or 1);
 * registered devices; PDs; doorbell pages; memory keys; DMA regions; EQs, also
 * that of the channel; CQs; SQs and RQs; adapter and QPs of the RNIC. The report
 * has the names.
 */
#define PCI_OBJECT_KINDS(X) \
	X(channels, channel) \
	X(devices, device)   \
	X(pds, pd)	     \
	X(pages, page)	     \
	X(keys, key)	     \
	X(regions, region)   \
	X(eqs, eq)	     \
	X(cqs, cq)	     \
	X(wqs, wq)	     \
	X(rnic, rnic)
struct pci_objects {
#define PCI_OBJECT_MEMBER(kind, name) uint32_t nb_##kind;
	PCI_OBJECT_KINDS(PCI_OBJECT_MEMBER)
#undef PCI_OBJECT_MEMBER
};
void pci_objects_count(uint32_t fn, struct pci_objects *objects);

#endif /* MODEL_PCI_DEVICE_H */
