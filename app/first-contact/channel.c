/* SPDX-License-Identifier: BSD-3-Clause */

/* The uio device of a synthetic device, its memory and its rings. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "channel.h"

#define DEVICES	      "/sys/bus/vmbus/devices"
#define NETWORK_CLASS "{f8615163-df3e-46c5-913f-f2d2f965ed0e}"
#define UUID_CHARS    36u
#define FOLDER_BYTES  (sizeof(DEVICES "/") + UUID_CHARS)
#define MAX_MAP_BYTES (1ul << 30)

/* A ring: a control page, then data. Offsets in the control page. */
#define WRITE_OFF     0u
#define READ_OFF      4u
#define TRAILER_BYTES 8u
#define WANTS_COMPLETION 1u /* flag of a descriptor */

/* The monitor page: a bit per channel rings it; its latency is in units of 100 ns. */
#define TRIGGER_OFF	8u
#define TRIGGER_BYTES	8u
#define LATENCY_OFF	576u
#define NB_MONITORS	128u
#define LATENCY_100_NS	500u

/* Linux Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_FRAME_M	  ((UINT64_C(1) << 55) - 1)
#define PAGEMAP_PRESENT	  (UINT64_C(1) << 63)

/* ---- Files ---- */

static int
check_device(struct fc *fc, const char *uuid, const char *folder)
{
	char line[64];

	if (strlen(uuid) != UUID_CHARS ||
	    strspn(uuid, "0123456789abcdef-") != UUID_CHARS)
		return fc_fail(fc, -EINVAL,
			       "--netvsc: '%s' is no device of the VMBus: give the name of "
			       "the folder to which /sys/class/net/NETDEV/device leads",
			       uuid);
	if (!fc_read_line(folder, "class_id", line, sizeof(line)))
		return fc_fail(fc, -ENODEV, "--netvsc: there is no " DEVICES "/%s", uuid);
	if (strcmp(line, NETWORK_CLASS) != 0)
		return fc_fail(fc, -ENODEV, "--netvsc: %s is no network device", uuid);
	return 0;
}

/* The N of uioN; -1: uio_hv_generic does not own the device. */
static int
find_uio(const char *folder)
{
	char path[FOLDER_BYTES + 8];
	struct dirent *entry;
	int number = -1;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/uio", folder);
	dir = opendir(path);
	if (dir == NULL)
		return -1;
	while (number < 0 && (entry = readdir(dir)) != NULL)
		if (sscanf(entry->d_name, "uio%d", &number) != 1)
			number = -1;
	closedir(dir);
	return number;
}

/* Maps one map; its name has the GPADL behind a colon. */
static int
open_map(struct fc *fc, struct fc_channel *channel, const char *uio, uint32_t i)
{
	static const char *const names[FC_NB_MAPS] = {
		[FC_MAP_RINGS] = "txrx_rings", [FC_MAP_MONITOR] = "monitor_page",
		[FC_MAP_RECEIVE] = "recv:", [FC_MAP_SEND] = "send:",
	};
	struct fc_map *map = &channel->maps[i];
	unsigned long nb_bytes = 0;
	char folder[FOLDER_BYTES + 64], name[32];
	void *addr;

	snprintf(folder, sizeof(folder), "%s/maps/map%u", uio, i);
	if (!fc_read_line(folder, "name", name, sizeof(name)) ||
	    strncmp(name, names[i], strlen(names[i])) != 0 ||
	    !fc_read_number(folder, "size", &nb_bytes) ||
	    nb_bytes < FC_VMBUS_PAGE_BYTES || nb_bytes > MAX_MAP_BYTES)
		return fc_fail(fc, -ENODEV, "%s is no map '%s' of uio_hv_generic", folder,
			       names[i]);
	if (strchr(name, ':') != NULL)
		map->gpadl = (uint32_t)strtoul(strchr(name, ':') + 1, NULL, 10);
	addr = mmap(NULL, nb_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, channel->fd,
		    (off_t)i * sysconf(_SC_PAGESIZE));
	if (addr == MAP_FAILED)
		return fc_fail(fc, -errno, "%s: %s", folder, strerror(errno));
	map->addr = addr;
	map->nb_bytes = nb_bytes;
	return 0;
}

/* ---- Rings ---- */

/* The ring to the host is in front. */
static uint8_t *
ring_of(const struct fc_channel *channel, bool is_in)
{
	const struct fc_map *map = &channel->maps[FC_MAP_RINGS];

	return map->addr + (is_in ? map->nb_bytes / 2 : 0);
}

/* An index that the host may write at any time; -1: it is invalid. */
static int64_t
read_index(const struct fc_channel *channel, bool is_in, uint32_t off)
{
	const uint32_t *at = (const uint32_t *)(ring_of(channel, is_in) + off);
	const uint32_t index = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	return index < channel->data_bytes && index % 8 == 0 ? (int64_t)index : -1;
}

static void
write_index(const struct fc_channel *channel, bool is_in, uint32_t off, uint32_t index)
{
	__atomic_store_n((uint32_t *)(ring_of(channel, is_in) + off), index,
			 __ATOMIC_SEQ_CST);
}

