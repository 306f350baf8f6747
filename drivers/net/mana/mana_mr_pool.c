/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory regions of mempools: their chunks, found and joined. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_mempool.h>

#include "mana.h"
#include "mana_diag.h"
#include "mana_log.h"
#include "mana_mr_table.h"

struct chunk_list {
	struct mana_mr_span *chunks;
	uint32_t nb;
	uint32_t nb_allocated;
	int error;
};

static void
chunk_collect(struct rte_mempool *mp, void *arg,
	      struct rte_mempool_memhdr *memhdr, unsigned int idx)
{
	struct chunk_list *list = arg;

	RTE_SET_USED(mp);
	RTE_SET_USED(idx);
	if (list->nb == list->nb_allocated) {
		uint32_t nb = RTE_MAX(list->nb_allocated * 2, 16u);
		struct mana_mr_span *chunks;

		chunks = realloc(list->chunks, nb * sizeof(*chunks));
		if (chunks == NULL) {
			list->error = -ENOMEM;
			return;
		}
		list->chunks = chunks;
		list->nb_allocated = nb;
	}
	list->chunks[list->nb].base = (uintptr_t)memhdr->addr;
	list->chunks[list->nb].end = (uintptr_t)memhdr->addr + memhdr->len;
	list->nb++;
}

static int
chunk_compare(const void *a, const void *b)
{
	const struct mana_mr_span *left = a;
	const struct mana_mr_span *right = b;

	return left->base < right->base ? -1 : left->base > right->base;
}

static bool
chunks_join(const struct mana_mr_span *left, const struct mana_mr_span *right)
{
	const struct rte_memseg_list *msl;

	if (right->base <= left->end)
		return true;
	/* Between chunks of permanent memory there is permanent memory. */
	msl = rte_mem_virt2memseg_list((void *)left->base);
	return mana_mr_is_permanent(msl) &&
	       msl == rte_mem_virt2memseg_list((void *)right->base);
}

/*
 * The pool's chunks, sorted and joined: a pool of many small pages has a
 * chunk for each piece that is contiguous for a physical address.
 */
static int
pool_chunks(struct rte_mempool *mp, struct chunk_list *list)
{
	uint32_t last = 0;
	uint32_t i;

	memset(list, 0, sizeof(*list));
	rte_mempool_mem_iter(mp, chunk_collect, list);
	if (list->error != 0 || list->nb == 0)
		return list->error;
	qsort(list->chunks, list->nb, sizeof(*list->chunks), chunk_compare);
	for (i = 1; i < list->nb; i++) {
		if (chunks_join(&list->chunks[last], &list->chunks[i]))
			list->chunks[last].end = RTE_MAX(list->chunks[last].end,
							 list->chunks[i].end);
		else
			list->chunks[++last] = list->chunks[i];
	}
	list->nb = last + 1;
	return 0;
}

int
mana_mr_pool_register(struct mana_mr_table *table, struct rte_mempool *mp,
		      struct mana_mr_span *failed)
{
	struct chunk_list list;
	uint32_t i;
	int ret;

	memset(failed, 0, sizeof(*failed));
	ret = pool_chunks(mp, &list);
	pthread_mutex_lock(&table->lock);
	for (i = 0; i < list.nb && ret == 0; i++) {
		struct mana_mr_region region = {
			.base = list.chunks[i].base,
			.end = list.chunks[i].end,
			.kind = MANA_MR_POOL,
			.pool = mp,
		};

		if (mana_mr_table_find_pool(table, region.base,
					    region.end - region.base, mp) != NULL)
			continue;
		ret = mana_mr_table_add(table, &region);
		if (ret != 0)
			*failed = list.chunks[i];
	}
	pthread_mutex_unlock(&table->lock);
	free(list.chunks);
	return ret;
}

struct pinned_walk {
	struct mana_mr_table *table;
	struct mana_mr_span failed;
	int error;
};

