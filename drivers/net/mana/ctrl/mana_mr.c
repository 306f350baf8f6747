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
#include <rte_string_fns.h>

#include "mana.h"
#include "mana_log.h"

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
 * Finds a region that holds all of [addr, addr + len), only one of the pool when a pool
 * is given. The region of a pool is preferred: the device keeps packets of a pool for
 * long, and this region lasts as long as the pool. range may be NULL.
 */
static const struct mana_mr_region *
table_find(const struct mana_mr_table *table, uintptr_t addr, size_t len,
	   const struct rte_mempool *pool, struct mana_mr_range *range)
{
	const struct mana_mr_region *found = NULL;
	uint32_t i = upper_bound(table, addr);

	while (i-- > 0 && table->regions[i].max_end > addr) {
		const struct mana_mr_region *region = &table->regions[i];

		if (addr >= region->end || len > region->end - addr ||
		    (pool != NULL && region->pool != pool))
			continue;
		found = region;
		if (region->pool != NULL)
			break;
	}
	if (found != NULL && range != NULL)
		*range = (struct mana_mr_range){
			.base = found->base,
			.len_bytes = found->end - found->base,
			.lkey = found->lkey,
		};
	return found;
}

static void
update_max_end(struct mana_mr_table *table, uint32_t from)
{
	uintptr_t max_end = from > 0 ? table->regions[from - 1].max_end : 0;

	for (uint32_t i = from; i < table->nb_regions; i++) {
		max_end = RTE_MAX(max_end, table->regions[i].end);
		table->regions[i].max_end = max_end;
	}
}

/* Gives the region a key, unless the port waits for its device. */
static int
region_register(struct mana_priv *priv, struct mana_mr_region *region)
{
	size_t len = region->end - region->base;
	uint64_t begin_ns;
	int ret;

	if (priv->pd == NULL || (mana_is_gone(priv) &&
				 mana_state(priv) == MANA_STATE_RECOVERING))
		return 0;
	begin_ns = mana_now_ns(CLOCK_MONOTONIC);
	ret = mana_verbs_mr_create(priv->pd, region->base, len, true,
				   &region->mr, &region->lkey);
	/* The application's constant data: the device may only read it. */
	if (ret == -EFAULT && region->kind == MANA_MR_FOREIGN)
		ret = mana_verbs_mr_create(priv->pd, region->base, len,
					   false, &region->mr, &region->lkey);
	if (ret != 0)
		return ret;
	priv->counters.mr_registrations++;
	priv->counters.mr_registration_ns += mana_now_ns(CLOCK_MONOTONIC) - begin_ns;
	MANA_PORT_LOG(DEBUG, priv->data->name,
		      "registered %zu bytes at 0x%" PRIxPTR ", key %#x", len,
		      region->base, region->lkey);
	return 0;
}

static void
region_deregister(struct mana_priv *priv, struct mana_mr_region *region)
{
	int ret = mana_verbs_mr_destroy(region->mr);

	if (ret != 0 && !mana_is_gone(priv))
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "cannot deregister key %#x: %s", region->lkey,
			      strerror(-ret));
	priv->counters.mr_deregistrations += region->mr != NULL;
	region->mr = NULL;
}

/* Registers the region, whose base, end, kind and pool are given. */
static int
table_add(struct mana_priv *priv, struct mana_mr_region *region)
{
	struct mana_mr_table *table = &priv->mrs;
	struct mana_mr_region *regions;
	uint32_t i;
	int ret;

	regions = realloc(table->regions,
			  (table->nb_regions + 1) * sizeof(*regions));
	if (regions == NULL)
		return -ENOMEM;
	table->regions = regions;
	ret = region_register(priv, region);
	if (ret != 0)
		return ret;
	i = upper_bound(table, region->base);
	memmove(&regions[i + 1], &regions[i],
		(table->nb_regions - i) * sizeof(*region));
	regions[i] = *region;
	table->nb_regions++;
	update_max_end(table, i);
	return 0;
}

/*
 * Whether a region is one of those that the filter describes. A member of the filter
 * that is 0 selects all. A range selects what overlaps it; with MANA_MR_USER only this
 * very range.
 */
