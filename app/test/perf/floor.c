/* SPDX-License-Identifier: BSD-3-Clause */

#include <netinet/in.h>
#include <smmintrin.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "floor.h"
#include "hand.h"

#define STEP 4 /* packets per round */

struct cq {
	const uint8_t *ring;
	uint32_t mask, lap_shift;
	uint32_t ci; /* starts at the ring's size */
};

struct rxq {
	struct cq cq;
	uint8_t *wqes; /* with key and size; addresses are written later */
	struct rte_mbuf **mbufs;
	struct rte_mempool *pool;
	uint32_t mask;
	uint32_t pi, ci; /* of WQEs */
	uint32_t thresh;
	uint32_t nb_taken; /* delivered packets of the CQE at cq.ci */
	uint64_t rearm; /* first mbuf word to set */
	uint64_t data_off; /* from the mbuf to its frame */
	volatile uint64_t *doorbell;
	uint64_t id;
	uint64_t packets, bytes;
};

/* A Tx WQE that requests a CQE: the end of the WQEs and mbufs it completes. */
struct asked {
	uint32_t pi_bu, mbufs_pi;
};

struct txq {
	struct cq cq;
	uint8_t *wqes;
	uint32_t mask_bytes;
	uint32_t pi_bu, ci_bu; /* of WQEs */
	struct rte_mbuf **mbufs;
	uint32_t mask; /* of mbufs and asked */
	uint32_t mbufs_pi, mbufs_ci;
	struct asked *asked;
	uint32_t asked_pi, asked_ci;
	struct rte_mempool *pool;
	uint64_t key;
	uint64_t oob; /* without CQE request */
	volatile uint64_t *doorbell;
	uint64_t id;
	uint64_t packets, bytes;
};

static void
cq_init(struct cq *cq, const struct mana_model_queue *at)
{
	cq->ring = at->cq_ring;
	cq->mask = at->nb_cqes - 1;
	cq->lap_shift = rte_log2_u32(at->nb_cqes);
	cq->ci = at->nb_cqes;
}

