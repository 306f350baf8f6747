/* SPDX-License-Identifier: BSD-3-Clause */

/* Build the frame of a Tx WQE: checks and offloads. */

#include "nic.h"

/* A frame above the MTU is refused before it is read. */
#define TX_MAX_TAGS 2
/* IEEE 802.3, without the FCS. */
#define TX_RUNT_BYTES 60u

bool
nic_tx_fits_mtu(uint64_t frame_bytes, uint32_t nb_tags)
{
	/* ASSUMED: tags in the frame do not count. */
	return frame_bytes <= segment_config()->max_mtu + NIC_ETH_BYTES +
				      (uint64_t)nb_tags * NIC_VLAN_BYTES;
}

uint32_t
nic_tx_trans_off(const struct nic_tx *tx, const struct nic_parsed *parsed)
{
	const bool with_tag = tx->oob.inject_vlan &&
			      nic_quirk(QUIRK_TRANS_OFF_WITH_TAG);

	return parsed->l4_off + (with_tag ? NIC_VLAN_BYTES : 0);
}

int
nic_tx_mismatch(const struct nic_tx *tx, enum violation violation,
		const struct nic_parsed *parsed)
{
	const struct hw_tx_oob *oob = &tx->oob;

	switch (violation) {
	case VIOLATION_oob_l3_mismatch:
		violation_detail("got is_outer_ipv4 %u, is_outer_ipv6 %u, want those of "
				 "Ethertype 0x%04x",
				 oob->is_ipv4, oob->is_ipv6, parsed->ethertype);
		break;
	case VIOLATION_oob_l4_mismatch:
		violation_detail("got comp_tcp_csum %u, comp_udp_csum %u, want those of IP "
				 "protocol %u%s",
				 oob->tcp_csum, oob->udp_csum, parsed->proto,
				 parsed->is_fragment ? ", none of a fragment" :
						       "");
		break;
	case VIOLATION_oob_trans_off:
		violation_detail("got %u, want %u", oob->trans_off,
				 nic_tx_trans_off(tx, parsed));
		break;
	default:
		break;
	}
	nic_tx_violation(tx, violation);
	return HW_CQE_TX_INVALID_OOB;
}

/* Check that the OOB describes the frame correctly. */
static int
nic_tx_check_frame(const struct nic_tx *tx, const struct nic_parsed *parsed)
{
	const struct hw_tx_oob *oob = &tx->oob;
	const bool wants_l4 = oob->tcp_csum || oob->udp_csum;
	const uint8_t proto = oob->tcp_csum ? NIC_PROTO_TCP : NIC_PROTO_UDP;
	const bool needs_off = oob->tcp_csum ||
			       nic_quirk(QUIRK_UDP_TRANS_OFF_NEEDED);

	if ((oob->is_ipv4 && parsed->ethertype != NIC_ETHERTYPE_IPV4) ||
	    (oob->is_ipv6 && parsed->ethertype != NIC_ETHERTYPE_IPV6))
		return nic_tx_mismatch(tx, VIOLATION_oob_l3_mismatch, parsed);
	if (!oob->wants_csum)
		return HW_CQE_TX_OKAY;
	if (parsed->l3 == NIC_L3_NONE)
		return HW_CQE_TX_HDR_PROCESSING_ERROR;
	if (!wants_l4)
		return oob->trans_off != 0 && nic_quirk(QUIRK_IP_TRANS_OFF_ZERO) ?
			       HW_CQE_TX_INVALID_OOB : HW_CQE_TX_OKAY;
	if (parsed->proto != proto || parsed->is_fragment)
		return nic_tx_mismatch(tx, VIOLATION_oob_l4_mismatch, parsed);
	/* Linux leaves it 0 for UDP, DPDK's driver uninitialised. */
	if (oob->trans_off != nic_tx_trans_off(tx, parsed) &&
	    (needs_off || oob->trans_off != 0)) {
		const int type = nic_tx_mismatch(tx, VIOLATION_oob_trans_off, parsed);

		if (needs_off)
			return type;
	}
	return parsed->l4_fits ? HW_CQE_TX_OKAY : HW_CQE_TX_HDR_PROCESSING_ERROR;
}

/*
 * The sums include what the driver left in the fields, as with Linux
 * CHECKSUM_PARTIAL: a wrong seed gives a wrong checksum.
 */
static void
nic_tx_checksums(const struct nic_tx *tx, uint8_t *frame,
		 const struct nic_parsed *parsed)
{
	const struct hw_tx_oob *oob = &tx->oob;
	const uint8_t *ip_field = frame + parsed->l3_off + NIC_IPV4_CSUM_OFF;
	uint16_t seed, want;

	if (oob->ip_csum && parsed->l3 == NIC_L3_IPV4) {
		if (hw_be16(ip_field) != 0) {
			violation_detail("got 0x%04x in the IPv4 header, want 0",
					 hw_be16(ip_field));
			nic_tx_violation(tx, VIOLATION_oob_csum_seed);
		}
		nic_csum_write_ipv4(frame, parsed);
	}
	if (!oob->tcp_csum && !oob->udp_csum)
		return;
	memcpy(&seed, frame + nic_csum_l4_off(parsed), sizeof(seed));
	want = nic_csum_fold(nic_csum_pseudo(frame, parsed, parsed->l4_bytes));
	if (!nic_csum_same(seed, want)) {
		violation_detail("got 0x%04x in the L4 header, want 0x%04x, the sum of the "
				 "pseudo-header with the length",
				 be16toh(seed), be16toh(want));
		nic_tx_violation(tx, VIOLATION_oob_csum_seed);
	}
	nic_csum_write_l4(frame, parsed, nic_quirk(QUIRK_UDP_ZERO_CSUM_SENT));
}

