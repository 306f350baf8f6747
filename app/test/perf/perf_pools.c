/* SPDX-License-Identifier: BSD-3-Clause */

/* Mempools of the rows. */

#include <stdio.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "perf.h"

#define NB_MORE_MBUFS  255 /* of each further pool */
#define NB_MORE_CACHED 64
#define NB_REGION_MBUFS \
	1024 /* of a pool in several regions; its cache holds a part */
#define PAGE_BYTES 4096

struct rte_mempool *
perf_pool_create(const char *name, unsigned int nb_mbufs, unsigned int nb_cache)
{
	struct rte_mempool *pool =
		perf_is_secondary() ?
			rte_mempool_lookup(name) :
			rte_pktmbuf_pool_create(name, nb_mbufs, nb_cache, 0,
						RTE_MBUF_DEFAULT_BUF_SIZE,
						SOCKET_ID_ANY);

	if (pool == NULL)
		hand_fail("no pool %s: %s", name, rte_strerror(rte_errno));
	return pool;
}

static void
piece_free(struct rte_mempool_memhdr *memhdr __rte_unused, void *piece)
{
	rte_free(piece);
}

/*
 * Adds a piece of nb mbufs to a pool. Mempools place no mbuf across the end of a page, so
 * a piece ends within a huge page, and has a small page for each mbuf. The allocator's
 * header lies between two pieces.
 */
static void
piece_add(struct rte_mempool *pool, uint32_t nb)
{
	const size_t len_bytes = nb * (rte_eal_has_hugepages() ?
					       pool->header_size + pool->elt_size +
						       pool->trailer_size :
					       PAGE_BYTES);
	char *piece = rte_malloc(NULL, len_bytes, rte_align64pow2(len_bytes));
	int ret = -ENOMEM;

	if (piece != NULL)
		ret = rte_mempool_populate_iova(pool, piece, RTE_BAD_IOVA,
						len_bytes,
						piece_free, piece);
	if (ret != (int)nb)
		hand_fail("pool %s: a piece of %d mbufs, not %u", pool->name,
			  ret, nb);
}

/* Puts all mbufs into the pool in another order; runs of this many stay together. */
static void
shuffle(struct rte_mempool *pool, uint32_t run, uint32_t *seed)
{
	static struct rte_mbuf *mbufs[NB_REGION_MBUFS];

	for (uint32_t i = 0; i < NB_REGION_MBUFS; i++)
		mbufs[i] = rte_mbuf_raw_alloc(pool);
	for (uint32_t i = NB_REGION_MBUFS / run - 1; i > 0; i--) {
		const uint32_t other = perf_random(seed) % (i + 1);

		for (uint32_t k = 0; k < run; k++)
			RTE_SWAP(mbufs[i * run + k], mbufs[other * run + k]);
	}
	for (uint32_t i = 0; i < NB_REGION_MBUFS; i++)
		rte_mbuf_raw_free(mbufs[i]);
}

struct rte_mempool *
perf_pool_of_row(const struct perf_sut *sut, const struct perf_row *row)
{
	const uint16_t room = RTE_MBUF_DEFAULT_BUF_SIZE;
	struct rte_pktmbuf_pool_private private = { .mbuf_data_room_size = room };
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;
	uint32_t seed = 1;

	if (row->nb_regions == 0)
		return sut->own_pool;
	snprintf(name, sizeof(name), "regions_%s_%u_%u", sut->name,
		 row->nb_regions, row->run);
	if (perf_is_secondary())
		return perf_pool_create(name, 0, 0);
	pool = rte_mempool_create_empty(name, NB_REGION_MBUFS,
					sizeof(struct rte_mbuf) + room,
					PERF_CACHE_MBUFS, sizeof(private),
					SOCKET_ID_ANY, 0);
	if (pool == NULL)
		hand_fail("no pool %s: %s", name, rte_strerror(rte_errno));
	rte_pktmbuf_pool_init(pool, &private);
	for (uint16_t i = 0; i < row->nb_regions; i++)
		piece_add(pool, NB_REGION_MBUFS / row->nb_regions);
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	shuffle(pool, RTE_MAX(row->run, 1), &seed);
	return pool;
}

uint32_t
perf_pool_nb_away(const struct rte_mempool *pool)
{
	return pool == NULL ? 0 : pool->size - rte_mempool_avail_count(pool);
}

void
perf_pool_check(const struct perf_sut *sut, const struct rte_mempool *pool)
{
	if (perf_pool_nb_away(pool) != 0)
		hand_fail("%s: lost %u of %u mbufs of pool %s", sut->name,
			  perf_pool_nb_away(pool), pool->size, pool->name);
}

/* Sends a packet of each pool, for which drivers look up its region. */
void
perf_use_more_pools(struct perf_sut *sut, const struct perf_row *row)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	struct perf_queue *queue = &sut->queues[0];
	struct hand_registers now;

	for (uint16_t i = 0; i < row->nb_more_pools; i++) {
		struct rte_mempool *own = sut->pool;
		const struct perf_row one = { .nb_segs = 1, .len_bytes = 64 };

		if (sut->more[i] == NULL) {
			snprintf(name, sizeof(name), "more_%s_%u", sut->name, i);
			sut->more[i] = perf_pool_create(name, NB_MORE_MBUFS,
							NB_MORE_CACHED);
		}
		sut->pool = sut->more[i];
		perf_make_packets(sut, queue, &one, 0, 1);
		sut->pool = own;
		if (sut->tx_burst(queue->txq, queue->pkts, 1) != 1)
			hand_fail("%s: cannot send from another pool", sut->name);
		now = hand_registers(&queue->tx);
		perf_ring(sut, queue, &now);
		hand_take_tx(&queue->tx, queue->tx_expected, 1, 1);
	}
}

void
perf_pools_free(struct perf_sut *sut, struct rte_mempool *pool_of_row)
{
	for (unsigned int i = 0; i < RTE_DIM(sut->more); i++) {
		perf_pool_check(sut, sut->more[i]);
		rte_mempool_free(sut->more[i]);
		sut->more[i] = NULL;
	}
	if (pool_of_row != sut->own_pool)
		rte_mempool_free(pool_of_row);
}
