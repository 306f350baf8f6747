/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "device.h"
#include "kernel.h"
#include "ledger.h"
#include "options.h"
#include "report.h"
#include "segment.h"

#define PCI_DOMAIN 0x7870 /* as sysfs.c numbers the functions */

/* Linux mana.h enum mana_cqe_type, CQE_TX_SA_DROP (33) and on. */
static const char *const tx_error_names[DEVICE_NB_TX_ERRORS] = {
	"sa_drop", "mtu_drop", "invalid_oob", "invalid_eth_type",
	"hdr_processing_error", "vf_disabled", "vport_idx_out_of_range",
	"vport_disabled", "vlan_tagging_violation", "gdma_err",
};

static json_t *
number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *
pci_name(uint32_t fn)
{
	return json_sprintf("%04x:00:00.0", PCI_DOMAIN + fn);
}

static json_t *
tx_errors(const struct device_port_counters *c)
{
	json_t *errors = json_object();

	for (size_t i = 0; i < DEVICE_NB_TX_ERRORS; i++)
		if (c->tx_errors[i] != 0)
			json_object_set_new(errors, tx_error_names[i],
					    number(c->tx_errors[i]));
	return errors;
}

static json_t *
queues(uint32_t fn, uint32_t port)
{
	struct device_queue_counters c;
	json_t *list = json_array();

	for (uint32_t i = 0; device_port_queue(fn, port, i, &c); i++) {
		json_t *queue = json_object();

		json_object_set_new(queue, "id", number(c.id));
		json_object_set_new(queue, "kind",
				    json_string(c.is_sq ? "sq" : "rq"));
		json_object_set_new(queue, "alive", json_boolean(c.alive));
		json_object_set_new(queue, "packets", number(c.packets));
		json_object_set_new(queue, "bytes", number(c.bytes));
		if (!c.is_sq) {
			json_object_set_new(queue, "no_wqe", number(c.no_wqe));
			json_object_set_new(queue, "truncated",
					    number(c.truncated));
		}
		json_object_set_new(queue, "errors", number(c.errors));
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
	json_object_set_new(rx, "packets", number(c.rx_packets));
	json_object_set_new(rx, "bytes", number(c.rx_bytes));
	json_object_set_new(rx, "no_wqe", number(c.rx_no_wqe));
	json_object_set_new(rx, "truncated", number(c.rx_truncated));
	json_object_set_new(rx, "no_steering", number(c.rx_no_steering));
	json_object_set_new(rx, "filtered", number(c.rx_filtered));
	json_object_set_new(rx, "errors", number(c.rx_errors));
	json_object_set_new(tx, "packets", number(c.tx_packets));
	json_object_set_new(tx, "bytes", number(c.tx_bytes));
	json_object_set_new(tx, "errors", tx_errors(&c));
	json_object_set_new(tx, "foreign_sa", number(c.tx_foreign_sa));
	json_object_set_new(object, "pci", pci_name(fn));
	json_object_set_new(object, "port", number(port + 1));
	json_object_set_new(object, "mac",
			    json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x",
					 mac[0], mac[1], mac[2], mac[3], mac[4],
					 mac[5]));
	json_object_set_new(object, "rx", rx);
	json_object_set_new(object, "tx", tx);
	json_object_set_new(object, "queues", queues(fn, port));
	return object;
}

/* Of a machine that runs: one moment for each port, not for all. */
static json_t *
all_ports(void)
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
			    json_null() : number(place->queue));
	json_object_set_new(object, "index", number(place->index));
	json_object_set_new(object, "count", number(row->count));
	json_object_set_new(object, "kind", json_string(kinds[place->kind]));
	json_object_set_new(object, "pci", pci_name(place->fn));
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

	json_object_set_new(object, "sq", number(n[LEDGER_DOORBELL_SQ]));
	json_object_set_new(object, "rq", number(n[LEDGER_DOORBELL_RQ]));
	json_object_set_new(object, "cq", number(n[LEDGER_DOORBELL_CQ]));
	json_object_set_new(object, "cq_arm",
			    number(n[LEDGER_DOORBELL_CQ_ARM]));
	return object;
}

static json_t *
kinds(const struct kernel_leaks *n)
{
	json_t *object = json_object();

	json_object_set_new(object, "pd", number(n->pd));
	json_object_set_new(object, "mr", number(n->mr));
	json_object_set_new(object, "cq", number(n->cq));
	json_object_set_new(object, "wq", number(n->wq));
	json_object_set_new(object, "qp", number(n->qp));
	json_object_set_new(object, "ind", number(n->ind));
	json_object_set_new(object, "fd", number(n->fd));
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
	json_object_set_new(report, "ports", all_ports());
	segment_lock();
	json_object_set_new(report, "doorbells", doorbells(segment_ledger()));
	json_object_set_new(report, "violations", violations(segment_ledger()));
	json_object_set_new(report, "fatal",
			    json_boolean(segment_ledger()->is_fatal));
	segment_unlock();
	json_object_set_new(report, "leaks", kinds(&leaks));
	json_object_set_new(report, "objects", kinds(&objects));
	json_object_set_new(report, "seed", number(config->seed));
	text = json_dumps(report, JSON_INDENT(1));
	json_decref(report);
	return text;
}

