/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options_parse.h"

static char reason[160];

const char *
options_explain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return reason;
}

const char *
options_add_command(struct options *options, const char *option,
		    const char *value, const char *format, ...)
{
	struct options_command *commands =
		reallocarray(options->commands, options->nb_commands + 1,
			     sizeof(*commands));
	struct options_command *command;
	va_list args;
	int n;

	if (commands == NULL)
		return "no memory";
	options->commands = commands;
	command = &commands[options->nb_commands];
	command->option = option;
	command->value = value;
	va_start(args, format);
	n = vsnprintf(command->line, sizeof(command->line), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(command->line))
		return "it is too long";
	options->nb_commands++;
	return NULL;
}

void
options_release(struct options *options)
{
	free(options->commands);
	options->commands = NULL;
	options->nb_commands = 0;
}

const char *
options_number(const char *value, uint64_t min, uint64_t max, uint64_t *number)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(value, &end, 0);
	if (!isdigit((unsigned char)value[0]) || *end != '\0' || errno != 0 ||
	    n < min || n > max)
		return options_explain("give a number from %llu to %llu",
			       (unsigned long long)min,
			       (unsigned long long)max);
	*number = n;
	return NULL;
}

const char *
options_choice(const char *value, const struct options_choice *choices, uint32_t *chosen)
{
	size_t at;

	for (const struct options_choice *c = choices; c->name != NULL; c++) {
		if (strcmp(c->name, value) == 0) {
			*chosen = c->value;
			return NULL;
		}
	}
	at = (size_t)snprintf(reason, sizeof(reason), "give one of");
	for (const struct options_choice *c = choices; c->name != NULL; c++)
		at += (size_t)snprintf(reason + at, sizeof(reason) - at, "%s %s",
				       c == choices ? "" : ",", c->name);
	return reason;
}
