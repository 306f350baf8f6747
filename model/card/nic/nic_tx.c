/* SPDX-License-Identifier: BSD-3-Clause */

#include "inject_card.h"
#include "nic.h"

void
nic_tx_violation(const struct nic_tx *tx, enum violation violation)
{
	wq_violation(tx->sq, violation, tx->raw, tx->wqe_bytes);
}

/* Read the WQE at the consumer position. HW_CQE_TX_OKAY or GDMA_ERR. */
static int
nic_tx_fetch(struct nic_tx *tx)
{
	const enum violation violation = nic_wqe_fetch(tx->f, tx->sq, &tx->wqe, tx->raw);

	if (violation != NB_VIOLATIONS) {
		tx->vendor_err = violation == VIOLATION_wqe_memory_fault ?
					 HW_VENDOR_TX_WQE_FAULT :
					 HW_VENDOR_TX_CORRUPT_WQE;
		return HW_CQE_TX_GDMA_ERR;
	}
	tx->wqe_bytes = hw_wqe_bytes(&tx->wqe);
	hw_tx_oob_take(tx->raw + HW_WQE_HEADER_BYTES,
		       tx->wqe.oob_div4 == HW_OOB_DIV4_LONG, &tx->oob);
	tx->sgl = tx->raw + hw_wqe_sgl_offset(&tx->wqe);
	tx->vendor_err = 0;
	return HW_CQE_TX_OKAY;
}

/* Linux fills the short, OpenVMM the long field: accept both. */
static bool
nic_tx_vp_offset_ok(const struct nic_tx *tx)
{
	const struct hw_tx_oob *oob = &tx->oob;
	const uint32_t offset = tx->port->tx_vp_offset;
	const uint32_t field = nic_quirk(QUIRK_LONG_VP_OFFSET);

	if (oob->pkt_fmt == HW_PKT_FMT_SHORT || field == LONG_VP_OFFSET_SHORT) {
		if (oob->short_vp == offset)
			return true;
	} else if (field == LONG_VP_OFFSET_LONG) {
		if (oob->long_vp == offset)
			return true;
	} else if (oob->long_vp != 0 && oob->short_vp != 0 &&
		   oob->long_vp != oob->short_vp) {
		violation_detail(
			"got %u in the short, %u in the long field, want %u in both",
			oob->short_vp, oob->long_vp, offset);
		nic_tx_violation(tx, VIOLATION_oob_vp_offset_differs);
		return false;
	} else if ((oob->long_vp != 0 ? oob->long_vp : oob->short_vp) == offset) {
		return true;
	}
	violation_detail("got %u in the short, %u in the long field, want %u%s",
			 oob->short_vp, oob->long_vp, offset,
			 offset <= HW_OOB_SHORT_VP_M ?
				 "" :
				 ", which needs the long format");
	nic_tx_violation(tx, VIOLATION_oob_vp_offset);
	return false;
}

static void
nic_tx_detail_pkt_fmt(const struct nic_tx *tx)
{
	violation_detail("got pkt_fmt %u with inline_oob_size_div4 %u, want 0 with 2 or "
			 "1 with 6",
			 tx->oob.pkt_fmt, tx->wqe.oob_div4);
}

/* The id in the OOB may be that of another queue. */
static void
nic_tx_detail_vcq_num(const struct nic_tx *tx)
{
	const uint32_t got = tx->oob.vcq_num;
	const char *other = "no queue";

	if (got == tx->sq->id)
		other = "the SQ itself";
	else if (card_cq(tx->f, got) != NULL)
		other = "another CQ";
	else if (card_sq(tx->f, got) != NULL)
		other = "another SQ";
	else if (card_rq(tx->f, got) != NULL)
		other = "an RQ";
	violation_detail("got %u, the id of %s, want %u", got, other,
			 tx->f->cqs[tx->sq->cq].id);
}

