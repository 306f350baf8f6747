/* SPDX-License-Identifier: BSD-3-Clause */

/* TSO: checks every segment that arrives, byte by byte. */

#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "fixture.h"

#define FIRST_SEQ 0xfffff000u /* wraps */
#define FIRST_ID 0xfff0u
#define TCI (5u << 13 | 100)
/* Of one packet: an Rx ring of 256 always has so many buffers. */
#define MAX_SEGMENTS 190

static const struct fx_config tso_config = {
	.rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP,
	.tx_offloads = RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
		RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_VLAN_INSERT |
		RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
};

enum tag {
	NO_TAG,
	TAG_INSIDE, /* in the frame */
	TAG_INSERTED /* inserted by the device */
};

struct shape {
	bool is_v6;
	enum tag tag;
	uint16_t l4_len;
	uint16_t segsz;
	uint32_t payload;
	uint32_t mbuf_bytes; /* of each mbuf segment */
};

static uint32_t
l2_bytes(const struct shape *s)
{
	return RTE_ETHER_HDR_LEN + (s->tag == TAG_INSIDE ? RTE_VLAN_HLEN : 0);
}

static uint32_t
l3_bytes(const struct shape *s)
{
	return s->is_v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr);
}

static uint32_t
header_bytes(const struct shape *s)
{
	return l2_bytes(s) + l3_bytes(s) + s->l4_len;
}

static uint8_t
payload_byte(uint32_t at)
{
	return (uint8_t)(at * 7 + (at >> 8));
}

/* Without tag, as after VLAN strip. Checksum fields are zero. */
static void
make_header(const struct shape *s, uint8_t *bytes, uint32_t payload)
{
	struct rte_ether_hdr *eth = (void *)bytes;
	uint8_t *l3 = (uint8_t *)(eth + 1);
	struct rte_tcp_hdr *tcp = (void *)(l3 + l3_bytes(s));
	uint16_t l4_total = s->l4_len + payload;

	memset(bytes, 0, sizeof(*eth) + l3_bytes(s));
	memset(tcp, 1, s->l4_len); /* options: NOP */
	memset(eth->dst_addr.addr_bytes, 0xff, RTE_ETHER_ADDR_LEN);
	eth->src_addr.addr_bytes[0] = 0x02;
	eth->ether_type = rte_cpu_to_be_16(s->is_v6 ? RTE_ETHER_TYPE_IPV6 :
						      RTE_ETHER_TYPE_IPV4);
	if (s->is_v6) {
		struct rte_ipv6_hdr *ip = (void *)l3;

		ip->vtc_flow = RTE_BE32(0x60000000);
		ip->payload_len = rte_cpu_to_be_16(l4_total);
		ip->proto = IPPROTO_TCP;
		ip->hop_limits = 64;
		l3[8] = l3[24] = 0x20; /* addresses */
	} else {
		struct rte_ipv4_hdr *ip = (void *)l3;

		ip->version_ihl = RTE_IPV4_VHL_DEF;
		ip->total_length = rte_cpu_to_be_16(sizeof(*ip) + l4_total);
		ip->packet_id = RTE_BE16(FIRST_ID);
		ip->time_to_live = 64;
		ip->next_proto_id = IPPROTO_TCP;
		ip->src_addr = RTE_BE32(RTE_IPV4(192u, 0, 2, 1));
		ip->dst_addr = RTE_BE32(RTE_IPV4(198u, 51, 100, 2));
	}
	tcp->sent_seq = RTE_BE32(FIRST_SEQ);
	tcp->data_off = s->l4_len / 4 << 4;
	tcp->tcp_flags = RTE_TCP_ACK_FLAG | RTE_TCP_PSH_FLAG | RTE_TCP_FIN_FLAG |
			 RTE_TCP_CWR_FLAG;
	tcp->cksum = 0;
}

/* The packet in mbuf segments, with garbage in its checksum fields. */
static struct rte_mbuf *
make_mbuf(struct fixture *fx, const struct shape *s)
{
	static uint8_t bytes[UINT16_MAX + 1];
	uint32_t hdr = header_bytes(s), len = hdr + s->payload;
	struct rte_mbuf *m;

	make_header(s, bytes, s->payload);
	if (s->tag == TAG_INSIDE) {
		memmove(bytes + 16, bytes + 12, hdr - 16);
		bytes[12] = RTE_ETHER_TYPE_VLAN >> 8;
		bytes[13] = RTE_ETHER_TYPE_VLAN & 0xff;
		bytes[14] = TCI >> 8;
		bytes[15] = TCI & 0xff;
	}
	for (uint32_t i = 0; i < s->payload; i++)
		bytes[hdr + i] = payload_byte(i);
	bytes[hdr - s->l4_len + 16] = 0x5a;
	m = fx_chain(fx->pool, bytes, len, s->mbuf_bytes);
	m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | (s->is_v6 ? RTE_MBUF_F_TX_IPV6 :
		RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM);
	m->l2_len = l2_bytes(s);
	m->l3_len = l3_bytes(s);
	m->l4_len = s->l4_len;
	m->tso_segsz = s->segsz;
	if (s->tag == TAG_INSERTED) {
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = TCI;
	}
	return m;
}