static inline uint32_t
word_at(const uint8_t *bytes, size_t offset)
{
	uint32_t word;

	/* IP headers are unaligned */
	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static inline const uint8_t *
cqe_at(const struct cq *cq, uint32_t index)
{
	return cq->ring + (size_t)(index & cq->mask) * HW_CQE_BYTES;
}

/* The owner bits of this lap, shifted. */
static inline uint32_t
owner_of(const struct cq *cq, uint32_t index)
{
	return index >> cq->lap_shift << HW_CQE_OWNER_S;
}

static inline bool
is_ready(const struct cq *cq, uint32_t index)
{
	return (word_at(cqe_at(cq, index), HW_CQE_TRAILER_OFF) ^ owner_of(cq, index)) >>
		HW_CQE_OWNER_S == 0;
}

/* Two fences, because the doorbell page of a real card is write-combining. */
static inline void
ring(volatile uint64_t *doorbell, uint64_t id, uint32_t tail_bu)
{
	_mm_sfence();
	*doorbell = id | (uint64_t)(tail_bu * HW_BU_BYTES) << HW_DB_TAIL_S;
	_mm_sfence();
}

/* --- Rx --- */

/* mbuf flags shifted right by one, by bits of the CQE's flags word. */
#define IP_GOOD (RTE_MBUF_F_RX_IP_CKSUM_GOOD >> 1)
#define IP_BAD (RTE_MBUF_F_RX_IP_CKSUM_BAD >> 1)
#define L4_GOOD (RTE_MBUF_F_RX_L4_CKSUM_GOOD >> 1)
#define L4_BAD (RTE_MBUF_F_RX_L4_CKSUM_BAD >> 1)
#define CSUM_S 25 /* IP and TCP: four bits */
#define UDP_S 29
static_assert(HW_RX_F_IP_OK == 1u << CSUM_S && HW_RX_F_TCP_FAIL == 1u << (CSUM_S + 3) &&
	      HW_RX_F_UDP_OK == 1u << UDP_S, "checksums in the flags word");

static const uint8_t ip_tcp_flags[16] = {
	0, IP_GOOD, IP_BAD, 0,
	L4_GOOD, L4_GOOD | IP_GOOD, L4_GOOD | IP_BAD, 0,
	L4_BAD, L4_BAD | IP_GOOD, L4_BAD | IP_BAD, 0,
};
static const uint8_t udp_flags[16] = { 0, L4_GOOD, L4_BAD };

static inline uint64_t
rx_flags(uint32_t flags)
{
	uint64_t ol_flags = (uint64_t)(ip_tcp_flags[flags >> CSUM_S & 15] |
				       udp_flags[flags >> UDP_S & 3]) << 1;

	if ((flags & 0x1ffu << HW_RX_F_HASH_TYPE_S) != 0)
		ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
	return ol_flags;
}

#define RX_REFILL_MAX 256

/* Posts nb buffers. */
static inline void
rx_refill(struct rxq *q, uint32_t nb)
{
	struct rte_mempool_cache *cache = rte_mempool_default_cache(q->pool, rte_lcore_id());
	const __m128i offset = _mm_set1_epi64x((int64_t)q->data_off);
	uint32_t pi = q->pi;
	void *objs[RX_REFILL_MAX], **from = objs;

	if (likely(cache != NULL && cache->len >= nb)) {
		cache->len -= nb;
		from = &cache->objs[cache->len];
	} else if (rte_mempool_get_bulk(q->pool, objs, nb) != 0) {
		hand_fail("floor: empty mempool");
	}
	while (nb > 0) {
		const uint32_t at = pi & q->mask;
		const uint32_t run = RTE_MIN(nb, q->mask + 1 - at);
		struct rte_mbuf **mbufs = &q->mbufs[at];
		uint8_t *addr = q->wqes + (size_t)at * HW_BU_BYTES + 16;
		void **const end = from + (run & ~(STEP - 1u));

		for (; from < end; from += STEP, mbufs += STEP, addr += STEP * HW_BU_BYTES) {
			const __m128i a = _mm_loadu_si128((void *)from);
			const __m128i b = _mm_loadu_si128((void *)(from + 2));
			const __m128i to_a = _mm_add_epi64(a, offset);
			const __m128i to_b = _mm_add_epi64(b, offset);

			_mm_storeu_si128((void *)mbufs, a);
			_mm_storeu_si128((void *)(mbufs + 2), b);
			_mm_storel_epi64((void *)addr, to_a);
			_mm_storeh_pd((void *)(addr + 32), _mm_castsi128_pd(to_a));
			_mm_storel_epi64((void *)(addr + 64), to_b);
			_mm_storeh_pd((void *)(addr + 96), _mm_castsi128_pd(to_b));
		}
		for (uint32_t i = run & (STEP - 1); i > 0; i--, addr += HW_BU_BYTES) {
			*mbufs++ = *from;
			*(uint64_t *)addr = (uintptr_t)*from++ + q->data_off;
		}
		pi += run;
		nb -= run;
	}
	q->pi = pi;
	ring(q->doorbell, q->id, pi);
}

/* The same word of four CQEs. */
static __rte_always_inline __m128i
four_words(const uint8_t *cqe, size_t offset)
{
	__m128i v = _mm_cvtsi32_si128((int)word_at(cqe, offset));

	v = _mm_insert_epi32(v, (int)word_at(cqe, HW_CQE_BYTES + offset), 1);
	v = _mm_insert_epi32(v, (int)word_at(cqe, 2 * HW_CQE_BYTES + offset), 2);
	return _mm_insert_epi32(v, (int)word_at(cqe, 3 * HW_CQE_BYTES + offset), 3);
}

static __rte_always_inline void
put(struct rte_mbuf *m, __m128i rearm, __m128i fields)
{
	_mm_storeu_si128((void *)&m->data_off, rearm);
	_mm_storeu_si128((void *)&m->packet_type, fields);
}

static __rte_always_inline void
move(struct rte_mbuf **to, struct rte_mbuf *const *from)
{
	_mm_storeu_si128((void *)to, _mm_loadu_si128((const void *)from));
	_mm_storeu_si128((void *)(to + 2), _mm_loadu_si128((const void *)(from + 2)));
}

/* Rounds of four one-packet CQEs: their number, and the sum of lengths. */
static __rte_always_inline uint32_t
rx_rounds(const struct rxq *q, struct rte_mbuf **pkts, uint32_t nb, uint64_t *bytes)
{
	/* CQE words 1 to 4: flags, length, reserved, hash. */
	const __m128i fields = _mm_setr_epi8(-1, -1, -1, -1, 4, 5, -1, -1,
					     4, 5, -1, -1, 12, 13, 14, 15);
	const __m128i ip_tcp = _mm_loadu_si128((const void *)ip_tcp_flags);
	const __m128i udp = _mm_loadu_si128((const void *)udp_flags);
	const __m128i zero = _mm_setzero_si128(), rearm = _mm_set1_epi64x((int64_t)q->rearm);
	const __m128i hash_type = _mm_set1_epi32(0x1ff << HW_RX_F_HASH_TYPE_S);
	/* High half of the trailer, low half of the header. */
	const __m128i want = _mm_set1_epi32((int)(owner_of(&q->cq, q->cq.ci) |
						  HW_CQE_RX_OKAY));
	const __m128i counts = _mm_set1_epi32((int)(HW_CQE_OWNER_M << HW_CQE_OWNER_S |
						    HW_CQE_TYPE_M));
	const uint8_t *cqe = cqe_at(&q->cq, q->cq.ci);
	struct rte_mbuf **mbufs = &q->mbufs[q->ci & q->mask], **const first = mbufs;
	struct rte_mbuf **end;
	__m128i sum = zero, seen = zero;

	nb = RTE_MIN(nb, (~q->ci & q->mask) + 1);
	nb = RTE_MIN(nb, (~q->cq.ci & q->cq.mask) + 1);
	for (end = mbufs + (nb & ~(STEP - 1u)); mbufs < end;
	     mbufs += STEP, pkts += STEP, cqe += STEP * HW_CQE_BYTES) {
		const __m128i found = _mm_blend_epi16(four_words(cqe, 0),
			four_words(cqe, HW_CQE_TRAILER_OFF), 0xaa);
		__m128i v0, v1, v2, v3, lo, hi, flags, ol_flags, ol_lo, ol_hi;

		if (unlikely(!_mm_testz_si128(_mm_xor_si128(found, want), counts)))
			break;
		rte_compiler_barrier();
		v0 = _mm_loadu_si128((const void *)(cqe + 4));
		v1 = _mm_loadu_si128((const void *)(cqe + HW_CQE_BYTES + 4));
		v2 = _mm_loadu_si128((const void *)(cqe + 2 * HW_CQE_BYTES + 4));
		v3 = _mm_loadu_si128((const void *)(cqe + 3 * HW_CQE_BYTES + 4));
		lo = _mm_unpacklo_epi32(v0, v1);
		hi = _mm_unpacklo_epi32(v2, v3);
		flags = _mm_unpacklo_epi64(lo, hi);
		sum = _mm_add_epi32(sum, _mm_unpackhi_epi64(lo, hi));
		seen = _mm_or_si128(seen, flags);
		ol_flags = _mm_or_si128(
			_mm_shuffle_epi8(ip_tcp, _mm_srli_epi32(flags, CSUM_S)),
			_mm_shuffle_epi8(udp, _mm_srli_epi32(flags, UDP_S)));
		/* A true comparison is -1. */
		ol_flags = _mm_sub_epi32(ol_flags, _mm_cmpgt_epi32(
			_mm_and_si128(flags, hash_type), zero));
		ol_flags = _mm_slli_epi32(ol_flags, 1);
		ol_lo = _mm_unpacklo_epi32(ol_flags, zero);
		ol_hi = _mm_unpackhi_epi32(ol_flags, zero);
		put(mbufs[0], _mm_unpacklo_epi64(rearm, ol_lo), _mm_shuffle_epi8(v0, fields));
		put(mbufs[1], _mm_unpackhi_epi64(rearm, ol_lo), _mm_shuffle_epi8(v1, fields));
		put(mbufs[2], _mm_unpacklo_epi64(rearm, ol_hi), _mm_shuffle_epi8(v2, fields));
		put(mbufs[3], _mm_unpackhi_epi64(rearm, ol_hi), _mm_shuffle_epi8(v3, fields));
		move(pkts, mbufs);
	}
	if (unlikely(!_mm_testz_si128(seen, _mm_set1_epi32(HW_RX_F_VLAN))))
		hand_fail("floor: a packet with a tag");
	sum = _mm_add_epi32(sum, _mm_unpackhi_epi64(sum, sum));
	*bytes += (uint32_t)_mm_cvtsi128_si32(sum) + (uint32_t)_mm_extract_epi32(sum, 1);
	return mbufs - first;
}

/* The same for CQEs of four packets. */
static __rte_always_inline uint32_t
rx_coalesced_rounds(const struct rxq *q, struct rte_mbuf **pkts, uint32_t nb,
		    uint64_t *bytes)
{
	/* Words of a packet: length, reserved, hash. */
	const __m128i fields = _mm_setr_epi8(-1, -1, -1, -1, 0, 1, -1, -1,
					     0, 1, -1, -1, 8, 9, 10, 11);
	const __m128i queue_rearm = _mm_set_epi64x(0, (int64_t)q->rearm);
	const uint32_t owner = owner_of(&q->cq, q->cq.ci) >> HW_CQE_OWNER_S;
	const uint8_t *cqe = cqe_at(&q->cq, q->cq.ci);
	struct rte_mbuf **mbufs = &q->mbufs[q->ci & q->mask], **const first = mbufs;
	struct rte_mbuf **end;
	__m128i sum = _mm_setzero_si128();

	nb = RTE_MIN(nb, (~q->ci & q->mask) + 1);
	nb = RTE_MIN(nb, ((~q->cq.ci & q->cq.mask) + 1) * HW_RX_CQE_NB_PPI);
	for (end = mbufs + (nb & ~(STEP - 1u)); mbufs < end;
	     mbufs += STEP, pkts += STEP, cqe += HW_CQE_BYTES) {
		__m128i v0, v1, v2, v3, rearm;

		if (unlikely(word_at(cqe, HW_CQE_TRAILER_OFF) >> HW_CQE_OWNER_S != owner ||
			     (word_at(cqe, 0) & HW_CQE_TYPE_M) != HW_CQE_RX_COALESCED_4 ||
			     word_at(cqe, HW_RX_CQE_PPI_OFF + 3 * HW_RX_CQE_PPI_BYTES) == 0))
			break;
		rte_compiler_barrier();
		v0 = _mm_loadu_si128((const void *)(cqe + HW_RX_CQE_PPI_OFF));
		v1 = _mm_loadu_si128((const void *)(cqe + HW_RX_CQE_PPI_OFF + 12));
		v2 = _mm_loadu_si128((const void *)(cqe + HW_RX_CQE_PPI_OFF + 24));
		v3 = _mm_loadu_si128((const void *)(cqe + HW_RX_CQE_PPI_OFF + 36));
		rearm = _mm_insert_epi64(queue_rearm, (int64_t)rx_flags(
			word_at(cqe, HW_RX_CQE_FLAGS_OFF)), 1);
		sum = _mm_add_epi32(sum, _mm_add_epi32(_mm_add_epi32(v0, v1),
						       _mm_add_epi32(v2, v3)));
		put(mbufs[0], rearm, _mm_shuffle_epi8(v0, fields));
		put(mbufs[1], rearm, _mm_shuffle_epi8(v1, fields));
		put(mbufs[2], rearm, _mm_shuffle_epi8(v2, fields));
		put(mbufs[3], rearm, _mm_shuffle_epi8(v3, fields));
		move(pkts, mbufs);
	}
	*bytes += (uint32_t)_mm_cvtsi128_si32(sum);
	return mbufs - first;
}

/* Receives one packet, if any. */
static inline uint32_t
rx_one(struct rxq *q, struct rte_mbuf **pkts, uint64_t *bytes)
{
	const uint8_t *cqe = cqe_at(&q->cq, q->cq.ci);
	const uint8_t *ppi = cqe + HW_RX_CQE_PPI_OFF + q->nb_taken * HW_RX_CQE_PPI_BYTES;
	uint32_t type, len;
	struct rte_mbuf *m;

	if (!is_ready(&q->cq, q->cq.ci))
		return 0;
	rte_compiler_barrier();
	type = word_at(cqe, 0) & HW_CQE_TYPE_M;
	if (unlikely(type != HW_CQE_RX_OKAY && type != HW_CQE_RX_COALESCED_4))
		hand_fail("floor: a CQE of type %u", type);
	m = q->mbufs[q->ci++ & q->mask];
	len = word_at(ppi, HW_RX_PPI_LEN_OFF) & UINT16_MAX;
	memcpy(&m->data_off, &q->rearm, sizeof(q->rearm));
	m->ol_flags = rx_flags(word_at(cqe, HW_RX_CQE_FLAGS_OFF));
	m->packet_type = 0;
	m->pkt_len = len;
	m->data_len = (uint16_t)len;
	m->vlan_tci = 0;
	m->hash.rss = word_at(ppi, HW_RX_PPI_HASH_OFF);
	*pkts = m;
	*bytes += len;
	if (type == HW_CQE_RX_OKAY || ++q->nb_taken == HW_RX_CQE_NB_PPI) {
		q->nb_taken = 0;
		q->cq.ci++;
	}
	return 1;
}

/* Returns the number of full rounds, 0 at the end of a ring or of packets. */
static inline uint32_t
rx_run(struct rxq *q, struct rte_mbuf **pkts, uint32_t nb, uint64_t *bytes)
{
	uint32_t got;

	if (nb < STEP || q->nb_taken != 0)
		return 0;
	if ((word_at(cqe_at(&q->cq, q->cq.ci), 0) & HW_CQE_TYPE_M) == HW_CQE_RX_OKAY) {
		got = rx_rounds(q, pkts, nb, bytes);
		q->cq.ci += got;
	} else {
		got = rx_coalesced_rounds(q, pkts, nb, bytes);
		q->cq.ci += got / HW_RX_CQE_NB_PPI;
	}
	q->ci += got;
	return got;
}

uint16_t
floor_rx(void *rxq, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	struct rxq *q = rxq;
	uint64_t bytes = 0;
	uint32_t nb = 0, got, missing;

	if (!is_ready(&q->cq, q->cq.ci))
		return 0;
	do {
		got = rx_run(q, pkts + nb, nb_pkts - nb, &bytes);
		if (got == 0)
			got = rx_one(q, pkts + nb, &bytes);
		nb += got;
	} while (nb < nb_pkts && got != 0);
	q->packets += nb;
	q->bytes += bytes;
	missing = q->mask + 1 - (q->pi - q->ci);
	if (missing >= q->thresh)
		rx_refill(q, RTE_MIN(missing, (uint32_t)RX_REFILL_MAX));
	return (uint16_t)nb;
}

void *
floor_rx_create(const struct floor_conf *conf)
{
	const uint32_t n = conf->nb_desc;
	struct rte_mbuf raw = { .data_off = RTE_PKTMBUF_HEADROOM, .nb_segs = 1,
				.port = conf->port };
	struct rxq *q = rte_zmalloc(NULL, sizeof(*q), RTE_CACHE_LINE_SIZE);

	if (q == NULL || conf->at.ring_bytes != n * HW_BU_BYTES)
		hand_fail("floor: no Rx queue");
	q->mbufs = rte_zmalloc(NULL, n * sizeof(*q->mbufs), RTE_CACHE_LINE_SIZE);
	if (q->mbufs == NULL || rte_pktmbuf_alloc_bulk(conf->pool, q->mbufs, n) != 0)
		hand_fail("floor: no buffers");
	rte_mbuf_refcnt_set(&raw, 1);
	memcpy(&q->rearm, &raw.data_off, sizeof(q->rearm));
	cq_init(&q->cq, &conf->at);
	q->wqes = conf->at.ring;
	q->pool = conf->pool;
	q->mask = n - 1;
	q->thresh = conf->rx_thresh != 0 ? conf->rx_thresh : FLOOR_RX_THRESH;
	q->data_off = rte_pktmbuf_mtod(q->mbufs[0], uintptr_t) - (uintptr_t)q->mbufs[0];
	q->doorbell = (volatile uint64_t *)((volatile uint8_t *)conf->doorbells + HW_DB_RQ);
	q->id = conf->at.id;
	q->pi = n;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *wqe = (uint32_t *)(q->wqes + (size_t)i * HW_BU_BYTES);

		memset(wqe, 0, HW_BU_BYTES);
		wqe[1] = 1u << HW_WQE_NUM_SGE_S | HW_OOB_DIV4_SHORT << HW_WQE_OOB_DIV4_S;
		*(uint64_t *)&wqe[4] = rte_pktmbuf_mtod(q->mbufs[i], uintptr_t);
		wqe[6] = conf->key;
		wqe[7] = rte_pktmbuf_data_room_size(q->pool) - RTE_PKTMBUF_HEADROOM;
	}
	ring(q->doorbell, q->id, q->pi);
	return q;
}

