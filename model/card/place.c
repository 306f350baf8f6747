/* SPDX-License-Identifier: BSD-3-Clause */

/* Where queues and regions are, for programs that look at them by hand. */

#include <errno.h>

#include "card.h"

static void
fill_place(const struct card_function *f, const struct wq *wq,
	   struct device_place *place)
{
	const struct cq *cq = &f->cqs[wq->cq];

	*place = (struct device_place){
		.addr = wq->ring.addr,
		.size_bytes = wq->ring.size_bytes,
		.id = wq->id,
		.cq_addr = cq->ring.addr,
		.nb_cqes = cq->nb_cqes,
		.cq_id = cq->id,
		.page = wq->page,
		.vp_offset = f->ports[wq->port].tx_vp_offset,
	};
}

int
device_queue_place(uint32_t fn, uint32_t port, bool is_sq, uint32_t n,
		   uint32_t process, struct device_place *place)
{
	struct card_function *f = card_function(fn);
	uint32_t i;

	if (card_port(fn, port) == NULL)
		return -ENODEV;
	for (i = 0; i < DEVICE_MAX_QUEUES; i++) {
		const struct wq *wq = &f->wqs[is_sq ? i : DEVICE_MAX_QUEUES + i];

		if (!wq->is_alive || wq->port != port ||
		    wq->ring.process != process || n-- > 0)
			continue;
		fill_place(f, wq, place);
		return 0;
	}
	return -ENOENT;
}

int
device_region_place(uint32_t fn, uint32_t key, uint64_t *addr,
		    uint64_t *size_bytes)
{
	struct card_function *f = card_function(fn);
	const struct mem_region *region;

	if (f == NULL)
		return -ENODEV;
	region = mem_region_find(&f->mem, key);
	if (region == NULL)
		return -ENOENT;
	*addr = region->addr;
	*size_bytes = region->size_bytes;
	return 0;
}
