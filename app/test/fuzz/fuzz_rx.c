/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whatever the device writes to the CQ of an Rx queue: a burst ends, and each packet
 * that it returns has a completion and a WQE of its own, in order, and lies in the
 * buffers of this WQE. No mbuf is lost, or has two owners. A queue that scrubs gives the
 * device zeros only.
 *
 * The target replays the completions that a poll has taken. Each packet that they
 * announce, and each truncated one, uses one WQE, whether it is delivered or dropped;
 * only completions that may have used WQEs leave a choice, up to the next one that
 * surely has. As long as the device is honest there is no choice: it knows the WQE of
 * each frame, and its bytes.
 *
 * A queue that has failed is set up again when the device writes to it.
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
#define UNKNOWN	    20u /* a type of CQE */

/* What a CQE announces. */
enum entry_kind {
	PACKET,
	TRUNCATED, /* a packet that used a WQE, and is not delivered */
	DOUBT, /* a CQE of an unknown WQE: the queue fails */
};

struct entry {
	enum entry_kind kind;
	uint32_t cqe; /* CQEs between it and the first unread one */
	uint32_t nth; /* packet of it */
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
	uint32_t entry; /* the next one */
	uint32_t wqe; /* the next one, from rq_ci on */
	bool vlan_strip;
	bool may_miss; /* packets that were not scattered are dropped */
	bool has_failed;
	struct rte_mbuf *mbufs[NB_DESC * FX_MAX_SEGS];
	/* The rest of the CQE that was read last, then the others. */
	struct entry entries[(NB_CQE + 1) * MAX_PKTS];
	/* What the burst has delivered of it. */
	uint32_t nb_pkts;
	uint32_t pkt; /* the next one */
	struct rte_mbuf *pkts[MAX_BURST];
};

