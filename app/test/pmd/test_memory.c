/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets in heap, foreign and mapped memory, registered on demand and
 * deregistered when the memory is freed.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/capability.h>

#include <rte_bus_pci.h>
#include <rte_dev.h>
#include <rte_malloc.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memory.h>

#include "fixture.h"

#define NB_MOVED 200
#define BUF_BYTES 2048

static const struct fx_config defaults;
static struct rte_mbuf_ext_shared_info shinfo;

static void
buf_released(void *addr __rte_unused, void *arg)
{
	*(unsigned int *)arg += 1;
}

/* Sends a frame in this memory and compares what arrives. */
static void
send_from(struct fixture *fx, void *buf, uint32_t seed, bool write_it)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(fx->pool);
	unsigned int nb_released = 0;
	uint8_t bytes[200];

	assert_non_null(m);
	fx_frame_bytes(bytes, sizeof(bytes), seed);
	if (write_it)
		memcpy(buf, bytes, sizeof(bytes));
	shinfo.free_cb = buf_released;
	shinfo.fcb_opaque = &nb_released;
	rte_mbuf_ext_refcnt_set(&shinfo, 1);
	rte_pktmbuf_attach_extbuf(m, buf, RTE_BAD_IOVA, BUF_BYTES, &shinfo);
	m->data_off = 0;
	m->data_len = m->pkt_len = sizeof(bytes);
	fx_send(fx->port[0], 0, &m, 1);
	fx_expect_bytes(fx->port[1], 0, bytes, sizeof(bytes));
	rte_eth_tx_done_cleanup(fx->port[0], 0, 0);
	assert_int_equal(nb_released, 1);
}

/* Heap memory that EAL returns to the system is deregistered. */
FX_TEST(test_heap)
{
	unsigned int before;

	fx_start(fx, &defaults);
	fx_pass_one(fx);
	before = fx_nb_mrs();
	for (unsigned int round = 0; round < 5; round++) {
		/* larger than the heap: EAL allocates new pages */
		char *heap = rte_malloc(NULL, 20 << 20, 0);

		assert_non_null(heap);
		for (unsigned int i = 0; i < 8; i++)
			send_from(fx, heap + (i << 20) - 100 * (i & 1) + 4000,
				  round * 8 + i, true);
		rte_free(heap);
		if (rte_eal_has_hugepages())
			assert_int_equal(fx_nb_mrs(), before);
	}
}

/* Memory unknown to DPDK, within a page and across pages. */
FX_TEST(test_foreign)
{
	char *foreign = aligned_alloc(4096, 64 * 4096);
	unsigned int before;

	assert_non_null(foreign);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
	before = fx_nb_mrs();
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "does not manage"), 0);
	for (unsigned int i = 0; i < 60; i++)
		send_from(fx, foreign + i * 4096 + 4096 - i, i, true);
	assert_true(fx_nb_mrs() > before);
	/* it may be unmapped: logged once */
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "does not manage"), 1);
	/* nothing new is registered */
	before = fx_nb_mrs();
	for (unsigned int i = 0; i < 60; i++)
		send_from(fx, foreign + i * 4096 + 4096 - i, i, true);
	assert_int_equal(fx_nb_mrs(), before);
	/* its end is not reported, so the stop deregisters it */
	fx_stop(fx);
	assert_true(fx_nb_mrs() < before);
	free(foreign);
}

/*
 * Mbufs of a pool whose buf_addr points elsewhere, at memory that the application has mapped
 * for the device or not: each packet arrives.
 */
