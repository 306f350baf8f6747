/* SPDX-License-Identifier: BSD-3-Clause */

/* Requests to the GDMA engine: resources that all devices share. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "msix.h"
#include "pci_device.h"
#include "pci_status.h"
#include "request.h"

#define PROTOCOL_VERSION   1u
#define DEFAULT_TIMEOUT_MS 30000u

/* Append the guest's text, up to its NUL, as printable ASCII. */
static void
append_text(char text[PCI_DRIVER_BYTES], const uint8_t *bytes, size_t nb_bytes)
{
	size_t at = strlen(text), i;

	for (i = 0; i < nb_bytes && bytes[i] != 0 && at + 1 < PCI_DRIVER_BYTES;
	     i++)
		text[at++] = bytes[i] >= ' ' && bytes[i] <= '~' ?
				     (char)bytes[i] : '?';
	text[at] = '\0';
}

/* Linux gdma_main.c mana_gd_verify_vf_version(): sysname and release. */
static void
note_driver(uint32_t fn, const struct verify_version_request *req)
{
	char *driver = pci_status(fn)->driver;

	driver[0] = '\0';
	append_text(driver, req->os_ver_str[0], sizeof(req->os_ver_str[0]));
	append_text(driver, (const uint8_t *)" ", 1);
	append_text(driver, req->os_ver_str[1], sizeof(req->os_ver_str[1]));
}

static uint32_t
verify_version(struct request *r)
{
	const struct verify_version_request *req = (const void *)r->bytes;
	struct verify_version_answer *answer = (void *)r->answer;

	if (req->protocol_ver_min > PROTOCOL_VERSION ||
	    req->protocol_ver_max < PROTOCOL_VERSION)
		return request_refuse(r, VIOLATION_request_field,
				      "got protocol %" PRIu64 " to %" PRIu64
				      ", want a range with %u",
				      (uint64_t)req->protocol_ver_min,
				      (uint64_t)req->protocol_ver_max,
				      PROTOCOL_VERSION);
	note_driver(r->fn, req);
	answer->protocol_ver = PROTOCOL_VERSION;
	answer->pf_cap_flags[0] = PF_CAP_1_HWC_TIMEOUT;
	return STATUS_OK;
}

static uint32_t
query_timeout(struct request *r)
{
	const struct hwc_timeout_request *req = (const void *)r->bytes;
	struct hwc_timeout_answer *answer = (void *)r->answer;

	answer->timeout_ms = req->timeout_ms != 0 ? req->timeout_ms :
						    DEFAULT_TIMEOUT_MS;
	return STATUS_OK;
}

static uint32_t
query_max_resources(struct request *r)
{
	struct max_resources_answer *answer = (void *)r->answer;

	answer->max_sq = CARD_MAX_QUEUES;
	answer->max_rq = CARD_MAX_QUEUES;
	answer->max_cq = CARD_NB_CQS;
	answer->max_eq = ADAPTER_NB_EQS - 1; /* the channel has one */
	answer->max_db = CARD_MAX_PAGES - 1;
	answer->max_mst = MEM_NB_REGIONS;
	answer->max_msix = MSIX_NB_VECTORS;
	return STATUS_OK;
}

static uint32_t
list_devices(struct request *r)
{
	struct list_devices_answer *answer = (void *)r->answer;
	struct device_id *devs = answer->devs;

	devs[0].type = DEVICE_HWC;
	devs[1].type = DEVICE_MANA;
	devs[1].instance = ADAPTER_DEVICE_INSTANCE;
	answer->num_of_devs = 2;
	if (segment_config()->rnic) {
		devs[2].type = DEVICE_RNIC;
		devs[2].instance = ADAPTER_DEVICE_INSTANCE;
		answer->num_of_devs = 3;
	}
	return STATUS_OK;
}

