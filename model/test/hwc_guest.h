/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A guest of one PCI function: its memory, interrupts, and the part of a driver
 * that talks to the device. Stubs of the transport (dma.h, msix.h) use them.
 */

#ifndef MODEL_TEST_HWC_GUEST_H
#define MODEL_TEST_HWC_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "adapter.h"
#include "messages.h"
#include "pci_device.h"
#include "test.h"

#define GUEST_BYTES	(8u << 20)
#define GUEST_PAGE	4096u
#define GUEST_NB_PORTS	2u
#define GUEST_DB_OFFSET 0x10000u

/* A ring in guest memory, or one of its queue's ids is its id. */
struct guest_ring {
	uint64_t gpa;
	uint32_t nb_bytes;
	uint32_t id;
	uint32_t pos; /* SQ, RQ: bytes; CQ, EQ: entries, starting at N */
	uint64_t region;
};

struct guest {
	uint8_t *memory; /* guest physical address 0 */
	uint64_t next_free; /* gpa */
	bool is_dma_off; /* every copy fails */
	uint32_t nb_reads; /* by the device */
	uint32_t nb_interrupts[64]; /* by vector */
	/* The channel, and what its start-up events have told. */
	struct guest_ring eq, cq, rq, sq;
	uint32_t db_page, pdn, key, max_cqs;
	uint64_t request_gpa, answer_gpa;
	uint16_t msg_id;
	/* The answer to the last request, and its size. */
	_Alignas(8) uint8_t answer[HWC_MAX_MESSAGE_BYTES];
	uint32_t answer_bytes;
};
extern struct guest guest;

/* cmocka set-up: a machine and an empty guest; with its channel established. */
int guest_start(void **state);
int guest_start_channel(void **state);
int guest_stop(void **state);
#define GUEST_TEST(name) TEST_WITH(name, guest_start, guest_stop)
#define CHANNEL_TEST(name) TEST_WITH(name, guest_start_channel, guest_stop)
/* Of the machine that guest_start() creates; guest_stop() resets it. */
extern struct model_config guest_config;

/* Zeroed pages; its address. Forget all of them. */
uint64_t guest_alloc(uint32_t nb_bytes);
void guest_free_all(void);
void *guest_at(uint64_t gpa);

uint64_t guest_read(uint64_t offset, uint32_t nb_bytes);
void guest_write(uint64_t offset, uint64_t value, uint32_t nb_bytes);
/* Ring a doorbell, and let the card work. */
void guest_ring(uint32_t page, uint32_t reg, uint32_t id, uint32_t tail,
		bool arm);

/* The shared memory: the header of the answer. */
uint32_t guest_shm(const uint32_t dwords[SHM_NB_DWORDS]);
/* Establish the channel in new pages with this MSI-X vector. */
uint32_t guest_establish(uint32_t vector);
uint32_t guest_destroy(void);

/* The next event of an EQ, by its owner bits; false: none. */
bool guest_event(struct guest_ring *eq, uint32_t *type, uint32_t *detail);
void guest_ring_eq(struct guest_ring *eq, uint32_t page, bool arm);
/* The next CQE, or NULL. The same; assert that it has this type. */
const uint8_t *guest_cqe(struct guest_ring *cq);
const uint8_t *guest_cqe_of_type(struct guest_ring *cq, enum hw_cqe_type type);

/*
 * Send the bytes of a request; its answer is in guest.answer, of
 * guest.answer_bytes. False: none came.
 */
bool guest_send(const void *request, uint32_t nb_bytes);
/*
 * The same without expectations, as the device may be in any state: for fuzzing.
 */
bool guest_try(const void *request, uint32_t nb_bytes);
/* A complete request without arguments, LIST_DEVICES, to send as it is. */
extern const struct request_header guest_plain_request;
/* The adapter stops answering, or answers again. */
void guest_silence(bool is_silent);
/* Fill the header, send, and check what every answer has. Returns the status. */
uint32_t guest_call(void *request, uint32_t nb_bytes, uint32_t code,
		    uint32_t answer_bytes);
/* The same for a request of a device type and version. */
uint32_t guest_call_device(void *request, uint32_t nb_bytes, uint32_t code,
			   uint32_t answer_bytes, enum device_type device,
			   uint16_t version);
#define CALL(request, code, answer) \
	guest_call(&(request), sizeof(request), code, sizeof(struct answer))
/* A request of a device and a version. */
#define CALL_AS(request, code, answer, device, version)      \
	guest_call_device(&(request), sizeof(request), code, \
			  sizeof(struct answer), device, version)
#define CALL_MANA(request, code, answer) \
	CALL_AS(request, code, answer, DEVICE_MANA, 1)
#define CALL_RNIC(request, code, answer, version) \
	CALL_AS(request, code, answer, DEVICE_RNIC, version)
/* Assert that one of these calls succeeds. */
#define OK(call)	assert_int_equal(call, STATUS_OK)
/* Assert that one is refused, with this violation. */
#define REFUSAL(call, violation)                        \
	do {                                            \
		assert_int_equal(call, STATUS_REFUSED); \
		assert_violation(violation, 1);         \
	} while (0)
#define ANSWER_OF(type) ((const struct type *)(const void *)guest.answer)

/* A region of pages of 4 KiB, contiguous from gpa. */
uint64_t guest_region(uint64_t gpa, uint32_t nb_bytes);

/* Assert that n violations of this name, and no others, occurred since the last. */
#define assert_violation(name, n) \
	guest_assert_violation(VIOLATION_##name, n, __FILE__, __LINE__)
void guest_assert_violation(enum violation violation, uint64_t n,
			    const char *file, int line);
#define assert_no_violation() \
	guest_assert_violation(NB_VIOLATIONS, 0, __FILE__, __LINE__)

#endif /* MODEL_TEST_HWC_GUEST_H */
