/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/vfio.h>
#include <string.h>

#include "config_space.h"
#include "dma.h"
#include "msix.h"
#include "pci_device.h"
#include "pci_function.h"
#include "pci_status.h"
#include "trace.h"

uint64_t
pci_region_bytes(uint32_t region)
{
	switch (region) {
	case VFIO_PCI_BAR0_REGION_INDEX:
		return CONFIG_BAR0_BYTES;
	case VFIO_PCI_BAR4_REGION_INDEX:
		return MSIX_BAR_BYTES;
	case VFIO_PCI_CONFIG_REGION_INDEX:
		return CONFIG_SPACE_BYTES;
	default:
		return 0;
	}
}

static int
check(uint32_t region, uint64_t offset, uint32_t nb_bytes)
{
	const uint64_t size_bytes = pci_region_bytes(region);

	if (nb_bytes == 0 || offset >= size_bytes ||
	    nb_bytes > size_bytes - offset)
		return -EINVAL;
	if (region != VFIO_PCI_CONFIG_REGION_INDEX && nb_bytes != 1 &&
	    nb_bytes != 2 && nb_bytes != 4 && nb_bytes != 8)
		return -EINVAL;
	return 0;
}

/* Registers and messages are little-endian, like the hosts of the model. */
int
pci_region_read(uint32_t fn, uint32_t region, uint64_t offset, uint8_t *buf,
		uint32_t nb_bytes)
{
	uint64_t value;

	if (check(region, offset, nb_bytes) != 0)
		return -EINVAL;
	if (region == VFIO_PCI_BAR0_REGION_INDEX) {
		value = pci_bar0_read(fn, offset, nb_bytes);
		memcpy(buf, &value, nb_bytes);
	} else if (region == VFIO_PCI_BAR4_REGION_INDEX) {
		msix_bar_read(fn, offset, buf, nb_bytes);
	} else {
		config_space_read(fn, offset, buf, nb_bytes);
	}
	return 0;
}

/*
 * The guest resets the function. Configuration space survives, as under Linux's
 * vfio-pci, which saves and restores it: mana calls pcie_flr(), which does not.
 */
static void
function_level_reset(uint32_t fn)
{
	msix_clear_pending(fn);
	pci_device_reset(fn);
	pci_status(fn)->nb_resets++;
	trace_event("kind=reset fn=%u", fn);
}

int
pci_region_write(uint32_t fn, uint32_t region, uint64_t offset,
		 const uint8_t *buf, uint32_t nb_bytes)
{
	uint64_t value = 0;

	if (check(region, offset, nb_bytes) != 0)
		return -EINVAL;
	if (region == VFIO_PCI_BAR0_REGION_INDEX) {
		memcpy(&value, buf, nb_bytes);
		pci_bar0_write(fn, offset, value, nb_bytes);
	} else if (region == VFIO_PCI_BAR4_REGION_INDEX) {
		msix_bar_write(fn, offset, buf, nb_bytes);
	} else if (config_space_write(fn, offset, buf, nb_bytes)) {
		function_level_reset(fn);
	}
	return 0;
}

void
pci_function_reset(uint32_t fn)
{
	pci_device_reset(fn);
	config_space_reset(fn);
	msix_clear_pending(fn);
}

void
pci_function_detach(uint32_t fn)
{
	pci_function_reset(fn);
	msix_reset(fn);
	dma_unmap_all(fn);
}
