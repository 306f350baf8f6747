/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * With any bytes and descriptors from the client of a PCI function, and any
 * accesses to its memory, the transport continues, and keeps nothing of a client
 * that is gone.
 *
 * An input is a list of actions, whose first byte selects the action.
 */

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../vfio_client.h"
#include "dma.h"
#include "fuzz.h"
#include "msix.h"

#define PAGE	    4096u
#define NB_PAGES    64u
#define MAX_PAYLOAD 256u
#define MAX_FDS	    17u /* one more than the transport takes */

static int memory, event, client;
static uint32_t nb_fds; /* open descriptors without a client */

/* The machine may have ended the connection, or read nothing for a while. */
static void
send_bytes(const void *bytes, size_t nb_bytes, const int *fds, uint32_t nb)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec part = { (void *)(uintptr_t)bytes, nb_bytes };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (nb != 0) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(nb * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(nb * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, nb * sizeof(int));
	}
	if (sendmsg(client, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		FUZZ_CHECK(errno == EPIPE || errno == ECONNRESET ||
			   errno == EAGAIN || errno == ETOOMANYREFS);
}

/* A byte selects the number of descriptors and their kinds. */
static uint32_t
choose_fds(uint8_t how, int fds[MAX_FDS])
{
	const uint32_t nb = (how & 0x1f) < MAX_FDS ? how & 0x1f : MAX_FDS;

	for (uint32_t i = 0; i < nb; i++)
		fds[i] = (how & 0x20) != 0 ? event :
			 (how & 0x40) != 0 ? client :
					     memory;
	return nb;
}

static void
send_message(uint16_t command, uint32_t flags, uint8_t how, const void *payload,
	     uint32_t nb_bytes)
{
	uint8_t bytes[sizeof(struct vfio_user_header) + MAX_PAYLOAD];
	const struct vfio_user_header header = {
		.command = command,
		.size_bytes = (uint32_t)sizeof(header) + nb_bytes,
		.flags = flags,
	};
	int fds[MAX_FDS];

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), payload, nb_bytes);
	send_bytes(bytes, sizeof(header) + nb_bytes, fds, choose_fds(how, fds));
}

/* A message with a correct header. */
static void
send_any(struct fuzz_input *in)
{
	const uint8_t command = fuzz_u8(in), flags = fuzz_u8(in);
	const uint8_t how = fuzz_u8(in), nb_bytes = fuzz_u8(in);
	uint8_t payload[MAX_PAYLOAD];

	fuzz_read(in, payload, nb_bytes);
	send_message(command % 18, flags & 0x30, how, payload, nb_bytes);
}

static uint64_t
small(struct fuzz_input *in)
{
	return fuzz_u8(in) % NB_PAGES * PAGE;
}

static void
send_map(struct fuzz_input *in)
{
	struct vfio_iommu_type1_dma_map map = { .argsz = sizeof(map) };
	const uint8_t flags = fuzz_u8(in);

	map.flags = flags & 3;
	map.iova = small(in);
	map.size = small(in);
	map.vaddr = small(in);
	send_message(VC_DMA_MAP, 0, flags >> 7, &map, sizeof(map));
}

static void
send_unmap(struct fuzz_input *in)
{
	struct vfio_iommu_type1_dma_unmap unmap = { .argsz = sizeof(unmap) };

	unmap.iova = small(in);
	unmap.size = small(in);
	send_message(VC_DMA_UNMAP, 0, 0, &unmap, sizeof(unmap));
}

static void
send_irqs(struct fuzz_input *in)
{
	struct vfio_irq_set set = { .argsz = sizeof(set),
				    .index = VFIO_PCI_MSIX_IRQ_INDEX };
	const uint8_t how = fuzz_u8(in);

	set.flags = fuzz_u8(in);
	set.start = fuzz_u8(in);
	set.count = how & 0x1f;
	send_message(VC_SET_IRQS, 0, how, &set, sizeof(set));
}

