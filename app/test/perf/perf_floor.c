/* SPDX-License-Identifier: BSD-3-Clause */

/* The floor as a driver, with rings in its own memory. */

#include <string.h>

#include <rte_malloc.h>

#include "floor.h"
#include "perf.h"

#define KEY 0x5a5a0001 /* covers all memory */

void
perf_floor_probe(struct perf_sut *sut)
{
	sut->pool = perf_pool_create("perf_floor", PERF_NB_MBUFS, PERF_CACHE_MBUFS);
	sut->port = RTE_MAX_ETHPORTS;
	sut->rx_burst = floor_rx;
	sut->tx_burst = floor_tx;
}

/* A ring as the hardware requires it. */
static void *
ring_alloc(size_t bytes)
{
	void *ring = rte_zmalloc(NULL, RTE_MAX(bytes, HW_RING_MIN_BYTES),
				 HW_RING_ALIGN_BYTES);

	if (ring == NULL)
		hand_fail("floor: no memory for a ring");
	return ring;
}

/* All queues share the page; ids differ per queue, and each has a frame. */
static struct mana_model_queue
place(const void *page, const struct perf_row *row, uint16_t nth, bool is_tx)
{
	const uint32_t nb_bu = is_tx ? 2 * row->ring : row->ring;
	const struct mana_model_queue at = {
		.ring = ring_alloc(nb_bu * HW_BU_BYTES),
		.ring_bytes = nb_bu * HW_BU_BYTES,
		.id = (2u * nth + is_tx + 1) << HW_VSQ_FRAME_SHIFT,
		.cq_ring = ring_alloc(row->ring * HW_CQE_BYTES),
		.nb_cqes = row->ring,
		.cq_id = 2u * nth + is_tx + 1,
		.vp_offset = 3,
		.doorbells = page,
	};

	memset(at.ring, UINT8_MAX, at.ring_bytes);
	return at;
}

void
perf_floor_start(struct perf_sut *sut, const struct perf_row *row, bool is_watched)
{
	void *page = ring_alloc(HW_DB_PAGE_BYTES);

	sut->nb_queues = row->nb_queues;
	sut->is_watched = is_watched || row->nb_queues > 1;
	for (uint16_t i = 0; i < row->nb_queues; i++) {
		struct perf_queue *queue = &sut->queues[i];
		struct floor_conf conf = {
			.at = place(page, row, i, false),
			.doorbells = page,
			.pool = sut->pool,
			.key = KEY,
			.nb_desc = row->ring,
			.port = sut->port,
			.rx_thresh = row->rx_thresh,
		};

		queue->rxq = floor_rx_create(&conf);
		hand_start_at(&queue->rx, sut->name, false, &conf.at, KEY);
		conf.at = place(page, row, i, true);
		queue->txq = floor_tx_create(&conf);
		hand_start_at(&queue->tx, sut->name, true, &conf.at, KEY);
		queue->tx.no_offsets = row->no_offsets;
	}
	sut->seen = hand_registers(&sut->queues[0].rx);
}

void
perf_floor_stop(struct perf_sut *sut)
{
	rte_free((void *)(uintptr_t)sut->queues[0].rx.at.doorbells);
	for (uint16_t i = 0; i < sut->nb_queues; i++) {
		struct perf_queue *queue = &sut->queues[i];

		floor_rx_destroy(queue->rxq);
		floor_tx_destroy(queue->txq);
		rte_free(queue->rx.at.ring);
		rte_free(queue->rx.at.cq_ring);
		rte_free(queue->tx.at.ring);
		rte_free(queue->tx.at.cq_ring);
	}
	perf_pool_check(sut, sut->pool);
}
