/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sources: Linux drivers/infiniband/hw/mana (main.c, device.c, qp.c, cq.c,
 * mr.c), drivers/net/ethernet/microsoft/mana (mana_en.c, mana_ethtool.c) and
 * drivers/infiniband/core of 6.2, 6.12.117, 7.2.13 and 7.3.4.
 */

#include <errno.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "kernel_state.h"
#include "kernel_version.h"
#include "mana_abi.h"

/* GDMA device types: vendor_part_id (gdma.h). */
#define GDMA_DEVICE_MANA 2
#define GDMA_DEVICE_MANA_IB 3
#define IP_CSUM 4 /* IB_RAW_PACKET_CAP_IP_CSUM */
#define PAGES_4K_TO_2M 0x3ff000ULL /* PAGE_SZ_BM */
#define RC_RNR_NAK_GEN (1u << 12)
#define CA_ACK_DELAY 16 /* MANA_CA_ACK_DELAY */
#define OLD_QUEUE_ENTRIES 256 /* MAX_SEND_BUFFERS_PER_QUEUE of 6.2 */
#define OLD_MAX_MR 0xffffff   /* MANA_IB_MAX_MR of 6.2 */
/* mana_ib_gd_query_adapter_caps(): in units of GDMA_MAX_SQE_SIZE */
#define RNIC_MAX_QP_WR (CARD_RNIC_MAX_WQ_BYTES / 512)

/* IB_UVERBS_CORE_SUPPORT_* */
#define OPTIONAL_MR_ACCESS 1
#define ROBUST_UDATA 2

#define LINK_LAYER_INFINIBAND 1
#define LINK_LAYER_ETHERNET 2
#define WIDTH_1X 1
#define WIDTH_4X 2
#define SPEED_SDR 1
#define SPEED_EDR 32

#define ACCESS_OLD                                                      \
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | \
	 IB_UVERBS_ACCESS_REMOTE_READ)
#define ACCESS_NEW                                                       \
	(ACCESS_OLD | IB_UVERBS_ACCESS_REMOTE_ATOMIC |                   \
	 IB_UVERBS_ACCESS_MW_BIND | IB_UVERBS_ACCESS_ZERO_BASED)

#define COMMON_LIMITS                                               \
	.page_size_cap = PAGES_4K_TO_2M,                            \
	.device_cap_flags = RC_RNR_NAK_GEN,                         \
	.max_qp = KERNEL_MAX_QP, .max_cq = KERNEL_MAX_CQ,           \
	.max_sge = KERNEL_MAX_RECV_SGE,                             \
	.max_sge_rd = KERNEL_MAX_RECV_SGE,                          \
	.max_mr = KERNEL_MAX_MR, .max_pd = KERNEL_MAX_PD,           \
	.max_ah = INT32_MAX, .max_pkeys = 1,                        \
	.local_ca_ack_delay = CA_ACK_DELAY
/* ASSUMED: the values that an RNIC reports. */
#define RNIC_LIMITS                                                 \
	COMMON_LIMITS, .max_qp_wr = RNIC_MAX_QP_WR,                 \
	.max_cqe = RNIC_MAX_QP_WR, .guid_from_mac = true
#define ETHERNET_PORT \
	.is_filled = true, .link_layer = LINK_LAYER_ETHERNET, .nb_pkeys = 1

