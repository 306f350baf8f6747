/* SPDX-License-Identifier: BSD-3-Clause */

/* Fields, transcribed apart from hw.h and drivers to show their errors. */

#include "trace_layout.h"

/* Linux gdma.h struct gdma_wqe; bits 12, 13, 30, 31: rdma-core gdma.h. */
const struct trace_field trace_wqe_header[] = {
	{ "reserved", 0, 0, 24, true },
	{ "last_vbytes", 0, 24, 8, false },
	{ "num_sge", 1, 0, 8, false },
	{ "inline_oob_size_div4", 1, 8, 3, false },
	{ "client_oob_in_sgl", 1, 11, 1, false },
	{ "consume_credit", 1, 12, 1, false },
	{ "fence", 1, 13, 1, false },
	{ "reserved1", 1, 14, 2, true },
	{ "client_data_unit", 1, 16, 14, false },
	{ "check_sn", 1, 30, 1, false },
	{ "sgl_direct", 1, 31, 1, false },
	{ 0 },
};

/* Linux mana.h struct mana_tx_short_oob. */
const struct trace_field trace_oob_short[] = {
	{ "pkt_fmt", 0, 0, 2, false },
	{ "is_outer_ipv4", 0, 2, 1, false },
	{ "is_outer_ipv6", 0, 3, 1, false },
	{ "comp_iphdr_csum", 0, 4, 1, false },
	{ "comp_tcp_csum", 0, 5, 1, false },
	{ "comp_udp_csum", 0, 6, 1, false },
	{ "suppress_txcqe_gen", 0, 7, 1, false },
	{ "vcq_num", 0, 8, 24, false },
	{ "trans_off", 1, 0, 10, false },
	{ "vsq_frame", 1, 10, 14, false },
	{ "short_vp_offset", 1, 24, 8, false },
	{ 0 },
};

/* Linux mana.h struct mana_tx_long_oob. */
const struct trace_field trace_oob_long[] = {
	{ "is_encap", 2, 0, 1, false },
	{ "inner_is_ipv6", 2, 1, 1, false },
	{ "inner_tcp_opt", 2, 2, 1, false },
	{ "inject_vlan_pri_tag", 2, 3, 1, false },
	{ "reserved2", 2, 4, 12, true },
	{ "pcp", 2, 16, 3, false },
	{ "dei", 2, 19, 1, false },
	{ "vlan_id", 2, 20, 12, false },
	{ "inner_frame_offset", 3, 0, 10, false },
	{ "inner_ip_rel_offset", 3, 10, 6, false },
	{ "long_vp_offset", 3, 16, 12, false },
	{ "reserved3", 3, 28, 4, true },
	{ "reserved4", 4, 0, 32, true },
	{ "reserved5", 5, 0, 32, true },
	{ 0 },
};

/* Linux mana.h struct mana_cqe_header. */
const struct trace_field trace_cqe_type[] = {
	{ "type", 0, 0, 6, false },
	{ 0 },
};
const struct trace_field trace_cqe_header[] = {
	{ "client_type", 0, 6, 2, false },
	{ "vendor_err", 0, 8, 24, true },
	{ 0 },
};

/* Linux mana.h struct mana_tx_comp_oob. */
const struct trace_field trace_cqe_tx[] = {
	{ "tx_data_offset", 1, 0, 32, false },
	{ "tx_sgl_offset", 2, 0, 5, false },
	{ "tx_wqe_offset", 2, 5, 27, false },
	{ 0 },
};

/* Linux mana.h struct mana_rxcomp_oob, struct mana_rxcomp_perpkt_info. */
const struct trace_field trace_cqe_rx[] = {
	{ "rx_vlan_id", 1, 0, 12, false },
	{ "rx_vlantag_present", 1, 12, 1, false },
	{ "rx_outer_iphdr_csum_succeed", 1, 13, 1, false },
	{ "rx_outer_iphdr_csum_fail", 1, 14, 1, false },
	{ "reserved1", 1, 15, 1, true },
	{ "rx_hashtype", 1, 16, 9, true },
	{ "rx_iphdr_csum_succeed", 1, 25, 1, false },
	{ "rx_iphdr_csum_fail", 1, 26, 1, false },
	{ "rx_tcp_csum_succeed", 1, 27, 1, false },
	{ "rx_tcp_csum_fail", 1, 28, 1, false },
	{ "rx_udp_csum_succeed", 1, 29, 1, false },
	{ "rx_udp_csum_fail", 1, 30, 1, false },
	{ "reserved2", 1, 31, 1, true },
	{ "ppi0.pkt_len", 2, 0, 16, false },
	{ "ppi0.pkt_hash", 4, 0, 32, true },
	{ "ppi1.pkt_len", 5, 0, 16, false },
	{ "ppi1.pkt_hash", 7, 0, 32, true },
	{ "ppi2.pkt_len", 8, 0, 16, false },
	{ "ppi2.pkt_hash", 10, 0, 32, true },
	{ "ppi3.pkt_len", 11, 0, 16, false },
	{ "ppi3.pkt_hash", 13, 0, 32, true },
	{ "rx_wqe_offset", 14, 0, 32, false },
	{ 0 },
};

/* Linux gdma.h struct gdma_cqe. */
const struct trace_field trace_cqe_trailer[] = {
	{ "wq_num", 15, 0, 24, false },
	{ "is_sq", 15, 24, 1, false },
	{ "reserved3", 15, 25, 4, true },
	{ "owner", 15, 29, 3, false },
	{ 0 },
};

