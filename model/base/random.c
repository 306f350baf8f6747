/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "random.h"
#include "segment.h"

uint64_t
random_next(enum random_subject subject)
{
	const uint64_t n = segment_random()->nb[subject]++;
	struct prng prng = {
		.state = segment_config()->seed + subject * PRNG_STEP,
	};

	prng.state = prng_next(&prng) + n * PRNG_STEP;
	return prng_next(&prng);
}

/* The upper half of a product: Lemire's method without its final rejection. */
uint64_t
random_below(enum random_subject subject, uint64_t n)
{
	return (uint64_t)((unsigned __int128)random_next(subject) * n >> 64);
}

void
random_fill(enum random_subject subject, void *buf, size_t nb_bytes)
{
	uint8_t *p = buf;
	uint64_t word;
	size_t n;

	for (; nb_bytes > 0; p += n, nb_bytes -= n) {
		word = random_next(subject);
		n = nb_bytes < sizeof(word) ? nb_bytes : sizeof(word);
		memcpy(p, &word, n);
	}
}
