/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Vectors of 16 bytes: the operations that the bursts use, on x86-64 and on arm64.
 * Lane 0 is the lowest in memory. Macros, because intrinsics require constant lane
 * numbers and shifts.
 */

#ifndef MANA_VEC_H
#define MANA_VEC_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_vect.h>

/* An index of mana_vec_shuffle() that gives a zero byte. */
#define MANA_VEC_0 0x80

#ifdef RTE_ARCH_X86_64

typedef __m128i mana_vec_t;

#define MANA_VEC_NAME "Vector SSE"
/* v with lane to of 32 bits being lane from of w */
#define mana_vec_copy32(v, to, w, from) \
	_mm_castps_si128(_mm_insert_ps(_mm_castsi128_ps(v), \
				       _mm_castsi128_ps(w), \
				       (from) << 6 | (to) << 4))
#define mana_vec_max32(a, b) _mm_max_epu32(a, b)
#define mana_vec_subs16(a, b) _mm_subs_epu16(a, b) /* not below 0 */
/* Halves of a and b, lane by lane: a0 b0 a1 b1, or a2 b2 a3 b3 */
#define mana_vec_zip_lo32(a, b) _mm_unpacklo_epi32(a, b)
#define mana_vec_zip_lo64(a, b) _mm_unpacklo_epi64(a, b)
#define mana_vec_zip_hi64(a, b) _mm_unpackhi_epi64(a, b)
#define mana_vec_last32(v) _mm_srli_si128(v, 12) /* lane 3, then 0 */
/* The last 16 - nb bytes of a, then the first nb of b */
#define mana_vec_join(a, b, nb) _mm_alignr_epi8(b, a, nb)
/* Each byte is that of v which its index names, or 0 for MANA_VEC_0. */
#define mana_vec_shuffle(v, index) _mm_shuffle_epi8(v, index)
/* A shuffle that ignores bits 4 to 6 of the index. */
#define mana_vec_lookup(table, index) _mm_shuffle_epi8(table, index)
#define mana_vec_is_zero(v) (_mm_testz_si128(v, v) != 0)

#else

typedef uint32x4_t mana_vec_t;

#define MANA_VEC_NAME "Vector NEON"
#define MANA_VEC_8(v) vreinterpretq_u8_u32(v)
#define MANA_VEC_16(v) vreinterpretq_u16_u32(v)
#define MANA_VEC_64(v) vreinterpretq_u64_u32(v)
#define MANA_VEC_OF_8(v) vreinterpretq_u32_u8(v)
#define MANA_VEC_OF_16(v) vreinterpretq_u32_u16(v)
#define MANA_VEC_OF_64(v) vreinterpretq_u32_u64(v)

#define mana_vec_copy32(v, to, w, from) vcopyq_laneq_u32(v, to, w, from)
#define mana_vec_max32(a, b) vmaxq_u32(a, b)
#define mana_vec_subs16(a, b) \
	MANA_VEC_OF_16(vqsubq_u16(MANA_VEC_16(a), MANA_VEC_16(b)))
#define mana_vec_zip_lo32(a, b) vzip1q_u32(a, b)
#define mana_vec_zip_lo64(a, b) \
	MANA_VEC_OF_64(vzip1q_u64(MANA_VEC_64(a), MANA_VEC_64(b)))
#define mana_vec_zip_hi64(a, b) \
	MANA_VEC_OF_64(vzip2q_u64(MANA_VEC_64(a), MANA_VEC_64(b)))
#define mana_vec_last32(v) vextq_u32(v, vdupq_n_u32(0), 3)
#define mana_vec_join(a, b, nb) \
	MANA_VEC_OF_8(vextq_u8(MANA_VEC_8(a), MANA_VEC_8(b), nb))
#define mana_vec_shuffle(v, index) \
	MANA_VEC_OF_8(vqtbl1q_u8(MANA_VEC_8(v), MANA_VEC_8(index)))
#define mana_vec_lookup(table, index) \
	MANA_VEC_OF_8(vqtbl1q_u8(MANA_VEC_8(table), \
				 vandq_u8(MANA_VEC_8(index), vdupq_n_u8(15))))
#define mana_vec_is_zero(v) (vmaxvq_u32(v) == 0)

#endif

