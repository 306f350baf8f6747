#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Checks the instructions of the burst functions of a plug-in (x86-64, with debug
lines): those in the tables of paths, tx_pkt_prepare, and every function of the
plug-in that they reach by calls, jumps, or address, with rare paths. The check ends
at BORDERS and at functions of other libraries, which must be in IMPORTS.

- No locked instruction, exchange with memory, mfence, lfence, division or system
  call. Exceptions are lines of the DPDK headers in INLINED.
- Store fences only frame doorbells: without a branch between them an sfence, one
  8-byte store from a register, an sfence. There is no other MMIO store (rte_io.h).

usage: check-bursts.py [--verbose] PLUG-IN
"""

import argparse
import re
import subprocess
import sys

from elftools.elf.elffile import ELFFile

TABLE = re.compile(r'^mana_rx_\w*paths$')
BURST = re.compile(r'^mana_(rx|tx)_burst_(?!(mode_set|get|name)$)\w+$')
MORE_ROOTS = ['mana_tx_burst', 'mana_tx_pkt_prepare']

# Here the control path begins: an unknown region.
BORDERS = {'mana_mr_miss'}

# Permitted functions of other libraries. The test proof-calls shows that they make no
# system call and no allocation in bursts.
IMPORTS = {
    'memcmp', 'memcpy', 'memmove', 'memset', '__memcpy_chk', '__memmove_chk',
    '__memset_chk', '__tls_get_addr',
    # do not return
    '__stack_chk_fail', '__rte_panic',
    # rare: chains with shared segments; copies; headers in several segments
    'rte_pktmbuf_free_bulk', 'rte_pktmbuf_copy', '__rte_pktmbuf_read',
    # packet types from headers, if the application enables them
    'rte_net_get_ptype',
    # the chunks of a pool, after regions were deregistered
    'rte_mempool_mem_iter',
}

# Headers of DPDK that may contain a locked instruction: the reference count of an mbuf,
# or of its data, with several owners. A single owner is a plain store, and the fast
# paths have no other.
INLINED = {'rte_mbuf.h'}
# DPDK's default build disables fast-path trace points; an optimizing compiler removes
# them.
TRACE_POINTS = 'rte_trace_point.h'

LABEL = re.compile(r'^([0-9a-f]+) <(.+)>:$')
INSN = re.compile(r'^ *([0-9a-f]+):\t(.*\S)')
LINE = re.compile(r'^([./].+):(\d+)(?: \(discriminator \d+\))?$')
INLINER = re.compile(r'^ *inlined by ([./].+?):\d+ \((\S+)\)')
FUNCTION = re.compile(r'^(\S+)\(\):$')
TARGET = re.compile(r'([0-9a-f]+) <([^>]+)>')
MEMORY = re.compile(r'\(|%fs:|%gs:')

PREFIXES = {'lock', 'rep', 'repz', 'repnz', 'bnd', 'notrack', 'data16', 'cs',
            'ds', 'rex.W'}
FENCES = {'mfence', 'lfence'}
SYSTEM = {'syscall', 'sysenter', 'int', 'int3', 'hlt', 'cpuid', 'rdtsc', 'rdtscp'}
DIVISION = re.compile(r'^v?i?div')
JUMP = re.compile(r'^(j\w+|call\w*|ret\w*|loop\w*)$')


class Insn:
    def __init__(self, addr, text, stack):
        words = text.split('#')[0].split()
        self.addr = addr
        self.text = text
        self.stack = stack  # [(file, function)], innermost first
        self.prefixes = set()
        while words[0] in PREFIXES and len(words) > 1:
            self.prefixes.add(words.pop(0))
        self.name = words[0]
        self.operands = ' '.join(words[1:])

    def last_operand(self):
        """
        The last operand, in AT&T syntax the destination. Ignores commas within an
        address.
        """
        return re.split(r',(?![^(]*\))', self.operands)[-1]

    def is_store(self):
        """
        A store to memory other than the stack, where unoptimized code keeps everything.
        """
        where = self.last_operand()
        return MEMORY.search(where) is not None and \
            not re.search(r'\(%r[bs]p[,)]', where) and \
            not re.match(r'^(cmp|test|bt$|prefetch|nop|lea|push|call|jmp)', self.name)

    def is_doorbell(self):
        return self.is_store() and self.name in ('mov', 'movq') and \
            re.match(r'^%r\w+,', self.operands) is not None and \
            not re.match(r'^%r\d+[dwb],', self.operands)

    def files(self):
        return [f.rsplit('/', 1)[-1] for f, _ in self.stack]

    def allowed(self):
        return self.files()[:1] and self.files()[0] in INLINED

    def violation(self):
        """The forbidden property of this instruction, or None."""
        if self.name in SYSTEM:
            return 'not for a burst'
        if DIVISION.match(self.name):
            return 'division'
        if self.name in FENCES:
            return 'full fence'
        if 'lock' in self.prefixes or \
                (self.name.startswith('xchg') and MEMORY.search(self.operands)):
            return None if self.allowed() else 'locked'
        return None


class Function:
    def __init__(self, addr, name):
        self.addr = addr
        self.name = name
        self.insns = []


def disassemble(plugin):
    """Functions in the order of addresses."""
    text = subprocess.run(
        ['objdump', '-d', '-l', '--inlines', '--no-show-raw-insn', '-w',
         '-j', '.text', plugin], check=True, text=True,
        stdout=subprocess.PIPE).stdout
    functions = {}
    current, stack, name, is_new = None, [], '', True
    for line in text.splitlines():
        m = INSN.match(line)
        if m:
            current.insns.append(Insn(int(m[1], 16), m[2], stack))
            is_new = True
            continue
        m = LABEL.match(line)
        if m:
            current = functions[int(m[1], 16)] = Function(int(m[1], 16), m[2])
            stack = []
            continue
        m = FUNCTION.match(line)
        if m:
            name = m[1]
            continue
        m = LINE.match(line)
        if m:
            stack, is_new = [(m[1], name)], False
            continue
        m = INLINER.match(line)
        if m:
            # the line is not repeated if unchanged
            stack = (stack[:1] if is_new else stack) + [(m[1], m[2])]
            is_new = False
    return functions


def roots_of(plugin):
    """Addresses of the burst functions, from the relocations of the tables."""
    with open(plugin, 'rb') as f:
        elf = ELFFile(f)
        symtab = elf.get_section_by_name('.symtab')
        if symtab is None:
            sys.exit(f'{plugin}: stripped')
        tables, named, more = {}, {}, {}
        for symbol in symtab.iter_symbols():
            at = symbol['st_value']
            if symbol['st_info']['type'] == 'STT_OBJECT' and TABLE.match(symbol.name):
                tables[symbol.name] = range(at, at + symbol['st_size'])
            if symbol['st_info']['type'] == 'STT_FUNC':
                if BURST.match(symbol.name):
                    named[at] = symbol.name
                if symbol.name in MORE_ROOTS:
                    more[at] = symbol.name
        text = elf.get_section_by_name('.text')
        code = range(text['sh_addr'], text['sh_addr'] + text['sh_size'])
        nb, roots = dict.fromkeys(tables, 0), set()
        for reloc in elf.get_section_by_name('.rela.dyn').iter_relocations():
            for name, where in tables.items():
                if reloc['r_offset'] in where and reloc['r_addend'] in code:
                    roots.add(reloc['r_addend'])
                    nb[name] += 1
    if not any(nb.values()):
        sys.exit(f'{plugin}: no table of Rx paths')
    for name in MORE_ROOTS:
        if name not in more.values():
            sys.exit(f'{plugin}: there is no {name}')
    return roots | set(more), named


def references(insn, functions):
    """(functions of the plug-in, imports) that the instruction refers to."""
    own, imports = [], []
    for target, symbol in TARGET.findall(insn.text):
        if symbol.endswith('@plt'):
            imports.append(symbol[:-len('@plt')])
        elif re.match(r'^\w+@', symbol) and insn.name in ('call', 'jmp'):
            imports.append(symbol.split('@')[0])
        elif int(target, 16) in functions:
            own.append(int(target, 16))
        elif JUMP.match(insn.name):
            # into a function: a loop, or a split part
            below = [a for a in functions if a <= int(target, 16)]
            if below:
                own.append(max(below))
    return own, imports


def reach(roots, functions, faults):
    """The functions reachable from bursts, in the order of addresses."""
    seen, todo = set(), list(roots)
    while todo:
        addr = todo.pop()
        if addr in seen or functions[addr].name in BORDERS:
            continue
        seen.add(addr)
        for insn in functions[addr].insns:
            if TRACE_POINTS in insn.files():
                continue
            own, imports = references(insn, functions)
            todo += own
            for name in imports:
                if name not in IMPORTS:
                    faults.append((functions[addr], insn, f'calls {name}()'))
    return [functions[a] for a in sorted(seen)]


def check_doorbells(function, faults):
    """Checks sfence, store, sfence in one piece. Returns the number of doorbells."""
    targets = {int(t, 16) for i in function.insns if JUMP.match(i.name)
               for t, _ in TARGET.findall(i.text)}
    nb, opened, stores = 0, None, []
    for insn in function.insns:
        if insn.name == 'sfence':
            if opened is None:
                opened, stores = insn, []
                continue
            if len(stores) != 1:
                faults.append((function, insn, f'{len(stores)} stores between fences'))
            elif not stores[0].is_doorbell():
                faults.append((function, stores[0], 'no doorbell between fences'))
            opened, nb = None, nb + 1
            continue
        if opened is not None and (JUMP.match(insn.name) or insn.addr in targets):
            faults.append((function, opened, 'no fence behind the doorbell'))
            opened = None
        if insn.is_store():
            stores.append(insn)
            if 'rte_io.h' in insn.files() and opened is None:
                faults.append((function, insn, 'a doorbell without fences'))
    if opened is not None:
        faults.append((function, opened, 'no fence behind the doorbell'))
    return nb


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--verbose', action='store_true', help='list the functions')
    parser.add_argument('plugin')
    args = parser.parse_args()

    functions = disassemble(args.plugin)
    roots, named = roots_of(args.plugin)
    faults, nb_doorbells, nb_insns, nb_allowed, nb_own = [], 0, 0, 0, 0
    reached = reach(roots, functions, faults)
    for addr, name in named.items():
        if functions.get(addr) not in reached:
            faults.append((functions[addr], functions[addr].insns[0],
                           f'{name}: a burst function of no table'))
    for function in reached:
        for insn in function.insns:
            violation = insn.violation()
            if violation is not None:
                faults.append((function, insn, violation))
            nb_allowed += 'lock' in insn.prefixes and violation is None
            nb_own += any('net/mana/' in f for f, _ in insn.stack)
        nb = check_doorbells(function, faults)
        nb_doorbells += nb
        nb_insns += len(function.insns)
        if args.verbose:
            print(f'{function.name}: {len(function.insns)} instructions, '
                  f'{nb} doorbells')
    if nb_own * 2 < nb_insns:
        sys.exit(f'{args.plugin}: no debug lines: compile with -g1')
    if nb_doorbells < 3:
        sys.exit(f'{args.plugin}: {nb_doorbells} doorbells: an SQ, an RQ and a '
                 'CQ have one each')
    for function, insn, what in faults:
        where = ' in '.join(f'{fn} ({f.rsplit("/", 1)[-1]})' for f, fn in insn.stack)
        print(f'{function.name}+{insn.addr - function.addr:#x}: {what}: '
              f'{insn.text}  [{where}]', file=sys.stderr)
    print(f'{len(roots)} roots, {len(reached)} functions, {nb_insns} instructions, '
          f'{nb_doorbells} doorbells, {nb_allowed} locked ones of DPDK, '
          f'{len(faults)} faults')
    return bool(faults)


if __name__ == '__main__':
    sys.exit(main())
