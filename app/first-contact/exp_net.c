/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the network does with frames that are not those of an ordinary IP host. A cloud
 * network drops some, so a finding here explains what else is undecided.
 */

#include <errno.h>
#include <string.h>

#include "first_contact.h"

/* Locally administered, and of no port. IEEE 802, local experimental Ethertype 1. */
static const uint8_t foreign_mac[FC_MAC_BYTES] = { 0x02, 0, 0, 0, 0xfc, 1 };
static const uint8_t multicast_mac[FC_MAC_BYTES] = { 0x01, 0, 0x5e, 0x7f, 0xfc, 1 };
#define FOREIGN_ETHERTYPE 0x88b5u

static const struct fc_frame_spec plain = { .payload_bytes = 64 };

/* Do plain frames arrive? Without that, nothing follows from a frame that does not. */
static bool
has_path(struct fc *fc, struct fc_finding *finding)
{
	struct fc_packet packet;
	struct fc_frame frame;
	const int type = fc_pass_spec(fc, &plain, &frame, &packet);

	if (type != MANA_CQE_TX_OKAY)
		fc_unexpected(finding, "a plain frame", type);
	return type == MANA_CQE_TX_OKAY;
}

/* A frame whose completion says whether the network's policy permits it. */
static void
ask_policy(struct fc *fc, struct fc_finding *finding, const struct fc_frame *frame,
	   const char *what, int refusal)
{
	const struct fc_tx tx = fc_tx_of(frame);
	struct fc_packet packet;
	const int type = fc_pass(fc, frame, &tx, &packet);

	if (type == MANA_CQE_TX_OKAY)
		fc_observe(finding, "", "allowed", "%s arrives", what);
	else if (type == refusal)
		fc_observe(finding, "", "refused", "%s: %s", what, fc_cqe_name(type));
	else if (type == -ENODATA)
		fc_observe(finding, "", "lost", "%s: %s", what, fc_cqe_name(type));
	else
		fc_unexpected(finding, what, type);
}

static void
network_sa(struct fc *fc, struct fc_finding *finding)
{
	struct fc_frame frame;

	if (!has_path(fc, finding))
		return;
	fc_frame_build(fc, &plain, &frame);
	memcpy(frame.data + FC_MAC_BYTES, foreign_mac, FC_MAC_BYTES);
	ask_policy(fc, finding, &frame, "a frame with another source address",
		   MANA_CQE_TX_SA_DROP);
}

static void
network_etype(struct fc *fc, struct fc_finding *finding)
{
	struct fc_frame frame;

	if (!has_path(fc, finding))
		return;
	fc_frame_build(fc, &plain, &frame);
	fc_put_be16(frame.data + 2 * FC_MAC_BYTES, FOREIGN_ETHERTYPE);
	ask_policy(fc, finding, &frame, "a frame that is neither IP nor ARP",
		   MANA_CQE_TX_INVALID_ETH_TYPE);
}

static void
network_vlan(struct fc *fc, struct fc_finding *finding)
{
	static const struct fc_frame_spec tagged = {
		.payload_bytes = 64, .nb_tags = 1, .tci = 5,
	};
	struct fc_frame frame;

	if (!has_path(fc, finding))
		return;
	fc_frame_build(fc, &tagged, &frame);
	ask_policy(fc, finding, &frame, "a frame with a VLAN tag",
		   MANA_CQE_TX_VLAN_TAGGING_VIOLATION);
}

static void
ask_address(struct fc *fc, struct fc_finding *finding, const uint8_t mac[FC_MAC_BYTES],
	    const char *what)
{
	struct fc_packet packet;
	struct fc_frame frame;
	struct fc_tx tx;
	int type;

	if (!has_path(fc, finding))
		return;
	fc_frame_build(fc, &plain, &frame);
	memcpy(frame.data, mac, FC_MAC_BYTES);
	tx = fc_tx_of(&frame);
	type = fc_pass(fc, &frame, &tx, &packet);
	if (type == -ENODATA && fc->has_peer)
		fc_undecided(finding, "a peer returns frames to its own address only");
	else if (type == MANA_CQE_TX_OKAY || type == -ENODATA)
		fc_observe(finding, "", type == -ENODATA ? "filtered" : "delivered",
			   "%s %s", what, type == -ENODATA ? "does not arrive" : "arrives");
	else
		fc_unexpected(finding, what, type);
}

static void
network_dmac(struct fc *fc, struct fc_finding *finding)
{
	ask_address(fc, finding, foreign_mac, "a frame to the address of no port");
}

static void
network_multicast(struct fc *fc, struct fc_finding *finding)
{
	ask_address(fc, finding, multicast_mac, "a frame to a multicast address");
}

const struct fc_experiment fc_net_experiments[] = {
	{ "network-sa", "may a frame have another source address?", network_sa, {} },
	{ "network-etype", "may a frame be neither IP nor ARP?", network_etype, {} },
	{ "network-vlan", "may a frame have a VLAN tag?", network_vlan, {} },
	{ "network-dmac", "do frames to other addresses arrive?", network_dmac, {} },
	{ "network-multicast", "do multicast frames arrive?", network_multicast, {} },
	{ 0 },
};
