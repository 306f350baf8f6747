/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What cannot be done with a doorbell page of plain memory is refused: the
 * queues of one kind share a register, which holds the last value alone.
 */

#include <errno.h>

#include "context.h"
#include "ledger.h"
#include "plain_queues.h"

/* This process looks at its doorbells itself, whenever one rings. */
static bool is_by_hand;

void
plain_by_hand(bool by_hand)
{
	is_by_hand = by_hand;
}

static const char *
mode_name(void)
{
	return segment_config()->mode == MODEL_MODE_STEP ? "step" : "polled";
}

int
plain_refuse_channel(void)
{
	if (!config_is_plain(segment_config()))
		return 0;
	ledger_log("completion channel refused: --mode %s cannot see that a CQ "
		   "is armed, as the CQs of a context share a word of plain "
		   "memory; poll, or use --mode sync or thread", mode_name());
	return -EOPNOTSUPP;
}

static int
refuse_second(const struct kernel_context *ctx, const char *kind)
{
	ledger_log("second %s queue refused: --mode %s takes one of a context "
		   "(doorbell page %u of function %u), as their doorbells share "
		   "a word of plain memory; use one queue, a context for each, "
		   "or --mode sync or thread", kind, mode_name(), ctx->page,
		   ctx->fn);
	return -EOPNOTSUPP;
}

int
plain_prepare_queues(const struct kernel_context *ctx, bool is_sq, uint32_t nb)
{
	if (!config_is_plain(segment_config()))
		return 0;
	if (!is_by_hand && (nb > 1 ||
	    device_page_has_queue(ctx->fn, ctx->page, is_sq)))
		return refuse_second(ctx, is_sq ? "send" : "receive");
	/* A new queue may have the number of the one that rang here last. */
	return context_page_clear(ctx, is_sq);
}

void
plain_end_queues(const struct kernel_context *ctx, bool is_sq)
{
	if (config_is_plain(segment_config()))
		context_page_clear(ctx, is_sq); /* or it is a violation later */
}
