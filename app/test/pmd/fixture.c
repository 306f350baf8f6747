/* SPDX-License-Identifier: BSD-3-Clause */

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_malloc.h>

#include "../lcores.h"
#include "fixture.h"
#include "fixture_log.h"

#define HEAP_SLACK_BYTES 512
#define NB_HUGE_PAGES 64
#define EXIT_SKIPPED 77 /* meson's exit code of a skipped test */

struct fx_model fx_model;
const char *fx_devargs = "";
const char *fx_megabytes = "256";
bool fx_has_telemetry;

static struct fixture fx_instance;

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
	model_symbol("mana_model_objects", &fx_model.objects);
	model_symbol("mana_model_leaks", &fx_model.leaks);
	model_symbol("mana_model_fault_arm", &fx_model.fault_arm);
	model_symbol("mana_model_fault_arm_from", &fx_model.fault_arm_from);
	model_symbol("mana_model_fault_disarm", &fx_model.fault_disarm);
	model_symbol("mana_model_fault_hits", &fx_model.fault_hits);
	model_symbol("mana_model_kernel_calls", &fx_model.kernel_calls);
	model_symbol("mana_model_port", &fx_model.port);
	model_symbol("mana_model_violations", &fx_model.violations);
	model_symbol("mana_model_queue", &fx_model.queue);
	model_symbol("mana_model_netdev_set", &fx_model.netdev_set);
	model_symbol("mana_model_privileges", &fx_model.privileges);
	model_symbol("mana_model_command", &fx_model.command);
}

/* EAL's interrupt thread recreates its epoll set some time after a change. */
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
fx_holdings_get(struct fx_holdings *holdings)
{
	struct rte_malloc_socket_stats stats;

	memset(holdings, 0, sizeof(*holdings));
	assert_int_equal(fx_model.objects(&holdings->objects), 0);
	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	holdings->heap_bytes = stats.heap_allocsz_bytes;
	holdings->heap_allocs = stats.alloc_count;
	holdings->nb_fds = count_fds();
}

unsigned int
fx_nb_mrs(void)
{
	struct mana_model_objects objects;

	assert_int_equal(fx_model.objects(&objects), 0);
	return objects.mr;
}

static void
check_kind(const char *when, const char *kind, uint64_t before, uint64_t now)
{
	if (before != now)
		fail_msg("%s: %" PRIu64 " %s, %" PRIu64 " before", when, now, kind, before);
}

void
fx_check_holdings(const struct fx_holdings *before, const char *when)
{
	uint64_t end = fx_deadline();
	struct fx_holdings now;

	fx_holdings_get(&now);
	/* The driver reads the state of a port from a socket that it opens for that. */
	while (now.nb_fds > before->nb_fds && rte_get_timer_cycles() < end)
		now.nb_fds = count_fds();
	check_kind(when, "PDs", before->objects.pd, now.objects.pd);
	check_kind(when, "MRs", before->objects.mr, now.objects.mr);
	check_kind(when, "CQs", before->objects.cq, now.objects.cq);
	check_kind(when, "WQs", before->objects.wq, now.objects.wq);
	check_kind(when, "QPs", before->objects.qp, now.objects.qp);
	check_kind(when, "indirection tables", before->objects.ind, now.objects.ind);
	check_kind(when, "kernel files", before->objects.fd, now.objects.fd);
	if (now.nb_fds > before->nb_fds)
		check_kind(when, "descriptors", before->nb_fds, now.nb_fds);
	check_kind(when, "heap elements", before->heap_allocs, now.heap_allocs);
	/*
	 * EAL does not split off a remainder below MIN_DATA_SIZE
	 * (malloc_elem.h), so that the size of an allocation depends on its
	 * place.
	 */
	if (now.heap_bytes > before->heap_bytes + HEAP_SLACK_BYTES)
		check_kind(when, "heap bytes", before->heap_bytes, now.heap_bytes);
}

void
fx_command(const char *line)
{
	char message[256] = "";

	if (fx_model.command(line, message, sizeof(message)) != 0)
		fail_msg("%s: %s", line, message);
}

/* EAL may have loaded DPDK's own driver, of the same name, from its folder. */
static void
check_driver(void)
{
	const char *plugin = getenv("MANA_PLUGIN");
	struct stat of_driver, of_plugin;
	Dl_info file;
	uint16_t port;

	RTE_ETH_FOREACH_DEV(port) {
		struct rte_eth_dev_info info = fx_info(port);

		if (strncmp(rte_dev_name(info.device), FX_PCI, strlen(FX_PCI)) != 0)
			continue;
		assert_int_not_equal(dladdr(rte_dev_driver(info.device), &file), 0);
		assert_int_equal(stat(file.dli_fname, &of_driver), 0);
		assert_int_equal(stat(plugin, &of_plugin), 0);
		if (of_driver.st_dev != of_plugin.st_dev || of_driver.st_ino != of_plugin.st_ino)
			fail_msg("%s has the port, not %s", file.dli_fname, plugin);
	}
}

