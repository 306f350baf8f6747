/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Bursts run step by step: each word of a CQE is loaded at most once after the
 * trailer that tells its owner, and the trailer once; doorbells are stores of 8
 * bytes between two store fences, as many as the queue has counted; nothing is
 * locked, fenced or divided. On all receive and send paths that this processor
 * has, with CQEs of all kinds, in bursts of all sizes.
 */

#include "steps.h"
#include "watch.h"

#define MAX_BURST 40

/* Every instruction of some short bursts, or the CQEs and doorbells of many. */
struct extent {
	bool is_whole;
	uint32_t nb_bursts;
	uint32_t max_burst;
	uint32_t max_new; /* CQEs between two bursts */
};
static const struct extent whole = { true, 10, 6, 8 };
static const struct extent wide = { false, 60, MAX_BURST, 24 };

/* The linker's --wrap: the real one counts what waits. */
__typeof__(mana_rxq_nb_waiting) __real_mana_rxq_nb_waiting,
	__wrap_mana_rxq_nb_waiting;

uint32_t
__wrap_mana_rxq_nb_waiting(const struct mana_rxq *rxq)
{
	uint32_t nb;

	watch_is_count = true;
	nb = __real_mana_rxq_nb_waiting(rxq);
	watch_is_count = false;
	return nb;
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

/* Something arrives; most of it is what usually does. */
static void
arrive(struct bed_rx *bed, uint64_t *seed)
{
	static const uint32_t odd_types[] = {
		HW_CQE_RX_TRUNCATED, HW_CQE_RX_OBJECT_FENCE,
	};
	const uint32_t flags = random_next(seed) & 0x3ff0fff;
	uint32_t len[HW_RX_CQE_NB_PPI], data[15] = { HW_CQE_RX_OKAY };

	for (uint32_t i = 0; i < RTE_DIM(len); i++)
		len[i] = 60 + random_next(seed) % 64;
	switch (random_next(seed) % 32) {
	case 0:
		bed_cqe_write(&bed->cq, data, BED_RQ_ID + 1); /* foreign */
		break;
	case 1:
		bed_rx_frame(bed, 60);
		bed_rx_cqe(bed, HW_CQE_RX_OKAY, 60000);
		break;
	case 2:
		bed_rx_cqe(bed, HW_CQE_RX_OKAY, 0);
		break;
	case 3:
	case 4:
		if (random_next(seed) % 2 == 0)
			bed_rx_frame(bed, 60);
		bed_rx_cqe(bed, odd_types[random_next(seed) % 2], 0);
		break;
	case 5 ... 14:
		bed_rx_coalesced(bed, len, 1 + random_next(seed) % 4, flags);
		break;
	default:
		bed_rx_okay(bed, len[0], flags);
		break;
	}
}

static void
rx_bursts(const struct mana_path *path, const struct bed_rx_opts *opts,
	  const struct extent *extent, bool is_usual, uint64_t seed)
{
	struct bed_rx *bed = bed_rx_new(opts);
	struct mana_rxq *rxq = bed->rxq;
	struct rte_mbuf *pkts[MAX_BURST];
	struct watch watch;
	uint64_t nb_pkts = 0, nb_doorbells;

	watch_init(&watch, &bed->cq, bed->db_page);
	watch.is_whole = extent->is_whole;
	nb_doorbells = rxq->stats.rq_doorbells + rxq->stats.cq_doorbells;
	for (uint32_t i = 0; i < extent->nb_bursts; i++) {
		uint32_t wanted = random_next(&seed) % (extent->max_burst + 1);
		uint32_t nb_new = random_next(&seed) % extent->max_new, ci;
		uint16_t nb;

		while (nb_new-- > 0 && bed_rx_available(bed) >= HW_RX_CQE_NB_PPI &&
		       bed->cq.pi - rxq->cq.ci < bed->cq.nb_cqe) {
			if (is_usual)
				bed_rx_okay(bed, 60, 0);
			else
				arrive(bed, &seed);
		}
		watch_device(&watch);
		ci = rxq->cq.ci;
		watch_begin(&watch);
		nb = path->burst(rxq, pkts, wanted);
		watch_end(&watch);
		watch_taken(&watch, ci, rxq->cq.ci);
		if (watch.fault[0] != '\0')
			fail_msg("%s: burst %u of %u: %s", path->name, i, wanted,
				 watch.fault);
		rte_pktmbuf_free_bulk(pkts, nb);
		nb_pkts += nb;
	}
	nb_doorbells = rxq->stats.rq_doorbells + rxq->stats.cq_doorbells -
		       nb_doorbells;
	assert_eq(watch.nb_doorbells, nb_doorbells);
	assert_true(nb_pkts > extent->nb_bursts);
	assert_true(nb_doorbells > 10 || extent->is_whole);
	/* A packet cannot be known without three words. */
	assert_true(watch.nb_loads > 3 * nb_pkts / HW_RX_CQE_NB_PPI);
	bed_rx_delete(bed);
}

static void
rx_paths(void **state)
{
	uint32_t nb = 0;

	(void)state;
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++) {
		const struct mana_path *path = &mana_rx_paths[i];

		if (!mana_path_is_allowed(path))
			continue;
		nb++;
		rx_bursts(path, &(struct bed_rx_opts){ .free_thresh = 4 }, &whole,
			  true, 0x2468ace);
		rx_bursts(path, &(struct bed_rx_opts){ .free_thresh = 4 }, &whole,
			  false, 0x1357bdf);
		rx_bursts(path, &(struct bed_rx_opts){0}, &wide, true, 0x1234567);
		rx_bursts(path, &(struct bed_rx_opts){0}, &wide, false, 0x89abcde);
		rx_bursts(path, &(struct bed_rx_opts){ .vlan_keep = true,
			.start = UINT32_MAX - 200, .nb_desc = 128 }, &wide, false,
			0xfedcba9);
		if (path->flags & MANA_RX_F_SCATTER)
			rx_bursts(path, &(struct bed_rx_opts){ .nb_segs = 3,
				.seg_bytes = { 64, 32, 512 }, .nb_pool = 1024 },
				&wide, false, 0x13579bd);
	}
	assert_true(nb >= 4);
}

