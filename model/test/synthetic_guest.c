/* SPDX-License-Identifier: BSD-3-Clause */

#include <sys/mman.h>

#include "hw.h"
#include "synthetic_guest.h"

#define DATA_BYTES (VMBUS_RING_BYTES - VMBUS_PAGE_BYTES)
#define PAGE 4096u

struct guest guest;

static uint8_t *
map(size_t nb_bytes)
{
	void *p = mmap(NULL, nb_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

void
guest_open_channel(uint32_t channel)
{
	struct guest_channel *c = &guest.channels[channel];

	if (c->rings != NULL)
		munmap(c->rings, 2 * VMBUS_RING_BYTES);
	*c = (struct guest_channel){ .rings = map(2 * VMBUS_RING_BYTES) };
	/* As an earlier session has left them. */
	hw_put_le32(c->rings + VMBUS_RING_WRITE_OFF, 64);
	hw_put_le32(c->rings + VMBUS_RING_READ_OFF, 24);
	hw_put_le32(c->rings + VMBUS_RING_BYTES + VMBUS_RING_WRITE_OFF, 640);
	hw_put_le32(c->rings + VMBUS_RING_BYTES + VMBUS_RING_READ_OFF, 640);
	synthetic_open(0, channel, model_self, (uintptr_t)c->rings);
	assert_int_equal(hw_le32(c->rings + VMBUS_RING_WRITE_OFF), 0);
}

void
guest_open(void)
{
	guest = (struct guest){
		.receive = map(VMBUS_RECEIVE_BYTES),
		.send = map(VMBUS_SEND_BYTES),
		.page = map(32 * PAGE),
	};
	guest_open_channel(0);
	synthetic_map(0, VMBUS_MAP_RECEIVE, model_self, (uintptr_t)guest.receive);
	synthetic_map(0, VMBUS_MAP_SEND, model_self, (uintptr_t)guest.send);
}

void
guest_close(void)
{
	synthetic_close(0);
	for (uint32_t i = 0; i < SYNTHETIC_MAX_CHANNELS; i++)
		if (guest.channels[i].rings != NULL)
			munmap(guest.channels[i].rings, 2 * VMBUS_RING_BYTES);
	munmap(guest.receive, VMBUS_RECEIVE_BYTES);
	munmap(guest.send, VMBUS_SEND_BYTES);
	munmap(guest.page, 32 * PAGE);
}

int
guest_setup(void **state)
{
	const int ret = fx_setup(state);

	synthetic_init();
	synthetic_bind(0, false);
	guest_open();
	return ret;
}

int
guest_teardown(void **state)
{
	guest_close();
	return fx_teardown(state);
}

static void
put_byte(struct guest_channel *c, uint8_t byte)
{
	c->rings[VMBUS_PAGE_BYTES + c->out] = byte;
	c->out = (c->out + 1) % DATA_BYTES;
}

static void
put_bytes(struct guest_channel *c, const void *bytes, uint32_t nb_bytes)
{
	for (uint32_t i = 0; i < nb_bytes; i++)
		put_byte(c, ((const uint8_t *)bytes)[i]);
}

void
guest_ring(uint32_t channel)
{
	const uint32_t id = synthetic_monitor_id(0, channel);

	card_monitor_signal(VMBUS_TRIGGER_OFF + id / 32 * VMBUS_TRIGGER_BYTES,
			    1u << id % 32);
}

void
guest_put(uint32_t channel, uint16_t type, uint64_t transaction,
	  const void *extension, uint32_t extension_bytes, const void *payload,
	  uint32_t payload_bytes)
{
	struct guest_channel *c = &guest.channels[channel];
	const uint32_t start = c->out;
	const uint32_t header = VMBUS_DESC_BYTES + extension_bytes;
	const uint32_t total = (header + payload_bytes + 7) / 8 * 8;
	const uint16_t descriptor[] = {
		type, (uint16_t)(header / 8), (uint16_t)(total / 8),
		type == VMBUS_COMPLETION ? 0 : VMBUS_COMPLETE_WANTED
	};
	const uint32_t trailer[] = { 0, start };
	static const uint8_t zeros[8];

	put_bytes(c, descriptor, sizeof(descriptor));
	put_bytes(c, &transaction, sizeof(transaction));
	put_bytes(c, extension, extension_bytes);
	put_bytes(c, payload, payload_bytes);
	put_bytes(c, zeros, total - header - payload_bytes);
	put_bytes(c, trailer, sizeof(trailer));
	hw_put_le32(c->rings + VMBUS_RING_WRITE_OFF, c->out);
	guest_ring(channel);
	/* The host has taken it. */
	assert_int_equal(hw_le32(c->rings + VMBUS_RING_READ_OFF), c->out);
}

void
guest_nvs(const uint32_t *words, uint32_t nb_words)
{
	uint32_t payload[NVSP_BYTES_61 / 4] = { 0 };

	memcpy(payload, words, nb_words * sizeof(*words));
	guest_put(0, VMBUS_IN_BAND, words[0], NULL, 0, payload, sizeof(payload));
}

bool
guest_next(uint32_t channel, struct guest_packet *to)
{
	struct guest_channel *c = &guest.channels[channel];
	uint8_t *ring = c->rings + VMBUS_RING_BYTES;
	uint8_t bytes[256];
	uint32_t total;

	if (hw_le32(ring + VMBUS_RING_WRITE_OFF) == c->in)
		return false;
	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = ring[VMBUS_PAGE_BYTES + (c->in + i) % DATA_BYTES];
	memset(to, 0, sizeof(*to));
	to->type = hw_le16(bytes);
	to->header_bytes = hw_le16(bytes + 2) * 8u;
	total = hw_le16(bytes + 4) * 8u;
	assert_true(total + VMBUS_TRAILER_BYTES <= sizeof(bytes));
	assert_int_equal(hw_le32(bytes + total + 4), c->in);
	to->flags = hw_le16(bytes + 6);
	to->transaction = hw_le64(bytes + 8);
	if (to->type == VMBUS_TRANSFER_PAGES) {
		assert_int_equal(hw_le16(bytes + 16), NVSP_RECEIVE_ID);
		assert_int_equal(hw_le32(bytes + 20), 1);
		to->range_bytes = hw_le32(bytes + 24);
		to->range_offset = hw_le32(bytes + 28);
	}
	memcpy(to->words, bytes + to->header_bytes, total - to->header_bytes);
	c->in = (c->in + total + VMBUS_TRAILER_BYTES) % DATA_BYTES;
	hw_put_le32(ring + VMBUS_RING_READ_OFF, c->in);
	return true;
}

void
guest_ack(uint32_t channel, uint64_t section)
{
	const uint32_t words[10] = { NVSP_RNDIS_COMPLETE, NVSP_OK };

	guest_put(channel, VMBUS_COMPLETION, section, NULL, 0, words,
		  sizeof(words));
}

/* The completion of a message. */
static void
expect(uint32_t type, struct guest_packet *packet)
{
	assert_true(guest_next(0, packet));
	assert_int_equal(packet->type, VMBUS_COMPLETION);
	assert_int_equal(packet->words[0], type);
}

void
guest_expect_status(uint32_t status)
{
	struct guest_packet packet;

	expect(NVSP_RNDIS_COMPLETE, &packet);
	assert_int_equal(packet.words[1], status);
}

void
guest_negotiate(uint32_t version)
{
	struct guest_packet packet;

	guest_nvs((uint32_t[]){ NVSP_INIT, version, version }, 3);
	expect(NVSP_INIT_COMPLETE, &packet);
	assert_int_equal(packet.words[3], NVSP_OK);
	guest_nvs((uint32_t[]){ NVSP_NDIS_CONFIG, 1514, 0, NVSP_CAP_SRIOV }, 4);
	guest_nvs((uint32_t[]){ NVSP_NDIS_VERSION, 6, 30 }, 3);
	guest_nvs((uint32_t[]){ NVSP_RECEIVE_BUFFER,
				synthetic_gpadl(0, VMBUS_MAP_RECEIVE),
				NVSP_RECEIVE_ID },
		  3);
	expect(NVSP_RECEIVE_BUFFER_COMPLETE, &packet);
	assert_int_equal(packet.words[1], NVSP_OK);
	guest_nvs((uint32_t[]){ NVSP_SEND_BUFFER,
				synthetic_gpadl(0, VMBUS_MAP_SEND), NVSP_SEND_ID },
		  3);
	expect(NVSP_SEND_BUFFER_COMPLETE, &packet);
	assert_int_equal(packet.words[1], NVSP_OK);
	assert_int_equal(packet.words[2] % 4, 0);
}

/* The pages of guest.page, as ranges of a GPA direct packet. */
static void
put_page(uint32_t nb_bytes, uint32_t channel_type)
{
	const uint32_t words[10] = { NVSP_RNDIS, channel_type, NVSP_NO_SECTION };
	uint32_t extension[2 + 32 * 4] = { 0 }, nb = 0;
	uintptr_t addr = (uintptr_t)guest.page;

	for (uint32_t done = 0; done < nb_bytes; done += PAGE, nb++) {
		const uint64_t page = addr / PAGE + nb;
		uint32_t *range = extension + 2 + nb * 4;

		range[0] = nb_bytes - done < PAGE ? nb_bytes - done : PAGE;
		memcpy(range + 2, &page, sizeof(page));
	}
	extension[1] = nb;
	guest_put(0, VMBUS_GPA_DIRECT, 0, extension, 8 + nb * 16, words,
		  sizeof(words));
}

const uint8_t *
guest_control(uint32_t nb_bytes)
{
	struct guest_packet packet;

	put_page(nb_bytes, NVSP_CONTROL);
	guest_expect_status(NVSP_OK);
	if (!guest_next(0, &packet))
		return NULL;
	assert_int_equal(packet.type, VMBUS_TRANSFER_PAGES);
	assert_int_equal(packet.words[0], NVSP_RNDIS);
	assert_int_equal(packet.words[1], NVSP_CONTROL);
	guest_ack(0, packet.transaction);
	return guest.receive + packet.range_offset;
}

const uint8_t *
guest_request(uint32_t type, uint32_t oid, const void *data, uint32_t nb_bytes)
{
	const uint32_t id = ++guest.next_id;
	const uint32_t words[7] = { type, RNDIS_REQUEST_BYTES + nb_bytes, id, oid,
				    nb_bytes, RNDIS_REQUEST_BYTES - 8 };
	const uint8_t *answer;

	memcpy(guest.page, words, sizeof(words));
	if (nb_bytes != 0)
		memcpy(guest.page + sizeof(words), data, nb_bytes);
	answer = guest_control(RNDIS_REQUEST_BYTES + nb_bytes);
	assert_non_null(answer);
	assert_int_equal(hw_le32(answer), type | RNDIS_COMPLETE);
	assert_int_equal(hw_le32(answer + 8), id);
	return answer;
}

void
guest_start(void)
{
	const uint32_t words[6] = { RNDIS_INITIALIZE, sizeof(words), 77, 1, 0,
				    0x4000 };
	const uint8_t *answer;

	guest_negotiate(NVSP_VERSION_61);
	memcpy(guest.page, words, sizeof(words));
	answer = guest_control(sizeof(words));
	assert_non_null(answer);
	assert_int_equal(hw_le32(answer), RNDIS_INITIALIZE | RNDIS_COMPLETE);
	assert_int_equal(hw_le32(answer + 8), 77);
	assert_int_equal(hw_le32(answer + 12), RNDIS_SUCCESS);
	/* The VF association is left in the ring. */
}

uint32_t
guest_packet(uint8_t *to, const uint8_t *frame, uint32_t nb_bytes, uint32_t info,
	     uint32_t value)
{
	const uint32_t info_bytes = info != GUEST_NO_INFO ? 16 : 0;
	const uint32_t data = RNDIS_PACKET_BYTES + info_bytes;
	const uint32_t infos[4] = { 16, info, 12, value };
	const uint32_t words[11] = {
		RNDIS_PACKET, data + nb_bytes, data - 8, nb_bytes, 0, 0, 0,
		info_bytes != 0 ? RNDIS_PACKET_BYTES - 8 : 0, info_bytes
	};

	memcpy(to, words, sizeof(words));
	memcpy(to + RNDIS_PACKET_BYTES, infos, info_bytes);
	memcpy(to + data, frame, nb_bytes);
	return data + nb_bytes;
}

void
guest_frame(const uint8_t *frame, uint32_t nb_bytes, uint32_t info, uint32_t value)
{
	put_page(guest_packet(guest.page, frame, nb_bytes, info, value), 0);
}
