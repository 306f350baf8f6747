/* SPDX-License-Identifier: BSD-3-Clause */

/* Sessions of the synthetic devices, and the packets in their channels. */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "mem.h"
#include "platform.h"
#include "synthetic_state.h"

static_assert(sizeof(struct synthetic) <= SEGMENT_SYNTHETIC_BYTES, "size");

void
synthetic_init(void)
{
	const struct card *card = segment_card();
	struct synthetic *synthetic = segment_synthetic();

	for (uint32_t fn = 0; fn < card->nb_functions; fn++)
		for (uint32_t p = 0; p < card->functions[fn].nb_ports; p++) {
			struct synthetic_device *device;

			if (synthetic->nb_devices == SYNTHETIC_MAX_PORTS)
				return;
			device = &synthetic->devices[synthetic->nb_devices++];
			device->fn = fn;
			device->port = p;
			/* ASSUMED: the slot of the PCI function on the host. */
			device->serial = fn + 1;
			device->is_kernel = true;
		}
}

bool
synthetic_number(uint32_t fn, uint32_t port, uint32_t *number)
{
	const struct synthetic *synthetic = segment_synthetic();

	for (uint32_t n = 0; n < synthetic->nb_devices; n++) {
		*number = n;
		if (synthetic->devices[n].fn == fn &&
		    synthetic->devices[n].port == port)
			return true;
	}
	return false;
}

bool
synthetic_port(uint32_t number, uint32_t *fn, uint32_t *port)
{
	const struct synthetic_device *device = synthetic_device(number);

	if (device == NULL)
		return false;
	*fn = device->fn;
	*port = device->port;
	return true;
}

void
synthetic_route(const struct synthetic_device *device)
{
	card_port(device->fn, device->port)->is_synthetic =
		!device->is_kernel && !device->is_vf_path;
}

void
synthetic_violation(const struct synthetic_device *device,
		    enum violation violation, const void *bytes,
		    uint32_t nb_bytes)
{
	const struct violation_place place = { .fn = device->fn };

	violation_record(violation, &place, bytes, nb_bytes);
}

void
synthetic_bind(uint32_t number, bool is_kernel)
{
	struct synthetic_device *device = synthetic_device(number);

	synthetic_close(number);
	if (device == NULL)
		return;
	device->is_kernel = is_kernel;
	synthetic_route(device);
}

static struct vmbus_ring
ring_of(const struct synthetic_session *session, uint32_t channel, bool is_in)
{
	return (struct vmbus_ring){
		.process = session->process,
		.addr = session->channels[channel].rings +
			(is_in ? 0 : VMBUS_RING_BYTES),
		.data_bytes = VMBUS_RING_BYTES - VMBUS_PAGE_BYTES,
	};
}

/* Linux hv_ringbuffer_init(): an earlier session may have used the memory. */
static void
reset_ring(uint32_t process, uint64_t ring, uint32_t features)
{
	uint32_t words[VMBUS_RING_FEATURES_OFF / 4 + 1] = { 0 };

	words[VMBUS_RING_FEATURES_OFF / 4] = features;
	mem_write(process, ring, words, sizeof(words));
}

void
synthetic_open(uint32_t number, uint32_t channel, uint32_t process,
	       uint64_t rings)
{
	struct synthetic_device *device = synthetic_device(number);
	struct synthetic_session *session;

	if (device == NULL || channel >= SYNTHETIC_MAX_CHANNELS)
		return;
	session = &device->session;
	if (channel == 0) {
		synthetic_close(number);
		session->process = process;
		session->nb_channels = 1;
	} else if (session->process != process ||
		   channel >= session->nb_channels) {
		return;
	}
	session->channels[channel] = (struct synthetic_channel){
		.rings = rings,
		.is_open = true,
	};
	reset_ring(process, rings, 0);
	reset_ring(process, rings + VMBUS_RING_BYTES, VMBUS_RING_HAS_PENDING);
}

void
synthetic_map(uint32_t number, enum vmbus_map map, uint32_t process,
	      uint64_t addr)
{
	struct synthetic_device *device = synthetic_device(number);

	if (device == NULL || device->session.process != process)
		return;
	if (map == VMBUS_MAP_RECEIVE)
		device->session.receive = addr;
	else if (map == VMBUS_MAP_SEND)
		device->session.send = addr;
}

