/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_eal.h>
#include <rte_errno.h>

#include "../lcores.h"
#include "fixture.h"

uint64_t
fx_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* ---- Memory regions ---- */

#define FX_NB_MR 64
#define FX_NB_MR_ENTRIES (FX_NB_MR + 1)

uint32_t fx_mr_calls;
bool fx_mr_deny;
bool fx_mr_later;
struct mana_mr_table fx_mr_table = {
	.seq = { [MANA_KIND_SECONDARY] = 1u << 31 },
	.port = &fx_mr_calls,
};

/* A region that can be registered. */
struct fx_region {
	uintptr_t base;
	uintptr_t end;
	uint32_t lkey;
	bool is_registered;
	bool is_private; /* to the primary process */
};
static struct fx_region fx_mr[FX_NB_MR];
static uint32_t fx_nb_mr;

static struct mana_mr_array *
fx_mr_array(void)
{
	static alignas(RTE_CACHE_LINE_SIZE) uint8_t memory[sizeof(struct mana_mr_array) +
		2 * MANA_NB_PROCESS_KINDS * FX_NB_MR_ENTRIES * sizeof(struct mana_mr_entry)];
	struct mana_mr_array *array = (struct mana_mr_array *)memory;

	array->capacity = FX_NB_MR_ENTRIES;
	return array;
}

/* Adds the regions of a kind of process, sorted by address, equal ones as they came. */
static void
fx_mr_publish_for(struct mana_mr_array *array, uint32_t seq, uint32_t kind)
{
	struct mana_mr_entry *entries = mana_mr_list(array, seq, kind);
	uintptr_t max_end = 0;
	uint32_t nb = 1, at;

	for (uint32_t i = 0; i < fx_nb_mr; i++) {
		if (!fx_mr[i].is_registered ||
		    (kind == MANA_KIND_SECONDARY && fx_mr[i].is_private))
			continue;
		for (at = nb++; at > 1 && entries[at - 1].range.base > fx_mr[i].base; at--)
			entries[at] = entries[at - 1];
		entries[at].range = (struct mana_mr_range){
			.base = fx_mr[i].base,
			.end = fx_mr[i].end,
			.lkey = fx_mr[i].lkey,
		};
	}
	for (at = 1; at < nb; at++) {
		max_end = RTE_MAX(max_end, entries[at].range.end);
		entries[at].max_end = max_end;
	}
	for (; nb < MANA_MR_MIN_ENTRIES; nb++)
		entries[nb].range.base = UINTPTR_MAX;
	array->nb[seq & 1][kind] = nb;
}

void
fx_mr_publish(void)
{
	struct mana_mr_array *array = fx_mr_array();

	for (uint32_t kind = 0; kind < MANA_NB_PROCESS_KINDS; kind++) {
		fx_mr_publish_for(array, fx_mr_table.seq[kind] + 1, kind);
		fx_mr_table.seq[kind]++;
	}
	fx_mr_table.array = array;
}

void
fx_mr_forget(void)
{
	for (uint32_t i = 0; i < fx_nb_mr; i++)
		fx_mr[i].is_registered = false;
	fx_mr_publish();
}

void
fx_mr_clear(void)
{
	fx_nb_mr = 0;
	fx_mr_calls = 0;
	fx_mr_deny = false;
	fx_mr_later = false;
	fx_mr_publish();
}

static struct fx_region *
fx_mr_new(const void *base, size_t len_bytes, uint32_t lkey)
{
	assert_true(fx_nb_mr < FX_NB_MR);
	fx_mr[fx_nb_mr] = (struct fx_region){
		.base = (uintptr_t)base,
		.end = (uintptr_t)base + len_bytes,
		.lkey = lkey,
	};
	return &fx_mr[fx_nb_mr++];
}

void
fx_mr_add(const void *base, size_t len_bytes, uint32_t lkey)
{
	(void)fx_mr_new(base, len_bytes, lkey);
}

void
fx_mr_register(const void *base, size_t len_bytes, uint32_t lkey)
{
	fx_mr_new(base, len_bytes, lkey)->is_registered = true;
	fx_mr_publish();
}

