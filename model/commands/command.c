/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "fault.h"
#include "random.h"
#include "segment.h"
#include "trace.h"

static const struct command *const common[] = {
	commands_gen,
	commands_card,
	commands_inject,
	commands_wire,
	commands_later,
	NULL,
};

const struct command *
command_nth(const struct command_kind *kind, uint32_t n)
{
	const struct command *const *tables =
		kind != NULL ? kind->tables : common;

	for (; *tables != NULL; tables++)
		for (const struct command *c = *tables; c->name != NULL; c++)
			if (n-- == 0)
				return c;
	return NULL;
}

static const struct command *
find_in(const struct command_kind *kind, const char *name)
{
	const struct command *c;
	uint32_t n = 0;

	while ((c = command_nth(kind, n++)) != NULL &&
	       strcmp(c->name, name) != 0)
		;
	return c;
}

static const struct command *
find(const char *name)
{
	const struct command *c = find_in(command_kind, name);

	return c != NULL ? c : find_in(NULL, name);
}

int
command_fail(struct command_args *args, int error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(args->message, args->message_bytes, format, list);
	va_end(list);
	return error;
}

static void
fail_unknown(struct command_args *args, const char *name)
{
	const struct command_absent *absent = command_kind->absent;

	while (absent->name != NULL && strcmp(absent->name, name) != 0)
		absent++;
	if (absent->name != NULL)
		command_fail(args, 0, "%s has no command '%s': %s",
			     command_kind->machine, name, absent->remedy);
	else
		command_fail(args, 0, "there is no command '%s'; mana-model "
			     "--help lists them", name);
}

/* Split the line into words. The command, or NULL with the message set. */
static const struct command *
parse(const char *line, struct command_args *args)
{
	const struct command *command = NULL;
	char *next = args->line, *word;

	if (strlen(line) >= sizeof(args->line)) {
		command_fail(args, 0, "the line is longer than %zu bytes",
			     sizeof(args->line) - 1);
		return NULL;
	}
	strcpy(args->line, line);
	args->whole = line;
	while ((word = strsep(&next, " \t\n")) != NULL) {
		char *equals = strchr(word, '=');

		if (*word == '\0')
			continue;
		if (command == NULL) {
			command = find(word);
			if (command == NULL) {
				fail_unknown(args, word);
				return NULL;
			}
			continue;
		}
		if (args->nb == COMMAND_MAX_ARGS) {
			command_fail(args, 0, "more than %d arguments",
				     COMMAND_MAX_ARGS);
			return NULL;
		}
		if (equals != NULL)
			*equals++ = '\0';
		args->key[args->nb] = word;
		args->value[args->nb++] = equals;
	}
	if (command == NULL)
		command_fail(args, 0, "the line has no command");
	return command;
}

static void
show(const char *text, int result)
{
	struct trace_line line;

	trace_begin(&line, TRACE_event);
	trace_add(&line, " kind=command result=%s", trace_result(result));
	trace_add_text(&line, "line", text);
	trace_end(&line);
}

static int
check_or_run(const char *line, bool is_check, char *message,
	     size_t message_bytes)
{
	struct command_args args = { .is_check = is_check,
				     .message = message,
				     .message_bytes = message_bytes };
	const struct command *command = parse(line, &args);
	int ret;

	args.command = command;
	if (command == NULL)
		return -EINVAL;
	message[0] = '\0';
	ret = command->run(&args);
	fault_slow_take(); /* commands do not count as kernel calls of a program */
	if (is_check && ret == -ECANCELED)
		return 0;
	if (!is_check && trace_is_on(TRACE_event))
		show(line, ret);
	if (ret < 0 && message[0] == '\0')
		command_fail(&args, 0, "%s: %s; arguments: %s", command->name,
			     strerrordesc_np(-ret), command->usage);
	return ret;
}

int
command_check(const char *line, char *message, size_t message_bytes)
{
	return check_or_run(line, true, message, message_bytes);
}

int
command_run(const char *line, char *message, size_t message_bytes)
{
	return check_or_run(line, false, message, message_bytes);
}

bool
command_word(struct command_args *args, const char *word)
{
	for (uint32_t i = 0; i < args->nb; i++) {
		if (args->value[i] == NULL && !args->is_used[i] &&
		    strcmp(args->key[i], word) == 0) {
			args->is_used[i] = true;
			return true;
		}
	}
	return false;
}

int
command_either(struct command_args *args, const char *first, const char *second,
	       bool *is_first)
{
	const bool is_second = command_word(args, second);

	*is_first = command_word(args, first);
	if (*is_first == is_second)
		return command_fail(args, -EINVAL, "give %s or %s", first, second);
	return command_end(args);
}

const char *
command_text(struct command_args *args, const char *key)
{
	for (uint32_t i = 0; i < args->nb; i++) {
		if (args->value[i] != NULL && !args->is_used[i] &&
		    strcmp(args->key[i], key) == 0) {
			args->is_used[i] = true;
			return args->value[i];
		}
	}
	return NULL;
}

bool
command_read_number(const char *text, uint64_t *value, char **end)
{
	errno = 0;
	*value = strtoull(text, end, 0);
	return isdigit((unsigned char)text[0]) && errno == 0;
}