/* OpenVMM: the VF stays offered, and frames come to the synthetic device. */
void
synthetic_close(uint32_t number)
{
	struct synthetic_device *device = synthetic_device(number);

	if (device == NULL || device->session.process == 0)
		return;
	memset(&device->session, 0, sizeof(device->session));
	if (device->is_vf_path)
		device->counters.to_synthetic++;
	device->is_vf_path = false;
	synthetic_route(device);
}

uint32_t
synthetic_process(uint32_t number)
{
	const struct synthetic_device *device = synthetic_device(number);

	return device != NULL ? device->session.process : 0;
}

uint32_t
synthetic_channels(uint32_t number)
{
	const struct synthetic_device *device = synthetic_device(number);

	return device != NULL && device->session.nb_channels > 1 ?
		       device->session.nb_channels : 1;
}

void
synthetic_counters(uint32_t number, struct synthetic_counters *counters)
{
	const struct synthetic_device *device = synthetic_device(number);

	memset(counters, 0, sizeof(*counters));
	if (device == NULL)
		return;
	*counters = device->counters;
	counters->is_vf_path = device->is_vf_path;
}

void
synthetic_vf(uint32_t fn, bool is_there)
{
	struct synthetic *synthetic = segment_synthetic();

	for (uint32_t n = 0; n < synthetic->nb_devices; n++) {
		struct synthetic_device *device = &synthetic->devices[n];

		if (device->fn != fn)
			continue;
		device->is_vf_gone = !is_there;
		if (!is_there && device->is_vf_path) {
			device->is_vf_path = false;
			device->counters.to_synthetic++;
			synthetic_route(device);
			nvsp_report_fallback(device);
		}
		nvsp_report_vf(device);
	}
}

void
synthetic_announce_vf(uint32_t fn, bool is_there)
{
	struct synthetic *synthetic = segment_synthetic();

	for (uint32_t n = 0; n < synthetic->nb_devices; n++) {
		struct synthetic_device *device = &synthetic->devices[n];

		if (device->fn == fn && device->session.was_vf_told)
			device->session.is_vf_told = !is_there;
	}
	synthetic_vf(fn, is_there);
}

void
synthetic_move(uint32_t fn)
{
	struct synthetic *synthetic = segment_synthetic();

	for (uint32_t n = 0; n < synthetic->nb_devices; n++)
		if (synthetic->devices[n].fn == fn)
			synthetic->devices[n].serial += MODEL_MAX_FUNCTIONS;
}

int
synthetic_put(struct synthetic_device *device, uint32_t channel,
	      struct vmbus_message *message, uint32_t reserve_bytes)
{
	struct synthetic_session *session = &device->session;
	const struct vmbus_ring ring = ring_of(session, channel, false);
	int rc;

	message->payload_bytes = session->version >= NVSP_VERSION_61 ?
					 NVSP_BYTES_61 : NVSP_BYTES;
	rc = vmbus_ring_put(&ring, &session->channels[channel].out_index, message,
			    reserve_bytes);
	if (rc == -EPROTO)
		synthetic_violation(device, VIOLATION_vmbus_ring, NULL, 0);
	return rc;
}

int
synthetic_complete(struct synthetic_device *device, uint32_t channel,
		   uint64_t transaction, const uint32_t *words, uint32_t nb_words)
{
	uint32_t payload[NVSP_BYTES_61 / 4] = { 0 };
	struct vmbus_message message = {
		.type = VMBUS_COMPLETION,
		.transaction = transaction,
		.payload = payload,
	};

	memcpy(payload, words, nb_words * sizeof(*words));
	return synthetic_put(device, channel, &message, 0);
}

void
synthetic_recover(void)
{
	struct synthetic *synthetic = segment_synthetic();

	for (uint32_t n = 0; n < synthetic->nb_devices; n++) {
		struct synthetic_session *session = &synthetic->devices[n].session;

		for (uint32_t i = 0; i < SYNTHETIC_MAX_CHANNELS; i++) {
			const struct vmbus_ring ring = ring_of(session, i, false);

			if (session->channels[i].is_open)
				vmbus_ring_find_end(&ring,
						    &session->channels[i].out_index);
		}
	}
}

/* ---- packets of the guest ---- */

