/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Soak: frames of random sizes in random bursts between the eight ports of a function,
 * which are connected in pairs. Each round reconfigures all ports: numbers of queues up to
 * 64, sizes of queues, MTU, offloads, mempools. In each round, one of the pools of sent packets
 * is freed, and another one created, between two bursts. Some rounds also have a pool that runs
 * out, packets that the adapter refuses, a queue that it disables, a start that fails, a
 * loss of the device, or a new probe.
 *
 * The receiver compares each frame byte by byte and checks the order of each flow. At the
 * end of a round each frame that was sent was received, or a counter names it. When the
 * device is removed, nothing is left.
 *
 * The device works inside the doorbell store, so that a seed always has the same frames,
 * losses and digest of what was received.
 *
 * usage: test-soak [--packets N] [--seed S]
 */

#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_udp.h>

#include "fixture.h"
#include "fixture_log.h"

#define NB_PORTS 8
#define MAX_QUEUES 64
#define NB_FLOWS 4 /* of each Tx queue */
#define MAX_BURST 64
#define MIN_FRAME 60u
#define MAX_MTU 9000u
#define PATTERN_BYTES 65536u
#define ROUND_PACKETS 200000u
#define TAG_BYTES 4
#define PROBE_ROUNDS 20 /* after so many rounds the device is removed */
/* With caches of freed memory off: GLIBC_TUNABLES=glibc.malloc.tcache_count=0. */
#define SLACK_HEAP_BYTES ((size_t)16 << 10)
#define SLACK_MAPPED_BYTES ((size_t)4 << 20)

/* Mempools. Frames of the largest MTU fit one buffer of none. */
#define NB_LARGE 49151u
#define NB_SMALL 32767u
#define NB_TIGHT 1023u
#define NB_REGIONS 8 /* of each */
#define PAGE_BYTES 4096u
#define SMALL_ROOM (RTE_PKTMBUF_HEADROOM + 1024u)

enum kind { LARGE, SMALL, TIGHT, NB_KINDS };

/* What a frame carries behind its headers. */
struct mark {
	uint16_t port, queue, flow;
	uint16_t bytes;
	uint64_t number;
} __attribute__((packed));

#define HEADERS \
	(RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_udp_hdr))
static_assert(HEADERS + sizeof(struct mark) <= MIN_FRAME, "the smallest frame");

struct flow {
	uint64_t next_tx, next_rx;
};

struct port {
	uint16_t id;
	uint16_t nb_rxq, nb_txq, nb_desc, mtu;
	uint64_t rx_offloads, tx_offloads;
	enum kind kind;
	uint64_t nb_sent, nb_received;	 /* in this round */
	struct mana_model_port wire;	 /* at its beginning */
	struct flow flows[MAX_QUEUES][NB_FLOWS];
};

static struct {
	uint64_t nb_packets, seed;
} options = { .nb_packets = 1000000, .seed = 1 };

static struct port ports[NB_PORTS];
static struct rte_mempool *tx_pool;
static struct rte_mempool *brief_pool; /* of other packets that are sent: see pool_replace() */
static struct rte_mempool *rx_pools[NB_KINDS];
static uint8_t pattern[PATTERN_BYTES + MAX_MTU + RTE_ETHER_HDR_LEN];
static uint64_t random_state, digest;
static uint64_t nb_rounds, nb_sent, nb_received, nb_lost;
static struct {
	uint64_t restarts, resets, repairs, refused, exhausted, failed_starts, probes, pools;
} events;
/* Mbufs that the application keeps, so that a pool runs out. */
static struct rte_mbuf *kept[NB_TIGHT];
static unsigned int nb_kept;

/* ---- Random numbers ------------------------------------------------------------- */

static uint64_t
mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* splitmix64 */
static uint32_t
random_below(uint32_t n)
{
	return (mix(random_state += 0x9e3779b97f4a7c15u) >> 32) * n >> 32;
}

