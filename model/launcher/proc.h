/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The processes of the system, as proc(5) tells.
 */

#ifndef MODEL_PROC_H
#define MODEL_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct proc {
	pid_t pid;
	pid_t parent; /* 0: not known, it may have ended meanwhile */
	bool is_marked; /* the caller's; false at first */
};

/*
 * All there are, to be freed. NULL: they cannot be read, or /proc is of another
 * pid namespace: its numbers are not those that kill() takes.
 */
struct proc *proc_list(size_t *nb);

/* Of this program, that is, in whatever part and of whatever build. */
bool proc_is_mana_model(pid_t pid);

#endif /* MODEL_PROC_H */
