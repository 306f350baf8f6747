/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a burst may do with its CQEs and its doorbells, judged while it runs, see
 * steps.h.
 */

#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "bed.h"

#define WATCH_MAX_CQE 256
#define WATCH_NB_WORDS 16

struct watch {
	const struct bed_cq *cq;
	uint8_t *db_page;
	uint32_t seen_pi; /* CQEs up to here are known */
	bool is_whole; /* every instruction is watched, not only CQEs and doorbells */
	/* Of each slot of the ring. */
	struct {
		bool is_written; /* its CQE is there to be taken */
		bool is_matched; /* and its trailer was loaded, */
		bool is_taken; /* and the burst has gone on */
		uint8_t nb_loads[WATCH_NB_WORDS]; /* since; trailer: in this burst */
	} slot[WATCH_MAX_CQE];
	enum {
		WATCH_NO_FENCE, /* some other store since */
		WATCH_FENCED, /* a store fence, then no store */
		WATCH_RUNG, /* a doorbell, then no store */
	} doorbell;
	uint32_t nb_doorbells;
	uint64_t nb_loads; /* of words of CQEs */
	char fault[256]; /* the first one; empty: none */
};

void watch_init(struct watch *watch, const struct bed_cq *cq,
		uint8_t *db_page);
/* The device has written CQEs, or none. */
void watch_device(struct watch *watch);
/*
 * Loads that only count what waits, for a statistic, do not belong to the burst: it
 * believes nothing of them.
 */
extern bool watch_is_count;
/* The burst is between these. CQEs from ci to end were taken in it. */
void watch_begin(struct watch *watch);
void watch_end(struct watch *watch);
void watch_taken(struct watch *watch, uint32_t ci, uint32_t end);

#endif /* WATCH_H */
