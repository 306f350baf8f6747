/* SPDX-License-Identifier: BSD-3-Clause */

/* What tests of a lost device need: events of the ports, and threads that forward. */

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "fixture.h"

/* ---- Events ---------------------------------------------------------------- */

struct fx_events fx_events[RTE_MAX_ETHPORTS];

static int
on_event(uint16_t port, enum rte_eth_event_type type, void *arg __rte_unused,
	 void *ret_param __rte_unused)
{
	struct fx_events *events = &fx_events[port];

	if (type == events->close_in) {
		(void)rte_eth_dev_stop(port);
		events->close_error = rte_eth_dev_close(port);
	}
	if (events->nb < FX_NB_EVENTS)
		events->types[events->nb] = type;
	__atomic_add_fetch(&events->nb, 1, __ATOMIC_RELEASE);
	return 0;
}

void
fx_listen(const struct fixture *fx, const enum rte_eth_event_type *types, unsigned int nb)
{
	memset(fx_events, 0, sizeof(fx_events));
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		for (unsigned int t = 0; t < nb; t++)
			assert_int_equal(rte_eth_dev_callback_register(fx->port[i], types[t],
								       on_event, NULL), 0);
}

void
fx_unlisten(const struct fixture *fx, const enum rte_eth_event_type *types, unsigned int nb)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		for (unsigned int t = 0; t < nb; t++)
			while (rte_eth_dev_callback_unregister(fx->port[i], types[t], on_event,
							       NULL) == -EAGAIN)
				rte_delay_us_sleep(1000);
}

unsigned int
fx_nb_events(uint16_t port)
{
	return __atomic_load_n(&fx_events[port].nb, __ATOMIC_ACQUIRE);
}

static unsigned int
nb_events_of(uint16_t port, enum rte_eth_event_type type)
{
	const unsigned int nb = RTE_MIN(fx_nb_events(port), (unsigned int)FX_NB_EVENTS);
	unsigned int found = 0;

	for (unsigned int i = 0; i < nb; i++)
		found += fx_events[port].types[i] == type;
	return found;
}

void
fx_wait_event(const struct fixture *fx, enum rte_eth_event_type type, unsigned int nth)
{
	const uint64_t end = fx_deadline();

	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		while (nb_events_of(fx->port[i], type) < nth) {
			if (rte_get_timer_cycles() > end)
				fail_msg("port %u: no event %d", fx->port[i], type);
			rte_delay_us_sleep(100);
		}
}

void
fx_close_in(const struct fixture *fx, enum rte_eth_event_type type)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		fx_events[fx->port[i]].close_in = type;
		fx_events[fx->port[i]].close_error = 1;
	}
}

void
fx_check_closed(struct fixture *fx)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		assert_int_equal(fx_events[fx->port[i]].close_error, 0);
		assert_false(rte_eth_dev_is_valid_port(fx->port[i]));
		fx->is_started[i] = false;
	}
}

/* ---- Threads that forward -------------------------------------------------- */

static void *
forward(void *arg)
{
	struct fx_forwarder *fwd = arg;
	const uint16_t from = fwd->fx->port[fwd->from], to = fwd->fx->port[fwd->from ^ 1];
	struct rte_mbuf *pkts[FX_BURST];
	uint16_t nb, nb_sent;

	while (!__atomic_load_n(&fwd->is_over, __ATOMIC_ACQUIRE)) {
		for (uint16_t queue = 0; queue < fwd->nb_queues; queue++) {
			nb = rte_eth_rx_burst(from, queue, pkts, RTE_DIM(pkts));
			nb_sent = rte_eth_tx_burst(to, queue, pkts, nb);
			if (nb_sent < nb)
				rte_pktmbuf_free_bulk(pkts + nb_sent, nb - nb_sent);
			__atomic_add_fetch(&fwd->nb_forwarded, nb_sent, __ATOMIC_RELEASE);
			(void)rte_eth_tx_descriptor_status(to, queue, 7);
			(void)rte_eth_rx_queue_count(from, queue);
		}
	}
	return NULL;
}

void
fx_forward_begin(const struct fixture *fx, struct fx_forwarder *fwd, uint16_t nb_queues)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		fwd[i] = (struct fx_forwarder){ .fx = fx, .from = i, .nb_queues = nb_queues };
		assert_int_equal(pthread_create(&fwd[i].thread, NULL, forward, &fwd[i]), 0);
	}
}

uint64_t
fx_nb_forwarded(const struct fx_forwarder *fwd)
{
	return __atomic_load_n(&fwd->nb_forwarded, __ATOMIC_ACQUIRE);
}

void
fx_forward_end(struct fx_forwarder *fwd)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		__atomic_store_n(&fwd[i].is_over, true, __ATOMIC_RELEASE);
		assert_int_equal(pthread_join(fwd[i].thread, NULL), 0);
	}
}
