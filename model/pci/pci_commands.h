/* SPDX-License-Identifier: BSD-3-Clause */

/* Commands of a PCI machine. They run in the launcher only. */

#ifndef MODEL_PCI_COMMANDS_H
#define MODEL_PCI_COMMANDS_H

#include "command.h"

extern const struct command_kind pci_commands;

#endif /* MODEL_PCI_COMMANDS_H */
