/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Threads with several Tx queues each, over the real libibverbs and libmana;
 * each doorbell is for one WQE. Prints its own counts, to compare them with the
 * machine's.
 *
 * usage: many_doorbells PER_QUEUE [THREADS [QUEUES_PER_THREAD]]
 */

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "hw.h"
#include "verbs_fixture.h"

#define NB_ENTRIES  256u /* of each ring */
#define FRAME_BYTES 60u
#define CQ_BATCH 128u

static struct fixture fx;
static uint64_t per_queue;

static struct queue {
	uint32_t rung_cq; /* head at the last CQ doorbell */
	uint64_t nb_sq, nb_cq; /* doorbells */
} queues[FX_MAX_QUEUES];

struct worker {
	pthread_t thread;
	uint32_t first, nb;
};

/* Poll the completions, all of which must be of good packets. */
static void
reap(uint32_t n)
{
	struct fx_queue *q = &fx.tx[n];

	while (fx_has_cqe(q)) {
		const uint8_t type = fx_cqe(q)[0] & HW_CQE_TYPE_M;

		if (type != HW_CQE_TX_OKAY) {
			fprintf(stderr, "completion of type %u\n", type);
			exit(1);
		}
	}
	if (q->cq_head - queues[n].rung_cq < CQ_BATCH)
		return;
	queues[n].rung_cq = q->cq_head;
	fx_ring_cq(&fx, q, false);
	queues[n].nb_cq++;
}

/* Wait until at most so many WQEs have no completion. */
static void
wait_for(uint32_t n, uint32_t nb_outstanding)
{
	while (fx.tx[n].pi_bu + NB_ENTRIES - fx.tx[n].cq_head > nb_outstanding) {
		sched_yield();
		reap(n);
	}
}

static void *
work(void *arg)
{
	const struct worker *w = arg;

	for (uint64_t done = 0; done < per_queue; done++) {
		for (uint32_t n = w->first; n < w->first + w->nb; n++) {
			fx_send(&fx, &fx.tx[n], 0, FRAME_BYTES);
			queues[n].nb_sq++;
			reap(n);
			wait_for(n, NB_ENTRIES - CQ_BATCH);
		}
	}
	for (uint32_t n = w->first; n < w->first + w->nb; n++)
		wait_for(n, 0);
	return NULL;
}

static void
run_threads(uint32_t nb_threads, uint32_t nb_each)
{
	struct worker workers[FX_MAX_QUEUES];

	for (uint32_t i = 0; i < nb_threads; i++) {
		workers[i].first = i * nb_each;
		workers[i].nb = nb_each;
		if (pthread_create(&workers[i].thread, NULL, work,
				   &workers[i]) != 0)
			exit(1);
	}
	for (uint32_t i = 0; i < nb_threads; i++)
		pthread_join(workers[i].thread, NULL);
}

static void
report(uint32_t nb_queues, double seconds)
{
	uint64_t nb_sq = 0, nb_cq = 0;

	for (uint32_t i = 0; i < nb_queues; i++) {
		nb_sq += queues[i].nb_sq;
		nb_cq += queues[i].nb_cq;
	}
	printf("{\"queues\": %u, \"sq\": %" PRIu64 ", \"cq\": %" PRIu64
	       ", \"seconds\": %.3f, \"ns_per_doorbell\": %.0f}\n",
	       nb_queues, nb_sq, nb_cq, seconds,
	       seconds * 1e9 / (double)(nb_sq + nb_cq));
}

int
main(int argc, char **argv)
{
	uint32_t nb_threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 8;
	uint32_t nb_each = argc > 3 ? (uint32_t)atoi(argv[3]) : 8;
	uint32_t nb_queues = nb_threads * nb_each;
	struct timespec before, after;
	int error;

	per_queue = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
	if (nb_threads == 0 || nb_each == 0 || nb_queues > FX_MAX_QUEUES)
		return 2;
	fx.nb_cqe = fx.nb_wr = NB_ENTRIES;
	error = fx_up(&fx, 0, 1, nb_queues, 0);
	if (error != 0) {
		fprintf(stderr, "no port: %s\n", strerror(error));
		return 1;
	}
	fx.buf[0] = 2; /* a unicast address; an unknown Ethertype */
	for (uint32_t n = 0; n < nb_queues; n++)
		queues[n].rung_cq = fx.tx[n].cq_head;

	clock_gettime(CLOCK_MONOTONIC, &before);
	run_threads(nb_threads, nb_each);
	clock_gettime(CLOCK_MONOTONIC, &after);
	report(nb_queues, (double)(after.tv_sec - before.tv_sec) +
				  (double)(after.tv_nsec - before.tv_nsec) / 1e9);
	return fx_close(&fx) == 0 ? 0 : 1;
}
