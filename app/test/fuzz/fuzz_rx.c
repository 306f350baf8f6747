/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whatever the device writes to the CQ of an Rx queue: a burst ends, and each packet
 * that it returns has a completion and a WQE of its own, in order, and lies in the
 * buffers of this WQE. No mbuf is lost, or has two owners. A queue that scrubs gives the
 * device zeros only.
 *
 * An input describes two queues, then lists actions of the device and of the
 * application. The first byte of each selects the action (low half), the queue (0x10)
 * and a variant.
 */

#include "../unit/fixture.h"
#include "fuzz.h"
#include "owner.h"

#define NB_QUEUES   2u
#define NB_DESC	    32u
#define NB_CQE	    64u
#define MAX_PKTS    8u /* of a CQE */
#define MAX_BURST   48u
#define MAX_ACTIONS 64u

/* A packet that a CQE announces. */
struct entry {
	uint32_t cqe; /* CQEs between it and the first unread one */
	uint32_t len;
	uint32_t hash;
	uint32_t flags;
};

/* A queue as the device sees it before a burst. */
struct view {
	uint32_t rq_ci;
	uint32_t cq_ci;
	uint32_t nb_posted;
	uint32_t nb_entries;
	uint32_t entry; /* the next one that a packet may be of */
	uint32_t wqe; /* the next one, from rq_ci on */
	bool vlan_strip;
	struct rte_mbuf *mbufs[NB_DESC * FX_MAX_SEGS];
	/* The rest of the CQE that was read last, then the others. */
	struct entry entries[(NB_CQE + 1) * MAX_PKTS];
};

static const struct fx_rx_opts layouts[] = {
	{ .nb_pool = 48, .ops = "fuzz" },
	{ .nb_pool = 48, .nb_cache = 24, .ops = "fuzz" },
	{ .nb_pool = 48, .pinned = true },
	{ .nb_pool = 48 * 3,
	  .ops = "fuzz",
	  .nb_segs = 3,
	  .seg_bytes = { 200, 16, 1500 },
	  .seg_offset = { 3, 0, 77 } },
	{ .nb_pool = 48,
	  .ops = "fuzz",
	  .nb_segs = 4,
	  .seg_bytes = { 64, 20, 128, 300 },
	  .seg_pools = true },
	{ .nb_pool = 40 * FX_MAX_SEGS,
	  .ops = "fuzz",
	  .nb_segs = FX_MAX_SEGS,
	  .seg_bytes = { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8 } },
};

static struct fx_rx *fixtures[RTE_DIM(layouts)][NB_QUEUES];
static struct fx_rx *const *fx;
static struct view views[NB_QUEUES];
static const struct mana_rx_path *path;
/* Mbufs of the application. */
static struct rte_mbuf *held[4096];
static uint32_t nb_held;

/* ---- Owners of mbufs ----------------------------------------------------- */

/* The note of an mbuf says whether the application has it. Of the last view of it: */
#define VIEW_OF(m) ((m)->dynfield1[2])

static uint32_t view_serial;

FUZZ_ORACLE static void
hold(struct rte_mbuf *m)
{
	FUZZ_CHECK(OWNER_NOTE(m) == 0);
	FUZZ_CHECK(nb_held < RTE_DIM(held));
	OWNER_NOTE(m) = 1;
	held[nb_held++] = m;
}

/* Frees mbufs; a packet's segments are held one by one. */
FUZZ_ORACLE static void
release(uint32_t nb)
{
	while (nb-- > 0 && nb_held > 0) {
		struct rte_mbuf *m = held[--nb_held];

		OWNER_NOTE(m) = 0;
		m->next = NULL;
		m->nb_segs = 1;
		rte_pktmbuf_free(m);
	}
}

/* A pool has only mbufs that are not in use, in the state that rte_mbuf prescribes. */
static void
take(struct rte_mempool *mp, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		struct rte_mbuf *m = rte_mbuf_raw_alloc(mp);

		if (m == NULL)
			return;
		FUZZ_CHECK(rte_mbuf_refcnt_read(m) == 1 && m->next == NULL &&
			   m->nb_segs == 1);
		hold(m);
	}
}

