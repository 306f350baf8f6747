/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The card's interface to its caller, which is the imitated kernel or a PCI
 * function used by a real kernel: create and destroy objects, ring doorbells,
 * run, count. platform.h declares what the card calls: events, guest memory,
 * waking.
 *
 * All functions are called with the machine's lock held and return 0 or a
 * negative errno; -EPROTO means that the hardware refused the command (the
 * kernel driver maps every non-zero hardware status to EPROTO). Functions and
 * ports are numbered from 0. An object belongs to a function; its identifier is
 * the lowest free one of the function.
 */

#ifndef MODEL_CARD_H
#define MODEL_CARD_H

#include <stdbool.h>
#include <stdint.h>

#define CARD_RSS_TABLE_SIZE 64
#define CARD_RSS_KEY_BYTES  40
#define CARD_MAX_QUEUES     1024 /* SQs, and RQs, of a function */
#define CARD_NO_QUEUE	      UINT32_MAX
/* ASSUMED: bytes of the largest work queue of the RNIC. */
#define CARD_RNIC_MAX_WQ_BYTES (1u << 20)

/* Guest memory (platform.h): the card copies it, keeping no pointer to it. */
struct card_memory {
	uint32_t process; /* address space */
	uint64_t addr;
	uint64_t size; /* bytes */
};

#define CARD_ACCESS_READ  (1u << 0) /* always granted */
#define CARD_ACCESS_WRITE (1u << 1) /* IBV_ACCESS_LOCAL_WRITE */

/* Set up functions, ports and wires; called once, by the launcher. */
int card_init(void);

/* Protection domains and doorbell pages. */
int card_pd_create(uint32_t fn, uint32_t *pdn);
void card_pd_destroy(uint32_t fn, uint32_t pdn);
int card_doorbell_page_create(uint32_t fn, uint32_t *page);
/* Destroys all queues that still use the page, too. */
void card_doorbell_page_destroy(uint32_t fn, uint32_t page);

/*
 * Memory regions. An SGE names a region by its key, and its bytes by addresses
 * that start at iova.
 */
int card_mkey_create(uint32_t fn, uint32_t pdn,
		     const struct card_memory *memory, uint64_t iova,
		     uint32_t access, uint32_t *key);
void card_mkey_destroy(uint32_t fn, uint32_t key);

/*
 * Queues. A ring is 4096-aligned and a power of two >= 4096 bytes, else
 * -EPROTO. A work queue needs a vPort enabled for Tx, else -EPROTO. The card
 * accepts doorbells for the queue from ring->process only.
 * The memory of a completion queue must be zero, else a violation is recorded.
 * A work queue is filled with 0xff, which shows what a driver forgets to write:
 * an SQ when it is created, an RQ when its ring is registered, because a driver
 * may write Rx WQEs before the RQ has an identifier.
 */
int card_wq_ring_fill(const struct card_memory *ring);
int card_cq_create(uint32_t fn, uint32_t pdn, uint32_t page,
		   const struct card_memory *ring, uint32_t *cq_id);
void card_cq_destroy(uint32_t fn, uint32_t cq_id);
int card_sq_create(uint32_t fn, uint32_t port, uint32_t pdn, uint32_t page,
		   const struct card_memory *ring, uint32_t cq_id,
		   uint32_t *sq_id);
void card_sq_destroy(uint32_t fn, uint32_t sq_id);
int card_rq_create(uint32_t fn, uint32_t port, uint32_t pdn, uint32_t page,
		   const struct card_memory *ring, uint32_t cq_id,
		   uint32_t *rq_id);
/* Steering to the RQ ends; without its default RQ the vPort's Rx is disabled. */
void card_rq_destroy(uint32_t fn, uint32_t rq_id);

/*
 * Repair after a process was killed while it created or destroyed objects of a
 * function. Between begin and end the kernel claims each object that it knows;
 * card_claim() returns false if the object does not exist. card_claim_end()
 * destroys all objects that were not claimed, and all references to objects that
 * no longer exist.
 */
enum card_object {
	CARD_PD,
	CARD_PAGE,
	CARD_KEY,
	CARD_CQ,
	CARD_SQ,
	CARD_RQ,
};
void card_claim_begin(void);
bool card_claim(uint32_t fn, enum card_object object, uint32_t id);
void card_claim_end(uint32_t fn);

/* vPort. *tx_vp_offset is the value that every Tx WQE must contain. */
int card_vport_enable_tx(uint32_t fn, uint32_t port, uint32_t pdn,
			 uint32_t page, uint32_t *tx_vp_offset);
void card_vport_disable_tx(uint32_t fn, uint32_t port);

/* Rx steering, like "configure vPort Rx" version 2 (Linux mana.h). */
struct card_steering {
	bool rss_enable;
	bool coalescing_enable; /* effective only with --coalesce */
	/* The vPort receives nothing: what is kept may name no RQ. */
	bool is_off;
	/* Keep these as an earlier call has set them. */
	bool keep_default_rq, keep_table, keep_key;
	uint32_t default_rq;
	uint32_t table[CARD_RSS_TABLE_SIZE]; /* RQ ids */
	uint8_t key[CARD_RSS_KEY_BYTES];
};
int card_vport_enable_rx(uint32_t fn, uint32_t port,
			 const struct card_steering *steering);
void card_vport_disable_rx(uint32_t fn, uint32_t port);
/* Neither sends nor receives, and knows no steering. */
void card_vport_reset(uint32_t fn, uint32_t port);

