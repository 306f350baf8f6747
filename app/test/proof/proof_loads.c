/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Runs bursts step by step. After each load of the trailer, which holds the
 * owner bits, a burst loads each word of the CQE at most once. Doorbells are
 * 8-byte stores between two store fences, as many as the queue counts. No
 * instruction is locked, a full fence or a division. Covers all Rx and Tx paths
 * of this processor, all kinds of CQEs and all burst sizes.
 */

#include "steps.h"
#include "watch.h"

#define MAX_BURST 40

/* All instructions of few bursts, or CQE and doorbell accesses of many. */
struct extent {
	bool covers_all;
	uint32_t nb_bursts;
	uint32_t max_burst;
	uint32_t max_new; /* CQEs between two bursts */
};
static const struct extent whole = { true, 10, 6, 8 };
static const struct extent wide = { false, 60, MAX_BURST, 24 };

/* ld --wrap: the real function counts waiting packets. */
__typeof__(mana_hwq_nb_waiting) __real_mana_hwq_nb_waiting,
	__wrap_mana_hwq_nb_waiting;

uint32_t
__wrap_mana_hwq_nb_waiting(const struct mana_hwq *hwq, uint32_t max)
{
	uint32_t nb;

	watch_is_count = true;
	nb = __real_mana_hwq_nb_waiting(hwq, max);
	watch_is_count = false;
	return nb;
}

__typeof__(mana_bad_cqe_note) __real_mana_bad_cqe_note, __wrap_mana_bad_cqe_note;

/* The driver copies the first unexpected CQE of a queue for its log. */
void
__wrap_mana_bad_cqe_note(struct mana_bad_cqes *bad, const struct gdma_cqe *cqe,
			 bool is_fatal)
{
	watch_is_count = true;
	__real_mana_bad_cqe_note(bad, cqe, is_fatal);
	watch_is_count = false;
}

static uint64_t
random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 16;
}

/* ---- Receive ---- */

/* Writes CQEs, mostly ordinary ones. */
static void
arrive(struct fx_rx *fx, uint64_t *seed)
{
	const uint32_t flags = random_next(seed) & 0x3ff0fff;
	uint32_t len[HW_RX_CQE_NB_PPI], data[15] = { HW_CQE_RX_OKAY };

	for (uint32_t i = 0; i < RTE_DIM(len); i++)
		len[i] = 60 + random_next(seed) % 64;
	switch (random_next(seed) % 32) {
	case 0:
		fx_cqe_write(&fx->cq, data, FX_RQ_ID + 1); /* foreign */
		break;
	case 1:
		fx_rx_frame(fx, 60);
		fx_rx_cqe(fx, HW_CQE_RX_OKAY, 60000);
		break;
	case 2:
		fx_rx_frame(fx, 60);
		fx_rx_cqe(fx, HW_CQE_RX_TRUNCATED, 0);
		break;
	case 3:
		fx_rx_cqe(fx, HW_CQE_RX_OBJECT_FENCE, 0);
		break;
	case 4 ... 14:
		fx_rx_coalesced(fx, len, 1 + random_next(seed) % 4, flags);
		break;
	default:
		fx_rx_okay(fx, len[0], flags);
		break;
	}
}

static void
rx_bursts(const struct mana_rx_path *path, const struct fx_rx_opts *opts,
	  const struct extent *extent, bool is_usual, uint64_t seed)
{
	struct fx_rx *fx = fx_rx_new(opts);
	struct mana_hwq *hwq = fx->hwq;
	struct rte_mbuf *pkts[MAX_BURST];
	struct watch watch;
	uint64_t nb_pkts = 0, nb_doorbells;

	watch_init(&watch, &fx->cq, fx->db_page);
	watch.covers_all = extent->covers_all;
	nb_doorbells = hwq->stats.rq_doorbells + hwq->stats.cq_doorbells;
	for (uint32_t i = 0; i < extent->nb_bursts; i++) {
		uint32_t wanted = random_next(&seed) % (extent->max_burst + 1);
		uint32_t nb_new = random_next(&seed) % extent->max_new, ci;
		uint16_t nb;

		while (nb_new-- > 0 && fx_rx_available(fx) >= HW_RX_CQE_NB_PPI &&
		       fx->cq.pi - hwq->cq.ci < fx->cq.nb_cqe) {
			if (is_usual)
				fx_rx_okay(fx, 60, 0);
			else
				arrive(fx, &seed);
		}
		watch_device(&watch);
		ci = hwq->cq.ci;
		watch_begin(&watch);
		nb = path->burst(fx->rxq, pkts, wanted);
		watch_end(&watch);
		watch_taken(&watch, ci, hwq->cq.ci);
		if (watch.fault[0] != '\0')
			fail_msg("%s: burst %u of %u: %s", path->name, i, wanted,
				 watch.fault);
		rte_pktmbuf_free_bulk(pkts, nb);
		nb_pkts += nb;
	}
	nb_doorbells = hwq->stats.rq_doorbells + hwq->stats.cq_doorbells -
		       nb_doorbells;
	assert_eq(watch.nb_doorbells, nb_doorbells);
	assert_true(nb_pkts > extent->nb_bursts);
	assert_true(nb_doorbells > 10 || extent->covers_all);
	/* Each packet needs three words. */
	assert_true(watch.nb_loads > 3 * nb_pkts / HW_RX_CQE_NB_PPI);
	fx_rx_delete(fx);
}

