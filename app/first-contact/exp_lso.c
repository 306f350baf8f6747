/* SPDX-License-Identifier: BSD-3-Clause */

/* Experiments on LSO (TCP segmentation). */

#include "first_contact.h"

#define MSS	      1000u
#define NB_SEGMENTS   3u
#define IPV4_ID_OFF   4
#define TCP_SEQ_OFF   4
#define TCP_FLAGS_OFF 13
#define TCP_FIN	      0x01
#define TCP_PSH	      0x08

/* An LSO of payload_bytes behind the headers of a frame, which is built here. */
static struct fc_tx
build_lso(struct fc *fc, struct fc_frame_spec spec, uint32_t payload_bytes,
	  struct fc_frame *frame)
{
	uint8_t tag[FC_TAG_BYTES];
	uint32_t header_bytes, done = 0;
	struct fc_tx tx;

	spec.proto = FC_PROTO_TCP;
	spec.payload_bytes = FC_TAG_BYTES;
	fc_frame_build(fc, &spec, frame);
	fc_frame_seed(frame, true);
	header_bytes = frame->l4_off + frame->l4_header_bytes;
	fc_tag_write(frame->tag, tag);
	for (uint32_t i = 0; i < payload_bytes; i++)
		fc->memory[FC_LSO_OFF + i] = tag[i % FC_TAG_BYTES];
	tx = fc_tx_of(frame);
	tx.oob = FC_OOB(TCP_CSUM) |
		 (frame->v6 ? FC_OOB(IPV6) : FC_OOB(IPV4) | FC_OOB(IP_CSUM));
	tx.trans_off = frame->l4_off;
	tx.lso_header_bytes = header_bytes;
	tx.mss = MSS;
	tx.sge[0].nb_bytes = header_bytes;
	for (tx.nb_sge = 1; done < payload_bytes; tx.nb_sge++) {
		/* Large payloads in pieces of 64 KiB, as an application has them. */
		const uint32_t n = RTE_MIN(payload_bytes - done, 65536u);

		tx.sge[tx.nb_sge].off = FC_LSO_OFF + done;
		tx.sge[tx.nb_sge].nb_bytes = n;
		done += n;
	}
	return tx;
}

static int
send_lso(struct fc *fc, struct fc_frame_spec spec, uint32_t payload_bytes,
	 uint64_t more_oob)
{
	struct fc_frame frame;
	struct fc_tx tx = build_lso(fc, spec, payload_bytes, &frame);

	tx.oob |= more_oob;
	return fc_send(fc, &tx);
}

/* Nothing else can be asked of an adapter that sends no LSO at all. */
static bool
has_lso(struct fc *fc, bool v6, struct fc_finding *finding)
{
	const struct fc_frame_spec spec = { .v6 = v6 };
	const int type = send_lso(fc, spec, NB_SEGMENTS * MSS, 0);

	if (type != MANA_CQE_TX_OKAY)
		fc_unexpected(finding, "an LSO", type);
	return type == MANA_CQE_TX_OKAY;
}

/* Checks the segments of one LSO; the text of the first difference, or NULL. */
static const char *
check_segment(const struct fc_packet *packet, const struct fc_frame *frame,
	      uint32_t nth, bool is_last)
{
	const uint8_t *ip = packet->data + frame->l3_off;
	const uint8_t *tcp = packet->data + frame->l4_off;
	const uint8_t *sent = frame->data;
	const uint8_t flags = tcp[TCP_FLAGS_OFF] & (TCP_FIN | TCP_PSH);

	if (packet->nb_bytes != frame->l4_off + frame->l4_header_bytes + MSS)
		return "a segment has another length";
	if (fc_be16(ip + 2) != packet->nb_bytes - frame->l3_off)
		return "the IP length of a segment is wrong";
	if ((packet->csum & MANA_RX_CSUM_TCP_OK) == 0)
		return "the checksum of a segment is wrong";
	if (fc_be16(tcp + TCP_SEQ_OFF + 2) !=
	    (uint16_t)(fc_be16(sent + frame->l4_off + TCP_SEQ_OFF + 2) +
		       nth * MSS))
		return "a sequence number is wrong";
	if (fc_be16(ip + IPV4_ID_OFF) !=
	    (uint16_t)(fc_be16(sent + frame->l3_off + IPV4_ID_OFF) + nth))
		return "the IP id does not count the segments";
	if (flags != (is_last ? TCP_FIN | TCP_PSH : 0))
		return "PSH and FIN are not in the last segment alone";
	return NULL;
}

static void
lso_segments(struct fc *fc, struct fc_finding *finding)
{
	const struct fc_frame_spec spec = { 0 };
	const char *fault = NULL;
	struct fc_packet packet;
	struct fc_frame frame;
	struct fc_tx tx = build_lso(fc, spec, NB_SEGMENTS * MSS, &frame);
	uint8_t *flags = frame.data + frame.l4_off + TCP_FLAGS_OFF;
	int type;

	*flags |= TCP_FIN | TCP_PSH;
	type = fc_send(fc, &tx);
	if (type != MANA_CQE_TX_OKAY) {
		fc_unexpected(finding, "an LSO", type);
		return;
	}
	for (uint32_t i = 0; i < NB_SEGMENTS && fault == NULL; i++) {
		if (!fc_receive(fc, frame.tag, &packet)) {
			fc_undecided(finding, "%u of %u segments arrived", i,
				     NB_SEGMENTS);
			return;
		}
		fault = check_segment(&packet, &frame, i, i + 1 == NB_SEGMENTS);
	}
	if (fault == NULL)
		fc_observe(finding, "", "standard",
			   "%u segments: lengths, ids, "
			   "sequence numbers, flags and checksums as expected",
			   NB_SEGMENTS);
	else
		fc_observe(finding, "", "different", "%s", fault);
}

