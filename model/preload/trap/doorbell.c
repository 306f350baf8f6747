/* SPDX-License-Identifier: BSD-3-Clause */

/* The trap of doorbell stores. See doorbell.h. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "card.h"
#include "decode.h"
#include "doorbell.h"
#include "kernel.h"
#include "machine.h"
#include "mem.h"
#include "preload.h"
#include "process_lock.h"
#include "segment.h"
#include "signals.h"
#include "violation_log.h"
#include "vmbus.h"

#define PAGE_BYTES ((uintptr_t)4096)

/*
 * The pages, hashed by address with linear probing. The trap reads without a
 * lock: adding a page writes addr last, removing one writes it first.
 */
#define NB_ENTRIES 4096u
#define MAX_PAGES (NB_ENTRIES / 2)
#define ADDR_FREE ((uintptr_t)0)
#define ADDR_WAS_USED ((uintptr_t)1) /* a search continues behind it */

/* Instead of a context: the monitor page of VMBus. */
#define MONITOR UINT32_MAX

struct page {
	uintptr_t addr;
	uint32_t context; /* kept by the mapping, even after removal of the device */
	uint32_t fn, page;
};

static struct page pages[NB_ENTRIES];
static uint32_t nb_pages;
static uint32_t nb_replacements; /* that are under way */
static uint32_t nr_replacements; /* so far */

/* Cache of decoded doorbell instructions, per thread. */
#define NB_CACHED 16u
struct cached {
	uint64_t pc;
	struct decode_insn insn;
};
static __thread struct cached cache[NB_CACHED];

static uint32_t
hash_of(uintptr_t addr)
{
	return (uint32_t)((addr / PAGE_BYTES) * 2654435761u) % NB_ENTRIES;
}

static struct page *
find(uintptr_t addr)
{
	uint32_t at = hash_of(addr);

	for (uint32_t i = 0; i < NB_ENTRIES; i++) {
		struct page *p = &pages[(at + i) % NB_ENTRIES];
		uintptr_t there = __atomic_load_n(&p->addr, __ATOMIC_ACQUIRE);

		/* Test this first: a program may fault at address 0. */
		if (there == ADDR_FREE)
			return NULL;
		if (there == addr)
			return p;
	}
	return NULL;
}

/* With the lock held. */
static int
add(uintptr_t addr, uint32_t context, uint32_t fn, uint32_t page)
{
	uint32_t at = hash_of(addr);

	if (nb_pages == MAX_PAGES)
		return -ENOMEM;
	while (pages[at].addr > ADDR_WAS_USED)
		at = (at + 1) % NB_ENTRIES;
	pages[at].context = context;
	pages[at].fn = fn;
	pages[at].page = page;
	__atomic_store_n(&pages[at].addr, addr, __ATOMIC_RELEASE);
	__atomic_store_n(&nb_pages, nb_pages + 1, __ATOMIC_RELEASE);
	return 0;
}

static bool
is_within(const struct page *page, uintptr_t low, size_t length)
{
	uintptr_t addr = __atomic_load_n(&page->addr, __ATOMIC_RELAXED);

	return addr > ADDR_WAS_USED && addr - low < length;
}

/* Fast path for a single page, the common munmap(). */
static bool
has_any_within(uintptr_t low, size_t length)
{
	if (length <= PAGE_BYTES)
		return find(low) != NULL;
	for (uint32_t i = 0; i < NB_ENTRIES; i++)
		if (is_within(&pages[i], low, length))
			return true;
	return false;
}

static int
forget(uintptr_t low, size_t length)
{
	int ret = -ENOENT;
	uint64_t mask;

	if (__atomic_load_n(&nb_pages, __ATOMIC_ACQUIRE) == 0)
		return -ENOENT;
	/* No lock: an allocator may call munmap() with its own lock held. */
	if (!has_any_within(low, length))
		return -ENOENT;
	mask = signals_block_all();
	process_lock(PROCESS_LOCK_PAGES);
	for (uint32_t i = 0; i < NB_ENTRIES; i++) {
		if (!is_within(&pages[i], low, length))
			continue;
		__atomic_store_n(&pages[i].addr, ADDR_WAS_USED,
				 __ATOMIC_RELEASE);
		__atomic_store_n(&nb_pages, nb_pages - 1, __ATOMIC_RELEASE);
		ret = 0;
	}
	if (nb_pages == 0)
		for (uint32_t i = 0; i < NB_ENTRIES; i++)
			pages[i].addr = ADDR_FREE;
	process_unlock(PROCESS_LOCK_PAGES);
	signals_restore_all(mask);
	return ret;
}

void
doorbell_process_init(void)
{
	if (decode_init() != 0) {
		model_log("no memory for the instruction decoder (capstone)");
		abort();
	}
	signals_start();
}

