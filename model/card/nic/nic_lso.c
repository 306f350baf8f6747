/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * TCP segmentation. Fields that the driver prepares: Linux mana_en.c
 * mana_start_xmit; limits: OpenVMM net_mana handle_tx.
 */

#include <inttypes.h>

#include "nic.h"

/*
 * ASSUMED: more than any driver asks for, as Linux counts them in 16 bits
 * (netdevice.h GSO_MAX_SEGS). It bounds the work of one WQE.
 */
#define LSO_MAX_SEGMENTS 65535u

/* The headers of the LSO packet, as prepared by the driver. */
struct nic_lso_header {
	uint8_t bytes[HW_LSO_EMULATOR_HEADER_BYTES];
	uint32_t nb_bytes;
	struct nic_parsed parsed;
};

/*
 * The field has 8 bits. ASSUMED: 256 is written as 0; the emulator accepts it,
 * OpenVMM's driver never sends it.
 */
static bool
nic_lso_header_size_ok(const struct nic_tx *tx)
{
	const uint32_t nb_bytes = hw_sge_read(tx->sgl).size_bytes;

	if (nb_bytes == HW_LSO_EMULATOR_HEADER_BYTES)
		return tx->wqe.last_vbytes == 0 &&
		       !nic_quirk(QUIRK_LSO_HEADER_MAX_255);
	return nb_bytes == tx->wqe.last_vbytes;
}

static void
nic_lso_detail_header_size(const struct nic_tx *tx)
{
	violation_detail("got %u bytes in SGE 0 and last_vbytes %u, want the same, at "
			 "most 255",
			 hw_sge_read(tx->sgl).size_bytes, tx->wqe.last_vbytes);
}

/* Errors for which the device disables the queue, with their detail. */
static enum violation
nic_lso_wqe_fault(const struct nic_tx *tx)
{
	const uint32_t max_bytes =
		nic_quirk(QUIRK_LSO_MAX_64K) ? UINT16_MAX : HW_LSO_MAX_BYTES;
	const uint64_t payload = tx->total_bytes - hw_sge_read(tx->sgl).size_bytes;
	const uint32_t mss = tx->wqe.client_data_unit;

	if (tx->wqe.nb_sge < 2 || payload == 0) {
		violation_detail("got num_sge %u with %u bytes behind SGE 0, want a payload in "
				 "SGE 1 and on",
				 tx->wqe.nb_sge, (uint32_t)payload);
		return VIOLATION_lso_no_payload_sge;
	}
	if (!nic_lso_header_size_ok(tx)) {
		nic_lso_detail_header_size(tx);
		return VIOLATION_lso_header_size;
	}
	if (mss == 0) {
		violation_detail("got 0, want the payload bytes of a segment");
		return VIOLATION_lso_mss;
	}
	if (tx->total_bytes > max_bytes) {
		violation_detail("got %" PRIu64 " bytes, want at most %u",
				 tx->total_bytes, max_bytes);
		return VIOLATION_lso_too_long;
	}
	if ((payload + mss - 1) / mss > LSO_MAX_SEGMENTS) {
		violation_detail("got %" PRIu64
				 " segments of %u bytes, want at most %u",
				 (payload + mss - 1) / mss, mss, LSO_MAX_SEGMENTS);
		return VIOLATION_lso_segments;
	}
	return NB_VIOLATIONS;
}

/* Record what is wrong with the headers in SGE 0. */
static int
nic_lso_bad_header(const struct nic_tx *tx, const struct nic_lso_header *header)
{
	const struct nic_parsed *parsed = &header->parsed;

	if (header->nb_bytes < NIC_ETH_BYTES || parsed->l3 == NIC_L3_NONE)
		violation_detail("got %u bytes without an Ethernet and a valid IP header, want "
				 "both and a TCP header",
				 header->nb_bytes);
	else
		violation_detail(
			"got %u bytes from the L4 header on, want those that the TCP "
			"header's data offset names: %u",
			parsed->l4_bytes,
			parsed->l4_bytes <= NIC_TCP_DATA_OFF ?
				20 :
				(header->bytes[parsed->l4_off + NIC_TCP_DATA_OFF] >>
				 4) * 4u);
	nic_tx_violation(tx, VIOLATION_lso_header);
	return HW_CQE_TX_INVALID_OOB;
}

