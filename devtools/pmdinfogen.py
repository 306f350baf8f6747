#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the PMD information of a driver, as DPDK's own build embeds it.

usage: pmdinfogen.py OBJECTS OUTPUT

OBJECTS is an object file or an archive. RTE_PMD_EXPORT_NAME creates for each driver
a symbol this_pmd_name<N> with its name (N is the name itself from DPDK 25.07 on), symbols
<name>_<tag>_export with a string each, and <name>_pci_tbl_export with the name of its
table of PCI ids. OUTPUT is a C file with one string PMD_INFO_STRING= {JSON} per driver, which dpdk-pmdinfo.py
reads from a plug-in.
"""

import io
import json
import struct
import subprocess
import sys
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

# Tag in a symbol's name, name in the JSON (rte_dev.h, RTE_PMD_REGISTER_*).
STRINGS = {
    'param_string_export': 'params',
    'kmod_dep_export': 'kmod',
}
# struct rte_pci_id: class, vendor, device, subsystem vendor and device.
PCI_ID = '<IHHHH'

LTO = ': were they compiled for link-time optimization without -ffat-lto-objects?'


class Object:
    """The symbols of one object file."""

    def __init__(self, data):
        self.elf = ELFFile(io.BytesIO(data))
        self.symbols = {}
        for section in self.elf.iter_sections():
            if isinstance(section, SymbolTableSection):
                for symbol in section.iter_symbols():
                    self.symbols[symbol.name] = symbol

    def data(self, symbol):
        """Bytes from a symbol to the end of its section."""
        section = self.elf.get_section(symbol['st_shndx'])
        return section.data()[symbol['st_value']:]

    def string(self, name):
        """The C string at a symbol, or None."""
        symbol = self.symbols.get(name)
        if symbol is None:
            return None
        return self.data(symbol).partition(b'\0')[0].decode()

    def pci_ids(self, table):
        """The table of PCI ids up to its zero entry, without the class."""
        symbol = self.symbols.get(table)
        if symbol is None:
            sys.exit(f'pmdinfogen: no symbol {table}')
        ids = []
        size = struct.calcsize(PCI_ID)
        data = self.data(symbol)
        for at in range(0, len(data) - size + 1, size):
            entry = struct.unpack_from(PCI_ID, data, at)
            if entry[1] == 0:
                break
            ids.append(list(entry[1:]))
        return ids

    def drivers(self):
        """One dictionary per registered driver."""
        for name in sorted(self.symbols):
            tag = name.removeprefix('this_pmd_name')
            if tag in (name, ''):
                continue
            pmd = self.string(name)
            info = {'name': pmd}
            for suffix, key in STRINGS.items():
                value = self.string(f'__{pmd}_{suffix}')
                if value is not None:
                    info[key] = value
            table = self.string(f'__{pmd}_pci_tbl_export')
            info['pci_ids'] = self.pci_ids(table) if table else []
            yield info


def members(path):
    """The object files in an archive, thin or not, or the file itself."""
    data = path.read_bytes()
    if not data.startswith((b'!<arch>\n', b'!<thin>\n')):
        return [data]
    names = subprocess.run(['ar', 't', path], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    if data.startswith(b'!<thin>\n'):
        # ar prints names relative to its working directory
        return [Path(name).read_bytes() for name in names]
    return [subprocess.run(['ar', 'p', path, name], check=True,
                           stdout=subprocess.PIPE).stdout for name in names]


def main():
    found = []
    try:
        for data in members(Path(sys.argv[1])):
            found += Object(data).drivers()
    except ELFError as error:
        sys.exit(f'pmdinfogen: {sys.argv[1]}: {error}{LTO}')
    if not found:
        sys.exit(f'pmdinfogen: no driver is registered in {sys.argv[1]}{LTO}')
    with open(sys.argv[2], 'w', encoding='ascii') as out:
        for info in found:
            text = json.dumps('PMD_INFO_STRING= ' + json.dumps(info))
            print(f'const char {info["name"]}_pmd_info[] '
                  f'__attribute__((used)) = {text};', file=out)


if __name__ == '__main__':
    main()
