/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whatever the device writes to the CQ of a Tx queue: a burst ends, and the mbufs of a
 * packet are freed once, in order, and not before a completion that can be of this
 * packet or a later one. A completion that names no posted WQE frees one packet at most.
 *
 * An input describes the queue, then lists actions of the device and of the application.
 * The first byte of each selects the action (low half) and a variant.
 */

#include "../unit/fixture_pkt.h"
#include "fuzz.h"
#include "owner.h"

#define NB_DESC	    32u
#define NB_CQE	    64u
#define NB_POOL	    1023u
#define NB_BOUNCE   15u
#define MAX_BURST   16u
#define MAX_SEGS    34u
#define MAX_ACTIONS 64u
/* The largest burst fits the ring: so each WQE can be read after the burst. */
#define RING_BU (MAX_BURST * HW_SQ_WQE_MAX_BYTES / HW_BU_BYTES)
#define NB_WQES (2 * (NB_DESC + MAX_BURST)) /* that are remembered */

/* What the note of an mbuf says: WQE w is noted as w + NOTE_WQE. */
#define NOTE_BURST 1u /* of a burst, not posted so far */
#define NOTE_WQE   2u
static_assert(RTE_IS_POWER_OF_2(NB_DESC), "indices of WQEs wrap at a multiple of it");

static struct wqe {
	uint32_t bu;
	uint32_t nb_bu;
	uint32_t nb_mbufs; /* with its note */
} wqes[128];
static_assert(RTE_DIM(wqes) >= NB_WQES, "no posted WQE is overwritten");

static struct fx_tx *fx;
static uint32_t base; /* the first WQE's index: notes count from there */
/* Of one call of the driver: */
static uint32_t nb_freed; /* mbufs of WQEs */
static uint32_t end_freed; /* WQEs from base on before which these are */

static struct wqe *
wqe_at(uint32_t idx)
{
	return &wqes[idx % RTE_DIM(wqes)];
}

FUZZ_ORACLE static void
note_freed(const struct rte_mbuf *m)
{
	const uint32_t note = OWNER_NOTE(m);

	if (note < NOTE_WQE)
		return;
	nb_freed++;
	end_freed = RTE_MAX(end_freed, note - NOTE_WQE + 1);
	FUZZ_CHECK(wqe_at(base + note - NOTE_WQE)->nb_mbufs-- > 0);
}

/* ---- What a call of the driver has freed --------------------------------- */

struct view {
	uint32_t ci;
	uint32_t cq_ci;
};

static struct view
view_begin(void)
{
	nb_freed = end_freed = 0;
	return (struct view){ .ci = fx->txq->ci, .cq_ci = fx->txq->cq.ci };
}

/* A CQE of the queue: the position that it names. */
static bool
cqe_read(uint32_t idx, uint32_t *position)
{
	const uint8_t *cqe = fx->cq.ring + (size_t)(idx % NB_CQE) * HW_CQE_BYTES;
	const uint32_t trailer = hw_le32(cqe + HW_CQE_TRAILER_OFF);

	*position = hw_le32(cqe + HW_TX_CQE_OFFSETS_OFF) >> HW_TX_CQE_WQE_OFFSET_S;
	return trailer >> HW_CQE_OWNER_S == (idx / NB_CQE & HW_CQE_OWNER_M) &&
	       (trailer & (HW_CQE_WQ_NUM_M | 1u << HW_CQE_IS_SQ_S)) ==
		       (FX_SQ_ID | 1u << HW_CQE_IS_SQ_S);
}

/* WQEs from first on up to the last one that this position names; or 0. */
static uint32_t
named_wqes(uint32_t first, uint32_t position)
{
	for (uint32_t i = fx->txq->pi; i != first; i--) {
		const struct wqe *w = wqe_at(i - 1);

		if (((position - w->bu) & (RING_BU - 1)) < w->nb_bu)
			return i - first;
	}
	return 0;
}

/*
 * Released are the WQEs up to the last one that a CQE names, and one WQE for each CQE
 * behind it. The next CQE may have released some WQEs of those that it names.
 */
