#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Burst functions by vector width and device argument: each moves data correctly."""

import re

from harness import check, check_equal, fixture, main
from model import mac, pci
from test_io import io
from test_ports import refused
from vm import processor

PORTS = f"mac={mac(0)},mac={mac(1)}"
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


def modes(pmd):
    """Names of the Rx and Tx functions."""
    return tuple(re.search(r"^Burst mode: (.*?)\s*$",
                           pmd.command(f"show {side} info 0 0"), re.MULTILINE).group(1)
                 for side in ("rxq", "txq"))


def forward(devargs, eal=(), wire="", machine=(), app=()):
    """Forwards from a generator to a sink. Returns the names of the functions."""
    with fixture("--wire", f"1=gen:count={PACKETS},flows=8,rate=full,{wire}",
                 "--wire", "2=sink", *machine) as run:
        run.start(eal=["-a", f"{pci(0)},{PORTS}{devargs}", *eal],
                  app=["--no-flush-rx", *app])
        names = modes(run.pmd)
        run.pmd.command("set fwd io")
        run.pmd.command("start")
        run.pmd.wait_until(lambda stats: stats[1].tx_packets >= PACKETS)
        run.pmd.command("stop")
        report = run.finish()
        check_equal("sink", report.port(1)["wire"]["sink"],
                    {"received": PACKETS, "duplicated": 0, "reordered": 0,
                     "corrupted": 0, "foreign": 0})
        return names


def each_width(*machine):
    keys = keys_by_width()
    seen = {}
    for width, key in keys.items():
        seen[width] = forward("", ["--force-max-simd-bitwidth=" + str(width)],
                              "size=random:60-1514,ip=mix,l4=mix", machine)
        print(f"{width}: {seen[width]}")
        check_equal(f"receive function with {width} bits", seen[width][0], NAMES[key])
    check_equal("different receive functions", len({rx for rx, _ in seen.values()}),
                len(set(keys.values())))


SCATTER = ["--mbuf-size=1152", "--enable-scatter"]


def forced():
    """Each path alone, and where it does not cover all offloads."""
    keys = sorted(set(keys_by_width().values()))
    for key in keys:
        names = forward(f",rx_path={key}", wire="size=random:60-1514")
        print(f"{key}: {names}")
        check_equal(f"receive function with rx_path={key}", names[0], NAMES[key])
        check_equal("Tx function", names[1].split()[0], "Vector")
        names = forward(f",rx_path={key}", wire="size=random:60-1514", app=SCATTER)
        print(f"{key}, scattered: {names}")
        check_equal(f"receive function with rx_path={key} and scatter", names[0],
                    NAMES[key])


def refusals():
    """
    Paths missing in the build or forbidden by EAL; the message lists the valid ones.
    """
    keys = list(dict.fromkeys(keys_by_width().values()))
    missing = next(key for key in NAMES if key not in WIDTHS[processor()].values())
    refused(f"rx_path={missing}", f"rx_path={missing}: this build has no such burst "
            f"function; give one of {', '.join(reversed(keys))}, or remove the argument")
    refused("rx_path=best", "rx_path=best: .*give one of ")
    refused(f"rx_path={keys[1]}", f"rx_path={keys[1]}: .*--force-max-simd-bitwidth "
            "forbids them; give one of scalar, or", eal=["--force-max-simd-bitwidth=64"])


def io_of(bits):
    """A million packets circulate through the paths of a width that EAL always has."""
    keys = WIDTHS[processor()]

    def check_modes(pmd):
        check_equal("Rx and Tx function", modes(pmd), (NAMES[keys[bits]], NAMES[keys[128]]))
    io(eal=[f"--force-max-simd-bitwidth={bits}"], started=check_modes)


# The generators of the others would overrun a guest.
IN_GUEST = {"io-vector": lambda: io_of(128), "io-scalar": lambda: io_of(64)}
VARIANTS = {
    "forced": forced,
    "refused": refusals,
    "simd-widths": each_width,
    "simd-widths-coalesced": lambda: each_width("--coalesce"),
}

if __name__ == "__main__":
    main(VARIANTS, IN_GUEST)
