/* SPDX-License-Identifier: BSD-3-Clause */

#include "fixture.h"

/* Sets all indices to start, as after a long run. */
static void
fx_rx_start_at(struct fx_rx *fx, uint32_t start)
{
	struct mana_hwq *hwq = fx->hwq;

	hwq->rq.pi = hwq->rq.ci = start;
	fx->ci = start * fx->wqe_bu;
	/* The CQEs hold the owner bits of the previous lap. */
	hwq->cq.ci = hwq->cq.rung = fx->cq.pi = start & ~(fx->cq.nb_cqe - 1);
	for (uint32_t i = 0; i < fx->cq.nb_cqe; i++)
		hw_put_le32(fx->cq.ring + i * HW_CQE_BYTES + HW_CQE_TRAILER_OFF,
			    (fx->cq.pi / fx->cq.nb_cqe - 1) << HW_CQE_OWNER_S);
}

static void
fx_rx_pools(struct fx_rx *fx, const struct fx_rx_opts *opts)
{
	static unsigned int serial;
	char name[32];

	fx->nb_mbufs = fx_or_default(opts->nb_pool, 512);
	fx->nb_pools = opts->seg_pools ? opts->nb_segs : 1;
	for (uint32_t i = 0; i < fx->nb_pools; i++) {
		snprintf(name, sizeof(name), "rx%u", serial++);
		fx->seg_mp[i] = opts->pinned || i % 2 != 0 ?
			fx_pool_pinned(name, fx->nb_mbufs) :
			fx_pool_cached(name, fx->nb_mbufs, opts->nb_cache,
				       opts->ops);
		fx_mr_add_pool(fx->seg_mp[i], 0x1001 + 0x100 * i);
	}
	fx->mp = fx->seg_mp[0];
}

/* The expected segments: those of opts, or one default buffer. */
static void
fx_rx_segs(struct fx_rx *fx, const struct fx_rx_opts *opts)
{
	fx->nb_segs = fx_or_default(opts->nb_segs, 1);
	for (uint32_t i = 0; i < fx->nb_segs; i++) {
		struct mana_rx_seg *seg = &fx->segs[i];

		seg->mp = fx->seg_mp[opts->seg_pools ? i : 0];
		seg->bytes = opts->nb_segs == 0 ? FX_ROOM_BYTES :
			     opts->seg_bytes[0] == 0 ? 64 + i * 37 % 150 :
						       opts->seg_bytes[i];
		seg->offset = opts->seg_offset[i];
		if (i == 0)
			seg->offset += RTE_PKTMBUF_HEADROOM;
		fx->room_bytes += seg->bytes;
	}
	fx->wqe_bu = (16 + 16 * fx->nb_segs + 31) / 32;
}

struct fx_rx *
fx_rx_new(const struct fx_rx_opts *opts)
{
	fx_mr_clear();
	return fx_rx_new_beside(opts);
}

struct fx_rx *
fx_rx_new_beside(const struct fx_rx_opts *opts)
{
	struct fx_rx *fx = fx_ring_alloc(sizeof(*fx), 0);
	uint32_t nb_desc = fx_or_default(opts->nb_desc, 64);
	uint32_t rq_bytes;

	fx_rx_pools(fx, opts);
	fx_rx_segs(fx, opts);
	rq_bytes = RTE_MAX(4096u, rte_align32pow2(nb_desc * fx->wqe_bu * 32));
	fx->hwq = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*fx->hwq));
	fx->rxq = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*fx->rxq));
	fx_rxq_init(fx->rxq);
	fx->rq_ring = fx_ring_alloc(rq_bytes, 0);
	fx->cq.nb_cqe = fx_or_default(opts->nb_cqe, 128);
	fx->cq.ring = fx_ring_alloc(fx->cq.nb_cqe * HW_CQE_BYTES, 0);
	fx->db_page = fx_ring_alloc(HW_DB_PAGE_BYTES, 0);
	fx->mbufs = malloc(rte_align32pow2(nb_desc) * fx->nb_segs *
			   sizeof(*fx->mbufs));
	fx->rings = (struct mana_queue_rings){
		.ring = fx->rq_ring,
		.ring_bytes = rq_bytes,
		.cq_ring = fx->cq.ring,
		.nb_cqe = fx->cq.nb_cqe,
		.db_page = fx->db_page,
	};
	fx->fresh = (struct mana_hwq){
		.nb_desc = nb_desc,
		.offloads = opts->no_csum ? 0 : RTE_ETH_RX_OFFLOAD_CHECKSUM,
		.mbufs = fx->mbufs,
		.mbuf_mask = rte_align32pow2(nb_desc) - 1,
		.refill_thresh = mana_rx_refill_thresh(opts->free_thresh, nb_desc,
						       fx->cq.nb_cqe),
		.vlan_strip = !opts->vlan_keep,
		.ptypes = !opts->no_ptypes,
		.scrub = opts->scrub,
		.scatter.nb_segs = opts->nb_segs,
	};
	memcpy(fx->fresh.scatter.segs, fx->segs, sizeof(fx->segs));
	fx_rx_begin(fx, opts->start);
	fx->hwq->parse = opts->parse;
	if (!opts->no_open)
		fx_rx_open(fx);
	return fx;
}

