/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * write() on an uverbs file: header, command, driver data. It is translated to
 * a call of INVOKE_WRITE, which has the same parts as attributes. The checks
 * are those of Linux core/uverbs_main.c ib_uverbs_write(), verify_hdr().
 */

#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "clock.h"
#include "kernel.h"
#include "machine.h"
#include "mem.h"
#include "segment.h"
#include "uverbs.h"

/*
 * A header counts words, but an attribute has 16 bits for its size in bytes. No
 * command or driver data is that long; bytes beyond must only be 0.
 */
#define MAX_ATTR_BYTES 0xfff8u

static uint16_t
attr_len(size_t nb_bytes)
{
	return nb_bytes < MAX_ATTR_BYTES ? (uint16_t)nb_bytes : MAX_ATTR_BYTES;
}

static void
add(struct uverbs_call *call, uint16_t id, uint64_t data, size_t nb_bytes)
{
	if (nb_bytes == 0)
		return;
	call->attr[call->nb_attrs++] = (struct ib_uverbs_attr){
		.attr_id = id,
		.len = attr_len(nb_bytes),
		.data = data,
	};
}

static int
add_in(struct uverbs_call *call, uint16_t id, uint64_t from, size_t nb_bytes)
{
	struct ib_uverbs_attr *attr = &call->attr[call->nb_attrs];

	add(call, id, from, nb_bytes);
	return nb_bytes == 0 || nb_bytes > UVERBS_INLINE_BYTES ? 0 :
		       mem_read(model_self, from, &attr->data, nb_bytes);
}

/* The first word of the command is the address of the answer. */
static int
split(struct uverbs_call *call, const struct ib_uverbs_cmd_hdr *hdr,
      uint64_t user, size_t nb_bytes)
{
	const uint64_t from = user + sizeof(*hdr);
	const size_t in_bytes = nb_bytes - sizeof(*hdr);
	const size_t out_bytes = hdr->out_words * 4u;
	struct uverbs_command_bytes core;
	uint64_t answer = 0;
	int rc;

	rc = uverbs_command_bytes(hdr->command, &core);
	if (rc < 0)
		return rc;
	if (hdr->in_words * 4u != nb_bytes)
		return -EINVAL;
	if (in_bytes < core.in || out_bytes < core.out)
		return -ENOSPC;
	rc = add_in(call, UVERBS_ATTR_CORE_IN, from, core.in);
	if (rc == 0)
		rc = add_in(call, UVERBS_ATTR_UHW_IN, from + core.in,
			    in_bytes - core.in);
	if (rc == 0 && core.out > 0)
		rc = mem_read(model_self, from, &answer, sizeof(answer));
	if (rc < 0 || core.out == 0)
		return rc;
	add(call, UVERBS_ATTR_CORE_OUT, answer, core.out);
	add(call, UVERBS_ATTR_UHW_OUT, answer + core.out,
		out_bytes - core.out);
	return 0;
}

/* An extended command has the address in a second header. */
static int
split_ex(struct uverbs_call *call, const struct ib_uverbs_cmd_hdr *hdr,
	 uint64_t user, size_t nb_bytes)
{
	const size_t in_bytes = hdr->in_words * 8u;
	const size_t out_bytes = hdr->out_words * 8u;
	struct ib_uverbs_ex_cmd_hdr ex;
	struct uverbs_command_bytes core;
	uint64_t from = user + sizeof(*hdr) + sizeof(ex);
	int rc;

	rc = uverbs_command_bytes(hdr->command, &core);
	if (rc < 0)
		return rc;
	if (nb_bytes < sizeof(*hdr) + sizeof(ex))
		return -EINVAL;
	rc = mem_read(model_self, user + sizeof(*hdr), &ex, sizeof(ex));
	if (rc < 0)
		return rc;
	if (in_bytes + ex.provider_in_words * 8u !=
	    nb_bytes - sizeof(*hdr) - sizeof(ex))
		return -EINVAL;
	if (in_bytes < core.in)
		return -ENOSPC;
	if (ex.cmd_hdr_reserved != 0)
		return -EINVAL;
	/* An answer needs an address, and an address needs an answer. */
	if ((ex.response != 0) !=
	    (hdr->out_words != 0 || ex.provider_out_words != 0))
		return -EINVAL;
	/* Without an address no room is needed. */
	if (ex.response != 0 && out_bytes < core.out)
		return -ENOSPC;
	rc = add_in(call, UVERBS_ATTR_CORE_IN, from, in_bytes);
	if (rc == 0)
		rc = add_in(call, UVERBS_ATTR_UHW_IN, from + in_bytes,
			    ex.provider_in_words * 8u);
	if (rc < 0)
		return rc;
	add(call, UVERBS_ATTR_CORE_OUT, ex.response, out_bytes);
	add(call, UVERBS_ATTR_UHW_OUT, ex.response + out_bytes,
		ex.provider_out_words * 8u);
	return 0;
}

static int
run_write(uint32_t context, uint64_t user, size_t nb_bytes)
{
	struct ib_uverbs_cmd_hdr hdr;
	struct uverbs_call call;
	int rc;

	/* ib_safe_file_access(): a child has its own credentials, too. */
	if (!kernel_context_is_own(context))
		return -EACCES;
	if (nb_bytes < sizeof(hdr))
		return -EINVAL;
	rc = mem_read(model_self, user, &hdr, sizeof(hdr));
	if (rc < 0)
		return rc;
	call.context = context;
	call.user = user;
	call.nb_attrs = 0;
	call.is_by_write = true;
	call.shown.is_shown = false;
	memset(call.changed, 0, sizeof(call.changed));
	add(&call, UVERBS_ATTR_WRITE_CMD, hdr.command, sizeof(uint64_t));
	rc = (hdr.command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0 ?
		     split_ex(&call, &hdr, user, nb_bytes) :
		     split(&call, &hdr, user, nb_bytes);
	if (rc == 0)
		rc = uverbs_run(&call, UVERBS_OBJECT_DEVICE,
				UVERBS_METHOD_INVOKE_WRITE);
	if (!call.shown.is_shown)
		uverbs_begin(&call, "write", " command=0x%x", hdr.command);
	verbs_end(&call.shown, rc);
	return rc;
}

ssize_t
kernel_uverbs_write(uint32_t context, const void *buf, size_t nb_bytes)
{
	int rc;

	segment_lock();
	clock_event();
	segment_unlock();
	rc = run_write(context, (uintptr_t)buf, nb_bytes);
	machine_slow();
	machine_tick();
	return rc < 0 ? rc : (ssize_t)nb_bytes;
}
