/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The slow lane of the Rx burst: any CQE, one at a time, packet by packet, on a copy
 * that is made once, after a check of the owner bits. The next burst delivers the
 * packets of a CQE that do not fit in a burst.
 */

#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mbuf_ptype.h>
#include <rte_mempool.h>

#include "mana_rx.h"
#include "mana_vec.h"

#define MANA_RX_SLOW_CQES 4 /* before the loop tries again */

/*
 * ---- Completion bits to mbuf fields ------------------------------------------
 *
 * Tables: the compiler must not know the values in the loops, where it would compute some
 * again in each round.
 */

/*
 * Both good and bad means unknown. The L4 result does not depend on the IP result:
 * Linux requires a good IP header, OpenVMM does not, and it is not known whether the
 * device reports one for IPv6.
 */
#define VERDICT(bits, ok, bad, f_ok, f_bad) \
	(((bits) & (ok)) && !((bits) & (bad)) ? (f_ok) : \
	 ((bits) & (bad)) && !((bits) & (ok)) ? (f_bad) : 0)

/* ASSUMED: l4-flags */
#define CSUM(bits) \
	(VERDICT(bits, MANA_RX_CSUM_IP_OK, MANA_RX_CSUM_IP_BAD, \
		 RTE_MBUF_F_RX_IP_CKSUM_GOOD, RTE_MBUF_F_RX_IP_CKSUM_BAD) | \
	 VERDICT(bits, MANA_RX_CSUM_TCP_OK | MANA_RX_CSUM_UDP_OK, \
		 MANA_RX_CSUM_TCP_BAD | MANA_RX_CSUM_UDP_BAD, \
		 RTE_MBUF_F_RX_L4_CKSUM_GOOD, RTE_MBUF_F_RX_L4_CKSUM_BAD))

static_assert(MANA_RX_CSUM_FLAGS >> 16 == 0, "checksum flags fit the table");

/*
 * The hash type is a bit mask. Without a hash the packet type is unknown; the
 * packet may not even be IP. ASSUMED: hash-type
 */
#define HASH_V4 (MANA_HASH_IPV4 | MANA_HASH_TCP_IPV4 | MANA_HASH_UDP_IPV4)
#define HASH_V6 (MANA_RX_CQE_HASH_TYPE_M & ~HASH_V4)
#define HASH_TCP (MANA_HASH_TCP_IPV4 | MANA_HASH_TCP_IPV6 | MANA_HASH_TCP_IPV6_EX)
#define HASH_UDP (MANA_HASH_UDP_IPV4 | MANA_HASH_UDP_IPV6 | MANA_HASH_UDP_IPV6_EX)

#define PTYPE(type) \
	((type) == 0 ? RTE_PTYPE_UNKNOWN : \
	 RTE_PTYPE_L2_ETHER | \
	 VERDICT(type, HASH_V4, HASH_V6, RTE_PTYPE_L3_IPV4_EXT_UNKNOWN, \
		 RTE_PTYPE_L3_IPV6_EXT_UNKNOWN) | \
	 VERDICT(type, HASH_TCP, HASH_UDP, RTE_PTYPE_L4_TCP, RTE_PTYPE_L4_UDP))

struct mana_rx_fields mana_rx_fields;

RTE_INIT(mana_rx_fields_init)
{
	for (uint32_t i = 0; i < RTE_DIM(mana_rx_fields.hash); i++)
		mana_rx_fields.hash[i] = (struct mana_rx_hash){
			PTYPE(i), i == 0 ? 0 : RTE_MBUF_F_RX_RSS_HASH };
	for (uint32_t i = 0; i < RTE_DIM(mana_rx_fields.csum_flags); i++)
		mana_rx_fields.csum_flags[i] = CSUM(i);
}

/* mbuf flags, shifted right by one, by flags bits 25 on (IP), and 27 on (L4) */
#define IP(i) (CSUM(i) >> 1)
#define L4(i) (CSUM((i) << 2) >> 1)
static_assert(MANA_RX_CQE_CSUM_S == 25, "checksum bits as in the tables");

#define SAME(x) { x, x, x, x }
#define Z MANA_VEC_0

