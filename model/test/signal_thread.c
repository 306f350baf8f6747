/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which thread takes SIGUSR1 and SIGUSR2: for each signal prints "m" (the main
 * thread) or "o" (another one). The other thread blocks and unblocks them all the
 * time, as the trap of doorbells does. With an argument, the main thread blocks
 * them.
 */

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t nb_in_main;

static void
print(const char *word)
{
	if (write(1, word, 1) != 1)
		_exit(1);
}

static void
note(int signo)
{
	(void)signo;
	if (syscall(SYS_gettid) == getpid())
		nb_in_main++;
	else
		print("o");
}

static void *
toggle(void *set)
{
	for (;;) {
		pthread_sigmask(SIG_BLOCK, set, NULL);
		pthread_sigmask(SIG_UNBLOCK, set, NULL);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = note, .sa_flags = SA_RESTART };
	const struct timespec pause = { .tv_nsec = 1000000 };
	pthread_t other;
	sigset_t set;

	(void)argv;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	if (sigaction(SIGUSR1, &action, NULL) != 0 || sigaction(SIGUSR2, &action, NULL) != 0 ||
	    pthread_create(&other, NULL, toggle, &set) != 0)
		return 1;
	if (argc > 1)
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	print("r");
	for (int nb_printed = 0;;) {
		/* Not by the C library, whose time is the model's. */
		syscall(SYS_nanosleep, &pause, NULL);
		for (; nb_printed != nb_in_main; nb_printed++)
			print("m");
	}
}
