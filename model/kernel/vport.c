/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "context.h"
#include "object.h"
#include "vport.h"

#define DEFAULT_MTU 1500

void
vport_init(void)
{
	const struct model_config *config = segment_config();
	uint32_t fn, p;

	for (fn = 0; fn < config->nb_functions; fn++) {
		for (p = 0; p < config->nb_ports[fn]; p++) {
			struct kernel_port *port =
				&segment_kernel()->port[fn][p];

			port->owner_pd = KERNEL_NONE;
			port->is_up = false;
			port->mtu = config->max_mtu < DEFAULT_MTU ?
				config->max_mtu : DEFAULT_MTU;
		}
	}
}

bool
vport_is_free(uint32_t fn, uint32_t p)
{
	const struct kernel_port *port = &segment_kernel()->port[fn][p];

	/* The owner may be dead, and nobody has noticed yet. */
	if (port->owner_pd != KERNEL_NONE &&
	    port->owner_pd != KERNEL_NETDEV_OWNER)
		context_reap();
	return port->owner_pd == KERNEL_NONE;
}

int
vport_get(uint32_t pd_handle, uint32_t fn, uint32_t p, uint32_t page)
{
	struct kernel_port *port = &segment_kernel()->port[fn][p];
	struct object_pd *pd = &object_at(pd_handle)->pd;
	int rc;

	if (pd->vport_use_count > 0) {
		if (pd->vport_port != p)
			return -EINVAL;
		pd->vport_use_count++;
		return 0;
	}
	if (!vport_is_free(fn, p))
		return -EBUSY;

	rc = device_vport_enable_tx(fn, p, pd->pdn, page, &pd->tx_vp_offset);
	if (rc < 0)
		return rc;
	port->owner_pd = pd_handle;
	pd->vport_port = p;
	pd->vport_use_count = 1;
	return 0;
}

void
vport_put(uint32_t pd_handle)
{
	struct object *object = object_at(pd_handle);
	uint32_t fn = context_at(object->context)->fn;
	struct object_pd *pd = &object->pd;

	if (--pd->vport_use_count > 0)
		return;
	segment_kernel()->port[fn][pd->vport_port].owner_pd = KERNEL_NONE;
	device_vport_disable_tx(fn, pd->vport_port);
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
