/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * With any requests, any contents of the shared memory and of the channel's
 * rings, and any stores to BAR0, the device continues, accesses guest memory only
 * where it is told to, and has nothing left after a reset.
 *
 * An input is a list of actions; the first byte of each selects the action. An
 * input cannot contain the ids and handles that the device chooses, so a flag
 * replaces numbers in a request by such.
 */

#include <stddef.h>

#include "../hwc_guest.h"
#include "card.h"
#include "fuzz.h"
#include "request.h"
#include "segment.h"

#define MAX_PAYLOAD 160u
#define SHM_AT	    0x1000u

/* Ids and handles of answers, newest last. */
#define NB_KNOWN 32u
static uint64_t known[NB_KNOWN];
static uint32_t nb_known;

static void
remember(void)
{
	uint64_t value;
	uint32_t at;

	for (at = sizeof(struct answer_header);
	     at + 4 <= guest.answer_bytes && at < 56; at += 4) {
		memset(&value, 0, sizeof(value));
		memcpy(&value, guest.answer + at,
		       guest.answer_bytes - at < 8 ? 4 : 8);
		known[nb_known++ % NB_KNOWN] = value;
	}
}

/* Replace words of the payload, as the bits of mask say. */
static void
fix(uint8_t *payload, uint32_t nb_bytes, uint32_t mask, struct fuzz_input *in)
{
	uint32_t i;

	for (i = 0; i < 16 && 8 * i + 8 <= nb_bytes; i++) {
		const uint32_t which = mask >> 2 * i & 3;
		uint64_t value;

		if (which == 0)
			continue;
		value = known[fuzz_u8(in) % NB_KNOWN];
		memcpy(payload + 8 * i, &value, which == 1 ? 8 : 4);
	}
}

static const struct request_kind *
kind_of(uint8_t n)
{
	const uint32_t nb = nb_gdma_requests + nb_mana_requests +
			    nb_rnic_requests;
	uint32_t i = n % nb;

	if (i < nb_gdma_requests)
		return &gdma_requests[i];
	i -= nb_gdma_requests;
	if (i < nb_mana_requests)
		return &mana_requests[i];
	return &rnic_requests[i - nb_mana_requests];
}

static struct hwc *
channel(void)
{
	return &adapter(0)->hwc;
}

/* A request with a valid header, and size if it can be. */
static void
request(struct fuzz_input *in)
{
	static _Alignas(8) uint8_t message[HWC_MAX_MESSAGE_BYTES];
	const struct request_kind *kind = kind_of(fuzz_u8(in));
	const uint8_t how = fuzz_u8(in);
	struct request_header *hdr = (void *)message;
	uint32_t nb_bytes = kind->min_bytes, mask;

	memset(message, 0, sizeof(message));
	if (kind->max_bytes > kind->min_bytes)
		nb_bytes += 8u * (fuzz_u8(in) % 16);
	fuzz_read(in, &mask, sizeof(mask));
	fuzz_read(in, message + sizeof(*hdr),
		  nb_bytes - sizeof(*hdr) < MAX_PAYLOAD ? nb_bytes - sizeof(*hdr) :
							  MAX_PAYLOAD);
	fix(message + sizeof(*hdr), nb_bytes - (uint32_t)sizeof(*hdr), mask, in);
	*hdr = (struct request_header){
		.req = { .msg_type = kind->code,
			 .msg_version = (how & 1) != 0 ? kind->max_version : 1,
			 .msg_size = nb_bytes },
		.resp = { .msg_type = kind->code,
			  .msg_version = 1 + (how & 3),
			  .msg_size = 4096 },
		.dev_id = { .type = kind->device != DEVICE_NONE ? kind->device :
								  how >> 4,
			    .instance = ADAPTER_DEVICE_INSTANCE },
	};
	if ((how & 4) != 0) /* any header */
		fuzz_read(in, message, sizeof(*hdr));
	if (!channel()->is_open || channel()->sq.is_disabled)
		return;
	if (guest_try(message, nb_bytes))
		remember();
}

