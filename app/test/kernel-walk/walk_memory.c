/* SPDX-License-Identifier: BSD-3-Clause */

/* Protection domains and memory regions. */

#include <linux/capability.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "uverbs.h"

#define KI  (UINT64_C(1) << 10)
#define MI  (UINT64_C(1) << 20)
#define END (WALK_RAM + WALK_RAM_BYTES)

#define MR(member, value) SET(struct uverbs_mr, member, value)
#define AT(address)	  MR(start, address), MR(hca_va, address)

static const struct walk_variant regions[] = {
	{ "4 KiB", { { 0 } } },
	{ "length 0", { MR(length, 0) } },
	{ "length 1", { MR(length, 1) } },
	{ "length 8 MiB", { MR(length, 8 * MI) } },
	{ "8 MiB + 1 behind 64 bytes",
	  { AT(WALK_RAM + 64), MR(length, 8 * MI + 1) } },
	{ "unaligned", { AT(WALK_RAM + 0x123), MR(length, 0x2345) } },
	{ "HCA address elsewhere", { MR(hca_va, 0x10000) } },
	{ "HCA address 0", { MR(hca_va, 0) } },
	{ "HCA address of other offset", { MR(hca_va, WALK_RAM + 64) } },
	{ "HCA address wraps", { MR(hca_va, -4096), MR(length, 8192) } },
	{ "unmapped", { AT(WALK_UNMAPPED) } },
	{ "end is unmapped", { AT(END - 4096), MR(length, 8192) } },
	{ "no access", { AT(WALK_NO_ACCESS) } },
	{ "read-only memory", { AT(WALK_READ_ONLY) } },
	{ "read-only memory and access", { AT(WALK_READ_ONLY), MR(access, 0) } },
	{ "address 0", { AT(0) } },
	{ "kernel address", { AT(UINT64_C(0xffff888000000000)) } },
	{ "length 2^63", { MR(length, UINT64_C(1) << 63) } },
	{ "length 2^64 - 4096", { MR(length, -4096) } },
	{ "length 2^64 - 1", { MR(length, -1) } },
	{ "unknown PD", { MR(pd, NO_HANDLE) } },
	{ "access 0", { MR(access, 0) } },
	{ "access REMOTE_WRITE", { MR(access, 2) } },
	{ "access LOCAL_WRITE REMOTE_WRITE", { MR(access, 3) } },
	{ "access REMOTE_READ", { MR(access, 4) } },
	{ "access LOCAL_WRITE REMOTE_WRITE REMOTE_READ", { MR(access, 7) } },
	{ "access REMOTE_ATOMIC", { MR(access, 8) } },
	{ "access LOCAL_WRITE REMOTE_ATOMIC", { MR(access, 9) } },
	{ "access MW_BIND", { MR(access, 0x11) } },
	{ "access ZERO_BASED", { MR(access, 0x21), MR(hca_va, 0) } },
	{ "access ON_DEMAND", { MR(access, 0x41) } },
	{ "access HUGETLB", { MR(access, 0x81) } },
	{ "access FLUSH_GLOBAL", { MR(access, 0x101) } },
	{ "access FLUSH_PERSISTENT", { MR(access, 0x201) } },
	{ "access bit 10", { MR(access, 0x401) } },
	{ "access RELAXED_ORDERING", { MR(access, 0x100001) } },
	{ "access bit 29, optional", { MR(access, 0x20000001) } },
	{ "access bit 30", { MR(access, 0x40000001) } },
	{ NULL, { { 0 } } },
};

static void
register_region(int fd, uint32_t pd, const struct walk_variant *variant)
{
	struct uverbs_mr mr = uverbs_good_mr(pd);
	int error;

	walk_apply(variant, &mr);
	error = uverbs_reg_mr(fd, &mr);
	walk_say(error, variant->what, "lkey %s, rkey %s", walk_id(mr.lkey),
		 mr.rkey == mr.lkey ? "the same" : walk_id(mr.rkey));
	if (error != 0)
		return;
	error = uverbs_destroy(fd, UVERBS_OBJECT_MR, mr.handle);
	if (error != 0)
		walk_result(error, "destroy it");
}

