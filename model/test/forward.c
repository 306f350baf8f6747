/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A program that forwards frames from one port to another (which may be the
 * same), through the real libibverbs and libmana.
 *
 * usage: forward FROM TO NUMBER Port numbers start at 1. Ends after NUMBER
 * frames, or with status 1 if it receives none for a while.
 */

#include <stdio.h>

#include "hw.h"
#include "verbs_fixture.h"

#define NB_WQES 48u /* fewer than there are CQEs */
#define PATIENCE 20 /* times that of fx_cqe() */

static const uint8_t *
next_cqe(struct fx_queue *q)
{
	const uint8_t *cqe = NULL;

	for (int i = 0; i < PATIENCE && cqe == NULL; i++)
		cqe = fx_cqe(q);
	return cqe;
}

static int
forward(struct fixture *from, struct fixture *to, unsigned long nb)
{
	struct fx_queue *rx = &from->rx[0], *tx = &to->tx[0];
	const uint32_t area = from->buf_bytes / 2;
	const uint32_t slots = area / FX_RX_BUF_BYTES;

	for (uint32_t n = 0; n < nb; n++) {
		const uint8_t *cqe = next_cqe(rx);
		uint32_t nb_bytes;

		if (cqe == NULL) {
			fprintf(stderr, "only %u frames came\n", n);
			return 1;
		}
		nb_bytes = cqe[HW_RX_CQE_PPI_OFF] |
			   cqe[HW_RX_CQE_PPI_OFF + 1] << 8;
		memcpy(to->buf, from->buf + area +
					n % slots * FX_RX_BUF_BYTES,
		       nb_bytes);
		fx_ring_cq(from, rx, false);
		fx_fill(from, rx, 1);
		fx_send(to, tx, 0, nb_bytes);
		cqe = next_cqe(tx);
		if (cqe == NULL || (cqe[0] & HW_CQE_TYPE_M) != HW_CQE_TX_OKAY) {
			fprintf(stderr, "frame %u was not sent\n", n);
			return 1;
		}
		fx_ring_cq(to, tx, false);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	static struct fixture from, other;
	struct fixture *to = &other;
	int status = 2;

	if (argc != 4)
		return 2;
	/* A buffer for each WQE. */
	from.buf_bytes = 4 * NB_WQES * FX_RX_BUF_BYTES;
	if (strcmp(argv[1], argv[2]) == 0)
		to = &from;
	else if (fx_up(&other, 0, (uint32_t)atoi(argv[2]), 1, 1) != 0)
		return 2;
	if (fx_up(&from, 0, (uint32_t)atoi(argv[1]), 1, 1) == 0) {
		fx_fill(&from, &from.rx[0], NB_WQES);
		status = forward(&from, to, strtoul(argv[3], NULL, 10));
	}
	fx_close(&from);
	if (to != &from)
		fx_close(to);
	return status;
}