static void
send_access(struct fuzz_input *in)
{
	static const uint32_t regions[] = { VC_BAR0, VC_BAR4, VC_CONFIG, 9 };
	const uint8_t how = fuzz_u8(in);
	struct {
		uint64_t offset;
		uint32_t region, nb_bytes;
		uint8_t data[16];
	} access = { .region = regions[how & 3], .nb_bytes = how >> 4 };

	access.offset = fuzz_u8(in) * (uint64_t)(1 + (how >> 3 & 1) * 4095);
	fuzz_read(in, access.data, access.nb_bytes);
	if ((how & 4) != 0)
		send_message(VC_REGION_READ, 0, 0, &access, 16);
	else
		send_message(VC_REGION_WRITE, 0, 0, &access,
			     16 + access.nb_bytes);
}

static void
access_memory(struct fuzz_input *in)
{
	uint8_t buf[3 * PAGE];
	const uint64_t addr = fuzz_u64(in);
	const uint8_t how = fuzz_u8(in);
	const size_t nb_bytes = (how & 0x7fu) * 96u;

	memset(buf, how, sizeof(buf));
	if ((how & 0x80) != 0)
		(void)dma_write(0, addr % (NB_PAGES * PAGE), buf, nb_bytes);
	else
		(void)dma_read(0, (addr & 1) != 0 ? addr :
				  addr % (NB_PAGES * PAGE), buf, nb_bytes);
}

static void
read_replies(void)
{
	uint8_t bytes[VFIO_USER_MAX_BYTES];

	while (recv(client, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		vc_pump();
}

static void
leave(void)
{
	vc_leave(client);
	FUZZ_CHECK(vc_nb_fds() == nb_fds);
	FUZZ_CHECK(!dma_is_enabled(0));
}

enum action {
	PUMP,
	SEND_BYTES,
	SEND_ANY,
	SEND_MAP,
	SEND_UNMAP,
	SEND_IRQS,
	SEND_ACCESS,
	ACCESS_MEMORY,
	RAISE,
	TRUNCATE,
	READ_REPLIES,
	RECONNECT,
	NB_ACTIONS
};

static void
act(struct fuzz_input *in)
{
	uint8_t bytes[MAX_PAYLOAD], nb_bytes;

	switch ((enum action)(fuzz_u8(in) % NB_ACTIONS)) {
	case SEND_BYTES:
		nb_bytes = fuzz_u8(in);
		fuzz_read(in, bytes, nb_bytes);
		send_bytes(bytes, nb_bytes, NULL, 0);
		break;
	case SEND_ANY:
		send_any(in);
		break;
	case SEND_MAP:
		send_map(in);
		break;
	case SEND_UNMAP:
		send_unmap(in);
		break;
	case SEND_IRQS:
		send_irqs(in);
		break;
	case SEND_ACCESS:
		send_access(in);
		break;
	case ACCESS_MEMORY:
		access_memory(in);
		break;
	case RAISE:
		msix_raise(0, fuzz_u8(in));
		break;
	case TRUNCATE:
		FUZZ_CHECK(ftruncate(memory, (off_t)small(in)) == 0);
		break;
	case READ_REPLIES:
		read_replies();
		break;
	case RECONNECT:
		leave();
		client = vc_connect();
		break;
	default:
		vc_pump();
		break;
	}
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	void *state;

	(void)argc;
	(void)argv;
	vc_setup(&state);
	memory = vc_memory(NB_PAGES * PAGE, 0x11);
	event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nb_bytes)
{
	struct fuzz_input in = { .bytes = data, .nb_left = nb_bytes };

	FUZZ_CHECK(ftruncate(memory, NB_PAGES * PAGE) == 0);
	nb_fds = vc_nb_fds();
	client = vc_open();
	while (in.nb_left > 0)
		act(&in);
	leave();
	return 0;
}
