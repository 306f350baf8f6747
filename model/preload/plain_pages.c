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

struct views {
	uint32_t nb;
	struct view view[MAX_VIEWS];
	struct device_page page[MAX_VIEWS]; /* in the order of view[] */
};

/* All of this is changed with QUIET_PLAIN. */
static pid_t owner; /* views do not pass to a child */
static struct views own;
/* New ones, not yet among those that are run. */
static struct views fresh;
/*
 * Of contexts of other processes, which run them: what is posted there precedes
 * the packets that we send afterwards.
 */
static struct views others;
/* kernel_context_nb_pages() when all of these could be looked at. */
static uint64_t nb_pages_seen;

static void
unmap(const struct device_page *page)
{
	munmap((void *)(uintptr_t)page->registers, HW_DB_PAGE_BYTES);
}

static void
unmap_all(struct views *views)
{
	while (views->nb > 0)
		unmap(&views->page[--views->nb]);
}

static bool
is_among(const struct views *views, uint64_t serial)
{
	for (uint32_t i = 0; i < views->nb; i++)
		if (views->view[i].serial == serial)
			return true;
	return false;
}

/* Map the page behind fd, which is closed, as the one after the last. */
static int
append(struct views *views, int fd, const struct view *view, uint32_t fn,
       uint32_t page)
{
	void *at = MAP_FAILED;

	if (views->nb < MAX_VIEWS)
		at = (void *)syscall(SYS_mmap, NULL, (size_t)HW_DB_PAGE_BYTES,
				     PROT_READ, MAP_SHARED, fd, 0L);
	host_close(fd);
	if (at == MAP_FAILED)
		return -ENOMEM;
	views->view[views->nb] = *view;
	views->page[views->nb] = (struct device_page){
		.fn = fn,
		.page = page,
		.registers = at,
	};
	return 0;
}

/* With the lock. In a child of fork(): its parent goes on looking at these. */
static void
forget_parents(void)
{
	if (owner == getpid())
		return;
	unmap_all(&own);
	unmap_all(&fresh);
	unmap_all(&others);
	nb_pages_seen = 0;
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
	int fd, rc;

	fd = kernel_context_page_open(context, &view.serial);
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	if (is_among(&own, view.serial) || is_among(&fresh, view.serial)) {
		host_close(fd);
		return 0;
	}
	rc = append(&fresh, fd, &view, fn, page);
	if (rc < 0)
		return rc;
	/*
	 * Not amid a run, which does not look at it and could still find the
	 * doorbell of a packet that was sent after a buffer was posted here.
	 */
	segment_lock_masked();
	__atomic_store_n(&fresh.nb, fresh.nb + 1, __ATOMIC_RELEASE);
	segment_unlock_masked();
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
drop_dead(struct views *views)
{
	uint32_t i = 0;

	while (i < views->nb) {
		if (kernel_context_is(views->view[i].context,
				      views->view[i].serial)) {
			i++;
			continue;
		}
		unmap(&views->page[i]);
		views->nb--;
		views->view[i] = views->view[views->nb];
		views->page[i] = views->page[views->nb];
	}
}

/* With both locks. */
static void
take_fresh(void)
{
	while (fresh.nb > 0 && own.nb < MAX_VIEWS) {
		fresh.nb--;
		own.view[own.nb] = fresh.view[fresh.nb];
		own.page[own.nb] = fresh.page[fresh.nb];
		own.nb++;
	}
}

/* What may pass, as files that others close; all else stays as it is. */
static bool
is_passing(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM;
}

/*
 * With both locks: a context that gets its page now can have posted nothing
 * yet. One that cannot be looked at has only its own process, unless that may
 * pass: then the next time is another chance.
 */
static void
take_others(void)
{
	const uint64_t nb_pages = kernel_context_nb_pages();
	bool has_all = true;

	if (nb_pages == nb_pages_seen)
		return;
	for (uint32_t context = 0; context < MAX_VIEWS; context++) {
		struct view view = { .context = context };
		uint32_t fn, page;
		int fd;

		if (kernel_context_doorbell(context, &fn, &page) < 0)
			continue;
		fd = kernel_context_other_page_open(context, &view.serial);
		if (fd < 0)
			has_all &= !is_passing(fd);
		else if (is_among(&others, view.serial))
			host_close(fd);
		else if (append(&others, fd, &view, fn, page) == 0)
			others.nb++;
		else
			has_all = false;
	}
	if (has_all)
		nb_pages_seen = nb_pages;
}

static void
check_short(void)
{
	for (uint32_t i = 0; i < own.nb; i++) {
		if (own.view[i].has_complained ||
		    !device_page_is_short_rung(&own.page[i]))
			continue;
		own.view[i].has_complained = true;
		ledger_log("function %u page %u: a 32-bit doorbell was stored; "
			   "it adds to the last one, and plain memory loses "
			   "what is stored in between: use the 64-bit ones, or "
			   "--mode sync or thread", own.page[i].fn, own.page[i].page);
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
		drop_dead(&own);
		drop_dead(&others);
		take_fresh();
		take_others();
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
	if (__atomic_load_n(&fresh.nb, __ATOMIC_ACQUIRE) == 0 &&
	    !device_pages_rung(own.page, own.nb)) {
		check_short();
		return 0;
	}
	if (!lock_machine(is_patient))
		return 0;
	nb_taken = device_pages_run(own.page, own.nb, others.page,
				    others.nb);
	segment_unlock_masked();
	return nb_taken;
}

const volatile void *
plain_pages_registers(uint32_t fn, uint32_t page)
{
	be_owner();
	lock_machine(true);
	segment_unlock_masked();
	for (uint32_t i = 0; i < own.nb; i++)
		if (own.page[i].fn == fn && own.page[i].page == page)
			return own.page[i].registers;
	return NULL;
}
