/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Functions that drivers call, which behave otherwise under valgrind.
 *
 * valgrind 3.19 does not know pidfd_open(2), which a driver may call in a secondary process.
 * The reading end of a pipe stands for that descriptor: poll() of either reports an event
 * when the process ends.
 *
 * valgrind runs one thread at a time. rte_eal_alarm_cancel() takes and releases a lock in a
 * loop until a running callback has ended, and the callback may need that lock to set its
 * alarm again: it may not get it for minutes. Hence no alarm is set.
 */

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_alarm.h>

#include <valgrind/valgrind.h>

int
rte_eal_alarm_set(uint64_t us, rte_eal_alarm_callback callback, void *arg)
{
	static int (*next)(uint64_t us, rte_eal_alarm_callback callback, void *arg);

	if (RUNNING_ON_VALGRIND)
		return 0;
	if (next == NULL)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "rte_eal_alarm_set");
	return next(us, callback, arg);
}

long
syscall(long number, ...)
{
	static long (*next)(long number, ...);
	int ends[2];
	va_list args;
	long arg[6];

	if (number == SYS_pidfd_open && RUNNING_ON_VALGRIND)
		return pipe(ends) == 0 ? ends[0] : -1;
	if (next == NULL)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "syscall");
	va_start(args, number);
	for (unsigned int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
