/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ledger.h"
#include "segment.h"
#include "trace.h"

static_assert(sizeof(struct ledger) <= SEGMENT_LEDGER_BYTES, "ledger");

#define LEDGER_LINE_BYTES  512
#define LEDGER_SHOWN_BYTES 64
#define LEDGER_LOG_ALWAYS  4 /* the first of a row; then powers of two */

static const struct {
	const char *name, *meaning, *source;
} violation_texts[] = {
#define LEDGER_TEXT(name, meaning, source) { #name, meaning, source },
	MODEL_VIOLATIONS(LEDGER_TEXT)
#undef LEDGER_TEXT
};

static const char *const ledger_kind_names[] = {
	[LEDGER_NONE] = "",
	[LEDGER_SQ] = " sq",
	[LEDGER_RQ] = " rq",
	[LEDGER_CQ] = " cq",
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
ledger_write_line(int fd, char *line, int len)
{
	int saved = errno;

	if (len > LEDGER_LINE_BYTES - 2)
		len = LEDGER_LINE_BYTES - 2;
	line[len++] = '\n';
	if (syscall(SYS_write, fd, line, len) < 0)
		errno = saved; /* nobody to tell */
}

void
ledger_log(const char *format, ...)
{
	char line[LEDGER_LINE_BYTES];
	va_list args;
	int len;

	len = snprintf(line, sizeof(line), "mana-model: ");
	va_start(args, format);
	len += vsnprintf(line + len, sizeof(line) - len, format, args);
	va_end(args);
	ledger_write_line(STDERR_FILENO, line, len);
}

/* The row of this violation at this queue; NULL when the table is full. */
static struct ledger_row *
ledger_row_get(struct ledger *ledger, enum violation violation,
	       const struct ledger_place *place)
{
	uint32_t queue = place->kind == LEDGER_NONE ? LEDGER_NO_QUEUE :
						      place->queue;
	struct ledger_row *row;
	uint32_t i;

	for (i = 0; i < ledger->nb_rows; i++) {
		row = &ledger->rows[i];
		if (row->violation == violation && row->place.fn == place->fn &&
		    row->place.kind == place->kind && row->place.queue == queue)
			return row;
	}
	if (ledger->nb_rows == LEDGER_MAX_ROWS)
		return NULL;
	row = &ledger->rows[ledger->nb_rows];
	row->violation = violation;
	row->place = *place;
	row->place.queue = queue;
	row->count = 0;
	ledger->nb_rows++;
	return row;
}

/* A line that grows and is cut when it is too long. */
struct ledger_line {
	int len;
	char text[LEDGER_LINE_BYTES];
};

static void __attribute__((format(printf, 2, 3)))
ledger_append(struct ledger_line *line, const char *format, ...)
{
	int room = (int)sizeof(line->text) - line->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line->text + line->len, (size_t)room, format, args);
	va_end(args);
	line->len += n < room ? n : room - 1;
}

static void
ledger_violation_log(enum violation violation, const struct ledger_place *place,
		     uint64_t count, const uint8_t *bytes, size_t nb_bytes)
{
	struct ledger_line line = { 0 };
	size_t i;

	ledger_append(&line, "mana-model: violation %s: fn %u%s",
		      violation_name(violation), place->fn,
		      ledger_kind_names[place->kind]);
	if (place->kind != LEDGER_NONE)
		ledger_append(&line, " %u index %u", place->queue, place->index);
	ledger_append(&line, " count %" PRIu64 ": %s (%s)", count,
		      violation_meaning(violation), violation_source(violation));
	if (nb_bytes > LEDGER_SHOWN_BYTES)
		nb_bytes = LEDGER_SHOWN_BYTES;
	for (i = 0; bytes != NULL && i < nb_bytes; i++)
		ledger_append(&line, "%s%02x",
			      i == 0	 ? ": " :
			      i % 4 == 0 ? " " :
					   "",
			      bytes[i]);
	ledger_write_line(STDERR_FILENO, line.text, line.len);
}

static void
ledger_violation_trace(enum violation violation, const struct ledger_place *place,
		       uint64_t count)
{
	struct trace_line line;

	trace_begin(&line, TRACE_event);
	trace_add(&line, " kind=violation name=%s fn=%u",
		  violation_name(violation), place->fn);
	if (place->kind != LEDGER_NONE)
		trace_add(&line, " queue=%s id=%u",
			  ledger_kind_names[place->kind] + 1, place->queue);
	trace_add(&line, " index=%u count=%" PRIu64, place->index, count);
	trace_end(&line);
}

void
ledger_violation(enum violation violation, const struct ledger_place *place,
		 const void *bytes, size_t nb_bytes)
{
	static const struct ledger_place nowhere;
	struct ledger *ledger = segment_ledger();
	struct ledger_row *row;
	uint64_t count = 0;

	if (place == NULL)
		place = &nowhere;
	ledger->nb_violations++;
	row = ledger_row_get(ledger, violation, place);
	if (row != NULL)
		count = ++row->count;
	else
		ledger->nb_unlisted++;
	if (row != NULL &&
	    (count <= LEDGER_LOG_ALWAYS || (count & (count - 1)) == 0))
		ledger_violation_log(violation, place, count, bytes, nb_bytes);
	if (trace_is_on(TRACE_event))
		ledger_violation_trace(violation, place, count);

	if (!segment_config()->fatal_violations)
		return;
	ledger->is_fatal = true;
	if (model_self == SEGMENT_LAUNCHER)
		return;
	/* A handler of SIGABRT may run, it must not find the lock held. */
	segment_unlock_masked();
	abort();
}

void
ledger_trap(void)
{
	segment_ledger()->nb_traps++;
}

uint64_t
ledger_count(enum violation violation)
{
	const struct ledger *ledger = segment_ledger();
	uint64_t count = 0;
	uint32_t i;

	for (i = 0; i < ledger->nb_rows; i++)
		if (ledger->rows[i].violation == violation)
			count += ledger->rows[i].count;
	return count;
}
