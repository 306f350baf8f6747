# SPDX-License-Identifier: BSD-3-Clause
"""A second driver (second_driver/) on a PCI function: packets with checksums and RSS, a
reset, and deliberate mistakes, which the model names.
"""

import os

from model_test import Case, main, program

PACKETS = os.environ.get("MANA_SECOND_DRIVER_PACKETS", "20000")
# Each mistake, and the violation that names it.
MISTAKES = {
    # the channel and its requests
    "read-hole": "bar0_access",
    "channel-twice": "shm_state",
    "message-size": "request_header",
    "short-request": "request_size",
    "rss-table": "request_handle",
    "destroy-twice": "request_handle",
    "eq-first": "request_state",
    "leak": "objects_left",
    # queues
    "dirty-cq": "cq_memory_not_zero",
    "small-cq": "cq_too_small",
    "no-cq-doorbell": "cq_no_doorbell_8_laps",
    "rq-count": "rq_doorbell_wqe_cnt",
    "tail-in-ring": "doorbell_backwards",
    "tail-in-units": "doorbell_misaligned",
    "half-doorbell": "doorbell_bad_width",
    "no-register": "doorbell_bad_offset",
    # packets
    "cq-id": "oob_vcq_num",
    "sq-frame": "oob_vsq_frame",
    "vp-offset": "oob_vp_offset",
    "l4-offset": "oob_trans_off",
    "l4-protocol": "oob_l4_mismatch",
    "checksum-seed": "oob_csum_seed",
    "no-completion": "sq_last_wqe_suppressed",
    "address": "sge_out_of_range",
    "key": "sge_key_unknown",
}
# 8 laps of four CQs of 512 entries.
MISTAKE_PACKETS = {"no-cq-doorbell": "20000"}


class SecondDriver(Case):
    def run_driver(self, packets, *mistake, options=()):
        """Runs the driver on two connected ports; returns the model's report."""
        folder = self.path("pci")
        done = self.run_model("--pci", folder, "--ports", "2", "--wire", "pair", "--quiet",
                              "--report", self.report_path, *options, "--",
                              program("second_driver"), f"{folder}/function-0", packets,
                              *mistake, timeout=600)
        self.assertEqual((done.returncode, done.stdout),
                         (0, f"{packets} packets each way\n"), done.stderr)
        return self.report()

    def test_packets(self):
        """Before and after a reset, and nothing is left."""
        report = self.run_driver(PACKETS)
        self.assertEqual(report["violations"], [])
        self.assertEqual(set(report["leaks"].values()), {0})
        function = report["functions"][0]
        self.assertEqual((function["resets"], function["cut_off"], function["refused"]),
                         (1, 1, {}))
        for port in report["ports"]:
            for way in ("tx", "rx"):
                self.assertEqual(port[way]["packets"], 2 * int(PACKETS))
        print(f"{PACKETS} packets each way before a reset, and after it: no violation")

    def test_rq_count(self):
        """What OpenVMM's driver writes into RQ doorbells, on a card that ignores it."""
        report = self.run_driver("2000", "rq-count",
                                 options=("--quirk", "rq-wqe-cnt=ignored"))
        self.assertEqual(report["violations"], [])

    def test_mistakes(self):
        for mistake, violation in MISTAKES.items():
            with self.subTest(mistake=mistake):
                report = self.run_driver(MISTAKE_PACKETS.get(mistake, "2000"), mistake)
                self.assertEqual({row["name"] for row in report["violations"]},
                                 {violation})
                self.assertEqual(any(report["leaks"].values()), mistake == "leak")


if __name__ == "__main__":
    main()
