/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The requests of vfio-user: one function each. The layouts are those of
 * <linux/vfio.h>, where it has them.
 */

#include <errno.h>
#include <jansson.h>
#include <linux/vfio.h>
#include <string.h>

#include "config_space.h"
#include "dma.h"
#include "msix.h"
#include "pci_function.h"
#include "pci_status.h"
#include "trace.h"
#include "vfio_user.h"

#define MAJOR 0u
#define MINOR 0u

/* INTx, MSI and MSI-X; only the last one has interrupts. */
#define NB_IRQ_KINDS (VFIO_PCI_MSIX_IRQ_INDEX + 1u)

/* Largest transfer of REGION_READ and REGION_WRITE: the configuration space. */
#define MAX_TRANSFER_BYTES CONFIG_SPACE_BYTES
/* Writes in a REGION_WRITE_MULTI, each of up to 8 bytes. */
#define MAX_WRITES 200u

enum command {
	VERSION = 1,
	DMA_MAP = 2,
	DMA_UNMAP = 3,
	DEVICE_GET_INFO = 4,
	DEVICE_GET_REGION_INFO = 5,
	DEVICE_GET_IRQ_INFO = 7,
	DEVICE_SET_IRQS = 8,
	REGION_READ = 9,
	REGION_WRITE = 10,
	DEVICE_RESET = 13,
	REGION_WRITE_MULTI = 15,
	NB_COMMANDS
};

struct version {
	uint16_t major, minor;
};

struct transfer {
	uint64_t offset;
	uint32_t region;
	uint32_t nb_bytes;
};

struct one_write {
	struct transfer transfer;
	uint8_t data[8];
};

/* The protocol's sizes of the payloads, without data behind them. */
#define MAP_BYTES      ((uint32_t)sizeof(struct vfio_iommu_type1_dma_map))
#define UNMAP_BYTES    ((uint32_t)sizeof(struct vfio_iommu_type1_dma_unmap))
#define INFO_BYTES     ((uint32_t)sizeof(struct vfio_irq_info))
#define REGION_BYTES   ((uint32_t)sizeof(struct vfio_region_info))
#define SET_BYTES      ((uint32_t)sizeof(struct vfio_irq_set))
#define TRANSFER_BYTES ((uint32_t)sizeof(struct transfer))
#define WRITE_BYTES    ((uint32_t)sizeof(struct one_write))
_Static_assert(MAP_BYTES == 32 && UNMAP_BYTES == 24 && INFO_BYTES == 16 &&
		       REGION_BYTES == 32 && SET_BYTES == 20 &&
		       TRANSFER_BYTES == 16 && WRITE_BYTES == 24,
	       "layouts of vfio-user 0.0");
_Static_assert(8 + MAX_WRITES * WRITE_BYTES <= VFIO_USER_MAX_PAYLOAD &&
		       TRANSFER_BYTES + MAX_TRANSFER_BYTES <=
			       VFIO_USER_MAX_PAYLOAD,
	       "a message has no room for its data");

/* A request: its payload, and where the payload of its reply goes. */
struct request {
	struct vfio_user *client;
	const uint8_t *payload;
	uint32_t nb_bytes;
	uint8_t *reply;
};

/* Capabilities of this server, in a list as long as the client's or shorter. */
static const struct {
	const char *name;
	uint32_t value; /* 0: true */
} capabilities[] = {
	{ "max_msg_fds", VFIO_USER_MAX_FDS },
	{ "max_data_xfer_size", MAX_TRANSFER_BYTES },
	{ "max_dma_maps", DMA_MAX_MAPS },
	{ "pgsizes", DMA_PAGE_BYTES },
	{ "write_multiple", 0 },
};

/* Those that the client has proposed; NULL: no memory. */
static json_t *
agree(const json_t *proposed)
{
	json_t *agreed = json_object();

	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]);
	     i++) {
		if (json_object_get(proposed, capabilities[i].name) == NULL)
			continue;
		json_object_set_new(agreed, capabilities[i].name,
				    capabilities[i].value == 0 ?
					    json_true() :
					    json_integer(capabilities[i].value));
	}
	return json_pack("{s:o}", "capabilities", agreed);
}

