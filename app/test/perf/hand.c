/* SPDX-License-Identifier: BSD-3-Clause */

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hand.h"

static __typeof__(&mana_model_queue) model_queue;
static __typeof__(&mana_model_region) model_region;

void
hand_fail(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "FAIL ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	_Exit(EXIT_FAILURE);
}

void
hand_begin(void)
{
	void *queue = dlsym(RTLD_DEFAULT, "mana_model_queue");
	void *region = dlsym(RTLD_DEFAULT, "mana_model_region");

	if (queue == NULL || region == NULL)
		hand_fail("not on a modelled machine: run under mana-model --mode step");
	memcpy(&model_queue, &queue, sizeof(queue));
	memcpy(&model_region, &region, sizeof(region));
}

static uint32_t
wqe_word(const struct hand *hand, uint32_t pos_bytes)
{
	return hw_le32((const uint8_t *)hand->at.ring +
		       (pos_bytes & (hand->at.ring_bytes - 1)));
}

/* A CQ doorbell is rung in each lap, and not ahead of written CQEs. */
static void
ring_cq(struct hand *hand, uint64_t word)
{
	const uint32_t n = hand->at.nb_cqes;
	const uint32_t tail = word >> HW_DB_TAIL_S & HW_DB_CQ_TAIL_M;

	if ((word & HW_DB_ID_M) != hand->at.cq_id)
		return; /* of another CQ */
	hand->nb_cq_rung++;
	if (((hand->cq_pi - tail) & (8 * n - 1)) > 2 * n)
		hand_fail("%s: the CQ doorbell says %u, %u are written", hand->who,
			  tail, hand->cq_pi);
}

void
hand_ring(struct hand *hand, const struct hand_registers *before,
	  const struct hand_registers *now)
{
	const uint64_t word = hand->is_tx ? now->sq : now->rq;

	if (now->cq != before->cq)
		ring_cq(hand, now->cq);
	if (word == (hand->is_tx ? before->sq : before->rq))
		return;
	if ((word & HW_DB_ID_M) != hand->at.id)
		hand_fail("%s: doorbell of queue %" PRIu64 ", not %u", hand->who,
			  word & HW_DB_ID_M, hand->at.id);
	hand->nb_rung++;
	hand->rung_bytes = (uint32_t)(word >> HW_DB_TAIL_S);
}

struct sge {
	uint64_t addr;
	uint32_t key, size_bytes;
};

static struct sge
sge_at(const struct hand *hand, uint32_t pos)
{
	return (struct sge){
		.addr = wqe_word(hand, pos) | (uint64_t)wqe_word(hand, pos + 4) << 32,
		.key = wqe_word(hand, pos + HW_SGE_KEY_OFF),
		.size_bytes = wqe_word(hand, pos + HW_SGE_SIZE_OFF),
	};
}

/* Whether the key covers the SGE. */
static bool
is_reached(struct hand *hand, const struct sge *sge)
{
	if (sge->key != hand->key || hand->key_bytes == 0) {
		if (model_region(hand->fn, sge->key, &hand->key_addr,
				 &hand->key_bytes) != 0)
			return false;
		hand->key = sge->key;
	}
	return sge->addr >= hand->key_addr && sge->size_bytes <= hand->key_bytes &&
	       sge->addr - hand->key_addr <= hand->key_bytes - sge->size_bytes;
}

static struct sge
read_sge(struct hand *hand, uint32_t pos)
{
	const struct sge sge = sge_at(hand, pos);

	if (!is_reached(hand, &sge))
		hand_fail("%s: %#" PRIx64 ", %u bytes, is not reached by key %#x",
			  hand->who, sge.addr, sge.size_bytes, sge.key);
	return sge;
}

/*
 * Checks the WQE header and returns the offset of the SGL. Unused bits are 0; more: the
 * other bits of word 1.
 */
