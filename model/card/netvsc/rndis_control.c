/* SPDX-License-Identifier: BSD-3-Clause */

/* RNDIS control messages and OIDs (OpenVMM netvsp, lib.rs handle_rndis_*). */

#include "nic.h"
#include "synthetic_state.h"

#define MAX_RESULT_BYTES 160u
#define SPEED_100_BIT_S	 (UINT32_C(200000) * 10000) /* 200 Gb/s */
#define MAX_PACKETS	 8u /* in one message of the guest */
#define MAX_MESSAGE_BYTES 0x4000u

/* NDIS capabilities: encapsulation Ethernet; checksums of IPv4, TCP, UDP. */
#define ENCAP_8023	2u
#define CSUM_V4		0x155u /* IP, TCP and UDP, and their options */
#define CSUM_V6		0x55u
#define LSO_IPV6	0x5u /* extension headers and options */
#define RSS_CAPS	0x00000301u /* Toeplitz, IPv4, IPv6 */

/* A QUERY or SET, checked. */
struct request {
	uint32_t id, oid;
	const uint8_t *data;
	uint32_t data_bytes;
};

static void
answer_status(struct synthetic_device *device, uint32_t type, uint32_t id,
	      uint32_t status)
{
	uint8_t message[16];

	hw_put_le32(message, type | RNDIS_COMPLETE);
	hw_put_le32(message + 4, sizeof(message));
	hw_put_le32(message + 8, id);
	hw_put_le32(message + 12, status);
	rndis_lend(device, 0, message, sizeof(message), true);
}

static void
answer_initialize(struct synthetic_device *device, uint32_t id)
{
	const uint32_t words[13] = {
		RNDIS_INITIALIZE | RNDIS_COMPLETE, sizeof(words), id,
		RNDIS_SUCCESS, 1, 0, 1, 0, MAX_PACKETS, MAX_MESSAGE_BYTES,
		3 /* alignment: 2^3 */
	};

	if (device->session.is_initialized) {
		violation_detail("got INITIALIZE again, want it once, or after HALT");
		synthetic_violation(device, VIOLATION_rndis_state, &id, 4);
	}
	device->session.is_initialized = true;
	rndis_lend(device, 0, words, sizeof(words), true);
	nvsp_report_vf(device);
}

/* The offload capabilities of NDIS, revision 3 (struct ndis_offload of DPDK). */
static uint32_t
offload_capabilities(uint8_t *to)
{
	static const struct { uint16_t at; uint32_t value; } words[] = {
		{ 4, ENCAP_8023 }, { 8, CSUM_V4 }, /* IPv4 Tx */
		{ 12, ENCAP_8023 }, { 16, CSUM_V4 }, /* IPv4 Rx */
		{ 20, ENCAP_8023 }, { 24, CSUM_V6 }, /* IPv6 Tx */
		{ 28, ENCAP_8023 }, { 32, CSUM_V6 }, /* IPv6 Rx */
		/* LSO version 2: encapsulation, size, segments; IPv6: options. */
		{ 80, ENCAP_8023 }, { 84, 65535 }, { 88, 2 },
		{ 92, ENCAP_8023 }, { 96, 65535 }, { 100, 2 }, { 104, LSO_IPV6 },
	};

	memset(to, 0, NDIS_OFFLOAD_BYTES);
	to[0] = NDIS_OBJECT_OFFLOAD;
	to[1] = 3;
	hw_put_le16(to + 2, NDIS_OFFLOAD_BYTES);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hw_put_le32(to + words[i].at, words[i].value);
	return NDIS_OFFLOAD_BYTES;
}

static uint32_t
rss_capabilities(uint8_t *to)
{
	memset(to, 0, NDIS_RSS_CAPS_BYTES);
	to[0] = NDIS_OBJECT_RSS_CAPS;
	to[1] = 2;
	hw_put_le16(to + 2, NDIS_RSS_CAPS_BYTES);
	hw_put_le32(to + 4, RSS_CAPS);
	hw_put_le32(to + 8, 1); /* MSIs */
	hw_put_le32(to + 12, SYNTHETIC_MAX_CHANNELS);
	hw_put_le16(to + 16, SYNTHETIC_RSS_ENTRIES);
	return NDIS_RSS_CAPS_BYTES;
}

/* Whether the input of a request is an NDIS object of this type. */
static bool
is_object(struct synthetic_device *device, const struct request *request,
	  uint8_t type, uint32_t min_bytes)
{
	if (request->data_bytes >= min_bytes && request->data[0] == type &&
	    request->data[1] >= 1 &&
	    hw_le16(request->data + 2) >= min_bytes &&
	    hw_le16(request->data + 2) <= request->data_bytes)
		return true;
	violation_detail("got %u bytes%s, want an object of type 0x%x, revision 1 or "
			 "later, with a size of %u or more",
			 request->data_bytes,
			 request->data_bytes < 4 ? "" : " with another header",
			 type, min_bytes);
	synthetic_violation(device, VIOLATION_rndis_object, request->data,
			    request->data_bytes);
	return false;
}

