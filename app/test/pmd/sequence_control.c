/* SPDX-License-Identifier: BSD-3-Clause */

/* Control operations with random arguments. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sequence.h"

static const uint16_t queue_numbers[] = { 0, 1, 1, 2, 3, 4, 5, 8 };
static const uint16_t descriptors[] = { 64, 64, 65, 100, 128, 255, 256, 63, 4096, 0xffff };
static const uint16_t mtus[] = { 67, 68, 400, 1000, 1400, 1499, 1500, 1501, 9000, 0xffff };

/* Index in seq.pools of a pool with buffers smaller than most frames. */
#define SMALL_POOL 2
/* Fits the first buffer of any pool. */
#define MAX_SPLIT_BYTES 512

#define ANY_OF(seq, array) ((array)[seq_random(seq, RTE_DIM(array))])

/*
 * ---- Probe and removal
 * ---------------------------------------------------------
 */

static void
note_limits(struct seq_port *port, uint16_t id)
{
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(id, &info), 0);
	port->max_rxq = RTE_MIN(info.max_rx_queues, SEQ_MAX_QUEUES);
	port->max_txq = RTE_MIN(info.max_tx_queues, SEQ_MAX_QUEUES);
	port->min_desc = info.rx_desc_lim.nb_min;
	port->max_rxd = info.rx_desc_lim.nb_max;
	port->max_txd = info.tx_desc_lim.nb_max;
	port->min_mtu = info.min_mtu;
	port->max_mtu = info.max_mtu;
}

static void
opened(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];

	memset(port, 0, sizeof(*port));
	port->is_open = true;
	note_limits(port, seq->fx->port[index]);
	assert_int_equal(rte_eth_dev_get_mtu(seq->fx->port[index], &port->mtu), 0);
	assert_int_equal(fx_model.port(0, index, &port->wire), 0);
}

static void
run_probe(struct seq *seq, unsigned int index)
{
	bool is_missing = !seq->port[0].is_open || !seq->port[1].is_open;
	int ret = fx_probe(seq->fx, "");

	/* EAL may report success for a device that is probed already */
	if (!seq_judge(seq, is_missing ? SEQ_OK : SEQ_EITHER, ret))
		return;
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		if (!seq->port[i].is_open)
			opened(seq, i);
}

static void
run_close(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	int ret = rte_eth_dev_close(seq->fx->port[index]);

	if (!seq_judge(seq, seq_may_close(port), ret))
		return;
	memset(port, 0, sizeof(*port));
	seq->fx->port[index] = RTE_MAX_ETHPORTS;
}

/* Removes the whole device, started or not; nothing may remain. */
static void
run_remove(struct seq *seq, unsigned int index)
{
	if (!seq->fx->is_probed)
		return;
	seq_note(seq, " all");
	fx_remove(seq->fx);
	memset(seq->port, 0, sizeof(seq->port));
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		seq->fx->port[i] = RTE_MAX_ETHPORTS;
		seq->fx->is_started[i] = false;
	}
	fx_check_holdings(&seq->bare, "after removal");
}

/* ---- Configuration ------------------------------------------------------------- */

static void
make_conf(struct seq *seq, struct seq_conf *conf)
{
	static const uint64_t rx_offloads[] = {
		0, RTE_ETH_RX_OFFLOAD_CHECKSUM, RTE_ETH_RX_OFFLOAD_RSS_HASH,
		RTE_ETH_RX_OFFLOAD_VLAN_STRIP, RTE_ETH_RX_OFFLOAD_SCATTER,
		RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_CHECKSUM,
	};
	static const uint64_t tx_offloads[] = {
		0, RTE_ETH_TX_OFFLOAD_MULTI_SEGS, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM,
		RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
	};

	memset(conf, 0, sizeof(*conf));
	conf->nb_rxq = ANY_OF(seq, queue_numbers);
	conf->nb_txq = ANY_OF(seq, queue_numbers);
	conf->has_rss = seq_random(seq, 2);
	conf->mtu = seq_one_in(seq, 2) ? 0 : ANY_OF(seq, mtus);
	conf->rx_offloads = ANY_OF(seq, rx_offloads);
	conf->tx_offloads = ANY_OF(seq, tx_offloads);
}

