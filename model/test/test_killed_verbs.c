/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A program is killed at any instruction of a verb, or of the end of its
 * context. The remaining state must be consistent and counted, and another
 * program must be able to create the same objects. The first argument is that
 * of kill_run.h; the second limits the cases to those with at most so many
 * instructions.
 */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "kill_run.h"
#include "killed_state.h"
#include "test.h"
#include "trace.h"
#include "verbs.h"

#define NB_KILLS 8
#define NB_RXQS 2
#define RING_BYTES 4096
#define NB_CQE (RING_BYTES / KERNEL_CQE_BYTES)
#define NO_FD (-1)

static uint64_t nb_most = UINT64_MAX;
static char dir[64];

/* A program with one or two objects of each kind, and its state. */
struct program {
	uint32_t port; /* from 1 */
	int fd, channel_fd;
	uint32_t context;
	uint32_t pd, mr, scq, qp, rss, ind;
	uint32_t rcq[NB_RXQS], wq[NB_RXQS];
	struct {
		uint32_t sq, scq, rq[NB_RXQS], rcq[NB_RXQS], key;
	} id;
	/* Shared: other processes hold the context, too. */
	uint8_t (*ring)[RING_BYTES];
};
enum { RING_MR, RING_SCQ, RING_SQ, RING_RCQ, RING_RQ = RING_RCQ + NB_RXQS,
       NB_RINGS = RING_RQ + NB_RXQS };

static uint64_t
ring_at(const struct program *p, uint32_t ring)
{
	return (uintptr_t)p->ring[ring];
}

static int
open_context(struct program *p)
{
	struct kernel_function_status status;

	kernel_function_status(0, &status);
	p->fd = kernel_context_open(status.rdma_number, O_RDWR | O_CLOEXEC);
	if (p->fd >= 0) {
		struct stat st;

		fstat(p->fd, &st);
		p->context = (uint32_t)kernel_context_of(st.st_dev, st.st_ino);
	}
	return p->fd < 0 ? p->fd : 0;
}

/* The steps that are one call. */
#define CALL(name, call)                   \
	static int name(struct program *p) \
	{                                  \
		return call;               \
	}
CALL(get_context, verbs_get_context(p->context))
CALL(alloc_pd, verbs_alloc_pd(p->context, &p->pd))
CALL(create_ind, verbs_create_ind(p->context, p->wq, 1, &p->ind))
CALL(destroy_rss, verbs_destroy_qp(p->context, p->rss))
CALL(destroy_ind, verbs_destroy_ind(p->context, p->ind))
CALL(destroy_qp, verbs_destroy_qp(p->context, p->qp))
CALL(dereg_mr, verbs_dereg_mr(p->context, p->mr))
CALL(dealloc_pd, verbs_dealloc_pd(p->context, p->pd))

static int
reg_mr(struct program *p)
{
	const struct verbs_mr mr = { .start = ring_at(p, RING_MR),
				     .iova = ring_at(p, RING_MR),
				     .length = RING_BYTES,
				     .access = 1,
				     .pd = p->pd };

	return verbs_reg_mr(p->context, &mr, &p->mr, &p->id.key);
}

static int
create_channel(struct program *p)
{
	p->channel_fd = verbs_create_comp_channel(p->context);
	return p->channel_fd < 0 ? p->channel_fd : 0;
}

static int
create_cq(struct program *p, uint32_t ring, uint32_t *handle)
{
	const struct verbs_cq cq = { .buf_addr = ring_at(p, ring),
				     .nb_cqe = NB_CQE,
				     .channel_fd = p->channel_fd };

	return verbs_create_cq(p->context, &cq, handle);
}

static int
create_scq(struct program *p)
{
	return create_cq(p, RING_SCQ, &p->scq);
}

static int
create_rcqs(struct program *p)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < NB_RXQS && rc == 0; i++)
		rc = create_cq(p, RING_RCQ + i, &p->rcq[i]);
	return rc;
}

