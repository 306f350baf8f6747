/* SPDX-License-Identifier: BSD-3-Clause */

/* The command line, and the run of all experiments. */

#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "first_contact.h"

#define EXIT_UNDECIDED	1
#define EXIT_ERROR	2
#define DEFAULT_WAIT_MS 1000

static const struct fc_experiment *const tables[] = {
	fc_tx_experiments, fc_csum_experiments, fc_lso_experiments,
	fc_rx_experiments, fc_rss_experiments,	fc_cq_experiments,
	fc_net_experiments, fc_size_experiments,
};

enum {
	OPT_RX_PORT = 256,
	OPT_PEER,
	OPT_DST,
	OPT_IP4,
	OPT_IP6,
	OPT_JSON,
	OPT_REPORT,
	OPT_ONLY,
	OPT_LIST,
	OPT_LIST_PORTS,
	OPT_WAIT,
	OPT_REFLECT,
	OPT_WATCH,
	OPT_VM_SIZE,
	OPT_NETVSC,
};

static const struct argp_option option_table[] = {
	{ "port", 'p', "PORT", 0,
	  "the port that sends: DEVICE:PORT, DEVICE, PORT, or its netdev, as manae_0:1 or "
	  "eth1 (the first MANA port whose netdev is down)",
	  0 },
	{ "rx-port", OPT_RX_PORT, "PORT", 0,
	  "the port that receives (the next one whose netdev is down)", 0 },
	{ "peer", OPT_PEER, "MAC", 0,
	  "send to this address, where another mana-first-contact --reflect returns "
	  "the frames; one port suffices",
	  0 },
	{ "dst", OPT_DST, "MAC", 0,
	  "destination address of the frames (that of the port that receives, or of "
	  "--peer): on a cloud network, that of its gateway",
	  0 },
	{ "netvsc", OPT_NETVSC, "UUID", 0,
	  "have the host deliver to the port of this synthetic device, which "
	  "uio_hv_generic owns, until the end; once for each port. Needs root", 0 },
	{ "reflect", OPT_REFLECT, NULL, 0,
	  "return the frames of another mana-first-contact until SIGINT", 0 },
	{ "watch", OPT_WATCH, NULL, 0,
	  "log what happens to the adapter until SIGINT, as in a service of the host: "
	  "events of its RDMA device, uevents, netdevs, kernel log; it only listens",
	  0 },
	{ "ip4", OPT_IP4, "SRC,DST", 0,
	  "IPv4 addresses of the frames (198.18.0.1,198.18.0.2): on a cloud network, "
	  "those of the two interfaces",
	  0 },
	{ "ip6", OPT_IP6, "SRC,DST", 0,
	  "IPv6 addresses of the frames (2001:2::1,2001:2::2)", 0 },
	{ "only", OPT_ONLY, "NAME[,NAME..]", 0, "only these questions", 0 },
	{ "list", OPT_LIST, NULL, 0, "print the questions and exit", 0 },
	{ "list-ports", OPT_LIST_PORTS, NULL, 0,
	  "print the ports, their netdevs, and through which the default route leads, which "
	  "are refused, and exit", 0 },
	{ "json", OPT_JSON, "FILE", 0,
	  "write the findings to FILE, for mana-model --card FILE; it is created first, and "
	  "written after each finding", 0 },
	{ "report", OPT_REPORT, "FILE", 0,
	  "write to FILE what a report of a problem needs, to be read and sent by you: "
	  "system, ports, findings, the kernel's log about the adapter, the card; without "
	  "MAC addresses in clear", 0 },
	{ "vm-size", OPT_VM_SIZE, "NAME", 0,
	  "the size of the virtual machine, for the file, as Standard_D8s_v5 (what "
	  "cloud-init has found)", 0 },
	{ "wait", OPT_WAIT, "MS", 0,
	  "wait this long for an answer of the adapter, in ms (1000)", 0 },
	{ 0 },
};

