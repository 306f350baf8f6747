/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Commands: what somebody outside of the driver may do to the machine. The one
 * language of mana-model ctl, of scenario files, and of mana_model_command().
 *
 * A command is a word and its arguments, in any order, separated by blanks:
 *
 *	netdev port=1 down
 *
 * Arguments are key=value or a bare word. Numbers are decimal or 0x.., times
 * have a unit (ns, us, ms, s). port=N counts the ports of the whole machine
 * from 1, as --wire does; fn=N counts functions from 0, as 787<N>:00:00.0 does.
 */

#ifndef MODEL_COMMAND_H
#define MODEL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMAND_MAX_LINE 256
#define COMMAND_MAX_ARGS 24

struct command_args {
	char line[COMMAND_MAX_LINE]; /* cut into the words below */
	const char *whole; /* as it was given */
	uint32_t nb;
	const char *key[COMMAND_MAX_ARGS]; /* the whole of a bare word */
	const char *value[COMMAND_MAX_ARGS]; /* NULL for a bare word */
	bool is_used[COMMAND_MAX_ARGS];
	bool is_check; /* only whether the line makes sense */
	char *message; /* for the user, when a function has failed */
	size_t message_bytes;
};

/*
 * A function takes what it knows out of args, calls command_end(), and only
 * then looks at the machine's state and acts; a negative value of command_end()
 * it returns as it is: the line is wrong, or was only to be checked.
 * 0 or a negative errno with the message set. It is called without
 * the machine's lock and must be async-signal-safe: a scenario runs in whatever
 * thread is there when its time has come.
 */
struct command {
	const char *name;
	const char *usage; /* arguments */
	const char *help;
	int (*run)(struct command_args *args);
};

/* Each ends with an entry without a name. */
extern const struct command commands_fault[];
extern const struct command commands_inject[];
extern const struct command commands_life[];
extern const struct command commands_gen[];
extern const struct command commands_later[];
extern const struct command commands_net[];
extern const struct command commands_nic[];
extern const struct command commands_uevent[];
extern const struct command commands_wire[];

/* All of them: n from 0, NULL past the end. For --help. */
const struct command *command_nth(uint32_t n);

/*
 * Run one. 0, or a negative errno with cause and remedy in message: -EINVAL
 * for a line that is wrong, else what the command says.
 */
int command_run(const char *line, char *message, size_t message_bytes);
/* Whether it is a command with its arguments, without running it: as above. */
int command_check(const char *line, char *message, size_t message_bytes);

/* What the functions use. False: it is not there. */
bool command_word(struct command_args *args, const char *word);
/* NULL: it is not there. */
const char *command_text(struct command_args *args, const char *key);
/* 1: there, 0: not there (value unchanged), -EINVAL: no number in the range. */
int command_number(struct command_args *args, const char *key, uint64_t min,
		   uint64_t max, uint64_t *value);
/* As 1.5ms: ns, us, ms, s. */
int command_time(struct command_args *args, const char *key, uint64_t *ns);
/* A number or a time at the start of a text; *end is where it ended. */
bool command_read_number(const char *text, uint64_t *value, char **end);
bool command_read_time(const char *text, uint64_t *ns, char **end);
/* port=N, which must be there: 0 or -EINVAL. */
int command_port(struct command_args *args, uint32_t *fn, uint32_t *port);
/* The n-th port of the machine, from 1; false when it has fewer. */
bool command_find_port(uint64_t n, uint32_t *fn, uint32_t *port);
/* fn=N; 0 when it is not there. 0 or -EINVAL. */
int command_function(struct command_args *args, uint32_t *fn);
/*
 * Nothing is left over: 0; -EINVAL; or -ECANCELED, which is no error: the line
 * was only to be checked, and is right.
 */
int command_end(struct command_args *args);
/* Set the message; returns error. */
int command_fail(struct command_args *args, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* MODEL_COMMAND_H */
