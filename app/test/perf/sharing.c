/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * No cache line written by one queue is accessed by another: the test records
 * each access (lines.h) of bursts on several queues of the plug-in, whose rings
 * the harness fills and empties. Exceptions: the doorbell page, which the
 * hardware shares, and the mempool, which belongs to the lcore.
 */

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_alarm.h>
#include <rte_eal.h>

#include "lines.h"
#include "perf.h"

#define NB_QUEUES 4
#define NB_BATCHES 9 /* several laps of the rings */
#define PAGE_BYTES 4096u

static struct perf_sut sut = { .name = "ours", .tells_ptypes = true };
static uint32_t nb_shared_lines, nb_doorbells;

/* Replaces perf_timed.c: records the timed bursts. */
static uint32_t
record(struct perf_sut *of, uint32_t nb_calls, uint16_t burst, bool is_rx, bool is_tx)
{
	uint32_t nb = 0;

	lines_look();
	for (uint32_t i = 0; i < nb_calls; i++) {
		struct perf_call *call = &of->calls[i];
		struct perf_queue *queue = call->queue;
		struct rte_mbuf **pkts = queue->pkts + call->nth * burst;
		uint16_t nb_pkts = burst;

		for (uint32_t k = 0; is_tx && k < queue->flips.nb; k++)
			*(volatile uint32_t *)queue->flips.word[k] = queue->flips.value[k];
		lines_begin((uint32_t)(queue - of->queues));
		if (is_rx)
			nb_pkts = of->rx_burst(queue->rxq, pkts, burst);
		if (is_tx)
			nb_pkts = of->tx_burst(queue->txq, pkts, nb_pkts);
		lines_end();
		nb += nb_pkts;
		call->after = hand_registers(&queue->rx);
	}
	return nb;
}

uint32_t
perf_timed_rx(struct perf_sut *of, uint32_t nb_calls, uint16_t burst)
{
	return record(of, nb_calls, burst, true, false);
}

uint32_t
perf_timed_poll(struct perf_sut *of, uint32_t nb_calls, uint16_t burst)
{
	return record(of, nb_calls, burst, true, false);
}

uint32_t
perf_timed_tx(struct perf_sut *of, uint32_t nb_calls, uint16_t burst)
{
	return record(of, nb_calls, burst, false, true);
}

uint32_t
perf_timed_fwd(struct perf_sut *of, uint32_t nb_calls, uint16_t burst)
{
	return record(of, nb_calls, burst, true, true);
}

/* The pool's header, caches, ring or mbufs. */
static bool
is_of_pool(const struct rte_mempool *pool, uintptr_t addr)
{
	const struct rte_memzone *zone = pool->mz;
	const struct rte_mempool_memhdr *chunk;

	if (addr - (uintptr_t)zone->addr < zone->len)
		return true;
	STAILQ_FOREACH(chunk, &pool->mem_list, next)
		if (addr - (uintptr_t)chunk->addr < chunk->len)
			return true;
	return false;
}

