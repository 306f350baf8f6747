/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What is in the rings, with the field names of Linux and OpenVMM: dumps of descriptors, and
 * reports of what bursts have met, which log nothing themselves.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "mana_dump.h"
#include "mana_log.h"
#include "mana_queues.h"

/* A field: its name, where it is in a 64-bit word, how it is printed. */
struct field {
	const char *name;
	uint64_t mask; /* behind the shift */
	uint8_t shift;
};

static void
fields_write(uint64_t word, const struct field *fields, unsigned int nb, FILE *file)
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
	return rte_le_to_cpu_64(mana_wq_bu(wq, idx + word / GDMA_BU_WORDS)[word % GDMA_BU_WORDS]);
}

/*
 * The WQE that starts at idx: header, OOB of an SQ, SGEs. Returns where the next one starts.
 * file: NULL to write nothing.
 */
static uint32_t
wqe_write(const struct mana_wq *wq, uint32_t idx, bool is_sq, FILE *file)
{
	const uint64_t header = wqe_word(wq, idx, 0);
	const uint32_t div4 = header >> GDMA_WQE_OOB_DIV4_S & GDMA_WQE_OOB_DIV4_M;
	const uint32_t nb_sge = header >> GDMA_WQE_NUM_SGE_S & GDMA_WQE_NUM_SGE_M;
	const uint32_t sgl_bytes = div4 == GDMA_OOB_LONG_DIV4 ? GDMA_WQE_SGL_LONG_BYTES :
				   GDMA_WQE_SGL_SHORT_BYTES;
	const uint32_t sgl = sgl_bytes / sizeof(uint64_t);
	const uint32_t next = idx + mana_wqe_bu(sgl_bytes, nb_sge);

	if (file == NULL)
		return next;
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
	for (uint32_t i = 0; i < RTE_MIN(nb_sge, GDMA_SQ_WQE_MAX_SGE); i++) {
		uint64_t word = wqe_word(wq, idx, sgl + 2 * i + 1);

		fprintf(file, "    SGE %u: address 0x%" PRIx64 " mem_key 0x%x size %u\n", i,
			wqe_word(wq, idx, sgl + 2 * i), (uint32_t)word,
			(uint32_t)(word >> GDMA_SGE_SIZE_S));
	}
	return next;
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

static const char *
cqe_type_name(uint32_t type)
{
	return cqe_types[type] != NULL ? cqe_types[type] : "unknown";
}

static void
rx_cqe_write(const struct gdma_cqe *cqe, uint32_t type, FILE *file)
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

/* A copy of a CQE. */
static void
cqe_words_write(const struct gdma_cqe *cqe, FILE *file)
{
	uint32_t trailer = mana_cqe_load(&cqe->trailer);
	bool is_sq = (trailer >> GDMA_CQE_IS_SQ_S & 1) != 0;
	uint32_t header = mana_cqe_load(&cqe->tx.header);
	uint32_t type = header >> MANA_CQE_TYPE_S & MANA_CQE_TYPE_M;
	uint32_t offsets;

	fprintf(file,
		"is_sq %d wq_num %u\n    cqe_type %u (%s) client_type %u vendor_err 0x%x\n",
		is_sq, trailer & GDMA_CQE_WQ_M, type, cqe_type_name(type),
		header >> MANA_CQE_CLIENT_S & MANA_CQE_CLIENT_M,
		header >> MANA_CQE_VENDOR_ERR_S & MANA_CQE_VENDOR_ERR_M);
	if (!is_sq) {
		rx_cqe_write(cqe, type, file);
		return;
	}
	offsets = mana_cqe_load(&cqe->tx.offsets);
	fprintf(file, "    tx_data_offset %u tx_sgl_offset %u tx_wqe_offset %u\n",
		mana_cqe_load(&cqe->tx.data_offset), offsets & MANA_TX_CQE_SGL_OFFSET_M,
		offsets >> MANA_TX_CQE_WQE_OFFSET_S);
}

/* The CQE at idx, written or not. */
static void
cqe_write(const struct mana_cq *cq, uint32_t idx, FILE *file)
{
	uint32_t trailer = mana_cq_trailer(cq, idx);
	uint32_t owner = trailer >> GDMA_CQE_OWNER_S & GDMA_CQE_OWNER_M;
	uint32_t lap = mana_cq_owner(cq, idx) >> GDMA_CQE_OWNER_S;

	fprintf(file, "  CQE %u: owner_bits %u of lap %u, ", idx & cq->mask, owner, lap);
	if (owner == ((lap - 1) & GDMA_CQE_OWNER_M)) {
		fprintf(file, "not written\n");
		return;
	}
	rte_io_rmb();
	cqe_words_write(mana_cq_cqe(cq, idx), file);
}

/* ---- Text ----------------------------------------------------------------- */

bool
mana_text_begin(struct mana_text *text)
{
	*text = (struct mana_text){0};
	text->file = open_memstream(&text->bytes, &text->size);
	return text->file != NULL;
}

int
mana_text_end(struct mana_text *text, FILE *to, int error)
{
	if (fclose(text->file) != 0 && error == 0)
		error = -ENOMEM;
	if (error == 0 && fwrite(text->bytes, 1, text->size, to) != text->size)
		error = -EIO;
	free(text->bytes);
	return error;
}

/* ---- Descriptors --------------------------------------------------------- */

static void
rx_write(struct mana_hwq *hwq, uint16_t offset, uint16_t num, FILE *file)
{
	uint32_t waiting, posted, idx;

	if (mana_cq_is_closed(&hwq->cq))
		return;
	waiting = mana_hwq_nb_waiting(hwq, UINT32_MAX);
	posted = mana_hwq_posted_snapshot(hwq);
	idx = hwq->rq.ci * hwq->scatter.wqe_bu;
	for (uint32_t i = 0; i < (uint32_t)offset + num; i++) {
		FILE *const to = i >= offset ? file : NULL;

		if (to != NULL)
			fprintf(to, "rx queue %u descriptor %u: %s\n", hwq->queue_id, i,
				i < waiting ? "done" : i < posted ? "posted" : "free");
		if (i < posted)
			idx = wqe_write(&hwq->rq, idx, false, to);
		if (to != NULL && i < mana_cq_size(&hwq->cq))
			cqe_write(&hwq->cq, hwq->cq.ci + i, to);
	}
}

int
mana_rx_descriptor_dump(const struct rte_eth_dev *dev, uint16_t queue_id,
			uint16_t offset, uint16_t num, FILE *file)
{
	struct mana_rxq *rxq = dev->data->rx_queues[queue_id];
	struct mana_hwq *first, *at;
	struct mana_text text;

	if (rxq == NULL || !dev->data->dev_started || (uint32_t)offset + num > rxq->nb_desc)
		return -EINVAL;
	if (!mana_text_begin(&text))
		return -ENOMEM;
	if (!mana_rxq_lock(rxq))
		return mana_text_end(&text, file, -EBUSY);
	/* The descriptors of each hardware queue of the rxq. */
	first = rxq->first;
	for (at = first; at != NULL; at = at->next != first ? at->next : NULL)
		rx_write(at, offset, num, text.file);
	mana_query_unlock(&rxq->query_lock);
	return mana_text_end(&text, file, 0);
}

/* Free descriptors come first, then the outstanding ones, the oldest first. */
static void
tx_write(const struct mana_txq *txq, uint16_t offset, uint16_t num, FILE *file)
{
	uint32_t posted = mana_txq_posted_snapshot(txq);
	/* A failed queue has no free descriptor. */
	uint32_t nb_free = txq->limit > posted ? txq->limit - posted : 0;
	uint32_t done = mana_txq_nb_done(txq, UINT32_MAX);
	uint32_t idx = txq->sq.ci;
	uint32_t group = txq->group_ci;

	for (uint32_t i = 0; i < (uint32_t)offset + num; i++) {
		const bool is_out = i >= nb_free && i - nb_free < posted;
		FILE *const to = i >= offset ? file : NULL;

		if (to != NULL)
			fprintf(to, "tx queue %u descriptor %u: %s\n", txq->queue_id, i,
				!is_out ? "free" : i - nb_free < done ? "done" : "posted");
		if (!is_out)
			continue;
		idx = wqe_write(&txq->sq, idx, true, to);
		/* The CQE of the group, unless a WQE in it fails, or its own. */
		if (to != NULL)
			cqe_write(&txq->cq, txq->cq.ci +
				  (txq->offset_check != MANA_TX_OFFSET_UNUSED ?
				   group - txq->group_ci : i - nb_free), to);
		if (txq->groups[group & txq->mask].wqe_end == txq->ci + i - nb_free + 1)
			group++;
	}
}

int
mana_tx_descriptor_dump(const struct rte_eth_dev *dev, uint16_t queue_id,
			uint16_t offset, uint16_t num, FILE *file)
{
	struct mana_txq *txq = dev->data->tx_queues[queue_id];
	struct mana_text text;

	if (txq == NULL || (uint32_t)offset + num > txq->nb_desc ||
	    txq->cq.ring == NULL || mana_cq_is_closed(&txq->cq))
		return -EINVAL;
	if (!mana_text_begin(&text))
		return -ENOMEM;
	if (!mana_txq_lock(txq))
		return mana_text_end(&text, file, -EBUSY);
	tx_write(txq, offset, num, text.file);
	mana_query_unlock(&txq->query_lock);
	return mana_text_end(&text, file, 0);
}

/* ---- Reports: periodical, and before a port stops --------------------------- */

/* Logs the first unexpected completion of a queue, once. */
static void
first_log(const struct mana_priv *priv, const char *kind, uint16_t queue_id,
	  const struct mana_bad_cqes *bad, struct mana_reported *reported)
{
	const uint32_t *words = (const uint32_t *)&bad->first;
	struct mana_text text;

	if (reported->has_first || mana_atomic_acquire(&bad->has_first) == 0 ||
	    !mana_text_begin(&text))
		return;
	reported->has_first = true;
	for (size_t i = 0; i < sizeof(bad->first) / sizeof(*words); i++)
		fprintf(text.file, " %08x", rte_le_to_cpu_32(words[i]));
	fprintf(text.file, ": ");
	cqe_words_write(&bad->first, text.file);
	if (fclose(text.file) == 0)
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "%s %u: the first unexpected completion:%s", kind, queue_id,
			      text.bytes);
	free(text.bytes);
}

