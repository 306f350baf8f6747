/* SPDX-License-Identifier: BSD-3-Clause */

#include <jansson.h>

#include "card.h"
#include "config.h"
#include "fault.h"
#include "inject.h"
#include "kernel.h"
#include "kernel_version.h"
#include "options.h"
#include "report.h"
#include "script.h"
#include "segment.h"
#include "synthetic.h"
#include "violation_log.h"
#include "wire.h"

#define PCI_DOMAIN 0x7870 /* as in sysfs.c */

/* For json_pack(). */
#define NUMBER(n) ((json_int_t)(n))

static const char *const wire_kinds[] = {
	[MODEL_WIRE_PAIR] = "pair", [MODEL_WIRE_LOOP] = "loop",
	[MODEL_WIRE_NONE] = "none", [MODEL_WIRE_TAP] = "tap",
	[MODEL_WIRE_PCAP] = "pcap", [MODEL_WIRE_GEN] = "gen",
};

static json_t *
direction(const struct wire_direction *d)
{
	const struct wire_counters *c = &d->counters;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}",
			 "lost", NUMBER(c->lost),
			 "duplicated", NUMBER(c->duplicated),
			 "reordered", NUMBER(c->reordered),
			 "corrupted", NUMBER(c->corrupted),
			 "overflow", NUMBER(c->overflow),
			 "in_flight", NUMBER(d->queue.nb_frames +
					     d->held.nb_frames));
}

/* Sum over all streams of a generator. */
static json_t *
generator(const struct wire *wire, uint32_t number)
{
	const struct sink_streams *all = &segment_wires()->streams;
	uint64_t received = 0, lost = 0;

	for (uint32_t i = 0; i < all->nb_listed; i++) {
		const struct stream *s = &all->streams[all->listed[i]];

		if (!s->is_local || s->wire != number)
			continue;
		received += s->received;
		lost += stream_lost(s);
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I}",
			 "sent", NUMBER(wire->generator.sent),
			 "bytes", NUMBER(wire->generator.bytes),
			 "malformed", NUMBER(wire->generator.malformed),
			 "received", NUMBER(received), "lost", NUMBER(lost));
}

static json_t *
sink(const struct sink_counters *c)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}",
			 "received", NUMBER(c->received),
			 "duplicated", NUMBER(c->duplicated),
			 "reordered", NUMBER(c->reordered),
			 "corrupted", NUMBER(c->corrupted),
			 "foreign", NUMBER(c->foreign));
}

static json_t *
report_streams(void)
{
	const struct sink_streams *all = &segment_wires()->streams;
	json_t *list = json_array();

	for (uint32_t i = 0; i < all->nb_listed; i++) {
		const struct stream *s = &all->streams[all->listed[i]];

		json_array_append_new(list, json_pack(
			"{s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I}",
			"stream", NUMBER(all->listed[i]),
			"port", !s->is_local ? json_null() :
			json_integer(NUMBER(s->wire) + 1),
			"sent", NUMBER(s->sent),
			"received", NUMBER(s->received),
			"lost", NUMBER(stream_lost(s)),
			"duplicated", NUMBER(s->duplicated),
			"reordered", NUMBER(s->reordered),
			"corrupted", NUMBER(s->corrupted)));
	}
	return list;
}

static json_t *
report_wire(uint32_t fn, uint32_t port)
{
	const struct wire *wire = wire_of(fn, port);
	const uint32_t number = (uint32_t)(wire - segment_wires()->wires);
	json_t *object = json_pack(
		"{s:s, s:o, s:o, s:I, s:I, s:I}", "kind", wire_kinds[wire->kind],
		"out", direction(&wire->way[WIRE_OUT]),
		"in", direction(&wire->way[WIRE_IN]),
		"outlet_lost", NUMBER(wire->backend_lost),
		"vanished", NUMBER(wire->vanished), "capture_lost",
		NUMBER(segment_wires()->capture.nb_lost[number]));

	if (wire->kind == MODEL_WIRE_PAIR)
		json_object_set_new(object, "peer",
				    json_integer(NUMBER(wire->peer) + 1));
	if (wire->generator.is_on || wire->generator.sent != 0)
		json_object_set_new(object, "generator",
				    generator(wire, number));
	if (wire->kind == MODEL_WIRE_GEN || segment_config()->sink)
		json_object_set_new(object, "sink", sink(&wire->sink));
	return object;
}

