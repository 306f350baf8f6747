/* SPDX-License-Identifier: BSD-3-Clause */

/* test_vfio_user.c: MSI-X. */

#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "msix.h"
#include "vfio_client.h"

#define NONE	VFIO_IRQ_SET_DATA_NONE
#define BOOL	VFIO_IRQ_SET_DATA_BOOL
#define EVENTFD VFIO_IRQ_SET_DATA_EVENTFD
#define MASK	VFIO_IRQ_SET_ACTION_MASK
#define UNMASK	VFIO_IRQ_SET_ACTION_UNMASK
#define TRIGGER VFIO_IRQ_SET_ACTION_TRIGGER

#define CONTROL (0x80 + PCI_MSIX_FLAGS)
#define PBA	0x1000

static int
open_enabled(void)
{
	const int fd = vc_open();

	vc_config_write(fd, CONTROL, PCI_MSIX_FLAGS_ENABLE, 2);
	return fd;
}

/* Events since the last call. */
static uint64_t
events(int fd)
{
	uint64_t n = 0;

	if (eventfd_read(fd, &n) != 0)
		assert_int_equal(errno, EAGAIN);
	return n;
}

static uint64_t
pending(int fd)
{
	uint64_t bits;

	assert_int_equal(vc_read(fd, VC_BAR4, PBA, &bits, sizeof(bits)), 0);
	return bits;
}

static void
make_events(int *fds, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		assert_true(fds[i] >= 0);
	}
}

VC_TEST(test_raise)
{
	const int fd = open_enabled();
	int fds[3];

	make_events(fds, 3);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 5, 2, fds, 2), 0);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 63, 1, fds + 2, 1), 0);
	msix_raise(0, 5);
	assert_int_equal(events(fds[0]), 1);
	assert_int_equal(events(fds[1]), 0);
	msix_raise(0, 6);
	msix_raise(0, 6);
	assert_int_equal(events(fds[1]), 2);
	msix_raise(0, 63);
	assert_int_equal(events(fds[2]), 1);
	assert_int_equal(pending(fd), 0);
	/* No such vectors. */
	msix_raise(0, 64);
	msix_raise(0, UINT32_MAX);
	/* A new eventfd replaces the old one. */
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 5, 1, fds + 2, 1), 0);
	msix_raise(0, 5);
	assert_int_equal(events(fds[0]), 0);
	assert_int_equal(events(fds[2]), 1);
}

/* An interrupt that cannot be sent waits, once. */
VC_TEST(test_pending)
{
	const int fd = open_enabled();
	int event;

	make_events(&event, 1);
	msix_raise(0, 3);
	msix_raise(0, 3);
	msix_raise(0, 40);
	assert_int_equal(pending(fd), 1 << 3 | UINT64_C(1) << 40);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 3, 1, &event, 1), 0);
	assert_int_equal(events(event), 1);
	assert_int_equal(pending(fd), UINT64_C(1) << 40);
	/* Disconnected again. */
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 3, 1, NULL, 0), 0);
	msix_raise(0, 3);
	assert_int_equal(events(event), 0);
	assert_int_equal(pending(fd), 1 << 3 | UINT64_C(1) << 40);
	/* The bits are read-only, and those of a disabled function are lost. */
	assert_int_equal(vc_write(fd, VC_BAR4, PBA, "\0\0\0\0\0\0\0\0", 8), 0);
	assert_int_equal(pending(fd), 1 << 3 | UINT64_C(1) << 40);
	vc_config_write(fd, CONTROL, 0, 2);
	assert_int_equal(pending(fd), 0);
	msix_raise(0, 3);
	assert_int_equal(pending(fd), 0);
}

VC_TEST(test_masks)
{
	const int fd = open_enabled();
	int fds[4];

	make_events(fds, 4);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 4, fds, 4), 0);
	assert_int_equal(vc_irqs(fd, NONE | MASK, 1, 2, NULL, 0), 0);
	for (uint32_t i = 0; i < 4; i++)
		msix_raise(0, i);
	assert_int_equal(events(fds[0]), 1);
	assert_int_equal(events(fds[1]), 0);
	assert_int_equal(events(fds[2]), 0);
	assert_int_equal(events(fds[3]), 1);
	assert_int_equal(pending(fd), 6);
	assert_int_equal(vc_irqs(fd, NONE | UNMASK, 2, 1, NULL, 0), 0);
	assert_int_equal(events(fds[2]), 1);
	assert_int_equal(pending(fd), 2);
	/* The mask of the whole function. */
	vc_config_write(fd, CONTROL,
			PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL, 2);
	msix_raise(0, 0);
	assert_int_equal(events(fds[0]), 0);
	assert_int_equal(pending(fd), 3);
	vc_config_write(fd, CONTROL, PCI_MSIX_FLAGS_ENABLE, 2);
	assert_int_equal(events(fds[0]), 1);
	assert_int_equal(events(fds[1]), 0);
	/* Function level reset: pending bits vanish, eventfds stay. */
	vc_config_write(fd, 0x40 + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, 2);
	assert_int_equal(pending(fd), 0);
	assert_int_equal(vc_irqs(fd, NONE | UNMASK, 1, 1, NULL, 0), 0);
	assert_int_equal(events(fds[1]), 0);
	msix_raise(0, 1);
	assert_int_equal(events(fds[1]), 1);
}

