/* SPDX-License-Identifier: BSD-3-Clause */

/* Messages about modelled netdevs: need no lock, are async-signal-safe. */

#ifndef MODEL_LINK_MESSAGE_H
#define MODEL_LINK_MESSAGE_H

#include "kernel.h"
#include "nl_write.h"

#define LINK_MESSAGE_MAX_BYTES 2000 /* with any name and all attributes */

struct link_message {
	uint16_t type; /* RTM_NEWLINK, RTM_DELLINK */
	uint16_t flags; /* NLM_F_* */
	uint32_t seq;
	uint32_t change; /* ifi_change: the changed IFF_* */
	uint32_t ext_mask; /* RTEXT_FILTER_* of the request */
	uint32_t event; /* IFLA_EVENT_* */
};

/* Append the message, of up to LINK_MESSAGE_MAX_BYTES. */
void link_message_write(struct nl_write *w, const struct link_message *how,
			const struct kernel_netdev *netdev);
/* Notify the sockets in RTNLGRP_LINK. Of how, type, change and event apply. */
void link_message_notify(const struct link_message *how,
			 const struct kernel_netdev *netdev);

#endif /* MODEL_LINK_MESSAGE_H */
