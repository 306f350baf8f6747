/* SPDX-License-Identifier: BSD-3-Clause */

/* Packet types by the headers, for packets that came without a hash. */

#include <rte_mbuf_ptype.h>

#include "bed.h"
#include "mana_rx.h"

#define L2 RTE_PTYPE_L2_ETHER
#define L2_VLAN RTE_PTYPE_L2_ETHER_VLAN
#define V4 RTE_PTYPE_L3_IPV4_EXT_UNKNOWN
#define V6 RTE_PTYPE_L3_IPV6_EXT_UNKNOWN
#define TCP RTE_PTYPE_L4_TCP
#define UDP RTE_PTYPE_L4_UDP
#define ETHER_BYTES 14u
#define TAG_BYTES 4u
#define IPV4_BYTES 20u
#define IPV6_BYTES 40u

static const struct {
	const char *name;
	uint32_t want;
	uint16_t nb_tags;
	uint16_t ether_type;
	uint16_t fragment; /* IPv4: flags and offset */
	uint8_t proto;
} frames[] = {
	{ "tcp 4", L2 | V4 | TCP, 0, 0x0800, 0, 6 },
	{ "udp 4", L2 | V4 | UDP, 0, 0x0800, 0, 17 },
	{ "may not be fragmented", L2 | V4 | UDP, 0, 0x0800, 0x4000, 17 },
	{ "first fragment", L2 | V4, 0, 0x0800, 0x2000, 17 },
	{ "last fragment", L2 | V4, 0, 0x0800, 0x00b9, 6 },
	{ "icmp", L2 | V4, 0, 0x0800, 0, 1 },
	{ "tcp 6", L2 | V6 | TCP, 0, 0x86dd, 0, 6 },
	{ "udp 6", L2 | V6 | UDP, 0, 0x86dd, 0, 17 },
	{ "fragment 6", L2 | V6, 0, 0x86dd, 0, 44 },
	{ "tagged udp 4", L2_VLAN | V4 | UDP, 1, 0x0800, 0, 17 },
	{ "tagged tcp 6", L2_VLAN | V6 | TCP, 1, 0x86dd, 0, 6 },
	{ "two tags", 0, 2, 0x0800, 0, 17 },
	{ "arp", 0, 0, 0x0806, 0, 17 },
	{ "length", 0, 0, 0x0040, 0, 17 },
};

/* Its headers, no byte more; returns their length. */
static uint32_t
make(uint8_t *frame, uint32_t i)
{
	const bool is_v6 = frames[i].ether_type == 0x86dd;
	uint32_t at = ETHER_BYTES - 2;

	memset(frame, 0, 128);
	for (uint32_t n = 0; n < frames[i].nb_tags; n++, at += TAG_BYTES)
		frame[at] = 0x81;
	frame[at++] = frames[i].ether_type >> 8;
	frame[at++] = frames[i].ether_type & 0xff;
	if (is_v6) {
		frame[at + 6] = frames[i].proto;
		return at + IPV6_BYTES;
	}
	frame[at + 6] = frames[i].fragment >> 8;
	frame[at + 7] = frames[i].fragment & 0xff;
	frame[at + 9] = frames[i].proto;
	return at + IPV4_BYTES;
}

/* Each frame; cut anywhere, it has no type, and nothing behind its end counts. */
static void
by_headers(void **state)
{
	uint8_t frame[128], *alone;

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(frames); i++) {
		uint32_t len = make(frame, i);

		for (uint32_t cut = 0; cut <= len; cut++) {
			uint32_t want = cut == len ? frames[i].want : 0;
			uint32_t got;

			/* as long as it is: a sanitizer sees what lies behind */
			alone = malloc(cut != 0 ? cut : 1);
			assert_non_null(alone);
			memcpy(alone, frame, cut);
			got = mana_rx_ptype_by_headers(alone, cut);
			free(alone);
			if (got != want)
				fail_msg("%s, %u of %u bytes: %#x, not %#x",
					 frames[i].name, cut, len, got, want);
		}
	}
}

/* What the device hashed has its type; only the rest is looked into. */
static void
hash_before_headers(void **state)
{
	const struct mana_path *path = mana_rx_path_select(
		MANA_RX_F_HASH | MANA_RX_F_PARSE);
	struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){0});
	struct rte_mbuf *pkts[2];

	(void)state;
	bed_rx_okay(bed, 60, 0x002u << 16);
	bed_rx_okay(bed, 60, 0);
	assert_eq(path->burst(bed->rxq, pkts, 2), 2);
	bed_rx_check(bed, pkts[0], 60, RTE_MBUF_F_RX_RSS_HASH, L2 | V4 | TCP);
	bed_rx_check(bed, pkts[1], 60, 0, RTE_PTYPE_UNKNOWN);

	/* the device's buffer is the mbuf's: make a frame of what it holds */
	bed_rx_okay(bed, 60, 0);
	make(rte_pktmbuf_mtod(bed->mbufs[2], uint8_t *), 0);
	assert_eq(path->burst(bed->rxq, pkts, 1), 1);
	assert_eq(pkts[0]->packet_type, L2 | V4 | TCP);
	rte_pktmbuf_free(pkts[0]);
	bed_rx_skip(bed);
	bed_rx_delete(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_headers),
		cmocka_unit_test(hash_before_headers),
	};

	return cmocka_run_group_tests(tests, bed_group_setup, NULL);
}
