/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Target program for tests of commands: sends N packets from port 1 to port 2
 * and prints the completions and data.
 *
 * usage: command_target [--wait] [--run LINE]... N NB_TX NB_RX NB_TX, NB_RX:
 * number of completions to wait for. First it prints "ready" and, with --wait,
 * waits for a line on stdin.
 */

#include <stdio.h>

#include "hw.h"
#include "verbs_fixture.h"

#define FRAME_BYTES 64u

static struct fixture ports[2];

static const uint8_t *
next_slot(const struct fx_queue *q, uint32_t *owner, uint32_t *lap)
{
	const uint8_t *cqe = q->cq_ring +
			     q->cq_head % FX_NB_CQE * HW_CQE_BYTES;

	*owner = hw_le32(cqe + HW_CQE_TRAILER_OFF) >> HW_CQE_OWNER_S;
	*lap = q->cq_head / FX_NB_CQE & HW_CQE_OWNER_M;
	return cqe;
}

static void
print_cqe(const struct fx_queue *q, const uint8_t *cqe, bool is_tx)
{
	const uint32_t trailer = hw_le32(cqe + HW_CQE_TRAILER_OFF);

	printf(" %u", cqe[0] & HW_CQE_TYPE_M);
	if (!is_tx)
		printf(":%u", hw_le32(cqe + HW_RX_CQE_PPI_OFF) & 0xffff);
	if (hw_le32(cqe) >> HW_CQE_VENDOR_ERR_S != 0)
		printf("e%x", hw_le32(cqe) >> HW_CQE_VENDOR_ERR_S);
	if ((trailer & HW_CQE_WQ_NUM_M) != q->id)
		printf("q");
	if ((trailer >> HW_CQE_IS_SQ_S & 1) != is_tx)
		printf("s");
}

/* Wait for nb completions; print these and any further ones. */
static void
print_queue(const char *name, struct fx_queue *q, uint32_t nb, bool is_tx)
{
	const uint8_t *cqe;
	uint32_t owner, lap;

	printf("%s", name);
	for (; nb > 0 && (cqe = fx_cqe(q)) != NULL; nb--)
		print_cqe(q, cqe, is_tx);
	if (nb > 0)
		printf(" missing");
	for (;;) {
		cqe = next_slot(q, &owner, &lap);
		if (owner != lap)
			break;
		q->cq_head++;
		print_cqe(q, cqe, is_tx);
	}
	if (owner != ((lap - 1) & HW_CQE_OWNER_M))
		printf(" owner+%u", (owner - lap) & HW_CQE_OWNER_M);
	printf("\n");
}

static int
traffic(uint32_t n, uint32_t nb_tx, uint32_t nb_rx)
{
	struct fixture *a = &ports[0], *b = &ports[1];
	struct ibv_pd *pd;
	uint32_t i;

	if (fx_up(a, 0, 1, 1, 1) != 0 || fx_up(b, 0, 2, 1, 1) != 0) {
		perror("bring-up");
		return 1;
	}
	for (i = 0; i < 2; i++) {
		errno = 0;
		pd = ibv_alloc_pd(a->ctx);
		printf("pd %d\n", pd == NULL ? errno : 0);
		if (pd != NULL)
			ibv_dealloc_pd(pd);
	}
	fx_fill(b, &b->rx[0], 32);
	memset(a->buf, 0xff, 12);
	for (i = 0; i < n; i++)
		fx_send(a, &a->tx[0], 0, FRAME_BYTES);
	print_queue("tx", &a->tx[0], nb_tx, true);
	print_queue("rx", &b->rx[0], nb_rx, false);
	fx_close(a);
	fx_close(b);
	return 0;
}

int
main(int argc, char **argv)
{
	char line[256];
	bool waits = false, is_refused = false;
	int at = 1;

	if (argc > at && strcmp(argv[at], "--wait") == 0) {
		waits = true;
		at++;
	}
	printf("ready\n");
	fflush(stdout);
	if (waits && fgets(line, sizeof(line), stdin) == NULL)
		return 1;
	for (; at + 1 < argc && strcmp(argv[at], "--run") == 0; at += 2) {
		if (fx_command(argv[at + 1]) < 0) {
			printf("refused: %s\n", fx_message);
			is_refused = true;
		}
	}
	if (is_refused)
		return 2;
	if (argc != at + 3)
		return 1;
	return traffic((uint32_t)atoi(argv[at]), (uint32_t)atoi(argv[at + 1]),
		       (uint32_t)atoi(argv[at + 2]));
}
