/* SPDX-License-Identifier: BSD-3-Clause */

/* The Rx queue of a packet, and hash and packet type in its mbuf. */

#include <string.h>

#include <rte_arp.h>
#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_thash.h>
#include <rte_udp.h>

#include "fixture.h"

#define KEY_BYTES 40

static uint8_t key[KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static const struct fx_config defaults;

/* Toeplitz over addresses and ports, computed by DPDK. */
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

/* Receives the port's only packet from any queue, stored in *queue. */
static struct rte_mbuf *
receive_anywhere(uint16_t port, uint16_t nb_rxq, uint16_t *queue)
{
	uint64_t end = fx_deadline();
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
check_distribution(struct fixture *fx, uint16_t nb_rxq)
{
	struct fx_config config = { .nb_rxq = nb_rxq, .nb_rxd = 64, .rss_hf = FX_RSS,
				       .rss_key = key,
				       .rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH };
	unsigned int nb_of_queue[64] = { 0 };
	struct rte_eth_dev_info info;

	fx_start(fx, &config);
	assert_int_equal(rte_eth_dev_info_get(fx->port[1], &info), 0);
	for (unsigned int seed = 0; seed < 500; seed++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, seed);
		uint32_t hash = expected_hash(m);
		uint16_t queue;

		fx_send(fx->port[0], 0, &m, 1);
		m = receive_anywhere(fx->port[1], nb_rxq, &queue);
		nb_of_queue[queue]++;
		assert_int_equal(m->port, fx->port[1]);
		assert_int_equal(queue, table_entry(fx->port[1], info.reta_size,
						    hash % info.reta_size));
		if (nb_rxq > 1) {
			assert_true(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH);
			assert_int_equal(m->hash.rss, hash);
		}
		/* from the hash type, or from the headers, which are more precise */
		assert_int_equal(m->packet_type,
				 RTE_PTYPE_L2_ETHER | RTE_PTYPE_L4_UDP |
					 (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH ?
						  RTE_PTYPE_L3_IPV4_EXT_UNKNOWN :
						  RTE_PTYPE_L3_IPV4));
		rte_pktmbuf_free(m);
	}
	for (uint16_t q = 0; q < nb_rxq; q++)
		assert_true(nb_of_queue[q] > 0);
	fx_stop(fx);
}

static void
test_distribution(void **state)
{
	struct fixture *fx = *state;

	check_distribution(fx, 1);
	check_distribution(fx, 2);
	check_distribution(fx, 4);
	check_distribution(fx, 8);
	check_distribution(fx, 16);
	/* the device has a power of two of hardware queues */
	check_distribution(fx, 3);
	check_distribution(fx, 5);
	check_distribution(fx, 7);
	check_distribution(fx, 15);
}

static struct rte_mbuf *
arp_frame(struct fixture *fx)
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
	return fx_chain(fx->pool, frame, sizeof(frame), sizeof(frame));
}

/* A packet without hash arrives on queue 0. */
static void
test_arp_on_queue_0(void **state)
{
	struct fixture *fx = *state;

	for (uint16_t nb_rxq = 1; nb_rxq <= 16; nb_rxq++) {
		struct fx_config config = { .nb_rxq = nb_rxq, .nb_rxd = 64,
					       .rss_hf = FX_RSS };

		fx_start(fx, &config);
		for (unsigned int i = 0; i < 10; i++) {
			struct rte_mbuf *m = arp_frame(fx);
			uint16_t queue;

			fx_send(fx->port[0], 0, &m, 1);
			m = receive_anywhere(fx->port[1], nb_rxq, &queue);
			assert_int_equal(queue, 0);
			assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH, 0);
			rte_pktmbuf_free(m);
		}
		fx_stop(fx);
	}
}

/* mq_mode NONE: queue 0 gets all packets. */
static void
test_no_rss_all_on_queue_0(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 4, .nb_rxd = 64 };

	fx_start(fx, &config);
	for (unsigned int seed = 0; seed < 200; seed++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, seed);
		uint16_t queue;

		fx_send(fx->port[0], 0, &m, 1);
		m = receive_anywhere(fx->port[1], 4, &queue);
		assert_int_equal(queue, 0);
		rte_pktmbuf_free(m);
	}
}

