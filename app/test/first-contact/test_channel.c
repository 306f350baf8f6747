/* SPDX-License-Identifier: BSD-3-Clause */

/* Rings of a synthetic device, whose host writes what it must not. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "channel.h"

#define RING_BYTES (4 * FC_VMBUS_PAGE_BYTES)
#define DATA_BYTES (RING_BYTES - FC_VMBUS_PAGE_BYTES)
#define MONITOR_ID 37u

/* What the program writes behind its rings would be seen here. */
#define GUARD_BYTES 256u

struct host {
	struct fc fc;
	struct fc_channel channel;
	uint8_t rings[2 * RING_BYTES + GUARD_BYTES];
	uint8_t monitor[FC_VMBUS_PAGE_BYTES];
};

int
fc_fail(struct fc *fc, int error, const char *format, ...)
{
	snprintf(fc->reason, sizeof(fc->reason), "%s", format);
	return error;
}

bool
fc_read_line(const char *folder, const char *name, char *line, size_t room)
{
	(void)folder, (void)name, (void)line, (void)room;
	return false;
}

bool
fc_read_number(const char *folder, const char *name, unsigned long *number)
{
	(void)folder, (void)name, (void)number;
	return false;
}

static int
set_up(void **state)
{
	struct host *host = calloc(1, sizeof(*host));

	assert_non_null(host);
	host->channel = (struct fc_channel){
		.fd = -1,
		.monitor_id = MONITOR_ID,
		.data_bytes = DATA_BYTES,
		.maps[FC_MAP_RINGS] = { host->rings, 2 * RING_BYTES, 0 },
		.maps[FC_MAP_MONITOR] = { host->monitor, sizeof(host->monitor), 0 },
	};
	*state = host;
	return 0;
}

static int
tear_down(void **state)
{
	struct host *host = *state;

	for (uint32_t i = 0; i < GUARD_BYTES; i++)
		assert_int_equal(host->rings[2 * RING_BYTES + i], 0);
	free(host);
	return 0;
}

/* The ring to the program, and its indices. */
static uint32_t *
in_word(struct host *host, uint32_t word)
{
	return (uint32_t *)(host->rings + RING_BYTES) + word;
}

static void
put_descriptor(struct host *host, uint32_t at, uint16_t type, uint16_t header_words,
	       uint16_t words)
{
	const uint16_t descriptor[] = { type, header_words, words, 0 };
	uint8_t *data = host->rings + RING_BYTES + FC_VMBUS_PAGE_BYTES;

	for (uint32_t i = 0; i < sizeof(descriptor); i++)
		data[(at + i) % DATA_BYTES] = ((const uint8_t *)descriptor)[i];
}

static void
test_packet_at_the_end(void **state)
{
	struct host *host = *state;
	struct fc_vmbus_packet packet;
	uint8_t *data = host->rings + RING_BYTES + FC_VMBUS_PAGE_BYTES;

	/* The descriptor is behind the end, from its transaction on. */
	host->channel.in = DATA_BYTES - 8;
	put_descriptor(host, DATA_BYTES - 8, FC_VMBUS_IN_BAND, 2, 3);
	data[0] = 7;
	data[8] = 129;
	*in_word(host, 0) = 24;
	assert_int_equal(fc_channel_next(&host->fc, &host->channel, &packet), 1);
	assert_int_equal(packet.type, FC_VMBUS_IN_BAND);
	assert_int_equal(packet.transaction, 7);
	assert_int_equal(packet.header_bytes, 16);
	assert_int_equal(packet.nb_bytes, 24);
	assert_int_equal(packet.bytes[16], 129);
	assert_int_equal(*in_word(host, 1), 24); /* given back */
	assert_int_equal(fc_channel_next(&host->fc, &host->channel, &packet), 0);
}

static void
test_long_packet(void **state)
{
	struct host *host = *state;
	struct fc_vmbus_packet packet;

	put_descriptor(host, 0, FC_VMBUS_TRANSFER_PAGES, 1000, 1000);
	*in_word(host, 0) = 8008;
	assert_int_equal(fc_channel_next(&host->fc, &host->channel, &packet), 1);
	assert_int_equal(packet.nb_bytes, FC_PACKET_COPY_BYTES);
	assert_int_equal(packet.header_bytes, 8000);
	assert_int_equal(*in_word(host, 1), 8008);
}

