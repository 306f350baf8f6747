/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Logging of the control path. The burst functions never log: what goes wrong
 * there is counted.
 */

#ifndef MANA_LOG_H
#define MANA_LOG_H

#include <rte_log.h>

/* Registered in the probe file: pmd.net.mana.init and pmd.net.mana.driver. */
extern int mana_logtype_init;
extern int mana_logtype_driver;

/* One line each; the newline is added. Probe, configure, start, stop. */
#define MANA_INIT_LOG(level, fmt, ...) \
	rte_log(RTE_LOG_##level, mana_logtype_init, \
		"MANA: " fmt "\n", ##__VA_ARGS__)

/* Everything else outside of the burst functions. */
#define MANA_DRV_LOG(level, fmt, ...) \
	rte_log(RTE_LOG_##level, mana_logtype_driver, \
		"MANA: " fmt "\n", ##__VA_ARGS__)

/* The same, starting with the name of a port. */
#define MANA_PORT_LOG(level, name, fmt, ...) \
	MANA_DRV_LOG(level, "%s: " fmt, name, ##__VA_ARGS__)

#endif /* MANA_LOG_H */