static int
create_qp(struct program *p)
{
	const struct verbs_qp qp = { .pd = p->pd,
				     .send_cq = p->scq,
				     .recv_cq = p->scq,
				     .max_send_wr = 16,
				     .max_send_sge = 1,
				     .buf_addr = ring_at(p, RING_SQ),
				     .buf_bytes = RING_BYTES,
				     .port = p->port };
	struct verbs_qp_result result;
	int rc = verbs_create_qp(p->context, &qp, &result);

	p->qp = result.handle;
	p->id.sq = result.sq_id;
	p->id.scq = result.cq_id;
	return rc;
}

static int
create_wqs(struct program *p)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < NB_RXQS && rc == 0; i++) {
		const struct verbs_wq wq = {
			.pd = p->pd,
			.cq = p->rcq[i],
			.buf_addr = ring_at(p, RING_RQ + i),
			.buf_bytes = RING_BYTES,
		};

		rc = verbs_create_wq(p->context, &wq, &p->wq[i]);
	}
	return rc;
}

static int
create_rss(struct program *p)
{
	const struct verbs_rss rss = { .pd = p->pd,
				       .ind = p->ind,
				       .hash_function = 1,
				       .key_bytes = CARD_RSS_KEY_BYTES,
				       .key = { 0x6d, 0x5a },
				       .port = p->port };
	struct verbs_rss_result result;
	int rc = verbs_create_rss(p->context, &rss, &result);
	uint32_t i;

	p->rss = result.handle;
	for (i = 0; i < NB_RXQS; i++) {
		p->id.rq[i] = result.entry[i].wq_id;
		p->id.rcq[i] = result.entry[i].cq_id;
	}
	return rc;
}

/* The first error, ignoring ENOENT, which repeated attempts get. */
static int
first_error(int rc, int next)
{
	return rc != 0 && rc != -ENOENT ? rc : next != 0 ? next : rc;
}

static int
destroy_wqs(struct program *p)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < NB_RXQS; i++)
		rc = first_error(rc, verbs_destroy_wq(p->context, p->wq[i]));
	return rc;
}

static int
destroy_rcqs(struct program *p)
{
	uint32_t i, nb_events;
	int rc = 0;

	for (i = 0; i < NB_RXQS; i++)
		rc = first_error(rc, verbs_destroy_cq(p->context, p->rcq[i],
						      &nb_events));
	return rc;
}

static int
destroy_scq(struct program *p)
{
	uint32_t nb_events;

	return verbs_destroy_cq(p->context, p->scq, &nb_events);
}

static int
close_channel(struct program *p)
{
	struct stat st;

	fstat(p->channel_fd, &st);
	close(p->channel_fd);
	kernel_event_file_closed(st.st_dev, st.st_ino);
	return 0;
}

static int
close_context(struct program *p)
{
	close(p->fd);
	kernel_context_released(p->context, true);
	return 0;
}

static const struct step {
	const char *name;
	int (*run)(struct program *p);
} steps[] = {
	{ "open", open_context },
	{ "get_context", get_context },
	{ "alloc_pd", alloc_pd },
	{ "reg_mr", reg_mr },
	{ "create_comp_channel", create_channel },
	{ "create_cq", create_scq },
	{ "create_qp", create_qp },
	{ "create_cq of wq", create_rcqs },
	{ "create_wq", create_wqs },
	{ "create_ind", create_ind },
	{ "create_rss", create_rss },
#define NB_CREATING 11
	{ "destroy_rss", destroy_rss },
	{ "destroy_ind", destroy_ind },
	{ "destroy_wq", destroy_wqs },
	{ "destroy_cq of wq", destroy_rcqs },
	{ "destroy_qp", destroy_qp },
	{ "destroy_cq", destroy_scq },
	{ "close channel", close_channel },
	{ "dereg_mr", dereg_mr },
	{ "dealloc_pd", dealloc_pd },
	{ "close", close_context },
};
#define NB_STEPS (sizeof(steps) / sizeof(steps[0]))

