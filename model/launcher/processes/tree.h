/* SPDX-License-Identifier: BSD-3-Clause */

/* The descendants of the caller, from /proc. */

#ifndef MODEL_TREE_H
#define MODEL_TREE_H

#include <stdbool.h>
#include <sys/types.h>

/* A thread of a descendant. False: tree_walk() omits the thread's children. */
typedef bool (*tree_visit)(pid_t pid, pid_t tid, void *arg);

/*
 * Call visit for each thread of each descendant of the caller; tid is pid for one
 * thread of a process. A process that starts or ends meanwhile may be missed.
 */
void tree_walk(tree_visit visit, void *arg);

#endif /* MODEL_TREE_H */