/* A file, memory that is shared, and memory that is mapped twice. */
static void
register_file(int fd, uint32_t pd)
{
	struct uverbs_mr mr = { .length = 64 * KI, .pd = pd, .access = 1 };
	int file = memfd_create("walk", MFD_CLOEXEC);
	int error, rc = ftruncate(file, 32 * KI);
	void *where;

	if (rc < 0)
		return;
	where = mmap(NULL, 64 * KI, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	mr.start = mr.hca_va = (uintptr_t)where;
	walk_result(uverbs_reg_mr(fd, &mr),
		    "memfd, mapped beyond its end");
	mr.length = 32 * KI;
	error = uverbs_reg_mr(fd, &mr);
	walk_result(error, "memfd");
	munmap(where, 64 * KI);
	if (error == 0)
		uverbs_try_destroy(fd, UVERBS_OBJECT_MR, mr.handle,
				   "memfd, unmapped before destruction");
	close(file);
}

/* RLIMIT_MEMLOCK counts only without CAP_IPC_LOCK. */
static void
register_limited(int fd, uint32_t pd)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];
	const struct rlimit limit = { 64 * KI, 64 * KI };
	struct uverbs_mr mr = {
		.start = WALK_RAM,
		.hca_va = WALK_RAM,
		.length = 64 * KI + 1,
		.pd = pd,
		.access = 1,
	};

	fflush(stdout);
	if (fork() != 0) {
		wait(NULL);
		return;
	}
	if (syscall(SYS_capget, &header, data) < 0)
		_exit(1);
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	data[0].permitted &= ~(1u << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &header, data) < 0 ||
	    setrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		_exit(1);
	walk_result(uverbs_reg_mr(fd, &mr), "above RLIMIT_MEMLOCK");
	mr.length = 4 * KI;
	walk_result(uverbs_reg_mr(fd, &mr), "below RLIMIT_MEMLOCK");
	uverbs_try_destroy(fd, UVERBS_OBJECT_MR, mr.handle, "destroy it");
	fflush(stdout);
	_exit(0);
}

static void
unwritable(int fd, uint32_t pd)
{
	struct ib_uverbs_reg_mr in = {
		.start = WALK_RAM,
		.length = 4 * KI,
		.hca_va = WALK_RAM,
		.pd_handle = pd,
		.access_flags = 1,
	};
	struct uverbs_command c =
		uverbs_make(IB_USER_VERBS_CMD_REG_MR, &in, sizeof(in),
			    (void *)(uintptr_t)WALK_UNMAPPED,
			    sizeof(struct ib_uverbs_reg_mr_resp));

	walk_result(uverbs_command(fd, &c), "answer is unmapped");
	c.out = (void *)(uintptr_t)WALK_READ_ONLY;
	walk_result(uverbs_command(fd, &c), "answer is read-only");
	c.out = &in;
	c.out_bytes = 8;
	walk_result(uverbs_command(fd, &c), "answer of 8 bytes");
	c.in_bytes = 32;
	walk_result(uverbs_command(fd, &c), "request of 32 bytes");
}

void
walk_memory(void)
{
	const struct walk_variant *variant;
	int fd = uverbs_open_context();
	struct uverbs_mr mr;
	uint32_t pd = 0;

	walk_name("reg_mr by ioctl");
	uverbs_alloc_pd(fd, &pd);
	for (variant = regions; variant->what != NULL; variant++)
		register_region(fd, pd, variant);
	uverbs_try_destroy(fd, UVERBS_OBJECT_PD, pd, "destroy the PD");
	walk_name("reg_mr");
	uverbs_alloc_pd(fd, &pd);
	register_file(fd, pd);
	register_limited(fd, pd);
	unwritable(fd, pd);
	mr = uverbs_good_mr(pd);
	walk_result(uverbs_reg_mr(fd, &mr), "one of two of the same");
	walk_result(uverbs_reg_mr(fd, &mr), "two of two of the same");
	uverbs_try_destroy(fd, UVERBS_OBJECT_PD, pd,
			   "destroy the PD with regions");
	uverbs_try_destroy(fd, UVERBS_OBJECT_MR, mr.handle, "destroy");
	uverbs_try_destroy(fd, UVERBS_OBJECT_MR, mr.handle, "destroy again");
	close(fd);
}
