/* SPDX-License-Identifier: BSD-3-Clause */

#include <time.h>

#include <rte_common.h>

#include "mana_event_log.h"

/* Programs read the names: none may change. */
const struct mana_event_kind_names mana_event_names[MANA_NB_EVENT_KINDS] = {
	[MANA_EVENT_NONE] = { "none", { NULL, NULL } },
	[MANA_EVENT_PROBE] = { "probe", { "port", NULL } },
	[MANA_EVENT_CONFIGURE] = { "configure", { "nb_rxq", "nb_txq" } },
	[MANA_EVENT_RXQ_SETUP] = { "rxq_setup", { "queue", "nb_desc" } },
	[MANA_EVENT_RXQ_RELEASE] = { "rxq_release", { "queue", NULL } },
	[MANA_EVENT_TXQ_SETUP] = { "txq_setup", { "queue", "nb_desc" } },
	[MANA_EVENT_TXQ_RELEASE] = { "txq_release", { "queue", NULL } },
	[MANA_EVENT_START] = { "start", { "nb_rxq", "nb_txq" } },
	[MANA_EVENT_STOP] = { "stop", { NULL, NULL } },
	[MANA_EVENT_CLOSE] = { "close", { NULL, NULL } },
	[MANA_EVENT_MTU] = { "mtu", { "mtu", NULL } },
	[MANA_EVENT_RXQ_START] = { "rxq_start", { "queue", NULL } },
	[MANA_EVENT_RXQ_STOP] = { "rxq_stop", { "queue", NULL } },
	[MANA_EVENT_TXQ_START] = { "txq_start", { "queue", NULL } },
	[MANA_EVENT_TXQ_STOP] = { "txq_stop", { "queue", NULL } },
	[MANA_EVENT_RSS] = { "rss", { "nb_entries", NULL } },
	[MANA_EVENT_VLAN_STRIP] = { "vlan_strip", { "queue", "is_on" } },
	[MANA_EVENT_LINK] = { "link", { "is_up", "mbps" } },
	[MANA_EVENT_REMOVED] = { "removed", { NULL, NULL } },
	[MANA_EVENT_NETDEV] = { "netdev", { "ifindex", "is_up" } },
	[MANA_EVENT_RXQ_FAILED] = { "rxq_failed", { "queue", "vendor_error" } },
	[MANA_EVENT_TXQ_FAILED] = { "txq_failed", { "queue", "vendor_error" } },
	[MANA_EVENT_RECOVERED] = { "recovered", { "outage_ms", "rebuild_ms" } },
	[MANA_EVENT_RESET] = { "reset", { NULL, NULL } },
	[MANA_EVENT_REPAIRED] = { "repaired", { "queue", NULL } },
};

uint64_t
mana_now_ns(clockid_t clock)
{
	struct timespec now = { 0 };

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int
mana_event_add(struct mana_event_log *log, enum mana_event_kind kind,
	       uint32_t arg0, uint32_t arg1, int error)
{
	struct mana_event event = {
		.kind = kind,
		.error = error,
		.arg = { arg0, arg1 },
	};

	rte_spinlock_lock(&log->lock);
	/* Under the lock, so that times are in the order of the numbers. */
	event.wall_ns = mana_now_ns(CLOCK_REALTIME);
	event.mono_ns = mana_now_ns(CLOCK_MONOTONIC);
	event.number = log->nb_added + 1;
	log->ring[log->nb_added % MANA_EVENT_LOG_N] = event;
	log->nb_added++;
	rte_spinlock_unlock(&log->lock);
	return error;
}

uint32_t
mana_event_log_copy(struct mana_event_log *log,
		    struct mana_event events[MANA_EVENT_LOG_N])
{
	uint32_t nb;

	rte_spinlock_lock(&log->lock);
	nb = RTE_MIN(log->nb_added, (uint64_t)MANA_EVENT_LOG_N);
	for (uint32_t i = 0; i < nb; i++)
		events[i] = log->ring[(log->nb_added - nb + i) %
				      MANA_EVENT_LOG_N];
	rte_spinlock_unlock(&log->lock);
	return nb;
}
