/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * TCP segmentation. Fields that the driver prepares: Linux mana_en.c
 * mana_start_xmit; limits: OpenVMM net_mana handle_tx. ASSUMED, as all other
 * adapters do: ids and sequence numbers advance; only the last segment has PSH
 * and FIN, only the first has CWR.
 */

#include "nic.h"

#define IPV4_LENGTH_OFF	  2
#define IPV4_ID_OFF	  4
#define IPV4_CSUM_OFF	  10
#define IPV6_LENGTH_OFF	  4
#define IPV6_HEADER_BYTES 40u
#define TCP_SEQ_OFF	  4
#define TCP_DATA_OFF	  12
#define TCP_FLAGS_OFF	  13
#define TCP_CSUM_OFF	  16
#define TCP_HEADER_BYTES  20u
#define TCP_FIN		  0x01
#define TCP_PSH		  0x08
#define TCP_CWR		  0x80

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
	uint16_t seed; /* pseudo-header sum without a length */
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

/* client_data_unit is not 0. */
static uint64_t
nic_lso_nb_segments(const struct nic_tx *tx)
{
	const uint32_t mss = tx->wqe.client_data_unit;

	return (tx->total_bytes - hw_sge_read(tx->sgl).size_bytes + mss - 1) /
	       mss;
}