static bool
nic_lso_oob_ok(const struct nic_tx *tx)
{
	const struct hw_tx_oob *oob = &tx->oob;

	/* For IPv6, Linux sets the bit and OpenVMM does not: accept both. */
	if (oob->is_ipv6 && oob->ip_csum &&
	    nic_quirk(QUIRK_LSO_IPV6_IP_CSUM_REFUSED))
		return false;
	return oob->tcp_csum && (oob->is_ipv4 || oob->is_ipv6) &&
	       (oob->ip_csum || oob->is_ipv6);
}

/*
 * The lengths in the IP header are 0, so pass the length of the headers to the
 * parser; the parsed L4 part is then exactly the TCP header.
 */
static void
nic_lso_parse(struct nic_lso_header *header)
{
	struct nic_parsed *parsed = &header->parsed;

	nic_parse(header->bytes, header->nb_bytes, 2, parsed);
	parsed->l4_bytes = 0;
	if (parsed->l3 != NIC_L3_NONE && header->nb_bytes > parsed->l4_off)
		parsed->l4_bytes = header->nb_bytes - parsed->l4_off;
}

/* Check that SGE 0 is exactly the OOB's headers, prepared by the driver. */
static int
nic_lso_check_header(const struct nic_tx *tx, const struct nic_lso_header *header)
{
	const struct nic_parsed *parsed = &header->parsed;
	const bool is_v4 = parsed->l3 == NIC_L3_IPV4;
	const uint8_t *ip = header->bytes + parsed->l3_off;
	const uint8_t *tcp = header->bytes + parsed->l4_off;

	if (parsed->ethertype !=
	    (tx->oob.is_ipv4 ? NIC_ETHERTYPE_IPV4 : NIC_ETHERTYPE_IPV6))
		return nic_tx_mismatch(tx, VIOLATION_oob_l3_mismatch, parsed);
	if (parsed->l3 == NIC_L3_NONE)
		return nic_lso_bad_header(tx, header);
	if (parsed->proto != NIC_PROTO_TCP || parsed->is_fragment)
		return nic_tx_mismatch(tx, VIOLATION_oob_l4_mismatch, parsed);
	if (tx->oob.trans_off != nic_tx_trans_off(tx, parsed))
		return nic_tx_mismatch(tx, VIOLATION_oob_trans_off, parsed);
	if (parsed->l4_bytes < NIC_TCP_BYTES ||
	    (tcp[NIC_TCP_DATA_OFF] >> 4) * 4u != parsed->l4_bytes)
		return nic_lso_bad_header(tx, header);
	if (parsed->nb_tags > 0 && nic_quirk(QUIRK_LSO_INLINE_TAG_REFUSED))
		return HW_CQE_TX_INVALID_OOB;
	if (hw_be16(ip + (is_v4 ? NIC_IPV4_LENGTH_OFF : NIC_IPV6_LENGTH_OFF)) != 0) {
		violation_detail("got another value, want 0 in the length field of the %s "
				 "header",
				 is_v4 ? "IPv4" : "IPv6");
		nic_tx_violation(tx, VIOLATION_lso_length_not_zero);
		if (nic_quirk(QUIRK_LSO_LENGTH_ZERO))
			return HW_CQE_TX_INVALID_OOB;
	}
	return HW_CQE_TX_OKAY;
}

