/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "device_thread.h"
#include "doorbell.h"
#include "host.h"
#include "hw.h"
#include "kernel.h"
#include "ledger.h"
#include "plain_pages.h"
#include "quiet.h"
#include "segment.h"

#define MAX_VIEWS 256 /* as many as there are contexts */

/* What the device looks at. */
struct view {
	uint32_t context;
	uint64_t serial; /* of the context */
	bool has_complained;
};

/* All of this is changed with QUIET_PLAIN. */
static pid_t owner; /* views do not pass to a child */
static uint32_t nb_views;
static struct view views[MAX_VIEWS];
static struct device_page pages[MAX_VIEWS]; /* in the order of views[] */

/* New views, not yet among those that are run. */
static uint32_t nb_fresh;
static struct view fresh_views[MAX_VIEWS];
static struct device_page fresh_pages[MAX_VIEWS];

static void
unmap(const struct device_page *page)
{
	munmap((void *)(uintptr_t)page->registers, HW_DB_PAGE_BYTES);
}

/* With the lock. In a child of fork(): its parent goes on looking at these. */
static void
forget_parents(void)
{
	if (owner == getpid())
		return;
	for (uint32_t i = 0; i < nb_views; i++)
		unmap(&pages[i]);
	for (uint32_t i = 0; i < nb_fresh; i++)
		unmap(&fresh_pages[i]);
	nb_views = 0;
	nb_fresh = 0;
	owner = getpid();
}

/* The program's own thread: perhaps of a child. */
static void
be_owner(void)
{
	quiet_lock(QUIET_PLAIN);
	forget_parents();
	quiet_unlock(QUIET_PLAIN);
}

/* 0 also when it is looked at already, or by another process. */
static int
add_view(uint32_t context, uint32_t fn, uint32_t page)
{
	struct view view = { .context = context };
	void *at;
	int fd;

	fd = kernel_context_page_open(context, &view.serial);
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	for (uint32_t i = 0; i < nb_views; i++)
		if (views[i].serial == view.serial)
			goto known;
	for (uint32_t i = 0; i < nb_fresh; i++)
		if (fresh_views[i].serial == view.serial)
			goto known;
	at = MAP_FAILED;
	if (nb_fresh < MAX_VIEWS)
		at = (void *)syscall(SYS_mmap, NULL, (size_t)HW_DB_PAGE_BYTES,
				     PROT_READ, MAP_SHARED, fd, 0L);
	host_close(fd);
	if (at == MAP_FAILED)
		return -ENOMEM;
	fresh_views[nb_fresh] = view;
	fresh_pages[nb_fresh] = (struct device_page){
		.fn = fn,
		.page = page,
		.registers = at,
	};
	/*
	 * Not amid a run, which does not look at it and could still find the
	 * doorbell of a packet that was sent after a buffer was posted here.
	 */
	segment_lock_masked();
	__atomic_store_n(&nb_fresh, nb_fresh + 1, __ATOMIC_RELEASE);
	segment_unlock_masked();
	return 0;
known:
	host_close(fd);
	return 0;
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
	mask = quiet_enter();
	quiet_lock(QUIET_PLAIN);
	forget_parents();
	rc = add_view(context, fn, page);
	quiet_unlock(QUIET_PLAIN);
	quiet_leave(mask);
	if (rc == 0 && segment_config()->mode == MODEL_MODE_POLLED)
		rc = device_thread_start();
	if (rc < 0)
		syscall(SYS_munmap, at, length);
	else
		*addr = at;
	return rc;
}

/* With both locks: a page's number may be another context's by now. */
static void
drop_dead(void)
{
	uint32_t i = 0;

	while (i < nb_views) {
		if (kernel_context_is(views[i].context, views[i].serial)) {
			i++;
			continue;
		}
		unmap(&pages[i]);
		nb_views--;
		views[i] = views[nb_views];
		pages[i] = pages[nb_views];
	}
}

/* With both locks. */
static void
take_fresh(void)
{
	while (nb_fresh > 0 && nb_views < MAX_VIEWS) {
		nb_fresh--;
		views[nb_views] = fresh_views[nb_fresh];
		pages[nb_views] = fresh_pages[nb_fresh];
		nb_views++;
	}
}

static void
check_short(void)
{
	for (uint32_t i = 0; i < nb_views; i++) {
		if (views[i].has_complained ||
		    !device_page_is_short_rung(&pages[i]))
			continue;
		views[i].has_complained = true;
		ledger_log("function %u page %u: a 32-bit doorbell was stored; "
			   "it adds to the last one, and plain memory loses "
			   "what is stored in between: use the 64-bit ones, or "
			   "--mode sync or thread", pages[i].fn, pages[i].page);
	}
}

/* And look at all pages that there are. False: others have it, or want it. */
static bool
lock_machine(bool is_patient)
{
	bool is_locked = true;

	quiet_lock(QUIET_PLAIN);
	if (is_patient)
		segment_lock_masked();
	else
		is_locked = segment_trylock_last();
	if (is_locked) {
		drop_dead();
		take_fresh();
	}
	quiet_unlock(QUIET_PLAIN);
	return is_locked;
}

uint32_t
plain_pages_run(bool is_patient)
{
	uint32_t nb_taken;

	if (is_patient)
		be_owner();
	if (__atomic_load_n(&nb_fresh, __ATOMIC_ACQUIRE) == 0 &&
	    !device_pages_rung(pages, nb_views)) {
		check_short();
		return 0;
	}
	if (!lock_machine(is_patient))
		return 0;
	nb_taken = device_pages_run(pages, nb_views);
	segment_unlock_masked();
	return nb_taken;
}

const volatile void *
plain_pages_registers(uint32_t fn, uint32_t page)
{
	be_owner();
	lock_machine(true);
	segment_unlock_masked();
	for (uint32_t i = 0; i < nb_views; i++)
		if (pages[i].fn == fn && pages[i].page == page)
			return pages[i].registers;
	return NULL;
}