static const char doc[] =
	"Finds out by experiment how a MANA adapter behaves where no document says it. "
	"Each experiment creates its own raw queues on one port, sends to the other port, "
	"and prints one line: name, finding, question, what was seen, and the device "
	"argument of net_mana that follows. \"undecided\" comes with the reason."
	"\v"
	"The netdevs of the ports must be down (ip link set NAME down). The program needs "
	"CAP_NET_RAW and CAP_IPC_LOCK, which root has. Its frames go out of the port; it "
	"changes nothing else on the machine, but for the data path with --netvsc until it "
	"ends.\n"
	"\n"
	"Exit status: 0 all questions are decided, 1 some are not, 2 error.";

struct args {
	const char *port, *rx_port, *json, *only, *report;
	const char *netvsc[FC_NB_PORTS];
	bool is_reflector, is_watcher, has_dst;
	uint8_t peer_mac[FC_MAC_BYTES];
	struct fc *fc;
};

static void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("mana-first-contact: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_ERROR);
}

static void __attribute__((noreturn)) list_questions(void)
{
	for (uint32_t i = 0; i < RTE_DIM(tables); i++)
		for (const struct fc_experiment *e = tables[i]; e->name != NULL;
		     e++)
			printf("%-22s  %s\n", e->name, e->question);
	exit(0);
}

static void
parse_mac(const char *option, const char *text, uint8_t mac[FC_MAC_BYTES])
{
	int nb_read = 0;

	if (sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0],
		   &mac[1], &mac[2], &mac[3], &mac[4], &mac[5], &nb_read) != 6 ||
	    text[nb_read] != '\0')
		die("--%s: '%s' is no address: give six bytes as "
		    "00:0d:3a:00:00:01",
		    option, text);
}

/* Two addresses with a comma between them. */
static void
parse_addresses(const char *option, const char *text, int family, void *first,
		void *second)
{
	const char *comma = strchr(text, ',');
	char copy[INET6_ADDRSTRLEN];

	if (comma == NULL || (size_t)(comma - text) >= sizeof(copy))
		die("--%s: '%s': give two addresses with a comma between them",
		    option, text);
	snprintf(copy, sizeof(copy), "%.*s", (int)(comma - text), text);
	if (inet_pton(family, copy, first) != 1 ||
	    inet_pton(family, comma + 1, second) != 1)
		die("--%s: '%s' are not two addresses of this kind", option,
		    text);
}

static bool
is_in_list(const char *list, const char *name)
{
	const size_t length = strlen(name);

	for (const char *at = list; at != NULL;
	     at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, name, length) == 0 &&
		    (at[length] == ',' || at[length] == '\0'))
			return true;
	return false;
}

/* Each name of --only must exist. */
static void
check_only(const char *list)
{
	for (const char *at = list; *at != '\0';) {
		const size_t length = strcspn(at, ",");
		bool is_known = false;

		for (uint32_t i = 0; i < RTE_DIM(tables); i++)
			for (const struct fc_experiment *e = tables[i];
			     e->name != NULL; e++)
				is_known |= strlen(e->name) == length &&
					    strncmp(e->name, at, length) == 0;
		if (!is_known)
			die("--only: there is no question '%.*s': see --list",
			    (int)length, at);
		at += length;
		at += *at == ',';
	}
}

