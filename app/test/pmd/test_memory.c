/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Where packets live: heap, foreign and mapped memory, registered when it is
 * needed and deregistered when it goes.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <rte_bus_pci.h>
#include <rte_dev.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "bench.h"

#define BUF_BYTES 2048

static const struct bench_config plain;
static struct rte_mbuf_ext_shared_info shinfo;

static void
buf_released(void *addr __rte_unused, void *arg)
{
	*(unsigned int *)arg += 1;
}

static unsigned int
nb_mrs(void)
{
	struct mana_model_objects objects;

	assert_int_equal(bench_model.objects(&objects), 0);
	return objects.mr;
}

/* Sends a frame that lies in someone's memory; it must arrive as it was. */
static void
send_from(struct bench *bench, void *buf, uint32_t seed, bool write_it)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(bench->pool);
	unsigned int nb_released = 0;
	uint8_t bytes[200];

	assert_non_null(m);
	bench_frame_bytes(bytes, sizeof(bytes), seed);
	if (write_it)
		memcpy(buf, bytes, sizeof(bytes));
	shinfo.free_cb = buf_released;
	shinfo.fcb_opaque = &nb_released;
	rte_mbuf_ext_refcnt_set(&shinfo, 1);
	rte_pktmbuf_attach_extbuf(m, buf, RTE_BAD_IOVA, BUF_BYTES, &shinfo);
	m->data_off = 0;
	m->data_len = m->pkt_len = sizeof(bytes);
	bench_send(bench->port[0], 0, &m, 1);
	assert_int_equal(bench_receive(bench->port[1], 0, &m, 1), 1);
	bench_check_bytes(m, bytes, sizeof(bytes));
	rte_pktmbuf_free(m);
	rte_eth_tx_done_cleanup(bench->port[0], 0, 0);
	assert_int_equal(nb_released, 1);
}

/* DPDK's own heap: what it gives back to the system is deregistered. */
static void
test_heap(void **state)
{
	struct bench *bench = *state;
	unsigned int before;

	bench_start(bench, &plain);
	bench_pass_one(bench);
	before = nb_mrs();
	for (unsigned int round = 0; round < 5; round++) {
		/* more than there is: new pages are taken from the system */
		char *heap = rte_malloc(NULL, 20 << 20, 0);

		assert_non_null(heap);
		for (unsigned int i = 0; i < 8; i++)
			send_from(bench, heap + (i << 20) - 100 * (i & 1) + 4000,
				  round * 8 + i, true);
		rte_free(heap);
		if (rte_eal_has_hugepages())
			assert_int_equal(nb_mrs(), before);
	}
}

/* Memory that DPDK knows nothing of, in one piece and across pages. */
static void
test_foreign(void **state)
{
	struct bench *bench = *state;
	char *foreign = aligned_alloc(4096, 64 * 4096);
	unsigned int before;

	assert_non_null(foreign);
	bench_start(bench, &plain);
	bench_pass_one(bench);
	before = nb_mrs();
	for (unsigned int i = 0; i < 60; i++)
		send_from(bench, foreign + i * 4096 + 4096 - i, i, true);
	assert_true(nb_mrs() > before);
	/* again: nothing new is registered */
	before = nb_mrs();
	for (unsigned int i = 0; i < 60; i++)
		send_from(bench, foreign + i * 4096 + 4096 - i, i, true);
	assert_int_equal(nb_mrs(), before);
	/* nobody tells when it goes: it goes with the stop */
	bench_stop(bench);
	assert_true(nb_mrs() < before);
	free(foreign);
}

/* The device needs no right to write what is only sent. */
static void
test_read_only(void **state)
{
	struct bench *bench = *state;
	char *map = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(map != MAP_FAILED);
	bench_frame_bytes((uint8_t *)map, 200, 77);
	assert_int_equal(mprotect(map, 2 * 4096, PROT_READ), 0);
	bench_start(bench, &plain);
	send_from(bench, map, 77, false);
	bench_stop(bench);
	munmap(map, 2 * 4096);
}