/*
 * The host disables or enables the function. While it is disabled, packets sent
 * complete with CQE_TX_VF_DISABLED, received ones drop (rx_no_steering).
 */
void card_function_disable(uint32_t fn, bool is_disabled);

/*
 * MANA_FENCE_RQ (Linux mana_en.c mana_fence_rq): write an RX_OBJECT_FENCE CQE
 * behind the CQEs of all packets received so far. It consumes no WQE.
 */
int card_rq_fence(uint32_t fn, uint32_t rq_id);
/* The nth existing RQ of a port, by rising id. 0 or -ENOENT. */
int card_port_rq(uint32_t fn, uint32_t port, uint32_t nth, uint32_t *rq_id);

/*
 * A store of size_bytes (4 or 8) to a doorbell page. Never fails: a store that
 * the hardware would ignore is ignored and recorded. The card has processed the
 * queue on return; in thread mode the store only marks the queue as pending.
 */
void card_doorbell(uint32_t fn, uint32_t page, uint32_t offset,
		   uint64_t value, uint32_t size_bytes);

/*
 * Thread mode: process this process's pending queues; true if any. With
 * config->is_pci it may leave work to the next call, to bound its time.
 */
bool card_run(uint32_t process);

/*
 * Addresses, sizes and ids of the n-th queue of a port, and of a memory region by
 * its key. 0 or -ENOENT.
 */
struct card_location {
	uint64_t addr, cq_addr;
	uint32_t size_bytes, nb_cqes;
	uint32_t id, cq_id;
	uint32_t page;
	uint32_t vp_offset;
};
int card_queue_location(uint32_t fn, uint32_t port, bool is_sq, uint32_t n,
			struct card_location *location);
int card_region_location(uint32_t fn, uint32_t key, uint64_t *addr,
			 uint64_t *size_bytes);
/* The kernel has set the register to 0: no work queue of the page uses it. */
void card_page_cleared(uint32_t fn, uint32_t page, bool is_sq);
bool card_page_has_queue(uint32_t fn, uint32_t page, bool is_sq);

/* The lock's holder was killed: repair the card. With the lock held. */
void card_recover(void);

/* Do what is due now and announce later work with clock_due(), see clock.h. */
void card_timers(uint64_t now_ns);

/*
 * The port's link. While it is down, its frames are lost and counted, and WQEs
 * complete as if sent. False: the link was in this state already.
 */
bool card_link_set(uint32_t fn, uint32_t port, bool up);

bool card_link_is_up(uint32_t fn, uint32_t port);

/* Continue if the card has stopped, see watch.h. True: it has stopped again. */
bool card_go(void);

/*
 * End the stall of a queue of a port (INJECT_ANY_QUEUE: of all its queues), see
 * inject.h. 0, or -ENOENT if none is stalled.
 */
int card_resume(uint32_t fn, uint32_t port, uint32_t queue, bool is_tx);
/* Remove all injected faults and write the held completions. */
void card_clear_faults(void);

/*
 * Bits are set at an offset of the monitor page of VMBus: serve the channels of the
 * synthetic devices, see synthetic.h.
 */
void card_monitor_signal(uint32_t offset, uint32_t bits);

/* A frame, in the calling process's memory, arrives from the port's wire. */
void card_port_receive(uint32_t fn, uint32_t port, const void *frame,
		       uint32_t len_bytes);

/* Address and counters, for the kernel's answers and the report. */
void card_port_mac(uint32_t fn, uint32_t port, uint8_t mac[6]);

/*
 * Frames are counted as they are on the wire: an LSO WQE counts as several
 * frames, and a VLAN tag adds to the bytes. The sum over the queues of a port
 * is the port's count. If the port uses the id of a queue again, the new queue
 * continues its counters.
 */
struct card_queue_counters {
	uint32_t id; /* CARD_NO_QUEUE: sum of queues without a record */
	bool is_sq;
	bool alive; /* exists now */
	uint64_t packets, bytes, no_wqe, truncated, errors;
};

/* Tx error CQE types 33..42 by index type - 33. */
#define CARD_NB_TX_ERRORS 10
/* Kinds of destination address. */
enum card_cast {
	CARD_UNICAST,
	CARD_BROADCAST,
	CARD_MULTICAST,
	CARD_NB_CASTS
};
struct card_frames {
	uint64_t packets, bytes;
};
/* All members are uint64_t: card_function_counters() sums them up. */
struct card_port_counters {
	uint64_t rx_packets, rx_bytes, rx_no_wqe, rx_truncated;
	uint64_t rx_no_steering; /* received while Rx or the function was disabled */
	uint64_t rx_filtered; /* --enforce=dmac: other destination address */
	uint64_t rx_link_down, tx_link_down; /* dropped: the link was down */
	uint64_t rx_errors; /* bad Rx WQE or stopped queue */
	uint64_t tx_packets, tx_bytes;
	struct card_frames rx_casts[CARD_NB_CASTS], tx_casts[CARD_NB_CASTS];
	uint64_t tx_errors[CARD_NB_TX_ERRORS];
	uint64_t tx_foreign_sa; /* source address not the vPort's, sent */
};
void card_port_counters(uint32_t fn, uint32_t port,
			struct card_port_counters *counters);
/* The sum of all ports of a function. */
void card_function_counters(uint32_t fn, struct card_port_counters *sum);
/* Counters of the index-th queue that the port ever had; false past the end. */
bool card_port_queue(uint32_t fn, uint32_t port, uint32_t index,
		     struct card_queue_counters *counters);

#endif /* MODEL_CARD_H */
