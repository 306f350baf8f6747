/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Access of the card and the kernel to guest memory (platform.h): copies that
 * cannot crash, and memory regions with key, range and access rights.
 *
 * This process's own memory is copied by a routine with a fix-up exit, like the
 * Linux kernel's user copies: if an access faults, the SIGSEGV (or SIGBUS)
 * handler calls mem_fault_fixup() and the copy returns -EFAULT. The platform
 * copies all other memory.
 */

#ifndef MODEL_MEM_H
#define MODEL_MEM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem_copy.h"
#include "platform.h"
#include "segment.h"

/*
 * SIGSEGV and SIGBUS handlers call this first. If the fault happened in a
 * guarded copy, it redirects the interrupted context (a ucontext_t *) to the
 * exit that returns -EFAULT, and returns true: the handler must then return.
 * Handlers need SA_NODEFER, because the device runs inside them and may fault
 * there.
 */
bool mem_fault_fixup(void *ucontext);

/*
 * Without a handler that calls mem_fault_fixup() (unit tests, the launcher),
 * copies of own memory must not fault. Set this to let the platform do them.
 */
extern bool mem_own_through_kernel;

static inline bool
mem_is_direct(uint32_t process)
{
	return MEM_COPY_GUARDED && process == model_self &&
	       !mem_own_through_kernel;
}

/* Copy guest memory. 0, or -EFAULT after copying an unknown part. */
static inline int
mem_read(uint32_t process, uint64_t addr, void *buf, size_t nb_bytes)
{
	if (!mem_is_direct(process))
		return platform->read(process, addr, buf, nb_bytes);
	return mem_copy_raw(buf, (const void *)(uintptr_t)addr, nb_bytes) == 0 ?
		       0 :
		       -EFAULT;
}

static inline int
mem_write(uint32_t process, uint64_t addr, const void *buf, size_t nb_bytes)
{
	if (!mem_is_direct(process))
		return platform->write(process, addr, buf, nb_bytes);
	return mem_copy_raw((void *)(uintptr_t)addr, buf, nb_bytes) == 0 ?
		       0 :
		       -EFAULT;
}

/*
 * Write nb_bytes (a multiple of 16): the other words, a release fence, then the
 * last 32-bit word at once. A reader that sees that word sees all.
 */
int mem_write_last_word(uint32_t process, uint64_t addr, const void *buf,
			size_t nb_bytes);

/*
 * After -EFAULT: whether the program is exiting: its memory is unmapped, no
 * violation, and the kernel is about to destroy its queues.
 */
bool mem_is_ending(uint32_t process);

int mem_fill(uint32_t process, uint64_t addr, uint8_t byte, size_t nb_bytes);
/* 1 if all bytes are zero, 0 if not, or -EFAULT. */
int mem_is_zero(uint32_t process, uint64_t addr, size_t nb_bytes);

/*
 * Memory regions of one function. A key has a table index in its low bits and a
 * generation above, so that the key of a destroyed region is invalid.
 */
#define MEM_REGION_LOG_N 14
#define MEM_KEY_BITS	 24 /* Linux hw_channel.h union hwc_init_type_data */
#define MEM_NB_REGIONS	 (1u << MEM_REGION_LOG_N)

#define MEM_ACCESS_READ	 (1u << 0) /* always granted */
#define MEM_ACCESS_WRITE (1u << 1)

struct mem_region {
	uint32_t key; /* 0: free */
	uint32_t generation;
	uint32_t pdn;
	uint32_t access;
	uint32_t process; /* address space */
	uint64_t iova; /* of the first byte, in SGEs */
	uint64_t addr; /* of the first byte, in its address space */
	uint64_t size_bytes;
};

/* Memory of an SGE: as the platform copies it. */
struct mem_place {
	uint32_t process; /* address space */
	uint64_t addr;
};

struct mem_table {
	uint32_t nb_used;
	uint32_t first_free; /* no lower index is free */
	struct mem_region regions[MEM_NB_REGIONS];
};

enum mem_fault {
	MEM_OK,
	MEM_KEY_UNKNOWN,
	MEM_KEY_FOREIGN_PD,
	MEM_OUT_OF_RANGE,
	MEM_NO_WRITE_ACCESS,
};

/* Takes the lowest free index. 0, or -ENOSPC if the table is full. */
int mem_region_create(struct mem_table *table,
		      const struct mem_region *template, uint32_t *key);
/* Unknown keys are ignored. */
void mem_region_destroy(struct mem_table *table, uint32_t key);
void mem_region_destroy_pd(struct mem_table *table, uint32_t pdn);
/* Repair the table after a process was killed while changing it. */
void mem_region_recount(struct mem_table *table);

static inline const struct mem_region *
mem_region_find(const struct mem_table *table, uint32_t key)
{
	const struct mem_region *r = &table->regions[key & (MEM_NB_REGIONS - 1)];

	return key != 0 && r->key == key ? r : NULL;
}

/*
 * Whether a queue of this PD may access [iova, iova + nb_bytes) with this key.
 * On MEM_OK *place is where that memory is.
 */
static inline enum mem_fault
mem_region_check(const struct mem_table *table, uint32_t key, uint32_t pdn,
		 uint64_t iova, uint64_t nb_bytes, uint32_t access,
		 struct mem_place *place)
{
	const struct mem_region *r = mem_region_find(table, key);

	if (r == NULL)
		return MEM_KEY_UNKNOWN;
	if (r->pdn != pdn)
		return MEM_KEY_FOREIGN_PD;
	if (iova < r->iova || nb_bytes > r->size_bytes ||
	    iova - r->iova > r->size_bytes - nb_bytes)
		return MEM_OUT_OF_RANGE;
	if ((access & ~r->access & ~MEM_ACCESS_READ) != 0)
		return MEM_NO_WRITE_ACCESS;
	*place = (struct mem_place){
		.process = r->process,
		.addr = r->addr + (iova - r->iova),
	};
	return MEM_OK;
}

#endif /* MODEL_MEM_H */
