/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbell pages of plain memory: the program continues while the device reads
 * one page after the other. A packet must find buffers that were posted before
 * it was sent, as with a real device.
 */

#include <signal.h>
#include <sys/mman.h>

#include "fixture.h"

#define PAGE_BYTES 4096u
#define FRAME_BYTES 60u
#define NO_PAGE 199u /* of no queue */

static uint64_t *registers[3]; /* of b, of a, of none */

static void
ring(uint64_t *page, uint32_t offset, const struct fx_ring *queue)
{
	__atomic_store_n(page + offset / 8,
			 (uint64_t)queue->pos << 32 | queue->id,
			 __ATOMIC_RELEASE);
}

static void
post_buffer(void)
{
	struct fx_wqe wqe = { .header = { 0, 0x200 } };

	fx_tx_add_sge(b, &wqe, (uint32_t)(fx_rx_buf(b, b->rx_slot++) - b->buf),
		      FX_RX_BUF_BYTES);
	fx_post(&b->rq, &wqe);
	ring(registers[0], HW_DB_RQ, &b->rq);
}

static void
post_packet(void)
{
	const struct fx_wqe wqe = fx_tx_wqe(a, 0, FRAME_BYTES);

	fx_post(&a->sq, &wqe);
	ring(registers[1], HW_DB_SQ, &a->sq);
}

/* The device reads the last page, after the RQ registers of the others. */
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
run_pages(const struct card_page *pages, uint32_t nb)
{
	uint32_t nb_taken;

	segment_lock();
	nb_taken = card_pages_run(pages, nb);
	segment_unlock();
	return nb_taken;
}

static uint32_t
run(void)
{
	const struct card_page pages[] = {
		{ .page = b->page, .is_own = true, .registers = registers[0] },
		{ .page = a->page, .is_own = true, .registers = registers[1] },
		{ .page = NO_PAGE, .is_own = true, .registers = registers[2] },
	};

	return run_pages(pages, 3);
}

/* Port b belongs to another process, which has not read its page yet. */
static uint32_t
run_of_sender(void)
{
	const struct card_page pages[] = {
		{ .page = a->page, .is_own = true, .registers = registers[1] },
		{ .page = b->page, .registers = registers[0] },
	};

	return run_pages(pages, 2);
}

FX_TEST(buffer_posted_during_poll_receives_packet)
{
	map_registers();
	post_buffer();
	post_packet();
	signal(SIGSEGV, go_on);
	assert_int_equal(mprotect(registers[2], PAGE_BYTES, PROT_NONE), 0);
	while (run() != 0)
		;
	fx_catch_faults();
	assert_int_equal(fx_counters(0).tx_packets, 2);
	assert_int_equal(fx_counters(1).rx_packets, 2);
	assert_int_equal(fx_counters(1).rx_no_wqe, 0);
	for (int i = 0; i < 3; i++)
		munmap(registers[i], PAGE_BYTES);
}

FX_TEST(buffer_of_other_process_receives_packet)
{
	map_registers();
	post_buffer();
	assert_int_equal(run_of_sender(), 0);
	post_packet();
	assert_int_equal(run_of_sender(), 1);
	assert_int_equal(fx_counters(1).rx_packets, 1);
	assert_int_equal(fx_counters(1).rx_no_wqe, 0);
	for (int i = 0; i < 3; i++)
		munmap(registers[i], PAGE_BYTES);
}