static int
write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left != 0) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		left -= (size_t)n;
	}
	return 0;
}

static int
write_in_place(const char *text, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int ret;

	if (fd < 0)
		return -errno;
	ret = write_all(fd, text);
	if (close(fd) != 0 && ret == 0)
		ret = -errno;
	return ret;
}

/* A new file beside it, with the same mode, takes its place. */
static int
write_and_rename(const char *text, const char *path)
{
	mode_t mask = umask(0);
	mode_t mode = 0666 & ~mask;
	struct stat st;
	char *temp;
	int fd, ret;

	umask(mask);
	if (stat(path, &st) == 0)
		mode = st.st_mode & 07777;
	if (asprintf(&temp, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		free(temp);
		return ret;
	}
	ret = write_all(fd, text);
	if (ret == 0 && fchmod(fd, mode) != 0)
		ret = -errno;
	if (close(fd) != 0 && ret == 0)
		ret = -errno;
	if (ret == 0 && rename(temp, path) != 0)
		ret = -errno;
	if (ret != 0)
		unlink(temp);
	free(temp);
	return ret;
}

static int
complain(const char *path, int error)
{
	options_complain("cannot write the report to %s: %s; give --report a "
			 "file where you may write", path, strerror(error));
	return -1;
}

int
report_check(const char *path)
{
	char *copy;
	int error = 0;

	if (access(path, F_OK) == 0)
		return access(path, W_OK) == 0 ? 0 : complain(path, errno);
	copy = strdup(path);
	if (copy == NULL)
		return complain(path, ENOMEM);
	if (access(dirname(copy), W_OK | X_OK) != 0)
		error = errno;
	free(copy);
	return error == 0 ? 0 : complain(path, error);
}

int
report_write(const char *text, const char *path)
{
	struct stat st;
	int ret = -EINVAL;

	/* Links, terminals and pipes stay what they are. */
	if (lstat(path, &st) != 0 || S_ISREG(st.st_mode))
		ret = write_and_rename(text, path);
	/* A folder that takes no new file may have this one. */
	if (ret != 0)
		ret = write_in_place(text, path);
	return ret == 0 ? 0 : complain(path, -ret);
}

static uint64_t
get(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void
summarise_ports(const json_t *report, FILE *stream)
{
	const json_t *port;
	size_t i;

	json_array_foreach(json_object_get(report, "ports"), i, port) {
		const json_t *rx = json_object_get(port, "rx");
		const json_t *tx = json_object_get(port, "tx");
		uint64_t dropped = get(rx, "no_wqe") + get(rx, "truncated") +
				   get(rx, "no_steering") +
				   get(rx, "filtered") + get(rx, "errors");
		uint64_t errors = 0;
		const char *name;
		json_t *n;

		json_object_foreach(json_object_get(tx, "errors"), name, n)
			errors += (uint64_t)json_integer_value(n);
		fprintf(stream,
			"  %s port %" PRIu64 " %s: sent %" PRIu64
			" (%" PRIu64 " errors), received %" PRIu64
			" (%" PRIu64 " dropped)\n",
			json_string_value(json_object_get(port, "pci")),
			get(port, "port"),
			json_string_value(json_object_get(port, "mac")),
			get(tx, "packets"), errors, get(rx, "packets"),
			dropped);
	}
}

static void
summarise_kinds(const json_t *object, FILE *stream)
{
	const char *name;
	json_t *n;
	bool has_any = false;

	json_object_foreach((json_t *)(uintptr_t)object, name, n) {
		if (json_integer_value(n) == 0)
			continue;
		fprintf(stream, "%s%s %" JSON_INTEGER_FORMAT,
			has_any ? ", " : " ", name, json_integer_value(n));
		has_any = true;
	}
	fprintf(stream, "%s\n", has_any ? "" : " none");
}

void
report_summary(const char *text, FILE *stream)
{
	json_t *report = json_loads(text, 0, NULL), *row;
	const json_t *rows = json_object_get(report, "violations");
	const json_t *bells = json_object_get(report, "doorbells");
	size_t i;

	if (report == NULL)
		return;
	fprintf(stream, "mana-model: machine %s\n",
		json_string_value(json_object_get(report, "name")));
	summarise_ports(report, stream);
	fprintf(stream,
		"  doorbells: sq %" PRIu64 ", rq %" PRIu64 ", cq %" PRIu64
		", cq armed %" PRIu64 "\n",
		get(bells, "sq"), get(bells, "rq"), get(bells, "cq"),
		get(bells, "cq_arm"));
	fprintf(stream, "  violations:%s\n",
		json_array_size(rows) == 0 ? " none" : "");
	json_array_foreach(rows, i, row)
		fprintf(stream, "    %s: %" PRIu64 " times, %s %s queue %" PRIu64
			", first at %" PRIu64 "\n",
			json_string_value(json_object_get(row, "name")),
			get(row, "count"),
			json_string_value(json_object_get(row, "pci")),
			json_string_value(json_object_get(row, "kind")),
			get(row, "queue"), get(row, "index"));
	fprintf(stream, "  left behind by programs:");
	summarise_kinds(json_object_get(report, "leaks"), stream);
	json_decref(report);
}
