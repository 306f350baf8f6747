/* SPDX-License-Identifier: BSD-3-Clause */

/* WQEs and CQEs: send, receive, wait. */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "first_contact.h"

#define WQE_MAX_BYTES (GDMA_SQ_WQE_MAX_BU * GDMA_BU_BYTES)
#define NS_PER_MS     1000000u
#define MAX_FOREIGN   4096
#define NB_SPINS      2000

uint64_t
fc_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A wait for the adapter, in real time. */
struct wait {
	uint64_t end_ns;
	uint32_t nb_spins;
};

static struct wait
wait_start(const struct fc *fc)
{
	return (struct wait){
		.end_ns = fc_now_ns() + (uint64_t)fc->wait_ms * NS_PER_MS,
	};
}

/* false: the time is over. Spins first, then sleeps. */
static bool
wait_more(struct wait *wait)
{
	if (wait->nb_spins++ < NB_SPINS)
		return true;
	if (fc_now_ns() > wait->end_ns)
		return false;
	usleep(200);
	return true;
}

bool
fc_event(struct ibv_comp_channel *channel, uint32_t wait_ms)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, (int)wait_ms) != 1 ||
	    ibv_get_cq_event(channel, &cq, &context) != 0)
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* ---- Tx ---- */

struct fc_tx
fc_tx_of(const struct fc_frame *frame)
{
	struct fc_tx tx = {
		.nb_sge = 1,
		.short_vp = FC_NOT_SET,
		.long_vp = FC_NOT_SET,
	};

	tx.sge[0].off = frame->off;
	tx.sge[0].nb_bytes = frame->nb_bytes;
	return tx;
}

struct fc_tx
fc_tx_csum(struct fc_frame *frame)
{
	struct fc_tx tx = fc_tx_of(frame);

	fc_frame_seed(frame, false);
	tx.trans_off = frame->l4_off;
	tx.oob = frame->v6 ? FC_OOB(IPV6) : FC_OOB(IPV4) | FC_OOB(IP_CSUM);
	tx.oob |= frame->proto == FC_PROTO_TCP ? FC_OOB(TCP_CSUM) :
						 FC_OOB(UDP_CSUM);
	return tx;
}

static bool
is_long(const struct fc *fc, const struct fc_tx *tx)
{
	if (tx->form != FC_FORM_AUTO)
		return tx->form == FC_FORM_LONG;
	return fc->use_long || tx->insert_tag ||
	       fc->txq.vp_offset > MANA_TX_OOB_SHORT_VP_M;
}

/* The OOB, 8 or 24 bytes. The long form has both fields, if the offset fits. */
static void
write_oob(const struct fc *fc, const struct fc_tx *tx, uint64_t *word)
{
	const bool has_long = is_long(fc, tx);
	const uint32_t vp = fc->txq.vp_offset;
	uint64_t short_vp = tx->short_vp, long_vp = tx->long_vp;

	if (tx->short_vp == FC_NOT_SET)
		short_vp = vp <= MANA_TX_OOB_SHORT_VP_M ? vp : 0;
	if (tx->long_vp == FC_NOT_SET)
		long_vp = vp;
	word[0] = tx->oob | (uint64_t)has_long << MANA_TX_OOB_PKT_FMT_S |
		  (uint64_t)fc->txq.cq.id << MANA_TX_OOB_VCQ_S |
		  (uint64_t)tx->trans_off << MANA_TX_OOB_TRANS_OFF_S |
		  (uint64_t)(fc->txq.sq.id >> MANA_TX_VSQ_FRAME_OF_SQ_S &
			     MANA_TX_OOB_VSQ_FRAME_M)
			  << MANA_TX_OOB_VSQ_FRAME_S |
		  short_vp << MANA_TX_OOB_SHORT_VP_S;
	if (!has_long)
		return;
	word[1] = long_vp << MANA_TX_LOOB_LONG_VP_S;
	if (tx->insert_tag)
		word[1] |= MANA_TX_LOOB_VLAN((uint64_t)tx->tci);
	word[2] = 0;
}