/*
 * Logs that a queue has failed, once for each time. header: of the completion. Returns
 * whether it was logged.
 */
static bool
failure_log(const struct mana_priv *priv, const char *kind, uint16_t queue_id, uint8_t failure,
	    uint32_t header, struct mana_reported *reported, uint64_t nb_failed)
{
	const char *remedy = mana_recovers(priv) ? "the driver rebuilds it" : "restart the port";
	const uint32_t type = header >> MANA_CQE_TYPE_S & MANA_CQE_TYPE_M;

	if (nb_failed == reported->failed)
		return false;
	reported->failed = nb_failed;
	if (failure == MANA_FAILURE_KILLED)
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "%s %u has failed (killed): a secondary process has ended in the middle of a burst; %s",
			      kind, queue_id, remedy);
	else
		MANA_PORT_LOG(ERR, priv->data->name,
			      "%s %u has failed (%s): completion type %u (%s), vendor error 0x%x; %s",
			      kind, queue_id, mana_queue_failure_name(failure), type,
			      cqe_type_name(type),
			      header >> MANA_CQE_VENDOR_ERR_S & MANA_CQE_VENDOR_ERR_M, remedy);
	return true;
}

static bool
rx_report(const struct mana_priv *priv, struct mana_rxq *rxq)
{
	struct mana_reported *reported = &rxq->reported;
	uint8_t failure = MANA_FAILURE_NONE;
	const struct mana_hwq *hwq;
	bool has_missed = false;

	MANA_FOREACH_HWQ_OF(priv->rx_set, rxq->queue_id, hwq) {
		has_missed |= hwq->scatter.has_missed;
		failure = RTE_MAX(failure, mana_hwq_failure(hwq));
	}
	first_log(priv, "Rx queue", rxq->queue_id, &rxq->bad_cqes, reported);
	if (has_missed && !reported->has_missed)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "Rx queue %u: the adapter does not scatter packets over several buffers: use mbufs that hold a whole frame, or a smaller MTU",
			      rxq->queue_id);
	reported->has_missed |= has_missed;
	return failure_log(priv, "Rx queue", rxq->queue_id, failure, rxq->bad_cqes.fatal_header,
			   reported, mana_stats_rxq(priv, rxq).rx.failed);
}

