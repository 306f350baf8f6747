/* SPDX-License-Identifier: BSD-3-Clause */

/* One batch: preparation, bursts, and checks. */

#include <netinet/in.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ip.h>
#include <rte_launch.h>
#include <rte_tcp.h>

#include "perf.h"

/* Packets per batch and queue. */
static uint32_t
queue_batch(const struct perf_row *row)
{
	/* Some drivers count ring entries in BUs. */
	uint32_t batch = row->ring / (row->nb_segs > 1 || row->rx_segs > 1 ? 8 : 2);

	if (row->is_scale)
		return row->burst;
	batch = RTE_MIN(batch, (uint32_t)PERF_MAX_BATCH);
	return RTE_MAX(batch - batch % row->burst, row->burst);
}

uint32_t
perf_batch(const struct perf_row *row)
{
	return row->kind == PERF_POLL ? PERF_MAX_BATCH :
					queue_batch(row) * row->nb_queues;
}

/* A timer that waits for earlier instructions and blocks later ones. */
static uint64_t
now(void)
{
	uint64_t tsc;

	rte_mb();
	tsc = rte_rdtsc();
	__asm__ volatile("lfence" ::: "memory");
	return tsc;
}

static uint16_t
l2_bytes(const struct perf_row *row)
{
	return sizeof(struct rte_ether_hdr) +
		(row->is_tagged ? sizeof(struct rte_vlan_hdr) : 0);
}

static uint16_t
l3_bytes(const struct perf_row *row)
{
	return row->ipv6 ? sizeof(struct rte_ipv6_hdr) :
			   sizeof(struct rte_ipv4_hdr) + row->options_bytes;
}

static uint16_t
headers_bytes(const struct perf_row *row)
{
	return l2_bytes(row) + l3_bytes(row) + sizeof(struct rte_tcp_hdr);
}

/* Returns the pseudo-header sum. */
static uint16_t
write_ipv4(const struct perf_row *row, struct rte_mbuf *m, void *l3, uint32_t seed)
{
	struct rte_ipv4_hdr *ip = l3;

	ip->version_ihl = 4 << 4 | l3_bytes(row) / 4;
	ip->total_length = htons((uint16_t)(m->pkt_len - l2_bytes(row)));
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_TCP;
	ip->src_addr = htonl(0x0a000000 + seed);
	ip->dst_addr = htonl(0x0b000000 + seed * 7);
	m->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
	return rte_ipv4_phdr_cksum(ip, row->tso_segsz != 0 ? RTE_MBUF_F_TX_TCP_SEG : 0);
}

static uint16_t
write_ipv6(const struct perf_row *row, struct rte_mbuf *m, void *l3, uint32_t seed)
{
	struct rte_ipv6_hdr *ip = l3;
	uint8_t *addresses = (uint8_t *)ip + offsetof(struct rte_ipv6_hdr, src_addr);

	ip->vtc_flow = htonl(6u << 28);
	ip->payload_len = htons((uint16_t)(m->pkt_len - l2_bytes(row) - sizeof(*ip)));
	ip->proto = IPPROTO_TCP;
	ip->hop_limits = 64;
	for (uint32_t i = 0; i < 32; i++)
		addresses[i] = seed * 31 + i * 7;
	m->ol_flags = RTE_MBUF_F_TX_IPV6;
	return rte_ipv6_phdr_cksum(ip, row->tso_segsz != 0 ? RTE_MBUF_F_TX_TCP_SEG : 0);
}

