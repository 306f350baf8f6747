/* SPDX-License-Identifier: BSD-3-Clause */

/* BAR0: registers, the shared-memory channel, doorbell pages. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "adapter.h"
#include "card.h"
#include "msix.h"
#include "pci_device.h"
#include "pci_status.h"
#include "trace.h"

/* The layout of BAR0 is the model's choice: registers tell it to the guest. */
#define SHM_OFFSET	0x1000u
#define DOORBELL_OFFSET 0x10000u
#define DOORBELL_EQ	0xff8u /* Linux gdma_main.c DOORBELL_OFFSET_EQ */

#define ALL_ONES UINT64_MAX

/*
 * Linux gdma.h GDMA_REG_*, of a VF. Offsets 0x00 to 0x24 are OpenVMM gdma_defs
 * RegMap, which its driver reads by dwords (mana_driver gdma_driver.rs init()); the
 * version is its emulator's.
 */
#define REGISTERS_VERSION 0x01000001u /* 1.0.1: major, minor, micro */
static const struct {
	uint32_t offset, nb_bytes;
	uint64_t value;
} registers[] = {
	{ 0x00, 4, REGISTERS_VERSION },
	{ 0x04, 4, 0 },
	{ 0x08, 8, DOORBELL_OFFSET },
	{ 0x10, 4, HW_DB_PAGE_BYTES },
	{ 0x14, 4, 0 },
	{ 0x18, 8, SHM_OFFSET },
	{ 0x20, 4, SHM_NB_DWORDS * sizeof(uint32_t) },
	{ 0x24, 4, 0 },
};

static void
bad_access(uint32_t fn, uint64_t offset, uint32_t nb_bytes)
{
	violation_detail("got %u bytes at offset 0x%" PRIx64
			 ", want those of a register: 0x0 to 0x27, "
			 "or 4 bytes of the shared memory at 0x%x",
			 nb_bytes, offset, SHM_OFFSET);
	adapter_violation(fn, VIOLATION_bar0_access, (uint32_t)offset,
			  &nb_bytes, sizeof(nb_bytes));
}

/* The whole register or, of 8 bytes, a half. */
static bool
read_register(uint64_t offset, uint32_t nb_bytes, uint64_t *value)
{
	uint32_t i;

	for (i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		const uint64_t at = offset - registers[i].offset;

		if (nb_bytes < 4 || at % 4 != 0 || at >= registers[i].nb_bytes ||
		    nb_bytes > registers[i].nb_bytes - at)
			continue;
		*value = registers[i].value >> 8 * at;
		if (nb_bytes == 4)
			*value &= UINT32_MAX;
		return true;
	}
	return false;
}

/*
 * The shared-memory channel: Linux shm_channel.c. The header is the last dword,
 * whose store starts the request. Its effect is there before the store returns; only
 * with --quirk shm-answer=polled does the guest see the device own the channel.
 */
#define SHM_HEADER	(SHM_NB_DWORDS - 1)
#define SHM_TYPE_M	0x7u
#define SHM_VERSION_S	3
#define SHM_VERSION_M	0x7u
#define SHM_DIRECTION	(1u << 7) /* an answer */
#define SHM_STATUS_S	8
#define SHM_STATUS_M	0xffu
#define SHM_RESET	(1u << 24)
#define SHM_DEVICE_OWNS (1u << 31)
#define SHM_ESTABLISH	1u
#define SHM_DESTROY	2u
#define SHM_TIMEOUT	4u /* OpenVMM gdma_defs SMC_MSG_TYPE_REPORT_HWC_TIMEOUT */
#define SHM_FAILED	1u
#define SHM_NB_POLLS	3u /* until a slow answer */
/* 48 bits of each page's frame number, then the upper 4 of each. */
#define SHM_NB_PAGES	4u
#define SHM_FRAME_BYTES 6u
#define SHM_HIGH_OFF	24u
#define SHM_VECTOR_OFF	26u
#define SHM_PAGE_SHIFT	12

/*
 * A dword of the shared memory. The adapter may take time for an answer, and own the
 * memory meanwhile: OpenVMM gdma lib.rs read_shmem().
 */
