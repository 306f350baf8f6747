/* SPDX-License-Identifier: BSD-3-Clause */

/* Lines of a scenario, and the commands at, in and every. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "platform.h"
#include "script.h"
#include "segment.h"

/* A line being parsed. */
struct reader {
	const char *next; /* rest of the line */
	char *message;
	size_t message_bytes;
};

static int
wrong(struct reader *reader, const char *what)
{
	snprintf(reader->message, reader->message_bytes, "%s", what);
	return -EINVAL;
}

static void
skip_blanks(struct reader *reader)
{
	reader->next += strspn(reader->next, " \t");
}

/* Skip the next word, if it is this one. */
static bool
take_word(struct reader *reader, const char *word)
{
	const size_t length = strlen(word);

	skip_blanks(reader);
	if (strncmp(reader->next, word, length) != 0 ||
	    strchr(" \t", reader->next[length]) == NULL)
		return false;
	reader->next += length;
	return true;
}

/* A number up to the next blank. */
static bool
take_number(struct reader *reader, uint64_t *n)
{
	char *end;

	if (!command_read_number(reader->next, n, &end) || *n == 0 ||
	    strchr(" \t", *end) == NULL)
		return false;
	reader->next = end;
	return true;
}

/* Skip the start of the next word, such as "packet=", if it is this one. */
static bool
take_key(struct reader *reader, const char *key)
{
	skip_blanks(reader);
	if (strncmp(reader->next, key, strlen(key)) != 0)
		return false;
	reader->next += strlen(key);
	return true;
}

/* call=NAME:N, or on a PCI machine request=NAME:N */
static int
read_call(struct reader *reader, struct script_entry *entry, bool is_request)
{
	const size_t length = strcspn(reader->next, ": \t");
	char name[32];

	if (is_request != segment_config()->is_pci)
		return wrong(reader, is_request ?
			     "request=: only a machine of --pci has requests; "
			     "give call=NAME:N" :
			     "call=: a machine of --pci has no kernel calls; "
			     "give request=NAME:N");
	snprintf(name, sizeof(name), "%.*s", (int)length, reader->next);
	if (is_request && fault_call_read(name, &entry->call) < 0)
		return wrong(reader, "request=: give one of the requests that "
			     "mana-model --help lists, as "
			     "request=create_mr:2");
	if (!is_request && fault_call_read(name, &entry->call) < 0)
		return wrong(reader, "call=: give one of the calls that "
			     "mana-model --help lists, as call=create_qp:2");
	reader->next += length;
	if (*reader->next++ != ':' || !take_number(reader, &entry->at))
		return wrong(reader, is_request ?
			     "request=NAME:N: N is a number from 1" :
			     "call=NAME:N: N is a number from 1");
	entry->trigger = SCRIPT_CALL;
	return 0;
}

/* packet=N [port=P] */
static int
read_packet(struct reader *reader, struct script_entry *entry)
{
	uint64_t port = 0;

	if (!take_number(reader, &entry->at))
		return wrong(reader, "packet=N: N is a number from 1");
	entry->trigger = SCRIPT_PACKET;
	if (!take_key(reader, "port="))
		return 0;
	entry->has_port = true;
	if (!take_number(reader, &port) ||
	    !command_find_port(port, &entry->fn, &entry->port))
		return wrong(reader, "packet=N port=P: the machine has no such "
			     "port; port numbers start at 1");
	return 0;
}

static int
read_trigger(struct reader *reader, struct script_entry *entry)
{
	char *end;

	if (take_key(reader, "packet="))
		return read_packet(reader, entry);
	if (take_key(reader, "call="))
		return read_call(reader, entry, false);
	if (take_key(reader, "request="))
		return read_call(reader, entry, true);
	if (take_key(reader, "doorbell=")) {
		entry->trigger = SCRIPT_DOORBELL;
		return take_number(reader, &entry->at) ?
			       0 :
			       wrong(reader, "doorbell=N: N is a number from 1");
	}
	if (!command_read_time(reader->next, &entry->at, &end) ||
	    strchr(" \t", *end) == NULL)
		return wrong(reader, "unknown time or event: give a time as 1.5ms, "
			     "packet=N [port=P], doorbell=N, or call=NAME:N");
	reader->next = end;
	return 0;
}

