/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Extended statistics: every counter there is, by name. The names are part of
 * the driver's interface, doc/guides/nics/mana.rst explains them: add some, but
 * do not change any.
 *
 * Those of the port come first, then those of each queue. ethdev puts its own
 * before ours (rx_good_packets and so on) and leaves the queues to us, because
 * it knows the first 16 only.
 */

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "mana.h"
#include "mana_ethdev.h"

/* What is counted, and the sums that ethdev's own counters are made of. */
struct rx_view {
	struct mana_rx_counters count;
	uint64_t errors;
};

struct tx_view {
	struct mana_tx_counters count;
	uint64_t errors;
	uint64_t cqe_errors; /* of these: posted, and refused by the device */
	uint64_t drops; /* taken, and never posted */
};

/* Where a counter is shown. */
enum {
	AT_PORT = 1 << 0,
	AT_QUEUE = 1 << 1,
	AT_BOTH = AT_PORT | AT_QUEUE,
};

struct xstat {
	const char *name; /* behind rx_, tx_, rx_q0_ or tx_q0_ */
	uint16_t offset; /* in the view */
	uint16_t where;
};

#define RX(member) offsetof(struct rx_view, member)
#define RX_RARE(member) offsetof(struct rx_view, count.rare.member)
#define TX(member) offsetof(struct tx_view, member)
#define TX_RARE(member) offsetof(struct tx_view, count.rare.member)
#define TX_CQE(type) \
	(offsetof(struct tx_view, count.rare.cqe_error) + \
	 ((type) - MANA_CQE_TX_ERR_FIRST) * sizeof(uint64_t))

/* Packets, bytes and errors of the port are ethdev's. */
static const struct xstat rx_xstats[] = {
	{ "packets", RX(count.packets), AT_QUEUE },
	{ "bytes", RX(count.bytes), AT_QUEUE },
	{ "errors", RX(errors), AT_QUEUE },
	{ "cqe_truncated", RX_RARE(truncated), AT_BOTH },
	{ "cqe_oversize", RX_RARE(oversize), AT_BOTH },
	{ "cqe_zero_length", RX_RARE(zero_len), AT_PORT },
	{ "cqe_fence", RX_RARE(fence), AT_PORT },
	{ "cqe_unknown", RX_RARE(cqe_unknown), AT_PORT },
	{ "cqe_foreign", RX_RARE(cqe_foreign), AT_PORT },
	{ "cqe_spurious", RX_RARE(cqe_spurious), AT_PORT },
	{ "cqe_overrun", RX_RARE(cqe_overrun), AT_PORT },
	{ "drop_stopped", RX_RARE(stopped), AT_BOTH },
	{ "ring_empty", RX_RARE(ring_empty), AT_BOTH },
	{ "refill_nombuf", RX_RARE(nombuf), AT_QUEUE },
	{ "refill_mr_failures", RX_RARE(mr_failed), AT_BOTH },
	{ "rq_doorbells", RX_RARE(rq_doorbells), AT_BOTH },
	{ "cq_doorbells", RX_RARE(cq_doorbells), AT_BOTH },
	{ "mr_misses", RX(count.mr_misses), AT_PORT },
};

static const struct xstat tx_xstats[] = {
	{ "packets", TX(count.packets), AT_QUEUE },
	{ "bytes", TX(count.bytes), AT_QUEUE },
	{ "errors", TX(errors), AT_QUEUE },
	{ "cqe_errors", TX(cqe_errors), AT_BOTH },
	{ "cqe_sa_drop", TX_CQE(MANA_CQE_TX_SA_DROP), AT_PORT },
	{ "cqe_mtu_drop", TX_CQE(MANA_CQE_TX_MTU_DROP), AT_PORT },
	{ "cqe_invalid_oob", TX_CQE(MANA_CQE_TX_INVALID_OOB), AT_PORT },
	{ "cqe_invalid_eth_type", TX_CQE(MANA_CQE_TX_INVALID_ETH_TYPE), AT_PORT },
	{ "cqe_hdr_processing_error", TX_CQE(MANA_CQE_TX_HDR_PROCESSING_ERROR),
	  AT_PORT },
	{ "cqe_vf_disabled", TX_CQE(MANA_CQE_TX_VF_DISABLED), AT_PORT },
	{ "cqe_vport_idx_out_of_range",
	  TX_CQE(MANA_CQE_TX_VPORT_IDX_OUT_OF_RANGE), AT_PORT },
	{ "cqe_vport_disabled", TX_CQE(MANA_CQE_TX_VPORT_DISABLED), AT_PORT },
	{ "cqe_vlan_tagging_violation",
	  TX_CQE(MANA_CQE_TX_VLAN_TAGGING_VIOLATION), AT_PORT },
	{ "cqe_gdma_err", TX_CQE(MANA_CQE_TX_GDMA_ERR), AT_PORT },
	{ "cqe_unknown", TX_RARE(cqe_unknown), AT_PORT },
	{ "cqe_foreign", TX_RARE(cqe_foreign), AT_PORT },
	{ "cqe_spurious", TX_RARE(cqe_spurious), AT_PORT },
	{ "cqe_overrun", TX_RARE(cqe_overrun), AT_PORT },
	{ "cqe_position", TX_RARE(cqe_position), AT_PORT },
	{ "unfinished", TX_RARE(unfinished), AT_BOTH },
	{ "drops", TX(drops), AT_BOTH },
	{ "drop_offload", TX_RARE(drop_offload), AT_PORT },
	{ "drop_malformed", TX_RARE(drop_malformed), AT_PORT },
	{ "drop_nomem", TX_RARE(drop_nomem), AT_PORT },
	{ "drop_mr", TX_RARE(drop_mr), AT_PORT },
	{ "linearized", TX_RARE(linearized), AT_BOTH },
	{ "bounced_headers", TX_RARE(bounced), AT_BOTH },
	{ "sq_doorbells", TX(count.sq_doorbells), AT_BOTH },
	{ "cq_doorbells", TX_RARE(cq_doorbells), AT_BOTH },
	{ "mr_misses", TX(count.mr_misses), AT_PORT },
};

