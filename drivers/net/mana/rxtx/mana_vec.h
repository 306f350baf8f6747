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

#define mana_vec_zero() _mm_setzero_si128()
#define mana_vec_load(ptr) _mm_loadu_si128((const __m128i *)(ptr))
/* From an address that is a multiple of 16 */
#define mana_vec_load_16(ptr) _mm_load_si128((const __m128i *)(ptr))
#define mana_vec_load64(ptr) _mm_loadl_epi64((const __m128i *)(ptr)) /* 0 above */
#define mana_vec_store(ptr, v) _mm_storeu_si128((__m128i *)(ptr), v)
#define mana_vec_store_16(ptr, v) _mm_store_si128((__m128i *)(ptr), v)
#define mana_vec_dup32(x) _mm_set1_epi32((int)(x))
#define mana_vec_from32(x) _mm_cvtsi32_si128((int)(x)) /* 0 above it */
#define mana_vec_of64(lo, hi) \
	_mm_set_epi64x((long long)(hi), (long long)(lo))
/* One lane: of 32 bits replaced, or read; of 16 bits read. */
#define mana_vec_set32(v, x, lane) _mm_insert_epi32(v, (int)(x), lane)
#define mana_vec_set16(v, x, lane) _mm_insert_epi16(v, (int)(x), lane)
#define mana_vec_get32(v, lane) ((uint32_t)_mm_extract_epi32(v, lane))
#define mana_vec_ptr(v) ((void *)_mm_cvtsi128_si64(v)) /* the lower half */
#define mana_vec_get16(v, lane) ((uint32_t)_mm_extract_epi16(v, lane))
/* v with lane to of 32 bits being lane from of w */
#define mana_vec_copy32(v, to, w, from) \
	_mm_castps_si128(_mm_insert_ps(_mm_castsi128_ps(v), \
				       _mm_castsi128_ps(w), \
				       (from) << 6 | (to) << 4))
#define mana_vec_and(a, b) _mm_and_si128(a, b)
#define mana_vec_or(a, b) _mm_or_si128(a, b)
#define mana_vec_xor(a, b) _mm_xor_si128(a, b)
#define mana_vec_gt32(a, b) _mm_cmpgt_epi32(a, b) /* signed */
#define mana_vec_add16(a, b) _mm_add_epi16(a, b)
#define mana_vec_add32(a, b) _mm_add_epi32(a, b)
#define mana_vec_sub32(a, b) _mm_sub_epi32(a, b)
#define mana_vec_add64(a, b) _mm_add_epi64(a, b)
#define mana_vec_min16(a, b) _mm_min_epu16(a, b)
#define mana_vec_subs16(a, b) _mm_subs_epu16(a, b) /* not below 0 */
#define mana_vec_shl32(v, nb) _mm_slli_epi32(v, nb)
#define mana_vec_shr32(v, nb) _mm_srli_epi32(v, nb)
/* Halves of a and b, lane by lane: a0 b0 a1 b1, or a2 b2 a3 b3 */
#define mana_vec_zip_lo32(a, b) _mm_unpacklo_epi32(a, b)
#define mana_vec_zip_lo64(a, b) _mm_unpacklo_epi64(a, b)
#define mana_vec_zip_hi64(a, b) _mm_unpackhi_epi64(a, b)
/* The last 16 - nb bytes of a, then the first nb of b */
#define mana_vec_join(a, b, nb) _mm_alignr_epi8(b, a, nb)
/* Each byte is that of v which its index names, or 0 for MANA_VEC_0. */
#define mana_vec_shuffle(v, index) _mm_shuffle_epi8(v, index)
/* The same; bits 4 to 6 of the index are ignored. */
#define mana_vec_lookup(table, index) _mm_shuffle_epi8(table, index)
#define mana_vec_is_zero(v) (_mm_testz_si128(v, v) != 0)

#else

typedef uint32x4_t mana_vec_t;

#define MANA_VEC_8(v) vreinterpretq_u8_u32(v)
#define MANA_VEC_16(v) vreinterpretq_u16_u32(v)
#define MANA_VEC_64(v) vreinterpretq_u64_u32(v)
#define MANA_VEC_OF_8(v) vreinterpretq_u32_u8(v)
#define MANA_VEC_OF_16(v) vreinterpretq_u32_u16(v)
#define MANA_VEC_OF_64(v) vreinterpretq_u32_u64(v)

