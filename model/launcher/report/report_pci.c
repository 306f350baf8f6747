/* SPDX-License-Identifier: BSD-3-Clause */

/* The report of a PCI machine. */

#include "fault.h"
#include "pci_status.h"
#include "report.h"
#include "segment.h"

#define NUMBER(n) ((json_int_t)(n))

static json_t *
objects(const struct pci_objects *n)
{
	json_t *object = json_object();

#define SET(kind, name) \
	json_object_set_new(object, #name, json_integer(n->nb_##kind));
	PCI_OBJECT_KINDS(SET)
#undef SET
	return object;
}

static void
add(struct pci_objects *sum, const struct pci_objects *n)
{
#define ADD(kind, name) sum->nb_##kind += n->nb_##kind;
	PCI_OBJECT_KINDS(ADD)
#undef ADD
}

json_t *
report_pci_objects(bool is_left)
{
	struct pci_objects sum = { 0 };

	for (uint32_t fn = 0; fn < segment_config()->nb_functions; fn++)
		add(&sum, is_left ? &pci_status(fn)->left :
				    &pci_status(fn)->objects);
	return objects(&sum);
}

/* Requests that were received at least once. */
static json_t *
requests(const uint64_t n[NB_FAULT_REQUESTS])
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < NB_FAULT_REQUESTS; i++)
		report_add_unless_zero(
			object,
			fault_call_name((enum fault_call)(FAULT_FIRST_REQUEST + i)), n[i]);
	return object;
}

static json_t *
one_function(uint32_t fn)
{
	const struct pci_status *s = pci_status(fn);

	return json_pack("{s:o, s:b, s:I, s:o, s:b, s:o, s:o, s:I, s:I, s:I, s:I, "
			 "s:o, s:o}",
			 "pci", report_pci_name(fn),
			 "connected", s->is_connected,
			 "connections", NUMBER(s->nb_connections),
			 "driver", s->driver[0] == '\0' ? json_null() :
			 json_string(s->driver),
			 "channel", s->is_channel_open,
			 "requests", requests(s->nb_requests),
			 "refused", requests(s->nb_refused),
			 "interrupts", NUMBER(s->nb_interrupts),
			 "resets", NUMBER(s->nb_resets),
			 "cut_off", NUMBER(s->nb_cut_off),
			 "dma_faults", NUMBER(s->nb_dma_faults),
			 "objects", objects(&s->objects),
			 "left", objects(&s->left));
}

json_t *
report_pci_functions(void)
{
	json_t *list = json_array();

	for (uint32_t fn = 0; fn < segment_config()->nb_functions; fn++)
		json_array_append_new(list, one_function(fn));
	return list;
}
