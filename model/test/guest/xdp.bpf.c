/* SPDX-License-Identifier: BSD-3-Clause */

/* XDP programs for the guest's interfaces, each in a section of its name. */

#include <linux/bpf.h>

#define PROGRAM(name, action) \
	__attribute__((section(#name), used)) int \
	xdp_##name(struct xdp_md *context) \
	{ \
		(void)context; \
		return action; \
	}

PROGRAM(pass, XDP_PASS)
PROGRAM(drop, XDP_DROP)
PROGRAM(back, XDP_TX)

char _license[] __attribute__((section("license"), used)) = "Dual BSD/GPL";
