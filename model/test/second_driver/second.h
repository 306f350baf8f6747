/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A second driver of the adapter, to test the model: in user space, over vfio-user.
 * It shares no definition with the model and with the DPDK driver. Its facts are from
 * OpenVMM, vm/devices/net: gdma_defs/src/lib.rs and bnic.rs (layouts), and mana_driver
 * and net_mana (how they are used); a number without a source here is from there.
 * The protocol is QEMU's docs/interop/vfio-user.rst, its structures <linux/vfio.h>.
 */

#ifndef SECOND_DRIVER_H
#define SECOND_DRIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PAGE_BYTES 4096u

/* Print a message and exit with status 1. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- vfio.c: the function, its memory and interrupts ---- */

#define NB_VECTORS 2u
void vfio_open(const char *path);
/* Function level reset, by the PCI Express capability. */
void vfio_reset(void);
/* BAR0. */
uint32_t bar_read(uint64_t offset);
void bar_write(uint64_t offset, uint64_t value, uint32_t nb_bytes);
/* Wait for an interrupt since the last wait. */
void irq_wait(uint32_t vector);
/* Zeroed pages that the device can access; forget all of them. */
void *mem_alloc(uint32_t nb_bytes);
uint64_t mem_address(const void *at);
void mem_free_all(void);

/* Numbers at any place; host and adapter are little endian. */
#define ACCESSORS(bits)                                              \
	static inline uint##bits##_t get##bits(const void *at)       \
	{                                                            \
		uint##bits##_t value;                                \
		memcpy(&value, at, sizeof(value));                   \
		return value;                                        \
	}                                                            \
	static inline void put##bits(void *at, uint##bits##_t value) \
	{                                                            \
		memcpy(at, &value, sizeof(value));                   \
	}
ACCESSORS(16)
ACCESSORS(32)
ACCESSORS(64)

/* ---- queues.c ---- */

#define DB_SQ 0x0u
#define DB_RQ 0x400u
#define DB_CQ 0x800u
#define DB_EQ 0xff8u

#define CQE_BYTES 64u
#define EQE_BYTES 16u

/* A completion or event queue. */
struct cq {
	uint8_t *ring;
	uint32_t entry_bytes, nb_entries;
	uint32_t reg, page, id;
	uint32_t next; /* entries, starts at nb_entries */
	uint32_t rung; /* the last index of a doorbell */
};
/* A work queue. */
struct wq {
	uint8_t *ring;
	uint32_t nb_bytes;
	uint32_t reg, page, id;
	uint32_t tail, head; /* bytes: posted, completed */
	uint64_t handle;
	struct cq cq;
};
struct cq cq_make(uint8_t *ring, uint32_t nb_bytes, uint32_t reg);
/* Copy the next entry; false: none. */
bool cq_pop(struct cq *cq, uint8_t *entry);
void cq_ring(struct cq *cq, bool arm);
/* Write a WQE with an OOB and one SGE. */
void wq_post(struct wq *wq, const void *oob, uint32_t oob_bytes, uint64_t address,
	     uint32_t key, uint32_t nb_bytes);
/* Tell the device about new WQEs. */
void wq_ring(const struct wq *wq);

/* ---- hwc.c: the hardware channel ---- */

enum device {
	DEVICE_HWC = 1,
	DEVICE_MANA = 2
};

void hwc_open(void);
void hwc_close(void);
/*
 * Send a request of a device; body is what follows the header. Returns the status;
 * answer receives what follows the answer's header.
 */
uint32_t hwc_try(uint32_t code, enum device device, const void *body,
		 uint32_t body_bytes, void *answer, uint32_t answer_bytes);
/* The same; it must succeed. */
void hwc_call(uint32_t code, enum device device, const void *body,
	      uint32_t body_bytes, void *answer, uint32_t answer_bytes);
/* Ask for the event by which the adapter requests a reset, and wait for it. */
void hwc_await_reset_event(void);
/* Where the doorbell pages are in BAR0. */
extern uint64_t hwc_doorbells;

/* ---- nic.c: ports and queues ---- */

#define NB_PORTS      2u
#define NB_QUEUES     2u /* SQs, and RQs, of a port */
#define RING_BYTES    16384u /* 512 WQEs of 32 bytes */
#define NB_SLOTS      (RING_BYTES / 32)
#define SLOT_BYTES    2048u
#define RSS_ENTRIES   64u
#define RSS_KEY_BYTES 40u

struct port {
	uint64_t vport;
	uint8_t mac[8];
	uint16_t vp_offset;
	struct wq sq[NB_QUEUES], rq[NB_QUEUES];
	uint8_t *tx_buffers[NB_QUEUES], *rx_buffers[NB_QUEUES]; /* NB_SLOTS */
};
extern struct port ports[NB_PORTS];
extern const uint8_t rss_key[RSS_KEY_BYTES];
/* The memory key of all memory. */
extern uint32_t nic_key;

/* Channel, device, queues, steering; the reverse. */
void nic_start(void);
void nic_stop(void);
/* Post the Rx buffers of queue q in ring order, nb of them. */
void nic_post_rx(struct port *port, uint32_t q, uint32_t nb);
/* Wait until a CQ of the ports has an entry. */
void nic_wait(void);

#endif /* SECOND_DRIVER_H */