static const struct xstat port_xstats[] = {
	{ "mr_registrations",
	  offsetof(struct mana_port_counters, mr_registrations), AT_PORT },
	{ "mr_deregistrations",
	  offsetof(struct mana_port_counters, mr_deregistrations), AT_PORT },
	{ "resets", offsetof(struct mana_port_counters, resets), AT_PORT },
	{ "rss_gaps", offsetof(struct mana_port_counters, rss_gaps), AT_PORT },
	{ "rss_gap_ns", offsetof(struct mana_port_counters, rss_gap_ns),
	  AT_PORT },
	{ "rss_gap_max_ns", offsetof(struct mana_port_counters, rss_gap_max_ns),
	  AT_PORT },
};

/* ---- Which counter has which number -------------------------------------- */

enum side { RX_SIDE, TX_SIDE, PORT_SIDE, NB_SIDES };

static const struct {
	const struct xstat *xstats;
	unsigned int nb;
	const char *prefix;
} sides[NB_SIDES] = {
	[RX_SIDE] = { rx_xstats, RTE_DIM(rx_xstats), "rx_" },
	[TX_SIDE] = { tx_xstats, RTE_DIM(tx_xstats), "tx_" },
	[PORT_SIDE] = { port_xstats, RTE_DIM(port_xstats), "" },
};

#define WHOLE_PORT UINT16_MAX /* as number of a queue */

struct place {
	enum side side;
	uint16_t queue_id;
	const struct xstat *xstat;
};

/* How often a counter of this side is shown there. */
static unsigned int
nb_times(const struct rte_eth_dev *dev, enum side side, unsigned int where)
{
	if (where == AT_PORT)
		return 1;
	if (side == RX_SIDE)
		return dev->data->nb_rx_queues;
	return side == TX_SIDE ? dev->data->nb_tx_queues : 0;
}

static unsigned int
nb_shown(enum side side, unsigned int where)
{
	unsigned int nb = 0;
	unsigned int i;

	for (i = 0; i < sides[side].nb; i++)
		nb += (sides[side].xstats[i].where & where) != 0;
	return nb;
}

static const struct xstat *
nth_shown(enum side side, unsigned int where, unsigned int n)
{
	const struct xstat *xstat = sides[side].xstats;

	while ((xstat->where & where) == 0 || n-- > 0)
		xstat++;
	return xstat;
}

static unsigned int
nb_xstats(const struct rte_eth_dev *dev)
{
	unsigned int nb = 0;
	enum side side;

	for (side = 0; side < NB_SIDES; side++)
		nb += nb_shown(side, AT_PORT) +
		      nb_shown(side, AT_QUEUE) *
			      nb_times(dev, side, AT_QUEUE);
	return nb;
}

/* The port's of all sides, then the queues' of all sides. */
static int
find(const struct rte_eth_dev *dev, uint64_t id, struct place *place)
{
	unsigned int where;
	enum side side;

	for (where = AT_PORT; where <= AT_QUEUE; where <<= 1) {
		for (side = 0; side < NB_SIDES; side++) {
			unsigned int nb = nb_shown(side, where);
			unsigned int all = nb * nb_times(dev, side, where);

			if (id >= all) {
				id -= all;
				continue;
			}
			place->side = side;
			place->queue_id = where == AT_PORT ? WHOLE_PORT : id / nb;
			place->xstat = nth_shown(side, where, id % nb);
			return 0;
		}
	}
	return -EINVAL;
}

