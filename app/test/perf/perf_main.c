/* SPDX-License-Identifier: BSD-3-Clause */

#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "perf.h"
#include "perf_clock.h"
#ifdef PERF_HAS_VALGRIND
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

#define NB_BATCHES 8 /* per driver and repetition */
#define NB_DROPPED 2 /* the first ones are dropped */
#define NB_WARM 10 /* before counting instructions */
#define NB_COUNTED 16

static const char usage[] =
	"usage: mana-model --mode step --functions 2 --ports 1 -- mana-perf [EAL options] --\n"
	"         -o PLUGIN [-r PLUGIN] [-f] [-s PROGRAM] [-R N | -i] [row...]\n"
	"  -o PLUGIN  this driver\n"
	"  -r PLUGIN  the driver to compare with\n"
	"  -f         also compare with the floor\n"
	"  -s PROGRAM also rows whose bursts run in a secondary process; this program, or\n"
	"             one that starts it; requires memory that processes can share\n"
	"  -R N       repetitions, 200 without it\n"
	"  -i         count instructions: under valgrind --tool=callgrind; with -s, PROGRAM\n"
	"             runs under it, and only rows in a secondary process are counted\n"
	"  -l         list the rows\n"
	"  row        names of rows, with * and ?; all of them without any\n";

/* Per row and driver, per packet: cycles and others. */
struct figures {
	double cycles;
	double core_mhz; /* of these cycles */
	double ratio; /* to the first entrant's cycles */
	double doorbells, cq_doorbells, cqes;
};

struct options {
	unsigned int nb_reps;
	bool instructions;
	bool floor;
	const char *secondary; /* program; NULL: rows in a secondary process are skipped */
	char **patterns;
	int nb_patterns;
};

static struct perf_sut ours = { .name = "ours", .tells_ptypes = true };
static struct perf_sut rival = { .name = "rival", .fn = 1, .leaves_posted = true };
static struct perf_sut the_floor = { .name = "floor" };

/* Drivers measured in a row; the first is this driver. */
struct entrants {
	struct perf_sut *sut[PERF_MAX_SUTS];
	struct figures figures[PERF_MAX_SUTS];
	unsigned int nb;
};

static void
enter(struct entrants *in, struct perf_sut *sut)
{
	in->sut[in->nb++] = sut;
}

static struct entrants
entrants_of(const struct perf_row *row, const struct options *options)
{
	struct entrants in = { .nb = 0 };

	enter(&in, &ours);
	if (rival.plugin != NULL && !row->no_rival)
		enter(&in, &rival);
	if (options->floor && !row->no_floor)
		enter(&in, &the_floor);
	return in;
}

static void
start(struct perf_sut *sut, const struct perf_row *row, const struct options *options)
{
	if (sut->plugin == NULL) {
		perf_floor_start(sut, row, options->instructions);
		return;
	}
	perf_port_start(sut, row, options->instructions);
	perf_use_more_pools(sut, row);
}

static void
stop(struct perf_sut *sut)
{
	if (sut->plugin == NULL)
		perf_floor_stop(sut);
	else if (!perf_is_secondary())
		perf_port_stop(sut);
}

/* Calibrates this core for each row, as its frequency may change. */
static struct perf_clock
calibrate(void)
{
	static bool was_said;
	struct perf_clock clock;
	char text[256];

	if (perf_clock_calibrate(&clock, text, sizeof(text)) != 0)
		hand_fail("%s", text);
	if (!was_said)
		printf("CLOCK %s\n", text);
	was_said = true;
	return clock;
}

static int
compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts values. part: 0.5 is the median. */
static double
quantile(double *values, unsigned int nb, double part)
{
	qsort(values, nb, sizeof(*values), compare);
	return values[(unsigned int)((nb - 1) * part)];
}

/* The steady state has no miss, hence no lock, and no message to another process. */
static void
misses_check(const struct perf_sut *sut)
{
	const uint64_t nb = perf_port_misses(sut) - sut->nb_misses;

	if (nb != 0)
		hand_fail("%s: %" PRIu64
			  " look-ups missed the table of memory regions",
			  sut->name, nb);
}

