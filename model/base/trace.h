/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The trace (--trace FILE): one line of text per event, in a stable format that
 * doc/guides/model-trace.rst describes. A line is
 *
 * 	TIME CLASS key=value key=value ...
 *
 * Each line is one write(2) to a file opened with O_APPEND, so that lines of
 * several processes do not mix and none is lost if a program is killed.
 *
 * Lines contain no raw address, handle, descriptor or process id, so that two
 * runs can be compared. All functions are async-signal-safe and may be called
 * with or without the machine's lock.
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
	X(event)         \
	X(request)

enum trace_class {
#define TRACE_ENUM(name) TRACE_##name,
	TRACE_CLASSES(TRACE_ENUM)
#undef TRACE_ENUM
	NB_TRACE_CLASSES
};

/* Bits of the classes that are written; 0: the trace is off. */
extern uint32_t trace_on;

static inline bool
trace_is_on(enum trace_class class)
{
	return __builtin_expect((trace_on >> class & 1) != 0, 0);
}

/* NULL past the last. */
const char *trace_class_name(enum trace_class class);

/*
 * For the launcher, after segment_create(): empty the file and write its first
 * line. 0, also if no trace is configured, or a negative errno.
 */
int trace_create(void);
/*
 * For programs, after segment_attach(). If the file cannot be opened, the
 * program logs it once and continues.
 */
void trace_open(void);
/* For tests that create several machines in one process. */
void trace_close(void);

/* Longer lines would end in "..."; the model writes none. */
#define TRACE_LINE_BYTES 4096u

/* A line under construction. */
struct trace_line {
	uint32_t len;
	char text[TRACE_LINE_BYTES];
};

void trace_begin(struct trace_line *line, enum trace_class class);
void trace_add(struct trace_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Write it. */
void trace_end(struct trace_line *line);

/* Write a whole line; format gives the text behind the class. */
void trace_put(enum trace_class class, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
#define trace_event(...)                                    \
	do {                                                \
		if (trace_is_on(TRACE_event))               \
			trace_put(TRACE_event, __VA_ARGS__); \
	} while (0)

/* "0" or the name of an errno; rc is 0 or negative. */
const char *trace_result(int rc);

/* Add untrusted text, quoted: characters that would end it become '?'. */
void trace_add_text(struct trace_line *line, const char *key, const char *text);

/* Bits of a little-endian word. Arrays end with an entry without a name. */
struct trace_field {
	const char *name;
	uint8_t word, shift, nb_bits;
	bool is_hex;
};

uint32_t trace_field_get(const struct trace_field *field, const uint8_t *bytes);
void trace_add_fields(struct trace_line *line, const struct trace_field *fields,
		      const uint8_t *bytes);
/* Add raw=, the last value of a line: words of eight hexadecimal digits. */
void trace_add_raw(struct trace_line *line, const uint8_t *bytes,
		   uint32_t nb_bytes);

/* 64-bit FNV-1a hash. */
uint64_t trace_hash(const void *bytes, size_t nb_bytes);

/* The port's number in commands: over the whole machine, from 1. */
uint32_t trace_port(uint32_t fn, uint32_t port);

#endif /* MODEL_TRACE_H */
