/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port with an owner (rte_eth_dev_owner_set()): net_netvsc owns the VF of a synthetic port,
 * as usual in Azure, and replaces a VF whose device is gone; net_failsafe keeps its ports.
 * testpmd-netvsc runs DPDK's own net_netvsc; here are the losses that it does not meet, and
 * its calls of driver operations without ethdev's checks.
 */

#include <errno.h>
#include <string.h>

#include <ethdev_driver.h>
#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_dev.h>

#include "fixture.h"

#define NDIS_HASH_INDCNT 128 /* of net_netvsc: entries of a table */
#define KEY_BYTES 40
#define NB_DESC 64
#define NB_QUEUES 2
#define WRONG_US 50000

/* A driver whose port owns one of the fixture. */
struct owner {
	struct fixture *fx;
	unsigned int index; /* of the port in the fixture */
	uint16_t port;
	struct rte_eth_dev_owner owner;
	bool holds_replacement; /* the test begins it */
	/* Counters, atomic. */
	unsigned int nb_recovering; /* RTE_ETH_EVENT_ERR_RECOVERING */
	unsigned int nb_ended; /* _RECOVERY_SUCCESS, _RECOVERY_FAILED or _INTR_RMV */
	unsigned int nb_lost; /* RTE_ETH_EVENT_INTR_RMV */
	unsigned int nb_closed; /* after them */
	unsigned int nb_devices; /* rte_dev_remove() after the last port */
};

/* The configuration of net_netvsc. */
static int
configure(const struct owner *owner, uint16_t nb_queues, uint64_t rss_hf)
{
	struct rte_eth_conf conf = { .intr_conf.rmv = 1 };

	conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH;
	conf.rx_adv_conf.rss_conf.rss_hf = rss_hf;
	return rte_eth_dev_configure(owner->port, nb_queues, nb_queues, &conf);
}

static void
setup_queues(const struct owner *owner, uint16_t nb_queues)
{
	for (uint16_t q = 0; q < nb_queues; q++) {
		assert_int_equal(rte_eth_tx_queue_setup(owner->port, q, NB_DESC, 0, NULL), 0);
		assert_int_equal(rte_eth_rx_queue_setup(owner->port, q, NB_DESC, 0, NULL,
							owner->fx->pool), 0);
	}
}

/* The other end of the wire, which the application uses alone. */
static void
sender_start(struct fixture *fx)
{
	static const struct fx_config sender;

	if (fx->is_started[0])
		return;
	assert_int_equal(fx_configure(fx, fx->port[0], &sender), 0);
	assert_int_equal(fx_dev_start(fx, 0), 0);
}

static void
bring_up(const struct owner *owner, uint16_t nb_queues, uint64_t rss_hf)
{
	assert_int_equal(configure(owner, nb_queues, rss_hf), 0);
	setup_queues(owner, nb_queues);
	assert_int_equal(fx_dev_start(owner->fx, owner->index), 0);
	sender_start(owner->fx);
}

/* Each queue sends, all packets arrive. */
static void
check_traffic(const struct owner *owner, uint16_t nb_queues)
{
	struct fixture *fx = owner->fx;
	unsigned int nb = 0, nb_received;
	uint16_t ended = 0;

	for (uint32_t seed = 0; seed < 50; seed++)
		fx_send_one(fx, seed);
	fx_settle(fx);
	for (uint16_t q = 0; q < nb_queues; q++) {
		struct rte_mbuf *pkts[FX_BURST];

		nb_received = rte_eth_rx_burst(owner->port, q, pkts, RTE_DIM(pkts));
		for (unsigned int i = 0; i < nb_received; i++)
			pkts[i]->port = 0;
		ended += rte_eth_tx_burst(owner->port, q, pkts, nb_received);
		nb += nb_received;
		if (nb_received != 0)
			q--;
	}
	assert_int_equal(nb, 50);
	assert_int_equal(ended, nb);
	fx_drain(fx);
}

static void
count(unsigned int *nb)
{
	__atomic_add_fetch(nb, 1, __ATOMIC_RELEASE);
}

