/* SPDX-License-Identifier: BSD-3-Clause */

/* The Rx burst functions, the scalar kernel, and the tables of all kernels. */

#include <string.h>

#include <rte_cpuflags.h>
#include <rte_mbuf.h>
#include <rte_mbuf_ptype.h>
#include <rte_vect.h>

#include "mana_rx.h"
#include "mana_rx_burst.h"

/* ---- Completion bits to mbuf fields, computed by the compiler ----------- */

#define TABLE4(entry, i) entry(i), entry((i) + 1), entry((i) + 2), entry((i) + 3)
#define TABLE16(entry, i) \
	TABLE4(entry, i), TABLE4(entry, (i) + 4), \
	TABLE4(entry, (i) + 8), TABLE4(entry, (i) + 12)
#define TABLE64(entry, i) \
	TABLE16(entry, i), TABLE16(entry, (i) + 16), \
	TABLE16(entry, (i) + 32), TABLE16(entry, (i) + 48)
#define TABLE512(entry) \
	TABLE64(entry, 0), TABLE64(entry, 64), TABLE64(entry, 128), \
	TABLE64(entry, 192), TABLE64(entry, 256), TABLE64(entry, 320), \
	TABLE64(entry, 384), TABLE64(entry, 448)

#define CSUM(bits) \
	(uint16_t)(MANA_RX_VERDICT(bits, MANA_RX_CSUM_IP_OK, MANA_RX_CSUM_IP_BAD, \
			   RTE_MBUF_F_RX_IP_CKSUM_GOOD, \
			   RTE_MBUF_F_RX_IP_CKSUM_BAD) | \
		   MANA_RX_VERDICT(bits, MANA_RX_CSUM_TCP_OK | MANA_RX_CSUM_UDP_OK, \
			   MANA_RX_CSUM_TCP_BAD | MANA_RX_CSUM_UDP_BAD, \
			   RTE_MBUF_F_RX_L4_CKSUM_GOOD, \
			   RTE_MBUF_F_RX_L4_CKSUM_BAD))

static_assert(MANA_RX_CSUM_FLAGS >> 16 == 0, "checksum flags fit the table");

/*
 * The hash type is a bit mask. Without a hash the packet type is unknown; the
 * packet may not even be IP.
 */
#define HASH_V4 (MANA_HASH_IPV4 | MANA_HASH_TCP_IPV4 | MANA_HASH_UDP_IPV4)
#define HASH_V6 (MANA_RX_CQE_HASH_TYPE_M & ~HASH_V4)
#define HASH_TCP (MANA_HASH_TCP_IPV4 | MANA_HASH_TCP_IPV6 | MANA_HASH_TCP_IPV6_EX)
#define HASH_UDP (MANA_HASH_UDP_IPV4 | MANA_HASH_UDP_IPV6 | MANA_HASH_UDP_IPV6_EX)

#define PTYPE(type) \
	((type) == 0 ? RTE_PTYPE_UNKNOWN : \
	 RTE_PTYPE_L2_ETHER | \
	 MANA_RX_VERDICT(type, HASH_V4, HASH_V6, RTE_PTYPE_L3_IPV4_EXT_UNKNOWN, \
		 RTE_PTYPE_L3_IPV6_EXT_UNKNOWN) | \
	 MANA_RX_VERDICT(type, HASH_TCP, HASH_UDP, RTE_PTYPE_L4_TCP, RTE_PTYPE_L4_UDP))

#define HASH(type) { PTYPE(type), (type) == 0 ? 0 : RTE_MBUF_F_RX_RSS_HASH }

const struct mana_rx_fields mana_rx_fields = {
	.hash = { TABLE512(HASH) },
	.csum_flags = { TABLE64(CSUM, 0) },
};

/* ---- The same for the kernel in vectors --------------------------------- */

/* IP has only the first two of its four bits. */
#define IP(i) \
	MANA_RX_VERDICT(i, 1, 2, RTE_MBUF_F_RX_IP_CKSUM_GOOD >> 1, \
			RTE_MBUF_F_RX_IP_CKSUM_BAD >> 1)
#define L4(i) \
	MANA_RX_VERDICT(i, 5, 10, RTE_MBUF_F_RX_L4_CKSUM_GOOD >> 1, \
			RTE_MBUF_F_RX_L4_CKSUM_BAD >> 1)
