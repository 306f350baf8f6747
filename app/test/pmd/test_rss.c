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
#include <rte_version.h>

#include "fixture.h"

#define KEY_BYTES 40

static uint8_t key[KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

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

FX_TEST(test_distribution)
{
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
FX_TEST(test_arp_on_queue_0)
{
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
FX_TEST(test_no_rss_all_on_queue_0)
{
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
FX_TEST(test_bursts_of_two_hardware_queues)
{
	struct fx_config config = { .nb_rxq = 3, .nb_rxd = 64, .rss_hf = FX_RSS, .rss_key = key };
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
FX_TEST(test_moved_queue_leaves_its_counts)
{
	struct fx_config config = { .nb_rxq = 3, .nb_rxd = 64, .rss_hf = FX_RSS };
	struct rte_eth_stats running, stopped;
	char name[RTE_ETH_XSTATS_NAME_SIZE];
	uint64_t sum = 0;

	fx_start(fx, &config);
	for (unsigned int seed = 0; seed < 100; seed++)
		fx_send_one(fx, seed);
	fx_drain(fx);
	assert_int_equal(rte_eth_stats_get(fx->port[1], &running), 0);
	assert_int_equal(running.ipackets, 100);
	for (uint16_t q = 0; q < 3; q++) {
		snprintf(name, sizeof(name), "rx_q%u_packets", q);
		sum += fx_xstat(fx->port[1], name);
	}
	assert_int_equal(sum, 100);
	fx_stop(fx);
	assert_int_equal(rte_eth_stats_get(fx->port[1], &stopped), 0);
	assert_memory_equal(&running, &stopped, sizeof(stopped));
}

FX_TEST(test_key_is_reported)
{
	struct fx_config config = { .nb_rxq = 4, .rss_hf = FX_RSS, .rss_key = key };
	uint8_t got[KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_key = got, .rss_key_len = sizeof(got) };

	fx_start(fx, &config);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(fx->port[0], &conf), 0);
	assert_memory_equal(got, key, sizeof(key));
	assert_int_equal(conf.rss_key_len, sizeof(key));
	assert_true(conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_UDP);
}

/* 400 flows arrive according to the table and this key. */
static void
check_flows(struct fixture *fx, uint16_t nb_rxq, const uint8_t *by_key)
{
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(fx->port[1], &info), 0);
	for (unsigned int seed = 0; seed < 400; seed++) {
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

FX_TEST(test_key_update)
{
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
	fx_restart(fx);
	check_flows(fx, 4, other);
	fx_stop(fx);
	conf.rss_key = key;
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &conf), 0);
	fx_restart(fx);
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
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(fx->port[1], &query), 0);
	assert_memory_equal(got, key, KEY_BYTES);
	conf.rss_key_len = KEY_BYTES;
	conf.rss_hf = 0;
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &conf), -ENOTSUP);
	check_flows(fx, 4, key);
}

/* The kernel's size of the adapter's table. */
#define TABLE_SIZE 64

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
	return fx_info(port).reta_size;
}

/* Also before configure: bonding and others read it then. */
FX_TEST(test_table_size)
{
	static const uint16_t zero[] = { 0 };
	static const uint16_t nb_rxqs[] = { 1, 3, 4 };

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
	fx_restart(fx);
}

/* Any order of the queues, repeated over the table. */
FX_TEST(test_table_update)
{
	static const uint16_t order[] = { 3, 1, 0, 2 };
	static const uint16_t after[] = { 3, 0, 1, 2 };
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

/* Entries outside the mask are kept. */
FX_TEST(test_table_update_in_part)
{
	static const uint16_t before[] = { 0, 1, 2, 3 };
	static const uint16_t after[] = { 0, 2, 1, 3 };
	struct fx_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rss_key = key,
				    .rx_pool = fx_pool(fx, 2 * 4096,
						       RTE_MBUF_DEFAULT_BUF_SIZE) };
	struct rte_eth_rss_reta_entry64 reta = { 0 };
	uint16_t wanted[TABLE_SIZE];

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
	/* two entries of 64, which takes 64 hardware queues */
	for (uint16_t i = 0; i < TABLE_SIZE; i++)
		wanted[i] = i == 1 || i == 2 ? before[i] : after[i % 4];
	reta.mask = 0x6;
	reta.reta[1] = 1;
	reta.reta[2] = 2;
	assert_int_equal(rte_eth_dev_rss_reta_update(fx->port[1], &reta, TABLE_SIZE), 0);
	check_table(fx->port[1], wanted, TABLE_SIZE);
	check_flows(fx, 4, key);
}