const struct mana_rx_vec_const mana_rx_vec_const = {
	.ip = {
		IP(0), IP(1), IP(2), IP(3), IP(0), IP(1), IP(2), IP(3),
		IP(0), IP(1), IP(2), IP(3), IP(0), IP(1), IP(2), IP(3),
	},
	.l4 = {
		L4(0), L4(1), L4(2), L4(3), L4(4), L4(5), L4(6), L4(7),
		L4(8), L4(9), L4(10), L4(11), L4(12), L4(13), L4(14), L4(15),
	},
	.first = { Z, Z, Z, Z, 4, 5, Z, Z, 4, 5, Z, Z, 12, 13, 14, 15 },
	.mid = { Z, Z, Z, Z, 0, 1, Z, Z, 0, 1, Z, Z, 8, 9, 10, 11 },
	.last = { Z, Z, Z, Z, 8, 9, Z, Z, 8, 9, Z, Z, 0, 1, 2, 3 },
	.types = SAME(MANA_CQE_RX_OKAY),
	.type = SAME(MANA_CQE_TYPE_M),
	.hash_type = SAME(MANA_RX_CQE_HASH_TYPE_M << MANA_RX_CQE_HASH_TYPE_S),
	.trailers = SAME(MANA_CQ_TRAILER_M),
	.tag = SAME(RTE_BIT32(MANA_RX_CQE_VLAN_S)),
	.len = SAME(UINT16_MAX),
};

/* ---- Fields of the copy ------------------------------------------------- */

struct mana_rx_pkt {
	uint32_t len;
	uint32_t hash;
};

/* Packet i, below MANA_RX_CQE_MAX_PKTS, below 4 where not coalesced by 8. */
static inline struct mana_rx_pkt
mana_rx_cqe_pkt(const struct gdma_cqe *cqe, uint32_t i)
{
	if (likely(mana_rx_cqe_type(cqe) != MANA_CQE_RX_COALESCED_8))
		return (struct mana_rx_pkt){
			rte_le_to_cpu_32(cqe->rx.ppi[i].len) & UINT16_MAX,
			rte_le_to_cpu_32(cqe->rx.ppi[i].hash),
		};
	/* Two in each entry; its words are hash, both lengths, hash. */
	return (struct mana_rx_pkt){
		rte_le_to_cpu_32(cqe->rx.ppi[i / 2].reserved) >> i % 2 * 16 & UINT16_MAX,
		rte_le_to_cpu_32(i % 2 == 0 ? cqe->rx.ppi[i / 2].len : cqe->rx.ppi[i / 2].hash),
	};
}

/* Packets of a CQE: the first length of 0 ends the list. */
static inline uint32_t
mana_rx_cqe_nb_pkts(const struct gdma_cqe *cqe)
{
	const uint32_t type = mana_rx_cqe_type(cqe);
	uint32_t max = 0, nb = 0;

	if (type == MANA_CQE_RX_OKAY)
		max = 1;
	else if (type == MANA_CQE_RX_COALESCED_4)
		max = MANA_RX_CQE_NB_PPI;
	else if (type == MANA_CQE_RX_COALESCED_8)
		max = MANA_RX_CQE_MAX_PKTS;
	while (nb < max && mana_rx_cqe_pkt(cqe, nb).len != 0)
		nb++;
	return nb;
}

uint32_t
mana_rx_cqe_nb_wqes(const struct gdma_cqe *cqe)
{
	return mana_rx_cqe_type(cqe) == MANA_CQE_RX_TRUNCATED ? 1 : mana_rx_cqe_nb_pkts(cqe);
}

/* ---- CQEs and packets that are not delivered ---------------------------- */

/* The queue fails because of this CQE. */
static void
mana_rx_fatal(struct mana_hwq *hwq, const struct gdma_cqe *cqe, enum mana_queue_failure failure)
{
	mana_bad_cqe_note(hwq->bad_cqes, cqe, true);
	mana_hwq_fail(hwq, failure);
}

/*
 * Drop the oldest packet, of the CQE that was taken last: record it, count it, and free its
 * buffer. If nothing is posted, count a spurious completion instead.
 */
static __rte_noinline void
mana_rx_drop(struct mana_hwq *hwq, uint64_t *counter)
{
	struct rte_mbuf *m;

	mana_bad_cqe_note(hwq->bad_cqes, &hwq->part.cqe, false);
	if (mana_hwq_nb_posted(hwq) == 0) {
		hwq->stats.cqe_spurious++;
		return;
	}
	(*counter)++;
	/* Several buffers stay in their slot, and are posted again. */
	m = hwq->mbufs[hwq->rq.ci & hwq->mbuf_mask];
	/* The index moves before the free, as in mana_tx_free_to(). */
	hwq->rq.ci++;
	rte_compiler_barrier();
	if (hwq->scatter.nb_segs == 0)
		rte_mempool_put(m->pool, m);
}

void
mana_hwq_fail(struct mana_hwq *hwq, enum mana_queue_failure failure)
{
	mana_atomic_store(&hwq->failure, failure);
	hwq->stats.failed++;
	mana_hwq_close(hwq);
}

