/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory regions of a port: which memory the driver registers, when, and when it
 * deregisters it.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_mempool.h>
#include <rte_string_fns.h>
#include <rte_tailq.h>

#include "mana_locks.h"
#include "mana_log.h"
#include "mana_queues.h"

/*
 * ---- The table ------------------------------------------------------------------
 *
 * The regions stand in a list of the primary process; those with a key are published in
 * the table, which bursts read. The list changes with changes_lock held, the kernel's part
 * of a change included: a burst only tries that lock, and status functions and telemetry do
 * not take it. What they read changes with the lock of the regions held, under which
 * nothing waits.
 */

/* More entries are allocated where the driver may wait, before so few are left. */
#define SPARE_ENTRIES 64

/* A secondary process asks again for memory, and for memory that was refused. */
#define ASK_MS 10
#define REFUSAL_MS 1000

/*
 * By port_id. Not in the port, whose close the end of a mempool may find under way: DPDK
 * announces that without a lock, so its callback cannot be unregistered safely.
 */
static struct mana_mutex changes_lock[RTE_MAX_ETHPORTS];

RTE_INIT(changes_lock_init)
{
	for (uint32_t i = 0; i < RTE_DIM(changes_lock); i++)
		mana_mutex_init(&changes_lock[i], MANA_LOCK_CHANGES);
}

static struct mana_mutex *
lock_of(const struct mana_priv *priv)
{
	return &changes_lock[priv->data->port_id];
}

/* Writes the regions that processes of a kind have, as the version of this number. */
static void
publish_for(struct mana_priv *priv, struct mana_mr_array *array, uint32_t seq, uint32_t kind)
{
	struct mana_mr_entry *entry = mana_mr_list(array, seq, kind);
	const struct mana_mr_region *region;
	uintptr_t max_end = 0;
	uint32_t nb = 1;

	TAILQ_FOREACH(region, &priv->mrs.regions, next) {
		if (region->mr == NULL || region->kind == MANA_MR_STALE ||
		    (kind != MANA_KIND_PRIMARY && !region->is_shared))
			continue;
		max_end = RTE_MAX(max_end, region->end);
		mana_mr_store(&entry[nb].range.base, region->base);
		mana_mr_store(&entry[nb].range.end, region->end);
		mana_mr_store(&entry[nb].range.lkey, region->lkey);
		mana_mr_store(&entry[nb].max_end, max_end);
		nb++;
	}
	for (; nb < MANA_MR_MIN_ENTRIES; nb++)
		mana_mr_store(&entry[nb].range.base, UINTPTR_MAX);
	mana_mr_store(&array->nb[seq & 1][kind], nb);
}

/*
 * Writes the version that no reader begins with, in the table's array or another one with
 * room for all regions, and makes it the table.
 */
static void
publish(struct mana_priv *priv, struct mana_mr_array *array)
{
	struct mana_mr_table *table = &priv->mr_table;
	const uint32_t seq = mana_atomic_load(&table->seq[MANA_KIND_PRIMARY]) + 1;
	uint32_t kind;

	/* Who still reads that version finds that the table has changed since. */
	rte_smp_wmb();
	for (kind = 0; kind < MANA_NB_PROCESS_KINDS; kind++)
		publish_for(priv, array, seq, kind);
	__atomic_store_n(&table->array, array, __ATOMIC_RELEASE);
	for (kind = 0; kind < MANA_NB_PROCESS_KINDS; kind++)
		mana_atomic_release(&table->seq[kind], mana_atomic_load(&table->seq[kind]) + 1);
}

/*
 * Whether a region of this very memory, of the same kind and pool, lasts as long as this one,
 * for all processes if it has to be shared. A pool of the same address may be another one. A
 * range of the application lasts until it takes back this very range, once.
 */
static bool
has_region(const struct mana_priv *priv, const struct mana_mr_region *region, bool needs_shared)
{
	const struct mana_mr_region *at;

	TAILQ_FOREACH(at, &priv->mrs.regions, next)
		if (at->kind == region->kind && at->pool == region->pool &&
		    at->base == region->base && at->end == region->end &&
		    (at->is_shared || !needs_shared))
			return true;
	return false;
}

