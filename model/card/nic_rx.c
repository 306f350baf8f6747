/* SPDX-License-Identifier: BSD-3-Clause */

#include "nic.h"

#define RX_UDP_CSUM_OFF 6

/* An Rx WQE, and what is to go into its buffer. */
struct nic_rx_wqe {
	struct hw_wqe header;
	uint32_t wqe_bytes;
	uint8_t raw[HW_RQ_WQE_MAX_BYTES];
};

/* A frame without its tag is in two pieces. */
struct nic_rx_frame {
	const uint8_t *piece[2];
	uint32_t piece_bytes[2];
	uint32_t nb_bytes; /* of both */
	uint32_t wire_bytes;
	uint32_t flags;
	uint32_t hash;
};

/*
 * Checksum bits. ASSUMED: no L4 bit for fragments and for UDP without a
 * checksum; the IP bit is "good" for IPv6 too, for Linux mana_en.c mana_rx_skb
 * asks for it with every L4 bit.
 */
static uint32_t
nic_rx_csum_flags(const uint8_t *frame, const struct nic_parsed *parsed)
{
	uint32_t flags = HW_RX_F_IP_OK;
	bool ok;

	if (parsed->l3 == NIC_L3_NONE)
		return 0;
	if (parsed->l3 == NIC_L3_IPV4 && !nic_csum_ipv4_ok(frame, parsed))
		flags = HW_RX_F_IP_FAIL;
	if (parsed->is_fragment || !parsed->l4_fits)
		return flags;
	if (parsed->proto == NIC_PROTO_TCP) {
		ok = nic_csum_l4_ok(frame, parsed);
		return flags | (ok ? HW_RX_F_TCP_OK : HW_RX_F_TCP_FAIL);
	}
	if (parsed->proto == NIC_PROTO_UDP &&
	    hw_be16(frame + parsed->l4_off + RX_UDP_CSUM_OFF) != 0) {
		ok = nic_csum_l4_ok(frame, parsed);
		return flags | (ok ? HW_RX_F_UDP_OK : HW_RX_F_UDP_FAIL);
	}
	return flags;
}

/* Parse, strip, hash; returns the id of the RQ. */
static uint32_t
nic_rx_classify(const struct card_port *port, const uint8_t *frame,
		uint32_t nb_bytes, struct nic_rx_frame *rx)
{
	const bool is_tagged = nb_bytes >= NIC_ETH_BYTES + NIC_VLAN_BYTES &&
			       hw_be16(frame + 12) == NIC_ETHERTYPE_VLAN;
	struct nic_parsed parsed;
	uint32_t type;

	nic_parse(frame, nb_bytes, is_tagged ? 1 : 0, &parsed);
	rx->wire_bytes = nb_bytes;
	rx->flags = nic_rx_csum_flags(frame, &parsed);
	rx->piece[0] = frame;
	if (is_tagged) {
		/* Linux mana.h: 12 bits of the tag, pcp and dei are lost. */
		rx->flags |= HW_RX_F_VLAN | (hw_be16(frame + NIC_ETH_BYTES) &
					     HW_RX_F_VLAN_ID_M);
		rx->piece_bytes[0] = 12;
		rx->piece[1] = frame + 12 + NIC_VLAN_BYTES;
		rx->piece_bytes[1] = nb_bytes - 12 - NIC_VLAN_BYTES;
	} else {
		rx->piece_bytes[0] = nb_bytes;
		rx->piece_bytes[1] = 0;
	}
	rx->nb_bytes = rx->piece_bytes[0] + rx->piece_bytes[1];

	rx->hash = 0;
	if (!port->rss_enable)
		return port->default_rq;
	rx->hash = nic_hash_frame(&port->toeplitz, frame, &parsed, &type);
	rx->flags |= type << HW_RX_F_HASH_TYPE_S;
	if (type == 0)
		return port->default_rq;
	return port->table[rx->hash % DEVICE_RSS_TABLE_SIZE];
}

