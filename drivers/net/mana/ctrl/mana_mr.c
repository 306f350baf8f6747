/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory regions of a port: which memory the driver registers, when, and when it
 * deregisters it.
 */

#include <errno.h>
#include <inttypes.h>
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
#include <rte_mempool.h>

#include "mana.h"
#include "mana_diag.h"
#include "mana_log.h"
#include "mana_mr_table.h"

/* A piece of memory. */
struct span {
	uintptr_t base;
	uintptr_t end;
};

/* ---- The table: an array sorted by address; the caller holds its lock ----- */

/* Number of regions that start at or below addr. */
static uint32_t
upper_bound(const struct mana_mr_table *table, uintptr_t addr)
{
	uint32_t low = 0;
	uint32_t high = table->nb_regions;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (table->regions[mid].base <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * The region that holds all of it, a pool's before any other: the device holds
 * packets of a pool for long, and the pool's own region lasts as long. With a pool
 * only a region of this pool.
 */
static const struct mana_mr_region *
table_find(const struct mana_mr_table *table, uintptr_t addr, size_t len,
     const struct rte_mempool *pool)
{
	const struct mana_mr_region *other = NULL;
	uint32_t i = upper_bound(table, addr);

	while (i-- > 0 && table->regions[i].max_end > addr) {
		const struct mana_mr_region *region = &table->regions[i];

		if (addr >= region->end || len > region->end - addr)
			continue;
		if (pool == NULL ? region->pool != NULL : region->pool == pool)
			return region;
		if (other == NULL)
			other = region;
	}
	return pool == NULL ? other : NULL;
}

static void
update_max_end(struct mana_mr_table *table, uint32_t from)
{
	uintptr_t max_end = from > 0 ? table->regions[from - 1].max_end : 0;
	uint32_t i;

	for (i = from; i < table->nb_regions; i++) {
		max_end = RTE_MAX(max_end, table->regions[i].end);
		table->regions[i].max_end = max_end;
	}
}

static int
reserve(struct mana_mr_table *table)
{
	uint32_t nb = RTE_MAX(table->nb_allocated * 2, 64u);
	struct mana_mr_region *regions;

	if (table->nb_regions < table->nb_allocated)
		return 0;
	regions = realloc(table->regions, nb * sizeof(*regions));
	if (regions == NULL)
		return -ENOMEM;
	table->regions = regions;
	table->nb_allocated = nb;
	return 0;
}

/* Registers the region, whose base, end, kind and pool are given. */
static int
table_add(struct mana_mr_table *table, struct mana_mr_region *region)
{
	size_t len = region->end - region->base;
	uint32_t i;
	int ret;

	ret = reserve(table);
	if (ret != 0)
		return ret;
	ret = mana_verbs_mr_create(table->priv->pd, region->base, len, true,
				   &region->mr, &region->lkey);
	/* The application's constant data: the device may only read it. */
	if (ret == -EFAULT && region->kind == MANA_MR_FOREIGN)
		ret = mana_verbs_mr_create(table->priv->pd, region->base, len,
					   false, &region->mr, &region->lkey);
	if (ret != 0)
		return ret;
	i = upper_bound(table, region->base);
	memmove(&table->regions[i + 1], &table->regions[i],
		(table->nb_regions - i) * sizeof(*region));
	table->regions[i] = *region;
	table->nb_regions++;
	table->priv->counters.mr_registrations++;
	update_max_end(table, i);
	MANA_PORT_LOG(DEBUG, table->priv->data->name,
		      "registered %zu bytes at 0x%" PRIxPTR ", key %#x", len,
		      region->base, region->lkey);
	return 0;
}

/* Which regions to remove: a member that is 0 selects all. */
struct filter {
	enum mana_mr_kind kind;
	const struct rte_mempool *pool;
	uintptr_t base; /* any overlap; with MANA_MR_USER this very range */
	uintptr_t end;
};

static bool
is_match(const struct mana_mr_region *region, const struct filter *filter)
{
	if (filter->kind != MANA_MR_ANY && region->kind != filter->kind)
		return false;
	if (filter->pool != NULL && region->pool != filter->pool)
		return false;
	if (filter->end == 0)
		return true;
	if (filter->kind == MANA_MR_USER)
		return region->base == filter->base && region->end == filter->end;
	return region->base < filter->end && filter->base < region->end;
}

/* Deregisters the regions that match and returns how many. Takes the lock. */
static uint32_t
table_remove(struct mana_mr_table *table, const struct filter *filter)
{
	uint32_t removed = 0;
	uint32_t i;
	int ret;

	pthread_mutex_lock(&table->lock);
	for (i = 0; i < table->nb_regions; i++) {
		struct mana_mr_region *region = &table->regions[i];

		if (!is_match(region, filter)) {
			table->regions[i - removed] = *region;
			continue;
		}
		/* Queues must stop using a key before it is deregistered. */
		if (removed++ == 0)
			mana_atomic_add(&table->priv->mr_generation, 1);
		ret = mana_verbs_mr_destroy(region->mr);
		if (ret != 0 && !mana_is_gone(table->priv))
			MANA_PORT_LOG(WARNING, table->priv->data->name,
				      "cannot deregister key %#x: %s",
				      region->lkey, strerror(-ret));
	}
	table->nb_regions -= removed;
	table->priv->counters.mr_deregistrations += removed;
	if (removed != 0)
		update_max_end(table, 0);
	pthread_mutex_unlock(&table->lock);
	return removed;
}

/* Whether a region holds all of it; range may be NULL. */
static bool
table_lookup(const struct mana_mr_table *table, uintptr_t addr, size_t len,
	     struct mana_mr_range *range)
{
	const struct mana_mr_region *region = table_find(table, addr, len, NULL);

	if (region == NULL)
		return false;
	if (range != NULL)
		*range = (struct mana_mr_range){
			.base = region->base,
			.len_bytes = region->end - region->base,
			.lkey = region->lkey,
		};
	return true;
}

/* ---- Which memory to register ------------------------------------------ */

/*
 * Without huge pages EAL's memory is one mapping made at start, never unmapped.
 * The size of pages is no evidence: arm64 has huge pages of 64 KiB.
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

/* The driver cannot notice its unmapping: the device may then send other pages. */
static void
unknown_note(struct mana_mr_table *table, uintptr_t addr, size_t len)
{
	if (table->is_unknown_noted)
		return;
	table->is_unknown_noted = true;
	MANA_PORT_LOG(NOTICE, table->priv->data->name,
		      "registered %zu bytes at 0x%" PRIxPTR
		      ", memory that DPDK does not manage; keep it mapped until the port is stopped, or use rte_extmem_register() and rte_dev_dma_map(); foreign_mem=refuse makes this an error",
		      len, addr);
}

/* Registers what is around a buffer that is in no region. */
static int
table_add_around(struct mana_mr_table *table, const struct rte_mbuf *m,
		 uintptr_t addr, size_t len)
{
	bool is_unknown = rte_mem_virt2memseg_list((void *)addr) == NULL;
	struct mana_mr_region region;
	int ret;

	if (is_unknown && table->priv->options.refuse_foreign)
		return -EACCES;
	region_around(&region, m, addr, len);
	ret = table_add(table, &region);
	if (ret != 0) {
		/* The whole of it may be too much, the buffer is not. */
		region_round(&region, addr, len, sysconf(_SC_PAGESIZE));
		ret = table_add(table, &region);
	}
	if (ret == 0 && is_unknown)
		unknown_note(table, addr, len);
	return ret;
}

/* Finds or makes the region of a buffer; m and range may be NULL. */
static int
ensure(struct mana_mr_table *table, const struct rte_mbuf *m, uintptr_t addr,
       size_t len, struct mana_mr_range *range)
{
	int ret = 0;

	/* The pages cannot go between the look-up and the registration. */
	rte_mcfg_mem_read_lock();
	pthread_mutex_lock(&table->lock);
	if (!table_lookup(table, addr, len, range)) {
		ret = table_add_around(table, m, addr, len);
		if (ret == 0 && !table_lookup(table, addr, len, range))
			ret = -EFAULT;
	}
	pthread_mutex_unlock(&table->lock);
	rte_mcfg_mem_read_unlock();
	return ret;
}

/* ---- Ranges and events -------------------------------------------------- */

/* EAL holds its memory lock for writing. */
static void
mem_event(enum rte_mem_event type, const void *addr, size_t len, void *arg)
{
	const struct filter filter = {
		.base = (uintptr_t)addr,
		.end = (uintptr_t)addr + len,
	};

	if (type == RTE_MEM_EVENT_FREE)
		(void)table_remove(arg, &filter);
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
	ret = table_add(priv->mrs, &region);
	pthread_mutex_unlock(&priv->mrs->lock);
	if (ret != 0)
		mana_diag_mr(priv->data->name, addr, len, ret);
	return ret;
}

int
mana_mr_remove_range(struct mana_priv *priv, uintptr_t addr, size_t len)
{
	const struct filter filter = {
		.kind = MANA_MR_USER,
		.base = addr,
		.end = addr + len,
	};

	return table_remove(priv->mrs, &filter) != 0 ? 0 : -ENOENT;
}

void
mana_mr_remove_foreign(struct mana_priv *priv)
{
	const struct filter filter = { .kind = MANA_MR_FOREIGN };

	(void)table_remove(priv->mrs, &filter);
}

/* ---- Mempools --------------------------------------------------------------- */

static int
chunk_compare(const void *a, const void *b)
{
	const struct span *left = a;
	const struct span *right = b;

	return left->base < right->base ? -1 : left->base > right->base;
}

static bool
chunks_join(const struct span *left, const struct span *right)
{
	const struct rte_memseg_list *msl;

	if (right->base <= left->end)
		return true;
	/* The memory between chunks of permanent memory is permanent, too. */
	msl = rte_mem_virt2memseg_list((void *)left->base);
	return mana_mr_is_permanent(msl) &&
	       msl == rte_mem_virt2memseg_list((void *)right->base);
}

/*
 * The pool's chunks, sorted and joined: a pool of many small pages has a
 * chunk for each piece that is contiguous for a physical address. Returns their
 * number or -ENOMEM; the caller frees *chunks.
 */
static int
pool_chunks(const struct rte_mempool *mp, struct span **chunks)
{
	const struct rte_mempool_memhdr *memhdr;
	struct span *list;
	uint32_t nb = 0;
	uint32_t last = 0;
	uint32_t i;

	list = calloc(mp->nb_mem_chunks + 1, sizeof(*list));
	*chunks = list;
	if (list == NULL)
		return -ENOMEM;
	STAILQ_FOREACH(memhdr, &mp->mem_list, next) {
		list[nb].base = (uintptr_t)memhdr->addr;
		list[nb].end = (uintptr_t)memhdr->addr + memhdr->len;
		nb++;
	}
	if (nb == 0)
		return 0;
	qsort(list, nb, sizeof(*list), chunk_compare);
	for (i = 1; i < nb; i++) {
		if (chunks_join(&list[last], &list[i]))
			list[last].end = RTE_MAX(list[last].end, list[i].end);
		else
			list[++last] = list[i];
	}
	return last + 1;
}

/*
 * Registers the pool's chunks, without a message. Returns how many there are, or
 * a negative errno. *span is the last chunk looked at: the one that failed, or the
 * only one.
 */
static int
pool_register(struct mana_mr_table *table, const struct rte_mempool *mp,
	      struct span *span)
{
	struct span *chunks;
	int nb, ret, i;

	memset(span, 0, sizeof(*span));
	nb = pool_chunks(mp, &chunks);
	ret = nb;
	pthread_mutex_lock(&table->lock);
	for (i = 0; i < nb && ret >= 0; i++) {
		struct mana_mr_region region = {
			.base = chunks[i].base,
			.end = chunks[i].end,
			.kind = MANA_MR_POOL,
			.pool = mp,
		};

		*span = chunks[i];
		if (table_find(table, span->base, span->end - span->base,
			       mp) != NULL)
			continue;
		ret = table_add(table, &region);
		if (ret == 0)
			ret = nb;
	}
	pthread_mutex_unlock(&table->lock);
	free(chunks);
	return ret;
}

struct pinned_walk {
	struct mana_mr_table *table;
	struct span failed;
	int error;
};

/* A pool with pinned external buffers: its chunks hold no packet. */
static void
pinned_register(struct rte_mempool *mp __rte_unused, void *arg, void *obj,
		unsigned int idx __rte_unused)
{
	struct pinned_walk *walk = arg;
	struct rte_mbuf *m = obj;

	if (walk->error != 0)
		return;
	walk->error = ensure(walk->table, m, (uintptr_t)m->buf_addr, m->buf_len,
			     NULL);
	walk->failed.base = (uintptr_t)m->buf_addr;
	walk->failed.end = walk->failed.base + m->buf_len;
}

static bool
has_pinned_buffers(struct rte_mempool *mp)
{
	return (rte_pktmbuf_priv_flags(mp) &
		RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0;
}

int
mana_mr_add_pool(struct mana_priv *priv, struct rte_mempool *mp)
{
	struct pinned_walk walk = { .table = priv->mrs };
	int ret;

	if (has_pinned_buffers(mp)) {
		rte_mempool_obj_iter(mp, pinned_register, &walk);
		ret = walk.error;
	} else {
		ret = pool_register(priv->mrs, mp, &walk.failed);
	}
	if (ret >= 0)
		return 0;
	mana_diag_mr(priv->data->name, walk.failed.base,
		     walk.failed.end - walk.failed.base, ret);
	return ret;
}

/*
 * Whether packets can live in the pool: it is such as rte_pktmbuf_pool_create()
 * makes, of memory that a device may use.
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
	struct mana_mr_table *table = ((struct mana_priv *)cache->ctx)->mrs;
	const struct mana_mr_region *region;
	struct span span;

	/* Buffers elsewhere, or a pool that is not yet complete. */
	if (!is_packet_pool(mp) || mp->populated_size != mp->size ||
	    has_pinned_buffers(mp) || pool_register(table, mp, &span) != 1)
		return false;
	pthread_mutex_lock(&table->lock);
	region = table_find(table, span.base, span.end - span.base, mp);
	if (region != NULL)
		*lkey = region->lkey;
	pthread_mutex_unlock(&table->lock);
	return region != NULL;
}

static void
pool_visit(struct rte_mempool *mp, void *arg)
{
	struct mana_mr_table *table = arg;
	struct span failed;
	int ret;

	if (!is_packet_pool(mp))
		return;
	ret = pool_register(table, mp, &failed);
	if (ret < 0)
		MANA_PORT_LOG(INFO, table->priv->data->name,
			      "mempool %s is not registered yet: %s", mp->name,
			      strerror(-ret));
}

static void
pool_event(enum rte_mempool_event event, struct rte_mempool *mp, void *arg)
{
	const struct filter filter = {
		.kind = MANA_MR_POOL,
		.pool = mp,
	};
	struct mana_mr_table *table = arg;

	if (event == RTE_MEMPOOL_EVENT_DESTROY)
		(void)table_remove(table, &filter);
	else if (table->is_tracking_pools)
		pool_visit(mp, table);
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
	struct span span;
	bool found;
	int ret;

	pthread_mutex_lock(&table->lock);
	found = table_lookup(table, addr, len_bytes, range);
	pthread_mutex_unlock(&table->lock);
	if (found)
		return 0;
	mp = segment_pool(m);
	if (mp != NULL)
		(void)pool_register(table, mp, &span);
	ret = ensure(table, m, addr, len_bytes, range);
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
	if (rte_mempool_event_callback_register(pool_event, table) != 0)
		return -rte_errno;
	/* Memory that cannot go away sends no events (--no-huge). */
	if (rte_mem_event_callback_register("mana", mem_event, table) != 0 &&
	    rte_errno != ENOTSUP)
		return -rte_errno;
	return 0;
}

void
mana_mr_table_destroy(struct mana_priv *priv)
{
	const struct filter all = { .kind = MANA_MR_ANY };
	struct mana_mr_table *table = priv->mrs;

	if (table == NULL)
		return;
	(void)rte_mem_event_callback_unregister("mana", table);
	(void)rte_mempool_event_callback_unregister(pool_event, table);
	(void)table_remove(table, &all);
	pthread_mutex_destroy(&table->lock);
	free(table->regions);
	free(table);
	priv->mrs = NULL;
}
