/* SPDX-License-Identifier: BSD-3-Clause */

/* Random Tx bursts, and random completions. */

#include "fixture.h"

static struct fx_tx_wqe wqe;

static uint32_t
chance(void)
{
	static uint64_t seed = 1;

	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return seed >> 33;
}

/* Outstanding WQEs, oldest first: mbufs of each pool. */
struct posted {
	uint8_t nb[2];
};

struct completions {
	struct fx_tx *fx;
	struct rte_mempool *other;
	struct posted posted[256]; /* by WQE index, masked */
	uint32_t ci; /* WQEs completed by the device */
	uint32_t errors;
};

static struct rte_mbuf *
random_shape(struct completions *c, struct posted *p)
{
	uint32_t nb = chance() % 3 == 0 ? 1 + chance() % 34 : 1;
	bool is_other = chance() % 5 == 0;
	struct rte_mbuf *m = fx_chain(is_other ? c->other : c->fx->mp, nb, 60,
				      nb);

	*p = (struct posted){0};
	p->nb[is_other] = nb;
	if (chance() % 6 == 0) {
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = nb;
	}
	/* From two pools. */
	if (nb > 1 && chance() % 4 == 0) {
		assert_eq(rte_pktmbuf_chain(m, fx_mbuf(c->other, 60, 1)), 0);
		p->nb[1]++;
	}
	/* A copy replaces the packet. */
	if (m->nb_segs > 30)
		*p = (struct posted){0};
	return m;
}

static void
random_burst(struct completions *c)
{
	struct rte_mbuf *pkts[40];
	struct posted p[RTE_DIM(pkts)];
	uint32_t nb = chance() % RTE_DIM(pkts), sent, i;
	bool is_plain = chance() % 2;

	for (i = 0; i < nb; i++) {
		if (is_plain) {
			pkts[i] = fx_mbuf(c->fx->mp, 60, i);
			p[i] = (struct posted){ .nb = { 1, 0 } };
		} else {
			pkts[i] = random_shape(c, &p[i]);
		}
	}
	i = c->fx->txq->pi;
	sent = c->fx->burst(c->fx->txq, pkts, nb);
	assert_eq((uint32_t)c->fx->txq->pi - i, sent);
	for (uint32_t k = 0; k < sent; k++)
		c->posted[(i + k) % RTE_DIM(c->posted)] = p[k];
	for (; sent < nb; sent++)
		rte_pktmbuf_free(pkts[sent]);
	while (fx_tx_fetch(c->fx, &wqe))
		;
}

/* The device completes some WQEs, some with errors. */
static void
random_completions(struct completions *c, uint32_t bad_in)
{
	uint32_t nb = (uint32_t)c->fx->txq->pi - c->ci;

	for (nb = chance() % (nb + 1); nb > 0; nb--, c->ci++) {
		bool bad = chance() % bad_in == 0;

		c->errors += bad;
		fx_tx_cqe(c->fx, bad ? HW_CQE_TX_SA_DROP + chance() % 9 :
					 HW_CQE_TX_OKAY);
	}
}

/* The queue has freed the mbufs of completed WQEs, and no others. */
static void
check_released(const struct completions *c)
{
	const struct mana_txq *txq = c->fx->txq;
	uint32_t nb[2] = {0};

	assert_true((int32_t)(c->ci - txq->ci) >= 0);
	for (uint32_t i = txq->ci; i != (uint32_t)txq->pi; i++) {
		nb[0] += c->posted[i % RTE_DIM(c->posted)].nb[0];
		nb[1] += c->posted[i % RTE_DIM(c->posted)].nb[1];
	}
	assert_eq(fx_pool_missing(c->fx->mp, c->fx->nb_mbufs), nb[0]);
	assert_eq(fx_pool_missing(c->other, 2047), nb[1]);
}

/*
 * Packets that may be posted without polling the CQ: the rings have room for
 * them, and no group due for a poll is skipped.
 */
static void
check_room(const struct mana_txq *txq)
{
	uint32_t room = txq->batch_space;
	uint32_t nb_groups = txq->group_pi - txq->group_ci;

	assert_true(nb_groups <= mana_txq_nb_posted(txq));
	if (room == 0)
		return;
	assert_true(nb_groups != 0);
	assert_true(room + mana_txq_nb_posted(txq) <= txq->limit);
	assert_true(room <= mana_wq_free_bu(&txq->sq));
	assert_true(room + (txq->sq.pi & txq->sq.mask_bu) <= txq->sq.mask_bu + 1);
	assert_true(room + (txq->mbuf_pi & txq->mbuf_mask) <= txq->mbuf_mask + 1);
	assert_true(room + txq->mbuf_pi - txq->mbuf_ci <= txq->mbuf_mask + 1);
}

/*
 * WQE offsets are right, become wrong, or are wrong at random: each mbuf is
 * freed once, after completion, by bursts or by a partial tx_done_cleanup.
 */
TEST(random_completion_order)
{
	for (uint32_t round = 0; round < 120; round++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.nb_desc = 33 + chance() % 200, .nb_cqe = 256,
			.nb_bounce = 2047,
			.sq_bytes = 4096 << chance() % 4,
			.start = UINT32_MAX - chance() % 500,
			.mbufs_per_wqe = 1 << chance() % 3 });
		struct completions c = {
			.fx = fx, .other = fx_pool("other", 2047, 2048),
			.ci = fx->txq->ci,
		};
		uint32_t bad_in = 1 + chance() % 60;

		fx_mr_add_pool(c.other, 0x7001);
		for (uint32_t i = 0; i < 150; i++) {
			uint32_t max = chance() % 8;

			/* 0: always right, 1: becomes wrong, 2: now and then */
			fx->zero_position = round % 3 == 1 ? i > 100 :
					     round % 3 == 2 ? chance() % 9 == 0 :
							      false;
			if (chance() % 3)
				random_completions(&c, bad_in);
			check_released(&c);
			switch (chance() % 3) {
			case 0:
				random_burst(&c);
				break;
			case 1:
				assert_true(max == 0 ||
					    (uint32_t)mana_txq_done_cleanup(fx->txq,
									    max) <= max);
				break;
			default:
				mana_txq_done_cleanup(fx->txq, 0);
			}
			check_released(&c);
			check_room(fx->txq);
		}
		while (c.ci != (uint32_t)fx->txq->pi)
			random_completions(&c, bad_in);
		mana_txq_done_cleanup(fx->txq, 0);
		check_released(&c);
		if (round % 3 == 0)
			assert_eq(mana_txq_nb_posted(fx->txq), 0);
		assert_true(mana_txq_nb_posted(fx->txq) < fx->txq->limit);
		assert_eq(mana_txq_stats_errors(&fx->txq->stats), c.errors);
		mana_txq_release_mbufs(fx->txq);
		assert_eq(fx_pool_missing(c.other, 2047), 0);
		fx_tx_delete(fx);
		fx_pool_free(c.other);
	}
}