json_t *
report_pci_name(uint32_t fn)
{
	return json_sprintf("%04x:00:00.0", PCI_DOMAIN + fn);
}

static json_t *
violations(const struct violation_log *log)
{
	static const char *const kinds[VIOLATION_NB_QUEUE_KINDS] = {
		[VIOLATION_QUEUE_NONE] = "none",
		[VIOLATION_QUEUE_SQ] = "sq",
		[VIOLATION_QUEUE_RQ] = "rq",
		[VIOLATION_QUEUE_CQ] = "cq",
		[VIOLATION_QUEUE_EQ] = "eq",
	};
	json_t *list = json_array();

	for (uint32_t i = 0; i < log->nb_rows; i++) {
		const struct violation_row *row = &log->rows[i];
		const struct violation_place *place = &row->place;

		json_array_append_new(list, json_pack(
			"{s:s, s:o, s:I, s:I, s:s, s:o, s:s}",
			"name", violation_name(row->violation),
			"queue", place->kind == VIOLATION_QUEUE_NONE ?
			json_null() : json_integer(place->queue),
			"index", NUMBER(place->index),
			"count", NUMBER(row->count),
			"kind", kinds[place->kind],
			"pci", report_pci_name(place->fn),
			"detail", row->detail));
	}
	return list;
}

static json_t *
doorbells(const struct violation_log *log)
{
	const uint64_t *n = log->doorbells;

	return json_pack("{s:I, s:I, s:I, s:I, s:I}",
			 "sq", NUMBER(n[DOORBELL_COUNT_SQ]),
			 "rq", NUMBER(n[DOORBELL_COUNT_RQ]),
			 "cq", NUMBER(n[DOORBELL_COUNT_CQ]),
			 "cq_arm", NUMBER(n[DOORBELL_COUNT_CQ_ARM]),
			 "traps", NUMBER(log->nb_traps));
}

static json_t *
kinds(const struct kernel_leaks *n)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "pd", NUMBER(n->pd), "mr", NUMBER(n->mr),
			 "cq", NUMBER(n->cq), "wq", NUMBER(n->wq),
			 "qp", NUMBER(n->qp), "ind", NUMBER(n->ind),
			 "fd", NUMBER(n->fd));
}

/* The quirks with another value than the default. */
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

static json_t *
functions(void)
{
	json_t *list = json_array();

	for (uint32_t fn = 0; fn < segment_config()->nb_functions; fn++) {
		struct kernel_function_status status;
		const struct kernel_life *life = &status.life;

		kernel_function_status(fn, &status);
		json_array_append_new(list, json_pack(
			"{s:o, s:b, s:o, s:I, s:I, s:I, s:I, s:I}",
			"pci", report_pci_name(fn),
			"present", status.has_pci,
			"rdma", !status.has_rdma ?
			json_null() : json_integer(status.rdma_number),
			"fatal", NUMBER(life->nb_fatal),
			"removed", NUMBER(life->nb_removed),
			"reset", NUMBER(life->nb_reset),
			"returned", NUMBER(life->nb_returned),
			"link_changes", NUMBER(life->nb_link_changes)));
	}
	return list;
}

void
report_add_unless_zero(json_t *object, const char *name, uint64_t n)
{
	if (n != 0)
		json_object_set_new(object, name, json_integer(NUMBER(n)));
}

static json_t *
failed_calls(void)
{
	const struct fault_plan *plan = segment_fault_plan();
	json_t *object = json_object();

	for (int call = 0; call < NB_FAULT_CALLS; call++)
		report_add_unless_zero(object, fault_call_name((enum fault_call)call),
				       plan->nb_failed[call]);
	return object;
}