#define SAME(x) { x, x, x, x }
#define Z MANA_VEC_0

static_assert(MANA_RX_CQE_CSUM_S == 25 && MANA_RX_CSUM_IP_OK == 1 &&
	      MANA_RX_CSUM_IP_BAD == 2 && MANA_RX_CSUM_TCP_OK == 1 << 2 &&
	      MANA_RX_CSUM_TCP_BAD == 2 << 2 && MANA_RX_CSUM_UDP_OK == 4 << 2 &&
	      MANA_RX_CSUM_UDP_BAD == 8 << 2, "checksum bits as in the tables");

const struct mana_rx_vec_const mana_rx_vec_const = {
	.ip = { TABLE16(IP, 0) },
	.l4 = { TABLE16(L4, 0) },
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

/* ---- Bursts ------------------------------------------------------------- */

/*
 * Deliver the packet of a CQE with one packet; m is its buffer. Returns its length,
 * or 0 if the CQE is not a new one of this queue, or is unusual. Moves no index.
 */
static inline uint32_t
mana_rx_okay(const struct mana_rxq *rxq, const struct gdma_cqe *cqe,
	     uint32_t want, struct rte_mbuf *m)
{
	uint32_t header, flags, len, hash;

	if (unlikely(!mana_rx_trailer_is(mana_cqe_load(&cqe->trailer), want)))
		return 0;
	rte_io_rmb();
	header = mana_cqe_load(&cqe->rx.header);
	flags = mana_cqe_load(&cqe->rx.flags);
	len = mana_cqe_load(&cqe->rx.ppi[0].len) & UINT16_MAX;
	hash = mana_cqe_load(&cqe->rx.ppi[0].hash);
	if (unlikely((header & MANA_CQE_TYPE_M) != MANA_CQE_RX_OKAY ||
		     (flags & RTE_BIT32(MANA_RX_CQE_VLAN_S)) != 0 ||
		     len - 1 >= rxq->buf_bytes))
		return 0;
	*MANA_MBUF_REARM(m) = rxq->rearm;
	m->data_len = len;
	mana_rx_describe(rxq, m, flags, len, hash);
	return len;
}

/* One packet a CQE, one CQE at a time: see mana_rx_kernel_t. */
static __rte_always_inline uint32_t
mana_rx_scalar_kernel(struct mana_rxq *rxq, struct rte_mbuf **pkts,
		      uint32_t nb_pkts)
{
	const uint32_t want = mana_rx_trailer_wanted(&rxq->cq, rxq->cq.ci);
	const struct gdma_cqe *cqe = mana_cq_cqe(&rxq->cq, rxq->cq.ci);
	struct rte_mbuf **const mbufs = &rxq->mbufs[rxq->rq.ci & rxq->mbuf_mask];
	uint64_t bytes = 0;
	uint32_t nb, len;

	nb_pkts = mana_rx_batch_pkts(rxq, nb_pkts);
	nb_pkts = RTE_MIN(nb_pkts, (~rxq->cq.ci & rxq->cq.mask) + 1);
	for (nb = 0; nb < nb_pkts; nb++) {
		struct rte_mbuf *m = mbufs[nb];

		len = mana_rx_okay(rxq, &cqe[nb], want, m);
		if (unlikely(len == 0))
			break;
		pkts[nb] = m;
		bytes += len;
	}
	rxq->cq.ci += nb;
	rxq->rq.ci += nb;
	rxq->bytes += bytes;
	return nb;
}

static __rte_noinline uint16_t
mana_rx_many_scalar(struct mana_rx_list *list, struct rte_mbuf **pkts,
		    uint16_t nb_pkts, struct mana_rxq *rxq)
{
	return mana_rx_poll_tmpl(list, pkts, nb_pkts, rxq,
				 mana_rx_scalar_kernel);
}

__rte_noinline uint16_t
mana_rx_poll_scalar(struct mana_rx_list *list, struct rte_mbuf **pkts,
		    uint16_t nb_pkts, struct mana_rxq *rxq)
{
	const struct mana_cq *cq = &rxq->cq;
	struct rte_mbuf *m = rxq->mbufs[rxq->rq.ci & rxq->mbuf_mask];
	uint32_t len;

	/*
	 * For a single packet the set-up of a kernel would be the greater part.
	 * With several buffers per WQE no length is below buf_bytes.
	 */
	if (nb_pkts != 1 || mana_rxq_nb_posted(rxq) == 0 ||
	    (rxq->slow_flags & MANA_RX_SLOW_LANE) != 0)
		return mana_rx_many_scalar(list, pkts, nb_pkts, rxq);
	len = mana_rx_okay(rxq, mana_cq_cqe(cq, cq->ci),
			   mana_rx_trailer_wanted(cq, cq->ci), m);
	if (unlikely(len == 0))
		return mana_rx_many_scalar(list, pkts, nb_pkts, rxq);
	*pkts = m;
	rxq->cq.ci++;
	rxq->rq.ci++;
	rxq->bytes += len;
	return mana_rx_finish(list, pkts, 1, rxq);
}

static __rte_noinline uint16_t
mana_rx_poll_vec128(struct mana_rx_list *list, struct rte_mbuf **pkts,
		    uint16_t nb_pkts, struct mana_rxq *rxq)
{
	return mana_rx_poll_tmpl(list, pkts, nb_pkts, rxq,
				 mana_rx_vec_kernel);
}

static uint16_t
mana_rx_burst_scalar(void *list, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	return mana_rx_burst_tmpl(list, pkts, nb_pkts, mana_rx_poll_scalar);
}

static uint16_t
mana_rx_burst_vec128(void *list, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	return mana_rx_burst_tmpl(list, pkts, nb_pkts, mana_rx_poll_vec128);
}

/* ---- With fences ---------------------------------------------------------- */

/* The path that was selected last, for all ports. */
static MANA_ATOMIC(const struct mana_rx_path *) mana_rx_fenced;

static uint16_t
burst_fenced(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	struct mana_rx_list *list = queue;
	uint16_t nb = 0;

	mana_fenced_enter(&list->is_fenced);
	if (!mana_rx_list_is_paused(list)) {
		mana_pause_fence();
		nb = mana_atomic_load(&mana_rx_fenced)->burst(list, pkts, nb_pkts);
	}
	mana_fenced_leave(&list->is_fenced);
	return nb;
}

/* ---- Selection ---------------------------------------------------------- */

const struct mana_rx_path mana_rx_paths[] = {
#ifdef CC_AVX2_SUPPORT
	{
		.name = "Vector AVX2", .key = "avx2",
		.simd_bits = RTE_VECT_SIMD_256,
		.burst = mana_rx_burst_avx2, .poll = mana_rx_poll_avx2,
	},
#endif
	{
#ifdef RTE_ARCH_X86_64
		.name = "Vector SSE", .key = "sse",
#else
		.name = "Vector NEON", .key = "neon",
#endif
		.simd_bits = RTE_VECT_SIMD_128,
		.burst = mana_rx_burst_vec128, .poll = mana_rx_poll_vec128,
	}, {
		.name = "Scalar", .key = "scalar",
		.burst = mana_rx_burst_scalar, .poll = mana_rx_poll_scalar,
	},
};
const uint32_t mana_rx_nb_paths = RTE_DIM(mana_rx_paths);

/* DPDK requires vectors of 128 bits on all processors that the driver supports. */
bool
mana_rx_path_is_allowed(const struct mana_rx_path *path)
{
#ifdef RTE_ARCH_X86_64
	if (path->simd_bits == RTE_VECT_SIMD_256 &&
	    rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX2) != 1)
		return false;
#endif
	return path->simd_bits <= rte_vect_get_max_simd_bitwidth();
}

const struct mana_rx_path *
mana_rx_path_select(const char *key)
{
	const struct mana_rx_path *path = mana_rx_paths;

	while (path->simd_bits != 0 &&
	       (!mana_rx_path_is_allowed(path) ||
		(key != NULL && strcmp(path->key, key) != 0)))
		path++;
	return path;
}

const struct mana_rx_path *
mana_rx_path_find(mana_burst_t burst)
{
	if (burst == burst_fenced)
		return mana_atomic_load(&mana_rx_fenced);
	for (uint32_t i = 0; i < mana_rx_nb_paths; i++)
		if (mana_rx_paths[i].burst == burst)
			return &mana_rx_paths[i];
	return NULL;
}

mana_burst_t
mana_rx_burst_get(const struct mana_rx_path *path)
{
	if (!mana_has_fences)
		return path->burst;
	mana_atomic_store(&mana_rx_fenced, path);
	return burst_fenced;
}