static int
add_page(const void *at, uint32_t context, uint32_t fn, uint32_t page)
{
	const uint64_t mask = signals_block_all();
	int ret;

	process_lock(PROCESS_LOCK_PAGES);
	ret = add((uintptr_t)at, context, fn, page);
	process_unlock(PROCESS_LOCK_PAGES);
	signals_restore_all(mask);
	return ret;
}

int
doorbell_map_monitor(void *addr)
{
	int ret = 0;

	doorbell_process_init();
	if (segment_config()->mode == MODEL_MODE_THREAD)
		ret = device_thread_start();
	return ret != 0 ? ret : add_page(addr, MONITOR, 0, 0);
}

int
doorbell_map(void **addr, uint32_t context, size_t length, int flags)
{
	uint32_t fn, page;
	void *at;
	int ret;

	ret = kernel_context_doorbell(context, &fn, &page);
	if (ret != 0)
		return ret;
	doorbell_process_init();
	if (segment_config()->mode == MODEL_MODE_THREAD) {
		ret = device_thread_start();
		if (ret != 0)
			return ret;
	}
	at = mmap(*addr, length, PROT_NONE,
		  MAP_PRIVATE | MAP_ANONYMOUS | (flags & MAP_FIXED), -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	ret = add_page(at, context, fn, page);
	if (ret != 0)
		munmap(at, length);
	else
		*addr = at;
	return ret;
}

bool
doorbell_replace_begin(void *addr, size_t length)
{
	if (__atomic_load_n(&nb_pages, __ATOMIC_ACQUIRE) == 0)
		return false;
	__atomic_add_fetch(&nb_replacements, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&nr_replacements, 1, __ATOMIC_SEQ_CST);
	if (forget((uintptr_t)addr, length) == 0)
		return true;
	doorbell_replace_end();
	return false;
}

void
doorbell_replace_end(void)
{
	__atomic_sub_fetch(&nb_replacements, 1, __ATOMIC_SEQ_CST);
}

int
doorbell_unmap(void *addr, size_t length)
{
	int ret = forget((uintptr_t)addr, length);

	if (ret == 0)
		munmap(addr, length);
	return ret;
}

/* Copy up to DECODE_MAX_INSN_BYTES at pc; the next page may be unmapped. */
static size_t
fetch(uint64_t pc, uint8_t *bytes)
{
	size_t to_page_end = PAGE_BYTES - pc % PAGE_BYTES;
	size_t first = to_page_end < DECODE_MAX_INSN_BYTES ?
		       to_page_end : DECODE_MAX_INSN_BYTES;
	size_t rest = DECODE_MAX_INSN_BYTES - first;

	if (mem_read(model_self, pc, bytes, first) != 0)
		return 0;
	if (rest != 0 &&
	    mem_read(model_self, pc + first, bytes + first, rest) != 0)
		return first;
	return DECODE_MAX_INSN_BYTES;
}

static const struct decode_insn *
decoded(uint64_t pc)
{
	struct cached *c = &cache[(pc ^ (pc >> 6)) % NB_CACHED];
	uint8_t bytes[DECODE_MAX_INSN_BYTES];
	size_t nb_bytes;

	/*
	 * The instruction was just executed, so its bytes are readable. Compare
	 * them: the program may have replaced the cached instruction.
	 */
	if (c->pc == pc && c->insn.length != 0 &&
	    memcmp((const void *)(uintptr_t)pc, c->insn.bytes,
		   c->insn.length) == 0)
		return &c->insn;
	nb_bytes = fetch(pc, bytes);
	c->pc = pc;
	decode_insn(bytes, nb_bytes, &c->insn);
	return &c->insn;
}

/* Bytes of an instruction, each with a blank before it. */
static void
insn_text(const struct decode_insn *insn, size_t nb_bytes,
	  char text[3 * DECODE_MAX_INSN_BYTES + 1])
{
	text[0] = '\0';
	for (size_t i = 0; i < nb_bytes; i++)
		snprintf(text + 3 * i, 4, " %02x", insn->bytes[i]);
}

static void
violate(enum violation violation, const struct page *page,
	const struct decode_insn *insn)
{
	const struct violation_place place = { .fn = page->fn };
	const char *got = violation == VIOLATION_doorbell_read ?
				  "a load" :
			  violation == VIOLATION_doorbell_bad_width ?
				  "a store of another width" :
				  "an instruction";
	char text[3 * DECODE_MAX_INSN_BYTES + 1];

	insn_text(insn, insn->length != 0 ? insn->length : DECODE_MAX_INSN_BYTES,
		  text);
	segment_lock_masked();
	violation_detail("got %s,%s, want a plain store of 4 or 8 bytes", got,
			 text);
	violation_record(violation, &place, NULL, 0);
	segment_unlock_masked();
}

/* Kill the program: continuing would lose a doorbell. */
static void
refuse(const struct page *page, const struct decode_insn *insn, uint64_t pc)
{
	char text[3 * DECODE_MAX_INSN_BYTES + 1];

	insn_text(insn, DECODE_MAX_INSN_BYTES, text);
	violate(VIOLATION_doorbell_undecoded, page, insn);
	model_log("the doorbell page was written by an instruction that the "
		  "model cannot decode, at 0x%llx:%s; use plain 4 or 8 byte "
		  "stores, or teach decode_x86.c this one",
		  (unsigned long long)pc, text);
	abort();
}

static bool
is_dead(const struct page *page)
{
	return page->context != MONITOR && kernel_context_is_dead(page->context);
}

/*
 * The device was removed: make the mapping plain memory that the device ignores
 * (Linux core/uverbs_main.c rdma_umap_fault()), and execute the instruction
 * again. The memory is from the context's file, so that all mappings of it see
 * the same page and keep the context.
 */
static void
give_dummy_page(const struct page *page)
{
	const int rw = PROT_READ | PROT_WRITE;
	int saved_errno = errno;

	if (kernel_context_has_dummy_page(page->context))
		syscall(SYS_mprotect, page->addr, PAGE_BYTES, rw);
	else
		syscall(SYS_mmap, page->addr, PAGE_BYTES, rw,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);
	errno = saved_errno;
}

/* If it does not ring, the instruction is executed again, on what is mapped now. */
enum ring_result { RUNG, REPLACED, REMOVED };

/*
 * The page may be replaced at any time, and then the kernel destroys its queues, which
 * needs the lock: a store to the page has ended before that.
 */
static enum ring_result
ring(const struct page *page, uintptr_t addr, uint32_t offset, uint64_t value,
     uint32_t size_bytes)
{
	enum ring_result result = RUNG;

	segment_lock_masked();
	if (__atomic_load_n(&page->addr, __ATOMIC_ACQUIRE) != addr)
		result = REPLACED;
	else if (is_dead(page))
		result = REMOVED;
	if (result == RUNG)
		doorbell_count_trap();
	if (result == RUNG && page->context == MONITOR)
		vmbus_signal(offset, (uint32_t)value);
	else if (result == RUNG)
		card_doorbell(page->fn, page->page, offset, value,
			      size_bytes);
	segment_unlock_masked();
	return result;
}

/*
 * Whether a fault may have been one on a doorbell page that is being replaced, or was since
 * the fault. Then the instruction is executed again; a fault on other memory comes twice.
 */
static bool
may_be_replaced(void)
{
	static __thread uint32_t nr_seen;
	uint32_t nr;

	if (__atomic_load_n(&nb_replacements, __ATOMIC_SEQ_CST) != 0)
		return true;
	nr = __atomic_load_n(&nr_replacements, __ATOMIC_SEQ_CST);
	if (nr == nr_seen)
		return false;
	nr_seen = nr;
	return true;
}

enum doorbell_fault
doorbell_trap(void *fault_addr, ucontext_t *uc)
{
	const uint32_t offset = (uintptr_t)fault_addr % PAGE_BYTES;
	const uintptr_t addr = (uintptr_t)fault_addr - offset;
	const struct page *page = find(addr);
	const struct decode_insn *insn;
	enum ring_result result;
	uint64_t pc;

	if (page == NULL)
		return may_be_replaced() ? DOORBELL_FAULT_DONE : DOORBELL_FAULT_FOREIGN;
	/* The child of a fork() attaches as its own process. */
	if (!attach_is_attached())
		attach_machine();
	if (is_dead(page)) {
		give_dummy_page(page);
		return DOORBELL_FAULT_DONE;
	}
	pc = decode_pc(uc);
	insn = decoded(pc);
	if (!decode_fault_is_write(uc) || insn->kind == DECODE_LOAD ||
	    (insn->is_or && page->context != MONITOR)) {
		violate(VIOLATION_doorbell_read, page, insn);
		return DOORBELL_FAULT_KILL;
	}
	switch (insn->kind) {
	case DECODE_WIDE:
		violate(VIOLATION_doorbell_bad_width, page, insn);
		break;
	case DECODE_IMM:
	case DECODE_GPR:
	case DECODE_VECTOR:
		result = ring(page, addr, offset, decode_value(insn, uc),
			      insn->size_bytes);
		if (result == REMOVED)
			give_dummy_page(page);
		if (result != RUNG)
			return DOORBELL_FAULT_DONE;
		machine_tick();
		break;
	default:
		refuse(page, insn, pc);
	}
	decode_skip(insn, uc);
	return DOORBELL_FAULT_DONE;
}