/* ---- Before a burst ------------------------------------------------------ */

FUZZ_ORACLE static void
entry_add(struct view *v, uint32_t cqe, uint32_t flags, uint32_t len, uint32_t hash)
{
	v->entries[v->nb_entries++] = (struct entry){
		.cqe = cqe,
		.len = len,
		.hash = hash,
		.flags = flags,
	};
}

/* Adds the packets of a CQE; a length of 0 ends them. */
FUZZ_ORACLE static void
entries_add(struct view *v, uint32_t nth, const uint8_t *cqe)
{
	const uint32_t type = hw_le32(cqe) & HW_CQE_TYPE_M;
	const uint32_t flags = hw_le32(cqe + HW_RX_CQE_FLAGS_OFF);
	const uint32_t max = type == HW_CQE_RX_OKAY	   ? 1 :
			     type == HW_CQE_RX_COALESCED_4 ? HW_RX_CQE_NB_PPI :
			     type == HW_CQE_RX_COALESCED_8 ? MAX_PKTS :
							     0;

	for (uint32_t i = 0; i < max; i++) {
		const uint8_t *ppi = cqe + HW_RX_CQE_PPI_OFF;
		uint32_t len, hash;

		if (type == HW_CQE_RX_COALESCED_8) {
			ppi += i / 2 * HW_RX_CQE_PPI_BYTES;
			len = hw_le32(ppi + HW_RX_PPI_8_LEN_0_OFF) >> i % 2 * 16;
			hash = hw_le32(ppi + (i % 2 == 0 ? HW_RX_PPI_8_HASH_0_OFF :
							   HW_RX_PPI_8_HASH_1_OFF));
		} else {
			ppi += i * HW_RX_CQE_PPI_BYTES;
			len = hw_le32(ppi + HW_RX_PPI_LEN_OFF);
			hash = hw_le32(ppi + HW_RX_PPI_HASH_OFF);
		}
		if ((len & UINT16_MAX) == 0)
			return;
		entry_add(v, nth, flags, len & UINT16_MAX, hash);
	}
}

static const uint8_t *
cqe_at(const struct fx_rx *f, uint32_t idx)
{
	return f->cq.ring + (size_t)(idx & (NB_CQE - 1)) * HW_CQE_BYTES;
}

FUZZ_ORACLE static void
view_entries(struct view *v, const struct fx_rx *f)
{
	const struct mana_rx_part *part = &f->rxq->part;
	uint8_t rest[HW_CQE_BYTES];

	v->nb_entries = 0;
	v->entry = 0;
	/* The driver has a copy of this CQE, so it is not read again. */
	FUZZ_CHECK(part->next <= part->nb && part->nb <= MAX_PKTS);
	memcpy(rest, &part->cqe, sizeof(rest));
	if (part->next != part->nb) {
		entries_add(v, 0, rest);
		FUZZ_CHECK(v->nb_entries == part->nb);
		v->entry = part->next;
	}
	for (uint32_t i = 0; i < NB_CQE; i++) {
		const uint8_t *cqe = cqe_at(f, v->cq_ci + i);
		const uint32_t trailer = hw_le32(cqe + HW_CQE_TRAILER_OFF);

		if (trailer >> HW_CQE_OWNER_S != ((v->cq_ci + i) / NB_CQE & HW_CQE_OWNER_M))
			break;
		if ((trailer & (HW_CQE_WQ_NUM_M | 1u << HW_CQE_IS_SQ_S)) == FX_RQ_ID)
			entries_add(v, i + 1, cqe);
	}
}

