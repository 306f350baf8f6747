/* SPDX-License-Identifier: BSD-3-Clause */

/* The measured code. callgrind separates its own instructions by function. */

#include "perf.h"

static inline struct rte_mbuf **
pkts_of(const struct perf_call *call, uint16_t burst)
{
	return call->queue->pkts + call->nth * burst;
}

/* Reads the registers before another queue's call. */
static inline void
watch(const struct perf_sut *sut, struct perf_call *call)
{
	if (sut->is_watched)
		call->after = hand_registers(&call->queue->rx);
}

__rte_noinline uint32_t
perf_timed_rx(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst)
{
	struct perf_call *call = sut->calls;
	uint32_t nb = 0;

	for (; nb_calls-- > 0; call++) {
		nb += sut->rx_burst(call->queue->rxq, pkts_of(call, burst), burst);
		watch(sut, call);
	}
	return nb;
}

__rte_noinline uint32_t
perf_timed_poll(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst)
{
	struct perf_call *call = sut->calls;
	uint32_t nb = 0;

	for (; nb_calls-- > 0; call++) {
		nb += sut->rx_burst(call->queue->rxq, call->queue->pkts, burst);
		watch(sut, call);
	}
	return nb;
}

/* The device completes packets up to the previous call. */
static inline void
flip(const struct perf_call *call)
{
	const struct perf_flips *flips = &call->queue->flips;
	uint32_t at = call->nth == 0 ? 0 : flips->end[call->nth - 1];

	for (; at < flips->end[call->nth]; at++)
		*(volatile uint32_t *)flips->word[at] = flips->value[at];
}

__rte_noinline uint32_t
perf_timed_tx(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst)
{
	struct perf_call *call = sut->calls;
	uint32_t nb = 0;

	for (; nb_calls-- > 0; call++) {
		flip(call);
		nb += sut->tx_burst(call->queue->txq, pkts_of(call, burst), burst);
		watch(sut, call);
	}
	return nb;
}

__rte_noinline uint32_t
perf_timed_fwd(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst)
{
	struct perf_call *call = sut->calls;
	uint32_t nb = 0;

	for (; nb_calls-- > 0; call++) {
		struct rte_mbuf **pkts = pkts_of(call, burst);
		const uint16_t nb_rx = sut->rx_burst(call->queue->rxq, pkts, burst);

		flip(call);
		nb += sut->tx_burst(call->queue->txq, pkts, nb_rx);
		watch(sut, call);
	}
	return nb;
}
