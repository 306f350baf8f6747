/* SPDX-License-Identifier: BSD-3-Clause */

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "kill_run.h"
#include "test.h"

#define MAX_TRAPS 25000u
#define EFLAGS_TF 0x100 /* a trap after each instruction */

static struct kill_run *current;
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

struct kill_run *
kill_run_new(void)
{
	struct kill_run *fx = mmap(NULL, sizeof(*fx), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(fx, MAP_FAILED);
	return fx;
}

void
kill_run_free(struct kill_run *fx)
{
	munmap(fx, sizeof(*fx));
}

static void
run_and_exit(struct kill_run *fx)
{
	struct sigaction action = { .sa_sigaction = on_trap,
				    .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &action, NULL);
	if (fx->prepare != NULL)
		fx->prepare(fx->arg);
	raise(SIGTRAP);
	fx->work(fx->arg);
	fx->is_done = true;
	fx->nb_steps = nb_done;
	_exit(0);
}

bool
kill_run_try(struct kill_run *fx, uint64_t nb_steps)
{
	int status;
	pid_t pid;

	current = fx;
	nb_done = 0;
	nb_wanted = nb_steps;
	fx->is_done = false;
	pid = fork();
	if (pid == 0)
		run_and_exit(fx);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (fx->is_done)
		return false;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail_msg("ended with 0x%x after %llu", status,
			 (unsigned long long)nb_steps);
	return true;
}

uint64_t
kill_run_stride(uint64_t nb_all, uint64_t nb_kills)
{
	if (stride != 0)
		return stride;
	/* On average half of them are trapped. */
	if (nb_kills > 2 * MAX_TRAPS / nb_all + 1)
		nb_kills = 2 * MAX_TRAPS / nb_all + 1;
	return nb_all / nb_kills + 1;
}

void
kill_run_arguments(int argc, char **argv)
{
	if (argc > 1)
		stride = strtoull(argv[1], NULL, 0);
}
