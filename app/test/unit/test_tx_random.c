/* SPDX-License-Identifier: BSD-3-Clause */

/* Transmit by chance: requests over headers that are none, completions. */

#include "bed.h"

static struct bed_tx_wqe wqe;

static uint32_t
chance(void)
{
	static uint64_t seed = 1;

	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return seed >> 33;
}

/* Any flags and lengths over any bytes, in up to 40 segments. */
static struct rte_mbuf *
random_mbuf(struct bed_tx *bed)
{
	static const uint64_t flags[] = {
		RTE_MBUF_F_TX_IPV4, RTE_MBUF_F_TX_IPV6, RTE_MBUF_F_TX_IP_CKSUM,
		RTE_MBUF_F_TX_TCP_CKSUM, RTE_MBUF_F_TX_UDP_CKSUM,
		RTE_MBUF_F_TX_VLAN, RTE_MBUF_F_TX_OUTER_IPV4,
		RTE_MBUF_F_TX_OUTER_IP_CKSUM, RTE_MBUF_F_TX_OUTER_UDP_CKSUM,
		RTE_MBUF_F_TX_TUNNEL_VXLAN,
	};
	struct rte_mbuf *m = bed_mbuf(bed->mp, chance() % 300, chance());
	uint32_t nb = chance() % 4 == 0 ? chance() % 40 : chance() % 3;

	for (uint32_t i = 0; i < nb; i++)
		assert_eq(rte_pktmbuf_chain(m, bed_mbuf(bed->mp, chance() % 90,
							chance())), 0);
	m->ol_flags |= chance() % 4 != 0 ? RTE_MBUF_F_TX_TCP_SEG : 0;
	m->ol_flags |= flags[chance() % 2];
	if (chance() % 4 == 0)
		m->ol_flags |= flags[chance() % RTE_DIM(flags)];
	if (chance() % 8 == 0)
		m->ol_flags |= flags[chance() % RTE_DIM(flags)];
	m->l2_len = chance() % 8 != 0 ? 14 : chance();
	m->l3_len = chance() % 8 == 0 ? chance() :
		    m->ol_flags & RTE_MBUF_F_TX_IPV6 ? 40 : 20;
	m->l4_len = chance() % 8 != 0 ? 20 + chance() % 4 * 4 : chance();
	m->tso_segsz = chance() % 8 != 0 ? 1 + chance() % 200 : chance();
	m->outer_l2_len = chance() % 2 ? 14 : chance();
	m->outer_l3_len = chance() % 2 ? 20 : chance();
	return m;
}

/* What would make the device disable the queue. */
static void
check_lso_rules(void)
{
	const struct hw_wqe *header = &wqe.header;
	const struct hw_tx_oob *oob = &wqe.oob;

	if (!header->oob_in_sgl) {
		assert_false(header->has_lso_fields);
		return;
	}
	assert_true(wqe.nb_sge >= 2);
	assert_eq(wqe.sge[0].size_bytes, header->last_vbytes);
	assert_true(header->client_data_unit >= 1);
	assert_true(wqe.bytes - header->last_vbytes >
		    header->client_data_unit);
	assert_true(wqe.bytes <= UINT16_MAX);
	assert_true(oob->tcp_csum && oob->is_ipv4 != oob->is_ipv6);
	assert_true(oob->ip_csum == oob->is_ipv4);
	assert_true(oob->trans_off + 20u <= header->last_vbytes);
}

/*
 * Whatever a packet asks for: what prepare takes is posted by the burst, what
 * it refuses is dropped, whether prepare was called or not, and no WQE breaks
 * the device's rules.
 */
static void
random_requests(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	uint32_t nb_lso = 0, nb_refused = 0;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		struct rte_mbuf *m = random_mbuf(bed), *shared = NULL;
		bool good;

		/* prepare looks at the other one, if there is one */
		if (chance() % 2) {
			shared = rte_pktmbuf_clone(m, bed->mp);
			good = mana_tx_pkt_prepare(bed->txq, &shared, 1) == 1;
			rte_pktmbuf_free(shared);
		} else {
			good = mana_tx_pkt_prepare(bed->txq, &m, 1) == 1;
		}
		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		assert_int_equal(bed_tx_fetch(bed, &wqe), good);
		if (good) {
			check_lso_rules();
			nb_lso += wqe.header.oob_in_sgl;
			bed_tx_cqe(bed, HW_CQE_TX_OKAY);
		}
		nb_refused += !good;
		mana_txq_done_cleanup(bed->txq, 0);
	}
	/* the chances are such that both are common */
	assert_true(nb_lso > 2000 && nb_refused > 2000);
	assert_eq(bed->txq->stats.drop_offload + bed->txq->stats.drop_malformed,
		  nb_refused);
	assert_eq(bed->txq->stats.drop_nomem, 0);
	bed_tx_delete(bed);
}

/* ---- Completions --------------------------------------------------------- */

/* What the device has, the oldest first: mbufs of each WQE, by pool. */
struct posted {
	uint8_t nb[2];
};

