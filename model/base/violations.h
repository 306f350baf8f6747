/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The violations of the device's rules that the model detects.
 *
 * MODEL_VIOLATIONS(X) calls X(name, meaning, source) for each, in the order of
 * enum violation. The names are an interface: reports and tests use them.
 *
 * A violation is an error of a driver. An error that only depends on a packet's
 * contents (a frame above the MTU, a policy of the network) gives an error
 * completion and is only counted.
 */

#ifndef MODEL_VIOLATIONS_H
#define MODEL_VIOLATIONS_H

#define MODEL_VIOLATIONS(X)                                                    \
	/* Doorbells. */                                                       \
	X(doorbell_bad_offset, "store to an offset without a user register",   \
	  "Linux gdma_main.c DOORBELL_OFFSET_*; OpenVMM gdma_defs DB_*")       \
	X(doorbell_bad_width, "store of a width that the register does not take", \
	  "DPDK commit 26c6bdf3d1: 64-bit and 32-bit registers")               \
	X(doorbell_read, "load from the write-only doorbell page",             \
	  "rdma-core providers/mana/mana.c maps PROT_WRITE only")              \
	X(doorbell_undecoded, "store by an instruction that cannot be decoded", \
	  "model: only plain stores of 4 or 8 bytes ring")                     \
	X(doorbell_reserved_bits, "reserved bits of the doorbell are not 0",   \
	  "Linux gdma.h union gdma_doorbell_entry")                            \
	X(doorbell_unknown_queue, "the queue id does not exist",               \
	  "OpenVMM emu/queues.rs: ignored")                                    \
	X(doorbell_foreign_queue, "the queue belongs to another doorbell page", \
	  "Linux ib/main.c: one doorbell page per ucontext")                   \
	X(doorbell_misaligned, "the tail is not a multiple of 32 bytes",       \
	  "Linux gdma.h GDMA_WQE_BU_SIZE")                                     \
	X(doorbell_beyond_ring, "the tail is more than a ring ahead",          \
	  "OpenVMM emu/queues.rs Wq::doorbell: ignored")                       \
	X(doorbell_backwards, "the tail is behind an earlier doorbell",        \
	  "OpenVMM emu/queues.rs Wq::doorbell: ignored")                       \
	X(rq_doorbell_wqe_cnt, "wqe_cnt of an RQ doorbell is not 0",           \
	  "Linux gdma_main.c mana_gd_wq_ring_doorbell")                        \
	X(cq_doorbell_range, "the CQ index is 8 laps or more",                 \
	  "Linux gdma_main.c mana_gd_ring_cq: modulo 8 N")                     \
	X(cq_doorbell_ahead, "an unarmed CQ doorbell is ahead of the device",  \
	  "rdma-core providers/mana/doorbells.h gdma_ring_cq_doorbell")        \
	X(cq_doorbell_backwards, "the CQ index is behind an earlier doorbell", \
	  "no shipping driver does it: Linux mana_en.c mana_cq_handler, "      \
	  "rdma-core providers/mana/doorbells.h gdma_ring_cq_doorbell")        \
	/* Completion queues. */                                               \
	X(cq_overflow, "the device overtook the consumer of the CQ",           \
	  "OpenVMM emu/queues.rs CqEq::doorbell; Linux mana_gd_read_cqe")      \
	X(cq_no_doorbell_8_laps, "no CQ doorbell within 8 laps of the ring",   \
	  "Linux mana_en.c mana_cq_handler")                                   \
	X(cq_memory_not_zero, "the CQ memory was not zero at creation",        \
	  "Linux gdma_main.c INITIALIZED_OWNER_BIT; OpenVMM CqEq::new")        \
	X(cq_memory_fault, "the CQ memory cannot be written",                  \
	  "model: queue memory must stay mapped until it is destroyed")        \
	X(cq_too_small, "more outstanding WQEs than the CQ has entries",       \
	  "Linux mana_en.c mana_create_txq, mana_create_rxq: CQ sizes")        \
	/* Work queue elements. */                                             \
	X(wqe_memory_fault, "the ring memory cannot be read",                  \
	  "model: queue memory must stay mapped until it is destroyed")        \
	X(wqe_no_sge, "num_sge is 0",                                          \
	  "Linux gdma_main.c mana_gd_post_work_request")                       \
	X(wqe_too_large, "the WQE is longer than 512 (SQ) or 256 (RQ) bytes",  \
	  "Linux gdma.h MAX_TX_WQE_SIZE, MAX_RX_WQE_SIZE")                     \
	X(wqe_beyond_tail, "the WQE reaches past the tail of the doorbell",    \
	  "Linux gdma_main.c mana_gd_post_and_ring: whole WQEs")               \
	X(wqe_oob_size, "inline_oob_size_div4 is not 2 or 6 (SQ), 2 (RQ)",     \
	  "Linux gdma.h INLINE_OOB_SMALL_SIZE, INLINE_OOB_LARGE_SIZE")         \
	X(wqe_reserved_bits, "reserved bits of the WQE header are not 0",      \
	  "Linux gdma.h struct gdma_wqe")                                      \
	X(wqe_lso_fields, "last_vbytes or client_data_unit without LSO",       \
	  "Linux gdma_main.c mana_gd_write_client_oob")                        \
	X(sge_zero_size, "an SGE of size 0",                                   \
	  "rdma-core providers/mana/wr.c: dummy SGE, not on Ethernet")         \
	X(sge_key_unknown, "the key of an SGE does not exist",                 \
	  "Linux gdma.h struct gdma_sge: mem_key of a registered region")      \
	X(sge_key_foreign_pd, "the key belongs to another protection domain",  \
	  "Linux ib/mr.c mana_ib_gd_create_mr: regions belong to a PD")        \
	X(sge_out_of_range, "the SGE is not inside the region of its key",     \
	  "rdma-core providers/mana/gdma.h vendor error 0x207")                \
	X(sge_no_write_access, "an RQ SGE in a region without write access",   \
	  "rdma-core providers/mana/gdma.h vendor error 0x206")                \
	X(sge_memory_fault, "the memory of a region is no longer mapped",      \
	  "rdma-core providers/mana/gdma.h vendor error 0x206..0x208")         \
	/* Transmit: OOB and frame. */                                         \
	X(oob_reserved_bits, "reserved or unused bits of the Tx OOB are not 0", \
	  "Linux mana.h struct mana_tx_long_oob")                              \
	X(oob_pkt_fmt, "pkt_fmt and the size of the inline OOB disagree",      \
	  "Linux mana_en.c mana_start_xmit")                                   \
	X(oob_vcq_num, "vcq_num is not the CQ of the SQ",                      \
	  "Linux mana_en.c mana_start_xmit; OpenVMM defs/bnic.rs CQPDID")      \
	X(oob_vsq_frame, "vsq_frame is not (SQ id >> 10) & 0x3fff",            \
	  "Linux mana_en.c mana_start_xmit; OpenVMM defs/bnic.rs SQPDID")      \
	X(oob_vp_offset, "the tx vPort offset is not the vPort's",             \
	  "Linux mana.h CQE_TX_VPORT_IDX_OUT_OF_RANGE")                        \
	X(oob_vp_offset_differs, "short and long vPort offset disagree",       \
	  "Linux fills the short, OpenVMM the long field")                     \
	X(oob_encap, "is_encap is set", "no driver uses encapsulation; INVALID_OOB") \
	X(oob_l3_mismatch, "is_outer_ipv4/6 disagrees with the frame",         \
	  "OpenVMM net_mana handle_tx_cqe: CQE_TX_INVALID_OOB")                \
	X(oob_l4_mismatch, "TCP or UDP checksum asked for another protocol",   \
	  "Linux mana_en.c mana_checksum_info")                                \
	X(oob_trans_off, "trans_off is not the offset of the L4 header",       \
	  "Linux mana_en.c mana_start_xmit")                                   \
	X(oob_csum_seed, "a checksum field is not 0 (IPv4) or the pseudo-header sum", \
	  "Linux CHECKSUM_PARTIAL as in mana_en.c mana_start_xmit")            \
	X(tx_runt, "a frame shorter than its Ethernet header",                 \
	  "ASSUMED: no driver sends less than 14 bytes")                       \
	X(lso_no_payload_sge, "LSO with a single SGE",                         \
	  "OpenVMM net_mana handle_tx: GDMA_ERR, queue disabled")              \
	X(lso_header_size, "LSO with SGE 0 over 255 bytes or not last_vbytes", \
	  "OpenVMM net_mana handle_tx: GDMA_ERR, queue disabled")              \
	X(lso_mss, "LSO with client_data_unit 0",                              \
	  "Linux gdma.h client_data_unit")                                     \
	X(lso_too_long, "LSO of more than 512 KiB",                            \
	  "Linux mana_en.c netif_set_tso_max_size")                            \
	X(lso_segments, "LSO of more than 65535 segments",                     \
	  "ASSUMED; Linux netdevice.h GSO_MAX_SEGS")                           \
	X(lso_oob, "LSO without the OOB bits that it needs",                   \
	  "Linux mana_en.c mana_start_xmit")                                   \
	X(lso_header, "SGE 0 of an LSO is not exactly the packet's headers",   \
	  "Linux mana_en.c mana_fix_skb_head")                                 \
	X(lso_length_not_zero, "LSO with a length left in the IP header",      \
	  "Linux mana_en.c mana_start_xmit zeroes it")                         \
	X(lso_small, "LSO whose payload fits one segment",                     \
	  "Linux never sends it (stack)")                                      \
	X(sq_last_wqe_suppressed, "the last WQE before a doorbell asks for no CQE", \
	  "DPDK commit 823dbf2860: its buffers would wait")                    \
	X(sq_quarter_without_cqe, "no WQE of a quarter of the SQ asks for a CQE", \
	  "DPDK commit 823dbf2860: a full SQ would stall")                     \
	/* The kernel. */                                                      \
	X(netdev_change_under_raw_qps,                                         \
	  "the MTU of an interface changed while its port has raw QPs",        \
	  "Linux 7.3 mana_en.c mana_change_mtu, mana_destroy_eq: it crashes later") \
	/* The driver of a PCI function. */                                    \
	X(bar0_access, "an access to BAR0 where no register of its size is",   \
	  "Linux gdma_main.c mana_gd_init_vf_regs, mana_gd_init_pf_regs")      \
	X(shm_message, "a wrong field in a message of the shared memory",      \
	  "Linux shm_channel.c mana_smc_setup_hwc")                            \
	X(shm_state, "the hardware channel is set up twice",                   \
	  "Linux shm_channel.c mana_smc_setup_hwc")                            \
	X(objects_left, "objects exist when the hardware channel is destroyed", \
	  "Linux gdma_main.c mana_gd_remove, mana_gd_cleanup")                 \
	X(hwc_wqe, "a WQE of the hardware channel has a wrong OOB or SGE",     \
	  "Linux hw_channel.c mana_hwc_post_tx_wqe, mana_hwc_post_rx_wqe")     \
	X(hwc_no_rx_wqe, "an answer finds no WQE in the channel's RQ",         \
	  "Linux hw_channel.c mana_hwc_handle_resp")                           \
	X(request_header, "a wrong field in the header of a request",          \
	  "Linux gdma.h mana_gd_init_req_hdr")                                 \
	X(request_unknown, "the type of the request does not exist",           \
	  "Linux gdma.h enum gdma_request_type, mana.h, mana_ib.h")            \
	X(request_version, "the version of the request does not exist",        \
	  "Linux gdma.h GDMA_MESSAGE_V1 to _V5")                               \
	X(request_size, "the size of the request is wrong",                    \
	  "Linux gdma.h, mana.h, mana_ib.h: HW DATA structures")               \
	X(request_device, "the request names a wrong device",                  \
	  "Linux gdma.h struct gdma_dev_id; mana_en.c mana_send_request")      \
	X(request_handle, "the object that the request names does not exist",  \
	  "Linux mana.h mana_handle_t")                                        \
	X(request_state, "the object is in use, incomplete or not configured", \
	  "Linux mana_en.c, ib/qp.c: order of creation and destruction")       \
	X(request_field, "a field of the request has a wrong value",           \
	  "Linux gdma.h, mana.h, mana_ib.h: HW DATA structures")               \
	X(eq_memory_not_zero, "the EQ memory was not zero at creation",        \
	  "Linux gdma_main.c INITIALIZED_OWNER_BIT")                           \
	X(eq_memory_fault, "the EQ memory cannot be written",                  \
	  "model: queue memory must stay mapped until it is destroyed")        \
	X(eq_overflow, "the device overtook the consumer of the EQ",           \
	  "Linux gdma_main.c mana_gd_process_eq_events")                       \
	X(eq_doorbell_index, "the EQ index is behind or ahead of the device's", \
	  "Linux gdma_main.c mana_gd_process_eq_events: modulo 8 N")           \
	/* The driver of a synthetic device. */                                \
	X(vmbus_ring, "an index or length in a ring of a channel is invalid",  \
	  "OpenVMM vmbus_ring lib.rs parse_packet")                            \
	X(vmbus_trailer, "the trailer of a packet does not name its start",    \
	  "OpenVMM vmbus_ring lib.rs Footer")                                  \
	X(vmbus_type, "the type of a packet does not exist or is for guests",  \
	  "OpenVMM vmbus_ring lib.rs parse_packet")                            \
	X(vmbus_ranges, "a range of a packet crosses a page or the packet's end", \
	  "Linux netvsc.c netvsc_send_pkt; DPDK hn_rxtx.c hn_fill_sg")         \
	X(vmbus_memory, "a range of a packet names no memory of the program",  \
	  "DPDK hn_rxtx.c hn_fill_sg: guest physical addresses")               \
	X(nvs_order, "an NVSP message that the session does not allow now",    \
	  "OpenVMM netvsp lib.rs PacketOrderError")                            \
	X(nvs_unknown, "the type of an NVSP message does not exist",           \
	  "OpenVMM netvsp protocol.rs")                                        \
	X(nvs_buffer, "a wrong handle or id of the receive or send buffer",    \
	  "Linux netvsc.c netvsc_init_buf")                                    \
	X(nvs_section, "a section of the send buffer that does not exist",     \
	  "Linux netvsc.c netvsc_copy_to_send_buf")                            \
	X(nvs_ack, "a receive section is returned that was not received",      \
	  "OpenVMM netvsp rx_bufs.rs free")                                    \
	X(nvs_no_vf, "the data path is switched to a VF that was not reported", \
	  "OpenVMM netvsp lib.rs: ignored with a warning")                     \
	X(rndis_state, "RNDIS is initialized twice, or used before",           \
	  "OpenVMM netvsp lib.rs RndisState")                                  \
	X(rndis_message, "a length in an RNDIS message is wrong, or its type", \
	  "OpenVMM netvsp lib.rs handle_rndis_message")                        \
	X(rndis_packet, "a part of an RNDIS packet lies outside, or its "      \
	  "infos disagree with the frame",                                     \
	  "OpenVMM netvsp lib.rs handle_rndis_packet_message")                 \
	X(rndis_object, "an NDIS object has a wrong header or size",           \
	  "OpenVMM netvsp lib.rs: type, revision and size are checked")        \
	X(rndis_rss_entry, "an RSS table names a channel that was not granted", \
	  "OpenVMM netvsp lib.rs: entries < max queues")

enum violation {
#define MODEL_VIOLATION_ENUM(name, meaning, source) VIOLATION_##name,
	MODEL_VIOLATIONS(MODEL_VIOLATION_ENUM)
#undef MODEL_VIOLATION_ENUM
	NB_VIOLATIONS
};

#endif /* MODEL_VIOLATIONS_H */
