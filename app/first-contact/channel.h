/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The primary channel of a synthetic device, by uio_hv_generic (Linux
 * drivers/uio/uio_hv_generic.c, DPDK drivers/bus/vmbus). What the host writes is copied
 * once, and then checked.
 */

#ifndef CHANNEL_H
#define CHANNEL_H

#include "first_contact.h"

/* Maps of the uio device, by index. Index 1 is the interrupt page. */
enum {
	FC_MAP_RINGS,
	FC_MAP_MONITOR = 2,
	FC_MAP_RECEIVE,
	FC_MAP_SEND,
	FC_NB_MAPS
};

enum {
	FC_VMBUS_IN_BAND = 6,
	FC_VMBUS_TRANSFER_PAGES = 7,
	FC_VMBUS_GPA_DIRECT = 9,
	FC_VMBUS_COMPLETION = 0xb,
};

#define FC_VMBUS_PAGE_BYTES  4096u
#define FC_VMBUS_DESC_BYTES  16u /* in front of a packet */
#define FC_PACKET_COPY_BYTES 256u

struct fc_map {
	uint8_t *addr;
	size_t nb_bytes;
	uint32_t gpadl; /* the host's handle; of the receive and the send buffer */
};

struct fc_channel {
	char uuid[37];
	int fd; /* -1: closed */
	struct fc_map maps[FC_NB_MAPS];
	uint32_t monitor_id; /* FC_NOT_SET: the channel has none */
	uint32_t data_bytes; /* of each ring */
	uint32_t out, in; /* indices of this program */
};

struct fc_vmbus_packet {
	uint16_t type;
	uint64_t transaction;
	uint32_t header_bytes, nb_bytes; /* in bytes[], which may lack the end */
	uint8_t bytes[FC_PACKET_COPY_BYTES];
};

/* A part of a packet to the host; whole words of 8 bytes but for the last. */
struct fc_vmbus_part {
	const void *bytes;
	uint32_t nb_bytes;
};

/* -EBUSY: another program has it open. Close it also after an error. */
int fc_channel_open(struct fc *fc, struct fc_channel *channel, const char *uuid);
/* The host ends the session, and delivers to the synthetic device again. */
void fc_channel_close(struct fc_channel *channel);
/* Writes a packet and rings. The extension is a part of the header. */
int fc_channel_put(struct fc *fc, struct fc_channel *channel, uint16_t type,
		   bool wants_completion, uint64_t transaction,
		   const struct fc_vmbus_part *extension,
		   const struct fc_vmbus_part *payload);
/* Takes the next packet: 1, 0 if there is none, or -EPROTO. */
int fc_channel_next(struct fc *fc, struct fc_channel *channel,
		    struct fc_vmbus_packet *packet);
/* The number of the first page of the send buffer, for the host. */
int fc_channel_send_page(struct fc *fc, const struct fc_channel *channel,
			 uint64_t *page);

#endif /* CHANNEL_H */
