/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Processing of Tx WQEs: tags, checksums, policies. test_scapy.py has all shapes of
 * checksums and LSO, test_tx_errors.c the errors and suppressed completions.
 */

#include "nic.h"
#include "fixture.h"

/* A VLAN tag is inserted on Tx and stripped on Rx; pcp and dei are lost. */
FX_TEST(test_vlan)
{
	uint32_t n = fx_frame(a->buf, NIC_PROTO_TCP, 40);
	struct fx_wqe wqe = fx_tx_wqe(a, 0, n);
	const uint8_t *cqe;

	fx_fill_rq(b, 4);
	fx_tx_long(a, &wqe);
	wqe.oob[2] = 3u << 16 | 1u << 19 | 100u << 20 | 8;
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	cqe = fx_cqe(&b->rcq);
	assert_int_equal(hw_le32(cqe + 4),
			 100 | HW_RX_F_VLAN | HW_RX_F_IP_OK | HW_RX_F_TCP_OK);
	assert_int_equal(hw_le32(cqe + 8), n);
	assert_memory_equal(fx_rx_buf(b, 0), a->buf, n);
	assert_int_equal(fx_counters(0).tx_bytes, n + 4);
	assert_int_equal(fx_counters(1).rx_bytes, n + 4);
	/* The frame in memory is unchanged. */
	assert_int_equal(hw_be16(a->buf + 12), 0x0800);
	assert_no_violation();
}

/* Seeds like those of rte_ipv4_phdr_cksum() and rte_ipv6_phdr_cksum(). */
static void
put_seed(uint8_t *frame, uint32_t l3, bool v6, uint8_t proto, uint32_t l4_bytes)
{
	struct nic_parsed parsed = { .l3 = v6 ? NIC_L3_IPV6 : NIC_L3_IPV4,
				     .l3_off = l3,
				     .proto = proto };
	uint32_t l4 = l3 + (v6 ? 40 : 20);
	uint16_t sum = nic_csum_fold(nic_csum_pseudo(frame, &parsed, l4_bytes));

	memcpy(frame + l4 + (proto == NIC_PROTO_TCP ? 16 : 6), &sum, 2);
	if (!v6)
		memset(frame + l3 + 10, 0, 2);
}

FX_TEST(test_checksums)
{
	uint8_t want[256];
	uint32_t i;

	fx_fill_rq(b, 8);
	for (i = 0; i < 8; i++) {
		const bool v6 = i & 1, tcp = i & 2;
		const uint8_t proto = tcp ? NIC_PROTO_TCP : NIC_PROTO_UDP;
		/* odd sizes too */
		uint32_t n = v6 ? fx_frame6(want, proto, 21 + (i >> 2)) :
				  fx_frame(want, proto, 21 + (i >> 2));
		const uint32_t l4 = v6 ? 54 : 34;
		struct fx_wqe wqe = fx_tx_wqe(a, 0, n);
		const uint8_t *cqe;

		memcpy(a->buf, want, n);
		put_seed(a->buf, 14, v6, proto, n - l4);
		wqe.oob[0] |= v6 ? 1u << 3 : 1u << 2 | 1u << 4;
		wqe.oob[0] |= tcp ? 1u << 5 : 1u << 6;
		wqe.oob[1] |= l4;
		assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
		assert_memory_equal(fx_rx_buf(b, i), want, n);
		cqe = fx_cqe(&b->rcq);
		assert_int_equal(hw_le32(cqe + 4),
				 HW_RX_F_IP_OK | (tcp ? HW_RX_F_TCP_OK :
							HW_RX_F_UDP_OK));
	}
	assert_no_violation();
}

/* Policies beyond those that have an error completion: see test_tx_errors.c. */
TEST_WITH(test_policies, NULL, fx_teardown)
{
	static struct fixture fx;
	struct fx_wqe wqe;

	fx_defaults(&fx);
	fx.config.enforce = MODEL_ENFORCE_VLAN | MODEL_ENFORCE_DMAC;
	fx.config.max_mtu = 1500;
	fx_start(&fx);
	fx_frame(a->buf, NIC_PROTO_UDP, 1472);
	wqe = fx_tx_wqe(a, 0, 1514);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	wqe = fx_tx_wqe(a, 0, 100000);
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_MTU_DROP);
	/* A tag in the frame. */
	wqe = fx_tx_wqe(a, 0, 60);
	a->buf[12] = 0x81;
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_VLAN_TAGGING_VIOLATION);
	/* To no port: sent, and dropped by the receiver. */
	fx_frame(a->buf, NIC_PROTO_UDP, 20);
	a->buf[5] = 9;
	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
	assert_int_equal(fx_counters(1).rx_filtered, 1);
	assert_no_violation();
}
