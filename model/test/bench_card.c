/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a forwarded 64-byte packet costs the card, without the trap: two ports
 * on a wire in bursts of 32. For reading, not for asserting.
 */

#include <stdio.h>
#include <time.h>

#include "nic.h"
#include "rig.h"

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
run(struct rig *rig, uint32_t nb_bytes)
{
	struct rig_port *a = &rig->port[0], *b = &rig->port[1];
	struct rig_wqe tx = rig_tx_wqe(a, 0, nb_bytes);
	double spent = 0, before;
	uint32_t i, round;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < BURST; i++)
			rig_post(&a->sq, &tx);
		before = now();
		rig_ring_sq(rig, a);
		spent += now() - before;
		for (i = 0; i < BURST; i++) {
			rig_cqe(&a->scq);
			rig_cqe(&b->rcq);
		}
		rig_ring_cq(rig, a, &a->scq, false);
		rig_ring_cq(rig, b, &b->rcq, false);
		rig_fill_rq(rig, b, BURST);
	}
	return spent * 1e9 / ROUNDS / BURST;
}

int
main(void)
{
	static const uint32_t sizes[] = { 64, 1514, 9000 };
	static struct rig rig;
	uint32_t i, rss;

	for (rss = 0; rss < 2; rss++) {
		rig_defaults(&rig);
		rig_start(&rig);
		rig_frame(rig.port[0].buf, NIC_PROTO_UDP, 22);
		rig_steer(&rig, 1, rss != 0, &rig.port[1].rq.id, 1);
		rig_fill_rq(&rig, &rig.port[1], 64);
		for (i = 0; i < 3; i++)
			printf("%s %5u bytes: %6.0f ns a packet\n",
			       rss ? "RSS   " : "no RSS", sizes[i],
			       run(&rig, sizes[i]));
		rig_stop(&rig);
	}
	return 0;
}