/*
 * A queue with two hardware queues: bursts are full, no packet is lost, and no
 * hardware queue starves.
 */
static void
test_bursts_of_two_hardware_queues(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 3, .nb_rxd = 64, .rss_hf = FX_RSS };
	unsigned int nb_sent = 0, nb_of_entry[4] = { 0 };

	fx_start(fx, &config);
	for (unsigned int seed = 0; seed < 160; seed++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, seed);
		unsigned int entry = expected_hash(m) % RTE_DIM(nb_of_entry);

		if (nb_of_entry[entry] == 40) {
			rte_pktmbuf_free(m);
			continue;
		}
		nb_of_entry[entry]++;
		fx_send(fx->port[0], 0, &m, 1);
		nb_sent++;
	}
	fx_settle(fx);
	for (uint16_t q = 0; q < 3; q++) {
		struct rte_mbuf *pkts[8];
		uint16_t nb, last = RTE_DIM(pkts);

		while ((nb = rte_eth_rx_burst(fx->port[1], q, pkts, RTE_DIM(pkts))) != 0) {
			/* only the last burst may be short */
			assert_int_equal(last, RTE_DIM(pkts));
			last = nb;
			rte_pktmbuf_free_bulk(pkts, nb);
			nb_sent -= nb;
		}
	}
	assert_int_equal(nb_sent, 0);
}

/* Counters of a hardware queue stay with the ethdev queue that polled it. */
static void
test_moved_queue_leaves_its_counts(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 3, .nb_rxd = 64, .rss_hf = FX_RSS };
	struct rte_eth_stats running, stopped;
	uint64_t sum = 0;

	fx_start(fx, &config);
	for (unsigned int seed = 0; seed < 100; seed++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, seed);

		fx_send(fx->port[0], 0, &m, 1);
	}
	fx_drain(fx);
	assert_int_equal(rte_eth_stats_get(fx->port[1], &running), 0);
	assert_int_equal(running.ipackets, 100);
	for (uint16_t q = 0; q < 3; q++)
		sum += running.q_ipackets[q];
	assert_int_equal(sum, 100);
	fx_stop(fx);
	assert_int_equal(rte_eth_stats_get(fx->port[1], &stopped), 0);
	assert_memory_equal(&running, &stopped, sizeof(stopped));
}

static void
test_key_is_reported(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 4, .rss_hf = FX_RSS, .rss_key = key };
	uint8_t got[KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_key = got, .rss_key_len = sizeof(got) };

	fx_start(fx, &config);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(fx->port[0], &conf), 0);
	assert_memory_equal(got, key, sizeof(key));
	assert_int_equal(conf.rss_key_len, sizeof(key));
	assert_true(conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_UDP);
}

/* 200 flows arrive according to the table and this key. */
static void
check_flows(struct fixture *fx, uint16_t nb_rxq, const uint8_t *by_key)
{
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(fx->port[1], &info), 0);
	for (unsigned int seed = 0; seed < 200; seed++) {
		struct rte_mbuf *m = fx_frame(fx->pool, 100, seed);
		uint32_t hash;
		uint16_t queue;

		hash = expected_hash_by(m, by_key);
		fx_send(fx->port[0], 0, &m, 1);
		m = receive_anywhere(fx->port[1], nb_rxq, &queue);
		assert_int_equal(queue, table_entry(fx->port[1], info.reta_size,
						    hash % info.reta_size));
		rte_pktmbuf_free(m);
	}
}

