/* SPDX-License-Identifier: BSD-3-Clause */

/* What the card does when its time has come. */

#include "inject_card.h"
#include "nic.h"
#include "wire.h"

void
device_timers(uint64_t now_ns)
{
	inject_timers(now_ns);
	wire_timers(now_ns);
	nic_coalesce_flush();
	nic_coalesce_timer(now_ns);
}
