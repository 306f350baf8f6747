/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "config.h"
#include "msix.h"
#include "pci_status.h"
#include "trace.h"

#define ENTRY_BYTES   16u
#define ENTRY_CONTROL 12u /* offset of "vector control"; bit 0: masked */
#define TABLE_BYTES   (MSIX_NB_VECTORS * ENTRY_BYTES)

struct msix {
	bool is_open; /* fd[] is valid */
	bool is_enabled, is_masked; /* message control */
	uint64_t masked, pending; /* bit n: vector n */
	int fd[MSIX_NB_VECTORS]; /* -1: none */
	uint8_t table[TABLE_BYTES];
};

_Static_assert(MSIX_NB_VECTORS <= 64, "bits of masked and pending");
_Static_assert(MSIX_TABLE_OFFSET + TABLE_BYTES <= MSIX_PBA_OFFSET,
	       "the table overlaps the pending bits");

static struct msix functions[MODEL_MAX_FUNCTIONS];

/* Send the pending interrupts that are possible now. */
static void
deliver(struct msix *msix)
{
	const uint32_t fn = (uint32_t)(msix - functions);
	uint64_t ready = msix->pending & ~msix->masked;

	if (!msix->is_enabled || msix->is_masked)
		return;
	for (; ready != 0; ready &= ready - 1) {
		const uint32_t vector = (uint32_t)__builtin_ctzll(ready);

		if (msix->fd[vector] < 0)
			continue;
		msix->pending &= ~(UINT64_C(1) << vector);
		/* It fails only if the client has let 2^64 - 2 pass unread. */
		(void)eventfd_write(msix->fd[vector], 1);
		pci_status(fn)->nb_interrupts++;
		trace_event("kind=interrupt fn=%u vector=%u", fn, vector);
	}
}

void
msix_raise(uint32_t fn, uint32_t vector)
{
	struct msix *msix = &functions[fn];

	if (!msix->is_enabled || vector >= MSIX_NB_VECTORS)
		return;
	msix->pending |= UINT64_C(1) << vector;
	deliver(msix);
}

void
msix_reset(uint32_t fn)
{
	struct msix *msix = &functions[fn];

	for (uint32_t i = 0; i < MSIX_NB_VECTORS; i++) {
		if (msix->is_open && msix->fd[i] >= 0)
			close(msix->fd[i]);
		msix->fd[i] = -1;
	}
	msix->is_open = true;
	msix->is_enabled = false;
	msix->is_masked = false;
	msix->masked = 0;
	msix->pending = 0;
	memset(msix->table, 0, sizeof(msix->table));
	for (uint32_t i = 0; i < MSIX_NB_VECTORS; i++)
		msix->table[i * ENTRY_BYTES + ENTRY_CONTROL] = 1;
}

void
msix_clear_pending(uint32_t fn)
{
	functions[fn].pending = 0;
}

void
msix_control(uint32_t fn, bool is_enabled, bool is_masked)
{
	struct msix *msix = &functions[fn];

	msix->is_enabled = is_enabled;
	msix->is_masked = is_masked;
	if (!is_enabled)
		msix->pending = 0;
	deliver(msix);
}

bool
msix_is_eventfd(int fd)
{
	/* The kernel's name of the kind of the file. */
	static const char wanted[] = "anon_inode:[eventfd]";
	char path[64], name[sizeof(wanted)];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, name, sizeof(name)) == sizeof(wanted) - 1 &&
	       memcmp(name, wanted, sizeof(wanted) - 1) == 0;
}

/* A write to another file, or to an eventfd that blocks, could wait. */
static bool
is_usable(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	return msix_is_eventfd(fd) && flags >= 0 &&
	       fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

int
msix_connect(uint32_t fn, uint32_t vector, int fd)
{
	struct msix *msix = &functions[fn];

	if (fd >= 0 && !is_usable(fd)) {
		close(fd);
		return -EINVAL;
	}
	if (msix->fd[vector] >= 0)
		close(msix->fd[vector]);
	msix->fd[vector] = fd;
	deliver(msix);
	return 0;
}

void
msix_mask(uint32_t fn, uint32_t vector, bool is_masked)
{
	struct msix *msix = &functions[fn];
	const uint64_t bit = UINT64_C(1) << vector;

	msix->masked = is_masked ? msix->masked | bit : msix->masked & ~bit;
	deliver(msix);
}

static uint8_t
read_byte(const struct msix *msix, uint64_t offset)
{
	if (offset < TABLE_BYTES)
		return msix->table[offset];
	if (offset - MSIX_PBA_OFFSET < sizeof(msix->pending))
		return (uint8_t)(msix->pending >> (offset - MSIX_PBA_OFFSET) * 8);
	return 0;
}

void
msix_bar_read(uint32_t fn, uint64_t offset, uint8_t *buf, size_t nb_bytes)
{
	for (size_t i = 0; i < nb_bytes; i++)
		buf[i] = read_byte(&functions[fn], offset + i);
}

/* The pending bits are read-only. */
void
msix_bar_write(uint32_t fn, uint64_t offset, const uint8_t *buf, size_t nb_bytes)
{
	for (size_t i = 0; i < nb_bytes; i++)
		if (offset + i < TABLE_BYTES)
			functions[fn].table[offset + i] = buf[i];
}
