/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whatever is random in the machine: splitmix64 (Steele, Lea, Flood: "Fast
 * splittable pseudorandom number generators", OOPSLA 2014). Each user has a
 * state of its own, so that none disturbs the numbers of another.
 */

#ifndef MODEL_PRNG_H
#define MODEL_PRNG_H

#include <stdbool.h>
#include <stdint.h>

/* Chances are in parts of this. */
#define PRNG_ALWAYS 1000000000u

/* From one state to the next. */
#define PRNG_STEP UINT64_C(0x9e3779b97f4a7c15)

struct prng {
	uint64_t state;
};

static inline uint64_t
prng_next(struct prng *prng)
{
	uint64_t z = prng->state += PRNG_STEP;

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* The machine's seed, and who asks. */
static inline void
prng_seed(struct prng *prng, uint64_t seed, uint64_t user)
{
	prng->state = seed;
	prng->state = prng_next(prng) + user;
	prng->state = prng_next(prng);
}

/* 0 to n - 1. */
static inline uint32_t
prng_below(struct prng *prng, uint32_t n)
{
	return (uint32_t)((prng_next(prng) >> 32) * n >> 32);
}

/* True in n of PRNG_ALWAYS cases; takes no number when that is 0. */
static inline bool
prng_chance(struct prng *prng, uint32_t n)
{
	return n != 0 && prng_below(prng, PRNG_ALWAYS) < n;
}

#endif /* MODEL_PRNG_H */
