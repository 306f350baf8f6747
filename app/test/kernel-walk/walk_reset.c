/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A reset of the adapter, asked for by mana-model: what a program sees that holds
 * objects. Linux before 7.x ignores the request.
 */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "netlink.h"
#include "objects.h"

#define FATAL_MS  60000
#define RETURN_MS 60000

static int
async_file(int fd)
{
	struct call call = new_call(UVERBS_OBJECT_ASYNC_EVENT, 0);

	add(&call, 0, 0, 0);
	walk_result(run(fd, &call), "async event file");
	return (int)uverbs_value(&call, 0);
}

static int
channel_file(int fd)
{
	int32_t channel = -1;

	walk_result(uverbs_create_channel(fd, &channel),
		    "completion channel");
	return channel;
}

static void
read_event(int async)
{
	struct pollfd pfd = { .fd = async, .events = POLLIN };
	struct ib_uverbs_async_event_desc event;
	ssize_t len;

	walk_note("async event", "poll %d", poll(&pfd, 1, FATAL_MS));
	memset(&event, 0xff, sizeof(event));
	fcntl(async, F_SETFL, O_NONBLOCK);
	len = read(async, &event, 4);
	walk_say(len < 0 ? errno : 0, "async event in 4 bytes", "%zd", len);
	len = read(async, &event, sizeof(event));
	walk_say(len < 0 ? errno : 0, "async event",
		 "%zd bytes, element %llu, type %u, reserved %u", len,
		 (unsigned long long)event.element, event.event_type,
		 event.reserved);
	len = read(async, &event, sizeof(event));
	walk_say(len < 0 ? errno : 0, "second async event", "%zd", len);
	pfd.revents = 0;
	poll(&pfd, 1, 0);
	walk_note("async poll then", "events 0x%x", pfd.revents & POLLIN);
}

static void
use_dead(int fd, int channel, uint32_t pd, uint32_t cq, const struct uverbs_qp *qp)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct pollfd pfd = { .fd = channel, .events = POLLIN };
	struct uverbs_mr mr = uverbs_good_mr(pd);
	struct uverbs_cq other = UVERBS_CQ;
	uint32_t unused = 0;
	char buf[8];
	ssize_t len;
	void *map;

	walk_result(uverbs_alloc_pd(fd, &unused), "alloc_pd by ioctl");
	walk_result(uverbs_reg_mr(fd, &mr), "reg_mr");
	walk_result(uverbs_create_cq(fd, &other), "create_cq");
	map = mmap(NULL, page, PROT_WRITE, MAP_SHARED, fd, 0);
	walk_result(map == MAP_FAILED ? errno : 0, "mmap");
	poll(&pfd, 1, 0);
	walk_note("poll of the channel", "error %d",
		  (pfd.revents & POLLERR) != 0);
	fcntl(channel, F_SETFL, O_NONBLOCK);
	len = read(channel, buf, sizeof(buf));
	walk_say(len < 0 ? errno : 0, "read of the channel", "%zd", len);
	uverbs_try_destroy(fd, UVERBS_OBJECT_PD, pd, "destroy the PD, in use");
	uverbs_try_destroy(fd, UVERBS_OBJECT_QP, qp->handle,
			   "destroy the queue pair");
	uverbs_try_destroy(fd, UVERBS_OBJECT_CQ, cq, "destroy the CQ");
	uverbs_try_destroy(fd, UVERBS_OBJECT_PD, pd, "destroy the PD");
	uverbs_try_destroy(fd, UVERBS_OBJECT_PD, pd, "destroy the PD again");
}

/* The value of KEY= in a uevent, which is a list of lines that end with 0. */
static const char *
value_of(const char *event, size_t nb_bytes, const char *key)
{
	const size_t key_bytes = strlen(key);
	size_t at;

	for (at = 0; at < nb_bytes; at += strlen(event + at) + 1)
		if (strncmp(event + at, key, key_bytes) == 0)
			return event + at + key_bytes;
	return "";
}

/* Print the uevents of devices below the PCI function. */
static void
print_uevents(int uevents, const char *pci)
{
	struct pollfd pfd = { .fd = uevents, .events = POLLIN };
	const char *path, *subsystem, *last;
	char event[4096], name[64], what[64];
	ssize_t len;

	while (poll(&pfd, 1, walk_settle_ms) > 0) {
		len = recv(uevents, event, sizeof(event) - 1, 0);
		if (len <= 0)
			continue;
		event[len] = '\0';
		path = value_of(event, (size_t)len, "DEVPATH=");
		subsystem = value_of(event, (size_t)len, "SUBSYSTEM=");
		if (strstr(path, pci) == NULL)
			continue;
		last = strrchr(path, '/') + 1;
		snprintf(name, sizeof(name), "%.60s", last);
		/* A new RDMA device has another number. */
		if (strncmp(subsystem, "infiniband", 10) == 0)
			name[strcspn(name, "0123456789")] = '\0';
		snprintf(what, sizeof(what), "uevent of %.40s", subsystem);
		walk_note(what, "%.*s %s", (int)strcspn(event, "@"), event,
			  walk_symbols(name));
	}
}

/* Wait until the function has an RDMA device with a node again. */
static void
wait_for_device(void)
{
	for (int i = 0; i < RETURN_MS / 100; i++) {
		memset(&walk_device, 0, sizeof(walk_device));
		if (walk_try_device() && walk_device.nb_ports == 2) {
			walk_note("RDMA device", "back");
			return;
		}
		poll(NULL, 0, 100);
	}
	walk_note("RDMA device", "gone");
}

void
walk_reset(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int events, uevents, fd, async, channel;
	char pci[sizeof(walk_device.pci)];
	uint32_t pd, cq;
	struct uverbs_qp qp;
	void *doorbells;

	if (strncmp(walk_device.rdma, "manae_", 6) != 0)
		return; /* 6.12 ignores it */
	walk_name("reset");
	memcpy(pci, walk_device.pci, sizeof(pci));
	events = netlink_open(NETLINK_ROUTE, RTMGRP_LINK);
	uevents = netlink_open(NETLINK_KOBJECT_UEVENT, 1);
	fd = uverbs_open_context();
	async = async_file(fd);
	channel = channel_file(fd);
	pd = object_pd(fd);
	cq = object_cq(fd, 64, 0);
	qp = object_raw_qp(pd, cq, 1);
	walk_result(uverbs_create_qp(fd, &qp), "Tx queue pair");
	doorbells = mmap(NULL, page, PROT_WRITE, MAP_SHARED, fd, 0);
	walk_ctl("reset fn=0");
	read_event(async);
	use_dead(fd, channel, pd, cq, &qp);
	walk_result(munmap(doorbells, page) < 0 ? errno : 0, "munmap");
	close(channel);
	close(async);
	close(fd);
	wait_for_device();
	walk_events(events, "reset");
	close(events);
	print_uevents(uevents, pci);
	close(uevents);
	fd = uverbs_open_context();
	pd = object_pd(fd);
	qp = object_raw_qp(pd, object_cq(fd, 64, 0), 1);
	walk_result(uverbs_create_qp(fd, &qp), "Tx queue pair of the new device");
	close(fd);
}
