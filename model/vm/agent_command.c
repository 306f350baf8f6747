/* SPDX-License-Identifier: BSD-3-Clause */

/* One command of the guest: its start, its streams, its end. */

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "agent.h"

/* Returns the next string of a message, or NULL if it has none. */
static char *
next_string(char **at, char *end)
{
	char *string = *at;
	char *zero = memchr(string, '\0', end - string);

	if (zero == NULL)
		return NULL;
	*at = zero + 1;
	return string;
}

static void __attribute__((noreturn))
exec_command(char **arguments, const char *folder, char **variables)
{
	sigset_t none;
	int error;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	for (; *variables != NULL; variables++)
		putenv(*variables);
	if (chdir(folder) != 0) {
		fprintf(stderr, "mana-vm: the guest has no folder %s: %s\n",
			folder, strerror(errno));
		_exit(125);
	}
	/* execvp() gives programs of another architecture to the shell. */
	if (strchr(arguments[0], '/') != NULL)
		execv(arguments[0], arguments);
	else
		execvp(arguments[0], arguments);
	error = errno;
	fprintf(stderr, "mana-vm: cannot run %s in the guest: %s\n",
		arguments[0], strerror(error));
	/* As shells and env have it. */
	_exit(error == ENOENT ? 127 : 126);
}

/* ends[0] is ours, ends[1] the command's. */
static void
open_output(int ends[2], bool is_terminal)
{
	struct termios raw;

	if (!is_terminal) {
		if (pipe2(ends, O_CLOEXEC) != 0)
			die("pipe: %s", strerror(errno));
		return;
	}
	memset(&raw, 0, sizeof(raw));
	cfmakeraw(&raw);
	raw.c_cflag = CS8 | CREAD;
	if (openpty(&ends[0], &ends[1], NULL, &raw, NULL) != 0)
		die("openpty: %s", strerror(errno));
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
}

static void
start_streams(struct command *c, uint32_t flags, char **arguments,
	      const char *folder, char **variables)
{
	bool is_shared = (flags & START_OUT_TERMINAL) != 0 &&
			 (flags & START_ERR_TERMINAL) != 0;
	int in[2], out[2], err[2] = { -1, -1 };

	if (pipe2(in, O_CLOEXEC) != 0)
		die("pipe: %s", strerror(errno));
	open_output(out, flags & START_OUT_TERMINAL);
	if (!is_shared)
		open_output(err, flags & START_ERR_TERMINAL);
	c->pid = fork();
	if (c->pid == 0) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(is_shared ? out[1] : err[1], 2);
		exec_command(arguments, folder, variables);
	}
	close(in[0]);
	close(out[1]);
	if (!is_shared)
		close(err[1]);
	c->in = in[1];
	c->out = out[0];
	c->err = err[0];
}

static void
start_terminal(struct command *c, const struct start *start, char **arguments,
	       const char *folder, char **variables)
{
	struct winsize size = {
		.ws_row = start->nb_rows,
		.ws_col = start->nb_columns,
	};
	int terminal;

	c->pid = forkpty(&terminal, NULL, NULL, &size);
	if (c->pid == 0)
		exec_command(arguments, folder, variables);
	fcntl(terminal, F_SETFD, FD_CLOEXEC);
	c->in = c->out = terminal;
	c->err = -1;
}

static void
start_process(struct command *c, const struct start *start, char **arguments,
	      const char *folder, char **variables)
{
	c->is_tty = (start->flags & START_TERMINAL) != 0;
	if (c->is_tty)
		start_terminal(c, start, arguments, folder, variables);
	else
		start_streams(c, start->flags, arguments, folder, variables);
	if (c->pid < 0)
		die("fork: %s", strerror(errno));
	fcntl(c->in, F_SETFL, O_NONBLOCK);
	fcntl(c->out, F_SETFL, O_NONBLOCK);
	if (c->err >= 0)
		fcntl(c->err, F_SETFL, O_NONBLOCK);
}