static uint32_t
shm_read(struct adapter *a, uint32_t dword)
{
	if (dword != SHM_HEADER || a->shm_nb_polls == 0)
		return a->shm[dword];
	a->shm_nb_polls--;
	return a->shm[dword] | SHM_DEVICE_OWNS;
}

static bool
is_shm(uint64_t offset)
{
	return offset >= SHM_OFFSET &&
	       offset - SHM_OFFSET < SHM_NB_DWORDS * sizeof(uint32_t);
}

uint64_t
pci_bar0_read(uint32_t fn, uint64_t offset, uint32_t nb_bytes)
{
	struct adapter *a = adapter(fn);
	uint64_t value;

	if (a != NULL && is_shm(offset) && nb_bytes == 4 && offset % 4 == 0)
		return shm_read(a, (uint32_t)(offset - SHM_OFFSET) / 4);
	if (a != NULL && read_register(offset, nb_bytes, &value))
		return value;
	if (offset >= DOORBELL_OFFSET) {
		violation_detail("got a load of %u bytes at offset 0x%" PRIx64
				 ", want stores only",
				 nb_bytes, offset);
		adapter_violation(fn, VIOLATION_doorbell_read, (uint32_t)offset,
				  NULL, 0);
	} else {
		bad_access(fn, offset, nb_bytes);
	}
	return nb_bytes >= 8 ? ALL_ONES : (UINT64_C(1) << 8 * nb_bytes) - 1;
}

static void
shm_violation(uint32_t fn, enum violation violation)
{
	const struct adapter *a = adapter(fn);

	adapter_violation(fn, violation, a->shm[SHM_HEADER], a->shm,
			  sizeof(a->shm));
}

static uint32_t
shm_establish(uint32_t fn)
{
	struct adapter *a = adapter(fn);
	const uint8_t *bytes = (const uint8_t *)a->shm;
	uint64_t gpa[SHM_NB_PAGES];
	struct hwc_setup setup;
	uint32_t i, high;

	high = bytes[SHM_HIGH_OFF] | (uint32_t)bytes[SHM_HIGH_OFF + 1] << 8;
	for (i = 0; i < SHM_NB_PAGES; i++) {
		uint64_t frame = 0;

		memcpy(&frame, bytes + i * SHM_FRAME_BYTES, SHM_FRAME_BYTES);
		frame |= (uint64_t)(high >> 4 * i & 0xf) << 48;
		gpa[i] = frame << SHM_PAGE_SHIFT;
		if (gpa[i] >= REGION_GUEST_BYTES) {
			violation_detail("got page address 0x%" PRIx64
					 " in field %u, want "
					 "one below 0x%" PRIx64,
					 gpa[i], i, (uint64_t)REGION_GUEST_BYTES);
			goto refuse;
		}
	}
	setup = (struct hwc_setup){
		.eq = gpa[0],
		.cq = gpa[1],
		.rq = gpa[2],
		.sq = gpa[3],
		.vector = bytes[SHM_VECTOR_OFF] |
			  (uint32_t)bytes[SHM_VECTOR_OFF + 1] << 8,
	};
	if (setup.vector >= MSIX_NB_VECTORS) {
		violation_detail("got MSI-X vector %u, want less than %u",
				 setup.vector, MSIX_NB_VECTORS);
		goto refuse;
	}
	if (a->hwc.is_open) {
		violation_detail(
			"got a set-up of an open channel, want a teardown first");
		shm_violation(fn, VIOLATION_shm_state);
		return SHM_FAILED;
	}
	return hwc_open(fn, &setup) ? 0 : SHM_FAILED;
refuse:
	shm_violation(fn, VIOLATION_shm_message);
	return SHM_FAILED;
}

/* Objects that nothing can destroy any more. */
static bool
has_objects(uint32_t fn)
{
	struct pci_objects n;

	pci_objects_count(fn, &n);
	return n.nb_regions + n.nb_keys + n.nb_eqs + n.nb_cqs + n.nb_wqs +
		       n.nb_pds + n.nb_pages + n.nb_devices + n.nb_rnic !=
	       0;
}