static void
test_key_update(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = FX_RSS,
				       .rss_key = key };
	uint8_t other[KEY_BYTES], got[KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_key = other, .rss_key_len = KEY_BYTES,
					 .rss_hf = RTE_ETH_RSS_IPV4 };
	struct rte_eth_rss_conf query = { .rss_key = got, .rss_key_len = KEY_BYTES };

	for (unsigned int i = 0; i < KEY_BYTES; i++)
		other[i] = key[KEY_BYTES - 1 - i];
	fx_start(fx, &config);
	check_flows(fx, 4, key);
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &conf), 0);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(fx->port[1], &query), 0);
	assert_memory_equal(got, other, KEY_BYTES);
	assert_true(query.rss_hf & RTE_ETH_RSS_NONFRAG_IPV6_TCP);
	check_flows(fx, 4, other);
	/* a restart keeps it, configure does not */
	fx_stop(fx);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	check_flows(fx, 4, other);
	fx_stop(fx);
	conf.rss_key = key;
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &conf), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	check_flows(fx, 4, key);
	/* without a key nothing changes */
	conf.rss_key = NULL;
	conf.rss_key_len = 0;
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &conf), 0);
	check_flows(fx, 4, key);

	fx_expect_error("");
	conf.rss_key = other;
	conf.rss_key_len = KEY_BYTES - 1;
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &conf), -EINVAL);
	/* a length of 0 is invalid; later ethdev releases check it, too */
	conf.rss_key_len = 0;
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &conf), -EINVAL);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(fx->port[1], &query), 0);
	assert_memory_equal(got, key, KEY_BYTES);
	conf.rss_key_len = KEY_BYTES;
	conf.rss_hf = 0;
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &conf), -ENOTSUP);
	check_flows(fx, 4, key);
}

/* The kernel's size of the adapter's table. */
#define TABLE_SIZE 64

static void
table_get(uint16_t port, uint16_t size, uint16_t *queues)
{
	for (uint16_t i = 0; i < size; i++)
		queues[i] = table_entry(port, size, i);
}

/* Sets size entries that repeat the first period entries. */
static int
table_set(uint16_t port, uint16_t size, const uint16_t *queues, uint16_t period)
{
	struct rte_eth_rss_reta_entry64 reta[8] = { 0 };

	assert_true(size <= RTE_DIM(reta) * RTE_ETH_RETA_GROUP_SIZE);
	for (uint16_t i = 0; i < size; i++) {
		reta[i / RTE_ETH_RETA_GROUP_SIZE].mask |=
			RTE_BIT64(i % RTE_ETH_RETA_GROUP_SIZE);
		reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
			queues[i % period];
	}
	return rte_eth_dev_rss_reta_update(port, reta, size);
}

/* Checks all entries, with both sizes of a query. */
static void
check_table(uint16_t port, const uint16_t *queues, uint16_t period)
{
	for (uint16_t size = TABLE_SIZE; size <= 2 * TABLE_SIZE; size += TABLE_SIZE)
		for (uint16_t i = 0; i < size; i++)
			assert_int_equal(table_entry(port, size, i), queues[i % period]);
}

static uint16_t
reta_size_of(uint16_t port)
{
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(port, &info), 0);
	return info.reta_size;
}

/* Also before configure: bonding and others read it then. */
static void
test_table_size(void **state)
{
	static const uint16_t zero[] = { 0 };
	static const uint16_t nb_rxqs[] = { 1, 3, 4 };
	struct fixture *fx = *state;

	assert_int_equal(reta_size_of(fx->port[0]), TABLE_SIZE);
	for (unsigned int i = 0; i < RTE_DIM(nb_rxqs); i++) {
		struct fx_config config = { .nb_rxq = nb_rxqs[i], .nb_rxd = 64,
					       .rss_hf = FX_RSS };

		fx_start(fx, &config);
		assert_int_equal(reta_size_of(fx->port[0]), TABLE_SIZE);
		fx_stop(fx);
		/* without RSS all entries are queue 0 */
		config.rss_hf = 0;
		fx_start(fx, &config);
		assert_int_equal(reta_size_of(fx->port[0]), TABLE_SIZE);
		check_table(fx->port[0], zero, 1);
		fx_stop(fx);
	}
}

static void
restart(struct fixture *fx)
{
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
}

