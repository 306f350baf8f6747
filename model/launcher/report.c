/* SPDX-License-Identifier: BSD-3-Clause */

#include <jansson.h>
#include <stdlib.h>

#include "config.h"
#include "kernel.h"
#include "ledger.h"
#include "options.h"
#include "report.h"
#include "report_parts.h"
#include "report_wire.h"
#include "segment.h"
#include "traits.h"

#define PCI_DOMAIN 0x7870 /* as sysfs.c numbers the functions */

json_t *
report_number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

json_t *
report_pci_name(uint32_t fn)
{
	return json_sprintf("%04x:00:00.0", PCI_DOMAIN + fn);
}

static json_t *
one_violation(const struct ledger_row *row)
{
	static const char *const kinds[LEDGER_MAX_QUEUE_KINDS] = {
		[LEDGER_NONE] = "none",
		[LEDGER_SQ] = "sq",
		[LEDGER_RQ] = "rq",
		[LEDGER_CQ] = "cq",
	};
	const struct ledger_place *place = &row->place;
	json_t *object = json_object();

	json_object_set_new(object, "name",
			    json_string(violation_name(row->violation)));
	json_object_set_new(object, "queue", place->kind == LEDGER_NONE ?
			    json_null() : report_number(place->queue));
	json_object_set_new(object, "index", report_number(place->index));
	json_object_set_new(object, "count", report_number(row->count));
	json_object_set_new(object, "kind", json_string(kinds[place->kind]));
	json_object_set_new(object, "pci", report_pci_name(place->fn));
	return object;
}

static json_t *
violations(const struct ledger *ledger)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < ledger->nb_rows; i++)
		json_array_append_new(list, one_violation(&ledger->rows[i]));
	return list;
}

static json_t *
doorbells(const struct ledger *ledger)
{
	const uint64_t *n = ledger->doorbells;
	json_t *object = json_object();

	json_object_set_new(object, "sq", report_number(n[LEDGER_DOORBELL_SQ]));
	json_object_set_new(object, "rq", report_number(n[LEDGER_DOORBELL_RQ]));
	json_object_set_new(object, "cq", report_number(n[LEDGER_DOORBELL_CQ]));
	json_object_set_new(object, "cq_arm",
			    report_number(n[LEDGER_DOORBELL_CQ_ARM]));
	json_object_set_new(object, "traps", report_number(ledger->nb_traps));
	return object;
}

static json_t *
kinds(const struct kernel_leaks *n)
{
	json_t *object = json_object();

	json_object_set_new(object, "pd", report_number(n->pd));
	json_object_set_new(object, "mr", report_number(n->mr));
	json_object_set_new(object, "cq", report_number(n->cq));
	json_object_set_new(object, "wq", report_number(n->wq));
	json_object_set_new(object, "qp", report_number(n->qp));
	json_object_set_new(object, "ind", report_number(n->ind));
	json_object_set_new(object, "fd", report_number(n->fd));
	return object;
}

/* Those that are not the default. */
static json_t *
quirks(const struct model_config *config)
{
	json_t *object = json_object();
	const char *name, *value;
	int length;

	for (uint32_t n = 0; options_quirk(config, n, &name, &value, &length);
	     n++)
		if (config->quirks[n] != 0)
			json_object_set_new(object, name,
					    json_stringn(value, (size_t)length));
	return object;
}

char *
report_text(void)
{
	const struct model_config *config = segment_config();
	struct kernel_leaks leaks, objects;
	json_t *report = json_object();
	char *text;

	kernel_leaks(&leaks);
	kernel_objects(&objects);
	json_object_set_new(report, "name", json_string(config->name));
	json_object_set_new(report, "ports", report_ports());
	json_object_set_new(report, "functions", report_functions());
	segment_lock();
	json_object_set_new(report, "doorbells", doorbells(segment_ledger()));
	json_object_set_new(report, "violations", violations(segment_ledger()));
	json_object_set_new(report, "fatal",
			    json_boolean(segment_ledger()->is_fatal));
	json_object_set_new(report, "failed_calls", report_failed_calls());
	json_object_set_new(report, "streams", report_streams());
	json_object_set_new(report, "swept_frames", report_swept());
	json_object_set_new(report, "scenario", report_scenario());
	segment_unlock();
	json_object_set_new(report, "leaks", kinds(&leaks));
	json_object_set_new(report, "objects", kinds(&objects));
	json_object_set_new(report, "kernel",
			    json_string(kernel_traits()->version));
	json_object_set_new(report, "pci_id",
			    json_sprintf("%04x:%04x", MODEL_PCI_VENDOR,
					 config->pci_device));
	json_object_set_new(report, "rnic", json_boolean(config->rnic));
	json_object_set_new(report, "seed", report_number(config->seed));
	json_object_set_new(report, "quirks", quirks(config));
	text = json_dumps(report, JSON_INDENT(1));
	json_decref(report);
	return text;
}
