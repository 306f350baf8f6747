/* SPDX-License-Identifier: BSD-3-Clause */

/* Scenario files (--scenario): a command per line, see kernel/script.h. */

#ifndef MODEL_SCENARIO_H
#define MODEL_SCENARIO_H

/* Check and take all lines; -1 after a complaint that names file and line. */
int scenario_load(const char *path);

#endif /* MODEL_SCENARIO_H */
