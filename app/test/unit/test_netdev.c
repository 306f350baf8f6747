/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Finds the netdev of a port in a sysfs tree made here, and queries the real
 * kernel for lo.
 */

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>

#include "../../../model/test/test.h"
#include "mana_discover.h"

int mana_logtype_init;
int mana_logtype_driver;

static char dir[] = "/tmp/mana-netdev-XXXXXX";

static void
file_write(const char *name, const char *file, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/device/net/%s/%s", dir, name, file);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void
netdev_make(const char *name, const char *dev_port, const char *ifindex,
	    const char *address)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/device/net/%s", dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
	file_write(name, "dev_port", dev_port);
	file_write(name, "ifindex", ifindex);
	file_write(name, "address", address);
}

static void
folder_make(const char *below)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, below);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* No net folder: no netdev. An unlisted netdev: another namespace. */
TEST(test_find)
{
	struct mana_netdev netdev;

	folder_make("device");
	assert_int_equal(mana_netdev_find(dir, 1, &netdev), -ENOENT);
	folder_make("device/net");
	assert_int_equal(mana_netdev_find(dir, 1, &netdev), -ENODEV);
	netdev_make("eth1", "0\n", "7\n", "00:0d:3a:00:00:01\n");
	netdev_make("eth2", "1\n", "8\n", "00:0d:3a:00:00:02\n");
	assert_int_equal(mana_netdev_find(dir, 2, &netdev), 0);
	assert_string_equal(netdev.name, "eth2");
	assert_int_equal(netdev.ifindex, 8);
	assert_memory_equal(netdev.mac.addr_bytes, "\x00\x0d\x3a\x00\x00\x02", 6);
	assert_int_equal(mana_netdev_find(dir, 1, &netdev), 0);
	assert_string_equal(netdev.name, "eth1");
	assert_int_equal(mana_netdev_find(dir, 3, &netdev), -ENODEV);
	assert_string_equal(netdev.name, "");
}

TEST(test_state)
{
	struct mana_netdev lo = { .ifindex = 1, .name = "as-found" };
	struct mana_netdev_state now;
	uint32_t nb_queues;

	assert_int_equal(mana_netdev_state_get(&lo, &now), 0);
	assert_string_equal(now.name, "lo");
	/* the ifindex exists, but its address differs */
	lo.mac.addr_bytes[5] = 1;
	assert_int_equal(mana_netdev_state_get(&lo, &now), -ENODEV);
	assert_string_equal(now.name, "as-found");
	assert_false(now.is_up);
	lo.ifindex = INT_MAX;
	assert_int_equal(mana_netdev_state_get(&lo, &now), -ENODEV);
	assert_int_equal(mana_netdev_up_set(&lo, true, &now), -ENODEV);
	assert_int_equal(mana_netdev_max_queues_get(&lo, &nb_queues), -ENODEV);
}

static int
setup(void **state)
{
	RTE_SET_USED(state);
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	char command[64];

	RTE_SET_USED(state);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

/* An interface that is not hv_netvsc, and a missing one. */
TEST(test_master_of_another_kind)
{
	char name[IF_NAMESIZE];

	assert_false(mana_netdev_is_netvsc(if_nametoindex("lo"), name));
	assert_false(mana_netdev_is_netvsc(0x7fffffff, name));
}

int
main(void)
{
	return test_run("unit", setup, teardown);
}
