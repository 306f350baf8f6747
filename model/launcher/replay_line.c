/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "replay_line.h"
#include "trace_layout.h"

bool
replay_line_complain(const struct replay_line *line, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	options_complain("replay: %s:%u: %s", line->path, line->number, text);
	return false;
}

bool
replay_line_cut(struct replay_line *line)
{
	const char *p = line->text;
	size_t n = strspn(p, "0123456789");

	if (n == 0 || p[n] != ' ')
		return replay_line_complain(line, "a line starts with the time "
					    "and a blank: '%.40s'", p);
	line->class = p + n + 1;
	line->class_bytes = (uint32_t)strcspn(line->class, " ");
	line->rest = line->class + line->class_bytes;
	if (*line->rest == ' ')
		line->rest++;
	if (replay_line_is(line, "trace"))
		return true;
	for (enum trace_class c = 0; c < NB_TRACE_CLASSES; c++)
		if (replay_line_is(line, trace_class_name(c)))
			return true;
	return replay_line_complain(line, "'%.*s' is no class of lines",
				    (int)line->class_bytes, line->class);
}

bool
replay_line_is(const struct replay_line *line, const char *class)
{
	return strlen(class) == line->class_bytes &&
	       memcmp(line->class, class, line->class_bytes) == 0;
}

const char *
replay_line_find(const struct replay_line *line, const char *key,
		 uint32_t *nb_bytes)
{
	const size_t length = strlen(key);
	const char *p = line->rest;

	while (*p != '\0') {
		const size_t word = strcspn(p, " ");

		if (word > length && p[length] == '=' &&
		    memcmp(p, key, length) == 0) {
			*nb_bytes = (uint32_t)(word - length - 1);
			return p + length + 1;
		}
		p += word;
		p += strspn(p, " ");
	}
	return NULL;
}

bool
replay_line_has(const struct replay_line *line, const char *key,
		const char *value)
{
	uint32_t n;
	const char *found = replay_line_find(line, key, &n);

	return found != NULL && n == strlen(value) &&
	       memcmp(found, value, n) == 0;
}

/* The whole of nb_bytes as a number. */
static bool
read_number(const char *text, uint32_t nb_bytes, int base, uint64_t *number)
{
	char copy[32], *end;

	if (nb_bytes == 0 || nb_bytes >= sizeof(copy) ||
	    !isxdigit((unsigned char)text[0]))
		return false;
	memcpy(copy, text, nb_bytes);
	copy[nb_bytes] = '\0';
	errno = 0;
	*number = strtoull(copy, &end, base);
	return *end == '\0' && errno == 0;
}

bool
replay_line_number(const struct replay_line *line, const char *key,
		   uint64_t max, uint32_t *number)
{
	uint32_t n;
	const char *text = replay_line_find(line, key, &n);
	uint64_t value = 0;

	if (text == NULL)
		return replay_line_complain(line, "there is no %s= in the line",
					    key);
	if (!read_number(text, n, 0, &value) || value > max)
		return replay_line_complain(line, "%s=%.*s: give a number up "
					    "to %llu", key, (int)n, text,
					    (unsigned long long)max);
	*number = (uint32_t)value;
	return true;
}

/* raw=: 16 words of 8 digits with commas between. */
static bool
read_raw(const struct replay_line *line, const char *raw, uint32_t nb_bytes,
	 uint8_t cqe[REPLAY_CQE_BYTES])
{
	const struct trace_field word = { "", 0, 0, 32, true };
	uint64_t value = 0;
	uint32_t i;

	for (i = 0; i < REPLAY_CQE_BYTES / 4; i++) {
		if (nb_bytes < 9 * i + 8 ||
		    !read_number(raw + 9 * i, 8, 16, &value) ||
		    (nb_bytes > 9 * i + 8 && raw[9 * i + 8] != ','))
			break;
		trace_field_set(&word, cqe + 4 * i, (uint32_t)value);
	}
	if (i < REPLAY_CQE_BYTES / 4 || nb_bytes != 9 * i - 1)
		return replay_line_complain(line, "raw= has not 16 words of 8 "
					    "hexadecimal digits with commas "
					    "between");
	return true;
}

/* The type is a name or a number. */
static bool
read_field(const struct replay_line *line, const struct trace_field *field,
	   uint32_t *value)
{
	const uint64_t max = (UINT64_C(1) << field->nb_bits) - 1;

	for (uint32_t type = 0; field == trace_cqe_type && type <= max; type++) {
		const char *name = trace_cqe_type_name(type);

		if (name != NULL && replay_line_has(line, "type", name)) {
			*value = type;
			return true;
		}
	}
	return replay_line_number(line, field->name, max, value);
}

/* All fields of a table that the line has. */
static bool
read_fields(const struct replay_line *line, const struct trace_field *fields,
	    bool has_raw, uint8_t cqe[REPLAY_CQE_BYTES])
{
	uint32_t value = 0, n;

	for (; fields->name != NULL; fields++) {
		if (replay_line_find(line, fields->name, &n) == NULL)
			continue;
		if (!read_field(line, fields, &value))
			return false;
		if (has_raw && trace_field_get(fields, cqe) != value)
			return replay_line_complain(
				line, "%s= and raw= do not agree: who edits a "
				"line takes raw= away", fields->name);
		trace_field_set(fields, cqe, value);
	}
	return true;
}

bool
replay_line_cqe(const struct replay_line *line, uint8_t cqe[REPLAY_CQE_BYTES])
{
	uint32_t n = 0;
	const char *raw = replay_line_find(line, "raw", &n);

	memset(cqe, 0, REPLAY_CQE_BYTES);
	if (raw != NULL && !read_raw(line, raw, n, cqe))
		return false;
	if (raw == NULL && replay_line_find(line, "type", &n) == NULL)
		return replay_line_complain(line, "there is neither type= nor "
					    "raw= in the line");
	/* The type says which fields there are. */
	return read_fields(line, trace_cqe_type, raw != NULL, cqe) &&
	       read_fields(line, trace_cqe_header, raw != NULL, cqe) &&
	       read_fields(line, trace_cqe_trailer, raw != NULL, cqe) &&
	       read_fields(line, trace_cqe_fields(cqe), raw != NULL, cqe);
}