/* Check the values that the driver left in the checksum fields. */
static void
nic_lso_check_seeds(const struct nic_tx *tx, const struct nic_lso_header *header)
{
	const struct nic_parsed *parsed = &header->parsed;
	const uint8_t *ip = header->bytes + parsed->l3_off;
	uint16_t want = nic_csum_fold(nic_csum_pseudo(header->bytes, parsed, 0));
	uint16_t seed;

	memcpy(&seed, header->bytes + nic_csum_l4_off(parsed), sizeof(seed));
	if ((parsed->l3 == NIC_L3_IPV4 && hw_be16(ip + NIC_IPV4_CSUM_OFF) != 0) ||
	    !nic_csum_same(seed, want)) {
		violation_detail(
			"got 0x%04x in the TCP header, want 0x%04x, the sum of the "
			"pseudo-header without a length, and 0 in an IPv4 header",
			be16toh(seed), be16toh(want));
		nic_tx_violation(tx, VIOLATION_oob_csum_seed);
	}
}

static int
nic_lso_segments(struct nic_tx *tx, const struct nic_lso_header *header)
{
	uint8_t *frame = segment_card()->frame + CARD_HEADROOM_BYTES;
	const uint32_t payload = (uint32_t)tx->total_bytes - header->nb_bytes;
	const uint32_t mss = tx->wqe.client_data_unit;
	uint32_t done = 0, nth, n;
	int type = HW_CQE_TX_OKAY;

	for (nth = 0; type == HW_CQE_TX_OKAY && done < payload; nth++) {
		n = payload - done < mss ? payload - done : mss;
		memcpy(frame, header->bytes, header->nb_bytes);
		type = nic_tx_gather(tx, frame + header->nb_bytes, n);
		if (type != HW_CQE_TX_OKAY)
			return type;
		nic_segment_write(frame, &header->parsed, header->nb_bytes + n,
				  nth, done, done + n == payload);
		type = nic_tx_frame(tx, frame, header->nb_bytes + n);
		done += n;
	}
	tx->nb_segments += nth;
	return type;
}

int
nic_lso(struct nic_tx *tx)
{
	enum violation violation = nic_lso_wqe_fault(tx);
	struct nic_lso_header header = { 0 };
	uint32_t payload;
	int type;

	if (violation != NB_VIOLATIONS) {
		nic_tx_violation(tx, violation);
		tx->vendor_err = HW_VENDOR_TX_CORRUPT_WQE;
		return HW_CQE_TX_GDMA_ERR;
	}
	header.nb_bytes = hw_sge_read(tx->sgl).size_bytes;
	if (header.nb_bytes == HW_LSO_EMULATOR_HEADER_BYTES) {
		nic_lso_detail_header_size(tx);
		nic_tx_violation(tx, VIOLATION_lso_header_size);
	}
	if (!nic_lso_oob_ok(tx)) {
		violation_detail(
			"got is_outer_ipv4 %u, is_outer_ipv6 %u, comp_iphdr_csum %u, "
			"comp_tcp_csum %u, want one IP version and its checksums",
			tx->oob.is_ipv4, tx->oob.is_ipv6, tx->oob.ip_csum,
			tx->oob.tcp_csum);
		nic_tx_violation(tx, VIOLATION_lso_oob);
		return HW_CQE_TX_INVALID_OOB;
	}
	type = nic_tx_gather(tx, header.bytes, header.nb_bytes);
	if (type != HW_CQE_TX_OKAY)
		return type;
	if (header.nb_bytes < NIC_ETH_BYTES)
		return nic_lso_bad_header(tx, &header);
	nic_lso_parse(&header);
	type = nic_lso_check_header(tx, &header);
	if (type != HW_CQE_TX_OKAY)
		return type;
	nic_lso_check_seeds(tx, &header);
	payload = (uint32_t)tx->total_bytes - header.nb_bytes;
	if (payload <= tx->wqe.client_data_unit) {
		violation_detail(
			"got %u bytes of payload, want more than client_data_unit %u",
			payload, tx->wqe.client_data_unit);
		nic_tx_violation(tx, VIOLATION_lso_small);
	}
	if (!nic_tx_fits_mtu((uint64_t)header.nb_bytes +
				     (payload < tx->wqe.client_data_unit ?
					      payload :
					      tx->wqe.client_data_unit),
			     header.parsed.nb_tags))
		return HW_CQE_TX_MTU_DROP;
	return nic_lso_segments(tx, &header);
}
