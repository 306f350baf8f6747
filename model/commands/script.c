/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "card.h"
#include "clock.h"
#include "script.h"
#include "segment.h"
#include "trace.h"
#include "violation_log.h"
#include "watch.h"

static_assert(sizeof(struct script) <= SEGMENT_SCRIPT_BYTES, "struct script");

static uint64_t
nb_doorbells(void)
{
	const struct violation_log *log = segment_violation_log();
	uint64_t n = 0;

	for (int i = 0; i < NB_DOORBELL_COUNTS; i++)
		n += log->doorbells[i];
	return n;
}

/* The current count, or time, that the entry waits for. */
static uint64_t
progress(const struct script_entry *entry)
{
	switch (entry->trigger) {
	case SCRIPT_PACKET:
		return entry->has_port ? watch_count(entry->fn, entry->port) :
					 watch_count_all();
	case SCRIPT_DOORBELL:
		return nb_doorbells();
	case SCRIPT_CALL:
		return segment_fault_plan()->nb_calls[entry->call];
	default:
		return clock_now();
	}
}

/* The card counts packets only while an entry waits for them. */
static void
watch_packets(void)
{
	const struct script *script = segment_script();
	const struct script_entry *entry;
	uint32_t i;

	watch_nothing();
	for (i = 0; i < script->nb_entries; i++) {
		entry = &script->entries[i];
		if (entry->state != SCRIPT_WAITING ||
		    entry->trigger != SCRIPT_PACKET)
			continue;
		if (entry->has_port)
			watch_port(entry->fn, entry->port, entry->at);
		else
			watch_all(entry->at);
	}
}

void
script_due(void)
{
	struct script *script = segment_script();
	uint32_t i, nb_events = 0;

	for (i = 0; i < script->nb_entries; i++) {
		const struct script_entry *entry = &script->entries[i];

		if (entry->state != SCRIPT_WAITING)
			continue;
		if (entry->trigger == SCRIPT_TIME)
			clock_due(entry->at);
		else
			nb_events++;
	}
	__atomic_store_n(&script->nb_events, nb_events, __ATOMIC_RELAXED);
}

/* Nobody waits any more for the end of an entry that script_submit() added. */
static bool
is_abandoned(const struct script_entry *entry)
{
	return entry->state == SCRIPT_DONE && entry->waiter != 0 &&
	       !segment_process_alive(entry->waiter);
}

int
script_insert(const struct script_entry *entry)
{
	struct script *script = segment_script();
	struct script_entry *own;
	uint32_t i;

	for (i = 0; i < script->nb_entries; i++)
		if (script->entries[i].state == SCRIPT_FREE ||
		    is_abandoned(&script->entries[i]))
			break;
	if (i == SCRIPT_MAX_ENTRIES)
		return -ENOSPC;
	own = &script->entries[i];
	*own = *entry;
	own->state = SCRIPT_FREE;
	if (i == script->nb_entries)
		script->nb_entries++;
	if (own->trigger != SCRIPT_TIME)
		own->at += progress(own);
	own->state = SCRIPT_WAITING;
	watch_packets();
	script_due();
	return (int)i;
}

/*
 * Commands themselves make calls and take time. Entries that become due by this
 * run in the next pass, else two lines could trigger each other without end.
 * Packets are limited by what the program has posted.
 */
static bool
has_had_its_turn(const struct script_entry *entry)
{
	return entry->trigger != SCRIPT_PACKET &&
	       entry->pass == segment_script()->pass;
}

/* The next entry to run, or NULL: events first, then by time, then by line. */
static struct script_entry *
next_due(void)
{
	struct script *script = segment_script();
	struct script_entry *first = NULL;
	uint64_t first_at = 0;
	uint32_t i;

	for (i = 0; i < script->nb_entries; i++) {
		struct script_entry *entry = &script->entries[i];
		uint64_t at = entry->trigger == SCRIPT_TIME ? entry->at : 0;

		if (entry->state != SCRIPT_WAITING ||
		    has_had_its_turn(entry) || progress(entry) < entry->at)
			continue;
		if (first == NULL || at < first_at) {
			first = entry;
			first_at = at;
		}
	}
	return first;
}

/* Whether a process runs entries now. */
static bool
is_taken(void)
{
	const struct script *script = segment_script();
	const struct model_process *process = segment_process(script->runner);

	return script->runner != 0 && process != NULL &&
	       process->start_time == script->runner_start_time &&
	       segment_process_alive(script->runner);
}

/* Log the first four failures, then each power of two, as for violations. */
static void
log_result(const struct script_entry *entry, int result)
{
	const uint64_t n = entry->nb_failed;

	if (result < 0 && n > 4 && (n & (n - 1)) != 0)
		return;
	if (entry->waiter != 0)
		return; /* the waiting process prints it */
	if (result < 0 && entry->line != 0)
		model_log("scenario, line %u: %s: %s", entry->line,
			  entry->text + entry->command_off, entry->message);
	else if (result < 0)
		model_log("%s: %s", entry->text, entry->message);
}

/* Run a claimed entry, with the lock held, which it releases meanwhile. */
static void
run_entry(struct script_entry *entry)
{
	char text[COMMAND_MAX_LINE], message[SCRIPT_MESSAGE_BYTES] = "";
	int result;

	entry->state = SCRIPT_RUNNING;
	entry->time_ns = clock_now();
	entry->nb_runs++;
	entry->pass = segment_script()->pass;
	strcpy(text, entry->text + entry->command_off);
	trace_event("kind=script line=%u run=%llu", entry->line,
		    (unsigned long long)entry->nb_runs);
	segment_unlock();
	result = command_run(text, message, sizeof(message));
	segment_lock();
	if (result < 0) {
		entry->nb_failed++;
		strcpy(entry->message, message);
	}
	log_result(entry, result);
	if (entry->period == 0) {
		/*
		 * Entries of the scenario stay for the report, others until
		 * the waiting process has the result.
		 */
		entry->state = entry->line != 0 || entry->waiter != 0 ?
				       SCRIPT_DONE : SCRIPT_FREE;
		return;
	}
	/* Skip missed periods. */
	entry->at += entry->period;
	if (entry->at <= progress(entry))
		entry->at += (progress(entry) - entry->at) / entry->period *
			     entry->period;
	entry->state = SCRIPT_WAITING;
}

bool
script_is_due(void)
{
	return __atomic_load_n(&segment_script()->nb_events, __ATOMIC_RELAXED) !=
	       0;
}

void
script_run(void)
{
	struct script *script = segment_script();
	struct script_entry *entry;

	segment_lock();
	if (script->nb_entries == 0 || is_taken()) {
		segment_unlock();
		return;
	}
	script->runner_start_time = segment_process(model_self)->start_time;
	script->runner = model_self;
	script->pass++;
	do {
		while ((entry = next_due()) != NULL)
			run_entry(entry);
		watch_packets();
		/* Process packets up to the next that an entry waits for. */
	} while (card_go());
	script->runner = 0;
	script_due();
	segment_unlock();
}
