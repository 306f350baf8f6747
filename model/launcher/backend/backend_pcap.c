/* SPDX-License-Identifier: BSD-3-Clause */

/* Backends for capture files, to read and to write (libpcap). */

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "command.h"
#include "generator.h"
#include "options.h"
#include "wire.h"

#define MAX_FRAME_BYTES 65535
#define NS_PER_S 1000000000u

struct pcap_files {
	char *args; /* in and out point into it */
	const char *in, *out, *rate;
	uint64_t nb_loops; /* remaining loops; 0: no limit */
	pcap_t *reader, *writer;
	pcap_dumper_t *dumper;
	/* The next frame, unsent. libpcap owns it until the next read. */
	const u_char *waiting;
	uint32_t waiting_bytes;
	bool has_ended, has_failed;
};

static struct wire *
wire_at(const struct backend *backend)
{
	return &segment_wires()->wires[backend->number];
}

/* in=FILE,out=FILE,rate=..,loop=K */
static int
parse(struct pcap_files *files, const char *args)
{
	char *next, *item;

	files->nb_loops = 1;
	files->rate = "full";
	next = files->args = strdup(args);
	while (next != NULL && (item = strsep(&next, ",")) != NULL) {
		char *value = strchr(item, '='), *end = NULL;

		if (value != NULL)
			*value++ = '\0';
		if (value == NULL || *value == '\0')
			return -1;
		if (strcmp(item, "in") == 0)
			files->in = value;
		else if (strcmp(item, "out") == 0)
			files->out = value;
		else if (strcmp(item, "rate") == 0)
			files->rate = value;
		else if (strcmp(item, "loop") == 0)
			files->nb_loops = strtoull(value, &end, 10);
		else
			return -1;
		if (end != NULL && *end != '\0')
			return -1;
	}
	return files->in != NULL || files->out != NULL ? 0 : -1;
}

static pcap_t *
open_reader(const char *path)
{
	char message[PCAP_ERRBUF_SIZE];
	pcap_t *reader = pcap_open_offline(path, message);

	if (reader == NULL)
		/* libpcap's message begins with the path, or lacks it. */
		options_error("cannot read the frames of %s: %s; give in= a "
			      "readable pcap or pcapng file",
			      path, message);
	return reader;
}

/* Read the whole file, so that errors appear before the program starts. */
static int
check_input(const char *path)
{
	pcap_t *reader = open_reader(path);
	struct pcap_pkthdr *head;
	const u_char *bytes;
	uint64_t nb_frames = 0;
	int ret = 1;

	if (reader == NULL)
		return -1;
	if (pcap_datalink(reader) != DLT_EN10MB) {
		options_error("%s contains no Ethernet frames, but %s", path,
			      pcap_datalink_val_to_description_or_dlt(
				      pcap_datalink(reader)));
		pcap_close(reader);
		return -1;
	}
	while ((ret = pcap_next_ex(reader, &head, &bytes)) == 1 &&
	       head->caplen <= MAX_FRAME_BYTES)
		nb_frames++;
	if (ret == 1)
		options_error("%s: a frame has %u bytes, more than %u", path,
			      head->caplen, MAX_FRAME_BYTES);
	else if (ret != PCAP_ERROR_BREAK)
		options_error("%s is damaged after frame %llu: %s", path,
			      (unsigned long long)nb_frames, pcap_geterr(reader));
	else if (nb_frames == 0)
		options_error("%s contains no frames", path);
	pcap_close(reader);
	return ret == PCAP_ERROR_BREAK && nb_frames != 0 ? 0 : -1;
}

static int
open_output(struct pcap_files *files)
{
	files->writer = pcap_open_dead_with_tstamp_precision(
		DLT_EN10MB, MAX_FRAME_BYTES, PCAP_TSTAMP_PRECISION_NANO);
	if (files->writer != NULL)
		files->dumper = pcap_dump_open(files->writer, files->out);
	if (files->dumper != NULL && pcap_dump_flush(files->dumper) == 0)
		return 0;
	/* libpcap reports errors of opening, but not of writing. */
	options_error("cannot write frames to %s: %s; give out= a writable file",
		      files->out,
		      files->dumper != NULL ? strerror(errno) :
		      files->writer != NULL ? pcap_geterr(files->writer) :
					      "no memory");
	return -1;
}

