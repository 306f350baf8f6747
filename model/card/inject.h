/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Faults of packets and completions, made on purpose: rules that strike the
 * k-th packet of a queue, queues that stand still, completions that are held.
 *
 * What is injected is counted by port, direction and kind; the card's own
 * counters go on saying what it really did. With the machine's lock held;
 * async-signal-safe.
 */

#ifndef MODEL_INJECT_H
#define MODEL_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "hw.h"

/* X(name, what the user writes): see inject_kind_name(). */
#define INJECT_KINDS(X)                         \
	X(CQE, "cqe")                           \
	X(TRUNCATE, "truncate")                 \
	X(LOSE, "lose")                         \
	X(DELAY, "delay")                       \
	X(REORDER, "reorder")                   \
	X(STALL, "stall")                       \
	X(OVERFLOW, "overflow")                 \
	/* Bogus completions; INJECT_LONG is the first. */ \
	X(LONG, "long")                         \
	X(ZERO, "zero")                         \
	X(TYPE, "type")                         \
	X(WRONG_QUEUE, "wrong-queue")           \
	X(WRONG_OWNER, "wrong-owner")           \
	X(WRONG_IS_SQ, "wrong-is-sq")           \
	X(DUPLICATE, "duplicate")               \
	X(SPURIOUS, "spurious")                 \
	X(REPLAYED, "replayed")                 \
	X(VENDOR, "vendor")                     \
	X(RANDOM, "random")

enum inject_kind {
#define INJECT_ENUM(name, text) INJECT_##name,
	INJECT_KINDS(INJECT_ENUM)
#undef INJECT_ENUM
	NB_INJECT_KINDS
};

const char *inject_kind_name(enum inject_kind kind);
/* Bogus completions: what=... */
bool inject_kind_is_bogus(enum inject_kind kind);

#define INJECT_ANY_QUEUE UINT32_MAX
#define INJECT_MAX_RULES 64

struct inject_rule {
	enum inject_kind kind;
	bool is_tx;
	/* Bogus: besides the packet's own completion, not in its place. */
	bool is_extra;
	uint32_t fn, port;
	/* Of the port's live queues of this direction, from 0. */
	uint32_t queue;
	uint32_t value; /* CQE type, length or vendor error */
	uint64_t for_ns; /* DELAY; REORDER: at most */
	/* Strikes the first-th packet from now on, and then each every-th... */
	uint64_t first, every;
	uint64_t count; /* ... so many times; 0: without end */
	uint32_t chance; /* ... in so many of 100 cases */
	uint64_t nb_seen, nb_struck;
};

/* A completion on its way; all zero but cqe: an ordinary one. */
struct inject_cqe {
	uint8_t cqe[HW_CQE_BYTES];
	bool is_extra; /* no WQE belongs to it */
	bool is_bogus; /* who believes it knows less of its queue than before */
	bool is_wrong_queue, is_wrong_sq, is_wrong_owner;
};

/*
 * One that waits; lists per queue, by index + 1. What there is from the queue's
 * first on is held, whatever the other lists say.
 */
struct inject_held {
	uint32_t next;
	bool awaits_other; /* until another queue has completed */
	uint64_t due_ns; /* or until then */
	struct inject_cqe cqe;
};

#define INJECT_MAX_STRIKES 8
struct inject_strikes {
	uint32_t nb;
	struct inject_rule rule[INJECT_MAX_STRIKES]; /* as they were */
};

#define INJECT_MAX_HELD	       16384
#define INJECT_MAX_HELD_QUEUES 512

struct inject {
	bool is_rule[INJECT_MAX_RULES];
	struct inject_rule rules[INJECT_MAX_RULES];
	/* Of the Rx packet that is being received. */
	uint32_t rx_fn, rx_wq;
	struct inject_strikes rx;
	/* Queues with something held, in the order of their first. */
	uint32_t nb_queues;
	struct {
		uint32_t fn, wq;
	} queues[INJECT_MAX_HELD_QUEUES];
	uint32_t nb_fresh; /* of held, never used */
	uint32_t free; /* list of used ones */
	struct inject_held held[INJECT_MAX_HELD];
};

/* 0, or -ENOSPC: INJECT_MAX_RULES are at work already. */
int inject_add(const struct inject_rule *rule);
/*
 * End the stalls of these queues of a port (INJECT_ANY_QUEUE: of all): -ENOENT
 * when there is none.
 */
int inject_resume(uint32_t fn, uint32_t port, uint32_t queue, bool is_tx);
/* Forget all rules, and let go what is held. */
void inject_clear(void);

/* How many faults of this kind a port had. */
uint64_t inject_count(uint32_t fn, uint32_t port, bool is_tx,
		      enum inject_kind kind);

#endif /* MODEL_INJECT_H */