static uint32_t
check_header(const struct hand *hand, uint32_t pos, uint32_t nb_sge,
	     uint32_t first, uint32_t more)
{
	const uint32_t word = wqe_word(hand, pos + 4);
	const uint32_t div4 = word >> HW_WQE_OOB_DIV4_S & HW_WQE_OOB_DIV4_M;

	if (wqe_word(hand, pos) != first ||
	    word != (nb_sge << HW_WQE_NUM_SGE_S | div4 << HW_WQE_OOB_DIV4_S | more) ||
	    (div4 != HW_OOB_DIV4_SHORT && div4 != HW_OOB_DIV4_LONG))
		hand_fail("%s: WQE header %#x %#x with %u SGEs", hand->who,
			  wqe_word(hand, pos), word, nb_sge);
	return HW_WQE_HEADER_BYTES + 4 * div4;
}

static void
add_wqe(struct hand *hand, struct hand_wqe wqe, uint32_t tail_bytes)
{
	if (tail_bytes - hand->tail_bytes < wqe.nb_bytes)
		hand_fail("%s: the doorbell is inside a WQE", hand->who);
	if (hand_nb_posted(hand) == HAND_MAX_WQES)
		hand_fail("%s: too many WQEs", hand->who);
	hand->wqes[hand->last++ % HAND_MAX_WQES] = wqe;
	hand->tail_bytes += wqe.nb_bytes;
	if (hand->first != hand->last &&
	    hand->tail_bytes - hand->wqes[hand->first % HAND_MAX_WQES].pos_bytes >
	    hand->at.ring_bytes)
		hand_fail("%s: more posted than the ring holds", hand->who);
}

static uint32_t
wqe_bytes(uint32_t sgl_bytes, uint32_t nb_sge)
{
	return (sgl_bytes + nb_sge * HW_SGE_BYTES + HW_BU_BYTES - 1) &
		~(HW_BU_BYTES - 1);
}

void
hand_take_rx(struct hand *hand, uint32_t len_bytes)
{
	const uint32_t tail = hand->rung_bytes;

	while (hand->tail_bytes != tail) {
		const uint32_t pos = hand->tail_bytes;
		const uint32_t sgl = check_header(hand, pos, hand->nb_sge, 0, 0);
		uint32_t room_bytes = 0;

		for (uint32_t k = 0; k < hand->nb_sge; k++)
			room_bytes += read_sge(hand, pos + sgl + k * HW_SGE_BYTES).size_bytes;
		if (room_bytes < len_bytes)
			hand_fail("%s: buffers of %u bytes", hand->who, room_bytes);
		add_wqe(hand, (struct hand_wqe){
			.pos_bytes = pos,
			.nb_bytes = wqe_bytes(sgl, hand->nb_sge),
			.addr = sge_at(hand, pos + sgl).addr,
		}, tail);
	}
}

/* Checks the WQE header, also its TSO fields. */
static uint32_t
check_tx_header(const struct hand *hand, uint32_t pos, const struct hand_tx_packet *p)
{
	static const uint8_t zeros[2];

	if (p->lso_segsz_bytes == 0)
		return check_header(hand, pos, p->nb_segs, 0, 0);
	if (p->len_bytes[0] != p->lso_hdr_bytes)
		hand_fail("%s: the first SGE is not the headers", hand->who);
	if (memcmp(p->ip_len, zeros, sizeof(zeros)) != 0)
		hand_fail("%s: the IP length is not 0", hand->who);
	return check_header(hand, pos, p->nb_segs,
			    (uint32_t)p->lso_hdr_bytes << HW_WQE_LAST_VBYTES_S,
			    1u << HW_WQE_OOB_IN_SGL_S |
			    (uint32_t)p->lso_segsz_bytes << HW_WQE_CLIENT_DATA_UNIT_S);
}

/* Checks the inserted tag. The OOB is in the first BU and does not wrap. */
static void
check_tag(const struct hand *hand, uint32_t pos, const struct hand_tx_packet *p)
{
	const struct hw_tx_oob oob = hw_tx_oob_read((const uint8_t *)hand->at.ring +
		(pos & (hand->at.ring_bytes - 1)), p->has_tag);

	if (oob.has_stray_bits || (oob.pkt_fmt == HW_PKT_FMT_LONG) != p->has_tag ||
	    (p->has_tag && (!oob.inject_vlan || oob.tci != p->tci)))
		hand_fail("%s: the OOB does not insert the tag", hand->who);
}