void
fx_mr_register_private(const void *base, size_t len_bytes, uint32_t lkey)
{
	fx_mr_register(base, len_bytes, lkey);
	fx_mr[fx_nb_mr - 1].is_private = true;
	fx_mr_publish();
}

static void
fx_mr_add_chunk(struct rte_mempool *mp, void *lkey,
		struct rte_mempool_memhdr *chunk, unsigned int idx)
{
	fx_mr_add(chunk->addr, chunk->len, *(uint32_t *)lkey + idx);
}

void
fx_mr_add_pool(struct rte_mempool *mp, uint32_t lkey)
{
	rte_mempool_mem_iter(mp, fx_mr_add_chunk, &lkey);
}

static struct fx_region *
fx_mr_find(uint64_t addr, uint64_t len_bytes)
{
	for (uint32_t i = 0; i < fx_nb_mr; i++)
		if (addr >= fx_mr[i].base && addr + len_bytes <= fx_mr[i].end)
			return &fx_mr[i];
	return NULL;
}

uint32_t
fx_mr_expect(uint64_t addr, uint32_t len_bytes)
{
	const struct fx_region *region = fx_mr_find(addr, len_bytes);

	return region == NULL ? 0 : region->lkey;
}

/* The control path's part, played by the test. */
int
mana_mr_miss(struct mana_mr_cache *cache, const struct rte_mbuf *m,
	     uintptr_t addr, uint64_t len_bytes)
{
	struct fx_region *region = fx_mr_find(addr, len_bytes);

	assert_ptr_equal(cache->view.table->port, &fx_mr_calls);
	fx_mr_calls++;
	if (fx_mr_later)
		return -EAGAIN;
	if (region == NULL || fx_mr_deny)
		return -ENOENT;
	region->is_registered = true;
	fx_mr_publish();
	return 0;
}

/* ---- Start-up and pools ---- */

void
fx_eal_init(void)
{
	char *argv[] = {
		(char *)(uintptr_t)"unit", (char *)(uintptr_t)"--no-huge",
		(char *)(uintptr_t)"--no-pci", (char *)(uintptr_t)"--no-shconf",
		(char *)(uintptr_t)"--no-telemetry",
		(char *)(uintptr_t)"--log-level=lib.*:error",
		(char *)(uintptr_t)"-m", (char *)(uintptr_t)"128",
		lcores_anywhere(),
	};

	if (rte_eal_init(RTE_DIM(argv), argv) < 0) {
		fprintf(stderr, "rte_eal_init: %s\n", rte_strerror(rte_errno));
		exit(1);
	}
}

int
fx_group_setup(void **state)
{
	fx_eal_init();
	return 0;
}

static void
fx_pool_paint(struct rte_mempool *mp, void *arg, void *obj, unsigned int idx)
{
	struct rte_mbuf *m = obj;

	memset(m->buf_addr, 0xa5, m->buf_len);
}

struct rte_mempool *
fx_pool(const char *name, uint32_t nb, uint32_t room_bytes)
{
	struct rte_mempool *mp;

	mp = rte_pktmbuf_pool_create(name, nb, 0, 0,
				     room_bytes + RTE_PKTMBUF_HEADROOM, 0);
	assert_non_null(mp);
	rte_mempool_obj_iter(mp, fx_pool_paint, NULL);
	return mp;
}

struct rte_mempool *
fx_pool_cached(const char *name, uint32_t nb, uint32_t nb_cache,
	       const char *ops)
{
	struct rte_mempool *mp;

	mp = rte_pktmbuf_pool_create_by_ops(name, nb, nb_cache, 0,
					    FX_ROOM_BYTES + RTE_PKTMBUF_HEADROOM,
					    0, ops);
	assert_non_null(mp);
	rte_mempool_obj_iter(mp, fx_pool_paint, NULL);
	return mp;
}

/* Memory of the pinned pools; rte_mempool_free() does not free it. */
static struct {
	struct rte_mempool *mp;
	void *memory;
} fx_pinned[FX_MAX_SEGS];

static void
fx_pinned_keep(struct rte_mempool *mp, void *memory)
{
	for (uint32_t i = 0; i < RTE_DIM(fx_pinned); i++)
		if (fx_pinned[i].mp == NULL) {
			fx_pinned[i].mp = mp;
			fx_pinned[i].memory = memory;
			return;
		}
	fail_msg("too many pinned pools");
}