static bool
one_in(uint32_t n)
{
	return random_below(n) == 0;
}

/* ---- Frames --------------------------------------------------------------------- */

static const uint8_t *
content(const struct mark *mark)
{
	return pattern + mix(mark->number * NB_PORTS + mark->port) % PATTERN_BYTES;
}

static void
headers_write(uint8_t *frame, const struct mark *mark, bool has_csum)
{
	struct rte_ether_hdr *ether = (void *)frame;
	struct rte_ipv4_hdr *ip = (void *)(ether + 1);
	struct rte_udp_hdr *udp = (void *)(ip + 1);

	memset(frame, 0, HEADERS);
	memset(&ether->dst_addr, 0xff, sizeof(ether->dst_addr));
	ether->src_addr.addr_bytes[0] = 2;
	ether->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16(mark->bytes - sizeof(*ether));
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_UDP;
	ip->src_addr = rte_cpu_to_be_32(RTE_IPV4(10, 0, mark->port, mark->queue));
	ip->dst_addr = rte_cpu_to_be_32(RTE_IPV4(10, 1, 0, mark->flow));
	udp->src_port = rte_cpu_to_be_16(1024 + mark->queue * NB_FLOWS + mark->flow);
	udp->dst_port = rte_cpu_to_be_16(4789 + 1);
	udp->dgram_len = rte_cpu_to_be_16(mark->bytes - sizeof(*ether) - sizeof(*ip));
	/* Without the offload: no UDP checksum. */
	if (has_csum)
		udp->dgram_cksum = rte_ipv4_phdr_cksum(ip, RTE_MBUF_F_TX_IPV4);
	else
		ip->hdr_checksum = rte_ipv4_cksum(ip);
	memcpy(frame + HEADERS, mark, sizeof(*mark));
}

/* Appends bytes, in segments of at most seg_bytes. Returns whether there are mbufs. */
static bool
append(struct rte_mbuf *m, const uint8_t *bytes, uint32_t len, uint32_t seg_bytes)
{
	struct rte_mbuf *last = m;

	while (len > 0) {
		uint32_t part = RTE_MIN(len, seg_bytes);

		if (part > rte_pktmbuf_tailroom(last) || last->data_len >= seg_bytes) {
			last->next = rte_pktmbuf_alloc(tx_pool);
			if (last->next == NULL)
				return false;
			last = last->next;
			m->nb_segs++;
			part = RTE_MIN(part, rte_pktmbuf_tailroom(last));
		}
		part = RTE_MIN(part, seg_bytes - last->data_len);
		memcpy(rte_pktmbuf_mtod_offset(last, uint8_t *, last->data_len), bytes, part);
		last->data_len += part;
		m->pkt_len += part;
		bytes += part;
		len -= part;
	}
	return true;
}