/* Adds something that no MANA port supports. */
static void
spoil_conf(struct seq *seq, struct seq_conf *conf, struct rte_eth_conf *eth)
{
	switch (seq_random(seq, 6)) {
	case 0:
		eth->rxmode.offloads |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
		conf->wrong = "timestamps";
		break;
	case 1:
		eth->rxmode.offloads |= RTE_ETH_RX_OFFLOAD_TCP_LRO;
		conf->wrong = "LRO";
		break;
	case 2:
		eth->txmode.offloads |= RTE_ETH_TX_OFFLOAD_MACSEC_INSERT;
		conf->wrong = "MACsec";
		break;
	case 3:
		eth->txmode.mq_mode = RTE_ETH_MQ_TX_DCB;
		conf->wrong = "DCB";
		break;
	case 4:
		eth->link_speeds = RTE_ETH_LINK_SPEED_FIXED | RTE_ETH_LINK_SPEED_10G;
		conf->wrong = "fixed speed";
		break;
	default:
		eth->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		eth->rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_L2_PAYLOAD;
		conf->wrong = "hash type";
	}
}

/* Queues survive configure, sometimes a failed one: query ethdev. */
static void
query_queues(struct seq_port *port, uint16_t id)
{
	for (uint16_t q = 0; q < SEQ_MAX_QUEUES; q++) {
		struct rte_eth_rxq_info rxq;
		struct rte_eth_txq_info txq;

		if (rte_eth_rx_queue_info_get(id, q, &rxq) != 0)
			port->rxq[q].is_set = false;
		if (rte_eth_tx_queue_info_get(id, q, &txq) != 0)
			port->txq[q].is_set = false;
	}
}

static void
run_configure(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	uint16_t id = seq->fx->port[index];
	struct rte_eth_dev_info info;
	struct rte_eth_conf eth;
	struct seq_conf conf;
	int ret;

	make_conf(seq, &conf);
	memset(&eth, 0, sizeof(eth));
	eth.rxmode.offloads = conf.rx_offloads;
	eth.rxmode.mtu = conf.mtu;
	eth.txmode.offloads = conf.tx_offloads;
	if (conf.has_rss) {
		eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		eth.rx_adv_conf.rss_conf.rss_hf = FX_RSS;
	}
	if (seq_one_in(seq, 8))
		spoil_conf(seq, &conf, &eth);
	seq_note(seq, " rxq %u txq %u rss %d mtu %u rx %#" PRIx64 " tx %#" PRIx64 " %s",
		 conf.nb_rxq, conf.nb_txq, conf.has_rss, conf.mtu, conf.rx_offloads,
		 conf.tx_offloads, conf.wrong != NULL ? conf.wrong : "");
	ret = rte_eth_dev_configure(id, conf.nb_rxq, conf.nb_txq, &eth);
	if (seq_judge(seq, seq_may_configure(port, &conf), ret)) {
		seq_configured(port, &conf);
	} else if (port->is_open && !port->is_started) {
		port->is_configured = false;
		assert_int_equal(rte_eth_dev_info_get(id, &info), 0);
		port->nb_rxq = info.nb_rx_queues;
		port->nb_txq = info.nb_tx_queues;
	}
	if (port->is_open)
		query_queues(port, id);
}

/* An Rx queue with any pool; split: with two. */
static void
choose_rxq(struct seq *seq, const struct seq_port *port, uint16_t nb_desc, bool is_split,
	   struct seq_queue *rxq)
{
	*rxq = (struct seq_queue){
		.is_set = true, .nb_desc = nb_desc, .is_deferred = seq_one_in(seq, 4),
		.pool = ANY_OF(seq, seq->pools), .can_scatter = seq_scatters(port),
	};
	if (!is_split)
		return;
	rxq->can_scatter = true;
	rxq->split_pool = ANY_OF(seq, seq->pools);
	rxq->split_bytes = 1 + seq_random(seq, MAX_SPLIT_BYTES);
}