static void
put_sge(uint64_t *word, const struct fc *fc, const struct ibv_mr *mr,
	uint32_t off, uint32_t nb_bytes)
{
	word[0] = rte_cpu_to_le_64((uint64_t)(uintptr_t)(fc->memory + off));
	word[1] = rte_cpu_to_le_64(GDMA_SGE_WORD(mr->lkey, nb_bytes));
}

/* Copies a WQE to the ring, piece by piece because it may wrap. */
static void
put_wqe(struct mana_wq *wq, const uint64_t *wqe, uint32_t nb_bu)
{
	for (uint32_t i = 0; i < nb_bu; i++)
		memcpy(mana_wq_bu(wq, wq->pi + i), wqe + i * GDMA_BU_WORDS,
		       GDMA_BU_BYTES);
	wq->pi += nb_bu;
}

void
fc_post(struct fc *fc, const struct fc_tx *tx)
{
	const bool has_long = is_long(fc, tx);
	const uint32_t sgl = has_long ? GDMA_WQE_SGL_LONG_BYTES :
					GDMA_WQE_SGL_SHORT_BYTES;
	const uint32_t nb_bu = mana_wqe_bu(sgl, tx->nb_sge);
	/* One SGE more than fits, so that the longest list can be refused. */
	uint64_t wqe[WQE_MAX_BYTES / 8 + GDMA_BU_WORDS] = { 0 };

	/* The adapter has not completed earlier WQEs: the caller's wait fails. */
	if (mana_wq_free_bu(&fc->txq.sq) < nb_bu)
		return;
	wqe[0] = GDMA_WQE_HEADER(tx->nb_sge, has_long ? GDMA_OOB_LONG_DIV4 :
							GDMA_OOB_SHORT_DIV4);
	if (tx->lso_header_bytes != 0)
		wqe[0] |= UINT64_C(1) << GDMA_WQE_OOB_IN_SGL_S |
			  (uint64_t)(tx->lso_header_bytes & GDMA_WQE_LAST_VBYTES_M)
				  << GDMA_WQE_LAST_VBYTES_S |
			  (uint64_t)tx->mss << GDMA_WQE_CLIENT_UNIT_S;
	write_oob(fc, tx, wqe + 1);
	for (uint32_t i = 0; i < (has_long ? 4u : 2u); i++)
		wqe[i] = rte_cpu_to_le_64(wqe[i]);
	for (uint32_t i = 0; i < tx->nb_sge; i++)
		put_sge(wqe + sgl / 8 + i * 2, fc,
			i > 0 && tx->other_mr != NULL ? tx->other_mr : fc->tx->mr,
			tx->sge[i].off, tx->sge[i].nb_bytes);
	put_wqe(&fc->txq.sq, wqe, nb_bu);
}

void
fc_ring(struct fc *fc)
{
	mana_wq_ring_at(&fc->txq.sq, fc->txq.sq.pi);
}

/* DPDK's driver rings it in 32-bit processes: net/mana gdma.c of its commit log. */
#define DB_SHORT_SQ_OFFSET 0x10u
#define DB_SHORT_ID_S	   16

void
fc_ring_short(struct fc *fc)
{
	const struct mana_wq *sq = &fc->txq.sq;
	const uintptr_t db = sq->db - GDMA_DB_SQ_OFFSET + DB_SHORT_SQ_OFFSET;
	const uint32_t nb_bytes = (sq->pi - sq->ci) * GDMA_BU_BYTES;

	rte_wmb();
	rte_write32_relaxed(rte_cpu_to_le_32(nb_bytes | sq->id << DB_SHORT_ID_S),
			    (volatile void *)((uintptr_t)mana_db_window + db));
	rte_wmb();
}

