/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives with interrupts: it sleeps until an event of a queue, receives all
 * its packets, arms the queue and sleeps again. It polls only after an event, so a
 * frame without wake-up is found only after the time limit.
 *
 * rx_interrupt EAL... -- FRAMES LIMIT [own|QUEUES]
 *
 * Port 0 receives FRAMES frames from its wire, in QUEUES Rx queues (1), to which
 * RSS spreads them. With "own" it sends them itself, one to four per sleep, before
 * or after it arms; the wire must be a loop. A sleep of LIMIT milliseconds counts
 * as a lost wake-up and ends the program, so LIMIT must be far above any delay of a
 * loaded machine. At the end the program prints its counters, one name and number
 * per line.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_mbuf.h>

#define PORT 0
#define NB_QUEUES_MAX 16
#define NB_DESC 256
#define NB_MBUFS 8191
#define BURST 32
#define NB_OWN_MAX 4
#define FRAME_BYTES 60

static struct {
	uint64_t frames; /* received */
	uint64_t sent;
	uint64_t sleeps;
	uint64_t wakeups; /* events of queues, which end sleeps */
	uint64_t empty; /* wake-ups without packets */
	uint64_t armed; /* queues, now */
	uint64_t lost; /* sleeps ended by the time limit */
	uint64_t polls; /* calls of rte_eth_rx_burst() */
	uint64_t wrong; /* wrong or misordered frames */
} counts;

static struct rte_mempool *pool;
static uint16_t nb_queues = 1;
static bool armed[NB_QUEUES_MAX];

static void
need(int ret, const char *what)
{
	if (ret >= 0)
		return;
	printf("refused: %s: %s\n", what, rte_strerror(-ret));
	exit(EXIT_FAILURE);
}

static void
start_port(void)
{
	struct rte_eth_conf conf = { .intr_conf.rxq = 1 };
	struct rte_eth_dev_info info;
	uint16_t queue;

	if (rte_eth_dev_count_avail() == 0) {
		printf("no port\n");
		exit(EXIT_FAILURE);
	}
	pool = rte_pktmbuf_pool_create("rx_interrupt", NB_MBUFS, BURST, 0,
		RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	need(pool == NULL ? -rte_errno : 0, "mbuf pool");
	if (nb_queues > 1) {
		need(rte_eth_dev_info_get(PORT, &info), "info");
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads;
	}
	need(rte_eth_dev_configure(PORT, nb_queues, 1, &conf), "configure");
	for (queue = 0; queue < nb_queues; queue++)
		need(rte_eth_rx_queue_setup(PORT, queue, NB_DESC, SOCKET_ID_ANY,
			NULL, pool), "Rx queue");
	need(rte_eth_tx_queue_setup(PORT, 0, NB_DESC, SOCKET_ID_ANY, NULL),
		"Tx queue");
	need(rte_eth_dev_start(PORT), "start");
	for (queue = 0; queue < nb_queues; queue++)
		need(rte_eth_dev_rx_intr_ctl_q(PORT, queue, RTE_EPOLL_PER_THREAD,
			RTE_INTR_EVENT_ADD, (void *)(uintptr_t)queue),
			"event of the queue");
}

/* A frame from this port to itself, with its number as payload. */
static struct rte_mbuf *
own_frame(void)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	struct rte_ether_hdr *header;
	char *data;

	need(mbuf == NULL ? -ENOMEM : 0, "mbuf");
	data = rte_pktmbuf_append(mbuf, FRAME_BYTES);
	memset(data, 0, FRAME_BYTES);
	header = (struct rte_ether_hdr *)data;
	need(rte_eth_macaddr_get(PORT, &header->dst_addr), "address");
	header->src_addr = header->dst_addr;
	header->ether_type = rte_cpu_to_be_16(0x88b5); /* for experiments */
	memcpy(header + 1, &counts.sent, sizeof(counts.sent));
	counts.sent++;
	return mbuf;
}

static void
send_own(uint64_t nb)
{
	struct rte_mbuf *mbuf;

	while (nb-- > 0) {
		mbuf = own_frame();
		while (rte_eth_tx_burst(PORT, 0, &mbuf, 1) == 0)
			;
	}
}

