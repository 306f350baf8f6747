/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Kernel calls in the trace: function, context, arguments, result. An object is
 * identified by its kind and number, which counts the objects of this kind that
 * the function ever had, from 1; 0 is none.
 *
 * Call these without the lock; they are async-signal-safe, and cost one branch
 * while the class is off.
 */

#ifndef MODEL_VERBS_TRACE_H
#define MODEL_VERBS_TRACE_H

#include "kernel_state.h"
#include "trace.h"

#define VERBS_RESULT_BYTES 2048

struct verbs_call {
	bool is_shown; /* verbs_begin() was called and the class is on */
	uint32_t nb_result;
	struct trace_line line;
	char result[VERBS_RESULT_BYTES]; /* text behind result= */
};

static inline bool
verbs_is_shown(void)
{
	return trace_is_on(TRACE_verbs);
}

/* Start of a call; each argument is " key=value". */
#define verbs_begin(call, context, name, ...)                               \
	do {                                                                \
		(call)->is_shown = false;                                   \
		if (verbs_is_shown())                                       \
			verbs_begin_line(call, context, name, __VA_ARGS__); \
	} while (0)
void verbs_begin_line(struct verbs_call *call, uint32_t context,
		      const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Results of a successful call. */
#define verbs_add_result(call, ...)                          \
	do {                                                 \
		if ((call)->is_shown)                        \
			verbs_add_text(call, __VA_ARGS__);   \
	} while (0)
void verbs_add_text(struct verbs_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* rc: 0 or more, or a negative errno. */
void verbs_end(struct verbs_call *call, int rc);
/* Trace a call without arguments that cannot fail. */
void verbs_show(uint32_t context, const char *name);

/* Number of an object; 0 if there is none, or if the class is off. */
uint32_t verbs_number(uint32_t context, enum object_kind kind, uint32_t handle);
/* The number of a completion channel, by its descriptor; fd -1: none. */
uint32_t verbs_channel_number(uint32_t context, int fd);

#endif /* MODEL_VERBS_TRACE_H */