FX_TEST(test_moved_buffers)
{
	const size_t bytes_of_all = NB_MOVED * BUF_BYTES;
	uint8_t bytes[500];

	fx_start(fx, &defaults);
	for (unsigned int is_mapped = 0; is_mapped < 2; is_mapped++) {
		uint8_t *memory = mmap(NULL, bytes_of_all, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct rte_eth_dev_info info;

		assert_true(memory != MAP_FAILED);
		assert_int_equal(rte_eth_dev_info_get(fx->port[0], &info), 0);
		if (is_mapped) {
			assert_int_equal(rte_extmem_register(memory, bytes_of_all, NULL, 0, 4096), 0);
			assert_int_equal(rte_dev_dma_map(info.device, memory, 0, bytes_of_all), 0);
		}
		for (unsigned int i = 0; i < NB_MOVED; i++) {
			struct rte_mbuf *sent = rte_pktmbuf_alloc(fx->pool), *m = sent;
			void *own = sent->buf_addr;

			sent->buf_addr = memory + i * BUF_BYTES;
			sent->data_off = 0;
			sent->data_len = sent->pkt_len = sizeof(bytes);
			fx_frame_bytes(sent->buf_addr, sizeof(bytes), i);
			rte_mbuf_refcnt_update(sent, 1);
			fx_send(fx->port[0], 0, &m, 1);
			fx_settle(fx);
			fx_frame_bytes(bytes, sizeof(bytes), i);
			fx_expect_bytes(fx->port[1], 0, bytes, sizeof(bytes));
			assert_true(rte_eth_tx_done_cleanup(fx->port[0], 0, 0) >= 0);
			assert_int_equal(rte_mbuf_refcnt_read(sent), 1);
			sent->buf_addr = own;
			rte_pktmbuf_free(sent);
		}
		if (is_mapped) {
			assert_int_equal(rte_dev_dma_unmap(info.device, memory, 0, bytes_of_all), 0);
			assert_int_equal(rte_extmem_unregister(memory, bytes_of_all), 0);
		} else {
			fx_stop(fx);
			fx_start(fx, &defaults);
		}
		munmap(memory, bytes_of_all);
	}
}

/* An mbuf of the application that is in no mempool; it keeps a reference. */
FX_TEST(test_mbuf_without_mempool)
{
	char *foreign = aligned_alloc(4096, 4 * 4096);
	struct rte_mbuf *own = (struct rte_mbuf *)(void *)foreign, *m = own;
	uint8_t bytes[200];

	assert_non_null(foreign);
	memset(own, 0, sizeof(*own));
	own->buf_addr = foreign + 4096;
	own->buf_len = BUF_BYTES;
	own->nb_segs = 1;
	own->data_len = own->pkt_len = sizeof(bytes);
	rte_mbuf_refcnt_set(own, 2);
	fx_frame_bytes(bytes, sizeof(bytes), 9);
	memcpy(own->buf_addr, bytes, sizeof(bytes));
	fx_start(fx, &defaults);
	fx_send(fx->port[0], 0, &m, 1);
	fx_expect_bytes(fx->port[1], 0, bytes, sizeof(bytes));
	rte_eth_tx_done_cleanup(fx->port[0], 0, 0);
	assert_int_equal(rte_mbuf_refcnt_read(own), 1);
	fx_stop(fx);
	free(foreign);
}

/* Read-only memory can be sent. */
FX_TEST(test_read_only)
{
	char *map = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(map != MAP_FAILED);
	fx_frame_bytes((uint8_t *)map, 200, 77);
	assert_int_equal(mprotect(map, 2 * 4096, PROT_READ), 0);
	fx_start(fx, &defaults);
	send_from(fx, map, 77, false);
	fx_stop(fx);
	munmap(map, 2 * 4096);
}

/* rte_dev_dma_map() registers memory for both ports before the first packet. */
FX_TEST(test_mapped_by_application)
{
	char *foreign = aligned_alloc(4096, 4 * 4096);
	struct rte_eth_dev_info info;
	unsigned int before;

	assert_non_null(foreign);
	assert_int_equal(rte_extmem_register(foreign, 4 * 4096, NULL, 0, 4096), 0);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
	before = fx_nb_mrs();
	assert_int_equal(rte_eth_dev_info_get(fx->port[0], &info), 0);
	assert_int_equal(rte_dev_dma_map(info.device, foreign, 0, 4 * 4096), 0);
	assert_int_equal(fx_nb_mrs(), before + 2);
	/* The second time changes nothing. */
	assert_int_equal(rte_dev_dma_map(info.device, foreign, 0, 4 * 4096), 0);
	assert_int_equal(fx_nb_mrs(), before + 2);
	send_from(fx, foreign + 4096, 5, true);
	assert_int_equal(fx_nb_mrs(), before + 2);
	assert_int_equal(rte_dev_dma_unmap(info.device, foreign, 0, 4 * 4096), 0);
	assert_int_equal(fx_nb_mrs(), before);
	assert_true(rte_dev_dma_unmap(info.device, foreign, 0, 4 * 4096) != 0);
	/* unmapped memory is registered on demand */
	send_from(fx, foreign + 4096, 6, true);
	assert_int_equal(fx_nb_mrs(), before + 1);
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "does not manage"), 0);
	fx_stop(fx);
	assert_int_equal(rte_extmem_unregister(foreign, 4 * 4096), 0);
	free(foreign);
}

