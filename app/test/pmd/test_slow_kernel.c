/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A kernel that waits for the adapter while it registers or deregisters memory. Only the
 * caller waits: bursts, statistics, link status and telemetry do not.
 *
 * This program has its own functions of libibverbs that register and deregister, which wait
 * at a gate. verbs.h calls either of two to register, by the optimisation of the driver.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "fixture.h"

#define NB_MBUFS 63
#define NB_BURSTS 100
#define NB_XSTATS 1024
#define FRAME 100
#define LATE_S 10 /* then the gate opens, so that a driver that waits fails, not hangs */

/* Calls of one kind wait here while the gate is shut. */
struct gate {
	atomic_bool is_shut;
	atomic_bool is_late; /* the test did not open it in time */
	sem_t arrived; /* calls that wait */
	sem_t opened;
};
static struct gate reg_gate, dereg_gate;

void *ibv_reg_mr(void *pd, void *addr, size_t len, int access);
void *ibv_reg_mr_iova2(void *pd, void *addr, size_t len, uint64_t iova, unsigned int access);
int ibv_dereg_mr(void *mr);

static void
gate_shut(struct gate *gate)
{
	assert_int_equal(sem_init(&gate->arrived, 0, 0), 0);
	assert_int_equal(sem_init(&gate->opened, 0, 0), 0);
	atomic_store(&gate->is_late, false);
	atomic_store(&gate->is_shut, true);
}

/* Waits until nb calls wait at the gate. False: they have not come. */
static bool
gate_await(struct gate *gate, unsigned int nb)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += LATE_S;
	for (unsigned int i = 0; i < nb; i++)
		if (sem_timedwait(&gate->arrived, &end) != 0)
			return false;
	return true;
}

static void
gate_open(struct gate *gate, unsigned int nb)
{
	atomic_store(&gate->is_shut, false);
	for (unsigned int i = 0; i < nb; i++)
		sem_post(&gate->opened);
}

static void
gate_pass(struct gate *gate)
{
	struct timespec end;

	if (!atomic_load(&gate->is_shut))
		return;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += LATE_S;
	sem_post(&gate->arrived);
	if (sem_timedwait(&gate->opened, &end) != 0) {
		atomic_store(&gate->is_late, true);
		atomic_store(&gate->is_shut, false);
	}
}

static void *
next_of(const char *name, const char *version)
{
	void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);

	return dlvsym(library, name, version);
}

void *
ibv_reg_mr(void *pd, void *addr, size_t len, int access)
{
	void *(*next)(void *pd, void *addr, size_t len, int access);

	gate_pass(&reg_gate);
	*(void **)&next = next_of("ibv_reg_mr", "IBVERBS_1.1");
	return next(pd, addr, len, access);
}

void *
ibv_reg_mr_iova2(void *pd, void *addr, size_t len, uint64_t iova, unsigned int access)
{
	void *(*next)(void *pd, void *addr, size_t len, uint64_t iova, unsigned int access);

	gate_pass(&reg_gate);
	*(void **)&next = next_of("ibv_reg_mr_iova2", "IBVERBS_1.8");
	return next(pd, addr, len, iova, access);
}

int
ibv_dereg_mr(void *mr)
{
	int (*next)(void *mr);

	gate_pass(&dereg_gate);
	*(void **)&next = next_of("ibv_dereg_mr", "IBVERBS_1.1");
	return next(mr);
}

/* ---- Work beside ------------------------------------------------------------ */

static unsigned int
nb_mrs(void)
{
	struct mana_model_objects objects;

	assert_int_equal(fx_model.objects(&objects), 0);
	return objects.mr;
}

static struct rte_mempool *
pool_create(const char *name)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(name, NB_MBUFS, 0, 0,
							   RTE_MBUF_DEFAULT_BUF_SIZE,
							   SOCKET_ID_ANY);

	assert_non_null(pool);
	return pool;
}

struct pool_free {
	struct rte_mempool *pool;
	atomic_bool is_over;
};

static void *
free_pool(void *arg)
{
	struct pool_free *work = arg;

	rte_mempool_free(work->pool);
	atomic_store(&work->is_over, true);
	return NULL;
}

/* A burst of one packet on a Tx queue of port 0. */
struct send {
	uint16_t port, queue;
	struct rte_mbuf *m;
	uint16_t nb;
};

static void *
send_one(void *arg)
{
	struct send *send = arg;

	send->nb = rte_eth_tx_burst(send->port, send->queue, &send->m, 1);
	return NULL;
}