/* Operations that compilers know on lanes of these types. */
typedef uint16_t mana_u16x8_t __attribute__((vector_size(16)));
typedef uint32_t mana_u32x4_t __attribute__((vector_size(16)));
typedef int32_t mana_i32x4_t __attribute__((vector_size(16)));
typedef uint64_t mana_u64x2_t __attribute__((vector_size(16)));
#define MANA_VEC_OP(type, a, op, b) ((mana_vec_t)((type)(a) op (type)(b)))
/* Memory at any address, and at one that is a multiple of 16 */
typedef uint32_t mana_vec_any_t __attribute__((vector_size(16), may_alias, aligned(1)));
typedef uint32_t mana_vec_16_t __attribute__((vector_size(16), may_alias));
#define mana_vec_load(ptr) ((mana_vec_t)*(const mana_vec_any_t *)(ptr))
#define mana_vec_load_16(ptr) ((mana_vec_t)*(const mana_vec_16_t *)(ptr))
#define mana_vec_store(ptr, v) (*(mana_vec_any_t *)(ptr) = (mana_vec_any_t)(v))
#define mana_vec_store_16(ptr, v) (*(mana_vec_16_t *)(ptr) = (mana_vec_16_t)(v))
#define mana_vec_zero() ((mana_vec_t){ 0 })
#define mana_vec_dup32(x) ((mana_vec_t)(mana_u32x4_t){ x, x, x, x })
#define mana_vec_from32(x) ((mana_vec_t)(mana_u32x4_t){ x }) /* 0 above it */
#define mana_vec_of64(lo, hi) ((mana_vec_t)(mana_u64x2_t){ lo, hi })
#define mana_vec_get32(v, lane) (((mana_u32x4_t)(v))[lane])
#define mana_vec_get16(v, lane) (((mana_u16x8_t)(v))[lane])
#define mana_vec_ptr(v) ((void *)((mana_u64x2_t)(v))[0]) /* the lower half */
#define mana_vec_shl32(v, nb) MANA_VEC_OP(mana_u32x4_t, v, <<, mana_vec_dup32(nb))
#define mana_vec_shr32(v, nb) MANA_VEC_OP(mana_u32x4_t, v, >>, mana_vec_dup32(nb))
#define mana_vec_and(a, b) MANA_VEC_OP(mana_u64x2_t, a, &, b)
#define mana_vec_or(a, b) MANA_VEC_OP(mana_u64x2_t, a, |, b)
#define mana_vec_xor(a, b) MANA_VEC_OP(mana_u64x2_t, a, ^, b)
#define mana_vec_add16(a, b) MANA_VEC_OP(mana_u16x8_t, a, +, b)
#define mana_vec_add32(a, b) MANA_VEC_OP(mana_u32x4_t, a, +, b)
#define mana_vec_sub32(a, b) MANA_VEC_OP(mana_u32x4_t, a, -, b)
#define mana_vec_gt32(a, b) MANA_VEC_OP(mana_i32x4_t, a, >, b)
#define mana_vec_add64(a, b) MANA_VEC_OP(mana_u64x2_t, a, +, b)
#define mana_vec_sub64(a, b) MANA_VEC_OP(mana_u64x2_t, a, -, b)

/* One lane replaced */
static inline mana_vec_t
mana_vec_set32(mana_vec_t v, uint32_t x, uint32_t lane)
{
	mana_u32x4_t lanes = (mana_u32x4_t)v;

	lanes[lane] = x;
	return (mana_vec_t)lanes;
}

static inline mana_vec_t
mana_vec_set16(mana_vec_t v, uint16_t x, uint32_t lane)
{
	mana_u16x8_t lanes = (mana_u16x8_t)v;

	lanes[lane] = x;
	return (mana_vec_t)lanes;
}

/* The sum of the lanes, modulo 2^32. */
static __rte_always_inline uint32_t
mana_vec_sum32(mana_vec_t v)
{
	v = mana_vec_add32(v, mana_vec_zip_hi64(v, v));
	return mana_vec_get32(v, 0) + mana_vec_get32(v, 1);
}

/* Copies 32 bytes. */
static __rte_always_inline void
mana_vec_move32(void *to, const void *from)
{
	mana_vec_t first = mana_vec_load(from);
	mana_vec_t second = mana_vec_load(RTE_PTR_ADD(from, 16));

	mana_vec_store(to, first);
	mana_vec_store(RTE_PTR_ADD(to, 16), second);
}

#endif /* MANA_VEC_H */
