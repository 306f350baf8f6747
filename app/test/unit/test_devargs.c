/* SPDX-License-Identifier: BSD-3-Clause */

/* Device arguments: accepted and rejected values. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>
#include <rte_vect.h>

#include "mana_ethdev.h"
#include "mana_log.h"
#include "mana_rxtx.h"

/* Defined in mana_probe.c. */
int mana_logtype_init;
int mana_logtype_driver;

static void
test_port_by_mac(void **state)
{
	struct mana_devargs args;

	(void)state;
	assert_int_equal(mana_devargs_parse(NULL, &args), 0);
	assert_int_equal(args.nb_selects, 0);
	assert_int_equal(mana_devargs_parse("", &args), 0);
	assert_int_equal(args.nb_selects, 0);
	assert_int_equal(mana_devargs_parse("mac=00:0d:3a:00:00:01,mac=00:0D:3A:Ff:fe:0a",
					    &args), 0);
	assert_int_equal(args.nb_selects, 2);
	assert_memory_equal(args.selects[0].mac.addr_bytes, "\x00\x0d\x3a\x00\x00\x01", 6);
	assert_memory_equal(args.selects[1].mac.addr_bytes, "\x00\x0d\x3a\xff\xfe\x0a", 6);
	/* EAL's own keys, from "class=eth,driver=net_mana". */
	assert_int_equal(mana_devargs_parse("driver=net_mana,mac=00:0d:3a:00:00:01",
					    &args), 0);
	assert_int_equal(args.nb_selects, 1);
	assert_string_equal(args.key, "mac");
}

static void
test_port_by_netdev_or_number(void **state)
{
	struct mana_devargs args;

	(void)state;
	assert_int_equal(mana_devargs_parse("netdev=eth1,netdev=123456789012345", &args),
			 0);
	assert_string_equal(args.key, "netdev");
	assert_int_equal(args.nb_selects, 2);
	assert_string_equal(args.selects[0].netdev, "eth1");
	assert_string_equal(args.selects[1].netdev, "123456789012345");
	assert_int_equal(mana_devargs_parse("port=1,port=255,port=010", &args), 0);
	assert_string_equal(args.key, "port");
	assert_int_equal(args.nb_selects, 3);
	assert_int_equal(args.selects[0].port, 1);
	assert_int_equal(args.selects[1].port, 255);
	assert_int_equal(args.selects[2].port, 10);
}