/* Checks segment nth with payload at offset. Returns its payload length. */
static uint32_t
check_segment(const struct rte_mbuf *m, const struct shape *s, uint32_t nth,
	      uint32_t offset)
{
	const bool is_last = s->payload - offset <= s->segsz;
	const uint32_t payload = is_last ? s->payload - offset : s->segsz;
	const uint32_t hdr = RTE_ETHER_HDR_LEN + l3_bytes(s) + s->l4_len;
	uint8_t want[2048], got[2048];
	uint8_t *l3 = got + RTE_ETHER_HDR_LEN;
	struct rte_ipv4_hdr *ip = (void *)(want + RTE_ETHER_HDR_LEN);
	struct rte_tcp_hdr *tcp = (void *)((uint8_t *)ip + l3_bytes(s));

	assert_int_equal(m->pkt_len, hdr + payload);
	memcpy(got, rte_pktmbuf_mtod(m, void *), m->pkt_len);
	make_header(s, want, payload);
	if (!s->is_v6)
		ip->packet_id = rte_cpu_to_be_16(FIRST_ID + nth);
	tcp->sent_seq = rte_cpu_to_be_32(FIRST_SEQ + offset);
	if (!is_last)
		tcp->tcp_flags &= ~(RTE_TCP_PSH_FLAG | RTE_TCP_FIN_FLAG);
	if (nth > 0)
		tcp->tcp_flags &= ~RTE_TCP_CWR_FLAG;
	for (uint32_t i = 0; i < payload; i++)
		want[hdr + i] = payload_byte(offset + i);

	/* correct per DPDK; excluded from the comparison */
	if (s->is_v6) {
		assert_int_equal(rte_ipv6_udptcp_cksum_verify((void *)l3,
							      l3 + l3_bytes(s)), 0);
	} else {
		assert_int_equal(rte_ipv4_udptcp_cksum_verify((void *)l3,
							      l3 + l3_bytes(s)), 0);
		assert_int_equal(rte_raw_cksum(l3, l3_bytes(s)), 0xffff);
		memset(l3 + 10, 0, 2);
	}
	memset(got + ((uint8_t *)&tcp->cksum - want), 0, 2);
	assert_memory_equal(got, want, m->pkt_len);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK,
			 RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_VLAN,
			 s->tag == NO_TAG ? 0 : RTE_MBUF_F_RX_VLAN);
	if (s->tag != NO_TAG)
		assert_int_equal(m->vlan_tci, TCI & 0xfff);
	return payload;
}

/* Checks and frees all segments of a packet. */
static void
check_all(struct fixture *fx, const struct shape *s)
{
	unsigned int nb = s->payload == 0 ? 1 : (s->payload + s->segsz - 1) / s->segsz;
	struct rte_mbuf *got[MAX_SEGMENTS + FX_BURST];
	uint32_t offset = 0;

	assert_true(nb <= MAX_SEGMENTS);
	assert_int_equal(fx_receive(fx->port[1], 0, got, nb), nb);
	for (unsigned int i = 0; i < nb; i++)
		offset += check_segment(got[i], s, i, offset);
	assert_int_equal(offset, s->payload);
	rte_pktmbuf_free_bulk(got, nb);
}

FX_TEST(test_segments)
{
	static const struct {
		uint16_t segsz;
		uint32_t payload;
	} sizes[] = {
		{ 1000, 0 }, { 1000, 1 }, { 1000, 999 }, { 1000, 1000 },
		{ 1000, 1001 }, { 1000, 2000 }, { 1000, 5001 }, { 1, 2 }, { 1, 190 },
		{ 1400, 20000 }, { 536, 60000 },
	};
	static const uint16_t mbuf_bytes[] = { 2000, 1999, 54, 74, 100, 30 };

	fx->ignore_counters = true;
	fx_start(fx, &tso_config);
	for (unsigned int i = 0; i < RTE_DIM(sizes) * RTE_DIM(mbuf_bytes) * 12; i++) {
		unsigned int way = i % 12, size = i / 12 % RTE_DIM(sizes);
		struct shape s = {
			.is_v6 = way & 1,
			.tag = way / 4,
			.l4_len = way & 2 ? 32 : 20,
			.segsz = sizes[size].segsz,
			.payload = sizes[size].payload,
			.mbuf_bytes = mbuf_bytes[i / 12 / RTE_DIM(sizes)],
		};
		struct rte_mbuf *m;

		/* longer chains than a copy takes have another test */
		if (s.mbuf_bytes < 200 && s.payload > 2000)
			continue;
		m = make_mbuf(fx, &s);
		if (i / 12 % 2)
			assert_int_equal(rte_eth_tx_prepare(fx->port[0], 0, &m, 1), 1);
		fx_send(fx->port[0], 0, &m, 1);
		check_all(fx, &s);
	}
}

/* The largest packet in default mbufs has more segments than a WQE. */
FX_TEST(test_largest)
{
	static const uint32_t mbuf_bytes[] = { 2048, 1000, 500, 60 };
	struct rte_eth_stats stats;

	fx->ignore_counters = true;
	fx_start(fx, &tso_config);
	for (unsigned int i = 0; i < RTE_DIM(mbuf_bytes) * 6; i++) {
		struct shape s = {
			.is_v6 = i & 1,
			.tag = i / 2 % 3,
			.l4_len = 32,
			.segsz = 1400,
			.mbuf_bytes = mbuf_bytes[i / 6],
		};
		struct rte_mbuf *m;

		s.payload = UINT16_MAX - header_bytes(&s);
		m = make_mbuf(fx, &s);
		fx_send(fx->port[0], 0, &m, 1);
		check_all(fx, &s);
	}
	assert_int_equal(rte_eth_stats_get(fx->port[0], &stats), 0);
	/* each mbuf counts once, and no copy failed */
	assert_int_equal(stats.opackets, RTE_DIM(mbuf_bytes) * 6);
	assert_int_equal(stats.obytes, RTE_DIM(mbuf_bytes) * 6 * UINT16_MAX);
	assert_int_equal(stats.oerrors, 0);
}
