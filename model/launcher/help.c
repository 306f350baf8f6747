/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>

#include "config.h"
#include "fault.h"
#include "options.h"

static void
help_machine(void)
{
	printf(
"usage: mana-model [options] [--] program [arguments...]\n"
"       mana-model ctl NAME report\n"
"       mana-model --list-violations\n"
"\n"
"Runs a program on a modelled machine with MANA adapters. The machine is\n"
"switched off, and whatever still runs on it ended, when the program ends.\n"
"\n"
"The machine:\n"
"  --functions N        PCI functions, 1 to %d (1): 7870:00:00.0 and on\n"
"  --ports N[,N..]      ports of every function, or of each, 1 to %d (%d)\n"
"  --mac-base M         address of the first port (00:0d:3a:00:00:01); each\n"
"                       further port has the next one\n"
"  --max-mtu N          largest MTU of the ports, %d to %d (%d)\n"
"  --vp-offset N        Tx vPort offset of the first port, 0 to %d (%d)\n"
"  --wire pair          ports 1-2, 3-4, ... are connected; an odd last one is\n"
"                       looped (this is the default)\n"
"  --wire loop          each port receives what it sends\n"
"  --wire tap           port k is the Linux interface mtap<k>, from 0 (needs\n"
"                       CAP_NET_ADMIN)\n"
"\n",
	       MODEL_MAX_FUNCTIONS, MODEL_MAX_PORTS_PER_FUNCTION,
	       OPTIONS_DEFAULT_PORTS, OPTIONS_MIN_MTU, OPTIONS_MAX_MTU,
	       OPTIONS_DEFAULT_MTU, OPTIONS_MAX_VP_OFFSET,
	       OPTIONS_DEFAULT_VP_OFFSET);
}

static void
help_device(void)
{
	fputs(
"The device:\n"
"  --mode sync          works inside the doorbell store (default)\n"
"  --mode thread        works in a thread of its own in each program\n"
"  --coalesce           up to four received packets in one completion\n"
"  --enforce LIST       drop as a cloud network does: sa (foreign source\n"
"                       address), etype (Ethertype), vlan, dmac (destination)\n"
"  --cq-doorbell lax    a CQ not rung in time is a violation (default)\n"
"  --cq-doorbell strict it also stops\n"
"  --fault CALL:N[+][:ERRNO]\n"
"                       the N-th kernel call of that kind, with + the later\n"
"                       ones too, fails; ERRNO is ENOMEM when left out.\n"
"                       May be repeated. CALL is one of:", stdout);
	for (int call = 0; call < NB_FAULT_CALLS; call++)
		printf("%s%s", call % 4 == 0 ?
		       "\n                       " : " ",
		       fault_call_name((enum fault_call)call));
	printf("\n"
"  --seed N             seed of whatever is random (%d)\n"
"\n", OPTIONS_DEFAULT_SEED);
}

void
options_help(void)
{
	help_machine();
	help_device();
	fputs(
"What is seen of it:\n"
"  --fatal-violations   the first violation aborts the program that caused it\n"
"  --list-violations    print their names and meanings and exit\n"
"  --report FILE        write the machine's report to FILE (JSON) at the end\n"
"  --trace FILE         append a line to FILE for each event of the device\n"
"  --name NAME          name of the machine (the launcher's process id)\n"
"  --quiet              no summary at the end\n"
"  --help               print this and exit\n"
"  ctl NAME report      print the report of a running machine as it is now\n"
"\n"
"Exit status: the program's; 128 + n if signal n ended it; 3 if a violation\n"
"was fatal; 125 if mana-model itself failed, 126 if the program could not be\n"
"started, 127 if it was not found.\n"
"\n"
"The run folder is made in $MANA_MODEL_RUNDIR, else in /dev/shm, else in /tmp.\n",
	      stdout);
}
