/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * mana-first-contact: experiments on an adapter, to answer questions that no
 * document answers. It creates its own raw queues through libibverbs and libmana,
 * and sends frames from one port to another, or to a peer that returns them.
 *
 * Functions return 0 or a negative errno, and then leave the reason and the
 * remedy in fc->reason, unless they say otherwise.
 */

#ifndef FIRST_CONTACT_H
#define FIRST_CONTACT_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <infiniband/verbs.h>

#include "mana_gdma.h"

#define FC_MAC_BYTES	 6
#define FC_RSS_KEY_BYTES 40
#define FC_MAX_RXQ	 64
#define FC_NB_FULL_RXQ	 4 /* more queues share the buffers of so many */
#define FC_MAX_TXQ	 128
#define FC_NB_DESC	 64u /* the fewest WQEs and CQEs of a ring of 4096 bytes */
#define FC_MAX_TX_SGE	 31
#define FC_MAX_RX_SGE	 2
#define FC_NOT_SET	 UINT32_MAX
#define FC_NB_TRIES	 3 /* a lost frame is sent again */
#define FC_NB_PORTS	 2

/* The registered memory: Rx buffers, Tx frames, payload of an LSO. */
#define FC_RX_BUF_BYTES	 2048u
#define FC_RX_OFF	 0u
#define FC_TX_SLOT_BYTES 16384u
#define FC_NB_TX_SLOTS	 32u
#define FC_TX_OFF	 (FC_NB_FULL_RXQ * FC_NB_DESC * FC_RX_BUF_BYTES)
#define FC_LSO_OFF	 (FC_TX_OFF + FC_NB_TX_SLOTS * FC_TX_SLOT_BYTES)
#define FC_LSO_BYTES	 (640u * 1024)
#define FC_MEMORY_BYTES	 (FC_LSO_OFF + FC_LSO_BYTES)

/* ---- Ports ---- */

struct fc_port {
	char device[64]; /* name of the RDMA device */
	uint32_t number; /* from 1 */
	char netdev[IFNAMSIZ]; /* "": none in this namespace */
	uint8_t mac[FC_MAC_BYTES];
	char pci[32];
	uint32_t pci_device; /* PCI device id, 0: unknown */
	struct ibv_context *ctx;
	struct ibv_pd *pd, *parent;
	struct ibv_mr *mr;
};

/* ---- Queues of an experiment ---- */

struct fc_setup {
	uint32_t nb_rxq; /* 0: 1; a power of two up to FC_MAX_RXQ */
	uint32_t nb_desc; /* WQEs and CQEs of each queue; 0: FC_NB_DESC */
	uint32_t buf_bytes; /* of an Rx WQE; 0: FC_RX_BUF_BYTES */
	uint64_t empty_rxqs; /* bits: queues that get no Rx WQEs */
	uint32_t nb_send_sge; /* for the kernel; 0: 2 */
	uint32_t nb_send; /* Tx WQEs for the kernel; 0: nb_desc */
	bool is_empty; /* no queue gets Rx WQEs */
	bool has_events; /* completion channels */
};

struct fc_txq {
	struct ibv_comp_channel *channel;
	struct ibv_cq *ibv_cq;
	struct ibv_qp *qp;
	struct mana_wq sq;
	struct mana_cq cq;
	uint32_t vp_offset;
};

struct fc_rx_wqe {
	uint32_t nb_sge, pos; /* position in BU */
	struct {
		uint32_t off, nb_bytes; /* in the registered memory */
	} sge[FC_MAX_RX_SGE];
};

struct fc_rxq {
	struct ibv_comp_channel *channel;
	struct ibv_cq *ibv_cq;
	struct ibv_wq *wq;
	struct mana_wq rq;
	struct mana_cq cq;
	struct fc_rx_wqe wqes[FC_NB_DESC];
	uint32_t posted, done; /* WQEs, free running */
	struct gdma_cqe cqe; /* being read */
	uint32_t cqe_next, cqe_nb; /* next packet of it, and their number */
};

struct fc {
	struct fc_port *tx, *rx; /* the same with a peer that returns frames */
	struct fc_port ports[FC_NB_PORTS];
	struct fc_netvsc *netvsc[FC_NB_PORTS]; /* synthetic devices; NULL: none */
	bool has_peer;
	uint8_t *memory;
	uint8_t dst_mac[FC_MAC_BYTES];
	uint8_t ip4[2][4], ip6[2][16]; /* source, destination */
	uint32_t wait_ms;
	const char *vm_size; /* of --vm-size; NULL: not given */