static void
write_headers(const struct perf_row *row, struct rte_mbuf *m, uint32_t seed,
	      struct hand_tx_packet *p)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint8_t *l3 = frame + l2_bytes(row);
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(l3 + l3_bytes(row));
	const uint16_t type = htons(row->ipv6 ? RTE_ETHER_TYPE_IPV6 :
						RTE_ETHER_TYPE_IPV4);

	memset(frame, 0, headers_bytes(row));
	memcpy(l3 - sizeof(type), &type, sizeof(type));
	if (row->is_tagged)
		frame[12] = 0x81;
	p->pseudo_sum = row->ipv6 ? write_ipv6(row, m, l3, seed) :
				    write_ipv4(row, m, l3, seed);
	tcp->data_off = 5 << 4;
	m->ol_flags |= RTE_MBUF_F_TX_TCP_CKSUM;
	m->l2_len = l2_bytes(row);
	m->l3_len = l3_bytes(row);
	m->l4_len = sizeof(*tcp);
	if (row->tso_segsz != 0) {
		m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
		m->tso_segsz = row->tso_segsz;
		p->lso_hdr_bytes = headers_bytes(row);
		p->lso_segsz_bytes = row->tso_segsz;
		p->ip_len = row->ipv6 ?
			l3 + offsetof(struct rte_ipv6_hdr, payload_len) :
			l3 + offsetof(struct rte_ipv4_hdr, total_length);
	}
	p->has_csum = true;
	p->is_ipv6 = row->ipv6;
	p->trans_off = l2_bytes(row) + l3_bytes(row);
	p->tcp_csum = &tcp->cksum;
}

/* Length of the nth segment. */
static uint16_t
segment_bytes(const struct perf_row *row, uint32_t nth)
{
	if (row->tso_segsz == 0)
		return row->len_bytes / row->nb_segs;
	return nth == 0 ? headers_bytes(row) :
			  (row->len_bytes - headers_bytes(row)) / (row->nb_segs - 1);
}

/* The pool of the next packet to send. */
static struct rte_mempool *
next_pool(struct perf_sut *sut, const struct perf_row *row)
{
	return row->is_of_more_pools ? sut->more[perf_random(&sut->seed) % row->nb_more_pools] :
				       sut->pool;
}

void
perf_make_packets(struct perf_sut *sut, struct perf_queue *queue,
		  const struct perf_row *row, uint32_t first, uint32_t nb)
{
	for (uint32_t i = first; i < first + nb; i++) {
		struct hand_tx_packet *p = &queue->tx_expected[i];
		struct rte_mbuf *segs[PERF_MAX_SEGS];
		struct perf_row headers = *row;

		if (rte_pktmbuf_alloc_bulk(next_pool(sut, row), segs, row->nb_segs) != 0)
			hand_fail("%s: the pool is empty", sut->name);
		memset(p, 0, sizeof(*p));
		p->nb_segs = row->nb_segs;
		for (uint32_t s = 0; s < row->nb_segs; s++) {
			segs[s]->data_len = segment_bytes(row, s);
			segs[s]->next = s + 1 < row->nb_segs ? segs[s + 1] : NULL;
			p->addr[s] = rte_pktmbuf_mtod(segs[s], uintptr_t);
			p->len_bytes[s] = segs[s]->data_len;
		}
		segs[0]->nb_segs = row->nb_segs;
		segs[0]->pkt_len = segs[0]->data_len +
			segment_bytes(row, 1) * (row->nb_segs - 1);
		headers.ipv6 |= row->is_mixed && i % 2 != 0;
		if (row->offload)
			write_headers(&headers, segs[0], i, p);
		if (row->vlan_insert) {
			segs[0]->ol_flags |= RTE_MBUF_F_TX_VLAN;
			segs[0]->vlan_tci = i * 257;
			p->has_tag = true;
			p->tci = segs[0]->vlan_tci;
		}
		queue->pkts[i] = segs[0];
	}
}

/*
 * Stages CQEs of the previous batch, each to become valid before the call that
 * sends as many packets: a call frees as many as it sends.
 */
static void
stage_completions(struct perf_queue *queue, uint32_t nb_calls, uint16_t burst)
{
	struct perf_flips *flips = &queue->flips;
	uint32_t nb_left = nb_calls * burst, nb_posted = hand_nb_posted(&queue->tx);
	uint32_t done = 0, nb, call = 0;

	/* CQEs left over from earlier batches come first. */
	nb_left = nb_posted > nb_left ? nb_posted - nb_left : 0;
	flips->nb = 0;
	while (flips->nb < RTE_DIM(flips->word) &&
	       hand_stage_tx(&queue->tx, &flips->word[flips->nb],
			     &flips->value[flips->nb], &nb)) {
		uint32_t at;

		done += nb;
		at = done <= nb_left ? 0 : (done - nb_left - 1) / burst;
		while (call < at)
			flips->end[call++] = flips->nb;
		flips->nb++;
	}
	while (call < nb_calls)
		flips->end[call++] = flips->nb;
}

