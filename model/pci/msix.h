/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * MSI-X interrupts of a PCI function (PCI Express base specification, "MSI and
 * MSI-X support").
 *
 * The client of the function's socket emulates the vector table for its guest. It
 * gives an eventfd for each vector that the guest has unmasked. So the table here
 * is only memory; the pending bits are real.
 */

#ifndef MODEL_MSIX_H
#define MODEL_MSIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MSIX_NB_VECTORS 64u

/*
 * Send an interrupt. A masked vector, or one without an eventfd, becomes pending.
 * If the guest has not enabled MSI-X, or the vector does not exist, it is ignored:
 * the device checks the number where the guest gives it.
 */
void msix_raise(uint32_t fn, uint32_t vector);

/* The rest is for the transport. */

/* The BAR with the table and the pending bits. */
#define MSIX_BAR_BYTES	  0x2000u
#define MSIX_TABLE_OFFSET 0u
#define MSIX_PBA_OFFSET	  0x1000u

/* Power-on state: no eventfd, all masked in the table, none pending. */
void msix_reset(uint32_t fn);
/* Function level reset: eventfds and their masks are the client's, and stay. */
void msix_clear_pending(uint32_t fn);
/* The guest has written "enable" and "function mask" in the capability. */
void msix_control(uint32_t fn, bool is_enabled, bool is_masked);
/*
 * Set the eventfd of a vector; -1: none. Takes over fd, also on failure: 0, or
 * -EINVAL if it is no eventfd. Sends a pending interrupt.
 */
int msix_connect(uint32_t fn, uint32_t vector, int fd);
bool msix_is_eventfd(int fd);
/* Mask or unmask a vector, which exists. Sends a pending interrupt. */
void msix_mask(uint32_t fn, uint32_t vector, bool is_masked);
/* Access to the BAR, inside of its size. */
void msix_bar_read(uint32_t fn, uint64_t offset, uint8_t *buf, size_t nb_bytes);
void msix_bar_write(uint32_t fn, uint64_t offset, const uint8_t *buf,
		    size_t nb_bytes);

#endif /* MODEL_MSIX_H */
