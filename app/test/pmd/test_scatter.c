/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Scattered packets and buffer split. Port 0 sends, port 1 receives; the
 * adapter's MTU limit is 9000.
 */

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ether.h>

#include "fixture.h"

#define MAX_FRAME 9014u
/* Minimum data room of an Rx pool. */
#define MIN_ROOM (1024 + RTE_PKTMBUF_HEADROOM)
#define MAX_SEGS 15u
#define SEND_SEG 2000u /* bytes per Tx segment */

static const struct fx_config sender = {
	.mtu = 9000,
	.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER,
	.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
};

static struct fx_config
receiver(struct rte_mempool *pool, uint32_t mtu)
{
	return (struct fx_config){
		.mtu = mtu,
		.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER,
		.rx_pool = pool,
	};
}

static void
start_pair(struct fixture *fx, const struct fx_config *rx)
{
	fx_start_each(fx, &sender, rx);
}

static void
send_frame(struct fixture *fx, uint8_t *bytes, uint32_t len_bytes, uint32_t seed)
{
	struct rte_mbuf *m;

	fx_frame_bytes(bytes, len_bytes, seed);
	m = fx_chain(fx->pool, bytes, len_bytes, SEND_SEG);
	fx_send(fx->port[0], 0, &m, 1);
}

