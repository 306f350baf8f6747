/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture.h"
#include "clock.h"
#include "violation_log.h"
#include "wire.h"

#define BLOCK_SECTION	0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET	6u
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define LINKTYPE_ETHERNET 1u
#define OPT_IF_NAME	2u
#define OPT_IF_TSRESOL	9u
#define OPT_EPB_FLAGS	2u
#define FLAGS_INBOUND	1u
#define FLAGS_OUTBOUND	2u
#define TSRESOL_NS	9u /* 10^-9 */

/* All fields are in host byte order, which the section header declares. */
struct section_block {
	uint32_t type, nb_bytes, magic;
	uint16_t major, minor;
	uint32_t length[2]; /* all ones: unknown */
	uint32_t nb_bytes_again;
};

struct interface_block {
	uint32_t type, nb_bytes;
	uint16_t linktype, reserved;
	uint32_t snaplen;
	uint16_t name_code, name_bytes;
	char name[8]; /* "port1024" at most */
	uint16_t tsresol_code, tsresol_bytes;
	uint32_t tsresol;
	uint32_t end;
	uint32_t nb_bytes_again;
};

struct packet_head {
	uint32_t type, nb_bytes, interface;
	uint32_t at_high, at_low, captured_bytes, frame_bytes;
};

struct packet_tail {
	uint16_t flags_code, flags_bytes;
	uint32_t flags;
	uint32_t end;
	uint32_t nb_bytes;
};

static void
file_path(uint32_t file, char *path, uint32_t path_bytes)
{
	const struct model_config *config = segment_config();

	if (config->capture == MODEL_CAPTURE_FILE)
		snprintf(path, path_bytes, "%s", config->capture_path);
	else
		snprintf(path, path_bytes, "%s/port%u.pcapng",
			 config->capture_path, file + 1);
}

static int
result(long rc)
{
	return rc < 0 ? -errno : (int)rc;
}

/*
 * A program may close any descriptor and reuse its number, so keep none open.
 * Direct system calls, see segment_head.h.
 */
static int
file_open(uint32_t file, int flags)
{
	char path[MODEL_MAX_PATH + 32];

	file_path(file, path, sizeof(path));
	return result(syscall(SYS_openat, AT_FDCWD, path,
			      O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0666));
}

/* Append the whole block or nothing. */
static int
file_append(int fd, uint32_t file, const struct iovec *parts, int nb_parts)
{
	uint64_t *end = &segment_wires()->capture.nb_bytes[file];
	size_t nb_bytes = 0;
	long n;

	for (int i = 0; i < nb_parts; i++)
		nb_bytes += parts[i].iov_len;
	/* A killed process left a partial block. */
	if ((uint64_t)syscall(SYS_lseek, fd, 0L, SEEK_END) > *end)
		syscall(SYS_ftruncate, fd, *end);
	n = syscall(SYS_pwritev, fd, parts, (long)nb_parts, *end, 0L);
	if (n == (long)nb_bytes) {
		*end += nb_bytes;
		return 0;
	}
	n = n < 0 ? -errno : -ENOSPC;
	syscall(SYS_ftruncate, fd, *end);
	return (int)n;
}

static int
write_interface(int fd, uint32_t file, const struct wire *wire)
{
	struct interface_block block = {
		.type = BLOCK_INTERFACE,
		.nb_bytes = sizeof(block),
		.linktype = LINKTYPE_ETHERNET,
		.name_code = OPT_IF_NAME,
		.tsresol_code = OPT_IF_TSRESOL,
		.tsresol_bytes = 1,
		.tsresol = TSRESOL_NS, /* the first byte of four */
		.nb_bytes_again = sizeof(block),
	};
	const struct iovec part = { &block, sizeof(block) };
	char name[sizeof(block.name) + 4];

	/* At least five bytes: with padding it always fills both words. */
	block.name_bytes = (uint16_t)snprintf(
		name, sizeof(name), "port%u",
		(uint32_t)(wire - segment_wires()->wires) + 1);
	memcpy(block.name, name, block.name_bytes);
	return file_append(fd, file, &part, 1);
}

