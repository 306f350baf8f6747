/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "context.h"
#include "kernel_version.h"
#include "object.h"
#include "violation_log.h"
#include "vport.h"

bool
vport_is_free(uint32_t fn, uint32_t p)
{
	const struct kernel_port *port = &segment_kernel()->port[fn][p];

	/* The owner may have died without being reclaimed yet. */
	if (port->owner_pd != KERNEL_NONE &&
	    port->owner_pd != KERNEL_NETDEV_OWNER)
		context_reap();
	return port->owner_pd == KERNEL_NONE;
}

void
vport_netdev_changes(uint32_t fn, uint32_t p)
{
	const struct violation_place place = { .fn = fn };

	if (vport_is_free(fn, p) ||
	    segment_kernel()->port[fn][p].owner_pd == KERNEL_NETDEV_OWNER)
		return;
	violation_detail("got a change while port %u has raw QPs, want it before they are "
			 "made",
			 p + 1);
	violation_record(VIOLATION_netdev_change_under_raw_qps, &place, NULL, 0);
}

int
vport_get(uint32_t pd_handle, uint32_t fn, uint32_t p, uint32_t page)
{
	struct kernel_port *port = &segment_kernel()->port[fn][p];
	struct object_pd *pd = &object_at(pd_handle)->pd;
	int rc;

	if (pd->vport_use_count > 0) {
		/* Without the check the other vPort stays unconfigured. */
		if (pd->vport_port != p && kernel_version()->pd_has_one_port)
			return -EINVAL;
		pd->vport_use_count++;
		return 0;
	}
	if (!vport_is_free(fn, p))
		return -EBUSY;
	/* ASSUMED: a status of the card gives this error (mana_ib main.c). */
	if (segment_config()->pci_device == MODEL_PCI_PF2 &&
	    segment_config()->quirks[QUIRK_PF2_VERBS_REFUSED] != 0)
		return -EPROTO;

	rc = card_vport_enable_tx(fn, p, pd->pdn, page, &pd->tx_vp_offset);
	if (rc < 0)
		return rc;
	/*
	 * The program may be killed in between. vport_abandon() then releases a
	 * vPort of the PD when the PD is destroyed.
	 */
	pd->vport_port = p;
	pd->vport_use_count = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	port->owner_pd = pd_handle;
	return 0;
}

void
vport_put(uint32_t pd_handle)
{
	struct object *object = object_at(pd_handle);
	uint32_t fn = context_at(object->context)->fn;
	struct object_pd *pd = &object->pd;
	struct kernel_port *port;

	/* Removal of the device has reset it. */
	if (pd->vport_use_count == 0)
		return;
	port = &segment_kernel()->port[fn][pd->vport_port];
	if (pd->vport_use_count == 1 && port->owner_pd == pd_handle) {
		card_vport_disable_tx(fn, pd->vport_port);
		port->owner_pd = KERNEL_NONE;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
	pd->vport_use_count--;
}

void
vport_abandon(uint32_t pd_handle)
{
	struct object_pd *pd = &object_at(pd_handle)->pd;

	if (pd->vport_use_count == 0)
		return;
	pd->vport_use_count = 1;
	vport_put(pd_handle);
}
