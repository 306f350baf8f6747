/* SPDX-License-Identifier: BSD-3-Clause */

/* Matches the Rx queues of port and device. */

#include "perf.h"

#define NB_PROBES 32 /* per burst: keeps ring positions aligned */

/* Whether this Rx queue delivers the packets. */
static bool
comes_out(struct perf_sut *sut, struct perf_queue *at, void *rxq)
{
	const uint16_t nb = sut->rx_burst(rxq, at->pkts, NB_PROBES);
	struct hand_registers now;

	if (nb == 0)
		return false;
	if (nb != NB_PROBES || at->pkts[0] != perf_mbuf_at(sut, at->rx_expected[0].addr))
		hand_fail("%s: a queue brought %u packets of another", sut->name, nb);
	rte_pktmbuf_free_bulk(at->pkts, nb);
	now = hand_registers(&at->rx);
	perf_ring(sut, at, &now);
	return true;
}

void
perf_match_queues(struct perf_sut *sut)
{
	for (uint16_t q = 0; q < sut->nb_queues; q++) {
		struct perf_queue *at = &sut->queues[q];
		uint16_t other = q;
		void *rxq;

		hand_take_rx(&at->rx, 0);
		hand_receive(&at->rx, at->rx_expected, NB_PROBES, 64, false);
		while (!comes_out(sut, at, sut->queues[other].rxq))
			if (++other == sut->nb_queues)
				hand_fail("%s: no queue delivers the packets",
					  sut->name);
		rxq = sut->queues[other].rxq;
		sut->queues[other].rxq = at->rxq;
		at->rxq = rxq;
	}
}
