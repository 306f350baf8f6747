/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands of a machine with an imitated kernel. */

#ifndef MODEL_KERNEL_COMMANDS_H
#define MODEL_KERNEL_COMMANDS_H

#include "command.h"

extern const struct command commands_life[];
extern const struct command commands_net[];

extern const struct command_kind kernel_commands;

#endif /* MODEL_KERNEL_COMMANDS_H */
