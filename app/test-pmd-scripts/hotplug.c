/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A primary process that attaches and detaches functions while two of its ports
 * forward, and secondary processes that read ethdev's reports of ports all the time.
 * Both execute commands from standard input, one per line; each command ends with a
 * line "done" or "failed: why".
 *
 * In the primary process (ports 0 and 1 are connected):
 *   attach DEVARGS    attach a function and start its ports
 *   detach PCI        stop and close the function's ports, and remove it
 *   stop PORT         stop a port
 *   close PORT        stop and close a port
 *   pass FROM TO      send frames from one started port to another
 *   pause, resume     no burst of ports 0 and 1 runs between the two
 *   stats             name, packets sent, received of each port
 * In a secondary one:
 *   stats             as above
 *   seen              ports that appeared and disappeared, rounds of reading
 *   refusals PORT     result of each operation of the control path
 *   unmapped PCI      result of the mapping of memory for the function
 * In both: quit.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_pause.h>
#include <rte_pdump.h>

#define NB_DESC 256
#define NB_MBUFS 4095
#define BURST 32
#define NB_FRAMES 64
#define FRAME_BYTES 60
#define NB_XSTATS 512
#define PAGE 4096
/* Only frames that never arrive reach this limit. */
#define WAIT_MS 60000

static struct rte_mempool *pool;
static atomic_bool is_over;
static atomic_bool is_pause_due;
static atomic_bool is_paused;

/* ethdev has no lock: this one protects the ports during reads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_here[RTE_MAX_ETHPORTS];
static unsigned int nb_appeared;
static unsigned int nb_disappeared;
static unsigned int nb_rounds;

/* ---- The primary process ---------------------------------------------------- */

static int
port_start(uint16_t port)
{
	struct rte_eth_conf conf = {
		.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
		.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4,
	};
	int ret;

	ret = rte_eth_dev_configure(port, 1, 1, &conf);
	if (ret == 0)
		ret = rte_eth_rx_queue_setup(port, 0, NB_DESC, SOCKET_ID_ANY,
					     NULL, pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(port, 0, NB_DESC, SOCKET_ID_ANY,
					     NULL);
	return ret == 0 ? rte_eth_dev_start(port) : ret;
}

static void
burst_send(uint16_t port, struct rte_mbuf **pkts, uint16_t nb)
{
	uint16_t nb_sent = rte_eth_tx_burst(port, 0, pkts, nb);

	while (nb_sent < nb)
		rte_pktmbuf_free(pkts[nb_sent++]);
}

static void
frames_send(uint16_t port)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t i;

	if (rte_pktmbuf_alloc_bulk(pool, pkts, BURST) != 0)
		return;
	for (i = 0; i < BURST; i++)
		memset(rte_pktmbuf_append(pkts[i], FRAME_BYTES), 0xff,
		       FRAME_BYTES);
	burst_send(port, pkts, BURST);
}

/* Ports 0 and 1 return what they receive, until the end. */
static int
forward(void *arg)
{
	(void)arg;
	frames_send(0);
	frames_send(1);
	while (!atomic_load(&is_over)) {
		struct rte_mbuf *pkts[BURST];
		uint16_t port, nb;

		atomic_store(&is_paused, atomic_load(&is_pause_due));
		if (atomic_load(&is_paused))
			continue;
		for (port = 0; port < 2; port++) {
			nb = rte_eth_rx_burst(port, 0, pkts, BURST);
			burst_send(port, pkts, nb);
		}
	}
	return 0;
}

static int
pause_set(bool is_wanted)
{
	atomic_store(&is_pause_due, is_wanted);
	while (atomic_load(&is_paused) != is_wanted)
		rte_pause();
	return 0;
}

static int
attach(const char *devargs)
{
	bool was_here[RTE_MAX_ETHPORTS] = { false };
	unsigned int nb = 0;
	uint16_t port;
	int ret;

	RTE_ETH_FOREACH_DEV(port)
		was_here[port] = true;
	ret = rte_dev_probe(devargs);
	if (ret != 0)
		return ret;
	RTE_ETH_FOREACH_DEV(port) {
		if (was_here[port])
			continue;
		nb++;
		ret = port_start(port);
		if (ret != 0)
			return ret;
		printf("attached: %u\n", port);
	}
	return nb > 0 ? 0 : -ENODEV;
}

/* Lists the ports of this device. Returns the device. */
static struct rte_device *
ports_stop(const char *name)
{
	struct rte_device *device = NULL;
	uint16_t port;

	RTE_ETH_FOREACH_DEV(port) {
		struct rte_eth_dev_info info;

		if (rte_eth_dev_info_get(port, &info) != 0 ||
		    strcmp(rte_dev_name(info.device), name) != 0)
			continue;
		device = info.device;
		(void)rte_eth_dev_stop(port);
	}
	return device;
}

static int
detach(const char *name)
{
	struct rte_device *device = ports_stop(name);

	return device != NULL ? rte_dev_remove(device) : -ENODEV;
}

static int
port_close(uint16_t port)
{
	int ret = rte_eth_dev_stop(port);

	return ret == 0 ? rte_eth_dev_close(port) : ret;
}