/* Any order of the queues, repeated over the table. */
static void
test_table_update(void **state)
{
	static const uint16_t order[] = { 3, 1, 0, 2 };
	static const uint16_t after[] = { 3, 0, 1, 2 };
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = FX_RSS,
				       .rss_key = key };

	fx_start(fx, &config);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, order, 4), 0);
	check_table(fx->port[1], order, 4);
	check_flows(fx, 4, key);
	/* twice the size, as in NDIS */
	assert_int_equal(table_set(fx->port[1], 2 * TABLE_SIZE, after, 4), 0);
	check_table(fx->port[1], after, 4);
	check_flows(fx, 4, key);
	/* a restart keeps it */
	fx_stop(fx);
	restart(fx);
	check_table(fx->port[1], after, 4);
	check_flows(fx, 4, key);
	/* a stopped port accepts an update */
	fx_stop(fx);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, order, 4), 0);
	restart(fx);
	check_table(fx->port[1], order, 4);
	check_flows(fx, 4, key);
}

/* Entries outside the mask are kept: the result must repeat, too. */
static void
test_table_update_in_part(void **state)
{
	static const uint16_t before[] = { 0, 1, 2, 3 };
	static const uint16_t after[] = { 0, 2, 1, 3 };
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = FX_RSS,
				       .rss_key = key };
	struct rte_eth_rss_reta_entry64 reta = { 0 };

	fx_start(fx, &config);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, before, 4), 0);
	for (uint16_t i = 0; i < TABLE_SIZE; i++) {
		/* entries outside the mask hold an invalid queue */
		reta.reta[i] = i % 4 == 1 || i % 4 == 2 ? after[i % 4] : 9;
		if (reta.reta[i] != 9)
			reta.mask |= RTE_BIT64(i);
	}
	assert_int_equal(rte_eth_dev_rss_reta_update(fx->port[1], &reta, TABLE_SIZE), 0);
	check_table(fx->port[1], after, 4);
	check_flows(fx, 4, key);
	/* one entry sets all that repeat it */
	reta.mask = 0x6;
	reta.reta[1] = 1;
	reta.reta[2] = 2;
	assert_int_equal(rte_eth_dev_rss_reta_update(fx->port[1], &reta, TABLE_SIZE), 0);
	check_table(fx->port[1], before, 4);
	check_flows(fx, 4, key);
	/* two contradicting entries */
	fx_expect_error("entry 5 is queue 2");
	reta.mask = 0x22;
	reta.reta[5] = 2;
	assert_int_equal(rte_eth_dev_rss_reta_update(fx->port[1], &reta, TABLE_SIZE),
			 -ENOTSUP);
	check_table(fx->port[1], before, 4);
}

/* An unsupported table is rejected and changes nothing. */
static void
test_table_refused(void **state)
{
	static const uint16_t order[] = { 3, 1, 0, 2 };
	static const uint16_t of_eight[] = { 0, 1, 2, 3, 1, 0, 3, 2 };
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = FX_RSS,
				       .rss_key = key };

	fx_start(fx, &config);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, order, 4), 0);
	fx_expect_error("repeats its first 4 entries");
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, of_eight, 8), -ENOTSUP);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, order, 3), -ENOTSUP);
	fx_expect_error("has 64 entries");
	assert_int_equal(table_set(fx->port[1], 4, order, 4), -EINVAL);
	assert_int_equal(table_set(fx->port[1], 256, order, 4), -EINVAL);
	fx_expect_error(NULL);
	check_table(fx->port[1], order, 4);
	check_flows(fx, 4, key);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "nearest"), 0);
}

/* Any queue in any entry, any number of times; other queues get none. */
static void
test_table_of_any_queues(void **state)
{
	static const uint16_t tables[][4] = {
		{ 3, 3, 1, 0 }, { 0, 1, 0, 1 }, { 2, 2, 2, 2 }, { 1, 2, 1, 0 }, { 3, 0, 0, 0 },
	};
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rss_key = key };

	fx_start(fx, &config);
	for (unsigned int i = 0; i < RTE_DIM(tables); i++) {
		struct rte_mbuf *m = arp_frame(fx);
		uint16_t queue;

		assert_int_equal(table_set(fx->port[1], TABLE_SIZE, tables[i], 4), 0);
		check_table(fx->port[1], tables[i], 4);
		check_flows(fx, 4, key);
		/* packets without hash go to the last entry's queue */
		fx_send(fx->port[0], 0, &m, 1);
		m = receive_anywhere(fx->port[1], 4, &queue);
		assert_int_equal(queue, tables[i][3]);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(fx_xstat(fx->port[1], "rx_outages"), 0);
	/* a restart keeps it */
	fx_stop(fx);
	restart(fx);
	check_table(fx->port[1], tables[RTE_DIM(tables) - 1], 4);
	check_flows(fx, 4, key);
	fx_stop(fx);
	/* 3 queues have 4 hardware queues */
	config.nb_rxq = 3;
	fx_start(fx, &config);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, tables[3], 4), 0);
	check_table(fx->port[1], tables[3], 4);
	check_flows(fx, 3, key);
}

