/* SPDX-License-Identifier: BSD-3-Clause */

#include "inject_card.h"
#include "nic.h"

/* An Rx WQE. */
struct nic_rx_wqe {
	struct hw_wqe header;
	uint8_t raw[HW_RQ_WQE_MAX_BYTES];
};

static void
nic_rx_sge_violation(const struct card_function *f, const struct wq *rq,
		     enum mem_fault fault, const uint8_t *raw)
{
	static const enum violation names[] = {
		[MEM_OK] = VIOLATION_sge_memory_fault,
		[MEM_KEY_UNKNOWN] = VIOLATION_sge_key_unknown,
		[MEM_KEY_FOREIGN_PD] = VIOLATION_sge_key_foreign_pd,
		[MEM_OUT_OF_RANGE] = VIOLATION_sge_out_of_range,
		[MEM_NO_WRITE_ACCESS] = VIOLATION_sge_no_write_access,
	};
	const struct hw_sge sge = hw_sge_read(raw);

	sge_detail(&f->mem, rq->pdn, &sge, fault);
	wq_violation(rq, names[fault], raw, HW_SGE_BYTES);
}

/*
 * Scatter the frame over the SGEs in order, like OpenVMM emu/bnic.rs
 * write_data. All SGEs are checked. Returns their room, or -1 on a violation.
 */
static int64_t
nic_rx_scatter(const struct card_function *f, const struct wq *rq,
	       const struct nic_rx_wqe *wqe, const struct nic_rx_frame *rx)
{
	const uint8_t *raw = wqe->raw + hw_wqe_sgl_offset(&wqe->header);
	uint32_t nb_sge = wqe->header.nb_sge, done = 0, i, n;
	int64_t room = 0;

	if (nic_quirk(QUIRK_RX_SCATTER) == RX_SCATTER_OFF)
		nb_sge = 1;
	for (i = 0; i < nb_sge; i++, raw += HW_SGE_BYTES) {
		const struct hw_sge sge = hw_sge_read(raw);
		struct mem_place place;
		enum mem_fault fault;

		if (sge.size_bytes == 0) {
			violation_detail("got size 0 in SGE %u, want 1 or more",
					 i);
			wq_violation(rq, VIOLATION_sge_zero_size, raw,
				     HW_SGE_BYTES);
			continue;
		}
		fault = mem_region_check(&f->mem, sge.key, rq->pdn, sge.addr,
					 sge.size_bytes, MEM_ACCESS_WRITE,
					 &place);
		if (fault != MEM_OK) {
			nic_rx_sge_violation(f, rq, fault, raw);
			return -1;
		}
		room += sge.size_bytes;
		if (i > 0 && nic_quirk(QUIRK_RX_SCATTER) == RX_SCATTER_SILENT)
			continue;
		n = rx->nb_bytes - done;
		if (n > sge.size_bytes)
			n = sge.size_bytes;
		if (n > 0 &&
		    mem_write(place.process, place.addr, rx->bytes + done, n) < 0) {
			nic_rx_sge_violation(f, rq, MEM_OK, raw);
			return -1;
		}
		done += n;
	}
	return room;
}

/* As if the buffer had nb_bytes only. */
static int64_t
nic_rx_part_of(const struct card_function *f, const struct wq *rq,
	       const struct nic_rx_wqe *wqe, const struct nic_rx_frame *rx,
	       uint32_t nb_bytes)
{
	struct nic_rx_frame part = *rx;

	if (part.nb_bytes > nb_bytes)
		part.nb_bytes = nb_bytes;
	return nic_rx_scatter(f, rq, wqe, &part);
}

/* In bytes, as OpenVMM emu/bnic.rs, unless a quirk is set. */
static uint32_t
nic_rx_wqe_offset(uint32_t nb_bytes)
{
	switch (nic_quirk(QUIRK_RX_WQE_OFFSET)) {
	case RX_WQE_OFFSET_BU:
		return nb_bytes / HW_BU_BYTES;
	case RX_WQE_OFFSET_ZERO:
		return 0;
	default:
		return nb_bytes;
	}
}