/* A Tx queue with posted packets is reported after so long without a completion. */
#define STALL_S 3
/* Seconds of progress before the next stall is logged. */
#define QUIET_S 10

/* Counts a stall of a Tx queue, once. Returns whether to log it. */
static bool
tx_stalls(struct mana_txq *txq, bool is_gone)
{
	struct mana_tx_progress *progress = &txq->progress;
	uint64_t now_ns = mana_now_ns();
	/* A burst may run beside this. */
	uint32_t ci = *(const volatile uint32_t *)&txq->ci;
	bool waits = !is_gone && mana_txq_posted_snapshot(txq) != 0 &&
		     ci == progress->ci && progress->since_ns != 0;
	bool is_logged;

	progress->ci = ci;
	if (waits && now_ns - progress->since_ns < STALL_S * (uint64_t)NS_PER_S)
		return false;
	/* Completions that the application has not polled are progress. */
	if (waits && mana_txq_trylock(txq)) {
		waits = mana_txq_nb_done(txq, UINT32_MAX) == 0 &&
			mana_txq_failure(txq) == MANA_FAILURE_NONE;
		mana_query_unlock(&txq->query_lock);
	} else {
		waits = waits && progress->is_reported;
	}
	if (!waits) {
		progress->is_reported = false;
		progress->since_ns = now_ns;
		return false;
	}
	/* A device that is only slow stalls again and again. */
	is_logged = !progress->is_reported &&
		    (progress->stalled_ns == 0 ||
		     progress->since_ns - progress->stalled_ns >= QUIET_S * (uint64_t)NS_PER_S);
	txq->stats.stalled += !progress->is_reported;
	progress->is_reported = true;
	progress->stalled_ns = now_ns;
	return is_logged;
}