/* Linux mana.h enum mana_cqe_type; 42: OpenVMM gdma_defs bnic.rs. */
static const char *const type_names[64] = {
	[1] = "RX_OKAY",
	[2] = "RX_COALESCED_4",
	[3] = "RX_OBJECT_FENCE",
	[4] = "RX_TRUNCATED",
	[7] = "RX_COALESCED_8",
	[32] = "TX_OKAY",
	[33] = "TX_SA_DROP",
	[34] = "TX_MTU_DROP",
	[35] = "TX_INVALID_OOB",
	[36] = "TX_INVALID_ETH_TYPE",
	[37] = "TX_HDR_PROCESSING_ERROR",
	[38] = "TX_VF_DISABLED",
	[39] = "TX_VPORT_IDX_OUT_OF_RANGE",
	[40] = "TX_VPORT_DISABLED",
	[41] = "TX_VLAN_TAGGING_VIOLATION",
	[42] = "TX_GDMA_ERR",
};

const char *
trace_cqe_type_name(uint32_t type)
{
	return type < 64 ? type_names[type] : NULL;
}

/*
 * The fields between header and trailer, by CQE type. For an unknown type the
 * trailer's is_sq decides, which may be wrong in an injected CQE.
 */
static const struct trace_field *
trace_cqe_fields(const uint8_t *cqe)
{
	const uint32_t type = trace_field_get(trace_cqe_type, cqe);
	bool is_tx = type >= 32;

	if (trace_cqe_type_name(type) == NULL)
		is_tx = trace_field_get(&trace_cqe_trailer[1], cqe) != 0;
	return is_tx ? trace_cqe_tx : trace_cqe_rx;
}

#define NO_OFFSET UINT64_MAX

/* The SGE's offset in its region; NO_OFFSET if its key has no region there. */
static uint64_t
sge_offset(const struct mem_table *keys, const struct hw_sge *sge)
{
	const struct mem_region *region = mem_region_find(keys, sge->key);

	if (region == NULL || sge->addr < region->iova ||
	    sge->addr - region->iova >= region->size_bytes)
		return NO_OFFSET;
	return sge->addr - region->iova;
}

/* Add key+offset:size, and replace the address in raw by the offset. */
static void
add_sge(struct trace_line *line, uint32_t i, const struct mem_table *keys,
	uint8_t *raw)
{
	struct hw_sge sge = hw_sge_read(raw);
	const uint64_t offset = sge_offset(keys, &sge);

	if (offset == NO_OFFSET)
		trace_add(line, " sge%u=0x%x+?:%u", i, sge.key, sge.size_bytes);
	else
		trace_add(line, " sge%u=0x%x+0x%llx:%u", i, sge.key,
			  (unsigned long long)offset, sge.size_bytes);
	hw_put_le32(raw + HW_SGE_ADDR_OFF, (uint32_t)offset);
	hw_put_le32(raw + HW_SGE_ADDR_OFF + 4, (uint32_t)(offset >> 32));
}

void
trace_wqe(const struct wq *wq, uint32_t port, const struct mem_table *keys,
	  const uint8_t *raw, uint32_t nb_bytes)
{
	const struct hw_wqe wqe = hw_wqe_read(raw);
	uint8_t shown[HW_SQ_WQE_MAX_BYTES] = { 0 };
	const uint32_t oob_bytes = 4u * wqe.oob_div4;
	uint32_t at = HW_WQE_HEADER_BYTES + oob_bytes, i;
	struct trace_line line;

	/* The OOB of an Rx WQE is stale ring contents: hide it. */
	memcpy(shown, raw, nb_bytes);
	if (!wq->is_sq)
		memset(shown + HW_WQE_HEADER_BYTES, 0,
		       at < nb_bytes ? oob_bytes : nb_bytes - HW_WQE_HEADER_BYTES);
	trace_begin(&line, TRACE_wqe);
	trace_add(&line, " fn=%u port=%u queue=%s id=%u pos=%u bytes=%u", wq->fn,
		  port, wq->is_sq ? "sq" : "rq", wq->id, wq->ci / HW_BU_BYTES,
		  hw_wqe_bytes(&wqe));
	trace_add_fields(&line, trace_wqe_header, shown);
	if (wq->is_sq && oob_bytes >= HW_SHORT_OOB_BYTES)
		trace_add_fields(&line, trace_oob_short,
				 shown + HW_WQE_HEADER_BYTES);
	if (wq->is_sq && oob_bytes >= HW_LONG_OOB_BYTES)
		trace_add_fields(&line, trace_oob_long,
				 shown + HW_WQE_HEADER_BYTES);
	at = hw_wqe_sgl_offset(&wqe);
	for (i = 0; i < wqe.nb_sge && at + HW_SGE_BYTES <= nb_bytes; i++) {
		add_sge(&line, i, keys, shown + at);
		at += HW_SGE_BYTES;
	}
	trace_add_raw(&line, shown, at < nb_bytes ? at : nb_bytes);
	trace_end(&line);
}

void
trace_cqe(const struct cq *cq, const uint8_t cqe[HW_CQE_BYTES])
{
	const uint32_t type = trace_field_get(trace_cqe_type, cqe);
	const char *name = trace_cqe_type_name(type);
	struct trace_line line;

	trace_begin(&line, TRACE_cqe);
	trace_add(&line, " fn=%u cq=%u index=%u", cq->fn, cq->id, cq->pi);
	if (name != NULL)
		trace_add(&line, " type=%s", name);
	else
		trace_add(&line, " type=%u", type);
	trace_add_fields(&line, trace_cqe_header, cqe);
	trace_add_fields(&line, trace_cqe_fields(cqe), cqe);
	trace_add_fields(&line, trace_cqe_trailer, cqe);
	trace_add_raw(&line, cqe, HW_CQE_BYTES);
	trace_end(&line);
}