void
floor_rx_destroy(void *rxq)
{
	struct rxq *q = rxq;

	for (; q->ci != q->pi; q->ci++)
		rte_mbuf_raw_free(q->mbufs[q->ci & q->mask]);
	rte_free(q->mbufs);
	rte_free(q);
}

/* --- Tx --- */

/* Offloads of the floor, and the ol_flags it tests with them. */
#define TX_CSUM (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM)
#define TX_TSO (TX_CSUM | RTE_MBUF_F_TX_TCP_SEG)
#define TX_DIRECT (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)
#define TX_SEEN (RTE_MBUF_F_TX_OFFLOAD_MASK | TX_DIRECT)
#define L2_L3_M 0xffffu /* in tx_offload: 7 and 9 bits */

/* Returns mbufs to the pool, already in the state of pooled mbufs. */
static __rte_always_inline void
tx_free(struct txq *q, uint32_t to)
{
	struct rte_mempool_cache *cache = rte_mempool_default_cache(q->pool, rte_lcore_id());

	while (q->mbufs_ci != to) {
		const uint32_t at = q->mbufs_ci & q->mask;
		const uint32_t nb = RTE_MIN(to - q->mbufs_ci, q->mask + 1 - at);
		struct rte_mbuf **from = &q->mbufs[at], **const end = from + nb;
		void **into;

		q->mbufs_ci += nb;
		if (unlikely(cache == NULL ||
			     cache->len + nb > cache->size + cache->size / 2)) {
			rte_mempool_put_bulk(q->pool, (void **)from, nb);
			continue;
		}
		into = &cache->objs[cache->len];
		cache->len += nb;
		for (; from + STEP <= end; from += STEP, into += STEP)
			move((struct rte_mbuf **)into, from);
		while (from < end)
			*into++ = *from++;
	}
}