static int
pass(uint16_t from, uint16_t to)
{
	struct rte_mbuf *pkts[BURST];
	unsigned int nb = 0;
	unsigned int ms;

	for (ms = 0; ms < WAIT_MS && nb < NB_FRAMES; ms++) {
		uint16_t nb_rx;

		frames_send(from);
		nb_rx = rte_eth_rx_burst(to, 0, pkts, BURST);
		rte_pktmbuf_free_bulk(pkts, nb_rx);
		nb += nb_rx;
		if (nb_rx == 0)
			rte_delay_us_sleep(1000);
	}
	return nb >= NB_FRAMES ? 0 : -ETIMEDOUT;
}

static int
primary_start(void)
{
	unsigned int lcore = rte_get_next_lcore(-1, 1, 0);
	uint16_t port;
	int ret;

	pool = rte_pktmbuf_pool_create("frames", NB_MBUFS, 0, 0,
				       RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	if (pool == NULL)
		return -rte_errno;
	RTE_ETH_FOREACH_DEV(port) {
		ret = port_start(port);
		if (ret != 0)
			return ret;
	}
	/* Lets other processes capture packets. */
	ret = rte_pdump_init();
	return ret == 0 ? rte_eal_remote_launch(forward, NULL, lcore) : ret;
}

/* ---- A secondary process ------------------------------------------------------ */

/* Runs after the event in its thread; EAL then knows the device's driver. */
static void
port_use(void *arg)
{
	pthread_mutex_lock(&lock);
	is_here[(uintptr_t)arg] = true;
	nb_appeared++;
	pthread_mutex_unlock(&lock);
}

/* Called when a port has appeared or will disappear. */
static int
port_event(uint16_t port, enum rte_eth_event_type event, void *arg, void *ret)
{
	(void)arg;
	(void)ret;
	if (event == RTE_ETH_EVENT_NEW)
		return rte_eal_alarm_set(1, port_use, (void *)(uintptr_t)port);
	(void)rte_eal_alarm_cancel(port_use, (void *)(uintptr_t)port);
	pthread_mutex_lock(&lock);
	is_here[port] = false;
	nb_disappeared++;
	pthread_mutex_unlock(&lock);
	return 0;
}

static void
broken(const char *what, uint16_t port, int ret)
{
	printf("failed: %s of port %u: %d\n", what, port, ret);
	exit(EXIT_FAILURE);
}

/* -ENODEV: the primary process has closed the port. */
static void
need(int ret, const char *what, uint16_t port)
{
	if (ret < 0 && ret != -ENODEV)
		broken(what, port, ret);
}

/* What a program that monitors ports calls, and bursts without effect. */
static void
port_read(uint16_t port)
{
	static struct rte_eth_xstat xstats[NB_XSTATS];
	static struct rte_eth_xstat_name names[NB_XSTATS];
	struct rte_eth_rss_conf rss = { 0 };
	struct rte_eth_dev_info info;
	struct rte_eth_stats stats;
	struct rte_eth_link link;
	struct rte_mbuf *pkts[BURST] = { NULL };
	uint16_t nb;

	need(rte_eth_dev_info_get(port, &info), "information", port);
	need(rte_eth_stats_get(port, &stats), "statistics", port);
	need(rte_eth_xstats_get(port, xstats, NB_XSTATS), "extended statistics",
	     port);
	need(rte_eth_xstats_get_names(port, names, NB_XSTATS), "their names",
	     port);
	need(rte_eth_link_get_nowait(port, &link), "link", port);
	need(rte_eth_dev_rss_hash_conf_get(port, &rss), "RSS", port);
	nb = rte_eth_rx_burst(port, 0, pkts, BURST);
	nb += rte_eth_tx_burst(port, 0, pkts, BURST);
	if (nb != 0)
		broken("bursts", port, nb);
}

static void *
read_on(void *arg)
{
	uint16_t port;

	while (!atomic_load(&is_over)) {
		for (port = 0; port < RTE_MAX_ETHPORTS; port++) {
			pthread_mutex_lock(&lock);
			if (is_here[port] && rte_eth_dev_is_valid_port(port))
				port_read(port);
			pthread_mutex_unlock(&lock);
		}
		pthread_mutex_lock(&lock);
		nb_rounds++;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void
refusals(uint16_t port)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = 1 };
	struct rte_eth_rss_conf rss = { .rss_hf = RTE_ETH_RSS_IPV4 };
	struct rte_eth_conf conf = { 0 };

#define TELL(call) printf("%s: %d\n", #call, rte_eth_##call)
	TELL(dev_configure(port, 1, 1, &conf));
	TELL(dev_start(port));
	TELL(dev_stop(port));
	TELL(dev_reset(port));
	TELL(dev_set_mtu(port, 1400));
	TELL(dev_set_link_up(port));
	TELL(dev_rx_queue_start(port, 0));
	TELL(dev_rx_queue_stop(port, 0));
	TELL(dev_tx_queue_stop(port, 0));
	TELL(rx_queue_setup(port, 0, NB_DESC, 0, NULL, pool));
	TELL(tx_queue_setup(port, 0, NB_DESC, 0, NULL));
	TELL(dev_rss_hash_update(port, &rss));
	TELL(dev_rss_reta_update(port, &reta, 64));
	TELL(dev_set_vlan_offload(port, RTE_ETH_VLAN_STRIP_OFFLOAD));
	TELL(dev_rx_intr_enable(port, 0));
	TELL(rx_queue_count(port, 0));
	TELL(rx_descriptor_status(port, 0, 0));
	TELL(tx_descriptor_status(port, 0, 0));
	TELL(tx_done_cleanup(port, 0, 0));
#undef TELL
}

static int
unmapped(const char *name)
{
	static _Alignas(PAGE) char bytes[PAGE];
	struct rte_device *device = NULL;
	uint16_t port;
	int ret;

	RTE_ETH_FOREACH_DEV(port) {
		struct rte_eth_dev_info info;

		if (rte_eth_dev_info_get(port, &info) == 0 &&
		    strcmp(rte_dev_name(info.device), name) == 0)
			device = info.device;
	}
	if (device == NULL)
		return -ENODEV;
	if (rte_extmem_register(bytes, PAGE, NULL, 0, PAGE) != 0)
		return -rte_errno;
	ret = rte_dev_dma_map(device, bytes, (uintptr_t)bytes, PAGE);
	printf("dma_map: %d\n", ret == 0 ? 0 : -rte_errno);
	return rte_extmem_unregister(bytes, PAGE);
}

static int
secondary_start(void)
{
	pthread_t thread;
	uint16_t port;
	int ret;

	pthread_mutex_lock(&lock);
	ret = rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_NEW,
					    port_event, NULL);
	if (ret == 0)
		ret = rte_eth_dev_callback_register(RTE_ETH_ALL,
						    RTE_ETH_EVENT_DESTROY,
						    port_event, NULL);
	RTE_ETH_FOREACH_DEV(port)
		is_here[port] = true;
	pthread_mutex_unlock(&lock);
	pool = rte_mempool_lookup("frames");
	if (ret == 0)
		ret = -pthread_create(&thread, NULL, read_on, NULL);
	return ret;
}

