#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the benchmark's results as SVG pictures.

usage: bench-picture.py RESULTS.json FOLDER

RESULTS.json is written by devtools/bench.sh --json. Makes in FOLDER, for what it has of
"instructions" and "cycles" per packet:
  bench-bursts-MEASURE.svg   against the size of the burst: Rx, Tx, forwarding
  bench-cases-MEASURE.svg    of a burst of 32 by case
Each has this driver, DPDK's own and the floor. Needs gnuplot (package gnuplot-nox).
"""

import json
import subprocess
import sys
from pathlib import Path

MEASURES = {'instructions': '{}', 'cycles': 'cycles_{}'}
WHO = {'ours': ('this driver', '#1b6ca8'), 'rival': ("DPDK's own driver", '#c0504d'),
       'floor': ('floor', '#7f7f7f')}
KINDS = {'rx': 'receive', 'tx': 'send', 'fwd': 'receive and send'}
CASES = ['rx-32', 'rx-32-ptypes', 'rx-32-pools', 'rx-32-regions-8', 'tx-32', 'tx-32-csum',
         'tx-32-2seg', 'tx-32-3seg', 'tx-32-pools', 'tx-32-regions-8', 'fwd-32']
HEAD = '''set terminal svg size {width},{height} font "sans-serif,12" background "white"
set output "{path}"
set grid ytics lc rgb "#dddddd"
set logscale y
set ylabel "{measure} per packet"
set key {key}
'''


def value(row, measure, who):
    got = row and row.get(MEASURES[measure].format(who))
    return 'NaN' if got is None else got


def gnuplot(script, path):
    subprocess.run(['gnuplot'], input=script, text=True, check=True)
    # Behind the line that says that it is XML.
    head, rest = path.read_text('utf-8').split('\n', 1)
    path.write_text(f'{head}\n<!-- SPDX-License-Identifier: BSD-3-Clause -->\n{rest}', 'utf-8')


def table(lines):
    """A named data block is read again for each curve."""
    return '$data << EOD\n' + '\n'.join(' '.join(map(str, line)) for line in lines) + '\nEOD\n'


def draw_bursts(rows, measure, path):
    script = HEAD.format(width=960, height=340, path=path, measure=measure, key='top right')
    script += 'set multiplot layout 1,3\nset logscale x 2\nset xtics (1, 4, 8, 32, 64)\n'
    script += 'set xlabel "packets per burst"\n'
    for kind, title in KINDS.items():
        sizes = sorted(int(name.split('-')[1]) for name in rows
                       if name.startswith(kind + '-') and name.count('-') == 1
                       and value(rows[name], measure, 'ours') != 'NaN')
        if not sizes:
            continue
        script += table([[size] + [value(rows[f'{kind}-{size}'], measure, who) for who in WHO]
                         for size in sizes])
        curves = [f'$data using 1:{column} with linespoints lw 2 pt 7 ps 0.5 '
                  f'lc rgb "{color}" title "{name}"'
                  for column, (name, color) in enumerate(WHO.values(), 2)]
        script += f'set title "{title}"\nplot [0.9:70] [10:2000] {", ".join(curves)}\nunset ylabel\n'
        script += 'unset key\n'
    gnuplot(script, path)


def draw_cases(rows, measure, path):
    script = HEAD.format(width=960, height=360, path=path, measure=measure,
                         key='outside top horizontal')
    script += table([[name] + [value(rows[name], measure, who) for who in WHO]
                     for name in CASES if name in rows])
    script += ('set style data histogram\nset style histogram cluster gap 1\n'
               'set style fill solid\nset xtics rotate by -25\n')
    curves = [f'$data using {column}:xtic(1) lc rgb "{color}" title "{name}"'
              for column, (name, color) in enumerate(WHO.values(), 2)]
    gnuplot(script + f'plot [][10:2000] {", ".join(curves)}\n', path)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    rows = {row['row']: row for row in json.loads(Path(sys.argv[1]).read_text('utf-8'))
            if row['build'] == 'O3'}
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for measure in MEASURES:
        if not any(value(row, measure, 'ours') != 'NaN' for row in rows.values()):
            continue
        draw_bursts(rows, measure, folder / f'bench-bursts-{measure}.svg')
        draw_cases(rows, measure, folder / f'bench-cases-{measure}.svg')


if __name__ == '__main__':
    main()
