/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A recording that is replayed (mana-model replay): kernel calls, against which
 * those of the program are held, and completions, which come from here rather
 * than from the NIC. doc/guides/model-trace.rst says what it can do.
 *
 * The launcher reads a trace and writes <run>/replay, which all processes map.
 * It holds what was recorded and how far the replay has come: no pointers.
 * With the machine's lock held unless stated otherwise; async-signal-safe.
 */

#ifndef MODEL_REPLAY_H
#define MODEL_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is replayed: bits. */
#define REPLAY_VERBS	   (1u << 0)
#define REPLAY_COMPLETIONS (1u << 1)

#define REPLAY_CQE_BYTES 64u
#define REPLAY_NAME	 "replay" /* the file in the run folder */

/* A kernel call, in the words of the trace. */
struct replay_call {
	uint32_t line; /* of the recording */
	int32_t error; /* 0 or a positive errno */
	uint32_t text_at, text_bytes; /* from fn= to before result= */
};

/* A work queue of the recording; the n-th of its kind and port is the n-th. */
struct replay_queue {
	uint32_t fn, port; /* port from 1, of the machine */
	bool is_sq;
	/* Of the replay. */
	bool is_bound; /* the program has made it */
	bool is_gone;
	uint32_t wq; /* index at the function */
	uint32_t nb_posted; /* WQEs */
	uint32_t filled_pos; /* RQ, bytes: WQEs before have had their packet */
};

enum replay_kind {
	REPLAY_POST, /* the driver posts until it has posted nb_posted WQEs */
	REPLAY_FETCH, /* the card fetches one */
	REPLAY_CQE, /* the card writes a CQE */
};

struct replay_step {
	uint32_t line;
	uint32_t kind, queue;
	uint32_t nb_posted;
	uint8_t cqe[REPLAY_CQE_BYTES];
};

struct replay {
	uint64_t bytes; /* of the file */
	uint32_t parts; /* REPLAY_* */
	uint32_t nb_calls, nb_queues, nb_steps;
	uint64_t calls_at, queues_at, steps_at, texts_at; /* bytes */
	/* Of the replay. */
	uint32_t next_call, next_step;
	uint32_t nb_differences;
	uint32_t nb_skipped_cqes; /* their queue was gone */
};

/* NULL: nothing is replayed. */
extern struct replay *recording;

static inline bool
replay_is_on(uint32_t part)
{
	return __builtin_expect(recording != NULL, 0) &&
	       (recording->parts & part) != 0;
}

/* Map <run>/replay; 0 too when there is none. Without the lock. */
int replay_open(void);

struct replay_call *replay_call(uint32_t n);
struct replay_queue *replay_queue(uint32_t n);
struct replay_step *replay_step(uint32_t n);

/*
 * A kernel call is being made, text as in the trace: the error that it is
 * recorded to end with, else 0. What differs is said and counted.
 */
int replay_call_begins(const char *text, size_t nb_bytes, uint32_t *number);
/* And how it ended; number is what replay_call_begins() gave. */
void replay_call_ends(uint32_t number, int rc);
#define REPLAY_NO_CALL UINT32_MAX

/* Launcher, at the end: say what is left over. The number of differences. */
uint32_t replay_finish(void);

#endif /* MODEL_REPLAY_H */
