/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Configuration space of a PCI function (PCI Express base specification): type 0
 * header, PCI Express capability with function level reset, MSI-X capability.
 */

#ifndef MODEL_CONFIG_SPACE_H
#define MODEL_CONFIG_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_SPACE_BYTES 4096u
#define CONFIG_BAR0_BYTES  (1u << 20)

/* Power-on state. */
void config_space_reset(uint32_t fn);

/*
 * Accesses, inside of the space. A write to the command register or to the MSI-X
 * capability calls dma_enable() or msix_control(). It returns true if it starts a
 * function level reset, which the caller does.
 */
void config_space_read(uint32_t fn, uint64_t offset, uint8_t *buf,
		       size_t nb_bytes);
bool config_space_write(uint32_t fn, uint64_t offset, const uint8_t *buf,
			size_t nb_bytes);

#endif /* MODEL_CONFIG_SPACE_H */