/* Rx ring changes drop what a stalled device holds back: settle first. */
static void
before_rx_change(struct seq *seq)
{
	if (seq->is_threaded || seq->is_stalled)
		seq_settle(seq);
}

static void
setup_rx_as(struct seq *seq, unsigned int index, uint16_t queue,
	    const struct seq_queue *rxq)
{
	struct seq_port *port = &seq->port[index];
	uint16_t id = seq->fx->port[index];
	union rte_eth_rxseg segs[] = {
		{ .split = { .mp = rxq->split_pool, .length = rxq->split_bytes } },
		{ .split = { .mp = rxq->pool } },
	};
	struct rte_eth_rxconf conf = { .rx_deferred_start = rxq->is_deferred };
	int ret;

	seq_note(seq, " %u: %u, pool %s%s", queue, rxq->nb_desc, rxq->pool->name,
		 rxq->is_deferred ? ", deferred" : "");
	if (rxq->split_bytes != 0) {
		seq_note(seq, ", %u bytes to %s", rxq->split_bytes, rxq->split_pool->name);
		conf.offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT;
		conf.rx_seg = segs;
		conf.rx_nseg = RTE_DIM(segs);
	}
	/* the queue's rings are replaced */
	if (port->is_started)
		before_rx_change(seq);
	ret = rte_eth_rx_queue_setup(id, queue, rxq->nb_desc, SOCKET_ID_ANY, &conf,
				     rxq->split_bytes != 0 ? NULL : rxq->pool);
	if (seq_judge(seq, seq_may_setup_rx(port, queue, rxq), ret))
		port->rxq[queue] = *rxq;
	if (port->is_open)
		query_queues(port, id);
}

static void
setup_rx(struct seq *seq, unsigned int index, uint16_t queue, uint16_t nb_desc)
{
	struct seq_queue rxq;

	choose_rxq(seq, &seq->port[index], nb_desc, seq_one_in(seq, 4), &rxq);
	setup_rx_as(seq, index, queue, &rxq);
}

static void
run_rx_setup(struct seq *seq, unsigned int index)
{
	uint16_t queue = seq_random(seq, seq->port[index].nb_rxq + 1u);

	setup_rx(seq, index, queue, ANY_OF(seq, descriptors));
}

static void
setup_tx(struct seq *seq, unsigned int index, uint16_t queue, uint16_t nb_desc)
{
	struct seq_port *port = &seq->port[index];
	uint16_t id = seq->fx->port[index];
	struct rte_eth_txconf conf = { .tx_deferred_start = seq_one_in(seq, 4) };
	int ret;

	seq_note(seq, " %u: %u%s", queue, nb_desc,
		 conf.tx_deferred_start ? ", deferred" : "");
	ret = rte_eth_tx_queue_setup(id, queue, nb_desc, SOCKET_ID_ANY, &conf);
	if (seq_judge(seq, seq_may_setup_tx(port, queue, nb_desc), ret)) {
		port->txq[queue] = (struct seq_queue){
			.is_set = true, .nb_desc = nb_desc,
			.is_deferred = conf.tx_deferred_start,
		};
	}
	if (port->is_open)
		query_queues(port, id);
}

static void
run_tx_setup(struct seq *seq, unsigned int index)
{
	uint16_t queue = seq_random(seq, seq->port[index].nb_txq + 1u);

	setup_tx(seq, index, queue, ANY_OF(seq, descriptors));
}

/* ---- Start and stop -------------------------------------------------------------- */

static void
run_start(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	enum seq_verdict verdict = seq_may_start(port);

	/* a netdev that is up owns the vPort */
	if (seq->is_netdev_up[index] && !port->is_started)
		verdict = SEQ_REFUSED;
	if (seq_judge(seq, verdict, fx_dev_start(seq->fx, index)))
		seq_started(port);
}

/* A kernel call of the start fails: nothing remains. */
static void
run_failing_start(struct seq *seq, unsigned int index)
{
	static const char *const calls[] = { "reg_mr", "create_cq", "create_wq",
					     "create_ind", "create_qp" };
	struct seq_port *port = &seq->port[index];
	const char *call = ANY_OF(seq, calls);
	unsigned int nth = 1 + seq_random(seq, 4);
	int ret;

	if (port->is_started || seq_may_start(port) != SEQ_OK)
		return;
	seq_note(seq, " %s %u", call, nth);
	assert_int_equal(fx_model.fault_arm(call, nth, ENOMEM), 0);
	ret = fx_dev_start(seq->fx, index);
	fx_model.fault_disarm();
	if (seq_judge(seq, SEQ_EITHER, ret))
		seq_started(port);
}

