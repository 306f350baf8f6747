/* SPDX-License-Identifier: BSD-3-Clause */

/* Experiments on Rx WQEs, completions and flags. Frames are sent without offloads. */

#include <string.h>

#include "first_contact.h"

#define CSUM_L4_BAD (MANA_RX_CSUM_TCP_BAD | MANA_RX_CSUM_UDP_BAD)

/* Passes a frame; false: undecided. */
static bool
pass(struct fc *fc, const struct fc_frame_spec *spec, struct fc_frame *frame,
     struct fc_packet *packet, const char *what, struct fc_finding *finding)
{
	const int type = fc_pass_spec(fc, spec, frame, packet);

	if (type != MANA_CQE_TX_OKAY)
		fc_unexpected(finding, what, type);
	return type == MANA_CQE_TX_OKAY;
}

/* A plain frame must arrive, or the answer of a lost one means nothing. */
static bool
path_works(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;

	return pass(fc, &spec, &frame, &packet, "a plain frame", finding);
}

/* ---- Buffers ---- */

#define SCATTER_BYTES  64u
#define PIECE_DISTANCE 1024u

/* WQEs of two SGEs: a frame that needs both. */
static void
rx_scatter(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .payload_bytes = 60 };
	struct fc_packet packet;
	struct fc_frame frame;
	bool is_second;
	int type;

	for (uint32_t i = 0; i < 32; i++) {
		const uint32_t off = FC_RX_OFF + i * FC_RX_BUF_BYTES;
		const struct fc_rx_wqe wqe = {
			.nb_sge = 2,
			.sge = { { off, SCATTER_BYTES },
				 { off + PIECE_DISTANCE, SCATTER_BYTES } },
		};

		fc_rx_post(fc, 0, &wqe);
	}
	fc_rx_ring(fc, 0);
	type = fc_pass_spec(fc, &spec, &frame, &packet);
	if (type != MANA_CQE_TX_OKAY) {
		fc_unexpected(finding, "a frame of 102 bytes in two SGEs of 64",
			      type);
		return;
	}
	/* The buffers were empty; the checksum of the tag is never 0. */
	is_second = packet.data[SCATTER_BYTES] != 0 ||
		    packet.data[SCATTER_BYTES + 1] != 0;
	if (packet.cqe_type == MANA_CQE_RX_TRUNCATED)
		fc_decide(finding, "off", "",
			  "%u bytes in two SGEs of %u: "
			  "RX_TRUNCATED; do not use scattered Rx",
			  frame.nb_bytes, SCATTER_BYTES);
	else if (is_second)
		fc_decide(finding, "on", "",
			  "%u bytes in two SGEs of %u: both are "
			  "filled",
			  frame.nb_bytes, SCATTER_BYTES);
	else
		fc_decide(finding, "silent", "",
			  "%u bytes in two SGEs of %u: RX_OKAY, "
			  "but the second is empty; do not use scattered Rx",
			  frame.nb_bytes, SCATTER_BYTES);
}

/* Buffers at odd addresses. */
static void
rx_odd_buffer(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .no_udp_csum = true,
						   .payload_bytes = 100 };
	struct fc_packet packet;
	struct fc_frame frame;

	for (uint32_t i = 0; i < FC_NB_DESC / 2; i++) {
		const struct fc_rx_wqe wqe = {
			.nb_sge = 1,
			.sge = { { FC_RX_OFF + i * FC_RX_BUF_BYTES + 1 + 2 * i,
				   FC_RX_BUF_BYTES / 2 } },
		};

		fc_rx_post(fc, 0, &wqe);
	}
	fc_rx_ring(fc, 0);
	if (!pass(fc, &spec, &frame, &packet,
		  "a frame for a buffer at an odd "
		  "address",
		  finding))
		return;
	/* The peer or the network may change addresses, but not the payload. */
	fc_observe(finding, "",
		   memcmp(packet.data + frame.l4_off + frame.l4_header_bytes,
			  frame.data + frame.l4_off + frame.l4_header_bytes,
			  spec.payload_bytes) == 0 ?
			   "accepted" :
			   "misplaced",
		   "a frame of %u bytes in a buffer at an odd address",
		   frame.nb_bytes);
}

static void
rx_exact_fit(struct fc *fc, struct fc_finding *finding)
{
	/* The frame has 14 + 20 + 8 bytes of headers. */
	const struct fc_frame_spec spec = {
		.payload_bytes = fc->setup.buf_bytes - 42,
	};
	struct fc_packet packet;
	struct fc_frame frame;

	if (!pass(fc, &spec, &frame, &packet, "a frame of the buffer's size",
		  finding))
		return;
	if (packet.cqe_type == MANA_CQE_RX_TRUNCATED)
		fc_decide(finding, "truncated", "",
			  "%u bytes in a buffer of %u: "
			  "RX_TRUNCATED",
			  frame.nb_bytes, fc->setup.buf_bytes);
	else
		fc_decide(finding, "good", "",
			  "%u bytes in a buffer of %u: received",
			  frame.nb_bytes, fc->setup.buf_bytes);
}

