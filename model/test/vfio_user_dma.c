/* SPDX-License-Identifier: BSD-3-Clause */

/* test_vfio_user.c: guest memory. */

#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dma.h"
#include "vfio_client.h"

#define R  VFIO_DMA_MAP_FLAG_READ
#define W  VFIO_DMA_MAP_FLAG_WRITE
#define RW (R | W)
#define PAGE 4096u
/* The last page of the address space. */
#define LAST_PAGE (UINT64_MAX - (PAGE - 1))

static int
open_enabled(void)
{
	const int fd = vc_open();

	vc_config_write(fd, PCI_COMMAND, PCI_COMMAND_MASTER, 2);
	return fd;
}

static void
expect_bytes(uint64_t addr, uint32_t nb_bytes, uint8_t byte)
{
	uint8_t buf[2 * PAGE] = { 0 };

	assert_uint_in_range(nb_bytes, 1, sizeof(buf));
	assert_int_equal(dma_read(0, addr, buf, nb_bytes), 0);
	for (uint32_t i = 0; i < nb_bytes; i++)
		assert_int_equal(buf[i], byte);
}

VC_TEST(test_copies)
{
	const int fd = open_enabled();
	const int low = vc_memory(4 * PAGE, 1), high = vc_memory(4 * PAGE, 2);
	uint8_t buf[PAGE], back[PAGE];

	/* In falling order; the second one is at an offset of its file. */
	assert_int_equal(vc_map(fd, 0x105000, 2 * PAGE, RW, high, 2 * PAGE), 0);
	assert_int_equal(vc_map(fd, 0x101000, 4 * PAGE, RW, low, 0), 0);
	expect_bytes(0x101000, 1, 1);
	expect_bytes(0x104fff, 1, 1);
	expect_bytes(0x105000, 1, 2);
	expect_bytes(0x106fff, 1, 2);
	/* Across both. */
	memset(buf, 0x5a, sizeof(buf));
	assert_int_equal(dma_write(0, 0x105000 - 100, buf, 200), 0);
	assert_int_equal(dma_read(0, 0x105000 - 100, back, 200), 0);
	assert_memory_equal(buf, back, 200);
	assert_int_equal(pread(low, back, 101, 4 * PAGE - 101), 101);
	assert_int_equal(back[0], 1);
	assert_memory_equal(buf, back + 1, 100);
	assert_int_equal(pread(high, back, 101, 2 * PAGE), 101);
	assert_memory_equal(buf, back, 100);
	assert_int_equal(back[100], 2);
	/* Beside them. */
	assert_int_equal(dma_read(0, 0x100fff, buf, 1), -EFAULT);
	assert_int_equal(dma_read(0, 0x107000, buf, 1), -EFAULT);
	assert_int_equal(dma_read(0, 0x106fff, buf, 2), -EFAULT);
	assert_int_equal(dma_write(0, 0x100ffe, buf, 8), -EFAULT);
	assert_int_equal(dma_read(0, UINT64_MAX, buf, 2), -EFAULT);
	assert_int_equal(dma_read(0, 0x107000, buf, 0), 0);
}

/* Rights of the mapping, and of the function. */
VC_TEST(test_rights)
{
	const int fd = open_enabled();
	const int memory = vc_memory(PAGE, 3);
	uint8_t byte = 9;

	assert_int_equal(vc_map(fd, 0, PAGE, R, memory, 0), 0);
	assert_int_equal(vc_map(fd, PAGE, PAGE, W, memory, 0), 0);
	expect_bytes(0, PAGE, 3);
	assert_int_equal(dma_write(0, 0, &byte, 1), -EFAULT);
	assert_int_equal(dma_read(0, PAGE, &byte, 1), -EFAULT);
	assert_int_equal(dma_write(0, PAGE + 8, &byte, 1), 0);
	expect_bytes(8, 1, 9);
	vc_config_write(fd, PCI_COMMAND, 0, 2);
	assert_int_equal(dma_read(0, 0, &byte, 1), -EFAULT);
}