	struct fc_setup setup; /* of the open queues */
	bool is_open;
	bool no_cq_doorbell; /* the experiment rings the CQs itself */
	struct fc_txq txq; /* of the Tx port */
	struct fc_txq owner; /* takes the vPort of an Rx port that does not send */
	struct fc_rxq rxq[FC_MAX_RXQ];
	struct ibv_rwq_ind_table *ind;
	struct ibv_qp *rss;

	uint32_t next_tag, next_slot;
	bool use_long; /* the vPort refuses the short OOB */
	char reason[256];
};

int fc_fail(struct fc *fc, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * device.c: opens ports; names are DEVICE:PORT, DEVICE, PORT, a netdev or NULL: the first
 * whose netdev is down, or else the first.
 */
int fc_port_open(struct fc *fc, struct fc_port *port, const char *name,
		 const struct fc_port *other);
void fc_port_close(struct fc_port *port);
/* Prints each port of the adapter, its netdev, and whether that is up. 0, or -errno. */
int fc_port_list(struct fc *fc, FILE *file);
/*
 * routes.c: the netdev of the machine's default route, if it is that of the port or its
 * master, which has the same address; else "".
 */
const char *fc_port_default_route(const struct fc_port *port);
/*
 * Is its netdev a slave, as of hv_netvsc? Then the host delivers the port's packets to
 * the master while the netdev is down.
 */
#define FC_SLAVE_TEXT                                                          \
	"%s is a slave of another netdev (hv_netvsc): the host delivers what " \
	"the port receives to that one"
bool fc_port_is_slave(const struct fc_port *port);
/* Is it a device of Microsoft's adapter? */
bool fc_is_microsoft(const struct ibv_device *device);
/* The first line of a file, and the number in it; false: there is none. */
bool fc_read_line(const char *folder, const char *name, char *line, size_t room);
bool fc_read_number(const char *folder, const char *name, unsigned long *number);
int fc_memory_open(struct fc *fc);
/* The speed of the netdev in Mbit/s; 0: unknown. The revision of the PCI function. */
uint32_t fc_port_speed(const struct fc_port *port);
uint32_t fc_port_revision(const struct fc_port *port);
/* Explains the errno of a verb on a port. */
int fc_port_fail(struct fc *fc, const struct fc_port *port, const char *what,
		 int error);

/* queues.c: all queues of an experiment. fc_close() accepts queues that failed. */
extern const uint8_t fc_rss_key[FC_RSS_KEY_BYTES];
int fc_open(struct fc *fc, const struct fc_setup *setup);
void fc_close(struct fc *fc);
/* Destroys the RSS object and creates it again, with the same queues. */
int fc_rss_rebuild(struct fc *fc);
/* One Tx queue of its own with this many SGEs: 0 or -errno of the kernel. */
int fc_try_send_sge(struct fc *fc, uint32_t nb_sge);
/*
 * Sends a frame on the open Tx queue, and on one more after the other, up to FC_MAX_TXQ.
 * Returns the number of those that sent it; if it is less, fc->reason says why.
 */
uint32_t fc_use_txqs(struct fc *fc);

/* ---- Frames (frames.c) ---- */

#define FC_ETH_BYTES  14u
#define FC_VLAN_BYTES 4u
#define FC_TAG_BYTES  8u /* the contents by which a frame is recognised */

enum {
	FC_PROTO_ICMP = 1,
	FC_PROTO_TCP = 6,
	FC_PROTO_UDP = 17,
};

struct fc_frame_spec {
	bool v6;
	uint8_t proto; /* 0: UDP */
	uint16_t flow; /* makes another source port */
	uint32_t payload_bytes; /* at least FC_TAG_BYTES */
	uint32_t nb_tags; /* VLAN tags in the frame, up to 2 */
	uint16_t tci; /* of the tags */
	uint32_t option_bytes; /* of the IPv4 header */
	bool has_ext; /* IPv6 destination options */
	bool is_fragment; /* the first of several */
	bool bad_l4; /* wrong TCP or UDP checksum */
	bool no_udp_csum;
};

struct fc_frame {
	uint8_t *data; /* in a Tx slot */
	uint32_t off; /* of data in the registered memory */
	uint32_t nb_bytes, l3_off, l4_off, l4_header_bytes;
	bool v6;
	uint8_t proto;
	uint32_t tag;
};

void fc_frame_build(struct fc *fc, const struct fc_frame_spec *spec,
		    struct fc_frame *frame);
/*
 * Write what the adapter needs to compute the checksums: the pseudo-header sum, without
 * the length for LSO, and 0 in the IPv4 header.
 */
void fc_frame_seed(struct fc_frame *frame, bool is_lso);
/* A UDP packet with a VXLAN header, and a TCP frame in it; no UDP checksum. */
void fc_frame_vxlan(struct fc *fc, struct fc_frame *inner,
		    struct fc_frame *outer);
/* Is the TCP or UDP checksum, or that of the IPv4 header, correct? */
bool fc_l4_csum_ok(const uint8_t *frame, uint32_t l3_off, uint32_t l4_off,
		   uint32_t nb_bytes, bool v6, uint8_t proto);
bool fc_ip_csum_ok(const uint8_t *ip, uint32_t nb_bytes);
uint16_t fc_be16(const uint8_t *at);
void fc_put_be16(uint8_t *at, uint32_t value);
/* Offset of the TCP or UDP checksum in a frame. */
uint32_t fc_csum_off(const struct fc_frame *frame);
/* The bytes that a frame of this tag repeats in its payload. */
void fc_tag_write(uint32_t tag, uint8_t bytes[FC_TAG_BYTES]);
/* Is it a frame of this program, of any tag? */
bool fc_tag_is_any(const uint8_t *data, uint32_t nb_bytes);

/* ---- Traffic (traffic.c) ---- */

enum fc_form {
	FC_FORM_AUTO,
	FC_FORM_SHORT,
	FC_FORM_LONG
};

/* A Tx WQE. */
struct fc_tx {
	uint32_t nb_sge;
	struct {
		uint32_t off, nb_bytes;
	} sge[FC_MAX_TX_SGE];
	uint64_t oob; /* bits MANA_TX_OOB_*_S of word 0 */
	enum fc_form form;
	uint32_t trans_off;
	uint32_t short_vp, long_vp; /* FC_NOT_SET: as the vPort requires */
	bool insert_tag;
	uint16_t tci;
	uint32_t lso_header_bytes, mss; /* LSO */
	const struct ibv_mr *other_mr; /* of all SGEs but the first, or NULL */
};

/* A received packet. */
struct fc_packet {
	uint32_t queue, cqe_type, place; /* in the CQE, from 0 */
	uint32_t flags, hash, hash_type, csum; /* MANA_RX_CSUM_* */
	uint32_t nb_bytes, wqe_offset, pos; /* position of its WQE in BU */
	uint8_t data[FC_RX_BUF_BYTES]; /* as far as it fits the buffers */
};

#define FC_OOB(bit) (UINT64_C(1) << MANA_TX_OOB_##bit##_S)

/* A WQE that sends a frame as it is. */
struct fc_tx fc_tx_of(const struct fc_frame *frame);
/* A WQE that requests the checksums of a frame, which is seeded. */
struct fc_tx fc_tx_csum(struct fc_frame *frame);
void fc_post(struct fc *fc, const struct fc_tx *tx);
void fc_ring(struct fc *fc);
/*
 * The same by the register for 32-bit processes, which takes the bytes since the last
 * doorbell and a short id. No WQE waits but the last one posted, of one or two BU.
 */
#define FC_DB_SHORT_MAX_ID 0xfffu
void fc_ring_short(struct fc *fc);
/* The type of the next Tx CQE; -ETIMEDOUT: none came. */
int fc_tx_wait(struct fc *fc, struct gdma_cqe *cqe);
/* Post, ring and wait. */
int fc_send(struct fc *fc, const struct fc_tx *tx);
/* The type of the CQE of a plain frame: does the queue still work? */
int fc_send_plain(struct fc *fc);

/* Posts an Rx WQE if there is room. */
void fc_rx_post(struct fc *fc, uint32_t queue, const struct fc_rx_wqe *wqe);
void fc_rx_ring(struct fc *fc, uint32_t queue);
/* The next packet of any queue, without waiting. */
bool fc_rx_poll(struct fc *fc, struct fc_packet *packet);
/* The same, and waits for it. */
bool fc_rx_wait(struct fc *fc, struct fc_packet *packet);
bool fc_has_tag(const struct fc_packet *packet, uint32_t tag);
/*
 * Waits for a frame; a plain frame is sent behind it, so that a lost frame is noticed
 * without a time limit.
 */
bool fc_receive(struct fc *fc, uint32_t tag, struct fc_packet *packet);
/*
 * Send and receive. Returns the type of the Tx CQE, or -ENODATA if the frame was
 * sent but never arrived.
 */
int fc_pass(struct fc *fc, const struct fc_frame *frame, const struct fc_tx *tx,
	    struct fc_packet *packet);
/* Builds and passes a frame without offloads. */
int fc_pass_spec(struct fc *fc, const struct fc_frame_spec *spec,
		 struct fc_frame *frame, struct fc_packet *packet);
/* Passes a plain frame of this flow. */
int fc_pass_flow(struct fc *fc, uint32_t flow, struct fc_frame *frame,
		 struct fc_packet *packet);
/* Builds and sends a frame; false: it was not sent. */
bool fc_send_flow(struct fc *fc, const struct fc_frame_spec *spec,
		  struct fc_frame *frame);
/* A flow for each of two Rx queues; false: none was found. */
#define FC_NB_FLOWS 32
bool fc_find_flows(struct fc *fc, uint32_t flow[2]);
/* Is there an event of this channel? Waits up to wait_ms milliseconds. */
bool fc_event(struct ibv_comp_channel *channel, uint32_t wait_ms);
uint64_t fc_now_ns(void);
/* The name of a CQE type, or of an error. */
const char *fc_cqe_name(int type);

/* ---- Experiments ---- */

struct fc_finding {
	bool is_decided;
	char value[32];
	bool is_quirk; /* mana-model knows this value of the quirk */
	char seen[224]; /* what was seen, or why it is undecided */
	char argument[48]; /* device argument of the driver that follows; "": none */
};

struct fc_experiment {
	const char *name; /* for a quirk of mana-model, its name */
	const char *question;
	void (*run)(struct fc *fc, struct fc_finding *finding);
	struct fc_setup setup;
	bool is_measured; /* the value varies from run to run */
};

extern const struct fc_experiment fc_tx_experiments[], fc_csum_experiments[],
	fc_lso_experiments[], fc_rx_experiments[], fc_rss_experiments[],
	fc_cq_experiments[], fc_net_experiments[], fc_size_experiments[];

/* value is that of the quirk of this name; fc_observe(): there is no such quirk. */
void fc_decide(struct fc_finding *finding, const char *value,
	       const char *argument, const char *seen, ...)
	__attribute__((format(printf, 4, 5)));
void fc_observe(struct fc_finding *finding, const char *argument,
		const char *seen, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void fc_undecided(struct fc_finding *finding, const char *reason, ...)
	__attribute__((format(printf, 2, 3)));
/* "Undecided" for a Tx CQE type that answers nothing. */
void fc_unexpected(struct fc_finding *finding, const char *what, int type);

/* ---- Synthetic devices (netvsc.c) ---- */

/*
 * Has the host deliver to the VF, which must be an open port, until the device is closed:
 * then, or when this program ends for whatever reason, to the synthetic device again.
 */
int fc_netvsc_open(struct fc *fc, const char *uuid);
/* Reads what the host has written, and says if it has taken the data path away. */
void fc_netvsc_poll(struct fc *fc);
/* Closes all; fc->reason stays. */
void fc_netvsc_close(struct fc *fc);

/* ---- Output (report.c), peer (reflect.c) and watcher (watch.c) ---- */

/*
 * Lines on standard output, and the file of --json, which is written at once and again
 * after each finding: a wrong path is noticed first, and an interrupt loses nothing. path:
 * NULL for none. NULL: an error, with a reason.
 */
struct fc_report;
struct fc_report *fc_report_open(struct fc *fc, const char *path);
/* The contents of the file. */
const struct json_t *fc_report_root(const struct fc_report *report);
void fc_report_add(struct fc_report *report,
		   const struct fc_experiment *experiment,
		   const struct fc_finding *finding);
/* Number of undecided questions. */
unsigned int fc_report_end(struct fc_report *report);
/* Write the file for the last time: 0, or -errno with a reason. */
int fc_report_write(struct fc *fc, const struct fc_report *report);
void fc_report_close(struct fc_report *report);

/* Returns frames to their sender until SIGINT or SIGTERM. */
int fc_reflect(struct fc *fc);

/*
 * summary.c: writes what a report of a problem needs, from the object of the card's file.
 * 0, or -errno with a reason.
 */
struct json_t;
int fc_summary_write(struct fc *fc, const struct json_t *root, bool is_complete,
		     const char *path);

/*
 * The text of a record of /dev/kmsg, ended in place, if it is about the adapter or what it
 * depends on; else NULL.
 */
const char *fc_kernel_log_text(char *record);

/* Logs what happens to the adapter until SIGINT or SIGTERM. Needs no free port. */
int fc_watch(void);

#endif /* FIRST_CONTACT_H */
