/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Who runs on a machine, be it a descendant of its launcher or not: a daemon,
 * what joined, what is left of a killed launcher's.
 */

#ifndef MODEL_INHABITANTS_H
#define MODEL_INHABITANTS_H

#include <stdbool.h>

/*
 * Kill them all; returns when they are gone. Of a machine whose launcher was
 * killed, also those that only its memory tells of: they are in the segment's
 * table of processes, and a launcher that lives has ended them.
 */
void inhabitants_end(const char *run_dir, bool was_killed);

#endif /* MODEL_INHABITANTS_H */
