/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A primary process that attaches and detaches functions while two of its ports
 * forward, and secondary processes that forward as well, or read ethdev's reports of
 * ports all the time.
 *
 *   hotplug EAL-OPTIONS [-- NUMBER]
 *
 * NUMBER is that of each port's Rx and Tx queues in the primary process, which uses
 * queue 0 (default: 1); in a secondary one the queue with which it forwards (default: it
 * only reads).
 *
 * All execute commands from standard input, one per line; each command ends with a
 * line "done" or "failed: why".
 *
 * In the primary process:
 *   attach DEVARGS    attach a function and start its ports
 *   detach PCI        stop and close the function's ports, and remove it
 *   stop PORT         stop a port
 *   start PORT        start a stopped port
 *   descriptors PORT N
 *                     stop a port, and start it with queues of N descriptors
 *   queues PORT N     stop a port, and start it with N Rx and Tx queues
 *   queue PORT N      stop and start the Rx and the Tx queue N
 *   reta PORT         move each entry of the RETA to the next queue
 *   close PORT        stop and close a port
 *   reset PORT        reset a stopped port, and start it
 *   version           secondary processes that start now find another driver's ports
 *   map               map memory where `private` does
 *   mbufs             mbufs in use of each queue's pool
 *   kernel slow       registrations of memory wait (../test/verbs_gate.h)
 *   kernel waits      wait until one does
 *   kernel fast       they do not wait any more
 * In a secondary one:
 *   seen              ports that appeared, disappeared, and were removed; rounds of
 *                     reading
 *   refusals PORT     result of each operation of the control path
 *   unmapped PCI      result of the mapping of memory for the function
 *   removed PORT      whether the port's device is removed
 *   block MS          keep EAL's interrupt thread from anything else
 * With the process's queue; ports 0 and 1 must be paused for `pass` and `private`:
 *   seed [own]        send frames of 32 flows from ports 0 and 1, from the queue's pool, or
 *                     one that the process creates
 *   forwarded         frames received, sent, and dropped by ports 0 and 1
 *   pause, resume     no burst of ports 0 and 1 runs between the two
 *   pass FROM TO [own]
 *                     send numbered frames from one started port to another, from the
 *                     queue's pool, or one that the process creates
 *   free              free that pool
 *   both              as pass 0 1 and pass 1 0 at once, each in a thread and from a new
 *                     pool
 *   private FROM TO   send frames in memory that no other process maps, then pass
 * In both:
 *   stats             name, packets sent, received of each port
 *   fault PLUGIN N[+] let the Nth next call of this driver fail, built for it
 *                     (app/test/fault), and all later ones with +; 0: none
 *   faults PLUGIN     calls since then, and those that failed
 *   quit
 */

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_pause.h>
#include <rte_pdump.h>
#include <rte_thash.h>

#include "../test/verbs_gate.h"

#define NB_DESC	      256
#define NB_MBUFS      8191
#define NB_QUEUES_MAX 4
#define BURST	      32
#define NB_FRAMES     64
#define FRAME_BYTES   60
#define RETA_SIZE     64
#define RSS_KEY_BYTES 40
/* More than two Tx queues hold. */
#define NB_OWN_MBUFS 1023
#define FREE_S 10
/* IPv4 protocol for experiments: the adapter hashes only the addresses. */
#define PROTOCOL  253
#define NB_XSTATS 512
#define PAGE	  4096
#define POOL_NAME "frames%u"
/* Only frames that never arrive reach this limit. */
#define WAIT_MS 60000

/* Far from the memory of EAL, which begins at 0x200000000000. */
#define PRIVATE_ADDRESS ((void *)0x300000000000)
#define PRIVATE_BYTES	PAGE

/* A frame that names its sender and its place in the order. */
struct frame {
	struct rte_ether_hdr ether;
	struct rte_ipv4_hdr ip;
	uint32_t queue;
	uint32_t number;
	uint8_t fill[FRAME_BYTES - 42];
} __attribute__((packed, aligned(2)));