/* All at once: no call of the batch waits for one. */
static void
show_completions(struct perf_flips *flips)
{
	for (uint32_t i = 0; i < flips->nb; i++)
		__atomic_store_n(flips->word[i], flips->value[i], __ATOMIC_RELEASE);
	memset(flips->end, 0, sizeof(flips->end));
}

/* Rewrites the same value: the core then owns the line. */
static void
touch(void *line)
{
	volatile uint64_t *word = line;

	*word = *word;
}

/* Touches an mbuf's header, like a core that has freed or filled it. */
static void
touch_mbuf(struct rte_mbuf *m)
{
	touch(m);
	touch((char *)m + RTE_CACHE_LINE_SIZE);
}

/* Work of device and application before a batch, on this or another core. */
struct work {
	const struct perf_sut *sut;
	struct perf_queue *queue;
	const struct perf_row *row;
};

/* Writes the headers of a received frame. */
static void
write_frame(void *frame)
{
	static const struct {
		struct rte_ether_hdr ether;
		struct rte_ipv4_hdr ip;
		struct rte_tcp_hdr tcp;
	} headers = {
		.ether.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4),
		.ip.version_ihl = RTE_IPV4_VHL_DEF,
		.ip.next_proto_id = IPPROTO_TCP,
		.tcp.data_off = 5 << 4,
	};

	memcpy(frame, &headers, sizeof(headers));
}

static int
receive(void *arg)
{
	const struct work *work = arg;
	const struct perf_row *row = work->row;
	struct perf_queue *queue = work->queue;
	const uint32_t nb = queue_batch(row);

	hand_receive(&queue->rx, queue->rx_expected, nb, row->len_bytes, row->coalesced);
	for (uint32_t i = 0; i < nb && row->no_hash; i++)
		write_frame((void *)(uintptr_t)queue->rx_expected[i].addr);
	for (uint32_t i = 0; i < nb && row->place == PERF_MBUFS_OTHER_CORE; i++)
		touch_mbuf(perf_mbuf_at(work->sut, queue->rx_expected[i].addr));
	return 0;
}

static int
complete(void *arg)
{
	const struct work *work = arg;
	const struct perf_row *row = work->row;

	stage_completions(work->queue, queue_batch(row) / row->burst, row->burst);
	if (perf_needs_other_core(row->place))
		show_completions(&work->queue->flips);
	return 0;
}

/* Touches the next segments to send, and their frame headers. */
static int
fill(void *arg)
{
	const struct work *work = arg;
	const struct perf_row *row = work->row;

	for (uint32_t i = 0; i < queue_batch(row); i++) {
		struct rte_mbuf *m = work->queue->pkts[i];

		touch(rte_pktmbuf_mtod(m, void *));
		for (; m != NULL; m = m->next)
			touch_mbuf(m);
	}
	return 0;
}

static void
run_on_other_core(int (*function)(void *arg), struct work *work, unsigned int lcore)
{
	if (rte_eal_remote_launch(function, work, lcore) != 0 ||
	    rte_eal_wait_lcore(lcore) != 0)
		hand_fail("no other core");
}

static void
run_where(int (*function)(void *arg), struct work *work, unsigned int lcore)
{
	if (perf_needs_other_core(work->row->place))
		run_on_other_core(function, work, lcore);
	else
		function(work);
}

/* Evicts the header of an mbuf. */
static void
flush(const struct perf_sut *sut, uint64_t data_addr)
{
	struct rte_mbuf *m = perf_mbuf_at(sut, data_addr);

	__builtin_ia32_clflush(m);
	__builtin_ia32_clflush((char *)m + RTE_CACHE_LINE_SIZE);
}

static void
prepare_receive(struct work *work, unsigned int lcore)
{
	const struct perf_row *row = work->row;
	struct perf_queue *queue = work->queue;
	const uint32_t nb = queue_batch(row);

	run_where(receive, work, lcore);
	if (row->place >= PERF_FLUSHED)
		hand_flush_cqes(&queue->rx, row->coalesced ? nb / 4 : nb);
	for (uint32_t i = 0; i < nb && row->place >= PERF_FLUSHED && row->no_hash; i++)
		__builtin_ia32_clflush((void *)(uintptr_t)queue->rx_expected[i].addr);
	for (uint32_t i = 0; i < nb && row->place == PERF_MBUFS_FLUSHED; i++)
		flush(work->sut, queue->rx_expected[i].addr);
}