/* Whether the kernel lets this thread lock memory without a limit. */
static bool
is_initial_root(void)
{
	struct stat ns;

	return geteuid() == 0 && stat("/proc/self/ns/user", &ns) == 0 &&
	       ns.st_ino == 0xeffffffd;
}

/* Gives this thread CAP_IPC_LOCK, or takes it away. */
static void
lock_capability_set(bool is_on)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	assert_int_equal(syscall(SYS_capget, &header, caps), 0);
	caps[0].effective &= ~(UINT32_C(1) << CAP_IPC_LOCK);
	if (is_on)
		caps[0].effective |= caps[0].permitted & UINT32_C(1) << CAP_IPC_LOCK;
	assert_int_equal(syscall(SYS_capset, &header, caps), 0);
}

/* Memory is short for another reason: the error does not name the limit. */
FX_TEST(test_right_to_lock)
{
	struct rlimit old, low = { .rlim_cur = 65536 };
	struct rte_eth_conf conf = { 0 };
	unsigned int nb_named;

	if (!is_initial_root())
		skip();
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
	low.rlim_max = old.rlim_max;
	assert_int_equal(rte_eth_dev_configure(fx->port[0], 1, 1, &conf), 0);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &low), 0);
	fx_expect_error("");
	assert_int_equal(fx_model.fault_arm_from("reg_mr", 1, ENOMEM), 0);
	nb_named = fx_nb_logged(RTE_LOG_ERR, "MEMLOCK");
	assert_int_equal(rte_eth_rx_queue_setup(fx->port[0], 0, 64, SOCKET_ID_ANY,
						NULL, fx->pool), -ENOMEM);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "MEMLOCK"), nb_named);
	assert_true(fx_nb_logged(RTE_LOG_ERR, "cannot register") > 0);
	fx_model.fault_disarm();
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &old), 0);
}

/* Without the right to lock memory: the error names the cause, no leak. */
FX_TEST(test_no_right_to_lock)
{
	struct rlimit old, low = { .rlim_cur = 65536 };
	struct rte_eth_conf conf = { 0 };
	struct fx_holdings before;

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
	low.rlim_max = old.rlim_max;
	assert_int_equal(rte_eth_dev_configure(fx->port[0], 1, 1, &conf), 0);
	fx_holdings_get(&before);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &low), 0);
	assert_int_equal(fx_model.privileges(true, false), 0);
	lock_capability_set(false);
	fx_expect_error("");
	assert_int_equal(rte_eth_rx_queue_setup(fx->port[0], 0, 64, SOCKET_ID_ANY,
						NULL, fx->pool), -ENOMEM);
	assert_true(fx_nb_logged(RTE_LOG_ERR, "CAP_IPC_LOCK") > 0);
	lock_capability_set(true);
	fx_check_holdings(&before, "after the refused setup");
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &old), 0);
	assert_int_equal(fx_model.privileges(true, true), 0);
	fx_start(fx, &defaults);
	fx_pass_one(fx);
}

