/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * PCI functions, by a client that speaks vfio-user as QEMU does, and wrongly: the
 * messages and the regions.
 */

#include <errno.h>
#include <linux/pci_regs.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dma.h"
#include "vfio_client.h"

/* ---- Version ---- */

static int
propose(int fd, uint16_t major, const char *text, uint32_t nb_bytes,
	struct vc_reply *reply)
{
	uint8_t payload[512] = { (uint8_t)major, (uint8_t)(major >> 8), 9, 0 };

	memcpy(payload + 4, text, nb_bytes);
	return vc_call(fd, VC_VERSION, payload, 4 + nb_bytes, reply);
}

static void
expect_answer(const char *text, const char *answer)
{
	static struct vc_reply reply;
	const int fd = vc_connect();

	assert_int_equal(propose(fd, 0, text, (uint32_t)strlen(text) + 1,
				 &reply),
			 0);
	assert_memory_equal(reply.payload, "\0\0\0\0", 4);
	assert_int_equal(reply.nb_bytes, 4 + strlen(answer) + 1);
	assert_string_equal((const char *)reply.payload + 4, answer);
	vc_leave(fd);
}

VC_TEST(test_capabilities)
{
	expect_answer("{}", "{\"capabilities\":{}}");
	expect_answer("{\"capabilities\":{\"max_msg_fds\":1,\"twin_socket\":{}}}",
		      "{\"capabilities\":{\"max_msg_fds\":16}}");
	expect_answer("{\"capabilities\":{\"max_data_xfer_size\":1,\"pgsizes\":1,"
		      "\"max_dma_maps\":1,\"write_multiple\":true}}",
		      "{\"capabilities\":{\"max_data_xfer_size\":4096,"
		      "\"max_dma_maps\":1024,\"pgsizes\":4096,"
		      "\"write_multiple\":true}}");
	expect_answer("{\"capabilities\":7}", "{\"capabilities\":{}}");
}

VC_TEST(test_version_refused)
{
	static const char *const bad[] = { "", "{", "[]", "7", "{}{}",
					   "{\"capabilities\":}", "\xff" };
	const int fd = vc_connect();
	static struct vc_reply reply;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(propose(fd, 0, bad[i],
					 (uint32_t)strlen(bad[i]) + 1, NULL),
				 EINVAL);
	/* Without the zero at the end. */
	assert_int_equal(propose(fd, 0, "{}", 2, NULL), EINVAL);
	assert_int_equal(propose(fd, 1, "{}", 3, NULL), EINVAL);
	assert_int_equal(propose(fd, 0x100, "{}", 3, NULL), EINVAL);
	/* No other request is carried out before the version is agreed. */
	assert_int_equal(vc_call(fd, VC_RESET, NULL, 0, NULL), EINVAL);
	assert_int_equal(vc_device.nb_resets, 0);
	/* Capabilities are optional. */
	assert_int_equal(propose(fd, 0, "", 0, &reply), 0);
	assert_int_equal(reply.nb_bytes, 4);
	assert_int_equal(propose(fd, 0, "{}", 3, NULL), EINVAL);
	assert_int_equal(vc_call(fd, VC_RESET, NULL, 0, NULL), 0);
	assert_int_equal(vc_device.nb_resets, 1);
}

/* ---- Headers ---- */

static void
expect_end(const struct vc_message *message)
{
	const uint32_t nb_resets = vc_device.nb_resets + 1;
	const int fd = vc_open();
	static struct vc_reply reply;

	vc_send(fd, message);
	vc_pump();
	vc_receive(fd, &reply);
	assert_int_equal(reply.size, -1);
	assert_int_equal(vc_device.nb_resets, nb_resets);
	close(fd);
}

VC_TEST(test_header_ends_connection)
{
	static const uint32_t sizes[] = { 1, 15, VFIO_USER_MAX_BYTES + 1,
					  0x7fffffff, 0x80000000, UINT32_MAX };
	static const uint8_t payload[64];
	struct vc_message message = { .command = VC_RESET, .payload = payload };

	vc_device.nb_resets = 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		message.size_bytes = sizes[i];
		expect_end(&message);
	}
	message.size_bytes = 0;
	for (message.flags = 1; message.flags < 16; message.flags++)
		expect_end(&message);
}