/* ---- Send ---- */

static struct rte_mbuf *
any_packet(struct bed_tx *bed, uint64_t *seed)
{
	struct rte_mbuf *m;

	if (random_next(seed) % 8 != 0)
		return bed_mbuf(bed->mp, 60, 1);
	m = bed_chain(bed->mp, 1 + random_next(seed) % 4, 60, 1);
	if (random_next(seed) % 2 == 0) {
		m->ol_flags = RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = 7;
	}
	return m;
}

static void
tx_bursts(const struct mana_path *path, const struct bed_tx_opts *opts,
	  const struct extent *extent, bool is_usual, uint64_t seed)
{
	static struct bed_tx_wqe wqe;
	struct bed_tx *bed = bed_tx_new(opts);
	struct mana_txq *txq = bed->txq;
	struct rte_mbuf *pkts[MAX_BURST];
	uint32_t nb_open = 0;
	uint64_t nb_doorbells = 0;
	struct watch watch;

	bed->burst = path->burst;
	watch_init(&watch, &bed->cq, bed->db_page);
	watch.is_whole = extent->is_whole;
	for (uint32_t i = 0; i < extent->nb_bursts; i++) {
		uint32_t nb = random_next(&seed) % (extent->max_burst + 1);
		uint32_t nb_done = random_next(&seed) % (nb_open + 1), ci;
		uint16_t nb_sent;

		for (; nb_done > 0; nb_done--, nb_open--)
			bed_tx_cqe(bed, is_usual || random_next(&seed) % 16 != 0 ?
				   HW_CQE_TX_OKAY : HW_CQE_TX_INVALID_OOB);
		watch_device(&watch);
		for (uint32_t k = 0; k < nb; k++)
			pkts[k] = is_usual ? bed_mbuf(bed->mp, 60, 1) :
					     any_packet(bed, &seed);
		ci = txq->cq.ci;
		nb_doorbells -= txq->sq_doorbells + txq->stats.cq_doorbells;
		watch_begin(&watch);
		if (i % 8 == 7) {
			mana_txq_done_cleanup(txq, 0);
			nb_sent = 0;
		} else {
			nb_sent = path->burst(txq, pkts, nb);
		}
		watch_end(&watch);
		nb_doorbells += txq->sq_doorbells + txq->stats.cq_doorbells;
		watch_taken(&watch, ci, txq->cq.ci);
		if (watch.fault[0] != '\0')
			fail_msg("%s: burst %u of %u: %s", path->name, i, nb,
				 watch.fault);
		rte_pktmbuf_free_bulk(pkts + nb_sent, nb - nb_sent);
		while (bed_tx_fetch(bed, &wqe))
			nb_open++;
	}
	assert_eq(watch.nb_doorbells, nb_doorbells);
	assert_true(nb_doorbells > extent->nb_bursts / 2);
	assert_true(watch.nb_loads > extent->nb_bursts);
	bed_tx_delete(bed);
}