/* Passes a frame; each Rx segment is filled. */
static void
pass(struct fixture *fx, uint32_t len_bytes, const struct rte_eth_rxseg_split *segs,
     unsigned int nb_segs)
{
	static uint8_t bytes[MAX_FRAME];
	uint32_t left = len_bytes;
	const struct rte_mbuf *seg;
	struct rte_mbuf *m;
	unsigned int i = 0;

	send_frame(fx, bytes, len_bytes, len_bytes);
	assert_int_equal(fx_receive(fx->port[1], 0, &m, 1), 1);
	fx_check_bytes(m, bytes, len_bytes);
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

/* Lengths around each buffer end, and the minimum and maximum. */
static void
pass_borders(struct fixture *fx, uint32_t mtu, const struct rte_eth_rxseg_split *segs,
	     unsigned int nb_segs)
{
	uint32_t max = mtu + RTE_ETHER_HDR_LEN, edge = 0;

	pass(fx, 60, segs, nb_segs);
	pass(fx, max, segs, nb_segs);
	for (unsigned int i = 0; edge < max; i++) {
		const struct rte_eth_rxseg_split *seg = &segs[RTE_MIN(i, nb_segs - 1)];
		uint32_t room = rte_pktmbuf_data_room_size(seg->mp);

		if (i == 0)
			room -= RTE_PKTMBUF_HEADROOM;
		edge += i < nb_segs && seg->length != 0 ? seg->length : room;
		for (uint32_t len = edge - 1; len <= edge + 1; len++)
			if (len >= 60 && len <= max)
				pass(fx, len, segs, nb_segs);
	}
}

FX_TEST(test_scattered)
{
	/* 2, 3, 5, 8 and 9 of at most 15 buffers per WQE; 2 of the smallest */
	static const struct { uint16_t room; uint32_t mtu; } shapes[] = {
		{ RTE_MBUF_DEFAULT_BUF_SIZE, 2100 }, { RTE_MBUF_DEFAULT_BUF_SIZE, 4300 },
		{ RTE_MBUF_DEFAULT_BUF_SIZE, 9000 }, { MIN_ROOM + 128, 9000 },
		{ MIN_ROOM, 9000 }, { MIN_ROOM, 1500 },
	};

	for (unsigned int i = 0; i < RTE_DIM(shapes); i++) {
		struct rte_mempool *pool = fx_pool(fx, 255 * MAX_SEGS, shapes[i].room);
		struct rte_eth_rxseg_split seg = { .mp = pool };
		struct fx_config config = receiver(pool, shapes[i].mtu);
		struct rte_eth_rxq_info info;

		start_pair(fx, &config);
		assert_int_equal(rte_eth_rx_queue_info_get(fx->port[1], 0, &info), 0);
		assert_int_equal(info.scattered_rx, 1);
		assert_int_equal(info.rx_buf_size, shapes[i].room - RTE_PKTMBUF_HEADROOM);
		pass_borders(fx, shapes[i].mtu, &seg, 1);
		fx_stop(fx);
		fx_pool_free(fx, pool);
	}
}

/* The offload changes nothing if a frame fits one buffer. */
FX_TEST(test_one_buffer_is_enough)
{
	struct fx_config config = receiver(fx->pool, 1500);
	struct rte_eth_burst_mode mode;
	struct rte_eth_rxq_info info;

	start_pair(fx, &config);
	assert_int_equal(rte_eth_rx_queue_info_get(fx->port[1], 0, &info), 0);
	assert_int_equal(info.scattered_rx, 0);
	assert_int_equal(rte_eth_rx_burst_mode_get(fx->port[1], 0, &mode), 0);
	assert_null(strstr(mode.info, "Scattered"));
	fx_pass_one(fx);
}

/* Random lengths, bursts and laps: order and contents. */
FX_TEST(test_random_lengths)
{
	struct rte_mempool *pool = fx_pool(fx, 4095, MIN_ROOM);
	struct fx_config config = receiver(pool, 9000);
	static uint8_t bytes[MAX_FRAME];
	struct rte_mbuf *pkts[16];

	config.nb_rxd = 128;
	start_pair(fx, &config);
	for (uint32_t round = 0; round < 100; round++) {
		for (uint32_t i = 0; i < RTE_DIM(pkts); i++)
			send_frame(fx, bytes, 60 + (round * 271 + i * 997) % 8955,
				   round * 16 + i);
		assert_int_equal(fx_receive(fx->port[1], 0, pkts, RTE_DIM(pkts)),
				 RTE_DIM(pkts));
		for (uint32_t i = 0; i < RTE_DIM(pkts); i++) {
			uint32_t len = 60 + (round * 271 + i * 997) % 8955;

			fx_frame_bytes(bytes, len, round * 16 + i);
			fx_check_bytes(pkts[i], bytes, len);
			rte_pktmbuf_free(pkts[i]);
		}
	}
	fx_drain(fx);
	fx_stop(fx);
	fx_pool_free(fx, pool);
}

/* The application holds all mbufs: packets drop, then reception continues. */
FX_TEST(test_empty_pool)
{
	struct rte_mempool *pool = fx_pool(fx, 64 * 5 + 20, RTE_MBUF_DEFAULT_BUF_SIZE);
	struct rte_eth_rxseg_split seg = { .mp = pool };
	struct fx_config config = receiver(pool, 9000);
	static uint8_t bytes[MAX_FRAME];
	struct rte_mbuf *held[100];
	unsigned int nb;

	config.nb_rxd = 64;
	start_pair(fx, &config);
	for (unsigned int i = 0; i < RTE_DIM(held); i++) {
		send_frame(fx, bytes, MAX_FRAME, i);
		if (i % 16 == 15)
			fx_settle(fx);
	}
	fx_settle(fx);
	nb = fx_wire(fx, 1).rx_packets;
	assert_true(nb >= 64 && nb <= 68);
	assert_int_equal(fx_receive(fx->port[1], 0, held, nb), nb);
	assert_int_equal(fx_wire(fx, 1).rx_no_wqe, RTE_DIM(held) - nb);
	rte_pktmbuf_free_bulk(held, nb);
	/* polls alone refill the ring */
	assert_int_equal(rte_eth_rx_burst(fx->port[1], 0, held, 1), 0);
	for (unsigned int i = 0; i < 200; i++)
		pass(fx, MAX_FRAME - i, &seg, 1);
	fx_stop(fx);
	fx_pool_free(fx, pool);
}

/* Configures port 1 with a split, starts both. Returns the setup's result. */
static int
split_setup(struct fixture *fx, uint32_t mtu, const struct rte_eth_rxseg_split *segs,
	    uint16_t nb_segs)
{
	struct rte_eth_conf conf = { .rxmode = { .mtu = mtu,
		.offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT } };
	union rte_eth_rxseg rx_seg[MAX_SEGS + 1];
	struct rte_eth_rxconf rxconf = { .rx_seg = rx_seg, .rx_nseg = nb_segs };
	uint16_t port = fx->port[1];

	for (uint16_t i = 0; i < nb_segs; i++)
		rx_seg[i].split = segs[i];
	assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), 0);
	fx_tx_setup(port, 0, 256, NULL);
	return rte_eth_rx_queue_setup(port, 0, 256, SOCKET_ID_ANY, &rxconf, NULL);
}

