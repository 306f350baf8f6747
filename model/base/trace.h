/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The trace (--trace FILE): one line of text per event, in a form that does not
 * change; doc/guides/model-trace.rst describes it. A line is
 *
 *	TIME CLASS key=value key=value ...
 *
 * It goes out with one write(2) to a file opened with O_APPEND: lines of several
 * processes do not mix, and nothing is lost when a program is killed.
 *
 * No raw address, handle, descriptor or process id is ever in a line, so that
 * two runs can be compared. All functions are async-signal-safe; the machine's
 * lock may be held or not.
 */

#ifndef MODEL_TRACE_H
#define MODEL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_VERSION 1

/* X(name): the classes, as --trace-classes and each line name them. */
#define TRACE_CLASSES(X) \
	X(verbs)         \
	X(doorbell)      \
	X(wqe)           \
	X(cqe)           \
	X(wire)          \
	X(event)

enum trace_class {
#define TRACE_ENUM(name) TRACE_##name,
	TRACE_CLASSES(TRACE_ENUM)
#undef TRACE_ENUM
	NB_TRACE_CLASSES
};

/* A bit per class that is written; 0: the trace is off. */
extern uint32_t trace_on;

static inline bool
trace_is_on(enum trace_class class)
{
	return __builtin_expect((trace_on >> class & 1) != 0, 0);
}

/* NULL past the last. */
const char *trace_class_name(enum trace_class class);

/*
 * Launcher, after segment_create(): start the file anew, with its first line.
 * 0 or a negative errno; 0 when no trace is wanted.
 */
int trace_create(void);
/*
 * Programs, after segment_attach(). A file that cannot be opened is told once,
 * and the program runs on.
 */
void trace_open(void);
/* Kernel calls are looked at for another reason, too. */
void trace_show_verbs(void);
#define TRACE_SHOW_VERBS NB_TRACE_CLASSES /* its bit */
/* For tests that make many machines in one process. */
void trace_close(void);

/* Longer ones end in "...": none that the model writes does. */
#define TRACE_LINE_BYTES 4096u

/* A line in the making. */
struct trace_line {
	uint32_t len;
	char text[TRACE_LINE_BYTES];
};

void trace_begin(struct trace_line *line, enum trace_class class);
void trace_add(struct trace_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Write it. */
void trace_end(struct trace_line *line);

/* A line of one call: what follows the class word. */
void trace_put(enum trace_class class, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
#define trace_event(...)                                    \
	do {                                                \
		if (trace_is_on(TRACE_event))               \
			trace_put(TRACE_event, __VA_ARGS__); \
	} while (0)

/* 0 or the name of an errno; rc is 0 or negative. */
const char *trace_result(int rc);

/* Text from outside as a value, with quotes: what could end it becomes '?'. */
void trace_add_text(struct trace_line *line, const char *key, const char *text);

/*
 * A field of a layout of the hardware: bits of a little-endian word. Arrays end
 * with an entry without a name.
 */
struct trace_field {
	const char *name;
	uint8_t word, shift, nb_bits;
	bool is_hex;
};

uint32_t trace_field_get(const struct trace_field *field, const uint8_t *bytes);
void trace_field_set(const struct trace_field *field, uint8_t *bytes,
		     uint32_t value);
void trace_add_fields(struct trace_line *line, const struct trace_field *fields,
		      const uint8_t *bytes);
/* raw=, the last of a line: words of eight hexadecimal digits. */
void trace_add_raw(struct trace_line *line, const uint8_t *bytes,
		   uint32_t nb_bytes);

/* Content of a frame: FNV-1a of 64 bits. */
uint64_t trace_hash(const void *bytes, size_t nb_bytes);

#endif /* MODEL_TRACE_H */
