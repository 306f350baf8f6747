/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Layouts of the hardware channel: events, messages, requests and answers.
 * Transcribed from Linux include/net/mana (gdma.h, hw_channel.h, mana.h) and
 * drivers/infiniband/hw/mana/mana_ib.h, as of 6.12 and 7.3; what only OpenVMM has,
 * from its gdma_defs (lib.rs, bnic.rs). All fields are little endian and naturally
 * aligned. Field names are Linux's.
 */

#ifndef MODEL_MESSAGES_H
#define MODEL_MESSAGES_H

#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <stdint.h>

static_assert(BYTE_ORDER == LITTLE_ENDIAN, "messages are copied unconverted");

/* Events: struct gdma_eqe, union gdma_eqe_info. */
#define EQE_BYTES    16u
#define EQE_INFO_OFF 12
#define EQE_OWNER_S  29
#define EQE_OWNER_M  0x7u

enum eqe_type {
	EQE_COMPLETION = 3, /* details[0]: CQ id */
	EQE_TEST = 64,
	EQE_HWC_INIT_EQ_ID_DB = 129, /* EQ id, doorbell page << 16 */
	EQE_HWC_INIT_DATA = 130, /* value, enum hwc_init_data << 24 */
	EQE_HWC_INIT_DONE = 131,
	EQE_HWC_FPGA_RECONFIG = 132,
	EQE_HWC_RECONFIG_DATA = 133, /* value, enum hwc_reconfig << 24 */
	EQE_HWC_SOC_SERVICE = 134,
	EQE_HWC_RESET_REQUEST = 135,
};

enum hwc_init_data {
	HWC_INIT_CQ_ID = 1,
	HWC_INIT_RQ_ID,
	HWC_INIT_SQ_ID,
	HWC_INIT_QUEUE_DEPTH,
	HWC_INIT_MAX_REQUEST,
	HWC_INIT_MAX_RESPONSE,
	HWC_INIT_MAX_NUM_CQS,
	HWC_INIT_PD_ID,
	HWC_INIT_GPA_MKEY,
	HWC_INIT_PF_DEST_RQ_ID,
	HWC_INIT_PF_DEST_CQ_ID,
};

enum hwc_reconfig {
	HWC_RECONFIG_TIMEOUT_MS = 1,
	HWC_RECONFIG_LINK_CONNECT,
	HWC_RECONFIG_LINK_DISCONNECT,
};

/* Linux gdma.h enum gdma_service_type. */
enum service {
	SERVICE_RDMA_SUSPEND = 1,
	SERVICE_RDMA_RESUME,
};
#define SERVICE_TYPE_S 28

#define HWC_DATA_VALUE_M 0xffffffu
#define HWC_DATA_TYPE_S	 24

#define HWC_MAX_MESSAGE_BYTES 4096u /* HW_CHANNEL_MAX_REQUEST_SIZE */

/* The OOB of a WQE of the channel's SQ: struct hwc_tx_oob. */
#define HWC_TX_OOB_BYTES    24u
#define HWC_TX_OOB_SCQ_OFF  16 /* id in bits 0 to 23 */
#define HWC_TX_OOB_SQ_OFF   20
#define HWC_TX_OOB_ID_M	    0xffffffu
#define HWC_CQE_WQE_OFF_OFF 12 /* struct hwc_rx_oob: wqe_offset, bytes */
#define HWC_CQE_SIZE_OFF    24 /* tx_oob_data_size */
#define HWC_CQE_SOM_EOM	    0xc0u /* the whole message */

/* Status of an answer. */
#define STATUS_OK	       0u
#define STATUS_MORE_ENTRIES    0x105u
#define STATUS_UNSUPPORTED     UINT32_MAX
#define STATUS_REFUSED	       1u /* ASSUMED: drivers know no other value */

