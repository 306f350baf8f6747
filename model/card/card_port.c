/* SPDX-License-Identifier: BSD-3-Clause */

/* The card's control path: vPorts, steering, counters. */

#include <assert.h>
#include <errno.h>

#include "card_state.h"
#include "nic.h"
#include "platform.h"
#include "synthetic.h"
#include "wire.h"

int
card_vport_enable_tx(uint32_t fn, uint32_t port_idx, uint32_t pdn,
		     uint32_t page, uint32_t *tx_vp_offset)
{
	struct card_port *port = card_port(fn, port_idx);

	if (port == NULL || pdn >= CARD_MAX_PDS || !card_function(fn)->pds[pdn])
		return -EPROTO;
	port->tx_enabled = true;
	port->tx_pdn = pdn;
	port->tx_page = page;
	*tx_vp_offset = port->tx_vp_offset;
	return 0;
}

void
card_vport_disable_tx(uint32_t fn, uint32_t port_idx)
{
	struct card_port *port = card_port(fn, port_idx);

	if (port != NULL)
		port->tx_enabled = false;
}

static bool
card_rq_is_of_port(uint32_t fn, uint32_t port_idx, uint32_t id)
{
	const struct wq *rq = card_rq(card_function(fn), id);

	return rq != NULL && rq->port == port_idx;
}

/* A generator on the wire may wait for the port. */
static void
card_rx_ready(uint32_t fn, uint32_t port_idx)
{
	struct card_function *f = card_function(fn);
	const struct wq *rq = card_rq(f, f->ports[port_idx].default_rq);

	if (wire_rx_ready(fn, port_idx) && rq != NULL)
		platform->wake(rq->ring.process);
}

int
card_vport_enable_rx(uint32_t fn, uint32_t port_idx,
		     const struct card_steering *steering)
{
	struct card_port *port = card_port(fn, port_idx);
	const uint32_t *table;
	uint32_t i, default_rq;

	if (port == NULL)
		return -EPROTO;
	default_rq = steering->keep_default_rq ? port->default_rq :
						 steering->default_rq;
	table = steering->keep_table ? port->table : steering->table;
	if (!(steering->is_off && steering->keep_default_rq) &&
	    !card_rq_is_of_port(fn, port_idx, default_rq))
		return -EPROTO;
	/* Without RSS the table is not used: it may be unset. */
	for (i = 0; i < CARD_RSS_TABLE_SIZE; i++)
		if (((steering->rss_enable && !steering->is_off) ||
		     !steering->keep_table) &&
		    !card_rq_is_of_port(fn, port_idx, table[i]))
			return -EPROTO;
	port->rss_enable = steering->rss_enable;
	port->coalesce = steering->coalescing_enable &&
			 segment_config()->coalesce;
	port->default_rq = default_rq;
	if (!steering->keep_table)
		memcpy(port->table, table, sizeof(port->table));
	if (!steering->keep_key)
		nic_hash_prepare(&port->toeplitz, steering->key);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	port->rx_enabled = !steering->is_off;
	if (port->rx_enabled)
		card_rx_ready(fn, port_idx);
	return 0;
}

void
card_vport_disable_rx(uint32_t fn, uint32_t port_idx)
{
	struct card_port *port = card_port(fn, port_idx);

	if (port != NULL)
		port->rx_enabled = false;
}

void
card_vport_reset(uint32_t fn, uint32_t port_idx)
{
	struct card_port *port = card_port(fn, port_idx);
	uint32_t i;

	if (port == NULL)
		return;
	port->tx_enabled = false;
	port->tx_pdn = 0;
	port->tx_page = 0;
	port->rx_enabled = false;
	port->rss_enable = false;
	port->coalesce = false;
	port->default_rq = CARD_NO_QUEUE;
	for (i = 0; i < CARD_RSS_TABLE_SIZE; i++)
		port->table[i] = CARD_NO_QUEUE;
	memset(&port->toeplitz, 0, sizeof(port->toeplitz));
}

bool
card_link_set(uint32_t fn, uint32_t port_idx, bool up)
{
	struct card_port *port = card_port(fn, port_idx);

	if (port == NULL || port->is_link_down == !up)
		return false;
	port->is_link_down = !up;
	if (up)
		card_rx_ready(fn, port_idx);
	return true;
}

bool
card_link_is_up(uint32_t fn, uint32_t port_idx)
{
	const struct card_port *port = card_port(fn, port_idx);

	return port != NULL && !port->is_link_down;
}

void
card_function_disable(uint32_t fn, bool is_disabled)
{
	struct card_function *f = card_function(fn);
	uint32_t port;

	if (f == NULL)
		return;
	f->is_disabled = is_disabled;
	for (port = 0; port < f->nb_ports && !is_disabled; port++)
		card_rx_ready(fn, port);
}

