/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The session with a synthetic device that moves the data path to the VF: NVSP and RNDIS,
 * in the order of DPDK's drivers/net/netvsc. A message of the host is copied before it is
 * read, and answers only the request that waits.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"

enum {
	NVSP_INIT = 1,
	NVSP_INIT_COMPLETE = 2,
	NVSP_NDIS_VERSION = 100,
	NVSP_RECEIVE_BUFFER = 101,
	NVSP_RECEIVE_BUFFER_COMPLETE = 102,
	NVSP_SEND_BUFFER = 104,
	NVSP_SEND_BUFFER_COMPLETE = 105,
	NVSP_RNDIS = 107,
	NVSP_RNDIS_COMPLETE = 108,
	NVSP_NDIS_CONFIG = 125,
	NVSP_VF_ASSOCIATION = 128,
	NVSP_DATA_PATH = 129,
};
#define NVSP_WORDS	 10u /* of a message of version 6.1 */
#define NVSP_OK		 1u
#define NVSP_CONTROL	 1u /* channel type of message 107 */
#define NVSP_NO_SECTION	 UINT32_MAX
#define NVSP_RECEIVE_ID	 0xcafeu
#define NVSP_SEND_ID	 0xfaceu
#define NVSP_FRAME_BYTES 1514u
#define NVSP_CAP_SRIOV	 (1u << 2)
#define NVSP_CAP_VLAN	 (1u << 3)
#define PATH_SYNTHETIC	 0u
#define PATH_VF		 1u

enum {
	RNDIS_INITIALIZE = 2,
	RNDIS_QUERY = 4,
	RNDIS_SET = 5,
};
#define RNDIS_COMPLETE	      0x80000000u /* added to the type of a request */
#define RNDIS_MAX_TRANSFER    0x4000u
#define RNDIS_ID_OFF	      8u /* offsets count from here */
#define RNDIS_REQUEST_WORDS   7u
#define RNDIS_ANSWER_WORDS    16u /* what is read of an answer */
#define OID_PACKET_FILTER     0x0001010eu
#define OID_PERMANENT_ADDRESS 0x01010101u
/* Frames to the port, all multicast, broadcast. */
#define PACKET_FILTER	      0xdu

#define ANSWER_MS    5000u
#define SLEEP_US     500u
#define MAX_PER_POLL 1000u /* packets that the program reads in one poll */

struct fc_netvsc {
	struct fc_channel channel;
	uint64_t request_page; /* for the host; in the send buffer */
	uint32_t id; /* of the last request, in NVSP its transaction */
	bool is_completed, is_answered; /* the last request, by NVSP and by RNDIS */
	uint32_t completion[NVSP_WORDS];
	uint32_t answer[RNDIS_ANSWER_WORDS];
	bool has_vf, is_vf_path, is_loss_said;
};

/* ---- Packets of the host ---- */

/* Words of a packet from an offset on; zeros behind its end. */
static void
words_at(const struct fc_vmbus_packet *packet, uint32_t off, uint32_t *words,
	 uint32_t nb_words)
{
	const uint32_t there = off < packet->nb_bytes ? packet->nb_bytes - off : 0;

	memset(words, 0, nb_words * sizeof(*words));
	memcpy(words, packet->bytes + RTE_MIN(off, packet->nb_bytes),
	       RTE_MIN(there, nb_words * sizeof(*words)));
}

/* An RNDIS message in the receive buffer, if it answers the request that waits. */
static void
take_control(struct fc_netvsc *netvsc, uint32_t nb_bytes, uint32_t off)
{
	const struct fc_map *receive = &netvsc->channel.maps[FC_MAP_RECEIVE];
	uint32_t words[RNDIS_ANSWER_WORDS] = { 0 };

	if (off > receive->nb_bytes || nb_bytes > receive->nb_bytes - off)
		return;
	memcpy(words, receive->addr + off, RTE_MIN(nb_bytes, sizeof(words)));
	if ((words[0] & RNDIS_COMPLETE) == 0 || words[2] != netvsc->id)
		return;
	memcpy(netvsc->answer, words, sizeof(words));
	netvsc->is_answered = true;
}

