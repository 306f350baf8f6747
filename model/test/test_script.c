/* SPDX-License-Identifier: BSD-3-Clause */

/* Scripts when processes die and lines compete. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "card.h"
#include "inject.h"
#include "kernel.h"
#include "machine.h"
#include "script.h"
#include "segment.h"
#include "test.h"

static char dir[64];

static int
set_up(void **state)
{
	const struct model_config config = { .name = "script",
					     .nb_functions = 1,
					     .nb_ports = { 2 },
					     .mac_base = { 0, 0xd, 0x3a, 0, 0, 1 },
					     .max_mtu = 1500,
					     .vp_offset_base = 5 };

	strcpy(dir, "/tmp/mana-script-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(segment_create(dir, &config), 0);
	segment_lock();
	clock_init(true);
	assert_int_equal(card_init(), 0);
	segment_unlock();
	return 0;
}

static int
tear_down(void **state)
{
	char path[128];

	segment_detach();
	snprintf(path, sizeof(path), "%s/segment", dir);
	unlink(path);
	rmdir(dir);
	return 0;
}

static void
add(const char *text, uint32_t line)
{
	char message[128] = "";

	assert_int_equal(script_add(text, line, false, message, sizeof(message)),
			 0);
}

static void
advance(uint64_t ns)
{
	segment_lock();
	segment_clock()->virtual_ns += ns;
	segment_unlock();
	machine_tick();
}

static const struct script_entry *
entry_of(uint32_t line)
{
	const struct script *script = segment_script();

	for (uint32_t i = 0; i < script->nb_entries; i++)
		if (script->entries[i].line == line)
			return &script->entries[i];
	fail();
	return NULL;
}

/* The count of stalls: each such line adds one. */
static uint64_t
nb_stalls(void)
{
	return inject_count(0, 0, true, INJECT_STALL);
}

TEST_WITH(test_times, set_up, tear_down)
{
	add("at 20us inject off", 1);
	add("at 10us stall port=1 tx", 2);
	add("every 15us stall port=1 tx", 3);
	add("in 12us every 1us stall port=1 tx", 4);
	advance(9999);
	assert_int_equal(nb_stalls(), 0);
	advance(1);
	assert_int_equal(nb_stalls(), 1);
	assert_int_equal(entry_of(2)->state, SCRIPT_DONE);
	advance(15000);
	/* Missed periods are skipped. */
	assert_int_equal(entry_of(3)->nb_runs, 1);
	assert_int_equal(entry_of(3)->at, 30000);
	assert_int_equal(entry_of(4)->nb_runs, 1);
	assert_int_equal(entry_of(1)->time_ns, 25000);
	assert_int_equal(nb_stalls(), 2);
	advance(1000);
	assert_int_equal(nb_stalls(), 3); /* including the one of line 4 */
}

/*
 * The process that runs an entry is killed: the entry does not run again, the
 * others run.
 */
TEST_WITH(test_killed, set_up, tear_down)
{
	struct script *script = segment_script();
	int status;
	pid_t pid;

	add("at 10us stall port=1 tx", 1);
	add("at 10us stall port=1 tx", 2);
	pid = fork();
	if (pid == 0) {
		if (segment_register_self() != 0)
			_exit(1);
		segment_lock();
		script->runner = model_self;
		script->runner_start_time =
			segment_process(model_self)->start_time;
		script->entries[0].state = SCRIPT_RUNNING;
		script->entries[0].nb_runs = 1;
		segment_unlock();
		pause();
	}
	while (__atomic_load_n(&script->entries[0].nb_runs, __ATOMIC_ACQUIRE) == 0)
		usleep(1000);
	/* It is alive: no other process runs entries. */
	advance(10000);
	assert_int_equal(nb_stalls(), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	advance(1);
	assert_int_equal(nb_stalls(), 1);
	assert_int_equal(entry_of(1)->state, SCRIPT_RUNNING);
	assert_int_equal(entry_of(2)->state, SCRIPT_DONE);
}

/* Entries of finished commands are reused; those of a scenario are not. */
TEST_WITH(test_full, set_up, tear_down)
{
	char message[128];
	uint32_t i;

	for (i = 0; i < 3 * SCRIPT_MAX_ENTRIES; i++) {
		add("in 1us inject off", 0);
		advance(1000);
	}
	assert_int_equal(segment_script()->nb_entries, 1);
	for (i = 0; i < SCRIPT_MAX_ENTRIES; i++)
		add("in 1us inject off", i + 1);
	assert_true(script_add("in 1us inject off", 9, false, message,
			       sizeof(message)) < 0);
	assert_non_null(strstr(message, "2000"));
	advance(1000);
	assert_int_equal(entry_of(SCRIPT_MAX_ENTRIES)->state, SCRIPT_DONE);
}

/* A child submits a command; its exit status tells the result. */
static pid_t
submit(const char *line)
{
	char message[128] = "";
	pid_t pid = fork();
	int ret;

	if (pid != 0)
		return pid;
	if (segment_register_self() != 0)
		_exit(1);
	ret = script_submit(line, message, sizeof(message));
	if (ret == 0)
		_exit(0);
	_exit(strstr(message, "stalled") != NULL ? 2 : 3);
}

/* The launcher runs commands of other processes, and these get the result. */
TEST_WITH(test_submit, set_up, tear_down)
{
	static const struct {
		const char *line;
		int result;
	} cases[] = {
		{ "stall port=1 tx", 0 },
		{ "resume port=2", 2 }, /* when it runs */
		{ "stall port=9 tx", 3 }, /* when it is checked */
	};
	int status;
	pid_t pid;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid = submit(cases[i].line);
		while (waitpid(pid, &status, WNOHANG) == 0) {
			usleep(1000);
			advance(1);
		}
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), cases[i].result);
	}
	assert_int_equal(nb_stalls(), 1);
	assert_int_equal(segment_script()->nb_entries, 1);
	assert_int_equal(segment_script()->entries[0].state, SCRIPT_FREE);
}

/* The entry of a process that was killed while it waited is used again. */
TEST_WITH(test_abandoned, set_up, tear_down)
{
	const struct script *script = segment_script();
	pid_t pid = submit("stall port=1 tx");
	int status;

	while (__atomic_load_n(&script->entries[0].state, __ATOMIC_ACQUIRE) !=
	       SCRIPT_WAITING)
		usleep(1000);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	advance(1);
	assert_int_equal(nb_stalls(), 1);
	assert_int_equal(script->entries[0].state, SCRIPT_DONE);
	add("in 1us inject off", 0);
	assert_int_equal(script->nb_entries, 1);
	assert_int_equal(script->entries[0].state, SCRIPT_WAITING);
}

/*
 * On a PCI machine, a process uses no slot of an address space. If it is killed with
 * the lock held, the card's objects remain: the imitated kernel knows none.
 */
TEST_WITH(test_pci, set_up, tear_down)
{
	struct model_config *config =
		(struct model_config *)(uintptr_t)segment_config();
	uint32_t first, second;
	int status;
	pid_t pid;

	config->is_pci = true;
	segment_lock();
	assert_int_equal(card_pd_create(0, &first), 0);
	segment_unlock();
	pid = fork();
	if (pid == 0) {
		if (segment_register_self() != 0 ||
		    model_self <= SEGMENT_LAUNCHER + MODEL_MAX_FUNCTIONS)
			_exit(1);
		segment_lock();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	segment_lock();
	assert_int_equal(card_pd_create(0, &second), 0);
	segment_unlock();
	assert_int_not_equal(first, second);
}
