/* SPDX-License-Identifier: BSD-3-Clause */

/* Checksums and VLAN tags on Rx and Tx; packets that cannot be sent. */

#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_errno.h>
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

/*
 * Shared headers are not written: the change for one clone must not appear in
 * the other.
 */
FX_TEST(test_shared_headers_are_copied)
{
	struct shape shape = { .is_tcp = true, .payload_bytes = 200 };
	struct rte_mbuf *m, *clone, *got;
	uint8_t bytes[1600];
	uint32_t len;

	fx_start(fx, &offloads);
	for (unsigned int seed = 1; seed < 20; seed++) {
		shape.is_v6 = seed & 1;
		shape.is_tcp = seed & 2;
		shape.seg_bytes = seed & 4 ? 30 : 0;
		m = make_mbuf(fx, &shape, seed);
		len = make_frame(bytes, &shape, seed);
		clone = rte_pktmbuf_clone(m, fx->pool);
		assert_non_null(clone);
		ask_checksums(clone, &shape);
		send_prepared(fx, clone);
		assert_int_equal(fx_receive(fx->port[1], 0, &got, 1), 1);
		check_frame(got, &shape, seed);
		rte_pktmbuf_free(got);
		fx_check_bytes(m, bytes, len);
		rte_pktmbuf_free(m);
	}
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

/* A tag in the frame is sent unchanged. */
FX_TEST(test_vlan_inline)
{
	uint8_t bytes[204], untagged[200];
	struct rte_mbuf *m;

	fx->ignore_counters = true;
	fx_frame_bytes(untagged, sizeof(untagged), 6);
	memcpy(bytes, untagged, 12);
	memcpy(bytes + 12, (const uint8_t[]){ 0x81, 0, 0, 99 }, 4);
	memcpy(bytes + 16, untagged + 12, sizeof(untagged) - 12);
	fx_start(fx, &offloads);
	m = fx_chain(fx->pool, bytes, sizeof(bytes), sizeof(bytes));
	fx_send(fx->port[0], 0, &m, 1);
	assert_int_equal(fx_receive(fx->port[1], 0, &m, 1), 1);
	fx_check_bytes(m, untagged, sizeof(untagged));
	assert_int_equal(m->vlan_tci, 99);
	rte_pktmbuf_free(m);
}

FX_TEST(test_prepare_refuses)
{
	static const uint64_t wrong[] = {
		RTE_MBUF_F_TX_SCTP_CKSUM | RTE_MBUF_F_TX_IPV4,
		RTE_MBUF_F_TX_MACSEC,
		RTE_MBUF_F_TX_QINQ,
		RTE_MBUF_F_TX_SEC_OFFLOAD,
	};

	fx_start(fx, &offloads);
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		struct rte_mbuf *pkts[2] = { fx_frame(fx->pool, 100, i),
					     fx_frame(fx->pool, 100, i) };

		pkts[1]->ol_flags |= wrong[i];
		assert_int_equal(rte_eth_tx_prepare(fx->port[0], 0, pkts, 2), 1);
		assert_true(rte_errno == ENOTSUP || rte_errno == EINVAL);
		rte_pktmbuf_free_bulk(pkts, 2);
	}
}

/*
 * A burst accepts, frees and counts a packet that can never be sent, and sends
 * the others, at any position.
 */
FX_TEST(test_unsendable_in_a_burst)
{
	unsigned int nb_bad = 0;

	fx_start(fx, &defaults);
	for (unsigned int bad = 0; bad <= 8; bad++) {
		struct rte_mbuf *pkts[8], *got[8];
		unsigned int nb_good = bad < 8 ? 7 : 8;

		for (unsigned int i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = fx_frame(fx->pool, 100 + i, i);
		if (bad < 8) {
			rte_pktmbuf_trim(pkts[bad], pkts[bad]->pkt_len);
			nb_bad++;
		}
		fx_send(fx->port[0], 0, pkts, RTE_DIM(pkts));
		assert_int_equal(fx_receive(fx->port[1], 0, got, nb_good), nb_good);
		for (unsigned int i = 0, at = 0; i < RTE_DIM(pkts); i++)
			if (i != bad)
				assert_int_equal(got[at++]->pkt_len, 100 + i);
		rte_pktmbuf_free_bulk(got, nb_good);
		assert_int_equal(fx_stats(fx->port[0]).oerrors, nb_bad);
	}
	/* a burst of bad packets only */
	for (unsigned int i = 0; i < 4; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(fx->pool);

		fx_send(fx->port[0], 0, &m, 1);
	}
	assert_int_equal(fx_stats(fx->port[0]).oerrors, nb_bad + 4);
	assert_int_equal(fx_wire(fx, 0).tx_errors, 0);
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

int
main(void)
{
	return FX_RUN("offload");
}
