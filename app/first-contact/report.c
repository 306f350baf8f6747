/* SPDX-License-Identifier: BSD-3-Clause */

/* A line for each question, and the file for mana-model --card. */

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/manadv.h>
#include <jansson.h>

#include "first_contact.h"

struct fc_report {
	json_t *root, *options, *quirks, *findings;
	unsigned int nb_questions, nb_undecided;
	uint32_t port; /* of the Tx queue */
	const char *path; /* of the file; NULL: none */
	bool is_regular; /* the file can be replaced */
};

static void
set_text(char *to, size_t room, const char *from)
{
	snprintf(to, room, "%s", from);
}

void
fc_decide(struct fc_finding *finding, const char *value, const char *argument,
	  const char *seen, ...)
{
	va_list args;

	finding->is_decided = true;
	finding->is_quirk = true;
	set_text(finding->value, sizeof(finding->value), value);
	set_text(finding->argument, sizeof(finding->argument), argument);
	va_start(args, seen);
	vsnprintf(finding->seen, sizeof(finding->seen), seen, args);
	va_end(args);
}

void
fc_observe(struct fc_finding *finding, const char *argument, const char *value,
	   const char *format, ...)
{
	va_list args;

	finding->is_decided = true;
	finding->is_quirk = false;
	set_text(finding->value, sizeof(finding->value), value);
	set_text(finding->argument, sizeof(finding->argument), argument);
	va_start(args, format);
	vsnprintf(finding->seen, sizeof(finding->seen), format, args);
	va_end(args);
}

void
fc_undecided(struct fc_finding *finding, const char *reason, ...)
{
	va_list args;

	finding->is_decided = false;
	finding->is_quirk = false;
	va_start(args, reason);
	vsnprintf(finding->seen, sizeof(finding->seen), reason, args);
	va_end(args);
}

void
fc_unexpected(struct fc_finding *finding, const char *what, int type)
{
	fc_undecided(finding, "%s: %s", what, fc_cqe_name(type));
}

/* The file's name of libmana, which has its version, as libmana.so.1.0.44.0. */
static json_t *
provider(void)
{
	char path[PATH_MAX];
	Dl_info info;

	if (dladdr((void *)(uintptr_t)&manadv_set_context_attr, &info) == 0 ||
	    realpath(info.dli_fname, path) == NULL)
		return json_null();
	return json_string(strrchr(path, '/') + 1);
}

/* What the kernel reports of the RDMA device. */
static json_t *
limits(const struct fc_port *port)
{
	struct ibv_device_attr attr;

	if (ibv_query_device(port->ctx, &attr) != 0)
		return json_null();
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:i}", "max_qp",
			 attr.max_qp, "max_qp_wr", attr.max_qp_wr, "max_sge",
			 attr.max_sge, "max_cq", attr.max_cq, "max_cqe", attr.max_cqe,
			 "max_mr", attr.max_mr, "max_pd", attr.max_pd, "fw_ver",
			 attr.fw_ver, "vendor_part_id", (int)attr.vendor_part_id);
}

/*
 * The size of the virtual machine, which Azure tells it by a service on the network:
 * cloud-init keeps the answer (DataSourceAzure.py crawl_metadata()).
 */
#define INSTANCE_DATA "/run/cloud-init/instance-data.json"
static json_t *
vm_size(const char *given)
{
	json_t *root, *size;

	if (given != NULL)
		return json_string(given);
	root = json_load_file(INSTANCE_DATA, 0, NULL);
	size = json_object_get(root, "ds");
	size = json_object_get(json_object_get(size, "meta_data"), "imds");
	size = json_object_get(json_object_get(size, "compute"), "vmSize");
	size = json_is_string(size) ? json_incref(size) : json_null();
	json_decref(root);
	return size;
}

/* When, with what and where the findings were made: for people. */
static void
describe(const struct fc *fc, json_t *root, json_t *adapter)
{
	struct utsname kernel = { .release = "" };
	const time_t now = time(NULL);
	char date[32] = "";
	struct tm utc;

	if (gmtime_r(&now, &utc) != NULL)
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
	uname(&kernel);
	json_object_set_new(root, "date", json_string(date));
	json_object_set_new(root, "program", json_string(FC_VERSION));
	json_object_update_new(
		adapter,
		json_pack("{s:s, s:o, s:s, s:s, s:i, s:o, s:i, s:o, s:o}", "kernel",
			  kernel.release, "libmana", provider(), "machine",
			  kernel.machine, "pci-id", "", "revision",
			  (int)fc_port_revision(fc->tx), "limits", limits(fc->tx),
			  "speed-mbps", (int)fc_port_speed(fc->tx), "processors",
			  json_integer(sysconf(_SC_NPROCESSORS_ONLN)), "vm-size",
			  vm_size(fc->vm_size)));
	json_object_set_new(adapter, "pci-id",
			    json_sprintf("%04x:%04x", MANA_PCI_VENDOR_ID,
					 fc->tx->pci_device));
}

/* Replace the file as a whole, so that it is valid at any time. */
static int
write_file(const struct fc_report *report)
{
	char path[PATH_MAX];

	errno = ENAMETOOLONG;
	if (!report->is_regular) {
		errno = ENOMEM;
		return json_dump_file(report->root, report->path, JSON_INDENT(1)) == 0 ?
			       0 : -errno;
	}
	if (snprintf(path, sizeof(path), "%s.new", report->path) >= (int)sizeof(path))
		return -errno;
	errno = ENOMEM;
	if (json_dump_file(report->root, path, JSON_INDENT(1)) == 0 &&
	    rename(path, report->path) == 0)
		return 0;
	return -errno;
}

