#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table of bench.sh, from the output of mana-perf and callgrind.

usage: bench-report.py [--json FILE] [--check goals|ceilings]... [--write-ceilings]
                       PERF_FOLDER RESULTS_FOLDER

RESULTS_FOLDER has, for each build, BUILD.cycles.rows or BUILD.instructions.rows
(the output of mana-perf) or both, and with the latter BUILD.instructions.callgrind.N.
Instructions per packet are exact; rows without them are not checked.
"""

import argparse
import glob
import json
import os
import re
import sys

COST = re.compile(r'^[-+*0-9]\S* (\d+)$')
NAME = re.compile(r'^c?fn=\((\d+)\)(?: (.*))?$')
# Tolerance for another patch release of the compiler.
MARGIN_PERCENT = 3
# Drivers, with mana-perf's names.
WHO = ('ours', 'rival', 'floor')


def read_dump(path):
    """(row, driver, instructions per packet) of one callgrind dump, or None."""
    label, names, current, skip, whole = None, {}, None, False, 0
    total = harness = 0
    with open(path, encoding='utf-8') as dump:
        for line in dump:
            line = line.rstrip('\n')
            trigger = re.match(r'desc: Trigger: Client Request: (.*)', line)
            if trigger:
                label = trigger.group(1).split()
            if line.startswith('totals: '):
                whole = int(line.split()[1])
            name = NAME.match(line)
            if name:
                if name.group(2):
                    names[name.group(1)] = name.group(2)
                if line.startswith('fn='):
                    current = names[name.group(1)]
            elif line.startswith('calls='):
                skip = True  # the cost of the next line is the callee's
            elif skip:
                skip = False
            else:
                cost = COST.match(line)
                # the harness's own loop does not count
                if cost and current.startswith('perf_timed_'):
                    harness += int(cost.group(1))
                elif cost:
                    total += int(cost.group(1))
    if label is None:
        return None
    if total == 0 or total + harness != whole:
        sys.exit(f'{path}: {total} and {harness} of {whole} instructions')
    return label[0], label[1], total / int(label[2])


def read_table(path):
    """{key: last word} of a file of words."""
    table = {}
    if os.path.exists(path):
        with open(path, encoding='utf-8') as lines:
            for line in lines:
                words = line.split('#')[0].split()
                if words:
                    table[' '.join(words[:-1])] = float(words[-1])
    return table


def read_counts(folder, build):
    """{(row, driver): instructions per packet}."""
    counts = {}
    for dump in glob.glob(os.path.join(folder, build + '.*.callgrind.*')):
        counted = read_dump(dump)
        if counted:
            counts[counted[:2]] = counted[2]
    return counts


def read_results(folder):
    """A list of rows as --json writes them: with cycles, instructions or both."""
    rows = {}
    # Cycles first: more rows have them.
    for path in sorted(glob.glob(os.path.join(folder, '*.rows'))):
        build = os.path.basename(path).split('.')[0]
        counts = read_counts(folder, build)
        with open(path, encoding='utf-8') as lines:
            for line in lines:
                if not line.startswith('ROW '):
                    continue
                read = json.loads(line[len('ROW '):])
                row = rows.setdefault((build, read['row']), {})
                # Pools are reported without callgrind, too: keep the first.
                row.update({key: value for key, value in read.items()
                            if key not in row})
                row['build'] = build
                for who in WHO:
                    row[who] = counts.get((row['row'], who))
    return list(rows.values())


def shown(value, form='{:.1f}'):
    return '-' if value is None else form.format(value)


def inverse(value):
    return 1 / value if value else None


def cycles(row):
    return ([shown(row.get(f'cycles_{who}')) for who in WHO] +
            [shown(row.get('cycles_ratio_rival'), '{:.2f}'),
             shown(inverse(row.get('cycles_ratio_floor')), '{:.2f}')])


def instructions(row):
    def ratio(over, under):
        return row[over] / row[under] if row[over] and row[under] else None

    verdict = '-'
    if row['goal'] is not None and row['ours']:
        verdict = 'reached' if row['ours'] <= row['goal'] else 'missed'
    return ([shown(row[who]) for who in WHO] +
            [shown(ratio('rival', 'ours'), '{:.2f}'),
             shown(ratio('ours', 'floor'), '{:.2f}'),
             shown(row['goal'], '{:.0f}'), verdict,
             shown(row.get('doorbells_ours'), '{:.3f}'),
             shown(row.get('doorbells_rival'), '{:.3f}')])


def print_table(rows):
    head = ['row', 'path']
    columns = []
    if any('cycles_ours' in row for row in rows):
        columns.append(cycles)
        head += ['cycles', 'rival', 'floor', 'rival/ours', 'ours/floor']
    if any(row['ours'] for row in rows):
        columns.append(instructions)
        head += ['instructions', 'rival', 'floor', 'rival/ours', 'ours/floor', 'goal',
                 '', 'doorbells', 'rival']
    for build in sorted({row['build'] for row in rows}):
        lines = [head] + [
            [row['row'], row['path']] + [text for column in columns
                                         for text in column(row)]
            for row in rows if row['build'] == build]
        widths = [max(len(line[i]) for line in lines)
                  for i in range(len(head))]
        speeds = [row['core_mhz'] for row in rows
                  if row['build'] == build and 'core_mhz' in row]
        print(f'\n{build}: per packet' +
              (f', of a core of {min(speeds):.0f} to {max(speeds):.0f} MHz'
               if speeds else ''))
        for line in lines:
            print('  '.join(
                word.ljust(width) if i < 2 else word.rjust(width)
                for i, (word, width) in enumerate(zip(line, widths))).rstrip())


def print_memory(rows):
    """Memory of a pair of queues without mbufs, from the rows of 1 and more."""
    by_name = {(row['build'], row['row']): row for row in rows}
    shown_of = set()
    for row in rows:
        one = by_name.get((row['build'], re.sub(r'-q\d+$', '-q1', row['row'])))
        if row['queues'] < 64 or one is None or row['build'] in shown_of:
            continue
        shown_of.add(row['build'])  # the same in each
        for who in ('ours', 'rival'):
            if f'heap_bytes_{who}' in row:
                more = row[f'heap_bytes_{who}'] - one[f'heap_bytes_{who}']
                print(f"{row['row']}, {row['build']}, {who}: "
                      f"{more / (row['queues'] - 1):.0f} bytes of memory for each "
                      f"more Rx and Tx queue of {row['ring']} descriptors, "
                      f"{row[f'rings_bytes_{who}']} of these for rings")


def write_ceilings(path, rows):
    """Writes the current counts with a margin."""
    with open(path, 'w', encoding='utf-8') as to:
        print('# SPDX-License-Identifier: BSD-3-Clause', file=to)
        print('# Current instructions per packet plus '
              f'{MARGIN_PERCENT} %:', file=to)
        print('# build, row, ceiling. bench.sh --write-ceilings', file=to)
        for row in rows:
            if row['ours']:
                ceiling = row['ours'] * (100 + MARGIN_PERCENT) / 100
                print(row['build'], row['row'], f'{ceiling:.1f}', file=to)


def missed(rows, what, ceilings):
    """Lines for rows above their goal or ceiling."""
    lines = []
    for row in rows:
        limit = row['goal']
        if what == 'ceilings':
            limit = ceilings.get(f"{row['build']} {row['row']}")
        if row['ours'] and limit is not None and row['ours'] > limit:
            lines.append(f"FAIL {row['row']}, {row['build']}: "
                         f"{row['ours']:.1f} instructions, {what[:-1]} {limit}")
    return lines


def missed_others(rows, goals):
    """Lines for goals other than instructions: see goals.txt."""
    lines = []
    by_name = {(row['build'], row['row']): row for row in rows}
    for row in rows:
        where = f"FAIL {row['row']}, {row['build']}:"
        limit = goals.get(f"{row['row']} doorbells")
        if limit is not None and row.get('doorbells_ours', 0) > limit:
            lines.append(f"{where} {row['doorbells_ours']:.5f} doorbells per "
                         f"packet, goal {limit}")
        family = re.sub(r'\d+$', '', row['row'])
        percent = goals.get(f'{family} flat')
        one = by_name.get((row['build'], family + '1'))
        if percent is None or one is None or not row['ours'] or not one['ours']:
            continue
        change = (row['ours'] / one['ours'] - 1) * 100
        if abs(change) > percent:
            lines.append(f"{where} {change:+.1f} % from {one['row']}, goal "
                         f"{percent:.0f} %")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--json')
    parser.add_argument('--check', choices=['goals', 'ceilings'],
                        action='append', default=[])
    parser.add_argument('--write-ceilings', action='store_true')
    parser.add_argument('perf')
    parser.add_argument('results')
    args = parser.parse_args()

    goals = read_table(os.path.join(args.perf, 'goals.txt'))
    ceilings = os.path.join(args.perf, 'ceilings.txt')
    rows = read_results(args.results)
    for row in rows:
        row['goal'] = goals.get(row['row'])
    print_table(rows)
    print_memory(rows)
    if args.json:
        with open(args.json, 'w', encoding='utf-8') as to:
            json.dump(rows, to, indent=1)
            to.write('\n')
    if args.write_ceilings:
        write_ceilings(ceilings, rows)
    if not args.check:
        return 0
    if not any(row['ours'] for row in rows):
        print('FAIL no instructions were counted')
        return 1
    table = read_table(ceilings)
    if 'ceilings' in args.check and not table:
        print(f'FAIL no ceilings in {ceilings}')
        return 1
    failed = False
    for what in args.check:
        lines = missed(rows, what, table)
        if what == 'goals':
            lines += missed_others(rows, goals)
        print('\n'.join(lines or [f'PASS {what}']))
        failed |= bool(lines)
    return 1 if failed else 0


sys.exit(main())