/* SGE 0 of this size: the headers and the begin of the payload. */
static int
send_header(struct fc *fc, uint32_t header_bytes)
{
	struct fc_frame_spec spec = { .v6 = true };
	struct fc_frame frame;
	struct fc_tx tx = build_lso(fc, spec, NB_SEGMENTS * MSS, &frame);

	tx.lso_header_bytes = header_bytes;
	tx.sge[0].nb_bytes = header_bytes;
	return fc_send(fc, &tx);
}

static void
lso_header_max(struct fc *fc, struct fc_finding *finding)
{
	int type;

	if (!has_lso(fc, false, finding))
		return;
	type = send_header(fc, 255);
	if (type < 0 || type == MANA_CQE_TX_GDMA_ERR) {
		fc_unexpected(finding, "255 bytes", type);
		return;
	}
	type = send_header(fc, 256);
	if (type == MANA_CQE_TX_GDMA_ERR)
		fc_decide(finding, "255", "", "256 bytes: %s", fc_cqe_name(type));
	else if (type >= 0)
		fc_decide(finding, "256", "", "256 bytes, written as 0: %s",
			  fc_cqe_name(type));
	else
		fc_unexpected(finding, "256 bytes", type);
}

#define LSO_MAX_BYTES (512u * 1024)

static void
lso_max(struct fc *fc, struct fc_finding *finding)
{
	/* Headers of 54 bytes. */
	static const uint32_t sizes[] = { 65535 - 54, 65536, LSO_MAX_BYTES - 54 };
	int type[RTE_DIM(sizes)];
	uint32_t nb;

	for (nb = 0; nb < RTE_DIM(sizes); nb++) {
		const struct fc_frame_spec spec = { 0 };

		type[nb] = send_lso(fc, spec, sizes[nb], 0);
		if (type[nb] != MANA_CQE_TX_OKAY)
			break;
	}
	if (nb == 0)
		fc_unexpected(finding, "an LSO of 65535 bytes", type[0]);
	else if (nb == 1 && type[1] >= 0)
		fc_decide(finding, "64k", "", "%u bytes: %s", sizes[1] + 54,
			  fc_cqe_name(type[1]));
	else if (nb == RTE_DIM(sizes))
		fc_decide(finding, "512k", "", "%u bytes: TX_OKAY",
			  LSO_MAX_BYTES);
	else
		fc_undecided(finding, "%u bytes: %s; between 64 and 512 KiB",
			     sizes[nb] + 54, fc_cqe_name(type[nb]));
}

/* Decides by the completion of one LSO: accepted, or TX_INVALID_OOB. */
static void
accepted_or_not(struct fc_finding *finding, int type, const char *accepted,
		const char *refused, const char *what)
{
	if (type == MANA_CQE_TX_OKAY)
		fc_decide(finding, accepted, "", "%s: %s", what,
			  fc_cqe_name(type));
	else if (type == MANA_CQE_TX_INVALID_OOB)
		fc_decide(finding, refused, "", "%s: %s", what,
			  fc_cqe_name(type));
	else
		fc_unexpected(finding, what, type);
}

static void
lso_inline_tag(struct fc *fc, struct fc_finding *finding)
{
	struct fc_frame_spec spec = { .nb_tags = 1, .tci = 7 };

	if (has_lso(fc, false, finding))
		accepted_or_not(finding, send_lso(fc, spec, NB_SEGMENTS * MSS, 0),
				"allowed", "refused", "an LSO with a tag");
}

static void
lso_ipv6_ip_csum(struct fc *fc, struct fc_finding *finding)
{
	struct fc_frame_spec spec = { .v6 = true };

	if (has_lso(fc, true, finding))
		accepted_or_not(finding,
				send_lso(fc, spec, NB_SEGMENTS * MSS,
					 FC_OOB(IP_CSUM)),
				"ignored", "refused", "the bit with IPv6");
}

static void
lso_length(struct fc *fc, struct fc_finding *finding)
{
	const struct fc_frame_spec spec = { 0 };
	struct fc_frame frame;
	struct fc_tx tx;

	if (!has_lso(fc, false, finding))
		return;
	tx = build_lso(fc, spec, NB_SEGMENTS * MSS, &frame);
	fc_put_be16(frame.data + frame.l3_off + 2, 40 + NB_SEGMENTS * MSS);
	accepted_or_not(finding, fc_send(fc, &tx), "any", "zero",
			"a length that is not 0");
}

const struct fc_experiment fc_lso_experiments[] = {
	{ "lso-segments", "the segments of an LSO", lso_segments, {} },
	{ "lso-header-max", "the largest LSO header in bytes", lso_header_max, {} },
	{ "lso-max", "the largest LSO, headers included", lso_max, {} },
	{ "lso-inline-tag", "may LSO headers have a VLAN tag?", lso_inline_tag, {} },
	{ "lso-ipv6-ip-csum",
	  "comp_iphdr_csum with an IPv6 LSO",
	  lso_ipv6_ip_csum,
	  {} },
	{ "lso-length", "the length in the IP header of an LSO", lso_length, {} },
	{ 0 },
};
