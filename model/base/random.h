/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * All random numbers of the machine derive from --seed. Each subject has its
 * own sequence, so that a new use of one subject does not change the others.
 * Add new subjects at the end.
 *
 * Call these with the machine's lock held; they are async-signal-safe.
 */

#ifndef MODEL_RANDOM_H
#define MODEL_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum random_subject {
	RANDOM_FAULT_BYTES, /* contents of an invented completion */
	RANDOM_FAULT_CHANCE, /* whether a fault occurs */
	NB_RANDOM_SUBJECTS
};

/* The count of numbers drawn per subject; in the segment. */
struct random_state {
	uint64_t nb[NB_RANDOM_SUBJECTS];
};

uint64_t random_next(enum random_subject subject);
/* From 0 to n - 1. */
uint64_t random_below(enum random_subject subject, uint64_t n);
void random_fill(enum random_subject subject, void *buf, size_t nb_bytes);

/*
 * Random number generator: splitmix64 (Steele, Lea, Flood: "Fast splittable
 * pseudorandom number generators", OOPSLA 2014). Each user has its own state,
 * so that users do not affect each other.
 *
 * Probabilities are multiples of 1 / PRNG_ALWAYS.
 */
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

/* seed is the machine's; user selects the sequence. */
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

/* True with probability n / PRNG_ALWAYS; draws no number if n is 0. */
static inline bool
prng_chance(struct prng *prng, uint32_t n)
{
	return n != 0 && prng_below(prng, PRNG_ALWAYS) < n;
}

#endif /* MODEL_RANDOM_H */