/* The text is not ended by zero if it has no room; then the version is refused. */
static int
negotiate(const char *text, size_t nb_bytes, char *answer, size_t room)
{
	json_t *proposed, *agreed;
	size_t n;

	if (text[nb_bytes - 1] != '\0')
		return -EINVAL;
	proposed = json_loads(text, 0, NULL);
	if (!json_is_object(proposed)) {
		json_decref(proposed);
		return -EINVAL;
	}
	agreed = agree(json_object_get(proposed, "capabilities"));
	json_decref(proposed);
	if (agreed == NULL)
		return -ENOMEM;
	n = json_dumpb(agreed, answer, room, JSON_COMPACT);
	json_decref(agreed);
	if (n == 0 || n >= room)
		return -ENOMEM;
	answer[n] = '\0';
	return (int)n + 1;
}

/* Version and, optionally, capabilities as a JSON text that ends with a zero. */
static int
version(const struct request *r)
{
	const size_t head_bytes = sizeof(struct version);
	struct version version;
	int n = 0;

	memcpy(&version, r->payload, head_bytes);
	if (version.major != MAJOR || r->client->has_version)
		return -EINVAL;
	if (r->nb_bytes > head_bytes)
		n = negotiate((const char *)r->payload + head_bytes,
			      r->nb_bytes - head_bytes,
			      (char *)r->reply + head_bytes,
			      VFIO_USER_MAX_PAYLOAD - head_bytes);
	if (n < 0)
		return n;
	version.minor = MINOR;
	memcpy(r->reply, &version, head_bytes);
	r->client->has_version = true;
	return (int)head_bytes + n;
}

_Static_assert(VFIO_DMA_MAP_FLAG_READ == DMA_READ &&
		       VFIO_DMA_MAP_FLAG_WRITE == DMA_WRITE,
	       "rights of a mapping");

static int
map(const struct request *r)
{
	struct vfio_iommu_type1_dma_map in;
	struct dma_map map;

	memcpy(&in, r->payload, sizeof(in));
	if (in.argsz < sizeof(in))
		return -EINVAL;
	map = (struct dma_map){
		.addr = in.iova,
		.size_bytes = in.size,
		.access = in.flags,
	};
	/* The address in the client's process is the offset in the file here. */
	return dma_map(r->client->fn, &map,
		       r->client->nb_fds > 0 ? r->client->fds[0] : -1, in.vaddr);
}

static int
unmap(const struct request *r)
{
	struct vfio_iommu_type1_dma_unmap in;
	int ret = 0;

	memcpy(&in, r->payload, sizeof(in));
	if (in.argsz < sizeof(in))
		return -EINVAL;
	if (in.flags == 0)
		ret = dma_unmap(r->client->fn, in.iova, in.size);
	else if (in.flags == VFIO_DMA_UNMAP_FLAG_ALL && in.iova == 0 &&
		 in.size == 0)
		dma_unmap_all(r->client->fn);
	else
		ret = -EINVAL;
	if (ret != 0)
		return ret;
	memcpy(r->reply, &in, sizeof(in));
	return sizeof(in);
}

/* The fields of struct vfio_device_info that the protocol has. */
struct device_info {
	uint32_t argsz, flags, nb_regions, nb_irqs;
};
_Static_assert(sizeof(struct device_info) == INFO_BYTES, "DEVICE_GET_INFO");

static int
device_info(const struct request *r)
{
	struct device_info info;

	memcpy(&info, r->payload, sizeof(info));
	if (info.argsz < sizeof(info))
		return -EINVAL;
	info = (struct device_info){
		.argsz = sizeof(info),
		.flags = VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI,
		.nb_regions = VFIO_PCI_NUM_REGIONS,
		.nb_irqs = NB_IRQ_KINDS,
	};
	memcpy(r->reply, &info, sizeof(info));
	return sizeof(info);
}

