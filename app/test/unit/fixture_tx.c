/* SPDX-License-Identifier: BSD-3-Clause */

#include "fixture.h"

void
fx_tx_start_at(struct fx_tx *fx, uint32_t start)
{
	struct mana_txq *txq = fx->txq;

	txq->sq.pi = txq->sq.ci = fx->ci = fx->done_bu = start;
	txq->pi = txq->ci = txq->open_pi = start;
	txq->mbuf_pi = txq->mbuf_ci = txq->group_pi = txq->group_ci = start;
	txq->open_bu = start;
	txq->cq.ci = txq->cq.rung = fx->cq.pi = start & ~(fx->cq.nb_cqe - 1);
	for (uint32_t i = 0; i < fx->cq.nb_cqe; i++)
		hw_put_le32(fx->cq.ring + i * HW_CQE_BYTES + HW_CQE_TRAILER_OFF,
			    (fx->cq.pi / fx->cq.nb_cqe - 1) << HW_CQE_OWNER_S);
}

static void
fx_tx_pools(struct fx_tx *fx, const struct fx_tx_opts *opts)
{
	static unsigned int serial;
	char name[32];

	fx_mr_clear();
	fx->nb_mbufs = fx_or_default(opts->nb_pool, 2048);
	snprintf(name, sizeof(name), "tx%u", serial);
	fx->mp = fx_pool_cached(name, fx->nb_mbufs, 0, opts->ops);
	fx_mr_add_pool(fx->mp, 0x2001);
	fx->nb_bounce = fx_or_default(opts->nb_bounce, 64);
	snprintf(name, sizeof(name), "bounce%u", serial++);
	fx->bounce_mp = fx_pool_cached(name, fx->nb_bounce, 0, opts->ops);
	fx_mr_add_pool(fx->bounce_mp, 0x3001);
}

struct fx_tx *
fx_tx_new(const struct fx_tx_opts *opts)
{
	struct fx_tx *fx = fx_ring_alloc(sizeof(*fx), 0);
	uint32_t nb_desc = fx_or_default(opts->nb_desc, 64);
	uint32_t nb_wqes = rte_align32pow2(nb_desc);
	uint32_t nb_mbufs = nb_wqes * fx_or_default(opts->mbufs_per_wqe, 4);
	uint32_t sq_bytes = fx_or_default(opts->sq_bytes,
					  rte_align32pow2(nb_desc * 512));

	fx_tx_pools(fx, opts);
	fx->txq = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*fx->txq));
	fx->sq_ring = fx_ring_alloc(sq_bytes, 0xff);
	fx->cq.nb_cqe = fx_or_default(opts->nb_cqe, 128);
	fx->cq.ring = fx_ring_alloc(fx->cq.nb_cqe * HW_CQE_BYTES, 0);
	fx->cq.pi = fx->cq.nb_cqe;
	fx->db_page = fx_ring_alloc(HW_DB_PAGE_BYTES, 0);
	fx->rings = (struct mana_queue_rings){
		.ring = fx->sq_ring,
		.ring_bytes = sq_bytes,
		.cq_ring = fx->cq.ring,
		.nb_cqe = fx->cq.nb_cqe,
		.db_page = fx->db_page,
		.id = FX_SQ_ID,
		.cq_id = FX_TX_CQ_ID,
		.vp_offset = fx_or_default(opts->vp_offset, 3),
	};
	fx->conf = (struct mana_txq_conf){
		.suppress = !opts->no_suppress,
		.form = opts->form,
		.vport = opts->vport,
	};
	fx->fresh = (struct mana_txq){
		.nb_desc = nb_desc,
		.max_sge = fx_or_default(opts->max_sge, 30),
		.mbufs = calloc(nb_mbufs, sizeof(struct rte_mbuf *)),
		.pools = calloc(nb_mbufs, sizeof(struct rte_mempool *)),
		.mbuf_mask = nb_mbufs - 1,
		.info = calloc(nb_wqes, sizeof(uint16_t)),
		.groups = calloc(nb_wqes, sizeof(struct mana_tx_group)),
		.mask = nb_wqes - 1,
		.bounce = fx_ring_alloc(nb_wqes * MANA_TX_BOUNCE_BYTES, 0xee),
		.bounce_mp = fx->bounce_mp,
		.mtu = fx_or_default(opts->mtu, UINT16_MAX),
		.runs = true,
	};
	fx_mr_add(fx->fresh.bounce, nb_wqes * MANA_TX_BOUNCE_BYTES, 0x4001);
	mana_mr_cache_init(&fx->fresh.mr, &fx_mr_table);
	*fx->txq = fx->fresh;
	assert_eq(mana_txq_init(fx->txq, &fx->rings, &fx->conf), 0);
	fx->zero_position = opts->zero_position;
	if (opts->start != 0)
		fx_tx_start_at(fx, opts->start);
	fx->burst = mana_tx_burst;
	return fx;
}

