#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Burst functions by vector width: each moves data correctly."""

import re

from harness import check_equal, main
from test_generator import forward_unchanged
from test_io import io
from vm import processor

PACKETS = 20_000
# Width limit of EAL: key of the best path.
WIDTHS = {"x86_64": {64: "scalar", 128: "sse", 256: "avx2"},
          "aarch64": {64: "scalar", 128: "neon", 256: "neon"}}
NAMES = {"scalar": "Scalar", "sse": "Vector SSE", "avx2": "Vector AVX2",
         "neon": "Vector NEON"}


def keys_by_width():
    """The widths of this processor, from the kernel."""
    keys = dict(WIDTHS[processor()])
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        has_avx2 = re.search(r"^flags\s*:.*\bavx2\b", file.read(), re.MULTILINE)
    if keys[256] == "avx2" and not has_avx2:
        keys[256] = keys[128]
    return keys


def each_width(*machine, app=()):
    keys = keys_by_width()
    seen = {}
    for width, key in keys.items():
        forward_unchanged(
            "io", "rate=full,size=random:60-1514,ip=mix,l4=mix", PACKETS, *machine, app=app,
            eal=[f"--force-max-simd-bitwidth={width}"],
            started=lambda pmd, width=width: seen.update({width: pmd.burst_modes()}))
        print(f"{width}: {seen[width]}")
        check_equal(f"receive function with {width} bits", seen[width][0], NAMES[key])
    check_equal("different receive functions", len({rx for rx, _ in seen.values()}),
                len(set(keys.values())))


SCATTER = ["--mbuf-size=1152", "--enable-scatter"]


def io_of(bits):
    """A million packets circulate through the paths of a width that EAL always has."""
    keys = WIDTHS[processor()]

    def check_modes(pmd):
        check_equal("Rx and Tx function", pmd.burst_modes(), (NAMES[keys[bits]], NAMES[keys[128]]))
    io(eal=[f"--force-max-simd-bitwidth={bits}"], started=check_modes)


# The generators of the others would overrun a guest.
IN_GUEST = {"io-vector": lambda: io_of(128), "io-scalar": lambda: io_of(64)}
VARIANTS = {
    "simd-widths": each_width,
    "simd-widths-coalesced": lambda: each_width("--coalesce"),
    "simd-widths-scattered": lambda: each_width(app=SCATTER),
}

if __name__ == "__main__":
    main(VARIANTS, IN_GUEST)
