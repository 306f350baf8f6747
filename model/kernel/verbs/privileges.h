/* SPDX-License-Identifier: BSD-3-Clause */

/* Privileges of the calling thread, as the imitated kernel sees them. */

#ifndef MODEL_PRIVILEGES_H
#define MODEL_PRIVILEGES_H

#include <stdbool.h>

/* CAP_NET_RAW, for raw QPs; CAP_IPC_LOCK, to pin memory above RLIMIT_MEMLOCK. */
bool privileges_net_raw(void);
bool privileges_ipc_lock(void);

#endif /* MODEL_PRIVILEGES_H */