/* Check the OOB apart from the frame, and give the detail; NB_VIOLATIONS if correct. */
static enum violation
nic_tx_oob_fault(const struct nic_tx *tx)
{
	const struct hw_tx_oob *oob = &tx->oob;
	const uint32_t vsq_frame =
		tx->sq->id >> HW_VSQ_FRAME_SHIFT & HW_OOB_VSQ_FRAME_M;

	if (oob->pkt_fmt > HW_PKT_FMT_LONG ||
	    (oob->pkt_fmt == HW_PKT_FMT_LONG &&
	     tx->wqe.oob_div4 != HW_OOB_DIV4_LONG)) {
		nic_tx_detail_pkt_fmt(tx);
		return VIOLATION_oob_pkt_fmt;
	}
	if (oob->vcq_num != tx->f->cqs[tx->sq->cq].id) {
		nic_tx_detail_vcq_num(tx);
		return VIOLATION_oob_vcq_num;
	}
	if (oob->vsq_frame != vsq_frame) {
		violation_detail("got %u, want %u, of SQ id %u", oob->vsq_frame,
				 vsq_frame, tx->sq->id);
		return VIOLATION_oob_vsq_frame;
	}
	if (oob->is_encap) {
		violation_detail("got 1, want 0");
		return VIOLATION_oob_encap;
	}
	if ((oob->is_ipv4 && oob->is_ipv6) ||
	    (oob->wants_csum && !oob->is_ip)) {
		violation_detail("got is_outer_ipv4 %u, is_outer_ipv6 %u, want one of them with "
				 "a checksum request",
				 oob->is_ipv4, oob->is_ipv6);
		return VIOLATION_oob_l3_mismatch;
	}
	if (oob->tcp_csum && oob->udp_csum) {
		violation_detail(
			"got comp_tcp_csum 1, comp_udp_csum 1, want one of them");
		return VIOLATION_oob_l4_mismatch;
	}
	return NB_VIOLATIONS;
}

static int
nic_tx_check_oob(struct nic_tx *tx)
{
	const uint8_t *words = tx->raw + HW_WQE_HEADER_BYTES;
	enum violation violation;

	if (tx->f->is_disabled)
		return HW_CQE_TX_VF_DISABLED;
	if (!tx->port->tx_enabled || tx->port->tx_pdn != tx->sq->pdn)
		return HW_CQE_TX_VPORT_DISABLED;
	violation = nic_tx_oob_fault(tx);
	if (violation != NB_VIOLATIONS) {
		nic_tx_violation(tx, violation);
		return HW_CQE_TX_INVALID_OOB;
	}
	if (tx->oob.pkt_fmt == HW_PKT_FMT_SHORT &&
	    nic_quirk(QUIRK_SHORT_VP_FORM_REFUSED))
		return HW_CQE_TX_INVALID_OOB;
	if (tx->oob.pkt_fmt == HW_PKT_FMT_SHORT &&
	    tx->wqe.oob_div4 == HW_OOB_DIV4_LONG) {
		/* 16 bytes more than needed; they are ignored. */
		nic_tx_detail_pkt_fmt(tx);
		nic_tx_violation(tx, VIOLATION_oob_pkt_fmt);
		tx->oob.inject_vlan = false;
		tx->oob.has_stray_bits = false;
	}
	if (tx->oob.has_stray_bits) {
		violation_detail("got words 2 to 5 0x%08x 0x%08x 0x%08x 0x%08x, want 0 but in "
				 "fields that are used",
				 hw_le32(words + 8), hw_le32(words + 12),
				 hw_le32(words + 16), hw_le32(words + 20));
		nic_tx_violation(tx, VIOLATION_oob_reserved_bits);
	}
	if (!nic_tx_vp_offset_ok(tx))
		return HW_CQE_TX_VPORT_IDX_OUT_OF_RANGE;
	return HW_CQE_TX_OKAY;
}

static int
nic_tx_sge_fault(struct nic_tx *tx, const struct hw_sge *sge, enum mem_fault fault)
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
	sge_detail(&tx->f->mem, tx->sq->pdn, sge, fault);
	nic_tx_violation(tx, names[fault].violation);
	return HW_CQE_TX_GDMA_ERR;
}

