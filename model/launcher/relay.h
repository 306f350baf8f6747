/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Signals that the launcher gets and its program is to have.
 */

#ifndef MODEL_RELAY_H
#define MODEL_RELAY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "child.h"

struct relay {
	int fd; /* readable when there is a signal */
	sigset_t program_mask; /* as we were started */
	uint32_t last_signal, last_sender;
	uint64_t last_ms;
};

/*
 * From here on no signal ends the launcher by itself: all come through the
 * descriptor, so that everything is always taken down in order. 0, or -1 after a
 * complaint.
 */
int relay_open(struct relay *relay);

/* Pass on what has come. True when a child has ended. */
bool relay_signals(struct relay *relay, const struct child *child);

/* Milliseconds of the monotonic clock. */
uint64_t relay_now_ms(void);

#endif /* MODEL_RELAY_H */
