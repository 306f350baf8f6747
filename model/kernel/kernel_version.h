/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * All differences between the emulated Linux versions: a table with a row for
 * each (--kernel). The code tests properties, never a version.
 */

#ifndef MODEL_KERNEL_VERSION_H
#define MODEL_KERNEL_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

/* Answer of mana_ib to query_device; fields not listed here are 0. */
struct kernel_limits {
	uint32_t vendor_id, vendor_part_id;
	uint32_t raw_packet_caps;
	uint64_t page_size_cap;
	uint32_t device_cap_flags;
	uint32_t max_qp, max_qp_wr;
	uint32_t max_sge, max_sge_rd;
	uint32_t max_cq, max_cqe;
	uint32_t max_mr, max_pd;
	uint32_t max_ah;
	uint16_t max_pkeys;
	uint8_t local_ca_ack_delay;
	bool guid_from_mac; /* node_guid: EUI-64 of the MAC of port 1 */
};

/* Answer of mana_ib to query_port; the core sets link_layer. */
struct kernel_port_answer {
	bool is_filled; /* else only link_layer is set */
	uint8_t link_layer;
	uint8_t nb_pkeys;
	uint16_t nb_gids_first, nb_gids_others; /* of port 1; of other ports */
	/* IB_WIDTH_*, IB_SPEED_*: of port 1; of other ports. */
	uint8_t width_first, speed_first, width_others, speed_others;
	uint32_t max_msg_bytes;
};

/* How create_cq detects a CQ of the RNIC, which no raw QP can use. */
enum kernel_cq_kind {
	KERNEL_CQ_ALL_RAW,
	KERNEL_CQ_BY_FLAG,   /* MANA_IB_CREATE_RNIC_CQ */
	KERNEL_CQ_BY_DEVICE, /* all CQs of the RNIC's RDMA device */
};

struct kernel_version {
	const char *version; /* as in --kernel */

	bool takes_pf2; /* mana_id_table has MANA_PF2_DEVICE_ID */
	/* gdma_main.c mana_serv_func(): it acts on the GDMA events 132 and 135. */
	bool does_service;

	/* RDMA devices of a PCI function. */
	const char *raw_name;	 /* the device for raw QPs; %u is its number */
	bool raw_needs_rnic;	 /* exists only on an adapter with an RNIC */
	bool rnic_is_apart;	 /* an RNIC has a second device: mana_N */
	struct kernel_limits raw, rnic;
	struct kernel_port_answer raw_port, rnic_port;

	/* uverbs */
	/*
	 * True: driver data must include the last required field, and bytes
	 * beyond the known ones must be 0, else EOPNOTSUPP. False: all known
	 * bytes are required, and bytes beyond are ignored.
	 */
	bool checks_driver_data;
	uint64_t core_support; /* IB_UVERBS_CORE_SUPPORT_* of get_context */
	uint32_t create_cq_bytes; /* size of the known create_cq request */
	bool has_create_cq_answer;
	bool has_reg_mr_method;
	uint32_t mr_access; /* IB_UVERBS_ACCESS_* that reg_mr takes */
	/*
	 * Result of a destroy command after removal of the RDMA device: 0;
	 * others give -EIO (core/rdma_core.c rdma_lookup_get_uobject()). Since
	 * Linux 4.19, before mana_ib.
	 */
	int destroy_after_removal;

	/* Queues */
	enum kernel_cq_kind cq_kind;
	uint32_t nb_comp_vectors;
	/*
	 * CQs have an event queue, and an entry in the table by which events
	 * find them (gdma_context.cq_table). False: CQs never have events.
	 */
	bool has_cq_table;
	int vport_error;     /* error of all vPort failures; 0: the actual cause */
	bool pd_has_one_port; /* PD in use by another port: EINVAL */
	bool rss_after_tx;   /* RSS without a Tx QP of the PD: EINVAL */
	bool refuses_second_rss; /* second RSS QP: EBUSY */

	/* Netdevs */
	bool carrier_is_link;	/* else it follows the administrative state */
	/* Operations in mana_ethtool_ops; without them: EOPNOTSUPP. */
	bool has_link_settings; /* get_link_ksettings, and with it get_link */
	uint32_t nb_channels;	/* of a new netdev */
	uint32_t tso_max_bytes; /* netif_set_tso_max_size() */
};

/* The version of this machine; of any version. */
const struct kernel_version *kernel_version(void);
const struct kernel_version *kernel_version_of(enum model_kernel kernel);
/* Answers of this version for the device for raw QPs, or for the RNIC's. */
const struct kernel_limits *kernel_version_limits(bool is_rnic);
const struct kernel_port_answer *kernel_version_port(bool is_rnic);

#endif /* MODEL_KERNEL_VERSION_H */