static void
wait_for(const unsigned int *nb, unsigned int wanted)
{
	uint64_t end = fx_deadline();

	while (__atomic_load_n(nb, __ATOMIC_ACQUIRE) < wanted) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(100);
	}
	assert_int_equal(__atomic_load_n(nb, __ATOMIC_ACQUIRE), wanted);
}

static void
wait_for_xstat(uint16_t port, const char *name, uint64_t nb)
{
	uint64_t end = fx_deadline();

	while (fx_xstat(port, name) < nb) {
		assert_true(rte_get_timer_cycles() < end);
		rte_delay_us_sleep(100);
	}
}

static void
wait_removed(uint16_t port)
{
	uint64_t deadline = fx_deadline();

	while (rte_eth_dev_is_removed(port) == 0) {
		assert_true(rte_get_timer_cycles() < deadline);
		rte_delay_us_sleep(1000);
	}
}

static void
wait_recovered(const struct fixture *fx, unsigned int nb)
{
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		wait_for_xstat(fx->port[i], "recoveries", nb);
}

/* In an alarm after INTR_RMV; the last port removes the device. */
static void
close_port(void *arg)
{
	struct owner *owner = arg;
	struct rte_device *device = rte_eth_devices[owner->port].device;
	uint16_t port;

	assert_int_equal(rte_eth_dev_owner_unset(owner->port, owner->owner.id), 0);
	assert_int_equal(fx_dev_stop(owner->fx, owner->index), 0);
	assert_int_equal(rte_eth_dev_close(owner->port), 0);
	RTE_ETH_FOREACH_DEV_OF(port, device)
		if (rte_eth_devices[port].state != RTE_ETH_DEV_UNUSED)
			break;
	if (port >= RTE_MAX_ETHPORTS) {
		assert_int_equal(rte_dev_remove(device), 0);
		owner->fx->is_probed = false;
		count(&owner->nb_devices);
	}
	count(&owner->nb_closed);
}

static int
on_event(uint16_t port, enum rte_eth_event_type type, void *arg,
	 void *ret_param __rte_unused)
{
	struct owner *owner = arg;

	if (port != owner->port)
		return 0;
	count(type == RTE_ETH_EVENT_ERR_RECOVERING ? &owner->nb_recovering : &owner->nb_ended);
	if (type != RTE_ETH_EVENT_INTR_RMV)
		return 0;
	/* Until then the driver neither sends nor receives. */
	assert_int_equal(rte_eth_dev_is_removed(port), 1);
	count(&owner->nb_lost);
	if (!owner->holds_replacement)
		assert_int_equal(rte_eal_alarm_set(1, close_port, owner), 0);
	return 0;
}

static const enum rte_eth_event_type event_types[] = {
	RTE_ETH_EVENT_ERR_RECOVERING, RTE_ETH_EVENT_RECOVERY_SUCCESS,
	RTE_ETH_EVENT_RECOVERY_FAILED, RTE_ETH_EVENT_INTR_RMV,
};

/* The owner takes the port, which has no other. */
static void
take(struct owner *owner)
{
	owner->port = owner->fx->port[owner->index];
	assert_int_equal(rte_eth_dev_owner_set(owner->port, &owner->owner), 0);
}

static void
begin(struct owner *owner, struct fixture *fx, unsigned int index, const char *name)
{
	*owner = (struct owner){ .fx = fx, .index = index };
	assert_int_equal(rte_eth_dev_owner_new(&owner->owner.id), 0);
	snprintf(owner->owner.name, sizeof(owner->owner.name), "%s", name);
	take(owner);
	for (unsigned int i = 0; i < RTE_DIM(event_types); i++)
		assert_int_equal(rte_eth_dev_callback_register(RTE_ETH_ALL, event_types[i],
							       on_event, owner), 0);
}

static void
end(struct owner *owner)
{
	/* Each recovery has one end, whose event may be late. */
	wait_for(&owner->nb_ended, owner->nb_recovering);
	for (unsigned int i = 0; i < RTE_DIM(event_types); i++)
		while (rte_eth_dev_callback_unregister(RTE_ETH_ALL, event_types[i],
						       on_event, owner) == -EAGAIN)
			rte_delay_us_sleep(100);
	assert_int_equal(rte_eth_dev_owner_delete(owner->owner.id), 0);
}