void
fx_rxq_init(struct mana_rxq *rxq)
{
	static struct mana_hwq stand_in;

	*rxq = (struct mana_rxq){ .only = NULL };
	mana_rxq_init(rxq, &stand_in);
}

void
fx_rx_begin(struct fx_rx *fx, uint32_t start)
{
	fx->fresh.data_delta = mana_rx_pool_delta(fx->mp);
	*fx->hwq = fx->fresh;
	mana_rxq_add(fx->rxq, fx->hwq);
	mana_rxq_pause(fx->rxq, false);
	memset(fx->rq_ring, 0xff, fx->rings.ring_bytes);
	memset(fx->cq.ring, 0, fx->cq.nb_cqe * HW_CQE_BYTES);
	memset(fx->db_page, 0, HW_DB_PAGE_BYTES);
	fx->cq.pi = fx->cq.nb_cqe;
	fx->ci = fx->last_bu = 0;
	fx->rx_seq = fx->check_seq = 0;
	mana_mr_cache_init(&fx->hwq->mr, &fx_mr_table);
	assert_eq(mana_hwq_init(fx->hwq, &fx->rings, FX_PORT_ID), 0);
	if (start != 0)
		fx_rx_start_at(fx, start);
}

void
fx_rx_open(struct fx_rx *fx)
{
	mana_hwq_fill(fx->hwq);
	mana_hwq_open(fx->hwq, FX_RQ_ID, FX_RX_CQ_ID);
}

void
fx_hwq_release(struct mana_hwq *hwq, bool is_gone)
{
	struct mana_rxq rxq = { .spares = NULL };
	struct mana_rx_spares spares;

	mana_hwq_collect(hwq, is_gone, &rxq, &spares);
	mana_rx_spares_return(&rxq, UINT32_MAX);
	if (hwq->scatter.nb_segs != 0)
		memset(hwq->mbufs, 0, ((size_t)hwq->mbuf_mask + 1) *
			       hwq->scatter.nb_segs * sizeof(*hwq->mbufs));
}

void
fx_rx_end(struct fx_rx *fx)
{
	fx_hwq_release(fx->hwq, true);
	fx_hwq_release(fx->hwq, true);
	assert_eq(mana_hwq_nb_posted(fx->hwq), 0);
}

void
fx_rx_check_pools(const struct fx_rx *fx)
{
	for (uint32_t i = 0; i < fx->nb_pools; i++)
		assert_eq(fx_pool_missing(fx->seg_mp[i], fx->nb_mbufs), 0);
}

void
fx_rx_delete(struct fx_rx *fx)
{
	fx_rx_end(fx);
	fx_rx_check_pools(fx);
	for (uint32_t i = 0; i < fx->nb_pools; i++)
		fx_pool_free(fx->seg_mp[i]);
	free(fx->hwq);
	free(fx->rxq);
	free(fx->rq_ring);
	free(fx->cq.ring);
	free(fx->db_page);
	free(fx->mbufs);
	free(fx);
}

