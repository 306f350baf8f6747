/* SPDX-License-Identifier: BSD-3-Clause */

/* The card's platform (platform.h) in a PCI machine. */

#include <errno.h>

#include "adapter.h"
#include "dma.h"
#include "pci_device.h"

static uint32_t
function_of(uint32_t space)
{
	return space - PCI_SPACE(0);
}

static int
read_space(uint32_t space, uint64_t addr, void *buf, size_t nb_bytes)
{
	const uint32_t fn = function_of(space);
	struct adapter *a = adapter(fn);

	return a == NULL ? -EFAULT :
			   region_read(&a->regions, fn, addr, buf, nb_bytes);
}

static int
write_space(uint32_t space, uint64_t addr, const void *buf, size_t nb_bytes)
{
	const uint32_t fn = function_of(space);
	struct adapter *a = adapter(fn);

	return a == NULL ? -EFAULT :
			   region_write(&a->regions, fn, addr, buf, nb_bytes);
}

static bool
has_memory(uint32_t space)
{
	const uint32_t fn = function_of(space);
	const struct adapter *a = adapter(fn);

	return a != NULL && !a->is_resetting && dma_is_enabled(fn);
}

/* The launcher's loop runs the card after each message. */
static void
wake(uint32_t space)
{
	(void)space;
}

static void
nothing(void)
{
}

const struct platform pci_platform = {
	.complete = adapter_cq_event,
	.read = read_space,
	.write = write_space,
	.has_memory = has_memory,
	.wake = wake,
	.wake_owner = nothing,
	.recover = card_recover,
	.free_slots = nothing,
};

bool
pci_device_run(uint32_t fn)
{
	const bool has_answered = hwc_run(fn);

	return card_run(PCI_SPACE(fn)) || has_answered;
}

void
pci_device_reset(uint32_t fn)
{
	struct adapter *a = adapter(fn);

	if (a == NULL)
		return;
	a->was_reset = a->was_reset || a->hwc.is_open;
	adapter_reset(fn);
}

void
pci_stop_answering(uint32_t fn, bool is_silent)
{
	struct adapter *a = adapter(fn);

	if (a == NULL)
		return;
	a->hwc.is_silent = is_silent;
	a->hwc.was_silent = a->hwc.was_silent || is_silent;
	hwc_run(fn);
}
