/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sockios.h>

#include <rte_alarm.h>
#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "fixture.h"

/*
 * Time limit for a device with its own thread, on a busy machine with a
 * sanitizer. No passing test waits so long.
 */
#define PATIENCE_S 20
/* Of what is sent or received at once. */
#define MAX_BURST 300

int
fx_configure(struct fixture *fx, uint16_t port, const struct fx_config *config)
{
	uint16_t nb_rxq = config->nb_rxq != 0 ? config->nb_rxq : 1;
	uint16_t nb_txq = config->nb_txq != 0 ? config->nb_txq : 1;
	uint16_t nb_rxd = config->nb_rxd != 0 ? config->nb_rxd : 256;
	uint16_t nb_txd = config->nb_txd != 0 ? config->nb_txd : 256;
	struct rte_mempool *pool = config->rx_pool != NULL ? config->rx_pool : fx->pool;
	struct rte_eth_conf conf = {
		.rxmode = { .offloads = config->rx_offloads, .mtu = config->mtu },
		.txmode = { .offloads = config->tx_offloads },
		.intr_conf = config->intr,
	};
	struct rte_eth_dev_info info;
	int ret;

	if (config->rss_hf != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		/* as applications do: limited to the device's capabilities */
		ret = rte_eth_dev_info_get(port, &info);
		if (ret != 0)
			return ret;
		conf.rx_adv_conf.rss_conf.rss_hf = config->rss_hf &
						   info.flow_type_rss_offloads;
		conf.rx_adv_conf.rss_conf.rss_key = config->rss_key;
		conf.rx_adv_conf.rss_conf.rss_key_len =
			config->rss_key != NULL && !config->has_no_key_length ? 40 : 0;
	}
	ret = rte_eth_dev_configure(port, nb_rxq, nb_txq, &conf);
	for (uint16_t q = 0; ret == 0 && q < nb_txq; q++)
		ret = rte_eth_tx_queue_setup(port, q, nb_txd, SOCKET_ID_ANY, NULL);
	for (uint16_t q = 0; ret == 0 && q < nb_rxq; q++)
		ret = rte_eth_rx_queue_setup(port, q, nb_rxd, SOCKET_ID_ANY, NULL, pool);
	return ret;
}

void
fx_start_each(struct fixture *fx, const struct fx_config *first,
	      const struct fx_config *second)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		assert_int_equal(fx_configure(fx, fx->port[i], i == 0 ? first : second), 0);
		assert_int_equal(fx_dev_start(fx, i), 0);
	}
}

void
fx_start(struct fixture *fx, const struct fx_config *config)
{
	fx_start_each(fx, config, config);
}

void
fx_restart(struct fixture *fx)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_dev_start(fx, i), 0);
}

void
fx_rx_setup(uint16_t port, uint16_t queue, uint16_t nb_desc,
	    const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	assert_int_equal(rte_eth_rx_queue_setup(port, queue, nb_desc, SOCKET_ID_ANY, conf,
						pool), 0);
}

void
fx_tx_setup(uint16_t port, uint16_t queue, uint16_t nb_desc,
	    const struct rte_eth_txconf *conf)
{
	assert_int_equal(rte_eth_tx_queue_setup(port, queue, nb_desc, SOCKET_ID_ANY, conf), 0);
}

int
fx_key_set(uint16_t port, uint8_t *key)
{
	struct rte_eth_rss_conf conf = { .rss_hf = FX_RSS, .rss_key = key, .rss_key_len = 40 };

	return rte_eth_dev_rss_hash_update(port, &conf);
}

int
fx_dev_start(struct fixture *fx, unsigned int index)
{
	int ret = rte_eth_dev_start(fx->port[index]);

	fx->is_started[index] = ret == 0;
	return ret;
}

int
fx_dev_stop(struct fixture *fx, unsigned int index)
{
	fx->is_started[index] = false;
	return rte_eth_dev_stop(fx->port[index]);
}

void
fx_stop(struct fixture *fx)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		if (fx->is_started[i])
			assert_int_equal(fx_dev_stop(fx, i), 0);
}

void
fx_frame_bytes(uint8_t *bytes, uint32_t len_bytes, uint32_t seed)
{
	uint8_t frame[RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr) +
		      sizeof(struct rte_udp_hdr)] = { 0 };
	struct rte_ether_hdr *eth = (void *)frame;
	struct rte_ipv4_hdr *ip = (void *)(eth + 1);
	struct rte_udp_hdr *udp = (void *)(ip + 1);
	uint16_t l3_bytes = len_bytes - sizeof(*eth);

	memset(eth->dst_addr.addr_bytes, 0xff, RTE_ETHER_ADDR_LEN);
	eth->src_addr.addr_bytes[0] = 0x02;
	eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16(l3_bytes);
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_UDP;
	ip->src_addr = rte_cpu_to_be_32(RTE_IPV4(192u, 0, 2, 0) + (seed & 0xff));
	ip->dst_addr = RTE_BE32(RTE_IPV4(198u, 51, 100, 2));
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	udp->src_port = rte_cpu_to_be_16(1024 + (seed & 0x3fff));
	udp->dst_port = RTE_BE16(9);
	udp->dgram_len = rte_cpu_to_be_16(l3_bytes - sizeof(*ip));

	for (uint32_t i = 0; i < len_bytes; i++)
		bytes[i] = i < sizeof(frame) ? frame[i] : (uint8_t)(seed * 31 + i * 7);
}

