/* SPDX-License-Identifier: BSD-3-Clause */

/* Whether the machine's state is whole. */

#ifndef MODEL_TEST_KILLED_STATE_H
#define MODEL_TEST_KILLED_STATE_H

#include <stdint.h>

/* For the messages: what was killed, and when. */
void killed_state_name(const char *name, uint64_t nb_steps);

/*
 * Everything in the card is named by one object and every name is right;
 * references, charges, vPorts and lists are what the objects say. Fails
 * otherwise. Nobody else may be at work.
 */
void killed_state_check(void);

#endif /* MODEL_TEST_KILLED_STATE_H */
