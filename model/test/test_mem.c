/* SPDX-License-Identifier: BSD-3-Clause */

/* Guarded copies, other processes' memory, regions; lock, faults, segment. */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"
#include "mem.h"
#include "fixture.h"

#define PAGE 4096u

FX_TEST(test_copy_sizes)
{
	static uint8_t from[4096], to[4096];
	uint32_t n, i;

	for (i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 131 + i / 256);
	for (n = 0; n < 2100; n++) {
		uint32_t off = n % 61;

		memset(to, 0xaa, sizeof(to));
		assert_int_equal(mem_write(model_self, (uintptr_t)to + off,
					   from + n % 7, n),
				 0);
		assert_memory_equal(to + off, from + n % 7, n);
		for (i = 0; i < off; i++)
			assert_int_equal(to[i], 0xaa);
		for (i = off + n; i < off + n + 64; i++)
			assert_int_equal(to[i], 0xaa);
	}
}

/* A fault at any size and offset is an error, in both directions. */
FX_TEST(test_copy_faults)
{
	uint8_t *two = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t buf[PAGE] = { 0 };
	uint32_t n, in;

	assert_ptr_not_equal(two, MAP_FAILED);
	fx_catch_faults();
	munmap(two + PAGE, PAGE);
	for (n = 1; n < 1500; n += n < 80 ? 1 : 97) {
		for (in = 0; in < n; in += 1 + n / 9) {
			uint64_t addr = (uintptr_t)two + PAGE - in;

			assert_int_equal(mem_read(model_self, addr, buf, n),
					 -EFAULT);
			assert_int_equal(mem_write(model_self, addr, buf, n),
					 -EFAULT);
		}
		assert_int_equal(mem_read(model_self, (uintptr_t)two + PAGE - n,
					  buf, n),
				 0);
	}
	assert_int_equal(mem_read(model_self, 0, buf, 8), -EFAULT);
	assert_int_equal(mem_read(model_self, 0x8000000000000000ull, buf, 8),
			 -EFAULT);
	assert_int_equal(mem_write_last_word(model_self,
					     (uintptr_t)two + PAGE - 60, buf, 64),
			 -EFAULT);
	assert_int_equal(mem_is_zero(model_self, (uintptr_t)two, PAGE), 1);
	assert_int_equal(mem_fill(model_self, (uintptr_t)two, 7, 2 * PAGE),
			 -EFAULT);
	assert_int_equal(mem_is_zero(model_self, (uintptr_t)two, PAGE), 0);
	mprotect(two, PAGE, PROT_READ);
	assert_int_equal(mem_write(model_self, (uintptr_t)two, buf, 4), -EFAULT);
	munmap(two, PAGE);
}

static void
send_one(void)
{
	struct fx_wqe wqe = fx_tx_wqe(a, 0, 60);

	assert_int_equal(fx_send(a, &wqe), HW_CQE_TX_OKAY);
}

/*
 * The child has a copy of this process's memory at the same addresses: assign
 * the queues of port 1 to it, and check that received data appears only there.
 */
static void
packet_to_process(uint32_t slot)
{
	struct card_function *f = card_function(0);
	struct wq *rq = card_rq(f, b->rq.id);
	uint8_t got[64];

	f->mem.regions[b->key % MEM_NB_REGIONS].process = slot;
	rq->ring.process = slot;
	card_cq(f, b->rcq.id)->ring.process = slot;
	a->buf[0] = 0x5a;
	send_one();
	assert_null(fx_cqe(&b->rcq));
	assert_int_equal(mem_read(slot, (uintptr_t)b->rcq.mem, got, 64), 0);
	assert_int_equal(hw_le32(got + 60), 1u << 29 | b->rq.id);
	assert_int_equal(mem_read(slot, (uintptr_t)fx_rx_buf(b, 0), got, 64), 0);
	assert_int_equal(got[0], 0x5a);
}