static void
test_options(void **state)
{
	struct mana_devargs args;

	(void)state;
	assert_int_equal(mana_devargs_parse("", &args), 0);
	assert_false(args.options.netdev_down);
	assert_false(args.options.reject_promisc);
	assert_int_equal(mana_devargs_parse("netdev_down=1,port=1,promisc=reject", &args),
			 0);
	assert_true(args.options.netdev_down);
	assert_true(args.options.reject_promisc);
	assert_false(args.options.refuse_foreign);
	assert_int_equal(mana_devargs_parse("foreign_mem=refuse", &args), 0);
	assert_true(args.options.refuse_foreign);
	assert_int_equal(mana_devargs_parse("port=1", &args), 0);
	assert_int_equal(args.nb_selects, 1);
	assert_int_equal(mana_devargs_parse("netdev_down=0", &args), 0);
	assert_false(args.options.netdev_down);
	assert_false(args.options.netdev_mtu);
	assert_int_equal(mana_devargs_parse("netdev_mtu=1", &args), 0);
	assert_true(args.options.netdev_mtu);
	assert_int_equal(args.options.max_desc, 0);
	assert_int_equal(args.options.max_send_sge, 0);
	assert_int_equal(mana_devargs_parse("max_desc=64,max_send_sge=3", &args), 0);
	assert_int_equal(args.options.max_desc, 64);
	assert_int_equal(args.options.max_send_sge, 3);
	assert_int_equal(mana_devargs_parse("max_desc=2048,max_send_sge=30", &args), 0);
	assert_int_equal(args.options.max_desc, 2048);
	assert_int_equal(args.options.max_send_sge, 30);
	assert_int_equal(mana_devargs_parse("", &args), 0);
	assert_int_equal(args.options.tx_oob, MANA_TX_FORM_AUTO);
	assert_int_equal(args.options.tx_vport, MANA_TX_VPORT_BOTH);
	assert_int_equal(mana_devargs_parse("tx_oob=short,tx_vport=long", &args), 0);
	assert_int_equal(args.options.tx_oob, MANA_TX_FORM_SHORT);
	assert_int_equal(args.options.tx_vport, MANA_TX_VPORT_LONG);
	assert_int_equal(mana_devargs_parse("tx_oob=long,tx_vport=short", &args), 0);
	assert_int_equal(args.options.tx_oob, MANA_TX_FORM_LONG);
	assert_int_equal(args.options.tx_vport, MANA_TX_VPORT_SHORT);
	assert_true(args.options.tx_suppress);
	assert_int_equal(mana_devargs_parse("tx_suppress=0", &args), 0);
	assert_false(args.options.tx_suppress);
	assert_int_equal(mana_devargs_parse("tx_suppress=1", &args), 0);
	assert_true(args.options.tx_suppress);
	assert_true(args.options.rx_intr);
	assert_int_equal(mana_devargs_parse("rx_intr=0", &args), 0);
	assert_false(args.options.rx_intr);
	assert_int_equal(mana_devargs_parse("rx_intr=1", &args), 0);
	assert_true(args.options.rx_intr);
	assert_false(args.options.rx_scrub);
	assert_int_equal(mana_devargs_parse("rx_scrub=1", &args), 0);
	assert_true(args.options.rx_scrub);
	assert_int_equal(mana_devargs_parse("rx_scrub=0", &args), 0);
	assert_false(args.options.rx_scrub);
	assert_false(args.options.tx_outer);
	assert_int_equal(mana_devargs_parse("tx_outer=1", &args), 0);
	assert_true(args.options.tx_outer);
	assert_int_equal(mana_devargs_parse("tx_outer=0", &args), 0);
	assert_false(args.options.tx_outer);
	assert_int_equal(mana_devargs_parse("netdev_mtu=0", &args), 0);
	assert_false(args.options.netdev_mtu);
	assert_int_equal(args.options.recovery_timeout, MANA_RECOVERY_TIMEOUT_S);
	assert_false(args.options.recovers_owned);
	assert_int_equal(mana_devargs_parse("recovery_timeout=60,port=1", &args), 0);
	assert_int_equal(args.options.recovery_timeout, 60);
	assert_true(args.options.recovers_owned);
	assert_int_equal(mana_devargs_parse("recovery_timeout=0", &args), 0);
	assert_int_equal(args.options.recovery_timeout, 0);
}

/* The keys of the path tables; every build has the scalar ones. */
static void
test_paths(void **state)
{
	const struct mana_rx_path *path;
	struct mana_devargs args;
	char text[32];

	(void)state;
	assert_int_equal(mana_devargs_parse("port=1", &args), 0);
	assert_null(args.options.rx_path);
	assert_int_equal(mana_devargs_parse("rx_path=scalar", &args), 0);
	assert_string_equal(args.options.rx_path, "scalar");

	/* The vector width limits the vector paths. */
	for (path = mana_rx_paths; path < mana_rx_paths + mana_rx_nb_paths; path++) {
		snprintf(text, sizeof(text), "rx_path=%s", path->key);
		assert_int_equal(rte_vect_set_max_simd_bitwidth(
					 RTE_VECT_SIMD_DISABLED), 0);
		assert_int_equal(mana_devargs_parse(text, &args),
				 path->simd_bits == 0 ? 0 : -EINVAL);
		assert_int_equal(rte_vect_set_max_simd_bitwidth(
					 RTE_VECT_SIMD_MAX), 0);
		assert_int_equal(mana_devargs_parse(text, &args),
				 mana_rx_path_is_allowed(path) ? 0 : -EINVAL);
	}
}

/* Whether the word is in a list separated by bars. */
static bool
is_among(const char *words, const char *word, size_t len)
{
	for (; *words != '\0'; words += strcspn(words, "|"), words += *words == '|')
		if (strcspn(words, "|") == len && memcmp(words, word, len) == 0)
			return true;
	return false;
}