static unsigned int
seed_of(const struct rte_mbuf *m)
{
	return rte_be_to_cpu_16(*rte_pktmbuf_mtod_offset(m, const rte_be16_t *, 34)) - 1024;
}

/*
 * A hardware queue moves with its waiting packets, also those of a partially
 * consumed CQE, in order and without loss.
 */
static void
test_move_keeps_packets(void **state)
{
	static const uint16_t all_of[2][1] = { { 0 }, { 1 } };
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 2, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rss_key = key };
	int last[2] = { -1, -1 };
	unsigned int nb = 0;

	fx_start(fx, &config);
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < 20; i++) {
			struct rte_mbuf *m = fx_frame(fx->pool, 100, round * 20 + i);

			fx_send(fx->port[0], 0, &m, 1);
		}
		fx_settle(fx);
		assert_int_equal(table_set(fx->port[1], TABLE_SIZE, all_of[round % 2], 1), 0);
		assert_int_equal(rte_eth_rx_queue_count(fx->port[1], !(round % 2)), 0);
		for (unsigned int i = 0; i < 19; i++) {
			struct rte_mbuf *m;
			unsigned int entry;

			assert_int_equal(rte_eth_rx_burst(fx->port[1], round % 2, &m, 1), 1);
			entry = m->hash.rss % 2;
			assert_true((int)seed_of(m) > last[entry]);
			last[entry] = seed_of(m);
			rte_pktmbuf_free(m);
			nb++;
		}
	}
	assert_int_equal(nb, 20 * 19);
	assert_int_equal(fx_xstat(fx->port[1], "rx_outages"), 0);
	/* the teardown receives the rest and compares with the wire */
}

/* Which pool the last packets of queue 1 used, after repeated moves. */
static void
check_pools(struct fixture *fx, struct rte_mempool *pools[2], uint64_t nb_rebuilds)
{
	static const uint16_t swapped[] = { 0, 1 };
	uint64_t before = fx_xstat(fx->port[1], "rx_outages");

	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, swapped, 2), 0);
	assert_int_equal(fx_xstat(fx->port[1], "rx_outages") - before, nb_rebuilds);
	/* more than a lap of the rings */
	for (unsigned int round = 0; round < 10; round++) {
		for (unsigned int seed = 0; seed < 40; seed++) {
			struct rte_mbuf *m = fx_frame(fx->pool, 100, seed);

			fx_send(fx->port[0], 0, &m, 1);
		}
		fx_settle(fx);
		for (uint16_t q = 0; q < 2; q++) {
			struct rte_mbuf *m;

			while (rte_eth_rx_burst(fx->port[1], q, &m, 1) != 0) {
				if (round == 9)
					assert_ptr_equal(m->pool, pools[q]);
				rte_pktmbuf_free(m);
			}
		}
	}
}

