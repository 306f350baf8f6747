/* SPDX-License-Identifier: BSD-3-Clause */

/* The arguments of a device: what is taken and what is refused. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "mana_devargs.h"
#include "mana_log.h"

/* The probe's. */
int mana_logtype_init;
int mana_logtype_driver;

static void
test_taken(void **state)
{
	struct mana_devargs args;

	(void)state;
	assert_int_equal(mana_devargs_parse(NULL, &args), 0);
	assert_int_equal(args.nb_macs, 0);
	assert_int_equal(mana_devargs_parse("", &args), 0);
	assert_int_equal(args.nb_macs, 0);
	assert_int_equal(mana_devargs_parse("mac=00:0d:3a:00:00:01,mac=00:0D:3A:Ff:fe:0a",
					    &args), 0);
	assert_int_equal(args.nb_macs, 2);
	assert_memory_equal(args.macs[0].addr_bytes, "\x00\x0d\x3a\x00\x00\x01", 6);
	assert_memory_equal(args.macs[1].addr_bytes, "\x00\x0d\x3a\xff\xfe\x0a", 6);
	/* EAL's own keys, from "class=eth,driver=net_mana". */
	assert_int_equal(mana_devargs_parse("driver=net_mana,mac=00:0d:3a:00:00:01",
					    &args), 0);
	assert_int_equal(args.nb_macs, 1);
}

static void
test_refused(void **state)
{
	static const char *const bad[] = {
		"mac=", "mac", "mac=0", "mac=00:0d:3a:00:00", "mac=00:0d:3a:00:00:01:02",
		"mac=00:0d:3a:00:00:1", "mac=00:0d:3a:00:00:001", "mac=0:0d:3a:00:00:011",
		"mac=00-0d-3a-00-00-01", "mac=000d:3a00:0001", "mac=00:0d:3a:00:00:0g",
		"mac=+0:0d:3a:00:00:01", "mac= 0:0d:3a:00:00:01", "mac=00:0d:3a:00:00:01 ",
		"mac=0x:0d:3a:00:00:01", "mac=00:0d:3a:00:00_01",
		"mac=00:00:00:00:00:00", /* nobody's */
		"mac=ff:ff:ff:ff:ff:ff", "mac=01:0d:3a:00:00:01", /* multicast */
		"mac=00:0d:3a:00:00:01,mac=00:0D:3A:00:00:01", /* twice */
		"macs=00:0d:3a:00:00:01", "MAC=00:0d:3a:00:00:01", "promisc=1",
		"mac=00:0d:3a:00:00:01,x=1", "=", ",,,x",
	};
	struct mana_devargs args;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(bad); i++) {
		if (mana_devargs_parse(bad[i], &args) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
	}
}

static void
test_number(void **state)
{
	struct mana_devargs args;
	char text[9 * 24] = "";
	unsigned int i;

	(void)state;
	for (i = 1; i <= 9; i++) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len,
			 "%smac=00:0d:3a:00:00:%02x", i > 1 ? "," : "", i);
		assert_int_equal(mana_devargs_parse(text, &args),
				 i <= 8 ? 0 : -E2BIG);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