/* Check key, range and access right of each SGE; sums up total_bytes. */
static int
nic_tx_check_sgl(struct nic_tx *tx)
{
	struct mem_place place;
	uint32_t i;

	tx->total_bytes = 0;
	tx->sge = 0;
	tx->sge_done_bytes = 0;
	for (i = 0; i < tx->wqe.nb_sge; i++) {
		struct hw_sge sge = hw_sge_read(tx->sgl + i * HW_SGE_BYTES);
		enum mem_fault fault;

		if (sge.size_bytes == 0) {
			violation_detail("got size 0 in SGE %u, want 1 or more",
					 i);
			nic_tx_violation(tx, VIOLATION_sge_zero_size);
			continue;
		}
		fault = mem_region_check(&tx->f->mem, sge.key, tx->sq->pdn,
					 sge.addr, sge.size_bytes,
					 MEM_ACCESS_READ, &place);
		if (fault != MEM_OK)
			return nic_tx_sge_fault(tx, &sge, fault);
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
		struct mem_place place;

		if (n > nb_bytes)
			n = nb_bytes;
		if (n > 0 &&
		    (mem_region_check(&tx->f->mem, sge.key, tx->sq->pdn,
				      sge.addr + tx->sge_done_bytes, n,
				      MEM_ACCESS_READ, &place) != MEM_OK ||
		     mem_read(place.process, place.addr, to, n) < 0)) {
			nic_tx_sge_fault(tx, &sge, MEM_OK);
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

/*
 * Write a CQE, unless the WQE suppresses it and succeeded. Microsoft's emulator
 * completes all of them (OpenVMM gdma/src/bnic.rs).
 */
static void
nic_tx_complete(struct nic_tx *tx, int type)
{
	struct wq *sq = tx->sq;
	uint8_t cqe[HW_CQE_BYTES] = { 0 };

	if (sq->nb_wqes > 0)
		sq->nb_wqes--;
	if (type != HW_CQE_TX_OKAY) {
		tx->port->counters.tx_errors[type - HW_CQE_TX_SA_DROP]++;
		card_counters(tx->f, sq)->errors++;
	} else if (tx->oob.suppress && !nic_quirk(QUIRK_TX_SUPPRESS_IGNORED)) {
		sq->bytes_without_cqe += tx->wqe_bytes;
		sq->ci += tx->wqe_bytes;
		return;
	}
	sq->bytes_without_cqe = 0;
	hw_put_le32(cqe, (uint32_t)type |
				 HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S |
				 tx->vendor_err << HW_CQE_VENDOR_ERR_S);
	if (!nic_quirk(QUIRK_TX_WQE_OFFSET_ZERO))
		hw_put_le32(
			cqe + HW_TX_CQE_OFFSETS_OFF,
			(sq->ci / HW_BU_BYTES & HW_TX_WQE_OFFSET_M)
				<< HW_TX_CQE_WQE_OFFSET_S);
	/* OpenVMM net_mana: GDMA_ERR disables the queue. */
	sq->is_disabled = type == HW_CQE_TX_GDMA_ERR;
	nic_complete(tx->f, sq, cqe, sq->is_disabled ? 0 : tx->wqe_bytes);
}

/* Process one WQE: fetch, send, complete. */
static void
nic_tx_one(struct nic_tx *tx)
{
	int type = nic_tx_fetch(tx);

	if (type == HW_CQE_TX_OKAY)
		type = nic_tx_check_oob(tx);
	if (type == HW_CQE_TX_OKAY)
		type = nic_tx_check_sgl(tx);
	if (type == HW_CQE_TX_OKAY && inject_is_armed())
		type = inject_tx(tx->f, tx->sq, &tx->vendor_err);
	if (type == HW_CQE_TX_OKAY)
		type = tx->wqe.oob_in_sgl ? nic_lso(tx) : nic_tx_packet(tx);
	nic_tx_complete(tx, type);
}

/* DPDK commit 823dbf2860: effects of too many WQEs without a CQE. */
static void
nic_tx_check_cqe_requests(struct wq *sq)
{
	if (sq->bytes_without_cqe > sq->ring.size_bytes / 4) {
		violation_detail("got %u bytes of WQEs with suppress_txcqe_gen, want a CQE at "
				 "least every %u",
				 sq->bytes_without_cqe, sq->ring.size_bytes / 4);
		wq_violation(sq, VIOLATION_sq_quarter_without_cqe, NULL, 0);
		sq->bytes_without_cqe = 0;
	}
}

/* What is left of a budget. */
static uint32_t
nic_tx_rest(uint32_t budget, uint32_t used)
{
	return budget > used ? budget - used : 0;
}

bool
nic_tx_run(struct card_function *f, struct wq *sq, uint32_t *budget,
	   nic_send send)
{
	const struct card *card = segment_card();
	uint32_t nb_wqes = 0;
	struct nic_tx tx;

	if ((inject_is_armed() && inject_is_stalled(f, sq)) ||
	    (card->is_watched && card->watch.is_paused))
		return false;
	tx.f = f;
	tx.sq = sq;
	tx.send = send;
	tx.port = &f->ports[sq->port];
	tx.nb_segments = 0;
	while (wq_posted_bytes(sq) > 0 && !sq->is_disabled &&
	       !f->cqs[sq->cq].is_stopped) {
		if (nb_wqes++ + tx.nb_segments >= *budget) {
			*budget = 0;
			return true;
		}
		tx.total_bytes = 0;
		tx.wqe_bytes = 0;
		nic_tx_one(&tx);
		nic_tx_check_cqe_requests(sq);
		if (__builtin_expect(card->is_watched, false) &&
		    watch_packet(sq))
			break;
	}
	*budget = nic_tx_rest(*budget, nb_wqes + tx.nb_segments);
	if (sq->bytes_without_cqe > 0 && wq_posted_bytes(sq) == 0) {
		violation_detail("got suppress_txcqe_gen 1 in the last WQE before the tail %u, "
				 "want 0",
				 sq->pi);
		wq_violation(sq, VIOLATION_sq_last_wqe_suppressed, NULL, 0);
	}
	if (inject_is_armed() || sq->nb_spurious > 0)
		inject_tx_drained(f, sq);
	return false;
}