/* ---- Names and values ------------------------------------------------------ */

static void
name_write(const struct place *place, char *name, size_t size)
{
	const char *prefix = sides[place->side].prefix;

	if (place->queue_id == WHOLE_PORT)
		snprintf(name, size, "%s%s", prefix, place->xstat->name);
	else
		snprintf(name, size, "%sq%u_%s", prefix, place->queue_id,
			 place->xstat->name);
}

/* The counters of a side, of one queue or all: read once for all its values. */
struct view {
	bool is_valid;
	enum side side;
	uint16_t queue_id;
	union {
		struct rx_view rx;
		struct tx_view tx;
		struct mana_port_counters port;
	};
};

static void
rx_view_read(const struct mana_priv *priv, uint16_t queue_id,
	     struct rx_view *view)
{
	view->count = queue_id == WHOLE_PORT ? mana_stats_rx_sum(priv) :
					       mana_stats_rx(priv, queue_id);
	view->errors = mana_rxq_stats_errors(&view->count.rare);
}

static void
tx_view_read(const struct mana_priv *priv, uint16_t queue_id,
	     struct tx_view *view)
{
	view->count = queue_id == WHOLE_PORT ? mana_stats_tx_sum(priv) :
					       mana_stats_tx(priv, queue_id);
	view->errors = mana_txq_stats_errors(&view->count.rare);
	view->cqe_errors = mana_txq_stats_cqe_errors(&view->count.rare);
	view->drops = view->errors - view->cqe_errors -
		      view->count.rare.unfinished;
}

static uint64_t
value_read(const struct mana_priv *priv, const struct place *place,
	   struct view *view)
{
	uint64_t value;

	if (!view->is_valid || view->side != place->side ||
	    view->queue_id != place->queue_id) {
		view->is_valid = true;
		view->side = place->side;
		view->queue_id = place->queue_id;
		if (place->side == RX_SIDE)
			rx_view_read(priv, place->queue_id, &view->rx);
		else if (place->side == TX_SIDE)
			tx_view_read(priv, place->queue_id, &view->tx);
		else
			view->port = mana_stats_port(priv);
	}
	memcpy(&value, (const uint8_t *)&view->rx + place->xstat->offset,
	       sizeof(value));
	return value;
}

/* ---- The operations ---------------------------------------------------------- */

/* ids NULL: the first nb. */
static int
names_write(const struct rte_eth_dev *dev, const uint64_t *ids,
	    struct rte_eth_xstat_name *names, unsigned int nb)
{
	unsigned int i;

	for (i = 0; i < nb; i++) {
		struct place place;

		if (find(dev, ids != NULL ? ids[i] : i, &place) != 0)
			return -EINVAL;
		name_write(&place, names[i].name, sizeof(names[i].name));
	}
	return nb;
}

int
mana_xstats_get_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names,
		      unsigned int size)
{
	unsigned int nb = nb_xstats(dev);

	/* Too small a table: how large it has to be. */
	if (names == NULL || size < nb)
		return nb;
	return names_write(dev, NULL, names, nb);
}

int
mana_xstats_get_names_by_id(struct rte_eth_dev *dev, const uint64_t *ids,
			    struct rte_eth_xstat_name *names, unsigned int size)
{
	if (ids == NULL)
		return mana_xstats_get_names(dev, names, size);
	return names_write(dev, ids, names, size);
}

int
mana_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xstats,
		unsigned int n)
{
	const struct mana_priv *priv = dev->data->dev_private;
	unsigned int nb = nb_xstats(dev);
	struct view view = {0};
	unsigned int i;

	if (xstats == NULL || n < nb)
		return nb;
	for (i = 0; i < nb; i++) {
		struct place place;

		if (find(dev, i, &place) != 0)
			return -EINVAL;
		xstats[i].id = i;
		xstats[i].value = value_read(priv, &place, &view);
	}
	return nb;
}

int
mana_xstats_get_by_id(struct rte_eth_dev *dev, const uint64_t *ids,
		      uint64_t *values, unsigned int n)
{
	const struct mana_priv *priv = dev->data->dev_private;
	unsigned int nb = ids != NULL ? n : nb_xstats(dev);
	struct view view = {0};
	unsigned int i;

	if (values == NULL || n < nb)
		return nb;
	for (i = 0; i < nb; i++) {
		struct place place;

		if (find(dev, ids != NULL ? ids[i] : i, &place) != 0)
			return -EINVAL;
		values[i] = value_read(priv, &place, &view);
	}
	return nb;
}
