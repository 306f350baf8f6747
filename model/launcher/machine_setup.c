/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "capture.h"
#include "card.h"
#include "clock.h"
#include "command.h"
#include "kernel.h"
#include "launcher.h"
#include "mem.h"
#include "pci.h"
#include "pci_commands.h"
#include "pci_device.h"
#include "rundir.h"
#include "segment.h"
#include "sysfs.h"
#include "trace.h"
#include "vmbus.h"

/*
 * Guest memory of a PCI function may vanish during a copy. Else exit: the guardian
 * then switches the machine off.
 */
static void
on_bus_error(int signo, siginfo_t *info, void *ucontext)
{
	static const char text[] = "mana-model: " SEGMENT_FULL_MESSAGE "\n";

	(void)signo;
	(void)info;
	if (mem_fault_fixup(ucontext))
		return;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(OPTIONS_EXIT_OWN_ERROR);
	_exit(OPTIONS_EXIT_OWN_ERROR);
}

/* Run the commands that correspond to options. */
static int
prepare(const struct options *options)
{
	char message[256];

	for (uint32_t i = 0; i < options->nb_commands; i++) {
		const struct options_command *c = &options->commands[i];

		if (command_run(c->line, message, sizeof(message)) < 0) {
			options_error("--%s: '%s' is refused: %s", c->option,
				      c->value, message);
			return -1;
		}
	}
	return 0;
}

static int
open_captures(void)
{
	char path[MODEL_MAX_PATH + 32] = "";
	int ret;

	segment_lock();
	ret = capture_create(path, sizeof(path));
	segment_unlock();
	if (ret == 0)
		return 0;
	options_error("cannot write the capture %s: %s; give --capture a "
		      "writable file or folder",
		      path,
		      ret == -EINVAL ? "it is no regular file" : strerror(-ret));
	return -1;
}

static int
make_device(const struct model_config *config)
{
	int ret;

	if (config->is_pci) {
		platform = &pci_platform;
		command_kind = &pci_commands;
	}
	segment_lock();
	clock_init(config_is_virtual_time(config));
	ret = card_init();
	segment_unlock();
	if (ret == 0 && !config->is_pci)
		ret = kernel_init();
	if (ret == 0)
		return 0;
	options_error("cannot make the device: %s", strerror(-ret));
	return -1;
}

static void
catch_bus_errors(void)
{
	struct sigaction action = {
		.sa_sigaction = on_bus_error,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

/* The imitated kernel's view of the functions, or their sockets. */
static int
publish(const struct machine_setup *m, const struct options *options)
{
	const struct model_config *config = &options->config;
	char text[256];
	int ret;

	if (config->is_pci) {
		ret = pci_open(options->pci_dir, config->nb_functions, text,
			       sizeof(text));
		if (ret != 0)
			options_error("--pci: '%s' is refused: %s",
				      options->pci_dir, text);
		return ret;
	}
	ret = sysfs_create(text, sizeof(text));
	if (ret == 0)
		ret = vmbus_publish();
	if (ret != 0)
		options_error("cannot write sys/%s in %s: %s%s", text,
			      m->run_dir, strerror(-ret), options_remedy(-ret));
	return ret;
}

/* Start the guardian. */
static int
guard(struct machine_setup *m, const struct options *options,
      struct child *child, const sigset_t *mask)
{
	const struct guardian_plan plan = {
		.argv = options->program,
		.run_dir = m->run_dir,
		.mask = mask,
	};
	int ret = child_open(child, &plan, !options->config.is_pci);

	if (ret == 0)
		ret = m->offer = join_offer(m->run_dir);
	if (ret >= 0)
		return 0;
	options_error("cannot start the guardian of %s: %s%s", m->run_dir,
		      strerror(-ret), options_remedy(-ret));
	return -1;
}

int
machine_setup_make(struct machine_setup *m, const struct options *options,
		   struct child *child, const sigset_t *mask)
{
	const struct model_config *config = &options->config;
	int ret;

	if (rundir_create(config->name, m->run_dir, sizeof(m->run_dir),
			  &m->kick_fd) != 0)
		return -1;
	m->has_run_dir = true;
	if (guard(m, options, child, mask) != 0)
		return -1;
	mem_own_through_kernel = true;
	catch_bus_errors();
	ret = segment_create(m->run_dir, config);
	if (ret != 0) {
		options_error("cannot make the machine's memory in %s: %s%s",
			      m->run_dir, strerror(-ret), options_remedy(-ret));
		return -1;
	}
	ret = trace_create();
	if (ret != 0) {
		options_error("cannot write the trace to %s: %s; give --trace a "
			      "writable file",
			      config->trace, strerror(-ret));
		return -1;
	}
	if (make_device(config) != 0)
		return -1;
	if (prepare(options) != 0 || open_captures() != 0)
		return -1;
	if (options->scenario != NULL &&
	    scenario_load(options->scenario) != 0)
		return -1;
	if (publish(m, options) != 0)
		return -1;
	return backends_open(options);
}

void
machine_setup_undo(struct machine_setup *m)
{
	if (m->has_run_dir) {
		/* Removal needs a descriptor, which may be scarce. */
		close(m->kick_fd);
		rundir_remove(m->run_dir);
	}
}
