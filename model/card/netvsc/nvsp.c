/* SPDX-License-Identifier: BSD-3-Clause */

/* NVSP: the session between guest and host (OpenVMM netvsp, lib.rs). */

#include "synthetic_state.h"

/* A section holds an RNDIS packet: header and infos, frame (OpenVMM buffers.rs). */
#define SECTION_HEADER_BYTES 256u
#define SECTION_MORE_BYTES   36u
#define DEFAULT_MTU_BYTES    1514u
#define MAX_MTU_BYTES	     9216u

/* The 32-bit word at an offset of the payload; 0 behind its end. */
static uint32_t
word_at(const struct vmbus_packet *packet, uint32_t offset)
{
	const uint32_t at = packet->header_bytes + offset;

	return at + 4 <= packet->nb_bytes ? hw_le32(packet->bytes + at) : 0;
}

static void
refuse(const struct synthetic_device *device, enum violation violation,
       const struct vmbus_packet *packet)
{
	synthetic_violation(device, violation,
			    packet->bytes + packet->header_bytes,
			    packet->nb_bytes - packet->header_bytes);
}

/* Whether the message names the buffer of a map, which must be mapped. */
static bool
is_buffer(const struct synthetic_device *device, const struct vmbus_packet *packet,
	  enum vmbus_map map, uint32_t id, uint64_t addr)
{
	const uint32_t gpadl = synthetic_gpadl(
		(uint32_t)(device - segment_synthetic()->devices), map);

	if (word_at(packet, 4) == gpadl && (word_at(packet, 8) & 0xffff) == id &&
	    addr != 0)
		return true;
	violation_detail("got GPADL 0x%x and id 0x%x, want 0x%x, in the name of the "
			 "map, which must be mapped, and 0x%x",
			 word_at(packet, 4), word_at(packet, 8) & 0xffff, gpadl,
			 id);
	refuse(device, VIOLATION_nvs_buffer, packet);
	return false;
}

static bool
is_known(uint32_t version)
{
	return version == NVSP_VERSION_61 || version == NVSP_VERSION_6 ||
	       version == NVSP_VERSION_5 || version == NVSP_VERSION_4 ||
	       version == NVSP_VERSION_2;
}

static int
answer_init(struct synthetic_device *device, const struct vmbus_packet *packet)
{
	struct synthetic_session *session = &device->session;
	const uint32_t version = word_at(packet, 4);
	const bool is_ok = version == word_at(packet, 8) && is_known(version);
	const uint32_t answer[] = { NVSP_INIT_COMPLETE, 0xffffffff, NVSP_MAX_MDL,
				    is_ok ? NVSP_OK : 0 };
	int rc;

	rc = synthetic_complete(device, 0, packet->transaction, answer, 4);
	if (rc == 0 && is_ok)
		session->version = version;
	return rc;
}

static void
take_config(struct synthetic_device *device, const struct vmbus_packet *packet)
{
	struct synthetic_session *session = &device->session;
	const uint32_t mtu = word_at(packet, 4);

	session->has_config = true;
	session->mtu = mtu >= DEFAULT_MTU_BYTES && mtu <= MAX_MTU_BYTES ?
			       mtu : DEFAULT_MTU_BYTES;
	session->is_sriov = session->version >= NVSP_VERSION_5 &&
			    (word_at(packet, 12) & NVSP_CAP_SRIOV) != 0;
}

static int
answer_receive_buffer(struct synthetic_device *device,
		      const struct vmbus_packet *packet)
{
	struct synthetic_session *session = &device->session;
	const bool is_ok = is_buffer(device, packet, VMBUS_MAP_RECEIVE,
				     NVSP_RECEIVE_ID, session->receive);
	const uint32_t mtu = session->mtu != 0 ? session->mtu : DEFAULT_MTU_BYTES;
	const uint32_t bytes =
		(SECTION_HEADER_BYTES + mtu + SECTION_MORE_BYTES + 7) / 8 * 8;
	const uint32_t nb = VMBUS_RECEIVE_BYTES / bytes;
	const uint32_t answer[] = { NVSP_RECEIVE_BUFFER_COMPLETE,
				    is_ok ? NVSP_OK : NVSP_FAILED, 1, 0, bytes,
				    nb, nb * bytes };
	int rc;

	rc = synthetic_complete(device, 0, packet->transaction, answer, 7);
	if (rc == 0 && is_ok) {
		session->section_bytes = bytes;
		session->nb_sections = nb;
		session->has_receive = true;
	}
	return rc;
}

static int
answer_send_buffer(struct synthetic_device *device,
		   const struct vmbus_packet *packet)
{
	struct synthetic_session *session = &device->session;
	const bool is_ok = is_buffer(device, packet, VMBUS_MAP_SEND, NVSP_SEND_ID,
				     session->send);
	const uint32_t answer[] = { NVSP_SEND_BUFFER_COMPLETE,
				    is_ok ? NVSP_OK : NVSP_FAILED,
				    SYNTHETIC_SEND_SECTION_BYTES };
	int rc;

	rc = synthetic_complete(device, 0, packet->transaction, answer, 3);
	if (rc == 0 && is_ok)
		session->has_send = true;
	return rc;
}

/* ASSUMED: a second request of a session is refused. */
static int
answer_subchannel(struct synthetic_device *device,
		  const struct vmbus_packet *packet)
{
	struct synthetic_session *session = &device->session;
	const uint32_t wanted = word_at(packet, 8);
	const bool is_ok = word_at(packet, 4) == NVSP_SUBCHANNEL_ALLOCATE &&
			   wanted >= 1 && wanted < SYNTHETIC_MAX_CHANNELS &&
			   session->nb_channels == 1;
	const uint32_t answer[] = { NVSP_SUBCHANNEL,
				    is_ok ? NVSP_OK : NVSP_FAILED,
				    is_ok ? wanted : 0 };
	int rc;

	rc = synthetic_complete(device, 0, packet->transaction, answer, 3);
	if (rc == 0 && is_ok)
		session->nb_channels = 1 + wanted;
	return rc;
}