FUZZ_ORACLE static void
check_released(const struct view *v)
{
	const struct mana_txq *txq = fx->txq;
	const uint32_t nb_read = txq->cq.ci - v->cq_ci;
	const uint32_t nb = txq->ci - v->ci;
	uint32_t named = 0, nb_ours = 0, position;

	FUZZ_CHECK(nb_read <= 2 * NB_CQE && nb <= 2 * NB_DESC);
	for (uint32_t i = 0; i <= nb_read; i++) {
		if (!cqe_read(v->cq_ci + i, &position))
			continue;
		nb_ours++;
		named = RTE_MAX(named, named_wqes(v->ci, position));
	}
	FUZZ_CHECK(nb <= named + nb_ours);
	/* All mbufs of these WQEs were freed, and no others. */
	FUZZ_CHECK(nb_freed == 0 || end_freed <= txq->ci - base);
	for (uint32_t i = v->ci; i != txq->ci; i++)
		FUZZ_CHECK(wqe_at(i)->nb_mbufs == 0);
}

FUZZ_ORACLE static void
check_queue(void)
{
	const struct mana_txq *txq = fx->txq;
	uint32_t nb_bu = 0;

	FUZZ_CHECK(mana_txq_nb_posted(txq) <= fx->txq->nb_desc);
	FUZZ_CHECK(txq->group_pi - txq->group_ci <= mana_txq_nb_posted(txq));
	FUZZ_CHECK(txq->mbuf_pi - txq->mbuf_ci <= txq->mbuf_mask + 1);
	for (uint32_t i = txq->ci; i != (uint32_t)txq->pi; i++) {
		FUZZ_CHECK(wqe_at(i)->bu == txq->sq.ci + nb_bu);
		nb_bu += wqe_at(i)->nb_bu;
	}
	FUZZ_CHECK(txq->sq.pi - txq->sq.ci == nb_bu && nb_bu <= RING_BU);
}

/* ---- The application ----------------------------------------------------- */

/* The mbufs of a packet while it is sent: it may be freed, or separated. */
struct sent {
	struct rte_mbuf *segs[MAX_SEGS];
	uint32_t nb;
};

static void
sent_note(struct sent *sent, struct rte_mbuf *m)
{
	sent->nb = 0;
	for (; m != NULL; m = m->next) {
		FUZZ_CHECK(OWNER_NOTE(m) == 0);
		OWNER_NOTE(m) = NOTE_BURST;
		sent->segs[sent->nb++] = m;
	}
}

/* Its mbufs are those of WQE idx, unless a copy was posted; or they are freed. */
FUZZ_ORACLE static uint32_t
sent_post(const struct sent *sent, uint32_t idx)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < sent->nb; i++) {
		if (OWNER_NOTE(sent->segs[i]) != NOTE_BURST)
			continue;
		OWNER_NOTE(sent->segs[i]) = idx - base + NOTE_WQE;
		nb++;
	}
	FUZZ_CHECK(nb == 0 || nb == sent->nb);
	return nb;
}

/* Reads the WQEs from idx on as the device would, which checks them. */
static void
fetch(uint32_t idx)
{
	static struct fx_tx_wqe wqe;
	uint32_t bu = fx->ci;

	for (; fx_tx_fetch(fx, &wqe); idx++) {
		*wqe_at(idx) = (struct wqe){ .bu = bu, .nb_bu = wqe.nb_bu };
		bu = fx->ci;
	}
	FUZZ_CHECK(idx == (uint32_t)fx->txq->pi);
}

/*
 * Sends packets. Which of several the driver drops is not visible: only one packet may
 * be such that it has to be dropped.
 */
static void
send_pkts(struct rte_mbuf **pkts, uint32_t nb)
{
	const struct view v = view_begin();
	const uint32_t pi = fx->txq->pi;
	static struct sent sent[MAX_BURST];
	uint32_t nb_posted, nb_copies, got;

	for (uint32_t i = 0; i < nb; i++)
		sent_note(&sent[i], pkts[i]);
	nb_copies = fx->txq->stats.linearized + fx->txq->stats.bounced;
	got = fx->burst(fx->txq, pkts, nb);
	nb_copies = fx->txq->stats.linearized + fx->txq->stats.bounced - nb_copies;
	nb_posted = (uint32_t)fx->txq->pi - pi;
	FUZZ_CHECK(got <= nb && (got == nb_posted || (nb == 1 && nb_posted == 0)));
	fetch(pi);
	for (uint32_t i = 0; i < nb_posted; i++) {
		const bool is_released = (int32_t)(fx->txq->ci - (pi + i)) > 0;
		const uint32_t nb_mbufs = sent_post(&sent[i], pi + i);

		wqe_at(pi + i)->nb_mbufs = nb_mbufs;
		FUZZ_CHECK(nb_mbufs == 0 ? is_released || nb_copies-- > 0 : !is_released);
	}
	check_released(&v);
	for (uint32_t i = got; i < nb; i++) {
		FUZZ_CHECK(OWNER_NOTE(pkts[i]) == NOTE_BURST);
		rte_pktmbuf_free(pkts[i]);
	}
	check_queue();
}