static void
check_tx_oob(const struct hand *hand, uint32_t pos, const struct hand_tx_packet *p)
{
	const uint32_t word0 = wqe_word(hand, pos), word1 = wqe_word(hand, pos + 4);

	if ((word0 >> HW_OOB_VCQ_NUM_S & HW_OOB_VCQ_NUM_M) != hand->at.cq_id ||
	    (word1 >> HW_OOB_VSQ_FRAME_S & HW_OOB_VSQ_FRAME_M) != hand->at.id >> 10 ||
	    (word1 >> HW_OOB_SHORT_VP_S & HW_OOB_SHORT_VP_M) != hand->at.vp_offset)
		hand_fail("%s: Tx OOB %#x %#x has a wrong CQ, SQ frame or vPort",
			  hand->who, word0, word1);
	if (hw_bit(word0, HW_OOB_IP_CSUM_S) != (p->has_csum && !p->is_ipv6) ||
	    hw_bit(word0, HW_OOB_TCP_CSUM_S) != p->has_csum ||
	    hw_bit(word0, HW_OOB_UDP_CSUM_S))
		hand_fail("%s: Tx OOB %#x requests wrong checksums", hand->who, word0);
	if (!p->has_csum)
		return;
	if (hw_bit(word0, HW_OOB_IS_IPV4_S) == p->is_ipv6 ||
	    hw_bit(word0, HW_OOB_IS_IPV6_S) != p->is_ipv6 ||
	    (word1 >> HW_OOB_TRANS_OFF_S & HW_OOB_TRANS_OFF_M) != p->trans_off)
		hand_fail("%s: Tx OOB %#x %#x describes the frame wrongly", hand->who,
			  word0, word1);
	if (memcmp(p->tcp_csum, &p->pseudo_sum, sizeof(p->pseudo_sum)) != 0)
		hand_fail("%s: no pseudo-header sum in the TCP header", hand->who);
}

/* Without these requests mbufs are never freed, or the ring stays full. */
static void
check_asked(struct hand *hand, bool is_last)
{
	const struct hand_wqe *wqe = &hand->wqes[(hand->last - 1) % HAND_MAX_WQES];

	if (wqe->wants_cqe)
		hand->asked_bytes = hand->tail_bytes;
	else if (is_last)
		hand_fail("%s: the last WQE of a burst requests no CQE", hand->who);
	if (hand->tail_bytes - hand->asked_bytes > hand->at.ring_bytes / 4)
		hand_fail("%s: no CQE request in a quarter of the ring",
			  hand->who);
}

void
hand_take_tx(struct hand *hand, const struct hand_tx_packet *packets, uint32_t nb,
	     uint16_t burst)
{
	const uint32_t tail = hand->rung_bytes;

	for (uint32_t i = 0; i < nb; i++) {
		const struct hand_tx_packet *p = &packets[i];
		const uint32_t pos = hand->tail_bytes;
		uint32_t sgl;

		if (pos == tail)
			hand_fail("%s: the doorbell posts %u packets of %u", hand->who,
				  i, nb);
		sgl = check_tx_header(hand, pos, p);
		check_tx_oob(hand, pos + HW_WQE_HEADER_BYTES, p);
		if (p->has_tag)
			check_tag(hand, pos + HW_WQE_HEADER_BYTES, p);
		for (uint32_t k = 0; k < p->nb_segs; k++) {
			const struct sge sge = read_sge(hand, pos + sgl + k * HW_SGE_BYTES);

			if (sge.addr != p->addr[k] || sge.size_bytes != p->len_bytes[k])
				hand_fail("%s: packet %u, SGE %u is not the segment",
					  hand->who, i, k);
		}
		add_wqe(hand, (struct hand_wqe){
			.pos_bytes = pos,
			.nb_bytes = wqe_bytes(sgl, p->nb_segs),
			.addr = p->addr[0],
			.wants_cqe = !hw_bit(wqe_word(hand, pos + HW_WQE_HEADER_BYTES),
					     HW_OOB_SUPPRESS_S),
		}, tail);
		check_asked(hand, (i + 1) % burst == 0);
	}
	if (hand->tail_bytes != tail)
		hand_fail("%s: the doorbell posts more than %u packets", hand->who, nb);
}

