/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Threads with several Tx queues each, over the real libibverbs and libmana;
 * each doorbell is for one WQE. Prints its own counts, to compare them with the
 * machine's.
 *
 * usage: many_doorbells PER_QUEUE [THREADS [QUEUES_PER_THREAD]]
 */

#include <infiniband/manadv.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hw.h"

#define NB_CQES 256u
#define NB_WQES 256u
#define MAX_QUEUES 64u
#define FRAME_BYTES 60u
#define CQ_BATCH 128u

struct queue {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct manadv_cq dv_cq;
	struct manadv_qp dv_qp;
	uint32_t pi, ci; /* WQEs and CQEs, free-running */
	uint32_t rung_cq; /* ci at the last CQ doorbell */
	uint64_t nb_sq, nb_cq; /* doorbells */
};

struct worker {
	pthread_t thread;
	uint32_t first, nb;
};

static struct queue queues[MAX_QUEUES];
static uint64_t per_queue;
static uint8_t *frame;
static struct ibv_mr *mr;

static void __attribute__((noreturn))
die(const char *what)
{
	perror(what);
	exit(1);
}

static void *
ring_alloc(size_t size, void *data)
{
	void *ring = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);

	(void)data;
	if (ring != NULL)
		memset(ring, 0, size);
	return ring;
}

static void
ring_free(void *ptr, void *data)
{
	(void)data;
	free(ptr);
}

static struct ibv_context *
open_device(void)
{
	struct manadv_ctx_allocators allocators = {
		.alloc = ring_alloc, .free = ring_free};
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	if (list == NULL || list[0] == NULL)
		die("no device");
	ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (ctx == NULL || manadv_set_context_attr(
		    ctx, MANADV_CTX_ATTR_BUF_ALLOCATORS, &allocators) != 0)
		die("open");
	return ctx;
}

static void
open_queue(struct queue *q, struct ibv_context *ctx, struct ibv_pd *pd)
{
	struct manadv_obj obj = {
		.qp = {.out = &q->dv_qp}, .cq = {.out = &q->dv_cq}};
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = NB_WQES, .max_send_sge = 1},
		.qp_type = IBV_QPT_RAW_PACKET,
	};

	q->cq = ibv_create_cq(ctx, NB_CQES, NULL, NULL, 0);
	if (q->cq == NULL)
		die("create_cq");
	attr.send_cq = attr.recv_cq = q->cq;
	q->qp = ibv_create_qp(pd, &attr);
	if (q->qp == NULL)
		die("create_qp");
	obj.qp.in = q->qp;
	obj.cq.in = q->cq;
	if (manadv_init_obj(&obj, MANADV_OBJ_QP | MANADV_OBJ_CQ) != 0)
		die("init_obj");
	q->ci = q->rung_cq = NB_CQES; /* as Linux INITIALIZED_OWNER_BIT */
}

static void
ring(const void *page, uint32_t offset, uint64_t value)
{
	uintptr_t place = (uintptr_t)page + offset;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile uint64_t *)place = value;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* One BU: header, short OOB, one SGE. */
static void
post(struct queue *q)
{
	uint32_t mask = q->dv_qp.sq_size / HW_BU_BYTES - 1;
	uint32_t *wqe = (uint32_t *)q->dv_qp.sq_buf + (q->pi & mask) * 8;
	uint64_t addr = (uintptr_t)frame;

	wqe[0] = 0;
	wqe[1] = 1u << HW_WQE_NUM_SGE_S | HW_OOB_DIV4_SHORT << HW_WQE_OOB_DIV4_S;
	wqe[2] = q->dv_cq.cq_id << HW_OOB_VCQ_NUM_S;
	wqe[3] = q->dv_qp.sq_id >> HW_VSQ_FRAME_SHIFT << HW_OOB_VSQ_FRAME_S |
		 q->dv_qp.tx_vp_offset << HW_OOB_SHORT_VP_S;
	memcpy(&wqe[4], &addr, sizeof(addr));
	wqe[6] = mr->lkey;
	wqe[7] = FRAME_BYTES;
	q->pi++;
	ring(q->dv_qp.db_page, HW_DB_SQ,
	     (uint64_t)(q->pi * HW_BU_BYTES) << 32 | q->dv_qp.sq_id);
	q->nb_sq++;
}