static void
split_start(struct fixture *fx, uint32_t mtu, const struct rte_eth_rxseg_split *segs,
	    uint16_t nb_segs)
{
	assert_int_equal(split_setup(fx, mtu, segs, nb_segs), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &sender), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
}

FX_TEST(test_split)
{
	struct rte_mempool *headers = fx_pool(fx, 511, 256);
	struct rte_mempool *middle = fx_pool(fx, 511, 512);
	struct rte_eth_rxseg_split segs[] = {
		{ .mp = headers, .length = 42 },
		{ .mp = middle, .length = 300, .offset = 33 },
		{ .mp = fx->pool, .length = 2000, .offset = 64 },
	};
	struct rte_eth_rxq_info info;

	split_start(fx, 1500, segs, RTE_DIM(segs));
	pass_borders(fx, 1500, segs, RTE_DIM(segs));
	assert_int_equal(rte_eth_rx_queue_info_get(fx->port[1], 0, &info), 0);
	assert_null(info.mp);
	assert_int_equal(info.conf.rx_nseg, RTE_DIM(segs));
	assert_memory_equal(&info.conf.rx_seg[1].split, &segs[1], sizeof(segs[1]));
	fx_stop(fx);
	/* the last pool takes the rest of a frame in whole buffers */
	split_start(fx, 9000, segs, RTE_DIM(segs));
	pass_borders(fx, 9000, segs, RTE_DIM(segs));
	fx_stop(fx);
	/* one segment with offset or length is a split, too */
	segs[0] = (struct rte_eth_rxseg_split){ .mp = fx->pool, .length = 1700,
						.offset = 100 };
	split_start(fx, 1500, segs, 1);
	pass_borders(fx, 1500, segs, 1);
	fx_stop(fx);
	fx_drain(fx);
}

/* The most segments, of minimum length. */
FX_TEST(test_split_to_the_byte)
{
	struct rte_mempool *pool = fx_pool(fx, 256 * MAX_SEGS + 64,
					   RTE_MBUF_DEFAULT_BUF_SIZE);
	struct rte_eth_rxseg_split segs[MAX_SEGS];

	for (unsigned int i = 0; i < MAX_SEGS; i++)
		segs[i] = (struct rte_eth_rxseg_split){ .mp = pool, .offset = i,
			.length = i + 1 < MAX_SEGS ? 1 + i % 3 : 2000 };
	split_start(fx, 1500, segs, MAX_SEGS);
	pass_borders(fx, 1500, segs, MAX_SEGS);
}

