/* SPDX-License-Identifier: BSD-3-Clause */

/* Experiments on Tx checksums and the insertion of VLAN tags. */

#include "first_contact.h"

static const struct fc_frame_spec tcp = { .proto = FC_PROTO_TCP,
					  .payload_bytes = 64 };
static const struct fc_frame_spec udp = { .payload_bytes = 64 };

#define TAG_TCI 5

/* A TCP checksum with an inserted tag, with this addition to trans_off. */
static int
send_inserted_tag(struct fc *fc, uint32_t add)
{
	struct fc_frame frame;
	struct fc_tx tx;

	fc_frame_build(fc, &tcp, &frame);
	tx = fc_tx_csum(&frame);
	tx.insert_tag = true;
	tx.tci = TAG_TCI;
	tx.trans_off += add;
	return fc_send(fc, &tx);
}

static void
trans_off_inserted_tag(struct fc *fc, struct fc_finding *finding)
{
	const int without = send_inserted_tag(fc, 0);
	const int with = send_inserted_tag(fc, FC_VLAN_BYTES);

	if (without == MANA_CQE_TX_OKAY && with != MANA_CQE_TX_OKAY)
		fc_decide(finding, "excluded", "", "with the tag counted: %s",
			  fc_cqe_name(with));
	else if (with == MANA_CQE_TX_OKAY && without != MANA_CQE_TX_OKAY)
		fc_decide(finding, "included", "",
			  "without the tag counted: %s; do "
			  "not use VLAN insertion with checksums",
			  fc_cqe_name(without));
	else if (without == MANA_CQE_TX_OKAY)
		fc_undecided(finding, "both offsets are accepted");
	else
		fc_unexpected(finding, "an inserted tag", without);
}

/* The frame's UDP checksum is computed as 0. */
static void
make_zero_csum(struct fc_frame *frame)
{
	uint8_t *data = frame->data;
	uint8_t *field = data + fc_csum_off(frame);
	/* With the sum in the last word of the payload, the complement is 0. */
	const uint32_t last = frame->nb_bytes - 2;
	uint32_t sum;

	fc_put_be16(field, 0);
	fc_put_be16(data + last, 0);
	sum = 0;
	for (uint32_t i = frame->l4_off; i < frame->nb_bytes; i += 2)
		sum += fc_be16(data + i);
	for (uint32_t i = frame->l3_off + 12; i < frame->l3_off + 20; i += 2)
		sum += fc_be16(data + i);
	sum += FC_PROTO_UDP + frame->nb_bytes - frame->l4_off;
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	fc_put_be16(data + last, ~sum);
}

/* Does the receiver clear a checksum that it has found good (rx-l4-csum)? */
static bool
clears_csum(struct fc *fc)
{
	struct fc_packet packet;
	struct fc_frame frame;

	return fc_pass_spec(fc, &udp, &frame, &packet) == MANA_CQE_TX_OKAY &&
	       fc_be16(packet.data + fc_csum_off(&frame)) == 0;
}

