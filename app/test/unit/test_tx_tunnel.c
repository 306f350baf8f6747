/* SPDX-License-Identifier: BSD-3-Clause */

/* Packets of tunnels: checksums of the outer headers alone. */

#include <rte_errno.h>
#include <rte_ip.h>

#include "bed.h"

#define TUNNEL RTE_MBUF_F_TX_TUNNEL_VXLAN

static struct bed_tx_wqe wqe;

struct outer {
	uint64_t ol_flags;
	uint16_t l2_len, l3_len;
	int error;
};

#define O4 RTE_MBUF_F_TX_OUTER_IPV4
#define O6 RTE_MBUF_F_TX_OUTER_IPV6
#define OIP RTE_MBUF_F_TX_OUTER_IP_CKSUM
#define OUDP RTE_MBUF_F_TX_OUTER_UDP_CKSUM

static const struct outer outers[] = {
	{ TUNNEL | O4 | OIP, 14, 20, 0 },
	{ TUNNEL | O4 | OIP | OUDP, 14, 20, 0 },
	{ TUNNEL | O4 | OUDP, 14, 20, 0 },
	{ TUNNEL | O6 | OUDP, 14, 40, 0 },
	{ TUNNEL | O4 | OIP | OUDP, 18, 24, 0 },
	{ RTE_MBUF_F_TX_TUNNEL_GRE | O4 | OIP, 14, 20, 0 },
	/* flags without tunnel type tell all there is to know */
	{ O4 | OIP | OUDP, 14, 20, 0 },
	/* what is inside is described, but nothing asked for */
	{ TUNNEL | O4 | OIP | RTE_MBUF_F_TX_IPV6, 14, 20, 0 },
	{ TUNNEL | OIP, 14, 20, EINVAL },
	{ TUNNEL | OUDP, 14, 20, EINVAL },
	{ TUNNEL | O6 | OIP, 14, 40, EINVAL },
	{ TUNNEL | O4 | O6 | OUDP, 14, 40, EINVAL },
	{ TUNNEL | O4 | OIP, 0, 0, EINVAL },
	{ TUNNEL | O4 | OIP, 14, 16, EINVAL },
	{ TUNNEL | O6 | OUDP, 14, 48, ENOTSUP },
	{ TUNNEL | O4 | OIP, 127, 280, EINVAL }, /* beyond the frame */
	{ TUNNEL | O4 | OIP | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM, 14, 20,
	  ENOTSUP },
	{ TUNNEL | O4 | OIP | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 14, 20,
	  ENOTSUP },
	{ TUNNEL | O4 | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 14, 20,
	  ENOTSUP },
	{ O4 | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, 14, 20, ENOTSUP },
};

/* An Ethernet, IP and UDP header, then what only the flags call a tunnel. */
static void
outer_frame(const struct outer *o, uint8_t *frame)
{
	uint8_t *ip = frame + o->l2_len;
	bool ipv6 = o->ol_flags & O6;

	for (uint32_t i = 0; i < 400; i++)
		frame[i] = i * 17;
	if (o->error != 0)
		return;
	hw_put_be16(ip + (ipv6 ? 4 : 2), 400 - o->l2_len - (ipv6 ? 40 : 0));
	ip[0] = ipv6 ? 0x60 : 0x40 | o->l3_len / 4;
	ip[ipv6 ? 6 : 9] = 17;
}

static void
outer_expect(struct bed_tx *bed, const struct outer *o)
{
	const struct hw_tx_oob *oob = &wqe.oob;
	uint8_t want[400], *ip = want + o->l2_len;
	uint16_t sum;

	assert_true(bed_tx_fetch(bed, &wqe));
	assert_false(oob->is_encap);
	assert_int_equal(oob->is_ipv4, (o->ol_flags & O4) != 0);
	assert_int_equal(oob->is_ipv6, (o->ol_flags & O6) != 0);
	assert_int_equal(oob->ip_csum, (o->ol_flags & OIP) != 0);
	assert_int_equal(oob->udp_csum, (o->ol_flags & OUDP) != 0);
	assert_false(oob->tcp_csum);
	assert_eq(oob->trans_off, o->l2_len + o->l3_len);
	outer_frame(o, want);
	if (o->ol_flags & OIP)
		hw_put_be16(ip + 10, 0);
	if (o->ol_flags & OUDP) {
		sum = o->ol_flags & O6 ? rte_ipv6_phdr_cksum((void *)ip, 0) :
					 rte_ipv4_phdr_cksum((void *)ip, 0);
		memcpy(ip + o->l3_len + 6, &sum, sizeof(sum));
	}
	assert_eq(wqe.bytes, sizeof(want));
	assert_memory_equal(wqe.frame, want, sizeof(want));
	bed_tx_cqe(bed, HW_CQE_TX_OKAY);
}

static void
outer_checksums(void **state)
{
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});
	uint32_t notsup = 0, inval = 0;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(outers) * 8; i++) {
		const struct outer *o = &outers[i / 8];
		struct rte_mbuf *m = bed_mbuf(bed->mp, 400, 0), *orig = m;

		outer_frame(o, rte_pktmbuf_mtod(m, uint8_t *));
		if (i & 4) /* not ours to write */
			m = rte_pktmbuf_clone(orig, bed->mp);
		m->ol_flags |= o->ol_flags;
		m->outer_l2_len = o->l2_len;
		m->outer_l3_len = o->l3_len;
		m->l2_len = 30; /* of what is inside, tunnel header and all */
		m->l3_len = 20;
		bed->burst = mana_tx_path_select(i % 4)->burst;
		rte_errno = 0;
		if (i & 1) {
			assert_eq(mana_tx_pkt_prepare(bed->txq, &m, 1),
				  o->error == 0);
			assert_int_equal(rte_errno, o->error);
		}
		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		if (o->error == 0)
			outer_expect(bed, o);
		assert_false(bed_tx_fetch(bed, &wqe));
		notsup += o->error == ENOTSUP;
		inval += o->error == EINVAL;
		assert_eq(bed->txq->stats.drop_offload, notsup);
		assert_eq(bed->txq->stats.drop_malformed, inval);
		mana_txq_done_cleanup(bed->txq, 0);
		if (orig != m)
			rte_pktmbuf_free(orig);
	}
	bed_tx_delete(bed);
}

/* A tunnel's packet that asks for nothing goes out as it is. */
static void
plain_tunnel(void **state)
{
	static const uint64_t flags[] = {
		TUNNEL, TUNNEL | O4 | RTE_MBUF_F_TX_IPV4, O6, TUNNEL | O4 | O6,
	};
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){0});

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(flags) * 4; i++) {
		struct rte_mbuf *m = bed_mbuf(bed->mp, 300, i);

		m->ol_flags |= flags[i / 4];
		bed->burst = mana_tx_path_select(i % 4)->burst;
		assert_eq(mana_tx_pkt_prepare(bed->txq, &m, 1), 1);
		assert_eq(bed->burst(bed->txq, &m, 1), 1);
		assert_true(bed_tx_fetch(bed, &wqe));
		assert_false(wqe.oob.wants_csum || wqe.oob.is_encap);
		assert_eq(wqe.bytes, 300);
		assert_memory_equal(wqe.frame, rte_pktmbuf_mtod(m, void *),
				    300);
		bed_tx_cqe(bed, HW_CQE_TX_OKAY);
	}
	bed_tx_delete(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outer_checksums),
		cmocka_unit_test(plain_tunnel),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
