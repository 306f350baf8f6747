/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Dumps of the real kernel that are to be told before those of the model: put
 * on a socket of our own, with the options of the program's.
 */

#ifndef MODEL_NL_RELAY_H
#define MODEL_NL_RELAY_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Pass the messages of the answer to each(), a datagram at a time, without the
 * NLMSG_DONE. False: it ended in an error, which each() had, or with *error.
 */
bool nl_relay_dump(int fd, const struct nlmsghdr *request,
		   void (*each)(void *arg, void *messages, size_t nb_bytes),
		   void *arg, int *error);

#endif /* MODEL_NL_RELAY_H */