static void
shm(struct fuzz_input *in)
{
	uint32_t dwords[SHM_NB_DWORDS];

	fuzz_read(in, dwords, sizeof(dwords));
	if (fuzz_u8(in) & 1) /* a valid header */
		dwords[7] = 1 + (dwords[7] & 1);
	guest_shm(dwords);
}

static void
store(struct fuzz_input *in)
{
	const uint8_t where = fuzz_u8(in);
	static const uint32_t registers[] = { 0, 0x400, 0x800, 0xff8 };
	uint64_t value = fuzz_u64(in);
	uint64_t offset = GUEST_DB_OFFSET + (where >> 2 & 7) * 4096u +
			  registers[where & 3];

	if ((where & 0x20) != 0) /* an id that exists */
		value = (value & ~UINT64_C(0xffffff)) |
			(known[value % NB_KNOWN] & 0xffffff);
	if ((where & 0x40) != 0)
		offset = fuzz_u64(in) % (1u << 20);
	guest_write(offset, value, (where & 0x80) != 0 ? 1u << (value & 3) : 8);
}

static void
load(struct fuzz_input *in)
{
	const uint64_t offset = fuzz_u64(in) % (1u << 20);

	guest_read(offset, 1u << (offset >> 8 & 3));
}

/* Any bytes in guest memory, which holds the rings. */
static void
scribble(struct fuzz_input *in)
{
	const uint32_t page = fuzz_u8(in), at = fuzz_u8(in) * 16u;
	const uint32_t nb_bytes = fuzz_u8(in) % 64u;

	fuzz_read(in, guest_at(page * GUEST_PAGE + at), nb_bytes);
}

/* Frames reach queues that requests have made. */
static void
receive(struct fuzz_input *in)
{
	uint8_t frame[256];
	const uint32_t nb_bytes = fuzz_u8(in);

	fuzz_read(in, frame, nb_bytes);
	segment_lock();
	card_port_receive(0, fuzz_u8(in) % GUEST_NB_PORTS, frame, nb_bytes);
	segment_unlock();
}

static void
reset(void)
{
	const struct pci_objects none = { 0 };
	struct pci_objects n;

	segment_lock();
	pci_device_reset(0);
	segment_unlock();
	pci_objects_count(0, &n);
	FUZZ_CHECK(memcmp(&n, &none, sizeof(n)) == 0);
	FUZZ_CHECK(adapter(0)->regions.nb_pages == 0);
}

enum action {
	REQUEST,
	REQUEST_2,
	REQUEST_3,
	SHM,
	STORE,
	LOAD,
	SCRIBBLE,
	RECEIVE,
	RESET,
	ESTABLISH,
	NB_ACTIONS
};

static void
establish(void)
{
	if (channel()->is_open)
		return;
	guest_free_all();
	guest_establish(0);
	known[nb_known++ % NB_KNOWN] = guest.eq.id;
}

static void
act(struct fuzz_input *in)
{
	switch ((enum action)(fuzz_u8(in) % NB_ACTIONS)) {
	case REQUEST:
	case REQUEST_2:
	case REQUEST_3:
		request(in);
		return;
	case SHM:
		shm(in);
		return;
	case STORE:
		store(in);
		return;
	case LOAD:
		load(in);
		return;
	case SCRIBBLE:
		scribble(in);
		return;
	case RECEIVE:
		receive(in);
		return;
	case RESET:
		reset();
		return;
	default:
		establish();
		return;
	}
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	guest_start(NULL);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nb_bytes)
{
	struct fuzz_input in = { .bytes = data, .nb_left = nb_bytes };

	memset(known, 0, sizeof(known));
	nb_known = 0;
	segment_violation_log()->nb_rows = 0;
	establish();
	while (in.nb_left > 0)
		act(&in);
	reset();
	return 0;
}
