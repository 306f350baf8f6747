/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>

#include "mana_dump.h"

/* A field: its name, where it is in a 64-bit word, how it is printed. */
struct field {
	const char *name;
	uint64_t mask; /* behind the shift */
	uint8_t shift;
};

static void
fields_write(uint64_t word, const struct field *fields, unsigned int nb,
	     FILE *file)
{
	for (unsigned int i = 0; i < nb; i++)
		fprintf(file, " %s %" PRIu64, fields[i].name,
			word >> fields[i].shift & fields[i].mask);
}

#define FIELDS_WRITE(word, fields, file) \
	fields_write(word, fields, RTE_DIM(fields), file)

/* ---- WQEs ------------------------------------------------------------------- */

/* Linux gdma.h struct gdma_wqe. */
static const struct field wqe_fields[] = {
	{ "last_vbytes", GDMA_WQE_LAST_VBYTES_M, GDMA_WQE_LAST_VBYTES_S },
	{ "num_sge", GDMA_WQE_NUM_SGE_M, GDMA_WQE_NUM_SGE_S },
	{ "inline_oob_size_div4", GDMA_WQE_OOB_DIV4_M, GDMA_WQE_OOB_DIV4_S },
	{ "client_oob_in_sgl", 1, GDMA_WQE_OOB_IN_SGL_S },
	{ "client_data_unit", GDMA_WQE_CLIENT_UNIT_M, GDMA_WQE_CLIENT_UNIT_S },
};

/* Linux mana.h struct mana_tx_short_oob. */
static const struct field short_oob_fields[] = {
	{ "pkt_fmt", 3, MANA_TX_OOB_PKT_FMT_S },
	{ "is_outer_ipv4", 1, MANA_TX_OOB_IPV4_S },
	{ "is_outer_ipv6", 1, MANA_TX_OOB_IPV6_S },
	{ "comp_iphdr_csum", 1, MANA_TX_OOB_IP_CSUM_S },
	{ "comp_tcp_csum", 1, MANA_TX_OOB_TCP_CSUM_S },
	{ "comp_udp_csum", 1, MANA_TX_OOB_UDP_CSUM_S },
	{ "suppress_txcqe_gen", 1, MANA_TX_OOB_NO_CQE_S },
	{ "vcq_num", MANA_TX_OOB_VCQ_M, MANA_TX_OOB_VCQ_S },
	{ "trans_off", MANA_TX_OOB_TRANS_OFF_M, MANA_TX_OOB_TRANS_OFF_S },
	{ "vsq_frame", MANA_TX_OOB_VSQ_FRAME_M, MANA_TX_OOB_VSQ_FRAME_S },
	{ "short_vp_offset", MANA_TX_OOB_SHORT_VP_M, MANA_TX_OOB_SHORT_VP_S },
};

/* Linux mana.h struct mana_tx_long_oob, its second 64-bit word. */
static const struct field long_oob_fields[] = {
	{ "is_encap", 1, MANA_TX_LOOB_ENCAP_S },
	{ "inner_is_ipv6", 1, MANA_TX_LOOB_INNER_IPV6_S },
	{ "inner_tcp_opt", 1, MANA_TX_LOOB_INNER_TCP_OPT_S },
	{ "inject_vlan_pri_tag", 1, MANA_TX_LOOB_VLAN_INSERT_S },
	{ "pcp", MANA_TX_LOOB_PCP_M, MANA_TX_LOOB_PCP_S },
	{ "dei", 1, MANA_TX_LOOB_DEI_S },
	{ "vlan_id", MANA_TX_LOOB_VLAN_ID_M, MANA_TX_LOOB_VLAN_ID_S },
	{ "long_vp_offset", MANA_TX_LOOB_LONG_VP_M, MANA_TX_LOOB_LONG_VP_S },
};

static uint64_t
wqe_word(const struct mana_wq *wq, uint32_t idx, uint32_t word)
{
	return rte_le_to_cpu_64(mana_wq_bu(wq, idx + word / GDMA_BU_WORDS)
				[word % GDMA_BU_WORDS]);
}

/* Where the SGL starts. */
static uint32_t
wqe_sgl_bytes(uint64_t header)
{
	uint32_t div4 = header >> GDMA_WQE_OOB_DIV4_S & GDMA_WQE_OOB_DIV4_M;

	return div4 == GDMA_OOB_LONG_DIV4 ? GDMA_WQE_SGL_LONG_BYTES :
					    GDMA_WQE_SGL_SHORT_BYTES;
}