/* The result of a query; 0 bytes: the OID is not supported. */
static uint32_t
query(struct synthetic_device *device, const struct request *request, uint8_t *to)
{
	const struct card_port *port = card_port(device->fn, device->port);

	switch (request->oid) {
	case OID_PERMANENT_ADDRESS:
		memcpy(to, port->mac, sizeof(port->mac));
		return sizeof(port->mac);
	case OID_OFFLOAD_CAPABILITIES:
		return is_object(device, request, NDIS_OBJECT_OFFLOAD, 4) ?
			       offload_capabilities(to) : 0;
	case OID_RSS_CAPABILITIES:
		return is_object(device, request, NDIS_OBJECT_RSS_CAPS, 4) ?
			       rss_capabilities(to) : 0;
	case OID_CONNECT_STATUS:
		hw_put_le32(to, port->is_link_down);
		return 4;
	case OID_LINK_SPEED:
		hw_put_le32(to, SPEED_100_BIT_S);
		return 4;
	case OID_MAXIMUM_FRAME_SIZE:
		hw_put_le32(to, segment_config()->max_mtu);
		return 4;
	default:
		return 0;
	}
}

static void
answer_query(struct synthetic_device *device, const struct request *request)
{
	uint8_t message[24 + MAX_RESULT_BYTES];
	const uint32_t nb_bytes = query(device, request, message + 24);

	hw_put_le32(message, RNDIS_QUERY | RNDIS_COMPLETE);
	hw_put_le32(message + 4, 24 + nb_bytes);
	hw_put_le32(message + 8, request->id);
	hw_put_le32(message + 12, nb_bytes != 0 ? RNDIS_SUCCESS :
						  RNDIS_NOT_SUPPORTED);
	hw_put_le32(message + 16, nb_bytes);
	hw_put_le32(message + 20, nb_bytes != 0 ? 24 - RNDIS_ID_OFF : 0);
	rndis_lend(device, 0, message, 24 + nb_bytes, true);
}

/* The part [offset, offset + nb_bytes) of the parameters, or NULL. */
static const uint8_t *
part_of(const struct request *request, uint32_t offset, uint32_t nb_bytes)
{
	return offset <= request->data_bytes &&
	       nb_bytes <= request->data_bytes - offset ?
		       request->data + offset : NULL;
}

static uint32_t
set_rss_table(struct synthetic_device *device, const struct request *request)
{
	const uint32_t nb = hw_le16(request->data + 12) / 4;
	const uint8_t *table = part_of(request, hw_le32(request->data + 16),
				       nb * 4);
	struct synthetic_rss *rss = &device->session.rss;

	/* struct ndis_rss_params: the table at 12 and 16, the key at 20 and 24. */
	if (table == NULL || nb == 0 || nb > SYNTHETIC_RSS_ENTRIES ||
	    (nb & (nb - 1)) != 0) {
		violation_detail("got an RSS table of %u entries at offset %u, want a "
				 "power of 2, at most %u, inside the object", nb,
				 hw_le32(request->data + 16),
				 SYNTHETIC_RSS_ENTRIES);
		synthetic_violation(device, VIOLATION_rndis_object,
				    request->data, request->data_bytes);
		return RNDIS_INVALID_DATA;
	}
	for (uint32_t i = 0; i < nb; i++)
		if (hw_le32(table + i * 4) >= device->session.nb_channels) {
			violation_detail("got channel %u in entry %u, want one of %u",
					 hw_le32(table + i * 4), i,
					 device->session.nb_channels);
			synthetic_violation(device, VIOLATION_rndis_rss_entry,
					    table + i * 4, 4);
			return RNDIS_INVALID_DATA;
		}
	for (uint32_t i = 0; i < nb; i++)
		rss->table[i] = table[i * 4];
	rss->nb_entries = nb;
	return RNDIS_SUCCESS;
}

