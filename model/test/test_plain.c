/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages of plain memory: run under mana-model --mode step and
 * --mode polled, with a function of two ports on a wire.
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "../base/hw.h"
#include "verbs_rig.h"

#define FRAME_BYTES 64u
#define RX_AREA (VRIG_BUF_BYTES / 2)

static struct vrig other; /* port 2; the state is port 1 */

static bool
is_step(void)
{
	return MODEL_CALL(mana_model_step)() != -EINVAL;
}

/* Polled mode: the thread does it. */
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
	return vrig_setup(state);
}

static int
teardown(void **state)
{
	vrig_close(&other);
	assert_int_equal(MODEL_CALL(mana_model_traps)(), 0);
	return vrig_teardown(state);
}

static void
both_up(struct vrig *rig)
{
	assert_int_equal(vrig_up(rig, 0, 1, 1, 1), 0);
	assert_int_equal(vrig_up(&other, 0, 2, 1, 1), 0);
}

static uint8_t *
make_frame(struct vrig *rig, uint32_t off, uint32_t number)
{
	uint8_t *frame = rig->buf + off;
	uint32_t i;

	for (i = 0; i < FRAME_BYTES; i++)
		frame[i] = (uint8_t)(number + i * 7);
	memset(frame, 0, 12);
	frame[12] = 0x12; /* an Ethertype that nobody looks into */
	frame[13] = 0x34;
	memcpy(frame + 14, &number, sizeof(number));
	return frame;
}

static bool
has_cqe(const struct vrig_queue *q)
{
	const uint8_t *cqe = q->cq_ring +
			     q->cq_head % VRIG_NB_CQE * HW_CQE_BYTES;

	return hw_le32(cqe + HW_CQE_TRAILER_OFF) >> HW_CQE_OWNER_S ==
	       (q->cq_head / VRIG_NB_CQE & HW_CQE_OWNER_M);
}

static void
take_cqe(struct vrig_queue *q, enum hw_cqe_type type)
{
	const uint8_t *cqe = vrig_cqe(q);

	assert_non_null(cqe);
	assert_int_equal(cqe[0] & HW_CQE_TYPE_M, type);
	assert_int_equal(hw_le32(cqe + HW_CQE_TRAILER_OFF) & HW_CQE_WQ_NUM_M,
			 q->id);
}

static void
one_packet(struct vrig *from, struct vrig *to, uint32_t number)
{
	const uint32_t slot = to->rx[0].cq_head - VRIG_NB_CQE;
	const uint32_t nb_slots = RX_AREA / VRIG_RX_BUF_BYTES;
	const uint8_t *frame = make_frame(from, 0, number);

	vrig_fill(to, &to->rx[0], 1);
	vrig_send(from, &from->tx[0], 0, FRAME_BYTES);
	work();
	take_cqe(&from->tx[0], HW_CQE_TX_OKAY);
	take_cqe(&to->rx[0], HW_CQE_RX_OKAY);
	assert_memory_equal(to->buf + RX_AREA +
				    slot % nb_slots * VRIG_RX_BUF_BYTES,
			    frame, FRAME_BYTES);
}

static void
device_works_when_it_is_told_to(void **state)
{
	struct vrig *rig = *state;
	struct mana_model_port counters;

	both_up(rig);
	make_frame(rig, 0, 1);
	vrig_fill(&other, &other.rx[0], 3);
	vrig_send(rig, &rig->tx[0], 0, FRAME_BYTES);
	vrig_send(rig, &rig->tx[0], 0, FRAME_BYTES);
	assert_false(has_cqe(&rig->tx[0]));
	assert_int_equal(MODEL_CALL(mana_model_port)(0, 0, &counters), 0);
	assert_int_equal(counters.tx_packets, 0);

	/* An RQ and an SQ register; the SQ's last value says it all. */
	assert_int_equal(MODEL_CALL(mana_model_step)(), 2);
	assert_true(has_cqe(&rig->tx[0]));
	assert_true(has_cqe(&other.rx[0]));
	assert_int_equal(MODEL_CALL(mana_model_port)(0, 1, &counters), 0);
	assert_int_equal(counters.rx_packets, 2);
	assert_int_equal(MODEL_CALL(mana_model_step)(), 0);
	vrig_send(rig, &rig->tx[0], 0, FRAME_BYTES);
	assert_int_equal(MODEL_CALL(mana_model_step)(), 1);
	assert_int_equal(MODEL_CALL(mana_model_port)(0, 1, &counters), 0);
	assert_int_equal(counters.rx_packets, 3);
}

