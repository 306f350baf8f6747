/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The diagnostics of a port: dumps of descriptors and of the port, facts for telemetry, and
 * reports of bad completions and failed queues.
 */

#ifndef MANA_DUMP_H
#define MANA_DUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "mana_queues.h"

/* ---- mana_dump.c ---------------------------------------------------------- */

/* A text that is written under a lock: to memory, because a file may block. */
struct mana_text {
	char *bytes;
	size_t size;
	FILE *file;
};

bool mana_text_begin(struct mana_text *text);
/* Copies the text to the file if error is 0. Returns that, or another negative errno. */
int mana_text_end(struct mana_text *text, FILE *to, int error);
/* -EINVAL also without rings (stopped), or with fewer descriptors; -EBUSY: being replaced. */
int mana_rx_descriptor_dump(const struct rte_eth_dev *dev, uint16_t queue_id,
			    uint16_t offset, uint16_t num, FILE *file);
int mana_tx_descriptor_dump(const struct rte_eth_dev *dev, uint16_t queue_id,
			    uint16_t offset, uint16_t num, FILE *file);

/* Logs unexpected completions and failed queues: whether one has failed. Under priv->control. */
bool mana_queues_report(struct mana_priv *priv);

/* ---- mana_facts.c --------------------------------------------------------- */

int mana_dev_priv_dump(struct rte_eth_dev *dev, FILE *file);

#endif /* MANA_DUMP_H */
