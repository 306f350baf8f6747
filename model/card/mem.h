/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory of programs, as the device and the kernel reach it: copies that
 * cannot crash, and memory regions with key, range and right.
 *
 * Memory is named by (process slot, virtual address). A copy of this
 * process's own memory is a plain copy by a routine with a fix-up exit, as
 * the kernel's own user copies: when an access faults, the SIGSEGV (or SIGBUS)
 * handler calls mem_fault_fixup() and the copy returns -EFAULT. Memory of
 * another process goes through process_vm_readv and process_vm_writev.
 */

#ifndef MODEL_MEM_H
#define MODEL_MEM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem_copy.h"
#include "segment.h"

/*
 * For the handler of SIGSEGV and SIGBUS, first thing: when the fault happened
 * in a guarded copy, makes the interrupted context (a ucontext_t *) go on at
 * the exit that returns -EFAULT and says true: just return from the handler.
 * The signal must not be blocked while it is handled (SA_NODEFER), because
 * the device runs inside that handler.
 */
bool mem_fault_fixup(void *ucontext);

/*
 * Without a handler that calls mem_fault_fixup() (unit tests, the launcher),
 * copies of own memory must not fault. This makes them go through the kernel.
 */
extern bool mem_own_through_kernel;

/*
 * Copy bytes from or to the memory of a process. 0, or -EFAULT when any byte
 * could not be reached; how much was copied then is not known.
 */
int mem_read_slow(uint32_t process, uint64_t addr, void *buf, size_t nb_bytes);
int mem_write_slow(uint32_t process, uint64_t addr, const void *buf,
		   size_t nb_bytes);

static inline bool
mem_is_direct(uint32_t process)
{
	return MEM_COPY_GUARDED && process == model_self &&
	       !mem_own_through_kernel;
}

static inline int
mem_read(uint32_t process, uint64_t addr, void *buf, size_t nb_bytes)
{
	if (!mem_is_direct(process))
		return mem_read_slow(process, addr, buf, nb_bytes);
	return mem_copy_raw(buf, (const void *)(uintptr_t)addr, nb_bytes) == 0 ?
		       0 :
		       -EFAULT;
}

static inline int
mem_write(uint32_t process, uint64_t addr, const void *buf, size_t nb_bytes)
{
	if (!mem_is_direct(process))
		return mem_write_slow(process, addr, buf, nb_bytes);
	return mem_copy_raw((void *)(uintptr_t)addr, buf, nb_bytes) == 0 ?
		       0 :
		       -EFAULT;
}

/*
 * Write nb_bytes (a multiple of 16) so that whoever sees the last 32-bit word
 * sees the rest too: all but that word, release fence, the word as one store.
 */
int mem_write_last_word(uint32_t process, uint64_t addr, const void *buf,
			size_t nb_bytes);

/*
 * After an -EFAULT: is the memory gone because its program is ending? Then
 * nobody did wrong, and the kernel is about to take its queues away.
 */
bool mem_is_ending(uint32_t process);

int mem_fill(uint32_t process, uint64_t addr, uint8_t byte, size_t nb_bytes);
/* 1 all zero, 0 not, -EFAULT. */
int mem_is_zero(uint32_t process, uint64_t addr, size_t nb_bytes);

/*
 * Memory regions of one function. A key is a table index in its low bits and
 * a generation above, so that a key kept too long is not a valid one.
 */
#define MEM_REGION_LOG_N 14
#define MEM_NB_REGIONS	 (1u << MEM_REGION_LOG_N)

#define MEM_ACCESS_READ	 (1u << 0) /* always granted */
#define MEM_ACCESS_WRITE (1u << 1)

struct mem_region {
	uint32_t key; /* 0: free */
	uint32_t generation;
	uint32_t pdn;
	uint32_t access;
	uint32_t process;
	uint64_t addr;
	uint64_t size_bytes;
};

struct mem_table {
	uint32_t nb_used;
	uint32_t first_free; /* none is free below */
	struct mem_region regions[MEM_NB_REGIONS];
};

enum mem_fault {
	MEM_OK,
	MEM_KEY_UNKNOWN,
	MEM_KEY_FOREIGN_PD,
	MEM_OUT_OF_RANGE,
	MEM_NO_WRITE_ACCESS,
};

/* Lowest free index. 0, -ENOSPC when the table is full. */
int mem_region_create(struct mem_table *table,
		      const struct mem_region *template, uint32_t *key);
/* Unknown keys are ignored. */
void mem_region_destroy(struct mem_table *table, uint32_t key);
void mem_region_destroy_pd(struct mem_table *table, uint32_t pdn);
/* Somebody was killed amid one of these. */
void mem_region_recount(struct mem_table *table);

static inline const struct mem_region *
mem_region_find(const struct mem_table *table, uint32_t key)
{
	const struct mem_region *r = &table->regions[key & (MEM_NB_REGIONS - 1)];

	return key != 0 && r->key == key ? r : NULL;
}

/*
 * May a queue of this PD reach [addr, addr + nb_bytes) with this key and
 * right? On MEM_OK *process says whose memory it is.
 */
static inline enum mem_fault
mem_region_check(const struct mem_table *table, uint32_t key, uint32_t pdn,
		 uint64_t addr, uint64_t nb_bytes, uint32_t access,
		 uint32_t *process)
{
	const struct mem_region *r = mem_region_find(table, key);

	if (r == NULL)
		return MEM_KEY_UNKNOWN;
	if (r->pdn != pdn)
		return MEM_KEY_FOREIGN_PD;
	if (addr < r->addr || nb_bytes > r->size_bytes ||
	    addr - r->addr > r->size_bytes - nb_bytes)
		return MEM_OUT_OF_RANGE;
	if ((access & ~r->access & ~MEM_ACCESS_READ) != 0)
		return MEM_NO_WRITE_ACCESS;
	*process = r->process;
	return MEM_OK;
}

#endif /* MODEL_MEM_H */
