/* SPDX-License-Identifier: BSD-3-Clause */

/* Pools whose keys a send queue knows. */

#include <string.h>

#include "mana_tx.h"

/*
 * When all slots are taken another pool has to wait for so many packets: each
 * new one is looked up in the table of regions, under its lock.
 */
#define MISSES_BEFORE_REPLACE 256

static bool
pool_take(struct mana_txq *txq, const struct mana_tx_pool *pool)
{
	if (!pool->has_key)
		return false;
	txq->mp = pool->mp;
	txq->lkey = pool->lkey;
	return true;
}

bool
mana_tx_pool_use(struct mana_txq *txq, struct rte_mempool *mp)
{
	struct mana_tx_pool *pool;
	uint32_t i;

	for (i = 0; i < MANA_TX_NB_POOLS; i++)
		if (txq->pools[i].mp == mp)
			return pool_take(txq, &txq->pools[i]);
	pool = &txq->pools[txq->pool_next % MANA_TX_NB_POOLS];
	if (pool->mp != NULL && ++txq->nb_pool_misses < MISSES_BEFORE_REPLACE)
		return false;
	txq->nb_pool_misses = 0;
	txq->pool_next++;
	/* Never NULL, not even of an mbuf that is none. */
	pool->has_key = mp != NULL && mana_mr_pool_key(&txq->mr, mp, &pool->lkey);
	pool->mp = mp;
	return pool_take(txq, pool);
}

__rte_noinline void
mana_tx_pools_forget(struct mana_txq *txq)
{
	mana_mr_cache_sync(&txq->mr);
	memset(txq->pools, 0, sizeof(txq->pools));
	txq->mp = NULL;
	txq->pool_next = 0;
	txq->nb_pool_misses = 0;
}