void
fx_tx_restart(struct fx_tx *fx)
{
	memset(fx->sq_ring, 0xff, fx->rings.ring_bytes);
	memset(fx->cq.ring, 0, fx->cq.nb_cqe * HW_CQE_BYTES);
	memset(fx->db_page, 0, HW_DB_PAGE_BYTES);
	fx->cq.pi = fx->cq.nb_cqe;
	fx->ci = fx->done_bu = fx->silent_bu = 0;
	assert_eq(mana_txq_init(fx->txq, &fx->rings, &fx->conf), 0);
}

void
fx_tx_delete(struct fx_tx *fx)
{
	mana_txq_release_mbufs(fx->txq);
	mana_txq_release_mbufs(fx->txq);
	assert_eq(mana_txq_nb_posted(fx->txq), 0);
	assert_eq(fx_pool_missing(fx->mp, fx->nb_mbufs), 0);
	assert_eq(fx_pool_missing(fx->bounce_mp, fx->nb_bounce), 0);
	fx_pool_free(fx->mp);
	fx_pool_free(fx->bounce_mp);
	free(fx->txq);
	free(fx->sq_ring);
	free(fx->cq.ring);
	free(fx->db_page);
	free(fx->fresh.mbufs);
	free(fx->fresh.pools);
	free(fx->fresh.info);
	free(fx->fresh.groups);
	free(fx->fresh.bounce);
	free(fx);
}

/* Reads bytes of the ring, across the wrap. */
static void
fx_tx_read(const struct fx_tx *fx, uint32_t offset, uint8_t *to,
	   uint32_t bytes)
{
	uint32_t at = fx->ci * HW_BU_BYTES + offset;

	for (uint32_t i = 0; i < bytes; i++)
		to[i] = fx->sq_ring[(at + i) & (fx->rings.ring_bytes - 1)];
}

bool
fx_tx_fetch(struct fx_tx *fx, struct fx_tx_wqe *wqe)
{
	struct hw_doorbell db =
		hw_doorbell_read(hw_le64(fx->db_page + HW_DB_SQ), false);
	uint32_t sgl;
	uint8_t bytes[32];

	if (db.id == 0 || db.tail == fx->ci * HW_BU_BYTES) {
		/* The last WQE before a doorbell asks for a CQE. */
		assert_eq(fx->silent_bu, 0);
		return false;
	}
	assert_eq(db.id, FX_SQ_ID);
	assert_eq(db.wqe_cnt, 0);
	assert_true(db.tail - fx->ci * HW_BU_BYTES <= fx->rings.ring_bytes);

	fx_tx_read(fx, 0, bytes, sizeof(bytes));
	wqe->header = hw_wqe_read(bytes);
	assert_false(wqe->header.has_reserved_bits);
	assert_true(wqe->header.oob_div4 == HW_OOB_DIV4_SHORT ||
		    wqe->header.oob_div4 == HW_OOB_DIV4_LONG);
	wqe->oob = hw_tx_oob_read(bytes + 8,
				  wqe->header.oob_div4 == HW_OOB_DIV4_LONG);
	assert_false(wqe->oob.has_stray_bits);
	assert_eq(wqe->oob.pkt_fmt, wqe->header.oob_div4 == HW_OOB_DIV4_LONG);
	assert_eq(wqe->oob.vcq_num, FX_TX_CQ_ID);
	assert_eq(wqe->oob.vsq_frame, FX_SQ_ID >> 10);
	if (wqe->oob.pkt_fmt != HW_PKT_FMT_LONG ||
	    fx->conf.vport != MANA_TX_VPORT_LONG)
		assert_eq(wqe->oob.short_vp, fx->rings.vp_offset <= 255 ?
						     fx->rings.vp_offset : 0);
	else
		assert_eq(wqe->oob.short_vp, 0);
	if (wqe->oob.pkt_fmt == HW_PKT_FMT_LONG)
		assert_eq(wqe->oob.long_vp,
			  fx->conf.vport == MANA_TX_VPORT_SHORT ?
				  0 : fx->rings.vp_offset);
	else
		assert_true(fx->rings.vp_offset <= 255);

	wqe->nb_sge = wqe->header.nb_sge;
	assert_true(wqe->nb_sge >= 1 && wqe->nb_sge <= 30);
	wqe->nb_bu = hw_wqe_bytes(&wqe->header) / HW_BU_BYTES;
	assert_true(wqe->nb_bu <= HW_SQ_WQE_MAX_BYTES / HW_BU_BYTES);
	assert_true(wqe->nb_bu * HW_BU_BYTES <= db.tail - fx->ci * HW_BU_BYTES);
	sgl = hw_wqe_sgl_offset(&wqe->header);
	wqe->bytes = 0;
	for (uint32_t i = 0; i < wqe->nb_sge; i++) {
		struct hw_sge sge;

		fx_tx_read(fx, sgl + i * HW_SGE_BYTES, bytes, HW_SGE_BYTES);
		sge = hw_sge_read(bytes);
		assert_true(sge.size_bytes > 0);
		assert_true(sge.key != 0);
		assert_eq(sge.key, fx_mr_expect(sge.addr, sge.size_bytes));
		assert_true(wqe->bytes + sge.size_bytes <= sizeof(wqe->frame));
		memcpy(wqe->frame + wqe->bytes, (void *)(uintptr_t)sge.addr,
		       sge.size_bytes);
		wqe->bytes += sge.size_bytes;
		wqe->sge[i] = sge;
	}
	fx->ci += wqe->nb_bu;
	/* At least one WQE per quarter of the ring asks for a CQE. */
	fx->silent_bu = wqe->oob.suppress ? fx->silent_bu + wqe->nb_bu : 0;
	assert_true(fx->silent_bu <= fx->rings.ring_bytes / HW_BU_BYTES / 4);
	return true;
}

