/* SPDX-License-Identifier: BSD-3-Clause */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pci.h"
#include "pci_device.h"
#include "vfio_client.h"

#define HEADER_BYTES	 sizeof(struct vfio_user_header)
#define LEAVE_TIMEOUT_MS 10000
#define MAX_FDS		 256

struct vc_device vc_device;
char vc_folder[128];
static bool was_open[MAX_FDS]; /* before the test */

uint64_t
pci_bar0_read(uint32_t fn, uint64_t offset, uint32_t nb_bytes)
{
	assert_int_equal(fn, 0);
	vc_device.nb_reads++;
	vc_device.offset = offset;
	vc_device.nb_bytes = nb_bytes;
	return vc_device.answer;
}

void
pci_bar0_write(uint32_t fn, uint64_t offset, uint64_t value, uint32_t nb_bytes)
{
	assert_int_equal(fn, 0);
	vc_device.nb_writes++;
	vc_device.offset = offset;
	vc_device.value = value;
	vc_device.nb_bytes = nb_bytes;
}

bool
pci_device_run(uint32_t fn)
{
	(void)fn;
	return false;
}

void
pci_device_reset(uint32_t fn)
{
	assert_int_equal(fn, 0);
	vc_device.nb_resets++;
}

int
vc_setup(void **state)
{
	static struct fixture fx;
	char message[256] = "";

	for (int fd = 0; fd < MAX_FDS; fd++)
		was_open[fd] = fcntl(fd, F_GETFD) >= 0;
	fx_defaults(&fx);
	fx.config.mode = MODEL_MODE_THREAD;
	fx.config.is_pci = true;
	fx_start(&fx);
	snprintf(vc_folder, sizeof(vc_folder), "%s/pci", fx.dir);
	if (pci_open(vc_folder, 1, message, sizeof(message)) != 0)
		fail_msg("%s", message);
	memset(&vc_device, 0, sizeof(vc_device));
	*state = &fx;
	return 0;
}

int
vc_teardown(void **state)
{
	pci_close();
	/* pci_close() removes the folder with all in it. */
	assert_int_equal(access(vc_folder, F_OK), -1);
	fx_stop(*state);
	for (int fd = 0; fd < MAX_FDS; fd++)
		if (!was_open[fd])
			close(fd);
	return 0;
}

void
vc_pump(void)
{
	struct pollfd fds[PCI_NB_FDS];
	bool has_more = true;

	assert_int_equal(pci_pollfds(NULL), PCI_NB_FDS);
	for (int nb_rounds = 0; has_more; nb_rounds++) {
		pci_pollfds(fds);
		has_more = poll(fds, PCI_NB_FDS, 0) > 0;
		has_more |= pci_receive(fds, false);
		assert_true(nb_rounds < 10000);
	}
}

int
vc_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/function-0",
		 vc_folder);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address,
				 sizeof(address)),
			 0);
	vc_pump();
	return fd;
}

int
vc_open(void)
{
	static const char qemu[] =
		"\0\0\0\0{\"capabilities\": {\"migration\": {\"pgsize\": 4096, "
		"\"max_bitmap_size\": 268435456}, \"max_msg_fds\": 16, "
		"\"max_data_xfer_size\": 1048576, \"pgsizes\": 4096, "
		"\"max_dma_maps\": 65535, \"write_multiple\": true}}";
	const int fd = vc_connect();

	assert_int_equal(vc_call(fd, VC_VERSION, qemu, sizeof(qemu), NULL), 0);
	return fd;
}

void
vc_leave(int fd)
{
	struct pollfd fds[PCI_NB_FDS];

	close(fd);
	vc_pump();
	/* Without events, poll() waits for the end of the connection. */
	pci_pollfds(fds);
	fds[1].events = 0;
	if (fds[1].fd >= 0)
		(void)poll(fds + 1, 1, LEAVE_TIMEOUT_MS);
	vc_pump();
}

void
vc_send(int fd, const struct vc_message *message)
{
	const struct vfio_user_header header = {
		.id = message->id,
		.command = message->command,
		.size_bytes = message->size_bytes != 0 ?
				      message->size_bytes :
				      (uint32_t)HEADER_BYTES + message->nb_bytes,
		.flags = message->flags,
	};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(64 * sizeof(int))];
	} control = { 0 };
	struct iovec parts[] = {
		{ (void *)(uintptr_t)&header, sizeof(header) },
		{ (void *)(uintptr_t)message->payload, message->nb_bytes },
	};
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };

	if (message->nb_fds != 0) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(message->nb_fds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(message->nb_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.header), message->fds,
		       message->nb_fds * sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT),
			 HEADER_BYTES + message->nb_bytes);
}

void
vc_receive(int fd, struct vc_reply *reply)
{
	const ssize_t n = recv(fd, &reply->header, HEADER_BYTES, MSG_DONTWAIT);

	reply->size = n;
	if (n < 0 && errno == EAGAIN)
		reply->size = 0;
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		reply->size = -1;
	if (n <= 0)
		return;
	assert_int_equal(n, HEADER_BYTES);
	assert_uint_in_range(reply->header.size_bytes, HEADER_BYTES,
			VFIO_USER_MAX_BYTES);
	reply->nb_bytes = reply->header.size_bytes - (uint32_t)HEADER_BYTES;
	if (reply->nb_bytes != 0)
		assert_int_equal(recv(fd, reply->payload, reply->nb_bytes,
				      MSG_DONTWAIT),
				 reply->nb_bytes);
}

