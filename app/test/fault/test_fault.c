/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fault sweep. In each operation, each kernel call, and each call of the driver that
 * allocates or can fail otherwise, fails in turn: once, and from there on. After each
 * failure the process holds the same resources as before, a second attempt succeeds, and
 * packets pass.
 *
 * usage: test-fault [operation, or a pattern with * and ?]
 * MANA_FAULT_SWEEP=all: each kernel call fails with each of the errors; else with one.
 * MANA_TEST_PART=N: only each N-th call fails.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include "fixture.h"
#include "fixture_log.h"
#include "calls.h"
#include "operations.h"

/* More calls than any operation makes. */
#define MAX_CALLS 2000
/* With the calls of the interrupt thread, two runs may have different numbers of calls. */
#define MAX_TRIES 3

/*
 * Not EIO: when an object is destroyed, libibverbs takes it for the removal of the device
 * (verbs_is_destroy_err()), which test_loss_points.c lets happen.
 */
static const int errors[] = { ENOMEM, EINVAL, EBUSY, EPROTO, ENODEV, EPERM };

/* Where a call fails. */
enum source { KERNEL, DRIVER };

struct fault {
	enum source source;
	unsigned int nth;
	bool and_later;
	int error; /* of a kernel call */
};

bool is_for_ever;
/* Each call_step-th call fails. */
static unsigned int call_step = 1;
static unsigned int nb_points_total, nb_calls_total, nb_kept;

static bool
is_complete(void)
{
	const char *text = getenv("MANA_FAULT_SWEEP");

	return text != NULL && strcmp(text, "all") == 0;
}

static void
check_mbufs(struct fixture *fx, const char *when)
{
	unsigned int nb = rte_mempool_avail_count(fx->pool);

	if (nb != FX_NB_MBUFS)
		fail_msg("%s: lacks %u mbufs", when, FX_NB_MBUFS - nb);
}

/* ---- Mempools that fail for the driver -------------------------------------------- */

static rte_mempool_dequeue_t ring_dequeue;

static int
dequeue(struct rte_mempool *mp, void **objects, unsigned int nb)
{
	return calls_pool_get(__builtin_return_address(0), nb) ?
		       -ENOBUFS : ring_dequeue(mp, objects, nb);
}

/* Mempools that are created from now on. */
static void
pools_can_fail(void)
{
	struct rte_mempool_ops ops = { .name = "" };

	if (ring_dequeue != NULL)
		return;
	for (uint32_t i = 0; i < rte_mempool_ops_table.num_ops; i++)
		if (strcmp(rte_mempool_ops_table.ops[i].name, "ring_mp_mc") == 0)
			ops = rte_mempool_ops_table.ops[i];
	assert_non_null(ops.dequeue);
	ring_dequeue = ops.dequeue;
	strcpy(ops.name, "ring_that_fails");
	ops.dequeue = dequeue;
	assert_true(rte_mempool_register_ops(&ops) >= 0);
	assert_int_equal(rte_mbuf_set_user_mempool_ops(ops.name), 0);
}

/* ---- A fault ------------------------------------------------------------------------ */

/* The ports work. */
static void
works(struct fixture *fx, const char *when)
{
	struct mana_model_port wire[FX_NB_PORTS], now;
	const uint64_t end = fx_deadline();

	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_model.port(0, i, &wire[i]), 0);
	/* After a recovery that was given up at once, the device may not be back. */
	while (!fx->is_probed && fx_probe(fx, "") != 0) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(1000);
	}
	fx_start(fx, &several);
	fx_send(fx->port[0], 0,
		(struct rte_mbuf *[]){ fx_frame(fx->pool, 64, 1) }, 1);
	fx_send(fx->port[1], 0,
		(struct rte_mbuf *[]){ fx_frame(fx->pool, 64, 1) }, 1);
	fx_drain(fx);
	fx_stop(fx);
	check_mbufs(fx, when);
	fx_remove(fx);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		assert_int_equal(fx_model.port(0, i, &now), 0);
		assert_true(now.rx_packets > wire[i].rx_packets);
	}
}