/* Copy what the ranges of a GPA direct packet name. -1 with a violation. */
static int64_t
gather_pages(struct synthetic_device *device, const struct vmbus_packet *packet)
{
	struct synthetic *synthetic = segment_synthetic();
	const uint8_t *extension = packet->bytes + VMBUS_DESC_BYTES;
	const uint8_t *range = extension + VMBUS_RANGES_OFF;
	const uint32_t room = packet->header_bytes - VMBUS_DESC_BYTES;
	uint32_t nb, done = 0;

	nb = room >= VMBUS_RANGES_OFF ? hw_le32(extension + 4) : 0;
	if (nb == 0 || nb > (room - VMBUS_RANGES_OFF) / VMBUS_GPA_BYTES) {
		violation_detail("got %u ranges, want 1 to the %u that the header "
				 "has room for", nb,
				 room >= VMBUS_RANGES_OFF ?
					 (room - VMBUS_RANGES_OFF) / VMBUS_GPA_BYTES : 0);
		synthetic_violation(device, VIOLATION_vmbus_ranges, extension,
				    room);
		return -1;
	}
	for (uint32_t i = 0; i < nb; i++, range += VMBUS_GPA_BYTES) {
		const uint32_t nb_bytes = hw_le32(range);
		const uint32_t offset = hw_le32(range + 4);
		const uint64_t addr =
			hw_le64(range + 8) * VMBUS_PAGE_BYTES + offset;

		/* One page per range: section 5 of the guest's format. */
		if (offset >= VMBUS_PAGE_BYTES ||
		    nb_bytes > VMBUS_PAGE_BYTES - offset ||
		    nb_bytes > sizeof(synthetic->message) - done) {
			violation_detail("got %u bytes at offset %u of a page behind "
					 "%u bytes, want one page, and at most %zu "
					 "bytes in all",
					 nb_bytes, offset, done,
					 sizeof(synthetic->message));
			synthetic_violation(device, VIOLATION_vmbus_ranges,
					    range, VMBUS_GPA_BYTES);
			return -1;
		}
		if (mem_read(device->session.process, addr,
			     synthetic->message + done, nb_bytes) < 0) {
			if (mem_is_ending(device->session.process))
				return -1;
			violation_detail("got address 0x%" PRIx64 ", want memory of "
					 "the program: see model-netvsc.rst", addr);
			synthetic_violation(device, VIOLATION_vmbus_memory,
					    range, VMBUS_GPA_BYTES);
			return -1;
		}
		done += nb_bytes;
	}
	return done;
}

/* Copy a section of the send buffer. -1 with a violation. */
static int64_t
gather_section(struct synthetic_device *device, uint32_t section,
	       uint32_t nb_bytes)
{
	const struct synthetic_session *session = &device->session;
	const uint32_t nb = VMBUS_SEND_BYTES / SYNTHETIC_SEND_SECTION_BYTES;

	if (!session->has_send || section >= nb ||
	    nb_bytes > SYNTHETIC_SEND_SECTION_BYTES) {
		const uint32_t words[] = { section, nb_bytes };

		violation_detail("got section %u with %u bytes, want one of %u, with "
				 "at most %u bytes, of a send buffer",
				 section, nb_bytes, nb,
				 SYNTHETIC_SEND_SECTION_BYTES);
		synthetic_violation(device, VIOLATION_nvs_section, words,
				    sizeof(words));
		return -1;
	}
	if (mem_read(session->process,
		     session->send + (uint64_t)section *
					     SYNTHETIC_SEND_SECTION_BYTES,
		     segment_synthetic()->message, nb_bytes) < 0)
		return -1;
	return nb_bytes;
}

/* NVSP message 107. */
static int
handle_rndis(struct synthetic_device *device, uint32_t channel,
	     const struct vmbus_packet *packet, synthetic_send send)
{
	const uint8_t *payload = packet->bytes + packet->header_bytes;
	uint32_t answer[] = { NVSP_RNDIS_COMPLETE, NVSP_OK };
	bool is_control;
	int64_t nb_bytes;
	int rc;

	if (!device->session.has_receive || packet->nb_bytes <
						    packet->header_bytes + 16) {
		violation_detail("got NVSP message 107 of %u bytes, want 16 or more, "
				 "after message 101",
				 packet->nb_bytes - packet->header_bytes);
		synthetic_violation(device, VIOLATION_nvs_order, payload,
				    packet->nb_bytes - packet->header_bytes);
		return 0;
	}
	is_control = hw_le32(payload + 4) == NVSP_CONTROL;
	nb_bytes = packet->type == VMBUS_GPA_DIRECT ?
			   gather_pages(device, packet) :
			   gather_section(device, hw_le32(payload + 8),
					  hw_le32(payload + 12));
	/* Complete first: there is no way back once a frame is on the wire. */
	if (nb_bytes < 0)
		answer[1] = NVSP_FAILED;
	if ((packet->flags & VMBUS_COMPLETE_WANTED) != 0) {
		rc = synthetic_complete(device, channel, packet->transaction,
					answer, 2);
		if (rc == -EAGAIN)
			return rc;
	}
	if (nb_bytes < 0)
		device->counters.tx_errors++;
	else if (is_control)
		rndis_control(device, (uint32_t)nb_bytes);
	else
		rndis_tx(device, (uint32_t)nb_bytes, send);
	return 0;
}

