/* SPDX-License-Identifier: BSD-3-Clause */

/* Processing of Tx WQEs: offloads, LSO, suppression, policies. */

#include "nic.h"
#include "fixture.h"

static struct card_port_counters
counters(uint32_t port)
{
	struct card_port_counters c;

	card_port_counters(0, port, &c);
	return c;
}

/* A VLAN tag is inserted on Tx and stripped on Rx; pcp and dei are lost. */
static void
test_vlan(void **state)
{
	struct fixture *fx = *state;
	struct fx_port *a = &fx->port[0], *b = &fx->port[1];
	uint32_t n = fx_frame(a->buf, NIC_PROTO_TCP, 40);
	struct fx_wqe wqe = fx_tx_wqe(a, 0, n);
	const uint8_t *cqe;

	fx_fill_rq(fx, b, 4);
	fx_tx_long(a, &wqe);
	wqe.oob[2] = 3u << 16 | 1u << 19 | 100u << 20 | 8;
	assert_int_equal(fx_send(fx, a, &wqe), HW_CQE_TX_OKAY);
	cqe = fx_cqe(&b->rcq);
	assert_int_equal(hw_le32(cqe + 4),
			 100 | HW_RX_F_VLAN | HW_RX_F_IP_OK | HW_RX_F_TCP_OK);
	assert_int_equal(hw_le32(cqe + 8), n);
	assert_memory_equal(fx_rx_buf(b, 0), a->buf, n);
	assert_int_equal(counters(0).tx_bytes, n + 4);
	assert_int_equal(counters(1).rx_bytes, n + 4);
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

static void
test_checksums(void **state)
{
	struct fixture *fx = *state;
	struct fx_port *a = &fx->port[0], *b = &fx->port[1];
	uint8_t want[256];
	uint32_t i;

	fx_fill_rq(fx, b, 8);
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
		assert_int_equal(fx_send(fx, a, &wqe), HW_CQE_TX_OKAY);
		assert_memory_equal(fx_rx_buf(b, i), want, n);
		cqe = fx_cqe(&b->rcq);
		assert_int_equal(hw_le32(cqe + 4),
				 HW_RX_F_IP_OK | (tcp ? HW_RX_F_TCP_OK :
							HW_RX_F_UDP_OK));
	}
	assert_no_violation();
}

/* A UDP sum that comes out as 0 is sent as 0xffff. */
static void
test_udp_zero(void **state)
{
	struct fixture *fx = *state;
	struct fx_port *a = &fx->port[0], *b = &fx->port[1];
	uint32_t n = fx_frame(a->buf, NIC_PROTO_UDP, 2);
	struct fx_wqe wqe = fx_tx_wqe(a, 0, n);
	uint32_t sum = hw_be16(a->buf + 40);

	fx_fill_rq(fx, b, 1);
	/* Adjust the payload so that the checksum becomes 0. */
	sum += hw_be16(a->buf + 42);
	hw_put_be16(a->buf + 42, (uint16_t)((sum & 0xffff) + (sum >> 16)));
	put_seed(a->buf, 14, false, NIC_PROTO_UDP, 10);
	wqe.oob[0] |= 1u << 2 | 1u << 4 | 1u << 6;
	assert_int_equal(fx_send(fx, a, &wqe), HW_CQE_TX_OKAY);
	assert_int_equal(hw_be16(fx_rx_buf(b, 0) + 40), 0xffff);
	assert_int_equal(hw_le32(fx_cqe(&b->rcq) + 4),
			 HW_RX_F_IP_OK | HW_RX_F_UDP_OK);
	assert_no_violation();
}

