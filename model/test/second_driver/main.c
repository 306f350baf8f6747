/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sends packets from each of two ports to the other and checks every one of them:
 * checksums, contents, order, RSS. Then again after a reset.
 *
 * usage: second_driver SOCKET PACKETS
 *
 * Layouts of OOB and completions: gdma_defs/src/bnic.rs; net_mana/src/lib.rs.
 */

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "second.h"

#define BURST	   64u
#define NB_FLOWS   32u
#define HEAD_BYTES 42u /* Ethernet, IPv4, UDP */
#define SPINS	   200u /* polls before the wait for an interrupt */
#define NB_WAITING 1024u /* packets that are awaited by interrupts */

/* OOB: word 0. */
#define OOB_IPV4     (1u << 2)
#define OOB_IP_CSUM  (1u << 4)
#define OOB_UDP_CSUM (1u << 6)
/* Completions. */
#define TYPE_RX_OK   1u
#define TYPE_TX_OK   32u
#define RX_GOOD	     (1u << 25 | 1u << 29) /* IP and UDP checksums */
#define RX_HASH_UDP4 4u

/* What a port has sent, and received from the other. */
struct traffic {
	uint32_t nb_sent, nb_completed, nb_received;
	uint32_t next_of_flow[NB_FLOWS];
	uint32_t nb_of_queue[NB_QUEUES];
};
static struct traffic traffic[NB_PORTS];

void
die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("second_driver: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	exit(1);
}

/* ---- Packets ---- */

static uint32_t
sum16(uint32_t sum, const uint8_t *at, uint32_t nb_bytes)
{
	for (; nb_bytes > 1; nb_bytes -= 2, at += 2)
		sum += (uint32_t)at[0] << 8 | at[1];
	return nb_bytes != 0 ? sum + ((uint32_t)at[0] << 8) : sum;
}

static uint32_t
fold(uint32_t sum)
{
	while (sum > 0xffff)
		sum = (sum >> 16) + (sum & 0xffff);
	return sum;
}

static void
put_be16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* Addresses, protocol and length of the UDP datagram of an IPv4 packet. */
static uint32_t
pseudo_header(const uint8_t *ip)
{
	return sum16(17, ip + 12, 8) + (uint32_t)(ip[24] << 8 | ip[25]);
}

static uint32_t
size_of(uint32_t seq)
{
	return HEAD_BYTES + 4 + seq * 31 % 400;
}

/* The adapter fills in both checksums, the UDP one from the sum that is there. */
static void
write_frame(uint8_t *frame, const struct port *from, const struct port *to,
	    uint32_t seq)
{
	const uint32_t nb_bytes = size_of(seq);
	uint8_t *ip = frame + 14, *udp = frame + 34;

	memcpy(frame, to->mac, 6);
	memcpy(frame + 6, from->mac, 6);
	put_be16(frame + 12, 0x0800);
	memset(ip, 0, 28);
	ip[0] = 0x45;
	put_be16(ip + 2, nb_bytes - 14);
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, "\xc6\x12\x00\x01\xc6\x12\x01\x02", 8);
	ip[15] = from->mac[5];
	put_be16(udp, 1000 + seq % NB_FLOWS);
	put_be16(udp + 2, 2000);
	put_be16(udp + 4, nb_bytes - 34);
	put_be16(udp + 6, fold(pseudo_header(ip)));
	put32(frame + HEAD_BYTES, seq);
	for (uint32_t i = HEAD_BYTES + 4; i < nb_bytes; i++)
		frame[i] = (uint8_t)(seq + i);
}

/* The same frame with correct checksums: the contents, which the sums cover. */
static void
check_frame(const uint8_t *frame, uint32_t nb_bytes, const struct port *from,
	    const struct port *to)
{
	const uint8_t *ip = frame + 14, *udp = frame + 34;
	const uint32_t seq = get32(frame + HEAD_BYTES);
	uint8_t want[SLOT_BYTES];

	if (nb_bytes < HEAD_BYTES + 4 || nb_bytes != size_of(seq))
		die("packet %u has %u bytes", seq, nb_bytes);
	write_frame(want, from, to, seq);
	memcpy(want + 24, frame + 24, 2);
	memcpy(want + 40, frame + 40, 2);
	if (memcmp(want, frame, nb_bytes) != 0)
		die("packet %u has other contents", seq);
	if (fold(sum16(0, ip, 20)) != 0xffff)
		die("packet %u: wrong checksum of the IP header", seq);
	if (fold(sum16(pseudo_header(ip), udp, nb_bytes - 34)) != 0xffff)
		die("packet %u: wrong UDP checksum", seq);
}