/* ---- Operations without ethdev's checks ----------------------------------------- */

static int
reta_update(const struct owner *owner, const uint16_t *queues, uint16_t period)
{
	struct rte_eth_rss_reta_entry64 reta[NDIS_HASH_INDCNT / RTE_ETH_RETA_GROUP_SIZE];
	struct rte_eth_dev *dev = &rte_eth_devices[owner->port];

	for (uint16_t i = 0; i < NDIS_HASH_INDCNT; i++)
		reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
			queues[i % period];
	for (unsigned int i = 0; i < RTE_DIM(reta); i++)
		reta[i].mask = UINT64_MAX;
	return dev->dev_ops->reta_update(dev, reta, NDIS_HASH_INDCNT);
}

static int
hash_update(const struct owner *owner, uint8_t *key, uint64_t rss_hf)
{
	struct rte_eth_rss_conf conf = { .rss_key = key, .rss_hf = rss_hf,
					 .rss_key_len = key != NULL ? KEY_BYTES : 0 };
	struct rte_eth_dev *dev = &rte_eth_devices[owner->port];

	return dev->dev_ops->rss_hash_update(dev, &conf);
}

/* An unsupported table: error, and the old table stays in effect. */
FX_TEST(test_table_refused)
{
	static const uint16_t of_three[] = { 0, 1, 2 };
	static const uint16_t out_of_range[] = { 0, 1, 2, 4 };
	static const uint16_t order[] = { 0, 1, 2, 3 };
	struct owner owner;

	begin(&owner, fx, 1, "netvsc");
	fx_expect_error("the port has no Rx queues");
	assert_int_equal(reta_update(&owner, order, 4), -EINVAL);
	/* Its halves differ: 64 % 3 is not 0. */
	fx_expect_error("entry 0 is queue 0 and entry 64 is queue 1");
	bring_up(&owner, 4, FX_RSS);
	assert_int_equal(reta_update(&owner, of_three, 3), -ENOTSUP);
	check_traffic(&owner, 4);
	fx_expect_error("is Rx queue 4, but the port has 4 Rx queues");
	assert_int_equal(reta_update(&owner, out_of_range, 4), -EINVAL);
	fx_expect_error("hash types");
	assert_int_equal(hash_update(&owner, NULL, RTE_ETH_RSS_L2_PAYLOAD), -EINVAL);
	fx_expect_error("rte_eth_dev_configure");
	assert_int_equal(hash_update(&owner, NULL, 0), -ENOTSUP);
	check_traffic(&owner, 4);
	end(&owner);
}

/* One queue receives all packets: updates are accepted without an outage. */
FX_TEST(test_one_queue)
{
	static const uint64_t at_first[] = { FX_RSS, 0 };
	static const uint16_t order[] = { 0 };
	uint8_t key[KEY_BYTES], got[KEY_BYTES];
	struct rte_eth_rss_conf conf = { .rss_key = got, .rss_key_len = sizeof(got) };
	struct owner owner;

	begin(&owner, fx, 1, "netvsc");
	for (unsigned int i = 0; i < RTE_DIM(at_first); i++) {
		memset(key, 0x33 + i, sizeof(key));
		bring_up(&owner, 1, at_first[i]);
		assert_int_equal(reta_update(&owner, order, 1), 0);
		assert_int_equal(hash_update(&owner, NULL, FX_RSS), 0);
		assert_int_equal(hash_update(&owner, key, FX_RSS), 0);
		check_traffic(&owner, 1);
		assert_int_equal(rte_eth_dev_rss_hash_conf_get(owner.port, &conf), 0);
		assert_memory_equal(got, key, sizeof(key));
		assert_true(conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_UDP);
		assert_int_equal(hash_update(&owner, NULL, 0), 0);
		assert_int_equal(rte_eth_dev_rss_hash_conf_get(owner.port, &conf), 0);
		assert_int_equal(conf.rss_hf, 0);
		check_traffic(&owner, 1);
		assert_int_equal(fx_xstat(owner.port, "rx_outages"), 0);
		assert_int_equal(fx_dev_stop(fx, 1), 0);
	}
	end(&owner);
}

