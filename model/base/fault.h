/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fault plan: which call of the kernel fails, and how.
 *
 * The plan lies in the segment; --fault, the command fail and tests fill it.
 * With the machine's lock held; async-signal-safe.
 */

#ifndef MODEL_FAULT_H
#define MODEL_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * X(name): the kernel calls that can be made to fail; name is what the user
 * writes. "any" stands for all of them, counted together.
 */
#define MODEL_FAULT_CALLS(X) \
	X(any)               \
	X(open)              \
	X(get_context)       \
	X(query_device)      \
	X(query_port)        \
	X(alloc_async)       \
	X(alloc_channel)     \
	X(mmap)              \
	X(alloc_pd)          \
	X(dealloc_pd)        \
	X(reg_mr)            \
	X(dereg_mr)          \
	X(create_cq)         \
	X(destroy_cq)        \
	X(create_wq)         \
	X(destroy_wq)        \
	X(create_ind)        \
	X(destroy_ind)       \
	X(create_qp)         \
	X(destroy_qp)        \
	X(netlink)           \
	X(rtnetlink)         \
	X(ethtool)           \
	X(ifflags)

enum fault_call {
#define MODEL_FAULT_ENUM(name) FAULT_##name,
	MODEL_FAULT_CALLS(MODEL_FAULT_ENUM)
#undef MODEL_FAULT_ENUM
	NB_FAULT_CALLS
};

#define FAULT_MAX_RULES 32

struct fault_rule {
	enum fault_call call;
	uint64_t nth; /* as nb_calls counts */
	int error; /* positive errno */
	bool and_later;
};

struct fault_plan {
	/* Since the machine was made; [FAULT_any]: all together. */
	uint64_t nb_calls[NB_FAULT_CALLS];
	uint64_t nb_failed[NB_FAULT_CALLS]; /* made to fail */
	uint64_t nb_fired; /* the same, all together */
	uint32_t nb_rules;
	struct fault_rule rules[FAULT_MAX_RULES];
	uint64_t slow_ns[NB_FAULT_CALLS]; /* what each takes on a slow host */
};

const char *fault_call_name(enum fault_call call);

/*
 * Count one call of this kind (not FAULT_any).
 * Returns 0, or the -errno with which the call is to fail.
 */
int fault_check(enum fault_call call);

/* What users write: 0, or -EINVAL. An error is a name or a number. */
int fault_call_read(const char *text, enum fault_call *call);
int fault_errno_read(const char *text, int *error);

/*
 * The nth call from now on (1: the next) fails, and all later ones, if asked
 * for. 0, or -ENOSPC: FAULT_MAX_RULES are there already.
 */
int fault_add(enum fault_call call, uint64_t nth, bool and_later, int error);

/*
 * The next fault_check() of this thread returns this (0 or -errno) when no rule
 * says otherwise; 0 takes it back.
 */
void fault_force(int error);

/*
 * Add the rule "CALL:N[+][:ERRNO]": the N-th call, with '+' all later ones
 * too; ERRNO a name or a number, ENOMEM when left out.
 * Returns 0, or -EINVAL / -ENOSPC with the reason in message.
 */
int fault_plan_add(const char *rule, char *message, size_t message_bytes);

/*
 * A slow host: the time that the calls counted by this thread take, since it was
 * last asked for. No lock needed.
 */
uint64_t fault_slow_take(void);

/* Forget all rules. */
void fault_plan_clear(void);

#endif /* MODEL_FAULT_H */
