/* SPDX-License-Identifier: BSD-3-Clause */

/* Whether a frame would find a receive WQE, for who need not send it yet. */

#include "nic.h"

bool
nic_rx_has_room(uint32_t fn, uint32_t port_idx, const uint8_t *frame,
		uint32_t nb_bytes, uint32_t nb_waiting)
{
	struct card_function *f = card_function(fn);
	const struct card_port *port = card_port(fn, port_idx);
	struct nic_rx_frame rx;
	const struct wq *rq;

	if (port == NULL || !port->rx_enabled || port->is_link_down ||
	    f->is_disabled || nb_bytes < NIC_ETH_BYTES)
		return false;
	rq = card_rq(f, nic_classify(port, frame, nb_bytes, &rx));
	/* Each of those on their way may be for this queue, and be large. */
	return rq != NULL && !rq->is_disabled && !f->cqs[rq->cq].is_stopped &&
	       wq_posted_bytes(rq) > nb_waiting * HW_RQ_WQE_MAX_BYTES;
}
