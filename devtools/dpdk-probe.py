#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints properties of an installed DPDK for meson.

usage: dpdk-probe.py LIBDIR INCLUDEDIR

Prints "abi REAL SONAME", the two versions of the EAL library (23.0 and 23 for
librte_eal.so.23.0, soname librte_eal.so.23), then "define NAME VALUE" for each
RTE_ name of rte_build_config.h that is a number or a string or has no value (1).
"""

import re
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile


def abi(libdir):
    """The two versions in the name and in the soname of the EAL library."""
    link = libdir / 'librte_eal.so'
    if not link.exists():
        sys.exit(f'no {link}: a DPDK of shared libraries is needed')
    real = link.resolve()
    with real.open('rb') as stream:
        dynamic = ELFFile(stream).get_section_by_name('.dynamic')
        sonames = [t.soname for t in dynamic.iter_tags('DT_SONAME')]
    version = real.name.partition('.so.')[2]
    return version, sonames[0].partition('.so.')[2]


def main():
    libdir, includedir = Path(sys.argv[1]), Path(sys.argv[2])
    print('abi', *abi(libdir))
    # Debian keeps architecture-dependent headers in another folder.
    for header in [includedir / 'rte_build_config.h',
                   includedir.parent / libdir.name / includedir.name
                   / 'rte_build_config.h']:
        if header.exists():
            for name, value in re.findall(
                    r'^#define[ \t]+(RTE_\w+)(?:[ \t]+"?([\w./-]+)"?)?$',
                    header.read_text(), re.M):
                print('define', name, value or 1)
            return
    sys.exit('no rte_build_config.h found')


if __name__ == '__main__':
    main()
