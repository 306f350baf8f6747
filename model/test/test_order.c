/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages of plain memory whose program goes on while the device looks
 * at one after the other: a buffer that was posted before a packet was sent is
 * there for it, as a real device hears of it first.
 */

#include <signal.h>
#include <sys/mman.h>

#include "rig.h"

#define PAGE_BYTES 4096u
#define FRAME_BYTES 60u
#define NO_PAGE 199u /* of no port */

static struct rig *rig;
static struct rig_port *a, *b;
static uint64_t *registers[3]; /* of b, of a, of nobody */

static void
ring(uint64_t *page, uint32_t offset, const struct rig_ring *queue)
{
	__atomic_store_n(page + offset / 8,
			 (uint64_t)queue->pos << 32 | queue->id,
			 __ATOMIC_RELEASE);
}

static void
post_buffer(void)
{
	struct rig_wqe wqe = { .header = { 0, 0x200 } };

	rig_tx_add_sge(b, &wqe, (uint32_t)(rig_rx_buf(b, b->rx_slot++) - b->buf),
		       RIG_RX_BUF_BYTES);
	rig_post(&b->rq, &wqe);
	ring(registers[0], HW_DB_RQ, &b->rq);
}

static void
post_packet(void)
{
	const struct rig_wqe wqe = rig_tx_wqe(a, 0, FRAME_BYTES);

	rig_post(&a->sq, &wqe);
	ring(registers[1], HW_DB_SQ, &a->sq);
}

/* The device is at the last page: it has looked for buffers in the others. */
static void
go_on(int signo)
{
	if (mprotect(registers[2], PAGE_BYTES, PROT_READ) != 0)
		signal(signo, SIG_DFL);
	post_buffer();
	post_packet();
}

static void
map_registers(void)
{
	for (int i = 0; i < 3; i++) {
		registers[i] = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(registers[i], MAP_FAILED);
	}
}

static uint32_t
run(void)
{
	const struct device_page pages[] = {
		{ .page = b->page, .registers = registers[0] },
		{ .page = a->page, .registers = registers[1] },
		{ .page = NO_PAGE, .registers = registers[2] },
	};
	uint32_t nb_taken;

	segment_lock();
	nb_taken = device_pages_run(pages, 3, NULL, 0);
	segment_unlock();
	return nb_taken;
}

/* Port b is another process's, which has not looked at its page yet. */
static uint32_t
run_of_sender(void)
{
	const struct device_page page = { .page = a->page,
					  .registers = registers[1] };
	const struct device_page other = { .page = b->page,
					   .registers = registers[0] };
	uint32_t nb_taken;

	segment_lock();
	nb_taken = device_pages_run(&page, 1, &other, 1);
	segment_unlock();
	return nb_taken;
}

static void
buffer_posted_amid_a_look_is_there_for_its_packet(void **state)
{
	struct device_port_counters counters;

	rig = *state;
	a = &rig->port[0];
	b = &rig->port[1];
	map_registers();
	post_buffer();
	post_packet();
	signal(SIGSEGV, go_on);
	assert_int_equal(mprotect(registers[2], PAGE_BYTES, PROT_NONE), 0);
	while (run() != 0)
		;
	rig_catch_faults();
	device_port_counters(0, 0, &counters);
	assert_int_equal(counters.tx_packets, 2);
	device_port_counters(0, 1, &counters);
	assert_int_equal(counters.rx_packets, 2);
	assert_int_equal(counters.rx_no_wqe, 0);
	for (int i = 0; i < 3; i++)
		munmap(registers[i], PAGE_BYTES);
}

static void
buffer_of_another_process_is_there_for_a_packet(void **state)
{
	struct device_port_counters counters;

	rig = *state;
	a = &rig->port[0];
	b = &rig->port[1];
	map_registers();
	post_buffer();
	assert_int_equal(run_of_sender(), 0);
	post_packet();
	assert_int_equal(run_of_sender(), 1);
	device_port_counters(0, 1, &counters);
	assert_int_equal(counters.rx_packets, 1);
	assert_int_equal(counters.rx_no_wqe, 0);
	for (int i = 0; i < 3; i++)
		munmap(registers[i], PAGE_BYTES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			buffer_posted_amid_a_look_is_there_for_its_packet,
			rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			buffer_of_another_process_is_there_for_a_packet,
			rig_setup, rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