VC_TEST(test_header_refused)
{
	static const uint32_t flags[] = { VFIO_USER_FLAG_ERROR, 0x40,
					  0x80000000, UINT32_MAX & ~0x1fu };
	const int fd = vc_open();
	static struct vc_reply reply;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const struct vc_message message = { .id = 0xabcd,
						    .command = VC_RESET,
						    .flags = flags[i] };

		vc_send(fd, &message);
		vc_pump();
		vc_receive(fd, &reply);
		assert_int_equal(reply.size, 16);
		assert_int_equal(reply.header.id, 0xabcd);
		assert_int_equal(reply.header.flags,
				 VFIO_USER_FLAG_REPLY | VFIO_USER_FLAG_ERROR);
		assert_int_equal(reply.header.error, EINVAL);
	}
	assert_int_equal(vc_device.nb_resets, 0);
	assert_int_equal(vc_call(fd, VC_RESET, NULL, 0, NULL), 0);
}

VC_TEST(test_commands_unknown)
{
	static const uint16_t unknown[] = { 0, 6, 11, 12, 14, 16, 17, 18, 0xffff };
	static const uint8_t payload[100];
	const int fd = vc_open();

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_int_equal(vc_call(fd, unknown[i], payload,
					 sizeof(payload), NULL),
				 ENOTSUP);
}

/* Payloads that are shorter or longer than the command's. */
VC_TEST(test_payload_sizes)
{
	static const struct {
		uint16_t command;
		uint32_t nb_bytes, max_bytes;
	} sizes[] = {
		{ VC_DMA_MAP, 32, 32 },	     { VC_DMA_UNMAP, 24, 24 },
		{ VC_GET_INFO, 16, 16 },     { VC_GET_REGION_INFO, 32, 32 },
		{ VC_GET_IRQ_INFO, 16, 16 }, { VC_SET_IRQS, 20, 20 + 64 },
		{ VC_REGION_READ, 16, 16 },  { VC_REGION_WRITE, 16, 16 + 4096 },
		{ VC_RESET, 0, 0 },	     { VC_WRITE_MULTI, 8, 8 + 200 * 24 },
		{ VC_VERSION, 4, 4 },
	};
	static uint8_t payload[VFIO_USER_MAX_BYTES];
	const int fd = vc_open();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (uint32_t n = 0; n < sizes[i].nb_bytes; n++)
			assert_int_equal(vc_call(fd, sizes[i].command, payload,
						 n, NULL),
					 EINVAL);
		assert_int_equal(vc_call(fd, sizes[i].command, payload,
					 sizes[i].max_bytes + 1, NULL),
				 EINVAL);
		assert_int_equal(vc_call(fd, sizes[i].command, payload,
					 VFIO_USER_MAX_PAYLOAD, NULL),
				 EINVAL);
	}
	assert_int_equal(vc_device.nb_resets, 0);
	assert_int_equal(vc_call(fd, VC_RESET, NULL, 0, NULL), 0);
}

/* ---- Information ---- */

VC_TEST(test_device_info)
{
	uint32_t info[4] = { 16 };
	const int fd = vc_open();
	static struct vc_reply reply;

	assert_int_equal(vc_call(fd, VC_GET_INFO, info, 16, &reply), 0);
	memcpy(info, reply.payload, 16);
	assert_int_equal(info[0], 16);
	assert_int_equal(info[1],
			 VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI);
	assert_int_equal(info[2], VFIO_PCI_NUM_REGIONS);
	assert_int_equal(info[3], VFIO_PCI_MSIX_IRQ_INDEX + 1);
	info[0] = 15;
	assert_int_equal(vc_call(fd, VC_GET_INFO, info, 16, NULL), EINVAL);
}

