/* SPDX-License-Identifier: BSD-3-Clause */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_log.h>

#include "fixture.h"
#include "fixture_log.h"

#define LOG_LINES 256
#define LOG_CHARS 256

static struct {
	uint32_t level;
	char text[LOG_CHARS];
} lines[LOG_LINES];
static unsigned int nb_lines;
/* Other threads write, too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *announced;
static char unexpected[LOG_CHARS];

/* EAL writes one message per call, because the stream is unbuffered. */
static ssize_t
log_write(void *cookie __rte_unused, const char *text, size_t size)
{
	int level = rte_log_cur_msg_loglevel();

	fwrite(text, 1, size, stdout);
	if (level < 0)
		return size;
	pthread_mutex_lock(&lock);
	if (nb_lines < LOG_LINES) {
		lines[nb_lines].level = level;
		snprintf(lines[nb_lines].text, LOG_CHARS, "%.*s", (int)size, text);
		nb_lines++;
	}
	/* A driver warning counts, too: kernel objects remain. */
	if ((level <= (int)RTE_LOG_ERR ||
	     (level <= (int)RTE_LOG_WARNING &&
	      memmem(text, size, "MANA:", 5) != NULL)) &&
	    unexpected[0] == '\0' &&
	    (announced == NULL || memmem(text, size, announced, strlen(announced)) == NULL))
		snprintf(unexpected, sizeof(unexpected), "%.*s", (int)size, text);
	pthread_mutex_unlock(&lock);
	return size;
}

int
fx_log_open(void)
{
	static const cookie_io_functions_t functions = { .write = log_write };
	FILE *stream = fopencookie(NULL, "w", functions);

	if (stream == NULL)
		return -1;
	setvbuf(stream, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	return rte_openlog_stream(stream);
}

void
fx_log_reset(void)
{
	nb_lines = 0;
	announced = NULL;
	unexpected[0] = '\0';
}

void
fx_log_check(void)
{
	if (unexpected[0] != '\0')
		fail_msg("unexpected error: %s", unexpected);
}

void
fx_expect_error(const char *text)
{
	announced = text;
}

unsigned int
fx_nb_logged(uint32_t level, const char *text)
{
	unsigned int nb = 0;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < nb_lines; i++)
		nb += lines[i].level <= level && strstr(lines[i].text, text) != NULL;
	pthread_mutex_unlock(&lock);
	return nb;
}