/* Frames are numbered from 0; an honest device writes number n to WQE start + n. */
struct device {
	bool is_honest; /* all it has written so far */
	uint32_t start;
	/* By CQE: numbers of its first frame, and behind its last one. */
	uint32_t first[NB_CQE];
	uint32_t end[NB_CQE];
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

/* Indices of a new queue. */
static const uint32_t starts[] = { 0, 0, NB_CQE, UINT32_MAX - NB_CQE + 1 };

static struct fx_rx *fixtures[RTE_DIM(layouts)][NB_QUEUES];
static struct fx_rx *const *fx;
static struct view views[NB_QUEUES];
static struct device devices[NB_QUEUES];
static uint8_t hows[NB_QUEUES];
static bool lists_are_joint, lists_are_paused;
static const struct mana_rx_path *path;
/* Mbufs of the application. */
static struct rte_mbuf *held[4096];
static uint32_t nb_held;

/* ---- Owners of mbufs ----------------------------------------------------- */

/* The note of an mbuf says whether the application has it. Of the last view of it: */
#define VIEW_OF(m) ((m)->dynfield1[2])
#define QUEUE_OF(m) ((m)->dynfield1[3])
#define WQE_OF(m)   ((m)->dynfield1[4]) /* UINT32_MAX: not the first segment */

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

/* Adds the packets of a CQE; a length of 0 ends them. Returns their number. */
FUZZ_ORACLE static uint32_t
packets_add(struct view *v, uint32_t nth, const uint8_t *cqe)
{
	const uint32_t type = hw_le32(cqe) & HW_CQE_TYPE_M;
	const uint32_t flags = hw_le32(cqe + HW_RX_CQE_FLAGS_OFF);
	const uint32_t max = type == HW_CQE_RX_OKAY	   ? 1 :
			     type == HW_CQE_RX_COALESCED_4 ? HW_RX_CQE_NB_PPI :
			     type == HW_CQE_RX_COALESCED_8 ? MAX_PKTS :
							     0;
	uint32_t i;

	for (i = 0; i < max; i++) {
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
			break;
		v->entries[v->nb_entries++] = (struct entry){
			.kind = PACKET,
			.cqe = nth,
			.nth = i,
			.len = len & UINT16_MAX,
			.hash = hash,
			.flags = flags,
		};
	}
	return i;
}

/* Adds what an unread CQE announces. */
FUZZ_ORACLE static void
entries_add(struct view *v, uint32_t nth, const uint8_t *cqe)
{
	const uint32_t type = hw_le32(cqe) & HW_CQE_TYPE_M;
	struct entry *first = &v->entries[v->nb_entries];
	const uint32_t nb = packets_add(v, nth, cqe);

	if (nb != 0)
		return;
	*first = (struct entry){ .cqe = nth };
	switch (type) {
	case HW_CQE_RX_OBJECT_FENCE:
		return;
	case HW_CQE_RX_TRUNCATED:
		first->kind = TRUNCATED;
		break;
	default:
		first->kind = DOUBT;
	}
	v->nb_entries++;
}

static const uint8_t *
cqe_at(const struct fx_rx *f, uint32_t idx)
{
	return f->cq.ring + (size_t)(idx & (NB_CQE - 1)) * HW_CQE_BYTES;
}

FUZZ_ORACLE static void
view_entries(struct view *v, const struct fx_rx *f)
{
	const struct mana_rx_part *part = &f->hwq->part;
	uint8_t rest[HW_CQE_BYTES];

	v->nb_entries = 0;
	v->entry = 0;
	/* The driver has a copy of this CQE, so it is not read again. */
	FUZZ_CHECK(part->next <= part->nb && part->nb <= MAX_PKTS);
	memcpy(rest, &part->cqe, sizeof(rest));
	if (part->next != part->nb) {
		FUZZ_CHECK(packets_add(v, 0, rest) == part->nb);
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
view_wqes(struct view *v, uint32_t q)
{
	const struct fx_rx *f = fx[q];
	const uint32_t ring_mask = f->rings.ring_bytes - 1;

	FUZZ_CHECK(v->nb_posted <= f->hwq->nb_desc);
	v->wqe = 0;
	for (uint32_t i = 0; i < v->nb_posted; i++) {
		const uint32_t wqe = v->rq_ci + i;
		uint32_t at = wqe * f->wqe_bu * HW_BU_BYTES;

		for (uint32_t k = 0; k < f->nb_segs; k++) {
			struct rte_mbuf *m =
				f->mbufs[(wqe & f->fresh.mbuf_mask) * f->nb_segs + k];
			struct hw_sge sge;

			at += HW_SGE_BYTES;
			sge = hw_sge_read(f->rq_ring + (at & ring_mask));
			FUZZ_CHECK(sge.addr == (uintptr_t)m->buf_addr + f->segs[k].offset);
			FUZZ_CHECK(sge.size_bytes == f->segs[k].bytes);
			FUZZ_CHECK(OWNER_NOTE(m) == 0 && VIEW_OF(m) != view_serial);
			VIEW_OF(m) = view_serial;
			QUEUE_OF(m) = q;
			WQE_OF(m) = k == 0 ? i : UINT32_MAX;
			v->mbufs[i * f->nb_segs + k] = m;
		}
	}
}

/* The queues from first up to end. */
FUZZ_ORACLE static void
view_queues(uint32_t first, uint32_t end)
{
	view_serial++;
	for (uint32_t q = first; q < end; q++) {
		const struct mana_hwq *hwq = fx[q]->hwq;
		struct view *v = &views[q];

		v->rq_ci = hwq->rq.ci;
		v->cq_ci = hwq->cq.ci;
		v->nb_posted = mana_hwq_nb_posted(hwq);
		v->vlan_strip = hwq->vlan_strip;
		v->may_miss = hwq->scatter.nb_unproven != 0;
		v->has_failed = mana_hwq_failure(hwq) != MANA_FAILURE_NONE;
		v->nb_pkts = v->pkt = 0;
		view_entries(v, fx[q]);
		view_wqes(v, q);
	}
}

/* ---- After a burst ------------------------------------------------------- */

static uint32_t
tag_bytes(const struct view *v, const struct entry *e)
{
	return (e->flags & HW_RX_F_VLAN) != 0 && !v->vlan_strip ? 4 : 0;
}

/*
 * Some bytes of a segment that begins at byte at of the packet, of frame seq; with a tag
 * between addresses and type.
 */
FUZZ_ORACLE static void
check_bytes(const struct rte_mbuf *seg, uint32_t at, uint32_t seq, const struct entry *e,
	    uint32_t tag)
{
	const uint8_t *data = rte_pktmbuf_mtod(seg, const uint8_t *);
	const uint32_t tci = e->flags & HW_RX_F_VLAN_ID_M;
	const uint8_t tag_is[] = { 0x81, 0x00, tci >> 8, tci };
	const uint32_t tag_at = RTE_MIN(e->len, 12u);

	for (uint32_t i = 0; i < seg->data_len; i++, at++) {
		if (i == 20 && seg->data_len > 24) {
			at += seg->data_len - 4 - i;
			i = seg->data_len - 4;
		}
		FUZZ_CHECK(data[i] == (at < tag_at	 ? fx_rx_byte(seq, at) :
				       at < tag_at + tag ? tag_is[at - tag_at] :
							   fx_rx_byte(seq, at - tag)));
	}
}

FUZZ_ORACLE static bool
is_packet_of(const struct view *v, const struct rte_mbuf *m, const struct entry *e)
{
	return m->pkt_len == e->len + tag_bytes(v, e) && m->hash.rss == e->hash &&
	       ((e->flags & HW_RX_F_VLAN) != 0) ==
		       ((m->ol_flags & RTE_MBUF_F_RX_VLAN) != 0);
}

/* The next packet is that of the entry, in the buffers of its WQE. */
FUZZ_ORACLE static void
check_packet(struct view *v, uint32_t q, const struct entry *e)
{
	struct rte_mbuf *m = v->pkts[v->pkt++];
	const struct device *d = &devices[q];
	const struct fx_rx *f = fx[q];
	const uint32_t tag_all = tag_bytes(v, e), wqe = WQE_OF(m);
	const uint32_t seq = d->first[(v->cq_ci - 1 + e->cqe) % NB_CQE] + e->nth;
	uint32_t bytes = 0, i = 0;

	FUZZ_CHECK(!d->is_honest || v->rq_ci + wqe == d->start + seq);
	FUZZ_CHECK(is_packet_of(v, m, e));
	for (struct rte_mbuf *seg = m, *next; seg != NULL; seg = next, i++) {
		const uint32_t tag = i == 0 ? tag_all : 0;

		FUZZ_CHECK(i < f->nb_segs);
		FUZZ_CHECK(seg == v->mbufs[wqe * f->nb_segs + i]);
		FUZZ_CHECK(seg->data_off == f->segs[i].offset - tag);
		FUZZ_CHECK(seg->data_len != 0);
		FUZZ_CHECK(seg->data_len <= f->segs[i].bytes + tag);
		FUZZ_CHECK(seg->port == FX_PORT_ID && rte_mbuf_refcnt_read(seg) == 1);
		FUZZ_CHECK((seg->ol_flags & RTE_MBUF_F_INDIRECT) == 0);
		FUZZ_CHECK(!RTE_MBUF_HAS_PINNED_EXTBUF(seg) == !RTE_MBUF_HAS_EXTBUF(seg));
		if (d->is_honest)
			check_bytes(seg, bytes, seq, e, tag_all);
		bytes += seg->data_len;
		next = seg->next;
		hold(seg);
	}
	FUZZ_CHECK(i == m->nb_segs && bytes == m->pkt_len);
}

/* A completion uses the next WQE, if there is one. */
FUZZ_ORACLE static void
use_wqe(struct view *v)
{
	v->wqe += v->wqe < v->nb_posted;
}

/* A packet that a CQE announces: the next one that was delivered, or dropped. */
FUZZ_ORACLE static void
replay_packet(struct view *v, uint32_t q, const struct entry *e)
{
	const struct fx_rx *f = fx[q];
	const bool is_good = e->len <= f->room_bytes && v->wqe != v->nb_posted;
	const bool may_miss = v->may_miss && e->len > f->segs[0].bytes;
	const struct rte_mbuf *m = v->pkt != v->nb_pkts ? v->pkts[v->pkt] : NULL;

	if (is_good && m != NULL && WQE_OF(m) == v->wqe &&
	    (!may_miss || is_packet_of(v, m, e))) {
		check_packet(v, q, e);
	} else {
		FUZZ_CHECK(!devices[q].is_honest);
		FUZZ_CHECK(!is_good || may_miss);
	}
	use_wqe(v);
}

/* What the poll has taken, and where the queue should be then. */
FUZZ_ORACLE static void
replay(uint32_t q)
{
	const struct mana_hwq *hwq = fx[q]->hwq;
	const uint32_t nb_cqes = hwq->cq.ci - views[q].cq_ci;
	const uint32_t nb_left = hwq->part.nb - hwq->part.next;
	const bool has_failed = mana_hwq_failure(hwq) != MANA_FAILURE_NONE;
	const struct device *d = &devices[q];
	struct view *v = &views[q];
	uint32_t end = v->entry;
	bool is_doubtful = false;

	while (end != v->nb_entries && v->entries[end].cqe <= nb_cqes)
		end++;
	FUZZ_CHECK(nb_left <= end - v->entry);
	for (end -= nb_left; v->entry != end; v->entry++) {
		const struct entry *e = &v->entries[v->entry];

		if (e->kind == DOUBT)
			is_doubtful = true;
		else if (e->kind == TRUNCATED)
			use_wqe(v);
		else
			replay_packet(v, q, e);
	}
	FUZZ_CHECK(v->pkt == v->nb_pkts);
	FUZZ_CHECK(hwq->rq.ci - v->rq_ci == v->wqe);
	/* Of an honest device, only such a CQE is a reason. */
	FUZZ_CHECK(!has_failed || v->has_failed || !d->is_honest || is_doubtful);
	FUZZ_CHECK(!is_doubtful || has_failed);
	if (d->is_honest && !has_failed && nb_cqes != 0)
		FUZZ_CHECK(hwq->rq.ci == d->start + d->end[(hwq->cq.ci - 1) % NB_CQE] -
						 nb_left);
}

/* The device got no byte of an older packet in the WQEs from this one on. */
FUZZ_ORACLE static void
check_scrubbed(const struct fx_rx *f, uint32_t wqe)
{
	for (; wqe != f->hwq->rq.pi; wqe++)
		for (uint32_t k = 0; k < f->nb_segs; k++) {
			const struct rte_mbuf *m =
				f->mbufs[(wqe & f->fresh.mbuf_mask) * f->nb_segs + k];
			const uint8_t *room = RTE_PTR_ADD(m->buf_addr, f->segs[k].offset);
			uint32_t bytes = f->segs[k].bytes;

			if (k == 1 && f->hwq->scatter.nb_unproven != 0) {
				room += sizeof(f->hwq->scatter.canary);
				bytes -= sizeof(f->hwq->scatter.canary);
			}
			FUZZ_CHECK(bytes == 0 || (room[0] == 0 &&
						  memcmp(room, room + 1, bytes - 1) == 0));
		}
}

FUZZ_ORACLE static void
check_queues(uint32_t first, uint32_t end, uint32_t nb_pkts)
{
	for (uint32_t q = first; q < end; q++) {
		const struct mana_hwq *hwq = fx[q]->hwq;
		const struct view *v = &views[q];

		replay(q);
		/* A packet, or no packet, of each CQE. */
		FUZZ_CHECK(hwq->cq.ci - v->cq_ci <= 2 * nb_pkts);
		FUZZ_CHECK(mana_hwq_nb_posted(hwq) <= hwq->limit);
		if (hwq->scrub)
			check_scrubbed(fx[q], v->rq_ci + v->nb_posted);
	}
}

/* ---- The application ----------------------------------------------------- */

/* What a poll of these queues has delivered. */
FUZZ_ORACLE static void
check_poll(uint32_t first, uint32_t end, struct rte_mbuf **pkts, uint32_t got, uint32_t nb)
{
	FUZZ_CHECK(got <= nb);
	for (uint32_t i = 0; i < got; i++) {
		struct rte_mbuf *m = pkts[i];
		struct view *v = &views[QUEUE_OF(m)];

		/* The first mbuf of a WQE that was posted. */
		FUZZ_CHECK(VIEW_OF(m) == view_serial && WQE_OF(m) < v->nb_posted);
		v->pkts[v->nb_pkts++] = m;
	}
	check_queues(first, end, nb);
}

static void
burst(uint32_t queue, uint32_t nb)
{
	/* Of this size, so that the sanitizer finds a store behind it. */
	struct rte_mbuf **pkts = malloc(nb * sizeof(*pkts));
	uint16_t got;

	view_queues(0, NB_QUEUES);
	got = path->burst(fx[queue]->rxq, pkts, nb);
	check_poll(0, NB_QUEUES, pkts, got, nb);
	free(pkts);
}

/* One rxq polls both queues, or each its own; a paused rxq polls none. */
static void
lists(bool is_joint, bool is_paused)
{
	lists_are_joint = is_joint;
	lists_are_paused = is_paused;
	for (uint32_t q = 0; q < NB_QUEUES; q++)
		fx[q]->rxq->first = NULL;
	for (uint32_t q = 0; q < NB_QUEUES; q++)
		mana_rxq_add(fx[is_joint ? 0 : q]->rxq, fx[q]->hwq);
	for (uint32_t q = 0; q < NB_QUEUES; q++)
		mana_rxq_pause(fx[q]->rxq, is_paused);
}

static void
query(const struct fx_rx *f, uint32_t offset)
{
	bool wakes = false;

	FUZZ_CHECK(mana_hwq_nb_waiting(f->hwq, offset) <= offset);
	FUZZ_CHECK(mana_rxq_count(f->rxq) <= NB_QUEUES * NB_DESC);
	(void)mana_rxq_desc_state(f->rxq, offset);
	(void)mana_hwq_arm(f->hwq, &wakes);
}

/* ---- The device ---------------------------------------------------------- */

static struct device *
device_of(const struct fx_rx *f)
{
	return &devices[f == fx[1]];
}

/* An empty queue, as the input has described it. */
static void
queue_begin(struct fx_rx *f)
{
	struct device *d = device_of(f);
	const uint8_t how = hows[d - devices];

	d->is_honest = true;
	d->start = starts[how >> 6];
	fx_rx_begin(f, d->start);
	f->hwq->parse = (how & 8) != 0;
	fx_rx_open(f);
}

/* After a failure, as the driver does. */
static void
queue_restart(struct fx_rx *f)
{
	for (uint32_t q = 0; q < NB_QUEUES; q++)
		fx[q]->rxq->first = NULL;
	fx_rx_end(f);
	queue_begin(f);
	lists(lists_are_joint, lists_are_paused);
}

/* Any bytes, anywhere in the ring. */
static void
write_raw(struct fx_rx *f, struct fuzz_input *in)
{
	device_of(f)->is_honest = false;
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

	device_of(f)->is_honest = false;
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

	device_of(f)->is_honest = false;
	fuzz_read(in, &trailer, sizeof(trailer));
	fx_cqe_write_owner(&f->cq, data, trailer & ~(HW_CQE_OWNER_M << HW_CQE_OWNER_S),
			   f->cq.pi / NB_CQE + fuzz_u8(in) % 8);
}

/*
 * WQEs that an honest device could use for a CQE: none if the ring is full. If it was
 * not honest, it skips those that the driver has back.
 */
static uint32_t
honest_room(struct fx_rx *f)
{
	const uint32_t ci = f->hwq->rq.ci * f->wqe_bu;
	const bool is_honest = device_of(f)->is_honest;

	if ((int32_t)(ci - f->ci) > 0) {
		FUZZ_CHECK(!is_honest);
		f->ci = ci;
	}
	/* The last CQE that was read may have packets that were not delivered. */
	if (is_honest && f->cq.pi - f->hwq->cq.ci >= NB_CQE - 1)
		return 0;
	return fx_rx_available(f);
}

/* The next CQE is of the frames from this one on. */
static void
cqe_begin(struct fx_rx *f)
{
	device_of(f)->first[f->cq.pi % NB_CQE] = f->rx_seq;
}

static void
cqe_end(struct fx_rx *f)
{
	device_of(f)->end[(f->cq.pi - 1) % NB_CQE] = f->rx_seq;
}

static void
honest_okay(struct fx_rx *f, uint32_t len, uint32_t flags)
{
	cqe_begin(f);
	fx_rx_okay(f, len, flags);
	cqe_end(f);
}

static void
write_okay(struct fx_rx *f, struct fuzz_input *in)
{
	const uint32_t len = 1 + (fuzz_u8(in) | fuzz_u8(in) << 8) % f->room_bytes;
	uint32_t flags;

	fuzz_read(in, &flags, sizeof(flags));
	if (honest_room(f) > 0)
		honest_okay(f, len, flags);
}

/* Frames so short that an execution takes no longer for them. */
static void
write_many(struct fx_rx *f, struct fuzz_input *in)
{
	const uint32_t nb = fuzz_u8(in) % NB_CQE;

	for (uint32_t i = 0; i < nb && honest_room(f) > 0; i++)
		honest_okay(f, 1 + i % 8, 0);
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
	cqe_begin(f);
	if (is_8)
		fx_rx_coalesced_8(f, lens, nb, flags);
	else
		fx_rx_coalesced(f, lens, nb, flags);
	cqe_end(f);
}

/* A CQE without a packet, and the WQEs that it uses, up to the most that it may. */
static void
write_other(struct fx_rx *f, struct fuzz_input *in)
{
	static const struct {
		uint8_t type, len, min, max;
	} kinds[] = {
		{ UNKNOWN, 60, 0, MAX_PKTS },
		{ HW_CQE_RX_OKAY, 0, 0, 1 },
		{ HW_CQE_RX_COALESCED_4, 0, 0, 1 },
		{ HW_CQE_RX_COALESCED_8, 0, 0, 1 },
		{ HW_CQE_RX_TRUNCATED, 60, 1, 1 },
		{ HW_CQE_RX_OBJECT_FENCE, 0, 0, 0 },
	};
	const uint32_t kind = fuzz_u8(in) % RTE_DIM(kinds);
	const uint32_t min = kinds[kind].min, max = kinds[kind].max;
	const uint32_t nb = min + fuzz_u8(in) % (max - min + 1);
	const uint32_t room = honest_room(f);

	if (room == 0 || room < nb)
		return;
	cqe_begin(f);
	for (uint32_t i = 0; i < nb; i++)
		fx_rx_frame(f, 1 + i);
	fx_rx_cqe(f, kinds[kind].type, kinds[kind].len);
	cqe_end(f);
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
	RESTART,
	QUERY,
	VLAN_STRIP,
	REGIONS,
	WRITE_OTHER,
};

/* Whether the action is the device's. */
static bool
is_write(enum action action)
{
	return (action >= WRITE_RAW && action <= WRITE_MANY) || action == WRITE_OTHER;
}

static void
act(struct fuzz_input *in)
{
	const uint8_t action = fuzz_u8(in);
	const uint32_t queue = action >> 4 & 1;
	const bool is_variant = (action & 0x20) != 0;
	struct fx_rx *f = fx[queue];

	if (is_write(action & 0x0f) && mana_hwq_failure(f->hwq) != MANA_FAILURE_NONE)
		queue_restart(f);
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
	case RESTART:
		queue_restart(f);
		break;
	case QUERY:
		query(f, fuzz_u8(in));
		break;
	case VLAN_STRIP:
		if (f->hwq->scatter.nb_segs == 0)
			f->hwq->vlan_strip = (action & 0x40) != 0;
		break;
	case REGIONS:
		fx_mr_deny = is_variant;
		fx_mr_forget();
		break;
	case WRITE_OTHER:
		write_other(f, in);
		break;
	}
}

static void
begin(struct fuzz_input *in)
{
	fx = fixtures[fuzz_u8(in) % RTE_DIM(layouts)];
	path = &mana_rx_paths[fuzz_u8(in) % mana_rx_nb_paths];
	if (!mana_rx_path_is_allowed(path))
		path = mana_rx_path_select();
	lists_are_joint = lists_are_paused = false;
	for (uint32_t q = 0; q < NB_QUEUES; q++) {
		const uint8_t how = hows[q] = fuzz_u8(in);

		fx[q]->fresh.vlan_strip = (how & 1) != 0;
		fx[q]->fresh.offloads = (how & 2) != 0 ? RTE_ETH_RX_OFFLOAD_CHECKSUM : 0;
		fx[q]->fresh.ptypes = (how & 4) != 0;
		fx[q]->fresh.scrub = (how & 0x10) != 0;
		fx[q]->fresh.nb_desc = 1 + fuzz_u8(in) % NB_DESC;
		fx[q]->fresh.refill_thresh =
			mana_rx_refill_thresh(fuzz_u8(in), fx[q]->fresh.nb_desc, NB_CQE);
		queue_begin(fx[q]);
	}
}

static void
end(void)
{
	release(nb_held);
	for (uint32_t q = 0; q < NB_QUEUES; q++) {
		fx[q]->rxq->first = NULL;
		fx_rx_end(fx[q]);
	}
	for (uint32_t q = 0; q < NB_QUEUES; q++)
		fx_rx_check_pools(fx[q]);
	fx_mr_deny = false;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fx_eal_init();
	fx_mr_clear();
	for (uint32_t i = 0; i < RTE_DIM(layouts); i++)
		for (uint32_t q = 0; q < NB_QUEUES; q++) {
			struct fx_rx_opts opts = layouts[i];

			opts.nb_desc = NB_DESC;
			opts.nb_cqe = NB_CQE;
			opts.no_open = true;
			fixtures[i][q] = fx_rx_new_beside(&opts);
			fixtures[i][q]->rxq->first = NULL;
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
	end();
	return 0;
}