VC_TEST(test_region_info)
{
	static const uint64_t sizes[VFIO_PCI_NUM_REGIONS] = {
		[VC_BAR0] = 1 << 20,
		[VC_BAR4] = 8192,
		[VC_CONFIG] = 4096,
	};
	struct vfio_region_info info = { .argsz = sizeof(info) };
	const int fd = vc_open();
	static struct vc_reply reply;

	for (uint32_t i = 0; i < VFIO_PCI_NUM_REGIONS; i++) {
		info.argsz = 200;
		info.index = i;
		assert_int_equal(vc_call(fd, VC_GET_REGION_INFO, &info,
					 sizeof(info), &reply),
				 0);
		memcpy(&info, reply.payload, sizeof(info));
		assert_int_equal(info.argsz, sizeof(info));
		assert_int_equal(info.index, i);
		assert_int_equal(info.size, sizes[i]);
		/* Nothing can be mapped: doorbells are trapped. */
		assert_int_equal(info.flags, sizes[i] == 0 ? 0 :
				 VFIO_REGION_INFO_FLAG_READ |
				 VFIO_REGION_INFO_FLAG_WRITE);
	}
	info.index = VFIO_PCI_NUM_REGIONS;
	assert_int_equal(VC_TRY(fd, VC_GET_REGION_INFO, info), EINVAL);
	info.index = 0;
	info.argsz = sizeof(info) - 1;
	assert_int_equal(VC_TRY(fd, VC_GET_REGION_INFO, info), EINVAL);
}

VC_TEST(test_irq_info)
{
	struct vfio_irq_info info = { .argsz = sizeof(info) };
	const int fd = vc_open();
	static struct vc_reply reply;

	for (info.index = 0; info.index <= VFIO_PCI_MSIX_IRQ_INDEX;
	     info.index++) {
		struct vfio_irq_info answer;

		assert_int_equal(vc_call(fd, VC_GET_IRQ_INFO, &info,
					 sizeof(info), &reply),
				 0);
		memcpy(&answer, reply.payload, sizeof(answer));
		assert_int_equal(answer.index, info.index);
		assert_int_equal(answer.count,
				 info.index == VFIO_PCI_MSIX_IRQ_INDEX ? 64 : 0);
	}
	for (; info.index < 6; info.index++)
		assert_int_equal(VC_TRY(fd, VC_GET_IRQ_INFO, info), ENOTSUP);
	info.argsz = 15;
	assert_int_equal(VC_TRY(fd, VC_GET_IRQ_INFO, info), EINVAL);
}

/* ---- Regions ---- */

VC_TEST(test_bar0)
{
	static const uint32_t widths[] = { 1, 2, 4, 8 };
	const uint64_t value = 0x8877665544332211;
	const int fd = vc_open();

	vc_device.answer = value;
	for (size_t i = 0; i < 4; i++) {
		const uint32_t width = widths[i];
		const uint64_t part = value << (64 - 8 * width) >>
				      (64 - 8 * width);
		uint64_t offset = (1 << 20) - width, got = 0;

		assert_int_equal(vc_read(fd, VC_BAR0, offset, &got, width), 0);
		assert_int_equal(got, part);
		assert_int_equal(vc_device.offset, offset);
		assert_int_equal(vc_device.nb_bytes, width);
		/* The device judges an unaligned access. */
		assert_int_equal(vc_write(fd, VC_BAR0, offset - 1, &value, width),
				 0);
		assert_int_equal(vc_device.value, part);
		assert_int_equal(vc_device.offset, offset - 1);
		assert_int_equal(vc_device.nb_bytes, width);
		assert_int_equal(vc_write(fd, VC_BAR0, offset + 1, &value, width),
				 EINVAL);
	}
	assert_int_equal(vc_device.nb_reads, 4);
	assert_int_equal(vc_device.nb_writes, 4);
}