/* No region can be mapped: the function must see each access. */
static int
region_info(const struct request *r)
{
	struct vfio_region_info info;
	uint32_t index;

	memcpy(&info, r->payload, sizeof(info));
	index = info.index;
	if (info.argsz < sizeof(info) || index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	info = (struct vfio_region_info){
		.argsz = sizeof(info),
		.index = index,
		.size = pci_region_bytes(index),
	};
	if (info.size != 0)
		info.flags = VFIO_REGION_INFO_FLAG_READ |
			     VFIO_REGION_INFO_FLAG_WRITE;
	memcpy(r->reply, &info, sizeof(info));
	return sizeof(info);
}

static uint32_t
nb_interrupts(uint32_t index)
{
	return index == VFIO_PCI_MSIX_IRQ_INDEX ? MSIX_NB_VECTORS : 0;
}

static int
irq_info(const struct request *r)
{
	struct vfio_irq_info info;
	uint32_t index;

	memcpy(&info, r->payload, sizeof(info));
	index = info.index;
	if (info.argsz < sizeof(info))
		return -EINVAL;
	/* QEMU asks for those of errors and unplug requests in any case. */
	if (index >= NB_IRQ_KINDS)
		return -ENOTSUP;
	info = (struct vfio_irq_info){
		.argsz = sizeof(info),
		.index = index,
		.count = nb_interrupts(index),
	};
	if (info.count != 0)
		info.flags = VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE;
	memcpy(r->reply, &info, sizeof(info));
	return sizeof(info);
}

/* Connect count vectors to the descriptors of the message, or to none. */
static int
connect_vectors(const struct request *r, const struct vfio_irq_set *set)
{
	int ret = 0;

	if (r->client->nb_fds != 0 && r->client->nb_fds != set->count)
		return -EINVAL;
	for (uint32_t i = 0; i < set->count && ret == 0; i++) {
		int fd = -1;

		if (r->client->nb_fds != 0) {
			fd = r->client->fds[i];
			r->client->fds[i] = -1;
		}
		ret = msix_connect(r->client->fn, set->start + i, fd);
	}
	return ret;
}

static void
act_on_vector(uint32_t fn, uint32_t vector, uint32_t action)
{
	if (action == VFIO_IRQ_SET_ACTION_TRIGGER)
		msix_raise(fn, vector);
	else
		msix_mask(fn, vector, action == VFIO_IRQ_SET_ACTION_MASK);
}

static void
disconnect_vectors(uint32_t fn)
{
	for (uint32_t i = 0; i < MSIX_NB_VECTORS; i++)
		msix_connect(fn, i, -1);
}

static bool
is_one_bit(uint32_t bits)
{
	return bits != 0 && (bits & (bits - 1)) == 0;
}

/* Data and action; "all of the index" is a count of 0. */
static int
set_irqs(const struct request *r)
{
	struct vfio_irq_set set;
	const uint8_t *bools = r->payload + sizeof(set);
	uint32_t data, action, nb, nb_bools;

	memcpy(&set, r->payload, sizeof(set));
	data = set.flags & VFIO_IRQ_SET_DATA_TYPE_MASK;
	action = set.flags & VFIO_IRQ_SET_ACTION_TYPE_MASK;
	if (set.argsz < sizeof(set) || set.index >= NB_IRQ_KINDS ||
	    set.flags != (data | action) || !is_one_bit(data) ||
	    !is_one_bit(action))
		return -EINVAL;
	nb = nb_interrupts(set.index);
	if (set.start > nb || set.count > nb - set.start)
		return -EINVAL;
	nb_bools = data == VFIO_IRQ_SET_DATA_BOOL ? set.count : 0;
	if (r->nb_bytes != sizeof(set) + nb_bools ||
	    (data != VFIO_IRQ_SET_DATA_EVENTFD && r->client->nb_fds != 0))
		return -EINVAL;
	if (set.count == 0) {
		if (set.start != 0 || data != VFIO_IRQ_SET_DATA_NONE ||
		    action != VFIO_IRQ_SET_ACTION_TRIGGER)
			return -EINVAL;
		if (nb != 0)
			disconnect_vectors(r->client->fn);
		return 0;
	}
	if (data == VFIO_IRQ_SET_DATA_EVENTFD)
		return action == VFIO_IRQ_SET_ACTION_TRIGGER ?
			       connect_vectors(r, &set) :
			       -ENOTSUP;
	for (uint32_t i = 0; i < set.count; i++)
		if (data == VFIO_IRQ_SET_DATA_NONE || bools[i] != 0)
			act_on_vector(r->client->fn, set.start + i, action);
	return 0;
}

static int
region_read(const struct request *r)
{
	struct transfer t;
	int ret;

	memcpy(&t, r->payload, sizeof(t));
	if (t.nb_bytes > MAX_TRANSFER_BYTES)
		return -EINVAL;
	ret = pci_region_read(r->client->fn, t.region, t.offset,
			      r->reply + sizeof(t), t.nb_bytes);
	if (ret != 0)
		return ret;
	memcpy(r->reply, &t, sizeof(t));
	return (int)(sizeof(t) + t.nb_bytes);
}

static int
region_write(const struct request *r)
{
	struct transfer t;
	int ret;

	memcpy(&t, r->payload, sizeof(t));
	if (t.nb_bytes != r->nb_bytes - sizeof(t) ||
	    t.nb_bytes > MAX_TRANSFER_BYTES)
		return -EINVAL;
	ret = pci_region_write(r->client->fn, t.region, t.offset,
			       r->payload + sizeof(t), t.nb_bytes);
	if (ret != 0)
		return ret;
	memcpy(r->reply, &t, sizeof(t));
	return sizeof(t);
}

/* Several writes, in order. A wrong one ends the list. */
static int
region_write_multi(const struct request *r)
{
	struct one_write w;
	uint64_t nb;

	memcpy(&nb, r->payload, sizeof(nb));
	if (nb > MAX_WRITES || r->nb_bytes != sizeof(nb) + nb * sizeof(w))
		return -EINVAL;
	for (uint64_t i = 0; i < nb; i++) {
		int ret = -EINVAL;

		memcpy(&w, r->payload + sizeof(nb) + i * sizeof(w), sizeof(w));
		if (w.transfer.nb_bytes <= sizeof(w.data))
			ret = pci_region_write(r->client->fn, w.transfer.region,
					       w.transfer.offset, w.data,
					       w.transfer.nb_bytes);
		if (ret != 0)
			return ret;
	}
	memcpy(r->reply, &nb, sizeof(nb));
	return sizeof(nb);
}

static int
device_reset(const struct request *r)
{
	pci_function_reset(r->client->fn);
	pci_status(r->client->fn)->nb_resets++;
	trace_event("kind=reset fn=%u", r->client->fn);
	return 0;
}

static const struct {
	uint32_t min_bytes, max_bytes; /* of the payload */
	uint32_t max_fds;
	int (*run)(const struct request *r);
} commands[NB_COMMANDS] = {
	[VERSION] = { sizeof(struct version), VFIO_USER_MAX_PAYLOAD, 0, version },
	[DMA_MAP] = { MAP_BYTES, MAP_BYTES, 1, map },
	[DMA_UNMAP] = { UNMAP_BYTES, UNMAP_BYTES, 0, unmap },
	[DEVICE_GET_INFO] = { INFO_BYTES, INFO_BYTES, 0, device_info },
	[DEVICE_GET_REGION_INFO] = { REGION_BYTES, REGION_BYTES, 0, region_info },
	[DEVICE_GET_IRQ_INFO] = { INFO_BYTES, INFO_BYTES, 0, irq_info },
	[DEVICE_SET_IRQS] = { SET_BYTES, SET_BYTES + MSIX_NB_VECTORS,
			      VFIO_USER_MAX_FDS, set_irqs },
	[REGION_READ] = { TRANSFER_BYTES, TRANSFER_BYTES, 0, region_read },
	[REGION_WRITE] = { TRANSFER_BYTES, TRANSFER_BYTES + MAX_TRANSFER_BYTES,
			   0, region_write },
	[DEVICE_RESET] = { 0, 0, 0, device_reset },
	[REGION_WRITE_MULTI] = { sizeof(uint64_t),
				 sizeof(uint64_t) + MAX_WRITES *WRITE_BYTES, 0,
				 region_write_multi },
};

int
vfio_user_request(struct vfio_user *client, uint16_t command,
		  const uint8_t *payload, uint32_t nb_bytes, uint8_t *reply)
{
	const struct request r = { client, payload, nb_bytes, reply };

	if (command >= NB_COMMANDS || commands[command].run == NULL)
		return -ENOTSUP;
	if (nb_bytes < commands[command].min_bytes ||
	    nb_bytes > commands[command].max_bytes ||
	    client->nb_fds > commands[command].max_fds ||
	    (command != VERSION && !client->has_version))
		return -EINVAL;
	return commands[command].run(&r);
}
