/* SPDX-License-Identifier: BSD-3-Clause */

/* The envelopes of ioctl and write, and which methods and commands exist. */

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

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
	walk_result(uverbs_alloc_pd(fd, BY_IOCTL, &pd), "a PD");
	uverbs_alloc_pd(fd, BY_IOCTL, &other);
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
	walk_result(uverbs_alloc_pd(fd, BY_IOCTL, &pd), "alloc_pd by ioctl");
	walk_result(uverbs_alloc_pd(fd, BY_WRITE, &pd), "alloc_pd by write");
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
	struct ib_uverbs_get_context in = { 0 };
	struct ib_uverbs_get_context_resp out = { 0 };
	struct uverbs_command c = uverbs_make(IB_USER_VERBS_CMD_GET_CONTEXT,
					      &in, sizeof(in), &out,
					      sizeof(out));
	uint32_t vectors = 0;
	uint64_t support = 0;
	struct call call;
	int fd, error;

	walk_name("get_context");
	for (enum uverbs_how how = BY_IOCTL; how <= BY_WRITE; how++) {
		fd = uverbs_open();
		error = uverbs_command(fd, how, &c);
		walk_say(error,
			 how == BY_IOCTL ? "command by ioctl" : "command by write",
			 "async_fd %s", out.async_fd > 2 ? "fd" : "none");
		walk_note("comp vectors of that", "%u", out.num_comp_vectors);
		close((int)out.async_fd);
		close(fd);
	}
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
	struct ib_uverbs_cmd_hdr hdr = { .in_words = 2 };
	char what[64];
	struct call call;

	walk_name("commands");
	for (size_t i = 0; i < 3; i++) {
		for (uint32_t n = 0; n < NB_COMMANDS; n++) {
			call = command(classes[i] | n, NULL, 0, NULL, 0);
			hdr.command = classes[i] | n;
			snprintf(what, sizeof(what),
				 "0x%x without input, ioctl and write",
				 classes[i] | n);
			walk_note(what, "%s %s", walk_errno(run(fd, &call)),
				  walk_errno(write(fd, &hdr, sizeof(hdr)) < 0 ?
						     errno :
						     0));
		}
	}
}

static int
write_words(int fd, const void *data, size_t nb_bytes)
{
	return write(fd, data, nb_bytes) < 0 ? errno : 0;
}

static void
write_header(int fd)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint64_t response, more[4];
	} in;
	uint64_t out = 0;
	const struct ib_uverbs_cmd_hdr good = {
		.command = IB_USER_VERBS_CMD_ALLOC_PD,
		.in_words = 4,
		.out_words = 1,
	};

	walk_name("write header");
	memset(&in, 0, sizeof(in));
	in.hdr = good;
	in.response = (uintptr_t)&out;
	walk_result(write_words(fd, &in, 4), "4 bytes");
	walk_result(write_words(fd, &in, 0), "0 bytes");
	walk_result(write_words(fd, &in, 24), "more bytes than in_words");
	walk_result(write_words(fd, &in, 8), "fewer bytes than in_words");
	in.hdr.in_words = 2;
	walk_result(write_words(fd, &in, 8), "no input");
	in.hdr = good;
	in.hdr.out_words = 0;
	walk_result(write_words(fd, &in, 16), "no output");
	in.hdr = good;
	in.response = 0;
	walk_result(write_words(fd, &in, 16), "response is 0");
	in.response = WALK_UNMAPPED;
	walk_result(write_words(fd, &in, 16), "response is unmapped");
	in.hdr.command = 0x3f;
	walk_result(write_words(fd, &in, 16), "unknown command");
	in.hdr.command = 0x01000000 | good.command;
	walk_result(write_words(fd, &in, 16), "unknown flag");
	in.hdr.command = EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE;
	in.hdr.in_words = 1;
	in.hdr.out_words = 38;
	in.response = (uintptr_t)&out;
	walk_result(write_words(fd, &in, 16), "extended, short header");
	in.more[0] = (uint64_t)1 << 32;
	walk_result(write_words(fd, &in, 32), "extended, reserved = 1");
	in.more[0] = 0;
	in.response = 0;
	walk_result(write_words(fd, &in, 32), "extended, response is 0");
	in.response = (uintptr_t)&out;
	in.hdr.out_words = 0;
	walk_result(write_words(fd, &in, 32), "extended, no output");
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
	write_header(fd);
	methods(fd);
	commands(fd);
	close(fd);
}
