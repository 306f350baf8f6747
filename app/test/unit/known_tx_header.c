/* SPDX-License-Identifier: BSD-3-Clause */

/* Known defects of WQE headers and frame headers on Tx; see known_rx.c. */

#include <netinet/in.h>

#include <rte_ip.h>

#include "known_tx.h"

/* Reserved bits of the long OOB are 0, whatever the ring held. */
static void
long_oob_garbage(void **state)
{
	static const uint32_t far[] = { 3, 300 };
	struct rte_mbuf *m;

	(void)state;
	for (uint32_t k = 0; k < RTE_DIM(far) * 2; k++) {
		struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
			.vp_offset = far[k / 2], .sq_bytes = 4096 });

		for (uint32_t turn = 0; turn < 300; turn++) {
			/* Each place of the ring, filled with ones before. */
			memset(fx->sq_ring, 0xff, fx->conf.sq_bytes);
			m = fx_chain(fx->mp, 1 + turn % 3, 60, turn);
			m->ol_flags = RTE_MBUF_F_TX_VLAN;
			m->vlan_tci = 0xabc;
			if (k % 2 == 1) /* takes the slow path */
				rte_pktmbuf_refcnt_update(m, 1);
			assert_eq(fx->burst(fx->txq, &m, 1), 1);
			assert_eq(hw_le64(fx->sq_ring + 24 + (fx->ci * HW_BU_BYTES &
					  (fx->conf.sq_bytes - 1))), 0);
			expect_frame(fx, 60 * (1 + turn % 3), turn);
			assert_eq(wqe.oob.tci, 0xabc);
			fx_tx_cqe(fx, HW_CQE_TX_OKAY);
			assert_eq(fx->burst(fx->txq, NULL, 0), 0);
			if (k % 2 == 1)
				rte_pktmbuf_free(m);
		}
		fx_tx_delete(fx);
	}
}

#define HDR_BYTES (14 + 20 + 8)
#define SUM_AT (14 + 20 + 6)

/* An IPv4 UDP frame of 100 bytes with checksum requests. */
static struct rte_mbuf *
udp_packet(struct fx_tx *fx, uint16_t *sum)
{
	struct rte_mbuf *m = fx_mbuf(fx->mp, 100, 7);
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);

	ip->version_ihl = 0x45;
	ip->total_length = htons(100 - 14);
	ip->fragment_offset = 0;
	ip->next_proto_id = IPPROTO_UDP;
	m->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM |
		      RTE_MBUF_F_TX_UDP_CKSUM;
	m->l2_len = 14;
	m->l3_len = 20;
	m->l4_len = 8;
	*sum = rte_ipv4_phdr_cksum(ip, m->ol_flags);
	return m;
}

/* The device expects 0 for IP, the pseudo-header sum for UDP. */
static void
expect_udp(struct fx_tx *fx, uint16_t sum, uint32_t from)
{
	assert_true(fx_tx_fetch(fx, &wqe));
	assert_eq(wqe.bytes, 100);
	assert_int_equal(memcmp(wqe.frame + SUM_AT, &sum, sizeof(sum)), 0);
	assert_eq(wqe.frame[24] | wqe.frame[25], 0);
	for (uint32_t i = from; i < 100; i++)
		assert_eq(wqe.frame[i], (uint8_t)(7 + i));
}

/* Headers that continue in the second segment. */
static void
split_header(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});

	(void)state;
	for (uint32_t at = 1; at < HDR_BYTES; at++) {
		uint16_t sum;
		struct rte_mbuf *m = udp_packet(fx, &sum);
		struct rte_mbuf *rest = fx_mbuf(fx->mp, 100, 7);

		/* The remaining bytes in their own segment. */
		memcpy(rte_pktmbuf_mtod(rest, void *), rte_pktmbuf_mtod(m, void *), 100);
		rte_pktmbuf_adj(rest, at);
		rte_pktmbuf_trim(m, 100 - at);
		assert_int_equal(rte_pktmbuf_chain(m, rest), 0);
		/* Bytes behind the end of the first segment are garbage. */
		memset(rte_pktmbuf_mtod_offset(m, void *, at), 0xcd, 100 - at);
		assert_eq(fx->burst(fx->txq, &m, 1), 1);
		expect_udp(fx, sum, HDR_BYTES);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		assert_eq(fx->burst(fx->txq, NULL, 0), 0);
	}
	complete_all(fx);
	fx_tx_delete(fx);
}

/* A header with another reference: no byte of it changes. */
static void
shared_header(void **state)
{
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){0});
	uint8_t before[100];
	uint16_t sum;

	(void)state;
	for (uint32_t k = 0; k < 2; k++) {
		struct rte_mbuf *m = udp_packet(fx, &sum), *sent = m;

		memcpy(before, rte_pktmbuf_mtod(m, void *), sizeof(before));
		if (k == 0) {
			rte_mbuf_refcnt_update(m, 1);
		} else {
			sent = rte_pktmbuf_clone(m, fx->mp);
			assert_non_null(sent);
			sent->l2_len = m->l2_len;
			sent->l3_len = m->l3_len;
		}
		assert_eq(fx->burst(fx->txq, &sent, 1), 1);
		expect_udp(fx, sum, HDR_BYTES);
		assert_int_equal(memcmp(before, rte_pktmbuf_mtod(m, void *),
					sizeof(before)), 0);
		fx_tx_cqe(fx, HW_CQE_TX_OKAY);
		assert_eq(fx->burst(fx->txq, NULL, 0), 0);
		rte_pktmbuf_free(m);
		complete_all(fx);
	}
	fx_tx_delete(fx);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_oob_garbage),
		cmocka_unit_test(split_header),
		cmocka_unit_test(shared_header),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, fx_group_setup, NULL);
}