static void
check_reports(struct fixture *fx)
{
	static struct rte_eth_xstat xstats[NB_XSTATS];

	for (unsigned int p = 0; p < FX_NB_PORTS; p++) {
		struct rte_eth_stats stats;
		struct rte_eth_link link;

		assert_int_equal(rte_eth_stats_get(fx->port[p], &stats), 0);
		assert_true(stats.opackets > 0);
		assert_true(rte_eth_xstats_get(fx->port[p], xstats, NB_XSTATS) > 0);
		assert_int_equal(rte_eth_link_get_nowait(fx->port[p], &link), 0);
		assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
		/* also /mana/mr */
		assert_true(fx_telemetry_ask_all(fx->port[p]));
	}
}

/* Receives and frees nb packets of port 1. */
static void
receive(struct fixture *fx, unsigned int nb)
{
	struct rte_mbuf *pkts[FX_BURST];

	assert_int_equal(fx_receive(fx->port[1], 0, pkts, nb), nb);
	rte_pktmbuf_free_bulk(pkts, nb);
}

/* ---- Tests ------------------------------------------------------------------ */

/* The end of a pool waits for the kernel, and nothing else does. */
FX_TEST(test_pool_is_freed)
{
	const struct fx_config config = { .nb_txq = 2 };
	struct pool_free work = { .pool = pool_create("freed") };
	unsigned int nb_registered;
	struct rte_mbuf *m;
	pthread_t thread;

	fx_start(fx, &config);
	fx_pass_one(fx);
	m = fx_frame(work.pool, FRAME, 0);
	fx_send(fx->port[0], 0, &m, 1);
	receive(fx, 1);
	nb_registered = nb_mrs();
	assert_true(rte_eth_tx_done_cleanup(fx->port[0], 0, 0) >= 0);
	gate_shut(&dereg_gate);
	assert_int_equal(pthread_create(&thread, NULL, free_pool, &work), 0);
	assert_true(gate_await(&dereg_gate, 1));
	for (unsigned int i = 0; i < NB_BURSTS; i++)
		fx_pass_one(fx);
	m = fx_frame(fx->pool, FRAME, 0);
	fx_send(fx->port[0], 1, &m, 1);
	receive(fx, 1);
	check_reports(fx);
	assert_false(atomic_load(&work.is_over));
	assert_false(atomic_load(&dereg_gate.is_late));
	gate_open(&dereg_gate, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(atomic_load(&work.is_over));
	assert_true(nb_mrs() < nb_registered);
	fx_pass_one(fx);
}

/* The first packet of a pool waits for the kernel, but no burst of another queue. */
FX_TEST(test_pool_is_registered)
{
	const struct fx_config config = { .nb_txq = 2 };
	struct rte_mempool *pool = pool_create("late");
	struct send send = { .m = fx_frame(pool, FRAME, 0) };
	pthread_t thread;

	fx_start(fx, &config);
	fx_pass_one(fx);
	send.port = fx->port[0];
	send.queue = 1;
	gate_shut(&reg_gate);
	assert_int_equal(pthread_create(&thread, NULL, send_one, &send), 0);
	assert_true(gate_await(&reg_gate, 1));
	for (unsigned int i = 0; i < NB_BURSTS; i++)
		fx_pass_one(fx);
	check_reports(fx);
	assert_false(atomic_load(&reg_gate.is_late));
	gate_open(&reg_gate, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(send.nb, 1);
	receive(fx, 1);
	assert_true(rte_eth_tx_done_cleanup(fx->port[0], 1, 0) >= 0);
	rte_mempool_free(pool);
}

/* Two bursts that register the same memory at once end with one region. */
FX_TEST(test_two_register)
{
	const struct fx_config config = { .nb_txq = 2 };
	struct rte_mempool *pool = pool_create("twice");
	struct send sends[2];
	pthread_t threads[2];
	unsigned int before;

	fx_start(fx, &config);
	fx_pass_one(fx);
	before = nb_mrs();
	gate_shut(&reg_gate);
	for (uint16_t q = 0; q < 2; q++) {
		sends[q] = (struct send){
			.port = fx->port[0],
			.queue = q,
			.m = fx_frame(pool, FRAME, q),
		};
		assert_int_equal(pthread_create(&threads[q], NULL, send_one, &sends[q]), 0);
	}
	assert_true(gate_await(&reg_gate, 2));
	assert_false(atomic_load(&reg_gate.is_late));
	gate_open(&reg_gate, 2);
	for (uint16_t q = 0; q < 2; q++) {
		assert_int_equal(pthread_join(threads[q], NULL), 0);
		assert_int_equal(sends[q].nb, 1);
	}
	assert_int_equal(nb_mrs(), before + 1);
	receive(fx, 2);
	for (uint16_t q = 0; q < 2; q++)
		assert_true(rte_eth_tx_done_cleanup(fx->port[0], q, 0) >= 0);
	rte_mempool_free(pool);
	assert_int_equal(nb_mrs(), before);
}

int
main(void)
{
	fx_has_telemetry = true;
	return FX_RUN("slow-kernel");
}
