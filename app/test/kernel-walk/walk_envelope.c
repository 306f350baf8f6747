/* SPDX-License-Identifier: BSD-3-Clause */

/* The envelope of ioctl, and which methods and commands exist. */

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "uverbs.h"

#define UNKNOWN_ATTR 99
#define NB_OBJECTS   20
#define NB_METHODS   14
#define NB_COMMANDS  64

static struct call
pd_destroy(uint64_t handle)
{
	struct call call = new_call(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);

	add(&call, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, handle);
	return call;
}

static void
header(int fd)
{
	struct call call;

	walk_name("ioctl header");
	call = command(1, NULL, 0, NULL, 0);
	walk_result(run(fd, &call), "probe of libibverbs");
	call.hdr.length += 8;
	walk_result(run(fd, &call), "length is no multiple");
	call.hdr.length = 23;
	walk_result(run(fd, &call), "length of less than the header");
	call = command(1, NULL, 0, NULL, 0);
	while (call.hdr.num_attrs < 260)
		add(&call, UNKNOWN_ATTR, 0, 0)->flags = 0;
	walk_result(run(fd, &call), "260 attributes");
	call = command(1, NULL, 0, NULL, 0);
	call.hdr.reserved1 = 1;
	walk_result(run(fd, &call), "reserved1 = 1");
	call = command(1, NULL, 0, NULL, 0);
	call.hdr.reserved2 = 1;
	walk_result(run(fd, &call), "reserved2 = 1");
	call = command(1, NULL, 0, NULL, 0);
	call.hdr.driver_id = 5;
	walk_result(run(fd, &call), "driver_id = 5");
	walk_result(ioctl(fd, RDMA_VERBS_IOCTL, 8) == 0 ? 0 : errno,
		    "unreadable header");
	walk_result(ioctl(fd, RDMA_VERBS_IOCTL + 1, &call) == 0 ? 0 : errno,
		    "another request");
}

static void
attributes(int fd)
{
	struct call call;
	uint32_t pd = 0, other = 0;

	walk_name("ioctl attributes");
	walk_result(uverbs_alloc_pd(fd, &pd), "a PD");
	uverbs_alloc_pd(fd, &other);
	call = new_call(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	walk_result(run(fd, &call), "PD destroy: no handle");
	call = pd_destroy(pd);
	add(&call, UNKNOWN_ATTR, 0, 0);
	walk_result(run(fd, &call), "PD destroy: unknown mandatory attribute");
	call = pd_destroy(pd);
	add(&call, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, other);
	walk_result(run(fd, &call), "PD destroy: handle twice");
	call = pd_destroy(pd);
	call.attr[0].len = 4;
	walk_result(run(fd, &call), "PD destroy: handle of 4 bytes");
	call = pd_destroy(pd | (uint64_t)1 << 32);
	walk_result(run(fd, &call), "PD destroy: handle beyond 32 bits");
	call = pd_destroy(pd);
	call.attr[0].attr_data.reserved = 1;
	walk_result(run(fd, &call), "PD destroy: reserved data = 1");
	call = pd_destroy(NO_HANDLE);
	walk_result(run(fd, &call), "PD destroy: unknown handle");
	call = new_call(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);
	add(&call, UVERBS_ATTR_DESTROY_MR_HANDLE, 0, pd);
	walk_result(run(fd, &call), "MR destroy: handle of a PD");
	call = pd_destroy(other);
	add(&call, UNKNOWN_ATTR, 0, 0)->flags = 0;
	walk_result(run(fd, &call), "PD destroy: unknown optional attribute");
	call = pd_destroy(pd);
	call.attr[0].flags = 0;
	walk_result(run(fd, &call), "PD destroy: handle is optional");
	call = pd_destroy(pd);
	walk_result(run(fd, &call), "PD destroy: again");
	call = pd_destroy(pd);
	call.attr[0].flags = 0x8001;
	walk_result(run(fd, &call), "PD destroy: unknown flag");
}

static void
without_context(void)
{
	uint32_t vectors = 0, pd = 0;
	uint64_t support = 0;
	struct call call;
	int fd = uverbs_open();
	void *page;

	walk_name("no context");
	walk_result(uverbs_alloc_pd(fd, &pd), "alloc_pd by ioctl");
	page = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0);
	walk_result(page == MAP_FAILED ? errno : 0, "mmap");
	call = new_call(UVERBS_OBJECT_ASYNC_EVENT, 0);
	add(&call, 0, 0, 0);
	walk_result(run(fd, &call), "async event file");
	call = new_call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	walk_result(run(fd, &call), "query_port");
	walk_result(uverbs_get_context(fd, &vectors, &support), "get_context");
	walk_result(uverbs_get_context(fd, &vectors, &support),
		    "get_context again");
	close(fd);
}

static void
get_context(void)
{
	uint32_t vectors = 0;
	uint64_t support = 0;
	struct call call;
	int fd, error;

	walk_name("get_context");
	fd = uverbs_open();
	error = uverbs_get_context(fd, &vectors, &support);
	walk_say(error, "method", "core_support 0x%llx",
		 (unsigned long long)support);
	walk_note("comp vectors of that", "%u", vectors);
	vectors = 0;
	support = 0;
	call = new_call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
	add(&call, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, 4,
	    (uintptr_t)&vectors);
	add(&call, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, 8,
	    (uintptr_t)&support);
	error = run(fd, &call);
	walk_say(error, "query_context", "core_support 0x%llx",
		 (unsigned long long)support);
	walk_note("comp vectors of that", "%u", vectors);
	close(fd);
	fd = uverbs_open();
	call = new_call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	walk_result(run(fd, &call), "method without attributes");
	close(fd);
}

/* Which methods a kernel has: the answer to a call without attributes. */
static void
methods(int fd)
{
	char what[64], answers[512];
	struct call call;
	size_t at;

	walk_name("methods");
	for (uint16_t object = 0; object < NB_OBJECTS; object++) {
		at = 0;
		for (uint16_t method = 0; method < NB_METHODS; method++) {
			call = new_call(object, method);
			at += (size_t)snprintf(answers + at,
					       sizeof(answers) - at, " %s",
					       walk_errno(run(fd, &call)));
		}
		snprintf(what, sizeof(what), "object %u, methods 0 to %u",
			 object, NB_METHODS - 1);
		walk_note(what, "%s", answers + 1);
	}
}

/* Which commands a kernel has: the answer to a command without input. */
static void
commands(int fd)
{
	static const uint32_t classes[] = { 0, EXTENDED, 0x40000000 };
	char what[64];
	struct call call;

	walk_name("commands");
	for (size_t i = 0; i < 3; i++) {
		for (uint32_t n = 0; n < NB_COMMANDS; n++) {
			call = command(classes[i] | n, NULL, 0, NULL, 0);
			snprintf(what, sizeof(what), "0x%x without input",
				 classes[i] | n);
			walk_result(run(fd, &call), what);
		}
	}
}

void
walk_envelope(void)
{
	int fd;

	without_context();
	get_context();
	fd = uverbs_open_context();
	header(fd);
	attributes(fd);
	methods(fd);
	commands(fd);
	close(fd);
}