/* NULL: rings and packets have all mbufs. */
static struct rte_mbuf *
frame_make(const struct port *from, const struct mark *mark)
{
	const bool has_csum = (from->tx_offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0 &&
			      one_in(2);
	const bool is_chain = (from->tx_offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0 &&
			      one_in(4);
	struct rte_mbuf *m = rte_pktmbuf_alloc(one_in(8) ? brief_pool : tx_pool);
	const uint32_t head = HEADERS + sizeof(*mark);

	if (m == NULL)
		return NULL;
	headers_write(rte_pktmbuf_mtod(m, uint8_t *), mark, has_csum);
	m->data_len = head;
	m->pkt_len = head;
	if (!append(m, content(mark), mark->bytes - head,
		    is_chain ? head + random_below(1000) : UINT16_MAX)) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	m->l2_len = RTE_ETHER_HDR_LEN;
	m->l3_len = sizeof(struct rte_ipv4_hdr);
	if (has_csum)
		m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM |
			       RTE_MBUF_F_TX_UDP_CKSUM;
	if ((from->tx_offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT) != 0 && one_in(4)) {
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = 1 + mark->number % 4094;
	}
	return m;
}

/* The frame has these bytes from offset on. */
static void
check_bytes(const struct rte_mbuf *m, uint32_t offset, const uint8_t *bytes, uint32_t len)
{
	while (len > 0) {
		uint32_t part;

		if (offset >= m->data_len) {
			offset -= m->data_len;
			m = m->next;
			assert_non_null(m);
			continue;
		}
		part = RTE_MIN(len, m->data_len - offset);
		if (memcmp(rte_pktmbuf_mtod_offset(m, uint8_t *, offset), bytes, part) != 0)
			fail_msg("a received frame has other bytes");
		bytes += part;
		offset += part;
		len -= part;
	}
}

static void
frame_check(struct port *to, unsigned int from, const struct rte_mbuf *m)
{
	const bool is_stripped = (to->rx_offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
	uint8_t head[HEADERS + TAG_BYTES + sizeof(struct mark)];
	const uint8_t *bytes = rte_pktmbuf_read(m, 0,
						RTE_MIN(m->pkt_len, sizeof(head)), head);
	uint32_t tag_bytes = 0;
	struct flow *flow;
	struct mark mark;

	assert_non_null(bytes);
	if (((const struct rte_ether_hdr *)bytes)->ether_type ==
	    rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN))
		tag_bytes = TAG_BYTES;
	assert_false(is_stripped && tag_bytes != 0);
	memcpy(&mark, bytes + HEADERS + tag_bytes, sizeof(mark));
	assert_int_equal(mark.port, from);
	assert_uint_in_range(mark.queue, 0, MAX_QUEUES - 1);
	assert_uint_in_range(mark.flow, 0, NB_FLOWS - 1);
	assert_int_equal(m->pkt_len, mark.bytes + tag_bytes);
	if (is_stripped && (m->ol_flags & RTE_MBUF_F_RX_VLAN) != 0)
		assert_int_equal(m->vlan_tci, 1 + mark.number % 4094);
	if ((to->rx_offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) != 0) {
		assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK,
				 RTE_MBUF_F_RX_IP_CKSUM_GOOD);
		assert_int_not_equal(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK,
				     RTE_MBUF_F_RX_L4_CKSUM_BAD);
	}
	check_bytes(m, HEADERS + tag_bytes + sizeof(mark), content(&mark),
		    mark.bytes - HEADERS - sizeof(mark));
	flow = &ports[from].flows[mark.queue][mark.flow];
	if (mark.number < flow->next_rx || mark.number >= flow->next_tx)
		fail_msg("frame %" PRIu64 " of a flow, %" PRIu64 " to %" PRIu64 " expected",
			 mark.number, flow->next_rx, flow->next_tx);
	flow->next_rx = mark.number + 1;
	digest = mix(digest ^ mix(mark.number << 16 | mark.bytes) ^
		     ((uint64_t)mark.port << 32 | mark.queue << 8 | mark.flow));
	to->nb_received++;
}

/* ---- Traffic ------------------------------------------------------------------------ */

/* Frees a received packet, or keeps it while its pool is to run out. */
static void
release(const struct port *to, struct rte_mbuf *m, bool keeps)
{
	if (keeps && to->kind == TIGHT && nb_kept < RTE_DIM(kept) && m->nb_segs == 1)
		kept[nb_kept++] = m;
	else
		rte_pktmbuf_free(m);
}

static unsigned int
receive_burst(unsigned int index, uint16_t queue, bool keeps)
{
	struct rte_mbuf *pkts[MAX_BURST];
	struct port *to = &ports[index];
	uint16_t nb = rte_eth_rx_burst(to->id, queue, pkts, 1 + random_below(MAX_BURST));

	for (uint16_t i = 0; i < nb; i++) {
		frame_check(to, index ^ 1, pkts[i]);
		release(to, pkts[i], keeps);
	}
	return nb;
}

static uint16_t
frame_bytes(const struct port *from)
{
	const uint32_t max = from->mtu + RTE_ETHER_HDR_LEN;

	switch (random_below(8)) {
	case 0:
		return max - random_below(4);
	case 1:
		return MIN_FRAME + random_below(max - MIN_FRAME + 1);
	default:
		return MIN_FRAME + random_below(512);
	}
}

static void
send_burst(unsigned int index)
{
	struct port *from = &ports[index];
	struct mark mark = { .port = index, .queue = random_below(from->nb_txq),
			     .flow = random_below(NB_FLOWS) };
	struct flow *flow = &from->flows[mark.queue][mark.flow];
	struct rte_mbuf *pkts[MAX_BURST];
	uint16_t nb = one_in(4) ? 1 + random_below(MAX_BURST) : 32;
	uint16_t nb_taken;

	for (uint16_t i = 0; i < nb; i++) {
		mark.number = flow->next_tx + i;
		mark.bytes = frame_bytes(from);
		pkts[i] = frame_make(from, &mark);
		if (pkts[i] == NULL)
			nb = i;
	}
	/* Before the burst: the peer may receive within it. */
	flow->next_tx += nb;
	nb_taken = rte_eth_tx_burst(from->id, mark.queue, pkts, nb);
	for (uint16_t i = nb_taken; i < nb; i++)
		rte_pktmbuf_free(pkts[i]);
	flow->next_tx -= nb - nb_taken;
	from->nb_sent += nb_taken;
}

/* Traffic on random ports. */
static void
traffic(uint64_t nb, bool keeps)
{
	uint64_t sent = 0;

	while (sent < nb) {
		unsigned int index = random_below(NB_PORTS);
		const struct port *to = &ports[index ^ 1];
		uint64_t before = ports[index].nb_sent;

		send_burst(index);
		sent += RTE_MAX(ports[index].nb_sent - before, 1u);
		for (unsigned int i = 0; i < RTE_MIN(to->nb_rxq, 8u); i++)
			(void)receive_burst(index ^ 1, (sent + i) % to->nb_rxq, keeps);
	}
}

/* Receives everything that is there. */
static void
receive_all(void)
{
	unsigned int nb;

	do {
		nb = 0;
			for (unsigned int i = 0; i < NB_PORTS; i++)
			for (uint16_t q = 0; q < ports[i].nb_rxq; q++)
				nb += receive_burst(i, q, false);
	} while (nb > 0);
	for (unsigned int i = 0; i < nb_kept; i++)
		rte_pktmbuf_free(kept[i]);
	nb_kept = 0;
}

static void
check_count(unsigned int index, const char *what, uint64_t is, uint64_t should_be)
{
	if (is != should_be)
		fail_msg("round %" PRIu64 ", port %u: %s: %" PRIu64 ", should be %" PRIu64,
			 nb_rounds, index, what, is, should_be);
}

/* Each frame was received, or is counted. Begins to count anew. */
static void
settle(void)
{
	receive_all();
	for (unsigned int i = 0; i < NB_PORTS; i++) {
		struct port *to = &ports[i], *from = &ports[i ^ 1];
		struct mana_model_port rx, tx;
		struct rte_eth_stats stats;
		uint64_t lost;

		assert_int_equal(fx_model.port(0, i, &rx), 0);
		assert_int_equal(fx_model.port(0, i ^ 1, &tx), 0);
		assert_int_equal(rte_eth_stats_get(from->id, &stats), 0);
		lost = rx.rx_no_wqe - to->wire.rx_no_wqe +
		       rx.rx_truncated - to->wire.rx_truncated +
		       tx.tx_errors - from->wire.tx_errors;
		check_count(i, "lost frames", from->nb_sent - to->nb_received, lost);
		nb_sent += from->nb_sent;
		nb_received += to->nb_received;
		nb_lost += lost;
		check_count(i ^ 1, "opackets", stats.opackets, from->nb_sent);
		assert_int_equal(rte_eth_stats_get(to->id, &stats), 0);
		check_count(i, "ipackets", stats.ipackets, to->nb_received);
	}
	for (unsigned int i = 0; i < NB_PORTS; i++) {
		assert_int_equal(rte_eth_stats_reset(ports[i].id), 0);
		assert_int_equal(fx_model.port(0, i, &ports[i].wire), 0);
		ports[i].nb_sent = 0;
		ports[i].nb_received = 0;
		/* Lost frames at the end of a flow. */
		for (unsigned int q = 0; q < MAX_QUEUES; q++)
			for (unsigned int f = 0; f < NB_FLOWS; f++)
				ports[i].flows[q][f].next_rx = ports[i].flows[q][f].next_tx;
	}
}

/* ---- Mempools ------------------------------------------------------------------------- */

static void
piece_free(struct rte_mempool_memhdr *piece, void *len)
{
	assert_int_equal(munmap(piece->addr, (uintptr_t)len), 0);
}

/* A mempool in NB_REGIONS regions, with pages of nobody between them. */
static struct rte_mempool *
pool_in_regions(const char *name, unsigned int nb_mbufs, uint16_t room)
{
	struct rte_pktmbuf_pool_private private = { .mbuf_data_room_size = room };
	struct rte_mempool *pool = rte_mempool_create_empty(
		name, nb_mbufs, sizeof(struct rte_mbuf) + room, 0, sizeof(private),
		SOCKET_ID_ANY, 0);
	size_t per_page, len;

	assert_non_null(pool);
	assert_int_equal(rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL), 0);
	rte_pktmbuf_pool_init(pool, &private);
	/* DPDK places no object across the end of a page. */
	per_page = PAGE_BYTES / (pool->header_size + pool->elt_size + pool->trailer_size);
	len = (nb_mbufs / NB_REGIONS / per_page + 1) * PAGE_BYTES;
	for (unsigned int i = 0; i < NB_REGIONS; i++) {
		char *piece = mmap(NULL, len + PAGE_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_true(piece != MAP_FAILED);
		assert_int_equal(mprotect(piece + len, PAGE_BYTES, PROT_NONE), 0);
		assert_true(rte_mempool_populate_iova(pool, piece, (uintptr_t)piece, len,
						      piece_free,
						      (void *)(len + PAGE_BYTES)) > 0);
	}
	assert_int_equal(rte_mempool_avail_count(pool), nb_mbufs);
	assert_int_equal(pool->nb_mem_chunks, NB_REGIONS);
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

/* The adapter has sent all packets, so a look at completions frees the mbufs. */
static void
pool_replace(void)
{
	for (unsigned int i = 0; i < NB_PORTS; i++)
		for (uint16_t q = 0; q < ports[i].nb_txq; q++)
			assert_int_equal(rte_eth_tx_burst(ports[i].id, q, NULL, 0), 0);
	assert_int_equal(rte_mempool_avail_count(brief_pool), brief_pool->size);
	rte_mempool_free(brief_pool);
	brief_pool = pool_in_regions("brief", NB_TIGHT, RTE_MBUF_DEFAULT_BUF_SIZE);
	events.pools++;
}

/* ---- Ports ---------------------------------------------------------------------------- */

static void
probe(struct fixture *fx)
{
	assert_int_equal(fx_probe(fx, ""), 0);
	for (unsigned int i = 0; i < NB_PORTS; i++) {
		char name[RTE_ETH_NAME_MAX_LEN];

		snprintf(name, sizeof(name), "%s_p%u", FX_PCI, i + 1);
		assert_int_equal(rte_eth_dev_get_port_by_name(name, &ports[i].id), 0);
		assert_int_equal(fx_model.port(0, i, &ports[i].wire), 0);
	}
	events.probes++;
}

/* Offloads that are each enabled in half of the cases. */
static uint64_t
some_of(uint64_t offloads)
{
	uint64_t some = 0;

	for (unsigned int bit = 0; bit < 64; bit++)
		if ((offloads >> bit & 1) != 0 && one_in(2))
			some |= UINT64_C(1) << bit;
	return some;
}

/* A port and its peer have the same MTU. Together the ports do not exceed the pools. */
static void
plan(struct port *port, uint16_t mtu, bool has_all_queues)
{
	const bool is_jumbo = mtu > RTE_ETHER_MTU;
	uint16_t max = one_in(8) ? 16 : 4;

	port->kind = has_all_queues ? LARGE : random_below(NB_KINDS);
	if (is_jumbo || port->kind != LARGE)
		max = 4;
	port->nb_rxq = has_all_queues ? MAX_QUEUES : 1 + random_below(max);
	port->nb_txq = has_all_queues ? MAX_QUEUES : 1 + random_below(max);
	port->mtu = mtu;
	port->nb_desc = is_jumbo || port->kind != LARGE || port->nb_rxq > 8 ?
				64 : 64 << random_below(3);
	port->rx_offloads = some_of(RTE_ETH_RX_OFFLOAD_VLAN_STRIP);
	if (one_in(2))
		port->rx_offloads |= RTE_ETH_RX_OFFLOAD_CHECKSUM;
	if (port->kind != LARGE || is_jumbo)
		port->rx_offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
	port->tx_offloads = some_of(RTE_ETH_TX_OFFLOAD_VLAN_INSERT |
				    RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
	if (one_in(2))
		port->tx_offloads |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
				     RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	/* Frames that do not fit one mbuf. */
	if (is_jumbo)
		port->tx_offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
}

static void
configure(struct port *port)
{
	struct rte_eth_conf conf = {
		.rxmode = { .mq_mode = RTE_ETH_MQ_RX_RSS, .mtu = port->mtu,
			    .offloads = port->rx_offloads },
		.txmode = { .offloads = port->tx_offloads },
		.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4 |
					       RTE_ETH_RSS_NONFRAG_IPV4_UDP,
	};

	assert_int_equal(rte_eth_dev_configure(port->id, port->nb_rxq, port->nb_txq, &conf), 0);
	for (uint16_t q = 0; q < port->nb_txq; q++)
		assert_int_equal(rte_eth_tx_queue_setup(port->id, q, port->nb_desc,
							SOCKET_ID_ANY, NULL), 0);
	for (uint16_t q = 0; q < port->nb_rxq; q++)
		assert_int_equal(rte_eth_rx_queue_setup(port->id, q, port->nb_desc,
							SOCKET_ID_ANY, NULL,
							rx_pools[port->kind]), 0);
}

/* In some rounds a call of the kernel fails; the second start succeeds. */
static void
start(struct port *port, bool may_fail)
{
	if (may_fail) {
		assert_int_equal(fx_model.fault_arm("any", 1 + random_below(20), ENOMEM), 0);
		events.failed_starts++;
		if (rte_eth_dev_start(port->id) == 0)
			assert_int_equal(rte_eth_dev_stop(port->id), 0);
		fx_model.fault_disarm();
	}
	assert_int_equal(rte_eth_dev_start(port->id), 0);
}

/* All stopped ports together hold no mbufs. */
static void
check_mbufs(void)
{
	assert_int_equal(rte_mempool_avail_count(tx_pool), tx_pool->size);
	for (unsigned int kind = 0; kind < NB_KINDS; kind++)
		assert_int_equal(rte_mempool_avail_count(rx_pools[kind]),
				 rx_pools[kind]->size);
}

/* One round in 30 has all queues; at most one port has the pool that runs out. */
static void
start_all(void)
{
	const bool has_all_queues = nb_rounds % 30 == 3;
	const unsigned int tight = random_below(NB_PORTS);

	for (unsigned int i = 0; i < NB_PORTS; i += 2) {
		uint16_t mtu = one_in(8) && !has_all_queues ?
				600 + random_below(MAX_MTU - 600) : RTE_ETHER_MTU;

		plan(&ports[i], mtu, has_all_queues);
		plan(&ports[i + 1], mtu, has_all_queues);
	}
	for (unsigned int i = 0; i < NB_PORTS; i++) {
		if (ports[i].kind == TIGHT && (i != tight || ports[i].mtu > RTE_ETHER_MTU))
			ports[i].kind = LARGE;
		configure(&ports[i]);
		start(&ports[i], one_in(20));
	}
	events.restarts++;
}

static void
stop_all(void)
{
	for (unsigned int i = 0; i < NB_PORTS; i++)
		assert_int_equal(rte_eth_dev_stop(ports[i].id), 0);
	check_mbufs();
}

/* ---- Events of a round -------------------------------------------------------------------- */

static void
wait_counted(const char *xstat, unsigned int index, uint64_t nb)
{
	const uint64_t end = fx_deadline();

	while (fx_xstat(ports[index].id, xstat) < nb) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(100);
	}
}

/* The device is lost and returns, between two bursts. */
static void
lose_device(void)
{
	settle();
	fx_command("reset fn=0 outage=1ms");
	for (unsigned int i = 0; i < NB_PORTS; i++)
		wait_counted("recoveries", i, 1);
	for (unsigned int i = 0; i < NB_PORTS; i++) {
		assert_int_equal(rte_eth_xstats_reset(ports[i].id), 0);
		assert_int_equal(fx_model.port(0, i, &ports[i].wire), 0);
	}
	events.resets++;
}

/* Some packets of a port end in an error completion. */
static void
refuse_packets(void)
{
	char line[96];

	snprintf(line, sizeof(line), "cqe port=%u tx type=%u packet=%u every=50 count=20",
		 1 + random_below(NB_PORTS), 33 + random_below(8), 1 + random_below(100));
	fx_command(line);
	events.refused++;
}

/* A queue is disabled with one packet, and rebuilt. */
static void
disable_queue(void)
{
	const unsigned int index = random_below(NB_PORTS);
	struct port *from = &ports[index];
	struct mark mark = { .port = index, .bytes = MIN_FRAME };
	const uint64_t end = fx_deadline();
	struct rte_mbuf *m;
	char line[64];

	settle();
	snprintf(line, sizeof(line), "cqe port=%u tx type=42 queue=0", index + 1);
	fx_command(line);
	mark.number = from->flows[0][0].next_tx++;
	m = frame_make(from, &mark);
	assert_non_null(m);
	assert_int_equal(rte_eth_tx_burst(from->id, 0, &m, 1), 1);
	from->nb_sent++;
	while (fx_xstat(from->id, "queue_repairs") == 0) {
		assert_int_equal(rte_eth_tx_burst(from->id, 0, NULL, 0), 0);
		assert_true(rte_get_timer_cycles() < end);
	}
	settle();
	assert_int_equal(rte_eth_xstats_reset(from->id), 0);
	events.repairs++;
}

/* ---- Rounds ----------------------------------------------------------------------------------- */

/* Without the device. DPDK's heap is compared besides: fx_check_holdings(). */
struct memory {
	size_t heap_bytes;   /* the C library's, in use */
	size_t mapped_bytes; /* of the address space */
};

static void
memory_get(struct memory *memory)
{
	const struct mallinfo2 info = mallinfo2();
	size_t pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%zu", &pages), 1);
	fclose(f);
	memory->heap_bytes = info.uordblks + info.hblkhd;
	memory->mapped_bytes = pages * sysconf(_SC_PAGESIZE);
}

static void
check_flat(const struct memory *before, const struct memory *now)
{
	if (now->heap_bytes > before->heap_bytes + SLACK_HEAP_BYTES)
		fail_msg("round %" PRIu64 ": %zu bytes of heap, %zu before", nb_rounds,
			 now->heap_bytes, before->heap_bytes);
	if (now->mapped_bytes > before->mapped_bytes + SLACK_MAPPED_BYTES)
		fail_msg("round %" PRIu64 ": %zu bytes mapped, %zu before", nb_rounds,
			 now->mapped_bytes, before->mapped_bytes);
}

static void
run_round(void)
{
	const bool keeps = one_in(3);

	start_all();
	traffic(ROUND_PACKETS / 2, keeps);
	events.exhausted += nb_kept > 0;
	pool_replace();
	if (one_in(4))
		refuse_packets();
	if (one_in(10))
		disable_queue();
	if (one_in(20))
		lose_device();
	traffic(ROUND_PACKETS / 2, keeps);
	fx_command("inject off");
	settle();
	stop_all();
	nb_rounds++;
}

static void
prepare(struct fixture *fx)
{
	static const char *const names[NB_KINDS] = { "large", "small", "tight" };
	static const unsigned int sizes[NB_KINDS] = { NB_LARGE, NB_SMALL, NB_TIGHT };

	fx->ignore_counters = true;
	fx_expect_error("");
	random_state = mix(options.seed);
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = random_below(256);
	tx_pool = pool_in_regions("tx", 16383, RTE_MBUF_DEFAULT_BUF_SIZE);
	for (unsigned int kind = 0; kind < NB_KINDS; kind++)
		rx_pools[kind] = pool_in_regions(
			names[kind], sizes[kind],
			kind == SMALL ? SMALL_ROOM : RTE_MBUF_DEFAULT_BUF_SIZE);
}

FX_TEST_BARE(test_soak)
{
	struct memory first = { 0 }, now = { 0 };
	struct fx_holdings before;

	prepare(fx);
	fx_holdings_get(&before);
	while (nb_sent < options.nb_packets) {
		probe(fx);
		brief_pool = pool_in_regions("brief", NB_TIGHT, RTE_MBUF_DEFAULT_BUF_SIZE);
		for (unsigned int i = 0; i < PROBE_ROUNDS && nb_sent < options.nb_packets; i++) {
			run_round();
			fx_log_reset();
			fx_expect_error("");
		}
		fx_remove(fx);
		rte_mempool_free(brief_pool);
		fx_check_holdings(&before, "after a removal");
		memory_get(&now);
		if (nb_rounds == PROBE_ROUNDS)
			first = now;
		else if (nb_rounds > PROBE_ROUNDS)
			check_flat(&first, &now);
	}
	rte_mempool_free(tx_pool);
	for (unsigned int kind = 0; kind < NB_KINDS; kind++)
		rte_mempool_free(rx_pools[kind]);
	printf("soak: seed %" PRIu64 ": %" PRIu64 " packets sent, %" PRIu64 " received, %"
	       PRIu64 " lost and counted\n", options.seed, nb_sent, nb_received, nb_lost);
	printf("soak: %" PRIu64 " restarts, %" PRIu64 " failed starts, %" PRIu64
	       " losses of the device, %" PRIu64 " repairs, %" PRIu64 " exhausted pools, %"
	       PRIu64 " pools freed, %" PRIu64 " refusals, %" PRIu64 " probes\n",
	       events.restarts, events.failed_starts, events.resets, events.repairs,
	       events.exhausted, events.pools, events.refused, events.probes);
	printf("soak: heap %zu bytes after %d rounds, %zu at the end; mapped %zu MiB, %zu\n",
	       first.heap_bytes, PROBE_ROUNDS, now.heap_bytes, first.mapped_bytes >> 20,
	       now.mapped_bytes >> 20);
	printf("soak: digest %016" PRIx64 "\n", digest);
}

int
main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "packets", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == 'n')
			options.nb_packets = strtoull(optarg, NULL, 0);
		else if (option == 's')
			options.seed = strtoull(optarg, NULL, 0);
		else
			return EXIT_FAILURE;
	}
	optind = 0; /* EAL uses getopt, too */
	fx_megabytes = "512";
	return FX_RUN("soak");
}
