/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The longest burst while a mempool is freed, with a kernel that takes long to deregister
 * memory: a thread sends and receives, another one frees a mempool that the port has sent
 * from, with a slow kernel and without in turn. Prints the longest bursts of both; see
 * devtools/wait-time.sh.
 *
 * This program has its own ibv_dereg_mr(), which sleeps before it calls the library's. The
 * model runs in the mode step: a burst does not wait for the adapter.
 */

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "fixture.h"

#define SLOW_US	    100000
#define NB_PERIODS  50 /* of each kind */
#define NB_MBUFS    63
#define BURST	    32
#define FRAME_BYTES 100

static int (*model_step)(void);
static bool is_slow; /* atomic */
static uint32_t nb_slow; /* calls of ibv_dereg_mr() that slept; atomic */

int ibv_dereg_mr(void *mr);

int
ibv_dereg_mr(void *mr)
{
	void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*next)(void *mr);

	*(void **)&next = dlvsym(library, "ibv_dereg_mr", "IBVERBS_1.1");
	if (__atomic_load_n(&is_slow, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&nb_slow, 1, __ATOMIC_RELAXED);
		rte_delay_us_sleep(SLOW_US);
	}
	return next(mr);
}

/* ---- The thread of the bursts ------------------------------------------------- */

struct traffic {
	const struct fixture *fx;
	struct rte_mempool *extra; /* the next packet is from it; atomic */
	uint64_t longest; /* ticks of a burst; atomic */
	bool is_over;
};

/* Other programs have taken the core from this thread so often. */
static long
nb_preempted(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nivcsw;
}

/* A burst of this many ticks. One that was preempted does not count: one that waits was not. */
static void
note(struct traffic *traffic, uint64_t ticks, long nb_before)
{
	if (ticks > __atomic_load_n(&traffic->longest, __ATOMIC_RELAXED) &&
	    nb_preempted() == nb_before)
		__atomic_store_n(&traffic->longest, ticks, __ATOMIC_RELAXED);
}

static void
frame_add(struct rte_mempool *pool, struct rte_mbuf **pkts, uint16_t *nb)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	if (m == NULL)
		return;
	(void)rte_pktmbuf_append(m, FRAME_BYTES);
	pkts[(*nb)++] = m;
}

/* Sends and receives a burst, whose packets are from the pool of the fixture, or one of pool. */
static void
exchange(struct traffic *traffic, struct rte_mempool *pool)
{
	const struct fixture *fx = traffic->fx;
	struct rte_mbuf *pkts[BURST];
	uint16_t nb = 0, nb_sent;
	uint64_t begin;
	long before;

	if (pool != NULL)
		frame_add(pool, pkts, &nb);
	while (pool == NULL && nb < BURST)
		frame_add(fx->pool, pkts, &nb);
	before = nb_preempted();
	begin = rte_rdtsc();
	nb_sent = rte_eth_tx_burst(fx->port[0], 0, pkts, nb);
	if (pool == NULL)
		note(traffic, rte_rdtsc() - begin, before);
	rte_pktmbuf_free_bulk(&pkts[nb_sent], nb - nb_sent);
	(void)model_step();
	before = nb_preempted();
	begin = rte_rdtsc();
	nb = rte_eth_rx_burst(fx->port[1], 0, pkts, BURST);
	note(traffic, rte_rdtsc() - begin, before);
	rte_pktmbuf_free_bulk(pkts, nb);
}

/* EAL has bound the main thread, and so this one, to one core. */
static void
other_cores(void)
{
	cpu_set_t cores;

	CPU_ZERO(&cores);
	for (long i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); i++)
		if (i != sched_getcpu())
			CPU_SET(i, &cores);
	(void)pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores);
}

static void *
run(void *arg)
{
	struct traffic *traffic = arg;

	other_cores();
	while (!__atomic_load_n(&traffic->is_over, __ATOMIC_ACQUIRE)) {
		struct rte_mempool *extra = __atomic_load_n(&traffic->extra,
							    __ATOMIC_ACQUIRE);

		exchange(traffic, extra);
		/* its completion */
		(void)rte_eth_tx_burst(traffic->fx->port[0], 0, NULL, 0);
		if (extra != NULL)
			__atomic_store_n(&traffic->extra, NULL, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* ---- Periods ------------------------------------------------------------------- */

/* A mempool that the port has sent from: the driver has registered its memory. */
static struct rte_mempool *
pool_used(struct traffic *traffic, uint32_t nr)
{
	uint64_t end = fx_deadline();
	struct rte_mempool *pool;
	char name[16];

	snprintf(name, sizeof(name), "extra%" PRIu32, nr);
	pool = rte_pktmbuf_pool_create(name, NB_MBUFS, 0, 0,
				       RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(pool);
	__atomic_store_n(&traffic->extra, pool, __ATOMIC_RELEASE);
	while (__atomic_load_n(&traffic->extra, __ATOMIC_ACQUIRE) != NULL ||
	       rte_mempool_avail_count(pool) != NB_MBUFS)
		assert_true(rte_get_timer_cycles() < end);
	return pool;
}

/* Returns the microseconds of the longest burst while a mempool is freed, and after it. */
static double
period(struct traffic *traffic, bool with_slow_kernel)
{
	static uint32_t nr;
	struct rte_mempool *pool = pool_used(traffic, nr++);
	uint64_t ticks;

	__atomic_store_n(&is_slow, with_slow_kernel, __ATOMIC_RELAXED);
	__atomic_store_n(&traffic->longest, 0, __ATOMIC_RELAXED);
	rte_mempool_free(pool);
	if (!with_slow_kernel)
		rte_delay_us_sleep(SLOW_US);
	ticks = __atomic_load_n(&traffic->longest, __ATOMIC_RELAXED);
	__atomic_store_n(&is_slow, false, __ATOMIC_RELAXED);
	return ticks * 1e6 / rte_get_tsc_hz();
}

static int
compare(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static void
print(const char *what, double *longest_us)
{
	qsort(longest_us, NB_PERIODS, sizeof(*longest_us), compare);
	printf("pool-free: a mempool is freed %s: the longest burst in %u ms takes %.1f us (median of %u; at most %.1f us)\n",
	       what, SLOW_US / 1000, longest_us[NB_PERIODS / 2], NB_PERIODS,
	       longest_us[NB_PERIODS - 1]);
}

FX_TEST(longest_burst)
{
	static double with_us[NB_PERIODS], without_us[NB_PERIODS];
	static const struct fx_config config;
	struct traffic traffic = { .fx = fx };
	pthread_t thread;

	*(void **)&model_step = dlsym(RTLD_DEFAULT, "mana_model_step");
	assert_non_null(model_step);
	fx->ignore_counters = true;
	fx_start(fx, &config);
	assert_int_equal(pthread_create(&thread, NULL, run, &traffic), 0);
	for (uint32_t i = 0; i < NB_PERIODS; i++) {
		without_us[i] = period(&traffic, false);
		with_us[i] = period(&traffic, true);
	}
	assert_int_equal(__atomic_load_n(&nb_slow, __ATOMIC_RELAXED), NB_PERIODS);
	__atomic_store_n(&traffic.is_over, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0);
	print("with a fast kernel", without_us);
	print("with a kernel that sleeps so long", with_us);
}

int
main(void)
{
	return FX_RUN("pool-free");
}
