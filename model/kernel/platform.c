/* SPDX-License-Identifier: BSD-3-Clause */

/* The card's platform (platform.h); wakes threads. Async-signal-safe. */

#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <time.h>

#include "host.h"
#include "kernel_state.h"
#include "life.h"
#include "platform.h"
#include "verbs.h"

static void
wake(uint32_t process)
{
	uint32_t *word = &segment_kernel()->kick[process];

	__atomic_add_fetch(word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t
kernel_kick_count(uint32_t process)
{
	return __atomic_load_n(&segment_kernel()->kick[process],
			       __ATOMIC_ACQUIRE);
}

void
kernel_kick_wait(uint32_t process, uint32_t seen, uint32_t timeout_ms)
{
	struct timespec timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = (timeout_ms % 1000) * 1000000L,
	};

	syscall(SYS_futex, &segment_kernel()->kick[process], FUTEX_WAIT, seen,
		&timeout, NULL, 0);
}

static void
wake_launcher(void)
{
	char path[MODEL_MAX_PATH + 8];
	int fd;

	snprintf(path, sizeof(path), "%s/kick", segment_run_dir());
	fd = host_open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return; /* the launcher has exited */
	host_write(fd, "k", 1);
	host_close(fd);
}

static const struct platform kernel_platform = {
	.complete = verbs_cq_event,
	.read = segment_process_read,
	.write = segment_process_write,
	.has_memory = segment_process_has_memory,
	.wake = wake,
	.wake_owner = wake_launcher,
	.timers = life_timers,
	.recover = verbs_repair,
	.free_slots = kernel_reclaim_dead,
};

const struct platform *platform = &kernel_platform;