static uint32_t
set_rss(struct synthetic_device *device, const struct request *request)
{
	struct synthetic_rss *rss = &device->session.rss;
	const uint8_t *key;
	uint32_t flags, status;

	if (!is_object(device, request, NDIS_OBJECT_RSS_PARAMS,
		       NDIS_RSS_PARAMS_BYTES))
		return RNDIS_INVALID_DATA;
	flags = hw_le16(request->data + 4);
	if ((flags & NDIS_RSS_DISABLE) != 0 ||
	    (hw_le32(request->data + 8) & NDIS_HASH_TOEPLITZ) == 0) {
		rss->is_on = false;
		return RNDIS_SUCCESS;
	}
	if ((flags & NDIS_RSS_KEEP_TABLE) == 0) {
		status = set_rss_table(device, request);
		if (status != RNDIS_SUCCESS)
			return status;
	}
	if ((flags & NDIS_RSS_KEEP_KEY) == 0) {
		key = part_of(request, hw_le32(request->data + 24),
			      hw_le16(request->data + 20));
		if (key == NULL ||
		    hw_le16(request->data + 20) != CARD_RSS_KEY_BYTES) {
			violation_detail("got an RSS key of %u bytes at offset %u, "
					 "want %u bytes inside the object",
					 hw_le16(request->data + 20),
					 hw_le32(request->data + 24),
					 CARD_RSS_KEY_BYTES);
			synthetic_violation(device, VIOLATION_rndis_object,
					    request->data, request->data_bytes);
			return RNDIS_INVALID_DATA;
		}
		nic_hash_prepare(&rss->toeplitz, key);
	}
	rss->is_on = rss->nb_entries != 0;
	return RNDIS_SUCCESS;
}

static uint32_t
set(struct synthetic_device *device, const struct request *request)
{
	switch (request->oid) {
	case OID_PACKET_FILTER:
		if (request->data_bytes < 4)
			return RNDIS_INVALID_DATA;
		device->session.filter = hw_le32(request->data);
		return RNDIS_SUCCESS;
	case OID_OFFLOAD_PARAMETERS:
		/* Each packet asks for its offloads by per-packet information. */
		return is_object(device, request, NDIS_OBJECT_DEFAULT, 20) ?
			       RNDIS_SUCCESS : RNDIS_INVALID_DATA;
	case OID_RSS_PARAMETERS:
		return set_rss(device, request);
	default:
		return RNDIS_NOT_SUPPORTED;
	}
}

/* Checks a QUERY or SET; its data is a part of the message. */
static bool
parse(const uint8_t *message, uint32_t nb_bytes, struct request *request)
{
	uint32_t offset;

	if (nb_bytes < RNDIS_REQUEST_BYTES)
		return false;
	request->id = hw_le32(message + RNDIS_ID_OFF);
	request->oid = hw_le32(message + 12);
	request->data_bytes = hw_le32(message + 16);
	offset = hw_le32(message + 20);
	if (request->data_bytes == 0)
		offset = RNDIS_REQUEST_BYTES - RNDIS_ID_OFF;
	if (offset > nb_bytes - RNDIS_ID_OFF ||
	    request->data_bytes > nb_bytes - RNDIS_ID_OFF - offset)
		return false;
	request->data = message + RNDIS_ID_OFF + offset;
	return true;
}

void
rndis_control(struct synthetic_device *device, uint32_t nb_bytes)
{
	const uint8_t *message = segment_synthetic()->message;
	struct request request;
	uint32_t type;

	if (nb_bytes < 12 || hw_le32(message + 4) < 12 ||
	    hw_le32(message + 4) > nb_bytes) {
		violation_detail("got %u bytes with length %u, want a length of 12 up "
				 "to these bytes", nb_bytes,
				 nb_bytes < 8 ? 0 : hw_le32(message + 4));
		synthetic_violation(device, VIOLATION_rndis_message, message,
				    nb_bytes);
		return;
	}
	type = hw_le32(message);
	nb_bytes = hw_le32(message + 4);
	if (type == RNDIS_INITIALIZE && nb_bytes >= RNDIS_INITIALIZE_BYTES) {
		answer_initialize(device, hw_le32(message + RNDIS_ID_OFF));
		return;
	}
	if (!device->session.is_initialized) {
		violation_detail("got RNDIS message %u, want INITIALIZE (2) first",
				 type);
		synthetic_violation(device, VIOLATION_rndis_state, message,
				    nb_bytes);
		return;
	}
	if (type == RNDIS_HALT) {
		device->session.is_initialized = false;
		device->session.filter = 0;
	} else if ((type == RNDIS_QUERY || type == RNDIS_SET) &&
		   parse(message, nb_bytes, &request)) {
		if (type == RNDIS_QUERY)
			answer_query(device, &request);
		else
			answer_status(device, RNDIS_SET, request.id,
				      set(device, &request));
	} else {
		violation_detail("got RNDIS message %u of %u bytes, want HALT (3), or "
				 "QUERY (4) or SET (5) with their input inside",
				 type, nb_bytes);
		synthetic_violation(device, VIOLATION_rndis_message, message,
				    nb_bytes);
	}
}