/* Parse at, in or every with its argument; without them it is due at once. */
static int
read_line(struct reader *reader, struct script_entry *entry)
{
	const bool is_in = take_word(reader, "in");
	const bool is_every = !is_in && take_word(reader, "every");
	int ret;

	if (!is_in && !is_every && !take_word(reader, "at"))
		return 0;
	ret = read_trigger(reader, entry);
	if (ret < 0)
		return ret;
	skip_blanks(reader);
	if (*reader->next == '\0')
		return wrong(reader, "the command is missing");
	if (is_every && entry->at == 0)
		return wrong(reader, "every: give a time that is not 0");
	if (is_every)
		entry->period = entry->at;
	if (entry->trigger == SCRIPT_TIME && (is_in || is_every)) {
		segment_lock();
		entry->at += clock_now();
		segment_unlock();
	}
	return 0;
}

/* As script_insert(), with a message. */
static int
insert(const struct script_entry *entry, char *message, size_t message_bytes)
{
	const int ret = script_insert(entry);

	if (ret < 0)
		snprintf(message, message_bytes, "there are %d waiting commands "
			 "already: omit some", SCRIPT_MAX_ENTRIES);
	return ret;
}

int
script_add(const char *text, uint32_t line, bool is_check, char *message,
	   size_t message_bytes)
{
	struct script_entry entry = { .line = line };
	struct reader reader = { .message = message,
				 .message_bytes = message_bytes };
	int ret;

	if (strlen(text) >= sizeof(entry.text)) {
		snprintf(message, message_bytes, "the line is longer than %zu "
			 "bytes", sizeof(entry.text) - 1);
		return -EINVAL;
	}
	strcpy(entry.text, text);
	reader.next = entry.text;
	ret = read_line(&reader, &entry);
	if (ret < 0)
		return ret;
	skip_blanks(&reader);
	entry.command_off = (uint32_t)(reader.next - entry.text);
	ret = command_check(reader.next, message, message_bytes);
	if (ret < 0 || is_check)
		return ret;
	segment_lock();
	ret = insert(&entry, message, message_bytes);
	segment_unlock();
	return ret < 0 ? ret : 0;
}

static void
sleep_ms(void)
{
	const struct timespec time = { .tv_nsec = 1000000 };

	nanosleep(&time, NULL);
}

/* Wait for the end of an entry. Returns and frees its result. */
static int
await(struct script_entry *entry, char *message, size_t message_bytes)
{
	int ret = 0;

	segment_lock();
	while (entry->state != SCRIPT_DONE) {
		segment_unlock();
		sleep_ms();
		segment_lock();
		if (!segment_process_alive(SEGMENT_LAUNCHER)) {
			ret = -ESRCH;
			snprintf(message, message_bytes, "the machine was "
				 "switched off meanwhile");
			break;
		}
	}
	if (ret == 0 && entry->nb_failed > 0) {
		ret = -ECANCELED;
		snprintf(message, message_bytes, "%s", entry->message);
	}
	entry->state = SCRIPT_FREE;
	segment_unlock();
	return ret;
}

int
script_submit(const char *line, char *message, size_t message_bytes)
{
	struct script_entry entry = { .trigger = SCRIPT_TIME,
				      .waiter = model_self };
	int ret = command_check(line, message, message_bytes);

	if (ret < 0)
		return ret;
	strcpy(entry.text, line); /* command_check() limits the length */
	segment_lock();
	entry.at = clock_now();
	ret = insert(&entry, message, message_bytes);
	segment_unlock();
	if (ret < 0)
		return ret;
	platform->wake_owner();
	return await(&segment_script()->entries[ret], message, message_bytes);
}

static int
run_later(struct command_args *args)
{
	for (uint32_t i = 0; i < args->nb; i++)
		args->is_used[i] = true; /* script_add() parses them */
	return script_add(args->whole, 0, args->is_check, args->message,
			  args->message_bytes);
}

#define WHEN "TIME|packet=N [port=P]|doorbell=N|call=NAME:N|request=NAME:N " \
	     "COMMAND"

const struct command commands_later[] = {
	{ "at", WHEN,
	  "run COMMAND at this time of the machine, or after this number of "
	  "packets, doorbells, or kernel calls (with --pci: requests)", run_later },
	{ "in", "TIME COMMAND", "run COMMAND after this time", run_later },
	{ "every", WHEN, "run COMMAND repeatedly", run_later },
	{ NULL, NULL, NULL, NULL },
};
