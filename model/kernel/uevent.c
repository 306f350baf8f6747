/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdio.h>

#include "kernel_state.h"
#include "nl_event.h"
#include "uevent.h"

#define GROUP_KERNEL 1 /* of NETLINK_KOBJECT_UEVENT; udev itself uses 2 */

struct text {
	char bytes[NL_EVENT_MAX_BYTES];
	size_t nb_bytes;
};

/* A line and its terminating zero; one that has no room is left out. */
static void __attribute__((format(printf, 2, 3)))
add(struct text *text, const char *format, ...)
{
	size_t room = sizeof(text->bytes) - text->nb_bytes;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text->bytes + text->nb_bytes, room, format, args);
	va_end(args);
	if (len >= 0 && (size_t)len < room)
		text->nb_bytes += (size_t)len + 1;
}

/* Linux lib/kobject_uevent.c kobject_uevent_env(), alloc_uevent_skb(). */
void
kernel_uevent(const char *action, const char *devpath, const char *subsystem,
	      const char *const extra[])
{
	uint64_t seqnum = __atomic_add_fetch(
		&segment_kernel()->events.uevent_seqnum, 1, __ATOMIC_ACQ_REL);
	struct text text = { .nb_bytes = 0 };
	uint32_t i;

	add(&text, "%s@%s", action, devpath);
	add(&text, "ACTION=%s", action);
	add(&text, "DEVPATH=%s", devpath);
	add(&text, "SUBSYSTEM=%s", subsystem);
	for (i = 0; extra != NULL && extra[i] != NULL; i++)
		add(&text, "%s", extra[i]);
	add(&text, "SEQNUM=%" PRIu64, seqnum);
	nl_event_publish(NETLINK_KOBJECT_UEVENT, GROUP_KERNEL, text.bytes,
			 text.nb_bytes);
}