TEST(rx_paths)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < mana_rx_nb_paths; i++) {
		const struct mana_rx_path *path = &mana_rx_paths[i];

		if (!mana_rx_path_is_allowed(path))
			continue;
		nb++;
		rx_bursts(path, &(struct fx_rx_opts){ .free_thresh = 4 }, &whole,
			  true, 0x2468ace);
		rx_bursts(path, &(struct fx_rx_opts){ .free_thresh = 4 }, &whole,
			  false, 0x1357bdf);
		rx_bursts(path, &(struct fx_rx_opts){0}, &wide, true, 0x1234567);
		rx_bursts(path, &(struct fx_rx_opts){0}, &wide, false, 0x89abcde);
		rx_bursts(path, &(struct fx_rx_opts){ .vlan_keep = true,
			.start = UINT32_MAX - 200, .nb_desc = 128 }, &wide, false,
			0xfedcba9);
		rx_bursts(path, &(struct fx_rx_opts){ .nb_segs = 3,
			.seg_bytes = { 64, 32, 512 }, .nb_pool = 1024 },
			&wide, false, 0x13579bd);
	}
	assert_true(nb >= 2);
}

/* ---- Send ---- */

static struct rte_mbuf *
any_packet(struct fx_tx *fx, uint64_t *seed)
{
	struct rte_mbuf *m;

	if (random_next(seed) % 8 != 0)
		return fx_mbuf(fx->mp, 60, 1);
	m = fx_chain(fx->mp, 1 + random_next(seed) % 4, 60, 1);
	if (random_next(seed) % 2 == 0) {
		m->ol_flags = RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = 7;
	}
	return m;
}

static void
tx_bursts(const struct fx_tx_opts *opts, const struct extent *extent, bool is_usual,
	  uint64_t seed)
{
	static struct fx_tx_wqe wqe;
	struct fx_tx *fx = fx_tx_new(opts);
	struct mana_txq *txq = fx->txq;
	struct rte_mbuf *pkts[MAX_BURST];
	uint32_t nb_open = 0;
	uint64_t nb_doorbells = 0;
	struct watch watch;

	watch_init(&watch, &fx->cq, fx->db_page);
	watch.covers_all = extent->covers_all;
	for (uint32_t i = 0; i < extent->nb_bursts; i++) {
		uint32_t nb = random_next(&seed) % (extent->max_burst + 1);
		uint32_t nb_done = random_next(&seed) % (nb_open + 1), ci;
		uint16_t nb_sent;

		for (; nb_done > 0; nb_done--, nb_open--)
			fx_tx_cqe(fx, is_usual || random_next(&seed) % 16 != 0 ?
				  HW_CQE_TX_OKAY : HW_CQE_TX_INVALID_OOB);
		watch_device(&watch);
		for (uint32_t k = 0; k < nb; k++)
			pkts[k] = is_usual ? fx_mbuf(fx->mp, 60, 1) :
					     any_packet(fx, &seed);
		ci = txq->cq.ci;
		nb_doorbells -= txq->sq_doorbells + txq->stats.cq_doorbells;
		watch_begin(&watch);
		if (i % 8 == 7) {
			mana_txq_done_cleanup(txq, 0);
			nb_sent = 0;
		} else {
			nb_sent = mana_tx_burst(txq, pkts, nb);
		}
		watch_end(&watch);
		nb_doorbells += txq->sq_doorbells + txq->stats.cq_doorbells;
		watch_taken(&watch, ci, txq->cq.ci);
		if (watch.fault[0] != '\0')
			fail_msg("burst %u of %u: %s", i, nb, watch.fault);
		rte_pktmbuf_free_bulk(pkts + nb_sent, nb - nb_sent);
		while (fx_tx_fetch(fx, &wqe))
			nb_open++;
	}
	assert_eq(watch.nb_doorbells, nb_doorbells);
	assert_true(nb_doorbells > extent->nb_bursts / 2);
	assert_true(watch.nb_loads > extent->nb_bursts);
	fx_tx_delete(fx);
}