static struct mana_mr_array *
array_alloc(const struct mana_priv *priv, uint32_t capacity)
{
	struct mana_mr_array *array;

	array = mana_queue_alloc("mana_mr", sizeof(*array) + sizeof(array->entries[0]) *
				 MANA_MR_NB_VERSIONS * MANA_NB_PROCESS_KINDS * capacity,
				 priv->data->numa_node);
	if (array != NULL)
		array->capacity = capacity;
	return array;
}

int
mana_mr_reserve(struct mana_priv *priv)
{
	struct mana_mr_array *now, *array;
	bool has_room;

	mana_mutex_lock(&priv->mrs.lock);
	now = priv->mr_table.array;
	has_room = priv->mrs.nb + SPARE_ENTRIES < now->capacity;
	mana_mutex_unlock(&priv->mrs.lock);
	if (has_room)
		return 0;
	array = array_alloc(priv, now->capacity * 2);
	if (array == NULL)
		return -ENOMEM;
	mana_mutex_lock(&priv->mrs.lock);
	if (priv->mr_table.array == now) {
		array->outgrown = now;
		publish(priv, array);
		array = NULL;
	}
	mana_mutex_unlock(&priv->mrs.lock);
	rte_free(array);
	return 0;
}

/* ---- Regions -------------------------------------------------------------------- */

/* Whether all processes have this memory. At other addresses each may have its own. */
static bool
is_shared(uintptr_t addr, size_t len)
{
	const struct rte_memseg_list *msl = rte_mem_virt2memseg_list((void *)addr);

	return msl != NULL && len <= msl->len && addr - (uintptr_t)msl->base_va <= msl->len - len;
}

/*
 * A pool's region is found before another one that begins at the same address. Memory of a
 * pool is no other one's: that one is gone, and a secondary process freed it, whose events do
 * not come here. Packets of the new pool may have been sent by its key.
 */
static void
region_insert(struct mana_priv *priv, struct mana_mr_region *region)
{
	const bool is_pool = region->kind == MANA_MR_POOL;
	struct mana_mr_region *at, *behind = NULL;

	mana_mutex_lock(&priv->mrs.lock);
	TAILQ_FOREACH(at, &priv->mrs.regions, next) {
		if (behind == NULL && (at->base > region->base || (at->base == region->base &&
					at->kind == MANA_MR_POOL && !is_pool)))
			behind = at;
		if (is_pool && at->kind == MANA_MR_POOL && at->base < region->end &&
		    region->base < at->end)
			at->kind = MANA_MR_STALE;
	}
	if (behind != NULL)
		TAILQ_INSERT_BEFORE(behind, region, next);
	else
		TAILQ_INSERT_TAIL(&priv->mrs.regions, region, next);
	priv->mrs.nb++;
	mana_mutex_unlock(&priv->mrs.lock);
}

static void
region_remove(struct mana_priv *priv, struct mana_mr_region *region)
{
	mana_mutex_lock(&priv->mrs.lock);
	TAILQ_REMOVE(&priv->mrs.regions, region, next);
	priv->mrs.nb--;
	mana_mutex_unlock(&priv->mrs.lock);
	free(region);
}

/*
 * Gives a region, a new one or one that has lost its key, its key, which readers see from
 * then on. A new one is only remembered while the port has no device.
 */
static int
region_register(struct mana_priv *priv, struct mana_mr_region *region)
{
	size_t len = region->end - region->base;
	uint64_t begin_ns = mana_now_ns();
	struct ibv_mr *mr = NULL;
	int ret = 0;

	if (priv->pd != NULL && !(mana_is_gone(priv) && mana_state(priv) == MANA_STATE_RECOVERING))
		ret = mana_verbs_mr_create(priv->pd, region->base, len, true, &mr);
	/* The application's constant data: the device may only read it. */
	if (ret == -EFAULT && region->kind == MANA_MR_UNKNOWN)
		ret = mana_verbs_mr_create(priv->pd, region->base, len, false, &mr);
	if (ret != 0)
		return ret;
	mana_mutex_lock(&priv->mrs.lock);
	if (mr != NULL) {
		priv->counters.mr_registrations++;
		priv->counters.mr_registration_ns += mana_now_ns() - begin_ns;
		region->lkey = mr->lkey;
	}
	region->mr = mr;
	publish(priv, priv->mr_table.array);
	mana_mutex_unlock(&priv->mrs.lock);
	return 0;
}

