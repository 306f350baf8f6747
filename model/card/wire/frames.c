/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "frames.h"
#include "wire.h"

/* The first chunk of a frame begins with its struct frame_info. */
#define INFO_BYTES  ((uint32_t)sizeof(struct frame_info))
#define CHUNK_BYTES ((uint32_t)sizeof(((struct frame_chunk *)0)->bytes))

static struct frame_pool *
pool(void)
{
	return &segment_wires()->pool;
}

static struct frame_chunk *
chunk_at(uint32_t link)
{
	return &pool()->chunks[link - 1];
}

/* 0: none left. Recently freed chunks come first. */
static uint32_t
chunk_take(void)
{
	uint32_t link = pool()->first_free;

	if (link != 0)
		pool()->first_free = chunk_at(link)->next;
	else if (pool()->nb_touched < FRAMES_NB_CHUNKS)
		link = ++pool()->nb_touched;
	return link;
}

static void
chunks_give_back(uint32_t link)
{
	while (link != 0) {
		struct frame_chunk *chunk = chunk_at(link);
		const uint32_t next = chunk->next;

		chunk->next = pool()->first_free;
		pool()->first_free = link;
		link = next;
	}
}

/* Allocate a chain for nb_bytes; 0: no room. */
static uint32_t
chunks_take(uint32_t nb_bytes)
{
	uint32_t first = 0;

	for (uint32_t n = 0; n < nb_bytes; n += CHUNK_BYTES) {
		const uint32_t link = chunk_take();

		if (link == 0) {
			chunks_give_back(first);
			return 0;
		}
		chunk_at(link)->next = first;
		first = link;
	}
	return first;
}

/* Copy between a chain, from its byte off on, and buf. */
static void
chunks_copy(uint32_t link, uint32_t off, void *buf, uint32_t nb_bytes,
	    bool to_chunks)
{
	uint8_t *p = buf;

	while (nb_bytes > 0) {
		struct frame_chunk *chunk = chunk_at(link);
		uint32_t n = CHUNK_BYTES - off;

		if (n > nb_bytes)
			n = nb_bytes;
		if (to_chunks)
			memcpy(chunk->bytes + off, p, n);
		else
			memcpy(p, chunk->bytes + off, n);
		p += n;
		nb_bytes -= n;
		off = 0;
		link = chunk->next;
	}
}

bool
frames_put(struct frame_queue *queue, uint64_t at_ns, const void *frame,
	   uint32_t nb_bytes)
{
	struct frame_info info = { .at_ns = at_ns, .nb_bytes = nb_bytes };
	const uint32_t link = chunks_take(INFO_BYTES + nb_bytes);

	if (link == 0)
		return false;
	info.order = pool()->order++;
	chunks_copy(link, 0, &info, INFO_BYTES, true);
	chunks_copy(link, INFO_BYTES, (void *)(uintptr_t)frame, nb_bytes, true);
	if (queue->last != 0)
		chunks_copy(queue->last,
			    (uint32_t)offsetof(struct frame_info, next),
			    (void *)(uintptr_t)&link, sizeof(link), true);
	else
		queue->first = link;
	queue->last = link;
	queue->nb_frames++;
	queue->nb_bytes += nb_bytes;
	return true;
}

bool
frames_peek(const struct frame_queue *queue, struct frame_info *info)
{
	if (queue->first == 0)
		return false;
	chunks_copy(queue->first, 0, info, INFO_BYTES, false);
	return true;
}

uint32_t
frames_copy(const struct frame_queue *queue, void *buf, uint32_t buf_bytes,
	    struct frame_info *info)
{
	uint32_t n;

	if (!frames_peek(queue, info))
		return 0;
	n = info->nb_bytes < buf_bytes ? info->nb_bytes : buf_bytes;
	chunks_copy(queue->first, INFO_BYTES, buf, n, false);
	return n;
}

void
frames_drop(struct frame_queue *queue)
{
	const uint32_t link = queue->first;
	struct frame_info info;

	if (!frames_peek(queue, &info))
		return;
	queue->first = info.next;
	if (queue->first == 0)
		queue->last = 0;
	queue->nb_frames--;
	queue->nb_bytes -= info.nb_bytes;
	chunks_give_back(link);
}

uint32_t
frames_take(struct frame_queue *queue, void *buf, uint32_t buf_bytes,
	    struct frame_info *info)
{
	const uint32_t n = frames_copy(queue, buf, buf_bytes, info);

	frames_drop(queue);
	return n;
}