/* The buffers that the device has, in order: each is an mbuf of the queue alone. */
FUZZ_ORACLE static void
view_wqes(struct view *v, const struct fx_rx *f)
{
	const uint32_t ring_mask = f->conf.rq_bytes - 1;

	FUZZ_CHECK(v->nb_posted <= f->conf.nb_desc);
	v->wqe = 0;
	for (uint32_t i = 0; i < v->nb_posted; i++) {
		const uint32_t wqe = v->rq_ci + i;
		uint32_t at = wqe * f->wqe_bu * HW_BU_BYTES;

		for (uint32_t k = 0; k < f->nb_segs; k++) {
			struct rte_mbuf *m =
				f->mbufs[(wqe & (f->conf.nb_mbufs - 1)) * f->nb_segs + k];
			struct hw_sge sge;

			at += HW_SGE_BYTES;
			sge = hw_sge_read(f->rq_ring + (at & ring_mask));
			FUZZ_CHECK(sge.addr == (uintptr_t)m->buf_addr + f->segs[k].offset);
			FUZZ_CHECK(sge.size_bytes == f->segs[k].bytes);
			FUZZ_CHECK(OWNER_NOTE(m) == 0 && VIEW_OF(m) != view_serial);
			VIEW_OF(m) = view_serial;
			v->mbufs[i * f->nb_segs + k] = m;
		}
	}
}

FUZZ_ORACLE static void
view_all(void)
{
	view_serial++;
	for (uint32_t q = 0; q < NB_QUEUES; q++) {
		const struct mana_rxq *rxq = fx[q]->rxq;
		struct view *v = &views[q];

		v->rq_ci = rxq->rq.ci;
		v->cq_ci = rxq->cq.ci;
		v->nb_posted = mana_rxq_nb_posted(rxq);
		v->vlan_strip = rxq->vlan_strip;
		view_entries(v, fx[q]);
		view_wqes(v, fx[q]);
	}
}

/* ---- After a burst ------------------------------------------------------- */

/* The WQE of the packet: the next one, or one behind it, as packets are dropped. */
FUZZ_ORACLE static bool
find_wqe(struct view *v, const struct fx_rx *f, const struct rte_mbuf *m)
{
	for (uint32_t i = v->wqe; i < v->nb_posted; i++)
		if (v->mbufs[i * f->nb_segs] == m) {
			v->wqe = i;
			return true;
		}
	return false;
}

static uint32_t
tag_bytes(const struct view *v, const struct entry *e)
{
	return (e->flags & HW_RX_F_VLAN) != 0 && !v->vlan_strip ? 4 : 0;
}

/* Likewise. */
FUZZ_ORACLE static void
check_entry(struct view *v, const struct fx_rx *f, const struct rte_mbuf *m)
{
	const struct entry *e;

	do {
		FUZZ_CHECK(v->entry < v->nb_entries);
		e = &v->entries[v->entry++];
	} while (m->pkt_len != e->len + tag_bytes(v, e) || m->hash.rss != e->hash ||
		 ((e->flags & HW_RX_F_VLAN) != 0) !=
			 ((m->ol_flags & RTE_MBUF_F_RX_VLAN) != 0));
	FUZZ_CHECK(e->cqe <= f->rxq->cq.ci - v->cq_ci);
}

FUZZ_ORACLE static void
check_packet(struct rte_mbuf *m)
{
	const uint32_t q = find_wqe(&views[0], fx[0], m) ? 0 : 1;
	struct view *v = &views[q];
	const struct fx_rx *f = fx[q];
	uint32_t bytes = 0, i = 0;

	FUZZ_CHECK(q == 0 || find_wqe(v, f, m));
	check_entry(v, f, m);
	for (struct rte_mbuf *seg = m, *next; seg != NULL; seg = next, i++) {
		const uint32_t tag = i == 0 ? tag_bytes(v, &v->entries[v->entry - 1]) : 0;

		FUZZ_CHECK(i < f->nb_segs);
		FUZZ_CHECK(seg == v->mbufs[v->wqe * f->nb_segs + i]);
		FUZZ_CHECK(seg->data_off == f->segs[i].offset - tag);
		FUZZ_CHECK(seg->data_len != 0);
		FUZZ_CHECK(seg->data_len <= f->segs[i].bytes + tag);
		FUZZ_CHECK(seg->port == FX_PORT_ID && rte_mbuf_refcnt_read(seg) == 1);
		FUZZ_CHECK((seg->ol_flags & RTE_MBUF_F_INDIRECT) == 0);
		FUZZ_CHECK(!RTE_MBUF_HAS_PINNED_EXTBUF(seg) == !RTE_MBUF_HAS_EXTBUF(seg));
		bytes += seg->data_len;
		next = seg->next;
		hold(seg);
	}
	FUZZ_CHECK(i == m->nb_segs && bytes == m->pkt_len);
	v->wqe++;
}

