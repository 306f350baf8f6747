/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Who runs on a machine, be it a descendant of its launcher or not: a daemon,
 * what joined, what is left of a killed launcher's.
 */

#ifndef MODEL_INHABITANTS_H
#define MODEL_INHABITANTS_H

/* Kill them all; returns when they are gone. */
void inhabitants_end(const char *run_dir);

#endif /* MODEL_INHABITANTS_H */
