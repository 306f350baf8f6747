/* SPDX-License-Identifier: BSD-3-Clause */

/* State machine of a port: which operations are valid, and their effect. */

#include <string.h>

#include <rte_ether.h>

#include "sequence.h"

bool
seq_fits(const struct rte_mempool *pool, uint32_t mtu)
{
	uint16_t room = rte_pktmbuf_data_room_size((struct rte_mempool *)(uintptr_t)pool);

	return (uint32_t)room - RTE_PKTMBUF_HEADROOM >= mtu + RTE_ETHER_HDR_LEN;
}

bool
seq_scatters(const struct seq_port *port)
{
	return (port->rx_offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
}

/*
 * Buffers of this pool per frame of the MTU. In a split frame the pool holds
 * the data behind the first segment; only the first buffer has headroom.
 */
static uint32_t
nb_buffers(const struct seq_queue *rxq, const struct rte_mempool *pool, uint32_t mtu)
{
	uint32_t room = rte_pktmbuf_data_room_size(rxq->pool);
	uint32_t bytes = mtu + RTE_ETHER_HDR_LEN, nb = 0;

	if (rxq->split_bytes != 0 && rxq->split_pool == pool)
		nb++;
	if (rxq->pool != pool)
		return nb;
	if (rxq->split_bytes == 0)
		bytes += RTE_PKTMBUF_HEADROOM;
	else
		bytes -= RTE_MIN(bytes - 1, (uint32_t)rxq->split_bytes);
	return nb + (bytes + room - 1) / room;
}

static bool
is_scattered(const struct seq_queue *rxq, uint16_t mtu)
{
	return rxq->split_bytes != 0 || !seq_fits(rxq->pool, mtu);
}

/* Longer frames need Rx scatter. */
static bool
has_room(const struct seq_queue *rxq, uint16_t mtu)
{
	return !is_scattered(rxq, mtu) || rxq->can_scatter;
}

/*
 * Mbufs of the pool that the rings of a queue need: whole, or sharing the descriptors of
 * the queue.
 */
static uint32_t
nb_wanted_by(const struct seq_port *port, uint16_t queue, const struct rte_mempool *pool,
	     bool is_sharing)
{
	const struct seq_queue *rxq = &port->rxq[queue];
	const uint32_t nb_rings = port->nb_rings[queue];
	uint32_t nb_desc = rxq->nb_desc;

	if (is_sharing && nb_rings > 1)
		nb_desc = RTE_MAX(nb_desc / nb_rings, (uint32_t)port->min_desc);
	return nb_rings * nb_desc * nb_buffers(rxq, pool, port->mtu);
}

void
seq_table_set(struct seq_port *port, const uint16_t *reta)
{
	uint32_t nb = port->has_rss && port->nb_rxq != 0 ?
			      rte_align32pow2(port->nb_rxq) : 1;

	for (uint32_t i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		while (reta[i] != reta[i % nb])
			nb *= 2;
	memset(port->nb_rings, 0, sizeof(port->nb_rings));
	for (uint32_t i = 0; i < nb; i++)
		port->nb_rings[reta[i]]++;
}

enum seq_verdict
seq_may_configure(const struct seq_port *port, const struct seq_conf *conf)
{
	if (!port->is_open || port->is_started || conf->wrong != NULL)
		return SEQ_REFUSED;
	if (conf->nb_rxq > port->max_rxq || conf->nb_txq > port->max_txq)
		return SEQ_REFUSED;
	if (conf->mtu != 0 && (conf->mtu < port->min_mtu || conf->mtu > port->max_mtu))
		return SEQ_REFUSED;
	/* ethdev requires RSS for RTE_ETH_RX_OFFLOAD_RSS_HASH */
	if (!conf->has_rss && (conf->rx_offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0)
		return SEQ_REFUSED;
	return SEQ_OK;
}

void
seq_configured(struct seq_port *port, const struct seq_conf *conf)
{
	bool is_default = conf->nb_rxq == 0 && conf->nb_txq == 0;
	uint16_t reta[RTE_ETH_RETA_GROUP_SIZE] = { 0 };

	port->is_configured = true;
	/* ethdev then uses the driver's preferred numbers */
	port->nb_rxq = is_default ? 1 : conf->nb_rxq;
	port->nb_txq = is_default ? 1 : conf->nb_txq;
	port->has_rss = conf->has_rss;
	port->mtu = conf->mtu != 0 ? conf->mtu : RTE_ETHER_MTU;
	port->rx_offloads = conf->rx_offloads;
	port->tx_offloads = conf->tx_offloads;
	for (uint32_t i = 0; port->has_rss && port->nb_rxq != 0 && i < RTE_DIM(reta); i++)
		reta[i] = i % rte_align32pow2(port->nb_rxq) % port->nb_rxq;
	seq_table_set(port, reta);
}

enum seq_verdict
seq_may_setup_rx(const struct seq_port *port, uint16_t queue,
		 const struct seq_queue *wanted)
{
	if (!port->is_open || queue >= port->nb_rxq || wanted->nb_desc < port->min_desc ||
	    wanted->nb_desc > port->max_rxd)
		return SEQ_REFUSED;
	if (port->is_started && port->rxq[queue].is_on)
		return SEQ_REFUSED;
	return has_room(wanted, port->mtu) ? SEQ_OK : SEQ_REFUSED;
}

enum seq_verdict
seq_may_setup_tx(const struct seq_port *port, uint16_t queue, uint16_t nb_desc)
{
	if (!port->is_open || queue >= port->nb_txq || nb_desc < port->min_desc ||
	    nb_desc > port->max_txd)
		return SEQ_REFUSED;
	return port->is_started && port->txq[queue].is_on ? SEQ_REFUSED : SEQ_OK;
}

static bool
may_fill_from(const struct seq_port *port, const struct rte_mempool *pool, bool is_sharing)
{
	uint32_t nb_wanted = 0;

	/* deferred queues use the remaining mbufs */
	for (uint16_t q = 0; q < port->nb_rxq; q++)
		if (!port->rxq[q].is_deferred)
			nb_wanted += nb_wanted_by(port, q, pool, is_sharing);
	return rte_mempool_avail_count(pool) >= nb_wanted;
}

/* Every ring needs mbufs; queues may share a pool. */
static bool
may_fill(const struct seq_port *port, bool is_sharing)
{
	for (uint16_t q = 0; q < port->nb_rxq; q++) {
		const struct seq_queue *rxq = &port->rxq[q];

		if (!may_fill_from(port, rxq->pool, is_sharing) ||
		    (rxq->split_bytes != 0 &&
		     !may_fill_from(port, rxq->split_pool, is_sharing)))
			return false;
	}
	return true;
}

static bool
may_fill_alone(const struct seq_port *port, uint16_t queue, const struct rte_mempool *pool)
{
	return pool == NULL ||
	       rte_mempool_avail_count(pool) >= nb_wanted_by(port, queue, pool, false);
}

enum seq_verdict
seq_may_start(const struct seq_port *port)
{
	if (!port->is_open || !port->is_configured)
		return SEQ_REFUSED;
	if (port->is_started)
		return SEQ_OK;
	for (uint16_t q = 0; q < port->nb_txq; q++)
		if (!port->txq[q].is_set)
			return SEQ_REFUSED;
	for (uint16_t q = 0; q < port->nb_rxq; q++)
		if (!port->rxq[q].is_set)
			return SEQ_REFUSED;
	for (uint16_t q = 0; q < port->nb_rxq; q++)
		if (!has_room(&port->rxq[q], port->mtu))
			return SEQ_REFUSED;
	if (may_fill(port, false))
		return SEQ_OK;
	return may_fill(port, true) ? SEQ_EITHER : SEQ_REFUSED;
}

static void
set_queues(struct seq_queue *queues, uint16_t nb, bool is_on)
{
	for (uint16_t q = 0; q < SEQ_MAX_QUEUES; q++)
		queues[q].is_on = is_on && q < nb && !queues[q].is_deferred;
}

void
seq_started(struct seq_port *port)
{
	if (!port->is_started) {
		set_queues(port->rxq, port->nb_rxq, true);
		set_queues(port->txq, port->nb_txq, true);
	}
	port->is_started = true;
}

void
seq_stopped(struct seq_port *port)
{
	port->is_started = false;
	set_queues(port->rxq, port->nb_rxq, false);
	set_queues(port->txq, port->nb_txq, false);
}

enum seq_verdict
seq_may_close(const struct seq_port *port)
{
	return port->is_open && !port->is_started ? SEQ_OK : SEQ_REFUSED;
}

enum seq_verdict
seq_may_set_mtu(const struct seq_port *port, uint16_t mtu)
{
	bool needs_several = false;

	if (!port->is_open || !port->is_configured || mtu < port->min_mtu ||
	    mtu > port->max_mtu)
		return SEQ_REFUSED;
	/* a stopped port checks its pools at the start */
	if (!port->is_started)
		return SEQ_OK;
	for (uint16_t q = 0; q < port->nb_rxq; q++) {
		if (!port->rxq[q].is_set)
			continue;
		if (!has_room(&port->rxq[q], mtu))
			return SEQ_REFUSED;
		needs_several |= is_scattered(&port->rxq[q], mtu);
	}
	/* rings posted for a smaller MTU do not grow */
	return needs_several && mtu > port->mtu ? SEQ_EITHER : SEQ_OK;
}

enum seq_verdict
seq_may_update_rss(const struct seq_port *port)
{
	if (!port->is_open)
		return SEQ_REFUSED;
	/* the state after a failed configure is undefined */
	if (!port->is_configured)
		return SEQ_EITHER;
	return port->has_rss ? SEQ_OK : SEQ_REFUSED;
}

enum seq_verdict
seq_may_toggle(const struct seq_port *port, bool is_rx, uint16_t queue, bool is_on)
{
	const struct seq_queue *queues = is_rx ? port->rxq : port->txq;

	if (!port->is_open || queue >= (is_rx ? port->nb_rxq : port->nb_txq) ||
	    !queues[queue].is_set)
		return SEQ_REFUSED;
	/* ethdev starts only queues of running ports, but stops any */
	if (!port->is_started)
		return is_on ? SEQ_REFUSED : SEQ_OK;
	if (!is_rx || !is_on || queues[queue].is_on)
		return SEQ_OK;
	if (!has_room(&queues[queue], port->mtu))
		return SEQ_REFUSED;
	return may_fill_alone(port, queue, queues[queue].pool) &&
			       may_fill_alone(port, queue, queues[queue].split_pool) ?
		       SEQ_OK : SEQ_EITHER;
}