static void
run_netdev(struct seq *seq, unsigned int index)
{
	static const char *const names[FX_NB_PORTS] = { "mana0p0", "mana0p1" };
	bool is_up = seq_one_in(seq, 4);
	int ret;

	seq_note(seq, " %s", is_up ? "up" : "down");
	ret = fx_model.netdev_set(names[index], is_up);
	/* a started port owns its vPort, whatever its queues */
	if (seq_judge(seq, is_up && seq->port[index].is_started ? SEQ_REFUSED : SEQ_OK, ret))
		seq->is_netdev_up[index] = is_up;
}

static void
run_stop(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	bool is_settled = seq_one_in(seq, 2);

	if (is_settled) {
		seq_note(seq, " settled");
		seq_settle(seq);
	}
	if (!seq_judge(seq, port->is_open ? SEQ_OK : SEQ_REFUSED,
		       fx_dev_stop(seq->fx, index)))
		return;
	seq_stopped(port);
	seq_write_off(seq, index, is_settled);
}

/* Configures, sets up all queues and starts, as most programs do. */
static void
run_bring_up(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	uint16_t nb_rxq = 1 + seq_random(seq, SEQ_MAX_QUEUES - 1);
	uint16_t nb_txq = 1 + seq_random(seq, SEQ_MAX_QUEUES - 1);
	bool is_scattered = seq_one_in(seq, 4), is_split = seq_one_in(seq, 4);
	struct seq_queue rxq;
	struct seq_conf conf = {
		.nb_rxq = nb_rxq, .nb_txq = nb_txq, .has_rss = true,
		.rx_offloads = is_scattered ? RTE_ETH_RX_OFFLOAD_SCATTER : 0,
	};
	struct fx_config config = {
		.nb_rxq = nb_rxq, .nb_txq = nb_txq, .nb_txd = 64,
		.nb_rxd = is_scattered ? 64 : 128,
		.rss_hf = FX_RSS, .rx_offloads = conf.rx_offloads,
		.rx_pool = seq->pools[is_scattered ? SMALL_POOL : 0],
	};

	if (!port->is_open)
		run_probe(seq, index);
	if (port->is_started)
		return;
	seq_note(seq, " rxq %u txq %u%s", nb_rxq, nb_txq,
		 is_scattered ? ", scattered" : "");
	if (!seq_judge(seq, seq_may_configure(port, &conf),
		       fx_configure(seq->fx, seq->fx->port[index], &config)))
		return;
	seq_configured(port, &conf);
	for (uint16_t q = 0; q < nb_rxq; q++)
		port->rxq[q] = (struct seq_queue){ .is_set = true, .nb_desc = config.nb_rxd,
						   .pool = config.rx_pool,
						   .can_scatter = is_scattered };
	for (uint16_t q = 0; q < nb_txq; q++)
		port->txq[q] = (struct seq_queue){ .is_set = true, .nb_desc = 64 };
	for (uint16_t q = 0; is_split && q < nb_rxq; q++) {
		choose_rxq(seq, port, 64, seq_random(seq, 2), &rxq);
		setup_rx_as(seq, index, q, &rxq);
	}
	run_start(seq, index);
}

