/* SPDX-License-Identifier: BSD-3-Clause */

/* RNDIS packets that the guest sends: offloads, and out to the wire. */

#include "nic.h"
#include "synthetic_state.h"

#define TX_MAX_TAGS 2u

/* A packet with what its per-packet infos ask for. */
struct rndis_packet {
	struct synthetic_device *device;
	synthetic_send send;
	uint8_t *frame;
	uint32_t nb_bytes;
	uint32_t csum, lso; /* 0: not asked for */
	bool has_tag;
	uint16_t tci;
	struct nic_parsed parsed;
};

/* The TCI of an NDIS VLAN info: priority, CFI, then the id. */
static uint16_t
tci_of(uint32_t info)
{
	return (uint16_t)((info & 0x7) << 13 | (info & 0x8) << 9 |
			  (info >> 4 & 0xfff));
}

static bool
take_infos(struct rndis_packet *packet, const uint8_t *info, uint32_t nb_bytes)
{
	while (nb_bytes >= RNDIS_INFO_BYTES) {
		const uint32_t size = hw_le32(info), at = hw_le32(info + 8);

		if (size < RNDIS_INFO_BYTES || size > nb_bytes || size % 4 != 0 ||
		    at < RNDIS_INFO_BYTES || at > size || size - at < 4)
			return false;
		switch (hw_le32(info + 4)) {
		case RNDIS_INFO_CSUM:
			packet->csum = hw_le32(info + at);
			break;
		case RNDIS_INFO_LSO:
			packet->lso = hw_le32(info + at);
			break;
		case RNDIS_INFO_VLAN:
			packet->has_tag = true;
			packet->tci = tci_of(hw_le32(info + at));
			break;
		}
		info += size;
		nb_bytes -= size;
	}
	return nb_bytes == 0;
}

/* Send a finished frame, with room for a tag before it. */
static void
send_frame(const struct rndis_packet *packet, uint8_t *frame, uint32_t nb_bytes)
{
	struct synthetic_device *device = packet->device;

	if (packet->has_tag) {
		frame -= NIC_VLAN_BYTES;
		memmove(frame, frame + NIC_VLAN_BYTES, 12);
		hw_put_be16(frame + 12, NIC_ETHERTYPE_VLAN);
		hw_put_be16(frame + 14, packet->tci);
		nb_bytes += NIC_VLAN_BYTES;
	}
	device->counters.tx_packets++;
	device->counters.tx_bytes += nb_bytes;
	device->counters.tx_beside_vf += device->is_vf_path;
	packet->send(device->fn, device->port, frame, nb_bytes);
}

/* Whether the frame has the headers that the checksum info names. */
static bool
do_checksums(struct rndis_packet *packet)
{
	const uint32_t csum = packet->csum;
	const bool is_tcp = (csum & RNDIS_TX_CSUM_TCP) != 0;
	const struct nic_parsed *parsed = &packet->parsed;
	const uint32_t wanted =
		(csum & RNDIS_TX_CSUM_IPV6) != 0 ? NIC_L3_IPV6 : NIC_L3_IPV4;

	if (parsed->l3 != wanted)
		return false;
	if ((csum & RNDIS_TX_CSUM_IP) != 0 && parsed->l3 == NIC_L3_IPV4) {
		memset(packet->frame + parsed->l3_off + NIC_IPV4_CSUM_OFF, 0, 2);
		nic_csum_write_ipv4(packet->frame, parsed);
	}
	if ((csum & (RNDIS_TX_CSUM_TCP | RNDIS_TX_CSUM_UDP)) == 0)
		return true;
	if (!parsed->l4_fits || parsed->is_fragment ||
	    parsed->proto != (is_tcp ? NIC_PROTO_TCP : NIC_PROTO_UDP) ||
	    (csum >> 16 & 0x3ff) != parsed->l4_off)
		return false;
	nic_csum_write_l4(packet->frame, parsed, false);
	return true;
}