static uint16_t
nb_desc_of(uint16_t port, uint16_t queue)
{
	return fx_rxq_info(port, queue).nb_desc;
}

/* A table that the mempool cannot have is refused and changes nothing. */
FX_TEST(test_table_refused)
{
	static const uint16_t order[] = { 3, 1, 0, 2 };
	/* For 63 rings of the smallest size. */
	struct fx_config config = { .nb_rxq = 4, .nb_rxd = 128, .rss_hf = FX_RSS,
				    .rss_key = key,
				    .rx_pool = fx_pool(fx, 63 * 64,
						       RTE_MBUF_DEFAULT_BUF_SIZE) };
	unsigned int left;

	fx_start(fx, &config);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, order, 4), 0);
	fx_stop(fx);
	/* Port 0 uses another pool. */
	config.nb_rxq = 1;
	config.rx_pool = NULL;
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
	restart(fx);
	left = rte_mempool_avail_count(fx->pools[1]);
	fx_expect_error("hw_rxq=64 gives from the start, and 4096 mbufs");
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, order, 3), -ENOTSUP);
	fx_expect_error("must repeat its first half");
	assert_int_equal(table_set(fx->port[1], 2 * TABLE_SIZE, order, 3), -ENOTSUP);
	fx_expect_error("has 64 entries");
	assert_int_equal(table_set(fx->port[1], 4, order, 4), -EINVAL);
	assert_int_equal(table_set(fx->port[1], 256, order, 4), -EINVAL);
	fx_expect_error(NULL);
	assert_int_equal(rte_mempool_avail_count(fx->pools[1]), left);
	for (uint16_t q = 0; q < 4; q++)
		assert_int_equal(nb_desc_of(fx->port[1], q), 128);
	check_table(fx->port[1], order, 4);
	check_flows(fx, 4, key);
}

/* Rings of 64 mbufs of a pool. Some lack a few, which a later poll posts. */
static unsigned int
nb_rings(struct rte_mempool *pool)
{
	return (rte_mempool_in_use_count(pool) + 63) / 64;
}

/* The same after polls, which fill new rings and return what is over. */
static unsigned int
nb_rings_polled(const struct fixture *fx, uint16_t nb_rxq, struct rte_mempool *pool)
{
	struct rte_mbuf *m;

	for (unsigned int i = 0; i < 100; i++)
		for (uint16_t q = 0; q < nb_rxq; q++)
			assert_int_equal(rte_eth_rx_burst(fx->port[1], q, &m, 1), 0);
	return nb_rings(pool);
}

/* i % n, as programs compute it: flows arrive there, or the table is refused. */
FX_TEST(test_tables_of_any_number)
{
	struct rte_mempool *pools[] = {
		fx_pool(fx, 64 * 64, RTE_MBUF_DEFAULT_BUF_SIZE),
		fx_pool(fx, 16 * 64, RTE_MBUF_DEFAULT_BUF_SIZE),
	};
	const struct fx_config one = { .nb_rxd = 64 };
	uint16_t wanted[TABLE_SIZE];

	/* One queue has no hash. */
	for (uint16_t nb_rxq = 2; nb_rxq <= 16; nb_rxq++) {
		for (uint16_t i = 0; i < TABLE_SIZE; i++)
			wanted[i] = i % nb_rxq;
		for (unsigned int p = 0; p < RTE_DIM(pools); p++) {
			struct fx_config config = { .nb_rxq = nb_rxq, .nb_rxd = 64,
						    .rss_hf = FX_RSS, .rss_key = key,
						    .rx_pool = pools[p] };
			/* 64 is not a multiple of others, which need a queue for each entry. */
			bool has_queues = p == 0 || rte_is_power_of_2(nb_rxq);
			int ret;

			assert_int_equal(fx_configure(fx, fx->port[0], &one), 0);
			assert_int_equal(fx_configure(fx, fx->port[1], &config), 0);
			restart(fx);
			fx_expect_error(has_queues ? NULL : "hw_rxq=64");
			ret = table_set(fx->port[1], TABLE_SIZE, wanted, TABLE_SIZE);
			assert_int_equal(ret, has_queues ? 0 : -ENOTSUP);
			if (has_queues)
				check_table(fx->port[1], wanted, TABLE_SIZE);
			check_flows(fx, nb_rxq, key);
			fx_stop(fx);
		}
	}
}