VC_TEST(test_bounds)
{
	static const struct {
		uint32_t region;
		uint64_t offset;
		uint32_t nb_bytes;
	} bad[] = {
		{ VC_BAR0, 0, 0 },
		{ VC_BAR0, 0, 3 },
		{ VC_BAR0, 0, 16 },
		{ VC_BAR0, 1 << 20, 1 },
		{ VC_BAR0, (1 << 20) - 4, 8 },
		{ VC_BAR0, UINT64_MAX, 1 },
		{ VC_BAR0, UINT64_MAX - 3, 8 },
		{ VC_BAR4, 8192, 4 },
		{ VC_BAR4, 8189, 4 },
		{ VC_BAR4, 0, 5 },
		{ VC_CONFIG, 4096, 1 },
		{ VC_CONFIG, 1, 4096 },
		{ VC_CONFIG, UINT64_MAX, 2 },
		{ VFIO_PCI_BAR1_REGION_INDEX, 0, 4 },
		{ VFIO_PCI_ROM_REGION_INDEX, 0, 4 },
		{ VFIO_PCI_NUM_REGIONS, 0, 4 },
		{ UINT32_MAX, 0, 4 },
	};
	static uint8_t data[4096];
	const int fd = vc_open();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(vc_read(fd, bad[i].region, bad[i].offset, data,
					 bad[i].nb_bytes),
				 EINVAL);
		assert_int_equal(vc_write(fd, bad[i].region, bad[i].offset, data,
					  bad[i].nb_bytes),
				 EINVAL);
	}
	/* More than a transfer may have; only the count is wrong here. */
	assert_int_equal(vc_read(fd, VC_CONFIG, 0, data, 4097), EINVAL);
	assert_int_equal(vc_read(fd, VC_CONFIG, 0, data, UINT32_MAX), EINVAL);
	assert_int_equal(vc_device.nb_reads + vc_device.nb_writes, 0);
	assert_int_equal(vc_read(fd, VC_CONFIG, 0, data, sizeof(data)), 0);
	assert_memory_equal(data, "\x14\x14\xba\x00", 4);
}

/* The count of a write differs from its data. */
VC_TEST(test_write_count)
{
	struct {
		uint64_t offset;
		uint32_t region, nb_bytes;
		uint8_t data[8];
	} write = { 0, VC_BAR0, 4, { 0 } };
	const int fd = vc_open();

	assert_int_equal(vc_call(fd, VC_REGION_WRITE, &write, 16 + 8, NULL),
			 EINVAL);
	assert_int_equal(vc_call(fd, VC_REGION_WRITE, &write, 16 + 3, NULL),
			 EINVAL);
	write.nb_bytes = UINT32_MAX;
	assert_int_equal(vc_call(fd, VC_REGION_WRITE, &write, 16 + 8, NULL),
			 EINVAL);
	assert_int_equal(vc_device.nb_writes, 0);
}

struct multi {
	uint64_t nb;
	struct {
		uint64_t offset;
		uint32_t region, nb_bytes;
		uint64_t data;
	} writes[201];
};

static int
write_multi(int fd, const struct multi *multi, uint64_t nb_sent)
{
	return vc_call(fd, VC_WRITE_MULTI, multi, (uint32_t)(8 + nb_sent * 24),
		       NULL);
}

VC_TEST(test_write_multi)
{
	static struct multi multi = { .nb = 200 };
	const int fd = vc_open();

	for (uint32_t i = 0; i < 201; i++) {
		multi.writes[i].offset = i * 8;
		multi.writes[i].region = VC_BAR0;
		multi.writes[i].nb_bytes = 8;
		multi.writes[i].data = i;
	}
	assert_int_equal(write_multi(fd, &multi, 200), 0);
	assert_int_equal(vc_device.nb_writes, 200);
	assert_int_equal(vc_device.value, 199);
	assert_int_equal(vc_device.offset, 199 * 8);
	assert_int_equal(write_multi(fd, &multi, 199), EINVAL);
	multi.nb = 199;
	assert_int_equal(write_multi(fd, &multi, 200), EINVAL);
	multi.nb = 201;
	assert_int_equal(write_multi(fd, &multi, 201), EINVAL);
	/* nb * 24 wraps to 24. */
	multi.nb = UINT64_C(0x2000000000000001);
	assert_int_equal(write_multi(fd, &multi, 1), EINVAL);
	assert_int_equal(vc_device.nb_writes, 200);
	/* The writes before a wrong one are carried out. */
	multi.nb = 3;
	multi.writes[1].nb_bytes = 9;
	assert_int_equal(write_multi(fd, &multi, 3), EINVAL);
	assert_int_equal(vc_device.nb_writes, 201);
	multi.nb = 0;
	assert_int_equal(write_multi(fd, &multi, 0), 0);
}

