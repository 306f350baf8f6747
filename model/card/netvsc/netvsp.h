/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Layouts and numbers of VMBus rings, NVSP and RNDIS, from OpenVMM (vmbus_ring,
 * netvsp/protocol.rs, rndisprot.rs), Linux (hyperv_net.h, rndis.h) and DPDK
 * (drivers/net/netvsc). All numbers are little endian.
 */

#ifndef MODEL_NETVSP_H
#define MODEL_NETVSP_H

/* A ring: a control page, then data. Offsets in the control page. */
#define VMBUS_PAGE_BYTES	4096u
#define VMBUS_RING_WRITE_OFF	0
#define VMBUS_RING_READ_OFF	4
#define VMBUS_RING_MASK_OFF	8
#define VMBUS_RING_PENDING_OFF	12
#define VMBUS_RING_FEATURES_OFF 64
#define VMBUS_RING_HAS_PENDING	1u /* feature: pending send size is heeded */

/* A packet: descriptor, extension, payload, trailer. */
#define VMBUS_DESC_BYTES    16u
#define VMBUS_TRAILER_BYTES 8u
#define VMBUS_COMPLETE_WANTED 1u /* flag */
enum vmbus_packet_type {
	VMBUS_IN_BAND = 6,
	VMBUS_TRANSFER_PAGES = 7,
	VMBUS_GPA_DIRECT = 9,
	VMBUS_COMPLETION = 0xb,
};
#define VMBUS_RANGES_OFF  8u /* in the extension: count in front, then ranges */
#define VMBUS_GPA_BYTES	  16u /* {bytes, offset, page} */

/* The monitor page: a bit per channel rings it. */
#define VMBUS_TRIGGER_OFF   8u /* groups of {pending, armed} */
#define VMBUS_TRIGGER_BYTES 8u
#define VMBUS_NB_TRIGGERS   4u
#define VMBUS_TRIGGER_BITS  32u

/* Maps of uio_hv_generic, by index. */
enum vmbus_map {
	VMBUS_MAP_RINGS,
	VMBUS_MAP_INTERRUPT,
	VMBUS_MAP_MONITOR,
	VMBUS_MAP_RECEIVE,
	VMBUS_MAP_SEND,
	VMBUS_NB_MAPS
};
#define VMBUS_RING_BYTES    (2u << 20) /* of one direction */
#define VMBUS_RECEIVE_BYTES (31u << 20)
#define VMBUS_SEND_BYTES    (16u << 20)

enum nvsp_type {
	NVSP_INIT = 1,
	NVSP_INIT_COMPLETE = 2,
	NVSP_NDIS_VERSION = 100,
	NVSP_RECEIVE_BUFFER = 101,
	NVSP_RECEIVE_BUFFER_COMPLETE = 102,
	NVSP_REVOKE_RECEIVE_BUFFER = 103,
	NVSP_SEND_BUFFER = 104,
	NVSP_SEND_BUFFER_COMPLETE = 105,
	NVSP_REVOKE_SEND_BUFFER = 106,
	NVSP_RNDIS = 107,
	NVSP_RNDIS_COMPLETE = 108,
	NVSP_NDIS_CONFIG = 125,
	NVSP_VF_ASSOCIATION = 128,
	NVSP_DATA_PATH = 129,
	NVSP_SUBCHANNEL = 133,
};
#define NVSP_VERSION_61	 0x60001u
#define NVSP_VERSION_6	 0x60000u
#define NVSP_VERSION_5	 0x50000u
#define NVSP_VERSION_4	 0x40000u
#define NVSP_VERSION_2	 0x30002u
#define NVSP_OK		 1u
#define NVSP_FAILED	 2u
#define NVSP_BYTES	 28u /* of a message */
#define NVSP_BYTES_61	 40u /* from version 6.1 on */
#define NVSP_MAX_MDL	 34u
#define NVSP_CONTROL	 1u /* channel type of message 107 */
#define NVSP_NO_SECTION	 0xffffffffu
#define NVSP_RECEIVE_ID	 0xcafe
#define NVSP_SEND_ID	 0xface
#define NVSP_CAP_SRIOV	 (1u << 2)
#define NVSP_SUBCHANNEL_ALLOCATE 1u
#define NVSP_HOST_TRANSACTION (UINT64_C(1) << 63)

