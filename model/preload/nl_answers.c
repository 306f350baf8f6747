/* SPDX-License-Identifier: BSD-3-Clause */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nl_answers.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct nl_answer *answers; /* oldest first */
static uint32_t last_placeholder = 0x4d4e0000;

bool
nl_answers_any(void)
{
	return __atomic_load_n(&answers, __ATOMIC_ACQUIRE) != NULL;
}

struct nl_answer *
nl_answers_add(int fd, const void *data, size_t nb_bytes)
{
	struct nl_answer **last, *answer;

	answer = malloc(sizeof(*answer) + nb_bytes);
	if (answer == NULL)
		return NULL;
	answer->next = NULL;
	answer->fd = fd;
	answer->nb_bytes = nb_bytes;
	memcpy(answer->data, data, nb_bytes);

	pthread_mutex_lock(&mutex);
	answer->placeholder = ++last_placeholder;
	for (last = &answers; *last != NULL; last = &(*last)->next)
		continue;
	*last = answer;
	pthread_mutex_unlock(&mutex);
	return answer;
}

struct nl_answer *
nl_answers_find(int fd, uint32_t placeholder, bool take)
{
	struct nl_answer **at, *found;

	pthread_mutex_lock(&mutex);
	for (at = &answers; *at != NULL; at = &(*at)->next)
		if ((*at)->fd == fd && (*at)->placeholder == placeholder)
			break;
	found = *at;
	if (found != NULL && take)
		*at = found->next;
	pthread_mutex_unlock(&mutex);
	return found;
}

void
nl_answers_drop(int fd)
{
	struct nl_answer **at, *gone;

	pthread_mutex_lock(&mutex);
	for (at = &answers; *at != NULL;) {
		if ((*at)->fd != fd) {
			at = &(*at)->next;
			continue;
		}
		gone = *at;
		*at = gone->next;
		free(gone);
	}
	pthread_mutex_unlock(&mutex);
}

void
nl_answers_after_fork(void)
{
	pthread_mutex_init(&mutex, NULL);
	answers = NULL;
}
