/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each row of the tables of what a verb refuses: how it is produced, and the
 * errno at each age of kernel.
 */

#ifndef MODEL_TEST_ERROR_CASES_H
#define MODEL_TEST_ERROR_CASES_H

#include "uverbs_calls.h"
#include "verbs_rig.h"

enum { AGE_7_2, AGE_6_12, AGE_6_2, NB_AGES };
extern uint32_t error_age;

/* The rig is open on port 1; what is left is taken down. Gives the errno. */
struct error_case {
	const char *what;
	int (*run)(struct vrig *rig);
	int expected[NB_AGES];
};
#define SAME(error) { error, error, error }

/* Each ends with an entry without a name. */
extern const struct error_case errors_memory[]; /* open, PD, MR */
extern const struct error_case errors_cq_wq[];
extern const struct error_case errors_old_libmana[]; /* its own, up to 48 */
extern const struct error_case errors_qp[];
extern const struct error_case errors_rss[];
extern const struct error_case errors_objects[]; /* handles, references */

/* errno of a verb that returns a pointer; what it gave is destroyed. */
#define ERRNO_OF(verb, destroy)                             \
	__extension__({                                     \
		__auto_type made_ = (errno = 0, (verb));    \
		int error_ = made_ == NULL ? errno : 0;     \
		if (made_ != NULL)                          \
			assert_int_equal(destroy(made_), 0); \
		error_;                                     \
	})

/* Allocators whose rings are all at one place, and the usual ones again. */
void errors_ring_at(struct vrig *rig, void *where);
#define ELSEWHERE ((void *)0x10000) /* nothing is mapped there */

/* Without the right to lock memory, and 64 KiB of it. */
void errors_limit_memory(struct vrig *rig);
/* The next call of this name fails. */
void errors_fail(const char *call, int error);

#endif /* MODEL_TEST_ERROR_CASES_H */
