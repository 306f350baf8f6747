/* SPDX-License-Identifier: BSD-3-Clause */

/* Buffers of the agent in a guest of mana-vm. */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "test.h"

#define PART_BYTES 4096u
#define NB_PARTS   1000u

void
die(const char *format, ...)
{
	fail_msg("%s", format);
	abort();
}

/*
 * A reader that is always a part behind: the buffer never becomes empty. It must
 * keep the bytes in order, and not all that were ever in it.
 */
TEST(test_slow_reader)
{
	struct pipe_buffer buffer = { 0 };
	uint8_t part[PART_BYTES], got[PART_BYTES];
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	assert_int_equal(fcntl(fds[1], F_SETPIPE_SZ, PART_BYTES), PART_BYTES);
	for (uint32_t i = 0; i < NB_PARTS; i++) {
		memset(part, (int)(i % 251), sizeof(part));
		buffer_add(&buffer, part, sizeof(part));
		assert_true(buffer_write(&buffer, fds[1]));
		if (i == 0)
			continue;
		assert_int_equal(read(fds[0], got, sizeof(got)), sizeof(got));
		memset(part, (int)((i - 1) % 251), sizeof(part));
		assert_memory_equal(got, part, sizeof(got));
		assert_int_equal(buffer_left(&buffer), PART_BYTES);
	}
	assert_uint_in_range(buffer.size_bytes, 1, 8 * PART_BYTES);
	free(buffer.bytes);
	close(fds[0]);
	close(fds[1]);
}
