/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fault plan: which call of the kernel fails, and how.
 *
 * The plan lies in the segment; the launcher fills it from --fault, tests may
 * fill it too. With the machine's lock held.
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
	uint64_t nth; /* counted from 1, from the start of the machine */
	int error; /* positive errno */
	bool and_later;
};

struct fault_plan {
	uint64_t nb_calls[NB_FAULT_CALLS]; /* [FAULT_any]: all together */
	uint64_t nb_fired; /* calls made to fail */
	uint32_t nb_rules;
	struct fault_rule rules[FAULT_MAX_RULES];
};

const char *fault_call_name(enum fault_call call);

/*
 * Count one call of this kind (not FAULT_any).
 * Returns 0, or the -errno with which the call is to fail.
 */
int fault_check(enum fault_call call);

/*
 * Add the rule "CALL:N[+][:ERRNO]": the N-th call, with '+' all later ones
 * too; ERRNO a name or a number, ENOMEM when left out.
 * Returns 0, or -EINVAL / -ENOSPC with the reason in message.
 */
int fault_plan_add(const char *rule, char *message, size_t message_bytes);

/* Forget all rules and counts. */
void fault_plan_clear(void);

#endif /* MODEL_FAULT_H */
