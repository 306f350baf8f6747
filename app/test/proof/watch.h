/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Checks a burst's accesses to CQEs and doorbells while it runs; see steps.h.
 */

#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "fixture.h"

#define WATCH_MAX_CQE 256
#define WATCH_NB_WORDS 16

struct watch {
	const struct fx_cq *cq;
	uint8_t *db_page;
	uint32_t seen_pi; /* CQEs known up to here */
	bool covers_all; /* not only CQE and doorbell accesses */
	/* Per ring slot. */
	struct {
		bool is_written; /* the device has written its CQE */
		bool is_matched; /* and the burst has loaded its trailer, */
		bool is_taken; /* and has consumed it */
		uint8_t nb_loads[WATCH_NB_WORDS]; /* since the trailer load */
	} slot[WATCH_MAX_CQE];
	enum {
		WATCH_NO_FENCE, /* another store since */
		WATCH_FENCED, /* a store fence, then no store */
		WATCH_RUNG, /* a doorbell, then no store */
	} doorbell;
	uint32_t nb_doorbells;
	uint64_t nb_loads; /* of CQE words */
	char fault[256]; /* the first one; empty: none */
};

void watch_init(struct watch *watch, const struct fx_cq *cq,
		uint8_t *db_page);
/* Records the CQEs that the device has written. */
void watch_device(struct watch *watch);
/*
 * Loads that only count waiting packets for a statistic are exempt, because the
 * burst does not use their values.
 */
extern bool watch_is_count;
/* Frame a burst, which has consumed the CQEs from ci to end. */
void watch_begin(struct watch *watch);
void watch_end(struct watch *watch);
void watch_taken(struct watch *watch, uint32_t ci, uint32_t end);

#endif /* WATCH_H */
