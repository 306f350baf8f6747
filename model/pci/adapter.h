/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a PCI function has besides the card's objects (card.h): the hardware
 * channel, event queues, DMA regions, and which of them belong to which objects
 * of the card. In the launcher's memory.
 */

#ifndef MODEL_ADAPTER_H
#define MODEL_ADAPTER_H

#include "card_state.h"
#include "eq.h"
#include "hwc.h"
#include "messages.h"
#include "region.h"

/* EQ ids: index + EQ_FIRST_ID. The hardware channel has the first EQ. */
#define ADAPTER_NB_EQS 1024u
#define ADAPTER_NO_EQ  UINT32_MAX

/* The instance of the devices of types 2 and 3. */
#define ADAPTER_DEVICE_INSTANCE 1u

#define SHM_NB_DWORDS 8u

/* A registered device: what its requests work with. */
struct adapter_device {
	bool is_registered;
	uint32_t pdn, key, page;
};

/* Regions of a card's queue; by index as in struct card_function. */
struct adapter_cq {
	uint32_t eq; /* index, or ADAPTER_NO_EQ */
	uint64_t region;
	bool is_of_rnic;
	/*
	 * Producer indices of EQ and CQ behind its last event. While that is unread
	 * and no CQE follows, a doorbell that arms again owes one, not one each: many
	 * CQs share an EQ.
	 */
	bool has_event, owes_event;
	uint32_t eq_pi, cq_pi;
};

/* UD QPs of the RNIC: the model only keeps the objects. */
#define RNIC_NB_QPS	    64u
#define RNIC_FIRST_QUEUE_ID 0x8000u
struct rnic_qp {
	bool is_alive;
	uint32_t page;
	uint32_t pdn;
	uint32_t cq[2]; /* ids */
	uint64_t region[RNIC_UD_QUEUES];
};

struct adapter {
	/* A reset keeps these members, up to hwc. */
	struct region_table regions;
	bool is_resetting; /* guest memory may be gone */
	/* Of the links, until the machine ends; 0: the default. */
	uint32_t speed_mbps[MODEL_MAX_PORTS_PER_FUNCTION];
	/*
	 * Reset behind the driver's back: its doorbells are no violation until it has
	 * a channel again.
	 */
	bool was_reset;
	struct hwc hwc; /* a reset keeps is_silent */
	uint32_t shm[SHM_NB_DWORDS];
	uint32_t shm_nb_polls; /* reads of its header until the answer */
	struct eq eqs[ADAPTER_NB_EQS];
	struct adapter_device devices[NB_DEVICE_TYPES];
	struct adapter_cq cqs[CARD_NB_CQS];
	uint64_t wq_regions[CARD_NB_WQS];
	uint64_t key_regions[MEM_NB_REGIONS];
	bool pd_allows_gpa[CARD_MAX_PDS];
	bool has_pd_handle[CARD_MAX_PDS]; /* by GDMA_CREATE_PD */
	bool has_page[CARD_MAX_PAGES]; /* by GDMA_ALLOCATE_RESOURCE_RANGE */
	bool has_rnic_adapter;
	uint32_t rnic_notify_eq; /* id */
	struct rnic_qp rnic_qps[RNIC_NB_QPS];
};

/* NULL if there is no such function. */
struct adapter *adapter(uint32_t fn);

/* Existing EQs by id, or NULL; a free one, with its id set, or NULL. */
struct eq *adapter_eq(struct adapter *a, uint32_t id);
struct eq *adapter_new_eq(struct adapter *a);
/* A completion event of a CQ, on its EQ. */
void adapter_cq_event(uint32_t fn, uint32_t cq_id);
/* The guest has read events: write those that are owed. */
void adapter_eq_read(uint32_t fn, struct eq *eq);
/*
 * Write an event to the EQ of the channel; without a channel it is lost. Linux 7.3
 * acts on those of pci_commands.c, 6.12 on none.
 */
void adapter_hwc_event(uint32_t fn, enum eqe_type type, uint32_t detail);

/* A violation without a queue; index is what its description says. */
void adapter_violation(uint32_t fn, enum violation violation, uint32_t index,
		       const void *bytes, size_t nb_bytes);

/* Whether a queue of the card or the RNIC, or an EQ, uses this PD, or this page. */
#define ADAPTER_NEITHER UINT32_MAX
bool adapter_is_used(uint32_t fn, uint32_t pdn, uint32_t page);

/* Count objects for the report (pci_status.h), after a change. */
void adapter_count(uint32_t fn);

/* Destroy everything, without events. */
void adapter_reset(uint32_t fn);

#endif /* MODEL_ADAPTER_H */
