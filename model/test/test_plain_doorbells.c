/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages of plain memory: run under mana-model --mode step, with a function
 * of two ports on a wire.
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../base/hw.h"
#include "verbs_fixture.h"

#define FRAME_BYTES 64u
#define RX_AREA (FX_BUF_BYTES / 2)

static struct fixture other; /* port 2; the state is port 1 */

static void
work(void)
{
	while (MODEL_CALL(mana_model_step)() > 0)
		;
}

static int
setup(void **state)
{
	memset(&other, 0, sizeof(other));
	return fx_setup(state);
}

static int
teardown(void **state)
{
	fx_close(&other);
	assert_int_equal(MODEL_CALL(mana_model_traps)(), 0);
	return fx_teardown(state);
}

static void
both_up(struct fixture *fx)
{
	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	assert_int_equal(fx_up(&other, 0, 2, 1, 1), 0);
}

static uint8_t *
make_frame(struct fixture *fx, uint32_t off, uint32_t number)
{
	uint8_t *frame = fx->buf + off;
	uint32_t i;

	for (i = 0; i < FRAME_BYTES; i++)
		frame[i] = (uint8_t)(number + i * 7);
	memset(frame, 0, 12);
	frame[12] = 0x12; /* an unknown Ethertype */
	frame[13] = 0x34;
	memcpy(frame + 14, &number, sizeof(number));
	return frame;
}

static void
one_packet(struct fixture *from, struct fixture *to, uint32_t number)
{
	const uint32_t slot = to->rx[0].cq_head - FX_NB_CQE;
	const uint32_t nb_slots = RX_AREA / FX_RX_BUF_BYTES;
	const uint8_t *frame = make_frame(from, 0, number);

	fx_fill(to, &to->rx[0], 1);
	fx_send(from, &from->tx[0], 0, FRAME_BYTES);
	work();
	fx_take(&from->tx[0], HW_CQE_TX_OKAY);
	fx_take(&to->rx[0], HW_CQE_RX_OKAY);
	assert_memory_equal(to->buf + RX_AREA +
				    slot % nb_slots * FX_RX_BUF_BYTES,
			    frame, FRAME_BYTES);
}

TEST_WITH(device_runs_at_each_step, setup, teardown)
{
	struct fixture *fx = *state;

	both_up(fx);
	make_frame(fx, 0, 1);
	fx_fill(&other, &other.rx[0], 3);
	fx_send(fx, &fx->tx[0], 0, FRAME_BYTES);
	fx_send(fx, &fx->tx[0], 0, FRAME_BYTES);
	assert_false(fx_has_cqe(&fx->tx[0]));
	assert_int_equal(fx_counters(0, 0).tx_packets, 0);

	/*
	 * One RQ and one SQ register; the SQ's last value covers all packets.
	 */
	assert_int_equal(MODEL_CALL(mana_model_step)(), 2);
	assert_true(fx_has_cqe(&fx->tx[0]));
	assert_true(fx_has_cqe(&other.rx[0]));
	assert_int_equal(fx_counters(0, 1).rx_packets, 2);
	assert_int_equal(MODEL_CALL(mana_model_step)(), 0);
	fx_send(fx, &fx->tx[0], 0, FRAME_BYTES);
	assert_int_equal(MODEL_CALL(mana_model_step)(), 1);
	assert_int_equal(fx_counters(0, 1).rx_packets, 3);
}

/* Addresses for a program that acts as the device itself. */
TEST_WITH(queue_addresses_are_those_of_program, setup, teardown)
{
	struct fixture *fx = *state;
	struct mana_model_queue tx, rx;
	uint64_t addr, size_bytes;

	both_up(fx);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, true, 0, &tx), 0);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 1, false, 0, &rx), 0);
	assert_ptr_equal(tx.ring, fx->tx[0].ring);
	assert_int_equal(tx.ring_bytes, fx->tx[0].ring_bytes);
	assert_int_equal(tx.id, fx->tx[0].id);
	assert_ptr_equal(tx.cq_ring, fx->tx[0].cq_ring);
	assert_int_equal(tx.cq_id, fx->tx[0].cq_id);
	assert_int_equal(tx.vp_offset, fx->tx[0].vp_offset);
	assert_ptr_equal(rx.ring, other.rx[0].ring);
	assert_ptr_equal(rx.cq_ring, other.rx[0].cq_ring);
	assert_int_equal(rx.nb_cqes, FX_NB_CQE);
	assert_int_equal(rx.id, other.rx[0].id);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, true, 1, &tx), -ENOENT);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 2, true, 0, &rx), -ENODEV);

	assert_int_equal(MODEL_CALL(mana_model_region)(0, fx->mr->lkey, &addr,
						       &size_bytes), 0);
	assert_int_equal(addr, (uintptr_t)fx->buf);
	assert_int_equal(size_bytes, FX_BUF_BYTES);
	assert_int_equal(MODEL_CALL(mana_model_region)(0, ~fx->mr->lkey, &addr,
						       &size_bytes), -ENOENT);
	/* The store is visible there, and has no other effect before a step. */
	fx_send(fx, &fx->tx[0], 0, FRAME_BYTES);
	assert_int_equal(*(const volatile uint64_t *)tx.doorbells,
			 tx.id | (uint64_t)HW_BU_BYTES << 32);
	assert_false(fx_has_cqe(&fx->tx[0]));
}