static __rte_always_inline void
tx_complete(struct txq *q)
{
	const uint32_t first = q->cq.ci;
	const struct asked *asked;

	while (is_ready(&q->cq, q->cq.ci)) {
		rte_compiler_barrier();
		if (unlikely((word_at(cqe_at(&q->cq, q->cq.ci), 0) & HW_CQE_TYPE_M) !=
			     HW_CQE_TX_OKAY))
			hand_fail("floor: a send WQE failed");
		q->cq.ci++;
	}
	if (q->cq.ci == first)
		return;
	q->asked_ci += q->cq.ci - first;
	asked = &q->asked[(q->asked_ci - 1) & q->mask];
	q->ci_bu = asked->pi_bu;
	tx_free(q, asked->mbufs_pi);
}

/*
 * Writes the pseudo-header sum to the TCP checksum. rest: the other terms. The
 * top 16 bits of the product are the sum of its four quarters with carries.
 */
static __rte_always_inline void
tx_pseudo(uint8_t *ip, uint32_t sum_off, uint64_t rest)
{
	const uint64_t sum = (uint64_t)word_at(ip, 12) + word_at(ip, 16) + rest;

	*(uint16_t *)(ip + sum_off) = sum * 0x0001000100010001 >> 48;
}

/* The request of a batch of packets. */
struct request {
	uint64_t ol_flags;
	uint64_t hdr, oob; /* first words of the WQE */
	uint64_t rest; /* of the pseudo header, without the IP length */
	uint32_t l2_l3; /* of tx_offload */
	uint32_t l2, sum_off; /* bytes */
};