/* Behind each Rx buffer is nothing: the memory was zero. */
static bool
buffers_are_kept(const struct fc *fc)
{
	static const uint8_t none[16];

	for (uint32_t i = 0; i < FC_NB_DESC; i++)
		if (memcmp(fc->memory + FC_RX_OFF + i * FC_RX_BUF_BYTES +
				   fc->setup.buf_bytes,
			   none, sizeof(none)) != 0)
			return false;
	return true;
}

/*
 * Is a buffer of this size filled to its end? 1: yes, 0: no, or a frame was lost,
 * -errno: the question could not be asked. The frame is longer, no runt, and
 * has no checksum that the adapter may change.
 */
static int
ask_buffer(struct fc *fc, uint32_t nb_bytes)
{
	const struct fc_setup setup = { .buf_bytes = nb_bytes };
	const struct fc_frame_spec spec = {
		.no_udp_csum = true,
		.payload_bytes = RTE_MAX(nb_bytes, 64u),
	};
	struct fc_packet packet;
	struct fc_frame frame;
	struct fc_tx tx;

	if (fc_open(fc, &setup) != 0)
		return -EIO;
	fc_frame_build(fc, &spec, &frame);
	tx = fc_tx_of(&frame);
	if (fc_send(fc, &tx) != MANA_CQE_TX_OKAY)
		return -EIO;
	/* The buffer may be too small for the tag; others send to the port, too. */
	for (uint32_t i = 0; i < FC_NB_DESC; i++) {
		if (!fc_rx_wait(fc, &packet))
			return 0;
		if (memcmp(packet.data, frame.data, nb_bytes) == 0)
			return buffers_are_kept(fc);
	}
	return 0;
}

/* The same; a frame that was lost decides nothing. */
static int
buffer_works(struct fc *fc, uint32_t nb_bytes)
{
	int ret = 0;

	for (uint32_t i = 0; i < FC_NB_TRIES && ret == 0; i++)
		ret = ask_buffer(fc, nb_bytes);
	return ret;
}

static void
rx_buffer_min(struct fc *fc, struct fc_finding *finding)
{
	uint32_t smallest = 0, size;
	int ret = 1;

	if (fc->has_peer) {
		fc_undecided(finding, "a peer changes the frames; use two ports of "
				      "this machine");
		return;
	}
	for (size = 1024; size >= 16; size /= 2) {
		ret = buffer_works(fc, size);
		if (ret != 1)
			break;
		smallest = size;
	}
	if (ret < 0)
		fc_undecided(finding, "a buffer of %u bytes could not be tried",
			     size);
	else if (smallest == 0)
		fc_undecided(finding, "not even a buffer of 1024 bytes was filled "
				      "correctly");
	else if (ret == 0 && buffer_works(fc, smallest) != 1)
		fc_undecided(finding, "frames are lost");
	else
		fc_observe(finding, "", "",
			   "%s: filled to its end, and not beyond it",
			   smallest == 16 ? "the smallest that was tried" :
					    "smaller ones are not");
	snprintf(finding->value, sizeof(finding->value), "%u", smallest);
}

/* ---- Completions ---- */

static void
rx_wqe_offset(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .payload_bytes = 64 };
	uint32_t nb_bu = 0, nb_bytes = 0, nb_zero = 0, nb = 0;
	struct fc_packet packet = { 0 };
	struct fc_frame frame;

	for (uint32_t i = 0; i < 12; i++) {
		if (!pass(fc, &spec, &frame, &packet, "a plain frame", finding))
			return;
		if (packet.place != 0 || packet.pos == 0)
			continue; /* at position 0 all units are equal */
		nb++;
		nb_bu += packet.wqe_offset == packet.pos;
		nb_bytes += packet.wqe_offset == packet.pos * GDMA_BU_BYTES;
		nb_zero += packet.wqe_offset == 0;
	}
	if (nb == 0)
		fc_undecided(finding, "no completion names a position but 0");
	else if (nb_bytes == nb)
		fc_decide(finding, "bytes", "",
			  "%u completions with the position in "
			  "bytes",
			  nb);
	else if (nb_bu == nb)
		fc_decide(finding, "bu", "",
			  "%u completions with the position in BU", nb);
	else if (nb_zero == nb)
		fc_decide(finding, "zero", "", "%u completions with 0", nb);
	else
		fc_undecided(finding,
			     "neither bytes nor BU nor 0: %u instead of %u "
			     "BU",
			     packet.wqe_offset, packet.pos);
}

