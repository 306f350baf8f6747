/* SPDX-License-Identifier: BSD-3-Clause */

/* What the ports and their queues did. */

#include <jansson.h>

#include "config.h"
#include "device.h"
#include "report_parts.h"
#include "report_wire.h"
#include "segment.h"

/* Linux mana.h enum mana_cqe_type, CQE_TX_SA_DROP (33) and on. */
static const char *const tx_error_names[DEVICE_NB_TX_ERRORS] = {
	"sa_drop", "mtu_drop", "invalid_oob", "invalid_eth_type",
	"hdr_processing_error", "vf_disabled", "vport_idx_out_of_range",
	"vport_disabled", "vlan_tagging_violation", "gdma_err",
};

static json_t *
tx_errors(const struct device_port_counters *c)
{
	json_t *errors = json_object();

	for (size_t i = 0; i < DEVICE_NB_TX_ERRORS; i++)
		if (c->tx_errors[i] != 0)
			json_object_set_new(errors, tx_error_names[i],
					    report_number(c->tx_errors[i]));
	return errors;
}

static json_t *
queues(uint32_t fn, uint32_t port)
{
	struct device_queue_counters c;
	json_t *list = json_array();

	for (uint32_t i = 0; device_port_queue(fn, port, i, &c); i++) {
		json_t *queue = json_object();

		json_object_set_new(queue, "id", report_number(c.id));
		json_object_set_new(queue, "kind",
				    json_string(c.is_sq ? "sq" : "rq"));
		json_object_set_new(queue, "alive", json_boolean(c.alive));
		json_object_set_new(queue, "packets", report_number(c.packets));
		json_object_set_new(queue, "bytes", report_number(c.bytes));
		if (!c.is_sq) {
			json_object_set_new(queue, "no_wqe", report_number(c.no_wqe));
			json_object_set_new(queue, "truncated",
					    report_number(c.truncated));
		}
		json_object_set_new(queue, "errors", report_number(c.errors));
		json_array_append_new(list, queue);
	}
	return list;
}

static json_t *
one_port(uint32_t fn, uint32_t port)
{
	json_t *object = json_object(), *rx = json_object(), *tx = json_object();
	struct device_port_counters c;
	uint8_t mac[6];

	device_port_counters(fn, port, &c);
	device_port_mac(fn, port, mac);
	json_object_set_new(rx, "packets", report_number(c.rx_packets));
	json_object_set_new(rx, "bytes", report_number(c.rx_bytes));
	json_object_set_new(rx, "no_wqe", report_number(c.rx_no_wqe));
	json_object_set_new(rx, "truncated", report_number(c.rx_truncated));
	json_object_set_new(rx, "no_steering", report_number(c.rx_no_steering));
	json_object_set_new(rx, "filtered", report_number(c.rx_filtered));
	json_object_set_new(rx, "link_down", report_number(c.rx_link_down));
	json_object_set_new(rx, "errors", report_number(c.rx_errors));
	json_object_set_new(tx, "packets", report_number(c.tx_packets));
	json_object_set_new(tx, "bytes", report_number(c.tx_bytes));
	json_object_set_new(tx, "errors", tx_errors(&c));
	json_object_set_new(tx, "foreign_sa", report_number(c.tx_foreign_sa));
	json_object_set_new(tx, "link_down", report_number(c.tx_link_down));
	json_object_set_new(object, "pci", report_pci_name(fn));
	json_object_set_new(object, "port", report_number(port + 1));
	json_object_set_new(object, "mac",
			    json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x",
					 mac[0], mac[1], mac[2], mac[3], mac[4],
					 mac[5]));
	json_object_set_new(object, "rx", rx);
	json_object_set_new(object, "tx", tx);
	json_object_set_new(object, "queues", queues(fn, port));
	json_object_set_new(rx, "injected", report_injected(fn, port, false));
	json_object_set_new(tx, "injected", report_injected(fn, port, true));
	json_object_set_new(object, "wire", report_wire(fn, port));
	return object;
}

/* Of a machine that runs: one moment for each port, not for all. */
json_t *
report_ports(void)
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
