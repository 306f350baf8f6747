/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cost of a forwarded 64-byte packet in the card, without the trap: two ports
 * on a wire, bursts of 32. Prints numbers; no assertions.
 */

#include <stdio.h>
#include <time.h>

#include "nic.h"
#include "fixture.h"

#define BURST  32
#define ROUNDS 40000

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static double
run(uint32_t nb_bytes)
{
	struct fx_wqe tx = fx_tx_wqe(a, 0, nb_bytes);
	double spent = 0, before;
	uint32_t i, round;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < BURST; i++)
			fx_post(&a->sq, &tx);
		before = now();
		fx_ring_sq(a);
		spent += now() - before;
		for (i = 0; i < BURST; i++) {
			fx_cqe(&a->scq);
			fx_cqe(&b->rcq);
		}
		fx_ring_cq(a, &a->scq, false);
		fx_ring_cq(b, &b->rcq, false);
		fx_fill_rq(b, BURST);
	}
	return spent * 1e9 / ROUNDS / BURST;
}

int
main(void)
{
	static const uint32_t sizes[] = { 64, 1514, 9000 };
	static struct fixture fx;
	uint32_t i, rss;

	for (rss = 0; rss < 2; rss++) {
		fx_defaults(&fx);
		fx_start(&fx);
		fx_frame(a->buf, NIC_PROTO_UDP, 22);
		fx_steer(1, rss != 0, &b->rq.id, 1);
		fx_fill_rq(b, 64);
		for (i = 0; i < 3; i++)
			printf("%s %5u bytes: %6.0f ns a packet\n",
			       rss ? "RSS   " : "no RSS", sizes[i],
			       run(sizes[i]));
		fx_stop(&fx);
	}
	return 0;
}
