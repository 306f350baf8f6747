/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Commands that run later: at a time, or after a number of events.
 *
 * 	at 1.5ms link port=1 down once, at this time of the machine
 * 	in 20us ... once, this long from now
 * 	every 10ms ... repeatedly
 * 	at packet=1000 port=1 ... once the port has sent its 1000th packet
 * 	every packet=10 ... of the whole machine
 * 	at doorbell=5 ... after the 5th store to a doorbell page
 * 	at call=create_qp:2 ... after the 2nd kernel call of this kind
 * 	at request=create_mr:2 ... on a PCI machine: after the 2nd request
 *
 * Events count from the time at which the line is given, in a scenario file
 * from the start. A line of a scenario without at runs at the start. A process
 * claims an entry before it runs it, so that no entry runs twice if the process
 * is killed.
 */

#ifndef MODEL_SCRIPT_H
#define MODEL_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command.h"
#include "fault.h"

#define SCRIPT_MAX_ENTRIES   2000
#define SCRIPT_MESSAGE_BYTES 128

enum script_trigger {
	SCRIPT_TIME,
	SCRIPT_PACKET,
	SCRIPT_DOORBELL,
	SCRIPT_CALL /* or request, see enum fault_call */
};

enum script_state {
	SCRIPT_FREE,
	SCRIPT_WAITING,
	SCRIPT_RUNNING, /* also if the process was killed meanwhile */
	SCRIPT_DONE
};

struct script_entry {
	uint32_t line; /* in the scenario file; 0: from a command */
	uint32_t waiter; /* process slot that waits for the end; 0: none */
	enum script_trigger trigger;
	enum script_state state;
	enum fault_call call;
	bool has_port; /* for PACKET; false: the whole machine */
	uint32_t fn, port;
	uint64_t at; /* ns, or a count */
	uint64_t period; /* 0: once */
	uint64_t nb_runs, nb_failed;
	uint64_t time_ns; /* of the last run */
	uint64_t pass; /* of the last run */
	uint32_t command_off; /* offset in text */
	char text[COMMAND_MAX_LINE];
	char message[SCRIPT_MESSAGE_BYTES]; /* of the last failure */
};

/* In the segment. All zero: empty. */
struct script {
	uint32_t nb_entries; /* entries beyond were never used */
	uint32_t nb_events; /* WAITING for events other than time */
	/* One process at a time runs entries, which keeps their order. */
	uint32_t runner; /* process slot; 0: none */
	uint64_t pass; /* count of runs */
	uint64_t runner_start_time;
	struct script_entry entries[SCRIPT_MAX_ENTRIES];
};

/*
 * Add a line. 0, or a negative errno with cause and remedy in message. With
 * is_check the line is only checked. Takes the lock; async-signal-safe.
 */
int script_add(const char *text, uint32_t line, bool is_check, char *message,
	       size_t message_bytes);

/*
 * Run a command in the launcher, and wait for its end. 0, or a negative errno with
 * cause and remedy in message. For other processes, without the lock.
 */
int script_submit(const char *line, char *message, size_t message_bytes);

/*
 * Add a complete entry; at is relative to now. Returns its index, or -ENOSPC. With
 * the lock held.
 */
int script_insert(const struct script_entry *entry);

/* Whether an entry may be due. Needs no lock. */
bool script_is_due(void);
/* Start the timer of the next entry. With the lock held. */
void script_due(void);
/* Run the due entries, unless another thread does so. Without the lock. */
void script_run(void);

#endif /* MODEL_SCRIPT_H */