/* What a program that plays the device by hand has to know. */
static void
queues_are_where_the_program_has_them(void **state)
{
	struct vrig *rig = *state;
	struct mana_model_queue tx, rx;
	uint64_t addr, size_bytes;

	both_up(rig);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, true, 0, &tx), 0);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 1, false, 0, &rx), 0);
	assert_ptr_equal(tx.ring, rig->tx[0].ring);
	assert_int_equal(tx.ring_bytes, rig->tx[0].ring_bytes);
	assert_int_equal(tx.id, rig->tx[0].id);
	assert_ptr_equal(tx.cq_ring, rig->tx[0].cq_ring);
	assert_int_equal(tx.cq_id, rig->tx[0].cq_id);
	assert_int_equal(tx.vp_offset, rig->tx[0].vp_offset);
	assert_ptr_equal(rx.ring, other.rx[0].ring);
	assert_ptr_equal(rx.cq_ring, other.rx[0].cq_ring);
	assert_int_equal(rx.nb_cqes, VRIG_NB_CQE);
	assert_int_equal(rx.id, other.rx[0].id);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 0, true, 1, &tx), -ENOENT);
	assert_int_equal(MODEL_CALL(mana_model_queue)(0, 2, true, 0, &rx), -ENODEV);

	assert_int_equal(MODEL_CALL(mana_model_region)(0, rig->mr->lkey, &addr,
						       &size_bytes), 0);
	assert_int_equal(addr, (uintptr_t)rig->buf);
	assert_int_equal(size_bytes, VRIG_BUF_BYTES);
	assert_int_equal(MODEL_CALL(mana_model_region)(0, ~rig->mr->lkey, &addr,
						       &size_bytes), -ENOENT);
	if (!is_step()) {
		assert_null(tx.doorbells);
		return;
	}
	/* The store is seen there, and nowhere else as long as nobody steps. */
	vrig_send(rig, &rig->tx[0], 0, FRAME_BYTES);
	assert_int_equal(*(const volatile uint64_t *)tx.doorbells,
			 tx.id | (uint64_t)HW_BU_BYTES << 32);
	assert_false(has_cqe(&rig->tx[0]));
}

/* Some laps of each ring; more than 8 of the CQs, whose doorbell is not rung. */
static void
packets_cross_both_ways(void **state)
{
	struct vrig *rig = *state;
	uint32_t i;

	both_up(rig);
	for (i = 0; i < 10 * VRIG_NB_CQE; i++) {
		one_packet(rig, &other, i);
		one_packet(&other, rig, ~i);
	}
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}

/* Its id is that of the one before, and so is the first doorbell's value. */
static void
new_queue_is_heard_like_the_old_one(void **state)
{
	struct vrig *rig = *state;
	uint32_t i, id;

	both_up(rig);
	id = rig->tx[0].id;
	for (i = 0; i < 20; i++) {
		assert_int_equal(rig->tx[0].id, id);
		one_packet(rig, &other, i);
		assert_int_equal(ibv_destroy_qp(rig->tx[0].qp), 0);
		assert_int_equal(ibv_destroy_cq(rig->tx[0].cq), 0);
		memset(&rig->tx[0], 0, sizeof(rig->tx[0]));
		rig->nb_tx = 0;
		assert_int_equal(vrig_add_tx(rig), 0);
		vrig_stop_rx(&other);
		memset(&other.rx[0], 0, sizeof(other.rx[0]));
		assert_int_equal(vrig_add_rx(&other), 0);
		assert_int_equal(vrig_start_rx(&other), 0);
	}
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}

/* Rung and destroyed at once: whether it was seen or not, nobody did wrong. */
static void
last_doorbell_dies_with_its_queue(void **state)
{
	struct vrig *rig = *state;
	uint32_t i;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	for (i = 0; i < 50; i++) {
		assert_int_equal(vrig_add_tx(rig), 0);
		vrig_send(rig, &rig->tx[0], 0, FRAME_BYTES);
		assert_int_equal(ibv_destroy_qp(rig->tx[0].qp), 0);
		assert_int_equal(ibv_destroy_cq(rig->tx[0].cq), 0);
		memset(&rig->tx[0], 0, sizeof(rig->tx[0]));
		rig->nb_tx = 0;
		work();
	}
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}

