/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tables of verb errors: how to cause each, and its errno in each kernel
 * version.
 */

#ifndef MODEL_TEST_ERROR_CASES_H
#define MODEL_TEST_ERROR_CASES_H

#include "uverbs_calls.h"
#include "verbs_fixture.h"

enum { AGE_7_2 /* and 7.3 */, AGE_6_12, AGE_6_2, NB_AGES };
extern uint32_t error_age;

/*
 * Runs with the fixture open on port 1, and returns the errno. The caller
 * closes the fixture.
 */
struct error_case {
	const char *what;
	int (*run)(struct fixture *fx);
	int expected[NB_AGES];
};
#define SAME(error) { error, error, error }

/* Each ends with an entry whose name is NULL. */
extern const struct error_case errors_memory[]; /* open, PD, MR */
extern const struct error_case errors_cq_wq[];
/* libmana's own, up to version 48. */
extern const struct error_case errors_old_libmana[];
extern const struct error_case errors_qp[];
extern const struct error_case errors_rss[];
extern const struct error_case errors_objects[]; /* handles, references */

/*
 * errno of a verb that returns a pointer; destroys the object that it returned.
 */
#define ERRNO_OF(verb, destroy)                             \
	__extension__({                                     \
		__auto_type made_ = (errno = 0, (verb));    \
		int error_ = made_ == NULL ? errno : 0;     \
		if (made_ != NULL)                          \
			assert_int_equal(destroy(made_), 0); \
		error_;                                     \
	})

/* Let allocators return rings at this address; back to the usual allocators. */
void errors_ring_at(struct fixture *fx, void *where);
#define ELSEWHERE ((void *)0x10000) /* unmapped */

/* Remove CAP_IPC_LOCK and set RLIMIT_MEMLOCK to 64 KiB. */
void errors_limit_memory(struct fixture *fx);
/* Make the next call of this name fail. */
void errors_fail(const char *call, int error);

#endif /* MODEL_TEST_ERROR_CASES_H */
