/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "options.h"
#include "replay.h"
#include "replay_read.h"
#include "trace.h"
#include "trace_layout.h"

/* A line of a trace, split into words. */
struct replay_line {
	const char *path;
	uint32_t number; /* from 1 */
	char *text; /* without line feed */
	const char *class; /* the class, and the text behind it */
	uint32_t class_bytes;
	const char *rest;
};

/* Log an error "PATH:NUMBER: ...". Returns false. */
static bool __attribute__((format(printf, 2, 3)))
replay_line_error(const struct replay_line *line, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	options_error("replay: %s:%u: %s", line->path, line->number, text);
	return false;
}

static bool
replay_line_is(const struct replay_line *line, const char *class)
{
	return strlen(class) == line->class_bytes &&
	       memcmp(line->class, class, line->class_bytes) == 0;
}

/* Split time and class from line->text. */
static bool
replay_line_cut(struct replay_line *line)
{
	const char *p = line->text;
	size_t n = strspn(p, "0123456789");

	if (n == 0 || p[n] != ' ')
		return replay_line_error(line, "a line starts with the time "
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
	return replay_line_error(line, "'%.*s' is no class of lines",
				 (int)line->class_bytes, line->class);
}

/* The value of a key and its length, or NULL. */
static const char *
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

static bool
replay_line_has(const struct replay_line *line, const char *key,
		const char *value)
{
	uint32_t n;
	const char *found = replay_line_find(line, key, &n);

	return found != NULL && n == strlen(value) &&
	       memcmp(found, value, n) == 0;
}

/* Parse all nb_bytes as a number. */
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

/* Parse a required number of the line. */
static bool
replay_line_number(const struct replay_line *line, const char *key,
		   uint64_t max, uint32_t *number)
{
	uint32_t n;
	const char *text = replay_line_find(line, key, &n);
	uint64_t value = 0;

	if (text == NULL)
		return replay_line_error(line, "the line has no %s=",
					 key);
	if (!read_number(text, n, 0, &value) || value > max)
		return replay_line_error(line, "%s=%.*s: give a number up "
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
		return replay_line_error(line, "raw= must have 16 words of 8 "
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

/* Parse all fields of a table that are in the line. */
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
			return replay_line_error(
				line, "%s= and raw= disagree: to edit a line, "
				"remove raw=", fields->name);
		trace_field_set(fields, cqe, value);
	}
	return true;
}

/* The CQE of a line: from its fields, from raw=, or from both if they agree. */
static bool
replay_line_cqe(const struct replay_line *line, uint8_t cqe[REPLAY_CQE_BYTES])
{
	uint32_t n = 0;
	const char *raw = replay_line_find(line, "raw", &n);

	memset(cqe, 0, REPLAY_CQE_BYTES);
	if (raw != NULL && !read_raw(line, raw, n, cqe))
		return false;
	if (raw == NULL && replay_line_find(line, "type", &n) == NULL)
		return replay_line_error(line, "the line has neither type= nor "
					 "raw=");
	/* The type selects the fields. */
	return read_fields(line, trace_cqe_type, raw != NULL, cqe) &&
	       read_fields(line, trace_cqe_header, raw != NULL, cqe) &&
	       read_fields(line, trace_cqe_trailer, raw != NULL, cqe) &&
	       read_fields(line, trace_cqe_fields(cqe), raw != NULL, cqe);
}

/* A growing array. */
struct list {
	void *items;
	size_t nb, room, item_bytes;
};

struct recording_file {
	uint32_t parts; /* REPLAY_* */
	struct list calls, queues, steps, texts;
	struct list live; /* one entry per queue */
};

/* The queue that currently has an id of the card: ids are reused. */
struct live {
	uint32_t fn, id, cq;
	uint32_t nb_posted;
	bool is_there;
};

static void *
grow(struct list *list, size_t nb)
{
	void *at;

	if (list->nb + nb > list->room) {
		list->room = 2 * (list->nb + nb);
		list->items = realloc(list->items, list->room * list->item_bytes);
		if (list->items == NULL) {
			options_error("replay: no memory");
			exit(OPTIONS_EXIT_OWN_ERROR);
		}
	}
	at = (char *)list->items + list->nb * list->item_bytes;
	memset(at, 0, nb * list->item_bytes);
	list->nb += nb;
	return at;
}

static bool
add_call(struct recording_file *file, const struct replay_line *line)
{
	const char *end = strstr(line->rest, " result=");
	struct replay_call *call;
	uint32_t n = 0;
	int error = 0;

	if (strstr(line->rest, "call=") == NULL || end == NULL)
		return replay_line_error(line, "a line of verbs has call= "
					 "and result=");
	n = (uint32_t)strcspn(end + 8, " ");
	if (n != 1 || end[8] != '0') {
		char name[32] = "";

		snprintf(name, sizeof(name), "%.*s", (int)n, end + 8);
		if (n >= sizeof(name) || fault_errno_read(name, &error) != 0)
			return replay_line_error(line, "result=%.*s: give 0 "
						 "or an errno as ENOMEM",
						 (int)n, end + 8);
	}
	call = grow(&file->calls, 1);
	call->line = line->number;
	call->error = error;
	call->text_at = (uint32_t)file->texts.nb;
	call->text_bytes = (uint32_t)(end - line->rest);
	/* Including the terminating zero, for strstr(). */
	memcpy(grow(&file->texts, call->text_bytes + 1), line->rest,
	       call->text_bytes);
	return true;
}

static struct live *
live_nth(const struct recording_file *file, size_t n)
{
	return (struct live *)file->live.items + n;
}

static struct replay_queue *
queue_nth(const struct recording_file *file, size_t n)
{
	return (struct replay_queue *)file->queues.items + n;
}

/* Find the existing queue with this id, or with this CQ; the latest first. */
static bool
find_queue(const struct recording_file *file, const struct replay_line *line,
	   bool by_cq, bool is_sq, uint32_t *queue)
{
	uint32_t fn, id;
	size_t n;

	if (!replay_line_number(line, "fn", MODEL_MAX_FUNCTIONS - 1, &fn) ||
	    !replay_line_number(line, by_cq ? "cq" : "id", UINT32_MAX, &id))
		return false;
	for (n = file->live.nb; n-- > 0;) {
		const struct live *live = live_nth(file, n);

		if (!live->is_there || live->fn != fn ||
		    (by_cq ? live->cq : live->id) != id ||
		    (!by_cq && queue_nth(file, n)->is_sq != is_sq))
			continue;
		*queue = (uint32_t)n;
		return true;
	}
	return replay_line_error(line, "no line before this one creates "
				 "%s %u of function %u: record the class "
				 "event, too",
				 by_cq ? "CQ" : is_sq ? "SQ" : "RQ", id, fn);
}

/* queue=sq|rq, or reg= of a doorbell. */
static bool
read_kind(const struct replay_line *line, const char *key, bool *is_sq)
{
	*is_sq = replay_line_has(line, key, "sq");
	if (*is_sq || replay_line_has(line, key, "rq"))
		return true;
	return replay_line_error(line, "%s= must be sq or rq", key);
}

static bool
add_queue(struct recording_file *file, const struct replay_line *line)
{
	struct replay_queue *queue = grow(&file->queues, 1);
	struct live *live = grow(&file->live, 1);

	if (!read_kind(line, "queue", &queue->is_sq) ||
	    !replay_line_number(line, "fn", MODEL_MAX_FUNCTIONS - 1,
				&queue->fn) ||
	    !replay_line_number(line, "port", MODEL_MAX_PORTS, &queue->port) ||
	    !replay_line_number(line, "id", UINT32_MAX, &live->id) ||
	    !replay_line_number(line, "cq", UINT32_MAX, &live->cq))
		return false;
	live->fn = queue->fn;
	live->is_there = true;
	return true;
}

static bool
add_event(struct recording_file *file, const struct replay_line *line)
{
	uint32_t queue = 0;
	bool is_sq;

	if (replay_line_has(line, "kind", "queue_created"))
		return add_queue(file, line);
	if (!replay_line_has(line, "kind", "queue_destroyed"))
		return true;
	if (!read_kind(line, "queue", &is_sq) ||
	    !find_queue(file, line, false, is_sq, &queue))
		return false;
	live_nth(file, queue)->is_there = false;
	return true;
}

static struct replay_step *
add_step(struct recording_file *file, const struct replay_line *line,
	 enum replay_kind kind, uint32_t queue)
{
	struct replay_step *step = grow(&file->steps, 1);

	step->line = line->number;
	step->kind = kind;
	step->queue = queue;
	return step;
}

static bool
add_doorbell(struct recording_file *file, const struct replay_line *line)
{
	uint32_t queue = 0, nb = 0;
	struct live *live;
	bool is_sq;

	if (replay_line_has(line, "reg", "cq"))
		return true;
	if (!read_kind(line, "reg", &is_sq) ||
	    !replay_line_number(line, "wqes", UINT32_MAX, &nb))
		return false;
	if (nb == 0)
		return true; /* not relevant to the replay */
	if (!find_queue(file, line, false, is_sq, &queue))
		return false;
	live = live_nth(file, queue);
	live->nb_posted += nb;
	add_step(file, line, REPLAY_POST, queue)->nb_posted = live->nb_posted;
	return true;
}

static bool
add_wqe(struct recording_file *file, const struct replay_line *line)
{
	uint32_t queue = 0;
	bool is_sq;

	if (!read_kind(line, "queue", &is_sq) ||
	    !find_queue(file, line, false, is_sq, &queue))
		return false;
	add_step(file, line, REPLAY_FETCH, queue);
	return true;
}

static bool
add_cqe(struct recording_file *file, const struct replay_line *line)
{
	uint8_t cqe[REPLAY_CQE_BYTES];
	uint32_t queue = 0;

	if (!replay_line_cqe(line, cqe) ||
	    !find_queue(file, line, true, false, &queue))
		return false;
	memcpy(add_step(file, line, REPLAY_CQE, queue)->cqe, cqe, sizeof(cqe));
	return true;
}

static bool
add_line(struct recording_file *file, struct replay_line *line)
{
	const bool is_wanted = (file->parts & REPLAY_COMPLETIONS) != 0;

	if (line->text[0] == '#' || line->text[0] == '\0')
		return true;
	if (!replay_line_cut(line))
		return false;
	if (replay_line_is(line, "verbs"))
		return (file->parts & REPLAY_VERBS) == 0 || add_call(file, line);
	if (!is_wanted)
		return true;
	if (replay_line_is(line, "event"))
		return add_event(file, line);
	if (replay_line_is(line, "doorbell"))
		return add_doorbell(file, line);
	if (replay_line_is(line, "wqe"))
		return add_wqe(file, line);
	if (replay_line_is(line, "cqe"))
		return add_cqe(file, line);
	return true;
}

/* The next line, without its line feed; false at the end or after an error. */
static bool
next_line(FILE *stream, struct replay_line *line, size_t *room, bool *is_bad)
{
	ssize_t n = getline(&line->text, room, stream);

	if (n <= 0)
		return false;
	line->number++;
	*is_bad = true;
	if (line->text[n - 1] != '\n')
		return replay_line_error(line, "the file ends within the line: "
					 "remove the line");
	if (strlen(line->text) != (size_t)n)
		return replay_line_error(line, "the line is not text");
	line->text[n - 1] = '\0';
	*is_bad = false;
	return true;
}

/* Check the first line, in line; false after logging an error. */
static bool
check_header(FILE *stream, struct replay_line *line, size_t *room)
{
	uint32_t version = 0;
	bool is_bad = false;

	if (!next_line(stream, line, room, &is_bad)) {
		if (is_bad)
			return false;
		line->number = 1;
		return replay_line_error(line, "the file is empty or cannot "
					 "be read");
	}
	if (strncmp(line->text, "0 trace ", 8) != 0)
		return replay_line_error(line, "this is no trace of "
					 "mana-model: its first line starts "
					 "with '0 trace version='");
	return replay_line_cut(line) &&
	       replay_line_number(line, "version", UINT32_MAX, &version) &&
	       (version == TRACE_VERSION ||
		replay_line_error(line, "version %u of the trace is unknown: "
				  "record it again", version));
}

static bool
take_header(const struct replay_line *line, struct model_config *config)
{
	uint32_t nb = 0;
	const char *ports = replay_line_find(line, "ports", &nb);

	if (!replay_line_number(line, "functions", MODEL_MAX_FUNCTIONS,
				&config->nb_functions) ||
	    !replay_line_number(line, "max_mtu", MODEL_MAX_MTU,
				&config->max_mtu) ||
	    !replay_line_number(line, "vp_offset", OPTIONS_MAX_VP_OFFSET,
				&config->vp_offset_base))
		return false;
	for (uint32_t fn = 0; fn < config->nb_functions; fn++) {
		unsigned int n = 0;

		if (ports == NULL || sscanf(ports, "%u", &n) != 1 || n == 0 ||
		    n > MODEL_MAX_PORTS_PER_FUNCTION)
			return replay_line_error(line, "ports= must have a "
						 "number for each function");
		config->nb_ports[fn] = n;
		ports += strspn(ports, "0123456789");
		ports += *ports == ',';
	}
	return config->nb_functions > 0 ||
	       replay_line_error(line, "functions= is 0");
}

/* Check that the recording has the requested parts. */
static bool
check_parts(const struct recording_file *file, const char *path)
{
	size_t nb_cqes = 0;

	for (size_t i = 0; i < file->steps.nb; i++)
		nb_cqes += ((struct replay_step *)file->steps.items)[i].kind ==
			   REPLAY_CQE;
	if ((file->parts & REPLAY_VERBS) != 0 && file->calls.nb == 0)
		options_error("replay: %s has no lines of the class verbs: "
				 "record them, or replay --completions", path);
	else if ((file->parts & REPLAY_COMPLETIONS) != 0 && nb_cqes == 0)
		options_error("replay: %s has no lines of the class cqe: "
				 "record them (with doorbell, wqe and event), or "
				 "replay --verbs", path);
	else
		return true;
	return false;
}

struct recording_file *
replay_read(const char *path, uint32_t parts, struct model_config *config)
{
	struct recording_file *file = calloc(1, sizeof(*file));
	struct replay_line line = { .path = path };
	FILE *stream = NULL;
	bool is_bad = true;
	size_t room = 0;

	if (file == NULL || file_check("replay", path) != 0) {
		free(file);
		return NULL;
	}
	file->parts = parts;
	file->calls.item_bytes = sizeof(struct replay_call);
	file->queues.item_bytes = sizeof(struct replay_queue);
	file->steps.item_bytes = sizeof(struct replay_step);
	file->live.item_bytes = sizeof(struct live);
	file->texts.item_bytes = 1;
	stream = fopen(path, "re");
	if (stream == NULL)
		options_error("replay: cannot read %s: %s", path,
				 strerror(errno));
	else
		is_bad = !check_header(stream, &line, &room) ||
			 !take_header(&line, config);
	while (!is_bad && next_line(stream, &line, &room, &is_bad))
		is_bad = !add_line(file, &line);
	is_bad = is_bad || !check_parts(file, path);
	free(line.text);
	if (stream != NULL)
		fclose(stream);
	if (is_bad) {
		replay_free(file);
		return NULL;
	}
	return file;
}

/* Append a list; returns its offset in bytes. */
static uint64_t
put(FILE *stream, const struct list *list)
{
	static const char zeros[8];
	const long at = ftell(stream);

	if (list->nb > 0)
		fwrite(list->items, list->item_bytes, list->nb, stream);
	fwrite(zeros, 1, -(size_t)ftell(stream) % sizeof(zeros), stream);
	return (uint64_t)at;
}

int
replay_write(const struct recording_file *file, const char *run_dir)
{
	struct replay head = { .parts = file->parts };
	char path[MODEL_MAX_PATH + 16];
	FILE *stream;
	int ret;

	snprintf(path, sizeof(path), "%s/" REPLAY_NAME, run_dir);
	stream = fopen(path, "wxe");
	if (stream == NULL)
		return -errno;
	errno = 0;
	fwrite(&head, sizeof(head), 1, stream);
	head.nb_calls = (uint32_t)file->calls.nb;
	head.nb_queues = (uint32_t)file->queues.nb;
	head.nb_steps = (uint32_t)file->steps.nb;
	head.calls_at = put(stream, &file->calls);
	head.queues_at = put(stream, &file->queues);
	head.steps_at = put(stream, &file->steps);
	head.texts_at = put(stream, &file->texts);
	head.bytes = (uint64_t)ftell(stream);
	rewind(stream);
	fwrite(&head, sizeof(head), 1, stream);
	ret = ferror(stream) != 0;
	return fclose(stream) != 0 || ret ? -(errno != 0 ? errno : EIO) : 0;
}

void
replay_free(struct recording_file *file)
{
	if (file == NULL)
		return;
	free(file->calls.items);
	free(file->queues.items);
	free(file->steps.items);
	free(file->live.items);
	free(file->texts.items);
	free(file);
}
