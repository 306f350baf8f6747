# SPDX-License-Identifier: BSD-3-Clause
"""A second driver (second_driver/) on a PCI function: packets with checksums and RSS, and
a reset.
"""

import os

from model_test import Case, main, program

PACKETS = os.environ.get("MANA_SECOND_DRIVER_PACKETS", "20000")


class SecondDriver(Case):
    def test_packets(self):
        """Before and after a reset, and nothing is left."""
        folder = self.path("pci")
        done = self.run_model("--pci", folder, "--ports", "2", "--wire", "pair", "--quiet",
                              "--report", self.report_path, "--", program("second_driver"),
                              f"{folder}/function-0", PACKETS, timeout=600)
        self.assertEqual((done.returncode, done.stdout),
                         (0, f"{PACKETS} packets each way\n"), done.stderr)
        report = self.report()
        self.assertEqual(report["violations"], [])
        self.assertEqual(set(report["leaks"].values()), {0})
        function = report["functions"][0]
        self.assertEqual((function["resets"], function["cut_off"], function["refused"]),
                         (1, 1, {}))
        for port in report["ports"]:
            for way in ("tx", "rx"):
                self.assertEqual(port[way]["packets"], 2 * int(PACKETS))
        print(f"{PACKETS} packets each way before a reset, and after it: no violation")


if __name__ == "__main__":
    main()
