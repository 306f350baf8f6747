/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "replay.h"
#include "segment.h"
#include "trace.h"
#include "violation_log.h"

/* After a difference, the range in which the next call is searched. */
#define LOOK_AHEAD 64
/* Differences that are logged; further ones are only counted. */
#define MAX_SAID 20
/* Limit of a call's text in a message. */
#define SAID_BYTES 160

struct replay *recording;

int
replay_open(void)
{
	char path[MODEL_MAX_PATH + 16];
	struct stat st;
	long at;
	int fd;

	if (recording != NULL || segment_config()->replay == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/" REPLAY_NAME, segment_run_dir());
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (syscall(SYS_fstat, fd, &st) < 0)
		st.st_size = 0;
	at = syscall(SYS_mmap, NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		     MAP_SHARED, fd, 0L);
	syscall(SYS_close, fd);
	if (at == -1)
		return -ENOMEM;
	recording = (struct replay *)at;
	trace_show_verbs();
	return 0;
}

static void *
at(uint64_t offset)
{
	return (uint8_t *)recording + offset;
}

struct replay_call *
replay_call(uint32_t n)
{
	return (struct replay_call *)at(recording->calls_at) + n;
}

struct replay_queue *
replay_queue(uint32_t n)
{
	return (struct replay_queue *)at(recording->queues_at) + n;
}

struct replay_step *
replay_step(uint32_t n)
{
	return (struct replay_step *)at(recording->steps_at) + n;
}

static const char *
call_text(const struct replay_call *call)
{
	return at(recording->texts_at + call->text_at);
}

static bool
is_same(const struct replay_call *call, const char *text, size_t nb_bytes)
{
	return call->text_bytes == nb_bytes &&
	       memcmp(call_text(call), text, nb_bytes) == 0;
}

/* Count a difference. True if it is to be logged. */
static bool
differs(void)
{
	if (++recording->nb_differences == MAX_SAID + 1)
		model_log("replay: further differences are only counted");
	return recording->nb_differences <= MAX_SAID;
}

static void
say_missing(uint32_t number)
{
	const struct replay_call *call = replay_call(number);

	if (differs())
		model_log("replay: call %u is missing: recorded (line %u) "
			  "\"%.*s\"", number + 1, call->line, SAID_BYTES,
			  call_text(call));
}

/* Whether both texts, "fn=0 ctx=1 call=NAME", name the same call. */
static bool
is_same_name(const struct replay_call *call, const char *text)
{
	const char *recorded = strstr(call_text(call), "call=");
	const char *made = strstr(text, "call=");
	size_t length;

	if (recorded == NULL || made == NULL)
		return false;
	length = strcspn(made, " ");
	return length == strcspn(recorded, " ") &&
	       memcmp(recorded, made, length) == 0;
}

/* The recorded call that matches the program's; REPLAY_NO_CALL: none. */
static uint32_t
find(const char *text, size_t nb_bytes)
{
	const uint32_t first = recording->next_call;
	uint32_t n;

	for (n = first; n < recording->nb_calls && n - first < LOOK_AHEAD; n++)
		if (is_same(replay_call(n), text, nb_bytes))
			break;
	if (n < recording->nb_calls && n - first < LOOK_AHEAD) {
		for (; recording->next_call < n; recording->next_call++)
			say_missing(recording->next_call);
		return n;
	}
	if (first == recording->nb_calls || !is_same_name(replay_call(first), text)) {
		if (differs())
			model_log("replay: call %u is not recorded: made "
				  "\"%.*s\"", first + 1, SAID_BYTES, text);
		return REPLAY_NO_CALL;
	}
	if (differs())
		model_log("replay: call %u differs: recorded (line %u) "
			  "\"%.*s\", made \"%.*s\"", first + 1,
			  replay_call(first)->line, SAID_BYTES,
			  call_text(replay_call(first)), SAID_BYTES, text);
	return first;
}

int
replay_call_begins(const char *text, size_t nb_bytes, uint32_t *number)
{
	*number = REPLAY_NO_CALL;
	if (!replay_is_on(REPLAY_VERBS))
		return 0;
	*number = find(text, nb_bytes);
	if (*number == REPLAY_NO_CALL)
		return 0;
	recording->next_call = *number + 1;
	return -replay_call(*number)->error;
}

void
replay_call_ends(uint32_t number, int rc)
{
	const struct replay_call *call;
	char recorded[32];

	if (number == REPLAY_NO_CALL || !replay_is_on(REPLAY_VERBS))
		return;
	call = replay_call(number);
	if (call->error == (rc < 0 ? -rc : 0) || !differs())
		return;
	snprintf(recorded, sizeof(recorded), "%s", trace_result(-call->error));
	model_log("replay: call %u ends differently: recorded (line %u) result=%s, "
		  "now result=%s: \"%.*s\"", number + 1, call->line,
		  recorded, trace_result(rc), SAID_BYTES, call_text(call));
}

static void
finish_calls(void)
{
	const uint32_t nb = recording->nb_calls - recording->next_call;

	if (nb == 0)
		return;
	recording->nb_differences += nb - 1;
	model_log("replay: the last %u of %u recorded calls were not made", nb,
		  recording->nb_calls);
	say_missing(recording->next_call);
}

static void
finish_completions(void)
{
	uint32_t nb = recording->nb_skipped_cqes, first = 0, n;

	for (n = recording->next_step; n < recording->nb_steps; n++) {
		if (replay_step(n)->kind != REPLAY_CQE)
			continue;
		if (first == 0)
			first = replay_step(n)->line;
		nb++;
	}
	if (nb == 0)
		return;
	recording->nb_differences += nb;
	model_log("replay: %u recorded completions were not written: %s", nb,
		  first == 0 ? "their queues were destroyed" :
				"the program posted fewer WQEs");
	if (first != 0)
		model_log("replay: the first of them is in line %u", first);
}

uint32_t
replay_finish(void)
{
	if (replay_is_on(REPLAY_VERBS))
		finish_calls();
	if (replay_is_on(REPLAY_COMPLETIONS))
		finish_completions();
	return recording == NULL ? 0 : recording->nb_differences;
}
