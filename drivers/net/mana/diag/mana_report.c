/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Logs what bursts have met, which log nothing themselves: unexpected completions
 * and failed queues. Called periodically, and before a port stops.
 */

#include <stdlib.h>

#include <rte_cycles.h>

#include "mana.h"
#include "mana_dump.h"
#include "mana_log.h"
#include "mana_rx_set.h"

/* What was not reported of a queue yet: a copy, so no lock is held while it is logged. */
struct news {
	struct mana_bad_cqes bad;
	uint32_t kinds; /* of bad */
	bool has_failed;
	uint8_t failure;
};

static void
news_take(struct news *news, const struct mana_bad_cqes *bad,
	  struct mana_bad_cqes_reported *reported, uint64_t failed)
{
	mana_atomic_store(&news->bad.seen, reported->kinds);
	mana_bad_cqes_merge(&news->bad, bad);
	news->kinds = mana_atomic_load(&news->bad.seen) & ~reported->kinds;
	news->has_failed = failed != reported->failed;
	reported->kinds |= news->kinds;
	reported->failed = failed;
}

static const char *const bad_cqe_names[MANA_BAD_CQE_TX_ERROR] = {
	[MANA_BAD_CQE_UNKNOWN] = "of unknown type",
	[MANA_BAD_CQE_ZERO_LENGTH] = "of a packet without bytes",
	[MANA_BAD_CQE_OVERSIZE] = "of a packet longer than its buffer",
	[MANA_BAD_CQE_TRUNCATED] = "of a truncated packet",
	[MANA_BAD_CQE_UNSCATTERED] = "of a packet that was not scattered",
	[MANA_BAD_CQE_FOREIGN] = "that names another queue",
	[MANA_BAD_CQE_SPURIOUS] = "with nothing posted",
	[MANA_BAD_CQE_OVERRUN] = "that overtook the reader",
	[MANA_BAD_CQE_POSITION] = "with a position that cannot be",
};

static void
bad_cqe_log(const struct mana_priv *priv, const char *name, uint32_t kind,
	    const struct gdma_cqe *cqe)
{
	const uint32_t *words = (const uint32_t *)cqe;
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	if (file == NULL)
		return;
	for (size_t i = 0; i < sizeof(*cqe) / sizeof(*words); i++)
		fprintf(file, " %08x", rte_le_to_cpu_32(words[i]));
	fprintf(file, ": ");
	mana_decode_cqe_words(cqe, file);
	if (fclose(file) == 0)
		MANA_PORT_LOG(NOTICE, priv->data->name,
			      "%s: the first completion %s:%s", name,
			      kind < RTE_DIM(bad_cqe_names) ?
				      bad_cqe_names[kind] : "with an error", text);
	free(text);
	if (kind == MANA_BAD_CQE_UNSCATTERED)
		MANA_PORT_LOG(ERR, priv->data->name,
			      "%s: the adapter does not scatter packets over several buffers: use mbufs that hold a whole frame, or a smaller MTU",
			      name);
}

/* For which a Tx queue with posted packets has no completion when it is reported. */
#define STALL_S 3
/* For which a Tx queue went on before a stall is logged again. */
#define QUIET_S 10

