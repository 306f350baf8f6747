#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The recipe for continuous integration, model/recipe, as its users run it.

usage: test_recipe.py [unittest arguments]
"""

import os
import re
import subprocess
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
RECIPE = os.path.join(TOP, "model", "recipe")
PATIENCE_S = 300


def run(*words):
    return subprocess.run([os.path.join(RECIPE, "test-application.sh"), *words],
                          check=False, capture_output=True, text=True, timeout=PATIENCE_S)


class Recipe(unittest.TestCase):
    def test_testpmd_passes(self):
        done = run()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\b2 passed\b")

    def test_application_that_ends_fails(self):
        done = run("exec false $EAL")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, "the program ended before that")
        self.assertRegex(done.stdout, r"\b2 failed\b")

    def test_files_name_scripts_that_exist(self):
        for name in "Containerfile", "workflow.yml":
            with open(os.path.join(RECIPE, name), encoding="utf-8") as file:
                paths = re.findall(r"/opt/dpdk-mana/([\w./-]+\.sh)", file.read())
            self.assertIn("model/recipe/test-application.sh", paths)
            for path in paths:
                self.assertTrue(os.access(os.path.join(TOP, path), os.X_OK), path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
