/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any thread may query the state of a queue during bursts of another thread.
 * Each query runs step by step; before one of its instructions, each time
 * another, bursts of the other thread run. The result never exceeds the ring
 * size.
 */

#include "fixture.h"
#include "steps.h"

#define NB_DESC 16
#define NB_ALL 32 /* bursts run before each of the first instructions */
#define MAX_BURST (NB_DESC / 2)

/* A query, the other thread's bursts, and their time. */
struct interleaving {
	void (*meanwhile)(void *fx);
	void *fx;
	uint64_t at; /* before the instruction with this number */
	uint64_t nb;
};

static void
step(const struct steps_insn *insn, void *arg)
{
	struct interleaving *interleaving = arg;

	if (interleaving->nb++ == interleaving->at)
		interleaving->meanwhile(interleaving->fx);
}

/*
 * Tries each of the first instructions, then fewer, because queries loop.
 * prepare resets the queue.
 */
static void
try_all(const char *name, uint32_t (*query)(void *fx),
	void (*prepare)(void *fx), void (*meanwhile)(void *fx), void *fx)
{
	struct interleaving interleaving = { .meanwhile = meanwhile, .fx = fx };
	uint32_t nb;

	do {
		prepare(fx);
		interleaving.nb = 0;
		steps_begin(step, &interleaving);
		nb = query(fx);
		steps_end();
		if (nb > NB_DESC)
			fail_msg("%s: %u, with a burst before instruction %lu",
				 name, nb, interleaving.at);
		interleaving.at += 1 + interleaving.at / NB_ALL;
	} while (interleaving.nb >= interleaving.at);
	assert_true(interleaving.at > 5);
}

/* ---- Send ---- */

static void
tx_send(struct fx_tx *fx, uint32_t nb)
{
	struct rte_mbuf *pkts[MAX_BURST];

	for (uint32_t i = 0; i < nb; i++)
		pkts[i] = fx_mbuf(fx->mp, 60, i);
	assert_eq(fx->burst(fx->txq, pkts, nb), nb);
}

/* One descriptor is free, all WQEs are done. */
static void
tx_prepare(void *arg)
{
	struct fx_tx *fx = arg;

	fx_tx_complete_all(fx);
	(void)mana_txq_done_cleanup(fx->txq, 0);
	tx_send(fx, MAX_BURST);
	tx_send(fx, MAX_BURST - 1);
	fx_tx_complete_all(fx);
}

/* All outstanding packets complete, and one is posted. */
static void
tx_reap(void *arg)
{
	struct fx_tx *fx = arg;

	(void)mana_txq_done_cleanup(fx->txq, 0);
	tx_send(fx, 1);
}

/* More than a lap of the ring. */
static void
tx_lap(void *arg)
{
	struct fx_tx *fx = arg;

	for (uint32_t i = 0; i < 5; i++) {
		fx_tx_complete_all(fx);
		(void)mana_txq_done_cleanup(fx->txq, 0);
		tx_send(fx, MAX_BURST);
	}
}

static uint32_t
tx_count(void *arg)
{
	return mana_txq_count(((struct fx_tx *)arg)->txq);
}

static uint32_t
tx_done(void *arg)
{
	return mana_txq_nb_done(((struct fx_tx *)arg)->txq, UINT32_MAX);
}

static uint32_t
tx_posted(void *arg)
{
	return mana_txq_posted_snapshot(((struct fx_tx *)arg)->txq);
}

TEST(tx_queue)
{
	void (*const meanwhile[])(void *fx) = { tx_reap, tx_lap };
	struct fx_tx *fx = fx_tx_new(&(struct fx_tx_opts){
		.nb_desc = NB_DESC, .start = UINT32_MAX - 10000 });

	for (uint32_t i = 0; i < RTE_DIM(meanwhile); i++) {
		try_all("mana_txq_count", tx_count, tx_prepare, meanwhile[i], fx);
		try_all("mana_txq_nb_done", tx_done, tx_prepare, meanwhile[i], fx);
		try_all("mana_txq_posted_snapshot", tx_posted, tx_prepare, meanwhile[i],
			fx);
	}
	fx_tx_complete_all(fx);
	(void)mana_txq_done_cleanup(fx->txq, 0);
	fx_tx_delete(fx);
}

/* ---- Receive ---- */

static void
rx_poll(struct fx_rx *fx)
{
	struct rte_mbuf *pkts[MAX_BURST];
	uint16_t nb;

	do {
		nb = mana_rx_path_select()->burst(fx->rxq, pkts, MAX_BURST);
		rte_pktmbuf_free_bulk(pkts, nb);
	} while (nb != 0);
}

static void
rx_arrive(struct fx_rx *fx)
{
	while (fx_rx_available(fx) > 0)
		fx_rx_okay(fx, 60, 0);
}

static void
rx_prepare(void *arg)
{
	rx_poll(arg);
	rx_arrive(arg);
}

/* Receives all packets; posts buffers. */
static void
rx_take(void *arg)
{
	rx_poll(arg);
}

static void
rx_lap(void *arg)
{
	for (uint32_t i = 0; i < 3; i++)
		rx_prepare(arg);
}

static uint32_t
rx_count(void *arg)
{
	return mana_rxq_count(((struct fx_rx *)arg)->rxq);
}

static uint32_t
rx_posted(void *arg)
{
	return mana_hwq_posted_snapshot(((struct fx_rx *)arg)->hwq);
}

TEST(rx_queue)
{
	void (*const meanwhile[])(void *fx) = { rx_take, rx_lap };

	for (uint32_t i = 0; i < RTE_DIM(meanwhile); i++) {
		for (uint32_t nb_segs = 0; nb_segs <= 2; nb_segs += 2) {
			struct fx_rx *fx = fx_rx_new(&(struct fx_rx_opts){
				.nb_desc = NB_DESC, .start = UINT32_MAX - 10000,
				.free_thresh = 1, .nb_segs = nb_segs,
				.seg_bytes = { 256, 256 } });

			try_all("mana_rxq_count", rx_count, rx_prepare,
				meanwhile[i], fx);
			try_all("mana_hwq_posted_snapshot", rx_posted, rx_prepare,
				meanwhile[i], fx);
			rx_poll(fx);
			fx_rx_delete(fx);
		}
	}
}

static int
group_setup(void **state)
{
	fx_eal_init();
	return steps_init();
}

int
main(void)
{
	int ret = test_run("unit", group_setup, NULL);

	printf("%lu steps\n", steps_nb());
	return ret;
}