static int
call(int fd, const struct vc_message *message, struct vc_reply *reply)
{
	static struct vc_reply unused;

	if (reply == NULL)
		reply = &unused;
	vc_send(fd, message);
	vc_pump();
	vc_receive(fd, reply);
	assert_true(reply->size > 0);
	assert_int_equal(reply->header.id, message->id);
	assert_int_equal(reply->header.command, message->command);
	if (reply->header.flags == VFIO_USER_FLAG_REPLY) {
		assert_int_equal(reply->header.error, 0);
		return 0;
	}
	assert_int_equal(reply->header.flags,
			 VFIO_USER_FLAG_REPLY | VFIO_USER_FLAG_ERROR);
	assert_int_equal(reply->nb_bytes, 0);
	assert_int_not_equal(reply->header.error, 0);
	return (int)reply->header.error;
}

int
vc_call(int fd, uint16_t command, const void *payload, uint32_t nb_bytes,
	struct vc_reply *reply)
{
	static uint16_t id = 0xfff0; /* it wraps early */
	const struct vc_message message = {
		.id = id++,
		.command = command,
		.payload = payload,
		.nb_bytes = nb_bytes,
	};

	return call(fd, &message, reply);
}

int
vc_call_fds(int fd, uint16_t command, const void *payload, uint32_t nb_bytes,
	    const int *fds, uint32_t nb_fds)
{
	const struct vc_message message = {
		.id = 7,
		.command = command,
		.payload = payload,
		.nb_bytes = nb_bytes,
		.fds = fds,
		.nb_fds = nb_fds,
	};

	return call(fd, &message, NULL);
}

struct transfer {
	uint64_t offset;
	uint32_t region, nb_bytes;
	uint8_t data[4096];
};

int
vc_read(int fd, uint32_t region, uint64_t offset, void *buf, uint32_t nb_bytes)
{
	const struct transfer t = { offset, region, nb_bytes, { 0 } };
	static struct vc_reply reply;
	const int error = vc_call(fd, VC_REGION_READ, &t, 16, &reply);

	if (error != 0)
		return error;
	assert_int_equal(reply.nb_bytes, 16 + nb_bytes);
	assert_memory_equal(reply.payload, &t, 16);
	memcpy(buf, reply.payload + 16, nb_bytes);
	return 0;
}

int
vc_write(int fd, uint32_t region, uint64_t offset, const void *buf,
	 uint32_t nb_bytes)
{
	struct transfer t = { offset, region, nb_bytes, { 0 } };
	static struct vc_reply reply;
	int error;

	assert_uint_in_range(nb_bytes, 0, sizeof(t.data));
	memcpy(t.data, buf, nb_bytes);
	error = vc_call(fd, VC_REGION_WRITE, &t, 16 + nb_bytes, &reply);
	if (error != 0)
		return error;
	assert_int_equal(reply.nb_bytes, 16);
	assert_memory_equal(reply.payload, &t, 16);
	return 0;
}

uint32_t
vc_config_read(int fd, uint32_t offset, uint32_t nb_bytes)
{
	uint32_t value = 0;

	assert_int_equal(vc_read(fd, VC_CONFIG, offset, &value, nb_bytes), 0);
	return value;
}

void
vc_config_write(int fd, uint32_t offset, uint32_t value, uint32_t nb_bytes)
{
	assert_int_equal(vc_write(fd, VC_CONFIG, offset, &value, nb_bytes), 0);
}

int
vc_map(int fd, uint64_t addr, uint64_t size_bytes, uint32_t access, int file,
       uint64_t file_offset)
{
	const struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map),
		.flags = access,
		.vaddr = file_offset,
		.iova = addr,
		.size = size_bytes,
	};

	return vc_call_fds(fd, VC_DMA_MAP, &map, sizeof(map), &file,
			   file >= 0 ? 1 : 0);
}

int
vc_unmap(int fd, uint64_t addr, uint64_t size_bytes, uint32_t flags)
{
	const struct vfio_iommu_type1_dma_unmap unmap = {
		.argsz = sizeof(unmap),
		.flags = flags,
		.iova = addr,
		.size = size_bytes,
	};
	static struct vc_reply reply;
	const int error = vc_call(fd, VC_DMA_UNMAP, &unmap, sizeof(unmap),
				  &reply);

	if (error == 0) {
		assert_int_equal(reply.nb_bytes, sizeof(unmap));
		assert_memory_equal(reply.payload, &unmap, sizeof(unmap));
	}
	return error;
}

int
vc_irqs(int fd, uint32_t flags, uint32_t start, uint32_t count, const int *fds,
	uint32_t nb_fds)
{
	const struct vfio_irq_set set = {
		.argsz = sizeof(set),
		.flags = flags,
		.index = VFIO_PCI_MSIX_IRQ_INDEX,
		.start = start,
		.count = count,
	};

	return vc_call_fds(fd, VC_SET_IRQS, &set, sizeof(set), fds, nb_fds);
}

int
vc_memory(uint64_t nb_bytes, uint8_t byte)
{
	const int fd = memfd_create("guest", MFD_CLOEXEC);
	void *memory;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)nb_bytes), 0);
	memory = mmap(NULL, nb_bytes, PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	memset(memory, byte, nb_bytes);
	munmap(memory, nb_bytes);
	return fd;
}

uint32_t
vc_nb_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t nb = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		nb++;
	closedir(dir);
	return nb;
}
