/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "card.h"
#include "host.h"
#include "kernel_state.h"
#include "netdev.h"
#include "sysfs.h"
#include "synthetic.h"
#include "vmbus.h"

#define UIO_DIR	      "vmbus"

static struct kernel_vmbus *
state(void)
{
	return &segment_kernel()->vmbus;
}

static uint32_t
nb_devices(void)
{
	uint32_t number = 0, fn, port;

	while (synthetic_port(number, &fn, &port))
		number++;
	return number;
}

/* The VF's netdev has lost or found its master. */
static void
announce_slave(uint32_t number)
{
	struct kernel_netdev netdev;
	uint32_t fn, port;

	synthetic_port(number, &fn, &port);
	if (!segment_kernel()->function[fn].has_netdevs)
		return;
	netdev_get(fn, port, &netdev);
	netdev_announce(&netdev, RTM_NEWLINK, 0);
}

static void
attach_driver(uint32_t number, enum kernel_vmbus_driver driver)
{
	state()->driver[number] = (uint8_t)driver;
	synthetic_bind(number, driver == KERNEL_VMBUS_HV);
	vmbus_sysfs_driver(number, true);
	if (driver == KERNEL_VMBUS_HV)
		announce_slave(number);
}

/* The host drops frames for a device without a driver. */
static void
detach_driver(uint32_t number)
{
	const bool was_hv = state()->driver[number] == KERNEL_VMBUS_HV;

	vmbus_sysfs_driver(number, false);
	state()->driver[number] = KERNEL_VMBUS_NONE;
	synthetic_bind(number, false);
	vmbus_sysfs_channels(number);
	if (was_hv)
		announce_slave(number);
}

int
vmbus_map_path(uint32_t number, uint32_t map, char path[VMBUS_PATH_BYTES],
	       size_t *nb_bytes)
{
	static const size_t sizes[VMBUS_NB_MAPS] = {
		[VMBUS_MAP_RINGS] = 2 * VMBUS_RING_BYTES,
		[VMBUS_MAP_INTERRUPT] = VMBUS_PAGE_BYTES,
		[VMBUS_MAP_MONITOR] = VMBUS_PAGE_BYTES,
		[VMBUS_MAP_RECEIVE] = VMBUS_RECEIVE_BYTES,
		[VMBUS_MAP_SEND] = VMBUS_SEND_BYTES,
	};

	if (map >= VMBUS_NB_MAPS)
		return -EINVAL;
	*nb_bytes = sizes[map];
	snprintf(path, VMBUS_PATH_BYTES, UIO_DIR "/uio%u-%u", number, map);
	return 0;
}

/* The memory is a sparse file: shared, as the kernel's is. */
static int
make_memory(uint32_t number)
{
	char path[MODEL_MAX_PATH + VMBUS_PATH_BYTES + 2], name[VMBUS_PATH_BYTES];
	size_t nb_bytes;
	int fd, rc = 0;

	for (uint32_t map = 0; map < VMBUS_NB_MAPS && rc == 0; map++) {
		vmbus_map_path(number, map, name, &nb_bytes);
		snprintf(path, sizeof(path), "%s/%s", segment_run_dir(), name);
		fd = host_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return fd;
		rc = host_result(syscall(SYS_ftruncate, fd, nb_bytes));
		host_close(fd);
	}
	return rc;
}

static void
make_drivers(void)
{
	static const char *const drivers[] = {
		"bus/vmbus/drivers/hv_netvsc", "bus/vmbus/drivers/uio_hv_generic",
	};
	struct tree tree;

	tree_open(&tree);
	tree_dirs(&tree, "bus/vmbus/devices");
	tree_dirs(&tree, "class/uio");
	for (size_t i = 0; i < 2; i++) {
		tree_dirs(&tree, drivers[i]);
		tree_bytes(&tree, drivers[i], "new_id", "", 0);
		tree_bytes(&tree, drivers[i], "bind", "", 0);
		tree_bytes(&tree, drivers[i], "unbind", "", 0);
	}
	tree_close(&tree);
}

int
vmbus_publish(void)
{
	const bool is_uio = segment_config()->netvsc == MODEL_NETVSC_UIO;
	char path[MODEL_MAX_PATH + 16];
	int rc = 0;

	if (segment_config()->netvsc == MODEL_NETVSC_NONE)
		return 0;
	snprintf(path, sizeof(path), "%s/" UIO_DIR, segment_run_dir());
	host_mkdirat(AT_FDCWD, path, 0700);
	segment_lock();
	make_drivers();
	state()->has_id = is_uio;
	for (uint32_t n = 0; n < nb_devices() && rc == 0; n++) {
		rc = make_memory(n);
		vmbus_sysfs_device(n);
		attach_driver(n, is_uio ? KERNEL_VMBUS_UIO : KERNEL_VMBUS_HV);
	}
	segment_unlock();
	return rc;
}

/* The device of a name; nb_devices(): none. */
static uint32_t
find_device(const char *name)
{
	char uuid[VMBUS_NAME_BYTES];
	uint32_t n;

	for (n = 0; n < nb_devices(); n++) {
		vmbus_device_name(n, uuid);
		if (strcmp(uuid, name) == 0)
			break;
	}
	return n;
}