static void
toggle(struct seq *seq, unsigned int index, bool is_rx, uint16_t queue, bool is_on)
{
	struct seq_port *port = &seq->port[index];
	uint16_t id = seq->fx->port[index];
	enum seq_verdict verdict;
	int ret;

	seq_note(seq, " %s %u %s", is_rx ? "rx" : "tx", queue, is_on ? "on" : "off");
	if (is_rx)
		before_rx_change(seq);
	else if (seq->is_threaded)
		seq_settle(seq);
	/* After settling: received packets are back in the pools. */
	verdict = seq_may_toggle(port, is_rx, queue, is_on);
	if (is_rx)
		ret = is_on ? rte_eth_dev_rx_queue_start(id, queue) :
			      rte_eth_dev_rx_queue_stop(id, queue);
	else
		ret = is_on ? rte_eth_dev_tx_queue_start(id, queue) :
			      rte_eth_dev_tx_queue_stop(id, queue);
	if (!seq_judge(seq, verdict, ret) || !port->is_started)
		return;
	(is_rx ? port->rxq : port->txq)[queue].is_on = is_on;
	if (!is_rx && !is_on)
		seq_write_off_unsent(seq, index);
}

static void
run_toggle(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	bool is_rx = seq_random(seq, 2), is_on = seq_random(seq, 2);
	uint16_t queue = seq_random(seq, (is_rx ? port->nb_rxq : port->nb_txq) + 1u);

	toggle(seq, index, is_rx, queue, is_on);
}

/* Changes the ring size of a queue on a running port. */
static void
run_resize(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	bool is_rx = seq_random(seq, 2);
	uint16_t nb_queues = is_rx ? port->nb_rxq : port->nb_txq;
	uint16_t nb_desc = 64 + seq_random(seq, 128), queue;

	if (!port->is_started || nb_queues == 0)
		return;
	queue = seq_random(seq, nb_queues);
	toggle(seq, index, is_rx, queue, false);
	(is_rx ? setup_rx : setup_tx)(seq, index, queue, nb_desc);
	toggle(seq, index, is_rx, queue, true);
}

/* ---- Modes and tables --------------------------------------------------------------- */

static void
run_mtu(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	uint16_t mtu = ANY_OF(seq, mtus);

	seq_note(seq, " %u", mtu);
	if (seq_judge(seq, seq_may_set_mtu(port, mtu),
		      rte_eth_dev_set_mtu(seq->fx->port[index], mtu)))
		port->mtu = mtu;
}

static void
run_mode(struct seq *seq, unsigned int index)
{
	static int (*const modes[])(uint16_t port) = {
		rte_eth_promiscuous_enable, rte_eth_promiscuous_disable,
		rte_eth_allmulticast_enable, rte_eth_allmulticast_disable,
	};
	unsigned int which = seq_random(seq, RTE_DIM(modes));

	seq_note(seq, " %u", which);
	seq_judge(seq, seq->port[index].is_open ? SEQ_OK : SEQ_REFUSED,
		  modes[which](seq->fx->port[index]));
}

static void
run_vlan(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	uint16_t id = seq->fx->port[index];
	bool is_on = seq_random(seq, 2);
	uint16_t queue = seq_random(seq, port->nb_rxq + 1u);

	seq_note(seq, " strip %d", is_on);
	if (seq_one_in(seq, 2)) {
		seq_judge(seq, port->is_open ? SEQ_OK : SEQ_REFUSED,
			  rte_eth_dev_set_vlan_offload(id,
				is_on ? RTE_ETH_VLAN_STRIP_OFFLOAD : 0));
		return;
	}
	seq_note(seq, " queue %u", queue);
	/* ethdev does not define the result for a missing queue */
	if (port->is_open && queue < port->nb_rxq)
		seq_judge(seq, port->rxq[queue].is_set ? SEQ_OK : SEQ_EITHER,
			  rte_eth_dev_set_vlan_strip_on_queue(id, queue, is_on));
	else
		seq_judge(seq, SEQ_REFUSED,
			  rte_eth_dev_set_vlan_strip_on_queue(id, queue, is_on));
}

static void
run_rss_update(struct seq *seq, unsigned int index)
{
	uint8_t key[40];
	struct rte_eth_rss_conf conf = { .rss_hf = FX_RSS, .rss_key = key,
					 .rss_key_len = sizeof(key) };

	for (unsigned int i = 0; i < sizeof(key); i++)
		key[i] = seq_random(seq, 256);
	before_rx_change(seq);
	seq_judge(seq, seq_may_update_rss(&seq->port[index]),
		  rte_eth_dev_rss_hash_update(seq->fx->port[index], &conf));
}