static void
tx_paths(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < mana_tx_nb_paths; i++) {
		const struct mana_path *path = &mana_tx_paths[i];

		if (!mana_path_is_allowed(path))
			continue;
		tx_bursts(path, &(struct bed_tx_opts){0}, &whole, true, 0x2468ace);
		tx_bursts(path, &(struct bed_tx_opts){0}, &whole, false, 0x1357bdf);
		tx_bursts(path, &(struct bed_tx_opts){0}, &wide, true, 0x1234567);
		tx_bursts(path, &(struct bed_tx_opts){0}, &wide, false, 0x89abcde);
		tx_bursts(path, &(struct bed_tx_opts){ .zero_position = true,
			.start = UINT32_MAX - 200 }, &wide, false, 0xfedcba9);
	}
}

/* ---- Whoever notices nothing passes everything. ---- */

enum crime {
	INNOCENT,
	LOAD_TWICE,
	LOAD_TWICE_WIDE,
	TRAILER_TWICE,
	NO_TRAILER,
	STORE_CQE,
	NO_FENCE,
	NO_FENCE_BEHIND,
	STORE_BETWEEN,
	HALF_DOORBELL,
	LOCKED,
	EXCHANGED,
	FULL_FENCE,
	DIVISION,
	NB_CRIMES,
};

static __rte_noinline void
commit_crime(enum crime crime, volatile uint32_t *cqe, volatile uint64_t *db,
	     volatile uint32_t *other)
{
	if (crime != NO_TRAILER)
		(void)cqe[15];
	(void)cqe[3];
	if (crime == LOAD_TWICE)
		(void)cqe[3];
	if (crime == LOAD_TWICE_WIDE)
		__asm__ volatile("movdqu 8(%0), %%xmm0" : : "r"(cqe) : "xmm0");
	if (crime == TRAILER_TWICE)
		(void)cqe[15];
	if (crime == STORE_CQE)
		cqe[4] = 0;
	if (crime != NO_FENCE)
		__asm__ volatile("sfence" ::: "memory");
	if (crime == STORE_BETWEEN)
		*other = 1;
	if (crime == HALF_DOORBELL)
		*(volatile uint32_t *)db = 1;
	else
		*db = 1;
	if (crime != NO_FENCE_BEHIND)
		__asm__ volatile("sfence" ::: "memory");
	if (crime == LOCKED)
		__atomic_fetch_add(other, 1, __ATOMIC_RELAXED);
	if (crime == EXCHANGED)
		__atomic_store_n(other, 1, __ATOMIC_SEQ_CST);
	if (crime == FULL_FENCE)
		__asm__ volatile("mfence" ::: "memory");
	if (crime == DIVISION)
		*other = 1000 / (*other | 1);
}

static void
crimes_are_noticed(void **state)
{
	struct bed_cq cq = { .ring = bed_ring_alloc(64 * HW_CQE_BYTES, 0),
			     .nb_cqe = 64, .pi = 64 };
	uint8_t *page = bed_ring_alloc(HW_DB_PAGE_BYTES, 0);
	uint32_t *other = bed_ring_alloc(64, 0);
	const uint32_t data[15] = {0};

	(void)state;
	for (uint32_t crime = 0; crime < NB_CRIMES; crime++) {
		uint32_t at = cq.pi;
		struct watch watch;

		watch_init(&watch, &cq, page);
		watch.is_whole = true;
		bed_cqe_write(&cq, data, 0);
		watch_device(&watch);
		watch_begin(&watch);
		commit_crime(crime, (uint32_t *)(void *)(cq.ring + at % 64 * HW_CQE_BYTES),
			     (uint64_t *)(void *)page, other);
		watch_end(&watch);
		watch_taken(&watch, at, at + 1);
		if ((watch.fault[0] != '\0') != (crime != INNOCENT))
			fail_msg("crime %u: %s", crime, watch.fault);
	}
	free(cq.ring);
	free(page);
	free(other);
}

static int
group_setup(void **state)
{
	(void)state;
	bed_eal_init();
	return steps_init();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crimes_are_noticed),
		cmocka_unit_test(rx_paths),
		cmocka_unit_test(tx_paths),
	};
	int ret = cmocka_run_group_tests(tests, group_setup, NULL);

	printf("%lu steps\n", steps_nb());
	return ret;
}
