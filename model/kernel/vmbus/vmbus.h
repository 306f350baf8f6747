/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The VMBus of a machine with --netvsc: drivers and devices in sysfs, and the files
 * of uio_hv_generic (Linux drivers/hv/vmbus_drv.c, drivers/uio). The functions take
 * the machine's lock, unless stated otherwise.
 */

#ifndef MODEL_VMBUS_H
#define MODEL_VMBUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "netvsp.h"

#define VMBUS_NETWORK_CLASS "f8615163-df3e-46c5-913f-f2d2f965ed0e"

/* Create /sys/bus/vmbus and the memory of the devices. 0 or -errno. */
int vmbus_publish(void);

/*
 * A file of the run folder that programs may write or map, by its path below the
 * run folder. VMBUS_FILE_NONE: another file.
 */
enum vmbus_file_kind {
	VMBUS_FILE_NONE,
	VMBUS_FILE_ATTRIBUTE, /* new_id, bind, unbind */
	VMBUS_FILE_UIO, /* /dev/uioN */
	VMBUS_FILE_RING, /* of a subchannel */
};
struct vmbus_file {
	enum vmbus_file_kind kind;
	uint32_t number; /* of the device */
	uint32_t channel;
	char driver[16], attribute[16];
};
void vmbus_file_parse(const char *path, struct vmbus_file *file);
/* The path below the run folder of /dev/uio<number>; -ENOENT: not bound to it. */
#define VMBUS_PATH_BYTES 160
int vmbus_uio_path(uint32_t number, char path[VMBUS_PATH_BYTES]);
/* The file with a map's memory, and its size; -EINVAL: no such map. */
int vmbus_map_path(uint32_t number, uint32_t map, char path[VMBUS_PATH_BYTES],
		   size_t *nb_bytes);

/* Write to an attribute. The number of bytes or -errno. */
ssize_t vmbus_write(const struct vmbus_file *file, const char *text,
		    size_t nb_bytes);

/* This process has mapped a map of the device, or the ring of a subchannel. */
void vmbus_mapped(uint32_t number, uint32_t map, const void *addr);
void vmbus_ring_mapped(uint32_t number, uint32_t channel, const void *addr);
/* It has unmapped the rings of the primary channel. */
void vmbus_unmapped(uint32_t number);

/* A store of bits to the monitor page. With the lock held; async-signal-safe. */
void vmbus_signal(uint32_t offset, uint32_t bits);
/* exec() has replaced this process's program: end its sessions. */
void vmbus_process_replaced(void);
/* End the sessions of dead processes. With the lock held. */
void vmbus_reclaim_dead(void);

/* vmbus_sysfs.c; with the lock held. */
#define VMBUS_NAME_BYTES 40
void vmbus_device_name(uint32_t number, char name[VMBUS_NAME_BYTES]);
void vmbus_sysfs_device(uint32_t number); /* create the device's folder */
void vmbus_sysfs_driver(uint32_t number, bool is_added);
void vmbus_sysfs_channels(uint32_t number); /* as many as there are */

#endif /* MODEL_VMBUS_H */