static uint16_t
plain_sum(uint32_t sum, const uint8_t *p, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Check a received segment of an LSO, field by field. */
static void
check_segment(const uint8_t *f, bool v6, uint32_t nth, uint32_t offset,
	      uint32_t payload, bool last)
{
	const uint8_t *ip = f + 14, *tcp = ip + (v6 ? 40 : 20);
	uint32_t pseudo;

	if (v6) {
		assert_int_equal(hw_be16(ip + 4), 20 + payload);
		pseudo = plain_sum(6 + 20 + payload, ip + 8, 32);
	} else {
		assert_int_equal(hw_be16(ip + 2), 40 + payload);
		assert_int_equal(hw_be16(ip + 4), (uint16_t)(0x1234 + nth));
		assert_int_equal(plain_sum(0, ip, 20), 0xffff);
		pseudo = plain_sum(6 + 20 + payload, ip + 12, 8);
	}
	/* It began at 0xffffff00. */
	assert_int_equal(hw_be16(tcp + 4), offset < 0x100 ? 0xffff : 0);
	assert_int_equal(hw_be16(tcp + 6), (uint16_t)(0xff00 + offset));
	assert_int_equal(tcp[13], last ? 0x19 : 0x10);
	assert_int_equal(plain_sum(pseudo, tcp, 20 + payload), 0xffff);
}

static void
send_lso(struct fixture *fx, bool v6, bool vlan)
{
	struct fx_port *a = &fx->port[0], *b = &fx->port[1];
	const uint32_t hdr = v6 ? 74 : 54, mss = 1000, payload = 3500;
	const uint32_t first_slot = b->rx_slot;
	uint32_t off = 0, n, nth;
	struct fx_wqe wqe;

	if (v6)
		fx_frame6(a->buf, NIC_PROTO_TCP, payload);
	else
		fx_frame(a->buf, NIC_PROTO_TCP, payload);
	/* seq 0xffffff00: wraps within; FIN, PSH, ACK */
	memcpy(a->buf + hdr - 16, "\xff\xff\xff\x00", 4);
	a->buf[hdr - 7] = 0x19;
	put_seed(a->buf, 14, v6, NIC_PROTO_TCP, 0);
	memset(a->buf + (v6 ? 18 : 16), 0, 2);
	wqe = fx_tx_wqe(a, 0, hdr);
	fx_tx_add_sge(a, &wqe, hdr, 1234);
	fx_tx_add_sge(a, &wqe, hdr + 1234, payload - 1234);
	if (vlan) {
		fx_tx_long(a, &wqe);
		wqe.oob[2] = 7u << 20 | 8;
	}
	wqe.header[0] = hdr << 24;
	wqe.header[1] |= 1u << 11 | mss << 16;
	wqe.oob[0] |= 1u << 5 | (v6 ? 1u << 3 : 1u << 2 | 1u << 4);
	wqe.oob[1] |= hdr - 20;
	fx_fill_rq(fx, b, 4);
	assert_int_equal(fx_send(fx, a, &wqe), HW_CQE_TX_OKAY);
	assert_null(fx_cqe(&a->scq));
	for (nth = 0; nth < 4; nth++, off += n) {
		const uint8_t *f = fx_rx_buf(b, first_slot + nth);
		const uint8_t *cqe = fx_cqe(&b->rcq);

		n = nth < 3 ? mss : 500;
		assert_non_null(cqe);
		assert_int_equal(hw_le32(cqe + 4),
				 (vlan ? 7 | HW_RX_F_VLAN : 0) | HW_RX_F_IP_OK |
					 HW_RX_F_TCP_OK);
		assert_int_equal(hw_le32(cqe + 8), hdr + n);
		check_segment(f, v6, nth, off, n, nth == 3);
		assert_memory_equal(f + hdr, a->buf + hdr + off, n);
	}
	assert_null(fx_cqe(&b->rcq));
}

static void
test_lso(void **state)
{
	struct fixture *fx = *state;

	send_lso(fx, false, false);
	send_lso(fx, true, false);
	send_lso(fx, false, true);
	send_lso(fx, true, true);
	assert_int_equal(counters(0).tx_packets, 16);
	assert_int_equal(counters(1).rx_packets, 16);
	assert_no_violation();
}

/* Suppressed WQEs have a CQE only if they fail. */
static void
test_suppression(void **state)
{
	struct fixture *fx = *state;
	struct fx_port *a = &fx->port[0];
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);
	struct fx_wqe big = fx_tx_wqe(a, 0, 9015);
	const uint8_t *cqe;

	wqe.oob[0] |= 1u << 7;
	big.oob[0] |= 1u << 7;
	fx_post(&a->sq, &wqe);
	fx_post(&a->sq, &big);
	fx_post(&a->sq, &wqe);
	wqe.oob[0] &= ~(1u << 7);
	fx_post(&a->sq, &wqe);
	fx_ring_sq(fx, a);
	cqe = fx_cqe(&a->scq);
	assert_int_equal(cqe[0] & 0x3f, HW_CQE_TX_MTU_DROP);
	assert_int_equal(hw_le32(cqe + 8) >> 5, 1);
	cqe = fx_cqe(&a->scq);
	assert_int_equal(cqe[0] & 0x3f, HW_CQE_TX_OKAY);
	assert_int_equal(hw_le32(cqe + 8) >> 5, 3);
	assert_null(fx_cqe(&a->scq));
	assert_int_equal(counters(0).tx_errors[1], 1);
	assert_no_violation();
}

