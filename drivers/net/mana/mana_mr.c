/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory regions of a port: which memory is registered, when, and when it is
 * forgotten.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_memory.h>

#include "mana.h"
#include "mana_diag.h"
#include "mana_mr_table.h"

/* ---- Which memory to register ------------------------------------------ */

/*
 * Without huge pages EAL's memory is one mapping made at start, never given
 * back. The size of pages does not tell: arm64 has huge ones of 64 KiB.
 */
bool
mana_mr_is_permanent(const struct rte_memseg_list *msl)
{
	return msl != NULL && !msl->external && !rte_eal_has_hugepages();
}

static void
region_round(struct mana_mr_region *region, uintptr_t addr, size_t len,
	     size_t page_bytes)
{
	region->base = RTE_ALIGN_FLOOR(addr, (uintptr_t)page_bytes);
	region->end = RTE_ALIGN_CEIL(addr + len, (uintptr_t)page_bytes);
}

/*
 * The memory around a buffer. Its own pages only where pages can be given
 * back one by one: those with a buffer in use cannot. EAL's memory lock is
 * held.
 */
static void
region_around(struct mana_mr_region *region, const struct rte_mbuf *m,
	      uintptr_t addr, size_t len)
{
	const struct rte_memseg_list *msl;
	uintptr_t buf = m != NULL ? (uintptr_t)m->buf_addr : addr;

	memset(region, 0, sizeof(*region));
	if (m != NULL && addr >= buf && addr - buf < m->buf_len &&
	    len <= m->buf_len - (addr - buf)) {
		addr = buf;
		len = m->buf_len;
	}
	msl = rte_mem_virt2memseg_list((void *)addr);
	if (msl == NULL) {
		region->kind = MANA_MR_FOREIGN;
		region_round(region, addr, len, sysconf(_SC_PAGESIZE));
	} else if (msl->external || mana_mr_is_permanent(msl)) {
		/* rte_extmem_unregister() sends no event. */
		region->kind = msl->external ? MANA_MR_FOREIGN : MANA_MR_EAL;
		region->base = (uintptr_t)msl->base_va;
		region->end = region->base + msl->len;
	} else {
		region->kind = MANA_MR_EAL;
		region_round(region, addr, len, msl->page_sz);
	}
}

/* Registers what is around a buffer that is in no region. */
static int
table_add_around(struct mana_mr_table *table, const struct rte_mbuf *m,
		 uintptr_t addr, size_t len)
{
	struct mana_mr_region region;
	int ret;

	region_around(&region, m, addr, len);
	ret = mana_mr_table_add(table, &region);
	if (ret != 0) {
		/* The whole of it may be too much, the buffer is not. */
		region_round(&region, addr, len, sysconf(_SC_PAGESIZE));
		ret = mana_mr_table_add(table, &region);
	}
	return ret;
}

int
mana_mr_ensure(struct mana_mr_table *table, const struct rte_mbuf *m,
	       uintptr_t addr, size_t len, struct mana_mr_range *range)
{
	int ret = 0;

	/* So that the pages cannot go between the look and the entry. */
	rte_mcfg_mem_read_lock();
	pthread_mutex_lock(&table->lock);
	if (!mana_mr_table_lookup(table, addr, len, range)) {
		ret = table_add_around(table, m, addr, len);
		if (ret == 0 && !mana_mr_table_lookup(table, addr, len, range))
			ret = -EFAULT;
	}
	pthread_mutex_unlock(&table->lock);
	rte_mcfg_mem_read_unlock();
	return ret;
}

/* ---- Ranges and events -------------------------------------------------- */

static bool
match_overlap(const struct mana_mr_region *region, const void *arg)
{
	const struct mana_mr_span *chunk = arg;

	return region->base < chunk->end && chunk->base < region->end;
}

/* EAL holds its memory lock for writing. */
static void
mem_event(enum rte_mem_event type, const void *addr, size_t len, void *arg)
{
	struct mana_mr_span chunk = { (uintptr_t)addr, (uintptr_t)addr + len };
	struct mana_mr_table *table = arg;

	if (type != RTE_MEM_EVENT_FREE)
		return;
	pthread_mutex_lock(&table->lock);
	mana_mr_table_remove(table, match_overlap, &chunk);
	pthread_mutex_unlock(&table->lock);
}

int
mana_mr_add_range(struct mana_priv *priv, uintptr_t addr, size_t len)
{
	struct mana_mr_region region = {
		.base = addr,
		.end = addr + len,
		.kind = MANA_MR_USER,
	};
	int ret;

	pthread_mutex_lock(&priv->mrs->lock);
	ret = mana_mr_table_add(priv->mrs, &region);
	pthread_mutex_unlock(&priv->mrs->lock);
	if (ret != 0)
		mana_diag_mr(priv->data->name, addr, len, ret);
	return ret;
}