/* Fetch and check; false when the queue is at fault, which disables it. */
static bool
nic_rx_fetch(struct wq *rq, struct nic_rx_wqe *wqe)
{
	enum violation violation;

	if (ring_read(&rq->ring, rq->ci, wqe->raw, HW_BU_BYTES) < 0) {
		wq_violation(rq, VIOLATION_wqe_memory_fault, NULL, 0);
		return false;
	}
	wqe->header = hw_wqe_read(wqe->raw);
	wqe->wqe_bytes = hw_wqe_bytes(&wqe->header);
	if (wqe->header.oob_div4 != HW_OOB_DIV4_SHORT)
		violation = VIOLATION_wqe_oob_size;
	else if (wqe->header.nb_sge == 0)
		violation = VIOLATION_wqe_no_sge;
	else if (wqe->wqe_bytes > HW_RQ_WQE_MAX_BYTES)
		violation = VIOLATION_wqe_too_large;
	else if (wqe->wqe_bytes > wq_posted_bytes(rq))
		violation = VIOLATION_wqe_beyond_tail;
	else
		violation = NB_VIOLATIONS;
	if (violation != NB_VIOLATIONS) {
		wq_violation(rq, violation, wqe->raw, HW_BU_BYTES);
		return false;
	}
	if (wqe->header.has_reserved_bits)
		wq_violation(rq, VIOLATION_wqe_reserved_bits, wqe->raw,
			     HW_BU_BYTES);
	if (wqe->header.oob_in_sgl || wqe->header.last_vbytes != 0 ||
	    wqe->header.client_data_unit != 0)
		wq_violation(rq, VIOLATION_wqe_lso_fields, wqe->raw, HW_BU_BYTES);
	/* What the OOB holds and what follows the SGL is nobody's business. */
	if (wqe->wqe_bytes > HW_BU_BYTES &&
	    ring_read(&rq->ring, rq->ci + HW_BU_BYTES, wqe->raw + HW_BU_BYTES,
		      wqe->wqe_bytes - HW_BU_BYTES) < 0) {
		wq_violation(rq, VIOLATION_wqe_memory_fault, wqe->raw,
			     HW_BU_BYTES);
		return false;
	}
	return true;
}

static void
nic_rx_sge_violation(const struct wq *rq, enum mem_fault fault, const uint8_t *sge)
{
	static const enum violation names[] = {
		[MEM_OK] = VIOLATION_sge_memory_fault,
		[MEM_KEY_UNKNOWN] = VIOLATION_sge_key_unknown,
		[MEM_KEY_FOREIGN_PD] = VIOLATION_sge_key_foreign_pd,
		[MEM_OUT_OF_RANGE] = VIOLATION_sge_out_of_range,
		[MEM_NO_WRITE_ACCESS] = VIOLATION_sge_no_write_access,
	};

	wq_violation(rq, names[fault], sge, HW_SGE_BYTES);
}

/* The next part of the frame, at most *nb_bytes of one piece; done is moved. */
static const uint8_t *
nic_rx_part(const struct nic_rx_frame *rx, uint32_t *done, uint32_t *nb_bytes)
{
	uint32_t i = *done < rx->piece_bytes[0] ? 0 : 1;
	uint32_t off = *done - (i == 0 ? 0 : rx->piece_bytes[0]);

	if (*nb_bytes > rx->piece_bytes[i] - off)
		*nb_bytes = rx->piece_bytes[i] - off;
	*done += *nb_bytes;
	return rx->piece[i] + off;
}

/*
 * Scatter the frame over the SGEs in order, as OpenVMM emu/bnic.rs
 * GuestBuffers::write_data. All SGEs are checked, also those not needed.
 * Returns the bytes written, or -1 after a violation.
 */
static int64_t
nic_rx_scatter(const struct card_function *f, const struct wq *rq,
	       const struct nic_rx_wqe *wqe, const struct nic_rx_frame *rx)
{
	const uint8_t *raw = wqe->raw + hw_wqe_sgl_offset(&wqe->header);
	uint32_t done = 0, process, i;

	for (i = 0; i < wqe->header.nb_sge; i++, raw += HW_SGE_BYTES) {
		struct hw_sge sge = hw_sge_read(raw);
		uint64_t addr = sge.addr;
		enum mem_fault fault;

		if (sge.size_bytes == 0) {
			wq_violation(rq, VIOLATION_sge_zero_size, raw,
				     HW_SGE_BYTES);
			continue;
		}
		fault = mem_region_check(&f->mem, sge.key, rq->pdn, addr,
					 sge.size_bytes, MEM_ACCESS_WRITE,
					 &process);
		if (fault != MEM_OK) {
			nic_rx_sge_violation(rq, fault, raw);
			return -1;
		}
		while (sge.size_bytes > 0 && done < rx->nb_bytes) {
			uint32_t n = sge.size_bytes;
			const uint8_t *part = nic_rx_part(rx, &done, &n);

			if (mem_write(process, addr, part, n) < 0) {
				nic_rx_sge_violation(rq, MEM_OK, raw);
				return -1;
			}
			addr += n;
			sge.size_bytes -= n;
		}
	}
	return done;
}

static void
nic_rx_write_cqe(struct card_function *f, struct wq *rq, enum hw_cqe_type type,
		 const struct rx_open *rx, uint32_t wqe_bytes)
{
	uint8_t cqe[HW_CQE_BYTES] = { 0 };
	uint32_t i;

	hw_put_le32(cqe, type << HW_CQE_TYPE_S | HW_CQE_CLIENT_ETHERNET
							 << HW_CQE_CLIENT_S);
	hw_put_le32(cqe + HW_RX_CQE_FLAGS_OFF, rx->flags);
	for (i = 0; i < rx->nb_packets; i++) {
		uint8_t *ppi = cqe + HW_RX_CQE_PPI_OFF + i * HW_RX_CQE_PPI_BYTES;

		hw_put_le16(ppi + HW_RX_PPI_LEN_OFF, (uint16_t)rx->len_bytes[i]);
		hw_put_le32(ppi + HW_RX_PPI_HASH_OFF, rx->hash[i]);
	}
	/* Bytes, as OpenVMM emu/bnic.rs. */
	hw_put_le32(cqe + HW_RX_CQE_WQE_OFFSET_OFF, rx->wqe_offset);
	nic_complete(f, rq, cqe, wqe_bytes);
}

