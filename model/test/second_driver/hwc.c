/* SPDX-License-Identifier: BSD-3-Clause */

/* The hardware channel, as OpenVMM's mana_driver/src/gdma_driver.rs uses it. */

#include "second.h"

#define MESSAGE_BYTES	     PAGE_BYTES
#define REQUEST_HEAD_BYTES   40u
#define ANSWER_HEAD_BYTES    32u
#define REQUEST_DEV_CONFIG   0x20001u
#define REQUEST_TEST_EVENT   10u
#define REQUEST_RESET_EVENT  11u

/* Events. */
#define EVENT_TEST	    64u
#define EVENT_INIT_EQ	    129u
#define EVENT_INIT_DATA	    130u
#define EVENT_INIT_DONE	    131u
#define EVENT_RESET_REQUEST 135u

enum {
	SHM_ESTABLISH = 1,
	SHM_DESTROY = 2,
	SHM_TIMEOUT = 4
};
#define SHM_DWORDS	8u
#define SHM_IS_ANSWER	(1u << 7)
#define SHM_DEVICE_OWNS (1u << 31)

uint64_t hwc_doorbells;
static uint64_t shm; /* in BAR0 */

static struct cq eq, cq;
static struct wq sq, rq;
static uint8_t *request, *answer;
static uint32_t key, activity;
static uint32_t nb_tests, nb_resets; /* events seen */

/* gdma_defs RegMap, all of it by dwords: GdmaDriver::init(). */
static void
read_registers(void)
{
	uint8_t bytes[40];

	for (uint32_t i = 0; i < sizeof(bytes); i += 4)
		put32(bytes + i, bar_read(i));
	if (get32(bytes) == UINT32_MAX)
		die("BAR0 reads as all ones");
	if (bytes[3] > 1)
		die("major version %u of the registers", bytes[3]);
	if ((get32(bytes + 0x10) & 0xffff) != PAGE_BYTES)
		die("doorbell pages have %u bytes", get32(bytes + 0x10) & 0xffff);
	if ((get32(bytes + 0x20) & 0xffff) != SHM_DWORDS * 4)
		die("the shared memory has %u bytes",
		    get32(bytes + 0x20) & 0xffff);
	hwc_doorbells = get64(bytes + 0x08);
	shm = get64(bytes + 0x18);
}

/* Returns the status of the answer. */
static uint32_t
shm_call(uint8_t message[SHM_DWORDS * 4], uint32_t type, uint32_t version)
{
	uint32_t header;

	put32(message + 28, type | version << 3);
	for (uint32_t i = 0; i < SHM_DWORDS; i++)
		bar_write(shm + 4 * i, get32(message + 4 * i), 4);
	do
		header = bar_read(shm + 28);
	while ((header & SHM_DEVICE_OWNS) != 0);
	if (header == UINT32_MAX || (header & SHM_IS_ANSWER) == 0)
		die("shared memory: no answer: 0x%x", header);
	return header >> 8 & 0xff;
}

/* The frame numbers of the pages of EQ, CQ, RQ, SQ: 48 bits, then the upper 4. */
static uint32_t
shm_establish(void)
{
	uint8_t *const rings[] = { eq.ring, cq.ring, rq.ring, sq.ring };
	uint8_t message[SHM_DWORDS * 4] = { 0 };

	for (uint32_t i = 0; i < 4; i++) {
		const uint64_t frame = mem_address(rings[i]) / PAGE_BYTES;

		put32(message + 6 * i, (uint32_t)frame);
		put16(message + 6 * i + 4, (uint16_t)(frame >> 32));
	}
	/* Vector 0. */
	return shm_call(message, SHM_ESTABLISH, 0);
}

/* Others are completions and link changes. */
static void
take_events(void)
{
	uint8_t event[EQE_BYTES];

	while (cq_pop(&eq, event)) {
		nb_tests += event[12] == EVENT_TEST;
		nb_resets += event[12] == EVENT_RESET_REQUEST;
	}
}

/* An id of the channel. */
static void
init_data(uint32_t data)
{
	uint32_t *const places[] = { [1] = &cq.id, &rq.id, &sq.id, [9] = &key };
	const uint32_t type = data >> 24;

	if (type < sizeof(places) / sizeof(places[0]) && places[type] != NULL)
		*places[type] = data & 0xffffff;
}

/* The start-up events tell ids; the EQ is armed. */
static void
await_init(void)
{
	uint8_t event[EQE_BYTES] = { 0 };

	while (event[12] != EVENT_INIT_DONE) {
		if (!cq_pop(&eq, event)) {
			irq_wait(0);
			continue;
		}
		if (event[12] == EVENT_INIT_EQ) {
			eq.id = get32(event) & 0xffff;
			eq.page = cq.page = rq.page = sq.page = get32(event) >>
								16;
		} else if (event[12] == EVENT_INIT_DATA) {
			init_data(get32(event));
		} else if (event[12] != EVENT_INIT_DONE) {
			die("event %u while the channel starts", event[12]);
		}
	}
	cq_ring(&eq, true);
}