/* The device of a request to register or use it; NULL, and a violation. */
static struct adapter_device *
device_of(const struct request *r)
{
	const uint32_t type = r->hdr.dev_id.type;

	if (r->hdr.dev_id.instance == ADAPTER_DEVICE_INSTANCE &&
	    (type == DEVICE_MANA ||
	     (type == DEVICE_RNIC && segment_config()->rnic)))
		return &r->a->devices[type];
	request_refuse(
		r, VIOLATION_request_device,
		"got device type %u, instance %u, want 2 or, with --rnic, 3, instance 1",
		type, r->hdr.dev_id.instance);
	return NULL;
}

static void
unregister(uint32_t fn, struct adapter_device *device)
{
	card_mkey_destroy(fn, device->key);
	card_doorbell_page_destroy(fn, device->page);
	card_pd_destroy(fn, device->pdn);
	*device = (struct adapter_device){ 0 };
}

static uint32_t
register_device(struct request *r)
{
	const struct card_memory memory = { .process = PCI_SPACE(r->fn),
					    .size = REGION_GUEST_BYTES };
	struct register_device_answer *answer = (void *)r->answer;
	struct adapter_device *device = device_of(r);

	if (device == NULL)
		return STATUS_REFUSED;
	if (device->is_registered)
		return request_refuse(
			r, VIOLATION_request_state,
			"got a device that is registered, want it deregistered first");
	if (card_pd_create(r->fn, &device->pdn) < 0 ||
	    card_doorbell_page_create(r->fn, &device->page) < 0 ||
	    card_mkey_create(r->fn, device->pdn, &memory, 0, CARD_ACCESS_WRITE,
			     &device->key) < 0) {
		unregister(r->fn, device);
		return STATUS_REFUSED;
	}
	device->is_registered = true;
	answer->pdid = device->pdn;
	answer->gpa_mkey = device->key;
	answer->db_id = device->page;
	return STATUS_OK;
}

/* The vPorts of a PD, or of a doorbell page, that is about to end. */
static void
unconfigure_vports(struct request *r, uint32_t pdn, uint32_t page)
{
	uint32_t i;

	for (i = 0; i < r->f->nb_ports; i++) {
		const struct card_port *port = &r->f->ports[i];

		if (port->tx_enabled &&
		    (port->tx_pdn == pdn || port->tx_page == page))
			card_vport_disable_tx(r->fn, i);
	}
}

static uint32_t
deregister_device(struct request *r)
{
	struct adapter_device *device = device_of(r);

	if (device == NULL)
		return STATUS_REFUSED;
	if (!device->is_registered ||
	    adapter_is_used(r->fn, device->pdn, device->page) ||
	    (r->hdr.dev_id.type == DEVICE_RNIC && r->a->has_rnic_adapter))
		return request_refuse(
			r, VIOLATION_request_state,
			"got a device that is not registered, or whose PD or doorbell page has queues, want them destroyed first");
	unconfigure_vports(r, device->pdn, device->page);
	unregister(r->fn, device);
	return STATUS_OK;
}

static uint32_t
generate_test_eqe(struct request *r)
{
	const struct test_eqe_request *req = (const void *)r->bytes;
	struct eq *eq = request_eq(r, req->queue_index);

	if (eq == NULL)
		return STATUS_REFUSED;
	eq_post(eq, EQE_TEST, 0);
	return STATUS_OK;
}

/* The event that asks a driver to reset: OpenVMM gdma hwc.rs handle_req(). */
static uint32_t
generate_reset_eqe(struct request *r)
{
	const struct reset_eqe_request *req = (const void *)r->bytes;
	struct eq *eq = request_eq(r, req->queue_index);

	if (eq == NULL)
		return STATUS_REFUSED;
	eq_post(eq, EQE_HWC_RESET_REQUEST, req->data);
	return STATUS_OK;
}

/* The vector of an EQ: OpenVMM mana_driver gdma_driver.rs retarget_eq(). */
static uint32_t
change_msix(struct request *r)
{
	const struct change_msix_request *req = (const void *)r->bytes;
	struct eq *eq = request_eq(r, req->queue_index);

	if (eq == NULL)
		return STATUS_REFUSED;
	if (req->msix >= MSIX_NB_VECTORS)
		return request_refuse(r, VIOLATION_request_field,
				      "got vector %u, want less than %u",
				      req->msix, MSIX_NB_VECTORS);
	eq->vector = req->msix;
	return STATUS_OK;
}

