/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fault plan: which call of the kernel fails, and how.
 *
 * The plan is in the segment; --fault, the command fail and tests add rules.
 * Call these with the machine's lock held; they are async-signal-safe.
 */

#ifndef MODEL_FAULT_H
#define MODEL_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * X(name): the kernel calls that can be made to fail, as users name them. "any"
 * stands for all of them, counted together.
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
	/* Since the machine was created; [FAULT_any]: sum over all calls. */
	uint64_t nb_calls[NB_FAULT_CALLS];
	uint64_t nb_failed[NB_FAULT_CALLS]; /* made to fail */
	uint64_t nb_fired; /* sum of nb_failed */
	uint32_t nb_rules;
	struct fault_rule rules[FAULT_MAX_RULES];
	uint64_t slow_ns[NB_FAULT_CALLS]; /* time that a call takes on a slow host */
};

const char *fault_call_name(enum fault_call call);

/* Count a call (not FAULT_any). Returns 0, or the -errno with which to fail. */
int fault_check(enum fault_call call);

/* Parse the name of a call; an errno by name or number. 0 or -EINVAL. */
int fault_call_read(const char *text, enum fault_call *call);
int fault_errno_read(const char *text, int *error);

/*
 * Make the nth call from now on (1: the next) fail, and all later ones if
 * and_later. 0, or -ENOSPC if there are FAULT_MAX_RULES rules already.
 */
int fault_add(enum fault_call call, uint64_t nth, bool and_later, int error);

/* This thread's next fault_check() gives error (0: none) if no rule applies. */
void fault_force(int error);

/*
 * Add the rule "CALL:N[+][:ERRNO]": the N-th call fails, with '+' all later
 * ones, too. ERRNO is a name or a number, by default ENOMEM. Returns 0, or
 * -EINVAL / -ENOSPC with the reason in message.
 */
int fault_plan_add(const char *rule, char *message, size_t message_bytes);

/*
 * A slow host: the time that this thread's calls take, summed up since the last
 * call of this function. Needs no lock.
 */
uint64_t fault_slow_take(void);

/* Remove all rules. */
void fault_plan_clear(void);

#endif /* MODEL_FAULT_H */
