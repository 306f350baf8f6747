/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets in several buffers: scattered, and split by length. Port 0 sends, port 1
 * receives; the adapter takes an MTU of 9000.
 */

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ether.h>

#include "bench.h"

#define MAX_FRAME 9014u
#define MAX_SEGS 15u
#define SEND_SEG 2000u /* bytes of the segments that port 0 sends */

static const struct bench_config sender = {
	.mtu = 9000,
	.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER,
	.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
};

static struct bench_config
receiver(struct rte_mempool *pool, uint32_t mtu)
{
	return (struct bench_config){
		.mtu = mtu,
		.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER,
		.rx_pool = pool,
	};
}

static void
start_pair(struct bench *bench, const struct bench_config *rx)
{
	assert_int_equal(bench_configure(bench, bench->port[0], &sender), 0);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	assert_int_equal(bench_configure(bench, bench->port[1], rx), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
}

static void
send_frame(struct bench *bench, uint8_t *bytes, uint32_t len_bytes, uint32_t seed)
{
	struct rte_mbuf *m;

	bench_frame_bytes(bytes, len_bytes, seed);
	m = bench_chain(bench->pool, bytes, len_bytes, SEND_SEG);
	bench_send(bench->port[0], 0, &m, 1);
}

/* A frame goes across; each of its segments holds as much as fits. */
static void
pass(struct bench *bench, uint32_t len_bytes, const struct rte_eth_rxseg_split *segs,
     unsigned int nb_segs)
{
	static uint8_t bytes[MAX_FRAME];
	uint32_t left = len_bytes;
	const struct rte_mbuf *seg;
	struct rte_mbuf *m;
	unsigned int i = 0;

	send_frame(bench, bytes, len_bytes, len_bytes);
	assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
	bench_check_bytes(m, bytes, len_bytes);
	for (seg = m; seg != NULL; seg = seg->next, i++) {
		const struct rte_eth_rxseg_split *want = &segs[RTE_MIN(i, nb_segs - 1)];
		bool is_more = i >= nb_segs;
		uint16_t room = rte_pktmbuf_data_room_size(want->mp);
		uint16_t offset = is_more ? 0 : want->offset;
		uint16_t length = is_more || want->length == 0 ? room : want->length;

		if (i == 0)
			offset += RTE_PKTMBUF_HEADROOM;
		length = RTE_MIN(length, room - offset);
		assert_ptr_equal(seg->pool, want->mp);
		assert_int_equal(seg->data_off, offset);
		assert_int_equal(seg->data_len, RTE_MIN(left, (uint32_t)length));
		left -= seg->data_len;
	}
	assert_int_equal(i, m->nb_segs);
	rte_pktmbuf_free(m);
}

/* Around the end of every buffer, and the shortest and the longest frame. */
static void
pass_borders(struct bench *bench, uint32_t mtu, const struct rte_eth_rxseg_split *segs,
	     unsigned int nb_segs)
{
	uint32_t max = mtu + RTE_ETHER_HDR_LEN, edge = 0;

	pass(bench, 60, segs, nb_segs);
	pass(bench, max, segs, nb_segs);
	for (unsigned int i = 0; edge < max; i++) {
		const struct rte_eth_rxseg_split *seg = &segs[RTE_MIN(i, nb_segs - 1)];
		uint32_t room = rte_pktmbuf_data_room_size(seg->mp);

		if (i == 0)
			room -= RTE_PKTMBUF_HEADROOM;
		edge += i < nb_segs && seg->length != 0 ? seg->length : room;
		for (uint32_t len = edge - 1; len <= edge + 1; len++)
			if (len >= 60 && len <= max)
				pass(bench, len, segs, nb_segs);
	}
}

static void
test_scattered(void **state)
{
	/* 2, 3, 5 and all of the 15 buffers that a WQE has */
	static const struct { uint16_t room; uint32_t mtu; } shapes[] = {
		{ RTE_MBUF_DEFAULT_BUF_SIZE, 2100 }, { RTE_MBUF_DEFAULT_BUF_SIZE, 4300 },
		{ RTE_MBUF_DEFAULT_BUF_SIZE, 9000 }, { 610, 9000 }, { 320, 1500 },
	};
	struct bench *bench = *state;

	for (unsigned int i = 0; i < RTE_DIM(shapes); i++) {
		struct rte_mempool *pool = bench_pool(bench, 255 * MAX_SEGS, shapes[i].room);
		struct rte_eth_rxseg_split seg = { .mp = pool };
		struct bench_config config = receiver(pool, shapes[i].mtu);
		struct rte_eth_rxq_info info;
		struct rte_eth_burst_mode mode;

		start_pair(bench, &config);
		assert_int_equal(rte_eth_rx_queue_info_get(bench->port[1], 0, &info), 0);
		assert_int_equal(info.scattered_rx, 1);
		assert_int_equal(info.rx_buf_size, shapes[i].room - RTE_PKTMBUF_HEADROOM);
		assert_int_equal(rte_eth_rx_burst_mode_get(bench->port[1], 0, &mode), 0);
		assert_non_null(strstr(mode.info, "Scattered"));
		pass_borders(bench, shapes[i].mtu, &seg, 1);
		bench_stop(bench);
		bench_pool_free(bench, pool);
	}
}

/* The offload alone changes nothing where a frame fits one buffer. */
static void
test_one_buffer_is_enough(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = receiver(bench->pool, 1500);
	struct rte_eth_burst_mode mode;
	struct rte_eth_rxq_info info;

	start_pair(bench, &config);
	assert_int_equal(rte_eth_rx_queue_info_get(bench->port[1], 0, &info), 0);
	assert_int_equal(info.scattered_rx, 0);
	assert_int_equal(rte_eth_rx_burst_mode_get(bench->port[1], 0, &mode), 0);
	assert_null(strstr(mode.info, "Scattered"));
	bench_pass_one(bench);
}

/* Lengths at random, bursts and laps: order and contents, nothing lost. */
static void
test_many(void **state)
{
	struct bench *bench = *state;
	struct rte_mempool *pool = bench_pool(bench, 4095, 768);
	struct bench_config config = receiver(pool, 9000);
	static uint8_t bytes[MAX_FRAME];
	struct rte_mbuf *pkts[16];

	config.nb_rxd = 128;
	start_pair(bench, &config);
	for (uint32_t round = 0; round < 100; round++) {
		for (uint32_t i = 0; i < RTE_DIM(pkts); i++)
			send_frame(bench, bytes, 60 + (round * 271 + i * 997) % 8955,
				   round * 16 + i);
		assert_int_equal(bench_receive(bench->port[1], 0, pkts, RTE_DIM(pkts)),
				 RTE_DIM(pkts));
		for (uint32_t i = 0; i < RTE_DIM(pkts); i++) {
			uint32_t len = 60 + (round * 271 + i * 997) % 8955;

			bench_frame_bytes(bytes, len, round * 16 + i);
			bench_check_bytes(pkts[i], bytes, len);
			rte_pktmbuf_free(pkts[i]);
		}
	}
	bench_drain(bench);
	bench_stop(bench);
	bench_pool_free(bench, pool);
}

/* Frames held by the application until none is left: dropped, then it goes on. */
static void
test_pool_runs_dry(void **state)
{
	struct bench *bench = *state;
	struct rte_mempool *pool = bench_pool(bench, 64 * 5 + 20, RTE_MBUF_DEFAULT_BUF_SIZE);
	struct rte_eth_rxseg_split seg = { .mp = pool };
	struct bench_config config = receiver(pool, 9000);
	static uint8_t bytes[MAX_FRAME];
	struct rte_mbuf *held[100];
	unsigned int nb;

	config.nb_rxd = 64;
	start_pair(bench, &config);
	for (unsigned int i = 0; i < RTE_DIM(held); i++) {
		send_frame(bench, bytes, MAX_FRAME, i);
		if (i % 16 == 15)
			bench_settle(bench);
	}
	bench_settle(bench);
	nb = bench_receive(bench->port[1], 0, held, RTE_DIM(held));
	assert_true(nb >= 64 && nb <= 68);
	assert_int_equal(bench_wire(bench, 1).rx_no_wqe, RTE_DIM(held) - nb);
	rte_pktmbuf_free_bulk(held, nb);
	/* the polls alone have made it good */
	assert_int_equal(rte_eth_rx_burst(bench->port[1], 0, held, 1), 0);
	for (unsigned int i = 0; i < 200; i++)
		pass(bench, MAX_FRAME - i, &seg, 1);
	bench_stop(bench);
	bench_pool_free(bench, pool);
}

/* Configures port 1 with a split, and starts both ports. Returns the setup's result. */
static int
split_setup(struct bench *bench, uint32_t mtu, const struct rte_eth_rxseg_split *segs,
	    uint16_t nb_segs)
{
	struct rte_eth_conf conf = { .rxmode = { .mtu = mtu,
		.offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT } };
	union rte_eth_rxseg rx_seg[MAX_SEGS + 1];
	struct rte_eth_rxconf rxconf = { .rx_seg = rx_seg, .rx_nseg = nb_segs };
	uint16_t port = bench->port[1];

	for (uint16_t i = 0; i < nb_segs; i++)
		rx_seg[i].split = segs[i];
	assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port, 0, 256, SOCKET_ID_ANY, NULL), 0);
	return rte_eth_rx_queue_setup(port, 0, 256, SOCKET_ID_ANY, &rxconf, NULL);
}

