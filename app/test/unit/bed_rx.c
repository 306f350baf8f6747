/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_byteorder.h>

#include "bed.h"

static uint32_t
or_default(uint32_t value, uint32_t def)
{
	return value != 0 ? value : def;
}

/* Indices that have run for a while, all at once. */
static void
bed_rx_start_at(struct bed_rx *bed, uint32_t start)
{
	struct mana_rxq *rxq = bed->rxq;

	rxq->rq.pi = rxq->rq.ci = bed->ci = start;
	rxq->scatter.pi = rxq->scatter.ci = start;
	/* The ring before is one lap behind: its owner bits must say so. */
	rxq->cq.ci = rxq->cq.rung = bed->cq.pi = start & ~(bed->cq.nb_cqe - 1);
	for (uint32_t i = 0; i < bed->cq.nb_cqe; i++)
		hw_put_le32(bed->cq.ring + i * HW_CQE_BYTES + HW_CQE_TRAILER_OFF,
			    (bed->cq.pi / bed->cq.nb_cqe - 1) << HW_CQE_OWNER_S);
}

static void
bed_rx_pools(struct bed_rx *bed, const struct bed_rx_opts *opts)
{
	static unsigned int serial;
	char name[32];

	bed->nb_mbufs = or_default(opts->nb_pool, 512);
	bed->nb_pools = opts->seg_pools ? opts->nb_segs : 1;
	for (uint32_t i = 0; i < bed->nb_pools; i++) {
		snprintf(name, sizeof(name), "rx%u", serial++);
		bed->seg_mp[i] = opts->pinned || i % 2 != 0 ?
			bed_pool_pinned(name, bed->nb_mbufs) :
			bed_pool_cached(name, bed->nb_mbufs, opts->nb_cache,
					opts->ops);
		bed_mr_add_pool(bed->seg_mp[i], 0x1001 + 0x100 * i);
	}
	bed->mp = bed->seg_mp[0];
}

/* What WQEs must look like: as asked for, or one buffer of the usual room. */
static void
bed_rx_segs(struct bed_rx *bed, const struct bed_rx_opts *opts)
{
	bed->nb_segs = or_default(opts->nb_segs, 1);
	for (uint32_t i = 0; i < bed->nb_segs; i++) {
		struct mana_rx_seg *seg = &bed->segs[i];

		seg->mp = bed->seg_mp[opts->seg_pools ? i : 0];
		seg->bytes = opts->nb_segs != 0 ? opts->seg_bytes[i] : BED_ROOM_BYTES;
		seg->offset = opts->seg_offset[i];
		if (i == 0)
			seg->offset += RTE_PKTMBUF_HEADROOM;
		bed->room_bytes += seg->bytes;
	}
	bed->wqe_bu = (16 + 16 * bed->nb_segs + 31) / 32;
}

struct bed_rx *
bed_rx_new(const struct bed_rx_opts *opts)
{
	bed_mr_clear();
	return bed_rx_new_beside(opts);
}

