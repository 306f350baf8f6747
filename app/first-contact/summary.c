/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * --report: one file that people can read, with what a report of a problem needs. It has
 * no MAC address in clear.
 */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <jansson.h>

#include "first_contact.h"

#define MAC_TEXT_BYTES 17u /* 00:0d:3a:00:00:01 */
#define MAX_LOG_LINES  200u

/* Whether a MAC address begins here. */
static bool
is_mac(const char *text)
{
	for (uint32_t i = 0; i < MAC_TEXT_BYTES; i++)
		if (i % 3 == 2 ? text[i] != ':' : !isxdigit((unsigned char)text[i]))
			return false;
	return true;
}

/* Replace what identifies an adapter; the first half of an address names its vendor. */
static void
hide_macs(char *text)
{
	for (; *text != '\0'; text++)
		if (is_mac(text))
			memcpy(text + 9, "xx:xx:xx", 8);
}

static void
print_system(FILE *file)
{
	FILE *release = fopen("/etc/os-release", "re");
	struct utsname kernel = { .release = "" };
	char line[256];

	uname(&kernel);
	fprintf(file, "Linux: %s %s, %s\n", kernel.release, kernel.machine,
		kernel.version);
	while (release != NULL && fgets(line, sizeof(line), release) != NULL)
		if (strncmp(line, "PRETTY_NAME=", 12) == 0)
			fprintf(file, "System: %s", line + 12);
	if (release != NULL)
		fclose(release);
}

static void
print_findings(const json_t *root, FILE *file)
{
	const json_t *finding;
	size_t i;

	fputs("\nFindings\n--------\n\n", file);
	json_array_foreach(json_object_get(root, "findings"), i, finding)
		fprintf(file, "%-22s  %-12s  %s\n",
			json_string_value(json_object_get(finding, "name")),
			json_string_value(json_object_get(finding, "value")),
			json_string_value(json_object_get(finding, "seen")));
}

static void
print_kernel_log(FILE *file)
{
	const int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	uint32_t nb_lines = 0;
	char record[8192];
	ssize_t n;

	fputs("\nThe kernel's log about the adapter\n"
	      "----------------------------------\n\n", file);
	if (fd < 0) {
		fprintf(file, "not read: %s; run as root\n", strerror(errno));
		return;
	}
	while (nb_lines < MAX_LOG_LINES &&
	       ((n = read(fd, record, sizeof(record) - 1)) > 0 || errno == EPIPE)) {
		const char *text;

		if (n <= 0)
			continue; /* overwritten meanwhile */
		record[n] = '\0';
		text = fc_kernel_log_text(record);
		if (text != NULL) {
			fprintf(file, "%s\n", text);
			nb_lines++;
		}
	}
	close(fd);
}

static void
print_all(struct fc *fc, const json_t *root, bool is_complete, FILE *file)
{
	fprintf(file,
		"Report of mana-first-contact " FC_VERSION "\n"
		"===================================\n\n"
		"Please send this file to the address in the file MAINTAINERS of the "
		"source. It\ncontains what follows, and no MAC address in clear.\n\n"
		"Date: %s\n",
		json_string_value(json_object_get(root, "date")));
	if (!is_complete)
		fputs("Incomplete: the program was ended before its last question.\n",
		      file);
	print_system(file);
	fputs("\nPorts\n-----\n\n", file);
	fc_port_list(fc, file);
	print_findings(root, file);
	print_kernel_log(file);
	fputs("\nCard, for mana-model --card\n"
	      "---------------------------\n\n", file);
	json_dumpf(root, file, JSON_INDENT(1));
	fputc('\n', file);
}

int
fc_summary_write(struct fc *fc, const json_t *root, bool is_complete, const char *path)
{
	char *text = NULL;
	size_t nb_bytes;
	FILE *file = open_memstream(&text, &nb_bytes);
	int ret = 0;

	if (file == NULL)
		return fc_fail(fc, -errno, "no memory");
	print_all(fc, root, is_complete, file);
	fclose(file);
	hide_macs(text);
	file = fopen(path, "we");
	if (file == NULL || fputs(text, file) == EOF)
		ret = -errno;
	if (file != NULL && fclose(file) != 0 && ret == 0)
		ret = -errno;
	free(text);
	return ret == 0 ? 0 :
			  fc_fail(fc, ret, "cannot write %s: %s", path, strerror(-ret));
}
