/* SPDX-License-Identifier: BSD-3-Clause */

#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "perf.h"
#ifdef PERF_HAS_VALGRIND
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

#define NB_BATCHES 8 /* of a driver, in a repetition */
#define NB_DROPPED 2 /* of these, the first ones */
#define NB_WARM 10 /* before instructions are counted */
#define NB_COUNTED 16
#define NB_ADDS 4000000

static const char usage[] =
	"usage: mana-model --mode step --functions 2 --ports 1 -- mana-perf [EAL options] --\n"
	"         -o PLUGIN [-r PLUGIN] [-R N | -i] [row...]\n"
	"  -o PLUGIN  our driver\n"
	"  -r PLUGIN  the one to compare it with\n"
	"  -R N       repetitions, 200 without it\n"
	"  -i         count instructions: under valgrind --tool=callgrind\n"
	"  -l         list the rows\n"
	"  row        names of rows, with * and ?; all of them without any\n";

/* Of a row and driver, per packet: cycles, or the rest. */
struct figures {
	double cycles;
	double ratio; /* of the rival's cycles to ours, in the first */
	double doorbells, cq_doorbells, cqes;
};

struct options {
	unsigned int nb_reps;
	bool instructions;
	char **patterns;
	int nb_patterns;
};

static struct perf_sut suts[PERF_MAX_SUTS] = {
	{ .name = "ours", .tells_ptypes = true },
	{ .name = "rival", .fn = 1, .leaves_posted = true },
};

/* TSC ticks in a cycle of this core, by adds that wait for each other. */
static double
ticks_per_cycle(void)
{
	double best = 1e9;

	for (unsigned int k = 0; k < 5; k++) {
		const uint64_t begin = rte_rdtsc_precise();
		uint64_t n = 0;

		for (unsigned int i = 0; i < NB_ADDS / 10; i++)
			__asm__ volatile("add $1, %0\n add $1, %0\n add $1, %0\n"
				"add $1, %0\n add $1, %0\n add $1, %0\n"
				"add $1, %0\n add $1, %0\n add $1, %0\n"
				"add $1, %0" : "+r"(n));
		best = RTE_MIN(best, (double)(rte_rdtsc_precise() - begin) / NB_ADDS);
	}
	return best;
}

static int
compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts. part: 0.5 is the median. */
static double
quantile(double *values, unsigned int nb, double part)
{
	qsort(values, nb, sizeof(*values), compare);
	return values[(unsigned int)((nb - 1) * part)];
}

/* The kept batches of a repetition, in ticks; the best of them. */
static double
repeat(struct perf_sut *sut, const struct perf_row *row, unsigned int lcore,
       double *ticks)
{
	double best = 1e18;

	for (unsigned int b = 0; b < NB_BATCHES; b++) {
		const double t = (double)perf_run_batch(sut, row, lcore);

		if (b < NB_DROPPED)
			continue;
		ticks[b - NB_DROPPED] = t;
		best = RTE_MIN(best, t);
	}
	return best;
}

static void
time_row(const struct perf_row *row, unsigned int nb_suts, unsigned int nb_reps,
	 unsigned int lcore, struct figures *figures)
{
	const unsigned int nb_kept = NB_BATCHES - NB_DROPPED;
	const double per_packet = perf_batch(row) * ticks_per_cycle();
	double *ticks[PERF_MAX_SUTS], *ratios;

	ratios = calloc(nb_reps, sizeof(*ratios));
	for (unsigned int s = 0; s < nb_suts; s++)
		ticks[s] = calloc(nb_reps * nb_kept, sizeof(*ticks[s]));
	for (unsigned int rep = 0; rep < nb_reps; rep++) {
		double best[PERF_MAX_SUTS] = { 1, 1 };

		for (unsigned int k = 0; k < nb_suts; k++) {
			const unsigned int s = (rep + k) % nb_suts;

			best[s] = repeat(&suts[s], row, lcore,
					 ticks[s] + rep * nb_kept);
		}
		ratios[rep] = best[1] / best[0];
	}
	figures[0].ratio = nb_suts > 1 ? quantile(ratios, nb_reps, 0.5) : 0;
	for (unsigned int s = 0; s < nb_suts; s++) {
		figures[s].cycles = quantile(ticks[s], nb_reps * nb_kept, 0.1) /
			per_packet;
		free(ticks[s]);
	}
	free(ratios);
}

