/* SPDX-License-Identifier: BSD-3-Clause */

/* Table of every operation in every state of a port. */

#ifndef STATES_H
#define STATES_H

#include "fixture.h"

enum port_state {
	PORT_NEW,	 /* probed */
	PORT_CONFIGURED, /* without queues */
	PORT_READY,	 /* queues are set up */
	PORT_RUNNING,
	PORT_STOPPED,
	PORT_CLOSED,
	NB_PORT_STATES,
};

/* Configuration of the port in these states. */
#define STATES_NB_RXQ 2
#define STATES_NB_TXQ 1
#define STATES_NB_DESC 64
#define STATES_MTU 1400

/* ethdev does not check, and the API does not define the result. */
#define STATES_UNDEFINED -1

/*
 * A row. A rejected operation changes nothing; an accepted one may change
 * anything of this port, but nothing of the other.
 */
struct states_row {
	const char *name;
	int (*call)(struct fixture *fx, uint16_t port);
	/* errno per state; 0: success. */
	int errnos[NB_PORT_STATES];
	/* Error text in states where the driver decides. */
	const char *says;
	/* ethdev drops configuration or queue before it calls the driver. */
	bool drops_old;
};

/*
 * The tables are lists R(name, call, errnos...), S(name, says, call, errnos...) and D, which
 * a file expands to functions and then to rows. D is S that also drops the old configuration
 * or queue.
 */
#define STATES_FUNCTION(name, call, ...) \
static int op_##name(struct fixture *fx, uint16_t port) \
{ \
	return call; \
}
#define STATES_FUNCTION_S(name, says, call, ...) STATES_FUNCTION(name, call)
#define STATES_ROW(name, call, ...) { #name, op_##name, { __VA_ARGS__ }, NULL, false },
#define STATES_ROW_S(name, says, call, ...) { #name, op_##name, { __VA_ARGS__ }, says, false },
#define STATES_ROW_D(name, says, call, ...) { #name, op_##name, { __VA_ARGS__ }, says, true },

/* errnos: the same in each state that has a port */
#define ALL(error) error, error, error, error, error, ENODEV
#define ALWAYS ALL(0)
#define NEVER ALL(ENOTSUP)

extern const struct states_row states_operations[];
extern const unsigned int states_nb_operations;
/* Operations that the device does not support. */
extern const struct states_row states_unsupported[];
extern const unsigned int states_nb_unsupported;
/* Operations with invalid arguments. */
extern const struct states_row states_arguments[];
extern const unsigned int states_nb_arguments;

#endif /* STATES_H */