struct completions {
	struct bed_tx *bed;
	struct rte_mempool *other;
	struct posted posted[256]; /* by WQE index, masked */
	uint32_t ci; /* WQEs that the device has done with */
	uint32_t errors;
};

static struct rte_mbuf *
random_shape(struct completions *c, struct posted *p)
{
	uint32_t nb = chance() % 3 == 0 ? 1 + chance() % 34 : 1;
	bool is_other = chance() % 5 == 0;
	struct rte_mbuf *m = bed_chain(is_other ? c->other : c->bed->mp, nb, 60,
				       nb);

	*p = (struct posted){0};
	p->nb[is_other] = nb;
	if (chance() % 6 == 0) {
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = nb;
	}
	/* Of two pools. */
	if (nb > 1 && chance() % 4 == 0) {
		assert_eq(rte_pktmbuf_chain(m, bed_mbuf(c->other, 60, 1)), 0);
		p->nb[1]++;
	}
	/* Copied. */
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
			pkts[i] = bed_mbuf(c->bed->mp, 60, i);
			p[i] = (struct posted){ .nb = { 1, 0 } };
		} else {
			pkts[i] = random_shape(c, &p[i]);
		}
	}
	i = c->bed->txq->pi;
	sent = c->bed->burst(c->bed->txq, pkts, nb);
	assert_eq((uint32_t)c->bed->txq->pi - i, sent);
	for (uint32_t k = 0; k < sent; k++)
		c->posted[(i + k) % RTE_DIM(c->posted)] = p[k];
	for (; sent < nb; sent++)
		rte_pktmbuf_free(pkts[sent]);
	while (bed_tx_fetch(c->bed, &wqe))
		;
}

/* The device is done with some, now and then badly. */
static void
random_completions(struct completions *c, uint32_t bad_in)
{
	uint32_t nb = (uint32_t)c->bed->txq->pi - c->ci;

	for (nb = chance() % (nb + 1); nb > 0; nb--, c->ci++) {
		bool bad = chance() % bad_in == 0;

		c->errors += bad;
		bed_tx_cqe(c->bed, bad ? HW_CQE_TX_SA_DROP + chance() % 9 :
					 HW_CQE_TX_OKAY);
	}
}

/* Freed: what was released, no more; and only what the device is done with. */
static void
check_released(const struct completions *c)
{
	const struct mana_txq *txq = c->bed->txq;
	uint32_t nb[2] = {0};

	assert_true((int32_t)(c->ci - txq->ci) >= 0);
	for (uint32_t i = txq->ci; i != (uint32_t)txq->pi; i++) {
		nb[0] += c->posted[i % RTE_DIM(c->posted)].nb[0];
		nb[1] += c->posted[i % RTE_DIM(c->posted)].nb[1];
	}
	assert_eq(bed_pool_missing(c->bed->mp, c->bed->nb_mbufs), nb[0]);
	assert_eq(bed_pool_missing(c->other, 2047), nb[1]);
}

/*
 * Packets that may go without a look: there is room for them before any ring
 * ends, and a group whose CQE has not been taken tells when to look.
 */
static void
check_room(const struct mana_txq *txq)
{
	uint32_t room = txq->run_room;
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
 * Positions that are right, that become wrong, that are wrong now and then:
 * no mbuf is freed before its WQE is done or twice, whoever looks and however
 * little tx_done_cleanup is to free.
 */
static void
random_completion_order(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 120; round++) {
		struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
			.nb_desc = 33 + chance() % 200, .nb_cqe = 256,
			.nb_bounce = 2047,
			.sq_bytes = 4096 << chance() % 4,
			.start = UINT32_MAX - chance() % 500,
			.mbufs_per_wqe = 1 << chance() % 3 });
		struct completions c = {
			.bed = bed, .other = bed_pool("other", 2047, 2048),
			.ci = bed->txq->ci,
		};
		uint32_t bad_in = 1 + chance() % 60;

		bed_mr_add_pool(c.other, 0x7001);
		for (uint32_t i = 0; i < 150; i++) {
			uint32_t max = chance() % 8;

			/* 0: always right, 1: becomes wrong, 2: now and then */
			bed->zero_position = round % 3 == 1 ? i > 100 :
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
					    mana_txq_done_cleanup(bed->txq,
								  max) <= max);
				break;
			default:
				mana_txq_done_cleanup(bed->txq, 0);
			}
			check_released(&c);
			check_room(bed->txq);
		}
		while (c.ci != (uint32_t)bed->txq->pi)
			random_completions(&c, bad_in);
		mana_txq_done_cleanup(bed->txq, 0);
		check_released(&c);
		if (round % 3 == 0)
			assert_eq(mana_txq_nb_posted(bed->txq), 0);
		assert_true(mana_txq_nb_posted(bed->txq) <= bed->txq->limit / 2);
		assert_eq(mana_txq_errors(bed->txq), c.errors);
		mana_txq_release_mbufs(bed->txq);
		assert_eq(bed_pool_missing(c.other, 2047), 0);
		bed_tx_delete(bed);
		bed_pool_free(c.other);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_requests),
		cmocka_unit_test(random_completion_order),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