static uint32_t
check_eq(const struct request *r, const struct create_queue_request *req)
{
	const struct adapter_device *device = device_of(r);

	if (device == NULL)
		return STATUS_REFUSED;
	if (!device->is_registered)
		return request_refuse(
			r, VIOLATION_request_state,
			"got a device that is not registered, want it registered first");
	if (req->type != QUEUE_EQ || req->pdid != device->pdn ||
	    req->doorbell_id != device->page ||
	    req->eq_pci_msix_index >= MSIX_NB_VECTORS ||
	    req->log2_throttle_limit >= 32 ||
	    1u << req->log2_throttle_limit > req->queue_size / EQE_BYTES)
		return request_refuse(
			r, VIOLATION_request_field,
			"got type %u, PD %u, doorbell page %u, vector %u, throttle 2^%u, want type %u, PD %u, page %u, a vector below %u",
			req->type, req->pdid, req->doorbell_id,
			req->eq_pci_msix_index, req->log2_throttle_limit,
			QUEUE_EQ, device->pdn, device->page, MSIX_NB_VECTORS);
	return STATUS_OK;
}

/* Only EQs: other queues belong to objects of their devices. */
static uint32_t
create_queue(struct request *r)
{
	const struct create_queue_request *req = (const void *)r->bytes;
	struct create_queue_answer *answer = (void *)r->answer;
	uint32_t status = check_eq(r, req);
	struct card_memory ring;
	struct eq *eq;

	if (status == STATUS_OK)
		status = request_ring(r, req->gdma_region, req->queue_size,
				      &ring);
	if (status != STATUS_OK)
		return status;
	eq = adapter_new_eq(r->a);
	if (eq == NULL)
		return STATUS_REFUSED;
	eq->pdn = req->pdid;
	eq->page = req->doorbell_id;
	eq->vector = req->eq_pci_msix_index;
	eq->region = req->gdma_region;
	eq->ring = (struct ring){ .process = ring.process,
				  .size_bytes = (uint32_t)ring.size,
				  .addr = ring.addr };
	request_region_use(r, req->gdma_region);
	eq_start(eq);
	answer->queue_index = eq->id;
	return STATUS_OK;
}

static bool
eq_is_used(const struct request *r, uint32_t eq)
{
	uint32_t i;

	for (i = 0; i < CARD_NB_CQS; i++)
		if (r->f->cqs[i].is_alive && r->a->cqs[i].eq == eq)
			return true;
	return r->a->has_rnic_adapter &&
	       r->a->rnic_notify_eq == r->a->eqs[eq].id;
}

static uint32_t
disable_queue(struct request *r)
{
	const struct disable_queue_request *req = (const void *)r->bytes;
	struct eq *eq = adapter_eq(r->a, req->queue_index);

	if (req->type != QUEUE_EQ)
		return request_refuse(
			r, VIOLATION_request_field,
			"got type %u, want %u: other queues belong to objects",
			req->type, QUEUE_EQ);
	if (eq == NULL || eq == r->a->hwc.eq)
		return request_refuse(
			r, VIOLATION_request_handle,
			"got EQ %u, want one that GDMA_CREATE_QUEUE has returned",
			req->queue_index);
	if (eq_is_used(r, (uint32_t)(eq - r->a->eqs)))
		return request_refuse(
			r, VIOLATION_request_state,
			"got EQ %u, which CQs use, want them destroyed first",
			req->queue_index);
	region_destroy(&r->a->regions, eq->region);
	eq->is_alive = false;
	return STATUS_OK;
}