static void
detail_objects(uint32_t fn)
{
	char text[VIOLATION_DETAIL_BYTES];
	struct pci_objects n;
	int length = 0;

	pci_objects_count(fn, &n);
#define ADD(kind, name)                                                          \
	if (n.nb_##kind != 0 && length < (int)sizeof(text))                      \
		length += snprintf(text + length, sizeof(text) - (size_t)length, \
				   "%s%u " #name, length == 0 ? "" : ", ",       \
				   n.nb_##kind);
	PCI_OBJECT_KINDS(ADD)
#undef ADD
	violation_detail("got %s, want none", text);
}

static void
note_left(uint32_t fn)
{
	struct pci_objects *left = &pci_status(fn)->left, n;

	pci_objects_count(fn, &n);
#define ADD(kind, name) left->nb_##kind += n.nb_##kind;
	PCI_OBJECT_KINDS(ADD)
#undef ADD
}

/* Without a channel it succeeds: OpenVMM gdma lib.rs handle_smc(). */
static uint32_t
shm_destroy(uint32_t fn)
{
	struct adapter *a = adapter(fn);
	bool was_silent = a->hwc.was_silent;

	if (!a->hwc.is_open)
		return 0;
	hwc_close(fn);
	if (has_objects(fn) && !was_silent) {
		detail_objects(fn);
		shm_violation(fn, VIOLATION_objects_left);
		note_left(fn);
	}
	adapter_reset(fn); /* ASSUMED: they end with the channel */
	return 0;
}

/*
 * The driver waited long for an answer, or lost an interrupt: OpenVMM mana_driver
 * gdma_driver.rs report_hwc_timeout().
 */
static uint32_t
shm_timeout(uint32_t fn)
{
	const uint32_t flags = adapter(fn)->shm[6];

	trace_event("kind=hwc_timeout fn=%u ms=%u failed=%u interrupt_lost=%u",
		    fn, flags & 0xffffff, flags >> 24 & 1, flags >> 25 & 1);
	return 0;
}

static bool
shm_type_exists(uint32_t type, uint32_t version)
{
	if (type == SHM_TIMEOUT)
		return version != 0;
	return version == 0 && (type == SHM_ESTABLISH || type == SHM_DESTROY);
}

static uint32_t
shm_request(uint32_t fn, uint32_t header)
{
	struct adapter *a = adapter(fn);
	const uint32_t type = header & SHM_TYPE_M;

	if (!shm_type_exists(type, header >> SHM_VERSION_S & SHM_VERSION_M) ||
	    (header & (SHM_DIRECTION | SHM_DEVICE_OWNS |
		       SHM_STATUS_M << SHM_STATUS_S)) != 0) {
		violation_detail("got header 0x%08x of type %u, want type 1 or 2, version 0, "
				 "or type 4, version 1; status and direction 0",
				 header, type);
		shm_violation(fn, VIOLATION_shm_message);
		return SHM_FAILED;
	}
	if ((header & SHM_RESET) != 0 && type == SHM_ESTABLISH) {
		uint32_t saved[SHM_NB_DWORDS];

		memcpy(saved, a->shm, sizeof(saved));
		adapter_reset(fn);
		memcpy(a->shm, saved, sizeof(saved));
	}
	if (type == SHM_TIMEOUT)
		return shm_timeout(fn);
	return type == SHM_ESTABLISH ? shm_establish(fn) : shm_destroy(fn);
}

static void
shm_write(uint32_t fn, uint32_t dword, uint32_t value)
{
	struct adapter *a = adapter(fn);
	uint32_t status;

	a->shm[dword] = value;
	if (dword != SHM_HEADER)
		return;
	status = shm_request(fn, value);
	a->shm_nb_polls = segment_config()->quirks[QUIRK_SHM_ANSWER_POLLED] != 0 ?
				  SHM_NB_POLLS :
				  0;
	a->shm[SHM_HEADER] = (value &
			      (SHM_TYPE_M | SHM_VERSION_M << SHM_VERSION_S)) |
			     SHM_DIRECTION | status << SHM_STATUS_S;
}

static void
ring_eq(uint32_t fn, uint32_t page, uint64_t value)
{
	const struct hw_doorbell db = hw_doorbell_read(value, true);
	struct eq *eq = adapter_eq(adapter(fn), db.id & 0xffff);

	if (eq == NULL) {
		violation_detail("got EQ id %u, want one that exists",
				 db.id & 0xffff);
		adapter_violation(fn, VIOLATION_doorbell_unknown_queue,
				  DOORBELL_EQ, &value, sizeof(value));
	} else if (eq->page != page) {
		violation_detail(
			"got doorbell page %u, want page %u of the EQ's device",
			page, eq->page);
		adapter_violation(fn, VIOLATION_doorbell_foreign_queue,
				  DOORBELL_EQ, &value, sizeof(value));
	} else if (eq_doorbell(eq, db.tail, db.arm)) {
		adapter_eq_read(fn, eq);
	}
	if (db.id >> 16 != 0 || db.wqe_cnt != 0) {
		violation_detail("got 0x%x in bits 16 to 31, want 0",
				 (uint32_t)value >> 16);
		adapter_violation(fn, VIOLATION_doorbell_reserved_bits,
				  DOORBELL_EQ, &value, sizeof(value));
	}
}

/* A doorbell of a work queue of the RNIC, which the model does not run. */
static bool
is_of_rnic(const struct adapter *a, uint32_t page, uint32_t offset, uint64_t value)
{
	const struct hw_doorbell db = hw_doorbell_read(value, false);
	const uint32_t n = (db.id - RNIC_FIRST_QUEUE_ID) / RNIC_UD_QUEUES;

	return (offset == HW_DB_SQ || offset == HW_DB_RQ) && n < RNIC_NB_QPS &&
	       a->rnic_qps[n].is_alive && a->rnic_qps[n].page == page;
}

/*
 * Linux ends the hardware channel before it removes the interrupt handler of the
 * channel's EQ: on another processor, the handler may still ring CQ and EQ
 * (hw_channel.c mana_hwc_destroy_channel, gdma_main.c mana_gd_process_eq_events).
 */
static bool
is_of_late_handler(uint32_t fn, uint64_t page, uint32_t reg)
{
	return page == HWC_PAGE && !adapter(fn)->hwc.is_open &&
	       (reg == HW_DB_CQ || reg == DOORBELL_EQ);
}

static void
ring(uint32_t fn, uint64_t offset, uint64_t value, uint32_t nb_bytes)
{
	const struct card_function *f = card_function(fn);
	const uint64_t page = offset / HW_DB_PAGE_BYTES;
	const uint32_t reg = offset % HW_DB_PAGE_BYTES;

	if (adapter(fn)->was_reset || is_of_late_handler(fn, page, reg))
		return;
	if (page >= CARD_MAX_PAGES || (page != HWC_PAGE && !f->pages[page])) {
		violation_detail("got doorbell page %" PRIu64
				 ", want one that was allocated",
				 page);
		adapter_violation(fn, VIOLATION_doorbell_bad_offset,
				  (uint32_t)offset, &value, sizeof(value));
		return;
	}
	if (reg == DOORBELL_EQ && nb_bytes == 8)
		ring_eq(fn, (uint32_t)page, value);
	else if (page == HWC_PAGE && nb_bytes == 8 &&
		 (reg == HW_DB_SQ || reg == HW_DB_RQ || reg == HW_DB_CQ))
		hwc_doorbell(fn, reg, value);
	else if (nb_bytes != 8 ||
		 !is_of_rnic(adapter(fn), (uint32_t)page, reg, value))
		card_doorbell(fn, (uint32_t)page, reg, value, nb_bytes);
}

void
pci_bar0_write(uint32_t fn, uint64_t offset, uint64_t value, uint32_t nb_bytes)
{
	if (adapter(fn) == NULL)
		return;
	if (offset >= DOORBELL_OFFSET)
		ring(fn, offset - DOORBELL_OFFSET, value, nb_bytes);
	else if (is_shm(offset) && nb_bytes == 4 && offset % 4 == 0)
		shm_write(fn, (uint32_t)(offset - SHM_OFFSET) / 4,
			  (uint32_t)value);
	else
		bad_access(fn, offset, nb_bytes);
}
