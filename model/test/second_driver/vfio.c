/* SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* memfd_create() */
#include <errno.h>
#include <linux/vfio.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "second.h"

/* Where the device sees the memory. */
#define MEM_BASE  0x10000000u
#define MEM_BYTES (24u << 20)

#define PATIENCE_MS 60000

enum command {
	VERSION = 1,
	DMA_MAP = 2,
	SET_IRQS = 8,
	READ = 9,
	WRITE = 10
};
#define FLAG_REPLY 1u

struct header {
	uint16_t id, command;
	uint32_t nb_bytes, flags, error;
};
struct transfer {
	uint64_t offset;
	uint32_t region, nb_bytes;
	uint8_t data[8];
};
#define TRANSFER_BYTES 16u

static int fd;
static int vectors[NB_VECTORS];
static uint8_t *memory;
static uint32_t used_bytes;

static void
receive(void *to, size_t nb_bytes)
{
	/* To receive nothing would wait for a byte. */
	if (nb_bytes != 0 &&
	    recv(fd, to, nb_bytes, MSG_WAITALL) != (ssize_t)nb_bytes)
		die("the model has closed the connection");
}

/* Send a message with descriptors; the reply's payload overwrites the first one. */
static void
call(enum command command, void *payload, uint32_t nb_bytes,
     uint32_t room_bytes, const int *fds, uint32_t nb_fds)
{
	static uint16_t id;
	struct header header = { ++id, (uint16_t)command,
				 (uint32_t)sizeof(header) + nb_bytes, 0, 0 };
	struct iovec parts[] = { { &header, sizeof(header) },
				 { payload, nb_bytes } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(NB_VECTORS * sizeof(int))];
	} control = { 0 };

	if (nb_fds != 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(nb_fds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(nb_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, nb_fds * sizeof(int));
	}
	if (sendmsg(fd, &message, MSG_NOSIGNAL) !=
	    (ssize_t)(sizeof(header) + nb_bytes))
		die("cannot send to the model: %s", strerror(errno));
	receive(&header, sizeof(header));
	if (header.flags != FLAG_REPLY || header.id != id)
		die("the model refuses command %d: %s", (int)command,
		    strerror((int)header.error));
	if (header.nb_bytes - sizeof(header) > room_bytes)
		die("command %d: the reply is too long", (int)command);
	receive(payload, header.nb_bytes - sizeof(header));
}

static void
transfer(enum command command, uint32_t region, uint64_t offset, void *data,
	 uint32_t nb_bytes)
{
	struct transfer t = { .offset = offset,
			      .region = region,
			      .nb_bytes = nb_bytes };

	memcpy(t.data, data, nb_bytes);
	call(command, &t, TRANSFER_BYTES + (command == WRITE ? nb_bytes : 0),
	     sizeof(t), NULL, 0);
	if (command == READ)
		memcpy(data, t.data, nb_bytes);
}

uint32_t
bar_read(uint64_t offset)
{
	uint32_t value = 0;

	transfer(READ, VFIO_PCI_BAR0_REGION_INDEX, offset, &value, sizeof(value));
	return value;
}

/* The memory is shared with another process: its stores come first. */
void
bar_write(uint64_t offset, uint64_t value, uint32_t nb_bytes)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	transfer(WRITE, VFIO_PCI_BAR0_REGION_INDEX, offset, &value, nb_bytes);
}

static uint32_t
config_read(uint32_t offset, uint32_t nb_bytes)
{
	uint32_t value = 0;

	transfer(READ, VFIO_PCI_CONFIG_REGION_INDEX, offset, &value, nb_bytes);
	return value;
}

static void
config_write16(uint32_t offset, uint32_t value)
{
	transfer(WRITE, VFIO_PCI_CONFIG_REGION_INDEX, offset, &value, 2);
}

/* The place of a PCI capability. */
static uint32_t
capability(uint32_t id)
{
	uint32_t at = config_read(0x34, 1);

	while (at != 0 && config_read(at, 1) != id)
		at = config_read(at + 1, 1);
	if (at == 0)
		die("no capability 0x%x", id);
	return at;
}

/* Memory and bus master; MSI-X. */
static void
enable(void)
{
	const uint32_t msix = capability(0x11);

	config_write16(0x04, config_read(0x04, 2) | 6);
	config_write16(msix + 2, config_read(msix + 2, 2) | 1u << 15);
}

void
vfio_reset(void)
{
	const uint32_t control = capability(0x10) + 8;

	config_write16(control, config_read(control, 2) | 1u << 15);
	enable();
}

static void
connect_vectors(void)
{
	struct vfio_irq_set set = {
		.argsz = sizeof(set),
		.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
		.index = VFIO_PCI_MSIX_IRQ_INDEX,
		.count = NB_VECTORS,
	};

	for (uint32_t i = 0; i < NB_VECTORS; i++) {
		vectors[i] = eventfd(0, 0);
		if (vectors[i] < 0)
			die("eventfd: %s", strerror(errno));
	}
	call(SET_IRQS, &set, sizeof(set), sizeof(set), vectors, NB_VECTORS);
}

static void
map_memory(void)
{
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map),
		.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.iova = MEM_BASE,
		.size = MEM_BYTES,
	};
	const int file = memfd_create("second-driver", MFD_CLOEXEC);

	if (file < 0 || ftruncate(file, MEM_BYTES) != 0)
		die("memory: %s", strerror(errno));
	memory = mmap(NULL, MEM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file,
		      0);
	if (memory == MAP_FAILED)
		die("memory: %s", strerror(errno));
	call(DMA_MAP, &map, sizeof(map), sizeof(map), &file, 1);
	close(file);
}

void
vfio_open(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char version[512] = "\0\0\0\0{\"capabilities\": {}}";

	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
			     path) >= sizeof(address.sun_path))
		die("%s: give a shorter path", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		die("%s: %s", path, strerror(errno));
	call(VERSION, version, 4 + (uint32_t)strlen(version + 4) + 1,
	     sizeof(version), NULL, 0);
	map_memory();
	connect_vectors();
	if (config_read(0, 4) != 0x00ba1414)
		die("the device is no MANA virtual function");
	enable();
}

void
irq_wait(uint32_t vector)
{
	struct pollfd wanted = { .fd = vectors[vector], .events = POLLIN };
	uint64_t n;

	if (poll(&wanted, 1, PATIENCE_MS) != 1)
		die("no interrupt of vector %u", vector);
	if (read(vectors[vector], &n, sizeof(n)) != sizeof(n))
		die("interrupt %u: %s", vector, strerror(errno));
}

void *
mem_alloc(uint32_t nb_bytes)
{
	uint8_t *at = memory + used_bytes;

	nb_bytes = (nb_bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	if (nb_bytes > MEM_BYTES - used_bytes)
		die("out of memory");
	used_bytes += nb_bytes;
	memset(at, 0, nb_bytes);
	return at;
}

uint64_t
mem_address(const void *at)
{
	return MEM_BASE + (uint64_t)((const uint8_t *)at - memory);
}

void
mem_free_all(void)
{
	used_bytes = 0;
}