/* ---- Commands ----------------------------------------------------------------- */

static int
stats_print(void)
{
	uint16_t port;

	RTE_ETH_FOREACH_DEV(port) {
		struct rte_eth_stats stats;
		char name[RTE_ETH_NAME_MAX_LEN];

		/* Closed by the primary process. */
		if (rte_eth_stats_get(port, &stats) != 0 ||
		    rte_eth_dev_get_name_by_port(port, name) != 0)
			continue;
		printf("port %u %s %" PRIu64 " %" PRIu64 "\n", port, name,
		       stats.opackets, stats.ipackets);
	}
	return 0;
}

static int
seen_print(void)
{
	pthread_mutex_lock(&lock);
	printf("seen %u %u %u\n", nb_appeared, nb_disappeared, nb_rounds);
	pthread_mutex_unlock(&lock);
	return 0;
}

static int
obey(const char *line)
{
	unsigned int one, two;
	char word[128];

	if (strcmp(line, "stats") == 0)
		return stats_print();
	if (strcmp(line, "seen") == 0)
		return seen_print();
	if (strcmp(line, "pause") == 0)
		return pause_set(true);
	if (strcmp(line, "resume") == 0)
		return pause_set(false);
	if (sscanf(line, "attach %127s", word) == 1)
		return attach(word);
	if (sscanf(line, "detach %127s", word) == 1)
		return detach(word);
	if (sscanf(line, "unmapped %127s", word) == 1)
		return unmapped(word);
	if (sscanf(line, "pass %u %u", &one, &two) == 2)
		return pass(one, two);
	if (sscanf(line, "stop %u", &one) == 1)
		return rte_eth_dev_stop(one);
	if (sscanf(line, "close %u", &one) == 1)
		return port_close(one);
	if (sscanf(line, "refusals %u", &one) == 1) {
		refusals(one);
		return 0;
	}
	return -EINVAL;
}

int
main(int argc, char **argv)
{
	char line[256];
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ret = rte_eal_init(argc, argv);
	if (ret < 0)
		return EXIT_FAILURE;
	ret = rte_eal_process_type() == RTE_PROC_PRIMARY ? primary_start() :
							   secondary_start();
	if (ret != 0) {
		printf("failed: start: %s\n", rte_strerror(-ret));
		return EXIT_FAILURE;
	}
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "quit") == 0)
			break;
		ret = obey(line);
		if (ret == 0)
			printf("done\n");
		else
			printf("failed: %s\n", rte_strerror(-ret));
	}
	atomic_store(&is_over, true);
	rte_eal_mp_wait_lcore();
	if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
		/* read_on() holds it during a round. */
		pthread_mutex_lock(&lock);
		memset(is_here, 0, sizeof(is_here));
		pthread_mutex_unlock(&lock);
	} else {
		uint16_t port;

		RTE_ETH_FOREACH_DEV(port)
			(void)port_close(port);
	}
	return rte_eal_cleanup() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