/* A reinserted tag, with addresses in four segments. */
FX_TEST(test_split_and_vlan)
{
	struct rte_eth_rxseg_split segs[] = {
		{ .mp = fx->pool, .length = 3 }, { .mp = fx->pool, .length = 4 },
		{ .mp = fx->pool, .length = 2 }, { .mp = fx->pool, .length = 2000 },
	};
	struct fx_config config = sender;
	uint8_t bytes[204], untagged[200];
	struct rte_mbuf *m;

	fx->ignore_counters = true; /* the wire counts frames without tag */
	assert_int_equal(split_setup(fx, 1500, segs, RTE_DIM(segs)), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	config.tx_offloads |= RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
	assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	for (unsigned int strip = 0; strip < 2; strip++) {
		m = fx_frame(fx->pool, sizeof(untagged), 4);
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = 77;
		fx_send(fx->port[0], 0, &m, 1);
		assert_int_equal(fx_receive(fx->port[1], 0, &m, 1), 1);
		fx_frame_bytes(untagged, sizeof(untagged), 4);
		memcpy(bytes, untagged, 12);
		memcpy(bytes + 12, (const uint8_t[]){ 0x81, 0, 0, 77 }, 4);
		memcpy(bytes + 16, untagged + 12, sizeof(untagged) - 12);
		if (strip)
			fx_check_bytes(m, untagged, sizeof(untagged));
		else
			fx_check_bytes(m, bytes, sizeof(bytes));
		rte_pktmbuf_free(m);
		assert_int_equal(rte_eth_dev_set_vlan_offload(
			fx->port[1], RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	}
}

FX_TEST(test_split_refused)
{
	struct rte_eth_rxseg_split segs[MAX_SEGS + 1], good[MAX_SEGS + 1];
	struct rte_mempool *small = fx_pool(fx, 63, 256);
	uint16_t room = RTE_MBUF_DEFAULT_BUF_SIZE;

	for (unsigned int i = 0; i < RTE_DIM(good); i++)
		good[i] = (struct rte_eth_rxseg_split){ .mp = fx->pool, .length = 200 };
#define EXPECT(code, text, nb, mtu, change) do { \
	memcpy(segs, good, sizeof(segs)); \
	change; \
	fx_expect_error(text);    \
	assert_int_equal(split_setup(fx, mtu, segs, nb), code);    \
	assert_true(fx_nb_logged(RTE_LOG_ERR, text) > 0);    \
} while (0)
	/* ethdev's checks */
	EXPECT(-EINVAL, "segments", MAX_SEGS + 1, 1500, (void)0);
	EXPECT(-EINVAL, "mempool", 3, 1500, segs[1].mp = NULL);
	EXPECT(-EINVAL, "mbuf_data_room_size", 3, 1500, segs[1].length = room + 1);
	EXPECT(-EINVAL, "mbuf_data_room_size", 3, 1500, segs[1].offset = room);
	/* the driver's checks */
	EXPECT(-EINVAL, "make them longer", MAX_SEGS, 9000, (void)0);
	EXPECT(-EINVAL, "data_room_size 663 or more", 2, 9000, segs[1].mp = small);
#undef EXPECT
	memcpy(segs, good, sizeof(segs));
	segs[0].proto_hdr = RTE_PTYPE_L2_ETHER;
	segs[0].length = 0;
	fx_expect_error("");
	assert_true(split_setup(fx, 1500, segs, 2) < 0);
	fx_expect_error(NULL);
	assert_int_equal(split_setup(fx, 1500, good, 3), 0);
}

FX_TEST(test_scatter_refused)
{
	struct rte_mempool *small = fx_pool(fx, 63, MIN_ROOM);
	struct fx_config config = receiver(small, 9000);

	/* without the offload the error names size and alternative */
	config.rx_offloads = 0;
	fx_expect_error("data_room_size 9142 or more, or enable RTE_ETH_RX_OFFLOAD_SCATTER");
	assert_int_equal(fx_configure(fx, fx->port[1], &config), -EINVAL);
	/* ethdev rejects a byte less than the minimum */
	config.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	fx_pool_free(fx, small);
	small = fx_pool(fx, 63, MIN_ROOM - 1);
	config.rx_pool = small;
	fx_expect_error("mbuf_data_room_size");
	assert_int_equal(fx_configure(fx, fx->port[1], &config), -EINVAL);
	fx_pool_free(fx, small);
	small = fx_pool(fx, 64 * MAX_SEGS, MIN_ROOM);
	config.rx_pool = small;
	config.nb_rxd = 64;
	fx_expect_error(NULL);
	assert_int_equal(fx_configure(fx, fx->port[1], &config), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	assert_int_equal(fx_mtu(fx->port[1]), 9000);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	fx_pool_free(fx, small);
}

/* Too few mbufs for all WQEs: error without leaks. */
FX_TEST(test_pool_too_small_to_start)
{
	struct rte_mempool *pool = fx_pool(fx, 1000, RTE_MBUF_DEFAULT_BUF_SIZE);
	struct fx_config config = receiver(pool, 9000);

	assert_int_equal(fx_configure(fx, fx->port[1], &config), 0);
	fx_expect_error("has too few mbufs: needs 1280");
	assert_int_equal(fx_dev_start(fx, 1), -ENOMEM);
	assert_int_equal(rte_mempool_avail_count(pool), 1000);
	fx->port[1] = RTE_MAX_ETHPORTS; /* never started: skip the comparison */
}

static void
set_mtu(struct fixture *fx, uint16_t mtu, int wanted)
{
	uint16_t before;

	assert_int_equal(rte_eth_dev_get_mtu(fx->port[1], &before), 0);
	assert_int_equal(rte_eth_dev_set_mtu(fx->port[1], mtu), wanted);
	assert_int_equal(fx_mtu(fx->port[1]), wanted == 0 ? mtu : before);
}

/* MTU changes on a running port, and segment layouts after a restart. */
FX_TEST(test_mtu_at_run_time)
{
	struct fx_config config = receiver(fx->pool, 1500);
	struct rte_eth_rxseg_split seg = { .mp = fx->pool };

	start_pair(fx, &config);
	/* posted buffers hold frames of 2048 bytes */
	set_mtu(fx, 2034, 0);
	pass(fx, 2048, &seg, 1);
	fx_expect_error("stop the port");
	set_mtu(fx, 2035, -EBUSY);
	pass(fx, 2048, &seg, 1);
	set_mtu(fx, 68, 0);
	pass(fx, 2048, &seg, 1);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	fx_expect_error(NULL);
	set_mtu(fx, 9000, 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	pass_borders(fx, 9000, &seg, 1);
	/* a smaller MTU keeps the buffers until the next start */
	set_mtu(fx, 1500, 0);
	pass(fx, 9014, &seg, 1);
	/* up to 2048 and four of 2176 bytes */
	fx_expect_error("Device MTU max");
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	set_mtu(fx, 4000, 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	set_mtu(fx, 4210, 0);
	pass(fx, 4224, &seg, 1);
	fx_expect_error("has posted buffers of 4224 bytes");
	set_mtu(fx, 4211, -EBUSY);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	set_mtu(fx, 1500, 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	pass(fx, 1514, &seg, 1);
}

/* Three ethdev queues on four hardware queues; one scatters, set up so while the port runs. */
FX_TEST(test_one_scattered_queue_of_three)
{
	struct rte_mempool *large = fx_pool(fx, 2047, 4096);
	struct rte_mempool *small = fx_pool(fx, 4095, MIN_ROOM);
	struct fx_config config = {
		.nb_rxq = 3,
		.nb_rxd = 128,
		.mtu = 3000,
		.rss_hf = FX_RSS,
		.rx_pool = large,
	};
	struct rte_eth_rxconf rxconf = { .offloads = RTE_ETH_RX_OFFLOAD_SCATTER };
	unsigned int nb_of[3] = { 0 };
	static uint8_t bytes[MAX_FRAME];
	uint16_t port = fx->port[1];

	assert_int_equal(fx_configure(fx, port, &config), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(port, 1), 0);
	fx_rx_setup(port, 1, 128, &rxconf, small);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 1), 0);
	assert_int_equal(fx_configure(fx, fx->port[0], &sender), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	for (uint32_t i = 0; i < 300; i++) {
		uint32_t len = 60 + i * 53 % 2955;
		uint64_t end = fx_deadline();
		struct rte_mbuf *m;
		uint16_t q = 0;

		send_frame(fx, bytes, len, i);
		while (rte_eth_rx_burst(port, q, &m, 1) == 0) {
			q = (q + 1) % 3;
			assert_true(rte_get_timer_cycles() < end);
		}
		fx_check_bytes(m, bytes, len);
		assert_ptr_equal(m->pool, q == 1 ? small : large);
		assert_int_equal(m->nb_segs, q == 1 && len > 1024 ?
				 2 + (len - 1025) / MIN_ROOM : 1);
		nb_of[q]++;
		rte_pktmbuf_free(m);
	}
	for (unsigned int q = 0; q < 3; q++)
		assert_true(nb_of[q] > 0);
	fx_drain(fx);
	fx_stop(fx);
}

/* Queue stop and start and key updates: no later frame is lost. */
FX_TEST(test_changes_at_run_time)
{
	struct rte_mempool *pool = fx_pool(fx, 8191, MIN_ROOM);
	struct fx_config config = receiver(pool, 3000);
	static uint8_t bytes[MAX_FRAME];
	uint16_t port = fx->port[1];
	struct rte_mbuf *m;

	config.nb_rxq = 3;
	config.nb_rxd = 64;
	config.rss_hf = FX_RSS;
	start_pair(fx, &config);
	for (uint32_t round = 0; round < 12; round++) {
		struct rte_eth_rss_conf rss = { .rss_key = bytes, .rss_key_len = 40,
						.rss_hf = FX_RSS };
		unsigned int nb = 0;
		uint64_t end;

		if (round % 3 == 0) {
			memset(bytes, round + 1, 40);
			assert_int_equal(rte_eth_dev_rss_hash_update(port, &rss), 0);
		}
		for (uint32_t i = 0; i < 30; i++)
			send_frame(fx, bytes, 60 + i * 97 % 2900, round * 30 + i);
		fx_settle(fx);
		end = fx_deadline();
		for (uint16_t q = 0; nb < 30; q = (q + 1) % 3) {
			if (rte_eth_rx_burst(port, q, &m, 1) == 1) {
				uint32_t i = 0;

				/* identify it by length and data */
				while (60 + i * 97 % 2900 != m->pkt_len)
					i++;
				fx_frame_bytes(bytes, m->pkt_len, round * 30 + i);
				fx_check_bytes(m, bytes, m->pkt_len);
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
	fx_drain(fx);
	fx_stop(fx);
	fx_pool_free(fx, pool);
}

/* A stopped queue holds no mbufs; its start uses the current MTU. */
FX_TEST(test_queue_stopped)
{
	struct rte_mempool *large = fx_pool(fx, 1023, 4096);
	struct rte_mempool *small = fx_pool(fx, 1023, MIN_ROOM);
	struct rte_eth_rxconf rxconf = { .offloads = RTE_ETH_RX_OFFLOAD_SCATTER };
	struct fx_config config = { .nb_rxq = 2, .nb_rxd = 64, .mtu = 3000,
				       .rx_pool = large };
	uint16_t port = fx->port[1];

	assert_int_equal(fx_configure(fx, port, &config), 0);
	fx_rx_setup(port, 1, 64, &rxconf, small);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(port, 1), 0);
	assert_int_equal(rte_mempool_avail_count(small), 1023);
	set_mtu(fx, 3500, 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 1), 0);
	fx_drain(fx);
	fx_stop(fx);
	fx_pool_free(fx, small);
	fx_pool_free(fx, large);
}

/* The adapter uses up all buffers of a stopped queue. The queue receives when it runs again. */
FX_TEST(test_used_up_while_stopped)
{
	struct rte_mempool *pool = fx_pool(fx, 1023, MIN_ROOM);
	struct rte_eth_rxseg_split seg = { .mp = pool };
	struct fx_config config = receiver(pool, 3000);
	static uint8_t bytes[MAX_FRAME];
	uint16_t port = fx->port[1];

	config.nb_rxd = 64;
	start_pair(fx, &config);
	for (uint32_t nb_before = 0; nb_before < 3; nb_before++) {
		for (uint32_t i = 0; i < nb_before; i++)
			pass(fx, 3000, &seg, 1);
		assert_int_equal(rte_eth_dev_rx_queue_stop(port, 0), 0);
		for (uint32_t i = 0; i < 100; i++)
			send_frame(fx, bytes, 60, i);
		fx_settle(fx);
		assert_int_equal(rte_eth_dev_rx_queue_start(port, 0), 0);
		assert_int_equal(fx_receive_all(port, 0), 0);
		pass(fx, 3000, &seg, 1);
	}
	fx->ignore_counters = true;
	fx_drain(fx);
	fx_stop(fx);
	fx_pool_free(fx, pool);
}

/* A queue that had no entry of the table, and nothing posted, holds frames of the new MTU. */
FX_TEST(test_mtu_before_an_entry)
{
	struct rte_mempool *large = fx_pool(fx, 1023, MAX_FRAME + 1024);
	struct rte_mempool *small = fx_pool(fx, 2047, MIN_ROOM);
	struct rte_eth_rxconf rxconf = { .offloads = RTE_ETH_RX_OFFLOAD_SCATTER };
	struct fx_config config = { .nb_rxq = 2, .nb_rxd = 64, .rss_hf = FX_RSS,
				    .rx_pool = large };
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	static uint8_t bytes[MAX_FRAME];
	uint16_t port = fx->port[1];
	struct rte_mbuf *m;

	assert_int_equal(fx_configure(fx, fx->port[0], &sender), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	assert_int_equal(fx_configure(fx, port, &config), 0);
	fx_rx_setup(port, 1, 64, &rxconf, small);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	assert_int_equal(rte_eth_dev_rss_reta_update(port, &reta, RTE_ETH_RETA_GROUP_SIZE), 0);
	set_mtu(fx, 9000, 0);
	for (unsigned int i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = 1;
	assert_int_equal(rte_eth_dev_rss_reta_update(port, &reta, RTE_ETH_RETA_GROUP_SIZE), 0);
	send_frame(fx, bytes, 9014, 1);
	assert_int_equal(fx_receive(port, 1, &m, 1), 1);
	fx_check_bytes(m, bytes, 9014);
	assert_ptr_equal(m->pool, small);
	rte_pktmbuf_free(m);
	fx_drain(fx);
	fx_stop(fx);
	fx_pool_free(fx, small);
	fx_pool_free(fx, large);
}

FX_TEST(test_capabilities)
{
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(fx->port[0], &info), 0);
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

/*
 * At the MTU of its start a queue takes more mbufs than its pool has: the start is
 * refused, and the hardware queues are as before.
 */
FX_TEST(test_start_without_mbufs)
{
	struct rte_mempool *pool = fx_pool(fx, 1000, RTE_MBUF_DEFAULT_BUF_SIZE);
	struct rte_eth_rxseg_split seg = { .mp = pool };
	struct fx_config config = receiver(pool, 3000);
	uint16_t port = fx->port[1];

	start_pair(fx, &config);
	pass(fx, 3000, &seg, 1);
	assert_int_equal(rte_eth_dev_rx_queue_stop(port, 0), 0);
	set_mtu(fx, 9000, 0);
	fx_expect_error("has too few mbufs: needs 1280");
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 0), -ENOMEM);
	set_mtu(fx, 3000, 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(port, 0), 0);
	pass(fx, 3000, &seg, 1);
	fx_stop(fx);
	fx_pool_free(fx, pool);
}

/*
 * A key update needs the mbufs of the old rings and those that the application holds.
 * The rings begin with fewer, and get the rest later.
 */
FX_TEST(test_key_update_without_mbufs)
{
	struct rte_mempool *pool = fx_pool(fx, 1100, RTE_MBUF_DEFAULT_BUF_SIZE);
	struct fx_config config = receiver(pool, 3000);
	static uint8_t bytes[MAX_FRAME];
	struct rte_eth_rss_conf rss = { .rss_key = bytes, .rss_key_len = 40,
					.rss_hf = FX_RSS };
	struct rte_mbuf *held[1100], *m = NULL;
	unsigned int nb = 0;
	uint16_t q;

	config.nb_rxq = 2;
	config.rss_hf = FX_RSS;
	start_pair(fx, &config);
	while (nb < RTE_DIM(held) && (held[nb] = rte_pktmbuf_alloc(pool)) != NULL)
		nb++;
	assert_true(nb > 0);
	send_frame(fx, bytes, 60, 1);
	fx_settle(fx);
	for (q = 0; q < 2 && m == NULL; q++)
		(void)rte_eth_rx_burst(fx->port[1], q, &m, 1);
	assert_non_null(m);
	memset(bytes, 7, 40);
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &rss), 0);
	rte_pktmbuf_free(m);
	rte_pktmbuf_free_bulk(held, nb);
	for (uint32_t i = 0; i < 600; i++) {
		send_frame(fx, bytes, 60 + i % 2900, i);
		fx_settle(fx);
		m = NULL;
		for (q = 0; q < 2 && m == NULL; q++)
			(void)rte_eth_rx_burst(fx->port[1], q, &m, 1);
		assert_non_null(m);
		fx_check_bytes(m, bytes, 60 + i % 2900);
		rte_pktmbuf_free(m);
	}
	fx_drain(fx);
	fx_stop(fx);
	fx_pool_free(fx, pool);
}