/* The device got no byte of an older packet in the WQEs from this one on. */
FUZZ_ORACLE static void
check_scrubbed(const struct fx_rx *f, uint32_t wqe)
{
	for (; wqe != f->rxq->rq.pi; wqe++)
		for (uint32_t k = 0; k < f->nb_segs; k++) {
			const struct rte_mbuf *m =
				f->mbufs[(wqe & (f->conf.nb_mbufs - 1)) * f->nb_segs + k];
			const uint8_t *room = RTE_PTR_ADD(m->buf_addr, f->segs[k].offset);
			uint32_t bytes = f->segs[k].bytes;

			if (k == 1 && f->rxq->scatter.nb_unproven != 0) {
				room += sizeof(f->rxq->scatter.canary);
				bytes -= sizeof(f->rxq->scatter.canary);
			}
			FUZZ_CHECK(bytes == 0 || (room[0] == 0 &&
						  memcmp(room, room + 1, bytes - 1) == 0));
		}
}

FUZZ_ORACLE static void
check_queues(uint32_t nb_pkts)
{
	for (uint32_t q = 0; q < NB_QUEUES; q++) {
		const struct mana_rxq *rxq = fx[q]->rxq;
		const struct view *v = &views[q];

		/* A packet, or no packet, of each CQE. */
		FUZZ_CHECK(rxq->cq.ci - v->cq_ci <= 2 * nb_pkts);
		FUZZ_CHECK(rxq->rq.ci - v->rq_ci <= v->nb_posted);
		FUZZ_CHECK(v->wqe <= rxq->rq.ci - v->rq_ci);
		FUZZ_CHECK(mana_rxq_nb_posted(rxq) <= rxq->limit);
		if (rxq->scrub)
			check_scrubbed(fx[q], v->rq_ci + v->nb_posted);
	}
}

/* ---- The application ----------------------------------------------------- */

static void
burst(uint32_t queue, uint32_t nb)
{
	/* Of this size, so that the sanitizer finds a store behind it. */
	struct rte_mbuf **pkts = malloc(nb * sizeof(*pkts));
	uint16_t got;

	view_all();
	got = path->burst(fx[queue]->list, pkts, nb);
	FUZZ_CHECK(got <= nb);
	for (uint32_t i = 0; i < got; i++)
		check_packet(pkts[i]);
	check_queues(nb);
	free(pkts);
}

/* One list polls both queues, or each its own; a paused list polls none. */
static void
lists(bool is_joint, bool is_paused)
{
	for (uint32_t q = 0; q < NB_QUEUES; q++)
		mana_rx_list_clear(fx[q]->list);
	for (uint32_t q = 0; q < NB_QUEUES; q++)
		mana_rx_list_add(fx[is_joint ? 0 : q]->list, fx[q]->rxq);
	for (uint32_t q = 0; q < NB_QUEUES; q++)
		mana_rx_list_pause(fx[q]->list, is_paused);
}

/* The queue gets the pool of the other one, if all its buffers are of one pool. */
static void
assign(struct fx_rx *f, const struct fx_rx *other, bool vlan_strip)
{
	mana_rxq_assign(f->rxq, 0, other->mp, mana_rx_pool_delta(other->mp),
			f->conf.nb_segs != 0 ? f->rxq->vlan_strip : vlan_strip);
}

static void
query(const struct fx_rx *f, uint32_t offset)
{
	bool wakes = false;

	FUZZ_CHECK(mana_rxq_nb_waiting(f->rxq, offset) <= offset);
	FUZZ_CHECK(mana_rx_list_count(f->list) <= NB_QUEUES * NB_DESC);
	(void)mana_rx_list_desc_state(f->list, offset);
	(void)mana_rxq_arm(f->rxq, &wakes);
}

/* ---- The device ---------------------------------------------------------- */

