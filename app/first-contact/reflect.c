/* SPDX-License-Identifier: BSD-3-Clause */

/* The peer of another machine's experiments: returns their frames. */

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "first_contact.h"

#define IPV4	0x0800
#define IPV6	0x86dd
#define VLAN	0x8100
#define IDLE_US 200

static volatile sig_atomic_t is_stopped;

static void
stop(int signal)
{
	(void)signal;
	is_stopped = 1;
}

static void
swap(uint8_t *a, uint8_t *b, uint32_t nb_bytes)
{
	for (uint32_t i = 0; i < nb_bytes; i++) {
		const uint8_t byte = a[i];

		a[i] = b[i];
		b[i] = byte;
	}
}

/* Offset of the IP header behind the tags, and its Ethertype. */
static uint32_t
find_l3(const uint8_t *frame, uint32_t nb_bytes, uint16_t *ethertype)
{
	uint32_t at = 2 * FC_MAC_BYTES;

	while (at + 2 + FC_VLAN_BYTES <= nb_bytes && fc_be16(frame + at) == VLAN)
		at += FC_VLAN_BYTES;
	*ethertype = fc_be16(frame + at);
	return at + 2;
}

/* Exchanges source and destination. No checksum changes by this. */
static void
turn_round(uint8_t *frame, uint32_t nb_bytes)
{
	uint16_t ethertype;
	const uint32_t l3 = find_l3(frame, nb_bytes, &ethertype);
	uint8_t *ip = frame + l3, *l4 = NULL;
	uint8_t proto = 0;

	swap(frame, frame + FC_MAC_BYTES, FC_MAC_BYTES);
	if (ethertype == IPV4 && l3 + 20 <= nb_bytes) {
		swap(ip + 12, ip + 16, 4);
		proto = ip[9];
		l4 = ip + (ip[0] & 0xf) * 4;
	} else if (ethertype == IPV6 && l3 + 40 <= nb_bytes) {
		swap(ip + 8, ip + 24, 16);
		proto = ip[6];
		l4 = ip + 40;
	}
	if ((proto == FC_PROTO_TCP || proto == FC_PROTO_UDP) &&
	    l4 + 4 <= frame + nb_bytes)
		swap(l4, l4 + 2, 2);
}

/* Copies a packet to a Tx slot, with the tag that the adapter has stripped. */
static void
return_packet(struct fc *fc, const struct fc_packet *packet)
{
	struct fc_frame frame = { .nb_bytes = packet->nb_bytes };
	struct fc_tx tx;
	uint32_t at = 0;

	frame.off = FC_TX_OFF + fc->next_slot * FC_TX_SLOT_BYTES;
	fc->next_slot = (fc->next_slot + 1) % FC_NB_TX_SLOTS;
	frame.data = fc->memory + frame.off;
	if ((packet->flags >> MANA_RX_CQE_VLAN_S & 1) != 0) {
		at = 2 * FC_MAC_BYTES;
		memcpy(frame.data, packet->data, at);
		fc_put_be16(frame.data + at, VLAN);
		fc_put_be16(frame.data + at + 2,
			    packet->flags & MANA_RX_CQE_VLAN_ID_M);
		frame.nb_bytes += FC_VLAN_BYTES;
		memcpy(frame.data + at + FC_VLAN_BYTES, packet->data + at,
		       packet->nb_bytes - at);
	} else {
		memcpy(frame.data, packet->data, packet->nb_bytes);
	}
	turn_round(frame.data, frame.nb_bytes);
	tx = fc_tx_of(&frame);
	fc_send(fc, &tx);
}

int
fc_reflect(struct fc *fc)
{
	const struct sigaction action = { .sa_handler = stop };
	const struct fc_setup setup = { 0 };
	unsigned long long nb = 0;
	struct fc_packet packet;
	uint32_t own_tag;
	int ret = fc_open(fc, &setup);

	if (ret != 0)
		return ret;
	own_tag = fc->next_tag;
	if (fc_send_plain(fc) == MANA_CQE_TX_INVALID_OOB)
		fc->use_long = true;
	if (fc_port_is_slave(fc->rx))
		fprintf(stderr, "mana-first-contact: " FC_SLAVE_TEXT "\n",
			fc->rx->netdev);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	printf("returns frames to %02x:%02x:%02x:%02x:%02x:%02x until SIGINT\n",
	       fc->tx->mac[0], fc->tx->mac[1], fc->tx->mac[2], fc->tx->mac[3],
	       fc->tx->mac[4], fc->tx->mac[5]);
	fflush(stdout);
	while (!is_stopped) {
		if (!fc_rx_poll(fc, &packet)) {
			fc_netvsc_poll(fc);
			usleep(IDLE_US);
			continue;
		}
		if (packet.cqe_type == MANA_CQE_RX_TRUNCATED ||
		    packet.nb_bytes < 2 * FC_MAC_BYTES + 2 ||
		    packet.nb_bytes > FC_RX_BUF_BYTES ||
		    memcmp(packet.data, fc->tx->mac, FC_MAC_BYTES) != 0 ||
		    !fc_tag_is_any(packet.data, packet.nb_bytes))
			continue;
		/* On a path that loops, it would return its own frame for ever. */
		if (fc_has_tag(&packet, own_tag))
			continue;
		return_packet(fc, &packet);
		nb++;
	}
	printf("returned %llu frames\n", nb);
	return 0;
}