struct rte_mbuf *
fx_frame(struct rte_mempool *pool, uint32_t len_bytes, uint32_t seed)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	char *data;

	assert_non_null(m);
	data = rte_pktmbuf_append(m, len_bytes);
	assert_non_null(data);
	fx_frame_bytes((uint8_t *)data, len_bytes, seed);
	return m;
}

struct rte_mbuf *
fx_chain(struct rte_mempool *pool, const uint8_t *bytes, uint32_t len_bytes,
	 uint32_t seg_bytes)
{
	struct rte_mbuf *head = NULL;

	for (uint32_t at = 0; at < len_bytes; at += seg_bytes) {
		uint32_t part = RTE_MIN(seg_bytes, len_bytes - at);
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

		assert_non_null(m);
		memcpy(rte_pktmbuf_append(m, part), bytes + at, part);
		if (head == NULL)
			head = m;
		else
			assert_int_equal(rte_pktmbuf_chain(head, m), 0);
	}
	return head;
}

void
fx_check_bytes(const struct rte_mbuf *m, const uint8_t *bytes, uint32_t len_bytes)
{
	const struct rte_mbuf *seg = m;
	uint32_t at = 0;

	rte_mbuf_sanity_check(m, 1);
	assert_int_equal(rte_pktmbuf_pkt_len(m), len_bytes);
	for (; seg != NULL; seg = seg->next) {
		assert_memory_equal(rte_pktmbuf_mtod(seg, const uint8_t *), bytes + at,
				    rte_pktmbuf_data_len(seg));
		at += rte_pktmbuf_data_len(seg);
	}
	assert_int_equal(at, len_bytes);
}

uint64_t
fx_deadline(void)
{
	return rte_get_timer_cycles() + PATIENCE_S * rte_get_timer_hz();
}

static void
note_alarm(void *arg)
{
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
}

void
fx_alarms_await(void)
{
	const uint64_t end = fx_deadline();
	static bool is_done;

	is_done = false;
	assert_int_equal(rte_eal_alarm_set(1, note_alarm, &is_done), 0);
	while (!__atomic_load_n(&is_done, __ATOMIC_ACQUIRE)) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(10);
	}
}

void
fx_send(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, unsigned int nb)
{
	uint64_t end = fx_deadline();
	unsigned int sent = 0;

	while (sent < nb) {
		sent += rte_eth_tx_burst(port, queue, pkts + sent, nb - sent);
		if (sent < nb && rte_get_timer_cycles() > end)
			fail_msg("sent %u of %u", sent, nb);
	}
}

unsigned int
fx_receive(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, unsigned int nb)
{
	uint64_t end = fx_deadline();
	unsigned int nb_got = 0;

	while (nb_got < nb && rte_get_timer_cycles() < end)
		nb_got += rte_eth_rx_burst(port, queue, pkts + nb_got, nb - nb_got);
	return nb_got;
}

struct rte_mbuf *
fx_receive_one(uint16_t port, uint16_t queue)
{
	struct rte_mbuf *m;

	assert_int_equal(fx_receive(port, queue, &m, 1), 1);
	return m;
}

void
fx_expect_bytes(uint16_t port, uint16_t queue, const uint8_t *bytes, uint32_t len_bytes)
{
	struct rte_mbuf *m = fx_receive_one(port, queue);

	fx_check_bytes(m, bytes, len_bytes);
	rte_pktmbuf_free(m);
}

void
fx_expect_some(uint16_t port, uint16_t queue, unsigned int nb)
{
	struct rte_mbuf *pkts[MAX_BURST];

	assert_true(nb <= RTE_DIM(pkts));
	assert_int_equal(fx_receive(port, queue, pkts, nb), nb);
	rte_pktmbuf_free_bulk(pkts, nb);
}

unsigned int
fx_receive_all(uint16_t port, uint16_t queue)
{
	struct rte_mbuf *pkts[FX_BURST];
	unsigned int total = 0;
	uint16_t nb;

	while ((nb = rte_eth_rx_burst(port, queue, pkts, RTE_DIM(pkts))) != 0) {
		rte_pktmbuf_free_bulk(pkts, nb);
		total += nb;
	}
	return total;
}

/* Every packet that the driver has counted is sent or rejected. */
static bool
is_all_sent(const struct fixture *fx)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		struct mana_model_port wire = fx_wire(fx, i);
		struct rte_eth_stats stats;

		if (fx->is_started[i] &&
		    rte_eth_stats_get(fx->port[i], &stats) == 0 &&
		    stats.opackets > wire.tx_packets + wire.tx_errors)
			return false;
	}
	return true;
}