static uint32_t
allocate_range(struct request *r)
{
	const struct allocate_range_request *req = (const void *)r->bytes;
	struct allocate_range_answer *answer = (void *)r->answer;
	uint32_t page;

	/* Linux ib/main.c asks for one page; no driver for more. */
	if (req->resource_type != RESOURCE_DOORBELL_PAGE ||
	    req->num_resources != 1 || req->alignment > 1)
		return request_refuse(
			r, VIOLATION_request_field,
			"got type %u, %u resources, alignment %u, want type %u, 1 resource, alignment 1 or 0",
			req->resource_type, req->num_resources, req->alignment,
			RESOURCE_DOORBELL_PAGE);
	if (card_doorbell_page_create(r->fn, &page) < 0)
		return STATUS_REFUSED;
	r->a->has_page[page] = true;
	answer->allocated_resources = page;
	return STATUS_OK;
}

static uint32_t
destroy_range(struct request *r)
{
	const struct destroy_range_request *req = (const void *)r->bytes;
	const uint32_t page = req->allocated_resources;

	if (req->resource_type != RESOURCE_DOORBELL_PAGE ||
	    req->num_resources != 1)
		return request_refuse(
			r, VIOLATION_request_field,
			"got type %u, %u resources, want type %u, 1 resource",
			req->resource_type, req->num_resources,
			RESOURCE_DOORBELL_PAGE);
	if (page >= CARD_MAX_PAGES || !r->a->has_page[page])
		return request_refuse(
			r, VIOLATION_request_handle,
			"got doorbell page %u, want one that was allocated",
			page);
	if (adapter_is_used(r->fn, ADAPTER_NEITHER, page))
		return request_refuse(
			r, VIOLATION_request_state,
			"got doorbell page %u, which has queues, want them destroyed first",
			page);
	unconfigure_vports(r, ADAPTER_NEITHER, page);
	card_doorbell_page_destroy(r->fn, page);
	r->a->has_page[page] = false;
	return STATUS_OK;
}

/*
 * Whether the request has the page list's size, behind its fixed part of head_bytes.
 * OpenVMM's driver always sends room for 16 pages (gdma_driver.rs
 * create_dma_region()).
 */
#define LIST_ROOM_PAGES 16u
static bool
list_has_size(const struct request *r, uint32_t head_bytes, uint32_t nb_pages)
{
	const uint64_t size = r->nb_bytes - head_bytes;

	return size == nb_pages * (uint64_t)sizeof(uint64_t) ||
	       (nb_pages <= LIST_ROOM_PAGES &&
		size == LIST_ROOM_PAGES * sizeof(uint64_t));
}

static uint32_t
add_pages(struct request *r, struct region *region, uint32_t head_bytes,
	  uint32_t nb_pages)
{
	uint64_t pages[HWC_MAX_MESSAGE_BYTES / sizeof(uint64_t)];

	if (!list_has_size(r, head_bytes, nb_pages))
		return request_refuse(r, VIOLATION_request_size,
				      "got %u bytes, want %" PRIu64
				      " for %u pages",
				      r->nb_bytes,
				      head_bytes + (uint64_t)nb_pages *
							   sizeof(*pages),
				      nb_pages);
	memcpy(pages, r->bytes + head_bytes, nb_pages * sizeof(*pages));
	if (nb_pages == 0 || region_add_pages(region, pages, nb_pages) < 0)
		return request_refuse(
			r, VIOLATION_request_field,
			"got %u pages, want 1 or more, as many as the region lacks, with addresses of guest memory, aligned to the page size",
			nb_pages);
	return region_is_complete(region) ? STATUS_OK : STATUS_MORE_ENTRIES;
}

