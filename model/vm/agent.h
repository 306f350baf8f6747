/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The agent: process 1 of the guest after the init script. It runs the commands that
 * mana-vm names, passes their standard streams, and reports their exit status.
 *
 * Both sides talk over one virtio port in messages: a head, then its payload. All
 * numbers are little endian. Session.py is the other side.
 */

#ifndef MANA_VM_AGENT_H
#define MANA_VM_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of a payload, in both directions. */
#define MESSAGE_MAX_BYTES (1u << 20)
#define READ_BYTES 65536
/* Input that mana-vm may send before a command has read it. */
#define STDIN_WINDOW_BYTES (256u << 10)
/* Commands at a time. Each message but READY and QUIT is for one of them. */
#define NB_CHANNELS 16

enum message_type {
	/* to mana-vm */
	MSG_READY = 1,	/* the agent runs; u32 STDIN_WINDOW_BYTES */
	MSG_STDOUT,	/* bytes */
	MSG_STDERR,	/* bytes */
	MSG_CREDIT,	/* u32: bytes of input that the command has got */
	MSG_EXIT,	/* u32: exit status; the channel is free again */
	MSG_FAILURE,	/* text: the agent cannot run the command */
	/* from mana-vm */
	MSG_START = 32,	/* struct start, then strings */
	MSG_STDIN,	/* bytes; none: end of the input */
	MSG_SIGNAL,	/* u32: signal for the command's process group */
	MSG_WINDOW,	/* u16 rows, u16 columns */
	MSG_QUIT,	/* everything has arrived: power off */
};

struct message_head {
	uint32_t type;
	uint32_t channel;
	uint32_t nb_bytes;
};

/* Which of the command's streams are a terminal; the others are pipes. */
#define START_TERMINAL 1u	/* all are one terminal */
#define START_OUT_TERMINAL 2u	/* raw, as the terminal of mana-vm cooks it */
#define START_ERR_TERMINAL 4u	/* both: the same raw terminal */

/* Followed by arguments, folder, environment: strings that end in '\0'. */
struct start {
	uint32_t flags;
	uint16_t nb_rows;
	uint16_t nb_columns;
	uint32_t nb_arguments;
	uint32_t nb_variables;
};

/* Bytes that wait for their reader. */
struct pipe_buffer {
	uint8_t *bytes;
	size_t nb_bytes;
	size_t nb_done;
	size_t size_bytes;
};

/* The command of a channel. */
struct command {
	uint32_t channel;
	/* 0: the channel is free */
	pid_t pid;
	bool has_ended;
	uint32_t exit_status;
	bool is_tty;
	/* Our ends of its streams; -1 if closed. A terminal is in and out. */
	int in;
	int out;
	int err;
	struct pipe_buffer input;
	bool input_ended;
};

/* agent.c: ends the guest; the reason goes to the kernel's log */
void die(const char *format, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

/* agent_port.c: buffers and messages */
void buffer_add(struct pipe_buffer *b, const void *bytes, size_t nb_bytes);
size_t buffer_left(const struct pipe_buffer *b);
/* Writes what fits. Returns false if the reader is gone. */
bool buffer_write(struct pipe_buffer *b, int fd);
/* The port of mana-vm; waits until the kernel has it. */
int port_open(void);
bool port_is_full(void);
bool port_has_output(void);
/* Returns false if mana-vm is gone. */
bool port_write(void);
/* Reads, and passes each complete message to receive(). False: mana-vm is gone. */
bool port_read(void (*receive)(const struct message_head *head, char *bytes));
void send_message(enum message_type type, uint32_t channel, const void *bytes,
		  size_t nb_bytes);
void send_number(enum message_type type, uint32_t channel, uint32_t number);
void send_failure(uint32_t channel, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* agent_command.c: one command. Returns false if the message is not valid. */
bool command_start(struct command *c, char *bytes, size_t nb_bytes);
void command_input(struct command *c, const void *bytes, size_t nb_bytes);
void command_signal(const struct command *c, int number);
void command_window(const struct command *c, uint16_t nb_rows,
		    uint16_t nb_columns);
/* Gives the command its input, and mana-vm the right to send more. */
void command_feed(struct command *c);
/* Passes what the command has written. */
void command_read(struct command *c);
/* Reports the exit status after everything that the command has written. */
void command_finish(struct command *c);

#endif
