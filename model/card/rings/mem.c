/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>

#include "mem.h"
#include "mem_copy.h"
#include "segment.h"

#define MEM_CHUNK_BYTES 4096u

bool mem_own_through_kernel = MEM_COPY_GUARDED == 0;

int
mem_write_last_word(uint32_t process, uint64_t addr, const void *buf,
		    size_t nb_bytes)
{
	const size_t before = nb_bytes - sizeof(uint32_t);
	int rc;

	/* Copy the words as written, in order: a wider load would wait. */
	if (mem_is_direct(process))
		return mem_copy_words_raw((void *)(uintptr_t)addr, buf,
					  nb_bytes / sizeof(uint32_t)) == 0 ?
			       0 :
			       -EFAULT;
	rc = mem_write(process, addr, buf, before);
	if (rc < 0)
		return rc;
	/* ASSUMED: the kernel copies an aligned word with one access. */
	return mem_write(process, addr + before, (const uint8_t *)buf + before,
			 sizeof(uint32_t));
}

bool
mem_is_ending(uint32_t process)
{
	return process != model_self && !platform->has_memory(process);
}

int
mem_fill(uint32_t process, uint64_t addr, uint8_t byte, size_t nb_bytes)
{
	uint8_t chunk[MEM_CHUNK_BYTES];
	size_t done, n;
	int rc = 0;

	memset(chunk, byte, sizeof(chunk));
	for (done = 0; rc == 0 && done < nb_bytes; done += n) {
		n = nb_bytes - done;
		if (n > sizeof(chunk))
			n = sizeof(chunk);
		rc = mem_write(process, addr + done, chunk, n);
	}
	return rc;
}

int
mem_is_zero(uint32_t process, uint64_t addr, size_t nb_bytes)
{
	uint8_t chunk[MEM_CHUNK_BYTES];
	size_t done, n;

	for (done = 0; done < nb_bytes; done += n) {
		n = nb_bytes - done;
		if (n > sizeof(chunk))
			n = sizeof(chunk);
		if (mem_read(process, addr + done, chunk, n) < 0)
			return -EFAULT;
		/* The first byte is zero, each equals the one before. */
		if (chunk[0] != 0 || memcmp(chunk, chunk + 1, n - 1) != 0)
			return 0;
	}
	return 1;
}

#define MEM_GENERATION_M ((1u << (MEM_KEY_BITS - MEM_REGION_LOG_N)) - 1)

int
mem_region_create(struct mem_table *table, const struct mem_region *template,
		  uint32_t *key)
{
	struct mem_region region, *r;
	uint32_t generation, idx = table->first_free;

	while (idx < MEM_NB_REGIONS && table->regions[idx].key != 0)
		idx++;
	if (idx == MEM_NB_REGIONS)
		return -ENOSPC;
	r = &table->regions[idx];
	/* Never 0, so that key 0 is never valid. */
	generation = (r->generation + 1) & MEM_GENERATION_M;
	if (generation == 0)
		generation = 1;
	region = *template;
	region.generation = generation;
	*r = region;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->key = generation << MEM_REGION_LOG_N | idx;
	table->first_free = idx + 1;
	table->nb_used++;
	*key = r->key;
	return 0;
}

void
mem_region_destroy(struct mem_table *table, uint32_t key)
{
	const uint32_t idx = key & (MEM_NB_REGIONS - 1);

	if (mem_region_find(table, key) == NULL)
		return;
	table->regions[idx].key = 0;
	table->nb_used--;
	if (idx < table->first_free)
		table->first_free = idx;
}

void
mem_region_recount(struct mem_table *table)
{
	uint32_t idx;

	table->nb_used = 0;
	table->first_free = MEM_NB_REGIONS;
	for (idx = 0; idx < MEM_NB_REGIONS; idx++) {
		if (table->regions[idx].key != 0)
			table->nb_used++;
		else if (table->first_free == MEM_NB_REGIONS)
			table->first_free = idx;
		if (table->regions[idx].generation == 0)
			break; /* no higher index was ever used */
	}
}

void
mem_region_destroy_pd(struct mem_table *table, uint32_t pdn)
{
	uint32_t idx;

	if (table->nb_used == 0)
		return;
	/* Stop at the first index that was never used: no higher one was. */
	for (idx = 0; idx < MEM_NB_REGIONS && table->regions[idx].generation != 0;
	     idx++)
		if (table->regions[idx].key != 0 && table->regions[idx].pdn == pdn)
			mem_region_destroy(table, table->regions[idx].key);
}