static struct rte_mbuf *
mbuf_get(uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(fx->mp);

	if (m != NULL)
		(void)rte_pktmbuf_append(m, len);
	return m;
}

static struct rte_mbuf *
chain_get(uint32_t nb, uint32_t len)
{
	struct rte_mbuf *m = mbuf_get(len);

	for (uint32_t i = 1; m != NULL && i < nb; i++) {
		struct rte_mbuf *more = mbuf_get(len);

		if (more != NULL)
			(void)rte_pktmbuf_chain(m, more);
	}
	return m;
}

/* Packets that any queue sends. shape: segments (low half), VLAN tag. */
static void
send_good(uint32_t nb, uint8_t shape)
{
	const uint32_t nb_segs = 1 + RTE_MIN(shape & 0x0fu, fx->txq->max_sge - 1u);
	struct rte_mbuf *pkts[MAX_BURST];

	for (uint32_t i = 0; i < nb; i++) {
		pkts[i] = chain_get(i % 2 == 0 ? 1 : nb_segs, 60);
		if (pkts[i] == NULL) {
			nb = i;
			break;
		}
		if ((shape & 0x10) != 0 && i % 3 == 0)
			pkts[i]->ol_flags |= RTE_MBUF_F_TX_VLAN;
	}
	send_pkts(pkts, nb);
}

/* One packet of any kind, maybe one that no queue can send. */
static void
send_odd(struct fuzz_input *in)
{
	const uint8_t nb_segs = fuzz_u8(in), len = fuzz_u8(in), how = fuzz_u8(in);
	struct rte_mbuf *m;

	m = chain_get(1 + nb_segs % MAX_SEGS, len);
	if (m == NULL)
		return;
	if ((how & 1) != 0) {
		fx_pkt_request(&(struct fx_pkt){ .ipv6 = (how & 2) != 0,
						 .l4 = 6,
						 .ip_csum = (how & 2) == 0,
						 .l2_len = 14,
						 .l3_len = (how & 2) != 0 ? 40 : 20,
						 .l4_len = 20,
						 .segsz = 1 + (how >> 2) },
			       m);
	} else {
		uint32_t flags;

		fuzz_read(in, &flags, sizeof(flags));
		m->ol_flags |= (uint64_t)flags << 32 & RTE_MBUF_F_TX_OFFLOAD_MASK;
		fuzz_read(in, &m->tx_offload, sizeof(m->tx_offload));
	}
	send_pkts(&m, 1);
}

static void
cleanup(uint32_t max)
{
	const struct view v = view_begin();
	const uint32_t nb_done = mana_txq_nb_done(fx->txq, UINT32_MAX);
	const uint32_t nb = mana_txq_done_cleanup(fx->txq, max);

	FUZZ_CHECK(max == 0 || nb <= max);
	FUZZ_CHECK(nb == fx->txq->ci - v.ci);
	FUZZ_CHECK(nb_done <= fx->txq->nb_desc);
	check_released(&v);
	check_queue();
}

static void
query(uint32_t offset)
{
	FUZZ_CHECK(mana_txq_count(fx->txq) <= fx->txq->nb_desc);
	FUZZ_CHECK(mana_txq_desc_state(fx->txq, offset) != RTE_ETH_TX_DESC_UNAVAIL ||
		   offset >= fx->txq->limit);
}

/* ---- The device ---------------------------------------------------------- */

/* Any bytes, anywhere in the ring. */
static void
write_raw(struct fuzz_input *in)
{
	const uint32_t at = fuzz_u8(in) % NB_CQE * HW_CQE_BYTES +
			    fuzz_u8(in) % HW_CQE_BYTES;

	fuzz_read(in, fx->cq.ring + at,
		  RTE_MIN(fuzz_u8(in) % (HW_CQE_BYTES + 1), NB_CQE * HW_CQE_BYTES - at));
}

/* A CQE that names a WQE this far from the oldest one, or any position. */
static void
write_cqe(struct fuzz_input *in, bool is_near)
{
	const uint32_t type = fuzz_u8(in);
	uint32_t position = (int8_t)fuzz_u8(in);

	if (is_near)
		position += fx->txq->sq.ci;
	else
		fuzz_read(in, &position, sizeof(position));
	fx_tx_cqe_at(fx, type, position);
}

