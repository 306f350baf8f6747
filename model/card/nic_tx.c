/* SPDX-License-Identifier: BSD-3-Clause */

#include "nic.h"
#include "wire.h"

#define IPV4_CSUM_OFF 10
#define TCP_CSUM_OFF  16
#define UDP_CSUM_OFF  6
/* A frame over the MTU is refused before it is read. */
#define TX_MAX_TAGS 2

void
nic_tx_violation(const struct nic_tx *tx, enum violation violation)
{
	wq_violation(tx->sq, violation, tx->raw, tx->wqe_bytes);
}

bool
nic_tx_fits_mtu(uint64_t frame_bytes, uint32_t nb_tags)
{
	/* ASSUMED: tags in the frame do not count. */
	return frame_bytes <= segment_config()->max_mtu + NIC_ETH_BYTES +
				      (uint64_t)nb_tags * NIC_VLAN_BYTES;
}

/* The header's own rules; the size is then known to make sense. */
static enum violation
nic_tx_check_header(const struct nic_tx *tx)
{
	if (tx->wqe.oob_div4 != HW_OOB_DIV4_SHORT &&
	    tx->wqe.oob_div4 != HW_OOB_DIV4_LONG)
		return VIOLATION_wqe_oob_size;
	if (tx->wqe.nb_sge == 0)
		return VIOLATION_wqe_no_sge;
	if (tx->wqe_bytes > HW_SQ_WQE_MAX_BYTES)
		return VIOLATION_wqe_too_large;
	if (tx->wqe_bytes > wq_posted_bytes(tx->sq))
		return VIOLATION_wqe_beyond_tail;
	return NB_VIOLATIONS;
}

/* Read the WQE at the consumer position. HW_CQE_TX_OKAY or GDMA_ERR. */
static int
nic_tx_fetch(struct nic_tx *tx)
{
	struct wq *sq = tx->sq;
	enum violation violation;

	tx->vendor_err = HW_VENDOR_TX_WQE_FAULT;
	if (ring_read(&sq->ring, sq->ci, tx->raw, HW_BU_BYTES) < 0) {
		wq_violation(sq, VIOLATION_wqe_memory_fault, NULL, 0);
		return HW_CQE_TX_GDMA_ERR;
	}
	tx->wqe = hw_wqe_read(tx->raw);
	tx->wqe_bytes = hw_wqe_bytes(&tx->wqe);
	violation = nic_tx_check_header(tx);
	if (violation != NB_VIOLATIONS) {
		tx->vendor_err = HW_VENDOR_TX_CORRUPT_WQE;
		wq_violation(sq, violation, tx->raw, HW_BU_BYTES);
		return HW_CQE_TX_GDMA_ERR;
	}
	if (tx->wqe_bytes > HW_BU_BYTES &&
	    ring_read(&sq->ring, sq->ci + HW_BU_BYTES, tx->raw + HW_BU_BYTES,
		      tx->wqe_bytes - HW_BU_BYTES) < 0) {
		wq_violation(sq, VIOLATION_wqe_memory_fault, tx->raw,
			     HW_BU_BYTES);
		return HW_CQE_TX_GDMA_ERR;
	}
	if (tx->wqe.has_reserved_bits)
		nic_tx_violation(tx, VIOLATION_wqe_reserved_bits);
	if (!tx->wqe.oob_in_sgl &&
	    (tx->wqe.last_vbytes != 0 || tx->wqe.client_data_unit != 0))
		nic_tx_violation(tx, VIOLATION_wqe_lso_fields);
	tx->oob = hw_tx_oob_read(tx->raw + HW_WQE_HEADER_BYTES,
				 tx->wqe.oob_div4 == HW_OOB_DIV4_LONG);
	tx->sgl = tx->raw + hw_wqe_sgl_offset(&tx->wqe);
	tx->vendor_err = 0;
	return HW_CQE_TX_OKAY;
}

/* Linux fills the short, OpenVMM the long field: either will do. */
static bool
nic_tx_vp_offset_ok(const struct nic_tx *tx)
{
	const struct hw_tx_oob *oob = &tx->oob;
	const uint32_t offset = tx->port->tx_vp_offset;

	if (oob->pkt_fmt == HW_PKT_FMT_SHORT) {
		if (oob->short_vp == offset)
			return true;
	} else if (oob->long_vp != 0 && oob->short_vp != 0 &&
		   oob->long_vp != oob->short_vp) {
		nic_tx_violation(tx, VIOLATION_oob_vp_offset_differs);
		return false;
	} else if ((oob->long_vp != 0 ? oob->long_vp : oob->short_vp) == offset) {
		return true;
	}
	nic_tx_violation(tx, VIOLATION_oob_vp_offset);
	return false;
}