void
fx_settle(const struct fixture *fx)
{
	uint64_t end = fx_deadline();

	while (!is_all_sent(fx) && rte_get_timer_cycles() < end)
		rte_delay_us_sleep(100);
}

/* Ends when two passes with a delay between them receive nothing. */
void
fx_drain(struct fixture *fx)
{
	uint64_t end = fx_deadline();
	unsigned int nb_empty = 0;

	while (nb_empty < 2) {
		bool is_last = is_all_sent(fx) || rte_get_timer_cycles() >= end;
		unsigned int nb = 0;

		for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
			const uint16_t nb_rxq = fx->is_started[i] ?
						fx_info(fx->port[i]).nb_rx_queues : 0;

			for (uint16_t q = 0; q < nb_rxq; q++)
				nb += fx_receive_all(fx->port[i], q);
		}
		nb_empty = nb == 0 && is_last ? nb_empty + 1 : 0;
		rte_delay_us_block(500);
	}
}

static void
pass(struct fixture *fx, unsigned int from, unsigned int to)
{
	uint32_t len_bytes = 64 + 100 * from;
	struct rte_mbuf *m = fx_frame(fx->pool, len_bytes, from);
	uint8_t bytes[256];

	fx_frame_bytes(bytes, len_bytes, from);
	fx_send(fx->port[from], 0, &m, 1);
	fx_expect_bytes(fx->port[to], 0, bytes, len_bytes);
}

void
fx_pass_one(struct fixture *fx)
{
	pass(fx, 0, 1);
	pass(fx, 1, 0);
}

#define FRAME 100

void
fx_send_one(const struct fixture *fx, uint32_t seed)
{
	struct rte_mbuf *m = fx_frame(fx->pool, FRAME, seed);

	fx_send(fx->port[0], 0, &m, 1);
}

void
fx_send_burst(const struct fixture *fx, uint16_t queue, uint32_t len_bytes, unsigned int nb)
{
	struct rte_mbuf *pkts[MAX_BURST];

	assert_true(nb <= RTE_DIM(pkts));
	for (unsigned int i = 0; i < nb; i++)
		pkts[i] = fx_frame(fx->pool, len_bytes, i);
	fx_send(fx->port[0], queue, pkts, nb);
}

void
fx_expect_frames(const struct fixture *fx, uint32_t seed, unsigned int nb)
{
	uint8_t bytes[FRAME];

	for (unsigned int i = 0; i < nb; i++) {
		fx_frame_bytes(bytes, FRAME, seed + i);
		fx_expect_bytes(fx->port[1], 0, bytes, FRAME);
	}
}

uint64_t
fx_xstat(uint16_t port, const char *name)
{
	uint64_t id, value;

	if (rte_eth_xstats_get_id_by_name(port, name, &id) != 0)
		fail_msg("port %u has no xstat %s", port, name);
	assert_int_equal(rte_eth_xstats_get_by_id(port, &id, &value, 1), 1);
	return value;
}

void
fx_await_xstat(uint16_t port, const char *name, uint64_t nb)
{
	const uint64_t end = fx_deadline();

	while (fx_xstat(port, name) < nb) {
		if (rte_get_timer_cycles() > end)
			fail_msg("port %u: %s is below %" PRIu64, port, name, nb);
		rte_delay_us_sleep(100);
	}
}

struct rte_eth_stats
fx_stats(uint16_t port)
{
	struct rte_eth_stats stats;

	assert_int_equal(rte_eth_stats_get(port, &stats), 0);
	return stats;
}

struct rte_eth_dev_info
fx_info(uint16_t port)
{
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(port, &info), 0);
	return info;
}

struct rte_eth_rxq_info
fx_rxq_info(uint16_t port, uint16_t queue)
{
	struct rte_eth_rxq_info info;

	assert_int_equal(rte_eth_rx_queue_info_get(port, queue, &info), 0);
	return info;
}

struct rte_eth_txq_info
fx_txq_info(uint16_t port, uint16_t queue)
{
	struct rte_eth_txq_info info;

	assert_int_equal(rte_eth_tx_queue_info_get(port, queue, &info), 0);
	return info;
}

struct rte_eth_link
fx_link(uint16_t port)
{
	struct rte_eth_link link;

	assert_int_equal(rte_eth_link_get_nowait(port, &link), 0);
	return link;
}

uint16_t
fx_mtu(uint16_t port)
{
	uint16_t mtu;

	assert_int_equal(rte_eth_dev_get_mtu(port, &mtu), 0);
	return mtu;
}

void
fx_set_txqlen(const char *netdev, int nb_packets)
{
	int sock = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq ifr = { .ifr_qlen = nb_packets };

	assert_true(sock >= 0);
	strcpy(ifr.ifr_name, netdev);
	assert_int_equal(ioctl(sock, SIOCSIFTXQLEN, &ifr), 0);
	close(sock);
}