/*
 * Swaps two of the hardware queues in the whole table, or sets the round-robin
 * table of applications.
 */
static void
run_reta_update(struct seq *seq, unsigned int index)
{
	static const char *const hows[] = { "swap", "round robin" };
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	uint16_t id = seq->fx->port[index];
	uint16_t nb_rxq = seq->port[index].nb_rxq;
	uint32_t how = seq_random(seq, RTE_DIM(hows));
	uint16_t period = rte_align32pow2(nb_rxq);
	enum seq_verdict verdict;
	uint16_t first, second;

	if (nb_rxq < 2 || rte_eth_dev_rss_reta_query(id, &reta, RTE_DIM(reta.reta)) != 0)
		return;
	seq_note(seq, " %s", hows[how]);
	first = reta.reta[0];
	second = reta.reta[1];
	for (uint16_t i = 0; i < RTE_DIM(reta.reta); i++) {
		if (how == 1)
			reta.reta[i] = i % nb_rxq;
		else if (i % period == 0)
			reta.reta[i] = second;
		else if (i % period == 1)
			reta.reta[i] = first;
	}
	before_rx_change(seq);
	/* unequal queues need buffers for new rings */
	verdict = seq_may_update_rss(&seq->port[index]);
	if (seq_judge(seq, verdict == SEQ_OK && seq->port[index].is_started ? SEQ_EITHER :
									      verdict,
		      rte_eth_dev_rss_reta_update(id, &reta, RTE_DIM(reta.reta))))
		seq_table_set(&seq->port[index], reta.reta);
}

static void
run_stats_reset(struct seq *seq, unsigned int index)
{
	struct seq_port *port = &seq->port[index];
	uint16_t id = seq->fx->port[index];
	uint64_t dropped = port->is_open ? seq_dropped(id) : 0;

	if (!seq_judge(seq, port->is_open ? SEQ_OK : SEQ_REFUSED, rte_eth_stats_reset(id)))
		return;
	port->dropped_before_reset += dropped;
	port->nb_sent = port->sent_bytes = 0;
	port->nb_received = port->received_bytes = 0;
}

/* Queries: valid in any state or rejected, without side effects. */
static void
run_ask(struct seq *seq, unsigned int index)
{
	uint16_t id = seq->fx->port[index];
	uint16_t queue = seq_random(seq, SEQ_MAX_QUEUES);
	struct rte_eth_burst_mode mode;
	struct rte_eth_rss_conf rss = { 0 };
	struct rte_eth_dev_info info;
	struct rte_eth_link link;

	seq_judge(seq, seq->port[index].is_open ? SEQ_OK : SEQ_REFUSED,
		  rte_eth_dev_info_get(id, &info));
	(void)rte_eth_rx_burst_mode_get(id, queue, &mode);
	(void)rte_eth_tx_burst_mode_get(id, queue, &mode);
	(void)rte_eth_dev_rss_hash_conf_get(id, &rss);
	seq_judge(seq, seq->port[index].is_open ? SEQ_OK : SEQ_REFUSED,
		  rte_eth_link_get_nowait(id, &link));
	(void)rte_eth_xstats_get(id, NULL, 0);
}

const struct seq_operation seq_control[] = {
	{ "probe", 4, run_probe },
	{ "close", 2, run_close },
	{ "remove", 1, run_remove },
	{ "configure", 12, run_configure },
	{ "rx_setup", 20, run_rx_setup },
	{ "tx_setup", 20, run_tx_setup },
	{ "start", 12, run_start },
	{ "failing_start", 6, run_failing_start },
	{ "netdev", 8, run_netdev },
	{ "stop", 8, run_stop },
	{ "bring_up", 24, run_bring_up },
	{ "toggle", 16, run_toggle },
	{ "resize", 8, run_resize },
	{ "mtu", 10, run_mtu },
	{ "mode", 4, run_mode },
	{ "vlan", 8, run_vlan },
	{ "rss_update", 8, run_rss_update },
	{ "reta_update", 8, run_reta_update },
	{ "stats_reset", 3, run_stats_reset },
	{ "ask", 6, run_ask },
};
const unsigned int seq_nb_control = RTE_DIM(seq_control);