static __rte_always_inline struct request
tx_request(const struct txq *q, const struct rte_mbuf *m)
{
	struct request r = {
		.ol_flags = m->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK,
		.hdr = (uint64_t)(HW_OOB_DIV4_SHORT << HW_WQE_OOB_DIV4_S) << 32,
		.oob = q->oob,
	};

	if (r.ol_flags == 0)
		return r;
	if (unlikely((r.ol_flags | RTE_MBUF_F_TX_TCP_SEG) != TX_TSO))
		hand_fail("floor: offloads %#lx", (unsigned long)r.ol_flags);
	r.l2_l3 = m->tx_offload & L2_L3_M;
	r.l2 = m->l2_len;
	r.sum_off = m->l3_len + 16;
	r.oob |= 1u << HW_OOB_IS_IPV4_S | 1u << HW_OOB_IP_CSUM_S | 1u << HW_OOB_TCP_CSUM_S |
		(uint64_t)(m->l2_len + m->l3_len) << (32 + HW_OOB_TRANS_OFF_S);
	/* In wire byte order; minus the IP header length. */
	r.rest = (uint64_t)(IPPROTO_TCP << 8);
	if (r.ol_flags == TX_CSUM)
		r.rest += UINT16_MAX - (m->l3_len << 8);
	else
		r.hdr |= (uint64_t)(m->l2_len + m->l3_len + m->l4_len) <<
				HW_WQE_LAST_VBYTES_S |
			(uint64_t)(1u << HW_WQE_OOB_IN_SGL_S | (uint32_t)m->tso_segsz <<
				   HW_WQE_CLIENT_DATA_UNIT_S) << 32;
	return r;
}

