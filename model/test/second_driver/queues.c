/* SPDX-License-Identifier: BSD-3-Clause */

#include "second.h"

#define UNIT_BYTES 32u /* of a work queue */

struct cq
cq_make(uint8_t *ring, uint32_t nb_bytes, uint32_t reg)
{
	struct cq cq = { .ring = ring,
			 .entry_bytes = reg == DB_EQ ? EQE_BYTES : CQE_BYTES,
			 .reg = reg };

	cq.nb_entries = nb_bytes / cq.entry_bytes;
	cq.next = cq.rung = cq.nb_entries;
	return cq;
}

/* The top three bits of an entry's last word tell in which lap it was written. */
bool
cq_pop(struct cq *cq, uint8_t *entry)
{
	const uint8_t *at = cq->ring +
			    cq->next % cq->nb_entries * cq->entry_bytes;
	const uint32_t *last =
		(const uint32_t *)(const void *)(at + cq->entry_bytes - 4);
	const uint32_t owner = __atomic_load_n(last, __ATOMIC_ACQUIRE) >> 29;
	const uint32_t lap = cq->next / cq->nb_entries & 7;

	if (owner == ((lap - 1) & 7))
		return false;
	if (owner != lap)
		die("queue %u was overrun", cq->id);
	memcpy(entry, at, cq->entry_bytes);
	cq->next++;
	return true;
}

static void
doorbell(uint32_t page, uint32_t reg, uint32_t low, uint32_t high)
{
	bar_write(hwc_doorbells + page * PAGE_BYTES + reg,
		  (uint64_t)high << 32 | low, 8);
}

void
cq_ring(struct cq *cq, bool arm)
{
	const uint32_t index = cq->next % (8 * cq->nb_entries);

	cq->rung = cq->next;
	doorbell(cq->page, cq->reg, cq->id, index | (uint32_t)arm << 31);
}

static void
write_at(const struct wq *wq, uint32_t offset, const void *bytes,
	 uint32_t nb_bytes)
{
	memcpy(wq->ring + (wq->tail + offset) % wq->nb_bytes, bytes, nb_bytes);
}

/* No part of a WQE crosses the end of the ring: only the list of SGEs could. */
void
wq_post(struct wq *wq, const void *oob, uint32_t oob_bytes, uint64_t address,
	uint32_t key, uint32_t nb_bytes)
{
	const uint32_t wqe_bytes = (8 + oob_bytes + 16 + UNIT_BYTES - 1) &
				   ~(UNIT_BYTES - 1);
	uint8_t header[8], sge[16];

	if (wq->tail - wq->head + wqe_bytes > wq->nb_bytes)
		die("work queue %u is full", wq->id);
	put32(header, 0);
	put32(header + 4, 1 | oob_bytes / 4 << 8); /* one SGE */
	put64(sge, address);
	put32(sge + 8, key);
	put32(sge + 12, nb_bytes);
	write_at(wq, 0, header, sizeof(header));
	write_at(wq, 8, oob, oob_bytes);
	write_at(wq, 8 + oob_bytes, sge, sizeof(sge));
	wq->tail += wqe_bytes;
}

/* OpenVMM writes the number of WQEs of an RQ, too; Linux does not. */
void
wq_ring(const struct wq *wq)
{
	doorbell(wq->page, wq->reg, wq->id, wq->tail);
}
