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
#include <rte_mbuf_pool_ops.h>
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

/* Memory that nobody tells the end of: no key of it outlives its queue. */
static void
test_pinned_pool_replaced(void **state)
{
	const size_t len = 4 << 20;
	struct bench *bench = *state;
	struct rte_eth_conf conf = { 0 };
	unsigned int before;

	assert_int_equal(rte_eth_dev_configure(bench->port[0], 1, 1, &conf), 0);
	assert_int_equal(rte_eth_tx_queue_setup(bench->port[0], 0, 64, SOCKET_ID_ANY,
						NULL), 0);
	before = nb_mrs();
	for (unsigned int i = 0; i < 3; i++) {
		struct rte_pktmbuf_extmem extmem = {
			.buf_iova = RTE_BAD_IOVA,
			.buf_len = len,
			.elt_size = RTE_MBUF_DEFAULT_BUF_SIZE,
		};
		struct rte_mempool *pool;

		/* Linux gives the same address again: a key would be of old pages */
		extmem.buf_ptr = mmap(NULL, len, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(extmem.buf_ptr != MAP_FAILED);
		assert_int_equal(rte_extmem_register(extmem.buf_ptr, len, NULL, 0,
						     4096), 0);
		pool = rte_pktmbuf_pool_create_extbuf("pinned", 511, 0, 0,
						      RTE_MBUF_DEFAULT_BUF_SIZE,
						      SOCKET_ID_ANY, &extmem, 1);
		assert_non_null(pool);
		assert_int_equal(rte_eth_rx_queue_setup(bench->port[0], 0, 64,
							SOCKET_ID_ANY, NULL, pool), 0);
		assert_true(nb_mrs() > before);
		assert_int_equal(rte_eth_rx_queue_setup(bench->port[0], 0, 64,
							SOCKET_ID_ANY, NULL,
							bench->pool), 0);
		assert_int_equal(nb_mrs(), before);
		rte_mempool_free(pool);
		assert_int_equal(rte_extmem_unregister(extmem.buf_ptr, len), 0);
		munmap(extmem.buf_ptr, len);
	}
}

/* A pool of packets in one or two given pieces of memory. */
static struct rte_mempool *
pool_in(const char *name, unsigned int nb_mbufs, char *piece, char *other, size_t len)
{
	struct rte_pktmbuf_pool_private private = {
		.mbuf_data_room_size = RTE_MBUF_DEFAULT_BUF_SIZE,
	};
	struct rte_mempool *pool;

	pool = rte_mempool_create_empty(name, nb_mbufs,
					sizeof(struct rte_mbuf) +
						RTE_MBUF_DEFAULT_BUF_SIZE,
					0, sizeof(private), SOCKET_ID_ANY, 0);
	assert_non_null(pool);
	assert_int_equal(rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(),
						    NULL), 0);
	rte_pktmbuf_pool_init(pool, &private);
	assert_true(rte_mempool_populate_iova(pool, piece, (uintptr_t)piece, len, NULL,
					      NULL) > 0);
	if (other != NULL)
		assert_true(rte_mempool_populate_iova(pool, other, (uintptr_t)other, len,
						      NULL, NULL) > 0);
	assert_int_equal(rte_mempool_avail_count(pool), nb_mbufs);
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

/* A pool between the pieces of another does not live from the other's key. */
static void
test_pool_within_another(void **state)
{
	const size_t len = 1 << 20;
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxd = 64 };
	char *memory = rte_malloc(NULL, 3 * len, 4096);
	struct rte_mempool *around;

	assert_non_null(memory);
	around = pool_in("around", 500, memory, memory + 2 * len, len);
	config.rx_pool = pool_in("within", 200, memory + len, NULL, len);
	bench_start(bench, &config);
	bench_pass_one(bench);
	rte_mempool_free(around);
	for (unsigned int i = 0; i < 200; i++)
		bench_pass_one(bench);
	bench_stop(bench);
	bench->ignore_counters = true; /* they went with the ports */
	bench_remove(bench);
	rte_mempool_free(config.rx_pool);
	rte_free(memory);
}

/* A piece of the heap between two addresses, if EAL gives one. */
static char *
malloc_between(char *from, char *to, size_t len)
{
	char *pieces[64], *found = NULL;
	unsigned int nb = 0;

	while (found == NULL && nb < RTE_DIM(pieces)) {
		char *piece = rte_malloc(NULL, len, 4096);

		if (piece == NULL)
			break;
		if (piece >= from && piece + len <= to)
			found = piece;
		else
			pieces[nb++] = piece;
	}
	while (nb > 0)
		rte_free(pieces[--nb]);
	return found;
}

/*
 * A pool on a page that a buffer reaches into, from pages that go before the
 * pool does.
 */
static void
test_pool_beside_heap(void **state)
{
	const size_t len = 1 << 19, page = RTE_PGSIZE_2M;
	struct bench *bench = *state;
	struct bench_config config = { .nb_rxd = 64 };
	/* its first page is not full */
	char *heap = rte_malloc(NULL, 10 * page - 2 * len, 0);
	/* EAL takes from the end: what is left lies before it */
	char *edge = RTE_PTR_ALIGN_CEIL(heap + 1024, page);
	char *memory = malloc_between(edge - page, edge, len);
	struct mana_model_port wire;

	assert_non_null(heap);
	if (memory == NULL) { /* there are no pages that go */
		rte_free(heap);
		skip();
	}
	bench_start(bench, &plain);
	send_from(bench, edge - 1024, 1, true);
	bench_stop(bench);
	config.rx_pool = pool_in("beside", 128, memory, NULL, len);
	bench_start(bench, &config);
	rte_free(heap);
	for (unsigned int i = 0; i < 200; i++)
		bench_pass_one(bench);
	wire = bench_wire(bench, 0);
	assert_int_equal(wire.rx_packets, 200);
	bench_stop(bench);
	bench->ignore_counters = true; /* they went with the ports */
	bench_remove(bench);
	rte_mempool_free(config.rx_pool);
	rte_free(memory);
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
		BENCH_TEST(test_pinned_pool_replaced),
		BENCH_TEST(test_pool_within_another),
		BENCH_TEST(test_pool_beside_heap),
	};

	return BENCH_RUN("memory", tests);
}
