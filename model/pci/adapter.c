/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "adapter.h"
#include "pci_device.h"
#include "pci_status.h"

static struct adapter adapters[MODEL_MAX_FUNCTIONS];

struct adapter *
adapter(uint32_t fn)
{
	return card_function(fn) != NULL ? &adapters[fn] : NULL;
}

struct eq *
adapter_eq(struct adapter *a, uint32_t id)
{
	const uint32_t i = id - EQ_FIRST_ID;

	return i < ADAPTER_NB_EQS && a->eqs[i].is_alive ? &a->eqs[i] : NULL;
}

struct eq *
adapter_new_eq(struct adapter *a)
{
	uint32_t i;

	for (i = 0; i < ADAPTER_NB_EQS; i++) {
		if (a->eqs[i].is_alive)
			continue;
		a->eqs[i] = (struct eq){
			.fn = (uint32_t)(a - adapters),
			.id = EQ_FIRST_ID + i,
		};
		return &a->eqs[i];
	}
	return NULL;
}

void
adapter_cq_event(uint32_t fn, uint32_t cq_id)
{
	const uint32_t i = cq_id - CARD_FIRST_CQ_ID;
	struct adapter *a = adapter(fn);
	struct adapter_cq *cq = &a->cqs[i];
	const uint32_t cq_pi = card_function(fn)->cqs[i].pi;
	struct eq *eq;

	if (a->is_resetting || cq->eq == ADAPTER_NO_EQ)
		return;
	eq = &a->eqs[cq->eq];
	if (cq->has_event && cq->cq_pi == cq_pi &&
	    (int32_t)(cq->eq_pi - eq->ci) > 0) {
		cq->owes_event = true;
		eq->owes_events = true;
		return;
	}
	eq_post(eq, EQE_COMPLETION, cq_id);
	cq->has_event = true;
	cq->owes_event = false;
	cq->eq_pi = eq->pi;
	cq->cq_pi = cq_pi;
}

void
adapter_eq_read(uint32_t fn, struct eq *eq)
{
	const struct card_function *f = card_function(fn);
	struct adapter *a = adapter(fn);
	uint32_t i;

	if (!eq->owes_events)
		return;
	eq->owes_events = false;
	/* An event that is not possible yet is owed again. */
	for (i = 0; i < CARD_NB_CQS; i++)
		if (f->cqs[i].is_alive && a->cqs[i].owes_event &&
		    a->cqs[i].eq == (uint32_t)(eq - a->eqs))
			adapter_cq_event(fn, f->cqs[i].id);
}

void
adapter_hwc_event(uint32_t fn, enum eqe_type type, uint32_t detail)
{
	struct adapter *a = adapter(fn);

	if (a != NULL && a->hwc.is_open)
		eq_post(a->hwc.eq, type, detail);
}

void
adapter_violation(uint32_t fn, enum violation violation, uint32_t index,
		  const void *bytes, size_t nb_bytes)
{
	const struct violation_place place = { .fn = fn, .index = index };

	violation_record(violation, &place, bytes, nb_bytes);
}

bool
adapter_is_used(uint32_t fn, uint32_t pdn, uint32_t page)
{
	const struct card_function *f = card_function(fn);
	const struct adapter *a = &adapters[fn];
	uint32_t i;

	for (i = 0; i < CARD_NB_WQS; i++)
		if (f->wqs[i].is_alive &&
		    (f->wqs[i].pdn == pdn || f->wqs[i].page == page))
			return true;
	for (i = 0; i < CARD_NB_CQS; i++)
		if (f->cqs[i].is_alive &&
		    (f->cqs[i].pdn == pdn || f->cqs[i].page == page))
			return true;
	for (i = 0; i < ADAPTER_NB_EQS; i++)
		if (a->eqs[i].is_alive &&
		    (a->eqs[i].pdn == pdn || a->eqs[i].page == page))
			return true;
	for (i = 0; i < RNIC_NB_QPS; i++)
		if (a->rnic_qps[i].is_alive &&
		    (a->rnic_qps[i].pdn == pdn || a->rnic_qps[i].page == page))
			return true;
	return false;
}

void
adapter_reset(uint32_t fn)
{
	const bool is_silent = adapters[fn].hwc.is_silent;
	struct card_function *f = card_function(fn);
	struct adapter *a = &adapters[fn];
	uint32_t port;

	if (a->hwc.is_open)
		pci_status(fn)->nb_cut_off++;
	a->is_resetting = true;
	for (port = 0; port < f->nb_ports; port++)
		card_vport_reset(fn, port);
	/* Nothing is claimed: the card destroys all its objects. */
	card_claim_begin();
	card_claim_end(fn);
	region_destroy_all(&a->regions);
	memset((uint8_t *)a + offsetof(struct adapter, hwc), 0,
	       sizeof(*a) - offsetof(struct adapter, hwc));
	a->hwc.is_silent = is_silent;
	a->is_resetting = false;
	adapter_count(fn);
}

void
adapter_count(uint32_t fn)
{
	struct pci_status *status = pci_status(fn);

	status->is_channel_open = adapters[fn].hwc.is_open;
	pci_objects_count(fn, &status->objects);
}

void
pci_objects_count(uint32_t fn, struct pci_objects *objects)
{
	const struct card_function *f = card_function(fn);
	const struct adapter *a = adapter(fn);
	uint32_t i;

	memset(objects, 0, sizeof(*objects));
	if (a == NULL)
		return;
	objects->nb_channels = a->hwc.is_open;
	objects->nb_regions = a->regions.nb_alive;
	objects->nb_keys = f->mem.nb_used;
	for (i = 0; i < ADAPTER_NB_EQS; i++)
		objects->nb_eqs += a->eqs[i].is_alive;
	for (i = 0; i < CARD_NB_CQS; i++)
		objects->nb_cqs += f->cqs[i].is_alive;
	for (i = 0; i < CARD_NB_WQS; i++)
		objects->nb_wqs += f->wqs[i].is_alive;
	for (i = 0; i < CARD_MAX_PDS; i++)
		objects->nb_pds += f->pds[i];
	for (i = 0; i < CARD_MAX_PAGES; i++)
		objects->nb_pages += f->pages[i];
	for (i = 0; i < NB_DEVICE_TYPES; i++)
		objects->nb_devices += a->devices[i].is_registered;
	for (i = 0; i < RNIC_NB_QPS; i++)
		objects->nb_rnic += a->rnic_qps[i].is_alive;
	objects->nb_rnic += a->has_rnic_adapter;
}