/* Registers a region, whose base, end, kind and pool are given, unless there is one. */
static int
region_add(struct mana_priv *priv, const struct mana_mr_region *wanted)
{
	const struct mana_mr_array *now = __atomic_load_n(&priv->mr_table.array, __ATOMIC_ACQUIRE);
	const bool is_for_all = is_shared(wanted->base, wanted->end - wanted->base);
	struct mana_mr_region *region;
	int ret;

	if (has_region(priv, wanted, is_for_all))
		return 0;
	if (priv->mrs.nb + 1 >= now->capacity)
		return -ENOSPC;
	region = malloc(sizeof(*region));
	if (region == NULL)
		return -ENOMEM;
	*region = *wanted;
	region->is_shared = is_for_all;
	/* Who frees the memory now finds the region, and waits for the kernel. */
	region_insert(priv, region);
	ret = region_register(priv, region);
	if (ret != 0)
		region_remove(priv, region);
	return ret;
}

/* Deregisters a region, when readers do not have its key any more. */
static void
region_end(struct mana_priv *priv, struct mana_mr_region *region, bool is_remembered)
{
	struct ibv_mr *mr = region->mr;
	int ret;

	mana_mutex_lock(&priv->mrs.lock);
	region->mr = NULL;
	priv->counters.mr_deregistrations += mr != NULL;
	publish(priv, priv->mr_table.array);
	mana_mutex_unlock(&priv->mrs.lock);
	ret = MANA_VERBS_DESTROY(ibv_dereg_mr, mr);
	if (ret != 0 && !mana_is_gone(priv))
		MANA_PORT_LOG(WARNING, priv->data->name, "cannot deregister key %#x: %s",
			      region->lkey, strerror(-ret));
	if (!is_remembered)
		region_remove(priv, region);
}

/*
 * Which regions to remove. A member that is 0 selects all. A range selects what overlaps
 * it; with MANA_MR_USER only this very range.
 */
struct filter {
	enum mana_mr_kind kind;
	const struct rte_mempool *pool;
	uintptr_t base, end;
};

static bool
is_match(const struct mana_mr_region *region, struct filter filter)
{
	if (filter.kind != MANA_MR_ANY && region->kind != filter.kind)
		return false;
	if (filter.end == 0)
		return filter.pool == NULL || region->pool == filter.pool;
	if (filter.kind == MANA_MR_USER)
		return region->base == filter.base && region->end == filter.end;
	return region->kind != MANA_MR_STALE && region->base < filter.end &&
	       filter.base < region->end;
}

/* Deregisters the regions that match and returns how many. */
static uint32_t
regions_remove(struct mana_priv *priv, struct filter filter)
{
	struct mana_mr_region *region, *after;
	uint32_t removed = 0;

	RTE_TAILQ_FOREACH_SAFE(region, &priv->mrs.regions, next, after)
		if (is_match(region, filter)) {
			region_end(priv, region, false);
			removed++;
		}
	return removed;
}

/* ---- Which memory to register ------------------------------------------ */

/* Whether a region has the memory, for all processes if it has to be shared. */
static bool
is_registered(const struct mana_priv *priv, uintptr_t addr, size_t len, bool needs_shared)
{
	const struct mana_mr_region *region;

	TAILQ_FOREACH(region, &priv->mrs.regions, next)
		if (region->kind != MANA_MR_STALE && (region->is_shared || !needs_shared) &&
		    region->base <= addr && addr < region->end && len <= region->end - addr)
			return true;
	return false;
}

static void
region_round(struct mana_mr_region *region, uintptr_t addr, size_t len, size_t page_bytes)
{
	region->base = RTE_ALIGN_FLOOR(addr, (uintptr_t)page_bytes);
	region->end = RTE_ALIGN_CEIL(addr + len, (uintptr_t)page_bytes);
}

/*
 * Registers the memory around a buffer, unless a region has it. Where pages can be given
 * back one by one only the buffer's own are registered: a page with a buffer in use is not
 * given back. is_for_all: for all processes.
 */
