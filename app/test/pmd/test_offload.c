/* SPDX-License-Identifier: BSD-3-Clause */

/* Checksums and VLAN tags on Rx and Tx; a frame above the MTU. */

#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "fixture.h"

#define TX_CKSUM                                                                  \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM |           \
	 RTE_ETH_TX_OFFLOAD_UDP_CKSUM)

static const struct fx_config defaults;
static const struct fx_config offloads = {
	.rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP,
	.tx_offloads = TX_CKSUM | RTE_ETH_TX_OFFLOAD_VLAN_INSERT |
		RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
};

struct shape {
	bool is_v6;
	bool is_tcp;
	uint16_t payload_bytes;
	uint16_t seg_bytes; /* 0: one segment */
};

static uint32_t
l3_bytes(const struct shape *shape)
{
	return shape->is_v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr);
}

static uint32_t
l4_bytes(const struct shape *shape)
{
	return shape->is_tcp ? sizeof(struct rte_tcp_hdr) : sizeof(struct rte_udp_hdr);
}

/* A frame with garbage in its checksum fields. Returns its length. */
static uint32_t
make_frame(uint8_t *bytes, const struct shape *shape, uint32_t seed)
{
	struct rte_ether_hdr *eth = (void *)bytes;
	uint8_t *l3 = (uint8_t *)(eth + 1), *l4 = l3 + l3_bytes(shape);
	uint16_t len = l4_bytes(shape) + shape->payload_bytes;
	uint8_t proto = shape->is_tcp ? IPPROTO_TCP : IPPROTO_UDP;
	uint32_t total = sizeof(*eth) + l3_bytes(shape) + len;

	for (uint32_t i = 0; i < total; i++)
		bytes[i] = (uint8_t)(seed * 13 + i * 5);
	eth->ether_type = rte_cpu_to_be_16(shape->is_v6 ? RTE_ETHER_TYPE_IPV6 :
							  RTE_ETHER_TYPE_IPV4);
	if (shape->is_v6) {
		struct rte_ipv6_hdr *ip = (void *)l3;

		ip->vtc_flow = RTE_BE32(0x60000000);
		ip->payload_len = rte_cpu_to_be_16(len);
		ip->proto = proto;
		ip->hop_limits = 64;
	} else {
		struct rte_ipv4_hdr *ip = (void *)l3;

		ip->version_ihl = RTE_IPV4_VHL_DEF;
		ip->total_length = rte_cpu_to_be_16(sizeof(*ip) + len);
		ip->fragment_offset = 0;
		ip->next_proto_id = proto;
	}
	if (shape->is_tcp)
		((struct rte_tcp_hdr *)l4)->data_off = 5 << 4;
	else
		((struct rte_udp_hdr *)l4)->dgram_len = rte_cpu_to_be_16(len);
	return total;
}

static void
ask_checksums(struct rte_mbuf *m, const struct shape *shape)
{
	m->l2_len = RTE_ETHER_HDR_LEN;
	m->l3_len = l3_bytes(shape);
	m->l4_len = l4_bytes(shape);
	m->ol_flags |= shape->is_tcp ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
	m->ol_flags |= shape->is_v6 ? RTE_MBUF_F_TX_IPV6 :
		RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
}

/* The frame with correct checksums, as computed by DPDK. */
static void
check_frame(const struct rte_mbuf *m, const struct shape *shape, uint32_t seed)
{
	uint8_t wanted[1600], got[1600];
	uint32_t len = make_frame(wanted, shape, seed);
	uint8_t *l3 = got + RTE_ETHER_HDR_LEN, *l4 = l3 + l3_bytes(shape);
	uint32_t at = RTE_ETHER_HDR_LEN + l3_bytes(shape) + (shape->is_tcp ? 16 : 6);

	assert_int_equal(m->pkt_len, len);
	memcpy(got, rte_pktmbuf_mtod(m, void *), len);
	if (shape->is_v6) {
		assert_int_equal(rte_ipv6_udptcp_cksum_verify((void *)l3, l4), 0);
	} else {
		assert_int_equal(rte_ipv4_udptcp_cksum_verify((void *)l3, l4), 0);
		assert_int_equal(rte_raw_cksum(l3, l3_bytes(shape)), 0xffff);
		memcpy(wanted + 24, got + 24, 2);
	}
	memcpy(wanted + at, got + at, 2);
	assert_memory_equal(got, wanted, len);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK,
			 RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK,
			 RTE_MBUF_F_RX_IP_CKSUM_GOOD);
}

static struct rte_mbuf *
make_mbuf(struct fixture *fx, const struct shape *shape, uint32_t seed)
{
	uint8_t bytes[1600];
	uint32_t len = make_frame(bytes, shape, seed);
	struct rte_mbuf *m = fx_chain(fx->pool, bytes, len,
				      shape->seg_bytes != 0 ? shape->seg_bytes : len);

	ask_checksums(m, shape);
	return m;
}

static void
send_prepared(struct fixture *fx, struct rte_mbuf *m)
{
	assert_int_equal(rte_eth_tx_prepare(fx->port[0], 0, &m, 1), 1);
	fx_send(fx->port[0], 0, &m, 1);
}