/* The packets of RX_COALESCED_8, two per entry. */
static void
nic_rx_put_8(uint8_t *cqe, const struct rx_open *rx)
{
	uint32_t i;

	for (i = 0; i < rx->nb_packets && i < HW_RX_CQE_8_NB_PKTS; i++) {
		uint8_t *ppi = cqe + HW_RX_CQE_PPI_OFF +
			       i / 2 * HW_RX_CQE_PPI_BYTES;
		const bool is_first = i % 2 == 0;

		hw_put_le16(ppi + (is_first ? HW_RX_PPI_8_LEN_0_OFF :
					      HW_RX_PPI_8_LEN_1_OFF),
			    (uint16_t)rx->len_bytes[i]);
		hw_put_le32(ppi + (is_first ? HW_RX_PPI_8_HASH_0_OFF :
					      HW_RX_PPI_8_HASH_1_OFF),
			    rx->hash[i]);
	}
}

static void
nic_rx_put(uint8_t *cqe, const struct rx_open *rx)
{
	uint32_t i;

	for (i = 0; i < rx->nb_packets && i < HW_RX_CQE_NB_PPI; i++) {
		uint8_t *ppi = cqe + HW_RX_CQE_PPI_OFF + i * HW_RX_CQE_PPI_BYTES;

		/* A word: see hw.h. The bits above the 16 are reserved. */
		hw_put_le32(ppi + HW_RX_PPI_LEN_OFF, (uint16_t)rx->len_bytes[i]);
		hw_put_le32(ppi + HW_RX_PPI_HASH_OFF, rx->hash[i]);
	}
}

void
nic_rx_write_cqe(struct card_function *f, struct wq *rq, enum hw_cqe_type type,
		 const struct rx_open *rx, uint32_t wqe_bytes)
{
	uint8_t cqe[HW_CQE_BYTES] = { 0 };

	hw_put_le32(cqe, type << HW_CQE_TYPE_S | HW_CQE_CLIENT_ETHERNET
							 << HW_CQE_CLIENT_S);
	hw_put_le32(cqe + HW_RX_CQE_FLAGS_OFF, rx->flags);
	if (type == HW_CQE_RX_COALESCED_8)
		nic_rx_put_8(cqe, rx);
	else
		nic_rx_put(cqe, rx);
	hw_put_le32(cqe + HW_RX_CQE_WQE_OFFSET_OFF,
		    nic_rx_wqe_offset(rx->wqe_offset));
	nic_complete(f, rq, cqe, wqe_bytes);
}

void
nic_rx_fence(struct card_function *f, struct wq *rq)
{
	const struct rx_open none = { 0 };

	nic_coalesce_flush_queue(f, rq);
	nic_rx_write_cqe(f, rq, HW_CQE_RX_OBJECT_FENCE, &none, 0);
}

/* The packet, or the part that fits, is in its buffer: complete it. */
static void
nic_rx_done(struct card_function *f, struct card_port *port, struct wq *rq,
	    const struct nic_rx_wqe *wqe, const struct nic_rx_frame *rx,
	    bool is_truncated, const struct inject_rx *inject)
{
	const uint32_t wqe_bytes = inject->keeps_wqe ? 0 : hw_wqe_bytes(&wqe->header);
	struct card_queue_counters *record = card_counters(f, rq);
	struct rx_open single = {
		.nb_packets = 1,
		.flags = rx->flags,
		.wqe_offset = rq->ci,
		.len_bytes[0] = rx->nb_bytes,
		.hash[0] = rx->hash,
	};

	if (is_truncated) {
		port->counters.rx_truncated++;
		record->truncated++;
		nic_coalesce_flush_queue(f, rq);
		nic_rx_write_cqe(f, rq, HW_CQE_RX_TRUNCATED, &single,
				 wqe_bytes);
	} else {
		port->counters.rx_packets++;
		port->counters.rx_bytes += rx->wire_bytes;
		nic_count_cast(port->counters.rx_casts, rx->bytes, rx->wire_bytes);
		record->packets++;
		record->bytes += rx->wire_bytes;
		if (port->coalesce && !inject->is_hit)
			nic_coalesce_add(f, rq, rx, wqe_bytes);
		else
			nic_rx_write_cqe(f, rq, HW_CQE_RX_OKAY, &single,
					 wqe_bytes);
	}
	if (rq->nb_wqes > 0 && !inject->keeps_wqe)
		rq->nb_wqes--;
}

