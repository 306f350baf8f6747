/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Operations in a wrong state or with invalid arguments: the table's error, and
 * no change.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "fixture_log.h"
#include "states.h"

static const char *const state_names[NB_PORT_STATES] = {
	[PORT_NEW] = "before configure",
	[PORT_CONFIGURED] = "without queues",
	[PORT_READY] = "before start",
	[PORT_RUNNING] = "while running",
	[PORT_STOPPED] = "after stop",
	[PORT_CLOSED] = "after close",
};

static const struct fx_config states_config = {
	.nb_rxq = STATES_NB_RXQ,
	.nb_txq = STATES_NB_TXQ,
	.nb_rxd = STATES_NB_DESC,
	.nb_txd = STATES_NB_DESC,
	.mtu = STATES_MTU,
	.rss_hf = FX_RSS,
};

/* ---- Everything that can be queried -------------------------------------- */

#define MAX_RETA_GROUPS 8

struct snapshot {
	struct rte_eth_conf conf;
	struct rte_eth_dev_info info;
	struct rte_eth_stats stats;
	struct rte_eth_link link;
	struct rte_ether_addr mac;
	struct rte_eth_rss_conf rss;
	uint8_t rss_key[64];
	struct rte_eth_rss_reta_entry64 reta[MAX_RETA_GROUPS];
	struct rte_eth_rxq_info rxq[STATES_NB_RXQ];
	struct rte_eth_txq_info txq[STATES_NB_TXQ];
	uint32_t ptypes[32];
	int nb_ptypes;
	int promiscuous, all_multicast, vlan_offload;
	uint16_t mtu;
	int errors[8]; /* results of these queries */
};

/* The snapshot is compared as memory: padding is zero. */
static void
take_snapshot(uint16_t port, struct snapshot *all)
{
	struct rte_eth_link link = { 0 };

	memset(all, 0, sizeof(*all));
	all->rss.rss_key = all->rss_key;
	all->rss.rss_key_len = sizeof(all->rss_key);
	all->errors[0] = rte_eth_dev_conf_get(port, &all->conf);
	all->errors[1] = rte_eth_dev_info_get(port, &all->info);
	all->errors[2] = rte_eth_stats_get(port, &all->stats);
	all->errors[3] = rte_eth_link_get_nowait(port, &link);
	all->link.link_speed = link.link_speed;
	all->link.link_duplex = link.link_duplex;
	all->link.link_autoneg = link.link_autoneg;
	all->link.link_status = link.link_status;
	all->errors[4] = rte_eth_macaddr_get(port, &all->mac);
	all->errors[5] = rte_eth_dev_rss_hash_conf_get(port, &all->rss);
	all->errors[6] = rte_eth_dev_get_mtu(port, &all->mtu);
	for (unsigned int i = 0; i < MAX_RETA_GROUPS; i++)
		all->reta[i].mask = UINT64_MAX;
	if (all->info.reta_size != 0)
		all->errors[7] = rte_eth_dev_rss_reta_query(port, all->reta,
							    all->info.reta_size);
	for (uint16_t q = 0; q < STATES_NB_RXQ; q++)
		(void)rte_eth_rx_queue_info_get(port, q, &all->rxq[q]);
	for (uint16_t q = 0; q < STATES_NB_TXQ; q++)
		(void)rte_eth_tx_queue_info_get(port, q, &all->txq[q]);
	all->nb_ptypes = rte_eth_dev_get_supported_ptypes(port, UINT32_MAX, all->ptypes,
							  RTE_DIM(all->ptypes));
	all->promiscuous = rte_eth_promiscuous_get(port);
	all->all_multicast = rte_eth_allmulticast_get(port);
	all->vlan_offload = rte_eth_dev_get_vlan_offload(port);
	all->rss.rss_key = NULL; /* the pointer differs each time */
}

/* The first member that differs. */
static const char *
difference(const struct snapshot *a, const struct snapshot *b)
{
#define PART(member) { #member, offsetof(struct snapshot, member), sizeof(a->member) }
	static const struct {
		const char *name;
		size_t offset, size;
	} parts[] = {
		PART(conf), PART(info), PART(stats), PART(link), PART(mac), PART(rss),
		PART(rss_key), PART(reta), PART(rxq), PART(txq), PART(ptypes),
		PART(nb_ptypes), PART(promiscuous), PART(all_multicast),
		PART(vlan_offload), PART(mtu), PART(errors),
	};
#undef PART

	for (unsigned int i = 0; i < RTE_DIM(parts); i++)
		if (memcmp((const char *)a + parts[i].offset,
			   (const char *)b + parts[i].offset, parts[i].size) != 0)
			return parts[i].name;
	return NULL;
}

/* ---- Changes of state ---------------------------------------------------- */

static int
configure_only(uint16_t port)
{
	struct rte_eth_conf conf = {
		.rxmode = { .mq_mode = RTE_ETH_MQ_RX_RSS, .mtu = STATES_MTU },
		.rx_adv_conf = { .rss_conf = { .rss_hf = RTE_ETH_RSS_IPV4 } },
	};

	return rte_eth_dev_configure(port, STATES_NB_RXQ, STATES_NB_TXQ, &conf);
}