static json_t *
injected(uint32_t fn, uint32_t port, bool is_tx)
{
	json_t *object = json_object();

	for (int kind = 0; kind < NB_INJECT_KINDS; kind++)
		report_add_unless_zero(object, inject_kind_name((enum inject_kind)kind),
				       inject_count(fn, port, is_tx,
						    (enum inject_kind)kind));
	return object;
}

static json_t *
tx_errors(const struct card_port_counters *c)
{
	/* Linux mana.h enum mana_cqe_type, CQE_TX_SA_DROP (33) and on. */
	static const char *const names[CARD_NB_TX_ERRORS] = {
		"sa_drop", "mtu_drop", "invalid_oob", "invalid_eth_type",
		"hdr_processing_error", "vf_disabled",
		"vport_idx_out_of_range", "vport_disabled",
		"vlan_tagging_violation", "gdma_err",
	};
	json_t *errors = json_object();

	for (size_t i = 0; i < CARD_NB_TX_ERRORS; i++)
		report_add_unless_zero(errors, names[i], c->tx_errors[i]);
	return errors;
}

static json_t *
queues(uint32_t fn, uint32_t port)
{
	struct card_queue_counters c;
	json_t *list = json_array();

	for (uint32_t i = 0; card_port_queue(fn, port, i, &c); i++) {
		json_t *queue = json_pack(
			"{s:I, s:s, s:b, s:I, s:I}",
			"id", NUMBER(c.id), "kind", c.is_sq ? "sq" : "rq",
			"alive", c.alive, "packets", NUMBER(c.packets),
			"bytes", NUMBER(c.bytes));

		if (!c.is_sq)
			json_object_update_new(queue, json_pack(
				"{s:I, s:I}", "no_wqe", NUMBER(c.no_wqe),
				"truncated", NUMBER(c.truncated)));
		json_object_set_new(queue, "errors",
				    json_integer(NUMBER(c.errors)));
		json_array_append_new(list, queue);
	}
	return list;
}

/* The synthetic device of a port. */
static void
add_synthetic(json_t *object, uint32_t fn, uint32_t port)
{
	struct synthetic_counters c;
	uint32_t number;

	if (!synthetic_number(fn, port, &number))
		return;
	synthetic_counters(number, &c);
	json_object_set_new(object, "synthetic", json_pack(
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"path", c.is_vf_path ? "vf" : "synthetic",
		"to_vf", NUMBER(c.to_vf), "to_synthetic", NUMBER(c.to_synthetic),
		"tx_packets", NUMBER(c.tx_packets), "tx_bytes", NUMBER(c.tx_bytes),
		"tx_errors", NUMBER(c.tx_errors),
		"tx_beside_vf", NUMBER(c.tx_beside_vf),
		"rx_packets", NUMBER(c.rx_packets), "rx_bytes", NUMBER(c.rx_bytes),
		"rx_closed", NUMBER(c.rx_closed),
		"rx_no_buffer", NUMBER(c.rx_no_buffer)));
}

static json_t *
one_port(uint32_t fn, uint32_t port)
{
	struct card_port_counters c;
	json_t *rx, *tx, *object;
	uint8_t mac[6];

	card_port_counters(fn, port, &c);
	card_port_mac(fn, port, mac);
	rx = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
		       "packets", NUMBER(c.rx_packets),
		       "bytes", NUMBER(c.rx_bytes),
		       "no_wqe", NUMBER(c.rx_no_wqe),
		       "truncated", NUMBER(c.rx_truncated),
		       "no_steering", NUMBER(c.rx_no_steering),
		       "filtered", NUMBER(c.rx_filtered),
		       "link_down", NUMBER(c.rx_link_down),
		       "errors", NUMBER(c.rx_errors),
		       "injected", injected(fn, port, false));
	tx = json_pack("{s:I, s:I, s:o, s:I, s:I, s:o}",
		       "packets", NUMBER(c.tx_packets),
		       "bytes", NUMBER(c.tx_bytes),
		       "errors", tx_errors(&c),
		       "foreign_sa", NUMBER(c.tx_foreign_sa),
		       "link_down", NUMBER(c.tx_link_down),
		       "injected", injected(fn, port, true));
	object = json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o}",
			 "pci", report_pci_name(fn), "port", NUMBER(port + 1),
			 "mac", json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x",
					     mac[0], mac[1], mac[2], mac[3],
					     mac[4], mac[5]),
			 "rx", rx, "tx", tx, "queues", queues(fn, port),
			 "wire", report_wire(fn, port));
	add_synthetic(object, fn, port);
	return object;
}

