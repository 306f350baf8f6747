/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Every operation in every state of a port: a table of what comes of it.
 */

#ifndef STATES_H
#define STATES_H

#include "bench.h"

enum port_state {
	PORT_NEW,	 /* probed */
	PORT_CONFIGURED, /* no queue was set up */
	PORT_READY,	 /* its queues were set up */
	PORT_RUNNING,
	PORT_STOPPED,
	PORT_CLOSED,
	NB_PORT_STATES,
};

/* What the port is configured with, where it is. */
#define STATES_NB_RXQ 2
#define STATES_NB_TXQ 1
#define STATES_NB_DESC 64
#define STATES_MTU 1400

/* ethdev does not look where there is nothing: the API leaves it open. */
#define STATES_UNDEFINED -1

/*
 * A row. An operation that is refused has changed nothing; one that is not may
 * have changed anything but what the port gives to others.
 */
struct states_row {
	const char *name;
	int (*call)(struct bench *bench, uint16_t port);
	/* The errno of each state, 0 for success. */
	int errnos[NB_PORT_STATES];
	/* The refusal in the states where the driver decides says this. */
	const char *says;
	/* ethdev drops configuration or queue before it asks the driver. */
	bool forgets;
};

extern const struct states_row states_operations[];
extern const unsigned int states_nb_operations;
/* Operations that this device has not. */
extern const struct states_row states_unsupported[];
extern const unsigned int states_nb_unsupported;
/* Operations with arguments that are wrong. */
extern const struct states_row states_arguments[];
extern const unsigned int states_nb_arguments;

#endif /* STATES_H */