int
card_rq_fence(uint32_t fn, uint32_t rq_id)
{
	struct card_function *f = card_function(fn);
	struct wq *rq = f != NULL ? card_rq(f, rq_id) : NULL;

	if (rq == NULL)
		return -EPROTO;
	nic_rx_fence(f, rq);
	return 0;
}

int
card_port_rq(uint32_t fn, uint32_t port_idx, uint32_t nth, uint32_t *rq_id)
{
	struct card_function *f = card_function(fn);
	uint32_t i;

	for (i = 0; f != NULL && i < CARD_MAX_QUEUES; i++) {
		const struct wq *rq = card_rq(f, CARD_FIRST_RQ_ID + i);

		if (rq != NULL && rq->port == port_idx && nth-- == 0) {
			*rq_id = rq->id;
			return 0;
		}
	}
	return -ENOENT;
}

void
card_port_receive(uint32_t fn, uint32_t port_idx, const void *frame,
		  uint32_t len_bytes)
{
	struct wire *wire = wire_of(fn, port_idx);

	if (wire == NULL)
		return;
	wire_arrive(wire, frame, len_bytes);
	nic_coalesce_flush();
}

void
card_monitor_signal(uint32_t offset, uint32_t bits)
{
	uint32_t fn, port;

	synthetic_signal(offset, bits, wire_send);
	/*
	 * The guest may have given sections back, for which a generator waits, or moved
	 * the path to a VF whose ring is full.
	 */
	for (uint32_t n = 0; synthetic_port(n, &fn, &port); n++)
		if (wire_rx_ready(fn, port))
			platform->wake(synthetic_process(n));
	nic_coalesce_flush();
}

void
card_port_mac(uint32_t fn, uint32_t port_idx, uint8_t mac[6])
{
	const struct card_port *port = card_port(fn, port_idx);

	if (port != NULL)
		memcpy(mac, port->mac, sizeof(port->mac));
	else
		memset(mac, 0, sizeof(port->mac));
}

void
card_port_counters(uint32_t fn, uint32_t port_idx,
		   struct card_port_counters *counters)
{
	const struct card_port *port = card_port(fn, port_idx);

	if (port != NULL)
		*counters = port->counters;
	else
		memset(counters, 0, sizeof(*counters));
}

static_assert(sizeof(struct card_port_counters) % sizeof(uint64_t) == 0,
	      "counters");

void
card_function_counters(uint32_t fn, struct card_port_counters *sum)
{
	const struct card_function *f = card_function(fn);
	uint64_t *to = (uint64_t *)sum;
	uint32_t port, i;

	memset(sum, 0, sizeof(*sum));
	for (port = 0; f != NULL && port < f->nb_ports; port++) {
		const uint64_t *from = (const uint64_t *)&f->ports[port].counters;

		for (i = 0; i < sizeof(*sum) / sizeof(*to); i++)
			to[i] += from[i];
	}
}

bool
card_port_queue(uint32_t fn, uint32_t port_idx, uint32_t index,
		struct card_queue_counters *counters)
{
	const struct card_port *port = card_port(fn, port_idx);

	if (port == NULL || index >= port->nb_records)
		return false;
	*counters = port->records[index];
	return true;
}

int
card_queue_location(uint32_t fn, uint32_t port, bool is_sq, uint32_t n,
		    struct card_location *location)
{
	struct card_function *f = card_function(fn);
	const struct cq *cq;
	uint32_t i;

	if (card_port(fn, port) == NULL)
		return -ENODEV;
	for (i = 0; i < CARD_MAX_QUEUES; i++) {
		const struct wq *wq = &f->wqs[is_sq ? i : CARD_MAX_QUEUES + i];

		if (!wq->is_alive || wq->port != port || n-- > 0)
			continue;
		cq = &f->cqs[wq->cq];
		*location = (struct card_location){
			.addr = wq->ring.addr,
			.size_bytes = wq->ring.size_bytes,
			.id = wq->id,
			.cq_addr = cq->ring.addr,
			.nb_cqes = cq->nb_cqes,
			.cq_id = cq->id,
			.page = wq->page,
			.vp_offset = f->ports[wq->port].tx_vp_offset,
		};
		return 0;
	}
	return -ENOENT;
}

int
card_region_location(uint32_t fn, uint32_t key, uint64_t *addr,
		     uint64_t *size_bytes)
{
	struct card_function *f = card_function(fn);
	const struct mem_region *region;

	if (f == NULL)
		return -ENODEV;
	region = mem_region_find(&f->mem, key);
	if (region == NULL)
		return -ENOENT;
	*addr = region->addr;
	*size_bytes = region->size_bytes;
	return 0;
}
