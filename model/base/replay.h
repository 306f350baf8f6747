/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Replay of a recording (mana-model replay). The kernel calls of the program
 * are compared with the recorded ones, and the recorded completions replace
 * those of the NIC. doc/guides/model-trace.rst describes it.
 *
 * The launcher reads a trace and writes <run>/replay, which all processes map.
 * The file contains the recording and the progress of the replay, and no
 * pointers. Call these with the machine's lock held unless stated otherwise.
 * They are async-signal-safe.
 */

#ifndef MODEL_REPLAY_H
#define MODEL_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts to replay (bits). */
#define REPLAY_VERBS	   (1u << 0)
#define REPLAY_COMPLETIONS (1u << 1)

#define REPLAY_CQE_BYTES 64u
#define REPLAY_NAME	 "replay" /* the file in the run folder */

/* A recorded kernel call, as text of the trace. */
struct replay_call {
	uint32_t line; /* of the recording */
	int32_t error; /* 0 or a positive errno */
	uint32_t text_at, text_bytes; /* from fn= to before result= */
};

/* The recording's n-th queue of a kind and port is the program's n-th. */
struct replay_queue {
	uint32_t fn, port; /* port from 1, of the machine */
	bool is_sq;
	/* State of the replay. */
	bool is_bound; /* the program has created it */
	bool is_gone;
	uint32_t wq; /* index at the function */
	uint32_t nb_posted; /* WQEs */
	uint32_t filled_pos; /* RQ, bytes: WQEs before this position have a packet */
};

enum replay_kind {
	REPLAY_POST, /* wait until the driver has posted nb_posted WQEs */
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
	/* State of the replay. */
	uint32_t next_call, next_step;
	uint32_t nb_differences;
	uint32_t nb_skipped_cqes; /* the queue had been destroyed */
};

/* NULL: no replay. */
extern struct replay *recording;

static inline bool
replay_is_on(uint32_t part)
{
	return __builtin_expect(recording != NULL, 0) &&
	       (recording->parts & part) != 0;
}

/* Map <run>/replay, if it exists. 0 or -errno. Needs no lock. */
int replay_open(void);

struct replay_call *replay_call(uint32_t n);
struct replay_queue *replay_queue(uint32_t n);
struct replay_step *replay_step(uint32_t n);

/*
 * A kernel call begins; text is as in the trace. Returns the recorded error, or
 * 0. Differences from the recording are logged and counted.
 */
int replay_call_begins(const char *text, size_t nb_bytes, uint32_t *number);
/* The call ends with rc; number is from replay_call_begins(). */
void replay_call_ends(uint32_t number, int rc);
#define REPLAY_NO_CALL UINT32_MAX

/* For the launcher, at the end: log missing calls; returns the differences. */
uint32_t replay_finish(void);

#endif /* MODEL_REPLAY_H */