enum request_code {
	GDMA_VERIFY_VF_DRIVER_VERSION = 1,
	GDMA_QUERY_MAX_RESOURCES = 2,
	GDMA_LIST_DEVICES = 3,
	GDMA_REGISTER_DEVICE = 4,
	GDMA_DEREGISTER_DEVICE = 5,
	GDMA_GENERATE_TEST_EQE = 10,
	GDMA_GENERATE_RESET_REQUEST_EQE = 11, /* OpenVMM */
	GDMA_CREATE_QUEUE = 12,
	GDMA_DISABLE_QUEUE = 13,
	GDMA_ALLOCATE_RESOURCE_RANGE = 22,
	GDMA_DESTROY_RESOURCE_RANGE = 24,
	GDMA_CREATE_DMA_REGION = 25,
	GDMA_DMA_REGION_ADD_PAGES = 26,
	GDMA_DESTROY_DMA_REGION = 27,
	GDMA_CREATE_PD = 29,
	GDMA_DESTROY_PD = 30,
	GDMA_CREATE_MR = 31,
	GDMA_DESTROY_MR = 32,
	GDMA_CHANGE_MSIX_FOR_EQ = 81, /* OpenVMM */
	GDMA_QUERY_HWC_TIMEOUT = 84,
	GDMA_ALLOC_DM = 96,
	GDMA_DESTROY_DM = 97,

	MANA_QUERY_DEV_CONFIG = 0x20001,
	MANA_QUERY_GF_STAT = 0x20002,
	MANA_CONFIG_VPORT_TX = 0x20003,
	MANA_CREATE_WQ_OBJ = 0x20004,
	MANA_DESTROY_WQ_OBJ = 0x20005,
	MANA_FENCE_RQ = 0x20006,
	MANA_CONFIG_VPORT_RX = 0x20007,
	MANA_QUERY_VPORT_CONFIG = 0x20008,
	MANA_QUERY_LINK_CONFIG = 0x2000a,
	MANA_SET_BW_CLAMP = 0x2000b,
	MANA_QUERY_PHY_STAT = 0x2000c,

	RNIC_GET_ADAPTER_CAP = 0x30001,
	RNIC_CREATE_ADAPTER = 0x30002,
	RNIC_DESTROY_ADAPTER = 0x30003,
	RNIC_CONFIG_IP_ADDR = 0x30004,
	RNIC_CONFIG_MAC_ADDR = 0x30005,
	RNIC_CREATE_UD_QP = 0x30006,
	RNIC_DESTROY_UD_QP = 0x30007,
	RNIC_CREATE_CQ = 0x30008,
	RNIC_DESTROY_CQ = 0x30009,
	RNIC_CREATE_RC_QP = 0x3000a,
	RNIC_SET_QP_STATE = 0x3000d,
	RNIC_QUERY_VF_COUNTERS = 0x30022,
	RNIC_QUERY_DEVICE_COUNTERS = 0x30023,
};

enum device_type {
	DEVICE_NONE,
	DEVICE_HWC,
	DEVICE_MANA,
	DEVICE_RNIC,
	NB_DEVICE_TYPES
};

enum queue_type {
	QUEUE_SQ = 1,
	QUEUE_RQ,
	QUEUE_CQ,
	QUEUE_EQ,
};

struct message_header {
	uint32_t hdr_type; /* 0 */
	uint32_t msg_type; /* enum request_code */
	uint16_t msg_version;
	uint16_t hwc_msg_id;
	uint32_t msg_size; /* bytes */
};
struct device_id {
	uint16_t type, instance;
};
struct request_header {
	struct message_header req, resp; /* resp: the expected answer */
	struct device_id dev_id;
	uint32_t activity_id;
};
static_assert(sizeof(struct request_header) == 40, "struct gdma_req_hdr");
struct answer_header {
	struct message_header response;
	struct device_id dev_id;
	uint32_t activity_id;
	uint32_t status;
	uint32_t reserved;
};
static_assert(sizeof(struct answer_header) == 32, "struct gdma_resp_hdr");

struct verify_version_request {
	struct request_header hdr;
	uint64_t protocol_ver_min, protocol_ver_max;
	uint64_t drv_cap_flags[4];
	uint64_t drv_ver;
	uint32_t os_type, reserved;
	uint32_t os_ver_major, os_ver_minor, os_ver_build, os_ver_platform;
	uint64_t reserved_2;
	uint8_t os_ver_str[4][128];
};
static_assert(sizeof(struct verify_version_request) == 640, "verify version");
struct verify_version_answer {
	struct answer_header hdr;
	uint64_t protocol_ver;
	uint64_t pf_cap_flags[4];
};
/* Send GDMA_QUERY_HWC_TIMEOUT: GDMA_DRV_CAP_FLAG_1_HWC_TIMEOUT_RECONFIG. */
#define PF_CAP_1_HWC_TIMEOUT (UINT64_C(1) << 3)