VC_TEST(test_map_refused)
{
	const int fd = open_enabled();
	const int memory = vc_memory(4 * PAGE, 0);
	char path[64];
	int pipe_fds[2], read_only;

	assert_int_equal(pipe(pipe_fds), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	read_only = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read_only >= 0);
	/* Range. */
	assert_int_equal(vc_map(fd, 0, 0, RW, memory, 0), EINVAL);
	assert_int_equal(vc_map(fd, 1, PAGE, RW, memory, 0), EINVAL);
	assert_int_equal(vc_map(fd, 0, PAGE - 1, RW, memory, 0), EINVAL);
	assert_int_equal(vc_map(fd, 0, UINT64_MAX, RW, memory, 0), EINVAL);
	assert_int_equal(vc_map(fd, LAST_PAGE, 2 * PAGE, RW, memory, 0), EINVAL);
	assert_int_equal(vc_map(fd, PAGE, LAST_PAGE, RW, memory, 0), EINVAL);
	/* File. */
	assert_int_equal(vc_map(fd, 0, PAGE, RW, memory, 1), EINVAL);
	assert_int_equal(vc_map(fd, 0, PAGE, RW, memory, 4 * PAGE), EINVAL);
	assert_int_equal(vc_map(fd, 0, 5 * PAGE, RW, memory, 0), EINVAL);
	assert_int_equal(vc_map(fd, 0, 2 * PAGE, RW, memory, LAST_PAGE), EINVAL);
	assert_int_equal(vc_map(fd, 0, LAST_PAGE, RW, memory, PAGE), EINVAL);
	assert_int_equal(vc_map(fd, 0, PAGE, RW, pipe_fds[0], 0), EINVAL);
	assert_int_equal(vc_map(fd, 0, PAGE, RW, read_only, 0), EACCES);
	/* Rights. */
	assert_int_equal(vc_map(fd, 0, PAGE, 0, memory, 0), EINVAL);
	assert_int_equal(vc_map(fd, 0, PAGE, RW | 4, memory, 0), EINVAL);
	assert_int_equal(vc_map(fd, 0, PAGE, 1u << 31, memory, 0), EINVAL);
	/* All of these have left nothing behind. */
	assert_int_equal(vc_map(fd, 0, 4 * PAGE, RW, memory, 0), 0);
	assert_int_equal(vc_map(fd, 8 * PAGE, PAGE, R, read_only, 0), 0);
}

VC_TEST(test_map_fields)
{
	struct vfio_iommu_type1_dma_map map = { .argsz = sizeof(map) - 1,
						.flags = RW,
						.size = PAGE };
	const int fd = open_enabled();
	const int fds[] = { vc_memory(PAGE, 0), vc_memory(PAGE, 0) };

	assert_int_equal(vc_call_fds(fd, VC_DMA_MAP, &map, sizeof(map), fds, 1),
			 EINVAL);
	map.argsz = sizeof(map);
	assert_int_equal(vc_call_fds(fd, VC_DMA_MAP, &map, sizeof(map), fds, 2),
			 EINVAL);
	assert_int_equal(vc_call_fds(fd, VC_DMA_MAP, &map, sizeof(map), fds, 1),
			 0);
}

