/* SPDX-License-Identifier: BSD-3-Clause */

/* The options and their help texts. */

#include <stdio.h>

#include "fault.h"
#include "kernel_commands.h"
#include "options_parse.h"
#include "pci_commands.h"

/* An option with a line of help per value, and such a line. */
#define OPTION(name, key) { name, key, "VALUE", OPTION_HIDDEN, NULL, 0 }
#define VALUE(text, help) { "--" text, 0, NULL, OPTION_DOC, help, 0 }
#define GROUP(title) { NULL, 0, NULL, 0, title, 0 }

static const struct argp_option table[] = {
	GROUP("The machine:"),
	{ "functions", OPT_FUNCTIONS, "N", 0,
	  "number of PCI functions (1), from 7870:00:00.0", 0 },
	{ "ports", OPT_PORTS, "N[,N..]", 0,
	  "ports of all functions, or of each one (2)", 0 },
	{ "mac-base", OPT_MAC_BASE, "MAC", 0,
	  "address of the first port (00:0d:3a:00:00:01); each further port has the "
	  "next address", 0 },
	{ "max-mtu", OPT_MAX_MTU, "N", 0, "largest MTU of the ports (1500)", 0 },
	{ "vp-offset", OPT_VP_OFFSET, "N", 0,
	  "Tx vPort offset of the first port (5)", 0 },
	OPTION("kernel", OPT_KERNEL),
	VALUE("kernel=7.3", "imitate mana and mana_ib of Linux 7.3 (default)"),
	VALUE("kernel=7.2", "imitate Linux 7.2"),
	VALUE("kernel=6.12", "imitate Linux 6.12, which creates RDMA devices only "
	      "with --rnic"),
	VALUE("kernel=6.2", "imitate Linux 6.2, the first one that has mana_ib"),
	OPTION("device-id", OPT_DEVICE_ID),
	VALUE("device-id=ba", "virtual functions, 1414:00ba (default)"),
	VALUE("device-id=b9", "physical functions, 1414:00b9; not with --pci"),
	VALUE("device-id=c1", "physical functions of the second kind, 1414:00c1; "
	      "needs --kernel 7.2 or 7.3; not with --pci"),
	{ "numa-node", OPT_NUMA_NODE, "N", 0,
	  "NUMA node of the functions in sysfs (0), or none", 0 },
	OPTION("privileges", OPT_PRIVILEGES),
	VALUE("privileges=all", "programs have CAP_NET_RAW and CAP_IPC_LOCK (default)"),
	VALUE("privileges=process", "programs have those of their process: without "
	      "CAP_NET_RAW no queues, without CAP_IPC_LOCK memory up to RLIMIT_MEMLOCK"),
	{ "rnic", OPT_RNIC, NULL, 0,
	  "the adapter also has an RNIC function; with --kernel 7.2 and 7.3 it has a second "
	  "RDMA device, which cannot have raw QPs", 0 },
	{ "netvsc", OPT_NETVSC, "DRIVER", OPTION_ARG_OPTIONAL,
	  "each port also has a synthetic device, as on Azure", 0 },
	VALUE("netvsc=hv", "hv_netvsc owns it: its netdev is the master of the port's "
	      "netdev (default)"),
	VALUE("netvsc=uio", "uio_hv_generic owns it, for DPDK's net_netvsc; at most 8 "
	      "ports"),
	{ "pci", OPT_PCI, "DIR", 0,
	  "serve each function N on the vfio-user socket DIR/function-N to a virtual "
	  "machine (QEMU's device vfio-user-pci), whose kernel drives it; the program, "
	  "such as the QEMU command, is optional and does not see the machine itself",
	  0 },

	GROUP("The wires:"),
	OPTION("wire", OPT_WIRE),
	VALUE("wire=pair", "connect ports 1-2, 3-4, ...; an odd last port is looped "
	      "(default)"),
	VALUE("wire=loop", "each port receives what it sends"),
	VALUE("wire=tap", "connect each port to a TAP interface mtap<k>, from 0 "
	      "(needs CAP_NET_ADMIN)"),
	VALUE("wire=none", "frames that ports send are dropped"),
	VALUE("wire=N=KIND[:..]", "port N, from 1, has a wire of its own: loop, "
	      "tap, none, sink, gen, pair or pcap"),
	VALUE("wire=N=pair:M", "ports N and M are connected"),
	VALUE("wire=N=gen[:k=v,..]", "port N receives from a generator, with the "
	      "arguments of the command gen, separated by commas: "
	      "rate=full,size=imix; frames that the port sends are checked"),
	VALUE("wire=N=sink", "frames that port N sends are checked: lost, "
	      "duplicated, reordered, corrupted"),
	VALUE("wire=N=pcap:in=FILE,out=FILE", "port N receives the frames of a "
	      "file, and frames that it sends are written to another; "
	      "rate=full|1M|10Gbps and loop=K (0: without end) apply to in"),
	{ "sink", OPT_SINK, NULL, 0,
	  "frames that any port sends are checked as by --wire N=sink", 0 },
	{ "link", OPT_LINK, "N:k=v[,k=v..]", 0,
	  "impair the wire of port N, with the arguments of the command wire, "
	  "separated by commas: bandwidth=10G,delay=20us", 0 },

	GROUP("The adapter:"),
	{ "card", OPT_CARD, "FILE", 0,
	  "behave as the adapter on which mana-first-contact --json has written FILE; "
	  "further options change that", 0 },
	OPTION("mode", OPT_MODE),
	VALUE("mode=sync", "the adapter works inside the doorbell store (default)"),
	VALUE("mode=thread", "the adapter works in a thread of each program"),
	VALUE("mode=step", "for measurements: the doorbell page is plain memory, "
	      "and the program itself plays the adapter"),
	{ "coalesce", OPT_COALESCE, NULL, 0,
	  "put up to four received packets in one completion", 0 },
	{ "coalesce-ns", OPT_COALESCE_NS, "N", 0,
	  "as --coalesce, and a completion stays open up to N ns for further packets "
	  "(2048 in the mode thread); 0: until the burst ends (the other modes)", 0 },
	{ "enforce", OPT_ENFORCE, "LIST", 0,
	  "drop frames as a cloud network does: sa (source address of another port), "
	  "etype (Ethertype), vlan (tags), dmac (destination address of another "
	  "port)", 0 },
	OPTION("cq-doorbell", OPT_CQ_DOORBELL),
	VALUE("cq-doorbell=lax", "a CQ without a doorbell for 8 laps is a violation "
	      "(default)"),
	VALUE("cq-doorbell=strict", "such a CQ also stops"),
	{ "fault", OPT_FAULT, "CALL:N[+][:ERRNO]", 0,
	  "the N-th kernel call of that kind fails, with + all later ones, too "
	  "(ENOMEM); with --pci, CALL is a request of a hardware channel, and a "
	  "hardware status (1) replaces ERRNO; may be repeated", 0 },
	{ "scenario", OPT_SCENARIO, "FILE", 0,
	  "run the commands of a file, one per line, each with the time or event "
	  "at which it runs: at 1.5ms netdev port=1 down", 0 },
	{ "seed", OPT_SEED, "N", 0, "seed of all random choices (1)", 0 },
	{ "poll-ms", OPT_POLL_MS, "N", 0,
	  "mode sync: programs that have used N ms of processor time since the last "
	  "doorbell or kernel call poll, and virtual time advances (2); 0: it advances "
	  "only with these and while all programs sleep, so that runs are equal", 0 },

	GROUP("Open questions about the adapter, for --quirk NAME=VALUE; the first "
	      "value is the default:"),
	OPTION("quirk", OPT_QUIRK),
#define ROW(id, name, values, help) VALUE("quirk=" name, values ": " help),
	MODEL_QUIRKS(ROW)
#undef ROW

	GROUP("Output:"),
	{ "check", OPT_CHECK, "LIST", OPTION_ARG_OPTIONAL,
	  "exit status 3, and what was found on standard error, if the report has any of: "
	  "violations; left (objects that programs left behind, hardware channels cut "
	  "off); errors (error completions for sent frames, DMA faults); dropped (frames "
	  "that ports dropped); lost (frames lost on wires, generated frames that no sink "
	  "has seen); changed (frames that a sink found duplicated, reordered or "
	  "corrupted); scenario (lines that failed or did not run); without LIST: all", 0 },
	{ "fatal-violations", OPT_FATAL, NULL, 0,
	  "the first violation aborts the program that caused it", 0 },
	{ "list-violations", OPT_LIST, NULL, 0,
	  "print their names and meanings and exit", 0 },
	{ "report", OPT_REPORT, "FILE", 0,
	  "write the machine's report to FILE (JSON) at the end", 0 },
	{ "capture", OPT_CAPTURE, "FILE|FOLDER/", 0,
	  "write the frames on the wires to FILE (pcapng, for wireshark and "
	  "tshark), or to a file for each port in FOLDER", 0 },
	{ "trace", OPT_TRACE, "FILE", 0,
	  "write a line to FILE, or to standard error for -, for each verbs call, "
	  "doorbell, WQE, CQE and event", 0 },
	{ "trace-classes", OPT_TRACE_CLASSES, "LIST", 0,
	  "only lines of these classes: verbs,doorbell,wqe,cqe,event,"
	  "request", 0 },
	{ "name", OPT_NAME, "NAME", 0,
	  "name of the machine (the launcher's process id)", 0 },
	{ "join", OPT_JOIN, "NAME", 0,
	  "run the program on the running machine of this name; no other option is "
	  "allowed", 0 },
	{ "quiet", OPT_QUIET, NULL, 0, "no summary at the end", 0 },
	GROUP(NULL),
	{ 0 },
};

