/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The diagnostics of a port: decoded ring entries, facts about ports and queues,
 * dumps of both to a file, and reports of bad completions and failed queues.
 */

#ifndef MANA_DUMP_H
#define MANA_DUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "mana.h"

/* ---- mana_decode.c: the field names of Linux and OpenVMM ------------------ */

/* Control path: the rings exist, and the device may write them meanwhile. */

/* Basic units of the WQE that starts at idx, by its header. */
uint32_t mana_decode_wqe_bu(const struct mana_wq *wq, uint32_t idx);
/* The WQE that starts at idx: header, OOB of an SQ, SGEs. */
void mana_decode_wqe(const struct mana_wq *wq, uint32_t idx, bool is_sq,
		     FILE *file);
/* The CQE at idx, written or not. */
void mana_decode_cqe(const struct mana_cq *cq, uint32_t idx, FILE *file);
/* A copy of a CQE. */
void mana_decode_cqe_words(const struct gdma_cqe *cqe, FILE *file);
/* "TX_SA_DROP"; "unknown" for a number that is no type. */
const char *mana_decode_cqe_type(uint32_t type);

/* ---- mana_facts.c: names and values, for dumps and telemetry --------------- */

struct rte_tel_data;
struct mana_rx_hwq;

/* Where facts are written. */
struct mana_facts {
	struct rte_tel_data *dict; /* NULL: to the file */
	FILE *file;
	const char *before, *after; /* text around each fact in the file */
};

void mana_facts_event(const struct mana_facts *facts,
		      const struct mana_event *event);
void mana_facts_region(const struct mana_facts *facts,
		       const struct mana_mr_region *region);
/* Queries the kernel: not for use under the lock of mana_registry.c. */
void mana_facts_netdev(const struct mana_facts *facts,
		       const struct mana_netdev *netdev);
/* The caller of these holds that lock. */
void mana_facts_port(const struct mana_facts *facts, const struct mana_priv *priv);
void mana_facts_rxq(const struct mana_facts *facts, const struct mana_priv *priv,
		    const struct mana_eth_rxq *ctl);
void mana_facts_txq(const struct mana_facts *facts, const struct mana_priv *priv,
		    const struct mana_eth_txq *ctl);
void mana_facts_hwq(const struct mana_facts *facts, const struct mana_rx_hwq *hwq);

/* ---- mana_dump.c ---------------------------------------------------------- */

/*
 * -EINVAL also when the queue has no rings (stopped), or fewer descriptors;
 * -EBUSY while they are being replaced.
 */
int mana_rx_descriptor_dump(const struct rte_eth_dev *dev, uint16_t queue_id,
			    uint16_t offset, uint16_t num, FILE *file);
int mana_tx_descriptor_dump(const struct rte_eth_dev *dev, uint16_t queue_id,
			    uint16_t offset, uint16_t num, FILE *file);
int mana_dev_priv_dump(struct rte_eth_dev *dev, FILE *file);

/* ---- mana_report.c -------------------------------------------------------- */

/* Logs unexpected completions and failed queues. Returns whether one has failed. */
bool mana_queues_report(struct mana_priv *priv);

#endif /* MANA_DUMP_H */
