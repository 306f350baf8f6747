/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sends packets described on standard input and prints the frames that leave
 * the port, for a script that checks them. A line of input:
 *
 * 	OOB0 TRANS_OFF TCI HEADER MSS SIZES FRAME
 *
 * OOB0: bits of the OOB's word 0 (hex); TCI of a tag to insert, or -1; HEADER:
 * size of SGE 0 of an LSO, or 0; SIZES of the SGEs, with commas, the last one
 * takes the rest; FRAME in hex. The answer: "frame HEX" lines, then "cqe TYPE
 * VIOLATIONS".
 */

#include <stdio.h>
#include <stdlib.h>

#include "nic.h"
#include "fixture.h"
#include "wire.h"

#define MAX_LINE (4u * FX_BUF_BYTES)

/* Without sscanf(), which searches the end of the string each time. */
static uint32_t
read_hex(const char *hex, uint8_t *bytes)
{
	static const char digits[] = "0123456789abcdef";
	uint32_t n;

	for (n = 0; hex[2 * n] > ' ' && hex[2 * n + 1] > ' '; n++) {
		const char *high = strchr(digits, hex[2 * n]);
		const char *low = strchr(digits, hex[2 * n + 1]);

		if (high == NULL || low == NULL)
			exit(2);
		bytes[n] = (uint8_t)((high - digits) << 4 | (low - digits));
	}
	return n;
}

/* Split the nb_bytes in buf into SGEs of SIZES. */
static struct fx_wqe
cut(const struct fx_port *p, char *sizes, uint32_t nb_bytes)
{
	struct fx_wqe wqe;
	uint32_t off = 0, n;
	char *next;

	for (next = strtok(sizes, ","); next != NULL; next = strtok(NULL, ",")) {
		n = (uint32_t)strtoul(next, NULL, 10);
		if (n == 0 || n > nb_bytes - off)
			n = nb_bytes - off;
		if (off == 0)
			wqe = fx_tx_wqe(p, 0, n);
		else if (n != 0)
			fx_tx_add_sge(p, &wqe, off, n);
		off += n;
	}
	if (off < nb_bytes)
		fx_tx_add_sge(p, &wqe, off, nb_bytes - off);
	return wqe;
}

static void
print_frames(void)
{
	static uint8_t frame[CARD_FRAME_BYTES];
	uint32_t port, n, i;
	uint64_t at_ns;

	while ((n = wire_backend_next(&port, frame, sizeof(frame), &at_ns)) != 0) {
		fputs("frame ", stdout);
		for (i = 0; i < n; i++)
			printf("%02x", frame[i]);
		putchar('\n');
	}
}

static void
run_line(struct fixture *fx, char *line)
{
	struct fx_port *p = &fx->port[0];
	static char sizes[1024];
	uint32_t oob0, trans_off, header, mss, n;
	struct fx_wqe wqe;
	int tci, at, type;

	if (sscanf(line, "%x %u %d %u %u %1023s %n", &oob0, &trans_off, &tci,
		   &header, &mss, sizes, &at) != 6)
		exit(2);
	n = read_hex(line + at, p->buf);
	wqe = cut(p, sizes, n);
	if (tci >= 0)
		fx_insert_tag(p, &wqe, (uint16_t)tci);
	wqe.oob[0] |= oob0;
	wqe.oob[1] |= trans_off;
	if (header != 0) {
		wqe.header[0] = header << 24;
		wqe.header[1] |= 1u << 11 | mss << 16;
	}
	type = fx_send(p, &wqe);
	fx_ring_cq(p, &p->scq, false);
	print_frames();
	printf("cqe %d %u\n", type,
	       (unsigned int)segment_violation_log()->nb_violations);
	fflush(stdout);
}

int
main(void)
{
	static struct fixture fx;
	static char line[MAX_LINE];

	fx_defaults(&fx);
	fx.config.wire = MODEL_WIRE_TAP;
	fx_start(&fx);
	while (fgets(line, sizeof(line), stdin) != NULL)
		run_line(&fx, line);
	fx_stop(&fx);
	return 0;
}