static void
check_own(const struct rte_mbuf *mbuf)
{
	uint64_t number;

	memcpy(&number, rte_pktmbuf_mtod_offset(mbuf, const void *,
		sizeof(struct rte_ether_hdr)), sizeof(number));
	if (rte_pktmbuf_pkt_len(mbuf) != FRAME_BYTES || number != counts.frames)
		counts.wrong++;
}

/* Receives all packets of a queue. */
static bool
receive(uint16_t queue, bool own)
{
	struct rte_mbuf *mbufs[BURST];
	uint64_t before = counts.frames;
	uint16_t nb, i;

	do {
		nb = rte_eth_rx_burst(PORT, queue, mbufs, BURST);
		counts.polls++;
		for (i = 0; i < nb; i++) {
			if (own)
				check_own(mbufs[i]);
			counts.frames++;
			rte_pktmbuf_free(mbufs[i]);
		}
	} while (nb > 0);
	return counts.frames > before;
}

static void
arm_queues(void)
{
	uint16_t queue;

	for (queue = 0; queue < nb_queues; queue++) {
		if (armed[queue])
			continue;
		need(rte_eth_dev_rx_intr_enable(PORT, queue), "arm");
		armed[queue] = true;
		counts.armed++;
	}
}

static void
sleep_once(int limit_ms, bool own)
{
	struct rte_epoll_event events[NB_QUEUES_MAX];
	uint16_t queue;
	int nb, i;

	counts.sleeps++;
	nb = rte_epoll_wait(RTE_EPOLL_PER_THREAD, events, nb_queues, limit_ms);
	need(nb, "sleep");
	if (nb == 0) {
		counts.lost++;
		return;
	}
	for (i = 0; i < nb; i++) {
		queue = (uintptr_t)events[i].epdata.data;
		counts.wakeups++;
		need(rte_eth_dev_rx_intr_disable(PORT, queue), "disarm");
		armed[queue] = false;
		counts.armed--;
		if (!receive(queue, own))
			counts.empty++;
	}
}

static void
receive_all(uint64_t nb_frames, int limit_ms, bool own)
{
	uint64_t round, nb = 0;

	for (round = 0; counts.frames < nb_frames && counts.lost == 0; round++) {
		/*
		 * Frames of the last round may still be in flight: send none
		 * then, so that each sleep is ended by its own frame.
		 */
		if (own && counts.frames == counts.sent)
			nb = RTE_MIN(1 + round % NB_OWN_MAX,
				nb_frames - counts.sent);
		else
			nb = 0;
		if (round / NB_OWN_MAX % 2 == 0)
			send_own(nb);
		arm_queues();
		if (round / NB_OWN_MAX % 2 != 0)
			send_own(nb);
		sleep_once(limit_ms, own);
	}
}

static void
print_counts(void)
{
	printf("frames %" PRIu64 "\nsent %" PRIu64 "\nsleeps %" PRIu64
		"\nwakeups %" PRIu64 "\nempty %" PRIu64 "\narmed %" PRIu64
		"\nlost %" PRIu64 "\npolls %" PRIu64 "\nwrong %" PRIu64 "\n",
		counts.frames, counts.sent, counts.sleeps, counts.wakeups,
		counts.empty, counts.armed, counts.lost, counts.polls,
		counts.wrong);
}

int
main(int argc, char **argv)
{
	int nb_eal = rte_eal_init(argc, argv);
	bool own;

	need(nb_eal < 0 ? -rte_errno : 0, "EAL");
	argc -= nb_eal;
	argv += nb_eal;
	own = argc == 4 && strcmp(argv[3], "own") == 0;
	if (argc == 4 && !own)
		nb_queues = atoi(argv[3]);
	if (argc < 3 || argc > 4 || nb_queues < 1 || nb_queues > NB_QUEUES_MAX) {
		printf("usage: rx_interrupt EAL... -- FRAMES LIMIT [own|QUEUES]\n");
		return EXIT_FAILURE;
	}
	start_port();
	receive_all(strtoull(argv[1], NULL, 10), atoi(argv[2]), own);
	print_counts();
	need(rte_eth_dev_stop(PORT), "stop");
	need(rte_eth_dev_close(PORT), "close");
	need(rte_eal_cleanup(), "cleanup");
	return EXIT_SUCCESS;
}
