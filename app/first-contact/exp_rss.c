/* SPDX-License-Identifier: BSD-3-Clause */

/* Experiments on the hash, the table of Rx queues, and the RSS object. */

#include <string.h>

#include "first_contact.h"

#define NB_FLOWS      FC_NB_FLOWS
#define NB_PORT_BYTES 4
#define TABLE_SIZE    64

static uint32_t
toeplitz(const uint8_t *input, uint32_t nb_bytes)
{
	uint32_t hash = 0;

	for (uint32_t bit = 0; bit < nb_bytes * 8; bit++) {
		uint64_t window = 0;

		if ((input[bit / 8] >> (7 - bit % 8) & 1) == 0)
			continue;
		for (uint32_t i = 0; i < 5; i++) {
			const uint32_t at = bit / 8 + i;

			window = window << 8 |
				 (at < FC_RSS_KEY_BYTES ? fc_rss_key[at] : 0);
		}
		hash ^= (uint32_t)(window >> (8 - bit % 8));
	}
	return hash;
}

/* The hash of the addresses of a frame at data, and of the ports if asked. */
static uint32_t
hash_at(const uint8_t *data, const struct fc_frame *frame, bool with_ports)
{
	const uint32_t nb_addr = frame->v6 ? 32 : 8;
	uint8_t input[32 + NB_PORT_BYTES];

	memcpy(input, data + frame->l3_off + (frame->v6 ? 8 : 12), nb_addr);
	memcpy(input + nb_addr, data + frame->l4_off, NB_PORT_BYTES);
	return toeplitz(input, nb_addr + (with_ports ? NB_PORT_BYTES : 0));
}

static uint32_t
hash_of(const struct fc_packet *packet, const struct fc_frame *frame,
	bool with_ports)
{
	return hash_at(packet->data, frame, with_ports);
}

static void
hash_without_rss(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;
	const int type = fc_pass_spec(fc, &spec, &frame, &packet);

	if (type != MANA_CQE_TX_OKAY)
		fc_unexpected(finding, "a plain frame", type);
	else
		fc_decide(finding, packet.hash_type != 0 ? "reported" : "none",
			  "", "one Rx queue: hash type 0x%03x, hash 0x%08x",
			  packet.hash_type, packet.hash);
}

static void
rss_hash(struct fc *fc, struct fc_finding *finding)
{
	uint32_t nb_hash = 0, nb_queue = 0;

	for (uint32_t i = 0; i < NB_FLOWS; i++) {
		struct fc_packet packet;
		struct fc_frame frame;
		const int type = fc_pass_flow(fc, i, &frame, &packet);

		if (type != MANA_CQE_TX_OKAY) {
			fc_unexpected(finding, "a plain frame", type);
			return;
		}
		nb_hash += packet.hash == hash_of(&packet, &frame, true);
		nb_queue += packet.queue ==
			    packet.hash % TABLE_SIZE % fc->setup.nb_rxq;
	}
	if (nb_hash == NB_FLOWS && nb_queue == NB_FLOWS)
		fc_observe(finding, "", "toeplitz",
			   "%u flows: the hash and the queue "
			   "are the expected ones",
			   NB_FLOWS);
	else
		fc_observe(finding, "", "different",
			   "%u of %u flows have the expected "
			   "hash, %u the expected queue",
			   nb_hash, NB_FLOWS, nb_queue);
}

/* A frame whose hash is in question: of addresses, of ports, or none. */
static bool
hash_kind(struct fc *fc, const struct fc_frame_spec *spec, const char *what,
	  struct fc_packet *packet, bool *has_ports, struct fc_finding *finding)
{
	struct fc_frame frame;
	const int type = fc_pass_spec(fc, spec, &frame, packet);

	if (type != MANA_CQE_TX_OKAY) {
		fc_unexpected(finding, what, type);
		return false;
	}
	*has_ports = packet->hash == hash_of(packet, &frame, true);
	if (packet->hash_type == 0 || *has_ports ||
	    packet->hash == hash_of(packet, &frame, false))
		return true;
	fc_undecided(finding,
		     "%s: type 0x%03x, hash 0x%08x is of neither addresses "
		     "nor ports",
		     what, packet->hash_type, packet->hash);
	return false;
}