/* Policies of the virtual network: --enforce. */
static int
nic_tx_policy(struct nic_tx *tx, const uint8_t *frame, uint32_t nb_bytes)
{
	const uint32_t enforce = segment_config()->enforce;
	struct nic_parsed parsed;

	if (memcmp(frame + 6, tx->port->mac, sizeof(tx->port->mac)) != 0) {
		if ((enforce & MODEL_ENFORCE_SA) != 0)
			return HW_CQE_TX_SA_DROP;
		tx->port->counters.tx_foreign_sa++;
	}
	if ((enforce & (MODEL_ENFORCE_VLAN | MODEL_ENFORCE_ETYPE)) == 0)
		return HW_CQE_TX_OKAY;
	nic_parse(frame, nb_bytes, TX_MAX_TAGS, &parsed);
	if ((enforce & MODEL_ENFORCE_VLAN) != 0 &&
	    (parsed.nb_tags > 0 || tx->oob.inject_vlan))
		return HW_CQE_TX_VLAN_TAGGING_VIOLATION;
	if ((enforce & MODEL_ENFORCE_ETYPE) != 0 &&
	    parsed.ethertype != NIC_ETHERTYPE_IPV4 &&
	    parsed.ethertype != NIC_ETHERTYPE_IPV6 &&
	    parsed.ethertype != NIC_ETHERTYPE_ARP)
		return HW_CQE_TX_INVALID_ETH_TYPE;
	return HW_CQE_TX_OKAY;
}

int
nic_tx_frame(struct nic_tx *tx, uint8_t *frame, uint32_t nb_bytes)
{
	struct card_queue_counters *record = card_counters(tx->f, tx->sq);
	int type = nic_tx_policy(tx, frame, nb_bytes);

	if (type != HW_CQE_TX_OKAY)
		return type;
	if (tx->oob.inject_vlan) {
		frame -= NIC_VLAN_BYTES; /* into the headroom */
		memmove(frame, frame + NIC_VLAN_BYTES, 12);
		hw_put_be16(frame + 12, NIC_ETHERTYPE_VLAN);
		hw_put_be16(frame + 14, tx->oob.tci);
		nb_bytes += NIC_VLAN_BYTES;
	}
	if (nb_bytes < TX_RUNT_BYTES && nic_quirk(QUIRK_RUNTS) == RUNTS_PADDED) {
		memset(frame + nb_bytes, 0, TX_RUNT_BYTES - nb_bytes);
		nb_bytes = TX_RUNT_BYTES;
	}
	tx->port->counters.tx_packets++;
	tx->port->counters.tx_bytes += nb_bytes;
	nic_count_cast(tx->port->counters.tx_casts, frame, nb_bytes);
	record->packets++;
	record->bytes += nb_bytes;
	tx->send(tx->sq->fn, tx->sq->port, frame, nb_bytes);
	return HW_CQE_TX_OKAY;
}

int
nic_tx_packet(struct nic_tx *tx)
{
	uint8_t *frame = segment_card()->frame + CARD_HEADROOM_BYTES;
	const uint32_t nb_bytes = (uint32_t)tx->total_bytes;
	struct nic_parsed parsed;
	int type;

	if (!nic_tx_fits_mtu(tx->total_bytes, TX_MAX_TAGS))
		return HW_CQE_TX_MTU_DROP;
	if (nb_bytes < NIC_ETH_BYTES) {
		violation_detail("got %u bytes, want 14 or more", nb_bytes);
		nic_tx_violation(tx, VIOLATION_tx_runt);
		return HW_CQE_TX_HDR_PROCESSING_ERROR;
	}
	if (nb_bytes < TX_RUNT_BYTES && nic_quirk(QUIRK_RUNTS) == RUNTS_REFUSED)
		return HW_CQE_TX_HDR_PROCESSING_ERROR;
	type = nic_tx_gather(tx, frame, nb_bytes);
	if (type != HW_CQE_TX_OKAY)
		return type;
	if (tx->oob.is_ip || !nic_tx_fits_mtu(nb_bytes, 0)) {
		nic_parse(frame, nb_bytes, TX_MAX_TAGS, &parsed);
		if (!nic_tx_fits_mtu(nb_bytes, parsed.nb_tags))
			return HW_CQE_TX_MTU_DROP;
		type = nic_tx_check_frame(tx, &parsed);
		if (type != HW_CQE_TX_OKAY)
			return type;
		nic_tx_checksums(tx, frame, &parsed);
	}
	return nic_tx_frame(tx, frame, nb_bytes);
}
