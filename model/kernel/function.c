/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "function.h"
#include "traits.h"
#include "vport.h"

/* Minor numbers 192 to 255 of major 231 (core/uverbs_main.c has 32 of them). */
#define NB_RDMA_NUMBERS 64

static_assert(NB_RDMA_NUMBERS > 2 * MODEL_MAX_FUNCTIONS, "a free number");

void
function_add_netdevs(uint32_t fn)
{
	struct kernel *kernel = segment_kernel();
	struct kernel_function *function = function_at(fn);

	uint32_t p;

	vport_init(fn);
	for (p = 0; p < segment_config()->nb_ports[fn]; p++)
		kernel->port[fn][p].place = KERNEL_NETDEV_HERE;
	/* Linux core/dev.c dev_index_reserve(): the next one, never an old one. */
	function->first_ifindex = kernel->next_ifindex;
	kernel->next_ifindex += segment_config()->nb_ports[fn];
	function->has_netdevs = true;
}

/*
 * Linux takes the lowest free number for either name (core/device.c
 * assign_name(), core/uverbs_main.c ib_uverbs_add_one()), which may be the old
 * one or not. Here it is the next one, so that a program which relies on the
 * number is found out.
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
	return segment_config()->rnic || !kernel_traits()->raw_needs_rnic;
}

void
function_add_rdma(uint32_t fn)
{
	const struct kernel_traits *traits = kernel_traits();
	struct kernel *kernel = segment_kernel();
	struct kernel_function *function = function_at(fn);
	bool has_rnic = segment_config()->rnic;

	if (!function_makes_rdma())
		return; /* mana_ib's probe has failed */
	function->rdma_name = next_name();
	function->rdma_number = next_number();
	/* core/device.c: xa_alloc_cyclic(). */
	function->rdma_index = kernel->next_rdma_index++;
	function->rnic_number = KERNEL_NONE;
	__atomic_store_n(&function->has_rdma, true, __ATOMIC_RELEASE);
	if (has_rnic && traits->rnic_is_apart) {
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
