/* SPDX-License-Identifier: BSD-3-Clause */

/* A line for each question, and the file for mana-model --card. */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <jansson.h>

#include "first_contact.h"

struct fc_report {
	json_t *root, *options, *quirks, *findings;
	unsigned int nb_questions, nb_undecided;
	uint32_t port; /* of the Tx queue */
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

struct fc_report *
fc_report_open(const struct fc *fc)
{
	struct fc_report *report = calloc(1, sizeof(*report));
	struct utsname kernel = { .release = "" };
	char id[8];

	if (report == NULL)
		return NULL;
	uname(&kernel);
	report->port = fc->tx->number;
	report->options = json_object();
	report->quirks = json_object();
	report->findings = json_array();
	/* The objects are part of the root, which owns them. */
	report->root =
		json_pack("{s:s, s:i, s:{s:s, s:i, s:s, s:s, s:s}, s:o, s:o, s:o}",
			  "format", "mana-card", "version", 1, "adapter",
			  "device", fc->tx->device, "port", (int)fc->tx->number,
			  "netdev", fc->tx->netdev, "pci", fc->tx->pci, "kernel",
			  kernel.release, "options", report->options, "quirks",
			  report->quirks, "findings", report->findings);
	if (report->root == NULL) {
		free(report);
		return NULL;
	}
	if (fc->tx->pci_device == MANA_PCI_DEVICE_ID_VF ||
	    fc->tx->pci_device == MANA_PCI_DEVICE_ID_PF ||
	    fc->tx->pci_device == MANA_PCI_DEVICE_ID_PF2) {
		snprintf(id, sizeof(id), "%x", fc->tx->pci_device & 0xff);
		json_object_set_new(report->options, "device-id",
				    json_string(id));
	}
	return report;
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
}

unsigned int
fc_report_end(struct fc_report *report)
{
	printf("%u questions, %u undecided\n", report->nb_questions,
	       report->nb_undecided);
	return report->nb_undecided;
}

int
fc_report_write(struct fc *fc, const struct fc_report *report, const char *path)
{
	errno = ENOMEM;
	if (json_dump_file(report->root, path, JSON_INDENT(1)) == 0)
		return 0;
	return fc_fail(fc, -errno, "cannot write %s: %s", path, strerror(errno));
}

void
fc_report_close(struct fc_report *report)
{
	if (report == NULL)
		return;
	json_decref(report->root);
	free(report);
}