static uint32_t
create_region(struct request *r)
{
	const struct create_region_request *req = (const void *)r->bytes;
	struct create_region_answer *answer = (void *)r->answer;
	uint32_t status;
	uint64_t handle;
	int rc;

	if (req->gdma_page_type > REGION_MAX_LOG_PAGE - 12)
		return request_refuse(r, VIOLATION_request_field,
				      "got page type %u, want at most %u",
				      req->gdma_page_type,
				      REGION_MAX_LOG_PAGE - 12);
	rc = region_create(&r->a->regions, req->length, req->offset_in_page,
			   req->gdma_page_type + 12, req->page_count, &handle);
	if (rc == -EINVAL)
		return request_refuse(
			r, VIOLATION_request_field,
			"got %" PRIu64
			" bytes at offset %u in %u pages of 2^%u bytes, want as many pages as the bytes need",
			(uint64_t)req->length, req->offset_in_page,
			req->page_count, req->gdma_page_type + 12);
	if (rc < 0)
		return STATUS_REFUSED;
	status = add_pages(r, region_find(&r->a->regions, handle), sizeof(*req),
			   req->page_addr_list_len);
	if (status == STATUS_OK || status == STATUS_MORE_ENTRIES)
		answer->dma_region_handle = handle;
	else
		region_destroy(&r->a->regions, handle);
	return status;
}

static uint32_t
region_add(struct request *r)
{
	const struct add_pages_request *req = (const void *)r->bytes;
	struct region *region = request_region(r, req->dma_region_handle);

	if (region == NULL)
		return STATUS_REFUSED;
	return add_pages(r, region, sizeof(*req), req->page_addr_list_len);
}

static uint32_t
destroy_region(struct request *r)
{
	const struct handle_request *req = (const void *)r->bytes;
	const struct region *region = request_region(r, req->handle);

	if (region == NULL)
		return STATUS_REFUSED;
	/* It belongs to a queue or key, which destroys it. */
	if (region->is_used)
		return request_refuse(
			r, VIOLATION_request_state,
			"got a region that a queue or key owns, want that destroyed instead");
	region_destroy(&r->a->regions, req->handle);
	return STATUS_OK;
}

static uint32_t
create_pd(struct request *r)
{
	const struct create_pd_request *req = (const void *)r->bytes;
	struct create_pd_answer *answer = (void *)r->answer;
	uint32_t pdn;

	if ((req->flags & ~(PD_FLAG_ALLOW_GPA_MR | PD_FLAG_SHORT_PDN)) != 0)
		return request_refuse(r, VIOLATION_request_field,
				      "got flags 0x%x, want none but 0x%x",
				      (uint32_t)req->flags,
				      PD_FLAG_ALLOW_GPA_MR | PD_FLAG_SHORT_PDN);
	if (card_pd_create(r->fn, &pdn) < 0)
		return STATUS_REFUSED;
	r->a->has_pd_handle[pdn] = true;
	r->a->pd_allows_gpa[pdn] = (req->flags & PD_FLAG_ALLOW_GPA_MR) != 0;
	answer->pd_handle = handle_make(HANDLE_PD, pdn);
	answer->pd_id = pdn;
	return STATUS_OK;
}

static bool
pd_has_keys(const struct request *r, uint32_t pdn)
{
	const struct mem_table *mem = &r->f->mem;
	uint32_t i;

	for (i = 0; i < MEM_NB_REGIONS && mem->regions[i].generation != 0; i++)
		if (mem->regions[i].key != 0 && mem->regions[i].pdn == pdn)
			return true;
	return false;
}

static uint32_t
destroy_pd(struct request *r)
{
	const struct handle_request *req = (const void *)r->bytes;
	const uint32_t pdn = request_pd_of(r, req->handle);

	if (pdn == UINT32_MAX)
		return request_refuse_handle(r, "PD", req->handle,
					     "a handle of GDMA_CREATE_PD");
	if (pd_has_keys(r, pdn) || adapter_is_used(r->fn, pdn, ADAPTER_NEITHER))
		return request_refuse(
			r, VIOLATION_request_state,
			"got PD %u with memory keys or queues, want them destroyed first",
			pdn);
	unconfigure_vports(r, pdn, ADAPTER_NEITHER);
	card_pd_destroy(r->fn, pdn);
	r->a->has_pd_handle[pdn] = false;
	return STATUS_OK;
}