/* net_netvsc releases queues of its own port, even if the VF was never configured. */
FX_TEST(test_release_by_netvsc)
{
	struct rte_eth_dev *dev = &rte_eth_devices[fx->port[1]];
	struct owner owner;

	begin(&owner, fx, 1, "netvsc");
	dev->dev_ops->rx_queue_release(dev, 0);
	dev->dev_ops->tx_queue_release(dev, 0);
	bring_up(&owner, 4, FX_RSS);
	check_traffic(&owner, 4);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	for (uint16_t q = 2; q < 4; q++)
		dev->dev_ops->rx_queue_release(dev, q);
	bring_up(&owner, 2, FX_RSS);
	check_traffic(&owner, 2);
	end(&owner);
}

/* ---- Loss and return of the device ---------------------------------------------- */

static void
up(struct owner *owner, struct fixture *fx, unsigned int index, const char *name)
{
	begin(owner, fx, index, name);
	bring_up(owner, NB_QUEUES, FX_RSS);
}

static void
probe_with(struct fixture *fx, const char *devargs)
{
	fx_expect_error("");
	fx_reprobe(fx, devargs);
}

/* The function is back, and the owner takes its new port, which counts from 0. */
static void
replace(struct owner *owner, const char *devargs)
{
	struct fixture *fx = owner->fx;
	int ret = fx_probe(fx, devargs);

	/* The first owner has probed the ports of all. */
	assert_true(ret == 0 || ret == -EEXIST);
	assert_int_equal(fx_model.port(0, owner->index, &fx->wire_before[owner->index]), 0);
	take(owner);
	bring_up(owner, NB_QUEUES, FX_RSS);
}

/*
 * The function is removed, as Hyper-V services the adapter: the owner gets the removal at
 * once. The application uses the other port, which stays and recovers.
 */
FX_TEST(test_service)
{
	struct owner owner;
	uint16_t port;

	up(&owner, fx, 1, "netvsc");
	assert_int_equal(fx_info(owner.port).err_handle_mode,
			 RTE_ETH_ERROR_HANDLE_MODE_PROACTIVE);
	check_traffic(&owner, NB_QUEUES);
	for (unsigned int i = 1; i <= 3; i++) {
		fx_command("remove fn=0");
		wait_for(&owner.nb_closed, i);
		assert_int_equal(owner.nb_lost, i);
		assert_int_equal(owner.nb_recovering, i);
		assert_true(rte_eth_dev_is_valid_port(fx->port[0]));
		assert_int_equal(rte_eth_dev_get_port_by_name(FX_PCI "_p2", &port), -ENODEV);
		fx_command("return fn=0");
		wait_for_xstat(fx->port[0], "recoveries", i);
		replace(&owner, "");
		check_traffic(&owner, NB_QUEUES);
	}
	assert_int_equal(owner.nb_devices, 0);
	end(&owner);
}

/*
 * The RDMA device goes, and the function later, or the function is replaced at once: the
 * owner gets the removal when the function is seen to be gone, and not before.
 */
FX_TEST(test_function_goes_later)
{
	struct owner owner;

	up(&owner, fx, 1, "netvsc");
	fx_command("fatal fn=0");
	wait_for_xstat(owner.port, "resets", 1);
	/* time for a removal that is wrong */
	rte_delay_us_sleep(WRONG_US);
	wait_for(&owner.nb_lost, 0);
	assert_int_equal(rte_eth_dev_is_removed(owner.port), 0);
	fx_command("remove fn=0");
	wait_for(&owner.nb_closed, 1);
	fx_command("return fn=0");
	wait_for_xstat(fx->port[0], "recoveries", 1);
	replace(&owner, "");
	check_traffic(&owner, NB_QUEUES);
	/* another function of the same address */
	fx_command("remove fn=0");
	fx_command("return fn=0");
	wait_for(&owner.nb_closed, 2);
	wait_for_xstat(fx->port[0], "recoveries", 2);
	replace(&owner, "");
	check_traffic(&owner, NB_QUEUES);
	assert_int_equal(owner.nb_lost, 2);
	end(&owner);
}

