/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "config.h"
#include "dma.h"
#include "mem_copy.h"
#include "pci_status.h"
#include "violation_log.h"

struct dma_space {
	bool is_enabled;
	bool has_complained; /* about memory that is not shared */
	uint32_t nb_maps;
	uint32_t last; /* the mapping that was used last */
	struct dma_map maps[DMA_MAX_MAPS]; /* by rising address */
};

static struct dma_space spaces[MODEL_MAX_FUNCTIONS];

static bool
holds(const struct dma_map *map, uint64_t addr)
{
	return addr - map->addr < map->size_bytes;
}

/* Index of the first mapping that ends behind addr, or nb_maps. */
static uint32_t
find_end(const struct dma_space *space, uint64_t addr)
{
	uint32_t low = 0, high = space->nb_maps;

	while (low < high) {
		const uint32_t middle = (low + high) / 2;
		const struct dma_map *map = &space->maps[middle];

		/* The end itself may be 2^64. */
		if (addr > map->addr + (map->size_bytes - 1))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct dma_map *
find(struct dma_space *space, uint64_t addr)
{
	if (space->last < space->nb_maps && holds(&space->maps[space->last], addr))
		return &space->maps[space->last];
	space->last = find_end(space, addr);
	return space->last < space->nb_maps &&
			       holds(&space->maps[space->last], addr) ?
		       &space->maps[space->last] :
		       NULL;
}

static void
complain_unshared(struct dma_space *space, uint64_t addr)
{
	if (space->has_complained)
		return;
	space->has_complained = true;
	model_log("function-%u: the guest uses memory at 0x%llx that its "
		  "machine does not share: start QEMU with -object "
		  "memory-backend-memfd,id=ram,share=on,size=... -machine "
		  "memory-backend=ram",
		  (uint32_t)(space - spaces), (unsigned long long)addr);
}

static void
complain_file(const struct dma_space *space)
{
	model_log("function-%u: the guest's memory is a file on a disk, or of a "
		  "program: start QEMU with -object memory-backend-memfd,"
		  "id=ram,share=on,size=... -machine memory-backend=ram, or "
		  "use a file of tmpfs or hugetlbfs",
		  (uint32_t)(space - spaces));
}

/* Copy in either direction; mem_copy_raw() catches the end of a file. */
static int
copy(uint32_t fn, uint64_t addr, uint8_t *buf, size_t nb_bytes, uint32_t access)
{
	struct dma_space *space = &spaces[fn];

	if (!space->is_enabled)
		return -EFAULT;
	while (nb_bytes > 0) {
		const struct dma_map *map = find(space, addr);
		uint64_t at, n;
		uint8_t *memory;

		if (map == NULL || (map->access & access) == 0)
			return -EFAULT;
		if (map->memory == NULL) {
			complain_unshared(space, addr);
			return -EFAULT;
		}
		at = addr - map->addr;
		n = map->size_bytes - at;
		if (n > nb_bytes)
			n = nb_bytes;
		memory = map->memory + at;
		if (mem_copy_raw(access == DMA_WRITE ? memory : buf,
				 access == DMA_WRITE ? buf : memory, n) != 0)
			return -EFAULT;
		buf += n;
		nb_bytes -= n;
		addr += n;
	}
	return 0;
}

/* Before the guest lets the function access memory, a fault is none. */
static int
count_fault(uint32_t fn, int ret)
{
	if (ret != 0 && spaces[fn].is_enabled)
		pci_status(fn)->nb_dma_faults++;
	return ret;
}

int
dma_read(uint32_t fn, uint64_t addr, void *buf, size_t nb_bytes)
{
	return count_fault(fn, copy(fn, addr, buf, nb_bytes, DMA_READ));
}

int
dma_write(uint32_t fn, uint64_t addr, const void *buf, size_t nb_bytes)
{
	/* copy() only reads buf then. */
	return count_fault(fn, copy(fn, addr, (void *)(uintptr_t)buf, nb_bytes,
				    DMA_WRITE));
}

bool
dma_is_enabled(uint32_t fn)
{
	return spaces[fn].is_enabled;
}

void
dma_enable(uint32_t fn, bool is_enabled)
{
	spaces[fn].is_enabled = is_enabled;
}

static int
check(const struct dma_space *space, const struct dma_map *map)
{
	const uint64_t last = map->addr + (map->size_bytes - 1);
	uint32_t at;

	if (map->size_bytes == 0 || last < map->addr ||
	    map->addr % DMA_PAGE_BYTES != 0 ||
	    map->size_bytes % DMA_PAGE_BYTES != 0 ||
	    (map->access & ~(DMA_READ | DMA_WRITE)) != 0 || map->access == 0)
		return -EINVAL;
	at = find_end(space, map->addr);
	if (at < space->nb_maps && space->maps[at].addr <= last)
		return -EEXIST;
	return space->nb_maps == DMA_MAX_MAPS ? -ENOSPC : 0;
}

/*
 * Page size of a memfd, or of a file of tmpfs or hugetlbfs; 0: of another one. An
 * access to it could wait for a disk, a network or a program.
 */
static uint64_t
page_bytes_of(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return 0;
	switch ((uint64_t)fs.f_type) {
	case TMPFS_MAGIC:
		return DMA_PAGE_BYTES;
	case HUGETLBFS_MAGIC:
		return (uint64_t)fs.f_bsize;
	default:
		return 0;
	}
}

/* mmap() wants whole pages; QEMU's mappings end within huge ones. */
static int
map_pages(struct dma_map *map, int fd, uint64_t fd_offset, uint64_t page_bytes)
{
	const int protection = ((map->access & DMA_READ) != 0 ? PROT_READ : 0) |
			       ((map->access & DMA_WRITE) != 0 ? PROT_WRITE : 0);
	const uint64_t in_page = fd_offset & (page_bytes - 1);
	const uint64_t nb_bytes = (in_page + map->size_bytes + page_bytes - 1) &
				  ~(page_bytes - 1);
	/* The client has reserved the pages that it uses. */
	void *memory = mmap(NULL, nb_bytes, protection,
			    MAP_SHARED | MAP_NORESERVE, fd,
			    (off_t)(fd_offset - in_page));

	if (memory == MAP_FAILED)
		return -errno;
	/* Keep the guest out of core files. */
	madvise(memory, nb_bytes, MADV_DONTDUMP);
	map->mapped = memory;
	map->mapped_bytes = nb_bytes;
	map->memory = (uint8_t *)memory + in_page;
	return 0;
}

static int
map_file(struct dma_map *map, int fd, uint64_t fd_offset)
{
	uint64_t page_bytes;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || fd_offset % DMA_PAGE_BYTES != 0 ||
	    fd_offset > (uint64_t)st.st_size ||
	    map->size_bytes > (uint64_t)st.st_size - fd_offset)
		return -EINVAL;
	page_bytes = page_bytes_of(fd);
	return page_bytes != 0 ? map_pages(map, fd, fd_offset, page_bytes) :
				 -EMEDIUMTYPE;
}

int
dma_map(uint32_t fn, const struct dma_map *map, int fd, uint64_t fd_offset)
{
	struct dma_space *space = &spaces[fn];
	struct dma_map new = *map;
	int ret = check(space, map);
	uint32_t at;

	new.memory = NULL;
	if (ret == 0 && fd >= 0)
		ret = map_file(&new, fd, fd_offset);
	if (ret == -EMEDIUMTYPE)
		complain_file(space);
	if (ret != 0)
		return ret;
	at = find_end(space, map->addr);
	memmove(&space->maps[at + 1], &space->maps[at],
		(space->nb_maps - at) * sizeof(space->maps[0]));
	space->maps[at] = new;
	space->nb_maps++;
	return 0;
}

static void
unmap_memory(const struct dma_map *map)
{
	if (map->memory != NULL)
		munmap(map->mapped, map->mapped_bytes);
}

int
dma_unmap(uint32_t fn, uint64_t addr, uint64_t size_bytes)
{
	struct dma_space *space = &spaces[fn];
	const uint32_t at = find_end(space, addr);
	struct dma_map *map = &space->maps[at];

	if (at == space->nb_maps || map->addr != addr ||
	    map->size_bytes != size_bytes)
		return -ENOENT;
	unmap_memory(map);
	space->nb_maps--;
	memmove(map, map + 1, (space->nb_maps - at) * sizeof(*map));
	return 0;
}

void
dma_unmap_all(uint32_t fn)
{
	struct dma_space *space = &spaces[fn];

	for (uint32_t i = 0; i < space->nb_maps; i++)
		unmap_memory(&space->maps[i]);
	space->nb_maps = 0;
	space->has_complained = false;
}