/* A key of a region, whose first byte has the address iova. */
static uint32_t
create_region_key(struct request *r, uint32_t pdn, uint64_t handle,
		  uint64_t iova, uint32_t access_flags, uint32_t *key)
{
	const struct region *region = request_free_region(r, handle);
	struct card_memory memory = { .process = PCI_SPACE(r->fn) };
	uint32_t access = CARD_ACCESS_READ;

	if (region == NULL)
		return STATUS_REFUSED;
	if (iova + region->nb_bytes < iova)
		return request_refuse(r, VIOLATION_request_field,
				      "got address 0x%" PRIx64 " for %" PRIu64
				      " bytes, want an end below 2^64",
				      iova, region->nb_bytes);
	if ((access_flags & MR_ACCESS_LOCAL_WRITE) != 0)
		access |= CARD_ACCESS_WRITE;
	memory.addr = region_addr(handle);
	memory.size = region->nb_bytes;
	if (card_mkey_create(r->fn, pdn, &memory, iova, access, key) < 0)
		return STATUS_REFUSED;
	request_region_use(r, handle);
	r->a->key_regions[*key % MEM_NB_REGIONS] = handle;
	return STATUS_OK;
}

/* A key of the guest's physical memory. */
static uint32_t
create_gpa_key(struct request *r, uint32_t pdn, uint32_t *key)
{
	const struct card_memory memory = { .process = PCI_SPACE(r->fn),
					    .size = REGION_GUEST_BYTES };

	if (!r->a->pd_allows_gpa[pdn])
		return request_refuse(
			r, VIOLATION_request_field,
			"got a key of guest memory in PD %u, want a PD with the flag 0x%x",
			pdn, PD_FLAG_ALLOW_GPA_MR);
	if (card_mkey_create(r->fn, pdn, &memory, 0, CARD_ACCESS_WRITE, key) < 0)
		return STATUS_REFUSED;
	r->a->key_regions[*key % MEM_NB_REGIONS] = 0;
	return STATUS_OK;
}

static uint32_t
create_mr(struct request *r)
{
	const struct create_mr_request *req = (const void *)r->bytes;
	struct create_mr_answer *answer = (void *)r->answer;
	const uint32_t pdn = request_pd_of(r, req->pd_handle);
	uint32_t status, key = 0;

	if (pdn == UINT32_MAX)
		return request_refuse_handle(r, "PD", req->pd_handle,
					     "a handle of GDMA_CREATE_PD");
	switch (req->mr_type) {
	case MR_GPA:
		status = create_gpa_key(r, pdn, &key);
		break;
	case MR_GVA:
		status = create_region_key(r, pdn, req->dma_region_handle,
					   req->gva.virtual_address,
					   req->gva.access_flags, &key);
		break;
	case MR_ZBVA:
		status = create_region_key(r, pdn, req->dma_region_handle, 0,
					   req->zbva.access_flags, &key);
		break;
	default:
		return request_refuse(r, VIOLATION_request_field,
				      "got type %u, want %u, %u or %u",
				      req->mr_type, MR_GPA, MR_GVA, MR_ZBVA);
	}
	if (status != STATUS_OK)
		return status;
	answer->mr_handle = handle_make(HANDLE_MR, key);
	answer->lkey = key;
	answer->rkey = key;
	return STATUS_OK;
}

static uint32_t
destroy_mr(struct request *r)
{
	const struct handle_request *req = (const void *)r->bytes;
	const uint32_t key = handle_id(HANDLE_MR, req->handle);
	const struct mem_region *region = mem_region_find(&r->f->mem, key);

	/* Keys of devices have no MR handle. */
	if (region == NULL || !r->a->has_pd_handle[region->pdn])
		return request_refuse_handle(r, "MR", req->handle,
					     "a handle of GDMA_CREATE_MR");
	card_mkey_destroy(r->fn, key);
	region_destroy(&r->a->regions, r->a->key_regions[key % MEM_NB_REGIONS]);
	return STATUS_OK;
}