static const char doc[] =
"Runs a program on a modelled machine with MANA adapters. The machine is "
"switched off, and all processes on it ended, when the program ends, or when "
"mana-model itself is killed. With --pci and without a program, it runs until "
"it receives SIGINT or SIGTERM.\n"
"\n"
"mana-model ctl NAME report | COMMAND...\n"
"    prints the report of a running machine, or runs a command"
"\v"
"Exit status: the program's; 128 + n if signal n ended it; 3 if a violation was "
"fatal or --check has found something; 125 if mana-model itself failed, 126 if the program could not be started, "
"127 if it was not found.\n"
"\n"
"The run folder is created in $MANA_MODEL_RUNDIR, else in /dev/shm, else in /tmp. "
"DPDK's programs get "
"a RUNTIME_DIRECTORY in it, unless one is set. With MANA_MODEL_END_WITH_PARENT=1 "
"the machine is also switched off when the "
"thread that started mana-model ends, even if that is a wrapper.";

const char *
options_name(int key)
{
	const struct argp_option *option = table;

	while (option->key != key || option->name == NULL)
		option++;
	return option->name;
}

/* --help also lists the kinds of calls for --fault. */
static char *
help_text(int key, const char *text, void *input)
{
	size_t nb_bytes;
	char *all = NULL;
	FILE *stream;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)(uintptr_t)text;
	stream = open_memstream(&all, &nb_bytes);
	if (stream == NULL)
		return (char *)(uintptr_t)text;
	for (int is_pci = 0; is_pci < 2; is_pci++) {
		fputs(is_pci ? "\n\nRequests of a machine of --pci, for --fault: "
			       "any" : "Kinds of calls, for --fault: any", stream);
		for (enum fault_call call = fault_first(is_pci);
		     call < fault_end(is_pci); call++)
			fprintf(stream, " %s", fault_call_name(call));
	}
	fprintf(stream, "\n\n%s", text);
	fclose(stream);
	return all;
}

