/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "card.h"
#include "doorbell.h"
#include "host.h"
#include "hw.h"
#include "kernel.h"
#include "polled_pages.h"
#include "preload.h"
#include "process_lock.h"
#include "segment.h"
#include "violation_log.h"

#define MAX_VIEWS 256 /* one per context */

/* The pages that this process polls. */
struct view {
	uint32_t context;
	uint64_t serial; /* the context's */
	bool has_logged;
};

struct views {
	uint32_t nb;
	struct view view[MAX_VIEWS];
	struct card_page page[MAX_VIEWS]; /* in the order of view[] */
};

/* Protected by PROCESS_LOCK_POLLED. */
static pid_t owner; /* a child of fork() does not inherit the views */
static struct views own;
/* New views, not polled yet. */
static struct views fresh;
/*
 * Views of contexts of other processes, which poll them. This process reads
 * their RQ registers before it sends packets.
 */
static struct views others;
/* kernel_context_nb_pages() when all pages of others were mapped last. */
static uint64_t nb_pages_seen;

static void
unmap(const struct card_page *page)
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

/* Map the page of fd, append the view, and close fd. */
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
	views->page[views->nb] = (struct card_page){
		.fn = fn,
		.page = page,
		.registers = at,
	};
	return 0;
}

/* Under the lock. In a child of fork() drop the views: the parent polls. */
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

/* Called by the program's thread, maybe in a child of fork(). */
static void
be_owner(void)
{
	process_lock(PROCESS_LOCK_POLLED);
	forget_parents();
	process_unlock(PROCESS_LOCK_POLLED);
}

/* 0 also if this process or another one polls it already. */
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
	 * Wait for a run to end: it ignores this page, but could see the
	 * doorbell of a packet sent after a buffer was posted here.
	 */
	segment_lock_masked();
	__atomic_store_n(&fresh.nb, fresh.nb + 1, __ATOMIC_RELEASE);
	segment_unlock_masked();
	return 0;
}

int
polled_pages_map(void **addr, uint32_t context, int fd, size_t length, int flags)
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
	process_lock(PROCESS_LOCK_POLLED);
	forget_parents();
	rc = add_view(context, fn, page);
	process_unlock(PROCESS_LOCK_POLLED);
	signals_restore_all(mask);
	if (rc == 0 && segment_config()->mode == MODEL_MODE_POLLED)
		rc = device_thread_start();
	if (rc < 0)
		syscall(SYS_munmap, at, length);
	else
		*addr = at;
	return rc;
}

/* With both locks held. The page's number may belong to another context now. */
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

/* With both locks held. */
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

/* Temporary errors, which end when other files are closed. */
static bool
is_passing(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM;
}

/*
 * Map the pages of other processes' contexts. With both locks held: a context
 * that gets its page later has posted nothing yet. If a page cannot be mapped,
 * only its own process polls it; after a temporary error the next call tries
 * again.
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
		if (own.view[i].has_logged ||
		    !card_page_is_short_rung(&own.page[i]))
			continue;
		own.view[i].has_logged = true;
		model_log("function %u page %u: a 32-bit doorbell was stored; its "
			  "value is an increment, and plain memory keeps only the "
			  "last one: use 64-bit doorbells, or --mode sync or thread",
			  own.page[i].fn, own.page[i].page);
	}
}

/* Take the machine's lock and map all pages. False: others have or want it. */
static bool
lock_machine(bool is_patient)
{
	bool is_locked = true;

	process_lock(PROCESS_LOCK_POLLED);
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
	process_unlock(PROCESS_LOCK_POLLED);
	return is_locked;
}

uint32_t
polled_pages_run(bool is_patient)
{
	uint32_t nb_taken;

	if (is_patient)
		be_owner();
	if (__atomic_load_n(&fresh.nb, __ATOMIC_ACQUIRE) == 0 &&
	    !card_pages_rung(own.page, own.nb)) {
		check_short();
		return 0;
	}
	if (!lock_machine(is_patient))
		return 0;
	nb_taken = card_pages_run(own.page, own.nb, others.page,
				  others.nb);
	segment_unlock_masked();
	return nb_taken;
}

const volatile void *
polled_pages_registers(uint32_t fn, uint32_t page)
{
	be_owner();
	lock_machine(true);
	segment_unlock_masked();
	for (uint32_t i = 0; i < own.nb; i++)
		if (own.page[i].fn == fn && own.page[i].page == page)
			return own.page[i].registers;
	return NULL;
}