/* Indices outside the ring or odd, and lengths that the ring does not have. */
static void
test_invalid_packets(void **state)
{
	static const struct {
		uint32_t write_index;
		uint16_t header_words, words;
	} rows[] = {
		{ DATA_BYTES, 2, 2 },	 { UINT32_MAX, 2, 2 },	 { 0x80000000, 2, 2 },
		{ 25, 2, 2 },		 { 8, 2, 2 },		 { 16, 2, 2 },
		{ 24, 1, 2 },		 { 24, 0, 2 },		 { 24, 3, 2 },
		{ 24, 2, 3 },		 { 24, UINT16_MAX, 2 },	 { 24, 2, UINT16_MAX },
		{ 24, 0, 0 },		 { DATA_BYTES - 8, 2, DATA_BYTES / 8 },
	};
	struct host *host = *state;
	struct fc_vmbus_packet packet;

	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		put_descriptor(host, 0, FC_VMBUS_IN_BAND, rows[i].header_words,
			       rows[i].words);
		*in_word(host, 0) = rows[i].write_index;
		assert_int_equal(fc_channel_next(&host->fc, &host->channel, &packet),
				 -EPROTO);
		assert_int_equal(host->channel.in, 0);
		assert_int_equal(*in_word(host, 1), 0);
	}
}

static int
put(struct host *host, uint32_t nb_bytes)
{
	static const uint8_t bytes[DATA_BYTES] = { 1, 2, 3 };
	const struct fc_vmbus_part none = { NULL, 0 }, payload = { bytes, nb_bytes };

	return fc_channel_put(&host->fc, &host->channel, FC_VMBUS_IN_BAND, true, 9, &none,
			      &payload);
}

static void
test_put(void **state)
{
	static const uint8_t expected[] = { 6, 0, 2, 0, 3, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0,
					    1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	struct host *host = *state;

	assert_int_equal(put(host, 3), 0);
	assert_memory_equal(host->rings + FC_VMBUS_PAGE_BYTES, expected, sizeof(expected));
	assert_int_equal(*(uint32_t *)host->rings, 32);
	/* Bit 5 of the second group. */
	assert_int_equal(*(uint32_t *)(host->monitor + 16), 1u << (MONITOR_ID - 32));
	/* The second packet's trailer has its index in its upper half. */
	assert_int_equal(put(host, 3), 0);
	assert_int_equal(*(uint32_t *)(host->rings + FC_VMBUS_PAGE_BYTES + 32 + 28), 32);
}

static void
test_put_when_full(void **state)
{
	struct host *host = *state;
	uint32_t *read_index = (uint32_t *)host->rings + 1;

	/* All but 8 bytes: one more packet would make the ring look empty. */
	assert_int_equal(put(host, DATA_BYTES - 32), 0);
	assert_int_equal(host->channel.out, DATA_BYTES - 8);
	assert_int_equal(put(host, 0), -EAGAIN);
	assert_int_equal(host->channel.out, DATA_BYTES - 8);
	*read_index = 16;
	assert_int_equal(put(host, 0), -EAGAIN);
	*read_index = 24;
	assert_int_equal(put(host, 0), 0);
	assert_int_equal(host->channel.out, 16);
}

static void
test_put_with_invalid_index(void **state)
{
	static const uint32_t indices[] = { DATA_BYTES, 4, UINT32_MAX };
	struct host *host = *state;

	for (uint32_t i = 0; i < RTE_DIM(indices); i++) {
		((uint32_t *)host->rings)[1] = indices[i];
		assert_int_equal(put(host, 8), -EPROTO);
		assert_int_equal(host->channel.out, 0);
	}
}

/* A channel without a monitor rings by a write of 4 bytes. */
static void
test_without_monitor(void **state)
{
	struct host *host = *state;
	int fds[2], value = 0;

	assert_int_equal(pipe(fds), 0);
	host->channel.monitor_id = FC_NOT_SET;
	host->channel.fd = fds[1];
	assert_int_equal(put(host, 8), 0);
	assert_int_equal(read(fds[0], &value, sizeof(value)), sizeof(value));
	assert_int_equal(value, 1);
	close(fds[0]);
	close(fds[1]);
	/* After a rescind, for example. */
	assert_int_equal(put(host, 8), -EBADF);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_packet_at_the_end),
		TEST(test_long_packet),
		TEST(test_invalid_packets),
		TEST(test_put),
		TEST(test_put_when_full),
		TEST(test_put_with_invalid_index),
		TEST(test_without_monitor),
	};

	return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
