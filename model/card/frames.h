/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames that wait, in queues which share one pool of memory. With the
 * machine's lock held; async-signal-safe.
 */

#ifndef MODEL_FRAMES_H
#define MODEL_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#define FRAMES_CHUNK_BYTES 256u
#define FRAMES_NB_CHUNKS   (160u << 10) /* 40 MiB, used from the front */

struct frame_info {
	uint64_t at_ns; /* the time at which it leaves the queue, or was put in */
	uint64_t order; /* what was put in before has a smaller number */
	uint32_t nb_bytes;
	uint32_t next; /* frame in the queue; of the queue */
};

/* Links are numbers of chunks from 1; 0: none. */
struct frame_chunk {
	uint32_t next;
	uint8_t bytes[FRAMES_CHUNK_BYTES - 4];
};

struct frame_queue {
	uint32_t first, last;
	uint32_t nb_frames;
	uint64_t nb_bytes;
};

/* Zero: all free. */
struct frame_pool {
	uint32_t nb_touched; /* chunks from here on were never used */
	uint32_t first_free;
	uint64_t order;
	struct frame_chunk chunks[FRAMES_NB_CHUNKS];
};

/* False when the pool has no room left. */
bool frames_put(struct frame_queue *queue, uint64_t at_ns, const void *frame,
		uint32_t nb_bytes);
/* What is next, without taking it; false: nothing. */
bool frames_peek(const struct frame_queue *queue, struct frame_info *info);
/* A copy of it; its length, cut to buf_bytes. 0: there is none. */
uint32_t frames_copy(const struct frame_queue *queue, void *buf,
		     uint32_t buf_bytes, struct frame_info *info);
void frames_drop(struct frame_queue *queue);
/* Both. */
uint32_t frames_take(struct frame_queue *queue, void *buf, uint32_t buf_bytes,
		     struct frame_info *info);

#endif /* MODEL_FRAMES_H */