/* Posted writes, as QEMU sends them: no reply, and before later requests. */
VC_TEST(test_no_reply)
{
	const struct {
		uint64_t offset;
		uint32_t region, nb_bytes;
		uint64_t data;
	} write = { 0x1000, VC_BAR0, 8, 5 }, wrong = { 0, 77, 8, 5 };
	const struct vc_message messages[] = {
		{ 1, VC_REGION_WRITE, VFIO_USER_FLAG_NO_REPLY, 0, &write, 24,
		  NULL, 0 },
		{ 2, VC_REGION_WRITE, VFIO_USER_FLAG_NO_REPLY, 0, &wrong, 24,
		  NULL, 0 },
		{ 3, VC_REGION_WRITE, VFIO_USER_FLAG_NO_REPLY, 0, &write, 24,
		  NULL, 0 },
		{ 4, VC_RESET, 0, 0, NULL, 0, NULL, 0 },
	};
	const int fd = vc_open();
	static struct vc_reply reply;

	for (size_t i = 0; i < 4; i++)
		vc_send(fd, &messages[i]);
	vc_pump();
	assert_int_equal(vc_device.nb_writes, 2);
	vc_receive(fd, &reply);
	assert_int_equal(reply.header.id, 4);
	vc_receive(fd, &reply);
	assert_int_equal(reply.size, 0);
}

/* ---- Configuration space ---- */

VC_TEST(test_config_header)
{
	const int fd = vc_open();
	uint32_t at;

	assert_int_equal(vc_config_read(fd, PCI_VENDOR_ID, 4), 0x00ba1414);
	assert_int_equal(vc_config_read(fd, PCI_CLASS_REVISION, 4), 0x02000000);
	assert_int_equal(vc_config_read(fd, PCI_HEADER_TYPE, 1), 0);
	assert_int_equal(vc_config_read(fd, PCI_INTERRUPT_PIN, 1), 0);
	assert_true(vc_config_read(fd, PCI_STATUS, 2) & PCI_STATUS_CAP_LIST);
	at = vc_config_read(fd, PCI_CAPABILITY_LIST, 1);
	assert_int_equal(vc_config_read(fd, at, 1), PCI_CAP_ID_EXP);
	assert_int_equal(vc_config_read(fd, at + PCI_EXP_FLAGS, 2), 2);
	assert_true(vc_config_read(fd, at + PCI_EXP_DEVCAP, 4) &
		    PCI_EXP_DEVCAP_FLR);
	at = vc_config_read(fd, at + 1, 1);
	assert_int_equal(vc_config_read(fd, at, 1), PCI_CAP_ID_MSIX);
	assert_int_equal(vc_config_read(fd, at + PCI_MSIX_FLAGS, 2), 63);
	assert_int_equal(vc_config_read(fd, at + PCI_MSIX_TABLE, 4), 4);
	assert_int_equal(vc_config_read(fd, at + PCI_MSIX_PBA, 4), 0x1004);
	assert_int_equal(vc_config_read(fd, at + 1, 1), 0);
	/* No extended capability. */
	assert_int_equal(vc_config_read(fd, 0x100, 4), 0);
}