const struct request_kind gdma_requests[] = {
	{ GDMA_VERIFY_VF_DRIVER_VERSION, 1, 1, DEVICE_NONE,
	  SIZE(verify_version_request), ANSWER(verify_version_answer),
	  verify_version },
	{ GDMA_QUERY_MAX_RESOURCES, 1, 1, DEVICE_NONE, HEADER, HEADER,
	  ANSWER(max_resources_answer), query_max_resources },
	{ GDMA_LIST_DEVICES, 1, 1, DEVICE_NONE, HEADER, HEADER,
	  ANSWER(list_devices_answer), list_devices },
	{ GDMA_REGISTER_DEVICE, 1, 1, DEVICE_NONE, HEADER, HEADER,
	  ANSWER(register_device_answer), register_device },
	{ GDMA_DEREGISTER_DEVICE, 1, 1, DEVICE_NONE, HEADER, HEADER, NO_ANSWER,
	  deregister_device },
	{ GDMA_GENERATE_TEST_EQE, 1, 1, DEVICE_NONE, SIZE(test_eqe_request),
	  NO_ANSWER, generate_test_eqe },
	{ GDMA_GENERATE_RESET_REQUEST_EQE, 1, 1, DEVICE_NONE,
	  SIZE(reset_eqe_request), NO_ANSWER, generate_reset_eqe },
	{ GDMA_CHANGE_MSIX_FOR_EQ, 1, 1, DEVICE_NONE, SIZE(change_msix_request),
	  NO_ANSWER, change_msix },
	{ GDMA_CREATE_QUEUE, 1, 1, DEVICE_NONE, SIZE(create_queue_request),
	  ANSWER(create_queue_answer), create_queue },
	{ GDMA_DISABLE_QUEUE, 1, 1, DEVICE_NONE, SIZE(disable_queue_request),
	  NO_ANSWER, disable_queue },
	{ GDMA_ALLOCATE_RESOURCE_RANGE, 1, 1, DEVICE_NONE,
	  SIZE(allocate_range_request), ANSWER(allocate_range_answer),
	  allocate_range },
	{ GDMA_DESTROY_RESOURCE_RANGE, 1, 1, DEVICE_NONE,
	  SIZE(destroy_range_request), NO_ANSWER, destroy_range },
	{ GDMA_CREATE_DMA_REGION, 1, 1, DEVICE_NONE, UP_TO(create_region_request),
	  ANSWER(create_region_answer), create_region },
	{ GDMA_DMA_REGION_ADD_PAGES, 1, 1, DEVICE_NONE,
	  UP_TO(add_pages_request), NO_ANSWER, region_add },
	{ GDMA_DESTROY_DMA_REGION, 1, 1, DEVICE_NONE, SIZE(handle_request),
	  NO_ANSWER, destroy_region },
	{ GDMA_CREATE_PD, 1, 1, DEVICE_NONE, SIZE(create_pd_request),
	  ANSWER(create_pd_answer), create_pd },
	{ GDMA_DESTROY_PD, 1, 1, DEVICE_NONE, SIZE(handle_request), NO_ANSWER,
	  destroy_pd },
	{ GDMA_CREATE_MR, 2, 1, DEVICE_NONE, CREATE_MR_REQUEST_BYTES,
	  CREATE_MR_REQUEST_BYTES, ANSWER(create_mr_answer), create_mr },
	{ GDMA_DESTROY_MR, 1, 1, DEVICE_NONE, SIZE(handle_request), NO_ANSWER,
	  destroy_mr },
	{ GDMA_QUERY_HWC_TIMEOUT, 1, 1, DEVICE_NONE, SIZE(hwc_timeout_request),
	  ANSWER(hwc_timeout_answer), query_timeout },
	/* Device memory belongs to the RNIC, which has none here. */
	{ GDMA_ALLOC_DM, UINT16_MAX, 1, DEVICE_NONE, UP_TO(request_header),
	  NO_ANSWER, request_unsupported },
	{ GDMA_DESTROY_DM, UINT16_MAX, 1, DEVICE_NONE, UP_TO(request_header),
	  NO_ANSWER, request_unsupported },
};
const uint32_t nb_gdma_requests = sizeof(gdma_requests) /
				  sizeof(gdma_requests[0]);
