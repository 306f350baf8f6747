/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What happened on the machine: violations, doorbell counts.
 *
 * All of it lies in the segment, so it survives the program. Functions are
 * called with the machine's lock held unless they say otherwise, and are
 * async-signal-safe.
 */

#ifndef MODEL_LEDGER_H
#define MODEL_LEDGER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "violations.h"

#define LEDGER_MAX_ROWS 4096
#define LEDGER_NO_QUEUE UINT32_MAX

enum ledger_queue {
	LEDGER_NONE, /* no queue is concerned */
	LEDGER_SQ,
	LEDGER_RQ,
	LEDGER_CQ,
	LEDGER_MAX_QUEUE_KINDS
};

/* Where something happened; the default (all zero) is "nowhere". */
struct ledger_place {
	uint32_t fn;
	enum ledger_queue kind;
	uint32_t queue; /* id of the queue; ignored with LEDGER_NONE */
	/* WQE position in BU (free-running), CQE index, or 0. */
	uint32_t index;
};

/* One row per violation and queue. */
struct ledger_row {
	enum violation violation;
	struct ledger_place place; /* index of the first time */
	uint64_t count;
};

enum ledger_doorbell {
	LEDGER_DOORBELL_SQ,
	LEDGER_DOORBELL_RQ,
	LEDGER_DOORBELL_CQ, /* CQ doorbells without arm */
	LEDGER_DOORBELL_CQ_ARM, /* CQ doorbells with arm */
	LEDGER_NB_DOORBELLS
};

struct ledger {
	uint64_t doorbells[LEDGER_NB_DOORBELLS];
	uint64_t nb_traps; /* stores that were trapped */
	uint64_t nb_violations; /* all together */
	uint32_t nb_rows;
	uint64_t nb_unlisted; /* violations that found the table full */
	/* --fatal-violations and there was one: exit status 3. */
	bool is_fatal;
	bool is_trace_cut; /* said that the trace is not complete */
	struct ledger_row rows[LEDGER_MAX_ROWS];
};

/* Name, meaning, source of a violation, as --list-violations prints them. */
const char *violation_name(enum violation violation);
const char *violation_meaning(enum violation violation);
const char *violation_source(enum violation violation);

/*
 * Count a violation and log it on stderr with its bytes (at most 64 are
 * shown; bytes may be NULL). The first four of a row are logged, then every
 * power of two. With --fatal-violations this does not return in a program:
 * it sets is_fatal, gives the lock back and calls abort(); in the launcher it
 * only sets is_fatal.
 */
void ledger_violation(enum violation violation, const struct ledger_place *place,
		      const void *bytes, size_t nb_bytes);

/* Count of one violation over all queues. For tests. */
uint64_t ledger_count(enum violation violation);

static inline void
ledger_doorbell(struct ledger *ledger, enum ledger_doorbell which)
{
	ledger->doorbells[which]++;
}

/* A store was trapped. */
void ledger_trap(void);

/* A line on stderr with the model's prefix. Needs no lock. */
void ledger_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* MODEL_LEDGER_H */
