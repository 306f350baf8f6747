/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Commands for later: at a time, or when something has happened so often.
 *
 *	at 1.5ms link port=1 down	once, at this time of the machine
 *	in 20us ...			once, from now on
 *	every 10ms ...			again and again
 *	at packet=1000 port=1 ...	once the port has sent its 1000th packet
 *	every packet=10 ...		of the whole machine
 *	at doorbell=5 ...		after the 5th store to a doorbell page
 *	at call=create_qp:2 ...		after the 2nd kernel call of this kind
 *
 * What is counted is counted from when the line is given: in a scenario file,
 * from the start. A line of a scenario without at is for the start. Each
 * entry is claimed before it runs: whoever is killed meanwhile, it is not
 * run twice.
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
	SCRIPT_CALL
};

enum script_state {
	SCRIPT_FREE,
	SCRIPT_WAITING,
	SCRIPT_RUNNING, /* and if its process is gone: for ever */
	SCRIPT_DONE
};

struct script_entry {
	uint32_t line; /* of the scenario file; 0: of a command */
	enum script_trigger trigger;
	enum script_state state;
	enum fault_call call;
	bool has_port; /* of PACKET; else it is the whole machine's */
	uint32_t fn, port;
	uint64_t at; /* ns, or a count */
	uint64_t period; /* 0: once */
	uint64_t nb_runs, nb_failed;
	uint64_t time_ns; /* of the last run */
	uint64_t pass; /* that of the last run */
	uint32_t command_off; /* in text */
	char text[COMMAND_MAX_LINE];
	char message[SCRIPT_MESSAGE_BYTES]; /* of the last failure */
};

/* In the segment. Zero is empty. */
struct script {
	uint32_t nb_entries; /* the free ones after it were never used */
	uint32_t nb_events; /* WAITING for something but time */
	/* Who runs entries: one at a time, so that their order is certain. */
	uint32_t runner; /* process slot; 0: nobody */
	uint64_t pass; /* how often somebody has */
	uint64_t runner_start_time;
	struct script_entry entries[SCRIPT_MAX_ENTRIES];
};

/*
 * Take a line: 0, or a negative errno with cause and remedy in message. With
 * is_check it is only looked at. Takes the lock; async-signal-safe.
 */
int script_add(const char *text, uint32_t line, bool is_check, char *message,
	       size_t message_bytes);

/* The same for an entry that is complete; at is counted from now. With the lock. */
int script_insert(const struct script_entry *entry);

/* Whether there may be something to do; without the lock. */
bool script_is_due(void);
/* Say when the next entry is due; with the lock. */
void script_due(void);
/* Run what is due, unless somebody does already. Without the lock. */
void script_run(void);

#endif /* MODEL_SCRIPT_H */
