/* SPDX-License-Identifier: BSD-3-Clause */

/* A guest asks for much work at once: the device does a part of it. */

#include "card.h"
#include "hwc_guest.h"
#include "hwc_objects.h"

static struct hwc_device dev;
static struct guest_ring eq;
static struct hwc_port port;

static int
start_port(void **state)
{
	guest_start_channel(state);
	eq = device_port_start(&port, &dev);
	return 0;
}
#define PORT_TEST(name) TEST_WITH(name, start_port, guest_stop)

PORT_TEST(test_large_ring)
{
	/* One page of 32 MiB. */
	struct {
		struct create_region_request req;
		uint64_t page;
	} region = { .req = { .length = 32u << 20,
			      .gdma_page_type = 13,
			      .page_count = 1,
			      .page_addr_list_len = 1 } };
	struct create_queue_request req = { .type = QUEUE_EQ,
					    .pdid = dev.pdn,
					    .doorbell_id = dev.page,
					    .queue_size = 32u << 20 };

	OK(guest_call(&region, sizeof(region), GDMA_CREATE_DMA_REGION,
		      sizeof(struct create_region_answer)));
	req.gdma_region = ANSWER_OF(create_region_answer)->dma_region_handle;
	REFUSAL(CALL_AS(req, GDMA_CREATE_QUEUE, create_queue_answer, DEVICE_MANA, 1),
		request_field);
	req.queue_size = 8192; /* its first part */
	OK(CALL_AS(req, GDMA_CREATE_QUEUE, create_queue_answer, DEVICE_MANA, 1));
}

static bool
run(void)
{
	bool has_worked;

	segment_lock();
	has_worked = pci_device_run(0);
	segment_unlock();
	return has_worked;
}

/* Several requests wait: each run answers one. */
CHANNEL_TEST(test_many_requests)
{
	uint32_t i, n;

	guest_silence(true);
	for (i = 0; i < 3; i++)
		assert_false(guest_send(&guest_plain_request,
				sizeof(guest_plain_request)));
	guest_silence(false);
	for (i = 0; i < 3; i++) {
		for (n = 0; guest_cqe(&guest.cq) != NULL; n++)
			;
		assert_int_equal(n, 2); /* request and answer */
		assert_int_equal(run(), i < 2);
	}
	assert_no_violation();
}

/* More WQEs than the CQ has entries wait: each is counted once. */
PORT_TEST(test_count_once)
{
	enum {
		NB = 100
	};
	const uint32_t nb_cqes = port.scq.nb_bytes / HW_CQE_BYTES;
	struct card *card = segment_card();
	uint32_t i, before;

	card->is_watched = true;
	card->watch.is_paused = true; /* the SQ is not processed */
	before = guest.nb_reads;
	for (i = 0; i < NB; i++)
		port_send(&port, dev.key, 60);
	assert_true(guest.nb_reads - before <= NB);
	assert_violation(cq_too_small, NB - nb_cqes);
	card->is_watched = false;
	card->watch.is_paused = false;
	/* All are consumed after this one; the count starts again. */
	port_send(&port, dev.key, 60);
	assert_violation(cq_too_small, 1);
	port_send(&port, dev.key, 60);
	assert_no_violation();
}

/* A CQ of a user is armed behind its CQEs, again and again; others share the EQ. */
PORT_TEST(test_arming_storm)
{
	uint32_t i, type, detail;

	port_send(&port, dev.key, 60);
	assert_true(guest_event(&eq, &type, &detail));
	for (i = 0; i < 1000; i++)
		guest_ring(port.page, HW_DB_CQ, port.scq.id, port.scq.pos, true);
	assert_false(guest_event(&eq, &type, &detail));
	assert_no_violation();
	/* The first event has been read: one for all of these. */
	guest_ring_eq(&eq, port.page, true);
	assert_true(guest_event(&eq, &type, &detail));
	assert_int_equal(type, EQE_COMPLETION);
	assert_int_equal(detail, port.scq.id);
	assert_false(guest_event(&eq, &type, &detail));
	/* Nothing is owed then. */
	guest_ring_eq(&eq, port.page, true);
	assert_false(guest_event(&eq, &type, &detail));
	guest_ring(port.page, HW_DB_CQ, port.scq.id, port.scq.pos, true);
	assert_true(guest_event(&eq, &type, &detail));
	/* A new CQE is a new event, though the last one is unread. */
	assert_non_null(guest_cqe(&port.scq));
	guest_ring(port.page, HW_DB_CQ, port.scq.id, port.scq.pos, true);
	port_send(&port, dev.key, 60);
	assert_true(guest_event(&eq, &type, &detail));
	assert_no_violation();
}
