/* SPDX-License-Identifier: BSD-3-Clause */

#include <dirent.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "lifecycle_fixture.h"
#include "nl_request.h"

#define NB_LOOKS 20000 /* a millisecond each */

void
refused(const char *line)
{
	assert_true(fx_command(line) < 0);
	assert_string_not_equal(fx_message, "");
}

/* The first entry of a folder below the machine's sys/; false: none. */
static bool
first_entry(const char *folder, char name[32])
{
	const struct dirent *entry;
	char path[512];
	DIR *dir;

	name[0] = '\0';
	snprintf(path, sizeof(path), "%s/sys/%s", getenv("MANA_MODEL_DIR"),
		 folder);
	dir = opendir(path);
	if (dir == NULL)
		return false;
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' &&
		    (name[0] == '\0' || strcmp(entry->d_name, name) < 0))
			snprintf(name, 32, "%.31s", entry->d_name);
	closedir(dir);
	return name[0] != '\0';
}

static void
read_text(const char *path, char text[32])
{
	char full[512];
	FILE *file;

	snprintf(full, sizeof(full), "%s/sys/%s", getenv("MANA_MODEL_DIR"),
		 path);
	file = fopen(full, "r");
	text[0] = '\0';
	if (file == NULL)
		return;
	if (fgets(text, 32, file) == NULL)
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	fclose(file);
}

static bool
exists(const char *folder, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/sys/%s/%s", getenv("MANA_MODEL_DIR"),
		 folder, name);
	return name[0] != '\0' && access(path, F_OK) == 0;
}

int
sysfs_number(const char *path)
{
	char text[32];

	read_text(path, text);
	assert_string_not_equal(text, "");
	return atoi(text);
}

/* The index in the list of libibverbs, or -1. */
static int
place_of(const char *name)
{
	struct ibv_device **list;
	int i, nb = 0, place = -1;

	list = ibv_get_device_list(&nb);
	assert_non_null(list);
	for (i = 0; i < nb; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			place = i;
	ibv_free_device_list(list);
	return place;
}

void
read_function(unsigned int fn, struct function *function)
{
	char slot[32], path[128], text[32];

	memset(function, 0, sizeof(*function));
	snprintf(slot, sizeof(slot), "787%x:00:00.0", fn);
	function->has_pci = exists("bus/pci/devices", slot);
	assert_int_equal(exists("bus/pci/drivers/mana", slot),
			 function->has_pci);
	snprintf(path, sizeof(path), "bus/pci/devices/%s/infiniband", slot);
	function->has_rdma = first_entry(path, function->rdma);
	snprintf(path, sizeof(path), "bus/pci/devices/%s/infiniband_verbs",
		 slot);
	assert_int_equal(first_entry(path, function->uverbs),
			 function->has_rdma);
	assert_int_equal(exists("class/infiniband", function->rdma),
			 function->has_rdma);
	assert_int_equal(exists("class/infiniband_verbs", function->uverbs),
			 function->has_rdma);
	assert_int_equal(place_of(function->rdma) >= 0, function->has_rdma);

	snprintf(path, sizeof(path), "bus/pci/devices/%s/net", slot);
	function->has_net = first_entry(path, function->netdev);
	assert_int_equal(exists("class/net", function->netdev),
			 function->has_net);
	if (!function->has_net)
		return;
	snprintf(path, sizeof(path), "class/net/%s/address", function->netdev);
	read_text(path, function->mac);
	snprintf(path, sizeof(path), "class/net/%s/ifindex", function->netdev);
	read_text(path, text);
	function->ifindex = (unsigned int)atoi(text);
	assert_int_equal(if_nametoindex(function->netdev), function->ifindex);
	snprintf(path, sizeof(path), "class/net/%s/dev_port",
		 function->netdev);
	read_text(path, text);
	function->dev_port = (unsigned int)atoi(text);
}

uint32_t
device_of(const struct function *function)
{
	int place = place_of(function->rdma);

	assert_true(place >= 0);
	return (uint32_t)place;
}

void
wait_for_device(unsigned int fn, struct function *function)
{
	char path[64], name[32];
	int i;

	snprintf(path, sizeof(path), "bus/pci/devices/787%x:00:00.0/infiniband",
		 fn);
	for (i = 0; i < NB_LOOKS && !first_entry(path, name); i++)
		usleep(1000);
	/*
	 * Another process may be creating it with the machine's lock held: this
	 * waits for the lock.
	 */
	fx_objects();
	read_function(fn, function);
	assert_true(function->has_rdma);
}

int
netdev_carrier(const char *name)
{
	struct request request = new_request(RTM_GETLINK, if_nametoindex(name));
	int sock = open_socket();
	const ssize_t len = ask(sock, &request);

	close(sock);
	return *(const uint8_t *)find_attr(IFLA_CARRIER, len);
}

/* The state of a thread: a letter of proc(5). */
static char
state_of(int tid)
{
	char path[64], text[256], *end;
	char state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (file == NULL)
		return state;
	if (fgets(text, sizeof(text), file) != NULL) {
		end = strrchr(text, ')');
		if (end != NULL)
			state = end[2];
	}
	fclose(file);
	return state;
}

void
waiter_starts(struct waiter *waiter)
{
	waiter->tid = (int)syscall(SYS_gettid);
}

void
waiter_start(struct waiter *waiter, int fd, void *(*run)(void *waiter))
{
	int i;

	waiter->fd = fd;
	assert_int_equal(pthread_create(&waiter->thread, NULL, run, waiter), 0);
	for (i = 0; i < NB_LOOKS; i++) {
		if (waiter->tid != 0 && state_of(waiter->tid) == 'S')
			break;
		usleep(1000);
	}
}

void
waiter_join(struct waiter *waiter)
{
	assert_int_equal(pthread_join(waiter->thread, NULL), 0);
}
