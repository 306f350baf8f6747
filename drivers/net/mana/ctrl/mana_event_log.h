/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The last control events of a port with their time, for telemetry, dumps and the
 * reader of a core file.
 *
 * A log is plain memory, valid when zeroed; no function ends it. Any thread of the
 * control path and the interrupt thread may call these functions, a burst may not.
 */

#ifndef MANA_EVENT_LOG_H
#define MANA_EVENT_LOG_H

#include <stdint.h>
#include <time.h>

#include <rte_spinlock.h>

#define MANA_EVENT_LOG_N 256

/* mana_event_log.c names the two arguments. Append, do not reorder. */
enum mana_event_kind {
	MANA_EVENT_NONE,
	MANA_EVENT_PROBE,
	MANA_EVENT_CONFIGURE,
	MANA_EVENT_RXQ_SETUP,
	MANA_EVENT_RXQ_RELEASE,
	MANA_EVENT_TXQ_SETUP,
	MANA_EVENT_TXQ_RELEASE,
	MANA_EVENT_START,
	MANA_EVENT_STOP,
	MANA_EVENT_CLOSE,
	MANA_EVENT_MTU,
	MANA_EVENT_RXQ_START,
	MANA_EVENT_RXQ_STOP,
	MANA_EVENT_TXQ_START,
	MANA_EVENT_TXQ_STOP,
	MANA_EVENT_RSS,
	MANA_EVENT_VLAN_STRIP,
	MANA_EVENT_LINK,
	MANA_EVENT_REMOVED,
	MANA_EVENT_NETDEV,
	MANA_EVENT_RXQ_FAILED,
	MANA_EVENT_TXQ_FAILED,
	MANA_EVENT_RECOVERED,
	MANA_EVENT_RESET,
	MANA_EVENT_REPAIRED,
	MANA_NB_EVENT_KINDS
};

struct mana_event {
	uint64_t number; /* of this log's events, from 1 */
	uint64_t wall_ns; /* since 1970, UTC */
	uint64_t mono_ns; /* of CLOCK_MONOTONIC */
	uint32_t kind; /* enum mana_event_kind */
	int32_t error; /* 0 or a negative errno: it failed */
	uint32_t arg[2];
};

struct mana_event_log {
	rte_spinlock_t lock;
	uint64_t nb_added;
	struct mana_event ring[MANA_EVENT_LOG_N]; /* by number - 1, masked */
};

/* Returns the error. */
int mana_event_add(struct mana_event_log *log, enum mana_event_kind kind,
		   uint32_t arg0, uint32_t arg1, int error);

/* Copies the last events, the oldest first. Returns their number. */
uint32_t mana_event_log_copy(struct mana_event_log *log,
			     struct mana_event events[MANA_EVENT_LOG_N]);

/* The name of a kind, and those of its arguments; NULL: it has no such argument. */
extern const struct mana_event_kind_names {
	const char *name;
	const char *arg[2];
} mana_event_names[MANA_NB_EVENT_KINDS];

/* Nanoseconds of a clock of clock_gettime(). */
uint64_t mana_now_ns(clockid_t clock);

#endif /* MANA_EVENT_LOG_H */