static bool
is_match(const struct mana_mr_region *region, const struct mana_mr_region *filter)
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
table_remove(struct mana_priv *priv, const struct mana_mr_region *filter)
{
	struct mana_mr_table *table = &priv->mrs;
	uint32_t removed = 0;

	pthread_mutex_lock(&table->lock);
	for (uint32_t i = 0; i < table->nb_regions; i++) {
		struct mana_mr_region *region = &table->regions[i];

		if (!is_match(region, filter)) {
			table->regions[i - removed] = *region;
			continue;
		}
		/* Queues must stop using a key before it is deregistered. */
		if (removed++ == 0)
			mana_atomic_add(&priv->mr_generation, 1);
		region_deregister(priv, region);
	}
	table->nb_regions -= removed;
	if (removed != 0)
		update_max_end(table, 0);
	pthread_mutex_unlock(&table->lock);
	return removed;
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
 * Registers the memory around a buffer that is in no region. EAL's memory lock is held.
 * Where pages can be given back one by one only the buffer's own are registered: a
 * page with a buffer in use is not given back.
 */
static int
table_add_around(struct mana_priv *priv, const struct rte_mbuf *m,
		 uintptr_t addr, size_t len)
{
	const struct rte_memseg_list *msl = rte_mem_virt2memseg_list((void *)addr);
	size_t system_bytes = sysconf(_SC_PAGESIZE);
	size_t page_bytes = msl != NULL ? msl->page_sz : system_bytes;
	uintptr_t buf = m != NULL ? (uintptr_t)m->buf_addr : addr;
	/* EAL reports no event for rte_extmem_unregister(). */
	struct mana_mr_region region = {
		.kind = msl == NULL || msl->external ? MANA_MR_FOREIGN : MANA_MR_EAL,
	};
	int ret;

	if (msl == NULL && priv->options.refuse_foreign)
		return -EACCES;
	if (msl != NULL && (msl->external || mana_mr_is_permanent(msl))) {
		region.base = (uintptr_t)msl->base_va;
		region.end = region.base + msl->len;
	} else if (m != NULL && addr >= buf && addr - buf < m->buf_len &&
		   len <= m->buf_len - (addr - buf)) {
		region_round(&region, buf, m->buf_len, page_bytes);
	} else {
		region_round(&region, addr, len, page_bytes);
	}
	ret = table_add(priv, &region);
	if (ret != 0) {
		/* The kernel may accept the buffer's own pages only. */
		region_round(&region, addr, len, system_bytes);
		ret = table_add(priv, &region);
	}
	if (ret == 0 && msl == NULL && !priv->mrs.is_unknown_noted) {
		priv->mrs.is_unknown_noted = true;
		/* Else the device could send other pages than the application's. */
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "registered %zu bytes at 0x%" PRIxPTR
			      ", memory that DPDK does not manage; keep it mapped until the port is stopped, or use rte_extmem_register() and rte_dev_dma_map(); foreign_mem=refuse makes this an error",
			      len, addr);
	}
	return ret;
}

/* Finds or registers the region of a buffer; m and range may be NULL. */
static int
ensure(struct mana_priv *priv, const struct rte_mbuf *m, uintptr_t addr,
       size_t len, struct mana_mr_range *range)
{
	int ret = 0;

	/* EAL must not unmap the pages between look-up and registration. */
	rte_mcfg_mem_read_lock();
	pthread_mutex_lock(&priv->mrs.lock);
	if (table_find(&priv->mrs, addr, len, NULL, range) == NULL) {
		ret = table_add_around(priv, m, addr, len);
		if (ret == 0 && table_find(&priv->mrs, addr, len, NULL, range) == NULL)
			ret = -EFAULT;
	}
	pthread_mutex_unlock(&priv->mrs.lock);
	rte_mcfg_mem_read_unlock();
	return ret;
}

/* ---- Ranges and events -------------------------------------------------- */

