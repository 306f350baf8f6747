/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "function.h"
#include "kernel_version.h"
#include "netdev_list.h"

/* Minor numbers 192 to 255 of major 231 (core/uverbs_main.c uses 32). */
#define NB_RDMA_NUMBERS 64
#define DEFAULT_MTU 1500

static_assert(NB_RDMA_NUMBERS > 2 * MODEL_MAX_FUNCTIONS, "a free number");

void
function_init_ports(uint32_t fn)
{
	const struct model_config *config = segment_config();
	uint32_t p;

	for (p = 0; p < config->nb_ports[fn]; p++) {
		struct kernel_port *port = &segment_kernel()->port[fn][p];

		port->owner_pd = KERNEL_NONE;
		port->is_up = false;
		/*
		 * On after probe (Linux mana_en.c mana_probe_port). ASSUMED:
		 * the card reports again that its link is down.
		 */
		port->carrier = card_link_is_up(fn, p);
		port->nb_carrier_up = kernel_version()->carrier_is_link;
		port->nb_carrier_down = 0;
		port->was_up = false;
		port->speed_mbps = NETDEV_SPEED_MBPS;
		port->more_flags = IFF_MULTICAST; /* ether_setup() */
		port->tx_queue_len = NETDEV_TX_QUEUE_LEN;
		port->mtu = config->max_mtu < DEFAULT_MTU ? config->max_mtu :
							    DEFAULT_MTU;
	}
}

void
function_add_netdevs(uint32_t fn)
{
	struct kernel *kernel = segment_kernel();
	struct kernel_function *function = function_at(fn);

	uint32_t p;

	function_init_ports(fn);
	for (p = 0; p < segment_config()->nb_ports[fn]; p++)
		kernel->port[fn][p].ns = KERNEL_NETDEV_OWN_NS;
	/* core/dev.c dev_index_reserve(): the next index, never a used one. */
	function->first_ifindex = kernel->next_ifindex;
	kernel->next_ifindex += segment_config()->nb_ports[fn];
	function->has_netdevs = true;
}

/*
 * Linux uses the lowest free number for both names (core/device.c
 * assign_name(), core/uverbs_main.c ib_uverbs_add_one()), which may be the old
 * one. The model uses the next one, to detect programs that rely on the number.
 */
static uint32_t
next_number(void)
{
	struct kernel *kernel = segment_kernel();
	uint32_t number;

	while (kernel_uverbs_find(kernel->next_rdma_number) >= 0)
		kernel->next_rdma_number =
			(kernel->next_rdma_number + 1) % NB_RDMA_NUMBERS;
	number = kernel->next_rdma_number;
	kernel->next_rdma_number = (number + 1) % NB_RDMA_NUMBERS;
	return number;
}

static bool
name_is_taken(uint32_t name)
{
	uint32_t fn;

	for (fn = 0; fn < segment_config()->nb_functions; fn++)
		if (function_at(fn)->has_rdma &&
		    function_at(fn)->rdma_name == name)
			return true;
	return false;
}

static uint32_t
next_name(void)
{
	struct kernel *kernel = segment_kernel();
	uint32_t name;

	do {
		name = kernel->next_rdma_name++ % NB_RDMA_NUMBERS;
	} while (name_is_taken(name));
	return name;
}

bool
function_makes_rdma(void)
{
	return segment_config()->rnic || !kernel_version()->raw_needs_rnic;
}

void
function_add_rdma(uint32_t fn)
{
	const struct kernel_version *version = kernel_version();
	struct kernel *kernel = segment_kernel();
	struct kernel_function *function = function_at(fn);
	bool has_rnic = segment_config()->rnic;

	if (!function_makes_rdma())
		return; /* mana_ib's probe fails */
	function->rdma_name = next_name();
	function->rdma_number = next_number();
	/* core/device.c: xa_alloc_cyclic(). */
	function->rdma_index = kernel->next_rdma_index++;
	function->rnic_number = KERNEL_NONE;
	__atomic_store_n(&function->has_rdma, true, __ATOMIC_RELEASE);
	if (has_rnic && version->rnic_is_apart) {
		function->rnic_index = kernel->next_rdma_index++;
		function->rnic_number = next_number();
	}
}

void
function_remove_rdma(uint32_t fn)
{
	__atomic_store_n(&function_at(fn)->has_rdma, false, __ATOMIC_RELEASE);
}

void
function_init(void)
{
	uint32_t fn;

	segment_kernel()->next_ifindex = KERNEL_IFINDEX_BASE;
	for (fn = 0; fn < segment_config()->nb_functions; fn++) {
		function_at(fn)->has_pci = true;
		function_add_netdevs(fn);
		function_add_rdma(fn);
	}
}

bool
kernel_is_made(void)
{
	bool is_made;

	segment_lock();
	is_made = segment_kernel()->is_made;
	segment_unlock();
	return is_made;
}

void
kernel_function_status(uint32_t fn, struct kernel_function_status *status)
{
	struct kernel_function function;

	segment_lock();
	function = *function_at(fn);
	segment_unlock();
	status->has_rdma = function.has_rdma;
	status->has_pci = function.has_pci;
	status->has_netdevs = function.has_netdevs;
	status->rdma_number = function.rdma_number;
	status->life = function.life;
}

int
kernel_uverbs_find(uint32_t number)
{
	uint32_t fn;

	for (fn = 0; fn < segment_config()->nb_functions; fn++) {
		const struct kernel_function *function = function_at(fn);

		if (__atomic_load_n(&function->has_rdma, __ATOMIC_ACQUIRE) &&
		    (function->rdma_number == number ||
		     function->rnic_number == number))
			return (int)fn;
	}
	return -ENOENT;
}

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
	const struct kernel_version *version = kernel_version();
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
	/* An RNIC has one port by default (ib/device.c). */
	device->nb_ports = is_rnic ? 1 : segment_config()->nb_ports[fn];
	if (kernel_version_limits(is_rnic)->guid_from_mac) {
		card_port_mac(fn, 0, mac);
		eui64(mac, device->node_guid);
	}
	snprintf(device->name, sizeof(device->name),
		 is_rnic ? RNIC_NAME : version->raw_name, function->rdma_name);
	return true;
}

bool
rdma_device_nth(uint32_t n, struct rdma_device *device)
{
	const uint32_t nb = 2 * segment_config()->nb_functions;
	bool found = false;
	uint32_t i;

	segment_lock();
	/* The Ethernet device of a function is probed first (gdma_main.c). */
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
