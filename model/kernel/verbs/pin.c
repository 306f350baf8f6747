/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "object.h"
#include "privileges.h"

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* Pages per call of mincore(). */
#define MINCORE_PAGES 4096

/* Before Linux 5.14 only a check that the pages are mapped is possible. */
static int
check_mapped(uint64_t first, uint64_t end)
{
	unsigned char state[MINCORE_PAGES];
	uint64_t page = sysconf(_SC_PAGESIZE);
	uint64_t addr, len;

	for (addr = first; addr < end; addr += len) {
		len = end - addr;
		if (len > MINCORE_PAGES * page)
			len = MINCORE_PAGES * page;
		if (mincore((void *)(uintptr_t)addr, len, state) < 0)
			return -EFAULT;
	}
	return 0;
}

/* Whether the real kernel supports the advice, tested with a mapped page. */
static bool
can_populate(void)
{
	static const char somewhere;
	uint64_t page = sysconf(_SC_PAGESIZE);

	return madvise((void *)((uintptr_t)&somewhere & ~(page - 1)), page,
		       MADV_POPULATE_READ) == 0;
}

static int
populate(uint64_t first, uint64_t end, bool writable)
{
	int advice = writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	if (madvise((void *)(uintptr_t)first, end - first, advice) == 0)
		return 0;
	/* EINVAL also means no access right, or an unpinnable mapping. */
	if (errno == EINVAL && !can_populate())
		return check_mapped(first, end);
	return -EFAULT;
}

/* core/umem.c: pinned_vm is charged first, then compared. */
static int
charge(uint64_t nb_pages, uint64_t *charged)
{
	struct kernel *kernel = segment_kernel();
	uint64_t *nb_pinned = &kernel->nb_pinned[model_self];
	struct rlimit limit;

	if (!privileges_ipc_lock() && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY &&
	    *nb_pinned + nb_pages > limit.rlim_cur / KERNEL_PAGE_BYTES)
		return -ENOMEM;
	*charged = nb_pages;
	*nb_pinned += nb_pages;
	return 0;
}

int
pin_memory(uint64_t addr, uint64_t size, bool writable, uint64_t *charged)
{
	uint64_t page = sysconf(_SC_PAGESIZE);
	uint64_t first = addr & ~(page - 1);
	uint64_t end;
	int rc;

	if (size == 0 || __builtin_add_overflow(addr, size, &end) ||
	    __builtin_add_overflow(end, page - 1, &end))
		return -EINVAL;
	end &= ~(page - 1);
	/* ib_umem_get() */
	if ((end - first) / page > UINT32_MAX)
		return -EINVAL;

	segment_lock();
	rc = charge((end - first) / KERNEL_PAGE_BYTES, charged);
	segment_unlock();
	if (rc < 0)
		return rc;

	rc = populate(first, end, writable);
	if (rc < 0) {
		segment_lock();
		pin_release(model_self, charged);
		segment_unlock();
	}
	return rc;
}

void
pin_release(uint32_t process, uint64_t *charged)
{
	segment_kernel()->nb_pinned[process] -= *charged;
	*charged = 0;
}

int
pin_ring(uint64_t addr, uint64_t size, struct object_ring *ring)
{
	int rc;

	ring->memory.process = model_self;
	ring->memory.addr = addr;
	ring->memory.size = size;
	rc = pin_memory(addr, size, true, &ring->nb_pinned);
	if (rc < 0)
		return rc;
	/* mana_ib_create_zero_offset_dma_region() needs an aligned ring. */
	return addr % KERNEL_PAGE_BYTES != 0 ? -EINVAL : 0;
}

void
pin_ring_release(struct object_ring *ring)
{
	pin_release(ring->memory.process, &ring->nb_pinned);
}
