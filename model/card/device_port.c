/* SPDX-License-Identifier: BSD-3-Clause */

/* The card's control path: vPorts, their steering and their counters. */

#include <errno.h>

#include "nic.h"
#include "wire.h"

int
device_vport_enable_tx(uint32_t fn, uint32_t port_idx, uint32_t pdn,
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
device_vport_disable_tx(uint32_t fn, uint32_t port_idx)
{
	struct card_port *port = card_port(fn, port_idx);

	if (port != NULL)
		port->tx_enabled = false;
}

static bool
device_rq_is_of_port(uint32_t fn, uint32_t port_idx, uint32_t id)
{
	const struct wq *rq = card_rq(card_function(fn), id);

	return rq != NULL && rq->port == port_idx;
}

int
device_vport_enable_rx(uint32_t fn, uint32_t port_idx,
		       const struct device_steering *steering)
{
	struct card_port *port = card_port(fn, port_idx);
	uint32_t i;

	if (port == NULL ||
	    !device_rq_is_of_port(fn, port_idx, steering->default_rq))
		return -EPROTO;
	for (i = 0; i < DEVICE_RSS_TABLE_SIZE; i++)
		if (!device_rq_is_of_port(fn, port_idx, steering->table[i]))
			return -EPROTO;
	port->rss_enable = steering->rss_enable;
	port->coalesce = steering->coalescing_enable &&
			 segment_config()->coalesce;
	port->default_rq = steering->default_rq;
	memcpy(port->table, steering->table, sizeof(port->table));
	nic_hash_prepare(&port->toeplitz, steering->key);
	port->rx_enabled = true;
	return 0;
}

void
device_vport_disable_rx(uint32_t fn, uint32_t port_idx)
{
	struct card_port *port = card_port(fn, port_idx);

	if (port != NULL)
		port->rx_enabled = false;
}

void
device_port_receive(uint32_t fn, uint32_t port_idx, const void *frame,
		    uint32_t len_bytes)
{
	nic_rx(fn, port_idx, frame, len_bytes);
	nic_rx_flush();
}

uint32_t
device_tap_next(uint32_t *fn, uint32_t *port, void *buf, uint32_t buf_bytes)
{
	return wire_tap_next(fn, port, buf, buf_bytes);
}

void
device_port_mac(uint32_t fn, uint32_t port_idx, uint8_t mac[6])
{
	const struct card_port *port = card_port(fn, port_idx);

	if (port != NULL)
		memcpy(mac, port->mac, sizeof(port->mac));
	else
		memset(mac, 0, sizeof(port->mac));
}

void
device_port_counters(uint32_t fn, uint32_t port_idx,
		     struct device_port_counters *counters)
{
	const struct card_port *port = card_port(fn, port_idx);

	if (port != NULL)
		*counters = port->counters;
	else
		memset(counters, 0, sizeof(*counters));
}

bool
device_port_queue(uint32_t fn, uint32_t port_idx, uint32_t index,
		  struct device_queue_counters *counters)
{
	const struct card_port *port = card_port(fn, port_idx);

	if (port == NULL || index >= port->nb_records)
		return false;
	*counters = port->records[index];
	return true;
}
