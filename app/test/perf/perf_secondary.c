/* SPDX-License-Identifier: BSD-3-Clause */

/* The process of rows whose bursts run in a secondary process. */

#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <rte_common.h>
#include <rte_lcore.h>

#include "perf.h"

#define MAX_WORDS 32

void
perf_secondary_run(const char *program, const struct perf_sut *sut,
		   const char *const options[])
{
	char prefix[64], lcores[32], address[RTE_ETH_NAME_MAX_LEN];
	const char *words[MAX_WORDS] = {
		program, "--proc-type=secondary", prefix, lcores, "--no-telemetry",
		"-d", sut->plugin, "-a", address, "--",
	};
	unsigned int nb = 10;
	int ret, status;
	pid_t pid;

	/* EAL's folder has the name of the file prefix; the port has that of the function. */
	snprintf(prefix, sizeof(prefix), "--file-prefix=%s",
		 strrchr(rte_eal_get_runtime_dir(), '/') + 1);
	if (rte_eth_dev_get_name_by_port(sut->port, address) != 0)
		hand_fail("%s: the port has no name", sut->name);
	/* A mempool has a cache for each lcore. This processor is idle until the end. */
	snprintf(lcores, sizeof(lcores), "--lcores=%u@%d", RTE_MAX_LCORE - 1,
		 rte_lcore_to_cpu_id(rte_lcore_id()));
	while (*options != NULL && nb < MAX_WORDS - 1)
		words[nb++] = *options++;
	fflush(stdout);
	ret = posix_spawn(&pid, program, NULL, NULL, (char **)(uintptr_t)words,
			  environ);
	if (ret != 0)
		hand_fail("cannot start %s: %s", program, strerror(ret));
	if (waitpid(pid, &status, 0) != pid || status != 0)
		hand_fail("the secondary process failed");
}
