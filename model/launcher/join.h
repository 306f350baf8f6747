/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Further programs on a machine that somebody else has made.
 */

#ifndef MODEL_JOIN_H
#define MODEL_JOIN_H

#include "options.h"

/*
 * mana-model --join NAME -- program: run it, until it ends or its machine is
 * switched off. The exit status.
 */
int join_run(const struct options *options);

/*
 * The machine is to be switched off: end the programs that have joined it. By its
 * launcher.
 */
void join_end_all(void);

#endif /* MODEL_JOIN_H */