/* Errors for which the device disables the queue. */
static enum violation
nic_lso_wqe_fault(const struct nic_tx *tx)
{
	const struct hw_sge first = hw_sge_read(tx->sgl);

	if (tx->wqe.nb_sge < 2 || tx->total_bytes == first.size_bytes)
		return VIOLATION_lso_no_payload_sge;
	if (!nic_lso_header_size_ok(tx))
		return VIOLATION_lso_header_size;
	if (tx->wqe.client_data_unit == 0)
		return VIOLATION_lso_mss;
	if (tx->total_bytes > (nic_quirk(QUIRK_LSO_MAX_64K) ? UINT16_MAX :
							      HW_LSO_MAX_BYTES))
		return VIOLATION_lso_too_long;
	if (nic_lso_nb_segments(tx) > LSO_MAX_SEGMENTS)
		return VIOLATION_lso_segments;
	return NB_VIOLATIONS;
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

static bool
nic_lso_length_is_zero(const struct nic_lso_header *header)
{
	const uint8_t *ip = header->bytes + header->parsed.l3_off;

	return hw_be16(ip + (header->parsed.l3 == NIC_L3_IPV4 ?
				     IPV4_LENGTH_OFF :
				     IPV6_LENGTH_OFF)) == 0;
}

/* Check that SGE 0 is exactly the OOB's headers, prepared by the driver. */
static int
nic_lso_check_header(const struct nic_tx *tx, const struct nic_lso_header *header)
{
	const struct nic_parsed *parsed = &header->parsed;
	const uint8_t *tcp = header->bytes + parsed->l4_off;

	if (parsed->ethertype !=
	    (tx->oob.is_ipv4 ? NIC_ETHERTYPE_IPV4 : NIC_ETHERTYPE_IPV6)) {
		nic_tx_violation(tx, VIOLATION_oob_l3_mismatch);
		return HW_CQE_TX_INVALID_OOB;
	}
	if (parsed->l3 == NIC_L3_NONE) {
		nic_tx_violation(tx, VIOLATION_lso_header);
		return HW_CQE_TX_INVALID_OOB;
	}
	if (parsed->proto != NIC_PROTO_TCP || parsed->is_fragment) {
		nic_tx_violation(tx, VIOLATION_oob_l4_mismatch);
		return HW_CQE_TX_INVALID_OOB;
	}
	if (tx->oob.trans_off != nic_tx_trans_off(tx, parsed)) {
		nic_tx_violation(tx, VIOLATION_oob_trans_off);
		return HW_CQE_TX_INVALID_OOB;
	}
	if (parsed->l4_bytes < TCP_HEADER_BYTES ||
	    (tcp[TCP_DATA_OFF] >> 4) * 4u != parsed->l4_bytes) {
		nic_tx_violation(tx, VIOLATION_lso_header);
		return HW_CQE_TX_INVALID_OOB;
	}
	if (parsed->nb_tags > 0 && nic_quirk(QUIRK_LSO_INLINE_TAG_REFUSED))
		return HW_CQE_TX_INVALID_OOB;
	if (!nic_lso_length_is_zero(header)) {
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

	if ((parsed->l3 == NIC_L3_IPV4 && hw_be16(ip + IPV4_CSUM_OFF) != 0) ||
	    !nic_csum_same(header->seed, want))
		nic_tx_violation(tx, VIOLATION_oob_csum_seed);
}

/* One segment's IP header: length, id, checksum. */
static void
nic_lso_write_ip(uint8_t *frame, const struct nic_parsed *parsed,
		 uint32_t nb_bytes, uint32_t nth)
{
	uint8_t *ip = frame + parsed->l3_off;
	uint32_t ip_bytes = nb_bytes - parsed->l3_off;
	uint16_t sum;

	if (parsed->l3 == NIC_L3_IPV6) {
		hw_put_be16(ip + IPV6_LENGTH_OFF,
			    (uint16_t)(ip_bytes - IPV6_HEADER_BYTES));
		return;
	}
	hw_put_be16(ip + IPV4_LENGTH_OFF, (uint16_t)ip_bytes);
	hw_put_be16(ip + IPV4_ID_OFF,
		    (uint16_t)(hw_be16(ip + IPV4_ID_OFF) + nth));
	sum = ~nic_csum_fold(nic_csum_add(0, ip, parsed->l4_off - parsed->l3_off));
	memcpy(ip + IPV4_CSUM_OFF, &sum, sizeof(sum));
}

/* A segment's TCP header; its part of the payload, at offset, is in place. */
static void
nic_lso_write_tcp(uint8_t *frame, const struct nic_parsed *parsed,
		  uint32_t nb_bytes, uint32_t offset, bool is_last)
{
	uint8_t *tcp = frame + parsed->l4_off;
	uint32_t l4_bytes = nb_bytes - parsed->l4_off;
	uint32_t seq = (uint32_t)hw_be16(tcp + TCP_SEQ_OFF) << 16 |
		       hw_be16(tcp + TCP_SEQ_OFF + 2);
	uint8_t length[4] = { 0 };
	uint64_t sum;
	uint16_t folded;

	seq += offset;
	hw_put_be16(tcp + TCP_SEQ_OFF, (uint16_t)(seq >> 16));
	hw_put_be16(tcp + TCP_SEQ_OFF + 2, (uint16_t)seq);
	if (!is_last)
		tcp[TCP_FLAGS_OFF] &= (uint8_t) ~(TCP_PSH | TCP_FIN);
	if (offset > 0)
		tcp[TCP_FLAGS_OFF] &= (uint8_t)~TCP_CWR;
	/* Add the length; the seed lacks it: Linux mana_en.c never adds it. */
	hw_put_be16(length + 2, (uint16_t)l4_bytes);
	sum = nic_csum_add(0, length, sizeof(length));
	sum = nic_csum_add(sum, tcp, l4_bytes);
	folded = ~nic_csum_fold(sum);
	memcpy(tcp + TCP_CSUM_OFF, &folded, sizeof(folded));
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
		nic_lso_write_ip(frame, &header->parsed, header->nb_bytes + n,
				 nth);
		nic_lso_write_tcp(frame, &header->parsed, header->nb_bytes + n,
				  done, done + n == payload);
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
	if (header.nb_bytes == HW_LSO_EMULATOR_HEADER_BYTES)
		nic_tx_violation(tx, VIOLATION_lso_header_size);
	if (!nic_lso_oob_ok(tx)) {
		nic_tx_violation(tx, VIOLATION_lso_oob);
		return HW_CQE_TX_INVALID_OOB;
	}
	type = nic_tx_gather(tx, header.bytes, header.nb_bytes);
	if (type != HW_CQE_TX_OKAY)
		return type;
	if (header.nb_bytes < NIC_ETH_BYTES) {
		nic_tx_violation(tx, VIOLATION_lso_header);
		return HW_CQE_TX_INVALID_OOB;
	}
	nic_lso_parse(&header);
	type = nic_lso_check_header(tx, &header);
	if (type != HW_CQE_TX_OKAY)
		return type;
	memcpy(&header.seed, header.bytes + header.parsed.l4_off + TCP_CSUM_OFF,
	       sizeof(header.seed));
	nic_lso_check_seeds(tx, &header);
	payload = (uint32_t)tx->total_bytes - header.nb_bytes;
	if (payload <= tx->wqe.client_data_unit)
		nic_tx_violation(tx, VIOLATION_lso_small);
	if (!nic_tx_fits_mtu((uint64_t)header.nb_bytes +
				     (payload < tx->wqe.client_data_unit ?
					      payload :
					      tx->wqe.client_data_unit),
			     header.parsed.nb_tags))
		return HW_CQE_TX_MTU_DROP;
	return nic_lso_segments(tx, &header);
}