/* A packet that cannot be registered is freed and counted. */
FX_TEST(test_refused_in_a_burst)
{
	char *foreign = aligned_alloc(4096, 4 * 4096);
	struct rte_eth_stats before, stats;
	struct rte_mbuf *m;
	unsigned int nb_released = 0;

	assert_non_null(foreign);
	fx->ignore_counters = true;
	fx_expect_error("cannot register");
	fx_start(fx, &defaults);
	fx_pass_one(fx);
	assert_int_equal(rte_eth_stats_get(fx->port[0], &before), 0);
	m = rte_pktmbuf_alloc(fx->pool);
	shinfo.free_cb = buf_released;
	shinfo.fcb_opaque = &nb_released;
	rte_mbuf_ext_refcnt_set(&shinfo, 1);
	rte_pktmbuf_attach_extbuf(m, foreign, RTE_BAD_IOVA, BUF_BYTES, &shinfo);
	m->data_off = 0;
	m->data_len = m->pkt_len = 100;
	/* each attempt fails */
	assert_int_equal(fx_model.fault_arm("reg_mr", 1, EPROTO), 0);
	assert_int_equal(rte_eth_tx_burst(fx->port[0], 0, &m, 1), 1);
	fx_model.fault_disarm();
	if (nb_released == 1) {
		assert_int_equal(rte_eth_stats_get(fx->port[0], &stats), 0);
		assert_int_equal(stats.oerrors, before.oerrors + 1);
		assert_int_equal(stats.opackets, before.opackets);
	} else { /* the second attempt succeeded */
		fx_drain(fx);
	}
	send_from(fx, foreign + 4096, 9, true);
	fx_stop(fx);
	free(foreign);
}

