/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sequence test: random operations, each followed by a check of all invariants.
 *
 * usage: test-pmd-sequence [--seed N] [--steps N] [--without A-B]... [--threaded]
 *                          [--verbose]
 * MANA_TEST_PART divides the number of steps.
 */

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_log.h>

#include "sequence.h"

#define DEFAULT_STEPS 10000
#define SETTLE_EVERY 200
#define NB_SMALL_MBUFS 1023
#define SMALL_BUFFER 1024
#define MAX_RANGES 512
#define LINE_BYTES 384
#define NB_LINES 40 /* shown by a failure */

static struct {
	uint64_t seed, nb_steps;
	bool is_verbose, is_threaded;
	/* Skipped steps. */
	struct {
		uint64_t first, last;
	} without[MAX_RANGES];
	unsigned int nb_without;
} options = { .seed = 1, .nb_steps = DEFAULT_STEPS };

static struct seq sequence;
static bool is_complete;

/* ---- Log of steps -------------------------------------------------------- */

static char lines[NB_LINES][LINE_BYTES];
static uint64_t nb_lines;

static void
new_line(const struct seq *seq, const char *name, unsigned int index)
{
	snprintf(lines[nb_lines % NB_LINES], LINE_BYTES, "%" PRIu64 ": port %u %s",
		 seq->step, index, name);
	nb_lines++;
}

void
seq_note(struct seq *seq, const char *format, ...)
{
	char *line = lines[(nb_lines - 1) % NB_LINES];
	size_t used = strlen(line);
	va_list args;

	va_start(args, format);
	vsnprintf(line + used, LINE_BYTES - used, format, args);
	va_end(args);
}

bool
seq_judge(struct seq *seq, enum seq_verdict verdict, int ret)
{
	seq_note(seq, " -> %d", ret);
	if (verdict == SEQ_OK && ret != 0)
		fail_msg("refused (%s)", rte_strerror(-ret));
	if (verdict == SEQ_REFUSED && ret >= 0)
		fail_msg("not refused");
	assert_true(ret <= 0);
	return ret == 0;
}

static void
show_failure(const struct seq *seq)
{
	printf("the last steps of %" PRIu64 ":\n", seq->step + 1);
	for (uint64_t i = nb_lines > NB_LINES ? nb_lines - NB_LINES : 0; i < nb_lines; i++)
		printf("  %s\n", lines[i % NB_LINES]);
	printf("once more: --seed %" PRIu64 " --steps %" PRIu64 "\n", seq->seed,
	       seq->step + 1);
}

/* ---- Random numbers ------------------------------------------------------ */

/* splitmix64: any state is valid, also one made of seed and step. */
static uint64_t
next_random(struct seq *seq)
{
	uint64_t z = seq->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint32_t
seq_random(struct seq *seq, uint32_t n)
{
	return (next_random(seq) >> 32) * n >> 32;
}

bool
seq_one_in(struct seq *seq, uint32_t n)
{
	return seq_random(seq, n) == 0;
}

static uint32_t
weight_of(const struct seq_operation *operations, unsigned int nb)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < nb; i++)
		sum += operations[i].weight;
	return sum;
}

static const struct seq_operation *
pick_from(const struct seq_operation *operations, unsigned int nb, uint32_t *at)
{
	for (unsigned int i = 0; i < nb; i++) {
		if (*at < operations[i].weight)
			return &operations[i];
		*at -= operations[i].weight;
	}
	return NULL;
}

static const struct seq_operation *
pick(struct seq *seq)
{
	uint32_t all = weight_of(seq_control, seq_nb_control) +
		       weight_of(seq_traffic, seq_nb_traffic);
	uint32_t at = seq_random(seq, all);
	const struct seq_operation *found = pick_from(seq_control, seq_nb_control, &at);

	return found != NULL ? found : pick_from(seq_traffic, seq_nb_traffic, &at);
}

/* ---- Invariants ---------------------------------------------------------- */

static void
check_equal(const char *what, unsigned int index, uint64_t is, uint64_t should_be)
{
	if (is != should_be)
		fail_msg("port %u: %s %" PRIu64 ", should be %" PRIu64, index, what, is,
			 should_be);
}

static void
check_port(const struct seq *seq, unsigned int index)
{
	const struct seq_port *port = &seq->port[index];
	uint16_t id = seq->fx->port[index];
	struct rte_eth_dev_info info;
	struct rte_eth_stats stats;
	uint16_t mtu;

	check_equal("valid", index, rte_eth_dev_is_valid_port(id), port->is_open);
	if (!port->is_open)
		return;
	assert_int_equal(rte_eth_stats_get(id, &stats), 0);
	check_equal("opackets", index, stats.opackets, port->nb_sent);
	check_equal("obytes", index, stats.obytes, port->sent_bytes);
	check_equal("ipackets", index, stats.ipackets, port->nb_received);
	check_equal("ibytes", index, stats.ibytes, port->received_bytes);
	check_equal("imissed", index, stats.imissed, 0);
	assert_int_equal(rte_eth_dev_info_get(id, &info), 0);
	check_equal("Rx queues", index, info.nb_rx_queues, port->nb_rxq);
	check_equal("Tx queues", index, info.nb_tx_queues, port->nb_txq);
	assert_int_equal(rte_eth_dev_get_mtu(id, &mtu), 0);
	check_equal("MTU", index, mtu, port->mtu);
}