/* Toeplitz: addresses and ports as in the packet, the key's first bit first. */
static uint32_t
rss_hash(const uint8_t *frame)
{
	const uint8_t *input = frame + 26;
	uint32_t hash = 0;

	for (uint32_t bit = 0; bit < 12 * 8; bit++) {
		const uint8_t *key = rss_key + bit / 8;
		const uint64_t window = (uint64_t)key[0] << 32 |
					(uint64_t)key[1] << 24 |
					(uint32_t)key[2] << 16 |
					(uint32_t)key[3] << 8 | key[4];

		if ((input[bit / 8] >> (7 - bit % 8) & 1) != 0)
			hash ^= (uint32_t)(window >> (8 - bit % 8));
	}
	return hash;
}

/* ---- Sending ---- */

static void
write_oob(uint8_t oob[8], const struct port *port, const struct wq *sq)
{
	put32(oob, OOB_IPV4 | OOB_IP_CSUM | OOB_UDP_CSUM | sq->cq.id << 8);
	put32(oob + 4, 34 | (sq->id >> 10 & 0x3fff) << 10 |
			       (uint32_t)port->vp_offset << 24);
}

/* The next frame of this port, by a buffer that the ring position selects. */
static uint8_t *
next_buffer(const struct port *port, uint32_t q)
{
	return port->tx_buffers[q] +
	       port->sq[q].tail / 32 % NB_SLOTS * SLOT_BYTES;
}

/*
 * How many packets may follow: the receiver has a buffer for each, whichever queue it
 * comes to, and no CQ overflows.
 */
static uint32_t
burst(uint32_t p, uint32_t nb_packets)
{
	const struct traffic *t = &traffic[p];
	const uint32_t nb_left = nb_packets - t->nb_sent;
	const uint32_t nb = nb_left < BURST ? nb_left : BURST;

	return t->nb_sent - traffic[!p].nb_received + nb <= NB_SLOTS &&
			       t->nb_sent - t->nb_completed + nb <= NB_SLOTS ?
		       nb :
		       0;
}

static bool
send_some(uint32_t p, uint32_t nb_packets)
{
	struct port *port = &ports[p];
	struct traffic *t = &traffic[p];
	const uint32_t nb = burst(p, nb_packets);
	uint8_t oob[8];
	uint32_t i;

	if (nb == 0)
		return false;
	for (i = 0; i < nb; i++, t->nb_sent++) {
		const uint32_t q = t->nb_sent % NB_QUEUES;
		uint8_t *frame = next_buffer(port, q);

		write_frame(frame, port, &ports[!p], t->nb_sent);
		write_oob(oob, port, &port->sq[q]);
		wq_post(&port->sq[q], oob, sizeof(oob), mem_address(frame),
			nic_key, size_of(t->nb_sent));
	}
	for (i = 0; i < NB_QUEUES; i++)
		wq_ring(&port->sq[i]);
	return true;
}

/* The adapter learns from a doorbell what has been read: due every 8 laps. */
static void
ring_if_due(struct cq *cq)
{
	if (cq->next - cq->rung >= cq->nb_entries)
		cq_ring(cq, false);
}

static bool
complete_sent(uint32_t p)
{
	uint8_t cqe[CQE_BYTES];
	bool any = false;

	for (uint32_t q = 0; q < NB_QUEUES; q++) {
		struct wq *sq = &ports[p].sq[q];

		for (; cq_pop(&sq->cq, cqe); any = true) {
			if ((cqe[0] & 0x3f) != TYPE_TX_OK ||
			    get32(cqe + 60) % (1u << 25) != (sq->id | 1u << 24))
				die("a Tx completion of type %u", cqe[0] & 0x3f);
			sq->head += 32;
			traffic[p].nb_completed++;
		}
		ring_if_due(&sq->cq);
	}
	return any;
}

