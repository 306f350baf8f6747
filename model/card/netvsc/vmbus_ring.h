/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The host's side of a VMBus ring in a program's memory. The caller keeps the
 * host's index, since the program may write any value into the control page.
 */

#ifndef MODEL_VMBUS_RING_H
#define MODEL_VMBUS_RING_H

#include <stdbool.h>
#include <stdint.h>

struct vmbus_ring {
	uint32_t process; /* address space */
	uint64_t addr; /* of the control page */
	uint32_t data_bytes;
};

enum vmbus_take {
	VMBUS_EMPTY,
	VMBUS_TAKEN,
	VMBUS_CORRUPT, /* indices or lengths; nothing was taken */
	VMBUS_FAULT, /* the memory cannot be read */
};

/* The largest packet that the host accepts, without its trailer. */
#define VMBUS_MAX_PACKET_BYTES 8192u

struct vmbus_packet {
	uint16_t type, flags;
	uint64_t transaction;
	uint32_t header_bytes; /* descriptor and extension */
	uint32_t nb_bytes; /* all, without the trailer */
	uint32_t start, next; /* index of the packet, and behind it */
	uint32_t trailer_start; /* its start by its trailer */
	uint8_t bytes[VMBUS_MAX_PACKET_BYTES]; /* from the descriptor on */
};

/* Copy the packet at an index of the host. */
enum vmbus_take vmbus_ring_take(const struct vmbus_ring *ring, uint32_t index,
				struct vmbus_packet *packet);
/* Give the room before an index back to the program. 0 or -EFAULT. */
int vmbus_ring_release(const struct vmbus_ring *ring, uint32_t index);

/* A packet to the program; the payload is padded to 8 bytes. */
struct vmbus_message {
	uint16_t type, flags;
	uint64_t transaction;
	const void *extension;
	uint32_t extension_bytes; /* a multiple of 8 */
	const void *payload;
	uint32_t payload_bytes; /* at most VMBUS_MAX_PAYLOAD_BYTES */
};
#define VMBUS_MAX_PAYLOAD_BYTES 64u

/*
 * Write it behind *index, which advances, if reserve_bytes are free after that. 0;
 * -EAGAIN: no room, the program will ring when there is; -EFAULT; -EPROTO: the
 * program's index is invalid.
 */
int vmbus_ring_put(const struct vmbus_ring *ring, uint32_t *index,
		   const struct vmbus_message *message, uint32_t reserve_bytes);

/* Set *index to where vmbus_ring_put() has written last, if it can be read. */
void vmbus_ring_find_end(const struct vmbus_ring *ring, uint32_t *index);

#endif /* MODEL_VMBUS_RING_H */