static void
program_init(struct program *p, uint32_t port)
{
	memset(p, 0, sizeof(*p));
	p->port = port;
	p->fd = p->channel_fd = NO_FD;
	p->ring = mmap(NULL, NB_RINGS * RING_BYTES, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(p->ring, MAP_FAILED);
}

static void
program_run(struct program *p, uint32_t first, uint32_t end)
{
	uint32_t i;

	for (i = first; i < end; i++) {
		const int rc = steps[i].run(p);

		if (rc != 0)
			fail_msg("%s: %d", steps[i].name, rc);
	}
}

/* ---- the machine, with one program that stays ---- */

static struct program survivor;
static struct kernel_leaks own; /* the survivor's objects */
static struct program reference; /* ids that a new program gets */

static int
start(void **state)
{
	const struct model_config config = { .name = "killed",
					     .nb_functions = 1,
					     .nb_ports = { 2 },
					     .mac_base = { 0, 0xd, 0x3a, 0, 0, 1 },
					     .max_mtu = 1500,
					     .vp_offset_base = 5 };
	char path[128];

	strcpy(dir, "/tmp/mana-killed-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fd", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(segment_create(dir, &config), 0);
	assert_int_equal(trace_create(), 0);
	clock_init(true);
	assert_int_equal(card_init(), 0);
	assert_int_equal(kernel_init(), 0);
	program_init(&survivor, 1);
	program_run(&survivor, 0, NB_CREATING);
	kernel_objects(&own);
	program_init(&reference, 2);
	program_run(&reference, 0, NB_STEPS);
	return 0;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int
finish(void **state)
{
	program_run(&survivor, NB_CREATING, NB_STEPS);
	trace_close();
	segment_detach();
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}

/* ---- the killed program ---- */

#define NB_COUNTS (sizeof(struct kernel_leaks) / sizeof(uint64_t))

struct victim {
	struct program program;
	uint32_t step;
	bool is_forked; /* forked from a program that stays */
	/* Counts of objects before the work, and after it. */
	struct kernel_leaks before, after;
};

static void
count_all(struct kernel_leaks *all)
{
	struct kernel_leaks leaks;
	uint64_t *a = (uint64_t *)all, *b = (uint64_t *)&leaks;
	uint32_t i;

	kernel_objects(all);
	kernel_leaks(&leaks);
	for (i = 0; i < NB_COUNTS; i++)
		a[i] += b[i];
}

static void
victim_prepare(void *arg)
{
	struct victim *victim = arg;
	uint32_t i;

	if (segment_register_self() != 0)
		_exit(100);
	for (i = 0; i < victim->step && !victim->is_forked; i++)
		if (steps[i].run(&victim->program) != 0)
			_exit(101 + (int)i);
	count_all(&victim->before);
}

static void
victim_work(void *arg)
{
	struct victim *victim = arg;

	if (steps[victim->step].run(&victim->program) != 0)
		_exit(2);
}

/* The program closes its last descriptor, which destroys everything. */
static void
victim_close(void *arg)
{
	close_context(&((struct victim *)arg)->program);
}

static void
victim_reap(void *arg)
{
	(void)arg;
	kernel_reclaim_dead();
}

/* ---- checks ---- */

static void
check_leaks(const struct victim *victim, const char *name, uint64_t nb_steps)
{
	const uint64_t *before = (const uint64_t *)&victim->before;
	const uint64_t *after = (const uint64_t *)&victim->after;
	struct kernel_leaks all;
	const uint64_t *now = (const uint64_t *)&all;
	uint32_t i;

	count_all(&all);
	for (i = 0; i < NB_COUNTS; i++)
		if ((now[i] < before[i] && now[i] < after[i]) ||
		    (now[i] > before[i] && now[i] > after[i]))
			fail_msg("%s: %llu of kind %u are left, of %llu or "
				 "%llu, killed after %llu",
				 name, (unsigned long long)now[i], i,
				 (unsigned long long)before[i],
				 (unsigned long long)after[i],
				 (unsigned long long)nb_steps);
}

/* A new program can create everything, with the same ids as the first one. */
static void
check_new_program(struct program *p)
{
	struct kernel_leaks before, after, objects;

	kernel_leaks(&before);
	memset(p->ring, 0, NB_RINGS * RING_BYTES);
	p->channel_fd = NO_FD;
	program_run(p, 0, NB_CREATING);
	killed_state_check();
	/* Compare only the index of a key. */
	p->id.key = reference.id.key = 0;
	assert_memory_equal(&p->id, &reference.id, sizeof(p->id));
	program_run(p, NB_CREATING, NB_STEPS);
	kernel_leaks(&after);
	assert_memory_equal(&before, &after, sizeof(before));
	kernel_objects(&objects);
	assert_memory_equal(&objects, &own, sizeof(own));
	killed_state_check();
}

static void
check_repaired(void)
{
	segment_lock(); /* its holder has died */
	killed_state_check();
	segment_unlock();
}

static void
check_after(struct victim *victim, const char *name, uint64_t nb_steps)
{
	struct kernel_leaks objects;

	check_repaired();
	kernel_reclaim_dead();
	killed_state_check();
	kernel_objects(&objects);
	assert_memory_equal(&objects, &own, sizeof(own));
	check_leaks(victim, name, nb_steps);
	check_new_program(&victim->program);
}

/* Programs that are killed, after a complete run. */
struct victims {
	struct kill_run *fx;
	struct victim *victim; /* shared with it, and a second one */
	const char *name;
	/* Called in this process, if not NULL. */
	void (*before)(struct victim *victim);
	void (*after)(struct victim *victim);
};

static void
victims_begin(struct victims *victims, const char *name)
{
	victims->name = name;
	victims->before = victims->after = NULL;
	victims->fx = kill_run_new();
	victims->victim = mmap(NULL, 2 * sizeof(*victims->victim),
			       PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(victims->victim, MAP_FAILED);
	memset(victims->victim, 0, sizeof(*victims->victim));
	program_init(&victims->victim->program, 2);
	victims->fx->prepare = victim_prepare;
	victims->fx->work = victim_work;
	victims->fx->arg = victims->victim;
}

static bool
victims_run(struct victims *victims, uint64_t nb_steps)
{
	struct program *p = &victims->victim->program;
	bool was_killed;

	memset(p->ring, 0, NB_RINGS * RING_BYTES);
	p->channel_fd = NO_FD;
	if (victims->before != NULL)
		victims->before(victims->victim);
	was_killed = kill_run_try(victims->fx, nb_steps);
	killed_state_name(victims->name, nb_steps);
	if (victims->after != NULL)
		victims->after(victims->victim);
	return was_killed;
}

static void
victims_end(struct victims *victims)
{
	munmap(victims->victim->program.ring, NB_RINGS * RING_BYTES);
	munmap(victims->victim, 2 * sizeof(*victims->victim));
	kill_run_free(victims->fx);
}

/* In a complete run first, then at instructions of it; the victims end. */
static void
kill_everywhere(struct victims *victims)
{
	struct victim *victim = victims->victim;
	uint64_t n, nb_all;

	victims_run(victims, KILL_RUN_NEVER);
	nb_all = victims->fx->nb_steps;
	count_all(&victim->after);
	check_after(victim, victims->name, KILL_RUN_NEVER);
	print_message("%s: %llu instructions\n", victims->name,
		      (unsigned long long)nb_all);
	for (n = 0; n < nb_all && nb_all <= nb_most;
	     n += kill_run_stride(nb_all, NB_KILLS)) {
		/* The same differences as in the first run. */
		const struct kernel_leaks first = victim->before;
		const uint64_t *was = (const uint64_t *)&first;
		uint64_t *now = (uint64_t *)&victim->before;
		uint64_t *after = (uint64_t *)&victim->after;
		uint32_t i;

		victims_run(victims, n);
		for (i = 0; i < NB_COUNTS; i++)
			after[i] += now[i] - was[i];
		check_after(victim, victims->name, n);
	}
	victims_end(victims);
}

TEST_WITH(test_killed_in_each_verb, start, finish)
{
	struct victims victims;
	uint32_t step;

	for (step = 0; step < NB_STEPS; step++) {
		victims_begin(&victims, steps[step].name);
		victims.victim->step = step;
		kill_everywhere(&victims);
	}
}

/* The context is of this process and stays. */
static int own_channel_fd;

static void
share_begin(struct victim *victim)
{
	program_run(&victim->program, 0, victim->step);
	own_channel_fd = victim->program.channel_fd;
}

static void
share_end(struct victim *victim)
{
	struct program *p = &victim->program;
	int rc;

	check_repaired();
	kernel_reclaim_dead();
	killed_state_check();
	if (victim->step < NB_CREATING) {
		/* Its objects are leaks, its descriptors are not. */
		close_context(p);
		victim->before.fd--;
		p->channel_fd = own_channel_fd;
		if (p->channel_fd != NO_FD) {
			close_channel(p);
			victim->before.fd--;
		}
		return;
	}
	/* The object is destroyed, or unchanged. */
	rc = steps[victim->step].run(p);
	if (rc != 0 && rc != -ENOENT)
		fail_msg("%s again: %d", steps[victim->step].name, rc);
	program_run(p, victim->step + 1, NB_STEPS);
}

TEST_WITH(test_killed_in_verb_on_shared_context, start, finish)
{
	struct victims victims;
	uint32_t step;

	for (step = 1; step < NB_STEPS - 1; step++) {
		victims_begin(&victims, steps[step].name);
		victims.victim->step = step;
		victims.victim->is_forked = true;
		victims.before = share_begin;
		victims.after = share_end;
		kill_everywhere(&victims);
	}
}

TEST_WITH(test_killed_closing_context, start, finish)
{
	struct victims victims;

	victims_begin(&victims, "end of the context");
	victims.victim->step = NB_CREATING;
	victims.fx->work = victim_close;
	kill_everywhere(&victims);
}

/* Another process creates everything and is killed; this one destroys it. */
static void
kill_owner_of_all(struct victim *victim)
{
	struct kill_run *fx = kill_run_new();
	struct victim *other = victim + 1;

	*other = *victim;
	other->is_forked = false;
	other->step = NB_CREATING;
	fx->prepare = victim_prepare;
	fx->work = victim_reap;
	fx->arg = other;
	kill_run_try(fx, 0);
	kill_run_free(fx);
}

TEST_WITH(test_killed_reclaiming_dead_process, start, finish)
{
	struct victims victims;

	victims_begin(&victims, "reaper");
	victims.before = kill_owner_of_all;
	victims.victim->is_forked = true;
	victims.fx->work = victim_reap;
	kill_everywhere(&victims);
}

/* Another process is killed during a verb. */
static uint32_t half_step;

static void
kill_half_way(struct victim *victim)
{
	struct kill_run *fx = kill_run_new();
	struct victim *other = victim + 1;

	*other = *victim;
	other->is_forked = false;
	other->step = half_step;
	fx->prepare = victim_prepare;
	fx->work = victim_work;
	fx->arg = other;
	kill_run_try(fx, KILL_RUN_NEVER);
	kernel_reclaim_dead();
	memset(other->program.ring, 0, NB_RINGS * RING_BYTES);
	kill_run_try(fx, fx->nb_steps / 2);
	victim->before = other->before;
	kill_run_free(fx);
}

static void
victim_repair(void *arg)
{
	(void)arg;
	segment_lock();
	segment_unlock();
}

TEST_WITH(test_killed_repairing_half_verb, start, finish)
{
	struct victims victims;
	uint32_t step;

	for (step = NB_CREATING - 1; step <= NB_CREATING; step++) {
		victims_begin(&victims, "repairer");
		half_step = step;
		victims.before = kill_half_way;
		victims.victim->is_forked = true;
		victims.fx->prepare = NULL;
		victims.fx->work = victim_repair;
		kill_everywhere(&victims);
	}
}

int
main(int argc, char **argv)
{
	kill_run_arguments(argc, argv);
	if (argc > 2)
		nb_most = strtoull(argv[2], NULL, 0);
	return test_run("killed verbs", NULL, NULL);
}