/* The client's own triggers, for a range or the true ones of it. */
VC_TEST(test_triggers)
{
	struct vfio_irq_set set = { .argsz = sizeof(set) + 4,
				    .flags = BOOL | TRIGGER,
				    .index = VFIO_PCI_MSIX_IRQ_INDEX,
				    .count = 4 };
	uint8_t request[sizeof(set) + 64] = { 0 };
	const int fd = open_enabled();
	int fds[4];

	make_events(fds, 4);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 4, fds, 4), 0);
	assert_int_equal(vc_irqs(fd, NONE | TRIGGER, 1, 2, NULL, 0), 0);
	assert_int_equal(events(fds[0]), 0);
	assert_int_equal(events(fds[1]), 1);
	assert_int_equal(events(fds[2]), 1);
	assert_int_equal(events(fds[3]), 0);
	memcpy(request, &set, sizeof(set));
	memcpy(request + sizeof(set), "\1\0\2\0", 4);
	assert_int_equal(vc_call(fd, VC_SET_IRQS, request, 24, NULL), 0);
	assert_int_equal(events(fds[0]), 1);
	assert_int_equal(events(fds[1]), 0);
	assert_int_equal(events(fds[2]), 1);
	/* As many values as vectors. */
	assert_int_equal(vc_call(fd, VC_SET_IRQS, request, 23, NULL), EINVAL);
	assert_int_equal(vc_call(fd, VC_SET_IRQS, request, 25, NULL), EINVAL);
	set.count = 64;
	memcpy(request, &set, sizeof(set));
	assert_int_equal(vc_call(fd, VC_SET_IRQS, request, 84, NULL), 0);
}

VC_TEST(test_ranges)
{
	static const struct {
		uint32_t start, count;
	} bad[] = {
		{ 64, 1 }, { 63, 2 },	       { 0, 65 },
		{ 1, 64 }, { UINT32_MAX, 1 },  { UINT32_MAX, 2 },
		{ 2, UINT32_MAX }, { 0, UINT32_MAX }, { 64, 0 }, { 1, 0 },
	};
	const int fd = open_enabled();
	int event;

	make_events(&event, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(vc_irqs(fd, NONE | TRIGGER, bad[i].start,
					 bad[i].count, NULL, 0),
				 EINVAL);
		assert_int_equal(vc_irqs(fd, NONE | MASK, bad[i].start,
					 bad[i].count, NULL, 0),
				 EINVAL);
		assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, bad[i].start,
					 bad[i].count, NULL, 0),
				 EINVAL);
		assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, bad[i].start,
					 bad[i].count, &event, 1),
				 EINVAL);
	}
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 0, NULL, 0), EINVAL);
	assert_int_equal(vc_irqs(fd, NONE | MASK, 0, 0, NULL, 0), EINVAL);
	assert_int_equal(vc_irqs(fd, NONE | TRIGGER, 0, 64, NULL, 0), 0);
}

