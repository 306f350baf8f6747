/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_CTL_H
#define MODEL_CTL_H

/* mana-model ctl NAME report: the exit status. */
int ctl_report(const char *name);

#endif /* MODEL_CTL_H */