_Static_assert(sizeof(struct frame) == FRAME_BYTES, "layout of a frame");

/* One per queue. A process that is killed may hold the lock of a ring. */
static struct rte_mempool *pools[NB_QUEUES_MAX];
static uint16_t nb_queues;
static uint16_t queue;
static atomic_bool is_over;
static atomic_bool is_pause_due;
static atomic_bool is_paused;
static atomic_bool is_away[2]; /* ports 0 and 1: detached, and not attached again yet */
static atomic_uint nb_loops; /* of forward(); odd: it runs */
static atomic_uint_least64_t nb_received;
static atomic_uint_least64_t nb_sent;
static atomic_uint_least64_t nb_dropped;

/* ethdev has no lock: this one protects the ports during reads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_here[RTE_MAX_ETHPORTS];
static atomic_uint nb_appeared;
static atomic_uint nb_disappeared;
static atomic_uint nb_removed;
static atomic_uint nb_rounds;

/* ---- Frames ------------------------------------------------------------------ */

static void
frame_make(struct frame *frame, uint32_t flow, uint32_t number)
{
	memset(frame, 0, sizeof(*frame));
	memset(&frame->ether.dst_addr, 0xff, sizeof(frame->ether.dst_addr));
	frame->ether.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	frame->ip.version_ihl = RTE_IPV4_VHL_DEF;
	frame->ip.total_length =
		rte_cpu_to_be_16(FRAME_BYTES - sizeof(frame->ether));
	frame->ip.next_proto_id = PROTOCOL;
	frame->ip.src_addr = rte_cpu_to_be_32(flow);
	frame->ip.hdr_checksum = rte_ipv4_cksum(&frame->ip);
	frame->queue = queue;
	frame->number = number;
	memset(frame->fill, (int)number, sizeof(frame->fill));
}

/* The flow that the port's RSS directs to the process's queue. */
static int
flow_find(uint16_t port, uint32_t *flow)
{
	uint8_t key[RSS_KEY_BYTES];
	struct rte_eth_rss_conf rss = {
		.rss_key = key,
		.rss_key_len = sizeof(key),
	};
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	struct rte_eth_dev_info info;
	int ret;

	*flow = 0;
	ret = rte_eth_dev_info_get(port, &info);
	if (ret != 0 || info.nb_rx_queues == 1)
		return ret;
	ret = rte_eth_dev_rss_hash_conf_get(port, &rss);
	if (ret == 0)
		ret = rte_eth_dev_rss_reta_query(port, &reta, RETA_SIZE);
	for (; ret == 0; (*flow)++) {
		uint32_t addresses[] = { *flow, 0 };
		uint32_t hash = rte_softrss(addresses, RTE_DIM(addresses), key);

		if (reta.reta[hash % RETA_SIZE] == queue)
			break;
	}
	return ret;
}

/* Returns the number of frames sent. */
static uint16_t
burst_send(uint16_t port, struct rte_mbuf **pkts, uint16_t nb)
{
	uint16_t nb_taken = rte_eth_tx_burst(port, queue, pkts, nb);

	if (nb_taken < nb)
		rte_pktmbuf_free_bulk(&pkts[nb_taken], nb - nb_taken);
	return nb_taken;
}

/*
 * A burst takes no packet in memory that a secondary process uses for the first time, until
 * the primary process has answered.
 */
static uint16_t
burst_send_all(uint16_t port, struct rte_mbuf **pkts, uint16_t nb)
{
	uint16_t nb_taken = 0;

	for (unsigned int i = 0; i < 1000 && nb_taken < nb; i++) {
		nb_taken += rte_eth_tx_burst(port, queue, pkts + nb_taken, nb - nb_taken);
		if (nb_taken < nb)
			rte_delay_us_sleep(1000);
	}
	return nb_taken + burst_send(port, pkts + nb_taken, nb - nb_taken);
}

