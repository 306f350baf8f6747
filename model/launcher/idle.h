/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whether the programs on the machine wait, or are only slow: virtual time is
 * moved for those that wait.
 */

#ifndef MODEL_IDLE_H
#define MODEL_IDLE_H

#include <stdbool.h>

/*
 * True when each thread of each descendant sleeps, or when those that do not
 * have computed in vain for a while: they poll. Events of the machine begin
 * the while anew. On a busy host a program that is not let run computes
 * nothing, so time stands still for it.
 */
bool idle_programs_wait(void);

#endif /* MODEL_IDLE_H */