static void
addresses_or_none(struct fc *fc, const struct fc_frame_spec *spec,
		  const char *what, struct fc_finding *finding)
{
	struct fc_packet packet;
	bool has_ports;

	if (!hash_kind(fc, spec, what, &packet, &has_ports, finding))
		return;
	if (packet.hash_type == 0)
		fc_decide(finding, "none", "", "%s: no hash", what);
	else if (!has_ports)
		fc_decide(finding, "addresses", "", "%s: type 0x%03x", what,
			  packet.hash_type);
	else
		fc_observe(finding, "", "ports", "%s: type 0x%03x", what,
			   packet.hash_type);
}

static void
fragment_hash(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .is_fragment = true,
						   .payload_bytes = 64 };

	addresses_or_none(fc, &spec, "a fragment of UDP", finding);
}

static void
other_hash(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .proto = FC_PROTO_ICMP,
						   .payload_bytes = 64 };

	addresses_or_none(fc, &spec, "an ICMP packet", finding);
}

static void
ipv6_ext_hash(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .v6 = true,
						   .has_ext = true,
						   .payload_bytes = 64 };
	struct fc_packet packet;
	bool has_ports;

	if (!hash_kind(fc, &spec, "IPv6 with destination options", &packet,
		       &has_ports, finding))
		return;
	if (packet.hash_type == 0)
		fc_observe(finding, "", "none", "no hash");
	else
		fc_decide(finding, has_ports ? "ports" : "addresses", "",
			  "UDP behind destination options: type 0x%03x",
			  packet.hash_type);
}

static void
tunnel_hash(struct fc *fc, struct fc_finding *finding)
{
	struct fc_frame inner, outer;
	struct fc_packet packet;
	const uint8_t *in;
	struct fc_tx tx;
	int type;

	fc_frame_vxlan(fc, &inner, &outer);
	tx = fc_tx_of(&outer);
	type = fc_pass(fc, &inner, &tx, &packet);
	in = packet.data + outer.nb_bytes - inner.nb_bytes;
	if (type != MANA_CQE_TX_OKAY)
		fc_unexpected(finding, "a VXLAN packet", type);
	else if (packet.hash_type == 0)
		fc_observe(finding, "", "none", "a VXLAN packet: no hash");
	else if (packet.hash == hash_at(packet.data, &outer, true))
		fc_observe(finding, "", "outer",
			   "the outer addresses and ports of a VXLAN packet");
	else if (packet.hash == hash_at(in, &inner, true))
		fc_observe(finding, "", "inner",
			   "the inner addresses and ports of a VXLAN packet");
	else if (packet.hash == hash_at(packet.data, &outer, false))
		fc_observe(finding, "", "outer-addresses",
			   "the outer addresses of a VXLAN packet");
	else
		fc_undecided(finding, "a VXLAN packet: type 0x%03x, hash 0x%08x",
			     packet.hash_type, packet.hash);
}

#define ETHERTYPE_EXPERIMENTAL 0x88b5 /* IEEE 802 local experiments */

