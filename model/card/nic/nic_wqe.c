/* SPDX-License-Identifier: BSD-3-Clause */

/* WQEs as both directions read them. */

#include "nic.h"

/* Linux gdma.h MAX_TX_WQE_SGL_ENTRIES. */
#define TX_LINUX_MAX_SGES 30

/* What is wrong with the header, of which it gives the detail; NB_VIOLATIONS: nothing. */
static enum violation
nic_wqe_fault(const struct wq *wq, const struct hw_wqe *wqe)
{
	const uint32_t max_bytes = wq->is_sq ? HW_SQ_WQE_MAX_BYTES : HW_RQ_WQE_MAX_BYTES;
	const uint32_t nb_bytes = hw_wqe_bytes(wqe);

	if (wqe->oob_div4 != HW_OOB_DIV4_SHORT &&
	    !(wq->is_sq && wqe->oob_div4 == HW_OOB_DIV4_LONG)) {
		violation_detail("got inline_oob_size_div4 %u, want %s", wqe->oob_div4,
				 wq->is_sq ? "2 (short OOB) or 6 (long OOB)" : "2");
		return VIOLATION_wqe_oob_size;
	}
	if (wqe->nb_sge == 0) {
		violation_detail("got num_sge 0, want 1 or more");
		return VIOLATION_wqe_no_sge;
	}
	if (nb_bytes > max_bytes || (wq->is_sq && wqe->nb_sge > TX_LINUX_MAX_SGES &&
				     nic_quirk(QUIRK_SHORT_OOB_SGES_30))) {
		violation_detail("got %u bytes by num_sge %u, want at most %u", nb_bytes,
				 wqe->nb_sge, max_bytes);
		return VIOLATION_wqe_too_large;
	}
	if (nb_bytes > wq_posted_bytes(wq)) {
		violation_detail("got %u bytes by num_sge %u, want at most %u, up to the tail "
				 "of the doorbell",
				 nb_bytes, wqe->nb_sge, wq_posted_bytes(wq));
		return VIOLATION_wqe_beyond_tail;
	}
	return NB_VIOLATIONS;
}

static void
nic_trace_wqe(const struct card_function *f, const struct wq *wq,
	      const uint8_t *raw, uint32_t nb_bytes)
{
	if (trace_is_on(TRACE_wqe))
		trace_wqe(wq, trace_port(wq->fn, wq->port), &f->mem, raw, nb_bytes);
}

enum violation
nic_wqe_fetch(const struct card_function *f, const struct wq *wq,
	      struct hw_wqe *wqe, uint8_t *raw)
{
	enum violation violation;
	uint32_t nb_bytes, shown_bytes;

	if (ring_read(&wq->ring, wq->ci, raw, HW_BU_BYTES) < 0) {
		wq_violation(wq, VIOLATION_wqe_memory_fault, NULL, 0);
		return VIOLATION_wqe_memory_fault;
	}
	*wqe = hw_wqe_read(raw);
	violation = nic_wqe_fault(wq, wqe);
	if (violation != NB_VIOLATIONS) {
		nic_trace_wqe(f, wq, raw, HW_BU_BYTES);
		wq_violation(wq, violation, raw, HW_BU_BYTES);
		return violation;
	}
	nb_bytes = hw_wqe_bytes(wqe);
	if (nb_bytes > HW_BU_BYTES &&
	    ring_read(&wq->ring, wq->ci + HW_BU_BYTES, raw + HW_BU_BYTES,
		      nb_bytes - HW_BU_BYTES) < 0) {
		wq_violation(wq, VIOLATION_wqe_memory_fault, raw, HW_BU_BYTES);
		return VIOLATION_wqe_memory_fault;
	}
	nic_trace_wqe(f, wq, raw, nb_bytes);
	/* The OOB of an Rx WQE and bytes behind its SGL are not checked. */
	shown_bytes = wq->is_sq ? nb_bytes : HW_BU_BYTES;
	if (wqe->has_reserved_bits) {
		violation_detail("got other bits, want 0 in 0x%08x of word 0 and in 0x%08x of "
				 "word 1",
				 HW_WQE_RESERVED0_M, HW_WQE_RESERVED1_M);
		wq_violation(wq, VIOLATION_wqe_reserved_bits, raw, shown_bytes);
	}
	if (wq->is_sq ? !wqe->oob_in_sgl && wqe->has_lso_fields :
			wqe->oob_in_sgl || wqe->has_lso_fields) {
		violation_detail("got last_vbytes %u, client_data_unit %u, client_oob_in_sgl %u, "
				 "want 0 unless a packet is segmented",
				 wqe->last_vbytes, wqe->client_data_unit,
				 wqe->oob_in_sgl);
		wq_violation(wq, VIOLATION_wqe_lso_fields, raw, shown_bytes);
	}
	return NB_VIOLATIONS;
}