/* The next CQE, cleared except for the trailer, which has the old lap. */
static uint32_t *
next_cqe(struct hand *hand, uint32_t *trailer)
{
	const uint32_t n = hand->at.nb_cqes;
	uint32_t *cqe = (uint32_t *)hand->at.cq_ring +
		(hand->cq_pi & (n - 1)) * (HW_CQE_BYTES / 4);

	*trailer = hand->at.id << HW_CQE_WQ_NUM_S |
		(uint32_t)hand->is_tx << HW_CQE_IS_SQ_S |
		(hand->cq_pi / n & HW_CQE_OWNER_M) << HW_CQE_OWNER_S;
	memset(cqe, 0, HW_CQE_TRAILER_OFF);
	hand->cq_pi++;
	hand->nb_cqes_written++;
	return cqe;
}

static uint32_t
cqe_header(enum hw_cqe_type type)
{
	return (uint32_t)type << HW_CQE_TYPE_S |
		HW_CQE_CLIENT_ETHERNET << HW_CQE_CLIENT_S;
}

/* Like hardware: whole words, the trailer last. */
static void
show(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Offset of the SGL. */
static uint32_t
sgl_bytes_of(const struct hand *hand, uint32_t pos)
{
	return HW_WQE_HEADER_BYTES + 4 * (wqe_word(hand, pos + 4) >>
					  HW_WQE_OOB_DIV4_S & HW_WQE_OOB_DIV4_M);
}

/*
 * Writes the first bytes of all buffers but the first. A WQE of one buffer is not read:
 * another core may run this, and would share the lines that the next refill writes.
 */
static void
write_buffers(const struct hand *hand, uint32_t pos, uint32_t hash)
{
	for (uint32_t k = 1; k < hand->nb_sge; k++) {
		const uint32_t sgl = pos + sgl_bytes_of(hand, pos);
		const struct sge sge = sge_at(hand, sgl + k * HW_SGE_BYTES);

		memcpy((void *)(uintptr_t)sge.addr, &(uint32_t){ hash + k },
		       sizeof(uint32_t));
	}
}

void
hand_receive(struct hand *hand, struct hand_rx_packet *packets, uint32_t nb,
	     uint32_t len_bytes, bool coalesced)
{
	const uint32_t nb_in_cqe = coalesced ? HW_RX_CQE_NB_PPI : 1;

	if (hand_nb_posted(hand) < nb)
		hand_fail("%s: %u buffers are posted, %u are needed", hand->who,
			  hand_nb_posted(hand), nb);
	for (uint32_t i = 0; i < nb; i += nb_in_cqe) {
		uint32_t trailer;
		uint32_t *cqe = next_cqe(hand, &trailer);

		cqe[0] = cqe_header(coalesced ? HW_CQE_RX_COALESCED_4 : HW_CQE_RX_OKAY);
		cqe[HW_RX_CQE_FLAGS_OFF / 4] = hand->rx_flags;
		cqe[HW_RX_CQE_WQE_OFFSET_OFF / 4] =
			hand->wqes[hand->first % HAND_MAX_WQES].pos_bytes;
		for (uint32_t k = 0; k < nb_in_cqe; k++) {
			struct hand_rx_packet *p = &packets[i + k];
			uint32_t *ppi = cqe + (HW_RX_CQE_PPI_OFF +
					       k * HW_RX_CQE_PPI_BYTES) / 4;

			const struct hand_wqe *wqe =
				&hand->wqes[hand->first++ % HAND_MAX_WQES];

			p->addr = wqe->addr;
			p->hash = hand->first * 0x9e3779b9u;
			write_buffers(hand, wqe->pos_bytes, p->hash);
			ppi[HW_RX_PPI_LEN_OFF / 4] = len_bytes;
			ppi[HW_RX_PPI_HASH_OFF / 4] = p->hash;
		}
		show(&cqe[HW_CQE_TRAILER_OFF / 4], trailer);
	}
}

bool
hand_stage_tx(struct hand *hand, uint32_t **word, uint32_t *value,
	      uint32_t *nb_completed)
{
	uint32_t i = hand->first;
	const struct hand_wqe *wqe;
	uint32_t *cqe;

	while (i != hand->last && !hand->wqes[i % HAND_MAX_WQES].wants_cqe)
		i++;
	if (i == hand->last)
		return false;
	wqe = &hand->wqes[i % HAND_MAX_WQES];
	cqe = next_cqe(hand, value);
	cqe[0] = cqe_header(HW_CQE_TX_OKAY);
	cqe[HW_TX_CQE_OFFSETS_OFF / 4] = hand->no_offsets ? 0 :
		(wqe->pos_bytes / HW_BU_BYTES & HW_TX_WQE_OFFSET_M) <<
		HW_TX_CQE_WQE_OFFSET_S;
	*word = &cqe[HW_CQE_TRAILER_OFF / 4];
	*nb_completed = i + 1 - hand->first;
	hand->first = i + 1;
	return true;
}

void
hand_flush_cqes(const struct hand *hand, uint32_t nb)
{
	const uint32_t n = hand->at.nb_cqes;

	for (uint32_t i = 1; i <= nb; i++)
		__builtin_ia32_clflush((const uint8_t *)hand->at.cq_ring +
				       ((hand->cq_pi - i) & (n - 1)) * HW_CQE_BYTES);
	__builtin_ia32_mfence();
}

/*
 * End of the Rx WQEs posted at the start. The doorbell register holds one queue
 * only, but a new ring is filled with ones.
 */
static uint32_t
posted_bytes(struct hand *hand)
{
	uint32_t pos = 0;

	while (pos < hand->at.ring_bytes && wqe_word(hand, pos) == 0) {
		const uint32_t sgl_bytes = sgl_bytes_of(hand, pos);
		const struct sge sge = sge_at(hand, pos + sgl_bytes);

		if (!is_reached(hand, &sge))
			break;
		pos += wqe_bytes(sgl_bytes, hand->nb_sge);
	}
	return pos;
}

/* Accounts for WQEs posted before. */
static void
begin(struct hand *hand)
{
	uint64_t word;

	hand->cq_pi = hand->at.nb_cqes;
	if (hand->is_tx)
		return;
	hand->rung_bytes = posted_bytes(hand);
	word = hand_registers(hand).rq;
	if ((word & HW_DB_ID_M) == hand->at.id &&
	    (uint32_t)(word >> HW_DB_TAIL_S) != hand->rung_bytes)
		hand_fail("%s: %u bytes are posted, the doorbell says %" PRIu64,
			  hand->who, hand->rung_bytes, word >> HW_DB_TAIL_S);
}

void
hand_start(struct hand *hand, const char *who, uint32_t fn, bool is_tx, uint32_t nth,
	   uint32_t nb_sge)
{
	int ret;

	*hand = (struct hand){ .fn = fn, .is_tx = is_tx, .who = who, .nb_sge = nb_sge,
			       .rx_flags = HAND_RX_FLAGS };
	ret = model_queue(fn, 0, is_tx, nth, &hand->at);
	if (ret != 0)
		hand_fail("%s: the model has no such %s queue of function %u: %s", who,
			  is_tx ? "send" : "receive", fn, strerror(-ret));
	if (hand->at.doorbells == NULL)
		hand_fail("the doorbell page is not plain memory: mana-model --mode step");
	begin(hand);
}

void
hand_start_at(struct hand *hand, const char *who, bool is_tx,
	      const struct mana_model_queue *at, uint32_t key)
{
	*hand = (struct hand){
		.at = *at,
		.is_tx = is_tx,
		.who = who,
		.nb_sge = 1,
		.rx_flags = HAND_RX_FLAGS,
		.key = key,
		.key_bytes = UINT64_MAX,
	};
	begin(hand);
}
