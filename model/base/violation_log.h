/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Violations and doorbell counts of the machine.
 *
 * They are in the segment, so they outlive the program. Call the functions with
 * the machine's lock held unless stated otherwise. They are async-signal-safe.
 */

#ifndef MODEL_VIOLATION_LOG_H
#define MODEL_VIOLATION_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "violations.h"

#define VIOLATION_MAX_ROWS 4096
#define VIOLATION_NO_QUEUE UINT32_MAX
#define VIOLATION_DETAIL_BYTES 160

enum violation_queue {
	VIOLATION_QUEUE_NONE, /* not about a queue */
	VIOLATION_QUEUE_SQ,
	VIOLATION_QUEUE_RQ,
	VIOLATION_QUEUE_CQ,
	VIOLATION_QUEUE_EQ,
	VIOLATION_NB_QUEUE_KINDS
};

/* Location of an event; all zero: none. */
struct violation_place {
	uint32_t fn;
	enum violation_queue kind;
	uint32_t queue; /* id of the queue; ignored with VIOLATION_QUEUE_NONE */
	/* WQE position in BU (free-running), CQE index, or 0. */
	uint32_t index;
};

/* One row per violation and queue. */
struct violation_row {
	enum violation violation;
	struct violation_place place; /* index of the first one */
	uint64_t count;
	char detail[VIOLATION_DETAIL_BYTES]; /* of the first one; may be cut off */
};

enum doorbell_count {
	DOORBELL_COUNT_SQ,
	DOORBELL_COUNT_RQ,
	DOORBELL_COUNT_CQ, /* CQ doorbells without arm */
	DOORBELL_COUNT_CQ_ARM, /* CQ doorbells with arm */
	NB_DOORBELL_COUNTS
};

struct violation_log {
	uint64_t doorbells[NB_DOORBELL_COUNTS];
	uint64_t nb_traps; /* stores that were trapped */
	uint64_t nb_violations; /* all together */
	uint32_t nb_rows;
	uint64_t nb_unlisted; /* violations not listed: the table was full */
	/* A violation has occurred with --fatal-violations: exit status 3. */
	bool is_fatal;
	bool is_trace_cut; /* the incomplete trace has been logged */
	struct violation_row rows[VIOLATION_MAX_ROWS];
};

/* Name, meaning and source of a violation, as printed by --list-violations. */
const char *violation_name(enum violation violation);
const char *violation_meaning(enum violation violation);
const char *violation_source(enum violation violation);

/*
 * Say what was found and what would be right, as "got ..., want ...", for the next
 * violation that this process records.
 */
void violation_detail(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/*
 * Count a violation and log it to stderr with up to 64 of its bytes (bytes may
 * be NULL), as words like those of the trace. Of a row the first four are logged, then each whose count is a
 * power of two. With --fatal-violations it sets is_fatal; in a program it then
 * releases the lock, calls abort() and does not return.
 */
void violation_record(enum violation violation, const struct violation_place *place,
		      const void *bytes, size_t nb_bytes);

/* Count of a violation over all queues. For tests. */
uint64_t violation_count(enum violation violation);

static inline void
doorbell_count(struct violation_log *log, enum doorbell_count which)
{
	log->doorbells[which]++;
}

/* Count a trapped store. */
void doorbell_count_trap(void);

/* Write a line to stderr with the model's prefix. Needs no lock. */
void model_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* MODEL_VIOLATION_LOG_H */
