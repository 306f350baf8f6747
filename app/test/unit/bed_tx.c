/* SPDX-License-Identifier: BSD-3-Clause */

#include "bed.h"

static uint32_t
or_default(uint32_t value, uint32_t def)
{
	return value != 0 ? value : def;
}

static void
bed_tx_start_at(struct bed_tx *bed, uint32_t start)
{
	struct mana_txq *txq = bed->txq;

	txq->sq.pi = txq->sq.ci = bed->ci = bed->done_bu = start;
	txq->pi = txq->ci = txq->open_pi = start;
	txq->mbuf_pi = txq->mbuf_ci = txq->group_pi = txq->group_ci = start;
	txq->open_bu = start;
	txq->cq.ci = txq->cq.rung = bed->cq.pi = start & ~(bed->cq.nb_cqe - 1);
	for (uint32_t i = 0; i < bed->cq.nb_cqe; i++)
		hw_put_le32(bed->cq.ring + i * HW_CQE_BYTES + HW_CQE_TRAILER_OFF,
			    (bed->cq.pi / bed->cq.nb_cqe - 1) << HW_CQE_OWNER_S);
}

static void
bed_tx_pools(struct bed_tx *bed, const struct bed_tx_opts *opts)
{
	static unsigned int serial;
	char name[32];

	bed_mr_clear();
	bed->nb_mbufs = 2048;
	snprintf(name, sizeof(name), "tx%u", serial);
	bed->mp = bed_pool(name, bed->nb_mbufs, BED_ROOM_BYTES);
	bed_mr_add_pool(bed->mp, 0x2001);
	bed->nb_bounce = or_default(opts->nb_bounce, 64);
	snprintf(name, sizeof(name), "bounce%u", serial++);
	bed->bounce_mp = bed_pool(name, bed->nb_bounce, BED_ROOM_BYTES);
	bed_mr_add_pool(bed->bounce_mp, 0x3001);
}

struct bed_tx *
bed_tx_new(const struct bed_tx_opts *opts)
{
	struct bed_tx *bed = calloc(1, sizeof(*bed));
	uint32_t nb_desc = or_default(opts->nb_desc, 64);
	uint32_t nb_wqes = rte_align32pow2(nb_desc);
	uint32_t nb_mbufs = nb_wqes * or_default(opts->mbufs_per_wqe, 4);
	uint32_t sq_bytes = or_default(opts->sq_bytes,
				       rte_align32pow2(nb_desc * 512));

	assert_non_null(bed);
	bed_tx_pools(bed, opts);
	bed->txq = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*bed->txq));
	memset(bed->txq, 0, sizeof(*bed->txq));
	bed->sq_ring = bed_ring_alloc(sq_bytes, 0xff);
	bed->cq.nb_cqe = or_default(opts->nb_cqe, 128);
	bed->cq.ring = bed_ring_alloc(bed->cq.nb_cqe * HW_CQE_BYTES, 0);
	bed->cq.pi = bed->cq.nb_cqe;
	bed->db_page = bed_ring_alloc(HW_DB_PAGE_BYTES, 0);
	bed->conf = (struct mana_txq_conf){
		.sq_ring = bed->sq_ring,
		.sq_bytes = sq_bytes,
		.cq_ring = bed->cq.ring,
		.nb_cqe = bed->cq.nb_cqe,
		.db_page = bed->db_page,
		.sq_id = BED_SQ_ID,
		.cq_id = BED_TX_CQ_ID,
		.vp_offset = or_default(opts->vp_offset, 3),
		.mbufs = calloc(nb_mbufs, sizeof(struct rte_mbuf *)),
		.nb_mbufs = nb_mbufs,
		.info = calloc(nb_wqes, sizeof(uint16_t)),
		.groups = calloc(nb_wqes, sizeof(struct mana_tx_group)),
		.nb_wqes = nb_wqes,
		.bounce_mp = opts->no_bounce_pool ? NULL : bed->bounce_mp,
		.nb_desc = nb_desc,
		.max_sge = or_default(opts->max_sge, 30),
		.port_id = BED_PORT_ID,
	};
	if (!opts->no_bounce_slots) {
		bed->conf.bounce = bed_ring_alloc(nb_wqes * MANA_TX_BOUNCE_BYTES,
						  0xee);
		bed_mr_add(bed->conf.bounce, nb_wqes * MANA_TX_BOUNCE_BYTES,
			   0x4001);
	}
	mana_mr_cache_init(&bed->txq->mr, &bed_mr_generation, &bed_mr_calls);
	assert_eq(mana_txq_init(bed->txq, &bed->conf), 0);
	bed->zero_position = opts->zero_position;
	if (opts->start != 0)
		bed_tx_start_at(bed, opts->start);
	bed->burst = mana_tx_path_select(MANA_TX_F_CSUM | MANA_TX_F_WIDE)->burst;
	return bed;
}