VC_TEST(test_overlaps)
{
	static const struct {
		uint64_t first, nb;
	} bad[] = {
		{ 0, 11 }, { 5, 6 },   { 10, 4 }, { 10, 1 }, { 11, 2 },
		{ 13, 1 }, { 13, 10 }, { 5, 100 }, { 19, 2 },
	};
	const int fd = open_enabled();
	const int memory = vc_memory(100 * PAGE, 7);

	assert_int_equal(vc_map(fd, 20 * PAGE, PAGE, RW, memory, 0), 0);
	assert_int_equal(vc_map(fd, 10 * PAGE, 4 * PAGE, RW, memory, 0), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(vc_map(fd, bad[i].first * PAGE,
					bad[i].nb * PAGE, RW, memory, 0),
				 EEXIST);
	assert_int_equal(vc_map(fd, 0, 10 * PAGE, RW, memory, 0), 0);
	assert_int_equal(vc_map(fd, 14 * PAGE, 6 * PAGE, RW, memory, 0), 0);
	expect_bytes(13 * PAGE, 2 * PAGE, 7);
	/* At the very end. */
	assert_int_equal(vc_map(fd, LAST_PAGE, PAGE, RW, memory, 0), 0);
	assert_int_equal(vc_map(fd, LAST_PAGE, PAGE, RW, memory, 0), EEXIST);
	expect_bytes(LAST_PAGE, PAGE, 7);
	assert_int_equal(vc_unmap(fd, LAST_PAGE, PAGE, 0), 0);
}

VC_TEST(test_unmap)
{
	const int fd = open_enabled();
	const int memory = vc_memory(8 * PAGE, 7);
	uint8_t byte;

	assert_int_equal(vc_unmap(fd, 0, PAGE, 0), ENOENT);
	assert_int_equal(vc_map(fd, 0, 4 * PAGE, RW, memory, 0), 0);
	assert_int_equal(vc_map(fd, 4 * PAGE, 4 * PAGE, RW, memory, 0), 0);
	/* A part, more than one, an unknown one. */
	assert_int_equal(vc_unmap(fd, 0, PAGE, 0), ENOENT);
	assert_int_equal(vc_unmap(fd, PAGE, 3 * PAGE, 0), ENOENT);
	assert_int_equal(vc_unmap(fd, 0, 8 * PAGE, 0), ENOENT);
	assert_int_equal(vc_unmap(fd, 8 * PAGE, 4 * PAGE, 0), ENOENT);
	assert_int_equal(vc_unmap(fd, 0, 0, 0), ENOENT);
	assert_int_equal(vc_unmap(fd, 0, 4 * PAGE, 1), EINVAL);
	expect_bytes(3 * PAGE, 2 * PAGE, 7);
	assert_int_equal(vc_unmap(fd, 0, 4 * PAGE, 0), 0);
	assert_int_equal(dma_read(0, 4 * PAGE - 1, &byte, 1), -EFAULT);
	expect_bytes(4 * PAGE, PAGE, 7);
	assert_int_equal(vc_unmap(fd, 0, 4 * PAGE, 0), ENOENT);
	/* All. */
	assert_int_equal(vc_unmap(fd, 0, PAGE, VFIO_DMA_UNMAP_FLAG_ALL), EINVAL);
	assert_int_equal(vc_unmap(fd, 0, 0, VFIO_DMA_UNMAP_FLAG_ALL), 0);
	assert_int_equal(dma_read(0, 4 * PAGE, &byte, 1), -EFAULT);
}

VC_TEST(test_unmap_fields)
{
	const struct vfio_iommu_type1_dma_unmap unmap = {
		.argsz = sizeof(unmap) - 1,
		.flags = VFIO_DMA_UNMAP_FLAG_ALL,
	};
	const int fd = vc_open();

	assert_int_equal(VC_TRY(fd, VC_DMA_UNMAP, unmap), EINVAL);
}

VC_TEST(test_many_maps)
{
	const int fd = open_enabled();
	const int memory = vc_memory(PAGE, 4);

	/* With a hole behind each, in an order that is not sorted. */
	for (uint64_t i = 0; i < DMA_MAX_MAPS; i++)
		assert_int_equal(vc_map(fd, (i * 389 % DMA_MAX_MAPS) * 2 * PAGE,
					PAGE, RW, memory, 0),
				 0);
	assert_int_equal(vc_map(fd, PAGE, PAGE, RW, memory, 0), ENOSPC);
	assert_int_equal(vc_map(fd, 0, PAGE, RW, memory, 0), EEXIST);
	for (uint64_t i = 0; i < DMA_MAX_MAPS; i++) {
		uint8_t byte;

		expect_bytes(i * 2 * PAGE, PAGE, 4);
		assert_int_equal(dma_read(0, (i * 2 + 1) * PAGE, &byte, 1),
				 -EFAULT);
	}
	assert_int_equal(vc_unmap(fd, 200 * PAGE, PAGE, 0), 0);
	assert_int_equal(vc_map(fd, PAGE, PAGE, RW, memory, 0), 0);
}

/* The client truncates the file of a mapping. */
VC_TEST(test_vanished_memory)
{
	const int fd = open_enabled();
	const int memory = vc_memory(4 * PAGE, 1);
	static uint8_t buf[4 * PAGE];

	fx_catch_faults();
	assert_int_equal(vc_map(fd, 0, 4 * PAGE, RW, memory, 0), 0);
	expect_bytes(3 * PAGE, PAGE, 1);
	assert_int_equal(ftruncate(memory, 2 * PAGE), 0);
	expect_bytes(0, 2 * PAGE, 1);
	assert_int_equal(dma_read(0, 2 * PAGE, buf, 1), -EFAULT);
	assert_int_equal(dma_read(0, 0, buf, sizeof(buf)), -EFAULT);
	assert_int_equal(dma_read(0, 2 * PAGE - 8, buf, 16), -EFAULT);
	assert_int_equal(dma_write(0, 3 * PAGE, buf, 100), -EFAULT);
	assert_int_equal(dma_write(0, 2 * PAGE - 4, buf, 8), -EFAULT);
	/* It comes back, as zeros. */
	assert_int_equal(ftruncate(memory, 4 * PAGE), 0);
	expect_bytes(2 * PAGE, PAGE, 0);
}

/* Memory that the client does not share: known, but not accessible. */
VC_TEST(test_unshared_memory)
{
	const int fd = open_enabled();
	uint8_t byte = 0;

	assert_int_equal(vc_map(fd, 0, PAGE, RW, -1, 0), 0);
	assert_int_equal(vc_map(fd, 0, PAGE, RW, -1, 0), EEXIST);
	assert_int_equal(dma_read(0, 0, &byte, 1), -EFAULT);
	assert_int_equal(dma_write(0, 0, &byte, 1), -EFAULT);
	assert_int_equal(vc_unmap(fd, 0, PAGE, 0), 0);
}

/* A mapping outlives its descriptors, but not its client. */
VC_TEST(test_memory_of_gone_client)
{
	const int memory = vc_memory(PAGE, 1);
	const uint32_t nb_fds = vc_nb_fds();
	uint8_t byte = 0;
	int fd = open_enabled();

	assert_int_equal(vc_map(fd, 0, PAGE, RW, memory, 0), 0);
	expect_bytes(0, PAGE, 1);
	vc_leave(fd);
	assert_int_equal(vc_nb_fds(), nb_fds);
	fd = open_enabled();
	assert_int_equal(dma_read(0, 0, &byte, 1), -EFAULT);
	assert_int_equal(vc_map(fd, 0, PAGE, RW, memory, 0), 0);
	expect_bytes(0, PAGE, 1);
}

/* Lines of /proc/self/maps that contain a text. */
static uint32_t
nb_mappings(const char *text)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	uint32_t n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL)
		n += strstr(line, text) != NULL;
	fclose(maps);
	return n;
}