/* Reads the first range of RNDIS messages, and gives all back. */
static int
take_ranges(struct fc *fc, struct fc_netvsc *netvsc, const struct fc_vmbus_packet *packet)
{
	const uint32_t done[NVSP_WORDS] = { NVSP_RNDIS_COMPLETE, NVSP_OK };
	const struct fc_vmbus_part none = { NULL, 0 }, payload = { done, sizeof(done) };
	uint32_t head[4], nvsp[2]; /* id, number of ranges, bytes, offset */

	words_at(packet, FC_VMBUS_DESC_BYTES, head, RTE_DIM(head));
	words_at(packet, packet->header_bytes, nvsp, RTE_DIM(nvsp));
	if (nvsp[0] == NVSP_RNDIS && nvsp[1] == NVSP_CONTROL)
		take_control(netvsc, head[2], head[3]);
	return fc_channel_put(fc, &netvsc->channel, FC_VMBUS_COMPLETION, false,
			      packet->transaction, &none, &payload);
}

/* 1: took a packet; 0: there is none; -errno. */
static int
take_packet(struct fc *fc, struct fc_netvsc *netvsc)
{
	struct fc_vmbus_packet packet;
	uint32_t words[NVSP_WORDS];
	int ret = fc_channel_next(fc, &netvsc->channel, &packet);

	if (ret != 1)
		return ret;
	words_at(&packet, packet.header_bytes, words, RTE_DIM(words));
	switch (packet.type) {
	case FC_VMBUS_TRANSFER_PAGES:
		ret = take_ranges(fc, netvsc, &packet);
		return ret != 0 ? ret : 1;
	case FC_VMBUS_COMPLETION:
		if (packet.transaction == netvsc->id) {
			memcpy(netvsc->completion, words, sizeof(words));
			netvsc->is_completed = true;
		}
		return 1;
	case FC_VMBUS_IN_BAND:
		if (words[0] == NVSP_VF_ASSOCIATION)
			netvsc->has_vf = words[1] != 0;
		/* The host moves the path away from a VF that goes, or did not come up. */
		if ((words[0] == NVSP_VF_ASSOCIATION && words[1] == 0) ||
		    (words[0] == NVSP_DATA_PATH && words[1] == PATH_SYNTHETIC))
			netvsc->is_vf_path = false;
		return 1;
	default:
		return 1;
	}
}

static int
await(struct fc *fc, struct fc_netvsc *netvsc, const bool *is_there, const char *what)
{
	const uint64_t end_ns = fc_now_ns() + ANSWER_MS * UINT64_C(1000000);

	while (!*is_there) {
		const int ret = take_packet(fc, netvsc);

		if (ret < 0)
			return ret;
		if (fc_now_ns() > end_ns)
			return fc_fail(fc, -ETIMEDOUT,
				       "--netvsc: %s: no %s of the host within %u s",
				       netvsc->channel.uuid, what, ANSWER_MS / 1000);
		if (ret == 0)
			usleep(SLEEP_US);
	}
	return 0;
}

/* ---- Requests ---- */

/* Words 0 to 3 of an NVSP message; answer 0: it has none. */
static int
ask_nvsp(struct fc *fc, struct fc_netvsc *netvsc, const uint32_t words[4], uint32_t answer)
{
	uint32_t message[NVSP_WORDS] = { words[0], words[1], words[2], words[3] };
	const struct fc_vmbus_part none = { NULL, 0 }, payload = { message,
								    sizeof(message) };
	int ret;

	netvsc->is_completed = false;
	ret = fc_channel_put(fc, &netvsc->channel, FC_VMBUS_IN_BAND, answer != 0,
			     ++netvsc->id, &none, &payload);
	if (ret != 0 || answer == 0)
		return ret;
	ret = await(fc, netvsc, &netvsc->is_completed, "answer to NVSP");
	if (ret == 0 && netvsc->completion[0] != answer)
		return fc_fail(fc, -EPROTO,
			       "--netvsc: %s: NVSP message %u was answered by %u, not %u",
			       netvsc->channel.uuid, words[0], netvsc->completion[0], answer);
	return ret;
}

