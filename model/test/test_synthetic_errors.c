/* SPDX-License-Identifier: BSD-3-Clause */

/* Errors of a guest of a synthetic device: each is a violation, and no more. */

#include "frame.h"
#include "synthetic_guest.h"
#include "wire.h"

/* Violations say what would be right. */
static void
check_details(void)
{
	const struct violation_log *log = segment_violation_log();

	for (uint32_t i = 0; i < log->nb_rows; i++) {
		assert_memory_equal(log->rows[i].detail, "got ", 4);
		assert_non_null(strstr(log->rows[i].detail, ", want "));
	}
}

static int
tear_down(void **state)
{
	check_details();
	return guest_teardown(state);
}

TEST_WITH(test_nvs, guest_setup, tear_down)
{
	struct guest_packet packet;

	guest_nvs((uint32_t[]){ NVSP_NDIS_VERSION, 6, 30 }, 3);
	assert_violation(nvs_order, 1);
	synthetic_vf(0, false);
	guest_start();
	guest_nvs((uint32_t[]){ NVSP_INIT, NVSP_VERSION_61, NVSP_VERSION_61 }, 3);
	assert_int_equal(violation_count(VIOLATION_nvs_order), 2);
	assert_false(guest_next(0, &packet));
	guest_nvs((uint32_t[]){ 99 }, 1);
	assert_int_equal(violation_count(VIOLATION_nvs_unknown), 1);
	guest_nvs((uint32_t[]){ NVSP_DATA_PATH, 1 }, 2);
	assert_int_equal(violation_count(VIOLATION_nvs_no_vf), 1);
	guest_ack(0, 7);
	assert_int_equal(violation_count(VIOLATION_nvs_ack), 1);
	assert_int_equal(segment_violation_log()->nb_violations, 5);
}

TEST_WITH(test_buffer, guest_setup, tear_down)
{
	struct guest_packet packet;

	guest_nvs((uint32_t[]){ NVSP_INIT, NVSP_VERSION_61, NVSP_VERSION_61 }, 3);
	guest_nvs((uint32_t[]){ NVSP_NDIS_VERSION, 6, 30 }, 3);
	guest_nvs((uint32_t[]){ NVSP_SEND_BUFFER, 1, NVSP_SEND_ID }, 3);
	assert_violation(nvs_buffer, 1);
	assert_true(guest_next(0, &packet));
	assert_true(guest_next(0, &packet));
	assert_int_equal(packet.words[1], NVSP_FAILED);
}

TEST_WITH(test_rndis, guest_setup, tear_down)
{
	const uint32_t words[6] = { RNDIS_INITIALIZE, sizeof(words), 1, 1 };
	const uint8_t wrong[28] = { NDIS_OBJECT_DEFAULT, 3, 28 };
	uint32_t short_message[3] = { RNDIS_QUERY, 200, 3 };
	uint8_t frame[256] = { 0 };

	guest_negotiate(NVSP_VERSION_61);
	memcpy(guest.page, (uint32_t[]){ RNDIS_HALT, 12, 1 }, 12);
	guest_control(12);
	assert_violation(rndis_state, 1);
	memcpy(guest.page, words, sizeof(words));
	guest_control(sizeof(words));
	assert_int_equal(violation_count(VIOLATION_rndis_state), 1);
	memcpy(guest.page, short_message, sizeof(short_message));
	guest.channels[0].in = hw_le32(guest.channels[0].rings +
				       VMBUS_RING_BYTES + VMBUS_RING_WRITE_OFF);
	guest_control(sizeof(short_message));
	assert_int_equal(violation_count(VIOLATION_rndis_message), 1);
	guest_request(RNDIS_SET, OID_RSS_PARAMETERS, wrong, sizeof(wrong));
	assert_int_equal(violation_count(VIOLATION_rndis_object), 1);
	/* A checksum of a frame that is not IP. */
	guest_frame(frame, 64, RNDIS_INFO_CSUM, RNDIS_TX_CSUM_IPV4);
	assert_int_equal(violation_count(VIOLATION_rndis_packet), 1);
	assert_int_equal(segment_violation_log()->nb_violations, 4);
}

/* Ranges and sections that are no memory of the guest. */
TEST_WITH(test_memory, guest_setup, tear_down)
{
	uint32_t words[10] = { NVSP_RNDIS, 0, NVSP_NO_SECTION };
	uint32_t extension[6] = { 0, 1, 100, 4090 };

	fx_catch_faults();
	guest_start();
	guest.channels[0].in = hw_le32(guest.channels[0].rings +
				       VMBUS_RING_BYTES + VMBUS_RING_WRITE_OFF);
	guest_put(0, VMBUS_GPA_DIRECT, 1, extension, sizeof(extension), words,
		  sizeof(words));
	guest_expect_status(NVSP_FAILED);
	assert_violation(vmbus_ranges, 1);
	extension[3] = 0;
	extension[4] = 1;
	guest_put(0, VMBUS_GPA_DIRECT, 1, extension, sizeof(extension), words,
		  sizeof(words));
	guest_expect_status(NVSP_FAILED);
	assert_int_equal(violation_count(VIOLATION_vmbus_memory), 1);
	words[2] = 100000;
	guest_put(0, VMBUS_IN_BAND, 1, NULL, 0, words, sizeof(words));
	guest_expect_status(NVSP_FAILED);
	assert_int_equal(violation_count(VIOLATION_nvs_section), 1);
	assert_int_equal(segment_violation_log()->nb_violations, 3);
}

TEST_WITH(test_ring, guest_setup, tear_down)
{
	uint8_t *ring = guest.channels[0].rings;

	guest_put(0, 5, 1, NULL, 0, "12345678", 8);
	assert_violation(vmbus_type, 1);
	/* A packet with a wrong trailer, then an index outside of the ring. */
	hw_put_le32(ring + VMBUS_PAGE_BYTES + 32, 2 << 16 | VMBUS_IN_BAND);
	hw_put_le32(ring + VMBUS_PAGE_BYTES + 36, 3);
	hw_put_le32(ring + VMBUS_RING_WRITE_OFF, 64);
	guest_ring(0);
	assert_int_equal(violation_count(VIOLATION_vmbus_trailer), 1);
	assert_int_equal(hw_le32(ring + VMBUS_RING_READ_OFF), 64);
	hw_put_le32(ring + VMBUS_RING_WRITE_OFF, VMBUS_RING_BYTES);
	guest_ring(0);
	assert_int_equal(violation_count(VIOLATION_vmbus_ring), 1);
	/* A length beyond the packet. */
	hw_put_le32(ring + VMBUS_PAGE_BYTES + 64, 2 << 16 | VMBUS_IN_BAND);
	hw_put_le32(ring + VMBUS_PAGE_BYTES + 68, 100);
	hw_put_le32(ring + VMBUS_RING_WRITE_OFF, 96);
	guest_ring(0);
	assert_int_equal(violation_count(VIOLATION_vmbus_ring), 2);
	assert_int_equal(hw_le32(ring + VMBUS_RING_READ_OFF), 64);
}
