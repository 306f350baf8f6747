/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Injected faults of packets and completions: rules that hit the k-th packet of a queue;
 * stalled queues, held completions.
 *
 * Faults are counted by port, direction and kind; the card's own counters remain exact.
 * Call these with the machine's lock held; they are async-signal-safe.
 */

#ifndef MODEL_INJECT_H
#define MODEL_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "hw.h"

/* X(name, name in commands): see inject_kind_name(). */
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
/* Whether the kind is a value of what= of the command bogus. */
bool inject_kind_is_bogus(enum inject_kind kind);

#define INJECT_ANY_QUEUE UINT32_MAX
#define INJECT_MAX_RULES 64

struct inject_rule {
	enum inject_kind kind;
	bool is_tx;
	/* Bogus: in addition to the packet's own completion. */
	bool is_extra;
	uint32_t fn, port;
	uint32_t queue; /* number among the port's existing ones of this direction, from 0 */
	uint32_t value; /* type, length, or vendor error */
	uint64_t for_ns; /* DELAY; REORDER: at most */
	/* Hit packet number first from now on, then each every-th one ... */
	uint64_t first, every;
	uint64_t count; /* ... at most count times; 0: no limit */
	uint32_t chance; /* ... with this probability in per cent */
	uint64_t nb_seen, nb_hits;
};

/* A completion to write; ordinary if all flags are false. */
struct inject_cqe {
	uint8_t cqe[HW_CQE_BYTES];
	bool is_extra; /* it belongs to no WQE */
	bool is_bogus; /* after it the driver's view of its queue may be wrong */
	bool is_wrong_queue, is_wrong_sq, is_wrong_owner;
};

/*
 * A held completion; linked per queue by index + 1. After a process was killed,
 * the list from the queue's held_first decides which are held.
 */
struct inject_held {
	uint32_t next;
	bool awaits_other; /* until another queue writes a completion */
	uint64_t due_ns; /* or until then */
	struct inject_cqe cqe;
};

#define INJECT_MAX_HITS 8
struct inject_hits {
	uint32_t nb;
	struct inject_rule rule[INJECT_MAX_HITS]; /* copies */
};

#define INJECT_MAX_HELD	       16384
#define INJECT_MAX_HELD_QUEUES 512

struct inject {
	bool is_rule[INJECT_MAX_RULES];
	struct inject_rule rules[INJECT_MAX_RULES];
	/* The rules that hit the Rx packet being received. */
	uint32_t rx_fn, rx_wq;
	struct inject_hits rx;
	/* Queues with held completions, in the order of the first one. */
	uint32_t nb_queues;
	struct {
		uint32_t fn, wq;
	} queues[INJECT_MAX_HELD_QUEUES];
	uint32_t nb_fresh; /* entries of held from here on were never used */
	uint32_t free; /* list of freed entries */
	struct inject_held held[INJECT_MAX_HELD];
};

/* 0, or -ENOSPC if INJECT_MAX_RULES rules are active. */
int inject_add(const struct inject_rule *rule);
/*
 * For card_resume(): end the stall of a queue of a port (INJECT_ANY_QUEUE: of all its
 * queues). 0, or -ENOENT if none is stalled.
 */
int inject_end_stall(uint32_t fn, uint32_t port, uint32_t queue, bool is_tx);
/* For card_clear_faults(): remove all rules and write the held completions. */
void inject_drop(void);

/* The number of faults of this kind at a port. */
uint64_t inject_count(uint32_t fn, uint32_t port, bool is_tx,
		      enum inject_kind kind);

#endif /* MODEL_INJECT_H */