int
fx_probe(struct fixture *fx, const char *devargs)
{
	int ret = rte_eal_hotplug_add("pci", FX_PCI, devargs);
	struct rte_ether_addr mac;
	uint16_t only;

	if (ret != 0)
		return ret;
	fx->is_probed = true;
	check_driver();
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		char name[RTE_ETH_NAME_MAX_LEN];

		snprintf(name, sizeof(name), "%s_p%u", FX_PCI, i + 1);
		if (rte_eth_dev_get_port_by_name(name, &fx->port[i]) != 0)
			fx->port[i] = RTE_MAX_ETHPORTS;
	}
	/* A port that was selected alone. */
	if (rte_eth_dev_get_port_by_name(FX_PCI, &only) == 0) {
		assert_int_equal(rte_eth_macaddr_get(only, &mac), 0);
		assert_uint_in_range(mac.addr_bytes[RTE_ETHER_ADDR_LEN - 1], 1, FX_NB_PORTS);
		fx->port[mac.addr_bytes[RTE_ETHER_ADDR_LEN - 1] - 1] = only;
	}
	return 0;
}

void
fx_remove(struct fixture *fx)
{
	assert_int_equal(rte_eal_hotplug_remove("pci", FX_PCI), 0);
	fx->is_probed = false;
}

void
fx_reprobe(struct fixture *fx, const char *devargs)
{
	fx_remove(fx);
	assert_int_equal(fx_probe(fx, devargs), 0);
}

static int
setup(void **state, bool probe)
{
	struct fixture *fx = &fx_instance;

	if (fx->is_probed) { /* a failed test before this one */
		fx_stop(fx);
		fx_remove(fx);
	}
	memset(fx, 0, sizeof(*fx));
	*state = fx;
	fx_log_reset();
	fx_holdings_get(&fx->before);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		assert_int_equal(fx_model.port(0, i, &fx->wire_before[i]), 0);
	fx->pool = fx_pool(fx, FX_NB_MBUFS, RTE_MBUF_DEFAULT_BUF_SIZE);
	if (probe)
		assert_int_equal(fx_probe(fx, fx_devargs), 0);
	return 0;
}

int
fx_setup(void **state)
{
	return setup(state, true);
}

int
fx_setup_bare(void **state)
{
	return setup(state, false);
}

struct mana_model_port
fx_wire(const struct fixture *fx, unsigned int port)
{
	const struct mana_model_port *before = &fx->wire_before[port];
	struct mana_model_port now;

	assert_int_equal(fx_model.port(0, port, &now), 0);
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
check_counters(const struct fixture *fx)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		struct mana_model_port wire = fx_wire(fx, i);
		struct rte_eth_stats stats;

		if (fx->port[i] == RTE_MAX_ETHPORTS)
			continue;
		stats = fx_stats(fx->port[i]);
		/* Rejected packets are posted, but not on the wire. */
		check_kind("Tx, driver against wire", "packets",
			   wire.tx_packets + wire.tx_errors, stats.opackets);
		check_kind("Tx, driver against wire", "bytes",
			   wire.tx_bytes + fx->refused_bytes[i], stats.obytes + RTE_VLAN_HLEN * fx->nb_tags[i]);
		check_kind("Rx, driver against wire", "packets", wire.rx_packets,
			   stats.ipackets);
		check_kind("Rx, driver against wire", "bytes", wire.rx_bytes,
			   stats.ibytes + RTE_VLAN_HLEN * fx->nb_tags[i ^ 1]);
	}
}

int
fx_teardown(void **state)
{
	struct fixture *fx = *state;

	fx_model.fault_disarm();
	if (fx->is_probed) {
		if (!fx->ignore_counters) {
			fx_drain(fx);
			check_counters(fx);
		}
		fx_stop(fx);
	}
	for (unsigned int i = 0; i < RTE_DIM(fx->pools); i++)
		if (fx->pools[i] != NULL)
			fx_pool_free(fx, fx->pools[i]);
	if (fx->is_probed)
		fx_remove(fx);
	fx_check_holdings(&fx->before, "at the end");
	check_kind("at the end", "violations", 0, fx_model.violations(NULL));
	fx_log_check();
	return 0;
}

struct rte_mempool *
fx_pool(struct fixture *fx, unsigned int nb_mbufs, uint16_t data_room)
{
	static unsigned int serial;
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	snprintf(name, sizeof(name), "test%u", serial++);
	pool = rte_pktmbuf_pool_create(name, nb_mbufs, 0, 0, data_room, SOCKET_ID_ANY);
	assert_non_null(pool);
	for (unsigned int i = 0; i < RTE_DIM(fx->pools); i++) {
		if (fx->pools[i] == NULL) {
			fx->pools[i] = pool;
			return pool;
		}
	}
	fail_msg("too many pools");
	return NULL;
}