/* Mappings that begin and end within huge pages, as QEMU's of a PC. */
VC_TEST(test_huge_pages)
{
	const int fd = open_enabled();
	const int memory = memfd_create("test-huge", MFD_CLOEXEC | MFD_HUGETLB);

	if (memory < 0) {
		print_message("skipped: the kernel has no huge pages\n");
		skip();
	}
	assert_int_equal(ftruncate(memory, 8 << 20), 0);
	assert_int_equal(vc_map(fd, 0, 0xa0000, RW, memory, 0), 0);
	assert_int_equal(vc_map(fd, 0xc0000, 0x400000 - 0xc0000, RW, memory,
				0xc0000),
			 0);
	assert_int_equal(vc_map(fd, 0x500000, 0x300000, RW, memory, 0x500000), 0);
	assert_int_equal(nb_mappings("test-huge"), 3);
	assert_int_equal(vc_unmap(fd, 0, 0xa0000, 0), 0);
	assert_int_equal(nb_mappings("test-huge"), 2);
	vc_leave(fd);
	assert_int_equal(nb_mappings("test-huge"), 0);
}

/* A file that is not in memory. */
VC_TEST(test_disk_file)
{
	const int fd = open_enabled();
	const int file = open("/sys/kernel/uevent_seqnum", O_RDONLY | O_CLOEXEC);

	assert_true(file >= 0);
	assert_int_equal(vc_map(fd, 0, PAGE, R, file, 0), EMEDIUMTYPE);
}
