/* SPDX-License-Identifier: BSD-3-Clause */

/* --check: what each check finds in a report. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "test.h"

enum { VIOLATIONS, LEFT, ERRORS, DROPPED, LOST, CHANGED, SCENARIO, NB_CHECKS };
#define ALL ((1u << NB_CHECKS) - 1)

/* Every count that a check reads, and counts that are no fault. */
static const char full[] =
	"{\"violations\": ["
	"  {\"name\": \"oob_encap\", \"count\": 3},"
	"  {\"name\": \"tx_runt\", \"count\": 2},"
	"  {\"name\": \"oob_encap\", \"count\": 4}],"
	" \"leaks\": {\"pd\": 0, \"mr\": 2, \"cq\": 1},"
	" \"functions\": [{\"removed\": 1, \"cut_off\": 1, \"dma_faults\": 5}],"
	" \"ports\": [{"
	"  \"rx\": {\"packets\": 9, \"no_wqe\": 1, \"truncated\": 2,"
	"    \"no_steering\": 3, \"filtered\": 4, \"link_down\": 100, \"errors\": 5},"
	"  \"tx\": {\"packets\": 9, \"errors\": {\"gdma_err\": 6}},"
	"  \"wire\": {\"kind\": \"gen\","
	"    \"out\": {\"lost\": 1, \"overflow\": 2, \"in_flight\": 100},"
	"    \"in\": {\"lost\": 0}, \"outlet_lost\": 3, \"vanished\": 100,"
	"    \"generator\": {\"sent\": 100, \"lost\": 4},"
	"    \"sink\": {\"received\": 9, \"duplicated\": 1, \"reordered\": 2,"
	"      \"corrupted\": 3, \"foreign\": 100}}}],"
	" \"scenario\": [{\"line\": 1, \"result\": \"ok\"},"
	"  {\"line\": 2, \"result\": \"waiting\"}]}";

static const char *const lines[NB_CHECKS] = {
	[VIOLATIONS] = "mana-model: check violations: 9 (oob_encap 7, tx_runt 2)\n",
	[LEFT] = "mana-model: check left: 4 (mr 2, cq 1, cut_off 1)\n",
	[ERRORS] = "mana-model: check errors: 11 (port 1 gdma_err 6, dma_faults 5)\n",
	[DROPPED] = "mana-model: check dropped: 15 (port 1 no_wqe 1, port 1 truncated 2, "
		    "port 1 no_steering 3, port 1 filtered 4, port 1 errors 5)\n",
	[LOST] = "mana-model: check lost: 10 (port 1 lost 1, port 1 overflow 2, "
		 "port 1 outlet_lost 3, port 1 lost 4)\n",
	[CHANGED] = "mana-model: check changed: 6 (port 1 duplicated 1, "
		    "port 1 reordered 2, port 1 corrupted 3)\n",
	[SCENARIO] = "mana-model: check scenario: 1 (line 2: waiting)\n",
};

static void
check(const char *report, uint32_t checks, const char *expected)
{
	size_t nb_bytes;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &nb_bytes);
	bool is_good;

	assert_non_null(stream);
	is_good = report_verdict(report, checks, stream);
	fclose(stream);
	assert_string_equal(text, expected);
	assert_int_equal(is_good, expected[0] == '\0');
	free(text);
}

TEST(test_each_check)
{
	for (uint32_t i = 0; i < NB_CHECKS; i++)
		check(full, 1u << i, lines[i]);
}

TEST(test_all_checks)
{
	char expected[2048] = "";

	for (uint32_t i = 0; i < NB_CHECKS; i++)
		strcat(expected, lines[i]);
	check(full, ALL, expected);
	check(full, 0, "");
}

TEST(test_good_report)
{
	static const char good[] =
		"{\"violations\": [], \"leaks\": {\"mr\": 0}, \"functions\": [{}],"
		" \"ports\": [{\"rx\": {\"no_wqe\": 0, \"link_down\": 2},"
		"  \"tx\": {\"errors\": {}}, \"wire\": {\"vanished\": 7}}],"
		" \"scenario\": [{\"line\": 1, \"result\": \"ok\"}]}";

	check(good, ALL, "");
}

/* The names of many violations do not fit; their count does. */
TEST(test_long_line)
{
	char report[8192] = "{\"violations\": [", expected[64];
	size_t nb_bytes;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &nb_bytes);

	for (int i = 0; i < 100; i++)
		snprintf(report + strlen(report), 64,
			 "%s{\"name\": \"violation_%d\", \"count\": 1}",
			 i == 0 ? "" : ", ", i);
	strcat(report, "]}");
	assert_false(report_verdict(report, ALL, stream));
	fclose(stream);
	snprintf(expected, sizeof(expected), "mana-model: check violations: 100 (");
	assert_memory_equal(text, expected, strlen(expected));
	assert_true(nb_bytes < 600);
	assert_string_equal(text + nb_bytes - 2, ")\n");
	free(text);
}