static uint32_t
wqe_nb_sge(uint64_t header)
{
	return header >> GDMA_WQE_NUM_SGE_S & GDMA_WQE_NUM_SGE_M;
}

uint32_t
mana_decode_wqe_bu(const struct mana_wq *wq, uint32_t idx)
{
	uint64_t header = wqe_word(wq, idx, 0);

	return mana_wqe_bu(wqe_sgl_bytes(header), wqe_nb_sge(header));
}

void
mana_decode_wqe(const struct mana_wq *wq, uint32_t idx, bool is_sq, FILE *file)
{
	uint64_t header = wqe_word(wq, idx, 0);
	uint32_t sgl = wqe_sgl_bytes(header) / sizeof(uint64_t);
	uint32_t i;

	fprintf(file, "  WQE at BU %u:", idx & wq->mask_bu);
	FIELDS_WRITE(header, wqe_fields, file);
	fputc('\n', file);
	if (is_sq) {
		fprintf(file, "    OOB:");
		FIELDS_WRITE(wqe_word(wq, idx, 1), short_oob_fields, file);
		if (sgl > 2)
			FIELDS_WRITE(wqe_word(wq, idx, 2), long_oob_fields, file);
		fputc('\n', file);
	}
	for (i = 0; i < RTE_MIN(wqe_nb_sge(header), GDMA_SQ_WQE_MAX_SGE); i++) {
		uint64_t word = wqe_word(wq, idx, sgl + 2 * i + 1);

		fprintf(file,
			"    SGE %u: address 0x%" PRIx64 " mem_key 0x%x size %u\n",
			i, wqe_word(wq, idx, sgl + 2 * i), (uint32_t)word,
			(uint32_t)(word >> GDMA_SGE_SIZE_S));
	}
}

/* ---- CQEs ------------------------------------------------------------------- */

/* Linux mana.h enum mana_cqe_type; OpenVMM bnic.rs. */
static const char *const cqe_types[MANA_CQE_TYPE_M + 1] = {
	[MANA_CQE_INVALID] = "INVALID",
	[MANA_CQE_RX_OKAY] = "RX_OKAY",
	[MANA_CQE_RX_COALESCED_4] = "RX_COALESCED_4",
	[MANA_CQE_RX_OBJECT_FENCE] = "RX_OBJECT_FENCE",
	[MANA_CQE_RX_TRUNCATED] = "RX_TRUNCATED",
	[MANA_CQE_RX_COALESCED_8] = "RX_COALESCED_8",
	[MANA_CQE_TX_OKAY] = "TX_OKAY",
	[MANA_CQE_TX_SA_DROP] = "TX_SA_DROP",
	[MANA_CQE_TX_MTU_DROP] = "TX_MTU_DROP",
	[MANA_CQE_TX_INVALID_OOB] = "TX_INVALID_OOB",
	[MANA_CQE_TX_INVALID_ETH_TYPE] = "TX_INVALID_ETH_TYPE",
	[MANA_CQE_TX_HDR_PROCESSING_ERROR] = "TX_HDR_PROCESSING_ERROR",
	[MANA_CQE_TX_VF_DISABLED] = "TX_VF_DISABLED",
	[MANA_CQE_TX_VPORT_IDX_OUT_OF_RANGE] = "TX_VPORT_IDX_OUT_OF_RANGE",
	[MANA_CQE_TX_VPORT_DISABLED] = "TX_VPORT_DISABLED",
	[MANA_CQE_TX_VLAN_TAGGING_VIOLATION] = "TX_VLAN_TAGGING_VIOLATION",
	[MANA_CQE_TX_GDMA_ERR] = "TX_GDMA_ERR",
};

