/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The counts of what programs have left behind: each thing once, whoever is
 * killed over it. With the machine's lock held.
 */

#ifndef MODEL_LEAKS_H
#define MODEL_LEAKS_H

#include "kernel_state.h"

/*
 * One more of this kind, unless *is_counted, which is a part of struct kernel
 * that nobody uses for anything else, says that it has been.
 */
void leak_count(bool *is_counted, enum object_kind kind);

/* What somebody who died had begun to count. */
void leak_repair(void);

#endif /* MODEL_LEAKS_H */