void
bed_tx_delete(struct bed_tx *bed)
{
	mana_txq_release_mbufs(bed->txq);
	mana_txq_release_mbufs(bed->txq);
	assert_eq(mana_txq_nb_posted(bed->txq), 0);
	assert_eq(bed_pool_missing(bed->mp, bed->nb_mbufs), 0);
	assert_eq(bed_pool_missing(bed->bounce_mp, bed->nb_bounce), 0);
	bed_pool_free(bed->mp);
	bed_pool_free(bed->bounce_mp);
	free(bed->txq);
	free(bed->sq_ring);
	free(bed->cq.ring);
	free(bed->db_page);
	free(bed->conf.mbufs);
	free(bed->conf.info);
	free(bed->conf.groups);
	free(bed->conf.bounce);
	free(bed);
}

/* Bytes of the ring, wherever it wraps. */
static void
bed_tx_read(const struct bed_tx *bed, uint32_t offset, uint8_t *to,
	    uint32_t bytes)
{
	uint32_t at = bed->ci * HW_BU_BYTES + offset;

	for (uint32_t i = 0; i < bytes; i++)
		to[i] = bed->sq_ring[(at + i) & (bed->conf.sq_bytes - 1)];
}

bool
bed_tx_fetch(struct bed_tx *bed, struct bed_tx_wqe *wqe)
{
	struct hw_doorbell db =
		hw_doorbell_read(hw_le64(bed->db_page + HW_DB_SQ), false);
	uint32_t sgl;
	uint8_t bytes[32];

	if (db.id == 0 || db.tail == bed->ci * HW_BU_BYTES) {
		/* The last one before the doorbell asks for a CQE. */
		assert_eq(bed->silent_bu, 0);
		return false;
	}
	assert_eq(db.id, BED_SQ_ID);
	assert_eq(db.wqe_cnt, 0);
	assert_true(db.tail - bed->ci * HW_BU_BYTES <= bed->conf.sq_bytes);

	bed_tx_read(bed, 0, bytes, sizeof(bytes));
	wqe->header = hw_wqe_read(bytes);
	assert_false(wqe->header.has_reserved_bits);
	assert_true(wqe->header.oob_div4 == HW_OOB_DIV4_SHORT ||
		    wqe->header.oob_div4 == HW_OOB_DIV4_LONG);
	wqe->oob = hw_tx_oob_read(bytes + 8,
				  wqe->header.oob_div4 == HW_OOB_DIV4_LONG);
	assert_false(wqe->oob.has_stray_bits);
	assert_eq(wqe->oob.pkt_fmt, wqe->header.oob_div4 == HW_OOB_DIV4_LONG);
	assert_eq(wqe->oob.vcq_num, BED_TX_CQ_ID);
	assert_eq(wqe->oob.vsq_frame, BED_SQ_ID >> 10);
	assert_eq(wqe->oob.short_vp,
		  bed->conf.vp_offset <= 255 ? bed->conf.vp_offset : 0);
	if (wqe->oob.pkt_fmt == HW_PKT_FMT_LONG)
		assert_eq(wqe->oob.long_vp, bed->conf.vp_offset);
	else
		assert_true(bed->conf.vp_offset <= 255);

	wqe->nb_sge = wqe->header.nb_sge;
	assert_true(wqe->nb_sge >= 1 && wqe->nb_sge <= 30);
	wqe->nb_bu = hw_wqe_bytes(&wqe->header) / HW_BU_BYTES;
	assert_true(wqe->nb_bu <= HW_SQ_WQE_MAX_BYTES / HW_BU_BYTES);
	assert_true(wqe->nb_bu * HW_BU_BYTES <= db.tail - bed->ci * HW_BU_BYTES);
	sgl = hw_wqe_sgl_offset(&wqe->header);
	wqe->bytes = 0;
	for (uint32_t i = 0; i < wqe->nb_sge; i++) {
		struct hw_sge sge;

		bed_tx_read(bed, sgl + i * HW_SGE_BYTES, bytes, HW_SGE_BYTES);
		sge = hw_sge_read(bytes);
		assert_true(sge.size_bytes > 0);
		assert_true(sge.key != 0);
		assert_eq(sge.key, bed_mr_expect(sge.addr, sge.size_bytes));
		assert_true(wqe->bytes + sge.size_bytes <= sizeof(wqe->frame));
		memcpy(wqe->frame + wqe->bytes, (void *)(uintptr_t)sge.addr,
		       sge.size_bytes);
		wqe->bytes += sge.size_bytes;
		wqe->sge[i] = sge;
	}
	bed->ci += wqe->nb_bu;
	/* One in a quarter of the ring does, at least. */
	bed->silent_bu = wqe->oob.suppress ? bed->silent_bu + wqe->nb_bu : 0;
	assert_true(bed->silent_bu <= bed->conf.sq_bytes / HW_BU_BYTES / 4);
	return true;
}

