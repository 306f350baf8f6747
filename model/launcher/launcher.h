/* SPDX-License-Identifier: BSD-3-Clause */

/* Parts of the launcher. */

#ifndef MODEL_LAUNCHER_H
#define MODEL_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "child.h"
#include "options.h"

/*
 * mana-model ctl NAME request: "report", or a command (command.h), as words.
 * Returns the exit status.
 */
int ctl_run(const char *name, char **request);

/*
 * A scenario file (--scenario), a command per line: script.h. Check and add all
 * lines. 0, or -1 after logging an error with file and line.
 */
int scenario_load(const char *path);

/*
 * Whether the programs on the machine wait, so that virtual time may advance. True
 * if all threads of all descendants sleep, or if the others have used poll_ms of CPU
 * time without an event: they poll. Each event restarts this measurement. On a busy
 * host, a program that gets no CPU time uses none, so time does not advance. With
 * poll_ms 0 no program polls: what a host charges to a program (page faults) differs
 * from run to run.
 */
bool idle_programs_wait(uint32_t poll_ms);

/*
 * The reason why the dynamic linker cannot load the model's library into a
 * program, named as for execvp(); NULL if it can.
 */
const char *loadable_why_not(const char *program);

/*
 * Whether the program, named as for execvp(), itself links a library whose name begins
 * with prefix; then the name.
 */
bool loadable_needs(const char *program, const char *prefix, char *name,
		    size_t name_bytes);

/*
 * mana-model --join NAME -- program: run it on an existing machine, until it
 * ends or the machine is switched off. Returns the exit status.
 */
int join_run(const struct options *options);

/*
 * For the launcher of the machine: others may join. A descriptor, which closes also
 * if the launcher is killed, or -errno.
 */
int join_offer(const char *run_dir);

/*
 * End the offer. Joined launchers then end their programs. Returns when no process is
 * registered but the caller: any that is left after 3 s is killed.
 */
void join_revoke(int offer);

/* Resources of a machine besides its segment; zero: not acquired. */
struct machine_setup {
	char run_dir[MODEL_MAX_PATH];
	bool has_run_dir;
	int kick_fd;
	int offer; /* join_offer() */
};

/*
 * Create a machine from options, ready to start a program, whose signal mask is mask.
 * 0, or -1 after logging an error; machine_setup_undo() accepts a partly created one,
 * after child_close().
 */
int machine_setup_make(struct machine_setup *setup, const struct options *options,
		       struct child *child, const sigset_t *mask);
void machine_setup_undo(struct machine_setup *setup);

#endif /* MODEL_LAUNCHER_H */
