/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_CTL_H
#define MODEL_CTL_H

/*
 * mana-model ctl NAME request: "report", or a command (command.h), in words.
 * The exit status.
 */
int ctl_run(const char *name, char **request);

#endif /* MODEL_CTL_H */