/* Takes the next CQE of a queue. 1: there is one; 0: none; -EIO: a wrong one. */
static int
take_cqe(const struct fc *fc, struct mana_cq *cq, struct gdma_cqe *cqe)
{
	const uint32_t trailer = mana_cq_trailer(cq, cq->ci);

	if (!mana_cq_is_ours(cq, cq->ci, trailer))
		return mana_cq_state(cq, cq->ci, trailer) == MANA_CQE_EMPTY ?
			       0 :
			       -EIO;
	mana_cqe_copy(cqe, mana_cq_cqe(cq, cq->ci));
	cq->ci++;
	if (!fc->no_cq_doorbell)
		mana_cq_update(cq);
	return 1;
}

int
fc_tx_wait(struct fc *fc, struct gdma_cqe *cqe)
{
	struct wait wait = wait_start(fc);
	struct gdma_cqe copy;
	int ret;

	do {
		ret = take_cqe(fc, &fc->txq.cq, &copy);
	} while (ret == 0 && wait_more(&wait));
	if (ret <= 0)
		return ret < 0 ? ret : -ETIMEDOUT;
	if (cqe != NULL)
		*cqe = copy;
	return (int)(rte_le_to_cpu_32(copy.tx.header) & MANA_CQE_TYPE_M);
}

int
fc_send(struct fc *fc, const struct fc_tx *tx)
{
	int type;

	fc_post(fc, tx);
	fc_ring(fc);
	type = fc_tx_wait(fc, NULL);
	if (type >= 0)
		fc->txq.sq.ci = fc->txq.sq.pi;
	return type;
}

static int
send_plain(struct fc *fc, uint32_t *tag)
{
	static const struct fc_frame_spec spec = { .payload_bytes = 64 };
	struct fc_frame frame;
	struct fc_tx tx;

	fc_frame_build(fc, &spec, &frame);
	tx = fc_tx_of(&frame);
	*tag = frame.tag;
	return fc_send(fc, &tx);
}

int
fc_send_plain(struct fc *fc)
{
	uint32_t tag;

	return send_plain(fc, &tag);
}

/* ---- Rx ---- */

void
fc_rx_post(struct fc *fc, uint32_t queue, const struct fc_rx_wqe *wqe)
{
	struct fc_rxq *rxq = &fc->rxq[queue];
	const uint32_t nb_bu = mana_wqe_bu(GDMA_WQE_SGL_SHORT_BYTES, wqe->nb_sge);
	struct fc_rx_wqe *record = &rxq->wqes[rxq->posted % FC_NB_DESC];
	uint64_t words[2 * GDMA_BU_WORDS] = { 0 };

	if (rxq->posted - rxq->done == FC_NB_DESC ||
	    mana_wq_free_bu(&rxq->rq) < nb_bu)
		return;
	words[0] = rte_cpu_to_le_64(
		GDMA_WQE_HEADER(wqe->nb_sge, GDMA_OOB_SHORT_DIV4));
	for (uint32_t i = 0; i < wqe->nb_sge; i++)
		put_sge(words + 2 + i * 2, fc, fc->rx->mr, wqe->sge[i].off,
			wqe->sge[i].nb_bytes);
	*record = *wqe;
	record->pos = rxq->rq.pi;
	rxq->posted++;
	put_wqe(&rxq->rq, words, nb_bu);
}

void
fc_rx_ring(struct fc *fc, uint32_t queue)
{
	mana_wq_ring_at(&fc->rxq[queue].rq, fc->rxq[queue].rq.pi);
}

/* Number of packets of a CQE; each has used a WQE. */
static uint32_t
count_packets(const struct gdma_cqe *cqe, uint32_t type)
{
	uint32_t nb = 0;

	switch (type) {
	case MANA_CQE_RX_OKAY:
	case MANA_CQE_RX_TRUNCATED:
		return 1;
	case MANA_CQE_RX_COALESCED_4:
		while (nb < MANA_RX_CQE_NB_PPI &&
		       (uint16_t)rte_le_to_cpu_32(cqe->rx.ppi[nb].len) != 0)
			nb++;
		return nb;
	case MANA_CQE_RX_COALESCED_8:
		/* Two packets in each ppi: see mana_hw.h. */
		for (; nb < MANA_RX_CQE_MAX_PKTS; nb++) {
			uint32_t lens =
				rte_le_to_cpu_32(cqe->rx.ppi[nb / 2].reserved);

			if ((lens >> (nb % 2 * 16) & UINT16_MAX) == 0)
				break;
		}
		return nb;
	default:
		return 0;
	}
}