/* Sends frames of one flow, or of a flow each. */
static int
frames_send(uint16_t port, struct rte_mempool *pool, uint32_t flow,
	    bool is_flow_each, uint32_t number)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t i;
	int ret;

	ret = rte_pktmbuf_alloc_bulk(pool, pkts, BURST);
	if (ret != 0)
		return ret;
	for (i = 0; i < BURST; i++)
		frame_make((struct frame *)rte_pktmbuf_append(pkts[i],
							      FRAME_BYTES),
			   is_flow_each ? flow + i : flow, number + i);
	return burst_send_all(port, pkts, BURST) == BURST ? 0 : -EAGAIN;
}

static bool
is_expected(const struct rte_mbuf *pkt, uint32_t flow, uint32_t number)
{
	struct frame expected;

	frame_make(&expected, flow, number);
	return pkt->pkt_len == FRAME_BYTES && pkt->nb_segs == 1 &&
	       memcmp(rte_pktmbuf_mtod(pkt, void *), &expected, FRAME_BYTES) == 0;
}

/* Receives a burst of frames in their order, and nothing else. */
static int
frames_receive(uint16_t port, uint32_t flow, uint32_t number)
{
	const uint32_t end = number + BURST;
	struct rte_mbuf *pkts[BURST];
	unsigned int ms;
	uint16_t i, nb;

	for (ms = 0; ms < WAIT_MS && number < end;) {
		nb = rte_eth_rx_burst(port, queue, pkts, BURST);
		for (i = 0; i < nb; i++, number++)
			if (!is_expected(pkts[i], flow, number)) {
				printf("wrong frame, expected number %u:\n",
				       number);
				rte_pktmbuf_dump(stdout, pkts[i], FRAME_BYTES);
				break;
			}
		rte_pktmbuf_free_bulk(pkts, nb);
		if (i < nb)
			return -EBADMSG;
		if (nb == 0) {
			rte_delay_us_sleep(1000);
			ms++;
		}
	}
	return number == end ? 0 : -ETIMEDOUT;
}

static int
pass(uint16_t from, uint16_t to, struct rte_mempool *pool)
{
	uint32_t number, flow;
	int ret;

	ret = flow_find(to, &flow);
	for (number = 0; ret == 0 && number < NB_FRAMES; number += BURST) {
		ret = frames_send(from, pool, flow, false, number);
		if (ret == 0)
			ret = frames_receive(to, flow, number);
	}
	return ret;
}

/* ---- Forwarding -------------------------------------------------------------- */

/* Ports 0 and 1 send what the other receives, until the end. */
static int
forward(void *arg)
{
	(void)arg;
	atomic_store(&nb_loops, 1);
	while (!atomic_load(&is_over)) {
		struct rte_mbuf *pkts[BURST];
		uint16_t port, nb, nb_taken;

		atomic_fetch_add(&nb_loops, 2);
		atomic_store(&is_paused, atomic_load(&is_pause_due));
		if (atomic_load(&is_paused) || atomic_load(&is_away[0]) ||
		    atomic_load(&is_away[1]))
			continue;
		for (port = 0; port < 2; port++) {
			nb = rte_eth_rx_burst(port, queue, pkts, BURST);
			nb_taken = burst_send(port ^ 1, pkts, nb);
			atomic_fetch_add(&nb_received, nb);
			atomic_fetch_add(&nb_sent, nb_taken);
			atomic_fetch_add(&nb_dropped, nb - nb_taken);
		}
	}
	atomic_store(&nb_loops, 0);
	return 0;
}

/* Returns when no burst runs that began before. */
static void
forward_await(void)
{
	unsigned int before = atomic_load(&nb_loops);

	while (before != 0 && atomic_load(&nb_loops) == before)
		rte_pause();
}

static int
forward_start(void)
{
	return rte_eal_remote_launch(forward, NULL, rte_get_next_lcore(-1, 1, 0));
}