static uint32_t
advanced(const struct fc_channel *channel, uint32_t index, uint32_t nb_bytes)
{
	index += nb_bytes;
	return index < channel->data_bytes ? index : index - channel->data_bytes;
}

static uint32_t
distance(const struct fc_channel *channel, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + channel->data_bytes - from;
}

/* Both copy a number of bytes that fits the ring. */
static void
copy_in(const struct fc_channel *channel, uint32_t index, void *to, uint32_t nb_bytes)
{
	const uint8_t *data = ring_of(channel, true) + FC_VMBUS_PAGE_BYTES;
	const uint32_t first = RTE_MIN(nb_bytes, channel->data_bytes - index);

	memcpy(to, data + index, first);
	memcpy((uint8_t *)to + first, data, nb_bytes - first);
}

static void
copy_out(struct fc_channel *channel, const void *from, uint32_t nb_bytes)
{
	uint8_t *data = ring_of(channel, false) + FC_VMBUS_PAGE_BYTES;
	const uint32_t first = RTE_MIN(nb_bytes, channel->data_bytes - channel->out);

	if (nb_bytes == 0)
		return;
	memcpy(data + channel->out, from, first);
	memcpy(data, (const uint8_t *)from + first, nb_bytes - first);
	channel->out = advanced(channel, channel->out, nb_bytes);
}

static int
fail_ring(struct fc *fc, const struct fc_channel *channel)
{
	return fc_fail(fc, -EPROTO, "--netvsc: %s: the host has written a ring that is "
				    "invalid", channel->uuid);
}

static int
ring_host(struct fc *fc, const struct fc_channel *channel)
{
	const uint32_t bit = channel->monitor_id % 32;
	uint8_t *group = channel->maps[FC_MAP_MONITOR].addr + TRIGGER_OFF +
			 channel->monitor_id / 32 * TRIGGER_BYTES;
	const int32_t one = 1;

	if (channel->monitor_id != FC_NOT_SET) {
		__atomic_fetch_or((uint32_t *)group, UINT32_C(1) << bit, __ATOMIC_SEQ_CST);
		return 0;
	}
	/* Linux hv_uio_irqcontrol(): calls the host. */
	if (write(channel->fd, &one, sizeof(one)) == (ssize_t)sizeof(one))
		return 0;
	return fc_fail(fc, -errno, "--netvsc: %s: cannot ring: %s", channel->uuid,
		       strerror(errno));
}

int
fc_channel_put(struct fc *fc, struct fc_channel *channel, uint16_t type,
	       bool wants_completion, uint64_t transaction,
	       const struct fc_vmbus_part *extension, const struct fc_vmbus_part *payload)
{
	static const uint8_t zeros[8];
	const uint32_t start = channel->out;
	const uint32_t header = FC_VMBUS_DESC_BYTES + extension->nb_bytes;
	const uint32_t total = RTE_ALIGN_CEIL(header + payload->nb_bytes, 8);
	const uint16_t descriptor[] = {
		type, (uint16_t)(header / 8), (uint16_t)(total / 8),
		wants_completion ? WANTS_COMPLETION : 0,
	};
	const uint32_t trailer[] = { 0, start };
	const int64_t end = read_index(channel, false, READ_OFF);

	if (end < 0)
		return fail_ring(fc, channel);
	/* A full ring would look like an empty one. */
	if (start != (uint32_t)end &&
	    distance(channel, start, (uint32_t)end) <= total + TRAILER_BYTES)
		return fc_fail(fc, -EAGAIN, "--netvsc: %s: the host takes no packets",
			       channel->uuid);
	copy_out(channel, descriptor, sizeof(descriptor));
	copy_out(channel, &transaction, sizeof(transaction));
	copy_out(channel, extension->bytes, extension->nb_bytes);
	copy_out(channel, payload->bytes, payload->nb_bytes);
	copy_out(channel, zeros, total - header - payload->nb_bytes);
	copy_out(channel, trailer, sizeof(trailer));
	write_index(channel, false, WRITE_OFF, channel->out);
	return ring_host(fc, channel);
}

int
fc_channel_next(struct fc *fc, struct fc_channel *channel, struct fc_vmbus_packet *packet)
{
	const int64_t end = read_index(channel, true, WRITE_OFF);
	uint16_t descriptor[4];
	uint32_t there, total;

	if (end < 0)
		return fail_ring(fc, channel);
	there = distance(channel, channel->in, (uint32_t)end);
	if (there == 0)
		return 0;
	if (there < FC_VMBUS_DESC_BYTES + TRAILER_BYTES)
		return fail_ring(fc, channel);
	copy_in(channel, channel->in, descriptor, sizeof(descriptor));
	copy_in(channel, advanced(channel, channel->in, sizeof(descriptor)),
		&packet->transaction, sizeof(packet->transaction));
	packet->type = descriptor[0];
	packet->header_bytes = descriptor[1] * 8u;
	total = descriptor[2] * 8u;
	if (packet->header_bytes < FC_VMBUS_DESC_BYTES || total < packet->header_bytes ||
	    total > there - TRAILER_BYTES)
		return fail_ring(fc, channel);
	packet->nb_bytes = RTE_MIN(total, FC_PACKET_COPY_BYTES);
	copy_in(channel, channel->in, packet->bytes, packet->nb_bytes);
	channel->in = advanced(channel, channel->in, total + TRAILER_BYTES);
	write_index(channel, true, READ_OFF, channel->in);
	return 1;
}

