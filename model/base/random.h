/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whatever is random on the machine comes from --seed through here. Each
 * subject has a sequence of its own: a new use of one moves no other. New
 * subjects go to the end.
 *
 * With the machine's lock held; async-signal-safe.
 */

#ifndef MODEL_RANDOM_H
#define MODEL_RANDOM_H

#include <stddef.h>
#include <stdint.h>

enum random_subject {
	RANDOM_FAULT_BYTES, /* what a made-up completion says */
	RANDOM_FAULT_CHANCE, /* whether a fault strikes */
	NB_RANDOM_SUBJECTS
};

/* How many numbers of each subject were drawn; in the segment. */
struct random_state {
	uint64_t nb[NB_RANDOM_SUBJECTS];
};

uint64_t random_next(enum random_subject subject);
/* From 0 to n - 1. */
uint64_t random_below(enum random_subject subject, uint64_t n);
void random_fill(enum random_subject subject, void *buf, size_t nb_bytes);

#endif /* MODEL_RANDOM_H */