static int
forwarded_print(void)
{
	printf("forwarded %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
	       atomic_load(&nb_received), atomic_load(&nb_sent),
	       atomic_load(&nb_dropped));
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
seed(struct rte_mempool *pool)
{
	int ret;

	pause_set(true);
	ret = frames_send(0, pool, 0, true, 0);
	if (ret == 0)
		ret = frames_send(1, pool, 0, true, 0);
	pause_set(false);
	return ret;
}

/* ---- The primary process ---------------------------------------------------- */

static int
port_start(uint16_t port, uint16_t nb, uint16_t nb_desc)
{
	struct rte_eth_conf conf = {
		.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
		.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4,
	};
	uint16_t i;
	int ret;

	ret = rte_eth_dev_configure(port, nb, nb, &conf);
	for (i = 0; ret == 0 && i < nb; i++) {
		ret = rte_eth_rx_queue_setup(port, i, nb_desc, SOCKET_ID_ANY,
					     NULL, pools[i]);
		if (ret == 0)
			ret = rte_eth_tx_queue_setup(port, i, nb_desc,
						     SOCKET_ID_ANY, NULL);
	}
	return ret == 0 ? rte_eth_dev_start(port) : ret;
}

static int
port_restart(uint16_t port, uint16_t nb, uint16_t nb_desc)
{
	int ret = rte_eth_dev_stop(port);

	return ret == 0 ? port_start(port, nb, nb_desc) : ret;
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
		ret = rte_eal_process_type() == RTE_PROC_PRIMARY ?
			      port_start(port, nb_queues, NB_DESC) : 0;
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
	/* A secondary process closes the port for itself. */
	int ret = rte_eal_process_type() == RTE_PROC_PRIMARY ? rte_eth_dev_stop(port) : 0;

	return ret == 0 ? rte_eth_dev_close(port) : ret;
}

static int
queue_restart(uint16_t port, uint16_t number)
{
	int ret = rte_eth_dev_rx_queue_stop(port, number);

	if (ret == 0)
		ret = rte_eth_dev_rx_queue_start(port, number);
	if (ret == 0)
		ret = rte_eth_dev_tx_queue_stop(port, number);
	return ret == 0 ? rte_eth_dev_tx_queue_start(port, number) : ret;
}

/* The table is as it was written. */
static int
reta_turn(uint16_t port)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX }, wanted;
	int ret = rte_eth_dev_rss_reta_query(port, &reta, RTE_ETH_RETA_GROUP_SIZE);

	for (uint32_t i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
		reta.reta[i] = (reta.reta[i] + 1) % nb_queues;
	wanted = reta;
	if (ret == 0)
		ret = rte_eth_dev_rss_reta_update(port, &reta, RTE_ETH_RETA_GROUP_SIZE);
	if (ret == 0)
		ret = rte_eth_dev_rss_reta_query(port, &reta, RTE_ETH_RETA_GROUP_SIZE);
	if (ret == 0 && memcmp(&reta, &wanted, sizeof(reta)) != 0)
		ret = -EIO;
	return ret;
}

