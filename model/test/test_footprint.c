/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory of a port with 16 Tx and 16 Rx queues: the blocks of the machine's
 * segment, and the program's growth beyond its own rings and buffers.
 */

#include <stdio.h>
#include <sys/stat.h>

#include "verbs_fixture.h"

#define NB_QUEUES 16
#define ROUNDS	  8
#define NB_FRAMES 48u
#define BLOCK_BYTES 512 /* stat(2) */
#define LIMIT_BYTES (UINT64_C(64) << 20)

static uint64_t
segment_used_bytes(void)
{
	char path[4096];
	struct stat st;

	snprintf(path, sizeof(path), "%s/segment", getenv("MANA_MODEL_DIR"));
	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_blocks * BLOCK_BYTES;
}

/* Anonymous memory, without files such as the segment. */
static uint64_t
anonymous_bytes(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[256];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL &&
	       sscanf(line, "RssAnon: %llu kB", &kib) != 1)
		;
	fclose(file);
	assert_int_not_equal(kib, 0);
	return kib * 1024;
}

static void
send_and_drop(struct fixture *fx, struct fx_queue *q)
{
	/* A broadcast of an unknown protocol. */
	memset(fx->buf, 0xff, 6);
	for (uint32_t n = 0; n < NB_FRAMES; n++) {
		fx_send(fx, q, 0, 1514);
		assert_non_null(fx_cqe(q));
		fx_ring_cq(fx, q, false);
	}
}

TEST(test_port_of_16_queues)
{
	static struct fixture fx;
	const uint64_t before = anonymous_bytes();
	uint64_t own, segment;

	/* Two buffers of 2 KiB for each Rx WQE, and the same for Tx. */
	fx.buf_bytes = 4 * NB_FRAMES * FX_RX_BUF_BYTES;
	assert_int_equal(fx_up(&fx, 0, 1, NB_QUEUES, NB_QUEUES), 0);
	for (uint32_t i = 0; i < NB_QUEUES; i++)
		fx_fill(&fx, &fx.rx[i], NB_FRAMES);
	for (uint32_t round = 0; round < ROUNDS; round++)
		for (uint32_t i = 0; i < NB_QUEUES; i++)
			send_and_drop(&fx, &fx.tx[i]);
	segment = segment_used_bytes();
	own = anonymous_bytes() - before;
	printf("a port of %d queues: segment %.1f MiB, program %.1f MiB\n",
	       NB_QUEUES, (double)segment / 1048576, (double)own / 1048576);
	assert_true(segment + own < LIMIT_BYTES);
	assert_int_equal(fx_close(&fx), 0);
}