#define mana_vec_zero() vdupq_n_u32(0)
#define mana_vec_load(ptr) \
	MANA_VEC_OF_8(vld1q_u8((const uint8_t *)(ptr)))
#define mana_vec_load_16(ptr) mana_vec_load(ptr)
#define mana_vec_load64(ptr) \
	MANA_VEC_OF_64(vcombine_u64(vld1_u64((const uint64_t *)(ptr)), \
				    vdup_n_u64(0)))
#define mana_vec_store(ptr, v) vst1q_u8((uint8_t *)(ptr), MANA_VEC_8(v))
#define mana_vec_store_16(ptr, v) mana_vec_store(ptr, v)
#define mana_vec_dup32(x) vdupq_n_u32(x)
#define mana_vec_from32(x) vsetq_lane_u32(x, vdupq_n_u32(0), 0)
#define mana_vec_of64(lo, hi) \
	MANA_VEC_OF_64(vcombine_u64(vcreate_u64(lo), vcreate_u64(hi)))
#define mana_vec_set32(v, x, lane) vsetq_lane_u32(x, v, lane)
#define mana_vec_set16(v, x, lane) \
	MANA_VEC_OF_16(vsetq_lane_u16(x, MANA_VEC_16(v), lane))
#define mana_vec_get32(v, lane) vgetq_lane_u32(v, lane)
#define mana_vec_ptr(v) ((void *)vgetq_lane_u64(MANA_VEC_64(v), 0))
#define mana_vec_get16(v, lane) ((uint32_t)vgetq_lane_u16(MANA_VEC_16(v), lane))
#define mana_vec_copy32(v, to, w, from) vcopyq_laneq_u32(v, to, w, from)
#define mana_vec_and(a, b) vandq_u32(a, b)
#define mana_vec_or(a, b) vorrq_u32(a, b)
#define mana_vec_xor(a, b) veorq_u32(a, b)
#define mana_vec_gt32(a, b) \
	vcgtq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(b))
#define mana_vec_add16(a, b) \
	MANA_VEC_OF_16(vaddq_u16(MANA_VEC_16(a), MANA_VEC_16(b)))
#define mana_vec_add32(a, b) vaddq_u32(a, b)
#define mana_vec_sub32(a, b) vsubq_u32(a, b)
#define mana_vec_add64(a, b) \
	MANA_VEC_OF_64(vaddq_u64(MANA_VEC_64(a), MANA_VEC_64(b)))
#define mana_vec_min16(a, b) \
	MANA_VEC_OF_16(vminq_u16(MANA_VEC_16(a), MANA_VEC_16(b)))
#define mana_vec_subs16(a, b) \
	MANA_VEC_OF_16(vqsubq_u16(MANA_VEC_16(a), MANA_VEC_16(b)))
#define mana_vec_shl32(v, nb) vshlq_n_u32(v, nb)
#define mana_vec_shr32(v, nb) vshrq_n_u32(v, nb)
#define mana_vec_zip_lo32(a, b) vzip1q_u32(a, b)
#define mana_vec_zip_lo64(a, b) \
	MANA_VEC_OF_64(vzip1q_u64(MANA_VEC_64(a), MANA_VEC_64(b)))
#define mana_vec_zip_hi64(a, b) \
	MANA_VEC_OF_64(vzip2q_u64(MANA_VEC_64(a), MANA_VEC_64(b)))
#define mana_vec_join(a, b, nb) \
	MANA_VEC_OF_8(vextq_u8(MANA_VEC_8(a), MANA_VEC_8(b), nb))
#define mana_vec_shuffle(v, index) \
	MANA_VEC_OF_8(vqtbl1q_u8(MANA_VEC_8(v), MANA_VEC_8(index)))
#define mana_vec_lookup(table, index) \
	MANA_VEC_OF_8(vqtbl1q_u8(MANA_VEC_8(table), \
				 vandq_u8(MANA_VEC_8(index), vdupq_n_u8(15))))
#define mana_vec_is_zero(v) (vmaxvq_u32(v) == 0)

#endif

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
