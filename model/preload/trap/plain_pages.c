/* SPDX-License-Identifier: BSD-3-Clause */

/* The device's mappings of doorbell pages that are plain memory. */

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "card.h"
#include "doorbell.h"
#include "host.h"
#include "hw.h"
#include "kernel.h"
#include "plain_pages.h"
#include "process_lock.h"
#include "segment.h"
#include "violation_log.h"

#define MAX_VIEWS 256 /* one per context */

/* The mapping of a context's page. */
struct view {
	uint64_t serial; /* the context's; 0: no mapping */
	bool has_logged;
	struct card_page page;
};

/*
 * By context. A child of fork() keeps the mappings. Guarded by the machine's lock;
 * PROCESS_LOCK_PAGES keeps fork() away from changes.
 */
static struct view views[MAX_VIEWS];
/* The pages of all views. */
static struct card_page pages[MAX_VIEWS];
static uint32_t nb_pages;

/* Temporary errors, which end when other files are closed. */
static bool
is_passing(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM;
}

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
	*view = (struct view){ .serial = serial, .page.registers = at };
	return kernel_context_doorbell(context, &view->page.fn, &view->page.page);
}

/*
 * Map the pages of new contexts, unmap those of old ones. 0 or -errno; if a page
 * cannot be mapped for another reason than lack of resources, only its own process
 * reads it.
 */
static int
update_views(void)
{
	nb_pages = 0;
	for (uint32_t context = 0; context < MAX_VIEWS; context++) {
		const uint64_t serial = kernel_context_page_serial(context);
		struct view *view = &views[context];
		int rc = 0;

		if (view->serial != 0 && view->serial != serial) {
			munmap((void *)(uintptr_t)view->page.registers,
			       HW_DB_PAGE_BYTES);
			view->serial = 0;
		}
		if (view->serial != serial)
			rc = map_view(view, context, serial);
		if (is_passing(rc))
			return rc;
		if (view->serial == 0)
			continue;
		view->page.is_own = kernel_context_is_own(context);
		pages[nb_pages++] = view->page;
	}
	return 0;
}

/* Take the machine's lock and update the views. */
static int
lock_machine(void)
{
	int rc;

	process_lock(PROCESS_LOCK_PAGES);
	segment_lock_masked();
	rc = update_views();
	process_unlock(PROCESS_LOCK_PAGES);
	return rc;
}

int
plain_pages_map(void **addr, uint32_t context, int fd, size_t length, int flags)
{
	uint32_t fn, page;
	uint64_t mask;
	void *at;
	int rc;

	rc = kernel_context_doorbell(context, &fn, &page);
	if (rc < 0)
		return rc;
	doorbell_process_init();
	at = (void *)syscall(SYS_mmap, *addr, length, PROT_READ | PROT_WRITE,
			     flags, fd, 0L);
	if (at == MAP_FAILED)
		return -errno;
	mask = signals_block_all();
	rc = lock_machine();
	segment_unlock_masked();
	signals_restore_all(mask);
	if (rc < 0)
		syscall(SYS_munmap, at, length);
	else
		*addr = at;
	return rc;
}

static void
check_short(void)
{
	for (uint32_t i = 0; i < MAX_VIEWS; i++) {
		if (views[i].serial == 0 || !views[i].page.is_own ||
		    views[i].has_logged ||
		    !card_page_is_short_rung(&views[i].page))
			continue;
		views[i].has_logged = true;
		model_log("function %u page %u: a 32-bit doorbell was stored; its "
			  "value is an increment, and plain memory keeps only the "
			  "last one: use 64-bit doorbells, or --mode sync or thread",
			  views[i].page.fn, views[i].page.page);
	}
}

int
plain_pages_run(void)
{
	int rc = lock_machine();

	if (rc == 0) {
		rc = (int)card_pages_run(pages, nb_pages);
		check_short();
	}
	segment_unlock_masked();
	return rc;
}

const volatile void *
plain_pages_registers(uint32_t fn, uint32_t page)
{
	const volatile void *registers = NULL;

	lock_machine();
	for (uint32_t i = 0; i < nb_pages; i++)
		if (pages[i].fn == fn && pages[i].page == page)
			registers = pages[i].registers;
	segment_unlock_masked();
	return registers;
}