/* Swaps the table of queues with these pools and offloads. */
static void
check_unequal(struct fixture *fx, struct rte_mempool *pools[2], uint64_t offloads_of_1,
	     uint64_t nb_rebuilds)
{
	const struct rte_eth_rxconf conf = { .offloads = offloads_of_1 };
	struct fx_config config = { .nb_rxq = 2, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rss_key = key };

	assert_int_equal(fx_configure(fx, fx->port[0], &(struct fx_config){ 0 }), 0);
	assert_int_equal(fx_configure(fx, fx->port[1], &config), 0);
	for (uint16_t q = 0; q < 2; q++)
		assert_int_equal(rte_eth_rx_queue_setup(fx->port[1], q, 64, SOCKET_ID_ANY,
							q == 1 ? &conf : NULL, pools[q]), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	check_pools(fx, pools, nb_rebuilds);
	fx_drain(fx);
	fx_stop(fx);
	/* afterwards no queue refers to the pools */
	assert_int_equal(fx_configure(fx, fx->port[1], &(struct fx_config){ 0 }), 0);
}

static struct rte_mempool *
pool_with(unsigned int flags)
{
	struct rte_mempool *mp;

	mp = rte_mempool_create("single", 1023, sizeof(struct rte_mbuf) +
				RTE_MBUF_DEFAULT_BUF_SIZE, 0,
				sizeof(struct rte_pktmbuf_pool_private),
				rte_pktmbuf_pool_init, NULL, rte_pktmbuf_init, NULL,
				SOCKET_ID_ANY, flags);
	assert_non_null(mp);
	return mp;
}

/* The refill uses the new queue's pool; else the rings are rebuilt. */
static void
test_move_between_pools(void **state)
{
	struct fixture *fx = *state;
	struct rte_mempool *alike[] = { fx_pool(fx, 1023, RTE_MBUF_DEFAULT_BUF_SIZE),
					fx_pool(fx, 1023, RTE_MBUF_DEFAULT_BUF_SIZE) };
	struct rte_mempool *larger[] = { alike[0], fx_pool(fx, 1023, 4096) };
	struct rte_mempool *single[] = { alike[0], pool_with(RTE_MEMPOOL_F_SC_GET) };
	struct rte_mempool *same[] = { alike[0], alike[0] };

	check_unequal(fx, alike, 0, 0);
	check_unequal(fx, larger, 0, 1);
	check_unequal(fx, single, 0, 1);
	single[1]->flags = 0;
	rte_mempool_free(single[1]);
	/* other segment layout: rebuild */
	check_unequal(fx, same, RTE_ETH_RX_OFFLOAD_SCATTER, 1);
	/* no effect on the ring */
	check_unequal(fx, same, RTE_ETH_RX_OFFLOAD_VLAN_STRIP, 0);
	fx->ignore_counters = true;
}

/* Setting the same key or table again loses no packet. */
static void
test_same_key(void **state)
{
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rss_key = key };
	uint8_t got[KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_key = got, .rss_key_len = KEY_BYTES };

	fx_start(fx, &config);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(fx->port[1], &conf), 0);
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &conf), 0);
	assert_int_equal(fx_xstat(fx->port[1], "rx_outages"), 0);
	got[0] ^= 1;
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &conf), 0);
	assert_int_equal(fx_xstat(fx->port[1], "rx_outages"), 1);
}

/* Packets in rings of a stopped queue are not delivered by another queue. */
static void
test_move_from_stopped_queue(void **state)
{
	static const uint16_t apart[] = { 0, 1 }, one[] = { 0 };
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 2, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rss_key = key };
	unsigned int nb_of[2] = { 0 }, nb = 0;
	struct rte_mbuf *m;

	fx_start(fx, &config);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, apart, 2), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], 1), 0);
	for (unsigned int seed = 0; seed < 40; seed++) {
		m = fx_frame(fx->pool, 100, seed);
		nb_of[expected_hash(m) % 2]++;
		fx_send(fx->port[0], 0, &m, 1);
	}
	fx_settle(fx);
	assert_true(nb_of[0] > 0 && nb_of[1] > 0);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, one, 1), 0);
	while (rte_eth_rx_burst(fx->port[1], 0, &m, 1) != 0) {
		nb++;
		rte_pktmbuf_free(m);
	}
	assert_int_equal(nb, nb_of[0]);
	assert_int_equal(fx_xstat(fx->port[1], "rx_drop_stopped"), nb_of[1]);
	/* from now on all packets arrive */
	check_flows(fx, 1, key);
	fx->ignore_counters = true; /* the wire counts dropped packets */
}