/* EAL holds its memory lock for writing. */
static void
mem_event(enum rte_mem_event type, const void *addr, size_t len, void *arg)
{
	const struct mana_mr_region filter = {
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

	pthread_mutex_lock(&priv->mrs.lock);
	ret = table_add(priv, &region);
	pthread_mutex_unlock(&priv->mrs.lock);
	if (ret != 0)
		mana_diag_mr(priv, addr, len, ret);
	return ret;
}

int
mana_mr_remove_range(struct mana_priv *priv, uintptr_t addr, size_t len)
{
	const struct mana_mr_region filter = {
		.kind = MANA_MR_USER,
		.base = addr,
		.end = addr + len,
	};

	return table_remove(priv, &filter) != 0 ? 0 : -ENOENT;
}

void
mana_mr_remove_foreign(struct mana_priv *priv)
{
	const struct mana_mr_region filter = { .kind = MANA_MR_FOREIGN };

	(void)table_remove(priv, &filter);
}

/* ---- Mempools --------------------------------------------------------------- */

static int
chunk_compare(const void *a, const void *b)
{
	const struct mana_mr_region *left = a;
	const struct mana_mr_region *right = b;

	return left->base < right->base ? -1 : left->base > right->base;
}

static bool
chunks_join(const struct mana_mr_region *left, const struct mana_mr_region *right)
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
pool_chunks(const struct rte_mempool *mp, struct mana_mr_region **chunks)
{
	const struct rte_mempool_memhdr *memhdr;
	struct mana_mr_region *list;
	uint32_t nb = 0, last = 0;

	list = calloc(mp->nb_mem_chunks + 1, sizeof(*list));
	*chunks = list;
	if (list == NULL)
		return -ENOMEM;
	STAILQ_FOREACH(memhdr, &mp->mem_list, next) {
		list[nb++] = (struct mana_mr_region){
			.base = (uintptr_t)memhdr->addr,
			.end = (uintptr_t)memhdr->addr + memhdr->len,
			.kind = MANA_MR_POOL,
			.pool = mp,
		};
		(void)rte_strscpy(list[nb - 1].mempool, mp->name,
				  sizeof(list->mempool));
	}
	if (nb == 0)
		return 0;
	qsort(list, nb, sizeof(*list), chunk_compare);
	for (uint32_t i = 1; i < nb; i++) {
		if (chunks_join(&list[last], &list[i]))
			list[last].end = RTE_MAX(list[last].end, list[i].end);
		else
			list[++last] = list[i];
	}
	return last + 1;
}

/*
 * Registers the pool's chunks, without a message. Returns how many there are, or a
 * negative errno. *last is the last chunk that was registered or found, or the one that
 * cannot be registered.
 */
static int
pool_register(struct mana_priv *priv, const struct rte_mempool *mp,
	      struct mana_mr_region *last)
{
	struct mana_mr_region *chunks;
	struct mana_mr_range range;
	int nb, ret = 0;

	memset(last, 0, sizeof(*last));
	nb = pool_chunks(mp, &chunks);
	pthread_mutex_lock(&priv->mrs.lock);
	for (int i = 0; i < nb && ret == 0; i++) {
		*last = chunks[i];
		if (table_find(&priv->mrs, last->base, last->end - last->base,
			       mp, &range) != NULL)
			last->lkey = range.lkey;
		else
			ret = table_add(priv, last);
	}
	pthread_mutex_unlock(&priv->mrs.lock);
	free(chunks);
	return ret != 0 ? ret : nb;
}

struct pinned_walk {
	struct mana_priv *priv;
	int error;
};

/* The chunks of a pool with pinned external buffers hold no packet data. */
static void
pinned_register(struct rte_mempool *mp __rte_unused, void *arg, void *obj,
		unsigned int idx __rte_unused)
{
	struct pinned_walk *walk = arg;
	struct rte_mbuf *m = obj;

	if (walk->error != 0)
		return;
	walk->error = ensure(walk->priv, m, (uintptr_t)m->buf_addr, m->buf_len,
			     NULL);
	if (walk->error != 0)
		mana_diag_mr(walk->priv, (uintptr_t)m->buf_addr, m->buf_len, walk->error);
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
	struct pinned_walk walk = { .priv = priv };
	struct mana_mr_region last;
	int ret;

	if (has_pinned_buffers(mp)) {
		rte_mempool_obj_iter(mp, pinned_register, &walk);
		return walk.error;
	}
	ret = pool_register(priv, mp, &last);
	if (ret >= 0)
		return 0;
	mana_diag_mr(priv, last.base, last.end - last.base, ret);
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
	struct mana_priv *priv = cache->ctx;
	struct mana_mr_region region;
	struct mana_mr_range range;
	int ret;

	if (mana_atomic_load(&mana_process_id) != MANA_PROCESS_PRIMARY) {
		ret = mana_peers_mr_get(priv, 0, 0, mp, &range);
		if (ret == 0)
			*lkey = range.lkey;
		return ret == 0;
	}
	/* Not a pool that is incomplete, or whose buffers are elsewhere. */
	if (!is_packet_pool(mp) || mp->populated_size != mp->size ||
	    has_pinned_buffers(mp) || pool_register(priv, mp, &region) != 1)
		return false;
	*lkey = region.lkey;
	return true;
}

static void
pool_visit(struct rte_mempool *mp, void *arg)
{
	struct mana_priv *priv = arg;
	struct mana_mr_region last;
	int ret;

	if (!is_packet_pool(mp))
		return;
	ret = pool_register(priv, mp, &last);
	if (ret < 0)
		MANA_PORT_LOG(INFO, priv->data->name,
			      "mempool %s is not registered yet: %s", mp->name,
			      strerror(-ret));
}

static void
pool_event(enum rte_mempool_event event, struct rte_mempool *mp, void *arg)
{
	const struct mana_mr_region filter = {
		.kind = MANA_MR_POOL,
		.pool = mp,
	};
	struct mana_priv *priv = arg;

	if (event == RTE_MEMPOOL_EVENT_DESTROY)
		(void)table_remove(priv, &filter);
	else if (priv->mrs.is_tracking_pools)
		pool_visit(mp, priv);
}

void
mana_mr_track_pools(struct mana_priv *priv)
{
	if (priv->mrs.is_tracking_pools)
		return;
	priv->mrs.is_tracking_pools = true;
	rte_mempool_walk(pool_visit, priv);
}

/* ---- From a burst -------------------------------------------------------- */

/* The mbuf whose buffer it is. */
static const struct rte_mbuf *
owner_of(const struct rte_mbuf *m)
{
	return RTE_MBUF_CLONED(m) ?
		       rte_mbuf_from_indirect((struct rte_mbuf *)(uintptr_t)m) : m;
}

int
mana_mr_miss(struct mana_mr_cache *cache, const struct rte_mbuf *m,
	     uintptr_t addr, uint32_t len_bytes, struct mana_mr_range *range)
{
	struct mana_priv *priv = cache->ctx;
	struct mana_mr_table *table = &priv->mrs;
	uint64_t now = rte_get_timer_cycles();
	struct mana_mr_region last;
	bool is_found, is_due;
	int ret;

	if (mana_atomic_load(&mana_process_id) != MANA_PROCESS_PRIMARY)
		return mana_peers_mr_get(priv, addr, len_bytes,
					 m != NULL ? owner_of(m)->pool : NULL, range);
	pthread_mutex_lock(&table->lock);
	is_found = table_find(table, addr, len_bytes, NULL, range) != NULL;
	pthread_mutex_unlock(&table->lock);
	if (is_found)
		return 0;
	/* An external buffer is not in the memory of the segment's pool. */
	if (m != NULL && !RTE_MBUF_HAS_EXTBUF(m) && owner_of(m)->pool != NULL)
		(void)pool_register(priv, owner_of(m)->pool, &last);
	ret = ensure(priv, m, addr, len_bytes, range);
	if (ret == 0)
		return 0;
	pthread_mutex_lock(&table->lock);
	is_due = now >= table->next_log;
	if (is_due)
		table->next_log = now + rte_get_timer_hz();
	pthread_mutex_unlock(&table->lock);
	if (is_due)
		mana_diag_mr(priv, addr, len_bytes, ret);
	return ret;
}

/* ---- For a secondary process ------------------------------------------------ */

/* Whether all processes have this memory. At other addresses each may have its own. */
static bool
is_shared(uintptr_t addr, size_t len)
{
	const struct rte_memseg_list *msl = rte_mem_virt2memseg_list((void *)addr);

	return msl != NULL && !msl->external && len <= msl->len &&
	       addr - (uintptr_t)msl->base_va <= msl->len - len;
}

struct pool_search {
	const struct rte_mempool *mp; /* any value */
	bool is_shared; /* a packet pool, and its memory is */
};

static void
pool_compare(struct rte_mempool *mp, void *arg)
{
	const struct rte_mempool_memhdr *memhdr;
	struct pool_search *search = arg;

	if (mp != search->mp || !is_packet_pool(mp) || has_pinned_buffers(mp))
		return;
	search->is_shared = true;
	STAILQ_FOREACH(memhdr, &mp->mem_list, next) {
		search->is_shared &= is_shared((uintptr_t)memhdr->addr, memhdr->len);
	}
}

/* The region of a pool that is one region, without an address; else of the buffer. */
int
mana_mr_serve(struct mana_priv *priv, uintptr_t addr, size_t len,
	      const struct rte_mempool *pool, struct mana_mr_range *range)
{
	struct pool_search search = { .mp = pool };
	const struct mana_mr_region *region;
	struct mana_mr_region last;
	bool is_found;
	int nb = 0;

	rte_mempool_walk(pool_compare, &search);
	if (search.is_shared)
		nb = pool_register(priv, pool, &last);
	if (len == 0) {
		if (nb != 1 || pool->populated_size != pool->size)
			return -ENOENT;
		*range = (struct mana_mr_range){
			.base = last.base,
			.len_bytes = last.end - last.base,
			.lkey = last.lkey,
		};
		return 0;
	}
	pthread_mutex_lock(&priv->mrs.lock);
	region = table_find(&priv->mrs, addr, len, NULL, range);
	/* At this address the other process may have something else. */
	is_found = region != NULL && region->kind != MANA_MR_FOREIGN;
	pthread_mutex_unlock(&priv->mrs.lock);
	if (is_found)
		return 0;
	return is_shared(addr, len) ? ensure(priv, NULL, addr, len, range) : -EACCES;
}

/* ---- Life --------------------------------------------------------------- */

int
mana_mr_table_create(struct mana_priv *priv)
{
	pthread_mutex_init(&priv->mrs.lock, NULL);
	/* Permanent memory (--no-huge) has no events. */
	if (rte_mempool_event_callback_register(pool_event, priv) != 0 ||
	    (rte_mem_event_callback_register("mana", mem_event, priv) != 0 &&
	     rte_errno != ENOTSUP))
		return -rte_errno;
	return 0;
}

int
mana_mr_table_attach(struct mana_priv *priv)
{
	struct mana_mr_table *table = &priv->mrs;
	uint32_t i = 0;
	int ret;

	pthread_mutex_lock(&table->lock);
	ret = mana_verbs_pd_create(priv->ctx, priv->port, &priv->pd, &priv->parent);
	while (ret == 0 && i < table->nb_regions) {
		struct mana_mr_region *region = &table->regions[i];

		ret = region_register(priv, region);
		if (ret == 0) {
			i++;
		} else if (region->kind == MANA_MR_USER || ret == -EIO || ret == -ENODEV) {
			mana_diag_mr(priv, region->base, region->end - region->base,
				     ret);
		} else {
			/* The first packet of this memory tries it again. */
			memmove(region, region + 1,
				(--table->nb_regions - i) * sizeof(*region));
			ret = 0;
		}
	}
	update_max_end(table, 0);
	pthread_mutex_unlock(&table->lock);
	return ret;
}

int
mana_mr_table_detach(struct mana_priv *priv)
{
	struct mana_mr_table *table = &priv->mrs;
	int error, ret;

	mana_mr_remove_foreign(priv);
	pthread_mutex_lock(&table->lock);
	mana_atomic_add(&priv->mr_generation, 1);
	for (uint32_t i = 0; i < table->nb_regions; i++)
		region_deregister(priv, &table->regions[i]);
	/* The parent domain exists in libmana only, and refers to the other. */
	error = mana_verbs_pd_destroy(priv->parent);
	ret = mana_verbs_pd_destroy(priv->pd);
	priv->parent = NULL;
	priv->pd = NULL;
	pthread_mutex_unlock(&table->lock);
	return error != 0 ? error : ret;
}

void
mana_mr_table_destroy(struct mana_priv *priv)
{
	(void)rte_mem_event_callback_unregister("mana", priv);
	(void)rte_mempool_event_callback_unregister(pool_event, priv);
	free(priv->mrs.regions);
	priv->mrs.regions = NULL;
	priv->mrs.nb_regions = 0;
}