static void
nic_rx_deliver(struct card_function *f, struct card_port *port, struct wq *rq,
	       const struct nic_rx_frame *rx)
{
	struct card_queue_counters *record = card_counters(f, rq);
	struct inject_rx inject = { 0 };
	struct nic_rx_wqe wqe;
	int64_t room;

	if (rq->is_disabled || f->cqs[rq->cq].is_stopped) {
		port->counters.rx_errors++;
		record->errors++;
		return;
	}
	if (wq_posted_bytes(rq) == 0) {
		/* OpenVMM defs/bnic.rs: a discard without WQE; no CQE. */
		port->counters.rx_no_wqe++;
		record->no_wqe++;
		return;
	}
	room = -1;
	/* An invalid WQE disables the queue. */
	if (nic_wqe_fetch(f, rq, &wqe.header, wqe.raw) == NB_VIOLATIONS) {
		if (inject_is_armed())
			inject = inject_rx(f, rq, nic_coalesce_flush_queue);
		room = inject.is_truncated ?
			       nic_rx_part_of(f, rq, &wqe, rx, inject.nb_bytes) :
			       nic_rx_scatter(f, rq, &wqe, rx);
	}
	if (room < 0) {
		/* ASSUMED: as a Tx queue after a GDMA error. */
		nic_coalesce_flush_queue(f, rq);
		rq->is_disabled = true;
		port->counters.rx_errors++;
		record->errors++;
		return;
	}
	if (nic_quirk(QUIRK_RX_EXACT_FIT_TRUNCATED))
		room--;
	nic_rx_done(f, port, rq, &wqe, rx,
		    room < rx->nb_bytes || inject.is_truncated, &inject);
}

/* --enforce=dmac: false for frames that a switch would not forward here. */
static bool
nic_rx_is_for_us(const struct card_port *port, const uint8_t *frame)
{
	return (frame[0] & 1) != 0 || memcmp(frame, port->mac, 6) == 0;
}

void
nic_rx(uint32_t fn, uint32_t port_idx, const uint8_t *frame, uint32_t nb_bytes)
{
	struct card_function *f = card_function(fn);
	struct card_port *port = card_port(fn, port_idx);
	struct nic_rx_frame rx;
	struct wq *rq;
	uint32_t id;

	if (port == NULL || nb_bytes < NIC_ETH_BYTES ||
	    nb_bytes > CARD_FRAME_BYTES)
		return;
	if (port->is_link_down) {
		port->counters.rx_link_down++;
		return;
	}
	if ((segment_config()->enforce & MODEL_ENFORCE_DMAC) != 0 &&
	    !nic_rx_is_for_us(port, frame)) {
		port->counters.rx_filtered++;
		return;
	}
	if (!port->rx_enabled || f->is_disabled) {
		port->counters.rx_no_steering++;
		return;
	}
	id = nic_classify(port, frame, nb_bytes, &rx);
	rq = card_rq(f, id);
	if (rq == NULL || rx.nb_bytes > UINT16_MAX) {
		port->counters.rx_errors++;
		return;
	}
	nic_rx_deliver(f, port, rq, &rx);
}
