/* SPDX-License-Identifier: BSD-3-Clause */

/* The receive buffer, and frames that the host delivers through it. */

#include <errno.h>

#include "mem.h"
#include "nic.h"
#include "synthetic_state.h"

/* Frames leave this much of a ring for completions and control messages. */
#define RESERVE_BYTES (256u << 10)
/* As in OpenVMM buffers.rs: the frame begins at a fixed place of the section. */
#define FRAME_OFF 256u
#define RX_MAX_TAGS 1u

static bool
is_lent(const struct synthetic_session *session, uint32_t section)
{
	return (session->lent[section / 64] >> section % 64 & 1) != 0;
}

/* The next free section in turn; nb_sections: none. */
static uint32_t
find_section(const struct synthetic_session *session)
{
	uint32_t section = session->next_section;

	for (uint32_t i = 0; i < session->nb_sections; i++) {
		if (!is_lent(session, section))
			return section;
		section = (section + 1) % session->nb_sections;
	}
	return session->nb_sections;
}

int
rndis_lend(struct synthetic_device *device, uint32_t channel,
	   const void *bytes, uint32_t nb_bytes, bool is_control)
{
	struct synthetic_session *session = &device->session;
	const uint32_t section = find_section(session);
	const uint32_t offset = section * session->section_bytes;
	const uint32_t words[NVSP_BYTES_61 / 4] = {
		NVSP_RNDIS, is_control ? NVSP_CONTROL : 0, NVSP_NO_SECTION, 0
	};
	const uint32_t extension[] = { NVSP_RECEIVE_ID, 1, nb_bytes, offset };
	struct vmbus_message message = {
		.type = VMBUS_TRANSFER_PAGES,
		.flags = VMBUS_COMPLETE_WANTED,
		.transaction = section,
		.extension = extension,
		.extension_bytes = sizeof(extension),
		.payload = words,
	};
	int rc;

	if (section == session->nb_sections || nb_bytes > session->section_bytes)
		return -ENOBUFS;
	rc = mem_write(session->process, session->receive + offset, bytes,
		       nb_bytes);
	if (rc < 0)
		return rc;
	session->lent[section / 64] |= UINT64_C(1) << section % 64;
	rc = synthetic_put(device, channel, &message,
			   is_control ? 0 : RESERVE_BYTES);
	if (rc < 0)
		session->lent[section / 64] &= ~(UINT64_C(1) << section % 64);
	else
		session->next_section = (section + 1) % session->nb_sections;
	return rc;
}

bool
rndis_take_back(struct synthetic_device *device, uint64_t section)
{
	struct synthetic_session *session = &device->session;

	if (section >= session->nb_sections ||
	    !is_lent(session, (uint32_t)section))
		return false;
	session->lent[section / 64] &= ~(UINT64_C(1) << section % 64);
	return true;
}

static uint32_t
checksums(const uint8_t *frame, const struct nic_parsed *parsed)
{
	const bool is_tcp = parsed->proto == NIC_PROTO_TCP;
	uint32_t flags = 0;

	if (parsed->l3 == NIC_L3_NONE)
		return 0;
	if (parsed->l3 == NIC_L3_IPV4)
		flags = nic_csum_ipv4_ok(frame, parsed) ? RNDIS_RX_CSUM_IP_OK :
							  RNDIS_RX_CSUM_IP_FAIL;
	if (!parsed->l4_fits || parsed->is_fragment ||
	    (!is_tcp && parsed->proto != NIC_PROTO_UDP))
		return flags;
	if (nic_csum_l4_ok(frame, parsed))
		return flags | (is_tcp ? RNDIS_RX_CSUM_TCP_OK :
					 RNDIS_RX_CSUM_UDP_OK);
	return flags | (is_tcp ? RNDIS_RX_CSUM_TCP_FAIL : RNDIS_RX_CSUM_UDP_FAIL);
}

static uint8_t *
put_info(uint8_t *to, uint32_t type, uint32_t value)
{
	hw_put_le32(to, RNDIS_INFO_BYTES + 4);
	hw_put_le32(to + 4, type);
	hw_put_le32(to + 8, RNDIS_INFO_BYTES);
	hw_put_le32(to + 12, value);
	return to + RNDIS_INFO_BYTES + 4;
}

/* The channel of a frame: by the table if it has a hash. */
static uint32_t
steer(const struct synthetic_session *session, uint32_t hash, uint32_t type)
{
	const struct synthetic_rss *rss = &session->rss;
	uint32_t channel;

	if (!rss->is_on || type == 0)
		return 0;
	channel = rss->table[hash % rss->nb_entries];
	return session->channels[channel].is_open ? channel : 0;
}

