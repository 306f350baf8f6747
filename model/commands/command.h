/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Commands: changes of the machine from outside of the driver. mana-model ctl,
 * scenario files and mana_model_command() share them.
 *
 * A command is a word and its arguments, in any order, separated by blanks:
 *
 * 	netdev port=1 down
 *
 * Arguments are key=value or a bare word. Numbers are decimal or 0x.., times
 * have a unit (ns, us, ms, s). port=N is the number of a port of the whole
 * machine, from 1, as in --wire; fn=N is the number of a function, from 0, as
 * in 787<N>:00:00.0.
 *
 * A machine is either one with an imitated kernel, or a PCI machine. Each kind
 * has commands of its own in addition to the common ones.
 */

#ifndef MODEL_COMMAND_H
#define MODEL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMAND_MAX_LINE 256
#define COMMAND_MAX_ARGS 24

struct command_args {
	char line[COMMAND_MAX_LINE]; /* split into the words below */
	const char *whole; /* the unmodified line */
	const struct command *command;
	uint32_t nb;
	const char *key[COMMAND_MAX_ARGS]; /* the key, or a bare word */
	const char *value[COMMAND_MAX_ARGS]; /* NULL for a bare word */
	bool is_used[COMMAND_MAX_ARGS];
	bool is_check; /* only check the line */
	char *message; /* for the user, after a failure */
	size_t message_bytes;
};

/*
 * A function takes its arguments from args and calls command_end(). If that
 * returns a negative value (the line is wrong, or only to be checked), the
 * function returns it. Else it carries out the command. It returns 0, or a
 * negative errno with the message set. It is called without the machine's lock
 * and must be async-signal-safe, because a scenario runs in any thread.
 */
struct command {
	const char *name;
	const char *usage; /* arguments */
	const char *help;
	int (*run)(struct command_args *args);
};

/* Each ends with an entry whose name is NULL. */
extern const struct command commands_card[];
extern const struct command commands_gen[];
extern const struct command commands_inject[];
extern const struct command commands_later[];
extern const struct command commands_wire[];

/* A command of the other kind of machine, and what to do instead. */
struct command_absent {
	const char *name, *remedy;
};

/* The commands of a kind of machine besides the common ones. */
struct command_kind {
	const char *machine; /* for messages: "a PCI machine" */
	/* The last row of each list is NULL, or has a NULL name. */
	const struct command *const *tables;
	const struct command_absent *absent;
};

/*
 * The kind of this process's machine. Each program that links the commands
 * defines the pointer. The launcher can change it before the first command.
 */
extern const struct command_kind *command_kind;

/*
 * The commands of a kind, or with NULL the common ones, for --help: n from 0;
 * NULL past the end.
 */
const struct command *command_nth(const struct command_kind *kind, uint32_t n);

/*
 * Run a command. 0, or a negative errno with cause and remedy in message:
 * -EINVAL for a wrong line, else an error of the command.
 */
int command_run(const char *line, char *message, size_t message_bytes);
/* Check command and arguments without running it. Returns as above. */
int command_check(const char *line, char *message, size_t message_bytes);

/*
 * The function of the command fail: for kernel calls, or on a PCI machine for
 * requests (base/fault.h).
 */
int command_run_fail(struct command_args *args);

/* For the functions. False: the word is missing. */
bool command_word(struct command_args *args, const char *word);
/* The last argument, one word of two; 0, or -EINVAL with a message. */
int command_either(struct command_args *args, const char *first, const char *second,
		   bool *is_first);
/* NULL: the key is missing. */
const char *command_text(struct command_args *args, const char *key);
/* 1: found; 0: missing (value unchanged); -EINVAL: no number in the range. */
int command_number(struct command_args *args, const char *key, uint64_t min,
		   uint64_t max, uint64_t *value);
/* A time such as 1.5ms, with unit ns, us, ms or s. */
int command_time(struct command_args *args, const char *key, uint64_t *ns);
/* Parse a number or a time at the start of a text; *end is behind it. */
bool command_read_number(const char *text, uint64_t *value, char **end);
bool command_read_time(const char *text, uint64_t *ns, char **end);
/* port=N, which is required. 0 or -EINVAL. */
int command_port(struct command_args *args, uint32_t *fn, uint32_t *port);
/* The n-th port of the machine, from 1; false if it has fewer. */
bool command_find_port(uint64_t n, uint32_t *fn, uint32_t *port);
/* fn=N, by default 0. 0 or -EINVAL. */
int command_function(struct command_args *args, uint32_t *fn);
/* 0 if no argument is left; -EINVAL; -ECANCELED: the line is only checked. */
int command_end(struct command_args *args);
/* Set the message; returns error. */
int command_fail(struct command_args *args, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Amounts in arguments of commands: 10G, 2.5M, 0.01%. */
/*
 * A decimal number with an optional k, M or G; *end is behind it. False if
 * there is none, or if the amount is no integer.
 */
bool command_amount(const char *text, uint64_t *amount, const char **end);

/* key=P%: parts of PRNG_ALWAYS. As command_number(). */
int command_chance(struct command_args *args, const char *key, uint32_t *parts);

#endif /* MODEL_COMMAND_H */