/* What happened on the rings, all queues. */
struct events {
	uint32_t nb_rung, nb_cq_rung, nb_cqes;
};

static struct events
count_events(const struct perf_sut *sut)
{
	struct events events = { 0 };

	for (uint16_t q = 0; q < sut->nb_queues; q++) {
		const struct hand *hands[] = { &sut->queues[q].rx, &sut->queues[q].tx };

		for (unsigned int i = 0; i < RTE_DIM(hands); i++) {
			events.nb_rung += hands[i]->nb_rung;
			events.nb_cq_rung += hands[i]->nb_cq_rung;
			events.nb_cqes += hands[i]->nb_cqes_written;
		}
	}
	return events;
}

static struct figures
count_row(struct perf_sut *sut, const struct perf_row *row, unsigned int lcore)
{
	const double nb_packets = NB_COUNTED * perf_batch(row);
	struct events before, after;
	char label[128];

	for (unsigned int b = 0; b < NB_WARM; b++)
		perf_run_batch(sut, row, lcore);
	before = count_events(sut);
	CALLGRIND_ZERO_STATS;
	for (unsigned int b = 0; b < NB_COUNTED; b++)
		perf_run_batch(sut, row, lcore);
	snprintf(label, sizeof(label), "%s %s %.0f", row->name, sut->name, nb_packets);
	CALLGRIND_DUMP_STATS_AT(label);
	after = count_events(sut);
	return (struct figures){
		.doorbells = (after.nb_rung - before.nb_rung) / nb_packets,
		.cq_doorbells = (after.nb_cq_rung - before.nb_cq_rung) / nb_packets,
		.cqes = (after.nb_cqes - before.nb_cqes) / nb_packets,
	};
}

/* mbufs in the cache of this core, as a program has them that runs. */
static void
warm_cache(struct perf_sut *sut)
{
	struct rte_mbuf *pkts[PERF_CACHE_MBUFS];

	if (rte_pktmbuf_alloc_bulk(sut->pool, pkts, RTE_DIM(pkts)) == 0)
		rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));
}

static void
print_row(const struct perf_row *row, unsigned int nb_suts, bool is_counted,
	  const struct figures *figures)
{
	char path[128], testpmd[256];

	perf_port_path(&suts[0], row->kind, path, sizeof(path));
	perf_port_testpmd(&suts[0], row, testpmd, sizeof(testpmd));
	printf("ROW {\"row\": \"%s\", \"path\": \"%s\", \"burst\": %u, \"ring\": %u, "
	       "\"segments\": %u, \"queues\": %u, \"testpmd\": \"%s\"", row->name, path,
	       row->burst, row->ring, row->nb_segs, row->nb_queues, testpmd);
	for (unsigned int s = 0; s < nb_suts; s++) {
		const struct mana_model_queue *rx = &suts[s].queues[0].rx.at;
		const struct mana_model_queue *tx = &suts[s].queues[0].tx.at;

		printf(", \"heap_bytes_%s\": %" PRIu64 ", \"rings_bytes_%s\": %u",
		       suts[s].name, suts[s].heap_bytes, suts[s].name,
		       rx->ring_bytes + tx->ring_bytes +
		       (rx->nb_cqes + tx->nb_cqes) * HW_CQE_BYTES);
		if (is_counted)
			printf(", \"doorbells_%s\": %.6f, \"cq_doorbells_%s\": %.6f, "
			       "\"cqes_%s\": %.6f", suts[s].name,
			       figures[s].doorbells, suts[s].name,
			       figures[s].cq_doorbells, suts[s].name, figures[s].cqes);
		else
			printf(", \"cycles_%s\": %.2f", suts[s].name,
			       figures[s].cycles);
	}
	if (!is_counted && nb_suts > 1)
		printf(", \"cycles_ratio\": %.3f", figures[0].ratio);
	printf("}\n");
	fflush(stdout);
}

