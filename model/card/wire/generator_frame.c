/* SPDX-License-Identifier: BSD-3-Clause */

/* Frames of the built-in generator. */

#include "nic.h"
#include "signature.h"
#include "wire.h"

#define TTL	64u
#define TCP_ACK 0x10u

/* A flow, and the frame under construction. */
struct making {
	uint32_t stream;
	bool is_v6, is_tcp;
	uint32_t l3_off, l4_off, payload_off;
	uint32_t nb_bytes;
};

/* Alternate protocols: four flows are IPv4 and IPv6 with TCP and UDP. */
static void
make_flow(const struct generator_settings *s, uint32_t flow, struct making *m)
{
	m->stream = s->first_stream + flow;
	m->is_v6 = s->ip == GENERATOR_IP_MIX ? flow % 2 != 0 :
					       s->ip == GENERATOR_IPV6;
	m->is_tcp = s->l4 == GENERATOR_L4_MIX ? flow / 2 % 2 != 0 :
						s->l4 == GENERATOR_TCP;
}

static uint32_t
frame_bytes(struct generator *gen)
{
	/* Sizes of twelve frames, interleaved. */
	static const uint16_t imix[12] = { 60, 590, 60, 60,  590, 60,
					   60, 590, 60, 1514, 60, 590 };
	const struct generator_settings *s = &gen->settings;
	const uint32_t range = s->max_bytes - s->min_bytes + 1;

	switch (s->size_kind) {
	case GENERATOR_IMIX:
		return imix[gen->nb / s->nb_flows % 12];
	case GENERATOR_RANDOM:
		return s->min_bytes + prng_below(&gen->prng, range);
	default:
		return s->min_bytes + (uint32_t)(gen->nb % range);
	}
}

static uint32_t
make_ethernet(const struct wire *wire, struct making *m, uint8_t *frame,
	      bool has_tag)
{
	uint32_t off = 12;

	memcpy(frame, segment_card()->functions[wire->fn].ports[wire->port].mac,
	       6);
	memset(frame + 6, 0, 6);
	frame[6] = 0x02; /* locally administered */
	hw_put_be16(frame + 10, (uint16_t)m->stream);
	if (has_tag) {
		hw_put_be16(frame + off, NIC_ETHERTYPE_VLAN);
		hw_put_be16(frame + off + 2, (uint16_t)(1 + m->stream % 4094));
		off += NIC_VLAN_BYTES;
	}
	hw_put_be16(frame + off, m->is_v6 ? NIC_ETHERTYPE_IPV6 :
					    NIC_ETHERTYPE_IPV4);
	return off + 2;
}

/* Addresses for benchmarks: RFC 2544, RFC 5180. */
static void
make_ip(const struct making *m, uint8_t *ip)
{
	const uint8_t proto = m->is_tcp ? NIC_PROTO_TCP : NIC_PROTO_UDP;
	const uint32_t nb_bytes = m->nb_bytes - m->l3_off;

	memset(ip, 0, m->l4_off - m->l3_off);
	if (m->is_v6) {
		static const uint8_t prefix[] = { 0x20, 0x01, 0x00, 0x02 };

		ip[0] = 0x60;
		hw_put_be16(ip + 4, (uint16_t)(nb_bytes - NIC_IPV6_BYTES));
		ip[6] = proto;
		ip[7] = TTL;
		memcpy(ip + 8, prefix, sizeof(prefix));
		hw_put_be16(ip + 22, (uint16_t)m->stream);
		memcpy(ip + 24, prefix, sizeof(prefix));
		ip[30] = 1;
		hw_put_be16(ip + 38, (uint16_t)m->stream);
		return;
	}
	ip[0] = 0x45;
	hw_put_be16(ip + 2, (uint16_t)nb_bytes);
	ip[8] = TTL;
	ip[9] = proto;
	ip[12] = ip[16] = 198;
	ip[13] = 18;
	ip[17] = 19;
	hw_put_be16(ip + 14, (uint16_t)m->stream);
	hw_put_be16(ip + 18, (uint16_t)m->stream);
}

static void
make_l4(const struct making *m, uint8_t *l4)
{
	memset(l4, 0, m->payload_off - m->l4_off);
	hw_put_be16(l4, (uint16_t)(1024 + m->stream));
	hw_put_be16(l4 + 2, 9); /* discard */
	if (m->is_tcp) {
		l4[12] = NIC_TCP_BYTES / 4 << 4;
		l4[13] = TCP_ACK;
	} else {
		hw_put_be16(l4 + 4, (uint16_t)(m->nb_bytes - m->l4_off));
	}
}

