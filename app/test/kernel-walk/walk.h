/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Common parts of the walk: its output, its memory, its RDMA device, and tables
 * of requests that differ in one or two members.
 */

#ifndef KERNEL_WALK_H
#define KERNEL_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Output: one line for each step ---- */

/* The text before the colon of the lines that follow. */
void walk_name(const char *name);
/*
 * Print "NAME: WHAT -> ok ANSWER", or "NAME: WHAT -> ERRNO" if error, a
 * positive errno, is not 0. The format is of ANSWER.
 */
void walk_say(int error, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void walk_result(int error, const char *what);
/* Print "NAME: WHAT -> ANSWER". */
void walk_note(const char *what, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *walk_errno(int error);
/* An identifier that the kernel or the adapter chooses: "0", "none", "id". */
const char *walk_id(uint32_t value);
/* A path or text in which the machine's own names are replaced by symbols. */
const char *walk_symbols(const char *text);

/* Have run-walk.py run a command of mana-model, and wait until it is done. */
void walk_ctl(const char *command);

/* ---- Addresses that all runs share ---- */

#define WALK_RAM	UINT64_C(0x200000000000) /* readable, writable; zeroed */
#define WALK_RAM_BYTES	(UINT64_C(16) << 20) /* unmapped behind it */
#define WALK_READ_ONLY	UINT64_C(0x200100000000)
#define WALK_NO_ACCESS	UINT64_C(0x200200000000)
#define WALK_UNMAPPED	UINT64_C(0x200300000000)
#define WALK_AREA_BYTES 65536 /* of the read-only and of the other area */
void walk_map_memory(void);

/* ---- The function under test ---- */

#define WALK_MAX_PORTS 16

struct walk_device {
	char rdma[64]; /* name of the RDMA device for raw QPs */
	char uverbs[64]; /* name of its node in /dev/infiniband */
	char pci[64]; /* PCI address */
	uint32_t nb_ports; /* with a netdev */
	char netdev[WALK_MAX_PORTS][64]; /* by dev_port */
	uint32_t ifindex[WALK_MAX_PORTS];
};
extern struct walk_device walk_device;
/* Find it in sysfs. Ends the program with a message if there is none. */
void walk_find_device(void);
/* The same; false if there is none now. */
bool walk_try_device(void);
/* Milliseconds without a message after which no more are expected. */
extern int walk_settle_ms;
/* Wait as long: a kernel announces a carrier later. */
void walk_settle(void);

/* ---- Requests by deviation from a good one ---- */

struct walk_change {
	uint16_t offset, nb_bytes;
	uint64_t value;
};
#define SET(type, member, value)                                        \
	{                                                               \
		offsetof(type, member), sizeof(((type *)NULL)->member), \
			(uint64_t)(value)                               \
	}
struct walk_variant {
	const char *what; /* NULL ends a table */
	struct walk_change change[4];
};
void walk_apply(const struct walk_variant *variant, void *request);

/* ---- The parts ---- */

void walk_envelope(void);
void walk_query(void);
void walk_memory(void);
void walk_queues(void);
void walk_qp(void);
void walk_rss(void);
void walk_files(void);
void walk_netdev(void);
void walk_rtnetlink(void);
void walk_link(void);
void walk_reset(void);
/* Print the link events that a step has caused. */
void walk_events(int events, const char *what);
void walk_rdma_netlink(void);
void walk_sysfs(void);

#endif /* KERNEL_WALK_H */
