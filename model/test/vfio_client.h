/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A client of vfio-user as QEMU's vfio-user-pci, and a device behind BAR0 that
 * records what reaches it. The machine runs in the same thread, so that a request
 * and its reply take no time.
 */

#ifndef MODEL_TEST_VFIO_CLIENT_H
#define MODEL_TEST_VFIO_CLIENT_H

#include <linux/vfio.h>
#include <sys/types.h>

#include "fixture.h"
#include "vfio_user.h"

enum {
	VC_VERSION = 1,
	VC_DMA_MAP = 2,
	VC_DMA_UNMAP = 3,
	VC_GET_INFO = 4,
	VC_GET_REGION_INFO = 5,
	VC_GET_IRQ_INFO = 7,
	VC_SET_IRQS = 8,
	VC_REGION_READ = 9,
	VC_REGION_WRITE = 10,
	VC_RESET = 13,
	VC_WRITE_MULTI = 15,
};

#define VC_BAR0	  VFIO_PCI_BAR0_REGION_INDEX
#define VC_BAR4	  VFIO_PCI_BAR4_REGION_INDEX
#define VC_CONFIG VFIO_PCI_CONFIG_REGION_INDEX

/* The device: the last access, and the value of the next reads. */
struct vc_device {
	uint32_t nb_reads, nb_writes, nb_resets;
	uint64_t offset, value;
	uint32_t nb_bytes;
	uint64_t answer;
};
extern struct vc_device vc_device;

/*
 * A machine of one function in thread mode, served on vc_folder. The teardown closes
 * what the test has left open.
 */
extern char vc_folder[128];
int vc_setup(void **state);
int vc_teardown(void **state);
#define VC_TEST(name) TEST_WITH(name, vc_setup, vc_teardown)

/* Let the machine accept, receive and work until it is idle. */
void vc_pump(void);

/* Connect to the function; the socket does not wait. */
int vc_connect(void);
/* The same, and agree on the version as QEMU does. */
int vc_open(void);

/*
 * Close the only client's socket and let the machine work until it has noticed, for
 * some seconds at most. The end may come later than close(): a process that reads
 * /proc/PID/fd holds each file for a moment.
 */
void vc_leave(int fd);

/* A message to send; zero fields are those of a good message. */
struct vc_message {
	uint16_t id, command;
	uint32_t flags;
	uint32_t size_bytes; /* 0: the real one */
	const void *payload;
	uint32_t nb_bytes; /* of the payload */
	const int *fds;
	uint32_t nb_fds;
};
/* Send it, without letting the machine work. */
void vc_send(int fd, const struct vc_message *message);

/* A reply. size -1: the machine has closed the connection; 0: there is none. */
struct vc_reply {
	ssize_t size;
	struct vfio_user_header header;
	uint32_t nb_bytes; /* of the payload */
	uint8_t payload[VFIO_USER_MAX_BYTES];
};
void vc_receive(int fd, struct vc_reply *reply);

/*
 * Send, work, receive. Returns the errno of the reply, 0 for success; reply may
 * be NULL. Asserts that there is a reply with the id and the command.
 */
int vc_call(int fd, uint16_t command, const void *payload, uint32_t nb_bytes,
	    struct vc_reply *reply);
/* A request that has no reply to look at. */
#define VC_TRY(fd, command, request) \
	vc_call(fd, command, &(request), sizeof(request), NULL)
int vc_call_fds(int fd, uint16_t command, const void *payload,
		uint32_t nb_bytes, const int *fds, uint32_t nb_fds);

/* Accesses to a region; they return an errno. */
int vc_read(int fd, uint32_t region, uint64_t offset, void *buf,
	    uint32_t nb_bytes);
int vc_write(int fd, uint32_t region, uint64_t offset, const void *buf,
	     uint32_t nb_bytes);
uint32_t vc_config_read(int fd, uint32_t offset, uint32_t nb_bytes);
void vc_config_write(int fd, uint32_t offset, uint32_t value,
		     uint32_t nb_bytes);

/* DMA_MAP of access rights VFIO_DMA_MAP_FLAG_*; file -1: none. An errno. */
int vc_map(int fd, uint64_t addr, uint64_t size_bytes, uint32_t access,
	   int file, uint64_t file_offset);
int vc_unmap(int fd, uint64_t addr, uint64_t size_bytes, uint32_t flags);

/* SET_IRQS of MSI-X; an errno. */
int vc_irqs(int fd, uint32_t flags, uint32_t start, uint32_t count,
	    const int *fds, uint32_t nb_fds);

/* A memfd of this size, with byte at each byte. */
int vc_memory(uint64_t nb_bytes, uint8_t byte);
/* Number of open descriptors of this process. */
uint32_t vc_nb_fds(void);

#endif /* MODEL_TEST_VFIO_CLIENT_H */