static void
arm(const struct fault *fault)
{
	int (*arm_kernel)(const char *, unsigned int, int) =
		fault->and_later ? fx_model.fault_arm_from : fx_model.fault_arm;

	is_for_ever = fault->and_later;
	if (fault->source == DRIVER)
		calls_arm(fault->nth, fault->and_later);
	else
		assert_int_equal(arm_kernel("any", fault->nth, fault->error), 0);
}

/* Returns the number of calls that failed. */
static unsigned int
disarm(const struct fault *fault)
{
	const unsigned int nb = fault->source == DRIVER ? calls_failed() :
							  fx_model.fault_hits();

	calls_disarm();
	fx_model.fault_disarm();
	is_for_ever = false;
	return nb;
}

static const char *
describe(const struct operation *operation, const struct fault *fault)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s: %s %u%s%s%s", operation->name,
		 fault->source == DRIVER ? "call" : "kernel call", fault->nth,
		 fault->and_later ? " and later" : "",
		 fault->source == DRIVER ? "" : ": ",
		 fault->source == DRIVER ? "" : strerrorname_np(fault->error));
	return text;
}

/*
 * The driver has reported this of a released Rx queue: another set of hardware queues, without
 * it, could not be made.
 */
static bool
loses_mbufs(void)
{
	return fx_nb_logged(RTE_LOG_ERR, "they are lost") > 0;
}

/* A queue that the kernel does not destroy keeps its packets: the device may use them. */
static void
pool_renew(struct fixture *fx)
{
	nb_kept += FX_NB_MBUFS - rte_mempool_avail_count(fx->pool);
	rte_mempool_free(fx->pool);
	fx->pools[0] = NULL;
	fx->pool = fx_pool(fx, FX_NB_MBUFS, RTE_MBUF_DEFAULT_BUF_SIZE);
}

/* Returns false if the operation makes fewer than fault->nth calls. */
static bool
run_with_fault(struct fixture *fx, const struct operation *operation,
	       const struct fault *fault)
{
	const char *when = describe(operation, fault);
	bool keeps_objects;
	struct fx_holdings before, empty;
	unsigned int nb_failed;
	int ret;

	fx_log_reset();
	/* any error text is expected */
	fx_expect_error("");
	fx_holdings_get(&empty);
	operation->before(fx);
	fx_holdings_get(&before);
	arm(fault);
	ret = operation->run(fx);
	nb_failed = disarm(fault);
	/* An alarm of the driver may have failed and has yet to log it. */
	fx_alarms_await();
	printf("%s: %s%s%s\n", when, fault->source == DRIVER ? calls_first_failed() : "",
	       fault->source == DRIVER ? ": " : "",
	       nb_failed == 0 ? "not reached" : ret == 0 ? "done" : strerrorname_np(-ret));
	if (ret != 0) {
		assert_true(ret < 0 && nb_failed > 0);
		assert_false(operation->is_teardown);
	}
	keeps_objects = kernel_keeps_objects();
	assert_false(keeps_objects && fault->source == DRIVER);
	if (ret != 0 && !keeps_objects && !needs_restart()) {
		if (!operation->destroys_first)
			fx_check_holdings(&before, when);
		/* without fault the same operation succeeds */
		assert_int_equal(operation->run(fx), 0);
	}
	operation->undo(fx);
	if (keeps_objects || loses_mbufs()) {
		undo_probe(fx);
		pool_renew(fx);
	}
	works(fx, when);
	fx_check_holdings(&empty, when);
	return nb_failed > 0;
}

static unsigned int
count_calls(struct fixture *fx, const struct operation *operation, enum source source)
{
	uint64_t nb_kernel_calls;
	unsigned int nb;

	operation->before(fx);
	nb_kernel_calls = fx_model.kernel_calls();
	calls_arm(0, false);
	assert_int_equal(operation->run(fx), 0);
	nb = source == DRIVER ? calls_made() : fx_model.kernel_calls() - nb_kernel_calls;
	operation->undo(fx);
	works(fx, operation->name);
	return nb;
}