struct max_resources_answer {
	struct answer_header hdr;
	uint32_t status;
	uint32_t max_sq, max_rq, max_cq, max_eq, max_db, max_mst;
	uint32_t max_cq_mod_ctx, max_mod_cq, max_msix;
};
struct list_devices_answer {
	struct answer_header hdr;
	uint32_t num_of_devs, reserved;
	struct device_id devs[64];
};
struct register_device_answer {
	struct answer_header hdr;
	uint32_t pdid, gpa_mkey, db_id;
};
struct test_eqe_request {
	struct request_header hdr;
	uint32_t queue_index;
};
struct reset_eqe_request { /* OpenVMM GdmaGenerateResetEventReq */
	struct request_header hdr;
	uint32_t queue_index;
	uint32_t data; /* bit 0: revoke the VF of VTL0 */
};
struct change_msix_request { /* OpenVMM GdmaChangeMsixVectorIndexForEq */
	struct request_header hdr;
	uint32_t queue_index, msix, reserved1, reserved2;
};
struct create_queue_request {
	struct request_header hdr;
	uint32_t type, reserved1; /* enum queue_type */
	uint32_t pdid, doorbell_id;
	uint64_t gdma_region;
	uint32_t reserved2, queue_size;
	uint32_t log2_throttle_limit, eq_pci_msix_index;
	uint32_t cq_mod_ctx_id, cq_parent_eq_id;
	uint8_t rq_drop_on_overrun, rq_err_on_wqe_overflow;
	uint8_t rq_chain_rec_wqes, sq_hw_db;
	uint32_t reserved3;
};
static_assert(sizeof(struct create_queue_request) == 96, "create queue");
struct create_queue_answer {
	struct answer_header hdr;
	uint32_t queue_index;
};
struct disable_queue_request {
	struct request_header hdr;
	uint32_t type, queue_index, alloc_res_id_on_creation;
};
#define RESOURCE_DOORBELL_PAGE 27
struct allocate_range_request {
	struct request_header hdr;
	uint32_t resource_type, num_resources, alignment, allocated_resources;
};
struct allocate_range_answer {
	struct answer_header hdr;
	uint32_t allocated_resources;
};
struct destroy_range_request {
	struct request_header hdr;
	uint32_t resource_type, num_resources, allocated_resources;
};
struct create_region_request {
	struct request_header hdr;
	uint64_t length;
	uint32_t offset_in_page;
	uint32_t gdma_page_type; /* pages have 4096 << this bytes */
	uint32_t page_count, page_addr_list_len;
	/* page_addr_list follows */
};
static_assert(sizeof(struct create_region_request) == 64, "create region");
struct create_region_answer {
	struct answer_header hdr;
	uint64_t dma_region_handle;
};
struct add_pages_request {
	struct request_header hdr;
	uint64_t dma_region_handle;
	uint32_t page_addr_list_len, reserved3;
	/* page_addr_list follows */
};
struct handle_request { /* requests with one handle: destroy, fence */
	struct request_header hdr;
	uint64_t handle;
};
static_assert(sizeof(struct handle_request) == 48, "handle");
struct create_pd_request {
	struct request_header hdr;
	uint32_t flags, reserved;
};
#define PD_FLAG_ALLOW_GPA_MR (1u << 0)
#define PD_FLAG_SHORT_PDN    (1u << 2)
struct create_pd_answer {
	struct answer_header hdr;
	uint64_t pd_handle;
	uint32_t pd_id, reserved;
};
enum mr_type {
	MR_GPA = 1,
	MR_GVA = 2,
	MR_ZBVA = 4,
};
#define MR_ACCESS_LOCAL_WRITE (1u << 1)
struct create_mr_request {
	struct request_header hdr;
	uint64_t pd_handle;
	uint32_t mr_type, reserved_1; /* enum mr_type */
	uint64_t dma_region_handle;
	union {
		struct {
			uint64_t virtual_address;
			uint32_t access_flags;
		} gva;
		struct {
			uint32_t access_flags;
		} zbva;
	};
};
static_assert(sizeof(struct create_mr_request) == 80, "create MR, part");
#define CREATE_MR_REQUEST_BYTES 88u /* v2: and the length of device memory */
struct create_mr_answer {
	struct answer_header hdr;
	uint64_t mr_handle;
	uint32_t lkey, rkey;
};
struct hwc_timeout_request {
	struct request_header hdr;
	uint32_t timeout_ms, reserved;
};
struct hwc_timeout_answer {
	struct answer_header hdr;
	uint32_t timeout_ms, reserved;
};

