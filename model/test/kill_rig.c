/* SPDX-License-Identifier: BSD-3-Clause */

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "kill_rig.h"

#define MAX_TRAPS 25000u
#define EFLAGS_TF 0x100 /* a trap after each instruction */

static struct kill_rig *current;
static uint64_t stride;
static volatile uint64_t nb_done, nb_wanted;

static void
on_trap(int sig, siginfo_t *info, void *ucontext)
{
	greg_t *eflags = &((ucontext_t *)ucontext)->uc_mcontext.gregs[REG_EFL];

	(void)sig;
	(void)info;
	if (current->is_done) {
		*eflags &= ~(greg_t)EFLAGS_TF;
		return;
	}
	if (nb_done++ == nb_wanted)
		kill(getpid(), SIGKILL);
	*eflags |= EFLAGS_TF;
}

struct kill_rig *
kill_rig_new(void)
{
	struct kill_rig *rig = mmap(NULL, sizeof(*rig), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(rig, MAP_FAILED);
	return rig;
}

void
kill_rig_free(struct kill_rig *rig)
{
	munmap(rig, sizeof(*rig));
}

static void
run_and_exit(struct kill_rig *rig)
{
	struct sigaction action = { .sa_sigaction = on_trap,
				    .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &action, NULL);
	if (rig->prepare != NULL)
		rig->prepare(rig->arg);
	raise(SIGTRAP);
	rig->work(rig->arg);
	rig->is_done = true;
	rig->nb_steps = nb_done;
	_exit(0);
}

bool
kill_rig_run(struct kill_rig *rig, uint64_t nb_steps)
{
	int status;
	pid_t pid;

	current = rig;
	nb_done = 0;
	nb_wanted = nb_steps;
	rig->is_done = false;
	pid = fork();
	if (pid == 0)
		run_and_exit(rig);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (rig->is_done)
		return false;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail_msg("ended with 0x%x after %llu", status,
			 (unsigned long long)nb_steps);
	return true;
}

uint64_t
kill_rig_stride(uint64_t nb_all, uint64_t nb_kills)
{
	if (stride != 0)
		return stride;
	/* On average half of them are trapped. */
	if (nb_kills > 2 * MAX_TRAPS / nb_all + 1)
		nb_kills = 2 * MAX_TRAPS / nb_all + 1;
	return nb_all / nb_kills + 1;
}

void
kill_rig_arguments(int argc, char **argv)
{
	if (argc > 1)
		stride = strtoull(argv[1], NULL, 0);
}