static int
register_around(struct mana_priv *priv, const struct rte_mbuf *m, uintptr_t addr, size_t len,
		bool is_for_all)
{
	const struct rte_memseg_list *msl = rte_mem_virt2memseg_list((void *)addr);
	size_t system_bytes = sysconf(_SC_PAGESIZE);
	size_t page_bytes = msl != NULL ? msl->page_sz : system_bytes;
	uintptr_t buf = m != NULL ? (uintptr_t)m->buf_addr : addr;
	/* EAL reports no event for rte_extmem_unregister(). */
	struct mana_mr_region region = {
		.kind = msl == NULL || msl->external ? MANA_MR_UNKNOWN : MANA_MR_EAL,
	};
	int ret;

	if (is_registered(priv, addr, len, is_for_all))
		return 0;
	if (is_for_all && !is_shared(addr, len))
		return -EACCES;
	/*
	 * Without huge pages EAL's memory is one mapping made at start, never unmapped. The
	 * size of pages is no evidence: arm64 has huge pages of 64 KiB.
	 */
	if (msl != NULL && (msl->external || !rte_eal_has_hugepages())) {
		region.base = (uintptr_t)msl->base_va;
		region.end = region.base + msl->len;
		if (len > region.end - addr)
			return -EFAULT;
	} else if (m != NULL && addr >= buf && addr - buf < m->buf_len &&
		   len <= m->buf_len - (addr - buf)) {
		region_round(&region, buf, m->buf_len, page_bytes);
	} else {
		region_round(&region, addr, len, page_bytes);
	}
	ret = region_add(priv, &region);
	if (ret != 0 && ret != -ENOSPC) {
		/* The kernel may accept the buffer's own pages only. */
		region_round(&region, addr, len, system_bytes);
		ret = region_add(priv, &region);
	}
	if (ret == 0 && msl == NULL && mana_atomic_take(&priv->mrs.is_unknown_noted, 1))
		/* Else the device could send other pages than the application's. */
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "registered %zu bytes at 0x%" PRIxPTR
			      ", memory that DPDK does not manage; keep it mapped until the port is stopped, or use rte_extmem_register() and rte_dev_dma_map()",
			      len, addr);
	return ret;
}

/* ---- Ranges and events -------------------------------------------------- */

/* The port of this number, if it has a region that matches. */
static struct mana_priv *
port_with(uint32_t port_id, struct filter filter)
{
	struct mana_priv *priv = mana_registry_hold(&rte_eth_devices[port_id]);
	const struct mana_mr_region *region;
	bool has_match = false;

	if (priv == NULL)
		return NULL;
	mana_mutex_lock(&priv->mrs.lock);
	TAILQ_FOREACH(region, &priv->mrs.regions, next)
		has_match |= is_match(region, filter);
	mana_mutex_unlock(&priv->mrs.lock);
	mana_registry_unlock();
	return has_match ? priv : NULL;
}

/*
 * Deregisters memory of all ports. The caller waits for the kernel only where the memory is
 * registered: it may hold EAL's locks. A forked child finds no port.
 */
static void
memory_end(struct filter filter)
{
	struct mana_priv *priv;

	for (uint32_t i = 0; i < RTE_DIM(changes_lock); i++) {
		if (port_with(i, filter) == NULL)
			continue;
		/* A port that is found now does not close before the lock is released. */
		mana_mutex_lock(&changes_lock[i]);
		priv = port_with(i, filter);
		if (priv != NULL)
			(void)regions_remove(priv, filter);
		mana_mutex_unlock(&changes_lock[i]);
	}
}

/* EAL holds its memory lock for writing. */
static void
mem_event(enum rte_mem_event type, const void *addr, size_t len, void *arg __rte_unused)
{
	const uintptr_t base = (uintptr_t)addr;

	if (type == RTE_MEM_EVENT_FREE)
		memory_end((struct filter){ .base = base, .end = base + len });
}

static void
pool_event(enum rte_mempool_event event, struct rte_mempool *mp, void *arg __rte_unused)
{
	if (event == RTE_MEMPOOL_EVENT_DESTROY)
		memory_end((struct filter){ .kind = MANA_MR_POOL, .pool = mp });
}

/* Registers a region where DPDK memory may be allocated; gives a message if it fails. */
static int
region_setup(struct mana_priv *priv, const struct mana_mr_region *region)
{
	int ret = mana_mr_reserve(priv);

	if (ret == 0) {
		mana_mutex_lock(lock_of(priv));
		ret = region_add(priv, region);
		mana_mutex_unlock(lock_of(priv));
	}
	if (ret != 0)
		mana_diag_mr(priv, region->base, region->end - region->base, ret);
	return ret;
}