/*
 * Tables of any period: flows arrive where the application computes it. The number of
 * hardware queues is the smallest that has the table.
 */
FX_TEST(test_table_of_any_period)
{
	static const struct {
		uint16_t nb_rxq, period;
		unsigned int nb_hwqs;
	} tables[] = { { 3, 3, 64 }, { 5, 5, 64 }, { 4, 8, 8 }, { 3, 4, 4 }, { 7, 7, 64 },
		       { 2, 64, 64 } };
	struct rte_mempool *pool = fx_pool(fx, 2 * 64 * 64, RTE_MBUF_DEFAULT_BUF_SIZE);
	const struct fx_config one = { .nb_rxd = 64 };

	for (unsigned int t = 0; t < RTE_DIM(tables); t++) {
		const uint16_t nb_rxq = tables[t].nb_rxq, period = tables[t].period;
		struct fx_config config = { .nb_rxq = nb_rxq, .nb_rxd = 64,
					    .rss_hf = FX_RSS, .rss_key = key,
					    .rx_pool = pool };
		const unsigned int nb_least = rte_align32pow2(nb_rxq);
		uint16_t wanted[TABLE_SIZE];

		for (uint16_t i = 0; i < period; i++)
			wanted[i] = i % nb_rxq;
		/* so that no shorter period has it */
		if (period > nb_rxq)
			wanted[period - 1] = period % nb_rxq;
		for (uint16_t i = period; i < TABLE_SIZE; i++)
			wanted[i] = wanted[i % period];
		assert_int_equal(fx_configure(fx, fx->port[0], &one), 0);
		assert_int_equal(fx_configure(fx, fx->port[1], &config), 0);
		restart(fx);
		assert_int_equal(nb_rings(pool), nb_least);
		assert_int_equal(table_set(fx->port[1], TABLE_SIZE, wanted, TABLE_SIZE), 0);
		assert_int_equal(nb_rings_polled(fx, nb_rxq, pool), tables[t].nb_hwqs);
		check_table(fx->port[1], wanted, TABLE_SIZE);
		check_flows(fx, nb_rxq, key);
		/* a restart keeps it */
		fx_stop(fx);
		restart(fx);
		check_table(fx->port[1], wanted, TABLE_SIZE);
		check_flows(fx, nb_rxq, key);
		/* and with it goes what it took */
		assert_int_equal(table_set(fx->port[1], TABLE_SIZE, (uint16_t[]){ 1, 0 }, 2),
				 0);
		assert_int_equal(nb_rings_polled(fx, nb_rxq, pool), nb_least);
		check_flows(fx, nb_rxq, key);
		fx_stop(fx);
	}
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "share its descriptors"), 0);
	assert_int_equal(fx_configure(fx, fx->port[1], &one), 0);
}

/*
 * Where the pool has too few mbufs for full rings, the hardware queues of an Rx queue
 * share its descriptors.
 */