/* Linux mana.h struct mana_rxcomp_oob. */
static const struct field rx_fields[] = {
	{ "rx_vlan_id", MANA_RX_CQE_VLAN_ID_M, MANA_RX_CQE_VLAN_ID_S },
	{ "rx_vlantag_present", 1, MANA_RX_CQE_VLAN_S },
	{ "rx_outer_iphdr_csum_succeed", 1, MANA_RX_CQE_OUTER_IP_OK_S },
	{ "rx_outer_iphdr_csum_fail", 1, MANA_RX_CQE_OUTER_IP_BAD_S },
	{ "rx_hashtype", MANA_RX_CQE_HASH_TYPE_M, MANA_RX_CQE_HASH_TYPE_S },
	{ "rx_iphdr_csum_succeed", 1, MANA_RX_CQE_CSUM_S + 0 },
	{ "rx_iphdr_csum_fail", 1, MANA_RX_CQE_CSUM_S + 1 },
	{ "rx_tcp_csum_succeed", 1, MANA_RX_CQE_CSUM_S + 2 },
	{ "rx_tcp_csum_fail", 1, MANA_RX_CQE_CSUM_S + 3 },
	{ "rx_udp_csum_succeed", 1, MANA_RX_CQE_CSUM_S + 4 },
	{ "rx_udp_csum_fail", 1, MANA_RX_CQE_CSUM_S + 5 },
};

const char *
mana_decode_cqe_type(uint32_t type)
{
	return type < RTE_DIM(cqe_types) && cqe_types[type] != NULL ?
		       cqe_types[type] : "unknown";
}

static void
rx_write(const struct gdma_cqe *cqe, uint32_t type, FILE *file)
{
	fprintf(file, "   ");
	FIELDS_WRITE(mana_cqe_load(&cqe->rx.flags), rx_fields, file);
	fprintf(file, " rx_wqe_offset %u\n", mana_cqe_load(&cqe->rx.wqe_offset));
	for (uint32_t i = 0; i < MANA_RX_CQE_NB_PPI; i++) {
		uint32_t len = mana_cqe_load(&cqe->rx.ppi[i].len);
		uint32_t mid = mana_cqe_load(&cqe->rx.ppi[i].reserved);
		uint32_t hash = mana_cqe_load(&cqe->rx.ppi[i].hash);

		if (type == MANA_CQE_RX_COALESCED_8)
			fprintf(file,
				"    ppi %u: pkt_len0 %u pkt_hash0 0x%08x pkt_len1 %u pkt_hash1 0x%08x\n",
				i, mid & UINT16_MAX, len, mid >> 16, hash);
		else
			fprintf(file, "    ppi %u: pkt_len %u pkt_hash 0x%08x\n",
				i, len & UINT16_MAX, hash);
	}
}

void
mana_decode_cqe_words(const struct gdma_cqe *cqe, FILE *file)
{
	uint32_t trailer = mana_cqe_load(&cqe->trailer);
	bool is_sq = (trailer >> GDMA_CQE_IS_SQ_S & 1) != 0;
	uint32_t header = mana_cqe_load(&cqe->tx.header);
	uint32_t type = header >> MANA_CQE_TYPE_S & MANA_CQE_TYPE_M;
	uint32_t offsets;

	fprintf(file,
		"is_sq %d wq_num %u\n    cqe_type %u (%s) client_type %u vendor_err 0x%x\n",
		is_sq, trailer & GDMA_CQE_WQ_M, type, mana_decode_cqe_type(type),
		header >> MANA_CQE_CLIENT_S & MANA_CQE_CLIENT_M,
		header >> MANA_CQE_VENDOR_ERR_S & MANA_CQE_VENDOR_ERR_M);
	if (!is_sq) {
		rx_write(cqe, type, file);
		return;
	}
	offsets = mana_cqe_load(&cqe->tx.offsets);
	fprintf(file, "    tx_data_offset %u tx_sgl_offset %u tx_wqe_offset %u\n",
		mana_cqe_load(&cqe->tx.data_offset),
		offsets & MANA_TX_CQE_SGL_OFFSET_M,
		offsets >> MANA_TX_CQE_WQE_OFFSET_S);
}

void
mana_decode_cqe(const struct mana_cq *cq, uint32_t idx, FILE *file)
{
	uint32_t trailer = mana_cq_trailer(cq, idx);
	uint32_t owner = trailer >> GDMA_CQE_OWNER_S & GDMA_CQE_OWNER_M;
	uint32_t lap = mana_cq_owner(cq, idx) >> GDMA_CQE_OWNER_S;

	fprintf(file, "  CQE %u: owner_bits %u of lap %u", idx & cq->mask, owner,
		lap);
	if (owner == ((lap - 1) & GDMA_CQE_OWNER_M)) {
		fprintf(file, ", not written\n");
		return;
	}
	rte_io_rmb();
	fprintf(file, ", ");
	mana_decode_cqe_words(mana_cq_cqe(cq, idx), file);
}