static void
write_trailer(struct fuzz_input *in)
{
	const uint32_t data[15] = { fuzz_u8(in), 0, fuzz_u8(in) };
	uint32_t trailer;

	fuzz_read(in, &trailer, sizeof(trailer));
	fx_cqe_write_owner(&fx->cq, data, trailer & ~(HW_CQE_OWNER_M << HW_CQE_OWNER_S),
			   fx->cq.pi / NB_CQE + fuzz_u8(in) % 8);
}

/* An honest device completes the oldest WQEs. */
static void
complete(uint32_t nb, uint32_t type)
{
	for (uint32_t i = 0; i < nb && fx->done_bu != fx->ci; i++)
		fx_tx_cqe(fx, type);
}

/* ---- Inputs -------------------------------------------------------------- */

enum action {
	SEND_GOOD,
	SEND_ODD,
	CLEANUP,
	QUERY,
	COMPLETE,
	COMPLETE_BAD,
	WRITE_RAW,
	WRITE_CQE,
	WRITE_TRAILER,
	REGIONS,
};

static void
act(struct fuzz_input *in)
{
	const uint8_t action = fuzz_u8(in);
	const bool is_variant = (action & 0x10) != 0;

	switch ((enum action)(action & 0x0f)) {
	case SEND_GOOD:
		send_good(fuzz_u8(in) % (MAX_BURST + 1), fuzz_u8(in));
		break;
	case SEND_ODD:
		send_odd(in);
		break;
	case CLEANUP:
		cleanup(is_variant ? fuzz_u8(in) : 0);
		break;
	case QUERY:
		query(fuzz_u8(in));
		break;
	case COMPLETE:
		complete(fuzz_u8(in), HW_CQE_TX_OKAY);
		break;
	case COMPLETE_BAD:
		complete(1, HW_CQE_TX_SA_DROP + fuzz_u8(in) % 16);
		break;
	case WRITE_RAW:
		write_raw(in);
		break;
	case WRITE_CQE:
		write_cqe(in, is_variant);
		break;
	case WRITE_TRAILER:
		write_trailer(in);
		break;
	case REGIONS:
		fx_mr_forget();
		break;
	}
}

static void
begin(struct fuzz_input *in)
{
	static const uint32_t starts[] = { 0, UINT32_MAX - RING_BU + 1 };
	struct mana_txq_conf *conf = &fx->conf;
	const uint8_t how = fuzz_u8(in);

	fx->fresh.nb_desc = 1 + fuzz_u8(in) % NB_DESC;
	fx->fresh.mbuf_mask = (NB_DESC << (how & 3) % 3) - 1;
	conf->suppress = (how & 0x04) == 0;
	fx->rings.vp_offset = (how & 0x08) != 0 ? 300 : 3;
	conf->form = fx->rings.vp_offset == 3 && (how & 0x10) != 0 ? MANA_TX_FORM_SHORT :
								 MANA_TX_FORM_AUTO;
	fx->fresh.max_sge = 1 + fuzz_u8(in) % 30;
	fx->fresh.mtu = (how & 0x40) != 0 ? 1500 : UINT16_MAX;
	fx->zero_position = (how & 0x80) != 0;
	*fx->txq = fx->fresh;
	fx_tx_restart(fx);
	base = starts[fuzz_u8(in) % RTE_DIM(starts)];
	if (base != 0)
		fx_tx_start_at(fx, base);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fx_eal_init();
	fx = fx_tx_new(&(struct fx_tx_opts){ .nb_desc = NB_DESC,
					     .nb_cqe = NB_CQE,
					     .nb_pool = NB_POOL,
					     .nb_bounce = NB_BOUNCE,
					     .sq_bytes = RING_BU * HW_BU_BYTES,
					     .ops = "fuzz" });
	owner_watch(fx->mp);
	owner_watch(fx->bounce_mp);
	owner_freed = note_freed;
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nb_bytes)
{
	struct fuzz_input in = { .bytes = data, .nb_left = nb_bytes };

	begin(&in);
	for (uint32_t i = 0; i < MAX_ACTIONS && in.nb_left > 0; i++)
		act(&in);
	mana_txq_release_mbufs(fx->txq);
	FUZZ_CHECK(mana_txq_nb_posted(fx->txq) == 0);
	FUZZ_CHECK(fx_pool_missing(fx->mp, NB_POOL) == 0);
	FUZZ_CHECK(fx_pool_missing(fx->bounce_mp, NB_BOUNCE) == 0);
	return 0;
}
