/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "doorbell.h"
#include "fds.h"
#include "host.h"
#include "kernel.h"
#include "nl_socket.h"
#include "preload.h"
#include "segment.h"
#include "trace.h"
#include "violation_log.h"
#include "vmbus.h"

static pthread_mutex_t attach_mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_attached;
static bool has_failed;

static void
event_file_opened(int fd, bool is_async)
{
	fds_set(fd, is_async ? FD_ASYNC : FD_CHANNEL);
}

/* After fork() the child attaches, as a new process, if it uses the machine. */
static void
after_fork(void)
{
	pthread_mutex_init(&attach_mutex, NULL);
	__atomic_store_n(&is_attached, false, __ATOMIC_RELEASE);
	fds_after_fork();
	nl_socket_after_fork();
}

static int
attach(const char *run_dir)
{
	static bool is_prepared;
	int rc;

	/* Let other processes of the machine access this one's queues. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	rc = model != NULL ? segment_register_self() : segment_attach(run_dir);
	if (rc < 0)
		return rc;
	if (rc == 1) {
		kernel_process_replaced();
		vmbus_process_replaced();
	}
	if (!is_prepared) {
		is_prepared = true;
		kernel_event_file_opened = event_file_opened;
		pthread_atfork(NULL, NULL, after_fork);
	}
	trace_open();
	doorbell_process_init();
	return 0;
}

bool
attach_machine(void)
{
	const char *run_dir;
	int rc;

	if (__atomic_load_n(&is_attached, __ATOMIC_ACQUIRE))
		return true;
	if (has_failed)
		return false;
	run_dir = getenv("MANA_MODEL_DIR");
	if (run_dir == NULL)
		return false;

	pthread_mutex_lock(&attach_mutex);
	if (!is_attached && !has_failed) {
		rc = attach(run_dir);
		if (rc < 0) {
			has_failed = true;
			model_log("pid %d cannot join the machine in %s: %s",
				  getpid(), run_dir, strerror(-rc));
		} else {
			__atomic_store_n(&is_attached, true, __ATOMIC_RELEASE);
		}
	}
	pthread_mutex_unlock(&attach_mutex);
	return is_attached;
}

bool
attach_is_attached(void)
{
	return __atomic_load_n(&is_attached, __ATOMIC_ACQUIRE);
}

bool
attach_is_candidate(dev_t dev)
{
	static dev_t machine_dev;
	static bool is_known;
	const char *run_dir;
	ino_t ino;
	int fd;

	if (!is_known) {
		run_dir = getenv("MANA_MODEL_DIR");
		fd = run_dir == NULL ? -1 :
			host_open(run_dir, O_PATH | O_CLOEXEC, 0);
		if (fd < 0 || host_identity(fd, &machine_dev, &ino) < 0)
			machine_dev = 0;
		if (fd >= 0)
			host_close(fd);
		is_known = true;
	}
	return machine_dev != 0 && dev == machine_dev;
}