static bool
tx_report(const struct mana_priv *priv, struct mana_txq *txq)
{
	const uint32_t header = txq->bad_cqes.fatal_header;
	const uint32_t error = header >> MANA_CQE_VENDOR_ERR_S & MANA_CQE_VENDOR_ERR_M;
	const struct mana_tx_bad_buf *buf = &txq->bad_buf;
	bool has_stalled, has_failed;

	first_log(priv, "Tx queue", txq->queue_id, &txq->bad_cqes, &txq->reported);
	has_stalled = tx_stalls(txq, mana_is_gone(priv));
	has_failed = failure_log(priv, "Tx queue", txq->queue_id, mana_txq_failure(txq), header,
				 &txq->reported, txq->stats.failed);
	if (has_failed &&
	    (header >> MANA_CQE_TYPE_S & MANA_CQE_TYPE_M) == MANA_CQE_TX_GDMA_ERR &&
	    error >= GDMA_VENDOR_ERR_TX_DATA_FIRST && error <= GDMA_VENDOR_ERR_TX_DATA_LAST)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "Tx queue %u: the adapter has no access to %u bytes at 0x%" PRIx64
			      " of a packet (mempool %s); keep memory mapped, registered (rte_dev_dma_map) and in its mempool until its packets are sent (rte_eth_tx_done_cleanup)",
			      txq->queue_id, buf->len_bytes, buf->addr,
			      buf->mempool[0] != '\0' ? buf->mempool : "none");
	if (has_stalled)
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "Tx queue %u: the adapter has completed none of its packets for %d s: it may have stopped answering",
			      txq->queue_id, STALL_S);
	return has_failed;
}

/* Each queue that is idle and well costs the tick a few loads. */
bool
mana_queues_report(struct mana_priv *priv)
{
	bool has_failed = false, has_rx_news = false;
	const struct mana_hwq *hwq;
	struct mana_rxq *rxq;
	struct mana_txq *txq;

	mana_tx_form_report(priv);
	MANA_FOREACH_HWQ(priv->rx_set, hwq)
		has_rx_news |= hwq->scatter.has_missed ||
			       mana_hwq_failure(hwq) != MANA_FAILURE_NONE;
	MANA_FOREACH_RXQ(priv, rxq)
		if (has_rx_news || rxq->folded.rx.failed > rxq->reported.failed ||
		    mana_atomic_load(&rxq->bad_cqes.has_first) != rxq->reported.has_first)
			has_failed |= rx_report(priv, rxq);
	MANA_FOREACH_TXQ(priv, txq)
		has_failed |= tx_report(priv, txq);
	return has_failed;
}