static int
by_line(const void *a, const void *b)
{
	const struct lines_access *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Counts lines accessed by several queues and written by one. */
static uint32_t
count_shared(const char *what, bool is_told)
{
	static struct lines_access all[LINES_MAX_ACCESSES];
	const uintptr_t page = (uintptr_t)sut.queues[0].rx.at.doorbells;
	const uintptr_t bells = lines_writable_address(page);
	uint32_t nb, nb_kept = 0, nb_shared = 0, nb_bells = 0, nb_writes[NB_QUEUES] = { 0 };
	const struct lines_access *accesses = lines_accesses(&nb, true);

	if (nb == 0 || nb == LINES_MAX_ACCESSES)
		hand_fail("%s: %u accesses recorded", what, nb);
	for (uint32_t i = 0; i < nb; i++) {
		if (accesses[i].addr - bells < PAGE_BYTES) {
			nb_bells++;
			continue;
		}
		if (is_of_pool(sut.pool, accesses[i].addr))
			continue;
		all[nb_kept] = accesses[i];
		all[nb_kept++].addr &= ~(uintptr_t)(LINES_BYTES - 1);
		nb_writes[accesses[i].owner] += accesses[i].is_write;
	}
	qsort(all, nb_kept, sizeof(*all), by_line);
	for (uint32_t i = 0, end; i < nb_kept; i = end) {
		uint32_t owners = 0, writers = 0;

		for (end = i; end < nb_kept && all[end].addr == all[i].addr; end++) {
			owners |= 1u << all[end].owner;
			writers |= (uint32_t)all[end].is_write << all[end].owner;
		}
		if (writers == 0 || (owners & (owners - 1)) == 0)
			continue;
		nb_shared++;
		if (is_told)
			fprintf(stderr, "%s: line %#" PRIxPTR ", queues %#x, written by %#x\n",
				what, all[i].addr, owners, writers);
	}
	printf("%s: %u accesses, %u of the doorbell page, writes by queue", what, nb, nb_bells);
	for (uint32_t q = 0; q < NB_QUEUES; q++)
		printf(" %u", nb_writes[q]);
	printf(", lines shared %u\n", nb_shared);
	nb_doorbells = nb_bells;
	for (uint32_t q = 0; q < NB_QUEUES && is_told; q++)
		if (nb_writes[q] == 0)
			hand_fail("%s: no write of queue %u recorded", what, q);
	return nb_shared;
}

/* Checks the recording itself: two owners, neighbours in a line. */
static void
check_recording(void)
{
	volatile uint32_t *words = aligned_alloc(PAGE_BYTES, PAGE_BYTES);
	const uint32_t wanted[] = { 0, 1, 1, 0 };

	/* different lines; neighbour written; neighbour read; only reads */
	for (uint32_t i = 0; i < RTE_DIM(wanted); i++) {
		lines_look();
		lines_begin(0);
		if (i == 3)
			(void)words[0];
		else
			words[0] = 1;
		lines_end();
		lines_begin(1);
		if (i >= 2)
			(void)words[15];
		else
			words[i == 0 ? 16 : 15] = 1;
		lines_end();
		if (count_shared("recording", false) != wanted[i])
			hand_fail("wrong result in self-check %u", i);
	}
	free((void *)(uintptr_t)words);
}

/* Doorbells seen in the registers after each call, as mana-perf counts them. */
static uint32_t
count_rung(void)
{
	uint32_t nb = 0;

	for (uint32_t q = 0; q < NB_QUEUES; q++) {
		const struct perf_queue *queue = &sut.queues[q];

		nb += queue->rx.nb_rung + queue->rx.nb_cq_rung;
		nb += queue->tx.nb_rung + queue->tx.nb_cq_rung;
	}
	return nb;
}

static void
run_row(const struct perf_row *row)
{
	uint32_t nb, nb_rung;

	perf_port_start(&sut, row, true);
	perf_match_queues(&sut);
	/* Region lookups happen once, and all mbuf lines are mapped. */
	perf_run_batch(&sut, row, 0);
	lines_accesses(&nb, true);
	nb_rung = count_rung();
	for (uint32_t i = 0; i < NB_BATCHES; i++)
		perf_run_batch(&sut, row, 0);
	nb_rung = count_rung() - nb_rung;
	nb_shared_lines += count_shared(row->name, true);
	/* A forwarding call may ring two CQs; the register then shows one. */
	if (nb_rung == 0 || nb_doorbells < nb_rung ||
	    (nb_doorbells != nb_rung && row->kind != PERF_FWD))
		hand_fail("%s: %u stores to the doorbell page, %u doorbells seen",
			  row->name, nb_doorbells, nb_rung);
	perf_port_stop(&sut);
}

/*
 * The driver's alarm checks queues once a second in EAL's interrupt thread,
 * outside of the recording: block that thread.
 */
static sem_t alarms_held, alarms_free;

static void
hold_alarms(void *arg)
{
	RTE_SET_USED(arg);
	sem_post(&alarms_held);
	while (sem_wait(&alarms_free) != 0)
		;
}

int
main(int argc, char **argv)
{
#define ROW(name_, kind_, ...) \
	{ .name = name_, .kind = kind_, .burst = 32, .ring = 256, .len_bytes = 64, \
	  .nb_segs = 1, .nb_queues = NB_QUEUES, .is_scale = true, __VA_ARGS__ }
	static const struct perf_row rows[] = {
		ROW("rx", PERF_RX, .offload = true),
		ROW("rx-scalar", PERF_RX, .offload = true, .simd_bits = 64),
		ROW("rx-coalesced", PERF_RX, .offload = true, .coalesced = true),
		ROW("rx-ptypes", PERF_RX, .offload = true, .ptypes = true),
		ROW("tx", PERF_TX, .offload = false),
		ROW("tx-no-offset", PERF_TX, .no_offsets = true),
		ROW("tx-csum", PERF_TX, .offload = true),
		ROW("fwd", PERF_FWD, .offload = false),
	};
	int ret = rte_eal_init(argc, argv);

	sut.plugin = getenv("MANA_PLUGIN");
	if (ret < 0 || sut.plugin == NULL)
		hand_fail("EAL initialization failed, or MANA_PLUGIN not set");
	hand_begin();
	perf_port_probe(&sut);
	sem_init(&alarms_held, 0, 0);
	sem_init(&alarms_free, 0, 0);
	if (rte_eal_alarm_set(1, hold_alarms, NULL) != 0)
		hand_fail("no alarm can be set");
	while (sem_wait(&alarms_held) != 0)
		;
	check_recording();
	for (uint32_t i = 0; i < RTE_DIM(rows); i++)
		run_row(&rows[i]);
	sem_post(&alarms_free);
	perf_port_close(&sut);
	if (nb_shared_lines != 0)
		hand_fail("%u lines are shared by queues", nb_shared_lines);
	return EXIT_SUCCESS;
}