/* What cannot be replaced, such as a pipe or a link, is written once, at the end. */
static int
create_file(struct fc *fc, struct fc_report *report, const char *path)
{
	struct stat st;
	int ret;

	report->path = path;
	report->is_regular = lstat(path, &st) != 0 || S_ISREG(st.st_mode);
	if (!report->is_regular)
		return 0;
	ret = write_file(report);
	return ret == 0 ? 0 :
			  fc_fail(fc, ret, "cannot write %s: %s", path, strerror(-ret));
}

struct fc_report *
fc_report_open(struct fc *fc, const char *path)
{
	struct fc_report *report = calloc(1, sizeof(*report));
	char id[8];

	fc_fail(fc, -ENOMEM, "no memory");
	if (report == NULL)
		return NULL;
	report->port = fc->tx->number;
	report->options = json_object();
	report->quirks = json_object();
	report->findings = json_array();
	/* The objects are part of the root, which owns them. */
	report->root =
		json_pack("{s:s, s:i, s:{s:s, s:i, s:s, s:s}, s:o, s:o, s:o}",
			  "format", "mana-card", "version", 1, "adapter",
			  "device", fc->tx->device, "port", (int)fc->tx->number,
			  "netdev", fc->tx->netdev, "pci", fc->tx->pci, "options",
			  report->options, "quirks", report->quirks, "findings",
			  report->findings);
	if (report->root == NULL) {
		free(report);
		return NULL;
	}
	describe(fc, report->root, json_object_get(report->root, "adapter"));
	if (fc->tx->pci_device == MANA_PCI_DEVICE_ID_VF ||
	    fc->tx->pci_device == MANA_PCI_DEVICE_ID_PF ||
	    fc->tx->pci_device == MANA_PCI_DEVICE_ID_PF2) {
		snprintf(id, sizeof(id), "%x", fc->tx->pci_device & 0xff);
		json_object_set_new(report->options, "device-id",
				    json_string(id));
	}
	if (path != NULL && create_file(fc, report, path) != 0) {
		fc_report_close(report);
		return NULL;
	}
	return report;
}

/* Add a word to the list of the option enforce. */
static void
add_enforced(struct fc_report *report, const char *word)
{
	const char *before =
		json_string_value(json_object_get(report->options, "enforce"));

	json_object_set_new(report->options, "enforce",
			    before == NULL ? json_string(word) :
					     json_sprintf("%s,%s", before, word));
}

/* Findings that are options of mana-model, not quirks. */
static void
add_option(struct fc_report *report, const char *name,
	   const struct fc_finding *finding)
{
	const json_int_t number = strtol(finding->value, NULL, 10);

	if (strcmp(name, "max-frame") == 0)
		json_object_set_new(report->options, "max-mtu",
				    json_integer(number - (int)FC_ETH_BYTES));
	else if (strcmp(name, "cq-doorbell") == 0)
		json_object_set_new(report->options, name,
				    json_string(finding->value));
	else if (strcmp(name, "rx-coalesced") == 0)
		json_object_set_new(report->options, "coalesce",
				    json_boolean(finding->is_quirk));
	else if (strcmp(name, "vp-offset") == 0 && report->port == 1)
		/* The model's option is the offset of port 1. */
		json_object_set_new(report->options, name, json_integer(number));
	else if (strncmp(name, "network-", 8) == 0 &&
		 (strcmp(finding->value, "refused") == 0 ||
		  (strcmp(finding->value, "filtered") == 0 &&
		   strcmp(name, "network-dmac") == 0)))
		add_enforced(report, name + 8);
}

void
fc_report_add(struct fc_report *report, const struct fc_experiment *experiment,
	      const struct fc_finding *finding)
{
	json_t *entry =
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "name",
			  experiment->name, "question", experiment->question,
			  "value",
			  finding->is_decided ? finding->value : "undecided",
			  "seen", finding->seen, "argument", finding->argument,
			  "measured", experiment->is_measured);

	report->nb_questions++;
	report->nb_undecided += !finding->is_decided;
	json_array_append_new(report->findings, entry);
	if (finding->is_decided)
		add_option(report, experiment->name, finding);
	if (finding->is_decided && finding->is_quirk)
		json_object_set_new(report->quirks, experiment->name,
				    json_string(finding->value));
	printf("%-22s  %-12s  %s%s %s%s%s\n", experiment->name,
	       finding->is_decided ? finding->value : "undecided",
	       experiment->question,
	       experiment->question[strlen(experiment->question) - 1] == '?' ?
		       "" :
		       ":",
	       finding->seen, finding->argument[0] != '\0' ? "; use " : "",
	       finding->argument);
	fflush(stdout);
	if (report->path != NULL && report->is_regular)
		write_file(report); /* fc_report_write() reports an error */
}

const json_t *
fc_report_root(const struct fc_report *report)
{
	return report->root;
}

unsigned int
fc_report_end(struct fc_report *report)
{
	printf("%u questions, %u undecided\n", report->nb_questions,
	       report->nb_undecided);
	return report->nb_undecided;
}

int
fc_report_write(struct fc *fc, const struct fc_report *report)
{
	const int ret = report->path == NULL ? 0 : write_file(report);

	return ret == 0 ? 0 :
			  fc_fail(fc, ret, "cannot write %s: %s", report->path,
				  strerror(-ret));
}

void
fc_report_close(struct fc_report *report)
{
	if (report == NULL)
		return;
	json_decref(report->root);
	free(report);
}