static error_t
parse(int key, char *value, struct argp_state *state)
{
	struct args *args = state->input;
	struct fc *fc = args->fc;
	char *end;

	switch (key) {
	case 'p':
		args->port = value;
		return 0;
	case OPT_RX_PORT:
		args->rx_port = value;
		return 0;
	case OPT_PEER:
		parse_mac("peer", value, args->peer_mac);
		fc->has_peer = true;
		return 0;
	case OPT_DST:
		parse_mac("dst", value, fc->dst_mac);
		args->has_dst = true;
		return 0;
	case OPT_IP4:
		parse_addresses("ip4", value, AF_INET, fc->ip4[0], fc->ip4[1]);
		return 0;
	case OPT_IP6:
		parse_addresses("ip6", value, AF_INET6, fc->ip6[0], fc->ip6[1]);
		return 0;
	case OPT_JSON:
		args->json = value;
		return 0;
	case OPT_REPORT:
		args->report = value;
		return 0;
	case OPT_ONLY:
		check_only(value);
		args->only = value;
		return 0;
	case OPT_LIST:
		list_questions();
	case OPT_LIST_PORTS:
		if (fc_port_list(fc, stdout) != 0)
			die("%s", fc->reason);
		exit(0);
	case OPT_WAIT:
		fc->wait_ms = (uint32_t)strtoul(value, &end, 10);
		if (*value == '\0' || *end != '\0' || fc->wait_ms == 0 ||
		    fc->wait_ms > 60000)
			die("--wait: '%s': give milliseconds, 1 to 60000", value);
		return 0;
	case OPT_VM_SIZE:
		fc->vm_size = value;
		return 0;
	case OPT_REFLECT:
		args->is_reflector = true;
		return 0;
	case OPT_WATCH:
		args->is_watcher = true;
		return 0;
	case OPT_NETVSC:
		if (args->netvsc[FC_NB_PORTS - 1] != NULL)
			die("--netvsc: give it once for each of the two ports");
		if (args->netvsc[0] != NULL && strcmp(args->netvsc[0], value) == 0)
			die("--netvsc: %s twice", value);
		args->netvsc[args->netvsc[0] != NULL] = value;
		return 0;
	case ARGP_KEY_ARG:
		die("'%s' is no option: see --help", value);
	case ARGP_KEY_END:
		if (fc->has_peer && (args->rx_port != NULL || args->is_reflector))
			die("--peer: with it, give neither --rx-port nor --reflect");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The ports, their memory, and where frames go. */
static int
open_ports(struct fc *fc, const struct args *args)
{
	int ret = fc_port_open(fc, &fc->ports[0], args->port, NULL);

	fc->tx = &fc->ports[0];
	fc->rx = &fc->ports[0];
	if (ret == 0 && !fc->has_peer && !args->is_reflector) {
		ret = fc_port_open(fc, &fc->ports[1], args->rx_port, fc->tx);
		fc->rx = &fc->ports[1];
	}
	if (!args->has_dst)
		memcpy(fc->dst_mac, fc->has_peer ? args->peer_mac : fc->rx->mac,
		       FC_MAC_BYTES);
	if (ret == 0 && fc->rx != fc->tx && fc->rx->number == fc->tx->number &&
	    strcmp(fc->rx->device, fc->tx->device) == 0)
		return fc_fail(fc, -EINVAL,
			       "--rx-port: it is the port that sends; "
			       "give another one, or a --peer");
	for (uint32_t i = 0; ret == 0 && i < FC_NB_PORTS && args->netvsc[i] != NULL; i++)
		ret = fc_netvsc_open(fc, args->netvsc[i]);
	return ret != 0 ? ret : fc_memory_open(fc);
}

static void
close_ports(struct fc *fc)
{
	fc_close(fc);
	fc_netvsc_close(fc);
	fc_port_close(&fc->ports[0]);
	fc_port_close(&fc->ports[1]);
}

/* The first queues: 0, or -errno. A second physical function may refuse all. */
static int
check_queues(struct fc *fc, struct fc_report *report)
{
	static const struct fc_experiment pf2 = {
		.name = "pf2-verbs",
		.question = "can verbs use a vPort of adapter 1414:00c1?",
	};
	const struct fc_setup setup = { 0 };
	struct fc_finding finding = { 0 };
	const int ret = fc_open(fc, &setup);
	const bool is_pf2 = fc->tx->pci_device == MANA_PCI_DEVICE_ID_PF2;

	if (is_pf2 && (ret == 0 || ret == -EPROTO)) {
		fc_decide(&finding, ret == 0 ? "taken" : "refused", "", "%s",
			  ret == 0 ? "raw queues were created" : fc->reason);
		fc_report_add(report, &pf2, &finding);
		return 0;
	}
	return ret;
}

#define WAIT_WITHOUT_PATH_MS 50u

/* Without a path, many experiments would wait in vain. */
static void
check_path(struct fc *fc)
{
	static const struct fc_frame_spec spec = { .payload_bytes = 64 };
	struct fc_packet packet;
	struct fc_frame frame;

	if (!fc->is_open || fc_pass_spec(fc, &spec, &frame, &packet) != -ENODATA)
		return;
	fc->wait_ms = RTE_MIN(fc->wait_ms, WAIT_WITHOUT_PATH_MS);
	fprintf(stderr,
		"mana-first-contact: %s port %u sends, but %s; most questions "
		"cannot be decided. On a cloud network, give --dst, --ip4 and "
		"--ip6\n",
		fc->tx->device, fc->tx->number,
		fc->has_peer ? "the peer returns nothing" :
			       "nothing arrives at the other port");
	if (fc_port_is_slave(fc->rx))
		fprintf(stderr, "mana-first-contact: " FC_SLAVE_TEXT "\n",
			fc->rx->netdev);
}

/* The first signal ends the run behind the present question, a second one at once. */
static volatile sig_atomic_t stop_signal;

static void
stop(int signal)
{
	stop_signal = signal;
}

static void
catch_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
	const struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESETHAND };

	for (uint32_t i = 0; i < RTE_DIM(signals); i++)
		sigaction(signals[i], &action, NULL);
}