static void
read_packet(const struct gdma_cqe *cqe, uint32_t place, struct fc_packet *packet)
{
	const uint32_t flags = rte_le_to_cpu_32(cqe->rx.flags);

	packet->place = place;
	packet->flags = flags;
	packet->hash_type = flags >> MANA_RX_CQE_HASH_TYPE_S &
			    MANA_RX_CQE_HASH_TYPE_M;
	packet->csum = flags >> MANA_RX_CQE_CSUM_S & MANA_RX_CQE_CSUM_M;
	packet->wqe_offset = rte_le_to_cpu_32(cqe->rx.wqe_offset);
	if (packet->cqe_type != MANA_CQE_RX_COALESCED_8) {
		packet->nb_bytes =
			(uint16_t)rte_le_to_cpu_32(cqe->rx.ppi[place].len);
		packet->hash = rte_le_to_cpu_32(cqe->rx.ppi[place].hash);
		return;
	}
	packet->nb_bytes = rte_le_to_cpu_32(cqe->rx.ppi[place / 2].reserved) >>
				   (place % 2 * 16) &
			   UINT16_MAX;
	packet->hash = rte_le_to_cpu_32(place % 2 == 0 ?
						cqe->rx.ppi[place / 2].len :
						cqe->rx.ppi[place / 2].hash);
}

/* Copies the packet from its buffers, and posts them again. */
static void
take_wqe(struct fc *fc, uint32_t queue, struct fc_packet *packet)
{
	struct fc_rxq *rxq = &fc->rxq[queue];
	const struct fc_rx_wqe wqe = rxq->wqes[rxq->done % FC_NB_DESC];
	uint32_t done = 0;

	packet->pos = wqe.pos;
	for (uint32_t i = 0; i < wqe.nb_sge; i++) {
		uint32_t n = RTE_MIN(wqe.sge[i].nb_bytes, FC_RX_BUF_BYTES - done);

		memcpy(packet->data + done, fc->memory + wqe.sge[i].off, n);
		done += n;
	}
	memset(packet->data + done, 0, FC_RX_BUF_BYTES - done);
	rxq->done++;
	rxq->rq.ci += mana_wqe_bu(GDMA_WQE_SGL_SHORT_BYTES, wqe.nb_sge);
	fc_rx_post(fc, queue, &wqe);
	fc_rx_ring(fc, queue);
}

/* The next packet of the CQE that is being read, or of a new one. */
static bool
poll_queue(struct fc *fc, uint32_t queue, struct fc_packet *packet)
{
	struct fc_rxq *rxq = &fc->rxq[queue];
	uint32_t type;

	while (rxq->cqe_next == rxq->cqe_nb) {
		if (take_cqe(fc, &rxq->cq, &rxq->cqe) != 1)
			return false;
		type = rte_le_to_cpu_32(rxq->cqe.rx.header) & MANA_CQE_TYPE_M;
		rxq->cqe_next = 0;
		rxq->cqe_nb = count_packets(&rxq->cqe, type);
	}
	/* A wrong count would take buffers that the adapter still owns. */
	if (rxq->posted == rxq->done) {
		rxq->cqe_next = rxq->cqe_nb;
		return false;
	}
	packet->queue = queue;
	packet->cqe_type = rte_le_to_cpu_32(rxq->cqe.rx.header) & MANA_CQE_TYPE_M;
	read_packet(&rxq->cqe, rxq->cqe_next++, packet);
	take_wqe(fc, queue, packet);
	return true;
}

