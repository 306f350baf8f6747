/* SPDX-License-Identifier: BSD-3-Clause */

/* Logging of the control path. The burst functions count errors and never log. */

#ifndef MANA_LOG_H
#define MANA_LOG_H

#include <string.h>

#include <rte_log.h>

/* Registered by mana_probe.c as pmd.net.mana.init and pmd.net.mana.driver. */
extern int mana_logtype_init;
extern int mana_logtype_driver;

/* Log one line about probe and initialisation; the macro adds the newline. */
#define MANA_INIT_LOG(level, fmt, ...) \
	rte_log(RTE_LOG_##level, mana_logtype_init, \
		"MANA: " fmt "\n", ##__VA_ARGS__)

/* Log one line about anything else on the control path. */
#define MANA_DRV_LOG(level, fmt, ...) \
	rte_log(RTE_LOG_##level, mana_logtype_driver, \
		"MANA: " fmt "\n", ##__VA_ARGS__)

/* Log a message that begins with the name of a port. */
#define MANA_PORT_LOG(level, name, fmt, ...) \
	MANA_DRV_LOG(level, "%s: " fmt, name, ##__VA_ARGS__)

/* Log an error. The value is the error: return MANA_PORT_ERR(-EINVAL, ...); */
#define MANA_INIT_ERR(error, fmt, ...) \
	(MANA_INIT_LOG(ERR, fmt, ##__VA_ARGS__), (error))
#define MANA_PORT_ERR(error, name, fmt, ...) \
	(MANA_PORT_LOG(ERR, name, fmt, ##__VA_ARGS__), (error))

/* Log at level info how an operation has ended. The value is its result, 0 or an error. */
#define MANA_PORT_RESULT(result, name, fmt, ...) \
	(MANA_PORT_LOG(INFO, name, fmt ": %s", ##__VA_ARGS__, strerror(-(result))), \
	 (result))

#endif /* MANA_LOG_H */
