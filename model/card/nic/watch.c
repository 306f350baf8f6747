/* SPDX-License-Identifier: BSD-3-Clause */

#include "card_state.h"
#include "clock.h"
#include "watch.h"

static struct watch *
state(void)
{
	return &segment_card()->watch;
}

uint64_t
watch_count_all(void)
{
	return state()->nb;
}

uint64_t
watch_count(uint32_t fn, uint32_t port)
{
	return state()->port[fn][port].nb;
}

static void
set_next(uint64_t *next, uint64_t nth)
{
	if (*next == 0 || nth < *next)
		*next = nth;
	segment_card()->is_watched = true;
}

void
watch_all(uint64_t nth)
{
	set_next(&state()->next, nth);
}

void
watch_port(uint32_t fn, uint32_t port, uint64_t nth)
{
	set_next(&state()->port[fn][port].next, nth);
}

void
watch_nothing(void)
{
	struct card *card = segment_card();
	uint32_t fn, port;

	if (!card->is_watched)
		return;
	card->watch.next = 0;
	for (fn = 0; fn < card->nb_functions; fn++)
		for (port = 0; port < card->functions[fn].nb_ports; port++)
			card->watch.port[fn][port].next = 0;
	/* Keep a stop that the waiting command has not seen yet. */
	card->is_watched = card->watch.is_paused;
}

bool
watch_packet(const struct wq *sq)
{
	struct watch *watch = state();
	const uint64_t nb = ++watch->nb;
	const uint64_t nb_port = ++watch->port[sq->fn][sq->port].nb;

	if (nb != watch->next && nb_port != watch->port[sq->fn][sq->port].next)
		return false;
	watch->is_paused = true;
	clock_due(clock_now()); /* for threads that only watch the clock */
	return true;
}