static int
create_one(uint32_t file)
{
	const bool is_for_all = segment_config()->capture == MODEL_CAPTURE_FILE;
	const struct wires *wires = segment_wires();
	struct section_block section = {
		.type = BLOCK_SECTION,
		.nb_bytes = sizeof(section),
		.magic = BYTE_ORDER_MAGIC,
		.major = 1,
		.length = { UINT32_MAX, UINT32_MAX },
		.nb_bytes_again = sizeof(section),
	};
	const struct iovec part = { &section, sizeof(section) };
	struct stat st;
	int fd = file_open(file, O_CREAT | O_TRUNC | O_NONBLOCK), ret;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		ret = -EINVAL; /* a partial block remains */
	else
		ret = file_append(fd, file, &part, 1);
	for (uint32_t n = 0; ret == 0 && n < wires->nb_wires; n++)
		if (is_for_all || n == file)
			ret = write_interface(fd, file, &wires->wires[n]);
	syscall(SYS_close, fd);
	return ret;
}

static uint32_t
nb_files(void)
{
	switch (segment_config()->capture) {
	case MODEL_CAPTURE_FILE:
		return 1;
	case MODEL_CAPTURE_FOLDER:
		return segment_wires()->nb_wires;
	default:
		return 0;
	}
}

int
capture_create(char *path, uint32_t path_bytes)
{
	for (uint32_t file = 0; file < nb_files(); file++) {
		int ret = create_one(file);

		if (ret < 0) {
			file_path(file, path, path_bytes);
			return ret;
		}
	}
	return 0;
}

void
capture_finish(void)
{
	for (uint32_t file = 0; file < nb_files(); file++) {
		const int fd = file_open(file, 0);

		if (fd < 0)
			continue;
		syscall(SYS_ftruncate, fd,
			segment_wires()->capture.nb_bytes[file]);
		syscall(SYS_close, fd);
	}
}

/* Log only the first error; the report has the count. */
static void
log_failure(uint32_t file, int error)
{
	struct capture *capture = &segment_wires()->capture;
	char path[MODEL_MAX_PATH + 32];

	if (capture->has_failed)
		return;
	capture->has_failed = true;
	file_path(file, path, sizeof(path));
	model_log("cannot write to the capture %s: %s; the run continues; free some "
		  "space, or give another --capture", path,
		  strerrordesc_np(error));
}

void
capture_frame(const struct wire *wire, bool is_sent, const uint8_t *frame,
	      uint32_t nb_bytes)
{
	static const uint8_t padding[4];
	const uint32_t number = (uint32_t)(wire - segment_wires()->wires);
	const bool is_for_all = segment_config()->capture == MODEL_CAPTURE_FILE;
	const uint32_t file = is_for_all ? 0 : number;
	const uint32_t padding_bytes = -nb_bytes & 3;
	const uint64_t now_ns = clock_now();
	const int saved = errno;
	struct packet_head head = {
		.type = BLOCK_PACKET,
		.nb_bytes = (uint32_t)(sizeof(head) + nb_bytes + padding_bytes +
				       sizeof(struct packet_tail)),
		.interface = is_for_all ? number : 0,
		.at_high = (uint32_t)(now_ns >> 32),
		.at_low = (uint32_t)now_ns,
		.captured_bytes = nb_bytes,
		.frame_bytes = nb_bytes,
	};
	struct packet_tail tail = {
		.flags_code = OPT_EPB_FLAGS,
		.flags_bytes = 4,
		.flags = is_sent ? FLAGS_OUTBOUND : FLAGS_INBOUND,
		.nb_bytes = head.nb_bytes,
	};
	const struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ (void *)(uintptr_t)frame, nb_bytes },
		{ (void *)(uintptr_t)padding, padding_bytes },
		{ &tail, sizeof(tail) },
	};
	int fd = file_open(file, 0), ret = fd;

	if (fd >= 0) {
		ret = file_append(fd, file, parts, 4);
		syscall(SYS_close, fd);
	}
	if (ret < 0) {
		segment_wires()->capture.nb_lost[number]++;
		log_failure(file, -ret);
	}
	errno = saved;
}
