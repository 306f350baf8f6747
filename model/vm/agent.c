/* SPDX-License-Identifier: BSD-3-Clause */

/* The agent's loop: messages to commands, and what commands write to messages. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"

static struct command commands[NB_CHANNELS];
static bool quit;

static void
power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

void
die(const char *format, ...)
{
	FILE *log = fopen("/dev/kmsg", "w");
	va_list arguments;

	if (log != NULL) {
		va_start(arguments, format);
		fputs("mana-vm-agent: ", log);
		vfprintf(log, format, arguments);
		va_end(arguments);
		fclose(log);
	}
	power_off();
	abort();
}

static void
reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (uint32_t i = 0; i < NB_CHANNELS; i++) {
			if (commands[i].pid != pid)
				continue;
			commands[i].has_ended = true;
			commands[i].exit_status = WIFEXITED(status) ?
							  WEXITSTATUS(status) :
							  128 + WTERMSIG(status);
		}
	}
}

static void
receive_for_command(struct command *c, const struct message_head *head,
		    char *bytes)
{
	uint32_t number = 0;
	uint16_t window[2];

	if (head->nb_bytes >= sizeof(number))
		memcpy(&number, bytes, sizeof(number));
	switch (head->type) {
	case MSG_START:
		if (!command_start(c, bytes, head->nb_bytes))
			send_failure(c->channel,
				     "the message that starts a command is wrong");
		break;
	/* The command may have ended when these arrive. */
	case MSG_STDIN:
		if (c->pid != 0)
			command_input(c, bytes, head->nb_bytes);
		break;
	case MSG_SIGNAL:
		if (c->pid != 0)
			command_signal(c, (int)number);
		break;
	case MSG_WINDOW:
		memcpy(window, &number, sizeof(window));
		command_window(c, window[0], window[1]);
		break;
	default:
		send_failure(c->channel, "message of unknown type %u",
			     head->type);
	}
}

static void
receive(const struct message_head *head, char *bytes)
{
	if (head->channel >= NB_CHANNELS)
		die("message for channel %u", head->channel);
	if (head->type == MSG_QUIT)
		quit = true;
	else
		receive_for_command(&commands[head->channel], head, bytes);
}

static bool
command_runs(void)
{
	for (uint32_t i = 0; i < NB_CHANNELS; i++)
		if (commands[i].pid != 0)
			return true;
	return false;
}

/*
 * After a suspend of the guest the port stays closed: the commands run to their end, and
 * their output is lost.
 */
static void
serve(int port, int signals)
{
	bool has_port = true;

	while (!quit && (has_port || command_runs())) {
		struct pollfd fds[2 + 3 * NB_CHANNELS] = {
			{ .fd = has_port ? port : -1,
			  .events = (short)(POLLIN |
					    (port_has_output() ? POLLOUT : 0)) },
			{ .fd = signals, .events = POLLIN },
		};
		bool is_full = has_port && port_is_full();
		struct signalfd_siginfo info;

		for (uint32_t i = 0; i < NB_CHANNELS; i++) {
			const struct command *c = &commands[i];
			struct pollfd *own = &fds[2 + 3 * i];

			own[0].fd = is_full ? -1 : c->out;
			own[1].fd = is_full ? -1 : c->err;
			own[2].fd = buffer_left(&c->input) > 0 ? c->in : -1;
			own[0].events = own[1].events = POLLIN;
			own[2].events = POLLOUT;
		}
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0) {
			if (errno != EINTR)
				die("poll: %s", strerror(errno));
			continue;
		}
		if ((fds[0].revents & (POLLIN | POLLHUP)) && !port_read(receive))
			has_port = false;
		if (fds[1].revents & POLLIN) {
			while (read(signals, &info, sizeof(info)) > 0)
				;
			reap();
		}
		for (uint32_t i = 0; i < NB_CHANNELS; i++) {
			struct command *c = &commands[i];

			if (c->pid == 0)
				continue;
			if ((fds[2 + 3 * i].revents | fds[3 + 3 * i].revents) != 0)
				command_read(c);
			command_feed(c);
			if (c->has_ended)
				command_finish(c);
		}
		if (has_port && !port_write())
			has_port = false;
	}
}

int
main(void)
{
	sigset_t mask;
	int port, signals;

	/* It ends with a power off: not on a host. */
	if (getpid() != 1) {
		fprintf(stderr, "mana-vm-agent runs only as process 1 of a guest\n");
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	for (uint32_t i = 0; i < NB_CHANNELS; i++)
		commands[i] = (struct command){
			.channel = i,
			.in = -1,
			.out = -1,
			.err = -1,
		};
	port = port_open();
	send_number(MSG_READY, 0, STDIN_WINDOW_BYTES);
	port_write();
	serve(port, signals);
	power_off();
	return 1;
}
