/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * DMA regions of a function: lists of guest pages that appear as contiguous
 * memory. A page has 4096 << k bytes. The region starts at an offset in its
 * first page.
 *
 * In the address space of a function (platform.h), byte p of region n has the
 * address n << REGION_ADDR_S | p. Region 0 is the guest's physical memory.
 */

#ifndef MODEL_REGION_H
#define MODEL_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGION_ADDR_S	      40
#define REGION_GUEST_BYTES    (UINT64_C(1) << REGION_ADDR_S)
#define REGION_MAX_LOG_PAGE   31 /* 2 GiB, the largest that Linux names */
#define REGION_NB	      32768u
/* Of all regions of a function: bounds the memory of their lists. */
#define REGION_MAX_PAGES (1u << 24)

struct region {
	bool is_alive;
	bool is_used; /* a queue or a memory key has it */
	uint32_t generation;
	uint32_t log_page;
	uint32_t offset; /* of byte 0, in the first page */
	uint64_t nb_bytes;
	uint32_t nb_pages, nb_given; /* given: the list is that long */
	uint64_t *pages; /* guest physical addresses */
};

struct region_table {
	uint32_t nb_alive;
	uint32_t nb_pages; /* of all regions */
	uint32_t last; /* no higher index was ever used */
	struct region regions[REGION_NB]; /* 0 is never used */
};

/*
 * Create a region without pages; *handle is never 0. 0, -EINVAL: the sizes do not
 * match, or -ENOSPC.
 */
int region_create(struct region_table *table, uint64_t nb_bytes, uint32_t offset,
		  uint32_t log_page, uint32_t nb_pages, uint64_t *handle);
/* Append pages. 0 or -EINVAL: too many, or one is not page-aligned. */
int region_add_pages(struct region *region, const uint64_t *pages,
		     uint32_t nb_pages);
static inline bool
region_is_complete(const struct region *region)
{
	return region->nb_given == region->nb_pages;
}

/* NULL if there is none. */
struct region *region_find(struct region_table *table, uint64_t handle);
void region_destroy(struct region_table *table, uint64_t handle);
void region_destroy_all(struct region_table *table);
/* Address of byte 0 in the function's address space. */
uint64_t region_addr(uint64_t handle);

/* Copy memory of a function's address space. 0 or -EFAULT. */
int region_read(struct region_table *table, uint32_t fn, uint64_t addr,
		void *buf, size_t nb_bytes);
int region_write(struct region_table *table, uint32_t fn, uint64_t addr,
		 const void *buf, size_t nb_bytes);

#endif /* MODEL_REGION_H */