void
fx_pool_free(struct fixture *fx, struct rte_mempool *pool)
{
	check_kind(pool->name, "free mbufs", pool->size, rte_mempool_avail_count(pool));
	for (unsigned int i = 0; i < RTE_DIM(fx->pools); i++)
		if (fx->pools[i] == pool)
			fx->pools[i] = NULL;
	rte_mempool_free(pool);
}

/* Memory that EAL keeps after a first probe and pool is no leak. */
static int
warm_up(void **state __rte_unused)
{
	/* A state of the group would replace the initial state of a test. */
	struct fixture *fx;
	void *own;

	if (fx_setup(&own) != 0)
		return -1;
	fx = own;
	fx_remove(fx);
	fx_pool_free(fx, fx->pool);
	fx_log_check();
	return 0;
}

/* Whether the system has enough free huge pages. */
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

/* The connection remains open: EAL notices its end at any later time. */
static int telemetry_fd;

static void
telemetry_open(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char hello[1024];

	telemetry_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/dpdk_telemetry.v2",
		 rte_eal_get_runtime_dir());
	if (telemetry_fd < 0 ||
	    connect(telemetry_fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
	    read(telemetry_fd, hello, sizeof(hello)) <= 0) {
		perror("telemetry");
		exit(EXIT_FAILURE);
	}
}

/* EAL removes neither. */
static void
telemetry_close(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/dpdk_telemetry.v2", rte_eal_get_runtime_dir());
	(void)close(telemetry_fd);
	(void)unlink(path);
	if (rmdir(rte_eal_get_runtime_dir()) != 0)
		perror(rte_eal_get_runtime_dir());
}

bool
fx_telemetry_ask_all(uint16_t port)
{
	static const char *const commands[] = {
		"/mana/list", "/mana/port,%u", "/mana/queue,%u", "/mana/queue,%u,rx,0",
		"/mana/queue,%u,tx,0", "/mana/mr,%u",
	};
	static char reply[1 << 16];
	char text[64];
	ssize_t nb;

	for (unsigned int i = 0; i < RTE_DIM(commands); i++) {
		snprintf(text, sizeof(text), commands[i], port);
		nb = write(telemetry_fd, text, strlen(text));
		if (nb > 0)
			nb = read(telemetry_fd, reply, sizeof(reply));
		/* {"/mana/...": */
		if (nb <= 0 || strncmp(reply, "{\"/mana/", 8) != 0) {
			printf("no reply to %s\n", text);
			return false;
		}
	}
	return true;
}

unsigned int
fx_part(void)
{
	const char *text = getenv("MANA_TEST_PART");

	return text != NULL ? RTE_MAX(atoi(text), 1) : 1;
}

int
fx_main(const char *name, const struct CMUnitTest *tests, size_t nb_tests)
{
	const char *plugin = getenv("MANA_PLUGIN");
	const char *memory = getenv("MANA_TEST_MEMORY");
	char prefix[32] = "--file-prefix=rte"; /* EAL's default */
	int ret;
	char *argv[] = {
		(char *)(uintptr_t)name,
		/* "--in-memory": dynamic huge pages */
		(char *)(uintptr_t)(memory != NULL ? memory : "--no-huge"),
		(char *)(uintptr_t)"--no-shconf",
		(char *)(uintptr_t)(fx_has_telemetry ? "--telemetry" : "--no-telemetry"),
		prefix, lcores_anywhere(),
		/* huge pages grow on demand; --no-huge memory cannot */
		(char *)(uintptr_t)"-m",
		(char *)(uintptr_t)(memory != NULL ? "16" : fx_megabytes),
		(char *)(uintptr_t)"-d", (char *)(uintptr_t)plugin,
		/* matches no device: tests probe explicitly */
		(char *)(uintptr_t)"-a", (char *)(uintptr_t)"ffff:ff:1f.7", NULL,
	};

	/* The socket has a folder of its own. */
	if (fx_has_telemetry)
		snprintf(prefix, sizeof(prefix), "--file-prefix=mana-%d", (int)getpid());
	if (plugin == NULL) {
		printf("MANA_PLUGIN must name the driver\n");
		return EXIT_FAILURE;
	}
	if (memory != NULL && !has_huge_pages()) {
		printf("fewer than %d huge pages of 2 MiB are free\n", NB_HUGE_PAGES);
		return EXIT_SKIPPED;
	}
	find_model();
	if (fx_log_open() != 0 || rte_eal_init(RTE_DIM(argv) - 1, argv) < 0) {
		printf("EAL initialization failed: %s\n", rte_strerror(rte_errno));
		return EXIT_FAILURE;
	}
	if (fx_has_telemetry)
		telemetry_open();
	ret = _cmocka_run_group_tests(name, tests, nb_tests, warm_up, NULL);
	if (fx_has_telemetry)
		telemetry_close();
	return ret;
}