static bool
match_user(const struct mana_mr_region *region, const void *arg)
{
	const struct mana_mr_span *chunk = arg;

	return region->kind == MANA_MR_USER && region->base == chunk->base &&
	       region->end == chunk->end;
}

int
mana_mr_remove_range(struct mana_priv *priv, uintptr_t addr, size_t len)
{
	struct mana_mr_span chunk = { addr, addr + len };
	uint32_t nb;

	pthread_mutex_lock(&priv->mrs->lock);
	nb = mana_mr_table_remove(priv->mrs, match_user, &chunk);
	pthread_mutex_unlock(&priv->mrs->lock);
	return nb != 0 ? 0 : -ENOENT;
}

static bool
match_foreign(const struct mana_mr_region *region, const void *arg)
{
	RTE_SET_USED(arg);
	return region->kind == MANA_MR_FOREIGN;
}

void
mana_mr_remove_foreign(struct mana_priv *priv)
{
	pthread_mutex_lock(&priv->mrs->lock);
	mana_mr_table_remove(priv->mrs, match_foreign, NULL);
	pthread_mutex_unlock(&priv->mrs->lock);
}

/* ---- From a burst -------------------------------------------------------- */

/* The pool whose memory a segment points to; NULL for external buffers. */
static struct rte_mempool *
segment_pool(const struct rte_mbuf *m)
{
	if (m == NULL || RTE_MBUF_HAS_EXTBUF(m))
		return NULL;
	if (RTE_MBUF_CLONED(m))
		m = rte_mbuf_from_indirect((struct rte_mbuf *)(uintptr_t)m);
	return m->pool;
}

static void
miss_log(struct mana_mr_table *table, uintptr_t addr, size_t len, int error)
{
	uint64_t now = rte_get_timer_cycles();
	bool is_due;

	pthread_mutex_lock(&table->lock);
	is_due = now >= table->next_log;
	if (is_due)
		table->next_log = now + rte_get_timer_hz();
	pthread_mutex_unlock(&table->lock);
	if (is_due)
		mana_diag_mr(table->priv->data->name, addr, len, error);
}

int
mana_mr_miss(struct mana_mr_cache *cache, const struct rte_mbuf *m,
	     uintptr_t addr, uint32_t len_bytes, struct mana_mr_range *range)
{
	struct mana_priv *priv = cache->ctx;
	struct mana_mr_table *table = priv->mrs;
	struct rte_mempool *mp;
	struct mana_mr_span failed;
	bool found;
	int ret;

	pthread_mutex_lock(&table->lock);
	found = mana_mr_table_lookup(table, addr, len_bytes, range);
	pthread_mutex_unlock(&table->lock);
	if (found)
		return 0;
	mp = segment_pool(m);
	if (mp != NULL)
		(void)mana_mr_pool_register(table, mp, &failed);
	ret = mana_mr_ensure(table, m, addr, len_bytes, range);
	if (ret != 0)
		miss_log(table, addr, len_bytes, ret);
	return ret;
}

/* ---- Life --------------------------------------------------------------- */

int
mana_mr_table_create(struct mana_priv *priv)
{
	struct mana_mr_table *table;

	table = calloc(1, sizeof(*table));
	if (table == NULL)
		return -ENOMEM;
	table->priv = priv;
	pthread_mutex_init(&table->lock, NULL);
	priv->mrs = table;
	if (rte_mempool_event_callback_register(mana_mr_pool_event, table) != 0)
		return -rte_errno;
	/* Memory that cannot go away sends no events (--no-huge). */
	if (rte_mem_event_callback_register("mana", mem_event, table) != 0 &&
	    rte_errno != ENOTSUP)
		return -rte_errno;
	return 0;
}

static bool
match_all(const struct mana_mr_region *region, const void *arg)
{
	RTE_SET_USED(region);
	RTE_SET_USED(arg);
	return true;
}

void
mana_mr_table_destroy(struct mana_priv *priv)
{
	struct mana_mr_table *table = priv->mrs;

	if (table == NULL)
		return;
	(void)rte_mem_event_callback_unregister("mana", table);
	(void)rte_mempool_event_callback_unregister(mana_mr_pool_event, table);
	mana_mr_table_remove(table, match_all, NULL);
	pthread_mutex_destroy(&table->lock);
	free(table->regions);
	free(table);
	priv->mrs = NULL;
}
