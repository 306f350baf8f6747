/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A kernel call as the trace shows it: who calls what with which arguments, and
 * what came of it. Objects are named by their kind and a number, which counts
 * those of the kind that a function ever had, from 1; 0 is none.
 *
 * Without the lock; async-signal-safe. Costs one branch when nobody looks.
 */

#ifndef MODEL_VERBS_TRACE_H
#define MODEL_VERBS_TRACE_H

#include "kernel_state.h"
#include "trace.h"

#define VERBS_RESULT_BYTES 2048

struct verbs_call {
	bool is_shown; /* begun, and somebody looks */
	uint32_t replay; /* number of the recorded call */
	uint32_t nb_result;
	struct trace_line line;
	char result[VERBS_RESULT_BYTES]; /* what comes after result= */
};

static inline bool
verbs_is_shown(void)
{
	return __builtin_expect((trace_on & (1u << TRACE_verbs |
					     1u << TRACE_SHOW_VERBS)) != 0, 0);
}

/*
 * Before anything is done; arguments are " key=value" each. In a replay, when
 * the call is recorded to fail, its fault_check() will say so.
 */
#define verbs_begin(call, context, name, ...)                               \
	do {                                                                \
		(call)->is_shown = false;                                   \
		if (verbs_is_shown())                                       \
			verbs_begin_line(call, context, name, __VA_ARGS__); \
	} while (0)
void verbs_begin_line(struct verbs_call *call, uint32_t context,
		      const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* What a call that succeeded gives back. */
#define verbs_add_result(call, ...)                          \
	do {                                                 \
		if ((call)->is_shown)                        \
			verbs_add_text(call, __VA_ARGS__);   \
	} while (0)
void verbs_add_text(struct verbs_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* rc: 0 or more, or a negative errno. */
void verbs_end(struct verbs_call *call, int rc);
/* A call without arguments that cannot fail. */
void verbs_show(uint32_t context, const char *name);

/* Number of an object of a context; 0 when there is none, or nobody looks. */
uint32_t verbs_number(uint32_t context, enum object_kind kind, uint32_t handle);
/* That of a completion channel, by its descriptor; -1 is none. */
uint32_t verbs_channel_number(uint32_t context, int fd);

#endif /* MODEL_VERBS_TRACE_H */