/* What 7.2 and 7.3 have in common. */
#define LINUX_7								\
	.takes_pf2 = true,						\
	.does_service = true,						\
	.raw_name = "manae_%u",						\
	.rnic_is_apart = true,						\
	/* mana_eth_query_adapter_caps() */				\
	.raw = {							\
		.vendor_id = MODEL_PCI_VENDOR,				\
		.vendor_part_id = GDMA_DEVICE_MANA,			\
		.raw_packet_caps = IP_CSUM,				\
		.max_qp_wr = KERNEL_MAX_QP_WR,				\
		.max_cqe = KERNEL_MAX_CQE,				\
		COMMON_LIMITS,						\
	},								\
	.raw_port = { ETHERNET_PORT },					\
	/* mana_ib_gd_query_adapter_caps() */				\
	.rnic = {							\
		.vendor_id = MODEL_PCI_VENDOR,				\
		.vendor_part_id = GDMA_DEVICE_MANA_IB,			\
		RNIC_LIMITS,						\
	},								\
	/* One port; 200 Gb/s without lanes is 4X EDR (core/verbs.c). */	\
	.rnic_port = {							\
		ETHERNET_PORT,						\
		.nb_gids_first = 16,					\
		.width_first = WIDTH_4X,				\
		.speed_first = SPEED_EDR,				\
		.max_msg_bytes = 16u << 20,				\
	},								\
	.checks_driver_data = true,					\
	.core_support = OPTIONAL_MR_ACCESS | ROBUST_UDATA,		\
	.create_cq_bytes = sizeof(struct mana_abi_create_cq),		\
	.has_create_cq_answer = true,					\
	.has_reg_mr_method = true,					\
	.mr_access = ACCESS_NEW,					\
	.cq_kind = KERNEL_CQ_BY_DEVICE,					\
	.nb_comp_vectors = KERNEL_NB_COMP_VECTORS,			\
	.has_cq_table = true,						\
	.pd_has_one_port = true,					\
	.rss_after_tx = true,						\
	.refuses_second_rss = true,					\
	.carrier_is_link = true,					\
	.has_link_settings = true,					\
	.nb_channels = 16, /* MANA_DEF_NUM_QUEUES */			\
	.tso_max_bytes = 8 * 65535 /* GSO_MAX_SIZE */

static const struct kernel_version ages[] = {
	[MODEL_KERNEL_6_2] = {
		.version = "6.2",
		.raw_name = "mana_%u",
		/* query_device fills only these. */
		.raw = {
			.max_qp = 64, /* MANA_MAX_NUM_QUEUES */
			.max_qp_wr = OLD_QUEUE_ENTRIES,
			.max_sge = KERNEL_MAX_RECV_SGE,
			.max_cqe = OLD_QUEUE_ENTRIES,
			.max_mr = OLD_MAX_MR,
		},
		/*
		 * "This version doesn't return port properties", and the core
		 * without get_link_layer uses that of the node type, InfiniBand
		 * for a CA (core/verbs.c rdma_port_get_link_layer()).
		 */
		.raw_port = { .link_layer = LINK_LAYER_INFINIBAND },
		.core_support = OPTIONAL_MR_ACCESS,
		.create_cq_bytes = MANA_ABI_CREATE_CQ_MIN,
		.mr_access = ACCESS_OLD,
		.cq_kind = KERNEL_CQ_ALL_RAW,
		.nb_comp_vectors = 1,
		/* qp.c: attached_eq = GDMA_CQ_NO_EQ */
		.has_cq_table = false,
		.vport_error = -ENODEV,
		.nb_channels = 64,
		.tso_max_bytes = 65536, /* TSO_LEGACY_MAX_SIZE */
	},
	[MODEL_KERNEL_6_12] = {
		.version = "6.12",
		.raw_name = "mana_%u",
		.raw_needs_rnic = true,
		.raw = { RNIC_LIMITS },
		/*
		 * ib_get_eth_speed(): assumes 1000 Mb/s for the netdev of port
		 * 1, which has no link settings; other ports have no netdev.
		 */
		.raw_port = {
			ETHERNET_PORT,
			.nb_gids_first = 16,
			.width_first = WIDTH_1X,
			.speed_first = SPEED_SDR,
		},
		.core_support = OPTIONAL_MR_ACCESS,
		.create_cq_bytes = sizeof(struct mana_abi_create_cq),
		.has_create_cq_answer = true,
		.mr_access = ACCESS_OLD,
		.cq_kind = KERNEL_CQ_BY_FLAG,
		.nb_comp_vectors = KERNEL_NB_COMP_VECTORS,
		.has_cq_table = true,
		.vport_error = -ENODEV,
		.nb_channels = 64,
		.tso_max_bytes = 65536, /* TSO_LEGACY_MAX_SIZE */
	},
	[MODEL_KERNEL_7_2] = {
		.version = "7.2",
		LINUX_7,
	},
	[MODEL_KERNEL_7_3] = {
		.version = "7.3",
		LINUX_7,
	},
};

const struct kernel_version *
kernel_version_of(enum model_kernel kernel)
{
	return &ages[kernel];
}

const struct kernel_version *
kernel_version(void)
{
	return &ages[segment_config()->kernel];
}

const struct kernel_limits *
kernel_version_limits(bool is_rnic)
{
	return is_rnic ? &kernel_version()->rnic : &kernel_version()->raw;
}

const struct kernel_port_answer *
kernel_version_port(bool is_rnic)
{
	return is_rnic ? &kernel_version()->rnic_port : &kernel_version()->raw_port;
}