struct bed_rx *
bed_rx_new_beside(const struct bed_rx_opts *opts)
{
	struct bed_rx *bed = calloc(1, sizeof(*bed));
	uint32_t nb_desc = or_default(opts->nb_desc, 64);
	uint32_t rq_bytes;

	assert_non_null(bed);
	bed_rx_pools(bed, opts);
	bed_rx_segs(bed, opts);
	rq_bytes = RTE_MAX(4096u, rte_align32pow2(nb_desc * bed->wqe_bu * 32));
	bed->rxq = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*bed->rxq));
	memset(bed->rxq, 0, sizeof(*bed->rxq));
	bed->rq_ring = bed_ring_alloc(rq_bytes, 0xff);
	bed->cq.nb_cqe = or_default(opts->nb_cqe, 128);
	bed->cq.ring = bed_ring_alloc(bed->cq.nb_cqe * HW_CQE_BYTES, 0);
	bed->cq.pi = bed->cq.nb_cqe;
	bed->db_page = bed_ring_alloc(HW_DB_PAGE_BYTES, 0);
	bed->mbufs = malloc(rte_align32pow2(nb_desc) * bed->nb_segs *
			    sizeof(*bed->mbufs));
	bed->conf = (struct mana_rxq_conf){
		.rq_ring = bed->rq_ring,
		.rq_bytes = rq_bytes,
		.cq_ring = bed->cq.ring,
		.nb_cqe = bed->cq.nb_cqe,
		.db_page = bed->db_page,
		.mp = opts->nb_segs == 0 ? bed->mp : NULL,
		.segs = bed->segs,
		.nb_segs = opts->nb_segs,
		.mbufs = bed->mbufs,
		.nb_mbufs = rte_align32pow2(nb_desc),
		.nb_desc = nb_desc,
		.free_thresh = opts->free_thresh,
		.port_id = BED_PORT_ID,
		.vlan_strip = !opts->vlan_keep,
		.csum = !opts->no_csum,
	};
	mana_mr_cache_init(&bed->rxq->mr, &bed_mr_generation, &bed_mr_calls);
	assert_eq(mana_rxq_init(bed->rxq, &bed->conf), 0);
	if (opts->start != 0)
		bed_rx_start_at(bed, opts->start);
	if (opts->no_open)
		return bed;
	mana_rxq_fill(bed->rxq);
	mana_rxq_open(bed->rxq, BED_RQ_ID, BED_RX_CQ_ID);
	return bed;
}

void
bed_rx_delete(struct bed_rx *bed)
{
	mana_rxq_release_mbufs(bed->rxq, true);
	mana_rxq_release_mbufs(bed->rxq, true);
	assert_eq(mana_rxq_nb_posted(bed->rxq), 0);
	for (uint32_t i = 0; i < bed->nb_pools; i++) {
		assert_eq(bed_pool_missing(bed->seg_mp[i], bed->nb_mbufs), 0);
		bed_pool_free(bed->seg_mp[i]);
	}
	free(bed->rxq);
	free(bed->rq_ring);
	free(bed->cq.ring);
	free(bed->db_page);
	free(bed->mbufs);
	free(bed);
}

uint32_t
bed_rx_available(const struct bed_rx *bed)
{
	struct hw_doorbell db =
		hw_doorbell_read(hw_le64(bed->db_page + HW_DB_RQ), false);

	if (db.id == 0)
		return 0; /* never rung */
	assert_eq(db.id, BED_RQ_ID);
	assert_eq(db.wqe_cnt, 0);
	return (db.tail - bed->ci * HW_BU_BYTES) / HW_BU_BYTES / bed->wqe_bu;
}

static uint8_t
bed_rx_byte(uint32_t seq, uint32_t i)
{
	return i < 4 ? seq >> (8 * i) : (seq + i) * 7;
}

uint32_t
bed_rx_frame(struct bed_rx *bed, uint32_t len_bytes)
{
	const uint32_t mask = bed->conf.rq_bytes - 1;
	uint32_t at = bed->ci * HW_BU_BYTES;
	struct hw_wqe header = hw_wqe_read(bed->rq_ring + (at & mask));
	uint32_t seq = bed->rx_seq++, done = 0;

	assert_true(bed_rx_available(bed) > 0);
	assert_eq(header.nb_sge, bed->nb_segs);
	assert_eq(header.oob_div4, HW_OOB_DIV4_SHORT);
	assert_eq(header.last_vbytes, 0);
	assert_false(header.has_reserved_bits || header.oob_in_sgl);
	for (uint32_t i = 0; i < bed->nb_segs; i++) {
		struct hw_sge sge;
		uint8_t *data;

		at += 16;
		sge = hw_sge_read(bed->rq_ring + (at & mask));
		data = (uint8_t *)(uintptr_t)sge.addr;
		assert_eq(sge.size_bytes, bed->segs[i].bytes);
		assert_true(sge.key != 0);
		assert_eq(sge.key, bed_mr_expect(sge.addr, sge.size_bytes));
		for (uint32_t k = 0; k < sge.size_bytes && done < len_bytes; k++)
			data[k] = bed_rx_byte(seq, done++);
	}
	bed->ci += bed->wqe_bu;
	return seq * 0x9e3779b1u;
}

