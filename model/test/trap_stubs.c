/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload.h"
#include "config.h"
#include "card.h"
#include "doorbell.h"
#include "events.h"
#include "kernel.h"
#include "violation_log.h"
#include "machine.h"
#include "platform.h"
#include "segment.h"
#include "trap_stubs.h"
#include "vmbus.h"

#define TEST_CONTEXT 7

volatile struct noted noted;
void (*on_doorbell)(void);
uint32_t model_self = 2;

/* All zero: synchronous mode. */
static uint64_t head[(SEGMENT_CONFIG_AT + sizeof(struct model_config)) / 8 + 1];
struct model_segment *model = (struct model_segment *)head;

static int lock; /* recursive use would hang: the tests have a timeout */

void
segment_lock_masked(void)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0)
		sched_yield();
}

void
segment_unlock_masked(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

struct model_process *
segment_process(uint32_t slot)
{
	static struct model_process self;

	self.pid = slot == model_self ? getpid() : 0;
	return &self;
}

static bool
has_memory(uint32_t slot)
{
	return slot == model_self;
}

static const struct platform stub_platform = { .has_memory = has_memory };
const struct platform *platform = &stub_platform;

bool
segment_holds(const void *addr)
{
	(void)addr;
	return false;
}

void
doorbell_count_trap(void)
{
}

bool
attach_is_attached(void)
{
	return true;
}

bool
attach_machine(void)
{
	return true;
}

int
device_thread_start(void)
{
	return 0;
}

int
kernel_context_doorbell(uint32_t context, uint32_t *fn, uint32_t *page)
{
	if (context != TEST_CONTEXT)
		return -EINVAL;
	*fn = 3;
	*page = 5;
	return 0;
}

bool
kernel_context_is_dead(uint32_t context)
{
	return context != TEST_CONTEXT;
}

bool
kernel_context_has_dummy_page(uint32_t context)
{
	return context != TEST_CONTEXT;
}

bool
events_poll_is_due(struct pollfd *fds, nfds_t nb_fds)
{
	(void)fds;
	(void)nb_fds;
	return false;
}

int
events_poll_done(struct pollfd *fds, nfds_t nb_fds, int rc)
{
	(void)fds;
	(void)nb_fds;
	return rc;
}

int
events_epoll_done(int epoll, struct epoll_event *events, int rc)
{
	(void)epoll;
	(void)events;
	return rc;
}

void
card_doorbell(uint32_t fn, uint32_t page, uint32_t offset, uint64_t value,
	      uint32_t size_bytes)
{
	noted.fn = fn;
	noted.page = page;
	noted.offset = offset;
	noted.value = value;
	noted.size_bytes = size_bytes;
	noted.nb_doorbells++;
	if (on_doorbell != NULL)
		on_doorbell();
}

void
violation_detail(const char *format, ...)
{
	(void)format;
}

void
violation_record(enum violation violation, const struct violation_place *place,
		 const void *bytes, size_t nb_bytes)
{
	(void)place;
	(void)bytes;
	(void)nb_bytes;
	noted.violation = violation;
	noted.nb_violations++;
}

void
model_log(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void
machine_tick(void)
{
}

void
vmbus_signal(uint32_t offset, uint32_t bits)
{
	noted.offset = offset;
	noted.value = bits;
	noted.nb_signals++;
}

void
trap_stubs_init(char **argv)
{
	sigset_t segv;

	if (getenv("MANA_MODEL_DIR") != NULL)
		return;
	/* exec() keeps the mask: test with SIGSEGV blocked. */
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	sigprocmask(SIG_BLOCK, &segv, NULL);
	setenv("MANA_MODEL_DIR", "/nowhere", 1);
	execv("/proc/self/exe", argv);
	perror("cannot start again");
	_exit(1);
}

volatile char *
trap_stubs_map(void)
{
	void *addr = NULL;

	if (doorbell_map(&addr, TEST_CONTEXT, 4096, 0) != 0) {
		fprintf(stderr, "no doorbell page\n");
		abort();
	}
	return addr;
}
