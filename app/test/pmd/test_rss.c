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
expected_hash_by(const struct rte_mbuf *m, const uint8_t *by_key)
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

	return rte_softrss((uint32_t *)&tuple, RTE_THASH_V4_L4_LEN, by_key);
}

static uint32_t
expected_hash(const struct rte_mbuf *m)
{
	return expected_hash_by(m, key);
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
		assert_int_equal(m->port, bench->port[1]);
		assert_int_equal(queue, table_entry(bench->port[1], info.reta_size,
						    hash % info.reta_size));
		if (nb_rxq > 1) {
			assert_true(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH);
			assert_int_equal(m->hash.rss, hash);
		}
		/* by the hash type, or by the headers: the same */
		assert_int_equal(m->packet_type,
				 RTE_PTYPE_L2_ETHER | RTE_PTYPE_L4_UDP |
					 RTE_PTYPE_L3_IPV4_EXT_UNKNOWN);
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
	/* the device has a power of two of queues, whatever ethdev has */
	check_distribution(bench, 3);
	check_distribution(bench, 5);
	check_distribution(bench, 7);
	check_distribution(bench, 15);
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

	for (uint16_t nb_rxq = 1; nb_rxq <= 16; nb_rxq++) {
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

/*
 * A queue that others are hidden behind: nothing is lost and nothing starves
 * when more waits than a poll takes, and each poll is full.
 */
static void
test_more_than_a_poll_takes(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxq = 3, .nb_rxd = 64, .rss_hf = BENCH_RSS };
	unsigned int nb_sent = 0, nb_of_entry[4] = { 0 };

	bench_start(bench, &config);
	for (unsigned int seed = 0; seed < 160; seed++) {
		struct rte_mbuf *m = bench_frame(bench->pool, 100, seed);
		unsigned int entry = expected_hash(m) % RTE_DIM(nb_of_entry);

		if (nb_of_entry[entry] == 40) {
			rte_pktmbuf_free(m);
			continue;
		}
		nb_of_entry[entry]++;
		bench_send(bench->port[0], 0, &m, 1);
		nb_sent++;
	}
	bench_settle(bench);
	for (uint16_t q = 0; q < 3; q++) {
		struct rte_mbuf *pkts[8];
		uint16_t nb, last = RTE_DIM(pkts);

		while ((nb = rte_eth_rx_burst(bench->port[1], q, pkts, RTE_DIM(pkts))) != 0) {
			/* only the last one of all is not full */
			assert_int_equal(last, RTE_DIM(pkts));
			last = nb;
			rte_pktmbuf_free_bulk(pkts, nb);
			nb_sent -= nb;
		}
	}
	assert_int_equal(nb_sent, 0);
}

/* Counters of hidden queues are those of the queue that polls them, for good. */
static void
test_hidden_queues_are_counted(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxq = 3, .nb_rxd = 64, .rss_hf = BENCH_RSS };
	struct rte_eth_stats running, stopped;
	uint64_t sum = 0;

	bench_start(bench, &config);
	for (unsigned int seed = 0; seed < 100; seed++) {
		struct rte_mbuf *m = bench_frame(bench->pool, 100, seed);

		bench_send(bench->port[0], 0, &m, 1);
	}
	bench_drain(bench);
	assert_int_equal(rte_eth_stats_get(bench->port[1], &running), 0);
	assert_int_equal(running.ipackets, 100);
	for (uint16_t q = 0; q < 3; q++)
		sum += running.q_ipackets[q];
	assert_int_equal(sum, 100);
	bench_stop(bench);
	assert_int_equal(rte_eth_stats_get(bench->port[1], &stopped), 0);
	assert_memory_equal(&running, &stopped, sizeof(stopped));
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

/* Where 200 flows go: all as the table says, by this key. */
static void
check_flows(struct bench *bench, uint16_t nb_rxq, const uint8_t *by_key)
{
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(bench->port[1], &info), 0);
	for (unsigned int seed = 0; seed < 200; seed++) {
		struct rte_mbuf *m = bench_frame(bench->pool, 100, seed);
		uint32_t hash;
		uint16_t queue;

		hash = expected_hash_by(m, by_key);
		bench_send(bench->port[0], 0, &m, 1);
		m = receive_anywhere(bench->port[1], nb_rxq, &queue);
		assert_int_equal(queue, table_entry(bench->port[1], info.reta_size,
						    hash % info.reta_size));
		rte_pktmbuf_free(m);
	}
}

static void
test_key_update(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = BENCH_RSS,
				       .rss_key = key };
	uint8_t other[KEY_BYTES], got[KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_key = other, .rss_key_len = KEY_BYTES,
					 .rss_hf = RTE_ETH_RSS_IPV4 };
	struct rte_eth_rss_conf query = { .rss_key = got, .rss_key_len = KEY_BYTES };

	for (unsigned int i = 0; i < KEY_BYTES; i++)
		other[i] = key[KEY_BYTES - 1 - i];
	bench_start(bench, &config);
	check_flows(bench, 4, key);
	assert_int_equal(rte_eth_dev_rss_hash_update(bench->port[1], &conf), 0);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(bench->port[1], &query), 0);
	assert_memory_equal(got, other, KEY_BYTES);
	assert_true(query.rss_hf & RTE_ETH_RSS_NONFRAG_IPV6_TCP);
	check_flows(bench, 4, other);
	/* a restart keeps it, a configuration does not */
	bench_stop(bench);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	check_flows(bench, 4, other);
	bench_stop(bench);
	conf.rss_key = key;
	assert_int_equal(rte_eth_dev_rss_hash_update(bench->port[1], &conf), 0);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	check_flows(bench, 4, key);
	/* without a key nothing changes */
	conf.rss_key = NULL;
	conf.rss_key_len = 0;
	assert_int_equal(rte_eth_dev_rss_hash_update(bench->port[1], &conf), 0);
	check_flows(bench, 4, key);

	bench_expect_error("");
	conf.rss_key = other;
	conf.rss_key_len = KEY_BYTES - 1;
	assert_int_equal(rte_eth_dev_rss_hash_update(bench->port[1], &conf), -EINVAL);
	conf.rss_key_len = KEY_BYTES;
	conf.rss_hf = 0;
	assert_int_equal(rte_eth_dev_rss_hash_update(bench->port[1], &conf), -ENOTSUP);
	check_flows(bench, 4, key);
}