/* NDIS hash types of the card's: nic_hash.c and DPDK's ndis.h. */
static uint32_t
hash_info(uint32_t type)
{
	return NDIS_HASH_TOEPLITZ |
	       ((type & (HW_HASH_IPV4 | HW_HASH_TCP_IPV4 | HW_HASH_UDP_IPV4)) != 0 ? 0x100u : 0x400u);
}

/* Build the RNDIS packet of a frame. Returns its channel. */
static uint32_t
build(const struct synthetic_session *session, const uint8_t *frame,
      uint32_t nb_bytes, uint8_t *to)
{
	const bool is_tagged = nb_bytes >= NIC_ETH_BYTES + NIC_VLAN_BYTES &&
			       hw_be16(frame + 12) == NIC_ETHERTYPE_VLAN;
	const uint32_t tag_bytes = is_tagged ? NIC_VLAN_BYTES : 0;
	uint8_t *info = to + RNDIS_PACKET_BYTES;
	struct nic_parsed parsed;
	uint32_t hash, type = 0;
	uint16_t tci;

	nic_parse(frame, nb_bytes, RX_MAX_TAGS, &parsed);
	hash = nic_hash_frame(&session->rss.toeplitz, frame, nb_bytes, &parsed,
			      &type);
	memset(to, 0, FRAME_OFF);
	info = put_info(info, RNDIS_INFO_CSUM, checksums(frame, &parsed));
	if (is_tagged) {
		tci = hw_be16(frame + NIC_ETH_BYTES);
		info = put_info(info, RNDIS_INFO_VLAN,
				(uint32_t)(tci >> 13) | (tci >> 9 & 0x8u) |
					(uint32_t)(tci & 0xfff) << 4);
	}
	if (session->rss.is_on && type != 0) {
		info = put_info(info, RNDIS_INFO_HASH_VALUE, hash);
		info = put_info(info, RNDIS_INFO_HASH, hash_info(type));
	}
	hw_put_le32(to, RNDIS_PACKET);
	hw_put_le32(to + 4, FRAME_OFF + nb_bytes);
	hw_put_le32(to + 8, FRAME_OFF - RNDIS_ID_OFF);
	hw_put_le32(to + 12, nb_bytes - tag_bytes);
	hw_put_le32(to + 28, RNDIS_PACKET_BYTES - RNDIS_ID_OFF);
	hw_put_le32(to + 32, (uint32_t)(info - to) - RNDIS_PACKET_BYTES);
	memcpy(to + FRAME_OFF, frame, 12);
	memcpy(to + FRAME_OFF + 12, frame + 12 + tag_bytes,
	       nb_bytes - 12 - tag_bytes);
	return steer(session, hash, type);
}

void
synthetic_rx(uint32_t fn, uint32_t port_idx, const uint8_t *frame,
	     uint32_t nb_bytes)
{
	struct synthetic *synthetic = segment_synthetic();
	struct synthetic_device *device;
	uint32_t number, channel;

	if (!synthetic_number(fn, port_idx, &number) || nb_bytes < NIC_ETH_BYTES)
		return;
	device = synthetic_device(number);
	if (card_port(fn, port_idx)->is_link_down) {
		card_port(fn, port_idx)->counters.rx_link_down++;
		return;
	}
	if (!device->session.is_initialized || device->session.is_revoked ||
	    device->session.filter == 0) {
		device->counters.rx_closed++;
		return;
	}
	if (FRAME_OFF + nb_bytes > device->session.section_bytes) {
		device->counters.rx_no_buffer++;
		return;
	}
	channel = build(&device->session, frame, nb_bytes, synthetic->section);
	/* The guest reads the lengths; bytes behind the frame are not written. */
	if (rndis_lend(device, channel, synthetic->section, FRAME_OFF + nb_bytes,
		       false) < 0) {
		device->counters.rx_no_buffer++;
		return;
	}
	device->counters.rx_packets++;
	device->counters.rx_bytes += nb_bytes;
}

bool
synthetic_has_room(uint32_t fn, uint32_t port_idx, uint32_t nb_waiting)
{
	const struct synthetic_session *session;
	uint32_t number, nb_lent = 0;

	if (!synthetic_number(fn, port_idx, &number) ||
	    card_port(fn, port_idx)->is_link_down)
		return false;
	session = &synthetic_device(number)->session;
	if (!session->is_initialized || session->is_revoked ||
	    session->filter == 0)
		return false;
	for (uint32_t i = 0; i < session->nb_sections; i += 64)
		nb_lent += (uint32_t)__builtin_popcountll(session->lent[i / 64]);
	return nb_lent + nb_waiting < session->nb_sections;
}
