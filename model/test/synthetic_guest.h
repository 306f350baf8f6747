/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A guest of a synthetic device, in this process: rings and buffers in plain memory,
 * packets written as drivers do it. Written from the sources that netvsp.h names.
 */

#ifndef MODEL_SYNTHETIC_GUEST_H
#define MODEL_SYNTHETIC_GUEST_H

#include "fixture.h"
#include "synthetic.h"

struct guest_channel {
	uint8_t *rings; /* guest to host, then host to guest */
	uint32_t out, in; /* indices of the guest */
};

struct guest {
	struct guest_channel channels[SYNTHETIC_MAX_CHANNELS];
	uint8_t *receive, *send;
	uint8_t *page; /* of a message */
	uint32_t next_id; /* of RNDIS requests */
};

/* A packet from the host, copied out of the ring. */
struct guest_packet {
	uint16_t type, flags;
	uint32_t header_bytes;
	uint64_t transaction;
	uint32_t range_bytes, range_offset; /* of transfer pages */
	uint32_t words[12]; /* payload */
};

/* The guest of device 0, which it opens and closes. */
extern struct guest guest;
void guest_open(void);
void guest_open_channel(uint32_t channel);
void guest_close(void);
/* cmocka's set-up and tear-down: with a machine. */
int guest_setup(void **state);
int guest_teardown(void **state);

/* Write a packet and ring the monitor page. */
void guest_put(uint32_t channel, uint16_t type, uint64_t transaction,
	       const void *extension, uint32_t extension_bytes,
	       const void *payload, uint32_t payload_bytes);
void guest_ring(uint32_t channel);
/* An NVSP message in band. */
void guest_nvs(const uint32_t *words, uint32_t nb_words);
/* The next packet from the host; false: none. */
bool guest_next(uint32_t channel, struct guest_packet *to);
/* Give a section back. */
void guest_ack(uint32_t channel, uint64_t section);

/* Start the session up to RNDIS INITIALIZE and a packet filter. */
void guest_negotiate(uint32_t version);
void guest_start(void);

/* A control message in guest.page; the answer in the receive buffer. */
const uint8_t *guest_control(uint32_t nb_bytes);
/* SET or QUERY; returns the answer. */
const uint8_t *guest_request(uint32_t type, uint32_t oid, const void *data,
			     uint32_t nb_bytes);

/* Send a frame with a per-packet info (GUEST_NO_INFO: none) by GPA ranges. */
#define GUEST_NO_INFO UINT32_MAX
void guest_frame(const uint8_t *frame, uint32_t nb_bytes, uint32_t info,
		 uint32_t value);
/* Build its RNDIS packet; returns the bytes. */
uint32_t guest_packet(uint8_t *to, const uint8_t *frame, uint32_t nb_bytes,
		      uint32_t info, uint32_t value);
/* Assert a completion 108 with this status. */
void guest_expect_status(uint32_t status);

#endif /* MODEL_SYNTHETIC_GUEST_H */