bool
fc_rx_poll(struct fc *fc, struct fc_packet *packet)
{
	for (uint32_t i = 0; i < fc->setup.nb_rxq; i++)
		if (poll_queue(fc, i, packet))
			return true;
	return false;
}

bool
fc_rx_wait(struct fc *fc, struct fc_packet *packet)
{
	struct wait wait = wait_start(fc);

	do {
		if (fc_rx_poll(fc, packet))
			return true;
	} while (wait_more(&wait));
	return false;
}

bool
fc_has_tag(const struct fc_packet *packet, uint32_t tag)
{
	uint8_t bytes[FC_TAG_BYTES];

	fc_tag_write(tag, bytes);
	return memmem(packet->data, FC_RX_BUF_BYTES, bytes, sizeof(bytes)) !=
	       NULL;
}

bool
fc_receive(struct fc *fc, uint32_t tag, struct fc_packet *packet)
{
	struct wait wait = wait_start(fc);
	uint32_t last;

	if (send_plain(fc, &last) < 0)
		return false;
	do {
		bool is_last = false;

		/*
		 * All queues: the frame may be in another one than the last. Others
		 * may send to this port without end.
		 */
		for (uint32_t i = 0; i < MAX_FOREIGN; i++) {
			if (!fc_rx_poll(fc, packet))
				break;
			if (fc_has_tag(packet, tag))
				return true;
			is_last |= fc_has_tag(packet, last);
		}
		if (is_last)
			return false;
	} while (wait_more(&wait));
	return false;
}

int
fc_pass(struct fc *fc, const struct fc_frame *frame, const struct fc_tx *tx,
	struct fc_packet *packet)
{
	for (uint32_t i = 0; i < FC_NB_TRIES; i++) {
		int type = fc_send(fc, tx);

		if (type != MANA_CQE_TX_OKAY ||
		    fc_receive(fc, frame->tag, packet))
			return type;
	}
	return -ENODATA;
}

int
fc_pass_spec(struct fc *fc, const struct fc_frame_spec *spec,
	     struct fc_frame *frame, struct fc_packet *packet)
{
	struct fc_tx tx;

	fc_frame_build(fc, spec, frame);
	tx = fc_tx_of(frame);
	return fc_pass(fc, frame, &tx, packet);
}

int
fc_pass_flow(struct fc *fc, uint32_t flow, struct fc_frame *frame,
	     struct fc_packet *packet)
{
	const struct fc_frame_spec spec = { .flow = (uint16_t)flow,
					    .payload_bytes = 64 };

	return fc_pass_spec(fc, &spec, frame, packet);
}

bool
fc_send_flow(struct fc *fc, const struct fc_frame_spec *spec,
	     struct fc_frame *frame)
{
	struct fc_tx tx;

	fc_frame_build(fc, spec, frame);
	tx = fc_tx_of(frame);
	return fc_send(fc, &tx) == MANA_CQE_TX_OKAY;
}

bool
fc_find_flows(struct fc *fc, uint32_t flow[2])
{
	flow[0] = FC_NOT_SET;
	flow[1] = FC_NOT_SET;
	for (uint32_t i = 0; i < FC_NB_FLOWS; i++) {
		struct fc_packet packet;
		struct fc_frame frame;
		const int type = fc_pass_flow(fc, i, &frame, &packet);

		if (type != MANA_CQE_TX_OKAY || packet.queue > 1)
			return false;
		flow[packet.queue] = i;
	}
	return flow[0] != FC_NOT_SET && flow[1] != FC_NOT_SET;
}

const char *
fc_cqe_name(int type)
{
	static const char *const names[] = {
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
	static char other[32];

	if (type == -ENODATA)
		return "sent, but never received";
	if (type == -ETIMEDOUT)
		return "no completion";
	if (type < 0)
		return "a completion that belongs to no queue";
	if (type < (int)RTE_DIM(names) && names[type] != NULL)
		return names[type];
	snprintf(other, sizeof(other), "completion type %d", type);
	return other;
}