enum rndis_type {
	RNDIS_PACKET = 1,
	RNDIS_INITIALIZE = 2,
	RNDIS_HALT = 3,
	RNDIS_QUERY = 4,
	RNDIS_SET = 5,
};
#define RNDIS_COMPLETE 0x80000000u /* added to the type of a request */
#define RNDIS_SUCCESS	      0u
#define RNDIS_NOT_SUPPORTED   0xc00000bbu
#define RNDIS_INVALID_DATA    0xc0010015u

/* QUERY and SET: {type, length, id, OID, bytes, offset from id, handle}. */
#define RNDIS_REQUEST_BYTES 28u
#define RNDIS_ID_OFF	    8u /* offsets of requests and packets count from here */
#define RNDIS_INITIALIZE_BYTES 24u
/* PACKET: type, length, and offsets and lengths of its parts. */
#define RNDIS_PACKET_BYTES  44u
#define RNDIS_INFO_BYTES    12u /* per-packet info: size, type, offset */

enum rndis_info {
	RNDIS_INFO_CSUM = 0,
	RNDIS_INFO_LSO = 2,
	RNDIS_INFO_VLAN = 6,
	RNDIS_INFO_HASH_VALUE = 8,
	RNDIS_INFO_HASH = 9,
};
#define RNDIS_TX_CSUM_IPV4 (1u << 0)
#define RNDIS_TX_CSUM_IPV6 (1u << 1)
#define RNDIS_TX_CSUM_TCP  (1u << 2)
#define RNDIS_TX_CSUM_UDP  (1u << 3)
#define RNDIS_TX_CSUM_IP   (1u << 4)
#define RNDIS_LSO_MSS_M	   0xfffffu
#define RNDIS_LSO_IPV6	   (1u << 31)
#define RNDIS_RX_CSUM_TCP_FAIL (1u << 0)
#define RNDIS_RX_CSUM_UDP_FAIL (1u << 1)
#define RNDIS_RX_CSUM_IP_FAIL  (1u << 2)
#define RNDIS_RX_CSUM_TCP_OK   (1u << 3)
#define RNDIS_RX_CSUM_UDP_OK   (1u << 4)
#define RNDIS_RX_CSUM_IP_OK    (1u << 5)

enum rndis_oid {
	OID_RSS_CAPABILITIES = 0x00010203,
	OID_RSS_PARAMETERS = 0x00010204,
	OID_MAXIMUM_FRAME_SIZE = 0x00010106,
	OID_LINK_SPEED = 0x00010107,
	OID_PACKET_FILTER = 0x0001010e,
	OID_CONNECT_STATUS = 0x00010114,
	OID_PERMANENT_ADDRESS = 0x01010101,
};
/* These two do not fit an enum. */
#define OID_OFFLOAD_PARAMETERS	 0xfc01020cu
#define OID_OFFLOAD_CAPABILITIES 0xfc01020du

/* NDIS object header: {type u8, revision u8, size u16}. */
#define NDIS_OBJECT_DEFAULT	 0x80
#define NDIS_OBJECT_RSS_CAPS	 0x88
#define NDIS_OBJECT_RSS_PARAMS	 0x89
#define NDIS_OBJECT_OFFLOAD	 0xa7
#define NDIS_OFFLOAD_BYTES	 156u /* revision 3 */
#define NDIS_RSS_CAPS_BYTES	 18u
#define NDIS_RSS_PARAMS_BYTES	 32u /* the part that every revision has */
#define NDIS_RSS_DISABLE	 0x10u
#define NDIS_RSS_KEEP_TABLE	 0x04u
#define NDIS_RSS_KEEP_KEY	 0x08u
#define NDIS_HASH_TOEPLITZ	 0x01u

#endif /* MODEL_NETVSP_H */