/* Poll the completions, all of which must be of good packets. */
static void
reap(struct queue *q)
{
	for (;;) {
		const uint32_t *cqe = (const uint32_t *)q->dv_cq.buf +
				      (q->ci % NB_CQES) * 16;
		uint32_t last = __atomic_load_n(&cqe[15], __ATOMIC_ACQUIRE);
		uint32_t lap = q->ci / NB_CQES & HW_CQE_OWNER_M;

		if ((last >> HW_CQE_OWNER_S & HW_CQE_OWNER_M) != lap)
			break;
		if ((cqe[0] & HW_CQE_TYPE_M) != HW_CQE_TX_OKAY) {
			fprintf(stderr, "completion of type %u\n",
				cqe[0] & HW_CQE_TYPE_M);
			exit(1);
		}
		q->ci++;
	}
	if (q->ci - q->rung_cq < CQ_BATCH)
		return;
	q->rung_cq = q->ci;
	ring(q->dv_qp.db_page, HW_DB_CQ,
	     (uint64_t)(q->ci % (HW_OWNER_LAPS * NB_CQES)) << 32 |
		     q->dv_cq.cq_id);
	q->nb_cq++;
}

static uint32_t
outstanding(const struct queue *q)
{
	return q->pi + NB_CQES - q->ci;
}

static void *
work(void *arg)
{
	const struct worker *w = arg;

	for (uint64_t n = 0; n < per_queue; n++) {
		for (uint32_t i = 0; i < w->nb; i++) {
			struct queue *q = &queues[w->first + i];

			post(q);
			reap(q);
			while (outstanding(q) > NB_CQES - CQ_BATCH) {
				sched_yield();
				reap(q);
			}
		}
	}
	for (uint32_t i = 0; i < w->nb; i++) {
		struct queue *q = &queues[w->first + i];

		while (outstanding(q) != 0) {
			sched_yield();
			reap(q);
		}
	}
	return NULL;
}

static void
run_threads(uint32_t nb_threads, uint32_t nb_each)
{
	struct worker workers[MAX_QUEUES];

	for (uint32_t i = 0; i < nb_threads; i++) {
		workers[i].first = i * nb_each;
		workers[i].nb = nb_each;
		if (pthread_create(&workers[i].thread, NULL, work,
				   &workers[i]) != 0)
			die("pthread_create");
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

static void
close_all(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_pd *parent,
	  uint32_t nb_queues)
{
	for (uint32_t i = 0; i < nb_queues; i++)
		if (ibv_destroy_qp(queues[i].qp) != 0 ||
		    ibv_destroy_cq(queues[i].cq) != 0)
			die("destroy");
	if (ibv_dereg_mr(mr) != 0 || ibv_dealloc_pd(parent) != 0 ||
	    ibv_dealloc_pd(pd) != 0 || ibv_close_device(ctx) != 0)
		die("close");
}

int
main(int argc, char **argv)
{
	uint32_t nb_threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 8;
	uint32_t nb_each = argc > 3 ? (uint32_t)atoi(argv[3]) : 8;
	struct ibv_parent_domain_init_attr attr = {
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.pd_context = (void *)(uintptr_t)1,
	};
	struct timespec before, after;
	struct ibv_context *ctx;
	struct ibv_pd *pd, *parent;

	per_queue = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
	if (nb_threads == 0 || nb_each == 0 ||
	    nb_threads * nb_each > MAX_QUEUES)
		return 2;
	ctx = open_device();
	pd = ibv_alloc_pd(ctx);
	attr.pd = pd;
	parent = pd == NULL ? NULL : ibv_alloc_parent_domain(ctx, &attr);
	frame = ring_alloc(4096, NULL);
	if (parent == NULL || frame == NULL)
		die("alloc_pd");
	frame[0] = 2; /* a unicast address; an unknown Ethertype */
	mr = ibv_reg_mr(pd, frame, 4096, IBV_ACCESS_LOCAL_WRITE);
	if (mr == NULL)
		die("reg_mr");
	for (uint32_t i = 0; i < nb_threads * nb_each; i++)
		open_queue(&queues[i], ctx, parent);

	clock_gettime(CLOCK_MONOTONIC, &before);
	run_threads(nb_threads, nb_each);
	clock_gettime(CLOCK_MONOTONIC, &after);
	report(nb_threads * nb_each,
	       (double)(after.tv_sec - before.tv_sec) +
		       (double)(after.tv_nsec - before.tv_nsec) / 1e9);
	close_all(ctx, pd, parent, nb_threads * nb_each);
	free(frame);
	return 0;
}
