/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A million bursts of the plug-in, called through ethdev, without a system call
 * or heap call. app/test/perf plays the device between them; only the burst
 * functions are checked.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_vect.h>

#include "perf.h"
#include "calls.h"

#define NB_BURSTS 1000000u

static uint32_t nb_bursts;

/* ld --wrap: replaces the functions of perf_timed.c. */
__typeof__(perf_timed_rx) __real_perf_timed_rx, __wrap_perf_timed_rx;
__typeof__(perf_timed_poll) __real_perf_timed_poll, __wrap_perf_timed_poll;
__typeof__(perf_timed_tx) __real_perf_timed_tx, __wrap_perf_timed_tx;

uint32_t
__wrap_perf_timed_rx(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst)
{
	uint32_t nb;

	calls_count_begin();
	nb = __real_perf_timed_rx(sut, nb_calls, burst);
	calls_count_end();
	nb_bursts += nb_calls;
	return nb;
}

uint32_t
__wrap_perf_timed_poll(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst)
{
	uint32_t nb;

	calls_count_begin();
	nb = __real_perf_timed_poll(sut, nb_calls, burst);
	calls_count_end();
	nb_bursts += nb_calls;
	return nb;
}

uint32_t
__wrap_perf_timed_tx(struct perf_sut *sut, uint32_t nb_calls, uint16_t burst)
{
	struct perf_queue *queue = sut->calls[0].queue;
	uint32_t nb;

	calls_count_begin();
	nb = __real_perf_timed_tx(sut, nb_calls, burst);
	/* A Tx burst without packets. */
	nb += sut->tx_burst(queue->txq, queue->pkts, 0);
	calls_count_end();
	nb_bursts += nb_calls + 1;
	return nb;
}

/* "initialized field overwritten" is intended: defaults */
#pragma GCC diagnostic ignored "-Woverride-init"

/* Percentage of bursts per kind. */
static const struct {
	struct perf_row row;
	uint32_t share;
} rows[] = {
#define ROW(share_, name_, kind_, burst_, ...) \
	{ { .name = name_, .kind = kind_, .burst = burst_, .ring = 256, \
	    .len_bytes = 64, .nb_segs = 1, .nb_queues = 1, \
	    __VA_ARGS__ }, share_ }
	ROW(30, "rx-empty", PERF_POLL, 32, .offload = true),
	ROW(10, "rx-1", PERF_RX, 1, .offload = true),
	ROW(5, "rx-32", PERF_RX, 32, .offload = true),
	ROW(5, "rx-32-scalar", PERF_RX, 32, .offload = true,
	    .simd_bits = RTE_VECT_SIMD_DISABLED),
	ROW(3, "rx-32-ptypes", PERF_RX, 32, .offload = true, .ptypes = true),
	ROW(5, "rx-32-coalesced", PERF_RX, 32, .offload = true, .coalesced = true),
	ROW(20, "tx-1", PERF_TX, 1),
	ROW(8, "tx-32", PERF_TX, 32),
	ROW(5, "tx-32-no-offset", PERF_TX, 32, .no_offsets = true),
	ROW(5, "tx-32-csum", PERF_TX, 32, .offload = true),
	ROW(2, "tx-4seg", PERF_TX, 4, .nb_segs = 4),
	ROW(1, "tx-2seg-csum", PERF_TX, 4, .nb_segs = 2, .len_bytes = 128,
	    .offload = true),
	ROW(1, "tx-tso", PERF_TX, 4, .nb_segs = 4, .len_bytes = 4398, .offload = true,
	    .tso_segsz = 1448),
};

static struct perf_sut sut = { .name = "ours", .tells_ptypes = true };

static void
check_no_calls(const char *where)
{
	const struct call_count count = calls_take();

	if (count.nb_allocs != 0 || count.nb_syscalls != 0)
		hand_fail("%s: %u bursts made %lu heap calls and %lu calls of the "
			  "kernel, the last one number %ld", where, nb_bursts,
			  count.nb_allocs, count.nb_syscalls, count.syscall);
}

/* Checks that a heap call and a system call are counted. */
static void
check_counting(void)
{
	void *volatile ptr;
	struct call_count count;

	calls_count_begin();
	ptr = malloc(1);
	free(ptr);
	ptr = rte_zmalloc(NULL, 1, 0);
	rte_free(ptr);
	syscall(SYS_getppid);
	calls_count_end();
	ptr = malloc(1);
	free(ptr);
	count = calls_take();
	if (count.nb_allocs < 4 || count.nb_syscalls < 1 ||
	    count.syscall != SYS_getppid)
		hand_fail("counted %lu heap calls, %lu system calls",
			  count.nb_allocs, count.nb_syscalls);
}

static void
run_row(const struct perf_row *row, uint32_t nb_wanted)
{
	struct rte_mbuf *pkts[PERF_CACHE_MBUFS];

	nb_bursts = 0;
	perf_port_start(&sut, row, false);
	/* Region lookups happen once, in the first batch. */
	perf_run_batch(&sut, row, 0);
	calls_take();
	if (rte_pktmbuf_alloc_bulk(sut.pool, pkts, RTE_DIM(pkts)) == 0)
		rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));
	while (nb_bursts < nb_wanted)
		perf_run_batch(&sut, row, 0);
	check_no_calls(row->name);
	perf_port_stop(&sut);
	printf("PASS %s: %u bursts\n", row->name, nb_bursts);
}

int
main(int argc, char **argv)
{
	uint32_t nb = 0, share = 0;
	int ret = rte_eal_init(argc, argv);

	sut.plugin = getenv("MANA_PLUGIN");
	if (ret < 0 || sut.plugin == NULL)
		hand_fail("EAL initialization failed, or MANA_PLUGIN not set");
	hand_begin();
	perf_port_probe(&sut);
	ret = calls_init();
	if (ret != 0)
		hand_fail("cannot install the system call filter: %s", strerror(-ret));
	check_counting();
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		run_row(&rows[i].row, NB_BURSTS / 100 * rows[i].share);
		nb += nb_bursts;
		share += rows[i].share;
	}
	perf_port_close(&sut);
	if (nb < NB_BURSTS || share != 100)
		hand_fail("%u bursts", nb);
	printf("%u bursts, no system call, no heap call\n", nb);
	return EXIT_SUCCESS;
}