/*
 * The CQE that was taken last has no packet. Whether one of unknown type has used WQEs,
 * or one of a packet without length, is not known (Linux says no, OpenVMM yes), and a
 * wrong guess would deliver each later packet in the buffer of another one. So the queue
 * fails, and is rebuilt. ASSUMED: unknown-cqe
 */
static __rte_noinline __rte_cold void
mana_rx_no_packet(struct mana_hwq *hwq)
{
	struct mana_rx_scatter *scatter = &hwq->scatter;
	const uint32_t len = mana_rx_cqe_pkt(&hwq->part.cqe, 0).len;

	switch (mana_rx_cqe_type(&hwq->part.cqe)) {
	case MANA_CQE_RX_OKAY:
	case MANA_CQE_RX_COALESCED_4:
	case MANA_CQE_RX_COALESCED_8:
		hwq->stats.zero_len++;
		mana_rx_fatal(hwq, &hwq->part.cqe, MANA_FAILURE_UNKNOWN_CQE);
		break;
	case MANA_CQE_RX_OBJECT_FENCE:
		hwq->stats.fence++;
		break;
	case MANA_CQE_RX_TRUNCATED:
		/* The packet would have fitted, had the device used all buffers. */
		scatter->has_missed |= scatter->nb_segs != 0 &&
				       len > scatter->segs[0].bytes &&
				       len <= scatter->bytes;
		mana_rx_drop(hwq, &hwq->stats.truncated);
		break;
	default:
		hwq->stats.cqe_unknown++;
		mana_rx_fatal(hwq, &hwq->part.cqe, MANA_FAILURE_UNKNOWN_CQE);
	}
}

/* The next CQE is not a new one of this queue. True when it is skipped. */
static bool
mana_rx_skip(struct mana_hwq *hwq, uint32_t trailer)
{
	const struct gdma_cqe *cqe = mana_cq_cqe(&hwq->cq, hwq->cq.ci);
	enum mana_cqe_state state = mana_cq_state(&hwq->cq, hwq->cq.ci, trailer);

	if (state == MANA_CQE_FOREIGN) {
		hwq->stats.cqe_foreign++;
		mana_bad_cqe_note(hwq->bad_cqes, cqe, false);
		hwq->cq.ci++;
	} else if (state == MANA_CQE_OVERRUN) {
		hwq->stats.cqe_overrun++;
		mana_rx_fatal(hwq, cqe, MANA_FAILURE_OVERRUN);
	}
	return state == MANA_CQE_FOREIGN;
}

/* ---- Packets ------------------------------------------------------------ */

/* Put a tag back into the frame. What moves may lie in several segments. */
static __rte_noinline void
mana_rx_tag_insert(struct rte_mbuf *m, uint16_t tci)
{
	uint8_t head[2 * RTE_ETHER_ADDR_LEN + RTE_VLAN_HLEN];
	uint32_t nb = RTE_MIN(m->pkt_len, 2u * RTE_ETHER_ADDR_LEN);
	uint32_t at = 0, part;

	memmove(head, rte_pktmbuf_read(m, 0, nb, head), nb);
	head[nb++] = RTE_ETHER_TYPE_VLAN >> 8;
	head[nb++] = RTE_ETHER_TYPE_VLAN & 0xff;
	head[nb++] = tci >> 8;
	head[nb++] = tci & 0xff;
	/* mana_hwq_init() has checked that the headroom suffices. */
	(void)rte_pktmbuf_prepend(m, RTE_VLAN_HLEN);
	for (; at < nb; at += part, m = m->next) {
		part = RTE_MIN((uint32_t)m->data_len, nb - at);
		memcpy(rte_pktmbuf_mtod(m, uint8_t *), head + at, part);
	}
}

/*
 * The device always strips tags. The tag goes into the mbuf, and back into the
 * frame if the application did not ask for stripping. Priority and DEI are lost
 * (Linux mana.h: rx_vlan_id has 12 bits).
 */
static __rte_noinline void
mana_rx_vlan(const struct mana_hwq *hwq, struct rte_mbuf *m, uint16_t tci)
{
	m->ol_flags |= RTE_MBUF_F_RX_VLAN;
	m->vlan_tci = tci;
	if (hwq->vlan_strip) {
		m->ol_flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
		return;
	}
	if (m->packet_type != RTE_PTYPE_UNKNOWN)
		m->packet_type ^= RTE_PTYPE_L2_ETHER ^ RTE_PTYPE_L2_ETHER_VLAN;
	mana_rx_tag_insert(m, tci);
}

