/* SPDX-License-Identifier: BSD-3-Clause */

/* test_vfio_user.c: connections and the socket's file. */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dma.h"
#include "pci.h"
#include "vfio_client.h"

static bool
is_closed(int fd)
{
	static struct vc_reply reply;

	vc_receive(fd, &reply);
	return reply.size == -1;
}

/* A message that comes byte by byte, with its descriptor. */
VC_TEST(test_fragments)
{
	const struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map),
		.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.iova = 0x10000,
		.size = 4096,
	};
	const int fd = vc_open(), memory = vc_memory(4096, 6);
	struct vc_message message = { .id = 3,
				      .command = VC_DMA_MAP,
				      .size_bytes = 16 + sizeof(map),
				      .fds = &memory,
				      .nb_fds = 1 };
	static struct vc_reply reply;
	uint8_t byte = 0;

	vc_config_write(fd, 4, 4, 2); /* bus master */
	vc_send(fd, &message);
	for (uint32_t i = 0; i < sizeof(map); i++) {
		vc_pump();
		vc_receive(fd, &reply);
		assert_int_equal(reply.size, 0);
		assert_int_equal(send(fd, (const uint8_t *)&map + i, 1, 0), 1);
	}
	vc_pump();
	vc_receive(fd, &reply);
	assert_int_equal(reply.header.flags, VFIO_USER_FLAG_REPLY);
	assert_int_equal(dma_read(0, 0x10000, &byte, 1), 0);
	assert_int_equal(byte, 6);
}

/* Two messages at once: each has its own descriptor. */
VC_TEST(test_descriptors_in_order)
{
	const int fd = vc_open();
	const int memory[] = { vc_memory(4096, 1), vc_memory(4096, 2) };

	vc_config_write(fd, 4, 4, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct vfio_iommu_type1_dma_map map = {
			.argsz = sizeof(map),
			.flags = VFIO_DMA_MAP_FLAG_READ,
			.iova = i * 4096,
			.size = 4096,
		};
		const struct vc_message message = {
			.command = VC_DMA_MAP,
			.flags = VFIO_USER_FLAG_NO_REPLY,
			.payload = &map,
			.nb_bytes = sizeof(map),
			.fds = memory + i,
			.nb_fds = 1,
		};
		const struct vc_message between = {
			.command = VC_REGION_WRITE,
			.flags = VFIO_USER_FLAG_NO_REPLY,
			.payload = "\0\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0abcd",
			.nb_bytes = 20,
		};

		vc_send(fd, &between);
		vc_send(fd, &message);
		vc_send(fd, &between);
	}
	vc_pump();
	assert_int_equal(vc_device.nb_writes, 4);
	for (uint8_t i = 0; i < 2; i++) {
		uint8_t byte = 0;

		assert_int_equal(dma_read(0, i * 4096, &byte, 1), 0);
		assert_int_equal(byte, i + 1);
		close(memory[i]);
	}
}

/* A client that dies in the middle of a message, at each byte. */
VC_TEST(test_dying_client)
{
	static const uint8_t payload[24];
	uint32_t nb_fds;
	int fd, event;

	event = eventfd(0, EFD_CLOEXEC);
	vc_pump();
	nb_fds = vc_nb_fds();
	for (uint32_t n = 0; n < 40; n++) {
		const struct vc_message message = {
			.command = VC_REGION_WRITE,
			.size_bytes = 41,
			.payload = payload,
			.nb_bytes = n < 16 ? 0 : n - 16,
			.fds = &event,
			.nb_fds = 1,
		};

		fd = vc_open();
		vc_device.nb_resets = 0;
		if (n < 16)
			assert_int_equal(send(fd, payload, n, 0), n);
		else
			vc_send(fd, &message);
		vc_pump();
		assert_int_equal(vc_device.nb_resets, 0);
		vc_leave(fd);
		assert_int_equal(vc_device.nb_resets, 1);
		assert_int_equal(vc_nb_fds(), nb_fds);
	}
	assert_int_equal(vc_device.nb_writes, 0);
}

/* A client that closes its side while the server has unread requests. */
VC_TEST(test_client_leaves_requests)
{
	const struct vc_message message = { .command = VC_RESET };
	const int fd = vc_open();

	vc_device.nb_resets = 0;
	vc_send(fd, &message);
	vc_send(fd, &message);
	vc_leave(fd);
	/* The end of the client is a reset, too. */
	assert_uint_in_range(vc_device.nb_resets, 1, 3);
	assert_int_equal(vc_call(vc_open(), VC_RESET, NULL, 0, NULL), 0);
}

/*
 * A client that sends its own end of the socket, in a message that is not whole:
 * when it dies, nothing keeps the connection.
 */
