/* SPDX-License-Identifier: BSD-3-Clause */

/* Queues whose doorbell page is plain memory. */

#include <errno.h>

#include "context.h"
#include "verbs.h"
#include "violation_log.h"

int
plain_queues_refuse_channel(void)
{
	if (!config_has_plain_doorbells(segment_config()))
		return 0;
	model_log("completion channel refused: with --mode step the program acts as the "
		  "adapter, which raises no events; poll, or use --mode sync or thread");
	return -EOPNOTSUPP;
}

int
plain_queues_prepare(const struct kernel_context *ctx, bool is_sq)
{
	if (!config_has_plain_doorbells(segment_config()))
		return 0;
	return context_page_clear(ctx, is_sq);
}
