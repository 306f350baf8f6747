/* SPDX-License-Identifier: BSD-3-Clause */

#include "card.h"
#include "nic.h"
#include "wire.h"

/* Before each frame in the TAP ring; records are 8-byte aligned. */
struct wire_record {
	uint16_t fn, port;
	uint32_t nb_bytes;
};

/* n-th port of the machine: functions in order, their ports in order. */
static void
wire_port_at(uint32_t n, uint32_t *fn, uint32_t *port)
{
	const struct device *card = segment_device();

	*fn = 0;
	while (n >= card->functions[*fn].nb_ports)
		n -= card->functions[(*fn)++].nb_ports;
	*port = n;
}

void
wire_init(void)
{
	const struct model_config *config = segment_config();
	struct device *card = segment_device();
	uint32_t nb_ports = 0, fn, n, peer;

	for (fn = 0; fn < card->nb_functions; fn++)
		nb_ports += card->functions[fn].nb_ports;
	for (n = 0; n < nb_ports; n++) {
		struct card_port *port;
		uint32_t port_idx;

		wire_port_at(n, &fn, &port_idx);
		port = &card->functions[fn].ports[port_idx];
		peer = n;
		if (config->wire == MODEL_WIRE_PAIR && (n ^ 1) < nb_ports)
			peer = n ^ 1;
		wire_port_at(peer, &port->peer_fn, &port->peer_port);
		port->to_tap = config->wire == MODEL_WIRE_TAP;
	}
}

static void
wire_ring_copy(struct card_tap_ring *ring, uint32_t pos, void *buf,
	       uint32_t nb_bytes, bool to_ring)
{
	uint8_t *p = buf;
	uint32_t done, n;

	for (done = 0; done < nb_bytes; done += n) {
		uint32_t at = (pos + done) % CARD_TAP_BYTES;

		n = nb_bytes - done;
		if (n > CARD_TAP_BYTES - at)
			n = CARD_TAP_BYTES - at;
		if (to_ring)
			memcpy(ring->bytes + at, p + done, n);
		else
			memcpy(p + done, ring->bytes + at, n);
	}
}

static uint32_t
wire_record_bytes(uint32_t nb_bytes)
{
	return (uint32_t)sizeof(struct wire_record) + ((nb_bytes + 7) & ~7u);
}

static void
wire_tap_put(uint32_t fn, uint32_t port, const uint8_t *frame, uint32_t nb_bytes)
{
	struct card_tap_ring *ring = &segment_device()->tap;
	struct wire_record record = { .fn = (uint16_t)fn,
				      .port = (uint16_t)port,
				      .nb_bytes = nb_bytes };
	const bool was_empty = ring->head == ring->tail;

	if (wire_record_bytes(nb_bytes) >
	    CARD_TAP_BYTES - (ring->head - ring->tail)) {
		ring->nb_lost++;
		return;
	}
	wire_ring_copy(ring, ring->head, &record, sizeof(record), true);
	wire_ring_copy(ring, ring->head + sizeof(record),
		       (void *)(uintptr_t)frame, nb_bytes, true);
	ring->head += wire_record_bytes(nb_bytes);
	/* Once awake the launcher takes all there are. */
	if (was_empty)
		kernel_kick_launcher();
}

uint32_t
wire_tap_next(uint32_t *fn, uint32_t *port, void *buf, uint32_t buf_bytes)
{
	struct card_tap_ring *ring = &segment_device()->tap;
	struct wire_record record;
	uint32_t n;

	if (ring->head == ring->tail)
		return 0;
	wire_ring_copy(ring, ring->tail, &record, sizeof(record), false);
	/* A program could have written into the segment. */
	if (record.nb_bytes > CARD_FRAME_BYTES ||
	    wire_record_bytes(record.nb_bytes) > ring->head - ring->tail) {
		ring->tail = ring->head;
		return 0;
	}
	n = record.nb_bytes < buf_bytes ? record.nb_bytes : buf_bytes;
	wire_ring_copy(ring, ring->tail + sizeof(record), buf, n, false);
	ring->tail += wire_record_bytes(record.nb_bytes);
	*fn = record.fn;
	*port = record.port;
	return n;
}

void
wire_send(uint32_t fn, uint32_t port_idx, const uint8_t *frame, uint32_t nb_bytes)
{
	const struct device *card = segment_device();
	const struct card_port *port = &card->functions[fn].ports[port_idx];

	ledger_trace("wire fn %u port %u bytes %u", fn, port_idx, nb_bytes);
	if (port->to_tap)
		wire_tap_put(fn, port_idx, frame, nb_bytes);
	else
		nic_rx(port->peer_fn, port->peer_port, frame, nb_bytes);
}