/* The end of this memory is not reported: no key outlives its pool. */
FX_TEST(test_pinned_pool_replaced)
{
	const size_t len = 4 << 20;
	struct rte_eth_conf conf = { 0 };
	unsigned int before;

	assert_int_equal(rte_eth_dev_configure(fx->port[0], 1, 1, &conf), 0);
	fx_tx_setup(fx->port[0], 0, 64, NULL);
	fx_rx_setup(fx->port[0], 0, 64, NULL, fx->pool);
	before = fx_nb_mrs();
	for (unsigned int i = 0; i < 3; i++) {
		struct rte_pktmbuf_extmem extmem = {
			.buf_iova = RTE_BAD_IOVA,
			.buf_len = len,
			.elt_size = RTE_MBUF_DEFAULT_BUF_SIZE,
		};
		struct rte_mempool *pool;

		/* Linux reuses the address: a stale key would map old pages */
		extmem.buf_ptr = mmap(NULL, len, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(extmem.buf_ptr != MAP_FAILED);
		assert_int_equal(rte_extmem_register(extmem.buf_ptr, len, NULL, 0,
						     4096), 0);
		pool = rte_pktmbuf_pool_create_extbuf("pinned", 511, 0, 0,
						      RTE_MBUF_DEFAULT_BUF_SIZE,
						      SOCKET_ID_ANY, &extmem, 1);
		assert_non_null(pool);
		fx_rx_setup(fx->port[0], 0, 64, NULL, pool);
		assert_true(fx_nb_mrs() > before);
		fx_rx_setup(fx->port[0], 0, 64, NULL, fx->pool);
		rte_mempool_free(pool);
		assert_int_equal(fx_nb_mrs(), before);
		assert_int_equal(rte_extmem_unregister(extmem.buf_ptr, len), 0);
		munmap(extmem.buf_ptr, len);
	}
}

/* A pool of buffers elsewhere takes the place of a pool that another queue still names. */
FX_TEST(test_pinned_pool_at_an_old_address)
{
	const struct fx_config config = { .nb_rxq = 2, .nb_rxd = 64, .rss_hf = FX_RSS };
	struct rte_pktmbuf_extmem extmem = {
		.buf_iova = RTE_BAD_IOVA,
		.buf_len = 4 << 20,
		.elt_size = RTE_MBUF_DEFAULT_BUF_SIZE,
	};
	struct rte_mempool *pool, *former;
	struct rte_mbuf *m;
	uint8_t bytes[100];

	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_configure(fx, fx->port[i], &config), 0);
	pool = former = rte_pktmbuf_pool_create("recurring", 511, 0, 0,
						RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(pool);
	fx_rx_setup(fx->port[1], 0, 64, NULL, pool);
	rte_mempool_free(pool);
	extmem.buf_ptr = mmap(NULL, extmem.buf_len, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(extmem.buf_ptr != MAP_FAILED);
	assert_int_equal(rte_extmem_register(extmem.buf_ptr, extmem.buf_len, NULL, 0, 4096), 0);
	pool = rte_pktmbuf_pool_create_extbuf("recurring", 511, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					      SOCKET_ID_ANY, &extmem, 1);
	assert_non_null(pool);
	/* EAL's heap does so. */
	assert_ptr_equal(pool, former);
	for (uint16_t q = config.nb_rxq; q-- != 0;)
		fx_rx_setup(fx->port[1], q, 64, NULL, pool);
	fx_restart(fx);
	for (unsigned int seed = 0; seed < 32; seed++) {
		m = fx_frame(fx->pool, sizeof(bytes), seed);
		fx_send(fx->port[0], 0, &m, 1);
		fx_settle(fx);
		if (rte_eth_rx_burst(fx->port[1], 0, &m, 1) == 0)
			assert_int_equal(rte_eth_rx_burst(fx->port[1], 1, &m, 1), 1);
		fx_frame_bytes(bytes, sizeof(bytes), seed);
		fx_check_bytes(m, bytes, sizeof(bytes));
		rte_pktmbuf_free(m);
	}
	fx_stop(fx);
	assert_int_equal(fx_configure(fx, fx->port[1], &config), 0);
	rte_mempool_free(pool);
	assert_int_equal(rte_extmem_unregister(extmem.buf_ptr, extmem.buf_len), 0);
	munmap(extmem.buf_ptr, extmem.buf_len);
}

/* A pool whose buffers are in many regions, as sender and receiver. */
FX_TEST(test_pinned_pool_in_many_regions)
{
	enum { NB_REGIONS = 72, PER_REGION = 8 };
	static struct rte_pktmbuf_extmem extmems[NB_REGIONS];
	const size_t len = PER_REGION * RTE_ALIGN_CEIL(RTE_MBUF_DEFAULT_BUF_SIZE, 4096);
	struct fx_config config = { 0 };
	struct rte_mempool *pool;
	unsigned int before;

	for (unsigned int i = 0; i < NB_REGIONS; i++) {
		/* pages of nobody between two */
		uint8_t *memory = mmap(NULL, len + 4096, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_true(memory != MAP_FAILED);
		assert_int_equal(mprotect(memory + len, 4096, PROT_NONE), 0);
		assert_int_equal(rte_extmem_register(memory, len, NULL, 0, 4096), 0);
		extmems[i] = (struct rte_pktmbuf_extmem){
			.buf_ptr = memory,
			.buf_iova = RTE_BAD_IOVA,
			.buf_len = len,
			.elt_size = len / PER_REGION,
		};
	}
	pool = rte_pktmbuf_pool_create_extbuf("many_regions", NB_REGIONS * PER_REGION - 1, 0, 0,
					      RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, extmems,
					      NB_REGIONS);
	assert_non_null(pool);
	before = fx_nb_mrs();
	config.rx_pool = pool;
	fx_start(fx, &config);
	assert_true(fx_nb_mrs() >= before + FX_NB_PORTS * NB_REGIONS);
	before = fx_nb_mrs();
	for (unsigned int seed = 0; seed < 2 * NB_REGIONS * PER_REGION; seed++) {
		struct rte_mbuf *m = fx_frame(pool, 100, seed);

		assert_non_null(m);
		fx_send(fx->port[0], 0, &m, 1);
		fx_expect_frames(fx, seed, 1);
	}
	assert_int_equal(fx_nb_mrs(), before);
	fx_stop(fx);
	config.rx_pool = NULL;
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_configure(fx, fx->port[i], &config), 0);
	rte_mempool_free(pool);
	for (unsigned int i = 0; i < NB_REGIONS; i++) {
		assert_int_equal(rte_extmem_unregister(extmems[i].buf_ptr, len), 0);
		munmap(extmems[i].buf_ptr, len + 4096);
	}
}

/* A mempool in one or two given chunks. */
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

/* A pool between the chunks of another does not use the other's key. */
FX_TEST(test_pool_within_another)
{
	const size_t len = 1 << 20;
	struct fx_config config = { .nb_rxd = 64 };
	char *memory = rte_malloc(NULL, 3 * len, 4096);
	struct rte_mempool *around;

	assert_non_null(memory);
	around = pool_in("around", 500, memory, memory + 2 * len, len);
	config.rx_pool = pool_in("within", 200, memory + len, NULL, len);
	fx_start(fx, &config);
	fx_pass_one(fx);
	rte_mempool_free(around);
	for (unsigned int i = 0; i < 200; i++)
		fx_pass_one(fx);
	fx_stop(fx);
	fx->ignore_counters = true; /* the ports and their counters are gone */
	fx_remove(fx);
	rte_mempool_free(config.rx_pool);
	rte_free(memory);
}

/* Heap memory between two addresses, if EAL has it. */
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
 * A pool on a page that also holds the end of a buffer; the pages of the buffer
 * are freed before the pool.
 */
FX_TEST(test_pool_beside_heap)
{
	const size_t len = 1 << 19, page = RTE_PGSIZE_2M;
	struct fx_config config = { .nb_rxd = 64 };
	char *heap, *edge, *memory = NULL;
	struct mana_model_port wire;
	void *fillers[16];
	unsigned int nb = 0;

	/* The buffer begins on a page that has room for the pool, wherever EAL's memory begins. */
	for (;;) {
		heap = rte_malloc(NULL, 10 * page - 2 * len, 0);
		assert_non_null(heap);
		/* EAL allocates from the end: the free part is before the buffer */
		edge = RTE_PTR_ALIGN_CEIL(heap + 1024, page);
		memory = malloc_between(edge - page, edge, len);
		if (memory != NULL || nb == RTE_DIM(fillers))
			break;
		rte_free(heap);
		fillers[nb++] = rte_malloc(NULL, len / 4, 0);
	}
	assert_non_null(memory);
	fx_start(fx, &defaults);
	send_from(fx, edge - 1024, 1, true);
	fx_stop(fx);
	config.rx_pool = pool_in("beside", 128, memory, NULL, len);
	fx_start(fx, &config);
	rte_free(heap);
	for (unsigned int i = 0; i < 200; i++)
		fx_pass_one(fx);
	wire = fx_wire(fx, 0);
	assert_int_equal(wire.rx_packets, 200);
	fx_stop(fx);
	fx->ignore_counters = true; /* the ports and their counters are gone */
	fx_remove(fx);
	rte_mempool_free(config.rx_pool);
	rte_free(memory);
	while (nb > 0)
		rte_free(fillers[--nb]);
}

/*
 * The driver's own allocations on a NUMA node without memory: pool for copies,
 * spare queue.
 */
FX_TEST(test_memory_of_another_node)
{
	struct fx_config config = { .nb_rxq = 2, .nb_rxd = 64, .rss_hf = FX_RSS,
				       .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS };
	void *memory = rte_malloc_socket(NULL, 64, 0, rte_eth_dev_socket_id(fx->port[0]));
	unsigned int nb = 0;
	uint8_t bytes[1000];
	struct rte_mbuf *m;

	/* of each port */
	assert_int_equal(fx_nb_logged(RTE_LOG_NOTICE, "NUMA node"),
			 memory == NULL ? FX_NB_PORTS : 0);
	rte_free(memory);
	fx_start(fx, &config);
	/* more segments than a WQE has */
	fx_frame_bytes(bytes, sizeof(bytes), 3);
	m = fx_chain(fx->pool, bytes, sizeof(bytes), 20);
	assert_true(m->nb_segs > 30);
	fx_send(fx->port[0], 0, &m, 1);
	fx_settle(fx);
	for (uint16_t q = 0; q < 2; q++) {
		while (rte_eth_rx_burst(fx->port[1], q, &m, 1) == 1) {
			fx_check_bytes(m, bytes, sizeof(bytes));
			rte_pktmbuf_free(m);
			nb++;
		}
	}
	assert_int_equal(nb, 1);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], 1), 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(fx->port[1], 1), 0);
}