/* Choose one of the configured kinds. */
static uint32_t
choose_kind(struct generator *gen)
{
	const uint32_t kinds = gen->settings.malformed_kinds;
	uint32_t skip = prng_below(&gen->prng,
				   (uint32_t)__builtin_popcount(kinds));
	uint32_t kind = 1;

	while ((kinds & kind) == 0 || skip-- > 0)
		kind <<= 1;
	return kind;
}

static void
make_noise(struct generator *gen, uint8_t *bytes, uint32_t nb_bytes)
{
	for (uint32_t i = 0; i < nb_bytes; i++)
		bytes[i] = (uint8_t)prng_next(&gen->prng);
}

static void
spoil(struct generator *gen, struct making *m, uint8_t *frame)
{
	uint8_t *l4_sum = frame + m->l4_off + (m->is_tcp ? 16 : 6);

	switch (choose_kind(gen)) {
	case GENERATOR_RUNT:
		m->nb_bytes = NIC_ETH_BYTES +
			      prng_below(&gen->prng, GENERATOR_MIN_BYTES -
							     NIC_ETH_BYTES);
		break;
	case GENERATOR_TRUNCATED:
		m->nb_bytes = NIC_ETH_BYTES +
			      prng_below(&gen->prng,
					 m->payload_off - NIC_ETH_BYTES);
		break;
	case GENERATOR_IP_CSUM:
		if (!m->is_v6) {
			frame[m->l3_off + 10] ^= 0x5a;
			break;
		}
		/* IPv6 has no header checksum. */
		/* fallthrough */
	case GENERATOR_L4_CSUM:
		l4_sum[0] ^= 0x5a;
		if (l4_sum[0] == 0 && l4_sum[1] == 0)
			l4_sum[0] = 0x5b; /* UDP: 0 means no checksum */
		break;
	case GENERATOR_LENGTH:
		make_noise(gen, frame + m->l3_off + (m->is_v6 ? 4 : 2), 2);
		break;
	default:
		/* The tag is overwritten: keep the frame within the MTU. */
		m->nb_bytes -= m->l3_off - NIC_ETH_BYTES;
		make_noise(gen, frame + 12, m->nb_bytes - 12);
	}
}

uint32_t
generator_frame(struct wire *wire, uint8_t *frame, uint32_t *stream,
		bool *is_malformed)
{
	struct generator *gen = &wire->generator;
	const struct generator_settings *s = &gen->settings;
	const bool has_tag = prng_chance(&gen->prng, s->vlan);
	struct making m;
	struct nic_parsed parsed;

	*is_malformed = prng_chance(&gen->prng, s->malformed);
	make_flow(s, (uint32_t)(gen->nb % s->nb_flows), &m);
	m.nb_bytes = frame_bytes(gen) + (has_tag ? NIC_VLAN_BYTES : 0);
	m.l3_off = make_ethernet(wire, &m, frame, has_tag);
	m.l4_off = m.l3_off + (m.is_v6 ? NIC_IPV6_BYTES : NIC_IPV4_BYTES);
	m.payload_off = m.l4_off + (m.is_tcp ? NIC_TCP_BYTES : NIC_UDP_BYTES);
	/* If the size is too small for the headers, use the minimum. */
	if (m.nb_bytes < m.payload_off + SIGNATURE_BYTES)
		m.nb_bytes = m.payload_off + SIGNATURE_BYTES;
	make_ip(&m, frame + m.l3_off);
	make_l4(&m, frame + m.l4_off);
	if (*is_malformed)
		memset(frame + m.payload_off, 0, m.nb_bytes - m.payload_off);
	else
		signature_write(&(struct signature){
					.stream = (uint16_t)m.stream,
					.sequence = (uint32_t)segment_wires()
							    ->streams
							    .streams[m.stream]
							    .sent },
				frame + m.payload_off,
				m.nb_bytes - m.payload_off);
	nic_parse(frame, m.nb_bytes, 1, &parsed);
	if (!m.is_v6)
		nic_csum_write_ipv4(frame, &parsed);
	nic_csum_fill_l4(frame, &parsed);
	if (*is_malformed)
		spoil(gen, &m, frame);
	*stream = m.stream;
	return m.nb_bytes;
}