/* Counts a stall of a Tx queue, once. Returns whether to log it. Locked. */
static bool
tx_stalls(struct mana_eth_txq *tx, bool is_gone)
{
	struct mana_tx_progress *progress = &tx->progress;
	uint64_t now_ns = mana_now_ns(CLOCK_MONOTONIC);
	/* A burst may run beside this. */
	uint32_t ci = *(const volatile uint32_t *)&tx->txq.ci;
	bool waits = !is_gone && mana_txq_look_posted(&tx->txq) != 0 &&
		     ci == progress->ci && progress->since_ns != 0;
	bool is_logged;

	progress->ci = ci;
	if (waits && now_ns - progress->since_ns < STALL_S * (uint64_t)NS_PER_S)
		return false;
	/* Completions that the application has not polled are progress. */
	if (waits && mana_txq_trylock(&tx->txq)) {
		waits = mana_txq_nb_done(&tx->txq) == 0 &&
			mana_txq_failure(&tx->txq) == MANA_FAILURE_NONE;
		mana_txq_unlock(&tx->txq);
	} else {
		waits = waits && progress->is_reported;
	}
	if (!waits) {
		progress->is_reported = false;
		progress->since_ns = now_ns;
		return false;
	}
	/* A device that is only slow stalls again and again. */
	is_logged = !progress->is_reported &&
		    (progress->stalled_ns == 0 ||
		     progress->since_ns - progress->stalled_ns >=
			     QUIET_S * (uint64_t)NS_PER_S);
	tx->txq.stats.stalled += !progress->is_reported;
	progress->is_reported = true;
	progress->stalled_ns = now_ns;
	return is_logged;
}

/* Returns whether the queue has failed. */
static bool
queue_report(struct mana_priv *priv, bool is_rx, uint16_t queue)
{
	struct news news = { .kinds = 0 };
	struct mana_eth_rxq *rx;
	struct mana_eth_txq *tx;
	uint32_t header, type, error;
	const char *remedy;
	bool stalls = false;
	char name[16];

	mana_registry_lock();
	rx = priv->rxqs[queue];
	tx = priv->txqs[queue];
	if (is_rx && rx != NULL) {
		news.failure = mana_rx_set_bad_cqes(priv, rx);
		news_take(&news, &rx->bad_cqes, &rx->reported,
			  mana_stats_rxq(priv, rx).rx.failed);
	} else if (!is_rx && tx != NULL) {
		news.failure = mana_txq_failure(&tx->txq);
		news_take(&news, &tx->txq.bad_cqes, &tx->reported,
			  tx->txq.stats.failed);
		stalls = tx_stalls(tx, mana_is_gone(priv));
	}
	mana_registry_unlock();
	if (news.kinds == 0 && !stalls && !news.has_failed)
		return false;
	snprintf(name, sizeof(name), "%s queue %u", is_rx ? "Rx" : "Tx", queue);
	for (uint32_t kind = 0; kind < MANA_NB_BAD_CQE; kind++)
		if ((news.kinds & RTE_BIT32(kind)) != 0)
			bad_cqe_log(priv, name, kind, &news.bad.cqe[kind]);
	if (stalls)
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "%s: the adapter has completed none of its packets for %d s: it may have stopped answering",
			      name, STALL_S);
	if (!news.has_failed)
		return false;
	remedy = mana_recovers(priv) ? "the driver rebuilds it" : "restart the port";
	header = news.failure != MANA_FAILURE_KILLED ? news.bad.fatal_header : 0;
	type = header >> MANA_CQE_TYPE_S & MANA_CQE_TYPE_M;
	error = header >> MANA_CQE_VENDOR_ERR_S & MANA_CQE_VENDOR_ERR_M;
	mana_event_add(&priv->events,
		       is_rx ? MANA_EVENT_RXQ_FAILED : MANA_EVENT_TXQ_FAILED, queue,
		       error, 0);
	if (news.failure == MANA_FAILURE_KILLED)
		MANA_PORT_LOG(WARNING, priv->data->name,
			      "%s has failed (killed): a secondary process has ended in the middle of a burst; %s",
			      name, remedy);
	else
		MANA_PORT_LOG(ERR, priv->data->name,
			      "%s has failed (%s): completion type %u (%s), vendor error 0x%x; %s",
			      name, mana_queue_failure_name(news.failure), type,
			      mana_decode_cqe_type(type), error, remedy);
	return true;
}

bool
mana_queues_report(struct mana_priv *priv)
{
	bool has_failed = false;

	mana_tx_form_report(priv);
	for (uint16_t i = 0; i < MANA_MAX_QUEUES; i++) {
		has_failed |= queue_report(priv, true, i);
		has_failed |= queue_report(priv, false, i);
	}
	return has_failed;
}
