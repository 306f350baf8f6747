/* SPDX-License-Identifier: BSD-3-Clause */

/* The adapter's mappings of doorbell pages that are plain memory. */

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host.h"
#include "hw.h"
#include "kernel.h"
#include "plain_pages.h"
#include "process_lock.h"
#include "segment.h"

#define MAX_VIEWS 256 /* one per context */

/* The mapping of a context's page. */
struct view {
	uint64_t serial; /* the context's; 0: no mapping */
	void *registers;
};

/*
 * By context. A child of fork() keeps the mappings. PROCESS_LOCK_PAGES keeps fork() away
 * from changes.
 */
static struct view views[MAX_VIEWS];

int
plain_pages_map(void **addr, uint32_t context, int fd, size_t length, int flags)
{
	uint32_t fn, page;
	void *at;
	int rc;

	rc = kernel_context_doorbell(context, &fn, &page);
	if (rc < 0)
		return rc;
	at = (void *)syscall(SYS_mmap, *addr, length, PROT_READ | PROT_WRITE,
			     flags, fd, 0L);
	if (at == MAP_FAILED)
		return -errno;
	*addr = at;
	return 0;
}

/* Map the page of a context, instead of that of an earlier one. */
static int
map_view(struct view *view, uint32_t context, uint64_t serial)
{
	const int fd = kernel_context_page_open(context);
	void *at;

	if (fd < 0)
		return fd;
	at = (void *)syscall(SYS_mmap, NULL, (size_t)HW_DB_PAGE_BYTES, PROT_READ,
			     MAP_SHARED, fd, 0L);
	host_close(fd);
	if (at == MAP_FAILED)
		return -ENOMEM;
	if (view->serial != 0)
		munmap(view->registers, HW_DB_PAGE_BYTES);
	*view = (struct view){ .serial = serial, .registers = at };
	return 0;
}

/* With both locks held. */
static int
find_registers(uint32_t fn, uint32_t page, const volatile void **registers)
{
	for (uint32_t context = 0; context < MAX_VIEWS; context++) {
		const uint64_t serial = kernel_context_page_serial(context);
		struct view *view = &views[context];
		uint32_t its_fn, its_page;
		int rc = 0;

		if (serial == 0 ||
		    kernel_context_doorbell(context, &its_fn, &its_page) < 0 ||
		    its_fn != fn || its_page != page)
			continue;
		if (view->serial != serial)
			rc = map_view(view, context, serial);
		*registers = view->registers;
		return rc;
	}
	return -ENOENT;
}

int
plain_pages_registers(uint32_t fn, uint32_t page, const volatile void **registers)
{
	const uint64_t mask = signals_block_all();
	int rc;

	process_lock(PROCESS_LOCK_PAGES);
	segment_lock_masked();
	rc = find_registers(fn, page, registers);
	segment_unlock_masked();
	process_unlock(PROCESS_LOCK_PAGES);
	signals_restore_all(mask);
	return rc;
}