/* OpenVMM: a switch to a VF that is not there is ignored, with a warning. */
static int
switch_path(struct synthetic_device *device, const struct vmbus_packet *packet)
{
	const uint32_t answer[] = { NVSP_DATA_PATH, NVSP_OK };
	const bool to_vf = word_at(packet, 4) == 1;

	if (to_vf && !device->session.is_vf_told) {
		/* It may not have read yet that the VF has gone. */
		if (!device->session.was_vf_told) {
			violation_detail("got a switch to the VF, want it after "
					 "NVSP message 128 has reported a VF");
			refuse(device, VIOLATION_nvs_no_vf, packet);
		}
	} else if (device->is_vf_path != to_vf) {
		device->is_vf_path = to_vf;
		if (to_vf)
			device->counters.to_vf++;
		else
			device->counters.to_synthetic++;
		synthetic_route(device);
	}
	if ((packet->flags & VMBUS_COMPLETE_WANTED) == 0)
		return 0;
	return synthetic_complete(device, 0, packet->transaction, answer, 2);
}

/* What the session wants of a message now (OpenVMM PacketOrderError); NULL: nothing. */
static const char *
order_wanted(const struct synthetic_session *session, uint32_t type)
{
	switch (type) {
	case NVSP_INIT:
		return session->version == 0 ? NULL : "it once in a session";
	case NVSP_NDIS_CONFIG:
		return session->version >= NVSP_VERSION_2 && !session->has_config &&
				       !session->has_ndis ?
			       NULL : "it once, after message 1 and before 100";
	case NVSP_NDIS_VERSION:
		return session->version != 0 && !session->has_ndis ?
			       NULL : "it once, after message 1";
	case NVSP_RECEIVE_BUFFER:
		return session->has_ndis && !session->has_receive ?
			       NULL : "it once, after message 100";
	case NVSP_SEND_BUFFER:
		return session->has_ndis && !session->has_send ?
			       NULL : "it once, after message 100";
	case NVSP_DATA_PATH:
		return session->version >= NVSP_VERSION_4 && session->has_receive ?
			       NULL : "it after message 101, with version 4 or later";
	case NVSP_SUBCHANNEL:
		return session->version >= NVSP_VERSION_5 && session->is_initialized ?
			       NULL : "it after RNDIS INITIALIZE, with version 5 or later";
	default:
		return session->version != 0 ? NULL : "it after message 1";
	}
}

int
nvsp_handle(struct synthetic_device *device, uint32_t channel,
	    const struct vmbus_packet *packet)
{
	struct synthetic_session *session = &device->session;
	const uint32_t type = word_at(packet, 0);
	const char *wanted = channel != 0 ? "channel 0" : order_wanted(session, type);

	if (wanted != NULL) {
		violation_detail("got NVSP message %u on channel %u, want %s", type,
				 channel, wanted);
		refuse(device, VIOLATION_nvs_order, packet);
		return 0;
	}
	switch (type) {
	case NVSP_INIT:
		return answer_init(device, packet);
	case NVSP_NDIS_CONFIG:
		take_config(device, packet);
		return 0;
	case NVSP_NDIS_VERSION:
		session->has_ndis = true;
		return 0;
	case NVSP_RECEIVE_BUFFER:
		return answer_receive_buffer(device, packet);
	case NVSP_SEND_BUFFER:
		return answer_send_buffer(device, packet);
	case NVSP_REVOKE_RECEIVE_BUFFER:
	case NVSP_REVOKE_SEND_BUFFER:
		/* OpenVMM ends the processing of the channel. */
		session->is_revoked = true;
		synthetic_route(device);
		return 0;
	case NVSP_SUBCHANNEL:
		return answer_subchannel(device, packet);
	case NVSP_DATA_PATH:
		return switch_path(device, packet);
	default:
		violation_detail("got NVSP message %u, want one that a guest sends",
				 type);
		refuse(device, VIOLATION_nvs_unknown, packet);
		return 0;
	}
}

/* A message of the host. Returns whether the ring had room. */
static bool
put_message(struct synthetic_device *device, const uint32_t *words, uint16_t flags)
{
	struct vmbus_message message = {
		.type = VMBUS_IN_BAND,
		.flags = flags,
		.transaction = NVSP_HOST_TRANSACTION,
		.payload = words,
	};

	return synthetic_put(device, 0, &message, 0) >= 0;
}

void
nvsp_report_fallback(struct synthetic_device *device)
{
	const uint32_t words[NVSP_BYTES_61 / 4] = { NVSP_DATA_PATH, 0 };

	if (device->session.is_vf_told)
		(void)put_message(device, words, 0);
}

void
nvsp_report_vf(struct synthetic_device *device)
{
	struct synthetic_session *session = &device->session;
	const uint32_t words[NVSP_BYTES_61 / 4] = {
		NVSP_VF_ASSOCIATION, !device->is_vf_gone, device->serial
	};

	if (!session->is_initialized || !session->is_sriov ||
	    session->is_vf_told == !device->is_vf_gone)
		return;
	if (!put_message(device, words, VMBUS_COMPLETE_WANTED))
		return;
	session->is_vf_told = !device->is_vf_gone;
	session->was_vf_told |= session->is_vf_told;
}