int
command_number(struct command_args *args, const char *key, uint64_t min,
	       uint64_t max, uint64_t *value)
{
	const char *text = command_text(args, key);
	uint64_t n = 0;
	char *end;

	if (text == NULL)
		return 0;
	if (!command_read_number(text, &n, &end) || *end != '\0' || n < min || n > max)
		return command_fail(args, -EINVAL,
				    "%s=%s: give a number from %llu to %llu",
				    key, text, (unsigned long long)min,
				    (unsigned long long)max);
	*value = n;
	return 1;
}

/* Digits behind the decimal point, times unit_ns; rounded down to ns. */
static uint64_t
read_fraction(const char **text, uint64_t unit_ns)
{
	uint64_t ns = 0;

	while (isdigit((unsigned char)**text)) {
		unit_ns /= 10;
		ns += (uint64_t)(*(*text)++ - '0') * unit_ns;
	}
	return ns;
}

bool
command_read_time(const char *text, uint64_t *ns, char **end)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", 1000000000 },
	};
	const char *fraction, *unit;
	uint64_t n = 0;

	if (!command_read_number(text, &n, end))
		return false;
	unit = *end;
	fraction = *unit == '.' ? unit + 1 : unit;
	if (*unit == '.')
		unit = fraction + strspn(fraction, "0123456789");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const size_t length = strlen(units[i].name);

		if (strncmp(unit, units[i].name, length) != 0 ||
		    isalnum((unsigned char)unit[length]) ||
		    n > UINT64_MAX / 4 / units[i].ns)
			continue;
		*ns = n * units[i].ns + read_fraction(&fraction, units[i].ns);
		*end = (char *)(uintptr_t)unit + length;
		return true;
	}
	return false;
}

int
command_time(struct command_args *args, const char *key, uint64_t *ns)
{
	const char *text = command_text(args, key);
	char *end;

	if (text == NULL)
		return 0;
	if (command_read_time(text, ns, &end) && *end == '\0')
		return 1;
	return command_fail(args, -EINVAL,
			    "%s=%s: give a time as 20us or 1.5ms (ns, us, ms, "
			    "s)", key, text);
}

bool
command_find_port(uint64_t n, uint32_t *fn, uint32_t *port)
{
	const struct model_config *config = segment_config();

	if (n-- == 0)
		return false;
	for (*fn = 0; *fn < config->nb_functions; (*fn)++) {
		if (n < config->nb_ports[*fn]) {
			*port = (uint32_t)n;
			return true;
		}
		n -= config->nb_ports[*fn];
	}
	return false;
}

int
command_port(struct command_args *args, uint32_t *fn, uint32_t *port)
{
	uint64_t n = 0;
	int ret = command_number(args, "port", 1, MODEL_MAX_PORTS, &n);

	if (ret < 0)
		return ret;
	if (ret == 0)
		return command_fail(args, -EINVAL, "the port is missing: give "
				    "port=N, from 1");
	return command_find_port(n, fn, port) ?
		       0 :
		       command_fail(args, -EINVAL, "port=%u: the machine has "
				    "fewer ports", (unsigned int)n);
}

int
command_function(struct command_args *args, uint32_t *fn)
{
	uint64_t n = 0;
	int ret = command_number(args, "fn", 0,
				 segment_config()->nb_functions - 1, &n);

	*fn = (uint32_t)n;
	return ret < 0 ? ret : 0;
}

int
command_end(struct command_args *args)
{
	for (uint32_t i = 0; i < args->nb; i++)
		if (!args->is_used[i])
			return command_fail(args, -EINVAL, "unknown argument '%s%s%s'",
					    args->key[i],
					    args->value[i] != NULL ? "=" : "",
					    args->value[i] != NULL ?
						    args->value[i] : "");
	return args->is_check ? -ECANCELED : 0;
}

#define MAX_AMOUNT UINT64_C(1000000000000000)

/* A decimal number times scale, a power of ten; rounded down. */
static bool
read_decimal(const char *text, uint64_t scale, uint64_t *value,
	     const char **end)
{
	if (!isdigit((unsigned char)*text))
		return false;
	for (*value = 0; isdigit((unsigned char)*text); text++) {
		*value = *value * 10 + (uint64_t)(*text - '0');
		if (*value > MAX_AMOUNT / scale)
			return false;
	}
	*value *= scale;
	if (*text == '.') {
		if (!isdigit((unsigned char)*++text))
			return false;
		for (; isdigit((unsigned char)*text); text++)
			*value += (uint64_t)(*text - '0') * (scale /= 10);
	}
	*end = text;
	return true;
}

bool
command_amount(const char *text, uint64_t *amount, const char **end)
{
	static const struct {
		char letter;
		uint64_t scale;
	} units[] = {
		{ 'k', 1000 },
		{ 'M', 1000000 },
		{ 'G', 1000000000 },
	};
	const char *unit = text + strspn(text, "0123456789.");
	uint64_t scale = 1;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (*unit == units[i].letter)
			scale = units[i].scale;
	if (!read_decimal(text, scale, amount, end) || *end != unit)
		return false;
	if (scale != 1)
		(*end)++;
	return true;
}

int
command_chance(struct command_args *args, const char *key, uint32_t *parts)
{
	const char *text = command_text(args, key), *end;
	uint64_t value;

	if (text == NULL)
		return 0;
	if (!read_decimal(text, PRNG_ALWAYS / 100, &value, &end) ||
	    strcmp(end, "%") != 0 || value > PRNG_ALWAYS)
		return command_fail(args, -EINVAL,
				    "%s=%s: give a share from 0%% to 100%%, as "
				    "0.5%%", key, text);
	*parts = (uint32_t)value;
	return 1;
}
