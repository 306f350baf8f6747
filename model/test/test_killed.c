/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A program is killed at any instruction while it delivers a packet to another
 * program, writes held completions of it, or while other programs have pending
 * work: their queues must stay correct.
 */

#include <sys/mman.h>

#include "clock.h"
#include "inject_card.h"
#include "kill_run.h"
#include "nic.h"
#include "fixture.h"

#define FRAME_BYTES 60u
#define NB_KILLS    30

static struct fixture fixture;

/* Shared with the program that is killed. */
static struct {
	uint32_t nb_events;
} *shared;

static struct kill_run *victim;

static void
deliver(uint32_t nth)
{
	uint8_t frame[FRAME_BYTES];

	memset(frame, (int)nth, sizeof(frame));
	nic_rx(0, 1, frame, sizeof(frame));
}

static void
deliver_locked(uint32_t nth)
{
	segment_lock();
	deliver(nth);
	segment_unlock();
}

static void
prepare(void *arg)
{
	(void)arg;
	segment_lock();
}

static void
deliver_nth(void *arg)
{
	deliver(*(uint32_t *)arg);
}

static void
release_held(void *arg)
{
	(void)arg;
	inject_release(CLOCK_NEVER, UINT32_MAX, UINT32_MAX);
}

static struct {
	bool coalesce;
	uint32_t nb_before; /* packets, in the open CQE if there is one */
	bool is_held; /* all completions, also later ones */
	void (*work)(void *arg); /* of the killed process */
	uint32_t nb_new; /* packets that it delivers */
} trial;

/* Run the work in a program that is killed, unless it is done before. */
static void
run_until_killed(uint64_t nb_steps)
{
	uint32_t nth = trial.nb_before + 1;

	victim->prepare = prepare;
	victim->work = trial.work;
	victim->arg = &nth;
	kill_run_try(victim, nb_steps);
}

static void
hold_all(void)
{
	const struct inject_rule rule = { .kind = INJECT_DELAY,
					  .port = 1,
					  .queue = INJECT_ANY_QUEUE,
					  .for_ns = 1000000000,
					  .first = 1,
					  .every = 1,
					  .chance = 100 };

	segment_lock();
	assert_int_equal(inject_add(&rule), 0);
	segment_unlock();
}

/* Write all held completions. */
static void
release_all_held(void)
{
	const struct inject *inject = &segment_card()->inject;
	uint32_t link, nb_free = 0;

	segment_lock();
	card_clear_faults();
	assert_int_equal(inject->nb_queues, 0);
	for (link = inject->free; link != 0 && nb_free <= inject->nb_fresh;
	     link = inject->held[link - 1].next)
		nb_free++;
	assert_int_equal(nb_free, inject->nb_fresh);
	segment_unlock();
}

/* One packet per consumed WQE, each in its own buffer. */
static void
check_queue(struct wq *rq, uint64_t nb_steps)
{
	const struct cq *cq = &card_function(0)->cqs[rq->cq];
	const uint8_t *cqe;
	uint32_t n = 0, i;

	segment_lock(); /* its holder has died */
	segment_unlock();
	if (cq->pi != cq->nb_cqes && shared->nb_events == 0)
		fail_msg("no event, killed after %llu",
			 (unsigned long long)nb_steps);
	release_all_held();
	segment_lock();
	nic_coalesce_flush_queue(card_function(0), rq);
	segment_unlock();
	while ((cqe = fx_cqe(&b->rcq)) != NULL)
		for (i = 0; i < HW_RX_CQE_NB_PPI; i++)
			n += hw_le32(cqe + 8 + 12 * i) != 0;
	if (n != rq->ci / HW_BU_BYTES || n < trial.nb_before ||
	    n > trial.nb_before + trial.nb_new)
		fail_msg("%u packets for %u WQEs, killed after %llu", n,
			 rq->ci / HW_BU_BYTES, (unsigned long long)nb_steps);
	for (i = 0; i < n; i++)
		assert_int_equal(*fx_rx_buf(b, i), i + 1);
	assert_no_violation();
}

static void
start(enum model_mode mode)
{
	fx_defaults(&fixture);
	fixture.config.mode = mode;
	fixture.config.coalesce = trial.coalesce;
	fixture.config.coalesce_ns = trial.coalesce ? 1000000 : 0;
	fixture.is_shared = true;
	fx_start(&fixture);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	victim = kill_run_new();
	fx_shared_events = &shared->nb_events;
}

