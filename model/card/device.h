/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The card, as the kernel driver and the host see it: the facade of mem,
 * queue, engine, nic and wire.
 *
 * All functions are called with the machine's lock held and return 0 or a
 * negative errno; -EPROTO stands for a command that the hardware refused (the
 * kernel driver maps every non-zero hardware status to EPROTO).  Functions
 * and ports are counted from 0.  Objects belong to a function; identifiers
 * are unique within it and are handed out lowest first.
 */

#ifndef MODEL_DEVICE_H
#define MODEL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define DEVICE_RSS_TABLE_SIZE 64
#define DEVICE_RSS_KEY_BYTES  40
#define DEVICE_MAX_QUEUES     1024 /* SQs, and RQs, of a function */
#define DEVICE_NO_QUEUE	      UINT32_MAX

/* Memory of a program: nobody keeps a pointer to it. */
struct device_memory {
	uint32_t process; /* slot in the segment's process table */
	uint64_t addr; /* virtual address in that process */
	uint64_t size; /* bytes */
};

#define DEVICE_ACCESS_READ  (1u << 0) /* always granted */
#define DEVICE_ACCESS_WRITE (1u << 1) /* IBV_ACCESS_LOCAL_WRITE */

/* Launcher, once: functions, ports and wires as configured. */
int device_init(void);

/* Protection domains and doorbell pages. */
int device_pd_create(uint32_t fn, uint32_t *pdn);
void device_pd_destroy(uint32_t fn, uint32_t pdn);
int device_doorbell_page_create(uint32_t fn, uint32_t *page);
/* With all queues that still use it. */
void device_doorbell_page_destroy(uint32_t fn, uint32_t page);

/* Memory regions. size is 64-bit; the key goes into SGEs. */
int device_mkey_create(uint32_t fn, uint32_t pdn,
		       const struct device_memory *memory, uint32_t access,
		       uint32_t *key);
void device_mkey_destroy(uint32_t fn, uint32_t key);

/*
 * Queues. A ring is 4096-aligned and a power of two >= 4096 bytes, else
 * -EPROTO. process of ring->memory is the one whose doorbells count.
 * Completion queues must be zero (a violation otherwise). A work queue is
 * filled with 0xff to show what a driver forgets to write: an SQ when it is
 * created, an RQ by whoever registers its ring, since a driver may write
 * receive WQEs before the queue has an identifier.
 */
int device_wq_ring_fill(const struct device_memory *ring);
int device_cq_create(uint32_t fn, uint32_t pdn, uint32_t page,
		     const struct device_memory *ring, uint32_t *cq_id);
void device_cq_destroy(uint32_t fn, uint32_t cq_id);
int device_sq_create(uint32_t fn, uint32_t port, uint32_t pdn, uint32_t page,
		     const struct device_memory *ring, uint32_t cq_id,
		     uint32_t *sq_id);
void device_sq_destroy(uint32_t fn, uint32_t sq_id);
int device_rq_create(uint32_t fn, uint32_t port, uint32_t pdn, uint32_t page,
		     const struct device_memory *ring, uint32_t cq_id,
		     uint32_t *rq_id);
void device_rq_destroy(uint32_t fn, uint32_t rq_id);

/*
 * Somebody was killed while he made or destroyed what a function has: between
 * begin and end the kernel claims what it knows of; what nobody claims is
 * destroyed then, as are the traces of what is gone. Claiming something that is
 * not there: false.
 */
enum device_thing {
	DEVICE_PD,
	DEVICE_PAGE,
	DEVICE_KEY,
	DEVICE_CQ,
	DEVICE_SQ,
	DEVICE_RQ,
};
void device_claim_begin(void);
bool device_claim(uint32_t fn, enum device_thing thing, uint32_t id);
void device_claim_end(uint32_t fn);

/* vPort. Tx: gives the offset that every Tx WQE must carry. */
int device_vport_enable_tx(uint32_t fn, uint32_t port, uint32_t pdn,
			   uint32_t page, uint32_t *tx_vp_offset);
void device_vport_disable_tx(uint32_t fn, uint32_t port);

/* Rx steering, as "configure vPort Rx" version 2 (Linux mana.h). */
struct device_steering {
	bool rss_enable;
	bool coalescing_enable; /* effective only with --coalesce */
	uint32_t default_rq;
	uint32_t table[DEVICE_RSS_TABLE_SIZE]; /* RQ ids */
	uint8_t key[DEVICE_RSS_KEY_BYTES];
};
int device_vport_enable_rx(uint32_t fn, uint32_t port,
			   const struct device_steering *steering);
void device_vport_disable_rx(uint32_t fn, uint32_t port);

/*
 * The function is disabled by its host, or enabled again: what is sent then
 * ends in CQE_TX_VF_DISABLED, what arrives is dropped (rx_no_steering).
 */
void device_function_disable(uint32_t fn, bool is_disabled);

/*
 * MANA_FENCE_RQ (Linux mana_en.c mana_fence_rq): an RX_OBJECT_FENCE CQE after
 * those of all packets that arrived before. It uses up no WQE.
 */
