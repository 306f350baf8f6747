/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Selection of the RDMA device of a PCI function. This file plays the kernel
 * and the netdevs.
 */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>

#include "../../../model/test/test.h"
#include "mana_discover.h"
#include "mana_mr.h"
#include "mana_verbs.h"

#define GDMA_DEVICE_MANA 2
#define GDMA_DEVICE_MANA_IB 3

int mana_logtype_init;
int mana_logtype_driver;

/* For an unused function of mana_mr.h, which a build without optimization contains. */
int
mana_mr_miss(struct mana_mr_cache *cache, const struct rte_mbuf *m, uintptr_t addr,
	     uint64_t len_bytes)
{
	return -ENOENT;
}

/* An RDMA device and the capabilities the kernel reports. */
struct fake_device {
	struct ibv_device device;
	int open_error;
	struct mana_verbs_caps caps;
};

static struct fake_device *devices[4];
static char dir[] = "/tmp/mana-discover-XXXXXX";
static unsigned int nb_open;
static int diag_error;

static struct fake_device *
fake_of(const void *device)
{
	return (struct fake_device *)(uintptr_t)device;
}

struct ibv_device **
ibv_get_device_list(int *nb_devices)
{
	*nb_devices = 0;
	while (devices[*nb_devices] != NULL)
		(*nb_devices)++;
	return (struct ibv_device **)devices;
}

int
mana_verbs_error(void)
{
	return -EIO;
}

void
ibv_free_device_list(struct ibv_device **list)
{
	RTE_SET_USED(list);
}

int
mana_verbs_open(struct ibv_device *device, struct ibv_context **ctx)
{
	if (fake_of(device)->open_error != 0)
		return fake_of(device)->open_error;
	*ctx = (struct ibv_context *)device;
	nb_open++;
	return 0;
}

int
mana_verbs_close(struct ibv_context *ctx)
{
	assert_non_null(ctx);
	nb_open--;
	return 0;
}

int
mana_verbs_query(struct ibv_context *ctx, struct mana_verbs_caps *caps)
{
	*caps = fake_of(ctx)->caps;
	return 0;
}

int
mana_netdev_find(const char *ibdev_path, uint32_t port, struct mana_netdev *netdev)
{
	assert_string_equal(ibdev_path, dir);
	netdev->ifindex = port;
	return 0;
}

int
mana_netdev_state_get(const struct mana_netdev *netdev, struct mana_netdev_state *state)
{
	RTE_SET_USED(netdev);
	memset(state, 0, sizeof(*state));
	return 0;
}

void
mana_diag_no_rdma(const char *pci_name, int error)
{
	RTE_SET_USED(pci_name);
	diag_error = error;
}

void
mana_diag_no_device(const char *pci_name, const char *refused)
{
	RTE_SET_USED(pci_name);
	RTE_SET_USED(refused);
	diag_error = -ENODEV;
}

void
mana_diag_no_netdev(const char *pci_name, uint32_t port, int error)
{
	RTE_SET_USED(pci_name);
	RTE_SET_USED(port);
	diag_error = error;
}

void
mana_diag_open(const char *pci_name, const char *device, const char *node,
	       int error)
{
	RTE_SET_USED(pci_name);
	RTE_SET_USED(device);
	RTE_SET_USED(node);
	diag_error = error;
}

static struct fake_device rnic = {
	{ .name = "mana_0",  }, 0,
	{ .vendor_part_id = GDMA_DEVICE_MANA_IB, .nb_ports = 1 },
};
static struct fake_device rnic_locked = {
	{ .name = "mana_0",  }, -EACCES,
	{ .vendor_part_id = GDMA_DEVICE_MANA_IB, .nb_ports = 1 },
};
static struct fake_device ethernet = {
	{ .name = "manae_0",  }, 0,
	{ .vendor_part_id = GDMA_DEVICE_MANA, .raw_packet_caps = 4, .nb_ports = 2 },
};
static struct fake_device older = {
	{ .name = "mana_0",  }, 0, { .nb_ports = 3 },
};

static int
discover(struct fake_device *first, struct fake_device *second,
	 struct mana_function *function)
{
	const struct rte_pci_addr addr = { .domain = 0x7870 };
	int ret;

	devices[0] = first;
	devices[1] = second;
	devices[2] = NULL;
	for (unsigned int i = 0; devices[i] != NULL; i++)
		strcpy(devices[i]->device.ibdev_path, dir);
	diag_error = 0;
	ret = mana_discover(&addr, "7870:00:00.0", true, function);
	assert_int_equal(nb_open, 0);
	assert_int_equal(ret, diag_error);
	return ret;
}

static void
check_found(struct fake_device *first, struct fake_device *second,
	    const struct fake_device *wanted)
{
	struct mana_function function;

	assert_int_equal(discover(first, second, &function), 0);
	assert_ptr_equal(function.device, wanted);
	assert_int_equal(function.nb_ports, wanted->caps.nb_ports);
	mana_discover_release(&function);
}

TEST(test_ethernet_is_found)
{
	check_found(&ethernet, NULL, &ethernet);
	check_found(&ethernet, &rnic, &ethernet);
	check_found(&rnic, &ethernet, &ethernet);
	check_found(&older, NULL, &older);
}

/* The RNIC may need more rights than the Ethernet device. */
TEST(test_rnic_that_cannot_be_opened)
{
	struct mana_function function;

	check_found(&rnic_locked, &ethernet, &ethernet);
	assert_int_equal(discover(&rnic_locked, NULL, &function), -EACCES);
}

TEST(test_nothing_found)
{
	struct mana_function function;

	assert_int_equal(discover(NULL, NULL, &function), -ENODEV);
	assert_int_equal(discover(&rnic, NULL, &function), -ENODEV);
}

/* Creates the link <dir>/device as in sysfs, to a folder with the name of the function. */
static int
setup(void **state)
{
	char path[64];

	RTE_SET_USED(state);
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/7870:00:00.0", dir);
	if (mkdir(path, 0700) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/device", dir);
	return symlink("7870:00:00.0", path);
}

static int
teardown(void **state)
{
	char path[64];

	RTE_SET_USED(state);
	snprintf(path, sizeof(path), "%s/device", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/7870:00:00.0", dir);
	rmdir(path);
	return rmdir(dir);
}

int
main(void)
{
	return test_run("unit", setup, teardown);
}