static void
finish(void)
{
	fx_shared_events = NULL;
	kill_run_free(victim);
	munmap(shared, sizeof(*shared));
	fx_stop(&fixture);
}

/* Prepare the machine and run the work, killed or not. */
static void
run_trial(uint64_t nb_steps)
{
	struct wq *rq;
	uint32_t i;

	fx_renew();
	b->rx_slot = 0;
	fx_fill_rq(b, 8);
	if (trial.is_held)
		hold_all();
	for (i = 1; i <= trial.nb_before; i++)
		deliver_locked(i);
	shared->nb_events = 0;
	rq = card_rq(card_function(0), b->rq.id);
	if (!trial.coalesce)
		fx_ring_cq(b, &b->rcq, true);
	run_until_killed(nb_steps);
	check_queue(rq, nb_steps);
}

static void
kill_everywhere(enum model_mode mode, void (*run)(uint64_t nb_steps))
{
	uint64_t n, nb_all;

	start(mode);
	run(KILL_RUN_NEVER);
	nb_all = victim->nb_steps;
	print_message("%llu instructions\n", (unsigned long long)nb_all);
	for (n = 0; n < nb_all; n += kill_run_stride(nb_all, NB_KILLS))
		run(n);
	finish();
}

/* A single CQE; a coalesced one that is opened, added to, filled; a held one. */
static const struct delivery {
	bool coalesce, is_held;
	uint32_t nb_before;
} deliveries[] = {
	{ false, false, 0 }, { true, false, 0 }, { true, false, 1 },
	{ true, false, 3 },  { false, true, 0 }, { false, true, 2 },
};

TEST(test_killed_delivering)
{
	for (size_t i = 0; i < sizeof(deliveries) / sizeof(deliveries[0]); i++) {
		memset(&trial, 0, sizeof(trial));
		trial.coalesce = deliveries[i].coalesce;
		trial.is_held = deliveries[i].is_held;
		trial.nb_before = deliveries[i].nb_before;
		trial.work = deliver_nth;
		trial.nb_new = 1;
		kill_everywhere(MODEL_MODE_SYNC, run_trial);
	}
}

TEST(test_killed_releasing_held_cqes)
{
	memset(&trial, 0, sizeof(trial));
	trial.is_held = true;
	trial.nb_before = 3;
	trial.work = release_held;
	kill_everywhere(MODEL_MODE_SYNC, run_trial);
}

/* ---- work of the device thread ---- */

static void
ring_second(void *arg)
{
	const struct fx_port *p = b;

	(void)arg;
	card_doorbell(0, p->page, 0, (uint64_t)p->sq.pos << 32 | p->sq.id, 8);
}

static void
post_one(struct fx_port *p)
{
	const struct fx_wqe wqe = fx_tx_wqe(p, 0, FRAME_BYTES);

	fx_post(&p->sq, &wqe);
}

/* All SQs with a doorbell are processed, the first one in any case. */
static void
check_rung(uint64_t nb_steps)
{
	struct card_function *f = card_function(0);
	const struct wq *first = card_sq(f, a->sq.id);
	const struct wq *second = card_sq(f, b->sq.id);

	segment_lock(); /* its holder has died */
	card_run(model_self);
	segment_unlock();
	if (first->pi == 0 || first->ci != first->pi ||
	    second->ci != second->pi)
		fail_msg("%u and %u bytes are done, killed after %llu",
			 first->ci, second->ci, (unsigned long long)nb_steps);
	assert_false(first->is_pending || second->is_pending);
	assert_no_violation();
}

static void
ring_second_until_killed(uint64_t nb_steps)
{
	fx_renew();
	post_one(a);
	post_one(b);
	fx_ring_sq(a);
	run_until_killed(nb_steps);
	check_rung(nb_steps);
}

TEST(test_killed_ringing_doorbell)
{
	memset(&trial, 0, sizeof(trial));
	trial.work = ring_second;
	kill_everywhere(MODEL_MODE_THREAD, ring_second_until_killed);
}

/* The arguments are those of kill_run.h. */
int
main(int argc, char **argv)
{
	kill_run_arguments(argc, argv);
	return test_run("killed", NULL, NULL);
}
