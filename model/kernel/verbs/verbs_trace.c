/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>

#include "context.h"
#include "object.h"
#include "verbs_trace.h"

uint32_t
verbs_number(uint32_t context, enum object_kind kind, uint32_t handle)
{
	const struct object *object;
	uint32_t number;

	if (!verbs_is_shown())
		return 0;
	segment_lock();
	object = object_find(context, kind, handle);
	number = object == NULL ? 0 : object->number;
	segment_unlock();
	return number;
}

uint32_t
verbs_channel_number(uint32_t context, int fd)
{
	uint32_t handle, number = 0;

	if (!verbs_is_shown() || fd < 0)
		return 0;
	segment_lock();
	handle = event_file_of(OBJECT_CHANNEL, context, fd);
	if (handle != KERNEL_NONE)
		number = object_at(handle)->number;
	segment_unlock();
	return number;
}

void
verbs_begin_line(struct verbs_call *call, uint32_t context, const char *name,
		 const char *format, ...)
{
	const struct kernel_context *ctx = context_at(context);
	char text[VERBS_RESULT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	call->is_shown = true;
	call->nb_result = 0;
	/* verbs_end() adds the time, which is that of the call's end. */
	call->line.len = 0;
	trace_add(&call->line, "fn=%u ctx=%u call=%s%s",
		  ctx == NULL ? 0 : ctx->fn, ctx == NULL ? 0 : ctx->trace_number,
		  name, text);
}

void
verbs_add_text(struct verbs_call *call, const char *format, ...)
{
	const uint32_t room = sizeof(call->result) - call->nb_result;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(call->result + call->nb_result, room, format, args);
	va_end(args);
	if (n > 0)
		call->nb_result += (uint32_t)n < room ? (uint32_t)n : room - 1;
}

void
verbs_end(struct verbs_call *call, int rc)
{
	if (!call->is_shown)
		return;
	call->is_shown = false;
	if (!trace_is_on(TRACE_verbs))
		return;
	trace_put(TRACE_verbs, "%.*s result=%s%.*s", (int)call->line.len,
		  call->line.text, trace_result(rc),
		  rc < 0 ? 0 : (int)call->nb_result, call->result);
}

void
verbs_show(uint32_t context, const char *name)
{
	struct verbs_call call;

	verbs_begin(&call, context, name, "%s", "");
	verbs_end(&call, 0);
}