FX_TEST(test_shared_descriptors)
{
	struct rte_mempool *pool = fx_pool(fx, 5 * 256 + 7, RTE_MBUF_DEFAULT_BUF_SIZE);
	const struct fx_config one = { .nb_rxd = 64 };
	struct fx_config config = { .nb_rxq = 5, .nb_rxd = 256, .rss_hf = FX_RSS,
				    .rss_key = key, .rx_pool = pool };
	static const uint16_t order[] = { 0, 1, 2, 3, 4, 0, 1, 2 };

	for (unsigned int turn = 0; turn < 2; turn++) {
		assert_int_equal(fx_configure(fx, fx->port[0], &one), 0);
		assert_int_equal(fx_configure(fx, fx->port[1], &config), 0);
		restart(fx);
		/* Queues 0, 1 and 2 have two of the 8 hardware queues. */
		for (uint16_t q = 0; q < 5; q++)
			assert_int_equal(nb_desc_of(fx->port[1], q), q < 3 ? 128 : 256);
		assert_int_equal(nb_rings(pool), 5 * 256 / 64);
		check_flows(fx, 5, key);
		assert_int_equal(table_set(fx->port[1], TABLE_SIZE, order, 8), 0);
		check_table(fx->port[1], order, 8);
		check_flows(fx, 5, key);
		/* A queue that stops and starts keeps its share. */
		assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], 0), 0);
		assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[1], 0), 0);
		assert_int_equal(nb_desc_of(fx->port[1], 0), 128);
		check_flows(fx, 5, key);
		fx_stop(fx);
	}
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "share its descriptors"), 1);
	assert_int_equal(fx_configure(fx, fx->port[1], &one), 0);
}

/* Any queue in any entry, any number of times; other queues get none. */
FX_TEST(test_table_of_any_queues)
{
	static const uint16_t tables[][4] = {
		{ 3, 3, 1, 0 }, { 0, 1, 0, 1 }, { 2, 2, 2, 2 }, { 1, 2, 1, 0 }, { 3, 0, 0, 0 },
	};
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
FX_TEST(test_move_keeps_packets)
{
	static const uint16_t all_of[2][1] = { { 0 }, { 1 } };
	struct fx_config config = { .nb_rxq = 2, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rss_key = key };
	int last[2] = { -1, -1 };
	unsigned int nb = 0;

	fx_start(fx, &config);
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < 20; i++)
			fx_send_one(fx, round * 20 + i);
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
		for (unsigned int seed = 0; seed < 40; seed++)
			fx_send_one(fx, seed);
		fx_settle(fx);
		for (uint16_t q = 0; q < 2; q++) {
			struct rte_mbuf *m;

			while (rte_eth_rx_burst(fx->port[1], q, &m, 1) != 0) {
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
		fx_rx_setup(fx->port[1], q, 64, q == 1 ? &conf : NULL, pools[q]);
	fx_restart(fx);
	check_pools(fx, pools, nb_rebuilds);
	fx_drain(fx);
	fx_stop(fx);
	/* afterwards no queue refers to the pools */
	assert_int_equal(fx_configure(fx, fx->port[1], &(struct fx_config){ 0 }), 0);
}

/* Each ethdev queue delivers mbufs of its own pool only: the rings are rebuilt. */
FX_TEST(test_move_between_pools)
{
	struct rte_mempool *alike[] = { fx_pool(fx, 1023, RTE_MBUF_DEFAULT_BUF_SIZE),
					fx_pool(fx, 1023, RTE_MBUF_DEFAULT_BUF_SIZE) };
	struct rte_mempool *larger[] = { alike[0], fx_pool(fx, 1023, 4096) };
	struct rte_mempool *same[] = { alike[0], alike[0] };

	check_unequal(fx, alike, 0, 1);
	check_unequal(fx, larger, 0, 1);
	/* other segment layout: rebuild */
	check_unequal(fx, same, RTE_ETH_RX_OFFLOAD_SCATTER, 1);
	/* no effect on the ring */
	check_unequal(fx, same, RTE_ETH_RX_OFFLOAD_VLAN_STRIP, 0);
	fx->ignore_counters = true;
}

/* Setting the same key or table again loses no packet. */
FX_TEST(test_same_key)
{
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
FX_TEST(test_move_from_stopped_queue)
{
	static const uint16_t apart[] = { 0, 1 }, one[] = { 0 };
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
FX_TEST(test_queue_setup_returns_all_mbufs)
{
	static const uint16_t apart[] = { 0, 1 }, one[] = { 1 };
	struct rte_mempool *pools[] = { fx_pool(fx, 1023, RTE_MBUF_DEFAULT_BUF_SIZE),
					fx_pool(fx, 1023, RTE_MBUF_DEFAULT_BUF_SIZE) };
	struct fx_config config = { .nb_rxq = 2, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rss_key = key };

	assert_int_equal(fx_configure(fx, fx->port[0], &(struct fx_config){ 0 }), 0);
	assert_int_equal(fx_configure(fx, fx->port[1], &config), 0);
	for (uint16_t q = 0; q < 2; q++)
		fx_rx_setup(fx->port[1], q, 64, NULL, pools[q]);
	fx_restart(fx);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, apart, 2), 0);
	assert_int_equal(rte_mempool_avail_count(pools[0]), 1023 - 64);
	assert_int_equal(table_set(fx->port[1], TABLE_SIZE, one, 1), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], 0), 0);
	assert_int_equal(rte_mempool_avail_count(pools[0]), 1023 - 64);
	fx_rx_setup(fx->port[1], 0, 64, NULL, pools[1]);
	assert_int_equal(rte_mempool_avail_count(pools[0]), 1023);
	check_flows(fx, 2, key);
	fx_stop(fx);
	assert_int_equal(fx_configure(fx, fx->port[1], &(struct fx_config){ 0 }), 0);
}

