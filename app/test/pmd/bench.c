/* SPDX-License-Identifier: BSD-3-Clause */

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_malloc.h>

#include "bench.h"
#include "bench_log.h"

#define NB_HUGE_PAGES 64
#define EXIT_SKIPPED 77 /* meson's */

struct bench_model bench_model;

static struct bench bench_instance;

static void
model_symbol(const char *name, void *pointer)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	if (symbol == NULL) {
		printf("not on a modelled machine: no %s\n", name);
		exit(EXIT_FAILURE);
	}
	memcpy(pointer, &symbol, sizeof(symbol));
}

static void
find_model(void)
{
	model_symbol("mana_model_objects", &bench_model.objects);
	model_symbol("mana_model_leaks", &bench_model.leaks);
	model_symbol("mana_model_fault_arm", &bench_model.fault_arm);
	model_symbol("mana_model_fault_disarm", &bench_model.fault_disarm);
	model_symbol("mana_model_fault_hits", &bench_model.fault_hits);
	model_symbol("mana_model_port", &bench_model.port);
	model_symbol("mana_model_violations", &bench_model.violations);
	model_symbol("mana_model_netdev_set", &bench_model.netdev_set);
	model_symbol("mana_model_privileges", &bench_model.privileges);
	model_symbol("mana_model_command", &bench_model.command);
}

/* EAL's interrupt thread makes its epoll set anew, at any time after a change. */
static bool
is_epoll_set(int dir_fd, const char *name)
{
	char target[32] = "";

	if (readlinkat(dir_fd, name, target, sizeof(target) - 1) < 0)
		return false;
	return strcmp(target, "anon_inode:[eventpoll]") == 0;
}

static unsigned int
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	unsigned int nb = 0;

	if (dir == NULL)
		return 0;
	while ((entry = readdir(dir)) != NULL)
		nb += !is_epoll_set(dirfd(dir), entry->d_name);
	closedir(dir);
	return nb;
}

void
bench_hold(struct bench_holdings *holdings)
{
	struct rte_malloc_socket_stats stats;

	memset(holdings, 0, sizeof(*holdings));
	assert_int_equal(bench_model.objects(&holdings->objects), 0);
	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	holdings->heap_bytes = stats.heap_allocsz_bytes;
	holdings->heap_allocs = stats.alloc_count;
	holdings->nb_fds = count_fds();
}

static void
check_kind(const char *when, const char *kind, uint64_t before, uint64_t now)
{
	if (before != now)
		fail_msg("%s: %" PRIu64 " %s, %" PRIu64 " before", when, now, kind, before);
}

void
bench_check_held(const struct bench_holdings *before, const char *when)
{
	struct bench_holdings now;

	bench_hold(&now);
	check_kind(when, "PDs", before->objects.pd, now.objects.pd);
	check_kind(when, "MRs", before->objects.mr, now.objects.mr);
	check_kind(when, "CQs", before->objects.cq, now.objects.cq);
	check_kind(when, "WQs", before->objects.wq, now.objects.wq);
	check_kind(when, "QPs", before->objects.qp, now.objects.qp);
	check_kind(when, "indirection tables", before->objects.ind, now.objects.ind);
	check_kind(when, "kernel files", before->objects.fd, now.objects.fd);
	check_kind(when, "descriptors", before->nb_fds, now.nb_fds);
	check_kind(when, "heap elements", before->heap_allocs, now.heap_allocs);
	check_kind(when, "heap bytes", before->heap_bytes, now.heap_bytes);
}

void
bench_tell(const char *line)
{
	char message[256] = "";

	if (bench_model.command(line, message, sizeof(message)) != 0)
		fail_msg("%s: %s", line, message);
}

int
bench_probe(struct bench *bench, const char *devargs)
{
	int ret = rte_eal_hotplug_add("pci", BENCH_PCI, devargs);

	if (ret != 0)
		return ret;
	bench->is_probed = true;
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
		char name[RTE_ETH_NAME_MAX_LEN];

		snprintf(name, sizeof(name), "%s_port%u", BENCH_PCI, i + 1);
		if (rte_eth_dev_get_port_by_name(name, &bench->port[i]) != 0)
			bench->port[i] = RTE_MAX_ETHPORTS;
	}
	return 0;
}

void
bench_remove(struct bench *bench)
{
	assert_int_equal(rte_eal_hotplug_remove("pci", BENCH_PCI), 0);
	bench->is_probed = false;
}

static int
setup(void **state, bool probe)
{
	struct bench *bench = &bench_instance;

	if (bench->is_probed) { /* the test before ended badly */
		bench_stop(bench);
		bench_remove(bench);
	}
	memset(bench, 0, sizeof(*bench));
	*state = bench;
	bench_log_reset();
	bench_hold(&bench->before);
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++)
		assert_int_equal(bench_model.port(0, i, &bench->wire_before[i]), 0);
	bench->pool = bench_pool(bench, BENCH_NB_MBUFS, RTE_MBUF_DEFAULT_BUF_SIZE);
	if (probe)
		assert_int_equal(bench_probe(bench, ""), 0);
	return 0;
}

int
bench_setup(void **state)
{
	return setup(state, true);
}

int
bench_setup_bare(void **state)
{
	return setup(state, false);
}