/* Read the next frame; false at the end of the last loop. */
static bool
read_next(struct pcap_files *files)
{
	struct pcap_pkthdr *head;

	while (!files->has_ended) {
		if (pcap_next_ex(files->reader, &head, &files->waiting) == 1) {
			files->waiting_bytes = head->caplen;
			return true;
		}
		files->waiting = NULL;
		if (files->nb_loops == 1) {
			files->has_ended = true;
			break;
		}
		if (files->nb_loops > 1)
			files->nb_loops--;
		pcap_close(files->reader);
		files->reader = open_reader(files->in);
		files->has_ended = files->reader == NULL;
	}
	return false;
}

/* Send frames while there is room. */
static void
pcap_tick(struct backend *backend)
{
	struct pcap_files *files = backend->state;
	bool was_taken = true;

	if (files->reader == NULL)
		return;
	while (was_taken && (files->waiting != NULL || read_next(files))) {
		segment_lock();
		was_taken = generator_feed(wire_at(backend), files->waiting,
					   files->waiting_bytes);
		segment_unlock();
		if (was_taken)
			files->waiting = NULL;
	}
}

static int
open_input(struct backend *backend, struct pcap_files *files)
{
	char line[COMMAND_MAX_LINE], message[256];

	if (check_input(files->in) != 0)
		return -1;
	files->reader = open_reader(files->in);
	if (files->reader == NULL)
		return -1;
	segment_lock();
	wire_at(backend)->generator.is_fed = true;
	segment_unlock();
	pcap_tick(backend);
	snprintf(line, sizeof(line), "gen port=%u rate=%s", backend->number + 1,
		 files->rate);
	if (command_run(line, message, sizeof(message)) == 0)
		return 0;
	options_error("--wire %u=pcap: %s", backend->number + 1, message);
	return -1;
}

static int
open_files(struct backend *backend, const char *args)
{
	struct pcap_files *files = calloc(1, sizeof(*files));

	backend->state = files;
	if (files == NULL || parse(files, args) != 0) {
		options_error("--wire %u=pcap:%s: give in=FILE, out=FILE or "
			      "both, and for in also rate=full|1M|10Gbps and "
			      "loop=K (0: for ever)",
			      backend->number + 1, args);
		return -1;
	}
	if (file_check("--wire pcap:in", files->in) != 0 ||
	    file_check("--wire pcap:out", files->out) != 0)
		return -1;
	if (files->in != NULL && open_input(backend, files) != 0)
		return -1;
	return files->out != NULL ? open_output(files) : 0;
}

static bool
pcap_transmit(struct backend *backend, const void *frame, uint32_t nb_bytes,
	      uint64_t at_ns)
{
	struct pcap_files *files = backend->state;
	const struct pcap_pkthdr head = {
		.ts = { (time_t)(at_ns / NS_PER_S),
			(suseconds_t)(at_ns % NS_PER_S) },
		.caplen = nb_bytes,
		.len = nb_bytes,
	};

	if (files->dumper == NULL)
		return false;
	if (files->has_failed)
		return false;
	pcap_dump((u_char *)files->dumper, &head, frame);
	if (!ferror(pcap_dump_file(files->dumper)) &&
	    pcap_dump_flush(files->dumper) == 0)
		return true;
	/* The file may end in a partial frame, so write no more. */
	files->has_failed = true;
	options_error("cannot write frames to %s any more; the run continues; "
		      "free some space, or give another out=",
		      files->out);
	return false;
}

static void
pcap_close_files(struct backend *backend)
{
	struct pcap_files *files = backend->state;

	if (files == NULL)
		return;
	if (files->dumper != NULL)
		pcap_dump_close(files->dumper);
	if (files->writer != NULL)
		pcap_close(files->writer);
	if (files->reader != NULL)
		pcap_close(files->reader);
	free(files->args);
	free(files);
}

const struct backend_ops backend_pcap = {
	.open = open_files,
	.transmit = pcap_transmit,
	.tick = pcap_tick,
	.close = pcap_close_files,
};
