/* SPDX-License-Identifier: BSD-3-Clause */

/* The session with a synthetic device, and a host that answers what it must not. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "channel.h"

#define MAX_WAITING   16u
#define RECEIVE_BYTES 4096u
#define ANSWER_OFF    512u

enum fault {
	NO_FAULT,
	SILENT, /* no answer at all */
	FLOOD, /* never an answer, always a packet */
	OLD_VERSIONS,
	OTHER_NVSP_ANSWER,
	BUFFER_REFUSED,
	RANGE_OUTSIDE,
	RANGE_TOO_LONG,
	OTHER_ID,
	OTHER_RNDIS_ANSWER,
	RNDIS_STATUS,
	ADDRESS_OUTSIDE,
	ADDRESS_TOO_LONG,
	OTHER_ADDRESS,
	NO_VF,
	PATH_FAILS,
};

/* One at a time: the fakes below have no other argument for it. */
static struct host {
	enum fault fault;
	struct fc fc;
	struct fc_vmbus_packet waiting[MAX_WAITING];
	uint32_t nb_waiting, nb_acks, nb_closed;
	uint32_t path, filter;
	uint64_t now_ns;
	uint32_t receive[RECEIVE_BYTES / 4], send[RECEIVE_BYTES / 4];
} host;

static const uint8_t mac[FC_MAC_BYTES] = { 0, 0x0d, 0x3a, 1, 2, 3 };

int
fc_fail(struct fc *fc, int error, const char *format, ...)
{
	snprintf(fc->reason, sizeof(fc->reason), "%s", format);
	return error;
}

uint64_t
fc_now_ns(void)
{
	return host.now_ns += 100000000;
}

/* ---- The host ---- */

static struct fc_vmbus_packet *
queue(uint16_t type, uint64_t transaction, uint32_t header_bytes)
{
	struct fc_vmbus_packet *packet = &host.waiting[host.nb_waiting++];

	assert_true(host.nb_waiting <= MAX_WAITING);
	*packet = (struct fc_vmbus_packet){
		.type = type,
		.transaction = transaction,
		.header_bytes = header_bytes,
		.nb_bytes = header_bytes + 40,
	};
	return packet;
}

static void
complete(uint64_t transaction, uint32_t type, uint32_t status1, uint32_t status3)
{
	const uint32_t words[] = { type, status1, 0, status3 };
	struct fc_vmbus_packet *packet = queue(FC_VMBUS_COMPLETION, transaction, 16);

	memcpy(packet->bytes + 16, words, sizeof(words));
}

static void
notify(uint32_t type, uint32_t value)
{
	const uint32_t words[] = { type, value };

	memcpy(queue(FC_VMBUS_IN_BAND, UINT64_C(1) << 63, 16)->bytes + 16, words,
	       sizeof(words));
}

static void
answer_nvsp(const uint32_t *words, uint64_t transaction)
{
	switch (words[0]) {
	case 1:
		complete(transaction, host.fault == OTHER_NVSP_ANSWER ? 105 : 2, 0,
			 host.fault != OLD_VERSIONS);
		break;
	case 101:
	case 104:
		complete(transaction, words[0] + 1, host.fault == BUFFER_REFUSED ? 2 : 1, 0);
		break;
	case 129:
		host.path = words[1];
		if (host.fault == PATH_FAILS)
			notify(129, 0);
		complete(transaction, 129, 1, 0);
		break;
	}
}

static void
answer_rndis(uint64_t transaction)
{
	uint32_t *answer = host.receive + ANSWER_OFF / 4;
	/* Number of ranges, bytes, offset. */
	uint32_t ranges[] = { 1, 64, ANSWER_OFF }, nvsp[] = { 107, 1 };
	struct fc_vmbus_packet *packet;

	answer[0] = (host.fault == OTHER_RNDIS_ANSWER ? 3 : host.send[0]) | 0x80000000;
	answer[2] = host.send[2] + (host.fault == OTHER_ID);
	answer[3] = host.fault == RNDIS_STATUS ? 0xc0000001 : 0;
	answer[4] = host.fault == ADDRESS_TOO_LONG ? UINT32_MAX : 6;
	answer[5] = host.fault == ADDRESS_OUTSIDE ? UINT32_MAX - 7 : 16;
	memcpy(answer + 6, mac, sizeof(mac));
	if (host.fault == RANGE_OUTSIDE)
		ranges[2] = UINT32_MAX - 8;
	if (host.fault == RANGE_TOO_LONG)
		ranges[1] = UINT32_MAX;
	if (host.send[0] == 5)
		host.filter = host.send[7];
	complete(transaction, 108, 1, 0);
	packet = queue(FC_VMBUS_TRANSFER_PAGES, 5, 32);
	memcpy(packet->bytes + 20, ranges, sizeof(ranges));
	memcpy(packet->bytes + 32, nvsp, sizeof(nvsp));
	if (host.send[0] == 2 && host.fault != NO_VF)
		notify(128, 1);
}