/*
 * Several laps of each ring, and more than 8 laps of the CQs without a
 * doorbell.
 */
TEST_WITH(packets_pass_both_ways, setup, teardown)
{
	struct fixture *fx = *state;
	uint32_t i;

	both_up(fx);
	for (i = 0; i < 10 * FX_NB_CQE; i++) {
		one_packet(fx, &other, i);
		one_packet(&other, fx, ~i);
	}
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}

/*
 * The queue has the id of the previous one, and the same first doorbell value.
 */
TEST_WITH(first_doorbell_of_reused_queue_id_is_seen, setup, teardown)
{
	struct fixture *fx = *state;
	uint32_t i, id;

	both_up(fx);
	id = fx->tx[0].id;
	for (i = 0; i < 20; i++) {
		assert_int_equal(fx->tx[0].id, id);
		one_packet(fx, &other, i);
		assert_int_equal(fx_stop_tx(fx), 0);
		assert_int_equal(fx_add_tx(fx), 0);
		fx_stop_rx(&other);
		assert_int_equal(fx_add_rx(&other), 0);
		assert_int_equal(fx_start_rx(&other), 0);
	}
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}

/*
 * Destroyed right after a doorbell: no violation, whether the device has seen
 * it or not.
 */
TEST_WITH(destroy_after_doorbell_causes_no_violation, setup, teardown)
{
	struct fixture *fx = *state;
	uint32_t i;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	for (i = 0; i < 50; i++) {
		assert_int_equal(fx_add_tx(fx), 0);
		fx_send(fx, &fx->tx[0], 0, FRAME_BYTES);
		assert_int_equal(fx_stop_tx(fx), 0);
		work();
	}
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}

TEST_WITH(second_queue_of_a_kind_is_refused, setup, teardown)
{
	struct fixture *fx = *state;

	assert_int_equal(fx_up(fx, 0, 1, 1, 0), 0);
	assert_int_equal(fx_add_tx(fx), EOPNOTSUPP);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(fx_start_rx(fx), EOPNOTSUPP);
	fx_stop_rx(fx);
	assert_int_equal(fx_add_rx(fx), 0);
	assert_int_equal(fx_start_rx(fx), 0);
	/* Another context has a page of its own. */
	assert_int_equal(fx_up(&other, 0, 2, 1, 1), 0);
	one_packet(fx, &other, 1);
}

TEST_WITH(queues_by_hand_may_share_page, setup, teardown)
{
	struct fixture *fx = *state;

	assert_int_equal(MODEL_CALL(mana_model_by_hand)(true), 0);
	assert_int_equal(fx_up(fx, 0, 1, 1, 0), 0);
	assert_int_equal(fx_add_tx(fx), 0);
	assert_int_equal(MODEL_CALL(mana_model_step)(), -EBUSY);
	MODEL_CALL(mana_model_by_hand)(false);
	assert_int_equal(fx_add_tx(fx), EOPNOTSUPP);
}

TEST_WITH(arming_is_refused, setup, teardown)
{
	struct fixture *fx = *state;

	assert_int_equal(fx_open(fx, 0, 1), 0);
	assert_fails(ibv_create_comp_channel(fx->ctx), EOPNOTSUPP);
}

/* Sends until is_sending ends; the other end has no buffers. */
static bool is_sending;

static void *
send_all_the_time(void *arg)
{
	struct fixture *fx = arg;
	struct fx_queue *q = &fx->tx[0];

	while (__atomic_load_n(&is_sending, __ATOMIC_RELAXED)) {
		fx_send(fx, q, 0, FRAME_BYTES);
		work();
		while (!fx_has_cqe(q))
			sched_yield();
		q->cq_head++;
	}
	return NULL;
}