/* A pool with pinned external buffers: its chunks hold no packet. */
static void
pinned_register(struct rte_mempool *mp, void *arg, void *obj, unsigned int idx)
{
	struct pinned_walk *walk = arg;
	struct rte_mbuf *m = obj;

	RTE_SET_USED(mp);
	RTE_SET_USED(idx);
	if (walk->error != 0)
		return;
	walk->error = mana_mr_ensure(walk->table, m, (uintptr_t)m->buf_addr,
				     m->buf_len, NULL);
	if (walk->error != 0) {
		walk->failed.base = (uintptr_t)m->buf_addr;
		walk->failed.end = walk->failed.base + m->buf_len;
	}
}

int
mana_mr_add_pool(struct mana_priv *priv, struct rte_mempool *mp)
{
	struct pinned_walk walk = { .table = priv->mrs };

	if ((rte_pktmbuf_priv_flags(mp) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0)
		rte_mempool_obj_iter(mp, pinned_register, &walk);
	else
		walk.error = mana_mr_pool_register(priv->mrs, mp, &walk.failed);
	if (walk.error != 0)
		mana_diag_mr(priv->data->name, walk.failed.base,
			     walk.failed.end - walk.failed.base, walk.error);
	return walk.error;
}

/*
 * Whether packets can live in it: what rte_pktmbuf_pool_create() makes, with
 * memory that a device may use.
 */
static bool
is_packet_pool(struct rte_mempool *mp)
{
	const struct rte_pktmbuf_pool_private *private;

	if ((mp->flags & RTE_MEMPOOL_F_NON_IO) != 0 ||
	    mp->private_data_size < sizeof(*private))
		return false;
	private = rte_mempool_get_priv(mp);
	return private->mbuf_data_room_size != 0 &&
	       mp->elt_size >= sizeof(struct rte_mbuf) + private->mbuf_priv_size +
				       private->mbuf_data_room_size;
}

bool
mana_mr_pool_key(struct mana_mr_cache *cache, struct rte_mempool *mp,
		 uint32_t *lkey)
{
	struct mana_priv *priv = cache->ctx;
	const struct mana_mr_region *region = NULL;
	struct mana_mr_span failed;
	struct chunk_list list;

	/* Buffers elsewhere, or memory that is yet to come. */
	if (!is_packet_pool(mp) || mp->populated_size != mp->size ||
	    (rte_pktmbuf_priv_flags(mp) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0 ||
	    mana_mr_pool_register(priv->mrs, mp, &failed) != 0)
		return false;
	if (pool_chunks(mp, &list) == 0 && list.nb == 1) {
		pthread_mutex_lock(&priv->mrs->lock);
		region = mana_mr_table_find_pool(priv->mrs, list.chunks[0].base,
						 list.chunks[0].end -
						 list.chunks[0].base, mp);
		if (region != NULL)
			*lkey = region->lkey;
		pthread_mutex_unlock(&priv->mrs->lock);
	}
	free(list.chunks);
	return region != NULL;
}

static void
pool_visit(struct rte_mempool *mp, void *arg)
{
	struct mana_mr_table *table = arg;
	struct mana_mr_span failed;
	int ret;

	if (!is_packet_pool(mp))
		return;
	ret = mana_mr_pool_register(table, mp, &failed);
	if (ret != 0)
		MANA_PORT_LOG(INFO, table->priv->data->name,
			      "mempool %s is not registered yet: %s", mp->name,
			      strerror(-ret));
}

static bool
match_pool(const struct mana_mr_region *region, const void *arg)
{
	return region->kind == MANA_MR_POOL && region->pool == arg;
}

void
mana_mr_pool_event(enum rte_mempool_event event, struct rte_mempool *mp, void *arg)
{
	struct mana_mr_table *table = arg;

	if (event == RTE_MEMPOOL_EVENT_DESTROY) {
		pthread_mutex_lock(&table->lock);
		mana_mr_table_remove(table, match_pool, mp);
		pthread_mutex_unlock(&table->lock);
	} else if (table->is_tracking_pools) {
		pool_visit(mp, table);
	}
}

void
mana_mr_track_pools(struct mana_priv *priv)
{
	struct mana_mr_table *table = priv->mrs;

	if (table->is_tracking_pools)
		return;
	table->is_tracking_pools = true;
	rte_mempool_walk(pool_visit, table);
}
