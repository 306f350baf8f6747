/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "options.h"
#include "replay_steps.h"
#include "trace.h"

/* Where a number of the card leads now: ids are used again. */
struct live {
	uint32_t fn, id, cq;
	uint32_t nb_posted;
	bool is_there;
};

static void *
grow(struct replay_list *list, size_t nb)
{
	void *at;

	if (list->nb + nb > list->room) {
		list->room = 2 * (list->nb + nb);
		list->items = realloc(list->items, list->room * list->item_bytes);
		if (list->items == NULL) {
			options_complain("replay: no memory");
			exit(OPTIONS_EXIT_OWN_ERROR);
		}
	}
	at = (char *)list->items + list->nb * list->item_bytes;
	memset(at, 0, nb * list->item_bytes);
	list->nb += nb;
	return at;
}

static bool
add_call(struct recording_file *file, const struct replay_line *line)
{
	const char *end = strstr(line->rest, " result=");
	struct replay_call *call;
	uint32_t n = 0;
	int error = 0;

	if (strstr(line->rest, "call=") == NULL || end == NULL)
		return replay_line_complain(line, "a line of verbs has call= "
					    "and result=");
	n = (uint32_t)strcspn(end + 8, " ");
	if (n != 1 || end[8] != '0') {
		char name[32] = "";

		snprintf(name, sizeof(name), "%.*s", (int)n, end + 8);
		if (n >= sizeof(name) || fault_errno_read(name, &error) != 0)
			return replay_line_complain(line, "result=%.*s: give 0 "
						    "or an errno as ENOMEM",
						    (int)n, end + 8);
	}
	call = grow(&file->calls, 1);
	call->line = line->number;
	call->error = error;
	call->text_at = (uint32_t)file->texts.nb;
	call->text_bytes = (uint32_t)(end - line->rest);
	/* With its end, for strstr(). */
	memcpy(grow(&file->texts, call->text_bytes + 1), line->rest,
	       call->text_bytes);
	return true;
}

static struct live *
live_nth(const struct recording_file *file, size_t n)
{
	return (struct live *)file->live.items + n;
}

static struct replay_queue *
queue_nth(const struct recording_file *file, size_t n)
{
	return (struct replay_queue *)file->queues.items + n;
}

/* The living queue of this id, or the one with this CQ; the latest first. */
static bool
find_queue(const struct recording_file *file, const struct replay_line *line,
	   bool by_cq, bool is_sq, uint32_t *queue)
{
	uint32_t fn, id;
	size_t n;

	if (!replay_line_number(line, "fn", MODEL_MAX_FUNCTIONS - 1, &fn) ||
	    !replay_line_number(line, by_cq ? "cq" : "id", UINT32_MAX, &id))
		return false;
	for (n = file->live.nb; n-- > 0;) {
		const struct live *live = live_nth(file, n);

		if (!live->is_there || live->fn != fn ||
		    (by_cq ? live->cq : live->id) != id ||
		    (!by_cq && queue_nth(file, n)->is_sq != is_sq))
			continue;
		*queue = (uint32_t)n;
		return true;
	}
	return replay_line_complain(line, "no line before this one tells of the "
				    "making of %s %u of function %u: record the "
				    "class event, too",
				    by_cq ? "CQ" : is_sq ? "SQ" : "RQ", id, fn);
}

/* queue=sq|rq, or reg= of a doorbell. */
static bool
read_kind(const struct replay_line *line, const char *key, bool *is_sq)
{
	*is_sq = replay_line_has(line, key, "sq");
	if (*is_sq || replay_line_has(line, key, "rq"))
		return true;
	return replay_line_complain(line, "%s= is to be sq or rq", key);
}

