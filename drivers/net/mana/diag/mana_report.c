/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Logs what bursts have met, which log nothing themselves: unexpected completions
 * and failed queues. Called once a second, and before a port stops.
 */

#include <stdlib.h>

#include "mana.h"
#include "mana_dump.h"
#include "mana_log.h"
#include "mana_rx_set.h"

/* A call logs at most this many; the next call, a second later, the rest. */
#define MAX_FINDINGS 64

struct finding {
	bool is_rx;
	bool is_failed; /* else a completion is unexpected */
	uint16_t queue;
	uint8_t failure;
	uint32_t kind;
	uint32_t header; /* of the completion that ended the queue */
	struct gdma_cqe cqe;
};

/* Takes a finding of this queue that was not reported yet. */
static bool
finding_take(struct mana_bad_cqes *bad, struct mana_bad_cqes_reported *reported,
	     uint64_t failed, struct finding *found)
{
	uint32_t seen = mana_atomic_load(&bad->seen) & ~reported->kinds;

	rte_smp_rmb();
	found->is_failed = seen == 0;
	if (seen != 0) {
		found->kind = rte_bsf32(seen);
		found->cqe = bad->cqe[found->kind];
		reported->kinds |= RTE_BIT32(found->kind);
		return true;
	}
	found->header = bad->fatal_header;
	if (failed == reported->failed)
		return false;
	reported->failed = failed;
	return true;
}

static bool
finding_next(struct mana_priv *priv, struct finding *found)
{
	bool is_found = false;
	uint16_t i;

	mana_registry_lock();
	for (i = 0; i < MANA_MAX_QUEUES && !is_found; i++) {
		struct mana_eth_rxq *rx = priv->rxqs[i];
		struct mana_eth_txq *tx = priv->txqs[i];

		found->queue = i;
		found->is_rx = true;
		if (rx != NULL) {
			found->failure = mana_rx_set_bad_cqes(priv, rx);
			is_found = finding_take(&rx->bad_cqes, &rx->reported,
						mana_stats_rxq(priv, rx).rx.failed,
						found);
		}
		if (is_found || tx == NULL)
			continue;
		found->is_rx = false;
		found->failure = tx->txq.failure;
		is_found = finding_take(&tx->txq.bad_cqes, &tx->reported,
					tx->txq.stats.failed, found);
	}
	mana_registry_unlock();
	return is_found;
}

static void
bad_cqe_log(const struct mana_priv *priv, const struct finding *found)
{
	const uint32_t *words = (const uint32_t *)&found->cqe;
	char *text = NULL;
	size_t bytes, i;
	FILE *file;

	file = open_memstream(&text, &bytes);
	if (file == NULL)
		return;
	for (i = 0; i < sizeof(found->cqe) / sizeof(*words); i++)
		fprintf(file, " %08x", rte_le_to_cpu_32(words[i]));
	fprintf(file, ": ");
	mana_decode_cqe_words(&found->cqe, file);
	if (fclose(file) == 0)
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "%s queue %u: the first completion %s:%s",
			      found->is_rx ? "Rx" : "Tx", found->queue,
			      mana_bad_cqe_name(found->kind), text);
	free(text);
	if (found->kind == MANA_BAD_CQE_UNSCATTERED)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "Rx queue %u: the adapter does not scatter packets over several buffers: use mbufs that hold a whole frame, or a smaller MTU",
			      found->queue);
}

static void
failure_log(struct mana_priv *priv, const struct finding *found)
{
	uint32_t type = found->header >> MANA_CQE_TYPE_S & MANA_CQE_TYPE_M;
	uint32_t error = found->header >> MANA_CQE_VENDOR_ERR_S &
			 MANA_CQE_VENDOR_ERR_M;

	mana_event_add(&priv->events,
		       found->is_rx ? MANA_EVENT_RXQ_FAILED : MANA_EVENT_TXQ_FAILED,
		       found->queue, error, 0);
	MANA_PORT_LOG(ERR, priv->data->name,
		      "%s queue %u has failed (%s): completion type %u (%s), vendor error 0x%x; restart the port",
		      found->is_rx ? "Rx" : "Tx", found->queue,
		      mana_queue_failure_name(found->failure), type,
		      mana_decode_cqe_type(type), error);
}

bool
mana_queues_report(struct mana_priv *priv)
{
	bool has_failed = false;
	struct finding found;
	uint32_t i;

	mana_tx_form_report(priv);
	for (i = 0; i < MAX_FINDINGS && finding_next(priv, &found); i++) {
		if (found.is_failed)
			failure_log(priv, &found);
		else
			bad_cqe_log(priv, &found);
		has_failed |= found.is_failed;
	}
	return has_failed;
}
