/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RTM_NEWLINK and RTM_DELLINK messages of the modelled netdevs. Without the
 * need of the machine's lock; async-signal-safe.
 */

#ifndef MODEL_LINK_MESSAGE_H
#define MODEL_LINK_MESSAGE_H

#include "kernel.h"
#include "nl_write.h"

#define LINK_MESSAGE_MAX_BYTES 2000 /* with any name and all attributes */

struct link_message {
	uint16_t type; /* RTM_NEWLINK, RTM_DELLINK */
	uint16_t flags; /* NLM_F_* */
	uint32_t seq;
	uint32_t change; /* ifi_change: the IFF_* that are new */
	uint32_t ext_mask; /* RTEXT_FILTER_* of the request */
};

/* Append the message; w->is_full when it has no room. */
void link_message_write(struct nl_write *w, const struct link_message *how,
			const struct kernel_netdev *netdev);
/* Tell those who have joined RTNLGRP_LINK. */
void link_message_notify(const struct kernel_netdev *netdev, uint16_t type,
			 uint32_t change);

#endif /* MODEL_LINK_MESSAGE_H */