uint32_t
fx_rx_available(const struct fx_rx *fx)
{
	struct hw_doorbell db =
		hw_doorbell_read(hw_le64(fx->db_page + HW_DB_RQ), false);

	if (db.id == 0)
		return 0; /* no doorbell yet */
	assert_eq(db.id, FX_RQ_ID);
	assert_eq(db.wqe_cnt, 0);
	return (db.tail - fx->ci * HW_BU_BYTES) / HW_BU_BYTES / fx->wqe_bu;
}

uint8_t
fx_rx_byte(uint32_t seq, uint32_t i)
{
	return i < 4 ? seq >> (8 * i) : (seq + i) * 7;
}

uint32_t
fx_rx_frame(struct fx_rx *fx, uint32_t len_bytes)
{
	const uint32_t mask = fx->rings.ring_bytes - 1;
	uint32_t at = fx->ci * HW_BU_BYTES;
	struct hw_wqe header = hw_wqe_read(fx->rq_ring + (at & mask));
	uint32_t seq = fx->rx_seq++, done = 0;

	assert_true(fx_rx_available(fx) > 0);
	assert_eq(header.nb_sge, fx->nb_segs);
	assert_eq(header.oob_div4, HW_OOB_DIV4_SHORT);
	assert_eq(header.last_vbytes, 0);
	assert_false(header.has_reserved_bits || header.oob_in_sgl);
	for (uint32_t i = 0; i < fx->nb_segs; i++) {
		struct hw_sge sge;
		uint8_t *data;

		at += 16;
		sge = hw_sge_read(fx->rq_ring + (at & mask));
		data = (uint8_t *)(uintptr_t)sge.addr;
		assert_eq(sge.size_bytes, fx->segs[i].bytes);
		assert_true(sge.key != 0);
		assert_eq(sge.key, fx_mr_expect(sge.addr, sge.size_bytes));
		for (uint32_t k = 0; k < sge.size_bytes && done < len_bytes; k++)
			data[k] = fx_rx_byte(seq, done++);
	}
	fx->last_bu = fx->ci;
	fx->ci += fx->wqe_bu;
	return seq * 0x9e3779b1u;
}

void
fx_rx_okay(struct fx_rx *fx, uint32_t len_bytes, uint32_t flags)
{
	uint32_t data[15];

	/* Reserved and unused fields hold garbage. */
	memset(data, 0x5a, sizeof(data));
	data[0] = HW_CQE_RX_OKAY | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S;
	data[1] = flags;
	data[2] = len_bytes | 0x5a5a0000;
	data[4] = fx_rx_frame(fx, len_bytes);
	data[14] = fx->last_bu * HW_BU_BYTES;
	fx_cqe_write(&fx->cq, data, FX_RQ_ID);
}

void
fx_rx_coalesced(struct fx_rx *fx, const uint32_t *len_bytes, uint32_t nb,
		uint32_t flags)
{
	uint32_t data[15] = {
		HW_CQE_RX_COALESCED_4 | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S,
		flags,
	};
	uint32_t first = fx->ci;

	for (uint32_t i = 0; i < nb; i++) {
		data[2 + 3 * i] = len_bytes[i];
		data[4 + 3 * i] = fx_rx_frame(fx, len_bytes[i]);
	}
	data[14] = first * HW_BU_BYTES;
	fx_cqe_write(&fx->cq, data, FX_RQ_ID);
}

