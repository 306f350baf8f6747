/* SPDX-License-Identifier: BSD-3-Clause */

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"
#include "kernel_state.h"
#include "privileges.h"

/* Whether the thread has an effective capability, below 32. True on an error. */
static bool
has_capability(unsigned int capability)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &header, data) != 0 ||
	       (data[0].effective >> capability & 1) != 0;
}

static bool
has(bool is_revoked, unsigned int capability)
{
	return !is_revoked && (!segment_config()->own_privileges ||
			       has_capability(capability));
}

bool
privileges_net_raw(void)
{
	return has(segment_kernel()->no_net_raw, CAP_NET_RAW);
}

bool
privileges_ipc_lock(void)
{
	return has(segment_kernel()->no_ipc_lock, CAP_IPC_LOCK);
}
