/* SPDX-License-Identifier: BSD-3-Clause */

/* What is seen of the machine. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options_parse.h"
#include "trace.h"

static const char *
parse_report(struct options *options, const char *value)
{
	if (value[0] == '\0')
		return options_explain("give a file name");
	options->report = value;
	return NULL;
}

/* Programs may change their folder: they get an absolute path. */
static const char *
make_absolute(const char *value, char *path, size_t room)
{
	char folder[PATH_MAX] = "";

	if (value[0] != '/' && getcwd(folder, sizeof(folder)) == NULL)
		return options_explain("the current folder has no path: give an "
			       "absolute one");
	if (value[0] == '\0' ||
	    (size_t)snprintf(path, room, "%s%s%s", folder,
			     folder[0] != '\0' ? "/" : "", value) >= room)
		return options_explain("give a file name of less than %zu bytes", room);
	return NULL;
}

static const char *
parse_trace(struct options *options, const char *value)
{
	char *path = options->config.trace;

	if (strcmp(value, "-") == 0) {
		strcpy(path, value);
		return NULL;
	}
	return make_absolute(value, path, sizeof(options->config.trace));
}

/* A folder is there already, or is meant by the "/" at the end. */
static const char *
parse_capture(struct options *options, const char *value)
{
	struct model_config *config = &options->config;
	const size_t length = strlen(value);
	struct stat st;

	config->capture = MODEL_CAPTURE_FILE;
	if (length != 0 && value[length - 1] == '/') {
		if (mkdir(value, 0777) != 0 && errno != EEXIST)
			return options_explain("cannot make the folder: %s",
					       strerror(errno));
		config->capture = MODEL_CAPTURE_FOLDER;
	} else if (stat(value, &st) == 0 && S_ISDIR(st.st_mode)) {
		config->capture = MODEL_CAPTURE_FOLDER;
	}
	return make_absolute(value, config->capture_path,
			     sizeof(config->capture_path));
}

static const char *
parse_trace_classes(struct options *options, const char *value)
{
	struct options_choice choices[NB_TRACE_CLASSES + 1] = { 0 };
	char copy[64], *next = copy, *item;
	uint32_t class, classes = 0;

	for (class = 0; class < NB_TRACE_CLASSES; class++)
		choices[class] = (struct options_choice){
			trace_class_name(class), 1u << class };
	if (strlen(value) >= sizeof(copy))
		return options_explain("the list is too long");
	strcpy(copy, value);
	while ((item = strsep(&next, ",")) != NULL) {
		uint32_t chosen = 0;
		const char *wrong = options_choice(item, choices, &chosen);

		if (wrong != NULL)
			return wrong;
		classes |= chosen;
	}
	options->config.trace_classes = classes;
	return NULL;
}

const char *
options_parse_name(struct options *options, const char *value)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(value);

	if (length == 0 || length >= sizeof(options->config.name) ||
	    value[0] == '.' || strspn(value, allowed) != length)
		return options_explain("give 1 to %d letters, digits, '.', '_' or '-', "
			       "not starting with '.'", MODEL_MAX_NAME - 1);
	strcpy(options->config.name, value);
	return NULL;
}

static const char *
parse_fatal(struct options *options, const char *value)
{
	(void)value;
	options->config.fatal_violations = true;
	return NULL;
}

static const char *
parse_quiet(struct options *options, const char *value)
{
	(void)value;
	options->is_quiet = true;
	return NULL;
}

static const char *
parse_join(struct options *options, const char *value)
{
	options->action = OPTIONS_JOIN;
	return options_parse_name(options, value);
}

static const char *
parse_list(struct options *options, const char *value)
{
	(void)value;
	options->action = OPTIONS_LIST_VIOLATIONS;
	return NULL;
}

static const char *
parse_help(struct options *options, const char *value)
{
	(void)value;
	options->action = OPTIONS_HELP;
	return NULL;
}

const struct options_row options_output[] = {
	{"fatal-violations", NULL, parse_fatal,
	 "the first violation aborts the program that caused it"},
	{"list-violations", NULL, parse_list,
	 "print their names and meanings and exit"},
	{"report", "FILE", parse_report,
	 "write the machine's report to FILE (JSON) at the end"},
	{"capture", "FILE|FOLDER/", parse_capture,
	 "write what is on the wires to FILE (pcapng, for wireshark and tshark), "
	 "or to a file for each port in FOLDER"},
	{"trace", "FILE", parse_trace,
	 "write a line to FILE, or to standard error for -, for each verbs "
	 "call, doorbell, WQE, CQE, packet and event"},
	{"trace-classes", "LIST", parse_trace_classes,
	 "only lines of these classes: verbs,doorbell,wqe,cqe,wire,event"},
	{"name", "NAME", options_parse_name,
	 "name of the machine (the launcher's process id)"},
	{"join", "NAME", parse_join,
	 "make no machine: run the program on the one of this name, until it "
	 "is switched off. No other option goes with it"},
	{"quiet", NULL, parse_quiet, "no summary at the end"},
	{"help", NULL, parse_help, "print this and exit"},
	{NULL},
};