/* Wait for an event or a completion; both queues are armed. */
static void
await_event(void)
{
	take_events();
	cq_ring(&eq, true);
	cq_ring(&cq, true);
	irq_wait(0);
	take_events();
}

static void
post_answer_buffer(void)
{
	static const uint8_t oob[8];

	wq_post(&rq, oob, sizeof(oob), mem_address(answer), key, MESSAGE_BYTES);
	wq_ring(&rq);
}

static void
write_header(uint32_t code, enum device device, uint32_t nb_bytes,
	     uint32_t answer_bytes)
{
	memset(request, 0, REQUEST_HEAD_BYTES);
	put32(request + 4, code);
	put16(request + 8, 1); /* version */
	put32(request + 12, nb_bytes);
	put32(request + 20, code);
	put16(request + 24, code == REQUEST_DEV_CONFIG ? 4 : 1);
	put32(request + 28, ANSWER_HEAD_BYTES + answer_bytes);
	put16(request + 32, (uint16_t)device);
	put16(request + 34, device == DEVICE_MANA ? 1 : 0); /* instance */
	put32(request + 36, ++activity);
}

/* Two completions: of the request, of the answer. */
static void
await_answer(void)
{
	uint8_t cqe[CQE_BYTES];
	uint32_t nb = 0;

	while (nb < 2) {
		if (!cq_pop(&cq, cqe)) {
			await_event();
			continue;
		}
		if ((get32(cqe + 60) & 0xffffff) != (nb == 0 ? sq.id : rq.id))
			die("a completion of another queue");
		nb++;
	}
	sq.head = sq.tail;
	rq.head = rq.tail;
	post_answer_buffer();
}

uint32_t
hwc_try(uint32_t code, enum device device, const void *body,
	uint32_t body_bytes, void *to, uint32_t to_bytes)
{
	const uint32_t nb_bytes = REQUEST_HEAD_BYTES + body_bytes;
	uint8_t oob[24] = { 0 };

	write_header(code, device, nb_bytes, to_bytes);
	memset(answer, 0, MESSAGE_BYTES);
	if (body_bytes != 0)
		memcpy(request + REQUEST_HEAD_BYTES, body, body_bytes);
	put32(oob + 16, cq.id);
	put32(oob + 20, sq.id);
	wq_post(&sq, oob, sizeof(oob), mem_address(request), key, nb_bytes);
	wq_ring(&sq);
	await_answer();
	if (get32(answer + 4) != code || get32(answer + 20) != activity)
		die("the answer is not of request 0x%x", code);
	if (to_bytes != 0)
		memcpy(to, answer + ANSWER_HEAD_BYTES, to_bytes);
	return get32(answer + 24);
}

void
hwc_call(uint32_t code, enum device device, const void *body,
	 uint32_t body_bytes, void *to, uint32_t to_bytes)
{
	const uint32_t status = hwc_try(code, device, body, body_bytes, to,
					to_bytes);

	if (status != 0)
		die("request 0x%x: status 0x%x", code, status);
}

/* Ask for an event, and wait until a counter of events has changed. */
static void
await_asked(uint32_t code, const uint32_t *nb)
{
	const uint32_t nb_before = *nb;
	uint8_t body[8] = { 0 };

	put32(body, eq.id);
	hwc_call(code, DEVICE_HWC, body, code == REQUEST_TEST_EVENT ? 4 : 8,
		 NULL, 0);
	while (*nb == nb_before)
		await_event();
}

void
hwc_await_reset_event(void)
{
	await_asked(REQUEST_RESET_EVENT, &nb_resets);
}

void
hwc_open(void)
{
	uint8_t timeout[SHM_DWORDS * 4] = { 0 };

	read_registers();
	/* A channel that another driver may have left; there is none. */
	if (shm_call(timeout, SHM_DESTROY, 0) != 0)
		die("the channel cannot be destroyed");
	eq = cq_make(mem_alloc(PAGE_BYTES), PAGE_BYTES, DB_EQ);
	cq = cq_make(mem_alloc(PAGE_BYTES), PAGE_BYTES, DB_CQ);
	rq = (struct wq){ mem_alloc(PAGE_BYTES), PAGE_BYTES, .reg = DB_RQ };
	sq = (struct wq){ mem_alloc(PAGE_BYTES), PAGE_BYTES, .reg = DB_SQ };
	request = mem_alloc(MESSAGE_BYTES);
	answer = mem_alloc(MESSAGE_BYTES);
	if (shm_establish() != 0)
		die("the channel cannot be established");
	await_init();
	post_answer_buffer();
	await_asked(REQUEST_TEST_EVENT, &nb_tests);
	/* As after an answer that came late. */
	put32(timeout + 24, 3000);
	if (shm_call(timeout, SHM_TIMEOUT, 1) != 0)
		die("the report of a timeout is refused");
}

void
hwc_close(void)
{
	uint8_t message[SHM_DWORDS * 4] = { 0 };

	if (shm_call(message, SHM_DESTROY, 0) != 0)
		die("the channel cannot be destroyed");
}
