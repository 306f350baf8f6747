/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The options, a table for each subject, and what their parsers share.
 */

#ifndef MODEL_OPTIONS_PARSE_H
#define MODEL_OPTIONS_PARSE_H

#include <stdint.h>

#include "options.h"

/* What a parser of one value says about it; NULL: fine. */
typedef const char *(*options_parser)(struct options *options,
				      const char *value);

/*
 * One line of --help and the option that it tells of. Several rows in a row may
 * tell of values of the same option. value is NULL for an option without one.
 */
struct options_row {
	const char *name, *value;
	options_parser parse;
	const char *help;
};

/* Each ends with a row without a name. */
extern const struct options_row options_machine[];
extern const struct options_row options_wire[];
extern const struct options_row options_device[];
extern const struct options_row options_quirks[];
extern const struct options_row options_output[];

/* Text for the user, valid until the next call. */
const char *options_explain(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

const char *options_number(const char *value, uint64_t min, uint64_t max,
			   uint64_t *number);

/* Ends with an entry without a name. */
struct options_choice {
	const char *name;
	uint32_t value;
};
const char *options_choice(const char *value,
			   const struct options_choice *choices,
			   uint32_t *chosen);

/* The machine is prepared by this command, which stands for an option. */
const char *options_add_command(struct options *options, const char *option,
				const char *value, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* What only the whole line tells of wires. False after a complaint. */
bool options_finish_wires(struct options *options);

const char *options_parse_name(struct options *options, const char *value);

#endif /* MODEL_OPTIONS_PARSE_H */