/* The device lets other threads take the machine's lock. */
TEST_WITH(kernel_calls_return_while_device_is_busy, setup, teardown)
{
	struct fixture *fx = *state;
	pthread_t sender;
	struct ibv_mr *mr;
	uint32_t i;

	both_up(fx);
	make_frame(fx, 0, 9);
	is_sending = true;
	assert_int_equal(pthread_create(&sender, NULL, send_all_the_time, fx),
			 0);
	for (i = 0; i < 500; i++) {
		mr = ibv_reg_mr(other.pd, other.buf, FX_BUF_BYTES, 0);
		assert_non_null(mr);
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
	__atomic_store_n(&is_sending, false, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(sender, NULL), 0);
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}

/* kill -9 at any moment, also while the device has the machine's lock. */
TEST_WITH(killed_program_releases_lock, setup, teardown)
{
	struct fixture *fx = *state;
	int ready[2], status, i;
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	for (i = 0; i < 10; i++) {
		pid = fork();
		if (pid == 0) {
			if (fx_up(fx, 0, 1, 1, 1) != 0 ||
			    write(ready[1], "r", 1) != 1)
				_exit(1);
			is_sending = true;
			send_all_the_time(fx);
		}
		assert_int_equal(read(ready[0], &c, 1), 1);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		both_up(fx);
		one_packet(fx, &other, (uint32_t)i);
		fx_close(fx);
		fx_close(&other);
	}
	close(ready[0]);
	close(ready[1]);
}

TEST_WITH(page_shared_with_child_is_read_once, setup, teardown)
{
	struct fixture *fx = *state;
	int status;
	pid_t pid;

	both_up(fx);
	make_frame(fx, 0, 5);
	fx_fill(&other, &other.rx[0], 1);
	pid = fork();
	if (pid == 0) {
		const uint64_t db = fx->tx[0].id |
				    (uint64_t)HW_BU_BYTES << 32;
		const int nb = MODEL_CALL(mana_model_step)();

		/* The parent's steps read this page, not those of this process. */
		*(volatile uint64_t *)fx->doorbell = db;
		_exit(nb > 0 || MODEL_CALL(mana_model_step)() > 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* The parent's ring has no WQE there, only 0xff. */
	work();
	fx_take(&fx->tx[0], HW_CQE_TX_GDMA_ERR);
	assert_int_equal(MODEL_CALL(mana_model_violations)("wqe_oob_size"), 1);
}

/* Another program on port 2: each process reads its own pages. */
static int
answer(int requests)
{
	struct fixture fx = { 0 };
	char c;
	int rc;

	rc = fx_up(&fx, 0, 2, 1, 1);
	if (rc != 0)
		return rc;
	fx_fill(&fx, &fx.rx[0], 1);
	while (read(requests, &c, 1) == 1) {
		work();
		if (c == 's')
			break;
	}
	while (!fx_has_cqe(&fx.rx[0]))
		usleep(1000);
	make_frame(&fx, 0, 77);
	fx_send(&fx, &fx.tx[0], 0, FRAME_BYTES);
	work();
	while (!fx_has_cqe(&fx.tx[0]))
		usleep(1000);
	return fx_close(&fx);
}

TEST_WITH(processes_read_their_own_pages, setup, teardown)
{
	struct fixture *fx = *state;
	uint64_t before;
	int requests[2], status;
	pid_t pid;

	assert_int_equal(pipe(requests), 0);
	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	fx_fill(fx, &fx->rx[0], 1);
	work();
	pid = fork();
	if (pid == 0) {
		close(requests[1]);
		_exit(answer(requests[0]));
	}
	before = fx_counters(0, 1).rx_packets;
	make_frame(fx, 0, 76);
	/* Repeat until the child has posted its buffer. */
	do {
		assert_int_equal(write(requests[1], "p", 1), 1);
		fx_send(fx, &fx->tx[0], 0, FRAME_BYTES);
		work();
		fx_take(&fx->tx[0], HW_CQE_TX_OKAY);
	} while (fx_counters(0, 1).rx_packets == before);
	assert_int_equal(write(requests[1], "s", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fx_take(&fx->rx[0], HW_CQE_RX_OKAY);
	assert_memory_equal(fx->buf + RX_AREA + 14, "\x4d\0\0\0", 4);
	close(requests[0]);
	close(requests[1]);
}

/*
 * A process posts a buffer and stops; then another one sends to it. The packet
 * must find the buffer, whichever process runs the device.
 */
TEST_WITH(buffer_of_other_process_receives_packet, setup, teardown)
{
	struct fixture *fx = *state;
	const uint64_t before = fx_counters(0, 1).rx_packets;
	struct rlimit limit, none;
	int ready[2], status;
	const pid_t parent = getpid();
	pid_t pid, waker;
	char c;

	assert_int_equal(pipe(ready), 0);
	/* First: this process maps all pages that there are. */
	assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
	pid = fork();
	if (pid == 0) {
		if (fx_up(&other, 0, 2, 1, 1) != 0)
			_exit(1);
		fx_fill(&other, &other.rx[0], 1);
		if (write(ready[1], "r", 1) != 1)
			_exit(2);
		while (getppid() == parent)
			raise(SIGSTOP);
		_exit(0);
	}
	/* It may have stopped with the machine's lock: another moment then. */
	waker = fork();
	if (waker == 0) {
		while (kill(pid, 0) == 0) {
			sleep(1);
			kill(pid, SIGCONT);
		}
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	make_frame(fx, 0, 7);
	fx_send(fx, &fx->tx[0], 0, FRAME_BYTES);
	/* Without a descriptor for the other page, the step does nothing. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(MODEL_CALL(mana_model_step)(), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_false(fx_has_cqe(&fx->tx[0]));
	work();
	fx_take(&fx->tx[0], HW_CQE_TX_OKAY);
	assert_int_equal(fx_counters(0, 1).rx_packets - before, 1);
	assert_int_equal(kill(waker, SIGKILL), 0);
	assert_int_equal(waitpid(waker, &status, 0), waker);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(ready[0]);
}
