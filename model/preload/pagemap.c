/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdint.h>
#include <string.h>

#include "fds.h"
#include "host.h"
#include "pagemap.h"
#include "preload.h"
#include "segment.h"

/* Linux Documentation/admin-guide/mm/pagemap.rst */
#define ENTRY_BYTES 8
#define FRAME_M	    ((UINT64_C(1) << 55) - 1)
#define PRESENT	    (UINT64_C(1) << 63)

bool
pagemap_open(const char *path, int flags, int *fd)
{
	if (path == NULL || strcmp(path, "/proc/self/pagemap") != 0 ||
	    !attach_machine() || segment_config()->netvsc == MODEL_NETVSC_NONE)
		return false;
	*fd = host_open(path, flags & (O_ACCMODE | O_CLOEXEC), 0);
	if (*fd >= 0)
		fds_set(*fd, FD_PAGEMAP);
	return true;
}

ssize_t
pagemap_read(int fd, void *buf, size_t nb_bytes)
{
	const long at = host_long(syscall(SYS_lseek, fd, 0L, SEEK_CUR));
	ssize_t rc = host_read(fd, buf, nb_bytes);
	uint64_t entry;

	/* The kernel reads whole entries only. */
	for (ssize_t i = 0; i + ENTRY_BYTES <= rc; i += ENTRY_BYTES) {
		memcpy(&entry, (char *)buf + i, sizeof(entry));
		if ((entry & PRESENT) == 0)
			continue;
		entry = (entry & ~FRAME_M) | (uint64_t)(at + i) / ENTRY_BYTES;
		memcpy((char *)buf + i, &entry, sizeof(entry));
	}
	return rc;
}
