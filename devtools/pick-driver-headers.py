#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Copies DPDK's driver headers out of a DPDK source tree.

usage: pick-driver-headers.py SOURCE DESTINATION INSTALLED...

DESTINATION gets, without subfolders, the headers that DPDK would install with
-Denable_driver_sdk=true (listed in its meson.build files), and the headers they
include that are neither in an INSTALLED folder nor in the system's.
"""

import re
import shutil
import sys
from pathlib import Path

# Part of the driver SDK in later releases, plain headers in 22.11.
ALWAYS = ['ethdev_driver.h', 'ethdev_pci.h', 'bus_pci_driver.h',
          'dev_driver.h']


def sdk_headers(source):
    """{name in a driver_sdk_headers list: its file}."""
    found = {}
    folders = list((source / 'lib').glob('**/meson.build'))
    folders += list((source / 'drivers' / 'bus').glob('*/meson.build'))
    for meson in folders:
        text = re.sub(r'#.*', '', meson.read_text())
        for block in re.findall(
                r'driver_sdk_headers\s*\+?=\s*files\(([^)]*)\)', text):
            for name in re.findall(r"'([^']+\.h)'", block):
                found[Path(name).name] = meson.parent / name
    return found


def main():
    source, destination = Path(sys.argv[1]), Path(sys.argv[2])
    installed = [Path(p) for p in sys.argv[3:]]
    every = {}
    for top in [source / 'lib', source / 'drivers' / 'bus']:
        for path in sorted(top.glob('**/*.h')):
            # Other systems' variants of the same name come later, if at all.
            if not {'windows', 'freebsd'} & set(path.parts):
                every.setdefault(path.name, path)

    todo = sdk_headers(source)
    for name in ALWAYS:
        if name not in todo and name in every:
            todo[name] = every[name]
    missing = [n for n in ALWAYS if n not in todo]
    if missing:
        sys.exit('not in the source of DPDK: ' + ' '.join(missing))

    done = {}
    while todo:
        name, path = todo.popitem()
        if name in done or not path.exists():
            continue
        done[name] = path
        text = path.read_text(errors='replace')
        for inc in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]',
                              text, re.M):
            base = Path(inc).name
            if inc != base or base in done or base not in every:
                continue
            if not any((d / base).exists() for d in installed):
                todo[base] = every[base]
    for name, path in done.items():
        shutil.copyfile(path, destination / name)


if __name__ == '__main__':
    main()
