/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "replay_read.h"
#include "replay_steps.h"
#include "trace.h"

/* The next line, without its line feed; false at the end or a complaint. */
static bool
next_line(FILE *stream, struct replay_line *line, size_t *room, bool *is_bad)
{
	ssize_t n = getline(&line->text, room, stream);

	if (n <= 0)
		return false;
	line->number++;
	*is_bad = true;
	if (line->text[n - 1] != '\n')
		return replay_line_complain(line, "the file ends within the "
					    "line: take it away");
	if (strlen(line->text) != (size_t)n)
		return replay_line_complain(line, "this is no text");
	line->text[n - 1] = '\0';
	*is_bad = false;
	return true;
}

static FILE *
open_trace(const char *path)
{
	FILE *stream = fopen(path, "re");

	if (stream == NULL)
		options_complain("replay: cannot read %s: %s", path,
				 strerror(errno));
	return stream;
}

/* The first line, in line; false after a complaint. */
static bool
check_header(FILE *stream, struct replay_line *line, size_t *room)
{
	uint32_t version = 0;
	bool is_bad = false;

	if (!next_line(stream, line, room, &is_bad)) {
		if (is_bad)
			return false;
		line->number = 1;
		return replay_line_complain(line, "the file is empty or cannot "
					    "be read");
	}
	if (strncmp(line->text, "0 trace ", 8) != 0)
		return replay_line_complain(line, "this is no trace of "
					    "mana-model: its first line starts "
					    "with '0 trace version='");
	return replay_line_cut(line) &&
	       replay_line_number(line, "version", UINT32_MAX, &version) &&
	       (version == TRACE_VERSION ||
		replay_line_complain(line, "version %u of the trace is not "
				     "known: record it anew", version));
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
			return replay_line_complain(line, "ports= has not a "
						    "number for each function");
		config->nb_ports[fn] = n;
		ports += strspn(ports, "0123456789");
		ports += *ports == ',';
	}
	return config->nb_functions > 0 ||
	       replay_line_complain(line, "functions= is 0");
}

bool
replay_read_header(const char *path, struct model_config *config)
{
	struct replay_line line = { .path = path };
	FILE *stream = open_trace(path);
	size_t room = 0;
	bool is_good;

	if (stream == NULL)
		return false;
	is_good = check_header(stream, &line, &room) &&
		  take_header(&line, config);
	free(line.text);
	fclose(stream);
	return is_good;
}

/* What was asked for is to be in it. */
static bool
check_parts(const struct recording_file *file, const char *path)
{
	size_t nb_cqes = 0;

	for (size_t i = 0; i < file->steps.nb; i++)
		nb_cqes += ((struct replay_step *)file->steps.items)[i].kind ==
			   REPLAY_CQE;
	if ((file->parts & REPLAY_VERBS) != 0 && file->calls.nb == 0)
		options_complain("replay: %s has no lines of the class verbs: "
				 "record them, or replay --completions", path);
	else if ((file->parts & REPLAY_COMPLETIONS) != 0 && nb_cqes == 0)
		options_complain("replay: %s has no lines of the class cqe: "
				 "record them (with doorbell, wqe and event), or "
				 "replay --verbs", path);
	else
		return true;
	return false;
}

struct recording_file *
replay_read(const char *path, uint32_t parts)
{
	struct recording_file *file = calloc(1, sizeof(*file));
	struct replay_line line = { .path = path };
	FILE *stream = open_trace(path);
	bool is_bad = stream == NULL;
	size_t room = 0;

	if (file == NULL || is_bad) {
		free(file);
		return NULL;
	}
	file->parts = parts;
	replay_steps_init(file);
	is_bad = !check_header(stream, &line, &room);
	while (!is_bad && next_line(stream, &line, &room, &is_bad))
		is_bad = !replay_steps_add(file, &line);
	is_bad = is_bad || !check_parts(file, path);
	free(line.text);
	fclose(stream);
	if (is_bad) {
		replay_free(file);
		return NULL;
	}
	return file;
}

/* One list behind the others; its place, in bytes from the start. */
static uint64_t
put(FILE *stream, const struct replay_list *list)
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