/* Does the receiver call an absent checksum good (rx-udp-zero)? */
static bool
absent_is_good(struct fc *fc)
{
	static const struct fc_frame_spec none = { .no_udp_csum = true,
						   .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;

	return fc_pass_spec(fc, &none, &frame, &packet) == MANA_CQE_TX_OKAY &&
	       (packet.csum & MANA_RX_CSUM_UDP_OK) != 0;
}

static void
udp_zero_csum(struct fc *fc, struct fc_finding *finding)
{
	struct fc_packet packet;
	struct fc_frame frame;
	uint16_t received;
	struct fc_tx tx;
	bool is_good;
	int type;

	fc_frame_build(fc, &udp, &frame);
	make_zero_csum(&frame);
	tx = fc_tx_csum(&frame);
	type = fc_pass(fc, &frame, &tx, &packet);
	if (type != MANA_CQE_TX_OKAY) {
		fc_unexpected(finding, "a UDP checksum", type);
		return;
	}
	received = fc_be16(packet.data + fc_csum_off(&frame));
	is_good = (packet.csum & MANA_RX_CSUM_UDP_OK) != 0;
	if (received == 0xffff)
		fc_decide(finding, "ffff", "",
			  "a checksum of 0 arrives as 0xffff");
	else if (received != 0)
		fc_undecided(finding, "a checksum of 0 arrives as 0x%04x",
			     received);
	else if (!clears_csum(fc))
		fc_decide(finding, "zero", "", "a checksum of 0 arrives as 0");
	else if (!absent_is_good(fc))
		fc_decide(finding, is_good ? "ffff" : "zero", "",
			  "the receiver clears "
			  "the field, and calls the checksum %s",
			  is_good ? "good" : "absent");
	else
		fc_undecided(finding,
			     "the receiver clears the field, and calls any "
			     "checksum good");
}

static void
udp_trans_off(struct fc *fc, struct fc_finding *finding)
{
	struct fc_packet packet;
	struct fc_frame frame;
	struct fc_tx tx;
	int type;

	fc_frame_build(fc, &udp, &frame);
	tx = fc_tx_csum(&frame);
	tx.trans_off = 0;
	type = fc_pass(fc, &frame, &tx, &packet);
	if (type == MANA_CQE_TX_INVALID_OOB)
		fc_decide(finding, "needed", "", "trans_off 0: %s",
			  fc_cqe_name(type));
	else if (type != MANA_CQE_TX_OKAY)
		fc_unexpected(finding, "trans_off 0", type);
	else if ((packet.csum & MANA_RX_CSUM_UDP_OK) != 0)
		fc_decide(finding, "ignored", "",
			  "trans_off 0: the checksum arrives "
			  "correct");
	else
		fc_undecided(finding,
			     "trans_off 0: %s, but the checksum is not "
			     "correct at the receiver",
			     fc_cqe_name(type));
}

static void
ip_trans_off(struct fc *fc, struct fc_finding *finding)
{
	int type[2];

	for (uint32_t i = 0; i < 2; i++) {
		struct fc_frame frame;
		struct fc_tx tx;

		fc_frame_build(fc, &udp, &frame);
		tx = fc_tx_of(&frame);
		fc_put_be16(frame.data + frame.l3_off + 10, 0);
		tx.oob = FC_OOB(IPV4) | FC_OOB(IP_CSUM);
		tx.trans_off = i == 0 ? 0 : frame.l4_off;
		type[i] = fc_send(fc, &tx);
	}
	if (type[0] != MANA_CQE_TX_OKAY)
		fc_unexpected(finding, "an IPv4 checksum", type[0]);
	else if (type[1] == MANA_CQE_TX_OKAY)
		fc_decide(finding, "any", "", "a filled trans_off: %s",
			  fc_cqe_name(type[1]));
	else if (type[1] == MANA_CQE_TX_INVALID_OOB)
		fc_decide(finding, "zero", "", "a filled trans_off: %s",
			  fc_cqe_name(type[1]));
	else
		fc_unexpected(finding, "a filled trans_off", type[1]);
}

/* The outer checksums of a VXLAN packet, whose inner frame is another frame. */
static void
tx_outer(struct fc *fc, struct fc_finding *finding)
{
	struct fc_frame inner, outer;
	struct fc_packet packet;
	struct fc_tx tx;
	int type;

	fc_frame_vxlan(fc, &inner, &outer);
	tx = fc_tx_csum(&outer);
	type = fc_pass(fc, &inner, &tx, &packet);
	if (type == MANA_CQE_TX_OKAY &&
	    fc_ip_csum_ok(packet.data + outer.l3_off, 20) &&
	    (packet.csum & MANA_RX_CSUM_UDP_OK) != 0)
		fc_observe(finding, "", "works",
			   "the outer checksums of a "
			   "VXLAN packet arrive correct");
	else if (type == MANA_CQE_TX_INVALID_OOB)
		fc_observe(finding, "", "refused", "%s",
			   fc_cqe_name(type));
	else if (type == MANA_CQE_TX_OKAY)
		fc_undecided(finding, "the receiver does not report the outer "
				      "checksums of a VXLAN packet as correct");
	else
		fc_unexpected(finding, "a VXLAN packet", type);
}

const struct fc_experiment fc_csum_experiments[] = {
	{ "trans-off-inserted-tag",
	  "does trans_off count an inserted VLAN tag?",
	  trans_off_inserted_tag,
	  {} },
	{ "udp-zero-csum",
	  "what is sent for a UDP checksum of 0?",
	  udp_zero_csum,
	  {} },
	{ "udp-trans-off", "does a UDP checksum need trans_off?", udp_trans_off, {} },
	{ "ip-trans-off",
	  "trans_off with the IPv4 header checksum alone",
	  ip_trans_off,
	  {} },
	{ "tx-outer", "outer checksums of a tunnel", tx_outer, {} },
	{ 0 },
};