static void
test_policies(void **state)
{
	static struct fixture fx;
	struct fx_port *a = &fx.port[0];
	struct fx_wqe wqe;

	(void)state;
	fx_defaults(&fx);
	fx.config.enforce = MODEL_ENFORCE_SA | MODEL_ENFORCE_ETYPE |
			     MODEL_ENFORCE_VLAN | MODEL_ENFORCE_DMAC;
	fx.config.max_mtu = 1500;
	fx_start(&fx);
	fx_frame(a->buf, NIC_PROTO_UDP, 1472);
	wqe = fx_tx_wqe(a, 0, 1514);
	assert_int_equal(fx_send(&fx, a, &wqe), HW_CQE_TX_OKAY);
	wqe = fx_tx_wqe(a, 0, 1515);
	assert_int_equal(fx_send(&fx, a, &wqe), HW_CQE_TX_MTU_DROP);
	wqe = fx_tx_wqe(a, 0, 100000);
	assert_int_equal(fx_send(&fx, a, &wqe), HW_CQE_TX_MTU_DROP);
	wqe = fx_tx_wqe(a, 0, 60);
	a->buf[11]++;
	assert_int_equal(fx_send(&fx, a, &wqe), HW_CQE_TX_SA_DROP);
	a->buf[11]--;
	a->buf[12] = 0x77;
	assert_int_equal(fx_send(&fx, a, &wqe), HW_CQE_TX_INVALID_ETH_TYPE);
	a->buf[12] = 0x81;
	assert_int_equal(fx_send(&fx, a, &wqe),
			 HW_CQE_TX_VLAN_TAGGING_VIOLATION);
	fx_frame(a->buf, NIC_PROTO_UDP, 20);
	fx_tx_long(a, &wqe);
	wqe.oob[2] = 8 | 5u << 20;
	assert_int_equal(fx_send(&fx, a, &wqe),
			 HW_CQE_TX_VLAN_TAGGING_VIOLATION);
	a->buf[5] = 9;
	wqe = fx_tx_wqe(a, 0, 60);
	assert_int_equal(fx_send(&fx, a, &wqe), HW_CQE_TX_OKAY);
	assert_int_equal(counters(1).rx_filtered, 1);
	card_vport_disable_tx(0, 0);
	assert_int_equal(fx_send(&fx, a, &wqe), HW_CQE_TX_VPORT_DISABLED);
	assert_no_violation();
	fx_stop(&fx);
}

int
main(void)
{
#define FX_TEST(test) \
	cmocka_unit_test_setup_teardown(test, fx_setup, fx_teardown)
	const struct CMUnitTest tests[] = {
		FX_TEST(test_vlan),	 FX_TEST(test_checksums),
		FX_TEST(test_udp_zero),	 FX_TEST(test_lso),
		FX_TEST(test_suppression), cmocka_unit_test(test_policies),
	};

	return cmocka_run_group_tests_name("tx", tests, NULL, NULL);
}