int
mana_mr_add_range(struct mana_priv *priv, uintptr_t addr, size_t len)
{
	return region_setup(priv, &(struct mana_mr_region){
		.base = addr, .end = addr + len, .kind = MANA_MR_USER,
	});
}

int
mana_mr_remove_range(struct mana_priv *priv, uintptr_t addr, size_t len)
{
	const struct filter filter = { MANA_MR_USER, NULL, addr, addr + len };
	uint32_t nb;

	mana_mutex_lock(lock_of(priv));
	nb = regions_remove(priv, filter);
	mana_mutex_unlock(lock_of(priv));
	return nb != 0 ? 0 : -ENOENT;
}

void
mana_mr_remove_unknown(struct mana_priv *priv)
{
	mana_mutex_lock(lock_of(priv));
	(void)regions_remove(priv, (struct filter){ .kind = MANA_MR_UNKNOWN });
	(void)regions_remove(priv, (struct filter){ .kind = MANA_MR_STALE });
	mana_mutex_unlock(lock_of(priv));
}

/* ---- Mempools --------------------------------------------------------------- */

static bool
has_pinned_buffers(struct rte_mempool *mp)
{
	return (rte_pktmbuf_priv_flags(mp) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0;
}

/*
 * Whether packets can live in the pool: it is such as rte_pktmbuf_pool_create() and
 * rte_pktmbuf_pool_create_extbuf() make, of memory that a device may use.
 */
static bool
is_packet_pool(struct rte_mempool *mp)
{
	const struct rte_pktmbuf_pool_private *private;

	if ((mp->flags & RTE_MEMPOOL_F_NON_IO) != 0 || mp->private_data_size < sizeof(*private))
		return false;
	private = rte_mempool_get_priv(mp);
	return private->mbuf_data_room_size != 0 &&
	       (has_pinned_buffers(mp) ||
		mp->elt_size >= sizeof(struct rte_mbuf) + private->mbuf_priv_size +
					private->mbuf_data_room_size);
}

/* Where the packets of a pool are; without a list there was no memory for it. */
struct chunks {
	uint32_t nb;
	uint32_t max;
	struct mana_mr_region *list;
};

static void
chunk_add(struct chunks *chunks, const struct rte_mempool *mp, const void *addr, size_t len)
{
	struct mana_mr_region *chunk = &chunks->list[chunks->nb];

	/* DPDK lists the memory of a pool in ascending order. */
	if (chunks->nb != 0 && chunk[-1].end == (uintptr_t)addr) {
		chunk[-1].end += len;
	} else if (chunks->nb < chunks->max) {
		chunk->base = (uintptr_t)addr;
		chunk->end = (uintptr_t)addr + len;
		chunk->kind = MANA_MR_POOL;
		chunk->pool = mp;
		(void)rte_strscpy(chunk->mempool, mp->name, sizeof(chunk->mempool));
		chunks->nb++;
	}
}

/* Packets of a pool with pinned external buffers are not in the memory of its mbufs. */
static void
pinned_add(struct rte_mempool *mp, void *chunks, void *obj, unsigned int idx __rte_unused)
{
	const struct rte_mbuf *m = obj;

	chunk_add(chunks, mp, m->buf_addr, m->buf_len);
}

/*
 * The pool's memory. Chunks that touch are joined: a pool of many small pages has one for
 * each piece that is contiguous for a physical address. The caller frees the list.
 */
static struct chunks
pool_chunks(struct rte_mempool *mp)
{
	bool is_pinned = has_pinned_buffers(mp);
	struct chunks chunks = { .max = (is_pinned ? mp->size : mp->nb_mem_chunks) + 1 };
	const struct rte_mempool_memhdr *memhdr;

	chunks.list = calloc(chunks.max, sizeof(*chunks.list));
	if (chunks.list == NULL)
		return chunks;
	if (is_pinned)
		rte_mempool_obj_iter(mp, pinned_add, &chunks);
	else
		STAILQ_FOREACH(memhdr, &mp->mem_list, next)
			chunk_add(&chunks, mp, memhdr->addr, memhdr->len);
	return chunks;
}

int
mana_mr_add_pool(struct mana_priv *priv, struct rte_mempool *mp)
{
	const struct chunks chunks = pool_chunks(mp);
	int ret = chunks.list != NULL ? 0 : -ENOMEM;

	if (ret != 0)
		mana_diag_mr(priv, 0, 0, ret);
	for (uint32_t i = 0; i < chunks.nb && ret == 0; i++)
		ret = region_setup(priv, &chunks.list[i]);
	free(chunks.list);
	return ret;
}

/* Registers what pool_chunks() has returned, until one fails, and frees the list. */
static void
chunks_add(struct mana_priv *priv, struct chunks chunks)
{
	for (uint32_t i = 0; i < chunks.nb && region_add(priv, &chunks.list[i]) == 0; i++)
		;
	free(chunks.list);
}

/* ---- From a burst -------------------------------------------------------- */

/* The pool in whose memory the packet of an mbuf usually is, or NULL. */
static struct rte_mempool *
pool_of(const struct rte_mbuf *m)
{
	if (m == NULL || (RTE_MBUF_HAS_EXTBUF(m) && !RTE_MBUF_HAS_PINNED_EXTBUF(m)))
		return NULL;
	return RTE_MBUF_CLONED(m) ?
		rte_mbuf_from_indirect((struct rte_mbuf *)(uintptr_t)m)->pool : m->pool;
}

/*
 * In a secondary process: asks the primary process, without waiting. The answer is the
 * table, or that the memory cannot be registered.
 */
static int
ask(struct mana_mr_ask *ask, const struct rte_mempool *mp, uintptr_t addr, uint64_t len_bytes)
{
	uint64_t now = rte_get_timer_cycles(), age = now - ask->time;
	bool is_same = ask->addr == addr && ask->len_bytes == len_bytes;
	bool is_answered = mana_atomic_acquire(&ask->nr_answered) == ask->nr;

	if (is_same && is_answered && ask->error != 0 &&
	    age < rte_get_timer_hz() * REFUSAL_MS / MS_PER_S)
		return ask->error;
	if ((is_same || !is_answered) && age < rte_get_timer_hz() * ASK_MS / MS_PER_S)
		return -EAGAIN;
	ask->addr = addr;
	ask->len_bytes = len_bytes;
	ask->pool = mp;
	ask->time = now;
	mana_atomic_release(&ask->nr, ask->nr + 1);
	mana_peers_ask();
	return -EAGAIN;
}

/* At most one message a second, because bursts cause it. */
static void
refusal_log(struct mana_priv *priv, uintptr_t addr, size_t len, int error)
{
	uint64_t now = rte_get_timer_cycles();

	if (now < priv->mrs.next_log)
		return;
	priv->mrs.next_log = now + rte_get_timer_hz();
	mana_diag_mr(priv, addr, len, error);
}

int
mana_mr_miss(struct mana_mr_cache *cache, const struct rte_mbuf *m, uintptr_t addr,
	     uint64_t len_bytes)
{
	struct mana_priv *priv = cache->view.table->port;
	struct rte_mempool *mp = pool_of(m);
	int ret;

	if (mana_atomic_load(&mana_process_id) != MANA_PROCESS_PRIMARY)
		return ask(&cache->ask, mp, addr, len_bytes);
	/* Another thread waits for the kernel, perhaps for this very memory. */
	if (!mana_mutex_trylock(lock_of(priv)))
		return -EAGAIN;
	/* Memory of a packet in use is not given back, so EAL's lock is not needed. */
	if (mp != NULL && is_packet_pool(mp))
		chunks_add(priv, pool_chunks(mp));
	ret = register_around(priv, m, addr, len_bytes, false);
	if (ret == -ENOSPC)
		ret = -EAGAIN; /* the tick makes room */
	else if (ret != 0)
		refusal_log(priv, addr, len_bytes, ret);
	mana_mutex_unlock(lock_of(priv));
	return ret;
}

/* ---- For a secondary process ------------------------------------------------ */

struct pool_search {
	const struct rte_mempool *mp; /* any value */
	struct chunks chunks; /* of that pool, if packets live in it, in memory of all processes */
};

static void
pool_compare(struct rte_mempool *mp, void *arg)
{
	const struct rte_mempool_memhdr *memhdr;
	struct pool_search *search = arg;

	if (mp != search->mp || !is_packet_pool(mp) || has_pinned_buffers(mp))
		return;
	STAILQ_FOREACH(memhdr, &mp->mem_list, next)
		if (!is_shared((uintptr_t)memhdr->addr, memhdr->len))
			return;
	search->chunks = pool_chunks(mp);
}

int
mana_mr_serve(struct mana_priv *priv, uintptr_t addr, size_t len, const struct rte_mempool *pool)
{
	struct pool_search search = { .mp = pool };
	int ret = mana_mr_reserve(priv);

	if (ret != 0)
		return ret;
	if (pool != NULL)
		rte_mempool_walk(pool_compare, &search);
	mana_mutex_lock(lock_of(priv));
	chunks_add(priv, search.chunks);
	ret = register_around(priv, NULL, addr, len, true);
	if (ret != 0)
		refusal_log(priv, addr, len, ret);
	mana_mutex_unlock(lock_of(priv));
	return ret;
}

/* ---- Life --------------------------------------------------------------- */

int
mana_mr_table_create(struct mana_priv *priv)
{
	mana_mutex_init(&priv->mrs.lock, MANA_LOCK_INNER);
	TAILQ_INIT(&priv->mrs.regions);
	priv->mr_table.port = priv;
	mana_atomic_store(&priv->mr_table.seq[MANA_KIND_SECONDARY], 1u << 31);
	priv->mr_table.array = array_alloc(priv, 2 * SPARE_ENTRIES);
	if (priv->mr_table.array == NULL)
		return -ENOMEM;
	publish(priv, priv->mr_table.array);
	/* Once, for all ports. Permanent memory (--no-huge) has no events. */
	if ((rte_mempool_event_callback_register(pool_event, NULL) != 0 &&
	     rte_errno != EEXIST) ||
	    (rte_mem_event_callback_register("mana", mem_event, NULL) != 0 &&
	     rte_errno != EEXIST && rte_errno != ENOTSUP))
		return -rte_errno;
	return 0;
}

int
mana_mr_table_attach(struct mana_priv *priv)
{
	struct mana_mr_region *region, *after;
	struct ibv_pd *pd;
	int ret, error;

	ret = mana_verbs_pd_create(priv->ctx, priv->port, &pd, &priv->parent);
	mana_mutex_lock(lock_of(priv));
	priv->pd = pd;
	RTE_TAILQ_FOREACH_SAFE(region, &priv->mrs.regions, next, after) {
		if (ret != 0)
			break;
		error = region_register(priv, region);
		if (error == 0)
			continue;
		/* The first packet adds other memory again, unless the device is lost again. */
		if (region->kind == MANA_MR_USER || error == -EIO || error == -ENODEV) {
			ret = error;
			mana_diag_mr(priv, region->base, region->end - region->base, ret);
		} else {
			region_end(priv, region, false);
		}
	}
	mana_mutex_unlock(lock_of(priv));
	return ret;
}

int
mana_mr_table_detach(struct mana_priv *priv)
{
	struct ibv_pd *pd = priv->pd;
	struct mana_mr_region *region;
	int error, ret;

	mana_mr_remove_unknown(priv);
	mana_mutex_lock(lock_of(priv));
	/* What begins from now on only remembers its memory. */
	priv->pd = NULL;
	TAILQ_FOREACH(region, &priv->mrs.regions, next)
		region_end(priv, region, true);
	mana_mutex_unlock(lock_of(priv));
	/* The parent domain exists in libmana only, and refers to the other. */
	error = MANA_VERBS_DESTROY(ibv_dealloc_pd, priv->parent);
	ret = MANA_VERBS_DESTROY(ibv_dealloc_pd, pd);
	priv->parent = NULL;
	return error != 0 ? error : ret;
}

void
mana_mr_table_destroy(struct mana_priv *priv)
{
	struct mana_mr_array *array;

	/* No other thread finds the port any more. */
	(void)regions_remove(priv, (struct filter){ .kind = MANA_MR_ANY });
	while ((array = priv->mr_table.array) != NULL) {
		priv->mr_table.array = array->outgrown;
		rte_free(array);
	}
}
