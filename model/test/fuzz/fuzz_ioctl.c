/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * ioctl() calls with any bytes on an uverbs file give a result or an error;
 * after close nothing is left.
 *
 * An input is a list of calls. An input cannot contain valid addresses, so each
 * attribute selects its data (see attribute_data()).
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "clock.h"
#include "card.h"
#include "fault.h"
#include "fuzz.h"
#include "kernel.h"
#include "kernel_state.h"
#include "violation_log.h"
#include "mana_abi.h"
#include "mem.h"

#define MAX_ATTRS   20
#define MAX_CALLS   24
#define ARENA_BYTES (16u << 10)
#define RINGS_BYTES (128u << 10)
#define PAGE	    4096u

struct call {
	struct ib_uverbs_ioctl_hdr header;
	struct ib_uverbs_attr attr[MAX_ATTRS];
};

static uint8_t *arena; /* data of attributes, followed by a guard page */
static uint32_t arena_used;
static uint8_t *rings; /* memory to register and for rings */
static int event_fds[2 * MAX_CALLS];
static uint32_t nb_event_fds;

/* libFuzzer reports and keeps the input of an abort(). */
static void
on_fault(int sig, siginfo_t *info, void *ucontext)
{
	(void)sig;
	(void)info;
	if (!mem_fault_fixup(ucontext))
		abort();
}

static void
event_file_opened(int fd, bool is_async)
{
	(void)is_async;
	FUZZ_CHECK(nb_event_fds < sizeof(event_fds) / sizeof(event_fds[0]));
	event_fds[nb_event_fds++] = fd;
}

