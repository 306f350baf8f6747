/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the user chose and how large the modelled machine may be.
 * Filled by the launcher before any program starts, read-only afterwards.
 */

#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "quirks.h"

#define MODEL_MAX_FUNCTIONS	     16
#define MODEL_MAX_PORTS_PER_FUNCTION 64
#define MODEL_MAX_PORTS		     (MODEL_MAX_FUNCTIONS * MODEL_MAX_PORTS_PER_FUNCTION)
#define MODEL_MAX_PROCESSES	     64
#define MODEL_MAX_NAME		     64
#define MODEL_MAX_PATH		     1024
/* The Rx completion has 16 bits for a length; a frame has 18 more bytes. */
#define MODEL_MAX_MTU 65500

enum model_wire {
	MODEL_WIRE_DEFAULT, /* of one port: as all are; of all: pair */
	MODEL_WIRE_PAIR, /* port 2k <-> port 2k + 1; an odd last port is looped */
	MODEL_WIRE_LOOP, /* to itself */
	MODEL_WIRE_NONE, /* to nowhere */
	MODEL_WIRE_TAP, /* to a Linux TAP interface */
	MODEL_WIRE_PCAP, /* from a file and to a file */
	MODEL_WIRE_LINK, /* to a port of another machine */
	MODEL_WIRE_GEN, /* to a tester, which generates and checks frames */
};

/* What was said of the wire of one port. */
struct model_port_wire {
	uint8_t kind; /* enum model_wire */
	uint16_t peer; /* of a pair: number of the port, from 0 */
};

/* Where frames are captured. */
enum model_capture {
	MODEL_CAPTURE_NONE,
	MODEL_CAPTURE_FILE, /* all ports in one file */
	MODEL_CAPTURE_FOLDER, /* a file for each port */
};

enum model_mode {
	MODEL_MODE_SYNC, /* the device works inside the doorbell store */
	MODEL_MODE_THREAD, /* a device thread per program works */
	/* For measuring; doorbell pages are plain memory. */
	MODEL_MODE_STEP, /* the device works when the program says so */
	MODEL_MODE_POLLED, /* a device thread per program polls and works */
};

#define MODEL_ANY_CORE UINT32_MAX
/* The age of the kernel: traits.h says what each says and does. */
enum model_kernel {
	MODEL_KERNEL_7_2, /* the newest, and the default */
	MODEL_KERNEL_6_12,
	MODEL_KERNEL_6_2,
};

/* PCI device ids: Linux gdma.h MANA_VF_DEVICE_ID, _PF_ and _PF2_. */
#define MODEL_PCI_VENDOR 0x1414
#define MODEL_PCI_VF	 0x00ba
#define MODEL_PCI_PF	 0x00b9
#define MODEL_PCI_PF2	 0x00c1

/* Policies of the virtual network, off unless asked for (bits). */
#define MODEL_ENFORCE_SA    (1u << 0)
#define MODEL_ENFORCE_ETYPE (1u << 1)
#define MODEL_ENFORCE_VLAN  (1u << 2)
#define MODEL_ENFORCE_DMAC  (1u << 3)

struct model_config {
	char name[MODEL_MAX_NAME];
	/* File of the trace, "" for none, "-" for stderr; 0: all classes. */
	char trace[MODEL_MAX_PATH];
	uint32_t trace_classes; /* bits by enum trace_class */
	uint32_t replay; /* what of a recording: bits REPLAY_* */
	uint32_t nb_functions;
	uint32_t nb_ports[MODEL_MAX_FUNCTIONS];
	uint8_t mac_base[6];
	uint32_t max_mtu; /* bytes, without the 14-byte Ethernet header */
	uint32_t vp_offset_base; /* tx vPort offset of the first port */
	enum model_wire wire; /* of the ports without one of their own */
	struct model_port_wire wires[MODEL_MAX_PORTS]; /* in order */
	bool sink; /* all wires are checked, as MODEL_WIRE_GEN is */
	enum model_capture capture;
	char capture_path[MODEL_MAX_PATH]; /* absolute */
	enum model_mode mode;
	uint32_t core; /* of the polling thread; MODEL_ANY_CORE */
	enum model_kernel kernel;
	uint16_t pci_device; /* id of the functions: MODEL_PCI_* */
	bool rnic; /* the adapter has an RNIC function too */
	bool coalesce; /* up to four packets in one Rx CQE */
	uint32_t coalesce_ns; /* which waits so long for them; 0: a burst */
	bool cq_doorbell_strict; /* a CQ not rung within 8 laps stops */
	bool fatal_violations;
	uint32_t enforce; /* MODEL_ENFORCE_* */
	uint8_t quirks[NB_QUIRKS]; /* numbers of values */
	uint64_t seed;
};

/* Stores to a doorbell page are not seen one by one: its registers are read. */
static inline bool
config_is_plain(const struct model_config *config)
{
	return config->mode == MODEL_MODE_STEP ||
	       config->mode == MODEL_MODE_POLLED;
}

/* Time is virtual, see clock.h. */
static inline bool
config_is_virtual_time(const struct model_config *config)
{
	return config->mode == MODEL_MODE_SYNC ||
	       config->mode == MODEL_MODE_STEP;
}

#endif /* MODEL_CONFIG_H */