VC_TEST(test_config_writes)
{
	const int fd = vc_open();
	static uint8_t before[4096], after[4096], ones[4096];

	/* Sizes of the BARs. */
	vc_config_write(fd, PCI_BASE_ADDRESS_0, UINT32_MAX, 4);
	vc_config_write(fd, PCI_BASE_ADDRESS_1, UINT32_MAX, 4);
	vc_config_write(fd, PCI_BASE_ADDRESS_2, UINT32_MAX, 4);
	vc_config_write(fd, PCI_BASE_ADDRESS_4, UINT32_MAX, 4);
	assert_int_equal(vc_config_read(fd, PCI_BASE_ADDRESS_0, 4), 0xfff00004);
	assert_int_equal(vc_config_read(fd, PCI_BASE_ADDRESS_1, 4), UINT32_MAX);
	assert_int_equal(vc_config_read(fd, PCI_BASE_ADDRESS_2, 4), 0);
	assert_int_equal(vc_config_read(fd, PCI_BASE_ADDRESS_4, 4), 0xffffe004);
	/* The rest keeps what it is, except for the writable bits. */
	assert_int_equal(vc_call(fd, VC_RESET, NULL, 0, NULL), 0);
	assert_int_equal(vc_read(fd, VC_CONFIG, 0, before, 4096), 0);
	memset(ones, 0xff, sizeof(ones));
	assert_int_equal(vc_write(fd, VC_CONFIG, 0, ones, 4096), 0);
	assert_int_equal(vc_config_read(fd, PCI_VENDOR_ID, 4), 0x00ba1414);
	assert_int_equal(vc_config_read(fd, PCI_COMMAND, 2), 0x546);
	/* The bit that starts the reset reads as 0. */
	assert_int_equal(vc_config_read(fd, 0x40 + PCI_EXP_DEVCTL, 2), 0x7fff);
	assert_int_equal(vc_config_read(fd, 0x80 + PCI_MSIX_FLAGS, 2), 0xc03f);
	assert_int_equal(vc_call(fd, VC_RESET, NULL, 0, NULL), 0);
	assert_int_equal(vc_read(fd, VC_CONFIG, 0, after, 4096), 0);
	assert_memory_equal(before, after, 4096);
}

VC_TEST(test_bus_master)
{
	const int fd = vc_open();

	assert_false(dma_is_enabled(0));
	vc_config_write(fd, PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	assert_false(dma_is_enabled(0));
	vc_config_write(fd, PCI_COMMAND, PCI_COMMAND_MASTER, 1);
	assert_true(dma_is_enabled(0));
	assert_int_equal(vc_call(fd, VC_RESET, NULL, 0, NULL), 0);
	assert_false(dma_is_enabled(0));
	vc_config_write(fd, PCI_COMMAND, PCI_COMMAND_MASTER, 2);
	vc_leave(fd);
	assert_false(dma_is_enabled(0));
}

VC_TEST(test_function_level_reset)
{
	const uint32_t control = 0x40 + PCI_EXP_DEVCTL;
	const int fd = vc_open();

	vc_config_write(fd, PCI_COMMAND, PCI_COMMAND_MASTER, 2);
	vc_config_write(fd, PCI_BASE_ADDRESS_0, 0xfea00000, 4);
	vc_device.nb_resets = 0;
	vc_config_write(fd, control, 0x7fff, 2);
	assert_int_equal(vc_device.nb_resets, 0);
	vc_config_write(fd, control, PCI_EXP_DEVCTL_BCR_FLR, 2);
	assert_int_equal(vc_device.nb_resets, 1);
	vc_config_write(fd, control + 1, PCI_EXP_DEVCTL_BCR_FLR >> 8, 1);
	assert_int_equal(vc_device.nb_resets, 2);
	vc_config_write(fd, control, PCI_EXP_DEVCTL_BCR_FLR, 4);
	assert_int_equal(vc_device.nb_resets, 3);
	/* The byte before does not start it. */
	vc_config_write(fd, control, 0xff, 1);
	vc_config_write(fd, control - 4, UINT32_MAX, 4);
	assert_int_equal(vc_device.nb_resets, 3);
	/* The configuration space survives. */
	assert_int_equal(vc_config_read(fd, PCI_COMMAND, 2), PCI_COMMAND_MASTER);
	assert_int_equal(vc_config_read(fd, PCI_BASE_ADDRESS_0, 4), 0xfea00004);
	assert_true(dma_is_enabled(0));
}