#define NB_BURSTS 8
#define BURST	  16

/* Bursts of equal packets with one doorbell each. */
static void
rx_coalesced(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .payload_bytes = 64 };
	uint32_t most = 0, type = MANA_CQE_RX_OKAY;
	const struct mana_cq *cq = &fc->rxq[0].cq;
	struct fc_frame frame;

	for (uint32_t i = 0; i < NB_BURSTS; i++) {
		for (uint32_t k = 0; k < BURST; k++) {
			struct fc_tx tx;

			fc_frame_build(fc, &spec, &frame);
			tx = fc_tx_of(&frame);
			fc_post(fc, &tx);
		}
		fc_ring(fc);
		for (uint32_t k = 0; k < BURST; k++) {
			const int sent = fc_tx_wait(fc, NULL);

			if (sent != MANA_CQE_TX_OKAY) {
				fc_unexpected(finding, "a burst", sent);
				return;
			}
		}
		fc->txq.sq.ci = fc->txq.sq.pi;
		if (!path_works(fc, finding))
			return;
		/* path_works() has read the burst; its CQEs are still in the ring. */
		for (uint32_t at = cq->ci - RTE_MIN(cq->ci - mana_cq_size(cq),
						    mana_cq_size(cq));
		     at != cq->ci; at++) {
			struct gdma_cqe cqe;
			uint32_t found;

			mana_cqe_copy(&cqe, mana_cq_cqe(cq, at));
			found = rte_le_to_cpu_32(cqe.rx.header) & MANA_CQE_TYPE_M;
			if (found == MANA_CQE_RX_COALESCED_8)
				most = 8;
			else if (found == MANA_CQE_RX_COALESCED_4 && most == 0)
				most = 4;
			if (found != MANA_CQE_RX_OKAY)
				type = found;
		}
	}
	if (most == 0 && type == MANA_CQE_RX_OKAY)
		fc_observe(finding, "", "none",
			   "%u bursts of %u packets: each packet "
			   "has a completion",
			   NB_BURSTS, BURST);
	else if (most != 0)
		fc_decide(finding, most == 8 ? "8" : "4", "",
			  "completions of type %u "
			  "(RX_COALESCED_%u)",
			  type, most);
	else
		fc_undecided(finding, "completions of the unknown type %u", type);
}

/* ---- Checksum flags ---- */

static void
ipv6_ip_flag(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .v6 = true,
						   .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;

	if (!pass(fc, &spec, &frame, &packet, "an IPv6 frame", finding))
		return;
	fc_decide(finding,
		  (packet.csum & MANA_RX_CSUM_IP_OK) != 0 ? "set" : "clear", "",
		  "a UDP packet over IPv6: checksum flags 0x%02x", packet.csum);
}

static void
rx_outer_flags(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;
	uint32_t bits;

	if (!pass(fc, &spec, &frame, &packet, "a plain frame", finding))
		return;
	bits = packet.flags >> MANA_RX_CQE_OUTER_IP_OK_S & 3;
	fc_decide(finding, bits != 0 ? "set" : "zero", "",
		  "a UDP packet over IPv4: outer flags %u", bits);
}

static void
rx_fragment_flags(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .is_fragment = true,
						   .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;
	uint32_t l4;

	if (!pass(fc, &spec, &frame, &packet, "the first fragment", finding))
		return;
	l4 = packet.csum & ~(MANA_RX_CSUM_IP_OK | MANA_RX_CSUM_IP_BAD);
	if (l4 == 0)
		fc_decide(finding, "none", "", "a fragment: no L4 flag");
	else if ((l4 & CSUM_L4_BAD) != 0)
		fc_decide(finding, "fail", "",
			  "a fragment: checksum flags 0x%02x", packet.csum);
	else
		fc_observe(finding, "", "ok",
			   "a fragment: checksum flags 0x%02x", packet.csum);
}

static void
rx_udp_zero(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .no_udp_csum = true,
						   .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;

	if (!pass(fc, &spec, &frame, &packet, "UDP without a checksum", finding))
		return;
	if ((packet.csum & MANA_RX_CSUM_UDP_OK) != 0)
		fc_decide(finding, "ok", "", "UDP without a checksum: good");
	else if ((packet.csum & CSUM_L4_BAD) == 0)
		fc_decide(finding, "none", "",
			  "UDP without a checksum: no L4 flag");
	else
		fc_observe(finding, "", "fail",
			   "UDP without a checksum: flags "
			   "0x%02x",
			   packet.csum);
}