/* MANA_DEVARGS_HELP lists exactly the words that the table accepts. */
static void
check_words(const char *key, const char *words)
{
	const struct mana_rx_path *const paths = mana_rx_paths;
	char text[128];
	const char *at;
	uint32_t i;

	for (i = 0; i < mana_rx_nb_paths; i++)
		if (!is_among(words, paths[i].key, strlen(paths[i].key)))
			fail_msg("%s: help lacks %s", key, paths[i].key);
	for (at = words; *at != '\0'; at += strcspn(at, "|"), at += *at == '|') {
		size_t len = strcspn(at, "|");

		assert_true(len < sizeof(text));
		memcpy(text, at, len);
		text[len] = '\0';
#ifndef CC_AVX2_SUPPORT
		if (strcmp(text, "avx2") == 0)
			continue;
#endif
		for (i = 0; i < mana_rx_nb_paths; i++)
			if (strcmp(paths[i].key, text) == 0)
				break;
		if (i == mana_rx_nb_paths)
			fail_msg("%s: help has %s, rejected", key, text);
	}
	/* A single word stands alone, several between brackets. */
	snprintf(text, sizeof(text), strchr(words, '|') == NULL ? "%s=%s" : "%s=<%s>",
		 key, words);
	assert_non_null(strstr(MANA_DEVARGS_HELP, text));
}

static void
test_help_lists_all_words(void **state)
{
	(void)state;
	check_words("rx_path", MANA_DEVARG_RX_PATHS);
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
		"mac=00:00:00:00:00:00", /* all zeros */
		"mac=ff:ff:ff:ff:ff:ff", "mac=01:0d:3a:00:00:01", /* multicast */
		"mac=00:0d:3a:00:00:01,mac=00:0D:3A:00:00:01", /* duplicate */
		"netdev=", "netdev", "netdev=a-name-of-16-chr", "netdev=a/b", "netdev=a b",
		"netdev=a:b", "netdev=a,netdev=a",
		"port=", "port", "port=0", "port=256", "port=1000", "port=4294967297",
		"port=-1", "port=+1", "port= 1", "port=1 ", "port=0x1", "port=1x", "port=x",
		"port=1,port=2,port=1", "port=1,port=01",
		/* more than one selector */
		"port=1,netdev=eth1", "netdev=eth1,mac=00:0d:3a:00:00:01",
		"mac=00:0d:3a:00:00:01,port=1",
		"netdev_down", "netdev_down=", "netdev_down=2", "netdev_down=on",
		"netdev_mtu", "netdev_mtu=9000", "netdev_mtu=1,netdev_mtu=1",
		"netdev_down=01", "netdev_down=1,netdev_down=1",
		"promisc", "promisc=", "promisc=accept", "promisc=Reject",
		"promisc=reject,promisc=reject",
		"foreign_mem", "foreign_mem=accept", "foreign_mem=refuse,foreign_mem=refuse",
		"rx_path", "rx_path=", "rx_path=Scalar", "rx_path=scalar ",
		"rx_path=avx512", "rx_path=scalar,rx_path=scalar",
		"rx_path=a-name-that-is-longer-than-all-of-them",
		"tx_path=scalar", /* a key of earlier versions */
		"tx_suppress", "tx_suppress=no", "tx_suppress=0,tx_suppress=0",
		"rx_intr", "rx_intr=off", "rx_intr=0,rx_intr=1",
		"rx_scrub", "rx_scrub=2", "rx_scrub=1,rx_scrub=1",
		"tx_oob", "tx_oob=auto", "tx_oob=long,tx_oob=long",
		"tx_vport", "tx_vport=1", "tx_vport=both,tx_vport=both",
		"max_desc", "max_desc=", "max_desc=32", "max_desc=100", "max_desc=4096",
		"max_desc=4294967360", "max_desc=-64", "max_desc=64,max_desc=64",
		"max_send_sge", "max_send_sge=2", "max_send_sge=31", "max_send_sge=5x",
		"tx_outer", "tx_outer=2", "tx_outer=1,tx_outer=1",
#ifdef RTE_ARCH_X86
		"rx_path=neon",
#else
		"rx_path=sse", "rx_path=avx2",
#endif
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
	assert_int_equal(mana_devargs_parse("port=1,port=2,port=3,port=4,port=5,"
					    "port=6,port=7,port=8,port=9", &args),
			 -E2BIG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_port_by_mac),
		cmocka_unit_test(test_port_by_netdev_or_number),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_help_lists_all_words),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