/* Stopped ports hold no mbufs. */
static void
check_mbufs(const struct seq *seq)
{
	if (seq->port[0].is_started || seq->port[1].is_started)
		return;
	for (unsigned int i = 0; i < SEQ_NB_POOLS; i++) {
		struct rte_mempool *pool = seq->pools[i];
		unsigned int nb_held = pool == seq->held_pool ? seq->nb_held : 0;

		if (rte_mempool_avail_count(pool) + nb_held != pool->size)
			fail_msg("pool %u: %u of %u mbufs, %u held", i,
				 rte_mempool_avail_count(pool), pool->size, nb_held);
	}
}

static void
check_all(const struct seq *seq)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		check_port(seq, i);
	check_mbufs(seq);
	if (fx_model.violations(NULL) != 0)
		fail_msg("a violation");
}

/* ---- Main loop ----------------------------------------------------------- */

static bool
is_left_out(uint64_t step)
{
	for (unsigned int i = 0; i < options.nb_without; i++)
		if (step >= options.without[i].first && step <= options.without[i].last)
			return true;
	return false;
}

static void
run_step(struct seq *seq)
{
	const struct seq_operation *operation;
	unsigned int index;

	seq->random = seq->seed * 0xd1342543de82ef95u + seq->step;
	(void)next_random(seq);
	operation = pick(seq);
	index = seq_random(seq, FX_NB_PORTS);
	new_line(seq, operation->name, index);
	operation->run(seq, index);
	check_all(seq);
	if (options.is_verbose)
		printf("%s\n", lines[(nb_lines - 1) % NB_LINES]);
}

static void
prepare(struct seq *seq, struct fixture *fx)
{
	memset(seq, 0, sizeof(*seq));
	seq->fx = fx;
	seq->seed = options.seed;
	seq->is_threaded = options.is_threaded;
	seq->pools[0] = fx->pool;
	seq->pools[1] = fx_pool(fx, FX_NB_MBUFS, RTE_MBUF_DEFAULT_BUF_SIZE);
	seq->pools[2] = fx_pool(fx, NB_SMALL_MBUFS,
				SMALL_BUFFER + RTE_PKTMBUF_HEADROOM);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		fx->port[i] = RTE_MAX_ETHPORTS;
	fx_holdings_get(&seq->bare);
	/* the sequence keeps its own counters */
	fx->ignore_counters = true;
	fx_expect_error("");
}

static int
teardown(void **state)
{
	if (!is_complete) {
		show_failure(&sequence);
		seq_release_held(&sequence);
	}
	rte_log_set_global_level(RTE_LOG_DEBUG);
	return fx_teardown(state);
}

FX_TEST_OF(test_sequence, fx_setup_bare, teardown)
{
	struct seq *seq = &sequence;

	prepare(seq, fx);
	printf("--seed %" PRIu64 " --steps %" PRIu64 "\n", options.seed, options.nb_steps);
	if (!options.is_verbose)
		rte_log_set_global_level(RTE_LOG_CRIT);
	for (seq->step = 0; seq->step < options.nb_steps; seq->step++) {
		if (is_left_out(seq->step))
			continue;
		run_step(seq);
		if (seq->step % SETTLE_EVERY == SETTLE_EVERY - 1)
			seq_settle(seq);
	}
	seq->step--;
	seq_settle(seq);
	seq_release_held(seq);
	is_complete = true;
}

static void
add_range(const char *text)
{
	unsigned int i = options.nb_without++;

	if (i >= MAX_RANGES ||
	    sscanf(text, "%" SCNu64 "-%" SCNu64, &options.without[i].first,
		   &options.without[i].last) != 2) {
		printf("--without %s: give FIRST-LAST, at most %d times\n", text, MAX_RANGES);
		exit(EXIT_FAILURE);
	}
}

int
main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "steps", required_argument, NULL, 'n' },
		{ "without", required_argument, NULL, 'w' },
		{ "threaded", no_argument, NULL, 't' },
		{ "verbose", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == 's')
			options.seed = strtoull(optarg, NULL, 0);
		else if (option == 'n')
			options.nb_steps = strtoull(optarg, NULL, 0);
		else if (option == 'w')
			add_range(optarg);
		else if (option == 't')
			options.is_threaded = true;
		else if (option == 'v')
			options.is_verbose = true;
		else
			return EXIT_FAILURE;
	}
	options.nb_steps = RTE_MAX(options.nb_steps / fx_part(), UINT64_C(1));
	optind = 0; /* EAL uses getopt, too */
	return FX_RUN("sequence");
}