/* The device's work before a batch. */
static void
prepare(struct perf_sut *sut, struct perf_queue *queue, const struct perf_row *row,
	unsigned int lcore)
{
	struct work work = { sut, queue, row };

	hand_take_rx(&queue->rx, row->kind == PERF_TX ? 0 : row->len_bytes);
	if (row->kind == PERF_RX || row->kind == PERF_FWD)
		prepare_receive(&work, lcore);
	if (row->kind == PERF_TX && row->place == PERF_MBUFS_FLUSHED)
		for (uint32_t i = queue->tx.first; i != queue->tx.last; i++)
			flush(sut, queue->tx.wqes[i % HAND_MAX_WQES].addr);
	if (row->kind == PERF_TX || row->kind == PERF_FWD)
		run_where(complete, &work, lcore);
}

/* The buffers behind the first: by their lengths and the device's first bytes. */
static void
check_segments(const struct perf_sut *sut, const struct perf_row *row,
	       const struct rte_mbuf *m, const struct hand_rx_packet *p)
{
	const uint16_t nb = RTE_MAX(row->rx_segs, 1);
	uint32_t room = rte_pktmbuf_data_room_size(sut->pool) - RTE_PKTMBUF_HEADROOM;
	uint32_t left = row->len_bytes;
	uint32_t first;

	if (m->nb_segs != nb)
		hand_fail("%s: a packet of %u segments", sut->name, m->nb_segs);
	for (uint16_t k = 0; k < nb; k++, m = m->next) {
		if (m == NULL || m->data_len != RTE_MIN(left, room) ||
		    rte_mbuf_refcnt_read(m) != 1)
			hand_fail("%s: segment %u has wrong fields", sut->name, k);
		memcpy(&first, rte_pktmbuf_mtod(m, void *), sizeof(first));
		if (k != 0 && first != p->hash + k)
			hand_fail("%s: segment %u is another buffer", sut->name, k);
		left -= m->data_len;
		room = rte_pktmbuf_data_room_size(sut->pool);
	}
	if (m != NULL || left != 0)
		hand_fail("%s: a packet with wrong segments", sut->name);
}

static void
check_received(const struct perf_sut *sut, const struct perf_row *row,
	       const struct rte_mbuf *m, const struct hand_rx_packet *p)
{
	const uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	const uint64_t mask = RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK;

	if (m != perf_mbuf_at(sut, p->addr) || rte_pktmbuf_mtod(m, uintptr_t) != p->addr)
		hand_fail("%s: a packet in the wrong buffer", sut->name);
	if (m->pkt_len != row->len_bytes || m->port != sut->port)
		hand_fail("%s: a packet with wrong fields", sut->name);
	check_segments(sut, row, m, p);
	if (row->is_stripped && ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) == 0 ||
				 m->vlan_tci != PERF_RX_VLAN))
		hand_fail("%s: a packet without its VLAN tag", sut->name);
	if (row->offload && (m->ol_flags & mask) != good)
		hand_fail("%s: a packet has flags %#" PRIx64, sut->name, m->ol_flags);
	if (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH && m->hash.rss != p->hash)
		hand_fail("%s: a packet with a wrong hash", sut->name);
	if (row->ptypes && sut->tells_ptypes &&
	    (!RTE_ETH_IS_IPV4_HDR(m->packet_type) ||
	     (m->packet_type & RTE_PTYPE_L4_MASK) != RTE_PTYPE_L4_TCP))
		hand_fail("%s: a packet has type %#x", sut->name, m->packet_type);
}

/* Checks a call. A forwarded packet is not completed yet, hence not free. */
static void
check_call(const struct perf_sut *sut, const struct perf_row *row,
	   const struct perf_call *call)
{
	struct perf_queue *queue = call->queue;
	const uint32_t first = call->nth * row->burst;

	for (uint32_t i = first; i < first + row->burst && row->kind != PERF_TX; i++) {
		const struct hand_rx_packet *p = &queue->rx_expected[i];

		check_received(sut, row, queue->pkts[i], p);
		queue->tx_expected[i] = (struct hand_tx_packet){
			.nb_segs = 1,
			.addr[0] = p->addr,
			.len_bytes[0] = row->len_bytes,
		};
	}
	if (row->kind == PERF_RX)
		rte_pktmbuf_free_bulk(queue->pkts + first, row->burst);
}

