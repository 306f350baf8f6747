/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rings of all possible sizes, filled to the last entry, for several laps: with
 * libmana before 49 up to 256 entries, with later ones up to what the kernel
 * allows. Run under mana-model with two ports and --kernel 7.2.
 *
 * usage: test_model_rings [largest]
 */

#include <stdio.h>

#include "../base/hw.h"
#include "verbs_fixture.h"

#define NB_LAPS 20 /* owner bits count 8 */
#define FRAME_BYTES 1024u
#define MIN_BYTES 60u

static uint32_t largest = 256;

/* Data that differs between neighbours and between laps. */
static uint32_t
frame_bytes(uint32_t n)
{
	return MIN_BYTES + n * 7 % (FRAME_BYTES - MIN_BYTES);
}

static void
write_frame(uint8_t *frame, uint32_t n)
{
	uint32_t i, nb = frame_bytes(n);

	for (i = 0; i < nb; i++)
		frame[i] = i < 6 ? 0xff : (uint8_t)(n * 31 + i);
	memcpy(frame + 14, &n, sizeof(n));
}

static void
send_lap(struct fixture *fx, uint32_t nb, uint32_t first)
{
	uint32_t i;

	for (i = 0; i < nb; i++) {
		write_frame(fx->buf + i * FRAME_BYTES, first + i);
		fx_post_send(fx, &fx->tx[0], i * FRAME_BYTES,
			     frame_bytes(first + i));
	}
	fx_ring_send(fx, &fx->tx[0]);
	for (i = 0; i < nb; i++)
		fx_take(&fx->tx[0], HW_CQE_TX_OKAY);
	fx_ring_cq(fx, &fx->tx[0], false);
}

static void
receive_lap(struct fixture *fx, uint32_t nb, uint32_t first)
{
	uint8_t expected[FRAME_BYTES];
	uint32_t i;

	for (i = 0; i < nb; i++) {
		const uint8_t *cqe = fx_take(&fx->rx[0], HW_CQE_RX_OKAY);
		uint16_t len;

		memcpy(&len, cqe + HW_RX_CQE_PPI_OFF, sizeof(len));
		assert_int_equal(len, frame_bytes(first + i));
		write_frame(expected, first + i);
		assert_memory_equal(fx->buf + fx->buf_bytes / 2 +
				    (first + i) % nb * FX_RX_BUF_BYTES,
				    expected, len);
	}
	fx_ring_cq(fx, &fx->rx[0], false);
}

static void
run_laps(struct fixture *from, struct fixture *to, uint32_t nb)
{
	uint32_t lap;

	for (lap = 0; lap < NB_LAPS; lap++) {
		fx_fill(to, &to->rx[0], nb);
		send_lap(from, nb, lap * nb);
		receive_lap(to, nb, lap * nb);
	}
}

FX_TEST(full_rings_carry_packets)
{
	struct fixture *fx = *state, other = { 0 };
	uint32_t nb;

	for (nb = 128; nb <= largest; nb *= 2) {
		fx->nb_cqe = fx->nb_wr = nb;
		fx->buf_bytes = nb * FX_RX_BUF_BYTES * 2;
		other.nb_cqe = other.nb_wr = nb;
		other.buf_bytes = fx->buf_bytes;
		assert_int_equal(fx_up(fx, 0, 1, 1, 1), 0);
		assert_int_equal(fx_up(&other, 0, 2, 1, 1), 0);
		run_laps(fx, &other, nb);
		run_laps(&other, fx, nb);
		assert_int_equal(fx_close(&other), 0);
		assert_int_equal(fx_close(fx), 0);
		printf("%u entries: %u packets each way\n", nb, NB_LAPS * nb);
	}
	assert_int_equal(MODEL_CALL(mana_model_violations)(NULL), 0);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		largest = strtoul(argv[1], NULL, 10);
	return test_run("rings", NULL, NULL);
}
