/* SPDX-License-Identifier: BSD-3-Clause */

/* Any string of device arguments: an error, or options in their ranges. */

#include "fuzz.h"
#include "mana_ethdev.h"
#include "mana_log.h"

int mana_logtype_init;
int mana_logtype_driver;

static bool
is_power_within(uint32_t n, uint32_t min, uint32_t max)
{
	return n == 0 || (rte_is_power_of_2(n) && n >= min && n <= max);
}

static void
check_options(const struct mana_options *o)
{
	FUZZ_CHECK(is_power_within(o->hw_rxq, 1, MANA_MAX_QUEUES));
	FUZZ_CHECK(is_power_within(o->max_desc, MANA_MIN_DESC, 2048));
	FUZZ_CHECK(o->max_send_sge == 0 ||
		   (o->max_send_sge >= 3 && o->max_send_sge <= GDMA_SQ_WQE_MAX_SGE));
	FUZZ_CHECK(o->tx.form <= MANA_TX_FORM_LONG && o->tx.vport <= MANA_TX_VPORT_LONG);
}

static void
check_select(const struct mana_select *s)
{
	FUZZ_CHECK(memchr(s->netdev, 0, sizeof(s->netdev)) != NULL);
	FUZZ_CHECK(memchr(s->text, 0, sizeof(s->text)) != NULL);
	FUZZ_CHECK(s->port <= UINT8_MAX);
	/* One of the three. */
	FUZZ_CHECK((s->port != 0) + (s->netdev[0] != '\0') +
			   !rte_is_zero_ether_addr(&s->mac) ==
		   1);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return rte_openlog_stream(fopen("/dev/null", "w"));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nb_bytes)
{
	struct mana_devargs *devargs = malloc(sizeof(*devargs));
	char *text = malloc(nb_bytes + 1);
	int ret;

	memcpy(text, data, nb_bytes);
	text[nb_bytes] = '\0';
	ret = mana_devargs_parse(text, devargs);
	FUZZ_CHECK(ret == 0 || ret == -EINVAL || ret == -E2BIG);
	FUZZ_CHECK(devargs->nb_selects <= MANA_DEVARGS_MAX_SELECTS);
	for (uint32_t i = 0; i < devargs->nb_selects; i++)
		check_select(&devargs->selects[i]);
	check_options(&devargs->options);
	free(text);
	free(devargs);
	return 0;
}
