/* SPDX-License-Identifier: BSD-3-Clause */

/* What came of the lines of the scenario. With the machine's lock held. */

#include "report_parts.h"
#include "script.h"
#include "segment.h"

static const char *
result(const struct script_entry *entry)
{
	if (entry->nb_failed > 0)
		return entry->message;
	if (entry->state == SCRIPT_RUNNING)
		return "interrupted";
	return entry->nb_runs > 0 ? "ok" : "waiting";
}

json_t *
report_scenario(void)
{
	const struct script *script = segment_script();
	json_t *list = json_array();

	for (uint32_t i = 0; i < script->nb_entries; i++) {
		const struct script_entry *entry = &script->entries[i];
		json_t *object;

		if (entry->line == 0)
			continue;
		object = json_object();
		json_object_set_new(object, "line", json_integer(entry->line));
		json_object_set_new(object, "text", json_string(entry->text));
		json_object_set_new(object, "runs",
				    report_number(entry->nb_runs));
		json_object_set_new(object, "failed",
				    report_number(entry->nb_failed));
		json_object_set_new(object, "time_ns", entry->nb_runs == 0 ?
				    json_null() :
				    report_number(entry->time_ns));
		json_object_set_new(object, "result",
				    json_string(result(entry)));
		json_array_append_new(list, object);
	}
	return list;
}