bool
command_start(struct command *c, char *bytes, size_t nb_bytes)
{
	char *at = bytes + sizeof(struct start), *end = bytes + nb_bytes;
	const char *folder = NULL;
	char **arguments, **variables;
	struct start start;
	bool is_valid = true;

	if (c->pid != 0 || nb_bytes < sizeof(start))
		return false;
	memcpy(&start, bytes, sizeof(start));
	if (start.nb_arguments == 0 || start.nb_arguments > nb_bytes ||
	    start.nb_variables > nb_bytes)
		return false;
	arguments = calloc(start.nb_arguments + 1, sizeof(*arguments));
	variables = calloc(start.nb_variables + 1, sizeof(*variables));
	if (arguments == NULL || variables == NULL)
		die("no memory for %u arguments", start.nb_arguments);
	for (uint32_t i = 0; is_valid && i < start.nb_arguments; i++)
		is_valid = (arguments[i] = next_string(&at, end)) != NULL;
	is_valid = is_valid && (folder = next_string(&at, end)) != NULL;
	for (uint32_t i = 0; is_valid && i < start.nb_variables; i++)
		is_valid = (variables[i] = next_string(&at, end)) != NULL;
	if (is_valid)
		start_process(c, &start, arguments, folder, variables);
	free(arguments);
	free(variables);
	return is_valid;
}

static void
close_input(struct command *c)
{
	static const char end_of_file = 4; /* Ctrl-D */

	if (c->in < 0)
		return;
	if (c->is_tty) {
		/* The terminal remains open for output. */
		if (write(c->in, &end_of_file, 1) < 0)
			return;
	} else {
		close(c->in);
	}
	c->in = -1;
}

void
command_input(struct command *c, const void *bytes, size_t nb_bytes)
{
	if (nb_bytes == 0)
		c->input_ended = true;
	buffer_add(&c->input, bytes, nb_bytes);
}

void
command_signal(const struct command *c, int number)
{
	/* Before its setsid() the command is in our process group. */
	if (kill(-c->pid, number) != 0)
		kill(c->pid, number);
}

void
command_window(const struct command *c, uint16_t nb_rows, uint16_t nb_columns)
{
	struct winsize size = {
		.ws_row = nb_rows,
		.ws_col = nb_columns,
	};

	if (c->is_tty && c->out >= 0)
		ioctl(c->out, TIOCSWINSZ, &size);
}

void
command_feed(struct command *c)
{
	size_t nb_before = buffer_left(&c->input);

	if (c->in >= 0 && !buffer_write(&c->input, c->in))
		close_input(c);
	if (c->in < 0) /* It reads no more: drop the rest. */
		c->input.nb_done = c->input.nb_bytes;
	if (nb_before > buffer_left(&c->input))
		send_number(MSG_CREDIT, c->channel,
			    nb_before - buffer_left(&c->input));
	if (c->input_ended && buffer_left(&c->input) == 0)
		close_input(c);
}

/* Returns false at the end of the stream. */
static bool
read_stream(const struct command *c, int fd, enum message_type type)
{
	uint8_t bytes[READ_BYTES];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n > 0)
		send_message(type, c->channel, bytes, n);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void
command_read(struct command *c)
{
	if (c->out >= 0 && !read_stream(c, c->out, MSG_STDOUT)) {
		if (c->is_tty)
			c->in = -1;
		close(c->out);
		c->out = -1;
	}
	if (c->err >= 0 && !read_stream(c, c->err, MSG_STDERR)) {
		close(c->err);
		c->err = -1;
	}
}

/*
 * Processes that the command has left in the background may still hold its streams:
 * they are closed, and the channel is free.
 */
void
command_finish(struct command *c)
{
	/* A pipe holds 64 KiB at most, a terminal gives 4 KiB in a read. */
	for (int i = 0; i < 32; i++)
		command_read(c);
	send_number(MSG_EXIT, c->channel, c->exit_status);
	if (c->in >= 0 && c->in != c->out)
		close(c->in);
	if (c->out >= 0)
		close(c->out);
	if (c->err >= 0)
		close(c->err);
	free(c->input.bytes);
	*c = (struct command){ .channel = c->channel,
			       .in = -1,
			       .out = -1,
			       .err = -1 };
}
