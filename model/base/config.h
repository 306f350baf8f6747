/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the user chose and how large the modelled machine may be.
 * Filled by the launcher before any program starts, read-only afterwards.
 */

#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_MAX_FUNCTIONS	     16
#define MODEL_MAX_PORTS_PER_FUNCTION 64
#define MODEL_MAX_PORTS		     (MODEL_MAX_FUNCTIONS * MODEL_MAX_PORTS_PER_FUNCTION)
#define MODEL_MAX_PROCESSES	     64
#define MODEL_MAX_NAME		     64
#define MODEL_MAX_PATH		     1024
/* The Rx completion has 16 bits for a length; a frame has 18 more bytes. */
#define MODEL_MAX_MTU 65500

enum model_wire {
	MODEL_WIRE_PAIR, /* port 2k <-> port 2k + 1; an odd last port is looped */
	MODEL_WIRE_LOOP, /* every port to itself */
	MODEL_WIRE_TAP, /* every port to a Linux TAP interface */
};

enum model_mode {
	MODEL_MODE_SYNC, /* the device works inside the doorbell store */
	MODEL_MODE_THREAD, /* a device thread per program works */
};

/* Policies of the virtual network, off unless asked for (bits). */
#define MODEL_ENFORCE_SA    (1u << 0)
#define MODEL_ENFORCE_ETYPE (1u << 1)
#define MODEL_ENFORCE_VLAN  (1u << 2)
#define MODEL_ENFORCE_DMAC  (1u << 3)

struct model_config {
	char name[MODEL_MAX_NAME];
	char trace[MODEL_MAX_PATH]; /* file of the trace, "" for none */
	uint32_t nb_functions;
	uint32_t nb_ports[MODEL_MAX_FUNCTIONS];
	uint8_t mac_base[6];
	uint32_t max_mtu; /* bytes, without the 14-byte Ethernet header */
	uint32_t vp_offset_base; /* tx vPort offset of the first port */
	enum model_wire wire;
	enum model_mode mode;
	bool coalesce; /* up to four packets in one Rx CQE */
	bool cq_doorbell_strict; /* a CQ not rung within 8 laps stops */
	bool fatal_violations;
	uint32_t enforce; /* MODEL_ENFORCE_* */
	uint64_t seed;
};

#endif /* MODEL_CONFIG_H */