/* Ticks of the kept batches of a repetition; returns the minimum. */
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
time_row(const struct perf_row *row, struct entrants *in, unsigned int nb_reps,
	 unsigned int lcore)
{
	const unsigned int nb_kept = NB_BATCHES - NB_DROPPED;
	const struct perf_clock clock = calibrate();
	const double per_packet = perf_batch(row) * clock.ticks_per_cycle;
	double *ticks[PERF_MAX_SUTS], *ratios[PERF_MAX_SUTS];

	for (unsigned int s = 0; s < in->nb; s++) {
		ratios[s] = calloc(nb_reps, sizeof(*ratios[s]));
		ticks[s] = calloc(nb_reps * nb_kept, sizeof(*ticks[s]));
	}
	for (unsigned int rep = 0; rep < nb_reps; rep++) {
		double best[PERF_MAX_SUTS];

		for (unsigned int s = 0; s < in->nb && rep == 1; s++)
			in->sut[s]->nb_misses = perf_port_misses(in->sut[s]);
		for (unsigned int k = 0; k < in->nb; k++) {
			const unsigned int s = (rep + k) % in->nb;

			best[s] = repeat(in->sut[s], row, lcore,
					 ticks[s] + rep * nb_kept);
		}
		for (unsigned int s = 0; s < in->nb; s++)
			ratios[s][rep] = best[s] / best[0];
	}
	for (unsigned int s = 0; s < in->nb; s++) {
		if (nb_reps > 1)
			misses_check(in->sut[s]);
		in->figures[s] = (struct figures){
			.core_mhz = clock.core_mhz,
			.ratio = quantile(ratios[s], nb_reps, 0.5),
			.cycles = quantile(ticks[s], nb_reps * nb_kept, 0.1) /
				per_packet,
		};
		free(ticks[s]);
		free(ratios[s]);
	}
}

/* Events on the rings of all queues. */
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
	sut->nb_misses = perf_port_misses(sut);
	CALLGRIND_ZERO_STATS;
	for (unsigned int b = 0; b < NB_COUNTED; b++)
		perf_run_batch(sut, row, lcore);
	snprintf(label, sizeof(label), "%s %s %.0f", row->name, sut->name, nb_packets);
	CALLGRIND_DUMP_STATS_AT(label);
	misses_check(sut);
	after = count_events(sut);
	return (struct figures){
		.doorbells = (after.nb_rung - before.nb_rung) / nb_packets,
		.cq_doorbells = (after.nb_cq_rung - before.nb_cq_rung) / nb_packets,
		.cqes = (after.nb_cqes - before.nb_cqes) / nb_packets,
	};
}

static void
measure(const struct perf_row *row, struct entrants *in,
	const struct options *options, unsigned int lcore)
{
	if (options->instructions)
		for (unsigned int s = 0; s < in->nb; s++)
			in->figures[s] = count_row(in->sut[s], row, lcore);
	else
		time_row(row, in, options->nb_reps, lcore);
}

/* Fills this core's mempool cache, as in a running program. */
static void
warm_cache(struct perf_sut *sut)
{
	struct rte_mbuf *pkts[PERF_CACHE_MBUFS];

	if (rte_pktmbuf_alloc_bulk(sut->pool, pkts, RTE_DIM(pkts)) == 0)
		rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));
}

static void
print_row(const struct perf_row *row, const struct entrants *in, bool is_counted)
{
	char path[128], testpmd[256];

	perf_port_path(&ours, row->kind, path, sizeof(path));
	perf_port_testpmd(&ours, row, testpmd, sizeof(testpmd));
	printf("ROW {\"row\": \"%s\", \"path\": \"%s\", \"burst\": %u, \"ring\": %u, "
	       "\"segments\": %u, \"queues\": %u, \"testpmd\": \"%s\"", row->name, path,
	       row->burst, row->ring, row->nb_segs, row->nb_queues, testpmd);
	for (unsigned int s = 0; s < in->nb; s++) {
		const struct mana_model_queue *rx = &in->sut[s]->queues[0].rx.at;
		const struct mana_model_queue *tx = &in->sut[s]->queues[0].tx.at;
		const struct figures *f = &in->figures[s];
		const char *who = in->sut[s]->name;

		if (!perf_is_secondary()) /* which has not allocated them */
			printf(", \"heap_bytes_%s\": %" PRIu64 ", \"rings_bytes_%s\": %u", who,
			       in->sut[s]->heap_bytes, who,
			       rx->ring_bytes + tx->ring_bytes +
				       (rx->nb_cqes + tx->nb_cqes) * HW_CQE_BYTES);
		if (is_counted)
			printf(", \"doorbells_%s\": %.6f, \"cq_doorbells_%s\": %.6f, "
			       "\"cqes_%s\": %.6f", who, f->doorbells, who,
			       f->cq_doorbells, who, f->cqes);
		else
			printf(", \"cycles_%s\": %.2f", who, f->cycles);
		if (!is_counted && s > 0)
			printf(", \"cycles_ratio_%s\": %.3f", who, f->ratio);
	}
	if (!is_counted)
		printf(", \"core_mhz\": %.0f", in->figures[0].core_mhz);
	printf("}\n");
	fflush(stdout);
}