static int
handle(struct synthetic_device *device, uint32_t channel,
       const struct vmbus_packet *packet, synthetic_send send)
{
	const uint8_t *payload = packet->bytes + packet->header_bytes;
	const bool has_type = packet->nb_bytes >= packet->header_bytes + 4;

	if (packet->trailer_start != packet->start) {
		violation_detail("got start %u, want %u",
				 packet->trailer_start, packet->start);
		synthetic_violation(device, VIOLATION_vmbus_trailer,
				    packet->bytes, VMBUS_DESC_BYTES);
	}
	switch (packet->type) {
	case VMBUS_COMPLETION:
		/* Of a section; that of a VF association is optional. */
		if (packet->transaction == NVSP_HOST_TRANSACTION ||
		    rndis_take_back(device, packet->transaction))
			return 0;
		violation_detail("got section %" PRIu64 ", want one of the %u that "
				 "the guest has received and not returned",
				 packet->transaction, device->session.nb_sections);
		synthetic_violation(device, VIOLATION_nvs_ack, packet->bytes,
				    VMBUS_DESC_BYTES);
		return 0;
	case VMBUS_IN_BAND:
	case VMBUS_GPA_DIRECT:
		if (has_type && hw_le32(payload) == NVSP_RNDIS)
			return handle_rndis(device, channel, packet, send);
		return nvsp_handle(device, channel, packet);
	default:
		violation_detail("got type %u, want 6 (in band), 9 (GPA direct) or "
				 "11 (completion)",
				 (unsigned int)packet->type);
		synthetic_violation(device, VIOLATION_vmbus_type, packet->bytes,
				    VMBUS_DESC_BYTES);
		return 0;
	}
}

static void
run_channel(struct synthetic_device *device, uint32_t channel,
	    synthetic_send send)
{
	struct synthetic_channel *state = &device->session.channels[channel];
	const struct vmbus_ring ring = ring_of(&device->session, channel, true);
	struct vmbus_packet *packet = &segment_synthetic()->packet;
	enum vmbus_take take;

	if (!state->is_open)
		return;
	while (!device->session.is_revoked) {
		take = vmbus_ring_take(&ring, state->in_index, packet);
		if (take == VMBUS_CORRUPT)
			synthetic_violation(device, VIOLATION_vmbus_ring,
					    packet->bytes, VMBUS_DESC_BYTES);
		if (take != VMBUS_TAKEN ||
		    handle(device, channel, packet, send) == -EAGAIN)
			break;
		state->in_index = packet->next;
		vmbus_ring_release(&ring, state->in_index);
	}
}

void
synthetic_signal(uint32_t offset, uint32_t bits, synthetic_send send)
{
	const uint32_t group = (offset - VMBUS_TRIGGER_OFF) / VMBUS_TRIGGER_BYTES;

	if (offset < VMBUS_TRIGGER_OFF || group >= VMBUS_NB_TRIGGERS ||
	    (offset - VMBUS_TRIGGER_OFF) % VMBUS_TRIGGER_BYTES != 0)
		return; /* a latency */
	for (uint32_t bit = 0; bit < VMBUS_TRIGGER_BITS; bit++) {
		const uint32_t id = group * VMBUS_TRIGGER_BITS + bit;
		struct synthetic_device *device =
			synthetic_device(id / SYNTHETIC_MAX_CHANNELS);

		if ((bits >> bit & 1) != 0 && device != NULL)
			run_channel(device, id % SYNTHETIC_MAX_CHANNELS, send);
	}
}
