/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A program that does a fixed amount of work with one thread: brings a port up,
 * sends packets to itself, one after the other, and prints each CQE that it
 * reads. For tests of the trace.
 *
 * usage: fixed_work PACKETS [waste] [COMMAND...] waste: allocate memory first,
 * so that all addresses differ. Commands are those of mana-model ctl.
 */

#include <stdio.h>

#include "../base/hw.h"
#include "verbs_fixture.h"

#define NB_RX 32
#define MIN_BYTES 60
#define STEP_BYTES 37

/* Print a CQE without its trailer. */
static void
print_cqe(const char *what, const uint8_t *cqe)
{
	uint32_t i;

	printf("%s", what);
	for (i = 0; cqe != NULL && i < HW_CQE_TRAILER_OFF; i += 4)
		printf(" %08x", hw_le32(cqe + i));
	printf("\n");
}

/* Print the data that a driver would read according to the CQE. */
static void
print_data(const struct fixture *fx, uint32_t slot, const uint8_t *cqe)
{
	const uint8_t *data = fx->buf + FX_BUF_BYTES / 2 +
			      slot % (FX_BUF_BYTES / 2 / FX_RX_BUF_BYTES) *
				      FX_RX_BUF_BYTES;
	uint32_t n = hw_le32(cqe + HW_RX_CQE_PPI_OFF) & 0xffff, sum = 0, i;

	for (i = 0; i < n && i < FX_RX_BUF_BYTES; i++)
		sum = sum * 31 + data[i];
	printf("data %u %08x\n", n, sum);
}

static bool
one_packet(struct fixture *fx, uint32_t n)
{
	const uint32_t nb_bytes = MIN_BYTES + n * STEP_BYTES % 1400;
	const uint8_t *cqe;
	uint32_t i;

	for (i = 0; i < nb_bytes; i++)
		fx->buf[i] = (uint8_t)(i * 7 + n);
	fx_send(fx, &fx->tx[0], 0, nb_bytes);
	cqe = fx_cqe(&fx->tx[0]);
	print_cqe("tx", cqe);
	if (cqe == NULL)
		return false;
	fx_ring_cq(fx, &fx->tx[0], false);
	cqe = fx_cqe(&fx->rx[0]);
	print_cqe("rx", cqe);
	if (cqe == NULL)
		return false;
	print_data(fx, n, cqe);
	fx_fill(fx, &fx->rx[0], 1);
	fx_ring_cq(fx, &fx->rx[0], true);
	return true;
}

static bool
prepare(const char *what)
{
	if (strcmp(what, "waste") == 0)
		return malloc(12345678) != NULL;
	if (fx_command(what) == 0)
		return true;
	fprintf(stderr, "%s: %s\n", what, fx_message);
	return false;
}

int
main(int argc, char **argv)
{
	const uint32_t nb = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
	struct fixture fx = { 0 };
	uint32_t n;
	int rc, i;

	for (i = 2; i < argc; i++)
		if (!prepare(argv[i]))
			return 1;
	rc = fx_up(&fx, 0, 1, 1, 1);
	printf("up %s\n", rc == 0 ? "0" : strerrorname_np(rc));
	if (rc == 0) {
		fx_fill(&fx, &fx.rx[0], NB_RX);
		for (n = 0; n < nb && one_packet(&fx, n); n++)
			;
	}
	rc = fx_close(&fx);
	printf("down %s\n", rc == 0 ? "0" : strerrorname_np(rc));
	return 0;
}
