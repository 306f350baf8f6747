/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launcher.h"
#include "options.h"
#include "script.h"

/* Limit for files that are no scenario. */
#define MAX_LINES 100000u

/* Remove blanks at the ends and a comment: '#' at the start of a word. */
static char *
strip(char *line)
{
	char *end;

	for (char *p = line; *p != '\0'; p++) {
		if (*p == '#' && (p == line || strchr(" \t", p[-1]) != NULL)) {
			*p = '\0';
			break;
		}
	}
	line += strspn(line, " \t");
	end = line + strlen(line);
	while (end > line && strchr(" \t\r\n", end[-1]) != NULL)
		end--;
	*end = '\0';
	return line;
}

static int
take_line(const char *path, uint32_t number, char *line, size_t length)
{
	char message[256] = "";

	if (strlen(line) != length) {
		options_error("%s:%u: the line has a zero byte: a scenario is "
			      "text",
			      path, number);
		return -1;
	}
	line = strip(line);
	if (*line == '\0')
		return 0;
	if (script_add(line, number, false, message, sizeof(message)) == 0)
		return 0;
	options_error("%s:%u: %s", path, number, message);
	return -1;
}

static int
cannot_read(const char *path)
{
	options_error("cannot read the scenario %s: %s; give --scenario a "
		      "readable file",
		      path, strerror(errno));
	return -1;
}

static int
take_lines(const char *path, FILE *file)
{
	size_t room = 0;
	uint32_t number = 0;
	char *line = NULL;
	ssize_t length;
	int ret = 0;

	while (ret == 0 && (length = getline(&line, &room, file)) >= 0) {
		if (++number > MAX_LINES) {
			options_error("%s: more than %u lines: is it a "
				      "scenario?",
				      path, MAX_LINES);
			ret = -1;
		} else {
			ret = take_line(path, number, line, (size_t)length);
		}
	}
	if (ret == 0 && !feof(file))
		ret = cannot_read(path);
	free(line);
	return ret;
}

int
scenario_load(const char *path)
{
	struct stat st;
	FILE *file;
	int ret;

	file = fopen(path, "re");
	if (file == NULL)
		return cannot_read(path);
	/* Refuse devices: getline() would wait or read without end. */
	if (fstat(fileno(file), &st) == 0 && S_ISCHR(st.st_mode)) {
		options_error("the scenario %s is a device: give a file", path);
		fclose(file);
		return -1;
	}
	ret = take_lines(path, file);
	fclose(file);
	return ret;
}