/* ---- Receiving ---- */

static void
check_received(uint32_t p, uint32_t q, const uint8_t *cqe, const uint8_t *frame)
{
	struct traffic *t = &traffic[p];
	const uint32_t flags = get32(cqe + 4), hash = get32(cqe + 16);
	const uint32_t seq = get32(frame + HEAD_BYTES), flow = seq % NB_FLOWS;

	if ((cqe[0] & 0x3f) != TYPE_RX_OK)
		die("an Rx completion of type %u", cqe[0] & 0x3f);
	check_frame(frame, get32(cqe + 8) & 0xffff, &ports[!p], &ports[p]);
	if ((flags & RX_GOOD) != RX_GOOD || (flags >> 16 & 0x1ff) != RX_HASH_UDP4)
		die("packet %u: flags 0x%x", seq, flags);
	if (hash != rss_hash(frame) || hash % RSS_ENTRIES % NB_QUEUES != q)
		die("packet %u: hash 0x%x in queue %u", seq, hash, q);
	/* Each packet of a flow once, and in order. */
	if (seq != t->next_of_flow[flow])
		die("packet %u instead of %u", seq, t->next_of_flow[flow]);
	t->next_of_flow[flow] += NB_FLOWS;
	t->nb_of_queue[q]++;
	t->nb_received++;
}

static bool
receive_some(uint32_t p)
{
	struct port *port = &ports[p];
	uint8_t cqe[CQE_BYTES];
	bool any = false;

	for (uint32_t q = 0; q < NB_QUEUES; q++) {
		struct wq *rq = &port->rq[q];
		uint32_t nb = 0;

		for (; nb < BURST && cq_pop(&rq->cq, cqe); nb++) {
			const uint32_t slot = rq->head / 32 % NB_SLOTS;

			check_received(p, q, cqe,
				       port->rx_buffers[q] + slot * SLOT_BYTES);
			rq->head += 32;
		}
		if (nb != 0)
			nic_post_rx(port, q, nb);
		ring_if_due(&rq->cq);
		any = any || nb != 0;
	}
	return any;
}

static void
pass_packets(uint32_t nb_packets)
{
	uint32_t nb_idle = 0;

	memset(traffic, 0, sizeof(traffic));
	for (uint32_t p = 0; p < NB_PORTS; p++)
		for (uint32_t f = 0; f < NB_FLOWS; f++)
			traffic[p].next_of_flow[f] = f;
	while (traffic[0].nb_received < nb_packets ||
	       traffic[1].nb_received < nb_packets ||
	       traffic[0].nb_completed < nb_packets ||
	       traffic[1].nb_completed < nb_packets) {
		bool has_sent = false, any = false;

		for (uint32_t p = 0; p < NB_PORTS; p++) {
			any |= complete_sent(p);
			any |= receive_some(p);
			has_sent |= send_some(p, nb_packets);
		}
		nb_idle = any || has_sent ? 0 : nb_idle + 1;
		if (nb_idle == 0 && traffic[0].nb_sent > NB_WAITING)
			continue;
		if (nb_idle > SPINS || has_sent)
			nic_wait();
		else
			sched_yield();
	}
	for (uint32_t p = 0; p < NB_PORTS; p++)
		for (uint32_t q = 0; q < NB_QUEUES; q++)
			if (traffic[p].nb_of_queue[q] == 0)
				die("queue %u of port %u received nothing", q, p);
}

int
main(int argc, char *argv[])
{
	uint32_t nb_packets;

	if (argc != 3)
		die("usage: second_driver SOCKET PACKETS");
	nb_packets = (uint32_t)strtoul(argv[2], NULL, 10);
	vfio_open(argv[1]);
	nic_start();
	pass_packets(nb_packets);
	/* The adapter asks for a reset, which ends all that is there. */
	hwc_await_reset_event();
	vfio_reset();
	nic_start();
	pass_packets(nb_packets);
	nic_stop();
	printf("%u packets each way\n", nb_packets);
	return 0;
}
