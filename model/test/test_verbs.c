/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The bring-up of a port verb by verb, traffic from port to port, events. Attributes
 * and references are those of mana-kernel-walk. Run under mana-model with two functions of two ports.
 */

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../base/hw.h"
#include "verbs_fixture.h"

FX_TEST(devices_are_found)
{
	struct ibv_device **list;
	struct stat st;
	int nb = 0;

	list = ibv_get_device_list(&nb);
	assert_non_null(list);
	assert_int_equal(nb, 2);
	assert_string_equal(ibv_get_device_name(list[0]), "manae_0");
	assert_string_equal(list[1]->dev_name, "uverbs1");
	assert_int_equal(list[0]->node_type, IBV_NODE_CA);
	ibv_free_device_list(list);

	assert_int_equal(stat("/dev/infiniband/uverbs1", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(stat("/dev/infiniband/uverbs2", &st), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(access("/dev/infiniband/uverbs0", R_OK | W_OK), 0);
	assert_int_equal(open("/dev/infiniband/uverbs2", O_RDWR), -1);
	assert_int_equal(errno, ENOENT);
}

FX_TEST(ports_come_up_and_go_down)
{
	struct fixture *fx = *state;
	struct mana_model_objects o;
	uint32_t i;

	assert_int_equal(fx_up(fx, 0, 1, 3, 4), 0);
	o = fx_objects();
	assert_int_equal(o.pd, 1);
	assert_int_equal(o.mr, 1);
	assert_int_equal(o.cq, 7);
	assert_int_equal(o.wq, 4);
	assert_int_equal(o.qp, 4);
	assert_int_equal(o.ind, 1);
	assert_int_equal(o.fd, 2); /* the context and its events */
	for (i = 0; i < 3; i++)
		assert_int_equal(fx->tx[i].vp_offset, 5);
	assert_int_not_equal(fx->tx[0].id, fx->tx[1].id);
	assert_int_not_equal(fx->rx[0].cq_id, fx->tx[0].cq_id);
	assert_int_equal(fx_close(fx), 0);
	assert_no_objects();
}

/* Send from port 1 to port 2 and compare. */
static void
check_traffic(struct fixture *from, struct fixture *to)
{
	const uint32_t len = 100;
	const uint8_t *cqe;
	uint32_t i;

	for (i = 0; i < len; i++)
		from->buf[i] = i;
	memset(from->buf, 0xff, 6);
	fx_fill(to, &to->rx[0], 4);
	fx_send(from, &from->tx[0], 0, len);

	fx_take(&from->tx[0], HW_CQE_TX_OKAY);
	cqe = fx_take(&to->rx[0], HW_CQE_RX_OKAY);
	assert_int_equal(cqe[HW_RX_CQE_PPI_OFF], len);
	assert_memory_equal(to->buf + FX_BUF_BYTES / 2, from->buf, len);
}

FX_TEST(frames_pass_the_wire)
{
	struct fixture *fx = *state, other = { 0 };
	const uint64_t before = fx_counters(0, 1).rx_packets;

	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	assert_int_equal(fx_up(&other, 0, 2, 1, 1), 0);
	/* Each context has a file for its events, and a page. */
	assert_int_equal(fx_objects().fd, 4);
	assert_ptr_not_equal(fx->doorbell, other.doorbell);
	check_traffic(fx, &other);
	assert_int_equal(fx_counters(0, 1).rx_packets - before, 1);
	assert_int_equal(fx_counters(0, 0).tx_packets,
			 fx_counters(0, 1).rx_packets);
	check_traffic(&other, fx);
	assert_int_equal(fx_close(&other), 0);
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}

FX_TEST(armed_queue_gives_one_event)
{
	struct fixture *fx = *state, other = { .has_channels = true };
	struct ibv_cq *cq = NULL;
	struct pollfd pfd;
	void *context;
	uint32_t i;

	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	assert_int_equal(fx_up(&other, 0, 2, 1, 1), 0);
	pfd.fd = other.rx[0].channel->fd;
	pfd.events = POLLIN;
	fcntl(pfd.fd, F_SETFL, O_NONBLOCK);

	/* Drop events of the queue, which is created armed. */
	check_traffic(fx, &other);
	while (ibv_get_cq_event(other.rx[0].channel, &cq, &context) == 0)
		ibv_ack_cq_events(cq, 1);
	assert_int_equal(errno, EAGAIN);

	fx_ring_cq(&other, &other.rx[0], true);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	for (i = 0; i < 3; i++)
		fx_send(fx, &fx->tx[0], 0, 60);
	assert_int_equal(poll(&pfd, 1, 1000), 1);
	cq = NULL;
	assert_int_equal(ibv_get_cq_event(other.rx[0].channel, &cq, &context),
			 0);
	assert_ptr_equal(cq, other.rx[0].cq);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	/* destroy_cq waits until all received events are acknowledged. */
	ibv_ack_cq_events(cq, 1);
	/* It must not wait for unread events. */
	for (i = 0; i < 3; i++)
		assert_non_null(fx_cqe(&other.rx[0]));
	fx_ring_cq(&other, &other.rx[0], true);
	fx_fill(&other, &other.rx[0], 4);
	fx_send(fx, &fx->tx[0], 0, 60);
	assert_int_equal(poll(&pfd, 1, 1000), 1);
	assert_int_equal(fx_close(&other), 0);
}

/* Each step of the bring-up fails once; nothing is leaked. */
FX_TEST(failed_bring_up_leaks_nothing)
{
	struct fixture *fx = *state;
	unsigned int n, nb_failed = 0;
	int rc;

	for (n = 1; n < 200; n++) {
		assert_int_equal(MODEL_CALL(mana_model_fault_arm)("any", n,
								  ENOSPC), 0);
		fx->has_channels = true;
		rc = fx_up(fx, 0, 1, 2, 2);
		if (MODEL_CALL(mana_model_fault_hits)() == 0)
			break;
		/* Without netlink, libibverbs still knows its devices. */
		nb_failed += rc != 0;
		MODEL_CALL(mana_model_fault_disarm)();
		assert_int_equal(fx_close(fx), 0);
		assert_no_objects();
		assert_int_equal(fx_nb_rings, 0);
	}
	assert_int_equal(rc, 0);
	assert_uint_in_range(nb_failed, 15, 60);
	assert_uint_in_range(n - 1 - nb_failed, 0, 3);
}

/* A thread that stores to a page all the time; 0: it has none. */
static struct {
	uint8_t *page;
	uint64_t value;
	uint32_t nb_stores;
	bool is_over;
} storing;

static void *
store_all_the_time(void *arg)
{
	while (!__atomic_load_n(&storing.is_over, __ATOMIC_ACQUIRE)) {
		const uint64_t value = __atomic_load_n(&storing.value, __ATOMIC_ACQUIRE);

		if (value != 0)
			*(volatile uint64_t *)(storing.page + HW_DB_SQ) = value;
		__atomic_add_fetch(&storing.nb_stores, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

static void
wait_stores(uint32_t nb)
{
	const uint32_t before = __atomic_load_n(&storing.nb_stores, __ATOMIC_ACQUIRE);

	while (__atomic_load_n(&storing.nb_stores, __ATOMIC_ACQUIRE) - before < nb)
		sched_yield();
}

/*
 * A doorbell goes to the device or to the memory that replaces the page: never to a queue
 * that was destroyed afterwards, and never nowhere.
 */
FX_TEST(doorbell_page_is_replaced_at_once)
{
	struct fixture *fx = *state;
	pthread_t thread;

	storing.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(storing.page, MAP_FAILED);
	assert_int_equal(pthread_create(&thread, NULL, store_all_the_time, NULL), 0);
	for (unsigned int round = 0; round < 300; round++) {
		__atomic_store_n(&storing.value, 0, __ATOMIC_RELEASE);
		wait_stores(2);
		assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
		assert_ptr_equal(mmap(storing.page, 4096, PROT_WRITE,
				      MAP_SHARED | MAP_FIXED, fx->ctx->cmd_fd, 0),
				 storing.page);
		__atomic_store_n(&storing.value, fx->tx[0].id, __ATOMIC_RELEASE);
		wait_stores(2 + round % 5);
		assert_ptr_equal(mmap(storing.page, 4096, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
				 storing.page);
		assert_int_equal(fx_close(fx), 0);
		assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
	}
	__atomic_store_n(&storing.is_over, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(munmap(storing.page, 4096), 0);
}
