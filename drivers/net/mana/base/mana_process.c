/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <sys/mman.h>

#include <rte_common.h>

#include "mana_process.h"

MANA_ATOMIC(uint32_t) mana_process_id = MANA_PROCESS_PRIMARY;
bool mana_has_fences;
uintptr_t mana_db_window;

static pthread_mutex_t window_lock = PTHREAD_MUTEX_INITIALIZER;

/* The window is never unmapped: a burst may still use it. */
static int
window_open(size_t page_bytes)
{
	void *window;
	int ret = 0;

	pthread_mutex_lock(&window_lock);
	if (mana_db_window == 0) {
		window = mmap(NULL, RTE_MAX_ETHPORTS * page_bytes,
			      PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (window == MAP_FAILED)
			ret = -errno;
		else
			mana_db_window = (uintptr_t)window;
	}
	pthread_mutex_unlock(&window_lock);
	return ret;
}

static void *
page_of(uint16_t port_id)
{
	return (void *)(mana_db_window + (size_t)port_id * sysconf(_SC_PAGESIZE));
}

int
mana_db_map(uint16_t port_id, int fd)
{
	size_t page_bytes = sysconf(_SC_PAGESIZE);
	int ret = window_open(page_bytes);

	if (ret != 0)
		return ret;
	/* As libmana: written only, and exactly one page (Linux mana_ib_mmap). */
	if (mmap(page_of(port_id), page_bytes, PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 0) != MAP_FAILED)
		return 0;
	ret = -errno;
	/* Linux has unmapped the page before it asked the driver (mm/mmap.c). */
	mana_db_unmap(port_id);
	return ret;
}

void
mana_db_unmap(uint16_t port_id)
{
	if (mana_db_window != 0)
		(void)mmap(page_of(port_id), sysconf(_SC_PAGESIZE),
			   PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
			   0);
}

volatile void *
mana_db_page(uint16_t port_id)
{
	return page_of(port_id);
}
