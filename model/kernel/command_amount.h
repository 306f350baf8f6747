/* SPDX-License-Identifier: BSD-3-Clause */

/* Amounts in arguments of commands: 10G, 2.5M, 0.01%. */

#ifndef MODEL_COMMAND_AMOUNT_H
#define MODEL_COMMAND_AMOUNT_H

#include "command.h"

/*
 * A decimal number, and k, M or G behind it. *end is where it ended. False when
 * there is none, or no whole one.
 */
bool command_amount(const char *text, uint64_t *amount, const char **end);

/* key=P%: parts of PRNG_ALWAYS. As command_number(). */
int command_chance(struct command_args *args, const char *key, uint32_t *parts);

#endif /* MODEL_COMMAND_AMOUNT_H */