VC_TEST(test_client_sends_itself)
{
	const int fd = vc_open();
	const struct vc_message message = { .command = VC_DMA_MAP,
					    .size_bytes = 48,
					    .fds = &fd,
					    .nb_fds = 1 };

	vc_send(fd, &message);
	vc_pump();
	vc_device.nb_resets = 0;
	vc_leave(fd);
	assert_int_equal(vc_device.nb_resets, 1);
	close(vc_open());
}

/* The connection ends when its last holder is gone, which may be another process. */
VC_TEST(test_client_held_elsewhere)
{
	int fd = vc_open(), held[2];
	pid_t child;
	char byte;

	vc_device.nb_resets = 0;
	assert_int_equal(pipe(held), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(held[1]);
		_exit(read(held[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(held[0]);
	close(held[1]); /* the child ends, soon */
	vc_leave(fd);
	assert_int_equal(vc_device.nb_resets, 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	fd = vc_open();
	vc_leave(fd);
}

VC_TEST(test_second_client)
{
	const int first = vc_open();
	int second = vc_connect();

	vc_device.nb_resets = 0;
	assert_true(is_closed(second));
	close(second);
	second = vc_connect();
	assert_true(is_closed(second));
	close(second);
	vc_pump();
	assert_int_equal(vc_device.nb_resets, 0);
	assert_int_equal(vc_call(first, VC_RESET, NULL, 0, NULL), 0);
	/* When it leaves, the next one gets a function after reset. */
	vc_config_write(first, 4, 4, 2);
	vc_leave(first);
	assert_int_equal(vc_device.nb_resets, 2);
	second = vc_open();
	assert_int_equal(vc_config_read(second, 4, 2), 0);
}

/*
 * A client leaves, and the next one comes, before the machine looks. The first
 * has left more messages than the machine reads at once.
 */
VC_TEST(test_quick_successor)
{
	enum {
		NB = 1000
	};
	static struct {
		struct vfio_user_header header;
		uint8_t payload[20]; /* 4 bytes of BAR 0 */
	} messages[NB];
	int fd = vc_open();

	close(fd);
	fd = vc_open();
	for (uint32_t i = 0; i < NB; i++) {
		messages[i].header = (struct vfio_user_header){
			.command = VC_REGION_WRITE,
			.size_bytes = sizeof(messages[i]),
			.flags = VFIO_USER_FLAG_NO_REPLY,
		};
		messages[i].payload[12] = 4;
	}
	assert_int_equal(send(fd, messages, sizeof(messages), 0),
			 sizeof(messages));
	close(fd);
	fd = vc_open();
	assert_int_equal(vc_device.nb_writes, NB);
	assert_int_equal(vc_config_read(fd, 4, 2), 0);
}

/* No descriptor is free for a client: it waits, and the machine does not spin. */
VC_TEST(test_no_descriptor)
{
	struct rlimit limit, old;
	struct pollfd fds[PCI_NB_FDS];
	int fd;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	close(fd);
	limit = old;
	limit.rlim_cur = (rlim_t)fd + 1; /* the client's own end */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	fd = vc_connect();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	vc_pump();
	pci_pollfds(fds);
	assert_true(fds[1].fd >= 0); /* accepted */
}

/* A command may be due after each message. */
VC_TEST(test_one_message)
{
	const struct vc_message write = {
		.command = VC_REGION_WRITE,
		.flags = VFIO_USER_FLAG_NO_REPLY,
		.payload = "\0\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0abcd",
		.nb_bytes = 20,
	};
	const int fd = vc_open();

	vc_device.nb_writes = 0;
	for (uint32_t i = 0; i < 3; i++)
		vc_send(fd, &write);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(pci_receive(NULL, true));
		assert_int_equal(vc_device.nb_writes, i + 1);
	}
	assert_false(pci_receive(NULL, true));
}

/* Sends a request whose reply has 4 KiB. Returns true if replies wait then. */
static bool
ask(int fd, uint16_t id)
{
	static const struct {
		uint64_t offset;
		uint32_t region, nb_bytes;
	} read = { 0, VC_CONFIG, 4096 };
	const struct vc_message message = { .id = id,
					    .command = VC_REGION_READ,
					    .payload = &read,
					    .nb_bytes = sizeof(read) };
	struct pollfd fds[PCI_NB_FDS];

	vc_send(fd, &message);
	vc_pump();
	pci_pollfds(fds);
	return (fds[1].events & POLLOUT) != 0;
}

/* Sends requests until the socket is full, and some more. Returns their number. */
static uint16_t
fill(int fd)
{
	uint16_t nb = 0;

	while (!ask(fd, nb++))
		;
	for (uint32_t i = 0; i < 5; i++)
		ask(fd, nb++);
	return nb;
}

/* A client that reads its replies late: none is lost, none is in front. */
VC_TEST(test_slow_reader)
{
	const int fd = vc_open();
	static struct vc_reply reply;

	for (uint32_t round = 0; round < 5; round++) {
		const uint16_t nb = fill(fd);

		for (uint16_t i = 0; i < nb; i++) {
			vc_pump();
			vc_receive(fd, &reply);
			assert_true(reply.size > 0);
			assert_int_equal(reply.header.id, i);
			assert_int_equal(reply.nb_bytes, 16 + 4096);
		}
		vc_pump();
		vc_receive(fd, &reply);
		assert_int_equal(reply.size, 0);
	}
}

/* A client that never reads its replies is ended. */
VC_TEST(test_no_reader)
{
	const int fd = vc_open();

	fill(fd);
	vc_device.nb_resets = 0;
	for (uint16_t i = 0; vc_device.nb_resets == 0 && i < 1000; i++)
		ask(fd, i);
	assert_int_equal(vc_device.nb_resets, 1);
	close(fd);
	vc_leave(vc_open());
}

/* A client whose replies wait sends its own end: it is noticed when it dies. */
VC_TEST(test_slow_reader_sends_itself)
{
	const int fd = vc_open();
	const struct vc_message message = { .command = VC_RESET,
					    .fds = &fd,
					    .nb_fds = 1 };

	fill(fd);
	vc_send(fd, &message);
	vc_device.nb_resets = 0;
	vc_leave(fd);
	assert_int_equal(vc_device.nb_resets, 1);
	vc_leave(vc_open());
}

/* ---- The folder; these tests open it themselves. ---- */

static char folder[64], message[256];

static int
open_pci(const char *dir)
{
	message[0] = '\0';
	return pci_open(dir, 1, message, sizeof(message));
}

static int
folder_setup(void **state)
{
	const int ret = vc_setup(state);

	pci_close();
	strcpy(folder, "/tmp/mana-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	return ret;
}

static int
folder_teardown(void **state)
{
	assert_int_equal(rmdir(folder), 0);
	return vc_teardown(state);
}

static const char *
socket_path(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/function-0", folder);
	return path;
}

TEST_WITH(test_socket_file, folder_setup, folder_teardown)
{
	const mode_t mask = umask(0);
	struct stat st;

	assert_int_equal(open_pci(folder), 0);
	assert_int_equal(stat(socket_path(), &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(umask(mask), 0);
	pci_close();
	/* The folder was there before. */
	assert_int_equal(access(socket_path(), F_OK), -1);
	assert_int_equal(access(folder, F_OK), 0);
}

TEST_WITH(test_stale_socket, folder_setup, folder_teardown)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int client;

	strcpy(address.sun_path, socket_path());
	assert_int_equal(bind(fd, (const struct sockaddr *)&address,
			      sizeof(address)),
			 0);
	close(fd);
	assert_int_equal(open_pci(folder), 0);
	strcpy(vc_folder, folder);
	client = vc_open();
	close(client);
	pci_close();
	snprintf(vc_folder, sizeof(vc_folder), "%s/none", folder);
}

TEST_WITH(test_foreign_file, folder_setup, folder_teardown)
{
	const int fd = open(socket_path(), O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(open_pci(folder), -1);
	assert_non_null(strstr(message, "function-0: File exists"));
	pci_close();
	assert_int_equal(access(socket_path(), F_OK), 0);
	unlink(socket_path());
	/* folder_teardown() finds no other file. */
}

/* A socket cannot be made at its first name. */
TEST_WITH(test_first_name_taken, folder_setup, folder_teardown)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/.0", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(open_pci(folder), -1);
	assert_non_null(strstr(message, "function-0: Address already in use"));
	pci_close();
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(open_pci(folder), 0);
	pci_close();
}

TEST_WITH(test_folder_in_use, folder_setup, folder_teardown)
{
	const int fd = open(folder, O_RDONLY | O_DIRECTORY);

	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(open_pci(folder), -1);
	assert_non_null(strstr(message, "another machine"));
	pci_close();
	close(fd);
	assert_int_equal(open_pci(folder), 0);
	pci_close();
}

TEST_WITH(test_folder_refused, folder_setup, folder_teardown)
{
	char dir[256];

	snprintf(dir, sizeof(dir), "%s/none/none", folder);
	assert_int_equal(open_pci(dir), -1);
	assert_non_null(strstr(message, "No such file"));
	pci_close();
	assert_int_equal(open_pci("/dev/null"), -1);
	assert_non_null(strstr(message, "Not a directory"));
	pci_close();
	/* A folder whose socket's name is too long is removed again. */
	snprintf(dir, sizeof(dir), "%s/%090d", folder, 0);
	assert_int_equal(open_pci(dir), -1);
	assert_non_null(strstr(message, "shorter"));
	pci_close();
	assert_int_equal(access(dir, F_OK), -1);
	/* The longest name. */
	snprintf(dir, sizeof(dir), "%s/%0*d", folder,
		 (int)(107 - strlen(folder) - strlen("//function-0")), 0);
	assert_int_equal(open_pci(dir), 0);
	pci_close();
	assert_int_equal(access(dir, F_OK), -1);
}
