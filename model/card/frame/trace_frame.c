/* SPDX-License-Identifier: BSD-3-Clause */

#include "card_state.h"
#include "frame.h"
#include "trace.h"
#include "trace_frame.h"

#define MAX_TAGS 2

uint32_t
trace_port(uint32_t fn, uint32_t port)
{
	const struct card *card = segment_card();
	uint32_t n = port + 1, i;

	for (i = 0; i < fn; i++)
		n += card->functions[i].nb_ports;
	return n;
}

static void
add_mac(struct trace_line *line, const char *key, const uint8_t *mac)
{
	trace_add(line, " %s=%02x:%02x:%02x:%02x:%02x:%02x", key, mac[0], mac[1],
		  mac[2], mac[3], mac[4], mac[5]);
}

/* Eight groups, none omitted, so that each address has one form. */
static void
add_ipv6(struct trace_line *line, const uint8_t *addr)
{
	uint32_t i;

	for (i = 0; i < 16; i += 2)
		trace_add(line, "%s%x", i == 0 ? "" : ":", hw_be16(addr + i));
}

static void
add_ipv4(struct trace_line *line, const uint8_t *addr)
{
	trace_add(line, "%u.%u.%u.%u", addr[0], addr[1], addr[2], addr[3]);
}

static void
add_l3(struct trace_line *line, const uint8_t *frame,
       const struct nic_parsed *parsed)
{
	const uint8_t *ip = frame + parsed->l3_off;
	const bool is_ipv4 = parsed->l3 == NIC_L3_IPV4;

	trace_add(line, " l3=%s src=", is_ipv4 ? "ipv4" : "ipv6");
	if (is_ipv4)
		add_ipv4(line, ip + 12);
	else
		add_ipv6(line, ip + 8);
	trace_add(line, " dst=");
	if (is_ipv4)
		add_ipv4(line, ip + 16);
	else
		add_ipv6(line, ip + 24);
	trace_add(line, " proto=%u fragment=%d", parsed->proto,
		  parsed->is_fragment);
}

static void
add_l4(struct trace_line *line, const uint8_t *l4, uint8_t proto)
{
	trace_add(line, " l4=%s sport=%u dport=%u",
		  proto == NIC_PROTO_TCP ? "tcp" : "udp", hw_be16(l4),
		  hw_be16(l4 + 2));
	if (proto == NIC_PROTO_TCP)
		trace_add(line, " seq=%u flags=0x%02x",
			  (uint32_t)hw_be16(l4 + 4) << 16 | hw_be16(l4 + 6),
			  l4[13]);
}

void
trace_frame(uint32_t fn, uint32_t port, bool is_tx, const uint8_t *frame,
	    uint32_t nb_bytes)
{
	struct nic_parsed parsed;
	struct trace_line line;
	uint32_t i;

	trace_begin(&line, TRACE_wire);
	trace_add(&line, " port=%u dir=%s bytes=%u hash=%016llx",
		  trace_port(fn, port), is_tx ? "tx" : "rx", nb_bytes,
		  (unsigned long long)trace_hash(frame, nb_bytes));
	if (nb_bytes >= NIC_ETH_BYTES) {
		nic_parse(frame, nb_bytes, MAX_TAGS, &parsed);
		add_mac(&line, "dmac", frame);
		add_mac(&line, "smac", frame + 6);
		for (i = 0; i < parsed.nb_tags; i++)
			trace_add(&line, " tci=0x%04x",
				  hw_be16(frame + 14 + 4 * i));
		trace_add(&line, " ethertype=0x%04x", parsed.ethertype);
		if (parsed.l3 != NIC_L3_NONE)
			add_l3(&line, frame, &parsed);
		if (parsed.l3 != NIC_L3_NONE && parsed.l4_fits &&
		    !parsed.is_fragment &&
		    (parsed.proto == NIC_PROTO_TCP ||
		     parsed.proto == NIC_PROTO_UDP))
			add_l4(&line, frame + parsed.l4_off, parsed.proto);
	}
	trace_end(&line);
}