static void
split_start(struct bench *bench, uint32_t mtu, const struct rte_eth_rxseg_split *segs,
	    uint16_t nb_segs)
{
	assert_int_equal(split_setup(bench, mtu, segs, nb_segs), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	assert_int_equal(bench_configure(bench, bench->port[0], &sender), 0);
	assert_int_equal(bench_dev_start(bench, 0), 0);
}

static void
test_split(void **state)
{
	struct bench *bench = *state;
	struct rte_mempool *headers = bench_pool(bench, 511, 256);
	struct rte_mempool *middle = bench_pool(bench, 511, 512);
	struct rte_eth_rxseg_split segs[] = {
		{ .mp = headers, .length = 42 },
		{ .mp = middle, .length = 300, .offset = 33 },
		{ .mp = bench->pool, .length = 2000, .offset = 64 },
	};
	struct rte_eth_rxq_info info;

	split_start(bench, 1500, segs, RTE_DIM(segs));
	pass_borders(bench, 1500, segs, RTE_DIM(segs));
	assert_int_equal(rte_eth_rx_queue_info_get(bench->port[1], 0, &info), 0);
	assert_null(info.mp);
	assert_int_equal(info.conf.rx_nseg, RTE_DIM(segs));
	assert_memory_equal(&info.conf.rx_seg[1].split, &segs[1], sizeof(segs[1]));
	bench_stop(bench);
	/* the last pool takes what is left of a longer frame, in whole buffers */
	split_start(bench, 9000, segs, RTE_DIM(segs));
	pass_borders(bench, 9000, segs, RTE_DIM(segs));
	bench_stop(bench);
	/* one segment, with an offset or a length, is a split, too */
	segs[0] = (struct rte_eth_rxseg_split){ .mp = bench->pool, .length = 1700,
						.offset = 100 };
	split_start(bench, 1500, segs, 1);
	pass_borders(bench, 1500, segs, 1);
	bench_stop(bench);
	bench_drain(bench);
}

/* The shortest segments that there can be, all of those that a WQE has. */
static void
test_split_to_the_byte(void **state)
{
	struct bench *bench = *state;
	struct rte_mempool *pool = bench_pool(bench, 256 * MAX_SEGS + 64,
					      RTE_MBUF_DEFAULT_BUF_SIZE);
	struct rte_eth_rxseg_split segs[MAX_SEGS];

	for (unsigned int i = 0; i < MAX_SEGS; i++)
		segs[i] = (struct rte_eth_rxseg_split){ .mp = pool, .offset = i,
			.length = i + 1 < MAX_SEGS ? 1 + i % 3 : 2000 };
	split_start(bench, 1500, segs, MAX_SEGS);
	pass_borders(bench, 1500, segs, MAX_SEGS);
}

/* A tag that is put back, the addresses lying in four segments. */
static void
test_split_and_vlan(void **state)
{
	struct bench *bench = *state;
	struct rte_eth_rxseg_split segs[] = {
		{ .mp = bench->pool, .length = 3 }, { .mp = bench->pool, .length = 4 },
		{ .mp = bench->pool, .length = 2 }, { .mp = bench->pool, .length = 2000 },
	};
	struct bench_config config = sender;
	uint8_t bytes[204], untagged[200];
	struct rte_mbuf *m;

	bench->ignore_counters = true; /* the wire counts without the tag */
	assert_int_equal(split_setup(bench, 1500, segs, RTE_DIM(segs)), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	config.tx_offloads |= RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
	assert_int_equal(bench_configure(bench, bench->port[0], &config), 0);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	for (unsigned int strip = 0; strip < 2; strip++) {
		m = bench_frame(bench->pool, sizeof(untagged), 4);
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = 77;
		bench_send(bench->port[0], 0, &m, 1);
		assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
		bench_frame_bytes(untagged, sizeof(untagged), 4);
		memcpy(bytes, untagged, 12);
		memcpy(bytes + 12, (const uint8_t[]){ 0x81, 0, 0, 77 }, 4);
		memcpy(bytes + 16, untagged + 12, sizeof(untagged) - 12);
		if (strip)
			bench_check_bytes(m, untagged, sizeof(untagged));
		else
			bench_check_bytes(m, bytes, sizeof(bytes));
		rte_pktmbuf_free(m);
		assert_int_equal(rte_eth_dev_set_vlan_offload(
			bench->port[1], RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	}
}

static void
test_split_refused(void **state)
{
	struct bench *bench = *state;
	struct rte_eth_rxseg_split segs[MAX_SEGS + 1], good[MAX_SEGS + 1];
	struct rte_mempool *small = bench_pool(bench, 63, 256);
	uint16_t room = RTE_MBUF_DEFAULT_BUF_SIZE;

	for (unsigned int i = 0; i < RTE_DIM(good); i++)
		good[i] = (struct rte_eth_rxseg_split){ .mp = bench->pool, .length = 200 };
#define EXPECT(code, text, nb, mtu, change) do { \
	memcpy(segs, good, sizeof(segs)); \
	change; \
	bench_expect_error(text); \
	assert_int_equal(split_setup(bench, mtu, segs, nb), code); \
	assert_true(bench_nb_logged(RTE_LOG_ERR, text) > 0); \
} while (0)
	/* ethdev's own */
	EXPECT(-EINVAL, "segments", MAX_SEGS + 1, 1500, (void)0);
	EXPECT(-EINVAL, "mempool", 3, 1500, segs[1].mp = NULL);
	EXPECT(-EINVAL, "mbuf_data_room_size", 3, 1500, segs[1].length = room + 1);
	EXPECT(-EINVAL, "mbuf_data_room_size", 3, 1500, segs[1].offset = room);
	/* the driver's */
	EXPECT(-EINVAL, "make them longer", MAX_SEGS, 9000, (void)0);
	EXPECT(-EINVAL, "data_room_size 663 or more", 2, 9000, segs[1].mp = small);
#undef EXPECT
	memcpy(segs, good, sizeof(segs));
	segs[0].proto_hdr = RTE_PTYPE_L2_ETHER;
	segs[0].length = 0;
	bench_expect_error("");
	assert_true(split_setup(bench, 1500, segs, 2) < 0);
	bench_expect_error(NULL);
	assert_int_equal(split_setup(bench, 1500, good, 3), 0);
}

static void
test_scatter_refused(void **state)
{
	struct bench *bench = *state;
	struct rte_mempool *small = bench_pool(bench, 63, 512);
	struct bench_config config = receiver(small, 9000);
	uint16_t mtu;

	/* without the offload: the size that would do, and the other way out */
	config.rx_offloads = 0;
	bench_expect_error("data_room_size 9142 or more, or enable RTE_ETH_RX_OFFLOAD_SCATTER");
	assert_int_equal(bench_configure(bench, bench->port[1], &config), -EINVAL);
	/* with it: the size for 15 buffers a packet */
	config.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	bench_expect_error("make the pool with data_room_size 610 or more");
	assert_int_equal(bench_configure(bench, bench->port[1], &config), -EINVAL);
	bench_pool_free(bench, small);
	/* just that size does, a byte less does not */
	small = bench_pool(bench, 63, 609);
	config.rx_pool = small;
	assert_int_equal(bench_configure(bench, bench->port[1], &config), -EINVAL);
	bench_pool_free(bench, small);
	small = bench_pool(bench, 64 * MAX_SEGS, 610);
	config.rx_pool = small;
	config.nb_rxd = 64;
	bench_expect_error(NULL);
	assert_int_equal(bench_configure(bench, bench->port[1], &config), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	assert_int_equal(rte_eth_dev_get_mtu(bench->port[1], &mtu), 0);
	assert_int_equal(mtu, 9000);
	assert_int_equal(bench_dev_stop(bench, 1), 0);
	bench_pool_free(bench, small);
}

/* Too few mbufs for all WQEs: named, and nothing is kept. */
static void
test_pool_too_small_to_start(void **state)
{
	struct bench *bench = *state;
	struct rte_mempool *pool = bench_pool(bench, 1000, RTE_MBUF_DEFAULT_BUF_SIZE);
	struct bench_config config = receiver(pool, 9000);

	assert_int_equal(bench_configure(bench, bench->port[1], &config), 0);
	bench_expect_error("has too few mbufs left: it wants 1280");
	assert_int_equal(bench_dev_start(bench, 1), -ENOMEM);
	assert_int_equal(rte_mempool_avail_count(pool), 1000);
	bench->port[1] = RTE_MAX_ETHPORTS; /* never started: nothing to compare */
}

static void
set_mtu(struct bench *bench, uint16_t mtu, int wanted)
{
	uint16_t before, after;

	assert_int_equal(rte_eth_dev_get_mtu(bench->port[1], &before), 0);
	assert_int_equal(rte_eth_dev_set_mtu(bench->port[1], mtu), wanted);
	assert_int_equal(rte_eth_dev_get_mtu(bench->port[1], &after), 0);
	assert_int_equal(after, wanted == 0 ? mtu : before);
}

/* The MTU while the port runs, and the shapes that a restart makes of it. */
static void
test_mtu_at_run_time(void **state)
{
	struct bench *bench = *state;
	struct bench_config config = receiver(bench->pool, 1500);
	struct rte_eth_rxseg_split seg = { .mp = bench->pool };

	start_pair(bench, &config);
	/* frames of 2048 bytes fit the posted buffers, longer ones do not */
	set_mtu(bench, 2034, 0);
	pass(bench, 2048, &seg, 1);
	bench_expect_error("stop the port");
	set_mtu(bench, 2035, -EBUSY);
	pass(bench, 2048, &seg, 1);
	set_mtu(bench, 68, 0);
	pass(bench, 2048, &seg, 1);
	assert_int_equal(bench_dev_stop(bench, 1), 0);
	bench_expect_error(NULL);
	set_mtu(bench, 9000, 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	pass_borders(bench, 9000, &seg, 1);
	/* smaller while it runs: the buffers stay, until the next start */
	set_mtu(bench, 1500, 0);
	pass(bench, 9014, &seg, 1);
	/* as far as they go: 2048 and four of 2176 */
	bench_expect_error("Device MTU max");
	assert_int_equal(bench_dev_stop(bench, 1), 0);
	set_mtu(bench, 4000, 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	set_mtu(bench, 4210, 0);
	pass(bench, 4224, &seg, 1);
	bench_expect_error("runs with buffers of 4224 bytes");
	set_mtu(bench, 4211, -EBUSY);
	assert_int_equal(bench_dev_stop(bench, 1), 0);
	set_mtu(bench, 1500, 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	pass(bench, 1514, &seg, 1);
}

/* Three ethdev queues, so that the device has four; one of them scatters. */
static void
test_queues_of_both_kinds(void **state)
{
	struct bench *bench = *state;
	struct rte_mempool *large = bench_pool(bench, 2047, 4096);
	struct rte_mempool *small = bench_pool(bench, 4095, 600);
	struct bench_config config = {
		.nb_rxq = 3,
		.nb_rxd = 128,
		.mtu = 3000,
		.rss_hf = BENCH_RSS,
		.rx_pool = large,
	};
	struct rte_eth_rxconf rxconf = { .offloads = RTE_ETH_RX_OFFLOAD_SCATTER };
	unsigned int nb_of[3] = { 0 };
	static uint8_t bytes[MAX_FRAME];
	uint16_t port = bench->port[1];

	assert_int_equal(bench_configure(bench, port, &config), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port, 1, 128, SOCKET_ID_ANY, &rxconf,
						small), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	assert_int_equal(bench_configure(bench, bench->port[0], &sender), 0);
	assert_int_equal(bench_dev_start(bench, 0), 0);
	for (uint32_t i = 0; i < 300; i++) {
		uint32_t len = 60 + i * 53 % 2955;
		uint64_t end = bench_deadline();
		struct rte_mbuf *m;
		uint16_t q = 0;

		send_frame(bench, bytes, len, i);
		while (rte_eth_rx_burst(port, q, &m, 1) == 0) {
			q = (q + 1) % 3;
			assert_true(rte_get_timer_cycles() < end);
		}
		bench_check_bytes(m, bytes, len);
		assert_ptr_equal(m->pool, q == 1 ? small : large);
		assert_int_equal(m->nb_segs, q == 1 && len > 472 ? 2 + (len - 473) / 600 : 1);
		nb_of[q]++;
		rte_pktmbuf_free(m);
	}
	for (unsigned int q = 0; q < 3; q++)
		assert_true(nb_of[q] > 0);
	bench_drain(bench);
	bench_stop(bench);
}

/* Queues stop and start and the key changes, amid frames that wait: none is lost. */
static void
test_changes_at_run_time(void **state)
{
	struct bench *bench = *state;
	struct rte_mempool *pool = bench_pool(bench, 8191, 700);
	struct bench_config config = receiver(pool, 3000);
	static uint8_t bytes[MAX_FRAME];
	uint16_t port = bench->port[1];
	struct rte_mbuf *m;

	config.nb_rxq = 3;
	config.nb_rxd = 64;
	config.rss_hf = BENCH_RSS;
	start_pair(bench, &config);
	for (uint32_t round = 0; round < 12; round++) {
		struct rte_eth_rss_conf rss = { .rss_key = bytes, .rss_key_len = 40,
						.rss_hf = BENCH_RSS };
		unsigned int nb = 0;
		uint64_t end;

		for (uint32_t i = 0; i < 30; i++)
			send_frame(bench, bytes, 60 + i * 97 % 2900, round * 30 + i);
		bench_settle(bench);
		if (round % 3 == 0) {
			memset(bytes, round + 1, 40);
			assert_int_equal(rte_eth_dev_rss_hash_update(port, &rss), 0);
		}
		end = bench_deadline();
		for (uint16_t q = 0; nb < 30; q = (q + 1) % 3) {
			if (rte_eth_rx_burst(port, q, &m, 1) == 1) {
				uint32_t i = 0;

				/* found by its length and its bytes */
				while (60 + i * 97 % 2900 != m->pkt_len)
					i++;
				bench_frame_bytes(bytes, m->pkt_len, round * 30 + i);
				bench_check_bytes(m, bytes, m->pkt_len);
				rte_pktmbuf_free(m);
				nb++;
			}
			assert_true(rte_get_timer_cycles() < end);
		}
		if (round % 3 == 1) {
			assert_int_equal(rte_eth_dev_rx_queue_stop(port, 1), 0);
			assert_int_equal(rte_eth_dev_rx_queue_start(port, 1), 0);
		}
	}
	bench_drain(bench);
	bench_stop(bench);
	bench_pool_free(bench, pool);
}

/* Stopped, it has no mbuf; at its start the buffers are those of the MTU of then. */
static void
test_queue_stopped(void **state)
{
	struct bench *bench = *state;
	struct rte_mempool *large = bench_pool(bench, 1023, 4096);
	struct rte_mempool *small = bench_pool(bench, 1023, 600);
	struct rte_eth_rxconf rxconf = { .offloads = RTE_ETH_RX_OFFLOAD_SCATTER };
	struct bench_config config = { .nb_rxq = 2, .nb_rxd = 64, .mtu = 3000,
				       .rx_pool = large };
	uint16_t port = bench->port[1];

	assert_int_equal(bench_configure(bench, port, &config), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port, 1, 64, SOCKET_ID_ANY, &rxconf,
						small), 0);
	assert_int_equal(bench_dev_start(bench, 1), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(port, 1), 0);
	assert_int_equal(rte_mempool_avail_count(small), 1023);
	set_mtu(bench, 3500, 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 1), 0);
	bench_drain(bench);
	bench_stop(bench);
	bench_pool_free(bench, small);
	bench_pool_free(bench, large);
}

static void
test_capabilities(void **state)
{
	struct bench *bench = *state;
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(bench->port[0], &info), 0);
	assert_int_equal(info.max_mtu, 9000);
	assert_true(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER);
	assert_true(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT);
	assert_true(info.rx_queue_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER);
	assert_true(info.rx_queue_offload_capa & RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT);
	assert_int_equal(info.rx_seg_capa.max_nseg, MAX_SEGS);
	assert_int_equal(info.rx_seg_capa.multi_pools, 1);
	assert_int_equal(info.rx_seg_capa.offset_allowed, 1);
	assert_int_equal(info.rx_seg_capa.offset_align_log2, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_capabilities),
		BENCH_TEST(test_scattered),
		BENCH_TEST(test_one_buffer_is_enough),
		BENCH_TEST(test_many),
		BENCH_TEST(test_pool_runs_dry),
		BENCH_TEST(test_split),
		BENCH_TEST(test_split_to_the_byte),
		BENCH_TEST(test_split_and_vlan),
		BENCH_TEST(test_split_refused),
		BENCH_TEST(test_scatter_refused),
		BENCH_TEST(test_pool_too_small_to_start),
		BENCH_TEST(test_mtu_at_run_time),
		BENCH_TEST(test_queues_of_both_kinds),
		BENCH_TEST(test_changes_at_run_time),
		BENCH_TEST(test_queue_stopped),
	};

	return BENCH_RUN("scatter", tests);
}