/* ---- The device ---- */

/*
 * Memory of the kernel, which does not move. The host reads a request there; memory of this
 * program might move meanwhile.
 */
int
fc_channel_send_page(struct fc *fc, const struct fc_channel *channel, uint64_t *page)
{
	uint8_t *addr = channel->maps[FC_MAP_SEND].addr;
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	const off_t at = (off_t)((uintptr_t)addr / page_bytes * sizeof(uint64_t));
	const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;
	bool is_read;

	*(volatile uint8_t *)addr = 0; /* now the page is in the table */
	is_read = fd >= 0 && lseek(fd, at, SEEK_SET) == at &&
		  read(fd, &entry, sizeof(entry)) == (ssize_t)sizeof(entry);
	if (fd >= 0)
		close(fd);
	if (!is_read || (entry & PAGEMAP_PRESENT) == 0 || (entry & PAGEMAP_FRAME_M) == 0)
		return fc_fail(fc, -EPERM,
			       "--netvsc: the physical address of the send buffer is hidden: "
			       "run as root, or with CAP_SYS_ADMIN");
	*page = (entry & PAGEMAP_FRAME_M) * (page_bytes / FC_VMBUS_PAGE_BYTES);
	return 0;
}

static void
read_monitor(struct fc_channel *channel, const char *folder)
{
	unsigned long id;
	uint16_t *latency;

	channel->monitor_id = FC_NOT_SET;
	if (!fc_read_number(folder, "monitor_id", &id) || id >= NB_MONITORS)
		return;
	channel->monitor_id = (uint32_t)id;
	latency = (uint16_t *)(channel->maps[FC_MAP_MONITOR].addr + LATENCY_OFF);
	__atomic_store_n(&latency[id], LATENCY_100_NS, __ATOMIC_RELAXED);
}

/* A channel whose rings have been used belongs to another program. */
static int
start_rings(struct fc *fc, struct fc_channel *channel)
{
	const size_t ring_bytes = channel->maps[FC_MAP_RINGS].nb_bytes / 2;

	if (ring_bytes < 4 * FC_VMBUS_PAGE_BYTES || ring_bytes % FC_VMBUS_PAGE_BYTES != 0)
		return fc_fail(fc, -ENODEV, "--netvsc: %s: rings of %zu bytes",
			       channel->uuid, ring_bytes);
	channel->data_bytes = (uint32_t)ring_bytes - FC_VMBUS_PAGE_BYTES;
	if (read_index(channel, false, WRITE_OFF) != 0 ||
	    read_index(channel, true, READ_OFF) != 0)
		return fc_fail(fc, -EBUSY, "--netvsc: another program uses %s: end it",
			       channel->uuid);
	return 0;
}

int
fc_channel_open(struct fc *fc, struct fc_channel *channel, const char *uuid)
{
	static const uint32_t used[] = { FC_MAP_RINGS, FC_MAP_MONITOR, FC_MAP_RECEIVE,
					 FC_MAP_SEND };
	char folder[FOLDER_BYTES], uio[FOLDER_BYTES + 32], node[32];
	int number, ret;

	*channel = (struct fc_channel){ .fd = -1 };
	snprintf(channel->uuid, sizeof(channel->uuid), "%s", uuid);
	snprintf(folder, sizeof(folder), DEVICES "/%s", channel->uuid);
	ret = check_device(fc, uuid, folder);
	if (ret != 0)
		return ret;
	number = find_uio(folder);
	if (number < 0)
		return fc_fail(fc, -ENODEV,
			       "--netvsc: %s does not belong to uio_hv_generic: bind it, as "
			       "the driver's guide says (section Azure)", uuid);
	snprintf(uio, sizeof(uio), DEVICES "/%s/uio/uio%d", channel->uuid, number);
	snprintf(node, sizeof(node), "/dev/uio%d", number);
	channel->fd = open(node, O_RDWR | O_CLOEXEC);
	if (channel->fd < 0)
		return fc_fail(fc, -errno, "--netvsc: cannot open %s: %s%s", node,
			       strerror(errno), errno == EACCES ? "; run as root" : "");
	for (uint32_t i = 0; i < RTE_DIM(used) && ret == 0; i++)
		ret = open_map(fc, channel, uio, used[i]);
	if (ret == 0)
		ret = start_rings(fc, channel);
	if (ret == 0)
		read_monitor(channel, folder);
	return ret;
}

void
fc_channel_close(struct fc_channel *channel)
{
	for (uint32_t i = 0; i < RTE_DIM(channel->maps); i++)
		if (channel->maps[i].addr != NULL)
			munmap(channel->maps[i].addr, channel->maps[i].nb_bytes);
	if (channel->fd >= 0)
		close(channel->fd);
	memset(channel, 0, sizeof(*channel));
	channel->fd = -1;
}