TEST(tx_burst)
{
	tx_bursts(&(struct fx_tx_opts){0}, &whole, true, 0x2468ace);
	tx_bursts(&(struct fx_tx_opts){0}, &whole, false, 0x1357bdf);
	tx_bursts(&(struct fx_tx_opts){0}, &wide, true, 0x1234567);
	tx_bursts(&(struct fx_tx_opts){0}, &wide, false, 0x89abcde);
	tx_bursts(&(struct fx_tx_opts){ .zero_position = true,
		.start = UINT32_MAX - 200 }, &wide, false, 0xfedcba9);
	tx_bursts(&(struct fx_tx_opts){ .zero_position = true }, &whole, true,
		  0x7654321);
}

/* ---- Functions that violate the rules ------------------------------------ */

enum violation {
	NO_VIOLATION,
	LOAD_TWICE,
	LOAD_TWICE_WIDE,
	NO_TRAILER,
	STORE_CQE,
	NO_FENCE,
	NO_FENCE_AFTER,
	STORE_BETWEEN,
	HALF_DOORBELL,
	LOCKED,
	EXCHANGED,
	FULL_FENCE,
	DIVISION,
	NB_VIOLATIONS,
};

static __rte_noinline void
violate(enum violation violation, volatile uint32_t *cqe, volatile uint64_t *db,
	volatile uint32_t *other)
{
	if (violation != NO_TRAILER)
		(void)cqe[15];
	(void)cqe[3];
	if (violation == LOAD_TWICE)
		(void)cqe[3];
	if (violation == LOAD_TWICE_WIDE)
		__asm__ volatile("movdqu 8(%0), %%xmm0" : : "r"(cqe) : "xmm0");
	if (violation == STORE_CQE)
		cqe[4] = 0;
	if (violation != NO_FENCE)
		__asm__ volatile("sfence" ::: "memory");
	if (violation == STORE_BETWEEN)
		*other = 1;
	if (violation == HALF_DOORBELL)
		*(volatile uint32_t *)db = 1;
	else
		*db = 1;
	if (violation != NO_FENCE_AFTER)
		__asm__ volatile("sfence" ::: "memory");
	if (violation == LOCKED)
		__atomic_fetch_add(other, 1, __ATOMIC_RELAXED);
	if (violation == EXCHANGED)
		__atomic_store_n(other, 1, __ATOMIC_SEQ_CST);
	if (violation == FULL_FENCE)
		__asm__ volatile("mfence" ::: "memory");
	if (violation == DIVISION)
		*other = 1000 / (*other | 1);
}

TEST(violations_are_detected)
{
	struct fx_cq cq = { .ring = fx_ring_alloc(64 * HW_CQE_BYTES, 0),
			     .nb_cqe = 64, .pi = 64 };
	uint8_t *page = fx_ring_alloc(HW_DB_PAGE_BYTES, 0);
	uint32_t *other = fx_ring_alloc(64, 0);
	const uint32_t data[15] = {0};

	for (uint32_t violation = 0; violation < NB_VIOLATIONS; violation++) {
		uint32_t at = cq.pi;
		struct watch watch;

		watch_init(&watch, &cq, page);
		watch.covers_all = true;
		fx_cqe_write(&cq, data, 0);
		watch_device(&watch);
		watch_begin(&watch);
		violate(violation, (uint32_t *)(void *)(cq.ring + at % 64 * HW_CQE_BYTES),
			     (uint64_t *)(void *)page, other);
		watch_end(&watch);
		watch_taken(&watch, at, at + 1);
		if ((watch.fault[0] != '\0') != (violation != NO_VIOLATION))
			fail_msg("violation %u: %s", violation, watch.fault);
	}
	free(cq.ring);
	free(page);
	free(other);
}

static int
group_setup(void **state)
{
	fx_eal_init();
	return steps_init();
}

int
main(void)
{
	int ret = test_run("unit", group_setup, NULL);

	printf("%lu steps\n", steps_nb());
	return ret;
}