/* An RNDIS message, whose word 2 is its id. */
static int
ask_rndis(struct fc *fc, struct fc_netvsc *netvsc, uint32_t *words, uint32_t nb_words)
{
	const uint32_t nb_bytes = nb_words * (uint32_t)sizeof(*words);
	const uint32_t nvsp[NVSP_WORDS] = { NVSP_RNDIS, NVSP_CONTROL, NVSP_NO_SECTION };
	/* Reserved, number of ranges, bytes, offset, page. */
	const uint32_t range[] = { 0, 1, nb_bytes, 0, (uint32_t)netvsc->request_page,
				   (uint32_t)(netvsc->request_page >> 32) };
	const struct fc_vmbus_part extension = { range, sizeof(range) };
	const struct fc_vmbus_part payload = { nvsp, sizeof(nvsp) };
	int ret;

	words[1] = nb_bytes;
	words[2] = ++netvsc->id;
	memcpy(netvsc->channel.maps[FC_MAP_SEND].addr, words, nb_bytes);
	netvsc->is_answered = false;
	ret = fc_channel_put(fc, &netvsc->channel, FC_VMBUS_GPA_DIRECT, true, netvsc->id,
			     &extension, &payload);
	if (ret == 0)
		ret = await(fc, netvsc, &netvsc->is_answered, "answer to RNDIS");
	if (ret == 0 && (netvsc->answer[0] != (words[0] | RNDIS_COMPLETE) ||
			 netvsc->answer[3] != 0))
		return fc_fail(fc, -EPROTO,
			       "--netvsc: %s: RNDIS message %u was answered by 0x%x, status "
			       "0x%x",
			       netvsc->channel.uuid, words[0], netvsc->answer[0],
			       netvsc->answer[3]);
	return ret;
}

static int
set_filter(struct fc *fc, struct fc_netvsc *netvsc, uint32_t filter)
{
	uint32_t words[RNDIS_REQUEST_WORDS + 1] = {
		RNDIS_SET, 0, 0, OID_PACKET_FILTER, sizeof(filter),
		RNDIS_REQUEST_WORDS * 4 - RNDIS_ID_OFF, 0, filter,
	};

	return ask_rndis(fc, netvsc, words, RTE_DIM(words));
}