/* The commands of a kind of machine as lines of --help. */
#define MAX_COMMANDS 32
struct command_list {
	struct argp_option lines[MAX_COMMANDS + 1];
	char texts[MAX_COMMANDS][512];
};

static const struct argp_option *
list_commands(struct command_list *list, const struct command_kind *kind)
{
	const struct command *command;

	for (uint32_t n = 0;
	     n < MAX_COMMANDS && (command = command_nth(kind, n)) != NULL; n++) {
		snprintf(list->texts[n], sizeof(list->texts[n]), "%s: %s",
			 command->usage, command->help);
		list->lines[n].name = command->name;
		list->lines[n].flags = OPTION_DOC;
		list->lines[n].doc = list->texts[n];
	}
	return list->lines;
}

const struct argp *
options_argp(argp_parser_t parser)
{
	static struct command_list lists[3];
	static struct argp commands[3];
	static const struct argp_child children[] = {
		{ &commands[0], 0, "Commands, for ctl and scenarios:", 9 },
		{ &commands[1], 0, "Commands of a machine with an imitated kernel:",
		  10 },
		{ &commands[2], 0, "Commands of a machine of --pci:", 11 },
		{ 0 },
	};
	static struct argp argp = {
		.options = table,
		.args_doc = "[--] program [arguments...]",
		.doc = doc,
		.children = children,
		.help_filter = help_text,
	};

	commands[0].options = list_commands(&lists[0], NULL);
	commands[1].options = list_commands(&lists[1], &kernel_commands);
	commands[2].options = list_commands(&lists[2], &pci_commands);
	argp.parser = parser;
	return &argp;
}