/* A queue setup returns all mbufs, also those of moved hardware queues. */
static void
test_queue_setup_returns_all_mbufs(void **state)
{
	static const uint16_t apart[] = { 0, 1 }, one[] = { 1 };
	struct fixture *fx = *state;
	struct rte_mempool *pools[] = { fx_pool(fx, 1023, RTE_MBUF_DEFAULT_BUF_SIZE),
					fx_pool(fx, 1023, RTE_MBUF_DEFAULT_BUF_SIZE) };
	struct fx_config config = { .nb_rxq = 2, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rss_key = key };

	assert_int_equal(fx_configure(fx, fx->port[0], &(struct fx_config){ 0 }), 0);
	assert_int_equal(fx_configure(fx, fx->port[1], &config), 0);
	for (uint16_t q = 0; q < 2; q++)
		assert_int_equal(rte_eth_rx_queue_setup(fx->port[1], q, 64, SOCKET_ID_ANY,
							NULL, pools[q]), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, apart, 2), 0);
	assert_int_equal(rte_mempool_avail_count(pools[0]), 1023 - 64);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, one, 1), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], 0), 0);
	assert_int_equal(rte_mempool_avail_count(pools[0]), 1023 - 64);
	assert_int_equal(rte_eth_rx_queue_setup(fx->port[1], 0, 64, SOCKET_ID_ANY,
						NULL, pools[1]), 0);
	assert_int_equal(rte_mempool_avail_count(pools[0]), 1023);
	check_flows(fx, 2, key);
	fx_stop(fx);
	assert_int_equal(fx_configure(fx, fx->port[1], &(struct fx_config){ 0 }), 0);
}

/* hw_rxq gives a finer table; invalid values are rejected. */
static void
test_hw_rxq(void **state)
{
	static const uint16_t fine[] = { 0, 1, 2, 0, 1, 2, 0, 0 };
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 3, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rss_key = key };

	assert_int_equal(fx_probe(fx, "hw_rxq=8"), 0);
	fx_start(fx, &config);
	check_flows(fx, 3, key);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, fine, 8), 0);
	check_table(fx->port[1], fine, 8);
	check_flows(fx, 3, key);
	fx_stop(fx);
	/* one queue polls all hardware queues */
	config.nb_rxq = 1;
	fx_start(fx, &config);
	check_flows(fx, 1, key);
}

static void
test_hw_rxq_refused(void **state)
{
	struct fixture *fx = *state;

	fx_expect_error("");
	assert_int_not_equal(fx_probe(fx, "hw_rxq=3"), 0);
	assert_int_not_equal(fx_probe(fx, "hw_rxq=0"), 0);
	assert_int_not_equal(fx_probe(fx, "hw_rxq=128"), 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "give a power of two from 1 to 64"), 3);
}

/*
 * Entry i is queue i % nb_rxq, as applications write it, or another order of
 * these queues. The adapter cannot have this table unless nb_rxq is a power of
 * two: it gets the nearest one.
 */
static void
check_nearest(struct fixture *fx, uint16_t nb_rxq, uint16_t size, uint16_t first)
{
	struct fx_config config = { .nb_rxq = nb_rxq, .nb_rxd = 64, .rss_hf = FX_RSS,
				       .rss_key = key };
	unsigned int nb_wqs = rte_align32pow2(nb_rxq), nb_right = 0;
	unsigned int nb_of_queue[TABLE_SIZE] = { 0 };
	uint16_t wanted[TABLE_SIZE], got[TABLE_SIZE];

	for (uint16_t i = 0; i < nb_rxq; i++)
		wanted[i] = (first + i) % nb_rxq;
	fx_start(fx, &config);
	assert_int_equal(table_set(fx->port[1], size, wanted, nb_rxq), 0);
	table_get(fx->port[1], TABLE_SIZE, got);
	for (uint16_t i = 0; i < TABLE_SIZE; i++) {
		assert_int_equal(got[i], got[i % nb_wqs]);
		nb_right += got[i] == wanted[i % nb_rxq];
		if (i < nb_wqs)
			nb_of_queue[got[i]]++;
	}
	for (uint16_t q = 0; q < nb_rxq; q++)
		assert_in_range(nb_of_queue[q], 1, 2);
	/* more than any other order has by chance */
	assert_true(nb_right >= TABLE_SIZE / nb_rxq);
	if (first == 0)
		for (uint16_t i = 0; i < nb_wqs; i++)
			assert_int_equal(got[i], wanted[i % nb_rxq]);
	check_flows(fx, nb_rxq, key);
	fx_stop(fx);
}