/* The oldest WQE becomes a packet. There is such a WQE, and pkt->len is valid. */
static struct rte_mbuf *
mana_rx_deliver(struct mana_hwq *hwq, const struct mana_rx_pkt *pkt)
{
	const uint32_t flags = rte_le_to_cpu_32(hwq->part.cqe.rx.flags);
	struct rte_mbuf *m;

	if (hwq->scatter.nb_segs != 0) {
		m = mana_rx_scatter_chain(hwq, pkt->len);
	} else {
		m = hwq->mbufs[hwq->rq.ci & hwq->mbuf_mask];
		*MANA_MBUF_REARM(m) = hwq->rearm;
		m->data_len = pkt->len;
	}
	hwq->rq.ci++;
	mana_rx_describe(hwq, m, flags, pkt->len, pkt->hash);
	if (unlikely((flags & RTE_BIT32(MANA_RX_CQE_VLAN_S)) != 0))
		mana_rx_vlan(hwq, m, flags & MANA_RX_CQE_VLAN_ID_M);
	hwq->bytes += m->pkt_len;
	return m;
}

/* The counter of why a packet of this length is not delivered; NULL: it can be. */
static uint64_t *
mana_rx_fault(struct mana_hwq *hwq, uint32_t len)
{
	if (likely(len <= hwq->buf_bytes && mana_hwq_nb_posted(hwq) != 0))
		return NULL;
	/* If nothing is posted, mana_rx_drop() counts a spurious completion. */
	if (len > hwq->scatter.bytes || mana_hwq_nb_posted(hwq) == 0)
		return &hwq->stats.oversize;
	return mana_rx_scatter_is_whole(hwq, len) ? NULL : &hwq->stats.unscattered;
}

/* The packets of the CQE that was taken last. Returns those delivered. */
static uint32_t
mana_rx_part_deliver(struct mana_hwq *hwq, struct rte_mbuf **pkts, uint32_t nb_pkts)
{
	struct mana_rx_part *part = &hwq->part;
	uint64_t *fault;
	uint32_t nb = 0;

	while (nb < nb_pkts && part->next != part->nb) {
		const struct mana_rx_pkt pkt = mana_rx_cqe_pkt(&part->cqe, part->next++);

		fault = mana_rx_fault(hwq, pkt.len);
		if (unlikely(fault != NULL))
			mana_rx_drop(hwq, fault);
		else
			pkts[nb++] = mana_rx_deliver(hwq, &pkt);
	}
	return nb;
}

/* The next CQE, if there is one: false when there is not, or the queue is lost. */
static bool
mana_rx_take(struct mana_hwq *hwq)
{
	const uint32_t idx = hwq->cq.ci;
	const uint32_t trailer = mana_cq_trailer(&hwq->cq, idx);
	struct mana_rx_part *part = &hwq->part;

	if (unlikely(!mana_cq_is_ours(&hwq->cq, idx, trailer)))
		return mana_rx_skip(hwq, trailer);
	mana_cqe_copy(&part->cqe, mana_cq_cqe(&hwq->cq, idx));
	hwq->cq.ci = idx + 1;
	part->next = 0;
	part->nb = mana_rx_cqe_nb_pkts(&part->cqe);
	if (unlikely(part->nb == 0))
		mana_rx_no_packet(hwq);
	else if (part->nb > MANA_RX_CQE_NB_PPI)
		hwq->ppi_shift = MANA_RX_CQE_MAX_PKTS_SHIFT;
	else if (part->nb > 1)
		hwq->ppi_shift = RTE_MAX(hwq->ppi_shift, MANA_RX_CQE_PPI_SHIFT);
	return true;
}

__rte_noinline uint32_t
mana_rx_slow(struct mana_hwq *hwq, struct rte_mbuf **pkts, uint32_t nb_pkts, uint32_t *budget)
{
	const struct mana_rx_part *part = &hwq->part;
	uint32_t nb = 0, nb_cqes = 0, nb_new;

	do {
		if (part->next == part->nb && !mana_rx_take(hwq)) {
			*budget = 0;
			break;
		}
		nb_new = mana_rx_part_deliver(hwq, &pkts[nb], nb_pkts - nb);
		nb += nb_new;
		if (unlikely(nb_new == 0)) {
			(*budget)--;
			/* No refill follows, so report the CQ position here. */
			mana_rx_cq_update(hwq);
		}
		/* The loop believes that each CQE uses WQEs in order. */
	} while (nb < nb_pkts && *budget > 0 && ++nb_cqes < MANA_RX_SLOW_CQES);
	hwq->slow_flags &= ~MANA_RX_SLOW_LANE;
	if (part->next != part->nb)
		hwq->slow_flags |= MANA_RX_SLOW_LANE;
	return nb;
}