struct dev_config_request {
	struct request_header hdr;
	uint64_t drv_cap_flags[4];
	uint32_t proto_major_ver, proto_minor_ver, proto_micro_ver, reserved;
};
struct dev_config_answer {
	struct answer_header hdr;
	uint64_t pf_cap_flags[4];
	uint16_t max_num_vports;
	uint8_t bm_hostmode, reserved; /* v3 */
	uint32_t max_num_eqs;
	uint16_t adapter_mtu, reserved2; /* v2; with the Ethernet header */
	uint32_t adapter_link_speed_mbps; /* v4: OpenVMM */
};
static_assert(sizeof(struct dev_config_answer) == 80, "device config");
/* MANA_PF_FLAG_1_CQE_8_COALESCING_SUPPORTED */
#define DEV_CONFIG_CQE_8 (UINT64_C(1) << 5)
struct vport_config_request {
	struct request_header hdr;
	uint32_t vport_index;
};
struct vport_config_answer {
	struct answer_header hdr;
	uint32_t max_num_sq, max_num_rq, num_indirection_ent, reserved1;
	uint8_t mac_addr[6], reserved2[2];
	uint64_t vport;
};
struct vport_tx_request {
	struct request_header hdr;
	uint64_t vport;
	uint32_t pdid, doorbell_pageid;
};
struct vport_tx_answer {
	struct answer_header hdr;
	uint16_t tx_vport_offset;
	uint8_t short_form_allowed, reserved;
};
struct create_wq_request {
	struct request_header hdr;
	uint64_t vport;
	uint32_t wq_type, reserved; /* enum queue_type */
	uint64_t wq_gdma_region, cq_gdma_region;
	uint32_t wq_size, cq_size; /* bytes */
	uint32_t cq_moderation_ctx_id, cq_parent_qid;
	/* v2 */
	uint8_t allow_rqwqe_chain;
	/* v3 */
	uint8_t req_cq_moderation;
	uint16_t cq_moderation_comp, cq_moderation_usec;
	uint8_t reserved2[2];
};
static_assert(sizeof(struct create_wq_request) == 96, "create WQ");
#define CREATE_WQ_V1_BYTES 88u
#define CQ_NO_EQ	   0xffffu /* GDMA_CQ_NO_EQ */
struct create_wq_answer {
	struct answer_header hdr;
	uint32_t wq_id, cq_id;
	uint64_t wq_obj;
	/* v2 */
	uint16_t cq_moderation_comp, cq_moderation_usec;
	uint8_t cq_moderation_enabled, reserved1[3];
};
static_assert(sizeof(struct create_wq_answer) == 56, "create WQ");
struct destroy_wq_request {
	struct request_header hdr;
	uint32_t wq_type, reserved;
	uint64_t wq_obj_handle;
};
enum tri_state {
	TRI_UNCHANGED = -1,
	TRI_FALSE,
	TRI_TRUE,
};
struct vport_rx_request {
	struct request_header hdr;
	uint64_t vport;
	uint16_t num_indir_entries, indir_tab_offset; /* in bytes */
	int32_t rx_enable, rss_enable; /* enum tri_state */
	uint8_t update_default_rxobj, update_hashkey, update_indir_tab, reserved;
	uint64_t default_rxobj;
	uint8_t hashkey[40];
	/* v2 */
	uint8_t cqe_coalescing_enable, reserved2[3];
	uint16_t rss_hash_types;
	uint8_t cqe8_coalescing_enable, reserved3; /* v5 */
};
static_assert(sizeof(struct vport_rx_request) == 120, "vPort Rx");
#define CONFIG_VPORT_RX_V1_BYTES \
	offsetof(struct vport_rx_request, cqe_coalescing_enable)