/* What of the OOB is wrong whatever the frame; NB_VIOLATIONS if nothing. */
static enum violation
nic_tx_oob_fault(const struct nic_tx *tx)
{
	const struct hw_tx_oob *oob = &tx->oob;
	const bool wants_csum = oob->ip_csum || oob->tcp_csum || oob->udp_csum;

	if (oob->pkt_fmt > HW_PKT_FMT_LONG ||
	    (oob->pkt_fmt == HW_PKT_FMT_LONG &&
	     tx->wqe.oob_div4 != HW_OOB_DIV4_LONG))
		return VIOLATION_oob_pkt_fmt;
	if (oob->vcq_num != tx->f->cqs[tx->sq->cq].id)
		return VIOLATION_oob_vcq_num;
	if (oob->vsq_frame !=
	    (tx->sq->id >> HW_VSQ_FRAME_SHIFT & HW_OOB_VSQ_FRAME_M))
		return VIOLATION_oob_vsq_frame;
	if (oob->is_encap)
		return VIOLATION_oob_encap;
	if ((oob->is_ipv4 && oob->is_ipv6) ||
	    (wants_csum && !oob->is_ipv4 && !oob->is_ipv6))
		return VIOLATION_oob_l3_mismatch;
	if (oob->tcp_csum && oob->udp_csum)
		return VIOLATION_oob_l4_mismatch;
	return NB_VIOLATIONS;
}

static int
nic_tx_check_oob(struct nic_tx *tx)
{
	enum violation violation = nic_tx_oob_fault(tx);

	if (!tx->port->tx_enabled || tx->port->tx_pdn != tx->sq->pdn)
		return HW_CQE_TX_VPORT_DISABLED;
	if (violation != NB_VIOLATIONS) {
		nic_tx_violation(tx, violation);
		return HW_CQE_TX_INVALID_OOB;
	}
	if (tx->oob.pkt_fmt == HW_PKT_FMT_SHORT &&
	    tx->wqe.oob_div4 == HW_OOB_DIV4_LONG) {
		/* 16 bytes more than needed, that nobody looks at. */
		nic_tx_violation(tx, VIOLATION_oob_pkt_fmt);
		tx->oob.inject_vlan = false;
		tx->oob.has_stray_bits = false;
	}
	if (tx->oob.has_stray_bits)
		nic_tx_violation(tx, VIOLATION_oob_reserved_bits);
	if (!nic_tx_vp_offset_ok(tx))
		return HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE;
	return HW_CQE_TX_OKAY;
}

static int
nic_tx_sge_fault(struct nic_tx *tx, enum mem_fault fault)
{
	static const struct {
		enum violation violation;
		uint32_t vendor_err;
	} names[] = {
		[MEM_OK] = { VIOLATION_sge_memory_fault,
			     HW_VENDOR_TX_DATA_CONFIG },
		[MEM_KEY_UNKNOWN] = { VIOLATION_sge_key_unknown,
				      HW_VENDOR_TX_DATA_ACCESS },
		[MEM_KEY_FOREIGN_PD] = { VIOLATION_sge_key_foreign_pd,
					 HW_VENDOR_TX_DATA_ACCESS },
		[MEM_OUT_OF_RANGE] = { VIOLATION_sge_out_of_range,
				       HW_VENDOR_TX_DATA_RANGE },
		[MEM_NO_WRITE_ACCESS] = { VIOLATION_sge_no_write_access,
					  HW_VENDOR_TX_DATA_ACCESS },
	};

	tx->vendor_err = names[fault].vendor_err;
	nic_tx_violation(tx, names[fault].violation);
	return HW_CQE_TX_GDMA_ERR;
}

/* Every SGE's key, range and right; adds up total_bytes. */
static int
nic_tx_check_sgl(struct nic_tx *tx)
{
	uint32_t i, process;

	tx->total_bytes = 0;
	tx->sge = 0;
	tx->sge_done_bytes = 0;
	for (i = 0; i < tx->wqe.nb_sge; i++) {
		struct hw_sge sge = hw_sge_read(tx->sgl + i * HW_SGE_BYTES);
		enum mem_fault fault;

		if (sge.size_bytes == 0) {
			nic_tx_violation(tx, VIOLATION_sge_zero_size);
			continue;
		}
		fault = mem_region_check(&tx->f->mem, sge.key, tx->sq->pdn,
					 sge.addr, sge.size_bytes,
					 MEM_ACCESS_READ, &process);
		if (fault != MEM_OK)
			return nic_tx_sge_fault(tx, fault);
		tx->total_bytes += sge.size_bytes;
	}
	return HW_CQE_TX_OKAY;
}

