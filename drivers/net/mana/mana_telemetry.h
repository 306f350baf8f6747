/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Between the files of telemetry: mana_telemetry.c (ports and queues) and
 * mana_telemetry_list.c (memory regions and events).
 *
 * A command is called by a thread of the telemetry library, beside the
 * application. With the registry's lock held things are copied, then they are
 * formatted.
 */

#ifndef MANA_TELEMETRY_H
#define MANA_TELEMETRY_H

#include <stdint.h>

#include <rte_common.h>
#include <rte_telemetry.h>

/*
 * The number at *params, up to the comma or the end; then *params points behind
 * the comma, or is NULL. -EINVAL: there is none.
 */
int mana_tel_number_take(const char **params, uint64_t *value);
/* The same for the number of a port; an error has been told then. */
int mana_tel_port_take(const char **params, struct rte_tel_data *d,
		       uint64_t *port_id);
/* What is wrong, where the values would be. Always 0, so that it is shown. */
int mana_tel_fail(struct rte_tel_data *d, const char *format, ...)
	__rte_format_printf(2, 3);
int mana_tel_fail_port(struct rte_tel_data *d, uint64_t port_id);
void mana_tel_add_hex(struct rte_tel_data *d, const char *name, uint64_t value);

/* Commands. */
int mana_tel_queue(const char *cmd, const char *params, struct rte_tel_data *d);
int mana_tel_mr(const char *cmd, const char *params, struct rte_tel_data *d);
int mana_tel_events(const char *cmd, const char *params, struct rte_tel_data *d);

#endif /* MANA_TELEMETRY_H */
