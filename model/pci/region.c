/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dma.h"
#include "region.h"

/* A handle: the index, and above it the index's generation. */
#define HANDLE_INDEX_BITS 24
#define HANDLE_INDEX_M	  ((1u << HANDLE_INDEX_BITS) - 1)

static bool
sizes_match(uint64_t nb_bytes, uint32_t offset, uint32_t log_page,
	    uint32_t nb_pages)
{
	const uint64_t page_bytes = UINT64_C(1) << log_page;

	return nb_bytes != 0 && nb_bytes <= REGION_GUEST_BYTES - page_bytes &&
	       offset < page_bytes &&
	       (offset + nb_bytes + page_bytes - 1) >> log_page == nb_pages;
}

int
region_create(struct region_table *table, uint64_t nb_bytes, uint32_t offset,
	      uint32_t log_page, uint32_t nb_pages, uint64_t *handle)
{
	struct region *region;
	uint64_t *pages;
	uint32_t i;

	if (log_page < 12 || log_page > REGION_MAX_LOG_PAGE ||
	    !sizes_match(nb_bytes, offset, log_page, nb_pages))
		return -EINVAL;
	if (nb_pages > REGION_MAX_PAGES - table->nb_pages)
		return -ENOSPC;
	for (i = 1; i < REGION_NB && table->regions[i].is_alive; i++)
		;
	if (i == REGION_NB)
		return -ENOSPC;
	pages = calloc(nb_pages, sizeof(*pages));
	if (pages == NULL)
		return -ENOSPC;
	region = &table->regions[i];
	*region = (struct region){
		.is_alive = true,
		.generation = region->generation + 1,
		.log_page = log_page,
		.offset = offset,
		.nb_bytes = nb_bytes,
		.nb_pages = nb_pages,
		.pages = pages,
	};
	table->nb_alive++;
	table->nb_pages += nb_pages;
	if (i > table->last)
		table->last = i;
	*handle = (uint64_t)region->generation << HANDLE_INDEX_BITS | i;
	return 0;
}

int
region_add_pages(struct region *region, const uint64_t *pages, uint32_t nb_pages)
{
	const uint64_t mask = (UINT64_C(1) << region->log_page) - 1;
	uint32_t i;

	if (nb_pages > region->nb_pages - region->nb_given)
		return -EINVAL;
	for (i = 0; i < nb_pages; i++)
		if ((pages[i] & mask) != 0)
			return -EINVAL;
	memcpy(region->pages + region->nb_given, pages,
	       nb_pages * sizeof(*pages));
	region->nb_given += nb_pages;
	return 0;
}

struct region *
region_find(struct region_table *table, uint64_t handle)
{
	const uint32_t i = handle & HANDLE_INDEX_M;
	struct region *region = &table->regions[i % REGION_NB];

	return i < REGION_NB && region->is_alive &&
			       region->generation == handle >> HANDLE_INDEX_BITS ?
		       region :
		       NULL;
}

static void
end_region(struct region_table *table, struct region *region)
{
	free(region->pages);
	region->pages = NULL;
	region->is_alive = false;
	table->nb_alive--;
	table->nb_pages -= region->nb_pages;
}

void
region_destroy(struct region_table *table, uint64_t handle)
{
	struct region *region = region_find(table, handle);

	if (region != NULL)
		end_region(table, region);
}

void
region_destroy_all(struct region_table *table)
{
	uint32_t i;

	for (i = 1; i <= table->last; i++)
		if (table->regions[i].is_alive)
			end_region(table, &table->regions[i]);
}

uint64_t
region_addr(uint64_t handle)
{
	return (handle & HANDLE_INDEX_M) << REGION_ADDR_S;
}

/* One of read and write is not NULL. */
static int
copy_page(uint32_t fn, uint64_t gpa, void *to, const void *from, size_t nb_bytes)
{
	return to != NULL ? dma_read(fn, gpa, to, nb_bytes) :
			    dma_write(fn, gpa, from, nb_bytes);
}

static int
copy(struct region_table *table, uint32_t fn, uint64_t addr, uint8_t *to,
     const uint8_t *from, size_t nb_bytes)
{
	const uint64_t index = addr >> REGION_ADDR_S;
	uint64_t at = addr & (REGION_GUEST_BYTES - 1);
	const struct region *region;
	uint64_t page_bytes;
	size_t n;

	if (index == 0)
		return nb_bytes <= REGION_GUEST_BYTES - at ?
			       copy_page(fn, at, to, from, nb_bytes) :
			       -EFAULT;
	if (index >= REGION_NB)
		return -EFAULT;
	region = &table->regions[index];
	if (!region->is_alive || !region_is_complete(region) ||
	    at > region->nb_bytes || nb_bytes > region->nb_bytes - at)
		return -EFAULT;
	page_bytes = UINT64_C(1) << region->log_page;
	for (at += region->offset; nb_bytes > 0; nb_bytes -= n, at += n) {
		const uint64_t in_page = at & (page_bytes - 1);

		n = page_bytes - in_page;
		if (n > nb_bytes)
			n = nb_bytes;
		if (copy_page(fn, region->pages[at >> region->log_page] + in_page,
			      to, from, n) < 0)
			return -EFAULT;
		if (to != NULL)
			to += n;
		else
			from += n;
	}
	return 0;
}

int
region_read(struct region_table *table, uint32_t fn, uint64_t addr, void *buf,
	    size_t nb_bytes)
{
	return copy(table, fn, addr, buf, NULL, nb_bytes);
}

int
region_write(struct region_table *table, uint32_t fn, uint64_t addr,
	     const void *buf, size_t nb_bytes)
{
	return copy(table, fn, addr, NULL, buf, nb_bytes);
}