/* Writes a packet's headers. */
static __rte_always_inline void
tx_headers(const struct request *r, uint8_t *data)
{
	uint8_t *ip = data + r->l2;

	if (r->ol_flags == TX_CSUM) {
		tx_pseudo(ip, r->sum_off, r->rest + *(uint16_t *)(ip + 2));
	} else {
		*(uint16_t *)(ip + 2) = 0;
		tx_pseudo(ip, r->sum_off, r->rest);
	}
}

/* An SGE of mbuf m; a was loaded from data_off. */
static __rte_always_inline __m128i
tx_sge(const struct rte_mbuf *m, __m128i a, __m128i key)
{
	const __m128i addr = _mm_add_epi64(_mm_loadl_epi64((const void *)&m->buf_addr),
		_mm_and_si128(a, _mm_set_epi64x(0, UINT16_MAX)));

	return _mm_or_si128(_mm_insert_epi16(addr, m->data_len, 6), key);
}

static __rte_always_inline __m128i
tx_load(const struct rte_mbuf *m)
{
	return _mm_loadu_si128((const void *)&m->data_off);
}

/* What one call sends. */
struct sent {
	uint32_t nb, pi_bu, mbufs_pi;
	uint8_t *last; /* WQE */
	uint64_t bytes;
};

/*
 * Sends packets of one segment with the same request, four at a time. Each mbuf
 * is direct, of the pool and has one reference. Returns their number.
 */
