/* SPDX-License-Identifier: BSD-3-Clause */

/* One batch: what is needed before, the bursts, and the check of all of it. */

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ip.h>
#include <rte_launch.h>
#include <rte_tcp.h>

#include "perf.h"

#define HEADERS_BYTES \
	(sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv4_hdr) + \
	 sizeof(struct rte_tcp_hdr))

/* Packets of a batch of one queue. */
static uint32_t
queue_batch(const struct perf_row *row)
{
	/* Some drivers count rings in basic units. */
	uint32_t batch = row->ring / (row->nb_segs > 1 ? 8 : 2);

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

/* A timer that waits for what is before it, and holds up what comes after. */
static uint64_t
now(void)
{
	uint64_t tsc;

	rte_mb();
	tsc = rte_rdtsc();
	__asm__ volatile("lfence" ::: "memory");
	return tsc;
}

static void
write_headers(struct rte_mbuf *m, uint32_t seed, uint16_t tso_segsz,
	      struct hand_tx_packet *p)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);

	memset(eth, 0, HEADERS_BYTES);
	eth->ether_type = htons(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = htons((uint16_t)(m->pkt_len - sizeof(*eth)));
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_TCP;
	ip->src_addr = htonl(0x0a000000 + seed);
	ip->dst_addr = htonl(0x0b000000 + seed * 7);
	tcp->data_off = 5 << 4;
	m->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM |
		RTE_MBUF_F_TX_TCP_CKSUM;
	m->l2_len = sizeof(*eth);
	m->l3_len = sizeof(*ip);
	m->l4_len = sizeof(*tcp);
	if (tso_segsz != 0) {
		m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
		m->tso_segsz = tso_segsz;
		p->lso_hdr_bytes = HEADERS_BYTES;
		p->lso_segsz_bytes = tso_segsz;
		p->ip_len = &ip->total_length;
	}
	p->has_csum = true;
	p->trans_off = sizeof(*eth) + sizeof(*ip);
	p->pseudo_sum = rte_ipv4_phdr_cksum(ip, m->ol_flags);
	p->tcp_csum = &tcp->cksum;
}

/* Bytes of the nth segment. */
static uint16_t
segment_bytes(const struct perf_row *row, uint32_t nth)
{
	if (row->tso_segsz == 0)
		return row->len_bytes / row->nb_segs;
	return nth == 0 ? HEADERS_BYTES :
			  (row->len_bytes - HEADERS_BYTES) / (row->nb_segs - 1);
}

/* Packets to be sent, and what their WQEs must say: from the first-th on. */
static void
make_packets(struct perf_sut *sut, struct perf_queue *queue, const struct perf_row *row,
	     uint32_t first, uint32_t nb)
{
	for (uint32_t i = first; i < first + nb; i++) {
		struct hand_tx_packet *p = &queue->tx_expected[i];
		struct rte_mbuf *segs[PERF_MAX_SEGS];

		if (rte_pktmbuf_alloc_bulk(sut->pool, segs, row->nb_segs) != 0)
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
		if (row->offload)
			write_headers(segs[0], i, row->tso_segsz, p);
		queue->pkts[i] = segs[0];
	}
}

/*
 * CQEs for what was sent before, each to be shown before that call which sends
 * as far in its batch: so a call frees what a call sends.
 */
