# SPDX-License-Identifier: BSD-3-Clause
"""compare.py finds each difference, and accepts only those with a reason."""

import os
import subprocess
import sys
import tempfile
import unittest

COMPARE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "compare.py")
WALK = "# Linux\na: one -> ok\na: two -> EINVAL\na: two -> ok 5\n"


class Compare(unittest.TestCase):
    def compare(self, model, kernel, known="", *options):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("model", "kernel", "known")]
            for path, text in zip(paths, (model, kernel, known)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            return subprocess.run([sys.executable, COMPARE, *options, "--known", paths[2],
                                   "6.12", *paths[:2]], capture_output=True, text=True,
                                  check=False)

    def test_equal_walks(self):
        done = self.compare(WALK, WALK.replace("# Linux", "# another"))
        self.assertEqual((done.returncode, done.stdout),
                         (0, "6.12: 0 differences, and 0 known ones\n"))

    def test_another_answer(self):
        done = self.compare(WALK, WALK.replace("ok 5", "ok 6"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "a: two\n    model:  ok 5\n    6.12:   ok 6\n"
                         "6.12: 1 differences, and 0 known ones\n")

    def test_missing_step(self):
        for model, kernel in ((WALK, WALK + "a: three -> ok\n"),
                              (WALK + "a: three -> ok\n", WALK)):
            done = self.compare(model, kernel)
            self.assertEqual(done.returncode, 1)
            self.assertIn("a: three\n", done.stdout)
            self.assertIn("no such step", done.stdout)

    def test_some_steps(self):
        self.assertEqual(self.compare(WALK, "a: two -> EINVAL\n", "", "--some").returncode, 0)
        for kernel in ("a: two -> ok\n", "a: three -> ok\n"):
            self.assertEqual(self.compare(WALK, kernel, "", "--some").returncode, 1)

    def test_repeated_step(self):
        """The first "two" is equal, the second is missing."""
        done = self.compare(WALK, WALK.replace("a: two -> ok 5\n", ""))
        self.assertEqual(done.returncode, 1)
        self.assertIn("model:  ok 5\n    6.12:   no such step\n", done.stdout)

    def test_known_difference(self):
        kernel = WALK.replace("ok 5", "ok 6")
        row = "6.12|^a: two -> ok (5|4) <> ok 6$|a reason\n"
        done = self.compare(WALK, kernel, row)
        self.assertEqual((done.returncode, done.stdout),
                         (0, "6.12: 0 differences, and 1 known ones\n"))
        self.assertIn("known:  a reason", self.compare(WALK, kernel, row, "--all").stdout)
        # Another answer than the known one.
        self.assertEqual(self.compare(WALK, WALK.replace("ok 5", "ok 7"), row).returncode, 1)

    def test_row_of_another_kernel(self):
        kernel = WALK.replace("ok 5", "ok 6")
        self.assertEqual(self.compare(WALK, kernel, "7.3|a: two|a reason\n").returncode, 1)

    def test_row_without_difference(self):
        done = self.compare(WALK, WALK, "6.12|a: two|a reason\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such difference any more", done.stdout)

    def test_malformed_files(self):
        self.assertIn("KERNELS|PATTERN|REASON", self.compare(WALK, WALK, "6.12 a\n").stderr)
        done = self.compare(WALK, WALK + "Oops: 0000\n")
        self.assertIn("not a step", done.stderr)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