void
nic_rx_flush_queue(struct card_function *f, struct wq *rq)
{
	struct rx_open *rx = &rq->rx;

	if (rx->nb_packets == 0)
		return;
	nic_rx_write_cqe(f, rq,
			 rx->nb_packets > 1 ? HW_CQE_RX_COALESCED_4 :
					      HW_CQE_RX_OKAY,
			 rx, 0);
	rx->nb_packets = 0;
}

void
nic_rx_flush(void)
{
	struct device *card = segment_device();
	uint32_t i;

	for (i = 0; i < card->nb_open; i++) {
		struct card_function *f = &card->functions[card->open[i].fn];

		nic_rx_flush_queue(f, &f->wqs[card->open[i].wq]);
	}
	card->nb_open = 0;
}

/* One more packet for the open CQE; the flags word is common to all in it. */
static void
nic_rx_coalesce(struct card_function *f, struct wq *rq,
		const struct nic_rx_frame *rx, uint32_t wqe_bytes)
{
	struct device *card = segment_device();
	struct rx_open *open = &rq->rx;

	if (open->nb_packets > 0 && open->flags != rx->flags)
		nic_rx_flush_queue(f, rq);
	if (open->nb_packets == 0) {
		if (card->nb_open == CARD_MAX_OPEN)
			nic_rx_flush();
		card->open[card->nb_open++] = (struct card_wq_ref){
			.fn = rq->fn,
			.wq = (uint32_t)(rq - f->wqs),
		};
		open->flags = rx->flags;
		open->wqe_offset = rq->ci;
	}
	open->len_bytes[open->nb_packets] = rx->nb_bytes;
	open->hash[open->nb_packets] = rx->hash;
	rq->ci += wqe_bytes;
	if (++open->nb_packets == HW_RX_CQE_NB_PPI)
		nic_rx_flush_queue(f, rq);
}

/* The packet is in its buffer, or as much of it as went in. */
static void
nic_rx_done(struct card_function *f, struct card_port *port, struct wq *rq,
	    const struct nic_rx_wqe *wqe, const struct nic_rx_frame *rx,
	    bool is_truncated)
{
	struct device_queue_counters *record = card_counters(f, rq);
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
		nic_rx_flush_queue(f, rq);
		nic_rx_write_cqe(f, rq, HW_CQE_RX_TRUNCATED, &single,
				 wqe->wqe_bytes);
	} else {
		port->counters.rx_packets++;
		port->counters.rx_bytes += rx->wire_bytes;
		record->packets++;
		record->bytes += rx->wire_bytes;
		if (port->coalesce)
			nic_rx_coalesce(f, rq, rx, wqe->wqe_bytes);
		else
			nic_rx_write_cqe(f, rq, HW_CQE_RX_OKAY, &single,
					 wqe->wqe_bytes);
	}
	if (rq->nb_wqes > 0)
		rq->nb_wqes--;
}

static void
nic_rx_deliver(struct card_function *f, struct card_port *port, struct wq *rq,
	       const struct nic_rx_frame *rx)
{
	struct device_queue_counters *record = card_counters(f, rq);
	struct nic_rx_wqe wqe;
	int64_t written;

	if (rq->is_disabled || f->cqs[rq->cq].is_stopped) {
		port->counters.rx_errors++;
		record->errors++;
		return;
	}
	if (wq_posted_bytes(rq) == 0) {
		/* OpenVMM defs/bnic.rs: in discards no WQE; no CQE for it. */
		port->counters.rx_no_wqe++;
		record->no_wqe++;
		return;
	}
	written = -1;
	if (nic_rx_fetch(rq, &wqe))
		written = nic_rx_scatter(f, rq, &wqe, rx);
	if (written < 0) {
		/* ASSUMED: as a Tx queue after a GDMA error. */
		nic_rx_flush_queue(f, rq);
		rq->is_disabled = true;
		port->counters.rx_errors++;
		record->errors++;
		return;
	}
	nic_rx_done(f, port, rq, &wqe, rx, written < rx->nb_bytes);
}

/* --enforce=dmac: what a switch would not have sent here. */
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
	if ((segment_config()->enforce & MODEL_ENFORCE_DMAC) != 0 &&
	    !nic_rx_is_for_us(port, frame)) {
		port->counters.rx_filtered++;
		return;
	}
	if (!port->rx_enabled) {
		port->counters.rx_no_steering++;
		return;
	}
	id = nic_rx_classify(port, frame, nb_bytes, &rx);
	rq = card_rq(f, id);
	if (rq == NULL || rx.nb_bytes > UINT16_MAX) {
		port->counters.rx_errors++;
		return;
	}
	nic_rx_deliver(f, port, rq, &rx);
}