static void
table_get(uint16_t port, uint16_t size, uint16_t *queues)
{
	for (uint16_t i = 0; i < size; i++)
		queues[i] = table_entry(port, size, i);
}

static int
table_set(uint16_t port, uint16_t size, const uint16_t *queues, uint64_t mask)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = mask };

	for (uint16_t i = 0; i < size; i++)
		reta.reta[i] = queues[i];
	return rte_eth_dev_rss_reta_update(port, &reta, size);
}

/* Any order of the queues that are in it; parts of the table, too. */
static void
test_table_update(void **state)
{
	static const uint16_t order[] = { 3, 1, 0, 2 };
	static const uint16_t swapped[] = { 9, 0, 1, 9 };
	static const uint16_t after[] = { 3, 0, 1, 2 };
	static const uint16_t twice[8] = { 3, 3, 1, 0 };
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = BENCH_RSS,
				       .rss_key = key };
	uint16_t got[8];

	bench_start(bench, &config);
	assert_int_equal(table_set(bench->port[1], 4, order, 0xf), 0);
	table_get(bench->port[1], 4, got);
	assert_memory_equal(got, order, sizeof(order));
	check_flows(bench, 4, key);
	/* entries 1 and 2 change places; the others are not looked at */
	assert_int_equal(table_set(bench->port[1], 4, swapped, 0x6), 0);
	table_get(bench->port[1], 4, got);
	assert_memory_equal(got, after, sizeof(after));
	check_flows(bench, 4, key);
	bench_expect_error("too often");
	assert_int_equal(table_set(bench->port[1], 4, twice, 0xf), -ENOTSUP);
	assert_int_equal(table_set(bench->port[1], 4, twice, 0x2), -ENOTSUP);
	bench_expect_error("");
	assert_true(table_set(bench->port[1], 8, twice, 0xf) < 0);
	table_get(bench->port[1], 4, got);
	assert_memory_equal(got, after, sizeof(after));
	/* a restart keeps it */
	bench_stop(bench);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	check_flows(bench, 4, key);
	/* a port that is stopped takes one, a configuration makes the first one again */
	bench_stop(bench);
	assert_int_equal(table_set(bench->port[1], 4, order, 0xf), 0);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	check_flows(bench, 4, key);
}

/* 3 queues have 4 entries: one is there twice, and stays so. */
static void
test_table_with_hidden_queues(void **state)
{
	static const uint16_t order[] = { 0, 2, 0, 1 };
	static const uint16_t other[] = { 1, 2, 1, 0 };
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxq = 3, .nb_rxd = 64, .rss_hf = BENCH_RSS,
				       .rss_key = key };
	uint16_t got[4];

	bench_start(bench, &config);
	assert_int_equal(table_set(bench->port[1], 4, order, 0xf), 0);
	table_get(bench->port[1], 4, got);
	assert_memory_equal(got, order, sizeof(order));
	check_flows(bench, 3, key);
	bench_expect_error("too often");
	assert_int_equal(table_set(bench->port[1], 4, other, 0xf), -ENOTSUP);
	check_flows(bench, 3, key);
}

/* Changes lose nothing that waits, whatever changes. */
static void
test_changes_lose_nothing(void **state)
{
	static const uint16_t orders[2][4] = { { 3, 1, 0, 2 }, { 0, 1, 2, 3 } };
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = BENCH_RSS,
				       .rss_key = key };
	unsigned int nb = 0;

	bench_start(bench, &config);
	for (unsigned int i = 0; i < 20; i++) {
		for (unsigned int seed = 0; seed < 30; seed++) {
			struct rte_mbuf *m = bench_frame(bench->pool, 100, seed);

			bench_send(bench->port[0], 0, &m, 1);
		}
		bench_settle(bench);
		assert_int_equal(table_set(bench->port[1], 4, orders[i % 2], 0xf), 0);
		for (uint16_t q = 0; q < 4; q++) {
			struct rte_mbuf *pkts[10];
			uint16_t got = rte_eth_rx_burst(bench->port[1], q, pkts,
							RTE_DIM(pkts));

			rte_pktmbuf_free_bulk(pkts, got);
			nb += got;
		}
	}
	/* the teardown receives the rest, and compares with the wire */
	assert_true(nb > 0);
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
		BENCH_TEST(test_more_than_a_poll_takes),
		BENCH_TEST(test_hidden_queues_are_counted),
		BENCH_TEST(test_key_is_reported),
		BENCH_TEST(test_wrong_key),
		BENCH_TEST(test_key_update),
		BENCH_TEST(test_table_update),
		BENCH_TEST(test_table_with_hidden_queues),
		BENCH_TEST(test_changes_lose_nothing),
	};

	return BENCH_RUN("rss", tests);
}
