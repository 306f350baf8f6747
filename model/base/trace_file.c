/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ledger.h"
#include "segment.h"
#include "trace.h"
#include "trace_file.h"

/* Where programs have none of their own, as a rule; below FD_SETSIZE. */
#define HIGH_FD 1000

static int trace_fd = -1;
static struct stat trace_stat; /* to know it again */
static bool may_signal; /* a write that fails may raise a signal, too */

/*
 * System calls are made directly: in a modelled program the functions of libc
 * may be the model's own surface.
 */
static int
host_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path,
			    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags,
			    0644);
}

/* A copy with a high number, or with any when the limit is low; -1. */
static int
high_copy(int fd)
{
	int high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH_FD);

	return high >= 0 ? high :
			   (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
}

int
trace_file_open(bool is_new)
{
	const char *path = segment_config()->trace;
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	int fd, high;

	if (strcmp(path, "-") == 0) {
		high = high_copy(STDERR_FILENO);
	} else {
		fd = host_open(path, is_new ? O_TRUNC : 0);
		if (fd < 0)
			return -errno;
		high = high_copy(fd);
		syscall(SYS_close, fd);
	}
	if (high < 0 || syscall(SYS_fstat, high, &trace_stat) < 0)
		return -errno;
	getrlimit(RLIMIT_FSIZE, &limit);
	may_signal = !S_ISREG(trace_stat.st_mode) ||
		     limit.rlim_cur != RLIM_INFINITY;
	trace_fd = high;
	return 0;
}

void
trace_file_close(void)
{
	if (trace_fd >= 0)
		syscall(SYS_close, trace_fd);
	trace_fd = -1;
}

void
trace_file_failed(int error)
{
	const char *path = segment_config()->trace;

	trace_on &= 1u << TRACE_SHOW_VERBS;
	if (__atomic_exchange_n(&segment_ledger()->is_trace_cut, true,
				__ATOMIC_RELAXED))
		return;
	ledger_log("the trace in %s is not complete: %s; the run goes on "
		   "without it", strcmp(path, "-") == 0 ? "stderr" : path,
		   strerrordesc_np(error));
}

/* Is it still the file that we opened? */
static bool
is_ours(void)
{
	struct stat now;

	return trace_fd >= 0 && syscall(SYS_fstat, trace_fd, &now) == 0 &&
	       now.st_dev == trace_stat.st_dev && now.st_ino == trace_stat.st_ino;
}

/* 0 or an errno. */
static int
write_all(const char *bytes, size_t nb_bytes)
{
	while (nb_bytes > 0) {
		long n = syscall(SYS_write, trace_fd, bytes, nb_bytes);
		struct pollfd room = { .fd = trace_fd, .events = POLLOUT };

		if (n > 0) {
			bytes += n;
			nb_bytes -= (size_t)n;
		} else if (errno == EAGAIN) {
			poll(&room, 1, -1); /* a pipe that somebody set so */
		} else if (errno != EINTR) {
			return errno;
		}
	}
	return 0;
}

#define SIGNAL_BIT(signo) (UINT64_C(1) << ((signo) - 1))

/*
 * SIGPIPE of a pipe without a reader, SIGXFSZ of a file at its limit: no affair
 * of the program's.
 */
static int
write_quietly(const char *bytes, size_t nb_bytes)
{
	const uint64_t raised = SIGNAL_BIT(SIGPIPE) | SIGNAL_BIT(SIGXFSZ);
	const struct timespec at_once = { 0 };
	uint64_t before, pending = 0, taken;
	int error;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &raised, &before, sizeof(before));
	syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	error = write_all(bytes, nb_bytes);
	taken = error == EPIPE ? SIGNAL_BIT(SIGPIPE) & ~pending :
		error == EFBIG ? SIGNAL_BIT(SIGXFSZ) & ~pending :
				 0;
	if (taken != 0)
		syscall(SYS_rt_sigtimedwait, &taken, NULL, &at_once,
			sizeof(taken));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return error;
}

int
trace_file_write(const char *bytes, size_t nb_bytes)
{
	const int saved = errno;
	int error = 0;

	if (!is_ours()) {
		/* Whatever has the number now is the program's. */
		trace_fd = -1;
		error = -trace_file_open(false);
	}
	if (error == 0)
		error = may_signal ? write_quietly(bytes, nb_bytes) :
				     write_all(bytes, nb_bytes);
	errno = saved;
	return -error;
}
