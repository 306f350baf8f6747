/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The synthetic device of each port: the host's side of VMBus channels, NVSP and
 * RNDIS, as a program uses it through uio_hv_generic. Ports and functions are
 * those of the card. Call these with the machine's lock held; they are
 * async-signal-safe.
 *
 * Memory of a program is named by its process and its virtual address. A guest
 * physical address is the virtual address, too: see model-netvsc.rst.
 */

#ifndef MODEL_SYNTHETIC_H
#define MODEL_SYNTHETIC_H

#include <stdbool.h>
#include <stdint.h>

#include "netvsp.h"

/* Ports with a synthetic device, and channels of each: bits of the monitor page. */
#define SYNTHETIC_MAX_PORTS    8u
#define SYNTHETIC_MAX_CHANNELS 16u

/* Identifiers that sysfs publishes. The number is that of the port in the machine. */
static inline uint32_t
synthetic_monitor_id(uint32_t number, uint32_t channel)
{
	return number * SYNTHETIC_MAX_CHANNELS + channel;
}

static inline uint32_t
synthetic_relid(uint32_t number, uint32_t channel)
{
	return 32 + synthetic_monitor_id(number, channel);
}

static inline uint32_t
synthetic_gpadl(uint32_t number, enum vmbus_map map)
{
	return 0xe1e10 + number * VMBUS_NB_MAPS + (uint32_t)map;
}

/* A device for each port, bound to hv_netvsc. */
void synthetic_init(void);
/* The number of a port; false: it has no synthetic device. */
bool synthetic_number(uint32_t fn, uint32_t port, uint32_t *number);
/* The port of a number; false: there is none. */
bool synthetic_port(uint32_t number, uint32_t *fn, uint32_t *port);

/* uio_hv_generic owns the device (or no driver: both receive), or hv_netvsc. */
void synthetic_bind(uint32_t number, bool is_kernel);

/*
 * A process opens the primary channel, or a subchannel that the host has granted,
 * with rings at this address. Opening the primary begins a new session.
 */
void synthetic_open(uint32_t number, uint32_t channel, uint32_t process,
		    uint64_t rings);
/* The process has mapped the receive or send buffer. */
void synthetic_map(uint32_t number, enum vmbus_map map, uint32_t process,
		   uint64_t addr);
/* Ends the session. */
void synthetic_close(uint32_t number);
/* The process that has the primary channel open; 0: none. */
uint32_t synthetic_process(uint32_t number);
/* Channels that sysfs shows, with the primary. */
uint32_t synthetic_channels(uint32_t number);

/* A store of bits at an offset of the monitor page: the channels' packets. */
typedef void (*synthetic_send)(uint32_t fn, uint32_t port, const uint8_t *frame,
			       uint32_t nb_bytes);
void synthetic_signal(uint32_t offset, uint32_t bits, synthetic_send send);

/* The VF of the ports of a function has gone or returned: tell who does not know. */
void synthetic_vf(uint32_t fn, bool is_there);
/* As synthetic_vf(), but tell it again, too. */
void synthetic_announce_vf(uint32_t fn, bool is_there);
/* The VFs of the function have another serial number from now on. */
void synthetic_move(uint32_t fn);

/* A frame that the host delivers to the synthetic device. */
void synthetic_rx(uint32_t fn, uint32_t port, const uint8_t *frame,
		  uint32_t nb_bytes);

/* Whether a frame would find a section of the receive buffer behind nb_waiting. */
bool synthetic_has_room(uint32_t fn, uint32_t port, uint32_t nb_waiting);

/* The lock's holder was killed: the guest's rings say what it has published. */
void synthetic_recover(void);

struct synthetic_counters {
	uint64_t tx_packets, tx_bytes, tx_errors;
	uint64_t tx_beside_vf; /* sent while the data path was the VF */
	uint64_t rx_packets, rx_bytes;
	uint64_t rx_closed; /* no program or packet filter */
	uint64_t rx_no_buffer; /* receive buffer or ring was full */
	uint64_t to_vf, to_synthetic; /* switches of the data path */
	bool is_vf_path;
};
void synthetic_counters(uint32_t number, struct synthetic_counters *counters);

#endif /* MODEL_SYNTHETIC_H */
