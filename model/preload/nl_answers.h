/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Answers of the modelled kernel that wait in this process until the program
 * receives the placeholder that the real kernel has queued for them.
 */

#ifndef MODEL_NL_ANSWERS_H
#define MODEL_NL_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nl_answer {
	struct nl_answer *next;
	int fd;
	uint32_t placeholder; /* sequence number of the NLMSG_NOOP */
	uint32_t nb_bytes;
	char data[];
};

/* Whether any is waiting; cheap. */
bool nl_answers_any(void);
/* NULL: no memory. Its data is the caller's to fill, before the placeholder. */
struct nl_answer *nl_answers_add(int fd, const void *data, size_t nb_bytes);
/* Take one out of the list (free() it then), or only look at it. */
struct nl_answer *nl_answers_find(int fd, uint32_t placeholder, bool take);
/* The socket is closed. */
void nl_answers_drop(int fd);
/* In the child: what waits is for the parent's sockets. */
void nl_answers_after_fork(void);

#endif /* MODEL_NL_ANSWERS_H */