static void
second_queue_of_a_kind_is_refused(void **state)
{
	struct vrig *rig = *state;

	assert_int_equal(vrig_up(rig, 0, 1, 1, 0), 0);
	assert_int_equal(vrig_add_tx(rig), EOPNOTSUPP);
	assert_int_equal(vrig_add_rx(rig), 0);
	assert_int_equal(vrig_add_rx(rig), 0);
	assert_int_equal(vrig_start_rx(rig), EOPNOTSUPP);
	ibv_destroy_rwq_ind_table(rig->ind);
	rig->ind = NULL;
	vrig_stop_rx(rig);
	memset(rig->rx, 0, sizeof(rig->rx));
	assert_int_equal(vrig_add_rx(rig), 0);
	assert_int_equal(vrig_start_rx(rig), 0);
	/* Another context has a page of its own. */
	assert_int_equal(vrig_up(&other, 0, 2, 1, 1), 0);
	one_packet(rig, &other, 1);
}

static void
queues_by_hand_share_a_page(void **state)
{
	struct vrig *rig = *state;
	const int wanted = is_step() ? 0 : EOPNOTSUPP;

	assert_int_equal(MODEL_CALL(mana_model_by_hand)(true), is_step() ? 0 : -EINVAL);
	assert_int_equal(vrig_up(rig, 0, 1, 1, 0), 0);
	assert_int_equal(vrig_add_tx(rig), wanted);
	assert_int_equal(MODEL_CALL(mana_model_step)(), wanted == 0 ? -EBUSY : -EINVAL);
	MODEL_CALL(mana_model_by_hand)(false);
	assert_int_equal(vrig_add_tx(rig), EOPNOTSUPP);
}

static void
arming_is_refused(void **state)
{
	struct vrig *rig = *state;

	assert_int_equal(vrig_open(rig, 0, 1), 0);
	assert_fails(ibv_create_comp_channel(rig->ctx), EOPNOTSUPP);
}

/* Sends as long as it is told to; the other end has no buffer for it. */
static bool is_sending;

static void *
send_all_the_time(void *arg)
{
	struct vrig *rig = arg;
	struct vrig_queue *q = &rig->tx[0];

	while (__atomic_load_n(&is_sending, __ATOMIC_RELAXED)) {
		vrig_send(rig, q, 0, FRAME_BYTES);
		if (is_step())
			work();
		while (!has_cqe(q))
			sched_yield();
		q->cq_head++;
	}
	return NULL;
}