struct mana_model_port
bench_wire(const struct bench *bench, unsigned int port)
{
	const struct mana_model_port *before = &bench->wire_before[port];
	struct mana_model_port now;

	assert_int_equal(bench_model.port(0, port, &now), 0);
	now.rx_packets -= before->rx_packets;
	now.rx_bytes -= before->rx_bytes;
	now.rx_no_wqe -= before->rx_no_wqe;
	now.rx_truncated -= before->rx_truncated;
	now.tx_packets -= before->tx_packets;
	now.tx_bytes -= before->tx_bytes;
	now.tx_errors -= before->tx_errors;
	return now;
}

static void
check_counters(const struct bench *bench)
{
	for (unsigned int i = 0; i < BENCH_NB_PORTS; i++) {
		struct mana_model_port wire = bench_wire(bench, i);
		struct rte_eth_stats stats;

		if (bench->port[i] == RTE_MAX_ETHPORTS)
			continue;
		assert_int_equal(rte_eth_stats_get(bench->port[i], &stats), 0);
		/* What the device refused was posted, but is not on the wire. */
		check_kind("Tx, driver against wire", "packets",
			   wire.tx_packets + wire.tx_errors, stats.opackets);
		check_kind("Tx, driver against wire", "bytes",
			   wire.tx_bytes + bench->refused_bytes[i], stats.obytes + RTE_VLAN_HLEN * bench->nb_tags[i]);
		check_kind("Rx, driver against wire", "packets", wire.rx_packets,
			   stats.ipackets);
		check_kind("Rx, driver against wire", "bytes", wire.rx_bytes,
			   stats.ibytes + RTE_VLAN_HLEN * bench->nb_tags[i ^ 1]);
	}
}

int
bench_teardown(void **state)
{
	struct bench *bench = *state;

	bench_model.fault_disarm();
	if (bench->is_probed) {
		if (!bench->ignore_counters) {
			bench_drain(bench);
			check_counters(bench);
		}
		bench_stop(bench);
	}
	for (unsigned int i = 0; i < RTE_DIM(bench->pools); i++)
		if (bench->pools[i] != NULL)
			bench_pool_free(bench, bench->pools[i]);
	if (bench->is_probed)
		bench_remove(bench);
	bench_check_held(&bench->before, "at the end");
	check_kind("at the end", "violations", 0, bench_model.violations(NULL));
	bench_log_check();
	return 0;
}

struct rte_mempool *
bench_pool(struct bench *bench, unsigned int nb_mbufs, uint16_t data_room)
{
	static unsigned int serial;
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	snprintf(name, sizeof(name), "bench%u", serial++);
	pool = rte_pktmbuf_pool_create(name, nb_mbufs, 0, 0, data_room, SOCKET_ID_ANY);
	assert_non_null(pool);
	for (unsigned int i = 0; i < RTE_DIM(bench->pools); i++) {
		if (bench->pools[i] == NULL) {
			bench->pools[i] = pool;
			return pool;
		}
	}
	fail_msg("too many pools");
	return NULL;
}

void
bench_pool_free(struct bench *bench, struct rte_mempool *pool)
{
	check_kind(pool->name, "free mbufs", pool->size, rte_mempool_avail_count(pool));
	for (unsigned int i = 0; i < RTE_DIM(bench->pools); i++)
		if (bench->pools[i] == pool)
			bench->pools[i] = NULL;
	rte_mempool_free(pool);
}

/* What a first probe and a first pool leave in EAL for good is no leak. */
static int
warm_up(void **state)
{
	if (bench_setup(state) != 0)
		return -1;
	bench_remove(*state);
	bench_pool_free(*state, ((struct bench *)*state)->pool);
	bench_log_check();
	return 0;
}

/* Whether the system has the huge pages that the tests take. */
static bool
has_huge_pages(void)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned int nb = 0;

	if (f == NULL)
		return false;
	if (fscanf(f, "%u", &nb) != 1)
		nb = 0;
	fclose(f);
	return nb >= NB_HUGE_PAGES;
}

int
bench_main(const char *name, const struct CMUnitTest *tests, size_t nb_tests)
{
	const char *plugin = getenv("MANA_PLUGIN");
	const char *memory = getenv("MANA_BENCH_MEMORY");
	char *argv[] = {
		(char *)(uintptr_t)name,
		/* "--in-memory": huge pages that come and go */
		(char *)(uintptr_t)(memory != NULL ? memory : "--no-huge"),
		(char *)(uintptr_t)"--no-shconf", (char *)(uintptr_t)"--no-telemetry",
		/* huge pages grow as needed, others cannot */
		(char *)(uintptr_t)"-m",
		(char *)(uintptr_t)(memory != NULL ? "16" : "256"),
		(char *)(uintptr_t)"-d", (char *)(uintptr_t)plugin,
		/* an address of nothing: tests probe by themselves */
		(char *)(uintptr_t)"-a", (char *)(uintptr_t)"ffff:ff:1f.7", NULL,
	};

	if (plugin == NULL) {
		printf("MANA_PLUGIN must name the driver\n");
		return EXIT_FAILURE;
	}
	if (memory != NULL && !has_huge_pages()) {
		printf("fewer than %d huge pages of 2 MiB are free\n", NB_HUGE_PAGES);
		return EXIT_SKIPPED;
	}
	find_model();
	if (bench_log_open() != 0 || rte_eal_init(RTE_DIM(argv) - 1, argv) < 0) {
		printf("EAL does not start: %s\n", rte_strerror(rte_errno));
		return EXIT_FAILURE;
	}
	return _cmocka_run_group_tests(name, tests, nb_tests, warm_up, NULL);
}
