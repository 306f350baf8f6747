/* SPDX-License-Identifier: BSD-3-Clause */

#include "hw.h"
#include "mem.h"
#include "netvsp.h"
#include "violation_log.h"
#include "vmbus_ring.h"

/* Copy between the ring, from an index on, and a buffer. */
static int
ring_copy(const struct vmbus_ring *ring, uint32_t index, uint8_t *buf,
	  uint32_t nb_bytes, bool is_write)
{
	const uint64_t data = ring->addr + VMBUS_PAGE_BYTES;
	int rc = 0;

	while (rc == 0 && nb_bytes > 0) {
		const uint32_t room = ring->data_bytes - index;
		const uint32_t n = nb_bytes < room ? nb_bytes : room;

		rc = is_write ? mem_write(ring->process, data + index, buf, n) :
				mem_read(ring->process, data + index, buf, n);
		buf += n;
		nb_bytes -= n;
		index = 0; /* the rest is at the start */
	}
	return rc;
}

/* A word of the control page. Packets before it are visible. */
static int
control_write(const struct vmbus_ring *ring, uint32_t offset, uint32_t value)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return mem_write(ring->process, ring->addr + offset, &value,
			 sizeof(value));
}

static int
control_read(const struct vmbus_ring *ring, uint32_t offset, uint32_t *value)
{
	int rc;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	rc = mem_read(ring->process, ring->addr + offset, value, sizeof(*value));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return rc;
}

static uint32_t
advanced(const struct vmbus_ring *ring, uint32_t index, uint32_t nb_bytes)
{
	index += nb_bytes;
	return index >= ring->data_bytes ? index - ring->data_bytes : index;
}

/* Of the guest. An index that is none is said, for the violation that follows. */
static bool
is_index(const struct vmbus_ring *ring, uint32_t index)
{
	if (index < ring->data_bytes && index % 8 == 0)
		return true;
	violation_detail("got index %u, want a multiple of 8 below %u", index,
			 ring->data_bytes);
	return false;
}

static void
parse(struct vmbus_packet *packet)
{
	packet->type = hw_le16(packet->bytes);
	packet->header_bytes = hw_le16(packet->bytes + 2) * 8u;
	packet->nb_bytes = hw_le16(packet->bytes + 4) * 8u;
	packet->flags = hw_le16(packet->bytes + 6);
	packet->transaction = hw_le64(packet->bytes + 8);
}

enum vmbus_take
vmbus_ring_take(const struct vmbus_ring *ring, uint32_t index,
		struct vmbus_packet *packet)
{
	uint8_t trailer[VMBUS_TRAILER_BYTES];
	uint32_t end, nb_bytes;

	if (control_read(ring, VMBUS_RING_WRITE_OFF, &end) < 0)
		return VMBUS_FAULT;
	if (!is_index(ring, end))
		return VMBUS_CORRUPT;
	nb_bytes = end >= index ? end - index : end + ring->data_bytes - index;
	if (nb_bytes == 0)
		return VMBUS_EMPTY;
	if (nb_bytes < VMBUS_DESC_BYTES + VMBUS_TRAILER_BYTES) {
		violation_detail("got %u bytes in the ring, want %u or more",
				 nb_bytes,
				 VMBUS_DESC_BYTES + VMBUS_TRAILER_BYTES);
		return VMBUS_CORRUPT;
	}
	if (ring_copy(ring, index, packet->bytes, VMBUS_DESC_BYTES, false) < 0)
		return VMBUS_FAULT;
	parse(packet);
	if (packet->header_bytes < VMBUS_DESC_BYTES ||
	    packet->nb_bytes < packet->header_bytes ||
	    packet->nb_bytes > sizeof(packet->bytes) ||
	    packet->nb_bytes + VMBUS_TRAILER_BYTES > nb_bytes) {
		violation_detail("got a packet of %u bytes with a header of %u, want "
				 "a header of %u or more in at most %u bytes",
				 packet->nb_bytes, packet->header_bytes,
				 VMBUS_DESC_BYTES,
				 nb_bytes - VMBUS_TRAILER_BYTES);
		return VMBUS_CORRUPT;
	}
	if (ring_copy(ring, index, packet->bytes, packet->nb_bytes, false) < 0 ||
	    ring_copy(ring, advanced(ring, index, packet->nb_bytes), trailer,
		      sizeof(trailer), false) < 0)
		return VMBUS_FAULT;
	packet->start = index;
	packet->trailer_start = hw_le32(trailer + 4);
	packet->next = advanced(ring, index,
				packet->nb_bytes + VMBUS_TRAILER_BYTES);
	return VMBUS_TAKEN;
}

int
vmbus_ring_release(const struct vmbus_ring *ring, uint32_t index)
{
	return control_write(ring, VMBUS_RING_READ_OFF, index);
}

/* Descriptor, extension, padded payload and trailer. Returns the bytes. */
static uint32_t
build(uint8_t *to, const struct vmbus_message *message, uint32_t index)
{
	const uint32_t header = VMBUS_DESC_BYTES + message->extension_bytes;
	const uint32_t total = header + (message->payload_bytes + 7u) / 8 * 8;

	memset(to, 0, total + VMBUS_TRAILER_BYTES);
	hw_put_le16(to, message->type);
	hw_put_le16(to + 2, (uint16_t)(header / 8));
	hw_put_le16(to + 4, (uint16_t)(total / 8));
	hw_put_le16(to + 6, message->flags);
	hw_put_le32(to + 8, (uint32_t)message->transaction);
	hw_put_le32(to + 12, (uint32_t)(message->transaction >> 32));
	if (message->extension_bytes != 0)
		memcpy(to + VMBUS_DESC_BYTES, message->extension,
		       message->extension_bytes);
	memcpy(to + header, message->payload, message->payload_bytes);
	hw_put_le32(to + total + 4, index);
	return total + VMBUS_TRAILER_BYTES;
}

int
vmbus_ring_put(const struct vmbus_ring *ring, uint32_t *index,
	       const struct vmbus_message *message, uint32_t reserve_bytes)
{
	uint8_t bytes[VMBUS_DESC_BYTES + 2 * VMBUS_GPA_BYTES +
		      VMBUS_MAX_PAYLOAD_BYTES + VMBUS_TRAILER_BYTES];
	const uint32_t nb_bytes = build(bytes, message, *index);
	uint32_t end, room;
	int rc;

	if (control_read(ring, VMBUS_RING_READ_OFF, &end) < 0)
		return -EFAULT;
	if (!is_index(ring, end))
		return -EPROTO;
	/* A full ring would look like an empty one. */
	room = (end > *index ? end - *index : end + ring->data_bytes - *index) - 1;
	if (room < nb_bytes + reserve_bytes) {
		rc = control_write(ring, VMBUS_RING_PENDING_OFF, nb_bytes);
		return rc < 0 ? rc : -EAGAIN;
	}
	rc = ring_copy(ring, *index, bytes, nb_bytes, true);
	if (rc < 0)
		return rc;
	*index = advanced(ring, *index, nb_bytes);
	return control_write(ring, VMBUS_RING_WRITE_OFF, *index);
}

void
vmbus_ring_find_end(const struct vmbus_ring *ring, uint32_t *index)
{
	uint32_t end;

	if (control_read(ring, VMBUS_RING_WRITE_OFF, &end) == 0 &&
	    is_index(ring, end))
		*index = end;
}
