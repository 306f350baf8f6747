/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Where a queue stands may be asked from any thread, while another one bursts.
 * Each of these looks runs step by step; before one instruction of it, a
 * different one each time, bursts of the other thread come in between. Whatever
 * they move, the answer is a number of descriptors that the ring has.
 */

#include "bed.h"
#include "steps.h"

#define NB_DESC 16
#define NB_ALL 32 /* first instructions, before each of which there is a burst */
#define MAX_BURST (NB_DESC / 2)

/* A look, what another thread does meanwhile, and when. */
struct moment {
	void (*meanwhile)(void *bed);
	void *bed;
	uint64_t at; /* instructions of the look before it */
	uint64_t nb;
};

static void
step(const struct steps_insn *insn, void *arg)
{
	struct moment *moment = arg;

	(void)insn;
	if (moment->nb++ == moment->at)
		moment->meanwhile(moment->bed);
}

/*
 * For each of the first instructions of the look, then for ever fewer: it has
 * loops; prepare brings the queue to where it starts.
 */
static void
try_all(const char *name, uint32_t (*look)(void *bed), void (*prepare)(void *bed),
	void (*meanwhile)(void *bed), void *bed)
{
	struct moment moment = { .meanwhile = meanwhile, .bed = bed };
	uint32_t nb;

	do {
		prepare(bed);
		moment.nb = 0;
		steps_begin(step, &moment);
		nb = look(bed);
		steps_end();
		if (nb > NB_DESC)
			fail_msg("%s: %u, with a burst before instruction %lu",
				 name, nb, moment.at);
		moment.at += 1 + moment.at / NB_ALL;
	} while (moment.nb >= moment.at);
	assert_true(moment.at > 5);
}

/* ---- Send ---- */

static void
tx_send(struct bed_tx *bed, uint32_t nb)
{
	struct rte_mbuf *pkts[MAX_BURST];

	for (uint32_t i = 0; i < nb; i++)
		pkts[i] = bed_mbuf(bed->mp, 60, i);
	assert_eq(bed->burst(bed->txq, pkts, nb), nb);
}

/* The ring full but for one, everything done. */
static void
tx_prepare(void *arg)
{
	struct bed_tx *bed = arg;

	bed_tx_complete_all(bed);
	(void)mana_txq_done_cleanup(bed->txq, 0);
	tx_send(bed, MAX_BURST);
	tx_send(bed, MAX_BURST - 1);
	bed_tx_complete_all(bed);
}

/* All that was out has gone, and one packet is. */
static void
tx_reap(void *arg)
{
	struct bed_tx *bed = arg;

	(void)mana_txq_done_cleanup(bed->txq, 0);
	tx_send(bed, 1);
}

/* A lap of the ring, and more. */
static void
tx_lap(void *arg)
{
	struct bed_tx *bed = arg;

	for (uint32_t i = 0; i < 5; i++) {
		bed_tx_complete_all(bed);
		(void)mana_txq_done_cleanup(bed->txq, 0);
		tx_send(bed, MAX_BURST);
	}
}

static uint32_t
tx_count(void *arg)
{
	return mana_txq_count(((struct bed_tx *)arg)->txq);
}

static uint32_t
tx_done(void *arg)
{
	return mana_txq_nb_done(((struct bed_tx *)arg)->txq);
}

static uint32_t
tx_posted(void *arg)
{
	return mana_txq_look_posted(((struct bed_tx *)arg)->txq);
}

static void
send_queue(void **state)
{
	void (*const meanwhile[])(void *bed) = { tx_reap, tx_lap };
	struct bed_tx *bed = bed_tx_new(&(struct bed_tx_opts){
		.nb_desc = NB_DESC, .start = UINT32_MAX - 10000 });

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(meanwhile); i++) {
		try_all("mana_txq_count", tx_count, tx_prepare, meanwhile[i], bed);
		try_all("mana_txq_nb_done", tx_done, tx_prepare, meanwhile[i], bed);
		try_all("mana_txq_look_posted", tx_posted, tx_prepare, meanwhile[i],
			bed);
	}
	bed_tx_complete_all(bed);
	(void)mana_txq_done_cleanup(bed->txq, 0);
	bed_tx_delete(bed);
}

/* ---- Receive ---- */

static void
rx_poll(struct bed_rx *bed)
{
	struct rte_mbuf *pkts[MAX_BURST];
	uint16_t nb;

	do {
		nb = mana_rx_path_select(MANA_RX_F_SCATTER)
			     ->burst(bed->rxq, pkts, MAX_BURST);
		rte_pktmbuf_free_bulk(pkts, nb);
	} while (nb != 0);
}

static void
rx_arrive(struct bed_rx *bed)
{
	while (bed_rx_available(bed) > 0)
		bed_rx_okay(bed, 60, 0);
}

static void
rx_prepare(void *arg)
{
	rx_poll(arg);
	rx_arrive(arg);
}

/* What was there is taken, and others posted. */
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
	return mana_rxq_count(((struct bed_rx *)arg)->rxq);
}

static uint32_t
rx_posted(void *arg)
{
	return mana_rxq_look_posted(((struct bed_rx *)arg)->rxq);
}

static void
receive_queue(void **state)
{
	void (*const meanwhile[])(void *bed) = { rx_take, rx_lap };

	(void)state;
	for (uint32_t i = 0; i < RTE_DIM(meanwhile); i++) {
		for (uint32_t nb_segs = 0; nb_segs <= 2; nb_segs += 2) {
			struct bed_rx *bed = bed_rx_new(&(struct bed_rx_opts){
				.nb_desc = NB_DESC, .start = UINT32_MAX - 10000,
				.free_thresh = 1, .nb_segs = nb_segs,
				.seg_bytes = { 256, 256 } });

			try_all("mana_rxq_count", rx_count, rx_prepare,
				meanwhile[i], bed);
			try_all("mana_rxq_look_posted", rx_posted, rx_prepare,
				meanwhile[i], bed);
			rx_poll(bed);
			bed_rx_delete(bed);
		}
	}
}

static int
group_setup(void **state)
{
	(void)state;
	bed_eal_init();
	return steps_init();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send_queue),
		cmocka_unit_test(receive_queue),
	};
	int ret = cmocka_run_group_tests(tests, group_setup, NULL);

	printf("%lu steps\n", steps_nb());
	return ret;
}