void
perf_ring(struct perf_sut *sut, struct perf_queue *queue, const struct hand_registers *now)
{
	hand_ring(&queue->rx, &sut->seen, now);
	hand_ring(&queue->tx, &sut->seen, now);
	sut->seen = *now;
}

/* Runs the calls that are measured together. Returns their ticks. */
static uint64_t
run_calls(struct perf_sut *sut, const struct perf_row *row, uint32_t nb_calls,
	  unsigned int lcore)
{
	struct work work = { sut, sut->calls[0].queue, row };
	uint32_t nb = 0;
	uint64_t begin, end;

	for (uint32_t i = 0; i < nb_calls && row->kind == PERF_TX; i++)
		perf_make_packets(sut, sut->calls[i].queue, row,
				  sut->calls[i].nth * row->burst, row->burst);
	if (row->kind == PERF_TX && row->place == PERF_MBUFS_OTHER_CORE)
		run_on_other_core(fill, &work, lcore);
	begin = now();
	switch (row->kind) {
	case PERF_RX:
		nb = perf_timed_rx(sut, nb_calls, row->burst);
		break;
	case PERF_TX:
		nb = perf_timed_tx(sut, nb_calls, row->burst);
		break;
	case PERF_FWD:
		nb = perf_timed_fwd(sut, nb_calls, row->burst);
		break;
	case PERF_POLL:
		nb = perf_timed_poll(sut, nb_calls, row->burst);
		break;
	}
	end = now();
	if (!sut->is_watched)
		sut->calls[nb_calls - 1].after = hand_registers(&sut->queues[0].rx);
	for (uint32_t i = sut->is_watched ? 0 : nb_calls - 1; i < nb_calls; i++)
		perf_ring(sut, sut->calls[i].queue, &sut->calls[i].after);
	if (nb != (row->kind == PERF_POLL ? 0 : nb_calls * row->burst))
		hand_fail("%s: %u calls brought %u packets", sut->name, nb_calls, nb);
	for (uint32_t i = 0; i < nb_calls && nb != 0; i++)
		check_call(sut, row, &sut->calls[i]);
	return end - begin;
}

uint64_t
perf_run_batch(struct perf_sut *sut, const struct perf_row *row, unsigned int lcore)
{
	const bool is_poll = row->kind == PERF_POLL;
	const uint32_t nb_calls = perf_batch(row) / (is_poll ? 1 : row->burst);
	/* All mbufs of the calls come from the mempool cache. */
	const uint32_t nb_at_once = PERF_MAX_BATCH / (is_poll ? 1 : row->burst);
	uint32_t nb = 0;
	uint64_t ticks = 0;

	for (uint16_t q = 0; q < row->nb_queues; q++)
		prepare(sut, &sut->queues[q], row, lcore);
	for (uint32_t i = 0; i < nb_calls; i++) {
		sut->calls[nb++] = (struct perf_call){
			.queue = &sut->queues[i % row->nb_queues],
			.nth = i / row->nb_queues,
		};
		if (nb < nb_at_once && i + 1 < nb_calls)
			continue;
		ticks += run_calls(sut, row, nb, lcore);
		nb = 0;
	}
	for (uint16_t q = 0; q < row->nb_queues; q++)
		if (row->kind == PERF_TX || row->kind == PERF_FWD)
			hand_take_tx(&sut->queues[q].tx, sut->queues[q].tx_expected,
				     queue_batch(row), row->burst);
	return ticks;
}

void
perf_stagger(struct perf_sut *sut, const struct perf_row *row, unsigned int lcore)
{
	if (row->kind != PERF_RX && row->kind != PERF_FWD)
		return;
	for (uint16_t q = 1; q < row->nb_queues; q += 2) {
		struct perf_queue *queue = &sut->queues[q];

		prepare(sut, queue, row, lcore);
		sut->calls[0] = (struct perf_call){ .queue = queue };
		run_calls(sut, row, 1, lcore);
		if (row->kind == PERF_FWD)
			hand_take_tx(&queue->tx, queue->tx_expected, row->burst,
				     row->burst);
	}
}