/* The other port has the same configuration and runs in the same states. */
static void
enter(struct fixture *fx, enum port_state state)
{
	if (!fx->is_probed)
		assert_int_equal(fx_probe(fx, ""), 0);
	switch (state) {
	case PORT_CONFIGURED:
		assert_int_equal(configure_only(fx->port[0]), 0);
		break;
	case PORT_READY:
		assert_int_equal(fx_configure(fx, fx->port[0], &states_config), 0);
		break;
	case PORT_RUNNING:
		fx_start(fx, &states_config);
		break;
	case PORT_STOPPED:
		fx_start(fx, &states_config);
		fx_stop(fx);
		break;
	case PORT_CLOSED:
		assert_int_equal(rte_eth_dev_close(fx->port[0]), 0);
		break;
	default:
		break;
	}
}

static void
leave(struct fixture *fx)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		if (rte_eth_dev_is_valid_port(fx->port[i]))
			(void)rte_eth_dev_stop(fx->port[i]);
		fx->is_started[i] = false;
	}
	fx_remove(fx);
}

/* One frame to the port arrives on some queue. */
static void
check_passes(struct fixture *fx)
{
	struct rte_mbuf *m = fx_frame(fx->pool, 100, 1);
	uint64_t end = fx_deadline();
	uint16_t nb = 0;

	fx_send(fx->port[1], 0, &m, 1);
	while (nb == 0 && rte_get_timer_cycles() < end)
		for (uint16_t q = 0; nb == 0 && q < STATES_NB_RXQ; q++)
			nb = rte_eth_rx_burst(fx->port[0], q, &m, 1);
	assert_int_equal(nb, 1);
	rte_pktmbuf_free(m);
}

/* After a rejection the port can be started and works. */
static void
check_usable(struct fixture *fx, enum port_state state)
{
	if (state == PORT_CLOSED)
		return;
	if (state != PORT_RUNNING)
		fx_start(fx, &states_config);
	check_passes(fx);
}

/* ---- The tables ---------------------------------------------------------- */

static void
check_refused(struct fixture *fx, const struct states_row *row, enum port_state state)
{
	uint16_t port = fx->port[0];
	struct fx_holdings held;
	struct snapshot before, after;
	const char *changed;
	char when[128];
	int ret;

	snprintf(when, sizeof(when), "%s, %s", row->name, state_names[state]);
	take_snapshot(port, &before);
	fx_holdings_get(&held);
	ret = row->call(fx, port);
	if (ret != -row->errnos[state])
		fail_msg("%s: %d (%s), not %d", when, ret, rte_strerror(-ret),
			 -row->errnos[state]);
	if (row->says != NULL && state != PORT_NEW &&
	    row->errnos[state] == row->errnos[PORT_STOPPED] &&
	    fx_nb_logged(RTE_LOG_ERR, row->says) == 0)
		fail_msg("%s: error lacks \"%s\"", when, row->says);
	if (row->drops_old && state != PORT_RUNNING)
		return;
	fx_check_holdings(&held, when);
	take_snapshot(port, &after);
	changed = difference(&before, &after);
	if (changed != NULL)
		fail_msg("%s: failed, but changed %s", when, changed);
}

static void
check_accepted(struct fixture *fx, const struct states_row *row, enum port_state state)
{
	int ret = row->call(fx, fx->port[0]);

	if (ret != 0)
		fail_msg("%s, %s: %d (%s), expected success", row->name, state_names[state],
			 ret, rte_strerror(-ret));
}

static void
check_table(struct fixture *fx, const struct states_row *rows, unsigned int nb_rows,
	    enum port_state state)
{
	struct fx_holdings before;

	fx_holdings_get(&before);
	fx_expect_error("");
	fx->ignore_counters = true;
	for (unsigned int i = 0; i < nb_rows; i++) {
		if (rows[i].errnos[state] == STATES_UNDEFINED)
			continue;
		enter(fx, state);
		if (rows[i].errnos[state] != 0)
			check_refused(fx, &rows[i], state);
		else
			check_accepted(fx, &rows[i], state);
		if (rows[i].errnos[state] != 0)
			check_usable(fx, state);
		leave(fx);
		fx_check_holdings(&before, rows[i].name);
		fx_log_reset();
		fx_expect_error("");
	}
}

static void
check_state(struct fixture *fx, enum port_state port_state)
{
	check_table(fx, states_operations, states_nb_operations, port_state);
	check_table(fx, states_unsupported, states_nb_unsupported, port_state);
	check_table(fx, states_arguments, states_nb_arguments, port_state);
}

#define STATE_TEST(name, port_state) \
FX_TEST_BARE(name) \
{ \
	check_state(fx, port_state); \
}

STATE_TEST(test_before_configure, PORT_NEW)
STATE_TEST(test_without_queues, PORT_CONFIGURED)
STATE_TEST(test_before_start, PORT_READY)
STATE_TEST(test_while_running, PORT_RUNNING)
STATE_TEST(test_after_stop, PORT_STOPPED)
STATE_TEST(test_after_close, PORT_CLOSED)