/* hw_rxq gives a finer table. */
FX_TEST_BARE(test_hw_rxq)
{
	static const uint16_t fine[] = { 0, 1, 2, 0, 1, 2, 0, 0 };
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

/* Table updates lose no waiting packet. */
FX_TEST(test_table_updates_lose_no_packet)
{
	static const uint16_t orders[2][4] = { { 3, 1, 0, 2 }, { 0, 1, 2, 3 } };
	struct fx_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rss_key = key };
	unsigned int nb = 0;

	fx_start(fx, &config);
	for (unsigned int i = 0; i < 20; i++) {
		for (unsigned int seed = 0; seed < 30; seed++)
			fx_send_one(fx, seed);
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

/* The types that applications ask for are offered whole: ethdev refuses others. */
FX_TEST(test_types)
{
	static const uint64_t types[] = { RTE_ETH_RSS_IP, RTE_ETH_RSS_TCP,
					  RTE_ETH_RSS_UDP };
	struct rte_eth_dev_info info;
	uint64_t all = 0;

	assert_int_equal(rte_eth_dev_info_get(fx->port[1], &info), 0);
	for (unsigned int i = 0; i < RTE_DIM(types); i++) {
		struct fx_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_key = key,
					    .rss_hf = types[i] };

		fx_start(fx, &config);
		check_flows(fx, 4, key);
		fx_stop(fx);
		all |= types[i];
	}
	assert_int_equal(info.flow_type_rss_offloads, all);
}

/* Without a length a key has 40 bytes, as rte_ethdev.h of 22.11 says. */
FX_TEST(test_key_without_length)
{
	struct fx_config config = { .nb_rxq = 4, .nb_rxd = 64, .rss_hf = FX_RSS };
	uint8_t other[KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_key = other, .rss_hf = FX_RSS };

	for (unsigned int i = 0; i < KEY_BYTES; i++)
		other[i] = key[KEY_BYTES - 1 - i];
	config.rss_key = key;
	config.has_no_key_length = true;
	/* ethdev of 23.11 and later refuses the length itself */
	fx_expect_error("invalid RSS key len");
	if (fx_configure(fx, fx->port[1], &config) != 0) {
		assert_true(fx_nb_logged(RTE_LOG_ERR, "invalid RSS key len") > 0);
		skip();
	}
	fx_start(fx, &config);
	check_flows(fx, 4, key);
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &conf), 0);
	check_flows(fx, 4, other);
}