/* The device and one of the open ports have the same address. */
static int
check_address(struct fc *fc, struct fc_netvsc *netvsc)
{
	uint32_t words[RNDIS_REQUEST_WORDS] = { RNDIS_QUERY, 0, 0, OID_PERMANENT_ADDRESS };
	const uint8_t *answer = (const uint8_t *)netvsc->answer;
	const uint8_t *mac;
	const int ret = ask_rndis(fc, netvsc, words, RTE_DIM(words));

	if (ret != 0)
		return ret;
	/* Words 4 and 5: bytes, offset. */
	if (netvsc->answer[4] != FC_MAC_BYTES ||
	    netvsc->answer[5] > sizeof(netvsc->answer) - RNDIS_ID_OFF - FC_MAC_BYTES)
		return fc_fail(fc, -EPROTO, "--netvsc: %s: the host tells no address",
			       netvsc->channel.uuid);
	mac = answer + RNDIS_ID_OFF + netvsc->answer[5];
	for (uint32_t i = 0; i < FC_NB_PORTS; i++)
		if (fc->ports[i].ctx != NULL &&
		    memcmp(fc->ports[i].mac, mac, FC_MAC_BYTES) == 0)
			return 0;
	return fc_fail(fc, -EINVAL,
		       "--netvsc: %s has the address %02x:%02x:%02x:%02x:%02x:%02x, as none "
		       "of the ports: give its port with --port or --rx-port",
		       netvsc->channel.uuid, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

/* ---- The session ---- */

/* The newest version of the host that knows of VFs. */
static int
negotiate_version(struct fc *fc, struct fc_netvsc *netvsc)
{
	static const uint32_t versions[] = { 0x60001, 0x60000, 0x50000 };

	for (uint32_t i = 0; i < RTE_DIM(versions); i++) {
		const uint32_t words[4] = { NVSP_INIT, versions[i], versions[i] };
		const int ret = ask_nvsp(fc, netvsc, words, NVSP_INIT_COMPLETE);

		/* Word 3: status. */
		if (ret != 0 || netvsc->completion[3] == NVSP_OK)
			return ret;
	}
	return fc_fail(fc, -EPROTO, "--netvsc: %s: the host has no version of NVSP with VFs",
		       netvsc->channel.uuid);
}

static int
give_buffer(struct fc *fc, struct fc_netvsc *netvsc, uint32_t type, uint32_t map,
	    uint32_t id, uint32_t answer)
{
	const uint32_t words[4] = { type, netvsc->channel.maps[map].gpadl, id };
	const int ret = ask_nvsp(fc, netvsc, words, answer);

	if (ret == 0 && netvsc->completion[1] != NVSP_OK)
		return fc_fail(fc, -EPROTO, "--netvsc: %s: the host refuses the buffer of "
					    "message %u: status %u",
			       netvsc->channel.uuid, type, netvsc->completion[1]);
	return ret;
}

static int
start_session(struct fc *fc, struct fc_netvsc *netvsc)
{
	static const uint32_t config[4] = { NVSP_NDIS_CONFIG, NVSP_FRAME_BYTES, 0,
					    NVSP_CAP_SRIOV | NVSP_CAP_VLAN };
	static const uint32_t ndis[4] = { NVSP_NDIS_VERSION, 6, 30 };
	uint32_t initialize[] = { RNDIS_INITIALIZE, 0, 0, 1, 0, RNDIS_MAX_TRANSFER };
	int ret = negotiate_version(fc, netvsc);

	if (ret == 0)
		ret = ask_nvsp(fc, netvsc, config, 0);
	if (ret == 0)
		ret = ask_nvsp(fc, netvsc, ndis, 0);
	if (ret == 0)
		ret = give_buffer(fc, netvsc, NVSP_RECEIVE_BUFFER, FC_MAP_RECEIVE,
				  NVSP_RECEIVE_ID, NVSP_RECEIVE_BUFFER_COMPLETE);
	if (ret == 0)
		ret = give_buffer(fc, netvsc, NVSP_SEND_BUFFER, FC_MAP_SEND, NVSP_SEND_ID,
				  NVSP_SEND_BUFFER_COMPLETE);
	if (ret == 0)
		ret = ask_rndis(fc, netvsc, initialize, RTE_DIM(initialize));
	return ret;
}

/* As Linux does, with an answer; DPDK waits for none. */
static int
switch_path(struct fc *fc, struct fc_netvsc *netvsc, uint32_t path)
{
	const uint32_t words[4] = { NVSP_DATA_PATH, path };
	int ret;

	netvsc->is_vf_path = path == PATH_VF;
	ret = ask_nvsp(fc, netvsc, words, NVSP_DATA_PATH);
	if (ret == 0 && netvsc->is_vf_path != (path == PATH_VF))
		return fc_fail(fc, -EIO, "--netvsc: %s: the host keeps the synthetic path",
			       netvsc->channel.uuid);
	return ret;
}

int
fc_netvsc_open(struct fc *fc, const char *uuid)
{
	struct fc_netvsc *netvsc = calloc(1, sizeof(*netvsc));
	int ret;

	if (netvsc == NULL)
		return fc_fail(fc, -ENOMEM, "--netvsc: no memory");
	fc->netvsc[fc->netvsc[0] != NULL] = netvsc;
	ret = fc_channel_open(fc, &netvsc->channel, uuid);
	if (ret == 0)
		ret = fc_channel_send_page(fc, &netvsc->channel, &netvsc->request_page);
	if (ret == 0)
		ret = start_session(fc, netvsc);
	if (ret == 0)
		ret = check_address(fc, netvsc);
	if (ret == 0)
		ret = set_filter(fc, netvsc, PACKET_FILTER);
	if (ret == 0)
		ret = await(fc, netvsc, &netvsc->has_vf, "report of a VF");
	return ret == 0 ? switch_path(fc, netvsc, PATH_VF) : ret;
}

void
fc_netvsc_poll(struct fc *fc)
{
	for (uint32_t i = 0; i < FC_NB_PORTS; i++) {
		struct fc_netvsc *netvsc = fc->netvsc[i];
		int ret = 1;

		if (netvsc == NULL || netvsc->is_loss_said)
			continue;
		for (uint32_t n = 0; n < MAX_PER_POLL && ret == 1; n++)
			ret = take_packet(fc, netvsc);
		if (ret >= 0 && netvsc->is_vf_path)
			continue;
		netvsc->is_loss_said = true;
		fprintf(stderr, "mana-first-contact: %s\n",
			ret < 0 ? fc->reason :
				  "the host has moved the data path away from the VF: what "
				  "follows is undecided");
	}
}

void
fc_netvsc_close(struct fc *fc)
{
	char reason[sizeof(fc->reason)];

	memcpy(reason, fc->reason, sizeof(reason));
	for (uint32_t i = 0; i < FC_NB_PORTS; i++) {
		struct fc_netvsc *netvsc = fc->netvsc[i];

		if (netvsc == NULL)
			continue;
		/* If the host does not answer, the close does both. */
		if (netvsc->is_vf_path && switch_path(fc, netvsc, PATH_SYNTHETIC) == 0)
			set_filter(fc, netvsc, 0);
		fc_channel_close(&netvsc->channel);
		free(netvsc);
		fc->netvsc[i] = NULL;
	}
	memcpy(fc->reason, reason, sizeof(reason));
}