int device_rq_fence(uint32_t fn, uint32_t rq_id);
/* The nth live RQ of a port, in the order of ids. 0 or -ENOENT. */
int device_port_rq(uint32_t fn, uint32_t port, uint32_t nth, uint32_t *rq_id);

/*
 * A store of size_bytes (4 or 8) to a doorbell page. Never fails: what the
 * hardware would ignore is ignored and recorded. The work is done on return;
 * in thread mode it is only noted.
 */
void device_doorbell(uint32_t fn, uint32_t page, uint32_t offset,
		     uint64_t value, uint32_t size_bytes);

/* Thread mode: do all noted work of queues of this process; true if any. */
bool device_run(uint32_t process);

/*
 * Doorbell pages of plain memory (step and polled mode): registers is the
 * caller's mapping of a page.
 */
struct device_page {
	uint32_t fn, page;
	const void *registers;
};
/* Whether there is something new. Without the lock: a guess. */
bool device_pages_rung(const struct device_page *pages, uint32_t nb);
/*
 * Take what is new and do all work; the number of new register values. others:
 * pages that somebody else looks at. What is posted there for receiving is
 * taken before packets are sent, and not counted.
 */
uint32_t device_pages_run(const struct device_page *pages, uint32_t nb,
			  const struct device_page *others, uint32_t nb_others);
/* A 32-bit register was used: its increments cannot be seen one by one. */
bool device_page_is_short_rung(const struct device_page *page);
/*
 * Where the n-th queue of a process at a port is: its rings and ids; -ENOENT.
 * And a memory region by its key.
 */
struct device_place {
	uint64_t addr, cq_addr;
	uint32_t size_bytes, nb_cqes;
	uint32_t id, cq_id;
	uint32_t page;
	uint32_t vp_offset;
};
int device_queue_place(uint32_t fn, uint32_t port, bool is_sq, uint32_t n,
		       uint32_t process, struct device_place *place);
int device_region_place(uint32_t fn, uint32_t key, uint64_t *addr,
			uint64_t *size_bytes);
/* The register was set to 0, for a new queue; no work queue uses it. */
void device_page_cleared(uint32_t fn, uint32_t page, bool is_sq);
bool device_page_has_queue(uint32_t fn, uint32_t page, bool is_sq);

/*
 * Do what is due; what will be due later is told by clock_due(). See clock.h.
 */
void device_timers(uint64_t now_ns);
/*
 * A completion has waited long enough: device_run() writes it. A thread that
 * is awake anyhow asks this often and spares the clock's timer, which comes
 * later. Without the lock it is a guess.
 */
bool device_is_due(void);

/*
 * The link of a port: while it is down, frames towards and from it are lost, and
 * counted. Work queues go on as if they were sent. False: it was so before.
 */
bool device_link_set(uint32_t fn, uint32_t port, bool up);

bool device_link_is_up(uint32_t fn, uint32_t port);

/* A frame that arrives at a port from its wire. frame is in our memory. */
void device_port_receive(uint32_t fn, uint32_t port, const void *frame,
			 uint32_t len_bytes);

/* Identity and counters, for the kernel's answers and the report. */
void device_port_mac(uint32_t fn, uint32_t port, uint8_t mac[6]);

/*
 * All frames are counted as they are on the wire: an LSO WQE is several, a
 * VLAN tag counts, the queues of a port add up to the port. A queue whose id
 * is used again by the same port goes on counting.
 */
struct device_queue_counters {
	uint32_t id; /* DEVICE_NO_QUEUE: what found no room */
	bool is_sq;
	bool alive; /* still exists */
	uint64_t packets, bytes, no_wqe, truncated, errors;
};

/* Tx error CQE types 33..42 by index type - 33. */
#define DEVICE_NB_TX_ERRORS 10
struct device_port_counters {
	uint64_t rx_packets, rx_bytes, rx_no_wqe, rx_truncated;
	uint64_t rx_no_steering; /* arrived while Rx or the function was disabled */
	uint64_t rx_filtered; /* --enforce=dmac: for somebody else */
	uint64_t rx_link_down, tx_link_down; /* lost: the link was down */
	uint64_t rx_errors; /* met a bad Rx WQE or a stopped queue */
	uint64_t tx_packets, tx_bytes;
	uint64_t tx_errors[DEVICE_NB_TX_ERRORS];
	uint64_t tx_foreign_sa; /* source address not the vPort's, let pass */
};
void device_port_counters(uint32_t fn, uint32_t port,
			  struct device_port_counters *counters);
/* Walk all queues that a port ever had; false when index is past the end. */
bool device_port_queue(uint32_t fn, uint32_t port, uint32_t index,
		       struct device_queue_counters *counters);

/*
 * What the device needs from the kernel: a completion event of an armed CQ.
 * Defined by the kernel side (object.c).
 */
void kernel_completion_event(uint32_t fn, uint32_t cq_id);
/* Who held the machine's lock was killed; the card is in order again. */
void kernel_holder_died(void);
/*
 * Wake the device thread of a process. Kernel side; as is the waking of the
 * launcher, see clock.h.
 */
void kernel_kick_process(uint32_t process);

#endif /* MODEL_DEVICE_H */