static bool
add_queue(struct recording_file *file, const struct replay_line *line)
{
	struct replay_queue *queue = grow(&file->queues, 1);
	struct live *live = grow(&file->live, 1);

	if (!read_kind(line, "queue", &queue->is_sq) ||
	    !replay_line_number(line, "fn", MODEL_MAX_FUNCTIONS - 1,
				&queue->fn) ||
	    !replay_line_number(line, "port", MODEL_MAX_PORTS, &queue->port) ||
	    !replay_line_number(line, "id", UINT32_MAX, &live->id) ||
	    !replay_line_number(line, "cq", UINT32_MAX, &live->cq))
		return false;
	live->fn = queue->fn;
	live->is_there = true;
	return true;
}

static bool
add_event(struct recording_file *file, const struct replay_line *line)
{
	uint32_t queue = 0;
	bool is_sq;

	if (replay_line_has(line, "kind", "queue_created"))
		return add_queue(file, line);
	if (!replay_line_has(line, "kind", "queue_destroyed"))
		return true;
	if (!read_kind(line, "queue", &is_sq) ||
	    !find_queue(file, line, false, is_sq, &queue))
		return false;
	live_nth(file, queue)->is_there = false;
	return true;
}

static struct replay_step *
add_step(struct recording_file *file, const struct replay_line *line,
	 enum replay_kind kind, uint32_t queue)
{
	struct replay_step *step = grow(&file->steps, 1);

	step->line = line->number;
	step->kind = kind;
	step->queue = queue;
	return step;
}

static bool
add_doorbell(struct recording_file *file, const struct replay_line *line)
{
	uint32_t queue = 0, nb = 0;
	struct live *live;
	bool is_sq;

	if (replay_line_has(line, "reg", "cq"))
		return true;
	if (!read_kind(line, "reg", &is_sq) ||
	    !replay_line_number(line, "wqes", UINT32_MAX, &nb))
		return false;
	if (nb == 0)
		return true; /* it meant nothing */
	if (!find_queue(file, line, false, is_sq, &queue))
		return false;
	live = live_nth(file, queue);
	live->nb_posted += nb;
	add_step(file, line, REPLAY_POST, queue)->nb_posted = live->nb_posted;
	return true;
}

static bool
add_wqe(struct recording_file *file, const struct replay_line *line)
{
	uint32_t queue = 0;
	bool is_sq;

	if (!read_kind(line, "queue", &is_sq) ||
	    !find_queue(file, line, false, is_sq, &queue))
		return false;
	add_step(file, line, REPLAY_FETCH, queue);
	return true;
}

static bool
add_cqe(struct recording_file *file, const struct replay_line *line)
{
	uint8_t cqe[REPLAY_CQE_BYTES];
	uint32_t queue = 0;

	if (!replay_line_cqe(line, cqe) ||
	    !find_queue(file, line, true, false, &queue))
		return false;
	memcpy(add_step(file, line, REPLAY_CQE, queue)->cqe, cqe, sizeof(cqe));
	return true;
}

bool
replay_steps_add(struct recording_file *file, struct replay_line *line)
{
	const bool is_wanted = (file->parts & REPLAY_COMPLETIONS) != 0;

	if (line->text[0] == '#' || line->text[0] == '\0')
		return true;
	if (!replay_line_cut(line))
		return false;
	if (replay_line_is(line, "verbs"))
		return (file->parts & REPLAY_VERBS) == 0 || add_call(file, line);
	if (!is_wanted)
		return true;
	if (replay_line_is(line, "event"))
		return add_event(file, line);
	if (replay_line_is(line, "doorbell"))
		return add_doorbell(file, line);
	if (replay_line_is(line, "wqe"))
		return add_wqe(file, line);
	if (replay_line_is(line, "cqe"))
		return add_cqe(file, line);
	return true;
}

void
replay_steps_init(struct recording_file *file)
{
	file->calls.item_bytes = sizeof(struct replay_call);
	file->queues.item_bytes = sizeof(struct replay_queue);
	file->steps.item_bytes = sizeof(struct replay_step);
	file->live.item_bytes = sizeof(struct live);
	file->texts.item_bytes = 1;
}