/* The same calls access a child's memory, and fail after its end. */
FX_TEST(test_other_process)
{
	static uint8_t shared[64];
	uint8_t buf[64] = "parent";
	uint32_t slot;
	int go[2], done[2], status;
	char c;
	pid_t pid;

	fx_fill_rq(b, 2);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(done), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		strcpy((char *)shared, "child");
		if (segment_register_self() != 0 || model_self == 1)
			_exit(1);
		c = (char)model_self;
		if (write(done[1], &c, 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(2);
		_exit(strcmp((char *)shared, "parent") == 0 ? 0 : 3);
	}
	assert_int_equal(read(done[0], &c, 1), 1);
	slot = (uint32_t)c;
	assert_int_equal(model_self, 1);
	assert_int_equal(slot, 2);
	assert_true(segment_process_alive(slot));
	assert_int_equal(mem_read(slot, (uintptr_t)shared, buf, 6), 0);
	assert_string_equal((char *)buf, "child");
	strcpy((char *)buf, "parent");
	assert_int_equal(mem_write_last_word(slot, (uintptr_t)shared, buf, 8), 0);
	assert_int_equal(mem_read(slot, 16, buf, 6), -EFAULT);
	/* A packet to buffer, ring and CQ of the child. */
	packet_to_process(slot);
	assert_memory_equal(fx_rx_buf(b, 0), "\0\0\0\0", 4);
	assert_int_equal(write(go[1], &c, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(segment_process_alive(slot));
	assert_int_equal(mem_read(slot, (uintptr_t)shared, buf, 6), -EFAULT);
	/* Its queues still exist, and there is no violation. */
	send_one();
	assert_no_violation();
	segment_process_release(slot);
	assert_int_equal(mem_read(slot, (uintptr_t)shared, buf, 6), -EFAULT);
	/* Registered already: like after exec. */
	assert_int_equal(segment_register_self(), 1);
	assert_int_equal(model_self, 1);
	close(go[0]);
	close(go[1]);
	close(done[0]);
	close(done[1]);
}

TEST(test_regions)
{
	static struct mem_table table;
	struct mem_region region = { .pdn = 3,
				     .process = 1,
				     .iova = 0x1000,
				     .addr = 0x71000,
				     .size_bytes = 1ull << 33,
				     .access = MEM_ACCESS_WRITE };
	uint32_t key[3], again, i;
	struct mem_place place;

	for (i = 0; i < 3; i++)
		assert_int_equal(mem_region_create(&table, &region, &key[i]), 0);
	assert_int_equal(table.nb_used, 3);
	assert_int_equal(mem_region_check(&table, key[1], 3, 0x1000, 1ull << 33,
					  2, &place),
			 MEM_OK);
	assert_int_equal(place.process, 1);
	assert_int_equal(place.addr, 0x71000);
	assert_int_equal(mem_region_check(&table, key[1], 3, 0x1fff, 1, 0,
					  &place),
			 MEM_OK);
	assert_int_equal(place.addr, 0x71fff);
	assert_int_equal(mem_region_check(&table, key[1], 3, 0xfff, 1, 0,
					  &place),
			 MEM_OUT_OF_RANGE);
	assert_int_equal(mem_region_check(&table, key[1], 3, 0x1001, 1ull << 33,
					  0, &place),
			 MEM_OUT_OF_RANGE);
	assert_int_equal(mem_region_check(&table, key[1], 3, UINT64_MAX, 2, 0,
					  &place),
			 MEM_OUT_OF_RANGE);
	assert_int_equal(mem_region_check(&table, key[1], 4, 0x1000, 1, 0,
					  &place),
			 MEM_KEY_FOREIGN_PD);
	assert_int_equal(mem_region_check(&table, 0, 3, 0x1000, 1, 0, &place),
			 MEM_KEY_UNKNOWN);
	assert_int_equal(mem_region_check(&table, key[1] + MEM_NB_REGIONS, 3,
					  0x1000, 1, 0, &place),
			 MEM_KEY_UNKNOWN);
	/* The lowest free index, with a new key. */
	mem_region_destroy(&table, key[0]);
	region.access = 0;
	assert_int_equal(mem_region_create(&table, &region, &again), 0);
	assert_int_equal(again % MEM_NB_REGIONS, key[0] % MEM_NB_REGIONS);
	assert_int_not_equal(again, key[0]);
	key[0] = again;
	assert_int_equal(mem_region_check(&table, key[0], 3, 0x1000, 1,
					  MEM_ACCESS_WRITE, &place),
			 MEM_NO_WRITE_ACCESS);
	mem_region_destroy_pd(&table, 3);
	assert_int_equal(table.nb_used, 0);
	for (i = 0; i < MEM_NB_REGIONS; i++)
		assert_int_equal(mem_region_create(&table, &region, &again), 0);
	assert_int_equal(mem_region_create(&table, &region, &again), -ENOSPC);
}

FX_TEST(test_fault_plan)
{
	static const char *const bad[] = { "reg_mr",	 "nothing:1",
					   "reg_mr:",	 "reg_mr:0",
					   "reg_mr:1:",	 "reg_mr:1:ENONSENSE",
					   "reg_mr:1:0", "reg_mr:1x",
					   "reg_mr:-1",	 ":1" };
	char message[128];
	uint32_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		message[0] = '\0';
		assert_int_equal(fault_plan_add(bad[i], message, sizeof(message)),
				 -EINVAL);
		assert_non_null(strstr(message, bad[i]));
	}
	assert_int_equal(fault_plan_add("reg_mr:2:EPERM", message, 128), 0);
	assert_int_equal(fault_plan_add("create_qp:1+:28", message, 128), 0);
	assert_int_equal(fault_plan_add("any:7", message, 128), 0);
	assert_int_equal(fault_check(FAULT_reg_mr), 0);
	assert_int_equal(fault_check(FAULT_reg_mr), -EPERM);
	assert_int_equal(fault_check(FAULT_reg_mr), 0);
	assert_int_equal(fault_check(FAULT_create_qp), -ENOSPC);
	assert_int_equal(fault_check(FAULT_create_qp), -ENOSPC);
	assert_int_equal(fault_check(FAULT_alloc_pd), 0);
	assert_int_equal(fault_check(FAULT_alloc_pd), -ENOMEM);
	assert_int_equal(fault_check(FAULT_alloc_pd), 0);
	assert_int_equal(segment_fault_plan()->nb_fired, 4);
	fault_plan_clear();
	assert_int_equal(fault_check(FAULT_create_qp), 0);
}

/* The lock's holder is killed: the next one continues. */
FX_TEST(test_robust_lock)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		segment_lock();
		raise(SIGKILL);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	segment_lock();
	segment_unlock();
	segment_lock_masked();
	segment_unlock_masked();
}

/* Signals are deferred until the lock is released. */
static volatile sig_atomic_t got_signal;

static void
on_signal(int sig)
{
	(void)sig;
	got_signal = 1;
}

FX_TEST(test_lock_blocks_signals)
{
	signal(SIGUSR1, on_signal);
	segment_lock();
	raise(SIGUSR1);
	assert_int_equal(got_signal, 0);
	segment_unlock();
	assert_int_equal(got_signal, 1);
}

TEST_WITH(test_fatal, NULL, fx_teardown)
{
	static struct fixture fx;
	int status;
	pid_t pid;

	fx_defaults(&fx);
	fx.config.fatal_violations = true;
	fx_start(&fx);
	pid = fork();
	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);
		segment_register_self();
		fx_doorbell(a, 0xff8, 0, 8);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_true(segment_violation_log()->is_fatal);
	/* The launcher survives. */
	fx_doorbell(a, 0xff8, 0, 8);
	assert_violation(doorbell_bad_offset, 2);
}

FX_TEST(test_attach)
{
	struct fixture *fx = *state;
	struct violation_log *before = segment_violation_log();
	int status;
	pid_t pid;

	assert_int_equal(segment_attach(fx->dir), -EBUSY);
	pid = fork();
	if (pid == 0) {
		segment_detach();
		if (segment_attach("/nowhere") != -ENOENT)
			_exit(1);
		if (segment_attach(fx->dir) != 0 || model_self != 2)
			_exit(2);
		if (strcmp(segment_run_dir(), fx->dir) != 0)
			_exit(3);
		doorbell_count(segment_violation_log(), DOORBELL_COUNT_RQ);
		segment_detach();
		_exit(segment_attach(fx->dir) == 1 ? 0 : 4);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(before->doorbells[DOORBELL_COUNT_RQ], 1);
}
