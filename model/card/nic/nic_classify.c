/* SPDX-License-Identifier: BSD-3-Clause */

/* Classification of received frames: flags, VLAN tag, hash, RQ. */

#include "nic.h"

#define RX_MAX_TAGS 2

#define RX_F_L4 \
	(HW_RX_F_TCP_OK | HW_RX_F_TCP_FAIL | HW_RX_F_UDP_OK | HW_RX_F_UDP_FAIL)

/* Checksum bits of TCP or UDP; 0 if the checksum cannot be verified. */
static uint32_t
nic_classify_l4(const uint8_t *frame, const struct nic_parsed *parsed)
{
	const bool is_tcp = parsed->proto == NIC_PROTO_TCP;
	const uint32_t ok = is_tcp ? HW_RX_F_TCP_OK : HW_RX_F_UDP_OK;
	const uint32_t fail = is_tcp ? HW_RX_F_TCP_FAIL : HW_RX_F_UDP_FAIL;

	if (!is_tcp && parsed->proto != NIC_PROTO_UDP)
		return 0;
	if (parsed->is_fragment)
		return nic_quirk(QUIRK_RX_FRAGMENT_FLAGS_FAIL) ? fail : 0;
	if (!parsed->l4_fits)
		return 0;
	if (!is_tcp && hw_be16(frame + nic_csum_l4_off(parsed)) == 0)
		return nic_quirk(QUIRK_RX_UDP_ZERO_OK) ? ok : 0;
	return nic_csum_l4_ok(frame, parsed) ? ok : fail;
}

/*
 * ASSUMED: no L4 bit for fragments and for UDP without a checksum; the IP bit
 * is "good" for IPv6, too, because Linux mana_en.c mana_rx_skb requires it with
 * each L4 bit; the outer bits are for tunnels.
 */
static uint32_t
nic_classify_csums(const uint8_t *frame, const struct nic_parsed *parsed)
{
	uint32_t flags = HW_RX_F_IP_OK;

	if (parsed->l3 == NIC_L3_NONE)
		return 0;
	if (parsed->l3 == NIC_L3_IPV4 &&
	    parsed->l4_off > parsed->l3_off + NIC_IPV4_BYTES &&
	    nic_quirk(QUIRK_RX_IPV4_OPTIONS_NONE))
		return 0;
	if (parsed->l3 == NIC_L3_IPV6 && nic_quirk(QUIRK_IPV6_IP_FLAG_CLEAR))
		flags = 0;
	else if (parsed->l3 == NIC_L3_IPV4 && !nic_csum_ipv4_ok(frame, parsed))
		flags = HW_RX_F_IP_FAIL;
	if (nic_quirk(QUIRK_RX_OUTER_FLAGS_SET))
		flags |= flags == HW_RX_F_IP_OK	  ? HW_RX_F_OUTER_IP_OK :
			 flags == HW_RX_F_IP_FAIL ? HW_RX_F_OUTER_IP_FAIL :
						    0;
	return flags | nic_classify_l4(frame, parsed);
}

/*
 * The frame with the L4 checksum field as the device leaves it if it verified
 * the checksum, good or bad. Copies the frame, which others use, too.
 */
static const uint8_t *
nic_classify_alter(const uint8_t *frame, uint32_t nb_bytes,
		   const struct nic_parsed *parsed, uint32_t flags)
{
	static uint8_t altered[CARD_FRAME_BYTES];
	const uint32_t off = nic_csum_l4_off(parsed);

	if ((flags & RX_F_L4) == 0 || parsed->is_fragment ||
	    (parsed->proto == NIC_PROTO_UDP && hw_be16(frame + off) == 0))
		return frame;
	memcpy(altered, frame, nb_bytes);
	if (nic_quirk(QUIRK_RX_L4_CSUM) == RX_L4_CSUM_COMPUTED)
		nic_csum_fill_l4(altered, parsed);
	else
		memset(altered + off, 0, sizeof(uint16_t));
	return altered;
}

/* Linux mana.h: the completion has 12 bits of the tag; pcp and dei are lost. */
static void
nic_classify_strip(const uint8_t *frame, uint32_t nb_bytes, bool is_tagged,
		   struct nic_rx_frame *rx)
{
	static uint8_t stripped[CARD_FRAME_BYTES];

	rx->wire_bytes = nb_bytes;
	rx->bytes = frame;
	rx->nb_bytes = nb_bytes;
	if (!is_tagged)
		return;
	rx->flags |= HW_RX_F_VLAN |
		     (hw_be16(frame + NIC_ETH_BYTES) & HW_RX_F_VLAN_ID_M);
	rx->bytes = stripped;
	rx->nb_bytes -= NIC_VLAN_BYTES;
	memcpy(stripped, frame, 12);
	memcpy(stripped + 12, frame + 12 + NIC_VLAN_BYTES, rx->nb_bytes - 12);
}

uint32_t
nic_classify(const struct card_port *port, const uint8_t *frame,
	     uint32_t nb_bytes, struct nic_rx_frame *rx)
{
	const bool is_tagged = nb_bytes >= NIC_ETH_BYTES + NIC_VLAN_BYTES &&
			       hw_be16(frame + 12) == NIC_ETHERTYPE_VLAN;
	struct nic_parsed parsed;
	uint32_t type = 0, max_tags = 0;

	if (is_tagged)
		max_tags = nic_quirk(QUIRK_RX_SECOND_TAG_PARSED) ? RX_MAX_TAGS :
								   1;
	nic_parse(frame, nb_bytes, max_tags, &parsed);
	rx->flags = nic_classify_csums(frame, &parsed);
	if (nic_quirk(QUIRK_RX_L4_CSUM) != RX_L4_CSUM_UNCHANGED)
		frame = nic_classify_alter(frame, nb_bytes, &parsed, rx->flags);
	nic_classify_strip(frame, nb_bytes, is_tagged, rx);
	rx->hash = 0;
	if (port->rss_enable || nic_quirk(QUIRK_HASH_WITHOUT_RSS)) {
		rx->hash = nic_hash_frame(&port->toeplitz, frame, nb_bytes,
					  &parsed, &type);
		rx->flags |= type << HW_RX_F_HASH_TYPE_S;
	}
	if (!port->rss_enable || type == 0)
		return port->default_rq;
	return port->table[rx->hash % CARD_RSS_TABLE_SIZE];
}

bool
nic_rx_has_room(uint32_t fn, uint32_t port_idx, const uint8_t *frame,
		uint32_t nb_bytes, uint32_t nb_waiting)
{
	struct card_function *f = card_function(fn);
	const struct card_port *port = card_port(fn, port_idx);
	struct nic_rx_frame rx;
	const struct wq *rq;

	if (port == NULL || !port->rx_enabled || port->is_link_down ||
	    f->is_disabled || nb_bytes < NIC_ETH_BYTES || nb_bytes > CARD_FRAME_BYTES)
		return false;
	rq = card_rq(f, nic_classify(port, frame, nb_bytes, &rx));
	/* Assume that each frame in flight is for this queue, and large. */
	return rq != NULL && !rq->is_disabled && !f->cqs[rq->cq].is_stopped &&
	       wq_posted_bytes(rq) > nb_waiting * HW_RQ_WQE_MAX_BYTES;
}
