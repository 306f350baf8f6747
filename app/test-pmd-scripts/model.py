# SPDX-License-Identifier: BSD-3-Clause
"""The modelled machine, from the harness of the model's tests, and the plug-in."""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)),
                             "..", "..", "model", "test"))

# pylint: disable=wrong-import-position,unused-import
from model_test import (BUILD, MODEL, TOP, Model, Report, children,  # noqa: E402,F401
                        find_child, mac, pci, program_environment, timeout_factor,
                        wait_until)

PLUGIN = os.environ.get(
    "MANA_PLUGIN", os.path.join(BUILD, "drivers", "librte_net_mana.so.23.0"))
