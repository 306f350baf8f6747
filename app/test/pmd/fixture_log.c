/* SPDX-License-Identifier: BSD-3-Clause */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rte_log.h>

#include "fixture.h"
#include "fixture_log.h"

#define LOG_LINES 256
#define LOG_CHARS 512
/* EAL has loaded the distribution's driver of the same name, too. */
#define TWO_DRIVERS "two drivers net_mana are loaded"

static struct {
	uint32_t level;
	char text[LOG_CHARS];
} lines[LOG_LINES];
static unsigned int nb_lines;
/* Other threads write, too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *announced;
static char unexpected[LOG_CHARS];

const char *fx_known_error;

static bool
contains(const char *text, size_t size, const char *part)
{
	return part != NULL && memmem(text, size, part, strlen(part)) != NULL;
}

/* EAL writes one message per call. The C library passes it on at the end of the line. */
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
	     (level <= (int)RTE_LOG_WARNING && contains(text, size, "MANA:"))) &&
	    unexpected[0] == '\0' && !contains(text, size, TWO_DRIVERS) &&
	    !contains(text, size, fx_known_error) && !contains(text, size, announced))
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
	/* glibc from 2.37 on splits long messages of an unbuffered stream. */
	setvbuf(stream, NULL, _IOLBF, BUFSIZ);
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