void
vmbus_file_parse(const char *path, struct vmbus_file *file)
{
	char device[64];
	unsigned int n, relid;

	memset(file, 0, sizeof(*file));
	if (sscanf(path, UIO_DIR "/uio%u-0", &n) == 1) {
		file->kind = VMBUS_FILE_UIO;
		file->number = n;
	} else if (sscanf(path, "sys/bus/vmbus/drivers/%15[^/]/%15s",
			  file->driver, file->attribute) == 2) {
		if (strcmp(file->attribute, "bind") == 0 ||
		    strcmp(file->attribute, "unbind") == 0 ||
		    strcmp(file->attribute, "new_id") == 0)
			file->kind = VMBUS_FILE_ATTRIBUTE;
	} else if (sscanf(path, "sys/bus/vmbus/devices/%63[^/]/channels/%u/ring",
			  device, &relid) == 2 ||
		   sscanf(path, "sys/devices/vmbus/%63[^/]/channels/%u/ring",
			  device, &relid) == 2) {
		file->number = find_device(device);
		if (file->number == nb_devices() || strstr(path, "/ring") == NULL)
			return;
		file->kind = VMBUS_FILE_RING;
		file->channel = relid - synthetic_relid(file->number, 0);
	}
}

int
vmbus_uio_path(uint32_t number, char path[VMBUS_PATH_BYTES])
{
	size_t nb_bytes;

	if (segment_config()->netvsc == MODEL_NETVSC_NONE ||
	    number >= nb_devices() ||
	    state()->driver[number] != KERNEL_VMBUS_UIO)
		return -ENOENT;
	return vmbus_map_path(number, VMBUS_MAP_RINGS, path, &nb_bytes);
}

/* vmbus_drv.c new_id_store(): unbound devices are bound at once. */
static int
add_id(enum kernel_vmbus_driver driver, const char *id)
{
	if (strncmp(id + (id[0] == '{'), VMBUS_NETWORK_CLASS,
		    strlen(VMBUS_NETWORK_CLASS)) != 0)
		return -EINVAL;
	if (driver != KERNEL_VMBUS_UIO)
		return 0;
	state()->has_id = true;
	for (uint32_t n = 0; n < nb_devices(); n++)
		if (state()->driver[n] == KERNEL_VMBUS_NONE)
			attach_driver(n, driver);
	return 0;
}

/* drivers/base/bus.c bind_store(), unbind_store(). */
static int
change(enum kernel_vmbus_driver driver, const char *name, bool is_bind)
{
	const uint32_t n = find_device(name);

	if (n == nb_devices())
		return -ENODEV;
	if (!is_bind) {
		if (state()->driver[n] != driver)
			return -ENODEV;
		detach_driver(n);
		return 0;
	}
	if (driver == KERNEL_VMBUS_UIO && !state()->has_id)
		return -ENODEV;
	if (state()->driver[n] != KERNEL_VMBUS_NONE)
		return -EBUSY;
	attach_driver(n, driver);
	return 0;
}

ssize_t
vmbus_write(const struct vmbus_file *file, const char *text, size_t nb_bytes)
{
	enum kernel_vmbus_driver driver;
	char word[64];
	int rc;

	driver = strcmp(file->driver, "hv_netvsc") == 0 ? KERNEL_VMBUS_HV :
							   KERNEL_VMBUS_UIO;
	snprintf(word, sizeof(word), "%.*s", (int)nb_bytes, text);
	word[strcspn(word, " \n")] = '\0';
	segment_lock();
	rc = strcmp(file->attribute, "new_id") == 0 ?
		     add_id(driver, word) :
		     change(driver, word, strcmp(file->attribute, "bind") == 0);
	segment_unlock();
	return rc < 0 ? rc : (ssize_t)nb_bytes;
}

/* A secondary process maps the same memory, and changes nothing. */
static bool
is_owners(uint32_t number)
{
	const uint32_t process = synthetic_process(number);

	return process == 0 || process == model_self ||
	       !segment_process_alive(process);
}

void
vmbus_mapped(uint32_t number, uint32_t map, const void *addr)
{
	segment_lock();
	if (is_owners(number) && state()->driver[number] == KERNEL_VMBUS_UIO) {
		if (map == VMBUS_MAP_RINGS) {
			synthetic_open(number, 0, model_self, (uintptr_t)addr);
			vmbus_sysfs_channels(number);
		} else {
			synthetic_map(number, (enum vmbus_map)map, model_self,
				      (uintptr_t)addr);
		}
	}
	segment_unlock();
}

void
vmbus_ring_mapped(uint32_t number, uint32_t channel, const void *addr)
{
	segment_lock();
	if (synthetic_process(number) == model_self)
		synthetic_open(number, channel, model_self, (uintptr_t)addr);
	segment_unlock();
}

static void
end_session(uint32_t number)
{
	synthetic_close(number);
	vmbus_sysfs_channels(number);
}

void
vmbus_unmapped(uint32_t number)
{
	segment_lock();
	if (synthetic_process(number) == model_self)
		end_session(number);
	segment_unlock();
}

void
vmbus_signal(uint32_t offset, uint32_t bits)
{
	const uint32_t nb = nb_devices();

	card_monitor_signal(offset, bits);
	/* The packet may have asked for channels. */
	for (uint32_t n = 0; n < nb; n++)
		vmbus_sysfs_channels(n);
}

void
vmbus_process_replaced(void)
{
	segment_lock();
	for (uint32_t n = 0; n < nb_devices(); n++)
		if (synthetic_process(n) == model_self)
			end_session(n);
	segment_unlock();
}

void
vmbus_reclaim_dead(void)
{
	for (uint32_t n = 0; n < nb_devices(); n++) {
		const uint32_t process = synthetic_process(n);

		if (process != 0 && !segment_process_alive(process))
			end_session(n);
	}
}