/* The secondary process uses the started port, measures, and prints the row. */
static void
run_in_secondary(const struct perf_row *row, const struct options *options)
{
	char nb_reps[16];

	snprintf(nb_reps, sizeof(nb_reps), "%u", options->nb_reps);
	perf_secondary_run(options->secondary, &ours,
			   (const char *[]){ "-o", ours.plugin, "-R", nb_reps,
					     options->instructions ? "-i" : "--",
					     row->name, NULL });
}

static void
run_row(const struct perf_row *row, const struct options *options)
{
	const unsigned int lcore = rte_get_next_lcore(-1, 1, 0);
	struct entrants in = entrants_of(row, options);

	for (unsigned int s = 0; s < in.nb; s++) {
		start(in.sut[s], row, options);
		warm_cache(in.sut[s]);
		if (row->is_scale) {
			perf_match_queues(in.sut[s]);
			perf_stagger(in.sut[s], row, lcore);
		}
	}
	if (row->is_secondary && !perf_is_secondary()) {
		run_in_secondary(row, options);
	} else {
		measure(row, &in, options, lcore);
		print_row(row, &in, options->instructions);
	}
	for (unsigned int s = 0; s < in.nb; s++)
		stop(in.sut[s]);
}

static bool
is_named(const struct perf_row *row, const struct options *options)
{
	bool is_named = options->nb_patterns == 0;

	for (int i = 0; i < options->nb_patterns; i++)
		is_named |= fnmatch(options->patterns[i], row->name, 0) == 0;
	return is_named;
}

/* Instruction counts do not depend on the place of data, and are those of one process. */
static bool
is_counted(const struct perf_row *row, const struct options *options)
{
	return row->place == PERF_HOT &&
	       row->is_secondary == (options->secondary != NULL || perf_is_secondary());
}

/* NULL: none. */
static const char *
reason_to_skip(const struct perf_row *row, const struct options *options)
{
	if (row->is_secondary && options->secondary == NULL && !perf_is_secondary())
		return "no memory that processes share: -s";
	if (perf_needs_other_core(row->place) && rte_lcore_count() < 2)
		return "one core";
	if (row->ring > perf_port_max_ring(&ours))
		return "rdma-core makes no such rings: bench.sh --trixie";
	return NULL;
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
	while ((opt = getopt(argc, argv, "o:r:fs:R:il")) != -1) {
		if (opt == 'o')
			ours.plugin = optarg;
		else if (opt == 'r')
			rival.plugin = optarg;
		else if (opt == 'f')
			options->floor = true;
		else if (opt == 's')
			options->secondary = optarg;
		else if (opt == 'R')
			options->nb_reps = (unsigned int)atoi(optarg);
		else if (opt == 'i')
			options->instructions = true;
		else if (opt == 'l')
			list_rows();
		else
			options->nb_reps = 0;
	}
	if (ours.plugin == NULL || options->nb_reps == 0) {
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
	unsigned int nb_named = 0;
	const char *reason;
	int ret = rte_eal_init(argc, argv);

	if (ret < 0)
		hand_fail("EAL initialization failed: %s", rte_strerror(rte_errno));
	parse(argc - ret, argv + ret, &options);
	hand_begin();
	perf_port_probe(&ours);
	if (rival.plugin != NULL)
		perf_port_probe(&rival);
	if (options.floor)
		perf_floor_probe(&the_floor);
	for (unsigned int i = 0; i < perf_nb_rows; i++) {
		if (!is_named(&perf_rows[i], &options))
			continue;
		nb_named++;
		if (options.instructions && !is_counted(&perf_rows[i], &options))
			continue;
		reason = reason_to_skip(&perf_rows[i], &options);
		if (reason != NULL)
			printf("SKIP %s: %s\n", perf_rows[i].name, reason);
		else
			run_row(&perf_rows[i], &options);
	}
	if (perf_is_secondary())
		return EXIT_SUCCESS; /* the primary process closes the ports */
	perf_port_close(&ours);
	if (rival.plugin != NULL)
		perf_port_close(&rival);
	if (nb_named == 0)
		hand_fail("no row matches");
	return EXIT_SUCCESS;
}
