/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "pci_device.h"
#include "pci_status.h"
#include "request.h"
#include "trace.h"

#define TRACED_BYTES 64u /* of a request, in a violation */

uint32_t
request_refuse(const struct request *r, enum violation violation,
	       const char *format, ...)
{
	char text[VIOLATION_DETAIL_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	violation_detail("request %s: %s",
			 fault_call_name(fault_request(r->hdr.req.msg_type)),
			 text);
	adapter_violation(r->fn, violation, r->hdr.req.msg_type, r->bytes,
			  r->nb_bytes < TRACED_BYTES ? r->nb_bytes :
						       TRACED_BYTES);
	return STATUS_REFUSED;
}

uint32_t
request_refuse_handle(const struct request *r, const char *name, uint64_t handle,
		      const char *wanted)
{
	return request_refuse(r, VIOLATION_request_handle,
			      "got %s 0x%" PRIx64 ", want %s", name, handle,
			      wanted);
}

uint32_t
request_unsupported(struct request *r)
{
	(void)r;
	return STATUS_UNSUPPORTED;
}

static const struct request_kind *
find_in(const struct request_kind *kinds, uint32_t nb, uint32_t code)
{
	uint32_t i;

	for (i = 0; i < nb; i++)
		if ((uint32_t)kinds[i].code == code)
			return &kinds[i];
	return NULL;
}

const struct request_kind *
request_kind(uint32_t code)
{
	const struct request_kind *kind = find_in(gdma_requests,
						  nb_gdma_requests, code);

	if (kind == NULL)
		kind = find_in(mana_requests, nb_mana_requests, code);
	if (kind == NULL)
		kind = find_in(rnic_requests, nb_rnic_requests, code);
	return kind;
}

static bool
header_is_valid(const struct request *r)
{
	const struct message_header *req = &r->hdr.req, *resp = &r->hdr.resp;

	return req->hdr_type == 0 && resp->hdr_type == 0 &&
	       req->msg_size == r->nb_bytes && req->msg_version != 0 &&
	       resp->msg_version != 0 && resp->msg_type == req->msg_type &&
	       resp->msg_size >= sizeof(struct answer_header) &&
	       resp->msg_size <= HWC_MAX_MESSAGE_BYTES;
}

static bool
device_is_valid(const struct request *r, enum device_type device)
{
	return device == DEVICE_NONE ||
	       (r->hdr.dev_id.type == device &&
		r->hdr.dev_id.instance == ADAPTER_DEVICE_INSTANCE);
}

static uint32_t
dispatch(struct request *r, const struct request_kind *kind)
{
	const uint32_t status = fault_request_check(r->hdr.req.msg_type);

	if (status != STATUS_OK)
		return status;
	if (kind == NULL) {
		request_refuse(r, VIOLATION_request_unknown,
			       "got type 0x%x, want one of Linux' gdma.h, mana.h, mana_ib.h",
			       r->hdr.req.msg_type);
		return STATUS_UNSUPPORTED;
	}
	if (r->hdr.req.msg_version > kind->max_version)
		return request_refuse(r, VIOLATION_request_version,
				      "got version %u, want at most %u",
				      r->hdr.req.msg_version, kind->max_version);
	if (r->nb_bytes < kind->min_bytes || r->nb_bytes > kind->max_bytes)
		return request_refuse(r, VIOLATION_request_size,
				      "got %u bytes, want %u to %u", r->nb_bytes,
				      kind->min_bytes, kind->max_bytes);
	if (!device_is_valid(r, kind->device))
		return request_refuse(
			r, VIOLATION_request_device,
			"got device type %u, instance %u, want %u, instance %u",
			r->hdr.dev_id.type, r->hdr.dev_id.instance,
			kind->device, ADAPTER_DEVICE_INSTANCE);
	if (r->answer_version > kind->answer_version)
		r->answer_version = kind->answer_version;
	return kind->handler(r);
}

/* For the report and the trace. */
static void
note(const struct request *r, uint32_t answer_bytes, uint32_t status)
{
	const uint32_t code = r->hdr.req.msg_type;
	const enum fault_call request = fault_request(code);
	struct pci_status *s = pci_status(r->fn);

	s->nb_requests[request - FAULT_FIRST_REQUEST]++;
	if (status != STATUS_OK && status != STATUS_MORE_ENTRIES)
		s->nb_refused[request - FAULT_FIRST_REQUEST]++;
	adapter_count(r->fn);
	if (trace_is_on(TRACE_request))
		trace_put(TRACE_request, "fn=%u name=%s code=0x%x bytes=%u "
			  "answer_bytes=%u status=0x%x", r->fn,
			  fault_call_name(request), code, r->nb_bytes,
			  answer_bytes, status);
}

static uint32_t
smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t
request_answer(uint32_t fn, uint8_t *message, uint32_t nb_bytes, uint8_t *answer)
{
	struct request r = {
		.fn = fn,
		.a = adapter(fn),
		.f = card_function(fn),
		.bytes = message,
		.nb_bytes = nb_bytes,
		.answer = answer,
	};
	uint32_t status, answer_bytes = sizeof(struct answer_header);
	const struct request_kind *kind;
	struct answer_header hdr;

	memset(message + nb_bytes, 0, HWC_MAX_MESSAGE_BYTES - nb_bytes);
	memset(answer, 0, HWC_MAX_MESSAGE_BYTES);
	memcpy(&r.hdr, message, sizeof(r.hdr));
	r.answer_version = r.hdr.resp.msg_version;
	kind = request_kind(r.hdr.req.msg_type);
	if (!header_is_valid(&r)) {
		status = request_refuse(
			&r, VIOLATION_request_header,
			"got request size %u of %u bytes, versions %u and %u, answer type 0x%x of %u bytes, want the same size and type, versions from 1, an answer of %zu to %u bytes",
			r.hdr.req.msg_size, nb_bytes, r.hdr.req.msg_version,
			r.hdr.resp.msg_version, r.hdr.resp.msg_type,
			r.hdr.resp.msg_size, sizeof(struct answer_header),
			HWC_MAX_MESSAGE_BYTES);
	} else {
		status = dispatch(&r, kind);
		/* An older guest expects, and gets, less. */
		if (kind != NULL)
			answer_bytes = smaller(kind->answer_bytes,
					       r.hdr.resp.msg_size);
	}
	hdr = (struct answer_header){
		.response = {
			.msg_type = r.hdr.req.msg_type,
			.msg_version = r.answer_version,
			.hwc_msg_id = r.hdr.req.hwc_msg_id,
			.msg_size = answer_bytes,
		},
		.dev_id = r.hdr.dev_id,
		.activity_id = r.hdr.activity_id,
		.status = status,
	};
	memcpy(answer, &hdr, sizeof(hdr));
	note(&r, answer_bytes, status);
	return answer_bytes;
}

struct region *
request_region(const struct request *r, uint64_t handle)
{
	struct region *region = region_find(&r->a->regions, handle);

	if (region == NULL)
		request_refuse_handle(r, "region", handle,
				      "a DMA region that exists");
	return region;
}

struct region *
request_free_region(const struct request *r, uint64_t handle)
{
	struct region *region = request_region(r, handle);

	if (region == NULL || (!region->is_used && region_is_complete(region)))
		return region;
	request_refuse(
		r, VIOLATION_request_state,
		"got a DMA region that is in use or lacks pages, want a free and complete one");
	return NULL;
}

uint32_t
request_ring(const struct request *r, uint64_t handle, uint32_t nb_bytes,
	     struct card_memory *ring)
{
	const struct region *region = request_free_region(r, handle);

	if (region == NULL)
		return STATUS_REFUSED;
	/* Linux ib/main.c mana_ib_create_zero_offset_dma_region(). */
	if (region->offset != 0 || nb_bytes > region->nb_bytes ||
	    nb_bytes > REQUEST_MAX_RING_BYTES ||
	    !ring_is_valid(0, nb_bytes))
		return request_refuse(
			r, VIOLATION_request_field,
			"got %u bytes at offset %u of a region of %" PRIu64
			", want a power of two from 4096 at offset 0",
			nb_bytes, region->offset, region->nb_bytes);
	*ring = (struct card_memory){
		.process = PCI_SPACE(r->fn),
		.addr = region_addr(handle),
		.size = nb_bytes,
	};
	return STATUS_OK;
}

void
request_region_use(const struct request *r, uint64_t handle)
{
	region_find(&r->a->regions, handle)->is_used = true;
}

struct eq *
request_eq(const struct request *r, uint32_t id)
{
	struct eq *eq = adapter_eq(r->a, id);

	if (eq == NULL)
		request_refuse(r, VIOLATION_request_handle,
			       "got EQ %u, want one that exists", id);
	return eq;
}

uint32_t
request_pd_of(const struct request *r, uint64_t handle)
{
	const uint32_t pdn = handle_id(HANDLE_PD, handle);

	return pdn < CARD_MAX_PDS && r->a->has_pd_handle[pdn] ? pdn : UINT32_MAX;
}

uint32_t
request_cq_create(const struct request *r, uint32_t pdn, uint32_t page,
		  uint64_t region, uint32_t nb_bytes, uint32_t eq_id,
		  uint32_t *cq_id)
{
	const struct eq *eq = adapter_eq(r->a, eq_id);
	struct card_memory ring;
	struct adapter_cq *cq;
	uint32_t status;

	if (eq_id != CQ_NO_EQ && (eq == NULL || eq == r->a->hwc.eq))
		return request_refuse(
			r, VIOLATION_request_handle,
			"got EQ %u, want one that GDMA_CREATE_QUEUE has returned",
			eq_id);
	status = request_ring(r, region, nb_bytes, &ring);
	if (status != STATUS_OK)
		return status;
	if (card_cq_create(r->fn, pdn, page, &ring, cq_id) < 0)
		return STATUS_REFUSED;
	cq = &r->a->cqs[*cq_id - CARD_FIRST_CQ_ID];
	*cq = (struct adapter_cq){
		.eq = eq == NULL ? ADAPTER_NO_EQ : (uint32_t)(eq - r->a->eqs),
		.region = region,
	};
	request_region_use(r, region);
	return STATUS_OK;
}

void
request_cq_destroy(const struct request *r, uint32_t cq_id)
{
	card_cq_destroy(r->fn, cq_id);
	region_destroy(&r->a->regions,
		       r->a->cqs[cq_id - CARD_FIRST_CQ_ID].region);
}
