/* SPDX-License-Identifier: BSD-3-Clause */

/* The head of the segment. Only segment*.c include this. */

#ifndef MODEL_SEGMENT_HEAD_H
#define MODEL_SEGMENT_HEAD_H

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "random.h"
#include "segment.h"

struct model_segment {
	uint64_t magic; /* written last */
	struct model_config config;
	pthread_mutex_t turn; /* of the thread that is to get the mutex next */
	pthread_mutex_t mutex;
	struct model_process processes[MODEL_MAX_PROCESSES];
	struct random_state random;
};
static_assert(offsetof(struct model_segment, config) == SEGMENT_CONFIG_AT,
	      "config");
static_assert(sizeof(struct model_segment) <= SEGMENT_HEAD_BYTES,
	      "the head of the segment holds its struct");

/* Direct system calls: the preload library may interpose libc's functions. */
static inline int
segment_sys_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static inline void
segment_sys_close(int fd)
{
	syscall(SYS_close, fd);
}

#endif /* MODEL_SEGMENT_HEAD_H */