static uint8_t *
map(size_t nb_bytes)
{
	uint8_t *p = mmap(NULL, nb_bytes + PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	FUZZ_CHECK(p != MAP_FAILED);
	mprotect(p + nb_bytes, PAGE, PROT_NONE);
	return p;
}

/*
 * Allocate a piece that ends where the last one begins; the first one ends at
 * the guard page.
 */
static uint8_t *
arena_take(uint32_t nb_bytes)
{
	if (nb_bytes > ARENA_BYTES - arena_used)
		return arena;
	arena_used += nb_bytes;
	return arena + ARENA_BYTES - arena_used;
}

/*
 * libFuzzer puts addresses of this program into inputs. Writes to such an
 * address would be correct behaviour of the kernel, but crash the fuzzer: keep
 * only addresses of the memory meant for it.
 */
static uint64_t
harmless(uint64_t value)
{
	const bool is_address = value >> 40 != 0 && value >> 47 == 0;

	if (is_address && value - (uintptr_t)rings >= RINGS_BYTES)
		value |= UINT64_C(1) << 62;
	return value;
}

static void
make_harmless(uint8_t *piece, uint32_t nb_bytes)
{
	uint64_t value;

	for (uint32_t at = 0; at + sizeof(value) <= nb_bytes;
	     at += sizeof(value)) {
		memcpy(&value, piece + at, sizeof(value));
		value = harmless(value);
		memcpy(piece + at, &value, sizeof(value));
	}
}

/*
 * Address of a ring, page-aligned: in the memory for rings or its guard page,
 * never in memory of the fuzzer, because an output attribute may have it.
 */
static uint64_t
ring_address(struct fuzz_input *in)
{
	return (uintptr_t)rings +
	       fuzz_u8(in) % (RINGS_BYTES / PAGE + 1) * PAGE;
}

/* buf_addr, size, port: driver data of create_qp and create_wq. */
static void
put_ring(uint8_t *to, uint32_t room, struct fuzz_input *in)
{
	struct mana_abi_create_qp ring = {
		.sq_buf_addr = ring_address(in),
		.sq_buf_size = PAGE << (fuzz_u8(in) & 7),
		.port = fuzz_u8(in),
	};

	memset(to, 0, room);
	memcpy(to, &ring, room < sizeof(ring) ? room : sizeof(ring));
}

/* The 8 bytes of an attribute; the low bits of kind select them. */
static uint64_t
attribute_data(uint8_t kind, uint16_t len, struct fuzz_input *in)
{
	const uint64_t bad[] = { 0, 1, (uintptr_t)arena + ARENA_BYTES,
				 (uintptr_t)arena + ARENA_BYTES - 4 };
	uint64_t shift = (uintptr_t)rings, number;
	uint8_t *piece;

	switch (kind & 7) {
	case 0: /* unchanged */
		return harmless(fuzz_u64(in));
	case 1: /* a small number, a handle */
		return fuzz_u8(in);
	case 2: /* address of bytes; with 8, two valid addresses in them */
		piece = arena_take(len);
		fuzz_read(in, piece, len);
		make_harmless(piece, len);
		for (uint32_t at = 8; (kind & 8) != 0 && at <= 24 && at + 8 <= len;
		     at += 16) {
			memcpy(&number, piece + at, sizeof(number));
			number = number % RINGS_BYTES + shift;
			memcpy(piece + at, &number, sizeof(number));
		}
		return (uintptr_t)piece;
	case 3: /* address of room for an answer */
		return (uintptr_t)arena_take(len);
	case 4: /* invalid address */
		return bad[fuzz_u8(in) & 3];
	case 5: /* a descriptor */
		number = fuzz_u8(in);
		return number < nb_event_fds ? (uint64_t)event_fds[number] :
					       number;
	case 6:
		return ring_address(in);
	default:
		piece = arena_take(len);
		put_ring(piece, len, in);
		return (uintptr_t)piece;
	}
}

static void
make_call(struct call *call, struct fuzz_input *in)
{
	const uint8_t how = fuzz_u8(in);

	memset(call, 0, sizeof(*call));
	call->header.object_id = fuzz_u8(in);
	call->header.method_id = fuzz_u8(in);
	call->header.num_attrs = fuzz_u8(in) % (MAX_ATTRS + 1);
	call->header.driver_id = MANA_ABI_DRIVER_ID;
	call->header.length = (uint16_t)(sizeof(call->header) +
					 call->header.num_attrs *
						 sizeof(call->attr[0]));
	for (uint32_t i = 0; i < call->header.num_attrs; i++) {
		struct ib_uverbs_attr *attr = &call->attr[i];
		const uint8_t id = fuzz_u8(in), kind = fuzz_u8(in);

		attr->attr_id = id < 0x80 ? id : 0x1000 + (id & 0x7f);
		attr->len = fuzz_u8(in);
		if ((kind & 0x40) != 0)
			attr->len = (uint16_t)(attr->len << 4);
		attr->flags = kind >> 7;
		attr->data = attribute_data(kind, attr->len, in);
	}
	/* Rarely: a wrong header. */
	if (how >= 0xf0) {
		call->header.length ^= how & 1;
		call->header.reserved1 = how >> 1 & 1;
		call->header.driver_id ^= how >> 2 & 1;
		call->header.reserved2 = how >> 3 & 1;
	}
}

static void
run_calls(uint32_t context, struct fuzz_input *in)
{
	/* At the guard page: a read behind it faults. */
	struct call *call;

	for (uint32_t n = 0; in->nb_left > 0 && n < MAX_CALLS; n++) {
		arena_used = 0;
		call = (struct call *)(void *)(arena_take(sizeof(*call)));
		make_call(call, in);
		FUZZ_CHECK(kernel_uverbs_ioctl(context, call) <= 0);
	}
}

/* Like the shim's close(): close it, then report to the kernel side. */
static void
close_event_file(int fd)
{
	struct stat st;

	FUZZ_CHECK(fstat(fd, &st) == 0);
	close(fd);
	kernel_event_file_closed(st.st_dev, st.st_ino);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const struct model_config config = {
		.name = "fuzz",
		.nb_functions = 1,
		.nb_ports = { 2 },
		.mac_base = { 0x00, 0x0d, 0x3a, 0, 0, 1 },
		.max_mtu = 1500,
		.vp_offset_base = 5,
	};
	struct sigaction action = { .sa_sigaction = on_fault,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };
	const char *tmp = getenv("TMPDIR");
	char dir[256], path[300];

	(void)argc;
	(void)argv;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	arena = map(ARENA_BYTES);
	rings = map(RINGS_BYTES);
	/* devtools/fuzz.sh removes it. */
	snprintf(dir, sizeof(dir), "%s/mana-fuzz-XXXXXX",
		 tmp != NULL ? tmp : "/tmp");
	FUZZ_CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/fd", dir);
	FUZZ_CHECK(mkdir(path, 0700) == 0);
	FUZZ_CHECK(segment_create(dir, &config) == 0);
	clock_init(true);
	FUZZ_CHECK(card_init() == 0 && kernel_init() == 0);
	kernel_event_file_opened = event_file_opened;
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nb_bytes)
{
	struct fuzz_input in = { .bytes = data, .nb_left = nb_bytes };
	struct kernel_leaks objects;
	const struct kernel_leaks nothing = { 0 };
	struct stat st;
	int fd, context;

	/* Clear data of earlier inputs. */
	memset(arena, 0, ARENA_BYTES);
	memset(rings, 0, RINGS_BYTES);
	segment_violation_log()->nb_rows = 0;
	nb_event_fds = 0;
	fd = kernel_context_open(0, O_CLOEXEC);
	FUZZ_CHECK(fd >= 0 && fstat(fd, &st) == 0);
	context = kernel_context_of(st.st_dev, st.st_ino);
	FUZZ_CHECK(context >= 0);
	run_calls((uint32_t)context, &in);
	close(fd);
	kernel_context_released((uint32_t)context, true);
	while (nb_event_fds > 0)
		close_event_file(event_fds[--nb_event_fds]);
	kernel_objects(&objects);
	FUZZ_CHECK(memcmp(&objects, &nothing, sizeof(objects)) == 0);
	FUZZ_CHECK(segment_kernel()->nb_pinned[model_self] == 0);
	return 0;
}