/* rte_dev_dma_map(): registered before the first packet, for both ports. */
static void
test_mapped_by_application(void **state)
{
	struct bench *bench = *state;
	char *foreign = aligned_alloc(4096, 4 * 4096);
	struct rte_eth_dev_info info;
	unsigned int before;

	assert_non_null(foreign);
	assert_int_equal(rte_extmem_register(foreign, 4 * 4096, NULL, 0, 4096), 0);
	bench_start(bench, &plain);
	bench_pass_one(bench);
	before = nb_mrs();
	assert_int_equal(rte_eth_dev_info_get(bench->port[0], &info), 0);
	assert_int_equal(rte_dev_dma_map(info.device, foreign, 0, 4 * 4096), 0);
	assert_int_equal(nb_mrs(), before + 2);
	send_from(bench, foreign + 4096, 5, true);
	assert_int_equal(nb_mrs(), before + 2);
	assert_int_equal(rte_dev_dma_unmap(info.device, foreign, 0, 4 * 4096), 0);
	assert_int_equal(nb_mrs(), before);
	assert_true(rte_dev_dma_unmap(info.device, foreign, 0, 4 * 4096) != 0);
	/* without it, it is found when it is needed */
	send_from(bench, foreign + 4096, 6, true);
	assert_int_equal(nb_mrs(), before + 1);
	bench_stop(bench);
	assert_int_equal(rte_extmem_unregister(foreign, 4 * 4096), 0);
	free(foreign);
}

/* Without the right to lock memory the cause is named, and nothing is left. */
static void
test_no_right_to_lock(void **state)
{
	struct bench *bench = *state;
	struct rlimit old, low = { .rlim_cur = 65536 };
	struct rte_eth_conf conf = { 0 };
	struct bench_holdings before;

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
	low.rlim_max = old.rlim_max;
	assert_int_equal(rte_eth_dev_configure(bench->port[0], 1, 1, &conf), 0);
	bench_hold(&before);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &low), 0);
	assert_int_equal(bench_model.privileges(true, false), 0);
	bench_expect_error("");
	assert_int_equal(rte_eth_rx_queue_setup(bench->port[0], 0, 64, SOCKET_ID_ANY,
						NULL, bench->pool), -ENOMEM);
	assert_true(bench_nb_logged(RTE_LOG_ERR, "CAP_IPC_LOCK") > 0);
	bench_check_held(&before, "after the refused setup");
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &old), 0);
	assert_int_equal(bench_model.privileges(true, true), 0);
	bench_start(bench, &plain);
	bench_pass_one(bench);
}

/* A packet that cannot be registered is freed and counted; the next goes. */
static void
test_refused_in_a_burst(void **state)
{
	struct bench *bench = *state;
	char *foreign = aligned_alloc(4096, 4 * 4096);
	struct rte_eth_stats stats;
	struct rte_mbuf *m;
	unsigned int nb_released = 0;

	assert_non_null(foreign);
	bench->ignore_counters = true;
	bench_expect_error("cannot register");
	bench_start(bench, &plain);
	bench_pass_one(bench);
	assert_int_equal(rte_eth_stats_reset(bench->port[0]), 0);
	m = rte_pktmbuf_alloc(bench->pool);
	shinfo.free_cb = buf_released;
	shinfo.fcb_opaque = &nb_released;
	rte_mbuf_ext_refcnt_set(&shinfo, 1);
	rte_pktmbuf_attach_extbuf(m, foreign, RTE_BAD_IOVA, BUF_BYTES, &shinfo);
	m->data_off = 0;
	m->data_len = m->pkt_len = 100;
	/* each attempt of a packet is refused, once for all */
	assert_int_equal(bench_model.fault_arm("reg_mr", 1, EPROTO), 0);
	assert_int_equal(rte_eth_tx_burst(bench->port[0], 0, &m, 1), 1);
	bench_model.fault_disarm();
	if (nb_released == 1) {
		assert_int_equal(rte_eth_stats_get(bench->port[0], &stats), 0);
		assert_int_equal(stats.oerrors, 1);
		assert_int_equal(stats.opackets, 0);
	} else { /* a second attempt of the driver succeeded */
		bench_drain(bench);
	}
	send_from(bench, foreign + 4096, 9, true);
	bench_stop(bench);
	free(foreign);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(test_heap),
		BENCH_TEST(test_foreign),
		BENCH_TEST(test_read_only),
		BENCH_TEST(test_mapped_by_application),
		BENCH_TEST(test_no_right_to_lock),
		BENCH_TEST(test_refused_in_a_burst),
	};

	return BENCH_RUN("memory", tests);
}