void
bed_rx_okay(struct bed_rx *bed, uint32_t len_bytes, uint32_t flags)
{
	uint32_t data[15];

	/* What is reserved, or of other packets, says nothing. */
	memset(data, 0x5a, sizeof(data));
	data[0] = HW_CQE_RX_OKAY | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S;
	data[1] = flags;
	data[2] = len_bytes | 0x5a5a0000;
	data[4] = bed_rx_frame(bed, len_bytes);
	bed_cqe_write(&bed->cq, data, BED_RQ_ID);
}

void
bed_rx_coalesced(struct bed_rx *bed, const uint32_t *len_bytes, uint32_t nb,
		 uint32_t flags)
{
	uint32_t data[15] = {
		HW_CQE_RX_COALESCED_4 | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S,
		flags,
	};

	for (uint32_t i = 0; i < nb; i++) {
		data[2 + 3 * i] = len_bytes[i];
		data[4 + 3 * i] = bed_rx_frame(bed, len_bytes[i]);
	}
	bed_cqe_write(&bed->cq, data, BED_RQ_ID);
}

void
bed_rx_cqe(struct bed_rx *bed, uint32_t type, uint32_t len_bytes)
{
	uint32_t data[15] = {
		type | HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S, 0, len_bytes,
	};

	bed_cqe_write(&bed->cq, data, BED_RQ_ID);
}

/* The mbufs of a packet: fields, and data as many as fit each. */
static void
bed_rx_check_segs(const struct bed_rx *bed, const struct rte_mbuf *m,
		  uint32_t seq, uint32_t len_bytes, bool is_tagged)
{
	uint32_t done = 0, i = 0;

	for (const struct rte_mbuf *seg = m; seg != NULL; seg = seg->next, i++) {
		const struct mana_rx_seg *want = &bed->segs[i];
		const uint8_t *data = rte_pktmbuf_mtod(seg, const uint8_t *);

		assert_true(i < bed->nb_segs);
		assert_ptr_equal(seg->pool, want->mp);
		assert_eq(seg->port, BED_PORT_ID);
		assert_eq(rte_mbuf_refcnt_read(seg), 1);
		assert_eq(RTE_MBUF_HAS_PINNED_EXTBUF(seg),
			  (seg->ol_flags & RTE_MBUF_F_EXTERNAL) != 0);
		if (is_tagged)
			continue;
		assert_eq(seg->data_off, want->offset);
		assert_eq(seg->data_len, RTE_MIN(len_bytes - done, want->bytes));
		for (uint32_t k = 0; k < seg->data_len; k++, done++)
			if (data[k] != bed_rx_byte(seq, done))
				fail_msg("packet %u byte %u: %02x, not %02x", seq,
					 done, data[k], bed_rx_byte(seq, done));
	}
	assert_eq(m->nb_segs, i);
	assert_eq(done, is_tagged ? 0 : len_bytes);
}

void
bed_rx_check(struct bed_rx *bed, struct rte_mbuf *m, uint32_t len_bytes,
	     uint64_t ol_flags, uint32_t ptype)
{
	uint32_t seq = bed->check_seq++;

	if (bed->rxq->ol_flags != 0)
		ol_flags |= RTE_MBUF_F_EXTERNAL;
	assert_eq(m->ol_flags, ol_flags);
	assert_eq(m->packet_type, ptype);
	assert_eq(m->pkt_len, len_bytes);
	if (ol_flags & RTE_MBUF_F_RX_RSS_HASH)
		assert_eq(m->hash.rss, seq * 0x9e3779b1u);
	bed_rx_check_segs(bed, m, seq, len_bytes,
			  (ol_flags & RTE_MBUF_F_RX_VLAN) != 0);
	rte_mbuf_sanity_check(m, 1);
	rte_pktmbuf_free(m);
}

void
bed_rx_skip(struct bed_rx *bed)
{
	bed->check_seq++;
}