int
fc_channel_put(struct fc *fc, struct fc_channel *channel, uint16_t type,
	       bool wants_completion, uint64_t transaction,
	       const struct fc_vmbus_part *extension, const struct fc_vmbus_part *payload)
{
	(void)fc, (void)channel, (void)wants_completion, (void)extension;
	if (type == FC_VMBUS_COMPLETION)
		host.nb_acks++;
	else if (host.fault == SILENT || host.fault == FLOOD)
		return 0;
	else if (type == FC_VMBUS_IN_BAND)
		answer_nvsp(payload->bytes, transaction);
	else
		answer_rndis(transaction);
	return 0;
}

int
fc_channel_next(struct fc *fc, struct fc_channel *channel, struct fc_vmbus_packet *packet)
{
	(void)fc, (void)channel;
	if (host.fault == FLOOD && host.nb_waiting == 0)
		queue(FC_VMBUS_TRANSFER_PAGES, 1, UINT16_MAX * 8);
	if (host.nb_waiting == 0)
		return 0;
	*packet = host.waiting[0];
	memmove(host.waiting, host.waiting + 1, --host.nb_waiting * sizeof(*packet));
	packet->nb_bytes = RTE_MIN(packet->nb_bytes, FC_PACKET_COPY_BYTES);
	return 1;
}

int
fc_channel_open(struct fc *fc, struct fc_channel *channel, const char *uuid)
{
	(void)fc, (void)uuid;
	channel->maps[FC_MAP_RECEIVE].addr = (uint8_t *)host.receive;
	channel->maps[FC_MAP_RECEIVE].nb_bytes = sizeof(host.receive);
	channel->maps[FC_MAP_SEND].addr = (uint8_t *)host.send;
	channel->maps[FC_MAP_SEND].nb_bytes = sizeof(host.send);
	return 0;
}

void
fc_channel_close(struct fc_channel *channel)
{
	host.nb_closed++;
}

int
fc_channel_send_page(struct fc *fc, const struct fc_channel *channel, uint64_t *page)
{
	(void)fc, (void)channel;
	*page = 0x123456789;
	return 0;
}

/* ---- Tests ---- */

static int
open_with(enum fault fault)
{
	host = (struct host){ .fault = fault };
	host.fc.ports[1].ctx = (struct ibv_context *)&host; /* not read */
	memcpy(host.fc.ports[1].mac, mac, sizeof(mac));
	if (fault == OTHER_ADDRESS)
		host.fc.ports[1].mac[5]++;
	return fc_netvsc_open(&host.fc, "uuid");
}

static void
test_session(void **state)
{
	assert_int_equal(open_with(NO_FAULT), 0);
	assert_int_equal(host.path, 1);
	assert_int_equal(host.filter, 0xd);
	assert_int_equal(host.nb_acks, 3); /* INITIALIZE, address, filter */
	fc_fail(&host.fc, -EIO, "an error before");
	fc_netvsc_close(&host.fc);
	assert_int_equal(host.path, 0);
	assert_int_equal(host.filter, 0);
	assert_int_equal(host.nb_closed, 1);
	assert_string_equal(host.fc.reason, "an error before");
	fc_netvsc_close(&host.fc);
	assert_int_equal(host.nb_closed, 1);
}

static void
test_wrong_answers(void **state)
{
	static const struct {
		enum fault fault;
		int error;
	} rows[] = {
		{ SILENT, -ETIMEDOUT },		 { FLOOD, -ETIMEDOUT },
		{ OLD_VERSIONS, -EPROTO },	 { OTHER_NVSP_ANSWER, -EPROTO },
		{ BUFFER_REFUSED, -EPROTO },	 { RANGE_OUTSIDE, -ETIMEDOUT },
		{ RANGE_TOO_LONG, -ETIMEDOUT },	 { OTHER_ID, -ETIMEDOUT },
		{ OTHER_RNDIS_ANSWER, -EPROTO }, { RNDIS_STATUS, -EPROTO },
		{ ADDRESS_OUTSIDE, -EPROTO },	 { ADDRESS_TOO_LONG, -EPROTO },
		{ OTHER_ADDRESS, -EINVAL },	 { NO_VF, -ETIMEDOUT },
		{ PATH_FAILS, -EIO },
	};

	for (uint32_t i = 0; i < RTE_DIM(rows); i++) {
		assert_int_equal(open_with(rows[i].fault), rows[i].error);
		assert_string_not_equal(host.fc.reason, "");
		fc_netvsc_close(&host.fc);
		assert_int_equal(host.nb_closed, 1);
	}
}

/* A poll ends, though the host writes packets without end. */
static void
test_flood_while_running(void **state)
{
	assert_int_equal(open_with(NO_FAULT), 0);
	host.fault = FLOOD;
	fc_netvsc_poll(&host.fc);
	assert_true(host.nb_acks > 3);
	/* The host no longer answers. */
	fc_netvsc_close(&host.fc);
	assert_int_equal(host.nb_closed, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_wrong_answers),
		cmocka_unit_test(test_flood_while_running),
	};

	return cmocka_run_group_tests_name("netvsc", tests, NULL, NULL);
}