VC_TEST(test_flags)
{
	static const uint32_t bad[] = {
		0, NONE, TRIGGER, NONE | BOOL | TRIGGER, NONE | EVENTFD | TRIGGER,
		NONE | MASK | UNMASK, NONE | TRIGGER | 0x40,
		NONE | TRIGGER | 0x80000000, UINT32_MAX,
	};
	struct vfio_irq_set set = { .argsz = sizeof(set),
				    .flags = NONE | TRIGGER };
	const int fd = open_enabled();
	int event;

	make_events(&event, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(vc_irqs(fd, bad[i], 0, 1, NULL, 0), EINVAL);
	assert_int_equal(vc_irqs(fd, EVENTFD | MASK, 0, 1, &event, 1), ENOTSUP);
	assert_int_equal(vc_irqs(fd, EVENTFD | UNMASK, 0, 1, NULL, 0), ENOTSUP);
	/* INTx and MSI have no interrupts; all of them can be disabled. */
	for (set.index = 0; set.index < VFIO_PCI_MSIX_IRQ_INDEX; set.index++) {
		set.count = 0;
		assert_int_equal(VC_TRY(fd, VC_SET_IRQS, set), 0);
		set.count = 1;
		assert_int_equal(VC_TRY(fd, VC_SET_IRQS, set), EINVAL);
	}
	set.index = VFIO_PCI_MSIX_IRQ_INDEX + 1;
	set.count = 0;
	assert_int_equal(VC_TRY(fd, VC_SET_IRQS, set), EINVAL);
	set.index = VFIO_PCI_MSIX_IRQ_INDEX;
	set.argsz--;
	assert_int_equal(VC_TRY(fd, VC_SET_IRQS, set), EINVAL);
}

/* Too few, too many, and of the wrong kind. All of them are closed. */
VC_TEST(test_descriptors)
{
	const int fd = open_enabled();
	uint32_t nb_fds;
	int fds[20], pipe_fds[2], file;

	make_events(fds, 20);
	assert_int_equal(pipe2(pipe_fds, O_NONBLOCK), 0);
	file = vc_memory(4096, 0);
	nb_fds = vc_nb_fds();
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 4, fds, 3), EINVAL);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 4, fds, 5), EINVAL);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 17, fds, 17), EINVAL);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 16, fds, 20), EINVAL);
	assert_int_equal(vc_irqs(fd, NONE | TRIGGER, 0, 1, fds, 1), EINVAL);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 1, pipe_fds + 1, 1),
			 EINVAL);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 1, &fd, 1), EINVAL);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 1, &file, 1), EINVAL);
	/* Messages that have none. */
	assert_int_equal(vc_call_fds(fd, VC_RESET, NULL, 0, fds, 1), EINVAL);
	assert_int_equal(vc_call_fds(fd, VC_RESET, NULL, 0, fds, 20), EINVAL);
	assert_int_equal(vc_call_fds(fd, 99, NULL, 0, fds, 16), ENOTSUP);
	assert_int_equal(vc_nb_fds(), nb_fds);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 16, fds, 16), 0);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 16, 4, fds + 16, 4), 0);
	assert_int_equal(vc_nb_fds(), nb_fds + 20);
	for (uint32_t i = 0; i < 20; i++) {
		msix_raise(0, i);
		assert_int_equal(events(fds[i]), 1);
	}
	/* All at once. */
	assert_int_equal(vc_irqs(fd, NONE | TRIGGER, 0, 0, NULL, 0), 0);
	assert_int_equal(vc_nb_fds(), nb_fds);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 1, fds, 1), 0);
	vc_leave(fd);
	assert_int_equal(vc_nb_fds(), nb_fds - 2);
}

/* A write to a full eventfd would wait for its reader. */
VC_TEST(test_full_eventfd)
{
	const int fd = open_enabled();
	const int event = eventfd(0, EFD_CLOEXEC);

	assert_true(event >= 0);
	assert_int_equal(vc_irqs(fd, EVENTFD | TRIGGER, 0, 1, &event, 1), 0);
	assert_int_equal(eventfd_write(event, UINT64_MAX - 1), 0);
	msix_raise(0, 0);
	assert_int_equal(events(event), UINT64_MAX - 1);
	msix_raise(0, 0);
	assert_int_equal(events(event), 1);
}

VC_TEST(test_table)
{
	const int fd = vc_open();
	uint32_t value;

	/* All vectors are masked at first. */
	for (uint32_t i = 0; i < 64; i++) {
		assert_int_equal(vc_read(fd, VC_BAR4, i * 16 + 12, &value, 4), 0);
		assert_int_equal(value, 1);
	}
	value = 0xfee00000;
	assert_int_equal(vc_write(fd, VC_BAR4, 63 * 16, &value, 4), 0);
	value = 0;
	assert_int_equal(vc_read(fd, VC_BAR4, 63 * 16, &value, 4), 0);
	assert_int_equal(value, 0xfee00000);
	/* Behind the table and behind the pending bits is nothing. */
	value = UINT32_MAX;
	assert_int_equal(vc_write(fd, VC_BAR4, 64 * 16, &value, 4), 0);
	assert_int_equal(vc_read(fd, VC_BAR4, 64 * 16, &value, 4), 0);
	assert_int_equal(value, 0);
	assert_int_equal(vc_read(fd, VC_BAR4, PBA + 8, &value, 4), 0);
	assert_int_equal(value, 0);
}
