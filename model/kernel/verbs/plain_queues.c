/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Refusal of queues that a doorbell page of plain memory cannot serve: queues
 * of a kind share a register, which contains only the last value.
 */

#include <errno.h>

#include "context.h"
#include "verbs.h"
#include "violation_log.h"

/* This process reads its doorbell registers itself, after each doorbell. */
static bool is_by_hand;

void
plain_queues_by_hand(bool by_hand)
{
	is_by_hand = by_hand;
}

int
plain_queues_refuse_channel(void)
{
	if (!config_has_plain_doorbells(segment_config()))
		return 0;
	model_log("completion channel refused: --mode step cannot detect that a CQ "
		  "is armed, because the CQs of a context share a word of plain "
		  "memory; poll, or use --mode sync or thread");
	return -EOPNOTSUPP;
}

static int
refuse_second(const struct kernel_context *ctx, const char *kind)
{
	model_log("second %s queue refused: --mode step supports one per context "
		  "(doorbell page %u of function %u), because their doorbells share "
		  "a word of plain memory; use one queue, one context per queue, or "
		  "--mode sync or thread", kind, ctx->page, ctx->fn);
	return -EOPNOTSUPP;
}

int
plain_queues_prepare(const struct kernel_context *ctx, bool is_sq, uint32_t nb)
{
	if (!config_has_plain_doorbells(segment_config()))
		return 0;
	if (!is_by_hand && (nb > 1 ||
	    card_page_has_queue(ctx->fn, ctx->page, is_sq)))
		return refuse_second(ctx, is_sq ? "Tx" : "Rx");
	/* The register may hold the new queue's id, from an earlier one. */
	return context_page_clear(ctx, is_sq);
}

void
plain_queues_end(const struct kernel_context *ctx, bool is_sq)
{
	if (config_has_plain_doorbells(segment_config()))
		/* Else a later queue has a violation. */
		context_page_clear(ctx, is_sq);
}
