# SPDX-License-Identifier: BSD-3-Clause
"""What tests of the whole program have in common.

The first argument of each is FOLDER, which has mana-model and test/.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

# A test that is killed leaves no machine behind.
os.environ["MANA_MODEL_END_WITH_PARENT"] = "1"

FOLDER = os.path.abspath(sys.argv[1])
MODEL = os.path.join(FOLDER, "mana-model")


class Case(unittest.TestCase):
    """Run folders of its own, which must be empty in the end."""

    # For programs that are not built with a sanitizer, or die on purpose: its
    # own handler would say exit status 1. None: what the caller has.
    asan_options = "detect_leaks=0:handle_segv=0"

    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="model-test-")
        self.folders = os.path.join(self.base, "machines")
        os.mkdir(self.folders)
        # Also for programs of other users.
        os.chmod(self.base, 0o777)
        os.chmod(self.folders, 0o777)
        self.env = dict(os.environ, MANA_MODEL_RUNDIR=self.folders)
        if self.asan_options is not None:
            self.env["ASAN_OPTIONS"] = self.asan_options
            self.env.pop("LD_PRELOAD", None)

    def tearDown(self):
        left = os.listdir(self.folders)
        shutil.rmtree(self.base)
        self.assertEqual(left, [], "run folders left behind")

    def path(self, name):
        return os.path.join(self.base, name)

    def run_model(self, *args, prefix=(), timeout=60, env=None, **more):
        return subprocess.run([*prefix, MODEL, *args],
                              env=dict(self.env, **(env or {})), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout, check=False, **more)