static void
stage_completions(struct perf_queue *queue, uint32_t nb_calls, uint16_t burst)
{
	struct perf_flips *flips = &queue->flips;
	uint32_t nb_left = nb_calls * burst, nb_posted = hand_nb_posted(&queue->tx);
	uint32_t done = 0, nb, call = 0;

	/* What was left over of earlier batches is shown first. */
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

struct other_core {
	struct perf_queue *queue;
	const struct perf_row *row;
};

static int
receive(void *arg)
{
	const struct other_core *work = arg;

	hand_receive(&work->queue->rx, work->queue->rx_expected,
		     queue_batch(work->row), work->row->len_bytes,
		     work->row->coalesced);
	return 0;
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
prepare_receive(struct perf_sut *sut, struct perf_queue *queue,
		const struct perf_row *row, unsigned int lcore)
{
	struct other_core work = { queue, row };
	const uint32_t nb = queue_batch(row);

	if (row->place == PERF_OTHER_CORE) {
		if (rte_eal_remote_launch(receive, &work, lcore) != 0 ||
		    rte_eal_wait_lcore(lcore) != 0)
			hand_fail("no other core");
	} else {
		receive(&work);
	}
	if (row->place >= PERF_FLUSHED)
		hand_flush_cqes(&queue->rx, row->coalesced ? nb / 4 : nb);
	for (uint32_t i = 0; i < nb && row->place == PERF_MBUFS_FLUSHED; i++)
		flush(sut, queue->rx_expected[i].addr);
}

/* The device's work before a batch. */
static void
prepare(struct perf_sut *sut, struct perf_queue *queue, const struct perf_row *row,
	unsigned int lcore)
{
	hand_take_rx(&queue->rx, row->kind == PERF_TX ? 0 : row->len_bytes);
	if (row->kind == PERF_RX || row->kind == PERF_FWD)
		prepare_receive(sut, queue, row, lcore);
	if (row->kind == PERF_TX && row->place == PERF_MBUFS_FLUSHED)
		for (uint32_t i = queue->tx.first; i != queue->tx.last; i++)
			flush(sut, queue->tx.wqes[i % HAND_MAX_WQES].addr);
	if (row->kind == PERF_TX || row->kind == PERF_FWD)
		stage_completions(queue, queue_batch(row) / row->burst, row->burst);
}

static void
check_received(const struct perf_sut *sut, const struct perf_row *row,
	       const struct rte_mbuf *m, const struct hand_rx_packet *p)
{
	const uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	const uint64_t mask = RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK;

	if (m != perf_mbuf_at(sut, p->addr) || rte_pktmbuf_mtod(m, uintptr_t) != p->addr)
		hand_fail("%s: a packet is not that of its WQE", sut->name);
	if (m->pkt_len != row->len_bytes || m->data_len != row->len_bytes ||
	    m->nb_segs != 1 || m->next != NULL || m->port != sut->port ||
	    rte_mbuf_refcnt_read(m) != 1)
		hand_fail("%s: a packet is described wrongly", sut->name);
	if (row->offload && (m->ol_flags & mask) != good)
		hand_fail("%s: a packet has flags %#" PRIx64, sut->name, m->ol_flags);
	if (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH && m->hash.rss != p->hash)
		hand_fail("%s: a packet has another's hash", sut->name);
	if (row->ptypes && sut->tells_ptypes &&
	    (!RTE_ETH_IS_IPV4_HDR(m->packet_type) ||
	     (m->packet_type & RTE_PTYPE_L4_MASK) != RTE_PTYPE_L4_TCP))
		hand_fail("%s: a packet has type %#x", sut->name, m->packet_type);
}

/* What a call did. A forwarded packet is not free yet: it is not completed. */
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

/* As many calls as are measured at a time; their ticks. */
static uint64_t
run_calls(struct perf_sut *sut, const struct perf_row *row, uint32_t nb_calls)
{
	uint32_t nb = 0;
	uint64_t begin, end;

	for (uint32_t i = 0; i < nb_calls && row->kind == PERF_TX; i++)
		make_packets(sut, sut->calls[i].queue, row,
			     sut->calls[i].nth * row->burst, row->burst);
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
	/* So that the mbufs of the calls come from the cache of the pool. */
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
		ticks += run_calls(sut, row, nb);
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
		run_calls(sut, row, 1);
		if (row->kind == PERF_FWD)
			hand_take_tx(&queue->tx, queue->tx_expected, row->burst,
				     row->burst);
	}
}

/* A packet of each is sent: that is when drivers look regions up. */
void
perf_use_more_pools(struct perf_sut *sut, const struct perf_row *row)
{
	char name[RTE_MEMPOOL_NAMESIZE];

	struct perf_queue *queue = &sut->queues[0];
	struct hand_registers now;

	for (uint16_t i = 0; i < row->nb_more_pools; i++) {
		struct rte_mempool *own = sut->pool;
		const struct perf_row one = { .nb_segs = 1, .len_bytes = 64 };

		if (sut->more[i] == NULL) {
			snprintf(name, sizeof(name), "more_%s_%u", sut->name, i);
			sut->more[i] = rte_pktmbuf_pool_create(name, 63, 0, 0,
				RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
			if (sut->more[i] == NULL)
				hand_fail("%s: no pool: %s", sut->name,
					  rte_strerror(rte_errno));
		}
		sut->pool = sut->more[i];
		make_packets(sut, queue, &one, 0, 1);
		sut->pool = own;
		if (sut->tx_burst(queue->txq, queue->pkts, 1) != 1)
			hand_fail("%s: a packet of another pool is not sent", sut->name);
		now = hand_registers(&queue->tx);
		perf_ring(sut, queue, &now);
		hand_take_tx(&queue->tx, queue->tx_expected, 1, 1);
	}
}
