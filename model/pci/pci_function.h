/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One PCI function: its regions, as VFIO numbers them, and its resets. Call these
 * with the machine's lock held.
 */

#ifndef MODEL_PCI_FUNCTION_H
#define MODEL_PCI_FUNCTION_H

#include <stdint.h>

/* Size of a region of <linux/vfio.h> VFIO_PCI_*_REGION_INDEX; 0: none. */
uint64_t pci_region_bytes(uint32_t region);

/*
 * Access of the client. 0, or -EINVAL: beyond the region, or of a width that a
 * BAR does not take. A read fills buf on success only.
 */
int pci_region_read(uint32_t fn, uint32_t region, uint64_t offset, uint8_t *buf,
		    uint32_t nb_bytes);
int pci_region_write(uint32_t fn, uint32_t region, uint64_t offset,
		     const uint8_t *buf, uint32_t nb_bytes);

/* Reset of the function by its client: configuration space and device. */
void pci_function_reset(uint32_t fn);
/* The same, without memory and eventfds: there is no client. */
void pci_function_detach(uint32_t fn);

#endif /* MODEL_PCI_FUNCTION_H */