/* The device takes the machine's lock for each packet, and lets others in. */
static void
kernel_calls_get_through(void **state)
{
	struct vrig *rig = *state;
	pthread_t sender;
	struct ibv_mr *mr;
	uint32_t i;

	both_up(rig);
	make_frame(rig, 0, 9);
	is_sending = true;
	assert_int_equal(pthread_create(&sender, NULL, send_all_the_time, rig),
			 0);
	for (i = 0; i < 500; i++) {
		mr = ibv_reg_mr(other.pd, other.buf, VRIG_BUF_BYTES, 0);
		assert_non_null(mr);
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
	__atomic_store_n(&is_sending, false, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(sender, NULL), 0);
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}

/* kill -9 at any moment, also while the device has the machine's lock. */
static void
killed_program_leaves_the_lock(void **state)
{
	struct vrig *rig = *state;
	int ready[2], status, i;
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	for (i = 0; i < 10; i++) {
		pid = fork();
		if (pid == 0) {
			if (vrig_up(rig, 0, 1, 1, 1) != 0 ||
			    write(ready[1], "r", 1) != 1)
				_exit(1);
			is_sending = true;
			send_all_the_time(rig);
		}
		assert_int_equal(read(ready[0], &c, 1), 1);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		both_up(rig);
		one_packet(rig, &other, (uint32_t)i);
		vrig_close(rig);
		vrig_close(&other);
	}
	close(ready[0]);
	close(ready[1]);
}

static void
page_that_a_child_shares_is_one(void **state)
{
	struct vrig *rig = *state;
	int status;
	pid_t pid;

	both_up(rig);
	make_frame(rig, 0, 5);
	vrig_fill(&other, &other.rx[0], 1);
	pid = fork();
	if (pid == 0) {
		const uint64_t db = rig->tx[0].id |
				    (uint64_t)HW_BU_BYTES << 32;
		const int nb = MODEL_CALL(mana_model_step)();

		/* Whose doorbells the parent looks at: not this process. */
		*(volatile uint64_t *)rig->doorbell = db;
		_exit(nb > 0 || MODEL_CALL(mana_model_step)() > 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* The parent's WQE is not there: 0xff, which is no WQE. */
	work();
	take_cqe(&rig->tx[0], HW_CQE_TX_GDMA_ERR);
	assert_int_equal(MODEL_CALL(mana_model_violations)("wqe_oob_size"), 1);
}

/* A program of its own on port 2: each process looks at its own pages. */
static int
answer(int requests)
{
	struct vrig rig = { 0 };
	char c;
	int rc;

	rc = vrig_up(&rig, 0, 2, 1, 1);
	if (rc != 0)
		return rc;
	vrig_fill(&rig, &rig.rx[0], 1);
	while (read(requests, &c, 1) == 1) {
		work();
		/* Polled mode: for as long as it takes to be looked at. */
		if (c == 's')
			break;
	}
	while (!has_cqe(&rig.rx[0]))
		usleep(1000);
	make_frame(&rig, 0, 77);
	vrig_send(&rig, &rig.tx[0], 0, FRAME_BYTES);
	work();
	while (!has_cqe(&rig.tx[0]))
		usleep(1000);
	return vrig_close(&rig);
}

static void
processes_look_at_their_own_pages(void **state)
{
	struct vrig *rig = *state;
	struct mana_model_port before, there;
	int requests[2], status;
	pid_t pid;

	assert_int_equal(pipe(requests), 0);
	assert_int_equal(vrig_up(rig, 0, 1, 1, 1), 0);
	vrig_fill(rig, &rig->rx[0], 1);
	work();
	pid = fork();
	if (pid == 0) {
		close(requests[1]);
		_exit(answer(requests[0]));
	}
	assert_int_equal(MODEL_CALL(mana_model_port)(0, 1, &before), 0);
	make_frame(rig, 0, 76);
	/* Until the child has posted its buffer, which nothing tells. */
	do {
		assert_int_equal(write(requests[1], "p", 1), 1);
		vrig_send(rig, &rig->tx[0], 0, FRAME_BYTES);
		work();
		take_cqe(&rig->tx[0], HW_CQE_TX_OKAY);
		assert_int_equal(MODEL_CALL(mana_model_port)(0, 1, &there), 0);
	} while (there.rx_packets == before.rx_packets);
	assert_int_equal(write(requests[1], "s", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	take_cqe(&rig->rx[0], HW_CQE_RX_OKAY);
	assert_memory_equal(rig->buf + RX_AREA + 14, "\x4d\0\0\0", 4);
	close(requests[0]);
	close(requests[1]);
}

/*
 * A process posts a buffer and stands still; another sends to it then. The
 * device has heard of the buffer first, whoever does its work.
 */
static void
buffer_of_another_process_is_there(void **state)
{
	struct vrig *rig = *state;
	struct mana_model_port before, after;
	int ready[2], status;
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(MODEL_CALL(mana_model_port)(0, 1, &before), 0);
	pid = fork();
	if (pid == 0) {
		if (vrig_up(&other, 0, 2, 1, 1) != 0)
			_exit(1);
		vrig_fill(&other, &other.rx[0], 1);
		if (write(ready[1], "r", 1) != 1)
			_exit(2);
		raise(SIGSTOP);
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(vrig_up(rig, 0, 1, 1, 1), 0);
	assert_int_equal(read(ready[0], &c, 1), 1);
	make_frame(rig, 0, 7);
	vrig_send(rig, &rig->tx[0], 0, FRAME_BYTES);
	work();
	take_cqe(&rig->tx[0], HW_CQE_TX_OKAY);
	assert_int_equal(MODEL_CALL(mana_model_port)(0, 1, &after), 0);
	assert_int_equal(after.rx_packets - before.rx_packets, 1);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(ready[0]);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest told[] = {
		T(device_works_when_it_is_told_to),
	};
	const struct CMUnitTest tests[] = {
		T(queues_are_where_the_program_has_them),
		T(packets_cross_both_ways),
		T(new_queue_is_heard_like_the_old_one),
		T(last_doorbell_dies_with_its_queue),
		T(second_queue_of_a_kind_is_refused),
		T(queues_by_hand_share_a_page),
		T(arming_is_refused),
		T(processes_look_at_their_own_pages),
		T(kernel_calls_get_through),
		T(killed_program_leaves_the_lock),
		T(page_that_a_child_shares_is_one),
		T(buffer_of_another_process_is_there),
	};

	if (is_step() && cmocka_run_group_tests(told, NULL, NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