static void *
private_map(void)
{
	return mmap(PRIVATE_ADDRESS, PRIVATE_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

/* Frames of another process must not come from here. */
static int
foreign_map(void)
{
	struct frame *frames = private_map();
	uint32_t i;

	if (frames == MAP_FAILED)
		return -errno;
	for (i = 0; i < PRIVATE_BYTES / sizeof(*frames); i++)
		frame_make(&frames[i], 0, UINT32_MAX);
	return 0;
}

static int
port_reset(uint16_t port)
{
	int ret = rte_eth_dev_reset(port);

	return ret == 0 ? port_start(port, nb_queues, NB_DESC) : ret;
}

static int
compare_pointers(const void *a, const void *b)
{
	const char *left = *(char *const *)a, *right = *(char *const *)b;

	return left < right ? -1 : left > right;
}

/* Mbufs that the pool has twice, once they were freed twice. Nothing else uses it. */
static uint32_t
nb_twice(struct rte_mempool *mp)
{
	static void *mbufs[2 * NB_MBUFS];
	uint32_t nb = 0, nb_equal = 0;

	while (nb < RTE_DIM(mbufs) && rte_mempool_get(mp, &mbufs[nb]) == 0)
		nb++;
	qsort(mbufs, nb, sizeof(*mbufs), compare_pointers);
	for (uint32_t i = 1; i < nb; i++)
		nb_equal += mbufs[i] == mbufs[i - 1];
	for (uint32_t i = 0; i < nb; i++)
		rte_mempool_put(mp, mbufs[i]);
	return nb_equal;
}

static int
mbufs_print(void)
{
	uint16_t i;

	for (i = 0; i < nb_queues; i++)
		printf("mbufs of queue %u: %u, %u twice\n", i,
		       rte_mempool_in_use_count(pools[i]), nb_twice(pools[i]));
	return 0;
}

static int
pools_create(void)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	uint16_t i;

	for (i = 0; i < nb_queues; i++) {
		(void)snprintf(name, sizeof(name), POOL_NAME, i);
		pools[i] =
			rte_pktmbuf_pool_create_by_ops(name, NB_MBUFS, 0, 0,
						       RTE_MBUF_DEFAULT_BUF_SIZE,
						       SOCKET_ID_ANY, "lf_stack");
		if (pools[i] == NULL)
			return -rte_errno;
	}
	return 0;
}

static int
primary_start(uint16_t number)
{
	uint16_t port;
	int ret;

	nb_queues = number;
	ret = pools_create();
	if (ret != 0)
		return ret;
	RTE_ETH_FOREACH_DEV(port) {
		ret = port_start(port, nb_queues, NB_DESC);
		if (ret != 0)
			return ret;
	}
	/* Lets other processes capture packets. */
	ret = rte_pdump_init();
	return ret == 0 ? forward_start() : ret;
}

/* ---- A secondary process ------------------------------------------------------ */

static void
here_set(uint16_t port, bool is)
{
	pthread_mutex_lock(&lock);
	is_here[port] = is;
	pthread_mutex_unlock(&lock);
}

/* Runs after the event in its thread; EAL then knows the device's driver. */
static void
port_use(void *arg)
{
	uintptr_t port = (uintptr_t)arg;

	here_set(port, true);
	nb_appeared++;
	if (port < RTE_DIM(is_away))
		atomic_store(&is_away[port], false);
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
	here_set(port, false);
	nb_disappeared++;
	/* ethdev's tables must not be used between the two events. */
	if (port < RTE_DIM(is_away)) {
		atomic_store(&is_away[port], true);
		forward_await();
	}
	return 0;
}

static int
port_removed(uint16_t port, enum rte_eth_event_type event, void *arg, void *ret)
{
	static bool is_gone[RTE_MAX_ETHPORTS];

	(void)event;
	(void)arg;
	(void)ret;
	/* Each port once. */
	if (port < RTE_MAX_ETHPORTS && !is_gone[port])
		nb_removed++;
	is_gone[port % RTE_MAX_ETHPORTS] = true;
	return 0;
}

/* -ENODEV: the primary process has closed the port. */
static void
need(int ret, const char *what, uint16_t port)
{
	if (ret >= 0 || ret == -ENODEV)
		return;
	printf("failed: %s of port %u: %d\n", what, port, ret);
	exit(EXIT_FAILURE);
}

/* What a program that monitors ports calls. */
static void
port_read(uint16_t port)
{
	static struct rte_eth_xstat xstats[NB_XSTATS];
	static struct rte_eth_xstat_name names[NB_XSTATS];
	struct rte_eth_rss_conf rss = { 0 };
	struct rte_eth_dev_info info;
	struct rte_eth_stats stats;
	struct rte_eth_link link;

	need(rte_eth_dev_info_get(port, &info), "information", port);
	need(rte_eth_stats_get(port, &stats), "statistics", port);
	need(rte_eth_xstats_get(port, xstats, NB_XSTATS), "extended statistics",
	     port);
	need(rte_eth_xstats_get_names(port, names, NB_XSTATS), "their names",
	     port);
	need(rte_eth_link_get_nowait(port, &link), "link", port);
	need(rte_eth_dev_rss_hash_conf_get(port, &rss), "RSS", port);
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
		nb_rounds++;
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
	TELL(rx_queue_setup(port, 0, NB_DESC, 0, NULL, pools[0]));
	TELL(tx_queue_setup(port, 0, NB_DESC, 0, NULL));
	TELL(dev_rss_hash_update(port, &rss));
	TELL(dev_rss_reta_update(port, &reta, 64));
	TELL(dev_set_vlan_offload(port, RTE_ETH_VLAN_STRIP_OFFLOAD));
	TELL(dev_rx_intr_enable(port, 0));
	TELL(rx_queue_count(port, 0));
	TELL(rx_descriptor_status(port, 0, 0));
	TELL(tx_descriptor_status(port, 0, 0));
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

static void
private_freed(void *address, void *arg)
{
	(void)address;
	*(unsigned int *)arg += 1;
}

static struct rte_mbuf *
private_mbuf(struct frame *frame, struct rte_mbuf_ext_shared_info *shared)
{
	struct rte_mbuf *pkt = rte_pktmbuf_alloc(pools[queue]);

	if (pkt == NULL)
		return NULL;
	rte_pktmbuf_attach_extbuf(pkt, frame, (uintptr_t)frame, sizeof(*frame),
				  shared);
	pkt->data_off = 0;
	(void)rte_pktmbuf_append(pkt, sizeof(*frame));
	return pkt;
}

/* The adapter cannot read these frames: only those of pass() arrive. */
static int
private_send(uint16_t from, uint16_t to)
{
	static unsigned int nb_freed;
	static struct rte_mbuf_ext_shared_info shared = {
		.free_cb = private_freed,
		.fcb_opaque = &nb_freed,
	};
	struct frame *frames = private_map();
	struct rte_eth_stats before, after;
	struct rte_mbuf *pkts[BURST];
	uint16_t i, nb_refused;
	uint32_t flow;
	int ret;

	if (frames == MAP_FAILED)
		return -errno;
	ret = flow_find(to, &flow);
	if (ret == 0)
		ret = rte_eth_stats_get(from, &before);
	if (ret != 0)
		return ret;
	rte_mbuf_ext_refcnt_set(&shared, BURST);
	for (i = 0; i < BURST; i++) {
		frame_make(&frames[i], flow, NB_FRAMES + i);
		pkts[i] = private_mbuf(&frames[i], &shared);
		if (pkts[i] == NULL)
			return -ENOMEM;
	}
	nb_refused = BURST - burst_send_all(from, pkts, BURST);
	ret = pass(from, to, pools[queue]);
	if (ret == 0)
		ret = rte_eth_stats_get(from, &after);
	if (ret == 0)
		printf("private: %" PRIu64 " %u\n",
		       after.oerrors - before.oerrors + nb_refused, nb_freed);
	return ret;
}

static struct rte_mempool *own;

/* Frees the mempool of `pass ... own` when all its mbufs are back. */
static int
own_free(void)
{
	uint64_t end = rte_get_timer_cycles() + FREE_S * rte_get_timer_hz();
	uint16_t port;

	while (own != NULL && rte_mempool_avail_count(own) != NB_OWN_MBUFS) {
		if (rte_get_timer_cycles() > end)
			return -EBUSY;
		RTE_ETH_FOREACH_DEV(port)
			(void)rte_eth_tx_done_cleanup(port, queue, 0);
	}
	rte_mempool_free(own);
	own = NULL;
	return 0;
}

/* Memory that this process allocates. */
static struct rte_mempool *
own_pool(void)
{
	if (own == NULL)
		own = rte_pktmbuf_pool_create("own", NB_OWN_MBUFS, 0, 0,
					      RTE_MBUF_DEFAULT_BUF_SIZE,
					      SOCKET_ID_ANY);
	return own;
}

static int
secondary_start(uint16_t number)
{
	char name[RTE_MEMPOOL_NAMESIZE];
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
	if (ret == 0)
		ret = rte_eth_dev_callback_register(RTE_ETH_ALL,
						    RTE_ETH_EVENT_INTR_RMV,
						    port_removed, NULL);
	RTE_ETH_FOREACH_DEV(port)
		is_here[port] = true;
	pthread_mutex_unlock(&lock);
	queue = number;
	(void)snprintf(name, sizeof(name), POOL_NAME, queue);
	pools[queue] = rte_mempool_lookup(name);
	if (ret == 0 && pools[queue] == NULL)
		ret = -rte_errno;
	if (ret != 0)
		return ret;
	return queue > 0 ? forward_start() :
			   -pthread_create(&thread, NULL, read_on, NULL);
}

static struct rte_mempool *twins[2]; /* of the thread that sends from this port */

static void *
twin_pass(void *arg)
{
	uint16_t from = (uintptr_t)arg;

	return (void *)(intptr_t)pass(from, from ^ 1, twins[from]);
}

/* Two threads meet memory that their queues do not know. */
static int
pass_both(void)
{
	pthread_t threads[2];
	void *result = NULL;
	int ret = 0;

	for (uintptr_t i = 0; i < 2; i++) {
		char name[] = { 't', 'w', 'i', 'n', '0' + i, '\0' };

		twins[i] = rte_pktmbuf_pool_create(name, NB_OWN_MBUFS, 0, 0,
						   RTE_MBUF_DEFAULT_BUF_SIZE,
						   SOCKET_ID_ANY);
		if (twins[i] == NULL)
			return -rte_errno;
	}
	for (uintptr_t i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, twin_pass, (void *)i) != 0)
			abort();
	for (uintptr_t i = 0; i < 2; i++) {
		(void)pthread_join(threads[i], &result);
		if (result != NULL)
			ret = (intptr_t)result;
	}
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
	printf("seen %u %u %u %u\n", nb_appeared, nb_disappeared, nb_removed,
	       nb_rounds);
	return 0;
}

/* A function of app/test/fault/calls.h in the driver of this process. */
static void *
calls_function(const char *plugin, const char *name)
{
	void *library = dlopen(plugin, RTLD_NOW | RTLD_NOLOAD);
	void *function = library != NULL ? dlsym(library, name) : NULL;

	if (library != NULL)
		(void)dlclose(library);
	return function;
}

static int
fault_arm(const char *plugin, unsigned int nth, bool and_later)
{
	void (*arm)(unsigned int nth, bool and_later);

	*(void **)&arm = calls_function(plugin, "calls_arm");
	if (arm == NULL)
		return -ENOENT;
	arm(nth, and_later);
	return 0;
}

static int
faults_print(const char *plugin)
{
	unsigned int (*made)(void), (*failed)(void);

	*(void **)&made = calls_function(plugin, "calls_made");
	*(void **)&failed = calls_function(plugin, "calls_failed");
	if (made == NULL || failed == NULL)
		return -ENOENT;
	printf("driver calls: %u, failed: %u\n", made(), failed());
	return 0;
}

static int
version_change(void)
{
	const struct rte_memzone *mz = rte_memzone_lookup("mana_ports");

	if (mz == NULL)
		return -ENOENT;
	++*(uint64_t *)mz->addr;
	return 0;
}

static int
kernel_slow(void)
{
	gate_shut(&reg_gate);
	return 0;
}

static int
kernel_fast(void)
{
	gate_open(&reg_gate, 1);
	return atomic_load(&reg_gate.is_late) ? -ETIMEDOUT : 0;
}

static int
obey_word(const char *line)
{
	if (strcmp(line, "stats") == 0)
		return stats_print();
	if (strcmp(line, "seen") == 0)
		return seen_print();
	if (strcmp(line, "forwarded") == 0)
		return forwarded_print();
	if (strcmp(line, "seed") == 0)
		return seed(pools[queue]);
	if (strcmp(line, "seed own") == 0)
		return own_pool() != NULL ? seed(own) : -rte_errno;
	if (strcmp(line, "kernel slow") == 0)
		return kernel_slow();
	if (strcmp(line, "kernel waits") == 0)
		return gate_await(&reg_gate, 1) ? 0 : -ETIMEDOUT;
	if (strcmp(line, "kernel fast") == 0)
		return kernel_fast();
	if (strcmp(line, "pause") == 0)
		return pause_set(true);
	if (strcmp(line, "resume") == 0)
		return pause_set(false);
	if (strcmp(line, "both") == 0)
		return pass_both();
	if (strcmp(line, "map") == 0)
		return foreign_map();
	if (strcmp(line, "mbufs") == 0)
		return mbufs_print();
	if (strcmp(line, "version") == 0)
		return version_change();
	return -EINVAL;
}

static void
intr_thread_block(void *ms)
{
	rte_delay_us_sleep((uintptr_t)ms * 1000);
}

static int
obey(const char *line)
{
	unsigned int one, two;
	char word[128], path[256], plus;
	int nb;

	nb = sscanf(line, "fault %255s %u%c", path, &one, &plus);
	if (nb >= 2)
		return fault_arm(path, one, nb == 3 && plus == '+');
	if (sscanf(line, "faults %255s", path) == 1)
		return faults_print(path);

	if (sscanf(line, "attach %127s", word) == 1)
		return attach(word);
	if (sscanf(line, "detach %127s", word) == 1)
		return detach(word);
	if (sscanf(line, "unmapped %127s", word) == 1)
		return unmapped(word);
	if (strcmp(line, "free") == 0)
		return own_free();
	if (sscanf(line, "pass %u %u %3s", &one, &two, word) == 3)
		return own_pool() != NULL ? pass(one, two, own) : -rte_errno;
	if (sscanf(line, "pass %u %u", &one, &two) == 2)
		return pass(one, two, pools[queue]);
	if (sscanf(line, "private %u %u", &one, &two) == 2)
		return private_send(one, two);
	if (sscanf(line, "descriptors %u %u", &one, &two) == 2)
		return port_restart(one, nb_queues, two);
	if (sscanf(line, "queues %u %u", &one, &two) == 2)
		return port_restart(one, RTE_MIN(two, nb_queues), NB_DESC);
	if (sscanf(line, "queue %u %u", &one, &two) == 2)
		return queue_restart(one, two);
	if (sscanf(line, "reta %u", &one) == 1)
		return reta_turn(one);
	if (sscanf(line, "start %u", &one) == 1)
		return rte_eth_dev_start(one);
	if (sscanf(line, "stop %u", &one) == 1)
		return rte_eth_dev_stop(one);
	if (sscanf(line, "close %u", &one) == 1)
		return port_close(one);
	if (sscanf(line, "reset %u", &one) == 1)
		return port_reset(one);
	if (sscanf(line, "removed %u", &one) == 1) {
		printf("removed: %d\n", rte_eth_dev_is_removed(one));
		return 0;
	}
	if (sscanf(line, "block %u", &one) == 1)
		return rte_eal_alarm_set(1, intr_thread_block, (void *)(uintptr_t)one);
	if (sscanf(line, "refusals %u", &one) == 1) {
		refusals(one);
		return 0;
	}
	return obey_word(line);
}

int
main(int argc, char **argv)
{
	char line[512];
	bool is_primary;
	int number;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ret = rte_eal_init(argc, argv);
	if (ret < 0)
		return EXIT_FAILURE;
	is_primary = rte_eal_process_type() == RTE_PROC_PRIMARY;
	number = argc > ret + 1 ? atoi(argv[ret + 1]) : is_primary;
	if (number < is_primary || number > NB_QUEUES_MAX - !is_primary)
		return EXIT_FAILURE;
	ret = is_primary ? primary_start(number) : secondary_start(number);
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
	if (!is_primary) {
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