FX_TEST(test_checksums)
{
	static const uint16_t payloads[] = { 0, 1, 2, 63, 64, 65, 777, 1400 };
	static const uint16_t segs[] = { 0, 14, 34, 41, 54, 1, 7, 100 };
	uint32_t seed = 0;

	fx_start(fx, &offloads);
	for (unsigned int i = 0; i < RTE_DIM(payloads) * RTE_DIM(segs) * 4; i++) {
		struct shape shape = {
			.is_v6 = i & 1,
			.is_tcp = i & 2,
			.payload_bytes = payloads[(i >> 2) % RTE_DIM(payloads)],
			.seg_bytes = segs[(i >> 2) / RTE_DIM(payloads)],
		};
		struct rte_mbuf *m;

		if (shape.seg_bytes == 1 && shape.payload_bytes > 65)
			continue;
		m = make_mbuf(fx, &shape, ++seed);
		send_prepared(fx, m);
		assert_int_equal(fx_receive(fx->port[1], 0, &m, 1), 1);
		check_frame(m, &shape, seed);
		rte_pktmbuf_free(m);
	}
}

/* A UDP checksum of 0 is sent as 0xffff, because 0 means none. */
FX_TEST(test_udp_checksum_zero)
{
	struct shape shape = { .payload_bytes = 2 };
	struct rte_udp_hdr *udp;
	struct rte_ipv4_hdr *ip;
	struct rte_mbuf *m;
	uint16_t *payload;

	fx_start(fx, &offloads);
	m = make_mbuf(fx, &shape, 1);
	ip = rte_pktmbuf_mtod_offset(m, void *, RTE_ETHER_HDR_LEN);
	udp = (void *)(ip + 1);
	payload = (void *)(udp + 1);
	/* the payload completes the sum to all ones */
	*payload = 0;
	udp->dgram_cksum = 0;
	*payload = rte_ipv4_udptcp_cksum(ip, udp);
	send_prepared(fx, m);
	assert_int_equal(fx_receive(fx->port[1], 0, &m, 1), 1);
	udp = rte_pktmbuf_mtod_offset(m, void *, RTE_ETHER_HDR_LEN + sizeof(*ip));
	assert_int_equal(udp->dgram_cksum, 0xffff);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK,
			 RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	rte_pktmbuf_free(m);
}

static struct rte_mbuf *
tagged_mbuf(struct fixture *fx, uint16_t tci, uint32_t seed)
{
	struct rte_mbuf *m = fx_frame(fx->pool, 200, seed);

	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = tci;
	return m;
}

/* The device inserts the tag and strips it on Rx; mbufs have its 12-bit id. */
FX_TEST(test_vlan_insert_and_strip)
{
	static const uint16_t ids[] = { 1, 2, 100, 0x555, 0xaaa, 4094 };
	uint8_t bytes[200];

	fx_start(fx, &offloads);
	for (unsigned int i = 0; i < RTE_DIM(ids); i++) {
		struct rte_mbuf *m = tagged_mbuf(fx, ids[i] | 5 << 13, i);

		fx_send(fx->port[0], 0, &m, 1);
		fx->nb_tags[0]++;
		assert_int_equal(fx_receive(fx->port[1], 0, &m, 1), 1);
		fx_frame_bytes(bytes, sizeof(bytes), i);
		fx_check_bytes(m, bytes, sizeof(bytes));
		assert_int_equal(m->ol_flags & (RTE_MBUF_F_RX_VLAN |
						RTE_MBUF_F_RX_VLAN_STRIPPED),
				 RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
		assert_int_equal(m->vlan_tci, ids[i]);
		rte_pktmbuf_free(m);
	}
	/* without tag no flag */
	fx_pass_one(fx);
}

/* Without VLAN strip the tag stays in the frame. */
FX_TEST(test_vlan_reinserted)
{
	struct fx_config config = { .tx_offloads = RTE_ETH_TX_OFFLOAD_VLAN_INSERT };
	struct rte_mbuf *m = tagged_mbuf(fx, 77, 4);
	uint8_t bytes[204], untagged[200];

	fx->ignore_counters = true; /* the wire counts frames without tag */
	fx_start(fx, &config);
	fx_send(fx->port[0], 0, &m, 1);
	assert_int_equal(fx_receive(fx->port[1], 0, &m, 1), 1);
	fx_frame_bytes(untagged, sizeof(untagged), 4);
	memcpy(bytes, untagged, 12);
	bytes[12] = 0x81;
	bytes[13] = 0;
	bytes[14] = 0;
	bytes[15] = 77;
	memcpy(bytes + 16, untagged + 12, sizeof(untagged) - 12);
	fx_check_bytes(m, bytes, sizeof(bytes));
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED, 0);
	rte_pktmbuf_free(m);
}

/* The device rejects a frame above the MTU: counted once. */
FX_TEST(test_frame_above_mtu)
{
	struct rte_mbuf *pkts[3];

	fx_start(fx, &defaults);
	pkts[0] = fx_frame(fx->pool, 100, 0);
	pkts[1] = fx_frame(fx->pool, 1600, 1);
	pkts[2] = fx_frame(fx->pool, 102, 2);
	fx->refused_bytes[0] = 1600;
	fx_send(fx->port[0], 0, pkts, 3);
	fx_expect_some(fx->port[1], 0, 2);
	fx_pass_one(fx); /* reaps completions */
	assert_int_equal(fx_stats(fx->port[0]).oerrors, 1);
}