static void
run(struct fc *fc, const char *only, struct fc_report *report)
{
	for (uint32_t i = 0; i < RTE_DIM(tables); i++) {
		for (const struct fc_experiment *e = tables[i]; e->name != NULL;
		     e++) {
			struct fc_finding finding = { 0 };

			/* The first one finds the form that the others use. */
			if (only != NULL && !is_in_list(only, e->name) &&
			    (i > 0 || e != tables[0]))
				continue;
			fc_netvsc_poll(fc);
			if (fc_open(fc, &e->setup) == 0)
				e->run(fc, &finding);
			else
				fc_undecided(&finding, "%s", fc->reason);
			fc_close(fc);
			/* The signal may have disturbed it. */
			if (stop_signal != 0)
				return;
			if (only == NULL || is_in_list(only, e->name))
				fc_report_add(report, e, &finding);
		}
	}
}

/* --report: at the beginning, so that a wrong path is noticed first, and at the end. */
static int
write_summary(struct fc *fc, const struct fc_report *report, const char *path,
	      bool is_complete)
{
	return path == NULL ? 0 :
			      fc_summary_write(fc, fc_report_root(report), is_complete,
					       path);
}

int
main(int argc, char **argv)
{
	static const struct argp argp = { option_table, parse, NULL, doc,
					  NULL,		NULL,  NULL };
	static struct fc fc = {
		.wait_ms = DEFAULT_WAIT_MS,
		/* Addresses for benchmarks: RFC 2544, RFC 5180. */
		.ip4 = { { 198, 18, 0, 1 }, { 198, 18, 0, 2 } },
		.ip6 = { { 0x20, 0x01, 0x00, 0x02, [15] = 1 },
			 { 0x20, 0x01, 0x00, 0x02, [15] = 2 } },
	};
	struct args args = { .fc = &fc };
	struct fc_report *report = NULL;
	unsigned int nb_undecided = 0;
	int ret;

	argp_err_exit_status = EXIT_ERROR;
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	if (args.is_watcher)
		return fc_watch();
	if (args.netvsc[0] != NULL)
		catch_signals();
	/* Frames of another run have other tags. */
	fc.next_tag = (uint32_t)fc_now_ns() ^ (uint32_t)getpid() << 16;
	ret = open_ports(&fc, &args);
	if (ret == 0 && args.is_reflector) {
		ret = fc_reflect(&fc);
	} else if (ret == 0) {
		report = fc_report_open(&fc, args.json);
		ret = report == NULL ? -EIO :
				       write_summary(&fc, report, args.report, false);
		if (ret == 0)
			ret = check_queues(&fc, report);
		if (ret == 0) {
			check_path(&fc);
			run(&fc, args.only, report);
			nb_undecided = fc_report_end(report);
		}
		if (ret == 0)
			ret = fc_report_write(&fc, report);
		if (ret == 0)
			ret = write_summary(&fc, report, args.report, true);
	}
	fc_report_close(report);
	close_ports(&fc);
	if (stop_signal != 0)
		raise(stop_signal);
	if (ret != 0)
		die("%s", fc.reason);
	return nb_undecided > 0 ? EXIT_UNDECIDED : 0;
}
