/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Queues of frames, which share one memory pool. Call these with the machine's
 * lock held; they are async-signal-safe.
 */

#ifndef MODEL_FRAMES_H
#define MODEL_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#define FRAMES_CHUNK_BYTES 256u
#define FRAMES_NB_CHUNKS   (160u << 10) /* 40 MiB, used from the front */

struct frame_info {
	uint64_t at_ns; /* when it leaves the queue, or entered it */
	uint64_t order; /* rises with each frame put in */
	uint32_t nb_bytes;
	uint32_t next; /* next frame of the queue, in a frame's first chunk */
};

/* Links are chunk numbers from 1; 0: none. */
struct frame_chunk {
	uint32_t next;
	uint8_t bytes[FRAMES_CHUNK_BYTES - 4];
};

struct frame_queue {
	uint32_t first, last;
	uint32_t nb_frames;
	uint64_t nb_bytes;
};

/* All zero: the pool is empty. */
struct frame_pool {
	uint32_t nb_touched; /* chunks beyond were never used */
	uint32_t first_free;
	uint64_t order;
	struct frame_chunk chunks[FRAMES_NB_CHUNKS];
};

/* False when the pool has no room left. */
bool frames_put(struct frame_queue *queue, uint64_t at_ns, const void *frame,
		uint32_t nb_bytes);
/* The next frame's info; false: the queue is empty. */
bool frames_peek(const struct frame_queue *queue, struct frame_info *info);
/* Copy the next frame; returns its length, at most buf_bytes. 0: none. */
uint32_t frames_copy(const struct frame_queue *queue, void *buf,
		     uint32_t buf_bytes, struct frame_info *info);
void frames_drop(struct frame_queue *queue);
/* Copy the next frame and remove it. */
uint32_t frames_take(struct frame_queue *queue, void *buf, uint32_t buf_bytes,
		     struct frame_info *info);

#endif /* MODEL_FRAMES_H */