/*
 * On a running machine the counters of a port are consistent, those of
 * different ports are from different times.
 */
static json_t *
ports(void)
{
	const struct model_config *config = segment_config();
	json_t *list = json_array();

	for (uint32_t fn = 0; fn < config->nb_functions; fn++) {
		for (uint32_t port = 0; port < config->nb_ports[fn]; port++) {
			segment_lock();
			json_array_append_new(list, one_port(fn, port));
			segment_unlock();
		}
	}
	return list;
}

static const char *
scenario_result(const struct script_entry *entry)
{
	if (entry->nb_failed > 0)
		return entry->message;
	if (entry->state == SCRIPT_RUNNING)
		return "interrupted";
	return entry->nb_runs > 0 ? "ok" : "waiting";
}

static json_t *
scenario(void)
{
	const struct script *script = segment_script();
	json_t *list = json_array();

	for (uint32_t i = 0; i < script->nb_entries; i++) {
		const struct script_entry *entry = &script->entries[i];

		if (entry->line == 0)
			continue;
		json_array_append_new(list, json_pack(
			"{s:I, s:o*, s:I, s:I, s:o, s:o*}",
			"line", NUMBER(entry->line),
			/* NULL if it is not UTF-8. */
			"text", json_string(entry->text),
			"runs", NUMBER(entry->nb_runs),
			"failed", NUMBER(entry->nb_failed),
			"time_ns", entry->nb_runs == 0 ? json_null() :
			json_integer(NUMBER(entry->time_ns)),
			"result", json_string(scenario_result(entry))));
	}
	return list;
}

/* With an imitated kernel. */
static void
add_kernel(json_t *report)
{
	struct kernel_leaks leaks, objects;

	kernel_leaks(&leaks);
	kernel_objects(&objects);
	json_object_update_new(report, json_pack(
		"{s:o, s:o, s:o, s:s}", "functions", functions(),
		"leaks", kinds(&leaks), "objects", kinds(&objects),
		"kernel", kernel_version()->version));
}

static void
add_pci(json_t *report)
{
	segment_lock();
	json_object_update_new(report, json_pack(
		"{s:o, s:o, s:o, s:n}", "functions", report_pci_functions(),
		"leaks", report_pci_objects(true),
		"objects", report_pci_objects(false), "kernel"));
	segment_unlock();
}

char *
report_text(void)
{
	const struct model_config *config = segment_config();
	const struct violation_log *log = segment_violation_log();
	json_t *report = json_pack("{s:s, s:o}", "name", config->name, "ports",
				   ports());
	char *text;

	if (config->is_pci)
		add_pci(report);
	else
		add_kernel(report);
	segment_lock();
	json_object_update_new(report, json_pack(
		"{s:o, s:o, s:b, s:o, s:o, s:I, s:o}",
		"doorbells", doorbells(log),
		"violations", violations(log), "fatal", log->is_fatal,
		"failed_calls", failed_calls(), "streams", report_streams(),
		"swept_frames", NUMBER(segment_wires()->swept),
		"scenario", scenario()));
	segment_unlock();
	json_object_update_new(report, json_pack(
		"{s:o, s:b, s:I, s:o}",
		"pci_id", json_sprintf("%04x:%04x", MODEL_PCI_VENDOR,
				       config->pci_device),
		"rnic", config->rnic, "seed", NUMBER(config->seed),
		"quirks", quirks(config)));
	text = json_dumps(report, JSON_INDENT(1));
	json_decref(report);
	return text;
}
