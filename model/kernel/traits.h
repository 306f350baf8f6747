/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What differs from one Linux kernel to another: all of it, in one table with
 * a row for each age (--kernel). The code asks for a trait, never for a version.
 */

#ifndef MODEL_TRAITS_H
#define MODEL_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "ethtool_stats.h"

/* What mana_ib answers to query_device; what is not named here is 0. */
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

/* What mana_ib answers to query_port; link_layer is the core's. */
struct kernel_port_answer {
	bool is_filled; /* else nothing but link_layer */
	uint8_t link_layer;
	uint8_t nb_pkeys;
	uint16_t nb_gids_first, nb_gids_others; /* of port 1; of the others */
	/* IB_WIDTH_*, IB_SPEED_*: of port 1; of the others. */
	uint8_t width_first, speed_first, width_others, speed_others;
	uint32_t max_msg_bytes;
};

/* How create_cq decides that a CQ is the RNIC's, which no raw QP can use. */
enum kernel_cq_kind {
	KERNEL_CQ_ALL_RAW,
	KERNEL_CQ_BY_FLAG,   /* MANA_IB_CREATE_RNIC_CQ */
	KERNEL_CQ_BY_DEVICE, /* all of the RNIC's RDMA device */
};

struct kernel_traits {
	const char *version; /* as --kernel has it */

	bool takes_pf2; /* mana_id_table has MANA_PF2_DEVICE_ID */

	/* RDMA devices of a PCI function. */
	const char *raw_name;	 /* the one for raw QPs; %u is its number */
	bool raw_needs_rnic;	 /* it exists only on an adapter with an RNIC */
	bool rnic_is_apart;	 /* an RNIC makes a second one: mana_N */
	struct kernel_limits raw, rnic;
	struct kernel_port_answer raw_port, rnic_port;

	/* uverbs */
	/*
	 * Of driver data the last named field must be there, and behind what
	 * is known are zeros, else EOPNOTSUPP; others want the whole of it and
	 * do not look behind.
	 */
	bool checks_driver_data;
	uint32_t create_cq_bytes; /* size of the known create_cq request */
	bool has_create_cq_answer;
	bool has_reg_mr_method;
	uint32_t mr_access; /* IB_UVERBS_ACCESS_* that reg_mr takes */
	/*
	 * What a destroy command gives when the RDMA device is gone: 0, while
	 * all others give -EIO (core/rdma_core.c rdma_lookup_get_uobject()). So
	 * since Linux 4.19, hence at all ages that have mana_ib.
	 */
	int destroy_after_removal;

	/* Queues */
	enum kernel_cq_kind cq_kind;
	uint32_t nb_comp_vectors;
	/*
	 * CQs have an event queue, and an entry of their own in the table by
	 * which it finds them (gdma_context.cq_table): else no events, ever.
	 */
	bool has_cq_table;
	int vport_error;     /* of all failures of the vPort; 0: the cause */
	bool pd_has_one_port; /* a PD in use by a port: EINVAL for others */
	bool rss_after_tx;   /* RSS without a send QP of the PD: EINVAL */
	bool rss_is_alone;   /* a second RSS QP: EBUSY */

	/* Netdevs */
	bool carrier_is_link;	/* else it follows up and down */
	/* mana_ethtool_ops: else EOPNOTSUPP. */
	bool has_link_settings; /* get_link_ksettings, and with it get_link */
	bool has_rings;		/* get_ringparam, set_ringparam */
	uint32_t rx_ring;	/* of a new netdev: DEF_RX_BUFFERS_PER_QUEUE */
	bool has_coalescing;	/* get_coalesce */
	bool has_private_flags;
	const struct ethtool_stats_group *statistics;
	bool channels_are_busy; /* ETHTOOL_SCHANNELS with raw QPs: EBUSY */
	uint32_t nb_channels;	/* of a new netdev */
};

/* Of the machine; of one that is not running. */
const struct kernel_traits *kernel_traits(void);
const struct kernel_traits *kernel_traits_of(enum model_kernel kernel);

#endif /* MODEL_TRAITS_H */
