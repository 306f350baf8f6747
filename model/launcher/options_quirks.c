/* SPDX-License-Identifier: BSD-3-Clause */

/* Open questions about the card: which answer the model gives. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "options_parse.h"

static const struct {
	const char *name, *values;
} quirks[NB_QUIRKS] = {
#define QUIRK(id, name, values, help) {name, values},
	MODEL_QUIRKS(QUIRK)
#undef QUIRK
};

/* The number of a value among "a|b|c", or -1. */
static int
find_value(const char *values, const char *value)
{
	const size_t length = strlen(value);

	for (int n = 0;; n++) {
		size_t here = strcspn(values, "|");

		if (here == length && strncmp(values, value, length) == 0)
			return n;
		if (values[here] == '\0')
			return -1;
		values += here + 1;
	}
}

static const char *
parse_quirk(struct options *options, const char *value)
{
	const size_t length = strcspn(value, "=");

	for (int i = 0; i < NB_QUIRKS; i++) {
		int n;

		if (strlen(quirks[i].name) != length ||
		    strncmp(quirks[i].name, value, length) != 0)
			continue;
		n = value[length] == '=' ?
			    find_value(quirks[i].values, value + length + 1) :
			    -1;
		if (n < 0)
			return options_explain("give %s=%s", quirks[i].name,
					       quirks[i].values);
		options->config.quirks[i] = (uint8_t)n;
		return NULL;
	}
	return options_explain("there is no such NAME=VALUE; see mana-model "
			       "--help");
}

bool
options_quirk(const struct model_config *config, uint32_t n, const char **name,
	      const char **value, int *length)
{
	if (n >= NB_QUIRKS)
		return false;
	*name = quirks[n].name;
	*value = quirks[n].values;
	for (uint8_t i = 0; i < config->quirks[n]; i++)
		*value = strchr(*value, '|') + 1;
	*length = (int)strcspn(*value, "|");
	return true;
}

const struct options_row options_quirks[] = {
#define ROW(id, name, values, help) \
	{"quirk", name "=" values, parse_quirk, help},
	MODEL_QUIRKS(ROW)
#undef ROW
	{NULL},
};
