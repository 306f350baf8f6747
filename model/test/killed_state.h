/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Consistency of the machine's state.
 */

#ifndef MODEL_TEST_KILLED_STATE_H
#define MODEL_TEST_KILLED_STATE_H

#include <stdint.h>

/* For messages: the killed work, and the number of steps. */
void killed_state_name(const char *name, uint64_t nb_steps);

/*
 * Check that exactly one object refers to each object of the card, that all
 * references are valid, and that reference counts, charges, vPorts and lists
 * agree with the objects. No other process may work meanwhile.
 */
void killed_state_check(void);

#endif /* MODEL_TEST_KILLED_STATE_H */
