/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Guest memory of a PCI function, by guest physical address.
 *
 * The client of the function's socket shares files (memfds); the transport maps
 * them. The client can truncate a file later: a copy then fails, if the SIGBUS
 * handler of the process calls mem_fault_fixup() (mem.h).
 */

#ifndef MODEL_DMA_H
#define MODEL_DMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copy guest memory. A copy may cross adjacent mappings. 0, or -EFAULT if a byte
 * is not mapped, the mapping has no such access right, the memory behind it is
 * gone, or DMA is disabled; a part may be copied then.
 */
int dma_read(uint32_t fn, uint64_t addr, void *buf, size_t nb_bytes);
int dma_write(uint32_t fn, uint64_t addr, const void *buf, size_t nb_bytes);

/*
 * Whether the function may access memory: it has a client, and the guest has set
 * "bus master" in the command register. If not, -EFAULT is no error of a queue.
 */
bool dma_is_enabled(uint32_t fn);

/* The rest is for the transport. */

#define DMA_PAGE_BYTES 4096u
#define DMA_MAX_MAPS   1024u /* per function; QEMU needs about 20 */

#define DMA_READ  (1u << 0)
#define DMA_WRITE (1u << 1)

struct dma_map {
	uint64_t addr, size_bytes; /* multiples of DMA_PAGE_BYTES */
	uint32_t access; /* DMA_READ, DMA_WRITE */
	uint8_t *memory; /* NULL: the client shares no file */
	/* The mapping of memory: whole pages of the file's size. */
	void *mapped;
	uint64_t mapped_bytes;
};

void dma_enable(uint32_t fn, bool is_enabled);

/*
 * Map a file at map->addr; fd is -1 or remains the caller's. map->memory is
 * ignored. 0 or a negative errno:
 * -EEXIST: the range overlaps a mapping; -EINVAL: it is empty, wraps, is not
 * aligned, or not inside of the file; -EMEDIUMTYPE: the file is not in memory;
 * -ENOSPC: there are DMA_MAX_MAPS mappings; others: from mmap().
 */
int dma_map(uint32_t fn, const struct dma_map *map, int fd, uint64_t fd_offset);
/* Remove a mapping of exactly this range. 0, or -ENOENT if there is none. */
int dma_unmap(uint32_t fn, uint64_t addr, uint64_t size_bytes);
void dma_unmap_all(uint32_t fn);

#endif /* MODEL_DMA_H */