/* A frame that has no hash goes to the last queue of the verbs table. */
static void
default_rxq(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec spec = { .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;
	struct fc_tx tx;
	int type;

	fc_frame_build(fc, &spec, &frame);
	fc_put_be16(frame.data + frame.l3_off - 2, ETHERTYPE_EXPERIMENTAL);
	tx = fc_tx_of(&frame);
	type = fc_pass(fc, &frame, &tx, &packet);
	if (type != MANA_CQE_TX_OKAY)
		fc_unexpected(finding, "a frame of another protocol", type);
	else
		fc_observe(finding, "",
			   packet.queue + 1 == fc->setup.nb_rxq ? "last" : "other",
			   "a frame that is not IP: Rx queue %u of %u",
			   packet.queue + 1, fc->setup.nb_rxq);
}

/*
 * Packets for Rx queue 1, which has no WQEs, then one for Rx queue 0. 1: it arrives,
 * 0: it does not, or was lost; -errno: undecided.
 */
static int
pass_empty(struct fc *fc, const uint32_t flow[2], struct fc_finding *finding)
{
	const struct fc_setup setup = { .nb_rxq = 2, .empty_rxqs = 1 << 1 };
	struct fc_packet packet;
	struct fc_frame frame;

	if (fc_open(fc, &setup) != 0) {
		fc_undecided(finding, "%s", fc->reason);
		return -EIO;
	}
	for (uint32_t i = 0; i <= NB_FLOWS; i++) {
		const struct fc_frame_spec spec = {
			.flow = (uint16_t)flow[i < NB_FLOWS],
			.payload_bytes = 64,
		};

		if (!fc_send_flow(fc, &spec, &frame)) {
			fc_undecided(finding, "Tx stopped");
			return -EIO;
		}
	}
	for (uint32_t i = 0; i < FC_NB_DESC && fc_rx_wait(fc, &packet); i++)
		if (fc_has_tag(&packet, frame.tag))
			return 1;
	return 0;
}

/* Do packets for a queue without WQEs delay those of another one? */
static void
empty_rxq(struct fc *fc, struct fc_finding *finding)
{
	const struct fc_setup setup = fc->setup;
	uint32_t flow[2];
	int ret = 0;

	if (!fc_find_flows(fc, flow)) {
		fc_undecided(finding, "no flows for two Rx queues were found");
		return;
	}
	for (uint32_t i = 0; i < FC_NB_TRIES && ret == 0; i++)
		ret = pass_empty(fc, flow, finding);
	if (ret < 0)
		return;
	if (ret == 0 && (fc_open(fc, &setup) != 0 || !fc_find_flows(fc, flow)))
		fc_undecided(finding, "packets are lost");
	else
		fc_observe(finding, "", ret == 1 ? "no" : "yes",
			   "behind %u packets for an Rx queue without WQEs, a "
			   "packet for another one %s",
			   NB_FLOWS, ret == 1 ? "arrives" : "does not arrive");
}

#define NB_REBUILDS 5
#define NS_PER_US   1000

static void
rss_rebuild(struct fc *fc, struct fc_finding *finding)
{
	uint64_t longest_ns = 0;

	for (uint32_t i = 0; i < NB_REBUILDS; i++) {
		const uint64_t start_ns = fc_now_ns();

		if (fc_rss_rebuild(fc) != 0) {
			fc_undecided(finding, "%s", fc->reason);
			return;
		}
		longest_ns = RTE_MAX(longest_ns, fc_now_ns() - start_ns);
	}
	fc_observe(finding, "", "", "the longest of %u times, with %u Rx queues",
		   NB_REBUILDS, fc->setup.nb_rxq);
	snprintf(finding->value, sizeof(finding->value), "%llu us",
		 (unsigned long long)(longest_ns / NS_PER_US));
}

const struct fc_experiment fc_rss_experiments[] = {
	{ "hash-without-rss",
	  "the hash of packets when RSS is off",
	  hash_without_rss,
	  {} },
	{ "rss-hash",
	  "the hash, and the Rx queue that it selects",
	  rss_hash,
	  { .nb_rxq = 4 } },
	{ "fragment-hash",
	  "the hash of IP fragments",
	  fragment_hash,
	  { .nb_rxq = 2 } },
	{ "other-hash",
	  "the hash of IP packets that are neither TCP nor UDP",
	  other_hash,
	  { .nb_rxq = 2 } },
	{ "ipv6-ext-hash",
	  "the hash of IPv6 packets with extension headers",
	  ipv6_ext_hash,
	  { .nb_rxq = 2 } },
	{ "tunnel-hash", "the hash of a tunnel", tunnel_hash, { .nb_rxq = 2 } },
	{ "default-rxq",
	  "the Rx queue of packets without a hash",
	  default_rxq,
	  { .nb_rxq = 4 } },
	{ "empty-rxq",
	  "does an Rx queue without WQEs delay the others?",
	  empty_rxq,
	  { .nb_rxq = 2 } },
	{ "rss-rebuild",
	  "how long is Rx off while the RSS object is rebuilt?",
	  rss_rebuild,
	  { .nb_rxq = 4 },
	  true },
	{ 0 },
};
