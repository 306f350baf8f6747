/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Behaviour of the card that no source documents. Each open question is a
 * switch, so that a driver can be tested with every answer (--quirk
 * NAME=VALUE).
 *
 * MODEL_QUIRKS(X) calls X(ID, name, values, help) for each. The first value is
 * the default and has number 0; ID describes the effect of the other values.
 */

#ifndef MODEL_QUIRKS_H
#define MODEL_QUIRKS_H

#define MODEL_QUIRKS(X)                                                        \
	X(TX_WQE_OFFSET_ZERO, "tx-wqe-offset", "filled|zero",                  \
	  "Tx completions have the position of their WQE")                     \
	X(TX_SUPPRESS_IGNORED, "tx-suppress", "honoured|ignored",              \
	  "a good Tx WQE with a suppressed completion has none")               \
	X(LONG_VP_OFFSET, "long-vp-offset", "either|short|long",               \
	  "the field of the long OOB that holds the vPort offset")             \
	X(RX_SCATTER, "rx-scatter", "on|off|silent",                           \
	  "a packet fills the SGEs of an Rx WQE in order, or only the "        \
	  "first and is truncated, or only the first without an error")        \
	X(IPV6_IP_FLAG_CLEAR, "ipv6-ip-flag", "set|clear",                     \
	  "received IPv6 packets have a good IP checksum")                     \
	X(CQ_INDEX_MUST_ADVANCE, "cq-index", "any|must-advance",               \
	  "a CQ doorbell counts only when its index has advanced")             \
	X(HASH_WITHOUT_RSS, "hash-without-rss", "none|reported",               \
	  "the hash of packets when RSS is off")                               \
	X(TRANS_OFF_WITH_TAG, "trans-off-inserted-tag", "excluded|included",   \
	  "trans_off counts the VLAN tag that the adapter inserts")            \
	X(LSO_HEADER_MAX_255, "lso-header-max", "256|255",                     \
	  "the largest LSO header; 256 is written 0 in last_vbytes")           \
	X(LSO_MAX_64K, "lso-max", "512k|64k",                                  \
	  "the largest LSO, headers included")                                 \
	X(UDP_ZERO_CSUM_SENT, "udp-zero-csum", "ffff|zero",                    \
	  "what is sent for a UDP checksum that comes out as 0")               \
	X(UDP_TRANS_OFF_NEEDED, "udp-trans-off", "ignored|needed",             \
	  "a UDP checksum needs a correct trans_off")                          \
	X(IP_TRANS_OFF_ZERO, "ip-trans-off", "any|zero",                       \
	  "trans_off with the IPv4 header checksum alone; else "               \
	  "TX_INVALID_OOB")                                                    \
	X(RX_WQE_OFFSET, "rx-wqe-offset", "bytes|bu|zero",                     \
	  "the unit of rx_wqe_offset, or it is always 0")                      \
	X(RX_COALESCED_8, "rx-coalesced", "4|8",                               \
	  "the most packets in an Rx completion, with --coalesce")             \
	X(RX_UNKNOWN_TYPE_KEEPS, "rx-unknown-type", "consumes|keeps",          \
	  "an Rx completion of unknown type, which only the command bogus "    \
	  "writes, consumes its WQE, or leaves it for the next packet")        \
	X(RX_OUTER_FLAGS_SET, "rx-outer-flags", "zero|set",                    \
	  "the outer IP checksum flags of plain packets")                      \
	X(SHORT_OOB_SGES_30, "short-oob-sges", "31|30",                        \
	  "the most SGEs with the short OOB")                                  \
	X(SHORT_VP_FORM_REFUSED, "short-vp-form", "allowed|refused",           \
	  "the vPort takes the short OOB; else TX_INVALID_OOB")                \
	X(LSO_INLINE_TAG_REFUSED, "lso-inline-tag", "allowed|refused",         \
	  "LSO headers may have a VLAN tag; else TX_INVALID_OOB")              \
	X(RUNTS, "runts", "taken|padded|refused",                              \
	  "frames under 60 bytes: sent as they are, padded with zeros, or "    \
	  "TX_HDR_PROCESSING_ERROR")                                           \
	X(LSO_IPV6_IP_CSUM_REFUSED, "lso-ipv6-ip-csum", "ignored|refused",     \
	  "comp_iphdr_csum with an IPv6 LSO; else TX_INVALID_OOB")             \
	X(LSO_LENGTH_ZERO, "lso-length", "any|zero",                           \
	  "the length in the IP header of an LSO; else TX_INVALID_OOB")        \
	X(FRAGMENT_HASH_NONE, "fragment-hash", "addresses|none",               \
	  "the hash of IP fragments")                                          \
	X(OTHER_HASH_NONE, "other-hash", "addresses|none",                     \
	  "the hash of IP packets that are neither TCP nor UDP")               \
	X(IPV6_EXT_HASH_PORTS, "ipv6-ext-hash", "addresses|ports",             \
	  "the hash of IPv6 packets with extension headers before TCP or UDP") \
	X(RX_FRAGMENT_FLAGS_FAIL, "rx-fragment-flags", "none|fail",            \
	  "the L4 checksum flag of received fragments")                        \
	X(RX_UDP_ZERO_OK, "rx-udp-zero", "none|ok",                            \
	  "the L4 checksum flag of received UDP without a checksum")           \
	X(RX_IPV4_OPTIONS_NONE, "rx-ipv4-options", "checked|none",             \
	  "the checksum flags of received IPv4 packets with options")          \
	X(RX_L4_CSUM, "rx-l4-csum", "unchanged|zeroed|computed",               \
	  "the L4 checksum field of a received packet whose checksum the "     \
	  "adapter has verified: unchanged, 0, or the correct value")          \
	X(RX_SECOND_TAG_PARSED, "rx-second-tag", "opaque|parsed",              \
	  "the adapter parses behind a second VLAN tag of a received frame")   \
	X(RX_EXACT_FIT_TRUNCATED, "rx-exact-fit", "good|truncated",            \
	  "a packet that just fills its buffer")                               \
	X(RING_MAX, "ring-max", "any|8k",                                      \
	  "the largest ring of a queue in bytes; the adapter refuses larger "  \
	  "ones")                                                              \
	X(RQ_WQE_CNT_IGNORED, "rq-wqe-cnt", "zero|ignored",                    \
	  "wqe_cnt of an RQ doorbell: a violation unless it is 0, as "         \
	  "Linux says, or any number, as OpenVMM's driver writes it")          \
	X(SHM_ANSWER_POLLED, "shm-answer", "now|polled",                       \
	  "an answer in the shared memory is there at once, or the adapter "   \
	  "owns it when the driver reads it for the first times")              \
	X(HWC_DEPTH_16, "hwc-depth", "1|16",                                   \
	  "how many requests the hardware channel takes at a time, as it "     \
	  "tells the driver")                                                  \
	X(PF2_VERBS_REFUSED, "pf2-verbs", "taken|refused",                     \
	  "verbs can use a vPort of an adapter with --device-id c1")

enum quirk {
#define MODEL_QUIRK_ENUM(id, name, values, help) QUIRK_##id,
	MODEL_QUIRKS(MODEL_QUIRK_ENUM)
#undef MODEL_QUIRK_ENUM
	NB_QUIRKS
};

/* Values of quirks that have more than two. */
enum {
	LONG_VP_OFFSET_EITHER,
	LONG_VP_OFFSET_SHORT,
	LONG_VP_OFFSET_LONG
};

enum {
	RX_SCATTER_ON,
	RX_SCATTER_OFF,
	RX_SCATTER_SILENT
};

enum {
	RX_WQE_OFFSET_BYTES,
	RX_WQE_OFFSET_BU,
	RX_WQE_OFFSET_ZERO
};

enum {
	RX_L4_CSUM_UNCHANGED,
	RX_L4_CSUM_ZEROED,
	RX_L4_CSUM_COMPUTED
};

enum {
	RUNTS_TAKEN,
	RUNTS_PADDED,
	RUNTS_REFUSED
};

#endif /* MODEL_QUIRKS_H */