void
fx_tx_cqe_at(struct fx_tx *fx, uint32_t type, uint32_t position)
{
	uint32_t data[15] = {
		type | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S,
	};

	data[HW_TX_CQE_OFFSETS_OFF / 4] =
		(position & HW_TX_WQE_OFFSET_M) << HW_TX_CQE_WQE_OFFSET_S | 9;
	fx_cqe_write(&fx->cq, data, FX_SQ_ID | 1u << HW_CQE_IS_SQ_S);
}

/* Completes the oldest WQE. Returns whether it asked for a CQE. */
bool
fx_tx_silent(struct fx_tx *fx)
{
	uint32_t at = fx->done_bu * HW_BU_BYTES & (fx->rings.ring_bytes - 1);
	struct hw_wqe header = hw_wqe_read(fx->sq_ring + at);

	fx->done_bu += hw_wqe_bytes(&header) / HW_BU_BYTES;
	return !hw_tx_oob_read(fx->sq_ring + at + HW_WQE_HEADER_BYTES, false)
			.suppress;
}

void
fx_tx_cqe(struct fx_tx *fx, uint32_t type)
{
	struct hw_doorbell db =
		hw_doorbell_read(hw_le64(fx->db_page + HW_DB_SQ), false);
	uint32_t position = fx->zero_position ? 0 : fx->done_bu;

	if (db.id != 0 && db.tail != fx->done_bu * HW_BU_BYTES &&
	    !fx_tx_silent(fx) && type == HW_CQE_TX_OKAY)
		return;
	fx_tx_cqe_at(fx, type, position);
}

void
fx_tx_complete(struct fx_tx *fx, uint32_t nb)
{
	while (nb-- > 0)
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
}

void
fx_tx_pass_offset_check(struct fx_tx *fx)
{
	struct rte_mbuf *m;

	for (uint32_t i = 0; i < 20 && fx->txq->no_cqe == 0; i++) {
		m = fx_mbuf(fx->mp, 60, i);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		assert_eq(fx_tx_complete_all(fx), 1);
		mana_txq_done_cleanup(fx->txq, 0);
	}
	assert_true(fx->txq->no_cqe != 0);
	assert_eq(mana_txq_nb_posted(fx->txq), 0);
}

uint32_t
fx_tx_complete_all(struct fx_tx *fx)
{
	static struct fx_tx_wqe wqe;
	uint32_t nb = 0;

	while (fx_tx_fetch(fx, &wqe)) {
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		nb++;
	}
	return nb;
}

void
fx_ext_free(void *addr, void *opaque)
{
}

uint16_t
fx_tx_post(struct fx_tx *fx, uint32_t nb, uint32_t nb_segs)
{
	struct rte_mbuf *pkts[256];
	uint16_t sent;

	for (uint32_t i = 0; i < nb; i++)
		pkts[i] = fx_chain(fx->mp, nb_segs, 60, i);
	sent = fx->burst(fx->txq, pkts, nb);
	rte_pktmbuf_free_bulk(pkts + sent, nb - sent);
	return sent;
}

uint32_t
fx_tx_missing(const struct fx_tx *fx)
{
	return fx_pool_missing(fx->mp, fx->nb_mbufs);
}
