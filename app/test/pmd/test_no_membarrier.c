/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The kernel refuses membarrier(2): no_membarrier.c executes this program. The driver says
 * at the probe what a running port cannot do then, and refuses it.
 */

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "fixture.h"

#define REFUSED "membarrier(2) (seccomp): stop the port to change its Rx queues"

static const struct fx_config two = { .nb_rxq = 2, .rss_hf = FX_RSS,
				      .intr = { .rmv = 1 } };

FX_TEST(test_said_once_at_probe)
{
	/* two ports of one function */
	assert_int_equal(fx_nb_logged(RTE_LOG_WARNING, "membarrier"), 1);
	assert_int_equal(fx_info(fx->port[0]).err_handle_mode, RTE_ETH_ERROR_HANDLE_MODE_NONE);
}

/* Each change is refused under traffic, changes nothing, and works on a stopped port. */
FX_TEST(test_changes_are_refused)
{
	struct rte_eth_rss_reta_entry64 reta = { .mask = UINT64_MAX };
	struct rte_eth_rss_conf rss = { .rss_hf = FX_RSS, .rss_key_len = 40 };
	uint8_t key[40];

	memset(key, 0x5a, sizeof(key));
	rss.rss_key = key;
	fx_start(fx, &two);
	fx_pass_one(fx);
	assert_int_equal(rte_eth_dev_rx_queue_stop(fx->port[1], 1), -ENOTSUP);
	assert_int_equal(rte_eth_dev_rss_reta_update(fx->port[1], &reta, 64), -ENOTSUP);
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &rss), -ENOTSUP);
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, REFUSED), 3);
	fx_pass_one(fx);
	assert_int_equal(fx_xstat(fx->port[1], "rx_outages"), 0);
	/* a Tx queue without traffic needs no pause */
	assert_int_equal(rte_eth_dev_tx_queue_stop(fx->port[1], 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(fx->port[1], 0), 0);
	fx_pass_one(fx);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	assert_int_equal(rte_eth_dev_rss_hash_update(fx->port[1], &rss), 0);
	assert_int_equal(rte_eth_dev_rss_reta_update(fx->port[1], &reta, 64), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	fx_pass_one(fx);
	fx_stop(fx);
}

/* A failed queue stays failed until the port is restarted. */
FX_TEST(test_failed_queue)
{
	static const char said[] = "Tx queue 0 has failed (disabled)";
	uint64_t end = fx_deadline();

	fx_expect_error(said);
	fx->ignore_counters = true; /* the wire has not seen the failed packet */
	fx_start(fx, &two);
	fx_command("cqe port=1 tx type=42");
	fx_send_one(fx, 1);
	while (fx_nb_logged(RTE_LOG_ERR, said) == 0) {
		/* the queue learns of its failure in a burst */
		(void)rte_eth_tx_burst(fx->port[0], 0, NULL, 0);
		assert_true(rte_get_timer_cycles() < end);
	}
	assert_int_equal(fx_nb_logged(RTE_LOG_ERR, "restart the port"), 1);
	/* longer than the driver waits before it rebuilds a queue */
	rte_delay_us_sleep(300000);
	assert_int_equal(fx_xstat(fx->port[0], "queue_repairs"), 0);
	assert_int_equal(fx_nb_logged(RTE_LOG_WARNING, "rebuild"), 0);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
	fx_pass_one(fx);
	fx_stop(fx);
}

static unsigned int nb_removed, nb_others;

static int
on_event(uint16_t port __rte_unused, enum rte_eth_event_type type,
	 void *arg __rte_unused, void *ret_param __rte_unused)
{
	__atomic_add_fetch(type == RTE_ETH_EVENT_INTR_RMV ? &nb_removed : &nb_others, 1,
			   __ATOMIC_RELEASE);
	return 0;
}

/* A lost device is reported as removed to any owner of the port, without recovery. */
static void
loss_is_removal(struct fixture *fx, const char *owner_name)
{
	static const enum rte_eth_event_type types[] = {
		RTE_ETH_EVENT_INTR_RMV, RTE_ETH_EVENT_ERR_RECOVERING,
		RTE_ETH_EVENT_RECOVERY_FAILED,
	};
	struct rte_eth_dev_owner owner;
	uint64_t end = fx_deadline();

	fx_expect_error("");
	nb_removed = nb_others = 0;
	assert_int_equal(rte_eth_dev_owner_new(&owner.id), 0);
	snprintf(owner.name, sizeof(owner.name), "%s", owner_name);
	assert_int_equal(rte_eth_dev_owner_set(fx->port[0], &owner), 0);
	for (unsigned int i = 0; i < RTE_DIM(types); i++)
		assert_int_equal(rte_eth_dev_callback_register(fx->port[0], types[i],
							       on_event, NULL), 0);
	fx_start(fx, &two);
	fx_pass_one(fx);
	fx_command("fatal fn=0");
	while (__atomic_load_n(&nb_removed, __ATOMIC_ACQUIRE) == 0) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(1000);
	}
	assert_int_equal(__atomic_load_n(&nb_others, __ATOMIC_ACQUIRE), 0);
	assert_true(fx_nb_logged(RTE_LOG_ERR, "probe it again") > 0);
	fx_stop(fx);
	for (unsigned int i = 0; i < RTE_DIM(types); i++)
		(void)rte_eth_dev_callback_unregister(fx->port[0], types[i], on_event,
						      NULL);
	fx_remove(fx);
	assert_int_equal(rte_eth_dev_owner_delete(owner.id), 0);
	fx_command("return fn=0");
	assert_int_equal(fx_probe(fx, fx_devargs), 0);
	fx_start(fx, &two);
	fx_pass_one(fx);
	fx_stop(fx);
	/* the wire counts both lives of the device */
	fx->ignore_counters = true;
}

FX_TEST(test_removal)
{
	loss_is_removal(fx, "any");
	assert_int_equal(fx_nb_logged(RTE_LOG_WARNING, "net_failsafe"), 0);
}

FX_TEST(test_removal_under_failsafe)
{
	loss_is_removal(fx, "Fail-safe");
	assert_int_equal(fx_nb_logged(RTE_LOG_WARNING, "net_failsafe"), 1);
}

int
main(void)
{
	fx_known_error = "membarrier(2)";
	return FX_RUN("no-membarrier");
}
