/* SPDX-License-Identifier: BSD-3-Clause */

/* Which queue a packet arrives on, and the hash and type in its mbuf. */

#include <string.h>

#include <rte_arp.h>
#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_thash.h>
#include <rte_udp.h>

#include "bench.h"

#define KEY_BYTES 40

static uint8_t key[KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static const struct bench_config plain;

/* Toeplitz over addresses and ports, by DPDK's own function. */
static uint32_t
expected_hash(const struct rte_mbuf *m)
{
	const struct rte_ipv4_hdr *ip =
		rte_pktmbuf_mtod_offset(m, const void *, RTE_ETHER_HDR_LEN);
	const struct rte_udp_hdr *udp = (const void *)(ip + 1);
	struct rte_ipv4_tuple tuple = {
		.src_addr = rte_be_to_cpu_32(ip->src_addr),
		.dst_addr = rte_be_to_cpu_32(ip->dst_addr),
		.sport = rte_be_to_cpu_16(udp->src_port),
		.dport = rte_be_to_cpu_16(udp->dst_port),
	};

	return rte_softrss((uint32_t *)&tuple, RTE_THASH_V4_L4_LEN, key);
}

static uint16_t
table_entry(uint16_t port, uint16_t reta_size, uint16_t index)
{
	struct rte_eth_rss_reta_entry64 reta[8] = { 0 };

	assert_true(reta_size <= 512);
	for (unsigned int i = 0; i < RTE_DIM(reta); i++)
		reta[i].mask = UINT64_MAX;
	assert_int_equal(rte_eth_dev_rss_reta_query(port, reta, reta_size), 0);
	return reta[index / 64].reta[index % 64];
}

/* The port's only waiting packet, wherever it is; its queue in *queue. */
static struct rte_mbuf *
receive_anywhere(uint16_t port, uint16_t nb_rxq, uint16_t *queue)
{
	uint64_t end = bench_deadline();
	struct rte_mbuf *m;

	while (rte_get_timer_cycles() < end)
		for (uint16_t q = 0; q < nb_rxq; q++)
			if (rte_eth_rx_burst(port, q, &m, 1) == 1) {
				*queue = q;
				return m;
			}
	fail_msg("nothing received");
	return NULL;
}

static void
check_distribution(struct bench *bench, uint16_t nb_rxq)
{
	struct bench_config config = { .nb_rxq = nb_rxq, .nb_rxd = 64, .rss_hf = BENCH_RSS,
				       .rss_key = key,
				       .rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH };
	unsigned int nb_of_queue[64] = { 0 };
	struct rte_eth_dev_info info;

	bench_start(bench, &config);
	assert_int_equal(rte_eth_dev_info_get(bench->port[1], &info), 0);
	for (unsigned int seed = 0; seed < 500; seed++) {
		struct rte_mbuf *m = bench_frame(bench->pool, 100, seed);
		uint32_t hash = expected_hash(m);
		uint16_t queue;

		bench_send(bench->port[0], 0, &m, 1);
		m = receive_anywhere(bench->port[1], nb_rxq, &queue);
		nb_of_queue[queue]++;
		assert_int_equal(queue, table_entry(bench->port[1], info.reta_size,
						    hash % info.reta_size));
		if (nb_rxq > 1) {
			assert_true(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH);
			assert_int_equal(m->hash.rss, hash);
			assert_int_equal(m->packet_type & RTE_PTYPE_L4_MASK,
					 RTE_PTYPE_L4_UDP);
			assert_true(RTE_ETH_IS_IPV4_HDR(m->packet_type));
		}
		rte_pktmbuf_free(m);
	}
	for (uint16_t q = 0; q < nb_rxq; q++)
		assert_true(nb_of_queue[q] > 0);
	bench_stop(bench);
}

static void
test_distribution(void **state)
{
	struct bench *bench = *state;

	check_distribution(bench, 1);
	check_distribution(bench, 2);
	check_distribution(bench, 4);
	check_distribution(bench, 8);
	check_distribution(bench, 16);
}

static struct rte_mbuf *
arp_frame(struct bench *bench)
{
	uint8_t frame[60] = { 0 };
	struct rte_ether_hdr *eth = (void *)frame;
	struct rte_arp_hdr *arp = (void *)(eth + 1);

	memset(eth->dst_addr.addr_bytes, 0xff, RTE_ETHER_ADDR_LEN);
	eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_ARP);
	arp->arp_hardware = RTE_BE16(RTE_ARP_HRD_ETHER);
	arp->arp_protocol = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	arp->arp_hlen = RTE_ETHER_ADDR_LEN;
	arp->arp_plen = 4;
	arp->arp_opcode = RTE_BE16(RTE_ARP_OP_REQUEST);
	return bench_chain(bench->pool, frame, sizeof(frame), sizeof(frame));
}

/* What has no hash arrives on queue 0, with any number of queues. */
static void
test_arp_on_queue_0(void **state)
{
	struct bench *bench = *state;

	for (uint16_t nb_rxq = 1; nb_rxq <= 16; nb_rxq *= 2) {
		struct bench_config config = { .nb_rxq = nb_rxq, .nb_rxd = 64,
					       .rss_hf = BENCH_RSS };

		bench_start(bench, &config);
		for (unsigned int i = 0; i < 10; i++) {
			struct rte_mbuf *m = arp_frame(bench);
			uint16_t queue;

			bench_send(bench->port[0], 0, &m, 1);
			m = receive_anywhere(bench->port[1], nb_rxq, &queue);
			assert_int_equal(queue, 0);
			assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH, 0);
			rte_pktmbuf_free(m);
		}
		bench_stop(bench);
	}
}

/* mq_mode NONE: no distribution, though there are queues. */
static void
test_no_rss_all_on_queue_0(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxq = 4, .nb_rxd = 64 };

	bench_start(bench, &config);
	for (unsigned int seed = 0; seed < 200; seed++) {
		struct rte_mbuf *m = bench_frame(bench->pool, 100, seed);
		uint16_t queue;

		bench_send(bench->port[0], 0, &m, 1);
		m = receive_anywhere(bench->port[1], 4, &queue);
		assert_int_equal(queue, 0);
		rte_pktmbuf_free(m);
	}
}

static void
test_key_is_reported(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxq = 4, .rss_hf = BENCH_RSS, .rss_key = key };
	uint8_t got[KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_key = got, .rss_key_len = sizeof(got) };

	bench_start(bench, &config);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(bench->port[0], &conf), 0);
	assert_memory_equal(got, key, sizeof(key));
	assert_int_equal(conf.rss_key_len, sizeof(key));
	assert_true(conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_UDP);
}

/* A key of another length is refused, and nothing is left half done. */
static void
test_wrong_key(void **state)
{
	struct bench *bench = *state;
	struct rte_eth_conf conf = { .rxmode = { .mq_mode = RTE_ETH_MQ_RX_RSS } };

	conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
	conf.rx_adv_conf.rss_conf.rss_key = key;
	conf.rx_adv_conf.rss_conf.rss_key_len = 16;
	bench_expect_error("");
	assert_true(rte_eth_dev_configure(bench->port[0], 4, 1, &conf) < 0);
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_distribution),
		BENCH_TEST(test_arp_on_queue_0),
		BENCH_TEST(test_no_rss_all_on_queue_0),
		BENCH_TEST(test_key_is_reported),
		BENCH_TEST(test_wrong_key),
	};

	return BENCH_RUN("rss", tests);
}
