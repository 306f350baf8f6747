/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "command_amount.h"
#include "prng.h"

#define MAX_AMOUNT UINT64_C(1000000000000000)

/* A decimal number times scale, which is a power of ten; what is below is cut. */
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