/* Any bytes, anywhere in the ring. */
static void
write_raw(struct fx_rx *f, struct fuzz_input *in)
{
	const uint32_t at = fuzz_u8(in) % NB_CQE * HW_CQE_BYTES +
			    fuzz_u8(in) % HW_CQE_BYTES;

	fuzz_read(in, f->cq.ring + at,
		  RTE_MIN(fuzz_u8(in) % (HW_CQE_BYTES + 1), NB_CQE * HW_CQE_BYTES - at));
}

/* A CQE of any bytes, but valid and of this queue; with a variant, at a likely WQE. */
static void
write_cqe(struct fx_rx *f, struct fuzz_input *in, bool has_offset)
{
	uint32_t data[15] = { fuzz_u8(in) };

	fuzz_read(in, &data[1], fuzz_u8(in) % (sizeof(data) - sizeof(data[0]) + 1));
	if (has_offset)
		data[14] = f->ci * HW_BU_BYTES;
	fx_cqe_write(&f->cq, data, FX_RQ_ID);
}

static void
write_trailer(struct fx_rx *f, struct fuzz_input *in)
{
	const uint32_t data[15] = { fuzz_u8(in), 0, fuzz_u8(in) };
	uint32_t trailer;

	fuzz_read(in, &trailer, sizeof(trailer));
	fx_cqe_write_owner(&f->cq, data, trailer & ~(HW_CQE_OWNER_M << HW_CQE_OWNER_S),
			   f->cq.pi / NB_CQE + fuzz_u8(in) % 8);
}

/* WQEs that an honest device could use; it skips those that the driver has back. */
static uint32_t
honest_room(struct fx_rx *f)
{
	const uint32_t ci = f->rxq->rq.ci * f->wqe_bu;

	if ((int32_t)(ci - f->ci) > 0)
		f->ci = ci;
	return fx_rx_available(f);
}

static void
write_okay(struct fx_rx *f, struct fuzz_input *in)
{
	const uint32_t len = 1 + (fuzz_u8(in) | fuzz_u8(in) << 8) % f->room_bytes;
	uint32_t flags;

	fuzz_read(in, &flags, sizeof(flags));
	if (honest_room(f) > 0)
		fx_rx_okay(f, len, flags);
}

/* Frames so short that an execution takes no longer for them. */
static void
write_many(struct fx_rx *f, struct fuzz_input *in)
{
	const uint32_t nb = fuzz_u8(in) % NB_CQE;

	for (uint32_t i = 0; i < nb && honest_room(f) > 0; i++)
		fx_rx_okay(f, 1 + i % 8, 0);
}

static void
write_coalesced(struct fx_rx *f, struct fuzz_input *in, bool is_8)
{
	uint32_t lens[MAX_PKTS], flags, nb = 1 + fuzz_u8(in) % MAX_PKTS;

	nb = RTE_MIN(nb, is_8 ? MAX_PKTS : HW_RX_CQE_NB_PPI);
	fuzz_read(in, &flags, sizeof(flags));
	if (honest_room(f) < nb)
		return;
	for (uint32_t i = 0; i < nb; i++)
		lens[i] = 1 + fuzz_u8(in) % RTE_MIN(f->room_bytes, 255u);
	if (is_8)
		fx_rx_coalesced_8(f, lens, nb, flags);
	else
		fx_rx_coalesced(f, lens, nb, flags);
}

/* ---- Inputs -------------------------------------------------------------- */

enum action {
	BURST,
	WRITE_RAW,
	WRITE_CQE,
	WRITE_TRAILER,
	WRITE_OKAY,
	WRITE_COALESCED,
	WRITE_MANY,
	TAKE,
	RELEASE,
	LISTS,
	DRAIN,
	QUERY,
	ASSIGN,
	REGIONS,
};