/* An owner that does not listen for removals: as without owner. */
FX_TEST(test_owner_without_removals)
{
	static const char devargs[] = "recovery_timeout=1";
	struct owner owner;

	probe_with(fx, devargs);
	begin(&owner, fx, 1, "another");
	assert_int_equal(fx_configure(fx, fx->port[1], &(struct fx_config){ 0 }), 0);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	sender_start(fx);
	fx_command("remove fn=0");
	wait_for(&owner.nb_recovering, 1);
	fx_command("return fn=0");
	wait_recovered(fx, 1);
	check_traffic(&owner, 1);
	fx_command("remove fn=0");
	wait_for(&owner.nb_ended, 2);
	wait_removed(owner.port);
	assert_int_equal(owner.nb_lost, 0);
	end(&owner);
	fx_command("return fn=0");
}

/* Both ports have an owner: the last one removes the device. */
FX_TEST(test_service_of_two)
{
	struct owner owners[FX_NB_PORTS];

	fx_expect_error(""); /* the second one probes what is probed */
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		up(&owners[i], fx, i, "netvsc");
	for (unsigned int n = 1; n <= 3; n++) {
		check_traffic(&owners[1], NB_QUEUES);
		fx_command("remove fn=0");
		for (unsigned int i = 0; i < FX_NB_PORTS; i++)
			wait_for(&owners[i].nb_closed, n);
		assert_int_equal(owners[0].nb_devices + owners[1].nb_devices, n);
		assert_int_equal(rte_eth_dev_count_total(), 0);
		fx_command("return fn=0");
		for (unsigned int i = 0; i < FX_NB_PORTS; i++)
			replace(&owners[i], "");
	}
	check_traffic(&owners[1], NB_QUEUES);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		end(&owners[i]);
}

/* The PCI function stays, so no hot-add event would follow: the port recovers. */
FX_TEST(test_service_in_place)
{
	struct owner owner;

	up(&owner, fx, 1, "netvsc");
	fx_command("reset fn=0 outage=5ms");
	wait_recovered(fx, 1);
	check_traffic(&owner, NB_QUEUES);
	/* The owner stops the port, and starts it while the device is away. */
	fx_command("fatal fn=0");
	wait_for_xstat(owner.port, "resets", 2);
	fx_expect_error("the port recovers from the loss of its RDMA device");
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	assert_int_equal(fx_dev_start(fx, 1), -EBUSY);
	fx_command("return fn=0");
	wait_recovered(fx, 2);
	assert_int_equal(fx_dev_start(fx, 1), 0);
	check_traffic(&owner, NB_QUEUES);
	assert_int_equal(owner.nb_lost, 0);
	end(&owner);
}

/* The function stays, and its device does not return in time: the owners replace the ports. */
FX_TEST(test_time_is_over)
{
	static const char devargs[] = "recovery_timeout=1";
	struct owner owners[FX_NB_PORTS];

	probe_with(fx, devargs);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		up(&owners[i], fx, i, "netvsc");
	fx_command("fatal fn=0");
	wait_for_xstat(owners[1].port, "resets", 1);
	assert_int_equal(rte_eth_dev_is_removed(owners[1].port), 0);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++) {
		wait_for(&owners[i].nb_closed, 1);
		assert_int_equal(owners[i].nb_ended, 1);
		assert_int_equal(owners[i].nb_lost, 1);
	}
	fx_command("return fn=0");
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		replace(&owners[i], devargs);
	check_traffic(&owners[1], NB_QUEUES);
	for (unsigned int i = 0; i < FX_NB_PORTS; i++)
		end(&owners[i]);
}

/*
 * net_failsafe keeps the port however long the function is away: its burst functions would
 * go on with a closed port.
 */
static void
failsafe_keeps_port(struct fixture *fx, const char *devargs, const char *loss)
{
	struct owner owner;

	probe_with(fx, devargs);
	up(&owner, fx, 1, "Fail-safe");
	check_traffic(&owner, NB_QUEUES);
	fx_command(loss);
	wait_for_xstat(owner.port, "resets", 1);
	/* The other port's time is over. */
	wait_removed(fx->port[0]);
	assert_int_equal(rte_eth_dev_is_removed(owner.port), 0);
	fx_command("return fn=0");
	wait_for_xstat(owner.port, "recoveries", 1);
	assert_int_equal(owner.nb_lost, 0);
	assert_int_equal(fx_dev_stop(fx, 0), 0);
	assert_int_equal(rte_eth_dev_reset(fx->port[0]), 0);
	sender_start(fx);
	check_traffic(&owner, NB_QUEUES);
	end(&owner);
}

