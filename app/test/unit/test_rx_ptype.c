/* SPDX-License-Identifier: BSD-3-Clause */

/* Packet types parsed from headers, of packets without hash. */

#include <rte_mbuf_ptype.h>

#include "fixture.h"

#define FRAME_BYTES 80

#define L2 RTE_PTYPE_L2_ETHER
#define L2_VLAN RTE_PTYPE_L2_ETHER_VLAN
#define V4 RTE_PTYPE_L3_IPV4
#define V6 RTE_PTYPE_L3_IPV6
#define TCP RTE_PTYPE_L4_TCP
#define UDP RTE_PTYPE_L4_UDP

static const struct {
	const char *name;
	uint32_t want;
	bool has_tag;
	uint16_t ether_type;
	uint16_t fragment; /* IPv4: flags and offset */
	uint8_t proto;
	uint8_t options; /* IPv4: words */
	uint16_t bytes; /* of the frame; 0: FRAME_BYTES */
} frames[] = {
	{ "tcp 4", L2 | V4 | TCP, false, 0x0800, 0, 6 },
	{ "udp 4", L2 | V4 | UDP, false, 0x0800, 0, 17 },
	{ "first fragment", L2 | V4 | RTE_PTYPE_L4_FRAG, false, 0x0800, 0x2000, 17 },
	{ "last fragment", L2 | V4 | RTE_PTYPE_L4_FRAG, false, 0x0800, 0x0001, 6 },
	{ "not to be fragmented", L2 | V4 | UDP, false, 0x0800, 0x4000, 17 },
	{ "options", L2 | RTE_PTYPE_L3_IPV4_EXT | TCP, false, 0x0800, 0, 6, 1 },
	{ "sctp", L2 | V4 | RTE_PTYPE_L4_SCTP, false, 0x0800, 0, 132 },
	{ "a cut TCP header", L2 | V4, false, 0x0800, 0, 6, 0, 53 },
	{ "the shortest TCP", L2 | V4 | TCP, false, 0x0800, 0, 6, 0, 54 },
	{ "icmp", L2 | V4, false, 0x0800, 0, 1 },
	{ "tcp 6", L2 | V6 | TCP, false, 0x86dd, 0, 6 },
	{ "tagged udp 4", L2_VLAN | V4 | UDP, true, 0x0800, 0, 17 },
	{ "arp", L2, false, 0x0806, 0, 17 },
};

static void
make(uint8_t *frame, uint32_t i)
{
	uint32_t at = 12;

	memset(frame, 0, FRAME_BYTES);
	if (frames[i].has_tag) {
		frame[at] = 0x81;
		at += 4;
	}
	frame[at++] = frames[i].ether_type >> 8;
	frame[at++] = frames[i].ether_type & 0xff;
	if (frames[i].ether_type == 0x86dd) {
		frame[at + 6] = frames[i].proto;
		return;
	}
	frame[at] = 0x45 + frames[i].options;
	frame[at + 6] = frames[i].fragment >> 8;
	frame[at + 7] = frames[i].fragment & 0xff;
	frame[at + 9] = frames[i].proto;
}

/* Receives a packet of each kind in one burst; every second one has other flags. */
static void
receive_two(struct fx_rx *fx, mana_burst_t burst, uint32_t even, uint32_t odd,
	    struct rte_mbuf **pkts)
{
	for (uint32_t i = 0; i < RTE_DIM(frames); i++) {
		const uint32_t slot = fx->rx_seq & fx->fresh.mbuf_mask;

		fx_rx_okay(fx, frames[i].bytes != 0 ? frames[i].bytes : FRAME_BYTES,
			   i % 2 == 0 ? even : odd);
		fx_rx_skip(fx);
		make(RTE_PTR_ADD(fx->mbufs[slot]->buf_addr, fx->segs[0].offset), i);
	}
	assert_eq(burst(fx->rxq, pkts, RTE_DIM(frames)), RTE_DIM(frames));
}

static void
receive_all(struct fx_rx *fx, mana_burst_t burst, uint32_t flags,
	    struct rte_mbuf **pkts)
{
	receive_two(fx, burst, flags, flags, pkts);
}

/* A hash gives the packet type; other packets are parsed if configured. */
static void
check_path(const struct mana_rx_path *path, bool parse)
{
	struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){ .parse = parse });
	struct rte_mbuf *pkts[RTE_DIM(frames)];

	receive_all(fx, path->burst, 0, pkts);
	for (uint32_t i = 0; i < RTE_DIM(frames); i++)
		if (pkts[i]->packet_type != (parse ? frames[i].want : 0))
			fail_msg("%s: %s: %#x", path->name, frames[i].name,
				 pkts[i]->packet_type);
	rte_pktmbuf_free_bulk(pkts, RTE_DIM(frames));
	receive_all(fx, path->burst, 0x010u << 16, pkts);
	for (uint32_t i = 0; i < RTE_DIM(frames); i++)
		assert_eq(pkts[i]->packet_type,
			  L2 | RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | TCP);
	rte_pktmbuf_free_bulk(pkts, RTE_DIM(frames));
	receive_two(fx, path->burst, 0, 0x010u << 16, pkts);
	for (uint32_t i = 0; i < RTE_DIM(frames); i++)
		assert_eq(pkts[i]->packet_type, i % 2 != 0 ?
			  L2 | RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | TCP :
			  parse ? frames[i].want : 0);
	rte_pktmbuf_free_bulk(pkts, RTE_DIM(frames));
	fx_rx_delete(fx);
}

TEST(hash_before_headers)
{
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		if (mana_rx_path_is_allowed(&mana_rx_paths[i])) {
			check_path(&mana_rx_paths[i], true);
			check_path(&mana_rx_paths[i], false);
		}
}

/* Vector paths skip the table if packet types are disabled. */
TEST(types_not_requested)
{
	struct rte_mbuf *pkts[RTE_DIM(frames)];

	for (uint32_t i = 0; i < mana_rx_nb_paths; i++) {
		struct fx_rx *fx;

		if (mana_rx_paths[i].simd_bits == 0 ||
		    !mana_rx_path_is_allowed(&mana_rx_paths[i]))
			continue;
		fx = fx_rx_new(&(struct fx_rx_opts){ .no_ptypes = true });
		receive_all(fx, mana_rx_paths[i].burst, 0x010u << 16, pkts);
		for (uint32_t k = 0; k < 4; k++)
			assert_eq(pkts[k]->packet_type, 0);
		rte_pktmbuf_free_bulk(pkts, RTE_DIM(frames));
		fx_rx_delete(fx);
	}
}

/* The application's first segment begins at an odd address. */
FX_RX_TEST(odd_offset,
		.parse = true,
		.nb_segs = 1,
		.seg_bytes = { FRAME_BYTES },
		.seg_offset = { 1 })
{
	struct rte_mbuf *pkts[RTE_DIM(frames)];

	receive_all(fx, mana_rx_path_select()->burst, 0, pkts);
	for (uint32_t i = 0; i < RTE_DIM(frames); i++) {
		assert_eq((uintptr_t)rte_pktmbuf_mtod(pkts[i], void *) % 2, 1);
		assert_eq(pkts[i]->packet_type, frames[i].want);
	}
	rte_pktmbuf_free_bulk(pkts, RTE_DIM(frames));
}