void
fx_pool_free(struct rte_mempool *mp)
{
	for (uint32_t i = 0; i < RTE_DIM(fx_pinned); i++)
		if (fx_pinned[i].mp == mp) {
			fx_pinned[i].mp = NULL;
			free(fx_pinned[i].memory);
		}
	rte_mempool_free(mp);
}

struct rte_mempool *
fx_pool_pinned(const char *name, uint32_t nb)
{
	const uint16_t elt = FX_ROOM_BYTES + RTE_PKTMBUF_HEADROOM;
	struct rte_pktmbuf_extmem ext = {
		.buf_ptr = fx_ring_alloc((size_t)elt * nb, 0xa5),
		.buf_iova = RTE_BAD_IOVA,
		.buf_len = (size_t)elt * nb,
		.elt_size = elt,
	};
	struct rte_mempool *mp;

	mp = rte_pktmbuf_pool_create_extbuf(name, nb, 0, 0, elt, 0, &ext, 1);
	assert_non_null(mp);
	fx_mr_add(ext.buf_ptr, ext.buf_len, 0x7001);
	fx_pinned_keep(mp, ext.buf_ptr);
	return mp;
}

uint32_t
fx_pool_missing(const struct rte_mempool *mp, uint32_t nb)
{
	return nb - rte_mempool_avail_count(mp);
}

void *
fx_ring_alloc(size_t bytes, int fill)
{
	void *ring = aligned_alloc(4096, RTE_ALIGN_CEIL(bytes, (size_t)4096));

	assert_non_null(ring);
	memset(ring, fill, bytes);
	return ring;
}

/* ---- Completion queue ---- */

void
fx_cqe_write_owner(struct fx_cq *cq, const uint32_t data[15],
		   uint32_t trailer, uint32_t owner)
{
	uint8_t *cqe = cq->ring +
		       (size_t)(cq->pi & (cq->nb_cqe - 1)) * HW_CQE_BYTES;

	for (uint32_t i = 0; i < 15; i++)
		hw_put_le32(cqe + 4 * i, data[i]);
	hw_put_le32(cqe + HW_CQE_TRAILER_OFF,
		    trailer | (owner & HW_CQE_OWNER_M) << HW_CQE_OWNER_S);
	cq->pi++;
}

void
fx_cqe_write(struct fx_cq *cq, const uint32_t data[15], uint32_t trailer)
{
	fx_cqe_write_owner(cq, data, trailer, cq->pi / cq->nb_cqe);
}

struct rte_mbuf *
fx_mbuf(struct rte_mempool *mp, uint32_t len_bytes, uint8_t seed)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(mp);
	uint8_t *data;

	assert_non_null(m);
	data = (uint8_t *)rte_pktmbuf_append(m, len_bytes);
	assert_non_null(data);
	for (uint32_t i = 0; i < len_bytes; i++)
		data[i] = seed + i;
	return m;
}

struct rte_mbuf *
fx_chain(struct rte_mempool *mp, uint32_t nb, uint32_t len_bytes, uint8_t seed)
{
	struct rte_mbuf *head = fx_mbuf(mp, len_bytes, seed);

	for (uint32_t i = 1; i < nb; i++)
		assert_int_equal(0, rte_pktmbuf_chain(head,
			fx_mbuf(mp, len_bytes, seed + i * len_bytes)));
	return head;
}

struct rte_mbuf *
fx_pieces(struct rte_mempool *mp, const uint8_t *bytes, uint32_t len, uint32_t first,
	  uint32_t piece)
{
	struct rte_mbuf *head = fx_mbuf(mp, first, 0), *m;

	memcpy(rte_pktmbuf_mtod(head, void *), bytes, first);
	for (uint32_t at = first; at < len; at += piece) {
		piece = RTE_MIN(piece, len - at);
		m = fx_mbuf(mp, piece, 0);
		memcpy(rte_pktmbuf_mtod(m, void *), bytes + at, piece);
		assert_eq(rte_pktmbuf_chain(head, m), 0);
	}
	return head;
}