int
nic_tx_gather(struct nic_tx *tx, uint8_t *to, uint32_t nb_bytes)
{
	while (nb_bytes > 0 && tx->sge < tx->wqe.nb_sge) {
		struct hw_sge sge = hw_sge_read(tx->sgl + tx->sge * HW_SGE_BYTES);
		uint32_t n = sge.size_bytes - tx->sge_done_bytes;
		const struct mem_region *region;

		if (n > nb_bytes)
			n = nb_bytes;
		region = n > 0 ? mem_region_find(&tx->f->mem, sge.key) : NULL;
		if (n > 0 &&
		    (region == NULL ||
		     mem_read(region->process, sge.addr + tx->sge_done_bytes,
			      to, n) < 0)) {
			nic_tx_sge_fault(tx, MEM_OK);
			return HW_CQE_TX_GDMA_ERR;
		}
		to += n;
		nb_bytes -= n;
		tx->sge_done_bytes += n;
		if (tx->sge_done_bytes == sge.size_bytes) {
			tx->sge++;
			tx->sge_done_bytes = 0;
		}
	}
	return HW_CQE_TX_OKAY;
}

/* Does the frame contain what the OOB says about it? */
static int
nic_tx_check_frame(const struct nic_tx *tx, const struct nic_parsed *parsed)
{
	const struct hw_tx_oob *oob = &tx->oob;
	const bool wants_l4 = oob->tcp_csum || oob->udp_csum;
	const uint8_t proto = oob->tcp_csum ? NIC_PROTO_TCP : NIC_PROTO_UDP;

	if ((oob->is_ipv4 && parsed->ethertype != NIC_ETHERTYPE_IPV4) ||
	    (oob->is_ipv6 && parsed->ethertype != NIC_ETHERTYPE_IPV6)) {
		nic_tx_violation(tx, VIOLATION_oob_l3_mismatch);
		return HW_CQE_TX_INVALID_OOB;
	}
	if (!oob->ip_csum && !wants_l4)
		return HW_CQE_TX_OKAY;
	if (parsed->l3 == NIC_L3_NONE)
		return HW_CQE_TX_HDR_PROCESSING_ERROR;
	if (!wants_l4)
		return HW_CQE_TX_OKAY;
	if (parsed->proto != proto || parsed->is_fragment) {
		nic_tx_violation(tx, VIOLATION_oob_l4_mismatch);
		return HW_CQE_TX_INVALID_OOB;
	}
	/* Linux leaves 0 for UDP, and DPDK's driver what was on its stack. */
	if (oob->trans_off != parsed->l4_off &&
	    (oob->tcp_csum || oob->trans_off != 0)) {
		nic_tx_violation(tx, VIOLATION_oob_trans_off);
		if (oob->tcp_csum)
			return HW_CQE_TX_INVALID_OOB;
	}
	return parsed->l4_fits ? HW_CQE_TX_OKAY : HW_CQE_TX_HDR_PROCESSING_ERROR;
}

/*
 * Sums are made over what the driver left in the fields, so that a wrong
 * seed makes a wrong frame, as Linux CHECKSUM_PARTIAL has it.
 */
static void
nic_tx_checksums(const struct nic_tx *tx, uint8_t *frame,
		 const struct nic_parsed *parsed)
{
	const struct hw_tx_oob *oob = &tx->oob;
	uint8_t *ip = frame + parsed->l3_off, *l4 = frame + parsed->l4_off;
	uint8_t *field;
	uint16_t sum;

	if (oob->ip_csum && parsed->l3 == NIC_L3_IPV4) {
		field = ip + IPV4_CSUM_OFF;
		if (hw_be16(field) != 0)
			nic_tx_violation(tx, VIOLATION_oob_csum_seed);
		sum = ~nic_csum_fold(
			nic_csum_add(0, ip, parsed->l4_off - parsed->l3_off));
		memcpy(field, &sum, sizeof(sum));
	}
	if (!oob->tcp_csum && !oob->udp_csum)
		return;
	field = l4 + (oob->tcp_csum ? TCP_CSUM_OFF : UDP_CSUM_OFF);
	memcpy(&sum, field, sizeof(sum));
	if (!nic_csum_same(sum, nic_csum_fold(nic_csum_pseudo(frame, parsed,
							      parsed->l4_bytes))))
		nic_tx_violation(tx, VIOLATION_oob_csum_seed);
	sum = ~nic_csum_fold(nic_csum_add(0, l4, parsed->l4_bytes));
	if (oob->udp_csum && sum == 0)
		sum = 0xffff; /* RFC 768: 0 means none */
	memcpy(field, &sum, sizeof(sum));
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
	struct device_queue_counters *record = card_counters(tx->f, tx->sq);
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
	tx->port->counters.tx_packets++;
	tx->port->counters.tx_bytes += nb_bytes;
	record->packets++;
	record->bytes += nb_bytes;
	wire_send(tx->sq->fn, tx->sq->port, frame, nb_bytes);
	return HW_CQE_TX_OKAY;
}