static void
act(struct fuzz_input *in)
{
	const uint8_t action = fuzz_u8(in);
	const uint32_t queue = action >> 4 & 1;
	const bool is_variant = (action & 0x20) != 0;
	struct fx_rx *f = fx[queue];

	switch ((enum action)(action & 0x0f)) {
	case BURST:
		burst(queue, fuzz_u8(in) % (MAX_BURST + 1));
		break;
	case WRITE_RAW:
		write_raw(f, in);
		break;
	case WRITE_CQE:
		write_cqe(f, in, is_variant);
		break;
	case WRITE_TRAILER:
		write_trailer(f, in);
		break;
	case WRITE_OKAY:
		write_okay(f, in);
		break;
	case WRITE_COALESCED:
		write_coalesced(f, in, is_variant);
		break;
	case WRITE_MANY:
		write_many(f, in);
		break;
	case TAKE:
		take(f->seg_mp[fuzz_u8(in) % f->nb_pools], fuzz_u8(in));
		break;
	case RELEASE:
		release(fuzz_u8(in));
		break;
	case LISTS:
		lists(is_variant, (action & 0x40) != 0);
		break;
	case DRAIN:
		(void)mana_rxq_drain(f->rxq, path->poll, false);
		break;
	case QUERY:
		query(f, fuzz_u8(in));
		break;
	case ASSIGN:
		assign(f, fx[is_variant ? 1 - queue : queue], (action & 0x40) != 0);
		break;
	case REGIONS:
		fx_mr_deny = is_variant;
		fx_mr_generation++;
		break;
	}
}

static void
begin(struct fuzz_input *in)
{
	static const uint32_t starts[] = { 0, 0, NB_CQE, UINT32_MAX - NB_CQE + 1 };

	fx = fixtures[fuzz_u8(in) % RTE_DIM(layouts)];
	path = &mana_rx_paths[fuzz_u8(in) % mana_rx_nb_paths];
	if (!mana_rx_path_is_allowed(path))
		path = mana_rx_path_select(NULL);
	for (uint32_t q = 0; q < NB_QUEUES; q++) {
		const uint8_t how = fuzz_u8(in);

		fx[q]->conf.vlan_strip = (how & 1) != 0;
		fx[q]->conf.csum = (how & 2) != 0;
		fx[q]->conf.ptypes = (how & 4) != 0;
		fx[q]->conf.scrub = (how & 0x10) != 0;
		fx[q]->position = how % FX_RX_NB_POSITIONS;
		fx[q]->conf.nb_desc = 1 + fuzz_u8(in) % NB_DESC;
		fx[q]->conf.free_thresh =
			mana_rx_refill_thresh(fuzz_u8(in), fx[q]->conf.nb_desc, NB_CQE);
		fx_rx_begin(fx[q], starts[how >> 6]);
		fx[q]->rxq->parse = (how & 8) != 0;
		fx_rx_open(fx[q]);
	}
}

/* is_gone: what the rings have is drained after the device has gone. */
static void
end(bool is_gone)
{
	release(nb_held);
	for (uint32_t q = 0; q < NB_QUEUES; q++) {
		mana_rx_list_clear(fx[q]->list);
		if (is_gone)
			(void)mana_rxq_drain(fx[q]->rxq, path->poll, true);
		fx_rx_end(fx[q]);
	}
	for (uint32_t q = 0; q < NB_QUEUES; q++)
		fx_rx_check_pools(fx[q]);
	fx_mr_deny = false;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fx_eal_init();
	fx_mr_clear();
	for (uint32_t i = 0; i < RTE_DIM(layouts); i++)
		for (uint32_t q = 0; q < NB_QUEUES; q++) {
			struct fx_rx_opts opts = layouts[i];

			opts.nb_desc = NB_DESC;
			opts.nb_cqe = NB_CQE;
			opts.no_open = true;
			fixtures[i][q] = fx_rx_new_beside(&opts);
			mana_rx_list_clear(fixtures[i][q]->list);
			for (uint32_t k = 0; k < fixtures[i][q]->nb_pools; k++)
				owner_watch(fixtures[i][q]->seg_mp[k]);
		}
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nb_bytes)
{
	struct fuzz_input in = { .bytes = data, .nb_left = nb_bytes };

	begin(&in);
	for (uint32_t i = 0; i < MAX_ACTIONS && in.nb_left > 0; i++)
		act(&in);
	end(nb_bytes % 2 != 0);
	return 0;
}
