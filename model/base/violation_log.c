/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "segment.h"
#include "trace.h"
#include "violation_log.h"

static_assert(sizeof(struct violation_log) <= SEGMENT_VIOLATIONS_BYTES, "violations");

#define LOG_LINE_BYTES	1024
#define LOG_SHOWN_BYTES 64
#define LOG_ALWAYS  4 /* of a row; then each power of two */

static const struct {
	const char *name, *meaning, *source;
} violation_texts[] = {
#define VIOLATION_TEXT(name, meaning, source) { #name, meaning, source },
	MODEL_VIOLATIONS(VIOLATION_TEXT)
#undef VIOLATION_TEXT
};

static const char *const violation_queue_names[] = {
	[VIOLATION_QUEUE_NONE] = "",
	[VIOLATION_QUEUE_SQ] = " sq",
	[VIOLATION_QUEUE_RQ] = " rq",
	[VIOLATION_QUEUE_CQ] = " cq",
	[VIOLATION_QUEUE_EQ] = " eq",
};

const char *
violation_name(enum violation violation)
{
	return violation_texts[violation].name;
}

const char *
violation_meaning(enum violation violation)
{
	return violation_texts[violation].meaning;
}

const char *
violation_source(enum violation violation)
{
	return violation_texts[violation].source;
}

/* One write(2), so that lines of several processes do not mix. */
static void
log_write_line(int fd, char *line, int len)
{
	int saved = errno;

	if (len > LOG_LINE_BYTES - 2)
		len = LOG_LINE_BYTES - 2;
	line[len++] = '\n';
	if (syscall(SYS_write, fd, line, len) < 0)
		errno = saved; /* stderr is closed */
}

void
model_log(const char *format, ...)
{
	char line[LOG_LINE_BYTES];
	va_list args;
	int len;

	len = snprintf(line, sizeof(line), "mana-model: ");
	va_start(args, format);
	len += vsnprintf(line + len, sizeof(line) - len, format, args);
	va_end(args);
	log_write_line(STDERR_FILENO, line, len);
}

/* For the next violation; the machine's lock protects it. */
static char next_detail[VIOLATION_DETAIL_BYTES];

void
violation_detail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(next_detail, sizeof(next_detail), format, args);
	va_end(args);
}

/* The row of a violation and queue; NULL if the table is full. */
static struct violation_row *
violation_row_get(struct violation_log *log, enum violation violation,
		  const struct violation_place *place)
{
	uint32_t queue = place->kind == VIOLATION_QUEUE_NONE ? VIOLATION_NO_QUEUE :
						      place->queue;
	struct violation_row *row;
	uint32_t i;

	for (i = 0; i < log->nb_rows; i++) {
		row = &log->rows[i];
		if (row->violation == violation && row->place.fn == place->fn &&
		    row->place.kind == place->kind && row->place.queue == queue)
			return row;
	}
	if (log->nb_rows == VIOLATION_MAX_ROWS)
		return NULL;
	row = &log->rows[log->nb_rows];
	row->violation = violation;
	row->place = *place;
	row->place.queue = queue;
	row->count = 0;
	memcpy(row->detail, next_detail, sizeof(row->detail));
	log->nb_rows++;
	return row;
}

/* Like raw= of the trace: words of eight digits; the last one may be shorter. */
static void
log_append_words(struct trace_line *line, const uint8_t *bytes, size_t nb_bytes)
{
	for (size_t i = 0; i < nb_bytes; i += 4) {
		size_t n = nb_bytes - i < 4 ? nb_bytes - i : 4;

		trace_add(line, i == 0 ? ": raw=" : ",");
		while (n > 0)
			trace_add(line, "%02x", bytes[i + --n]);
	}
}

static void
violation_print(enum violation violation, const struct violation_place *place,
		uint64_t count, const uint8_t *bytes, size_t nb_bytes)
{
	struct trace_line line;

	line.len = 0;
	trace_add(&line, "mana-model: violation %s: fn %u%s",
		   violation_name(violation), place->fn,
		   violation_queue_names[place->kind]);
	if (place->kind != VIOLATION_QUEUE_NONE)
		trace_add(&line, " %u index %u", place->queue, place->index);
	trace_add(&line, " count %" PRIu64 ": %s%s%s (%s)", count,
		   violation_meaning(violation),
		   next_detail[0] != '\0' ? ": " : "", next_detail,
		   violation_source(violation));
	if (bytes != NULL)
		log_append_words(&line, bytes,
				 nb_bytes < LOG_SHOWN_BYTES ? nb_bytes :
							      LOG_SHOWN_BYTES);
	log_write_line(STDERR_FILENO, line.text, line.len);
}

static void
violation_trace(enum violation violation, const struct violation_place *place,
		uint64_t count)
{
	struct trace_line line;

	trace_begin(&line, TRACE_event);
	trace_add(&line, " kind=violation name=%s fn=%u",
		  violation_name(violation), place->fn);
	if (place->kind != VIOLATION_QUEUE_NONE)
		trace_add(&line, " queue=%s id=%u",
			  violation_queue_names[place->kind] + 1, place->queue);
	trace_add(&line, " index=%u count=%" PRIu64, place->index, count);
	trace_end(&line);
}

void
violation_record(enum violation violation, const struct violation_place *place,
		 const void *bytes, size_t nb_bytes)
{
	static const struct violation_place nowhere;
	struct violation_log *log = segment_violation_log();
	struct violation_row *row;
	uint64_t count = 0;

	if (place == NULL)
		place = &nowhere;
	log->nb_violations++;
	row = violation_row_get(log, violation, place);
	if (row != NULL)
		count = ++row->count;
	else
		log->nb_unlisted++;
	if (row != NULL &&
	    (count <= LOG_ALWAYS || (count & (count - 1)) == 0))
		violation_print(violation, place, count, bytes, nb_bytes);
	if (trace_is_on(TRACE_event))
		violation_trace(violation, place, count);
	next_detail[0] = '\0';

	if (!segment_config()->fatal_violations)
		return;
	log->is_fatal = true;
	if (model_self == SEGMENT_LAUNCHER)
		return;
	/* Unlock first: a SIGABRT handler of the program may need the lock. */
	segment_unlock_masked();
	abort();
}

void
doorbell_count_trap(void)
{
	segment_violation_log()->nb_traps++;
}

uint64_t
violation_count(enum violation violation)
{
	const struct violation_log *log = segment_violation_log();
	uint64_t count = 0;
	uint32_t i;

	for (i = 0; i < log->nb_rows; i++)
		if (log->rows[i].violation == violation)
			count += log->rows[i].count;
	return count;
}
