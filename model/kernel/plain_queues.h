/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages of plain memory (--mode step, polled): what is refused, with
 * a line that says why. Nothing is, in the other modes. With the machine's
 * lock held; 0 or -errno.
 */

#ifndef MODEL_PLAIN_QUEUES_H
#define MODEL_PLAIN_QUEUES_H

#include <stdbool.h>

#include "kernel_state.h"

/* Of this process, which plays the device: several queues of a kind are fine. */
void plain_by_hand(bool by_hand);

int plain_refuse_channel(void);

/*
 * Before nb queues of a kind are made on a context's page: there may be one.
 * Clears its register.
 */
int plain_prepare_queues(const struct kernel_context *ctx, bool is_sq,
			 uint32_t nb);
/* When they are gone: what they said last is to be no stranger's. */
void plain_end_queues(const struct kernel_context *ctx, bool is_sq);

#endif /* MODEL_PLAIN_QUEUES_H */