void
fx_rx_coalesced_8(struct fx_rx *fx, const uint32_t *len_bytes, uint32_t nb,
		  uint32_t flags)
{
	uint8_t cqe[HW_CQE_TRAILER_OFF] = {0};
	uint32_t data[15], first = fx->ci;

	hw_put_le32(cqe, HW_CQE_RX_COALESCED_8 |
			 HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S);
	hw_put_le32(cqe + HW_RX_CQE_FLAGS_OFF, flags);
	for (uint32_t i = 0; i < nb; i++) {
		uint8_t *ppi = cqe + HW_RX_CQE_PPI_OFF +
			       i / 2 * HW_RX_CQE_PPI_BYTES;

		hw_put_le16(ppi + (i % 2 == 0 ? HW_RX_PPI_8_LEN_0_OFF :
						HW_RX_PPI_8_LEN_1_OFF),
			    len_bytes[i]);
		hw_put_le32(ppi + (i % 2 == 0 ? HW_RX_PPI_8_HASH_0_OFF :
						HW_RX_PPI_8_HASH_1_OFF),
			    fx_rx_frame(fx, len_bytes[i]));
	}
	hw_put_le32(cqe + HW_RX_CQE_WQE_OFFSET_OFF, first * HW_BU_BYTES);
	memcpy(data, cqe, sizeof(data));
	fx_cqe_write(&fx->cq, data, FX_RQ_ID);
}

void
fx_rx_cqe(struct fx_rx *fx, uint32_t type, uint32_t len_bytes)
{
	uint32_t data[15] = {
		type | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S, 0, len_bytes,
	};

	data[14] = fx->last_bu * HW_BU_BYTES;
	fx_cqe_write(&fx->cq, data, FX_RQ_ID);
}

/* Checks the segments of a packet: fields and data. */
static void
fx_rx_check_segs(const struct fx_rx *fx, const struct rte_mbuf *m,
		 uint32_t seq, uint32_t len_bytes, bool is_tagged)
{
	uint32_t done = 0, i = 0;

	for (const struct rte_mbuf *seg = m; seg != NULL; seg = seg->next, i++) {
		const struct mana_rx_seg *want = &fx->segs[i];
		const uint8_t *data = rte_pktmbuf_mtod(seg, const uint8_t *);

		assert_true(i < fx->nb_segs);
		assert_ptr_equal(seg->pool, want->mp);
		assert_eq(seg->port, FX_PORT_ID);
		assert_eq(rte_mbuf_refcnt_read(seg), 1);
		assert_eq(RTE_MBUF_HAS_PINNED_EXTBUF(seg),
			  (seg->ol_flags & RTE_MBUF_F_EXTERNAL) != 0);
		if (is_tagged)
			continue;
		assert_eq(seg->data_off, want->offset);
		assert_eq(seg->data_len, RTE_MIN(len_bytes - done, want->bytes));
		for (uint32_t k = 0; k < seg->data_len; k++, done++)
			if (data[k] != fx_rx_byte(seq, done))
				fail_msg("packet %u byte %u: %02x, not %02x", seq,
					 done, data[k], fx_rx_byte(seq, done));
	}
	assert_eq(m->nb_segs, i);
	assert_eq(done, is_tagged ? 0 : len_bytes);
}

void
fx_rx_check(struct fx_rx *fx, struct rte_mbuf *m, uint32_t len_bytes,
	    uint64_t ol_flags, uint32_t ptype)
{
	uint32_t seq = fx->check_seq++;

	if (fx->hwq->ol_flags != 0)
		ol_flags |= RTE_MBUF_F_EXTERNAL;
	assert_eq(m->ol_flags, ol_flags);
	assert_eq(m->packet_type, ptype);
	assert_eq(m->pkt_len, len_bytes);
	if (ol_flags & RTE_MBUF_F_RX_RSS_HASH)
		assert_eq(m->hash.rss, seq * 0x9e3779b1u);
	fx_rx_check_segs(fx, m, seq, len_bytes,
			 (ol_flags & RTE_MBUF_F_RX_VLAN) != 0);
	rte_mbuf_sanity_check(m, 1);
	rte_pktmbuf_free(m);
}

void
fx_rx_skip(struct fx_rx *fx)
{
	fx->check_seq++;
}

void
fx_rx_check_data(struct fx_rx *fx, struct rte_mbuf *m, uint32_t len_bytes)
{
	fx_rx_check(fx, m, len_bytes, m->ol_flags, m->packet_type);
}

mana_burst_t fx_rx_burst;

void
fx_rx_on_each_path(void (*test)(void))
{
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++) {
		if (!mana_rx_path_is_allowed(&mana_rx_paths[i]))
			continue;
		fx_rx_burst = mana_rx_paths[i].burst;
		test();
	}
}
