/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * --card FILE: the findings of mana-first-contact on an adapter, as options and
 * quirks of the model. The file is a JSON object:
 *
 *   format   "mana-card"
 *   version  1; of a later one, what is unknown is left out, with a warning
 *   options  values of options, by name; optional
 *   quirks   values of --quirk, by name; optional
 *
 * All other members are for people. Options that follow --card change the
 * machine further.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "options_parse.h"

#define CARD_FORMAT "mana-card"
#define CARD_VERSION 1

static const struct {
	const char *name;
	int key;
} card_options[] = {
	{ "coalesce", OPT_COALESCE },	{ "cq-doorbell", OPT_CQ_DOORBELL },
	{ "device-id", OPT_DEVICE_ID }, { "enforce", OPT_ENFORCE },
	{ "max-mtu", OPT_MAX_MTU },	{ "vp-offset", OPT_VP_OFFSET },
};

/* The object of this name, or NULL if there is none. */
static const json_t *
member(const json_t *root, const char *name)
{
	const json_t *object = json_object_get(root, name);

	if (object != NULL && !json_is_object(object))
		options_refuse("\"%s\" is no object", name);
	return object;
}

/* A card of a later version may know more than this program. */
static bool is_later;

static void
leave_out(const char *what, const char *text)
{
	options_error("--card: %s \"%s\" is unknown here, and left out: use a newer "
		      "mana-model", what, text);
}

/* For messages: the file and the entry of it. */
static const char *
place(const char *path, const char *name)
{
	static char text[512];

	snprintf(text, sizeof(text), "card %s: %s", path, name);
	return text;
}

static void
take_option(struct options *options, const char *path, const char *name,
	    const json_t *value)
{
	char number[32];
	size_t i = 0;

	while (i < sizeof(card_options) / sizeof(card_options[0]) &&
	       strcmp(card_options[i].name, name) != 0)
		i++;
	if (i == sizeof(card_options) / sizeof(card_options[0]) && is_later) {
		leave_out("the option", name);
		return;
	}
	if (i == sizeof(card_options) / sizeof(card_options[0]))
		options_refuse("\"%s\" is no option of a card", name);
	if (card_options[i].key == OPT_COALESCE) {
		if (!json_is_boolean(value))
			options_refuse("\"%s\": give true or false", name);
		options->config.coalesce = json_is_true(value);
	} else if (json_is_integer(value)) {
		snprintf(number, sizeof(number), "%lld",
			 (long long)json_integer_value(value));
		options_take(options, card_options[i].key, place(path, name),
			     number);
	} else if (json_is_string(value)) {
		options_take(options, card_options[i].key, place(path, name),
			     json_string_value(value));
	} else {
		options_refuse("\"%s\": give a number or a word", name);
	}
}

static void
take_quirk(struct options *options, const char *path, const char *name,
	   const json_t *value)
{
	char text[160];

	if (!json_is_string(value) ||
	    (size_t)snprintf(text, sizeof(text), "%s=%s", name,
			     json_string_value(value)) >= sizeof(text))
		options_refuse("quirk \"%s\": give a word", name);
	if (is_later && !options_knows_quirk(text)) {
		leave_out("the quirk", text);
		return;
	}
	options_take(options, OPT_QUIRK, place(path, "quirk"), text);
}

void
options_parse_card(struct options *options, const char *path)
{
	const char *name;
	json_error_t error;
	const json_t *version, *part;
	json_t *root, *value;

	if (file_check("--card", path) < 0)
		exit(OPTIONS_EXIT_OWN_ERROR);
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (root == NULL && error.line < 0) /* it could not be opened */
		options_refuse("%s", error.text);
	if (root == NULL)
		options_refuse("line %d: %s", error.line, error.text);
	name = json_string_value(json_object_get(root, "format"));
	version = json_object_get(root, "version");
	if (name == NULL || strcmp(name, CARD_FORMAT) != 0)
		options_refuse("it is no card: mana-first-contact --json "
			       "writes one");
	if (json_integer_value(version) < CARD_VERSION)
		options_refuse("its version is not %d or later", CARD_VERSION);
	is_later = json_integer_value(version) > CARD_VERSION;
	if (is_later)
		options_error("--card: %s has version %lld, and this program knows "
			      "version %d: it is read as far as known",
			      path, (long long)json_integer_value(version),
			      CARD_VERSION);
	part = member(root, "options");
	json_object_foreach((json_t *)(uintptr_t)part, name, value)
		take_option(options, path, name, value);
	part = member(root, "quirks");
	json_object_foreach((json_t *)(uintptr_t)part, name, value)
		take_quirk(options, path, name, value);
	json_decref(root);
}
