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

uint32_t fx_mr_generation;
uint32_t fx_mr_calls;
bool fx_mr_deny;

static struct mana_mr_range fx_mr[FX_NB_MR];
static uint32_t fx_nb_mr;

void
fx_mr_clear(void)
{
	fx_nb_mr = 0;
	fx_mr_calls = 0;
	fx_mr_deny = false;
	fx_mr_generation++;
}

void
fx_mr_add(const void *base, size_t len_bytes, uint32_t lkey)
{
	assert_true(fx_nb_mr < FX_NB_MR);
	fx_mr[fx_nb_mr++] = (struct mana_mr_range){
		.base = (uintptr_t)base,
		.len_bytes = len_bytes,
		.lkey = lkey,
	};
}

static void
fx_mr_add_chunk(struct rte_mempool *mp, void *lkey,
		struct rte_mempool_memhdr *chunk, unsigned int idx)
{
	(void)mp;
	fx_mr_add(chunk->addr, chunk->len, *(uint32_t *)lkey + idx);
}

void
fx_mr_add_pool(struct rte_mempool *mp, uint32_t lkey)
{
	rte_mempool_mem_iter(mp, fx_mr_add_chunk, &lkey);
}

static const struct mana_mr_range *
fx_mr_find(uint64_t addr, uint32_t len_bytes)
{
	for (uint32_t i = 0; i < fx_nb_mr; i++)
		if (addr >= fx_mr[i].base &&
		    addr + len_bytes <= fx_mr[i].base + fx_mr[i].len_bytes)
			return &fx_mr[i];
	return NULL;
}

uint32_t
fx_mr_expect(uint64_t addr, uint32_t len_bytes)
{
	const struct mana_mr_range *range = fx_mr_find(addr, len_bytes);

	return range == NULL ? 0 : range->lkey;
}

/* The control path's part, played by the test. */
int
mana_mr_miss(struct mana_mr_cache *cache, const struct rte_mbuf *m,
	     uintptr_t addr, uint32_t len_bytes, struct mana_mr_range *range)
{
	const struct mana_mr_range *found = fx_mr_find(addr, len_bytes);

	(void)m;
	assert_ptr_equal(cache->ctx, &fx_mr_calls);
	fx_mr_calls++;
	if (found == NULL || fx_mr_deny)
		return -ENOENT;
	*range = *found;
	return 0;
}

static void
fx_mr_find_chunk(struct rte_mempool *mp, void *arg,
		 struct rte_mempool_memhdr *chunk, unsigned int idx)
{
	const struct mana_mr_range *found = fx_mr_find((uintptr_t)chunk->addr,
						       chunk->len);
	uint32_t *lkey = arg;

	(void)mp;
	/* The key, if all chunks are in one region; else 0. */
	if (found == NULL || (idx != 0 && *lkey != found->lkey))
		*lkey = 0;
	else if (idx == 0)
		*lkey = found->lkey;
}

bool
mana_mr_pool_key(struct mana_mr_cache *cache, struct rte_mempool *mp,
		 uint32_t *lkey)
{
	assert_ptr_equal(cache->ctx, &fx_mr_calls);
	fx_mr_calls++;
	*lkey = 0;
	rte_mempool_mem_iter(mp, fx_mr_find_chunk, lkey);
	return *lkey != 0 && !fx_mr_deny;
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
	(void)state;
	fx_eal_init();
	return 0;
}

static void
fx_pool_paint(struct rte_mempool *mp, void *arg, void *obj, unsigned int idx)
{
	struct rte_mbuf *m = obj;

	(void)mp;
	(void)arg;
	(void)idx;
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