static __rte_always_inline uint32_t
tx_rounds(const struct txq *q, struct sent *s, struct rte_mbuf **pkts, uint32_t nb,
	  const struct request *r, const bool has_csum)
{
	const uint32_t pos = s->pi_bu * HW_BU_BYTES & q->mask_bytes;
	const __m128i first = _mm_set_epi64x((int64_t)r->oob, (int64_t)(r->hdr |
		1ull << (32 + HW_WQE_NUM_SGE_S)));
	const __m128i key = _mm_set_epi64x((int64_t)q->key, 0);
	const __m128i want = _mm_set_epi64x((int64_t)r->ol_flags, 0x100010000);
	const __m128i counts = _mm_set_epi64x((int64_t)TX_SEEN, 0xffffffff0000);
	struct rte_mempool *const pool = q->pool;
	struct rte_mbuf **mbufs = &q->mbufs[s->mbufs_pi & q->mask];
	struct rte_mbuf **p = pkts, **end;
	uint8_t *wqe = q->wqes + pos;
	__m128i sum = _mm_setzero_si128();

	nb = RTE_MIN(nb, (~s->mbufs_pi & q->mask) + 1);
	nb = RTE_MIN(nb, (q->mask_bytes + 1 - pos) / HW_BU_BYTES);
	for (end = p + (nb & ~(STEP - 1u)); p < end;
	     p += STEP, mbufs += STEP, wqe += STEP * HW_BU_BYTES) {
		struct rte_mbuf *const m0 = p[0], *const m1 = p[1];
		struct rte_mbuf *const m2 = p[2], *const m3 = p[3];
		__m128i a0 = tx_load(m0), a1 = tx_load(m1), a2 = tx_load(m2), a3 = tx_load(m3);
		const __m128i wrong = _mm_or_si128(
			_mm_or_si128(_mm_xor_si128(a0, want), _mm_xor_si128(a1, want)),
			_mm_or_si128(_mm_xor_si128(a2, want), _mm_xor_si128(a3, want)));

		if (unlikely(!_mm_testz_si128(wrong, counts)) ||
		    unlikely(m0->pool != pool) || unlikely(m1->pool != pool) ||
		    unlikely(m2->pool != pool) || unlikely(m3->pool != pool))
			break;
		if (has_csum &&
		    unlikely(((m0->tx_offload ^ r->l2_l3) | (m1->tx_offload ^ r->l2_l3) |
			      (m2->tx_offload ^ r->l2_l3) | (m3->tx_offload ^ r->l2_l3)) &
			     L2_L3_M))
			break;
		a0 = tx_sge(m0, a0, key);
		a1 = tx_sge(m1, a1, key);
		a2 = tx_sge(m2, a2, key);
		a3 = tx_sge(m3, a3, key);
		if (has_csum) {
			tx_headers(r, (uint8_t *)_mm_cvtsi128_si64(a0));
			tx_headers(r, (uint8_t *)_mm_cvtsi128_si64(a1));
			tx_headers(r, (uint8_t *)_mm_cvtsi128_si64(a2));
			tx_headers(r, (uint8_t *)_mm_cvtsi128_si64(a3));
		}
		sum = _mm_add_epi32(sum, _mm_add_epi32(_mm_add_epi32(a0, a1),
						       _mm_add_epi32(a2, a3)));
		_mm_store_si128((void *)wqe, first);
		_mm_store_si128((void *)(wqe + 16), a0);
		_mm_store_si128((void *)(wqe + 32), first);
		_mm_store_si128((void *)(wqe + 48), a1);
		_mm_store_si128((void *)(wqe + 64), first);
		_mm_store_si128((void *)(wqe + 80), a2);
		_mm_store_si128((void *)(wqe + 96), first);
		_mm_store_si128((void *)(wqe + 112), a3);
		move(mbufs, p);
	}
	nb = p - pkts;
	if (nb == 0)
		return 0;
	s->last = wqe - HW_BU_BYTES;
	s->bytes += (uint32_t)_mm_extract_epi32(sum, 3);
	s->pi_bu += nb;
	s->mbufs_pi += nb;
	return nb;
}

/*
 * Writes the SGEs of a packet from pos on, and leaves its mbufs in the state of
 * pooled ones. The masks are all ones if no ring ends within the packet.
 */
static __rte_always_inline void
tx_segments(const struct txq *q, struct rte_mbuf *m, uint32_t nb, uint32_t pos,
	    uint32_t mask_bytes, uint32_t at, uint32_t mask)
{
	const __m128i key = _mm_set_epi64x((int64_t)q->key, 0);
	const __m128i want = _mm_set_epi64x(0, 0x10000);
	const __m128i counts = _mm_set_epi64x((int64_t)TX_DIRECT, 0xffff0000);
	struct rte_mempool *const pool = q->pool;
	struct rte_mbuf **const mbufs = q->mbufs;
	uint8_t *const wqes = q->wqes;
	__m128i a = tx_load(m), wrong = _mm_xor_si128(a, want);

	/* A store before the load would delay the load. */
	m->nb_segs = 1;
	for (;;) {
		struct rte_mbuf *next;

		if (unlikely(m->pool != pool))
			hand_fail("floor: an mbuf of another pool");
		pos = (pos + HW_SGE_BYTES) & mask_bytes;
		_mm_store_si128((void *)(wqes + pos), tx_sge(m, a, key));
		mbufs[at++ & mask] = m;
		if (--nb == 0)
			break;
		next = m->next;
		m->next = NULL;
		m = next;
		a = tx_load(m);
		wrong = _mm_or_si128(wrong, _mm_xor_si128(a, want));
	}
	if (unlikely(!_mm_testz_si128(wrong, counts)))
		hand_fail("floor: an mbuf that is shared");
}