static void
run_row(const struct perf_row *row, unsigned int nb_suts, const struct options *options)
{
	const unsigned int lcore = rte_get_next_lcore(-1, 1, 0);
	struct figures figures[PERF_MAX_SUTS] = { 0 };

	if (row->ours_only)
		nb_suts = 1;
	for (unsigned int s = 0; s < nb_suts; s++) {
		perf_port_start(&suts[s], row, options->instructions);
		perf_use_more_pools(&suts[s], row);
		warm_cache(&suts[s]);
		if (row->is_scale) {
			perf_match_queues(&suts[s]);
			perf_stagger(&suts[s], row, lcore);
		}
	}
	if (options->instructions)
		for (unsigned int s = 0; s < nb_suts; s++)
			figures[s] = count_row(&suts[s], row, lcore);
	else
		time_row(row, nb_suts, options->nb_reps, lcore, figures);
	print_row(row, nb_suts, options->instructions, figures);
	for (unsigned int s = 0; s < nb_suts; s++)
		perf_port_stop(&suts[s]);
}

static bool
is_wanted(const struct perf_row *row, const struct options *options)
{
	bool wanted = options->nb_patterns == 0;

	for (int i = 0; i < options->nb_patterns; i++)
		wanted |= fnmatch(options->patterns[i], row->name, 0) == 0;
	/* Instructions do not depend on where the data lies. */
	if (options->instructions && row->place != PERF_HOT)
		return false;
	return wanted;
}

static void
list_rows(void)
{
	for (unsigned int i = 0; i < perf_nb_rows; i++)
		printf("%s\n", perf_rows[i].name);
	exit(EXIT_SUCCESS);
}

static void
parse(int argc, char **argv, struct options *options)
{
	int opt;

	options->nb_reps = 200;
	optind = 1;
	while ((opt = getopt(argc, argv, "o:r:R:il")) != -1) {
		if (opt == 'o')
			suts[0].plugin = optarg;
		else if (opt == 'r')
			suts[1].plugin = optarg;
		else if (opt == 'R')
			options->nb_reps = (unsigned int)atoi(optarg);
		else if (opt == 'i')
			options->instructions = true;
		else if (opt == 'l')
			list_rows();
		else
			options->nb_reps = 0;
	}
	if (suts[0].plugin == NULL || options->nb_reps == 0) {
		fputs(usage, stderr);
		exit(EXIT_FAILURE);
	}
	options->patterns = argv + optind;
	options->nb_patterns = argc - optind;
}

int
main(int argc, char **argv)
{
	struct options options = { 0 };
	unsigned int nb_suts, nb_run = 0;
	int ret = rte_eal_init(argc, argv);

	if (ret < 0)
		hand_fail("EAL does not start: %s", rte_strerror(rte_errno));
	parse(argc - ret, argv + ret, &options);
	hand_begin();
	nb_suts = suts[1].plugin != NULL ? 2 : 1;
	for (unsigned int s = 0; s < nb_suts; s++)
		perf_port_probe(&suts[s]);
	for (unsigned int i = 0; i < perf_nb_rows; i++) {
		if (!is_wanted(&perf_rows[i], &options))
			continue;
		if (perf_rows[i].place == PERF_OTHER_CORE && rte_lcore_count() < 2) {
			printf("SKIP %s: one core\n", perf_rows[i].name);
			continue;
		}
		if (perf_rows[i].ring > perf_port_max_ring(&suts[0])) {
			printf("SKIP %s: rdma-core makes no such rings: bench.sh --trixie\n",
			       perf_rows[i].name);
			continue;
		}
		run_row(&perf_rows[i], nb_suts, &options);
		nb_run++;
	}
	for (unsigned int s = 0; s < nb_suts; s++)
		perf_port_close(&suts[s]);
	if (nb_run == 0)
		hand_fail("no row has such a name");
	return EXIT_SUCCESS;
}
