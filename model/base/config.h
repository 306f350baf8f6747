/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The machine's configuration and its limits. The launcher writes it before any
 * program starts; it is read-only afterwards.
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
/* Rx completions have a 16-bit length; frames are MTU + 18 bytes at most. */
#define MODEL_MAX_MTU 65500

enum model_wire {
	MODEL_WIRE_DEFAULT, /* for one port: as the machine; for the machine: pair */
	MODEL_WIRE_PAIR, /* port 2k <-> port 2k + 1; an odd last port is looped */
	MODEL_WIRE_LOOP, /* frames return to the port */
	MODEL_WIRE_NONE, /* frames are dropped */
	MODEL_WIRE_TAP, /* to a Linux TAP interface */
	MODEL_WIRE_PCAP, /* frames are read from a file and written to a file */
	MODEL_WIRE_GEN, /* to a traffic generator and checker */
};

/* The configured wire of one port. */
struct model_port_wire {
	uint8_t kind; /* enum model_wire */
	uint16_t peer; /* of a pair: the other port's number, from 0 */
};

/* Where frames are captured. */
enum model_capture {
	MODEL_CAPTURE_NONE,
	MODEL_CAPTURE_FILE, /* all ports in one file */
	MODEL_CAPTURE_FOLDER, /* a file for each port */
};

enum model_mode {
	MODEL_MODE_SYNC, /* the device works during the doorbell store */
	MODEL_MODE_THREAD, /* a device thread per program works */
	/*
	 * For measuring: doorbell pages are plain memory, and the program acts as the
	 * device.
	 */
	MODEL_MODE_STEP,
};

/* The emulated Linux version; kernel_version.h lists the differences. */
enum model_kernel {
	MODEL_KERNEL_7_3, /* the newest, and the default */
	MODEL_KERNEL_7_2,
	MODEL_KERNEL_6_12,
	MODEL_KERNEL_6_2,
};

/* Synthetic devices of the ports, as on Azure, and the driver that owns them first. */
enum model_netvsc {
	MODEL_NETVSC_NONE, /* there are none */
	MODEL_NETVSC_HV, /* hv_netvsc: its netdevs are masters of the ports' */
	MODEL_NETVSC_UIO, /* uio_hv_generic */
};

/* PCI device ids: Linux gdma.h MANA_VF_DEVICE_ID, _PF_ and _PF2_. */
#define MODEL_PCI_VENDOR 0x1414
#define MODEL_PCI_VF	 0x00ba
#define MODEL_PCI_PF	 0x00b9
#define MODEL_PCI_PF2	 0x00c1

/* Policies of the virtual network (bits), off by default. */
#define MODEL_ENFORCE_SA    (1u << 0)
#define MODEL_ENFORCE_ETYPE (1u << 1)
#define MODEL_ENFORCE_VLAN  (1u << 2)
#define MODEL_ENFORCE_DMAC  (1u << 3)

struct model_config {
	char name[MODEL_MAX_NAME];
	/* File of the trace, "" for none, "-" for stderr; 0: all classes. */
	char trace[MODEL_MAX_PATH];
	uint32_t trace_classes; /* bits by enum trace_class */
	uint32_t nb_functions;
	uint32_t nb_ports[MODEL_MAX_FUNCTIONS];
	uint8_t mac_base[6];
	uint32_t max_mtu; /* bytes, without the 14-byte Ethernet header */
	uint32_t vp_offset_base; /* tx vPort offset of the first port */
	enum model_wire wire; /* of ports that have no entry in wires */
	struct model_port_wire wires[MODEL_MAX_PORTS]; /* in order */
	bool sink; /* check frames on all wires as on MODEL_WIRE_GEN */
	enum model_capture capture;
	char capture_path[MODEL_MAX_PATH]; /* absolute */
	enum model_mode mode;
	enum model_kernel kernel;
	uint16_t pci_device; /* id of the functions: MODEL_PCI_* */
	int32_t numa_node; /* of the functions; -1: none */
	/* Functions are served to virtual machines; no kernel is imitated. */
	bool is_pci;
	bool rnic; /* the adapter has an RNIC function too */
	enum model_netvsc netvsc;
	bool coalesce; /* up to four packets in one Rx CQE */
	/* A coalesced CQE stays open this long; 0: until the burst ends. */
	uint32_t coalesce_ns;
	bool cq_doorbell_strict; /* a CQ without a doorbell for 8 laps stops */
	bool fatal_violations;
	bool own_privileges; /* of the program's process; false: all that verbs need */
	uint32_t enforce; /* MODEL_ENFORCE_* */
	uint8_t quirks[NB_QUIRKS]; /* index of the chosen value */
	uint64_t seed;
};

/* Stores to doorbell pages are not trapped. */
static inline bool
config_has_plain_doorbells(const struct model_config *config)
{
	return config->mode == MODEL_MODE_STEP;
}

/* Time is virtual, see clock.h. */
static inline bool
config_is_virtual_time(const struct model_config *config)
{
	return config->mode == MODEL_MODE_SYNC ||
	       config->mode == MODEL_MODE_STEP;
}

#endif /* MODEL_CONFIG_H */
