/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a port with 16 queues of either kind costs in memory: the blocks of the
 * machine's segment, and what the program grows by beyond its own rings and
 * buffers.
 */

#include <stdio.h>
#include <sys/stat.h>

#include "verbs_rig.h"

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

/* Anonymous memory: files, the segment among them, do not count. */
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
send_and_drop(struct vrig *rig, struct vrig_queue *q)
{
	/* Whatever a broadcast of no protocol is to whoever gets it. */
	memset(rig->buf, 0xff, 6);
	for (uint32_t n = 0; n < NB_FRAMES; n++) {
		vrig_send(rig, q, 0, 1514);
		assert_non_null(vrig_cqe(q));
		vrig_ring_cq(rig, q, false);
	}
}

static void
test_port_of_16_queues(void **state)
{
	static struct vrig rig;
	const uint64_t before = anonymous_bytes();
	uint64_t own, segment;

	(void)state;
	/* Two buffers of 2 KiB for each receive WQE, and as much to send. */
	rig.buf_bytes = 4 * NB_FRAMES * VRIG_RX_BUF_BYTES;
	assert_int_equal(vrig_up(&rig, 0, 1, NB_QUEUES, NB_QUEUES), 0);
	for (uint32_t i = 0; i < NB_QUEUES; i++)
		vrig_fill(&rig, &rig.rx[i], NB_FRAMES);
	for (uint32_t round = 0; round < ROUNDS; round++)
		for (uint32_t i = 0; i < NB_QUEUES; i++)
			send_and_drop(&rig, &rig.tx[i]);
	segment = segment_used_bytes();
	own = anonymous_bytes() - before;
	printf("a port of %d queues: segment %.1f MiB, program %.1f MiB\n",
	       NB_QUEUES, (double)segment / 1048576, (double)own / 1048576);
	assert_true(segment + own < LIMIT_BYTES);
	assert_int_equal(vrig_close(&rig), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_port_of_16_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