void
bed_tx_cqe_at(struct bed_tx *bed, uint32_t type, uint32_t position)
{
	uint32_t data[15] = {
		type | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S,
	};

	data[HW_TX_CQE_OFFSETS_OFF / 4] =
		(position & HW_TX_WQE_OFFSET_M) << HW_TX_CQE_WQE_OFFSET_S | 9;
	bed_cqe_write(&bed->cq, data, BED_SQ_ID | 1u << HW_CQE_IS_SQ_S);
}

/* Whether the oldest WQE asks for a CQE; it counts as completed. */
bool
bed_tx_silent(struct bed_tx *bed)
{
	uint32_t at = bed->done_bu * HW_BU_BYTES & (bed->conf.sq_bytes - 1);
	struct hw_wqe header = hw_wqe_read(bed->sq_ring + at);

	bed->done_bu += hw_wqe_bytes(&header) / HW_BU_BYTES;
	return !hw_tx_oob_read(bed->sq_ring + at + HW_WQE_HEADER_BYTES, false)
			.suppress;
}

void
bed_tx_cqe(struct bed_tx *bed, uint32_t type)
{
	struct hw_doorbell db =
		hw_doorbell_read(hw_le64(bed->db_page + HW_DB_SQ), false);
	uint32_t position = bed->zero_position ? 0 : bed->done_bu;

	if (db.id != 0 && db.tail != bed->done_bu * HW_BU_BYTES &&
	    !bed_tx_silent(bed) && type == HW_CQE_TX_OKAY)
		return;
	bed_tx_cqe_at(bed, type, position);
}

void
bed_tx_earn_trust(struct bed_tx *bed)
{
	struct rte_mbuf *m;

	for (uint32_t i = 0; i < 20 && bed->txq->no_cqe == 0; i++) {
		m = bed_mbuf(bed->mp, 60, i);
		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		assert_eq(bed_tx_complete_all(bed), 1);
		mana_txq_done_cleanup(bed->txq, 0);
	}
	assert_true(bed->txq->no_cqe != 0);
	assert_eq(mana_txq_nb_posted(bed->txq), 0);
}

uint32_t
bed_tx_complete_all(struct bed_tx *bed)
{
	static struct bed_tx_wqe wqe;
	uint32_t nb = 0;

	while (bed_tx_fetch(bed, &wqe)) {
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		nb++;
	}
	return nb;
}
