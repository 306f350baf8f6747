/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <string.h>

#include "function.h"
#include "rdma_device.h"
#include "traits.h"

#define RNIC_NAME "mana_%u" /* Linux 7.2 ib/device.c mana_ib_probe() */

/* Linux net/addrconf.h addrconf_addr_eui48() */
static void
eui64(const uint8_t mac[6], uint8_t guid[8])
{
	memcpy(guid, mac, 3);
	guid[0] ^= 2;
	guid[3] = 0xff;
	guid[4] = 0xfe;
	memcpy(guid + 5, mac + 3, 3);
}

bool
rdma_device_get(uint32_t fn, bool is_rnic, struct rdma_device *device)
{
	const struct kernel_function *function = function_at(fn);
	const struct kernel_traits *traits = kernel_traits();
	uint8_t mac[6];

	memset(device, 0, sizeof(*device));
	if (!function->has_rdma ||
	    (is_rnic && function->rnic_number == KERNEL_NONE))
		return false;
	device->number = is_rnic ? function->rnic_number :
				   function->rdma_number;
	device->index = is_rnic ? function->rnic_index : function->rdma_index;
	device->fn = fn;
	device->is_rnic = is_rnic;
	/* The RNIC has one port unless it says otherwise (ib/device.c). */
	device->nb_ports = is_rnic ? 1 : segment_config()->nb_ports[fn];
	if ((is_rnic ? &traits->rnic : &traits->raw)->guid_from_mac) {
		device_port_mac(fn, 0, mac);
		eui64(mac, device->node_guid);
	}
	snprintf(device->name, sizeof(device->name),
		 is_rnic ? RNIC_NAME : traits->raw_name, function->rdma_name);
	return true;
}

bool
rdma_device_nth(uint32_t n, struct rdma_device *device)
{
	const uint32_t nb = 2 * segment_config()->nb_functions;
	bool found = false;
	uint32_t i;

	segment_lock();
	/* The Ethernet part of a function is probed first (gdma_main.c). */
	for (i = 0; i < nb && !found; i++)
		found = rdma_device_get(i / 2, i % 2 != 0, device) && n-- == 0;
	segment_unlock();
	return found;
}

bool
rdma_device_find(uint32_t number, struct rdma_device *device)
{
	uint32_t n = 0;

	while (rdma_device_nth(n++, device))
		if (device->number == number)
			return true;
	return false;
}