/* Cut a packet into segments. False: its headers are not those of the info. */
static bool
do_segments(const struct rndis_packet *packet)
{
	uint8_t *segment = segment_card()->frame + CARD_HEADROOM_BYTES;
	const struct nic_parsed *parsed = &packet->parsed;
	const uint32_t mss = packet->lso & RNDIS_LSO_MSS_M;
	const uint32_t tcp = packet->lso >> 20 & 0x3ff;
	uint32_t headers, done = 0, nth, n;

	if (mss == 0 || parsed->l3 == NIC_L3_NONE || parsed->is_fragment ||
	    parsed->proto != NIC_PROTO_TCP || parsed->l4_off != tcp ||
	    ((packet->lso & RNDIS_LSO_IPV6) != 0) !=
		    (parsed->l3 == NIC_L3_IPV6) ||
	    tcp + NIC_TCP_DATA_OFF >= packet->nb_bytes)
		return false;
	headers = tcp + (packet->frame[tcp + NIC_TCP_DATA_OFF] >> 4) * 4u;
	if (headers >= packet->nb_bytes)
		return false;
	if (parsed->l3 == NIC_L3_IPV4)
		memset(packet->frame + parsed->l3_off + NIC_IPV4_CSUM_OFF, 0, 2);
	for (nth = 0; done < packet->nb_bytes - headers; nth++, done += n) {
		n = packet->nb_bytes - headers - done;
		if (n > mss)
			n = mss;
		memcpy(segment, packet->frame, headers);
		memcpy(segment + headers, packet->frame + headers + done, n);
		nic_segment_write(segment, parsed, headers + n, nth, done,
				  headers + done + n == packet->nb_bytes);
		send_frame(packet, segment, headers + n);
	}
	return true;
}

/* As for an LSO on the adapter: the guest may leave any length in the header. */
static void
parse(struct rndis_packet *packet)
{
	const struct nic_parsed *parsed = &packet->parsed;

	nic_parse(packet->frame, packet->nb_bytes, TX_MAX_TAGS, &packet->parsed);
	if (packet->lso != 0 && parsed->l3 == NIC_L3_IPV4)
		hw_put_be16(packet->frame + parsed->l3_off + NIC_IPV4_LENGTH_OFF, 0);
}

static bool
send_packet(struct rndis_packet *packet)
{
	if (packet->nb_bytes < NIC_ETH_BYTES)
		return false;
	parse(packet);
	if (packet->lso != 0)
		return do_segments(packet);
	if (packet->csum != 0 && !do_checksums(packet))
		return false;
	if (packet->nb_bytes > segment_config()->max_mtu + NIC_ETH_BYTES +
				       packet->parsed.nb_tags * NIC_VLAN_BYTES) {
		packet->device->counters.tx_errors++;
		return true; /* the virtual switch drops it */
	}
	send_frame(packet, packet->frame, packet->nb_bytes);
	return true;
}

/* Offsets count from byte 8. False: a part is not inside the message. */
static bool
take_message(struct synthetic_device *device, uint8_t *message,
	     uint32_t nb_bytes, synthetic_send send)
{
	const uint32_t room = nb_bytes - RNDIS_ID_OFF;
	const uint32_t data = hw_le32(message + 8), data_bytes = hw_le32(message + 12);
	const uint32_t info = hw_le32(message + 28), info_bytes = hw_le32(message + 32);
	const uint32_t first = RNDIS_PACKET_BYTES - RNDIS_ID_OFF;
	struct rndis_packet packet = {
		.device = device,
		.send = send,
		.frame = message + RNDIS_ID_OFF + data,
		.nb_bytes = data_bytes,
	};

	if (hw_le32(message + 20) != 0 || data < first || data > room ||
	    data_bytes > room - data)
		return false;
	if (info_bytes != 0 &&
	    (info < first || info % 4 != 0 || info > room ||
	     info_bytes > room - info ||
	     !take_infos(&packet, message + RNDIS_ID_OFF + info, info_bytes)))
		return false;
	return send_packet(&packet);
}

void
rndis_tx(struct synthetic_device *device, uint32_t nb_bytes, synthetic_send send)
{
	uint8_t *message = segment_synthetic()->message;

	while (nb_bytes >= RNDIS_PACKET_BYTES) {
		const uint32_t length = hw_le32(message + 4);

		if (hw_le32(message) != RNDIS_PACKET ||
		    length < RNDIS_PACKET_BYTES || length > nb_bytes)
			break;
		if (!take_message(device, message, length, send)) {
			violation_detail("got %u bytes of data at %u and %u of infos "
					 "at %u, want both, and what the infos name, "
					 "inside a packet of %u bytes",
					 hw_le32(message + 12), hw_le32(message + 8),
					 hw_le32(message + 32), hw_le32(message + 28),
					 length);
			synthetic_violation(device, VIOLATION_rndis_packet,
					    message, RNDIS_PACKET_BYTES);
			device->counters.tx_errors++;
		}
		message += length;
		nb_bytes -= length;
	}
	if (nb_bytes == 0)
		return;
	violation_detail("got %u bytes that are no packet, want RNDIS packets of %u "
			 "bytes or more", nb_bytes, RNDIS_PACKET_BYTES);
	synthetic_violation(device, VIOLATION_rndis_message, message, nb_bytes);
	device->counters.tx_errors++;
}