static void
test_table_nearest(void **state)
{
	static const uint16_t not_all[] = { 0, 1, 1 };
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 3, .nb_rxd = 64, .rss_hf = FX_RSS };

	check_nearest(fx, 3, TABLE_SIZE, 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "nearest"), 1);
	check_nearest(fx, 3, TABLE_SIZE, 2);
	check_nearest(fx, 3, 2 * TABLE_SIZE, 0);
	check_nearest(fx, 5, TABLE_SIZE, 0);
	check_nearest(fx, 6, TABLE_SIZE, 1);
	check_nearest(fx, 7, 2 * TABLE_SIZE, 3);
	/* logged once */
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "nearest"), 1);
	/* a table that gives a queue nothing has no near one */
	fx_start(fx, &config);
	fx_expect_error("repeats its first 4 entries");
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, not_all, 3), -ENOTSUP);
}

/* Table updates lose no waiting packet. */
static void
test_table_updates_lose_no_packet(void **state)
{
	static const uint16_t orders[2][4] = { { 3, 1, 0, 2 }, { 0, 1, 2, 3 } };
	struct fixture *fx = *state;
	struct fx_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rss_key = key };
	unsigned int nb = 0;

	fx_start(fx, &config);
	for (unsigned int i = 0; i < 20; i++) {
		for (unsigned int seed = 0; seed < 30; seed++) {
			struct rte_mbuf *m = fx_frame(fx->pool, 100, seed);

			fx_send(fx->port[0], 0, &m, 1);
		}
		fx_settle(fx);
		assert_int_equal(table_set(fx->port[1], TABLE_SIZE, orders[i % 2], 4), 0);
		for (uint16_t q = 0; q < 4; q++) {
			struct rte_mbuf *pkts[10];
			uint16_t got = rte_eth_rx_burst(fx->port[1], q, pkts,
							RTE_DIM(pkts));

			rte_pktmbuf_free_bulk(pkts, got);
			nb += got;
		}
	}
	/* the teardown receives the rest and compares with the wire */
	assert_true(nb > 0);
}

/* A key of another length is rejected and changes nothing. */
static void
test_wrong_key(void **state)
{
	struct fixture *fx = *state;
	struct rte_eth_conf conf = { .rxmode = { .mq_mode = RTE_ETH_MQ_RX_RSS } };

	conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
	conf.rx_adv_conf.rss_conf.rss_key = key;
	fx_expect_error("");
	conf.rx_adv_conf.rss_conf.rss_key_len = 16;
	assert_true(rte_eth_dev_configure(fx->port[0], 4, 1, &conf) < 0);
	conf.rx_adv_conf.rss_conf.rss_key_len = 0;
	assert_true(rte_eth_dev_configure(fx->port[0], 4, 1, &conf) < 0);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FX_TEST(test_distribution),
		FX_TEST(test_arp_on_queue_0),
		FX_TEST(test_no_rss_all_on_queue_0),
		FX_TEST(test_bursts_of_two_hardware_queues),
		FX_TEST(test_moved_queue_leaves_its_counts),
		FX_TEST(test_key_is_reported),
		FX_TEST(test_wrong_key),
		FX_TEST(test_key_update),
		FX_TEST(test_table_size),
		FX_TEST(test_table_update),
		FX_TEST(test_table_update_in_part),
		FX_TEST(test_table_refused),
		FX_TEST(test_table_of_any_queues),
		FX_TEST(test_move_keeps_packets),
		FX_TEST(test_move_between_pools),
		FX_TEST(test_same_key),
		FX_TEST(test_move_from_stopped_queue),
		FX_TEST(test_queue_setup_returns_all_mbufs),
		FX_TEST_BARE(test_hw_rxq),
		FX_TEST_BARE(test_hw_rxq_refused),
		FX_TEST(test_table_nearest),
		FX_TEST(test_table_updates_lose_no_packet),
	};

	return FX_RUN("rss", tests);
}