FX_TEST(test_failsafe_removal)
{
	failsafe_keeps_port(fx, "recovery_timeout=1", "remove fn=0");
}

FX_TEST(test_failsafe_without_timeout)
{
	failsafe_keeps_port(fx, "recovery_timeout=0", "fatal fn=0");
}

/* The port is stopped: until it is replaced, its configuration and start fail. */
FX_TEST(test_loss_of_stopped_port)
{
	struct owner owner;

	up(&owner, fx, 1, "netvsc");
	check_traffic(&owner, NB_QUEUES);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	owner.holds_replacement = true;
	fx_command("remove fn=0");
	wait_for(&owner.nb_lost, 1);
	fx_expect_error(""); /* of the driver and of ethdev */
	assert_int_equal(fx_dev_start(fx, 1), -EIO);
	assert_int_equal(fx_dev_stop(fx, 1), 0);
	assert_int_equal(configure(&owner, NB_QUEUES, FX_RSS), -EIO);
	assert_int_equal(rte_eal_alarm_set(1, close_port, &owner), 0);
	wait_for(&owner.nb_closed, 1);
	fx_command("return fn=0");
	wait_for_xstat(fx->port[0], "recoveries", 1);
	replace(&owner, "");
	check_traffic(&owner, NB_QUEUES);
	end(&owner);
}

/* The owner has not asked for the removal event yet: the port recovers. */
FX_TEST(test_loss_before_configure)
{
	struct owner owner;

	begin(&owner, fx, 1, "netvsc");
	fx_command("remove fn=0");
	wait_for_xstat(owner.port, "resets", 1);
	fx_expect_error(""); /* of the driver and of ethdev */
	assert_int_equal(configure(&owner, NB_QUEUES, FX_RSS), -EBUSY);
	fx_command("return fn=0");
	wait_recovered(fx, 1);
	bring_up(&owner, NB_QUEUES, FX_RSS);
	check_traffic(&owner, NB_QUEUES);
	assert_int_equal(owner.nb_lost, 0);
	end(&owner);
}

/* The driver owns an unconfigured port without owner while the port recovers. */
static uint16_t
lose_unowned(struct fixture *fx, const char *devargs)
{
	const uint16_t port = fx->port[1];
	const uint64_t deadline = fx_deadline();
	struct rte_eth_dev_owner owner;

	probe_with(fx, devargs);
	sender_start(fx);
	fx_command("remove fn=0");
	wait_for_xstat(port, "resets", 1);
	while (rte_eth_find_next_owned_by(port, RTE_ETH_DEV_NO_OWNER) == port) {
		assert_true(rte_get_timer_cycles() < deadline);
		rte_delay_us_sleep(100);
	}
	assert_int_equal(rte_eth_dev_owner_get(port, &owner), 0);
	assert_string_equal(owner.name, "net_mana");
	return port;
}

FX_TEST(test_loss_without_owner)
{
	uint16_t port = lose_unowned(fx, "");
	struct owner owner;

	fx_command("return fn=0");
	wait_for_xstat(fx->port[0], "recoveries", 1);
	wait_for_xstat(port, "recoveries", 1);
	/* The events of the recovery come before the owner. */
	fx_alarms_await();
	assert_int_equal(rte_eth_find_next_owned_by(port, RTE_ETH_DEV_NO_OWNER), port);
	begin(&owner, fx, 1, "netvsc");
	bring_up(&owner, NB_QUEUES, FX_RSS);
	check_traffic(&owner, NB_QUEUES);
	end(&owner);
}

FX_TEST(test_time_without_owner)
{
	uint16_t port = lose_unowned(fx, "recovery_timeout=1");

	wait_removed(port);
	fx_alarms_await();
	assert_int_equal(rte_eth_find_next_owned_by(port, RTE_ETH_DEV_NO_OWNER), port);
	wait_removed(fx->port[0]);
}
