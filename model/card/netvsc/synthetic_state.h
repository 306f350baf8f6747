/* SPDX-License-Identifier: BSD-3-Clause */

/* State of the synthetic devices in the segment. Zero is the state at start. */

#ifndef MODEL_SYNTHETIC_STATE_H
#define MODEL_SYNTHETIC_STATE_H

#include "card_state.h"
#include "synthetic.h"
#include "vmbus_ring.h"

#define SYNTHETIC_RSS_ENTRIES 128u
/* The smallest section is for an MTU of 1500: see nvsp.c. */
#define SYNTHETIC_MAX_SECTIONS 18048u
#define SYNTHETIC_SEND_SECTION_BYTES 6144u
/* Largest message of RNDIS: headers, and a frame before its segmentation. */
#define SYNTHETIC_MESSAGE_BYTES ((64u << 10) + 2048u)

struct synthetic_channel {
	bool is_open;
	uint64_t rings; /* address in the process */
	uint32_t in_index, out_index; /* of the host */
};

struct synthetic_rss {
	bool is_on;
	uint32_t nb_entries;
	uint8_t table[SYNTHETIC_RSS_ENTRIES]; /* channels */
	struct toeplitz toeplitz;
};

/* From the open of the primary channel to its close. */
struct synthetic_session {
	uint32_t process;
	uint64_t receive, send; /* addresses of the buffers */
	uint32_t version; /* NVSP; 0: not negotiated */
	bool has_config, has_ndis, has_receive, has_send;
	bool is_sriov; /* the guest wants to hear of VFs */
	bool is_revoked; /* buffers are taken back: nothing is processed */
	uint32_t mtu;
	bool is_initialized; /* RNDIS */
	uint32_t filter;
	bool is_vf_told; /* of the present VF */
	bool was_vf_told; /* ever */
	uint32_t nb_channels; /* granted, with the primary */
	struct synthetic_channel channels[SYNTHETIC_MAX_CHANNELS];
	struct synthetic_rss rss;
	/* Sections of the receive buffer that the guest has. */
	uint32_t section_bytes, nb_sections, next_section;
	uint64_t lent[SYNTHETIC_MAX_SECTIONS / 64];
};

struct synthetic_device {
	uint32_t fn, port;
	uint32_t serial; /* of the VF */
	bool is_kernel; /* hv_netvsc owns it */
	bool is_vf_gone;
	bool is_vf_path;
	struct synthetic_counters counters;
	struct synthetic_session session;
};

/* Of the whole machine: the lock's holder uses the buffers. */
struct synthetic {
	uint32_t nb_devices;
	struct synthetic_device devices[SYNTHETIC_MAX_PORTS];
	struct vmbus_packet packet;
	uint8_t message[SYNTHETIC_MESSAGE_BYTES];
	uint8_t section[CARD_FRAME_BYTES + 512]; /* an RNDIS packet to the guest */
};

static inline struct synthetic_device *
synthetic_device(uint32_t number)
{
	struct synthetic *synthetic = segment_synthetic();

	return number < synthetic->nb_devices ? &synthetic->devices[number] :
						NULL;
}

/* Sets whether frames of the port's wire go to the synthetic device. */
void synthetic_route(const struct synthetic_device *device);

void synthetic_violation(const struct synthetic_device *device,
			 enum violation violation, const void *bytes,
			 uint32_t nb_bytes);

/*
 * A packet to the guest, whose payload is an NVSP message: its size is that of the
 * session's version. 0, or a negative errno of vmbus_ring_put().
 */
int synthetic_put(struct synthetic_device *device, uint32_t channel,
		  struct vmbus_message *message, uint32_t reserve_bytes);
/* Complete a packet with an NVSP message of nb_words. */
int synthetic_complete(struct synthetic_device *device, uint32_t channel,
		       uint64_t transaction, const uint32_t *words,
		       uint32_t nb_words);

/* nvsp.c: a packet that is in band. 0, or -EAGAIN: it stays in the ring. */
int nvsp_handle(struct synthetic_device *device, uint32_t channel,
		const struct vmbus_packet *packet);
/*
 * Tell the guest that the host has moved the data path to the synthetic device (OpenVMM
 * netvsp lib.rs, message 129 with 0), before a VF goes that it has been told of.
 */
void nvsp_report_fallback(struct synthetic_device *device);
/* Tell the guest whether there is a VF, if it has to know. */
void nvsp_report_vf(struct synthetic_device *device);

/* rndis_control.c: a control message of nb_bytes in synthetic->message. */
void rndis_control(struct synthetic_device *device, uint32_t nb_bytes);

/* rndis_tx.c: data messages in synthetic->message. */
void rndis_tx(struct synthetic_device *device, uint32_t nb_bytes,
	      synthetic_send send);

/* rndis_rx.c: the guest gives a section back. False: it does not have it. */
bool rndis_take_back(struct synthetic_device *device, uint64_t section);
/*
 * rndis_rx.c: lend a section with this RNDIS message to the guest. -ENOBUFS: none
 * is free.
 */
int rndis_lend(struct synthetic_device *device, uint32_t channel,
	       const void *message, uint32_t nb_bytes, bool is_control);

#endif /* MODEL_SYNTHETIC_STATE_H */