static void
rx_ipv4_options(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .option_bytes = 8,
						   .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;

	if (!pass(fc, &spec, &frame, &packet, "IPv4 with options", finding))
		return;
	if (packet.csum == 0)
		fc_decide(finding, "none", "", "IPv4 with options: no flags");
	else if ((packet.csum & MANA_RX_CSUM_IP_OK) != 0)
		fc_decide(finding, "checked", "",
			  "IPv4 with options: flags 0x%02x", packet.csum);
	else
		fc_undecided(finding, "IPv4 with options: flags 0x%02x",
			     packet.csum);
}

/* The field of a frame with a wrong checksum tells all three answers apart. */
static void
rx_l4_csum(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .bad_l4 = true,
						   .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;
	uint16_t sent, received;

	if (!pass(fc, &spec, &frame, &packet, "a wrong UDP checksum", finding))
		return;
	sent = fc_be16(frame.data + fc_csum_off(&frame));
	received = fc_be16(packet.data + fc_csum_off(&frame));
	if (received == sent)
		fc_decide(finding, "unchanged", "",
			  "a wrong checksum arrives as it "
			  "was sent");
	else if (received == 0)
		fc_decide(finding, "zeroed", "", "a wrong checksum arrives as 0");
	else if (packet.nb_bytes == frame.nb_bytes &&
		 fc_l4_csum_ok(packet.data, frame.l3_off, frame.l4_off,
			       packet.nb_bytes, false, FC_PROTO_UDP))
		fc_decide(finding, "computed", "",
			  "a wrong checksum arrives "
			  "correct");
	else
		fc_undecided(finding, "0x%04x arrives as 0x%04x", sent, received);
}

/* ---- VLAN tags ---- */

#define TAG_TCI 0x6064 /* priority 3, id 100 */

static void
rx_vlan(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .nb_tags = 1,
						   .tci = TAG_TCI,
						   .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;

	if (!pass(fc, &spec, &frame, &packet, "a tagged frame", finding))
		return;
	if ((packet.flags >> MANA_RX_CQE_VLAN_S & 1) == 0)
		fc_observe(finding, "", "kept",
			   "a tagged frame of %u bytes: %u bytes, "
			   "no flag",
			   frame.nb_bytes, packet.nb_bytes);
	else if (packet.nb_bytes == frame.nb_bytes - FC_VLAN_BYTES)
		fc_observe(finding, "", "stripped",
			   "the tag 0x%04x: reported as "
			   "0x%03x",
			   TAG_TCI, packet.flags & MANA_RX_CQE_VLAN_ID_M);
	else
		fc_undecided(finding,
			     "%u bytes arrive as %u bytes, with the flag",
			     frame.nb_bytes, packet.nb_bytes);
}

static void
rx_second_tag(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .nb_tags = 2,
						   .tci = TAG_TCI,
						   .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;

	if (!pass(fc, &spec, &frame, &packet, "a frame with two tags", finding))
		return;
	fc_decide(finding, packet.csum != 0 ? "parsed" : "opaque", "",
		  "IPv4 behind two tags: checksum flags 0x%02x", packet.csum);
}

const struct fc_experiment fc_rx_experiments[] = {
	{ "rx-scatter",
	  "does a packet fill the SGEs of an Rx WQE?",
	  rx_scatter,
	  { .is_empty = true } },
	{ "rx-odd-buffer",
	  "Rx buffers at odd addresses",
	  rx_odd_buffer,
	  { .is_empty = true } },
	{ "rx-exact-fit",
	  "a packet that just fills its buffer",
	  rx_exact_fit,
	  { .buf_bytes = 512 } },
	{ "rx-buffer-min", "the smallest Rx buffer in bytes", rx_buffer_min, {} },
	{ "rx-wqe-offset", "the unit of rx_wqe_offset", rx_wqe_offset, {} },
	{ "rx-coalesced", "the most packets in an Rx completion", rx_coalesced, {} },
	{ "ipv6-ip-flag",
	  "do received IPv6 packets have a good IP checksum?",
	  ipv6_ip_flag,
	  {} },
	{ "rx-outer-flags",
	  "the outer IP checksum flags of plain packets",
	  rx_outer_flags,
	  {} },
	{ "rx-fragment-flags",
	  "the L4 checksum flag of fragments",
	  rx_fragment_flags,
	  {} },
	{ "rx-udp-zero",
	  "the L4 checksum flag of UDP without a checksum",
	  rx_udp_zero,
	  {} },
	{ "rx-ipv4-options",
	  "the checksum flags of IPv4 with options",
	  rx_ipv4_options,
	  {} },
	{ "rx-l4-csum",
	  "the L4 checksum field of a received packet",
	  rx_l4_csum,
	  {} },
	{ "rx-vlan", "the VLAN tag of a received frame", rx_vlan, {} },
	{ "rx-second-tag",
	  "does the adapter parse behind a second VLAN tag?",
	  rx_second_tag,
	  {} },
	{ 0 },
};