/* Returns the number of faults. */
static unsigned int
walk(struct fixture *fx, const struct operation *operation, struct fault *fault,
     unsigned int nb_calls)
{
	const bool rotates = fault->source == KERNEL && !is_complete();
	unsigned int nb = 0, tries;

	fault->nth = 1;
	do {
		assert_true(fault->nth < MAX_CALLS);
		if (rotates)
			fault->error = errors[fault->nth / call_step % RTE_DIM(errors)];
		tries = 0;
		while (!run_with_fault(fx, operation, fault) && ++tries < MAX_TRIES)
			;
		nb += tries < MAX_TRIES;
		fault->nth += call_step;
	} while (tries < MAX_TRIES || fault->nth <= nb_calls);
	return nb;
}

static void
walk_source(struct fixture *fx, const struct operation *operation, enum source source)
{
	const unsigned int nb_errors = source == KERNEL && is_complete() ? RTE_DIM(errors) : 1;
	const unsigned int nb_modes = operation->waits && !is_complete() ? 1 : 2;
	unsigned int nb_calls = count_calls(fx, operation, source);
	unsigned int nb_points = 0;

	for (unsigned int i = 0; i < nb_errors; i++) {
		for (unsigned int later = 0; later < nb_modes; later++) {
			struct fault fault = { .source = source, .error = errors[i],
					       .and_later = later != 0 };
			unsigned int nb = walk(fx, operation, &fault, nb_calls);

			/* The interrupt thread may have made some of these calls, or not. */
			fault.nth -= call_step;
			for (unsigned int t = 0;
			     nb * call_step < nb_calls && t < 3 * MAX_TRIES; t++) {
				nb_calls = RTE_MIN(nb_calls,
						   count_calls(fx, operation, source));
				if (run_with_fault(fx, operation, &fault)) {
					nb++;
					fault.nth += call_step;
				}
			}
			if (nb * call_step < nb_calls)
				fail_msg("%s: %u faults, %u calls in a clean run",
					 operation->name, nb, nb_calls);
			nb_points += nb;
		}
	}
	printf("sweep: %s, %s: %u calls in a clean run, %u faults, 0 leaks\n",
	       operation->name, source == DRIVER ? "driver" : "kernel", nb_calls, nb_points);
	nb_points_total += nb_points;
	nb_calls_total += nb_calls;
}

/* Start fails without leaks for every pool that is too small. */
FX_TEST_BARE(test_mbufs_run_out_at_start)
{
	unsigned int needed = several.nb_rxq * several.nb_rxd;

	fx_expect_error("");
	fx->ignore_counters = true;
	for (unsigned int nb = 1; nb <= needed + 1; nb += nb < needed - 2 ? 31 : 1) {
		struct fx_config config = several;
		struct fx_holdings before;
		int ret;

		assert_int_equal(fx_probe(fx, ""), 0);
		config.rx_pool = fx_pool(fx, nb, RTE_MBUF_DEFAULT_BUF_SIZE);
		assert_int_equal(fx_configure(fx, fx->port[0], &config), 0);
		fx_holdings_get(&before);
		ret = fx_dev_start(fx, 0);
		assert_true(ret == 0 || ret == -ENOMEM);
		assert_true(nb >= needed || ret != 0);
		if (ret == 0)
			fx_stop(fx);
		fx_check_holdings(&before, "after start with few mbufs");
		fx_pool_free(fx, config.rx_pool);
		works(fx, "few mbufs");
	}
}

static const struct operation *current;

static int
setup(void **state)
{
	current = *state;
	pools_can_fail();
	return fx_setup_bare(state);
}

static void
test_sweep(void **state)
{
	const unsigned int nb_before = nb_points_total;
	struct fixture *fx = *state;

	fx->ignore_counters = true;
	walk_source(fx, current, KERNEL);
	walk_source(fx, current, DRIVER);
	assert_true(nb_points_total > nb_before || current->may_be_empty);
}

int
main(int argc, char **argv)
{
	int ret;

	call_step = fx_part();
	fx_has_telemetry = true;
	fx_megabytes = "64";
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	for (unsigned int i = 0; i < nb_operations; i++)
		test_add((struct CMUnitTest){ operations[i].name, test_sweep, setup,
						fx_teardown, (void *)(uintptr_t)&operations[i] });
	ret = FX_RUN("fault");
	printf("sweep: %u calls in clean runs, %u faults, %u mbufs in queues that the kernel kept\n",
	       nb_calls_total, nb_points_total, nb_kept);
	return ret;
}