/* Sends a packet of any number of segments. */
static __rte_always_inline bool
tx_packet(const struct txq *q, struct sent *s, struct rte_mbuf *m, const struct request *r)
{
	const uint32_t nb_segs = m->nb_segs, nb_bu = (2 + nb_segs) / 2;
	const uint32_t pos = s->pi_bu * HW_BU_BYTES & q->mask_bytes;
	const uint32_t at = s->mbufs_pi & q->mask;

	if (unlikely(s->pi_bu + nb_bu - q->ci_bu > (q->mask_bytes + 1) / HW_BU_BYTES))
		return false;
	if (r->ol_flags != 0)
		tx_headers(r, rte_pktmbuf_mtod(m, uint8_t *));
	s->last = q->wqes + pos;
	s->bytes += m->pkt_len;
	_mm_store_si128((void *)s->last, _mm_set_epi64x((int64_t)r->oob, (int64_t)(r->hdr |
		(uint64_t)nb_segs << (32 + HW_WQE_NUM_SGE_S))));
	if (likely(pos + nb_bu * HW_BU_BYTES <= q->mask_bytes && at + nb_segs <= q->mask))
		tx_segments(q, m, nb_segs, pos, UINT32_MAX, at, UINT32_MAX);
	else
		tx_segments(q, m, nb_segs, pos, q->mask_bytes, at, q->mask);
	s->mbufs_pi += nb_segs;
	s->pi_bu += nb_bu;
	return true;
}

/* Sends packets with the request of the first; 0: no room. */
static __rte_always_inline uint32_t
tx_run(const struct txq *q, struct sent *s, struct rte_mbuf **pkts, uint32_t nb)
{
	const struct request r = tx_request(q, pkts[0]);
	uint32_t done = 0;

	if (pkts[0]->nb_segs == 1 && nb >= STEP && (r.ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0)
		done = r.ol_flags == 0 ? tx_rounds(q, s, pkts, nb, &r, false) :
					 tx_rounds(q, s, pkts, nb, &r, true);
	if (done != 0)
		return done;
	/* TSO: other header fields differ per packet. */
	do {
		const struct rte_mbuf *m = pkts[done];

		if ((m->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK) != r.ol_flags ||
		    (r.ol_flags != 0 && (m->tx_offload & L2_L3_M) != r.l2_l3))
			break;
		if (!tx_packet(q, s, pkts[done], &r))
			break;
		done++;
	} while (done < nb && pkts[done]->nb_segs > 1);
	return done;
}

uint16_t
floor_tx(void *txq, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	struct txq *q = txq;
	struct sent s;
	uint32_t room, nb;

	tx_complete(q);
	s = (struct sent){ .pi_bu = q->pi_bu, .mbufs_pi = q->mbufs_pi };
	do {
		room = (q->mask_bytes + 1) / HW_BU_BYTES - (s.pi_bu - q->ci_bu);
		nb = RTE_MIN(room, nb_pkts - s.nb);
		if (nb != 0)
			nb = tx_run(q, &s, pkts + s.nb, nb);
		s.nb += nb;
	} while (nb != 0 && s.nb < nb_pkts);
	if (unlikely(s.nb == 0))
		return 0;
	*(uint32_t *)(s.last + HW_WQE_HEADER_BYTES) &= ~(1u << HW_OOB_SUPPRESS_S);
	q->asked[q->asked_pi++ & q->mask] = (struct asked){ s.pi_bu, s.mbufs_pi };
	q->pi_bu = s.pi_bu;
	q->mbufs_pi = s.mbufs_pi;
	q->packets += s.nb;
	q->bytes += s.bytes;
	ring(q->doorbell, q->id, s.pi_bu);
	return (uint16_t)s.nb;
}

void *
floor_tx_create(const struct floor_conf *conf)
{
	const uint32_t n = conf->nb_desc * HAND_MAX_SEGS;
	struct txq *q = rte_zmalloc(NULL, sizeof(*q), RTE_CACHE_LINE_SIZE);

	if (q == NULL)
		hand_fail("floor: no Tx queue");
	q->mbufs = rte_zmalloc(NULL, n * sizeof(*q->mbufs), RTE_CACHE_LINE_SIZE);
	q->asked = rte_zmalloc(NULL, n * sizeof(*q->asked), RTE_CACHE_LINE_SIZE);
	if (q->mbufs == NULL || q->asked == NULL)
		hand_fail("floor: no memory");
	cq_init(&q->cq, &conf->at);
	q->wqes = conf->at.ring;
	q->mask_bytes = conf->at.ring_bytes - 1;
	q->mask = n - 1;
	q->pool = conf->pool;
	q->key = conf->key;
	q->oob = 1u << HW_OOB_SUPPRESS_S | conf->at.cq_id << HW_OOB_VCQ_NUM_S |
		(uint64_t)(conf->at.id >> HW_VSQ_FRAME_SHIFT) << (32 + HW_OOB_VSQ_FRAME_S) |
		(uint64_t)conf->at.vp_offset << (32 + HW_OOB_SHORT_VP_S);
	q->doorbell = (volatile uint64_t *)((volatile uint8_t *)conf->doorbells + HW_DB_SQ);
	q->id = conf->at.id;
	return q;
}

void
floor_tx_destroy(void *txq)
{
	struct txq *q = txq;

	for (; q->mbufs_ci != q->mbufs_pi; q->mbufs_ci++)
		rte_mbuf_raw_free(q->mbufs[q->mbufs_ci & q->mask]);
	rte_free(q->asked);
	rte_free(q->mbufs);
	rte_free(q);
}