/* A WQE of one frame. */
static int
nic_tx_packet(struct nic_tx *tx)
{
	uint8_t *frame = segment_device()->frame + CARD_HEADROOM_BYTES;
	const uint32_t nb_bytes = (uint32_t)tx->total_bytes;
	struct nic_parsed parsed;
	int type;

	if (!nic_tx_fits_mtu(tx->total_bytes, TX_MAX_TAGS))
		return HW_CQE_TX_MTU_DROP;
	if (nb_bytes < NIC_ETH_BYTES) {
		nic_tx_violation(tx, VIOLATION_tx_runt);
		return HW_CQE_TX_HDR_PROCESSING_ERROR;
	}
	type = nic_tx_gather(tx, frame, nb_bytes);
	if (type != HW_CQE_TX_OKAY)
		return type;
	if (tx->oob.is_ipv4 || tx->oob.is_ipv6 || !nic_tx_fits_mtu(nb_bytes, 0)) {
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

/* A CQE, unless it was asked to leave it out and all went well. */
static void
nic_tx_complete(struct nic_tx *tx, int type)
{
	struct wq *sq = tx->sq;
	uint8_t cqe[HW_CQE_BYTES] = { 0 };

	if (type != HW_CQE_TX_OKAY) {
		tx->port->counters.tx_errors[type - HW_CQE_TX_SA_DROP]++;
		card_counters(tx->f, sq)->errors++;
	} else if (tx->oob.suppress) {
		sq->silent_bytes += tx->wqe_bytes;
		sq->ci += tx->wqe_bytes;
		return;
	}
	sq->silent_bytes = 0;
	hw_put_le32(cqe, (uint32_t)type |
				 HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S |
				 tx->vendor_err << HW_CQE_VENDOR_ERR_S);
	hw_put_le32(cqe + HW_TX_CQE_OFFSETS_OFF,
		    (sq->ci / HW_BU_BYTES & HW_TX_WQE_OFFSET_M)
			    << HW_TX_CQE_WQE_OFFSET_S);
	/* OpenVMM net_mana: GDMA_ERR means that the queue was disabled. */
	sq->is_disabled = type == HW_CQE_TX_GDMA_ERR;
	nic_complete(tx->f, sq, cqe, sq->is_disabled ? 0 : tx->wqe_bytes);
}

/* One WQE from ring to wire to CQE. */
static void
nic_tx_one(struct nic_tx *tx)
{
	struct wq *sq = tx->sq;
	int type = nic_tx_fetch(tx);

	if (type == HW_CQE_TX_OKAY)
		type = nic_tx_check_oob(tx);
	if (type == HW_CQE_TX_OKAY)
		type = nic_tx_check_sgl(tx);
	if (type == HW_CQE_TX_OKAY)
		type = tx->wqe.oob_in_sgl ? nic_lso(tx) : nic_tx_packet(tx);
	ledger_trace("tx fn %u sq %u pos %u sges %u bytes %u type %d", sq->fn,
		     sq->id, sq->ci / HW_BU_BYTES, tx->wqe.nb_sge,
		     (uint32_t)tx->total_bytes, type);
	nic_tx_complete(tx, type);
}

/* DPDK commit 823dbf2860: what silence between CQEs leads to. */
static void
nic_tx_check_silence(struct wq *sq)
{
	if (sq->silent_bytes > sq->ring.size_bytes / 4) {
		wq_violation(sq, VIOLATION_sq_quarter_without_cqe, NULL, 0);
		sq->silent_bytes = 0;
	}
}

void
nic_tx_run(struct card_function *f, struct wq *sq)
{
	struct nic_tx tx;

	tx.f = f;
	tx.sq = sq;
	tx.port = &f->ports[sq->port];
	while (wq_posted_bytes(sq) > 0 && !sq->is_disabled &&
	       !f->cqs[sq->cq].is_stopped) {
		tx.total_bytes = 0;
		tx.wqe_bytes = 0;
		nic_tx_one(&tx);
		nic_tx_check_silence(sq);
	}
	if (sq->silent_bytes > 0 && wq_posted_bytes(sq) == 0)
		wq_violation(sq, VIOLATION_sq_last_wqe_suppressed, NULL, 0);
}