struct vport_rx_answer {
	struct answer_header hdr;
	uint32_t cqe_coalescing_timeout_ns, reserved1; /* v2 */
};
struct gf_stat_request {
	struct request_header hdr;
	uint64_t req_stats;
};
enum gf_stat {
	GF_RX_NO_WQE,
	GF_RX_VPORT_DISABLED,
	GF_RX_BYTES,
	GF_RX_UCAST_PACKETS,
	GF_RX_UCAST_BYTES,
	GF_RX_BCAST_PACKETS,
	GF_RX_BCAST_BYTES,
	GF_RX_MCAST_PACKETS,
	GF_RX_MCAST_BYTES,
	GF_TX_GF_DISABLED,
	GF_TX_VPORT_DISABLED,
	GF_TX_VPORT_OFFSET,
	GF_TX_VLAN,
	GF_TX_ETHTYPE,
	GF_TX_SA,
	GF_TX_SQPDID,
	GF_TX_CQPDID,
	GF_TX_MTU,
	GF_TX_OOB,
	GF_TX_BYTES,
	GF_TX_UCAST_PACKETS,
	GF_TX_UCAST_BYTES,
	GF_TX_BCAST_PACKETS,
	GF_TX_BCAST_BYTES,
	GF_TX_MCAST_PACKETS,
	GF_TX_MCAST_BYTES,
	GF_TX_GDMA,
	NB_GF_STATS
};
struct gf_stat_answer {
	struct answer_header hdr;
	/*
	 * Bits in the order of enum gf_stat, but multicast precedes broadcast
	 * (Linux STATISTICS_FLAGS_*).
	 */
	uint64_t reported_stats;
	uint64_t stats[NB_GF_STATS]; /* by enum gf_stat */
};
struct link_config_answer {
	struct answer_header hdr;
	uint32_t qos_speed_mbps;
	uint8_t qos_unconfigured, reserved1[3];
	uint32_t link_speed_mbps;
	uint8_t reserved2[4];
};
struct handle_answer { /* answers with one handle */
	struct answer_header hdr;
	uint64_t handle;
};

struct rnic_caps_answer {
	struct answer_header hdr;
	uint32_t max_sq_id, max_rq_id, max_cq_id;
	uint32_t max_qp_count, max_cq_count, max_mr_count, max_pd_count;
	uint32_t max_inbound_read_limit, max_outbound_read_limit;
	uint32_t mw_count, max_srq_count;
	uint32_t max_requester_sq_size, max_responder_sq_size; /* bytes */
	uint32_t max_requester_rq_size, max_responder_rq_size;
	uint32_t max_send_sge_count, max_recv_sge_count, max_inline_data_size;
	uint64_t feature_flags; /* newer than 6.12 */
};
struct rnic_adapter_request {
	struct request_header hdr;
	uint32_t notify_eq_id, reserved;
	uint64_t feature_flags;
};
#define RNIC_CONFIG_IP_BYTES  72u
#define RNIC_CONFIG_MAC_BYTES 64u
struct rnic_cq_request {
	struct request_header hdr;
	uint64_t adapter, gdma_region;
	uint32_t eq_id, doorbell_page;
};
struct rnic_cq_answer {
	struct answer_header hdr;
	uint64_t cq_handle;
	uint32_t cq_id, reserved;
};
struct rnic_object_request { /* requests for an object of an adapter */
	struct request_header hdr;
	uint64_t adapter, handle;
};
struct rnic_vf_counters_answer {
	struct answer_header hdr;
	uint64_t counters[34];
};
#define RNIC_UD_QUEUES 2u
struct rnic_ud_qp_request {
	struct request_header hdr;
	uint64_t adapter, pd_handle, send_cq_handle, recv_cq_handle;
	uint64_t dma_region[RNIC_UD_QUEUES]; /* send, receive */
	uint32_t qp_type, doorbell_page;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge;
};
static_assert(sizeof(struct rnic_ud_qp_request) == 112, "UD QP");
struct rnic_ud_qp_answer {
	struct answer_header hdr;
	uint64_t qp_handle;
	uint32_t queue_ids[RNIC_UD_QUEUES];
};

#endif /* MODEL_MESSAGES_H */
