# SPDX-License-Identifier: BSD-3-Clause
"""What differs between the architectures of guests."""

import platform
from dataclasses import dataclass

from manavm.errors import Failure


@dataclass(frozen=True)
class Arch:
    """An architecture, by Debian's name."""
    name: str
    triplet: str           # of Debian's library folders
    machine: str           # of uname
    qemu_package: str
    qemu_program: str
    qemu_machine: str
    tcg_cpu: str
    kernel_image: str      # in a build tree of Linux
    console: str           # serial console of the kernel
    append: str            # further options of the kernel
    firmware: tuple        # folders of firmware below usr/share


ARCHES = {arch.name: arch for arch in [
    Arch("amd64", "x86_64-linux-gnu", "x86_64", "qemu-system-x86",
         "qemu-system-x86_64", "q35,vmport=off,smbus=off,sata=off,usb=off", "max,la57=off",
         "arch/x86/boot/bzImage", "ttyS0",
         # On a busy host, x86 finds too few timer interrupts in a test, and panics.
         "no_timer_check",
         ("qemu", "seabios")),
    # GICv3 has the ITS that MSI-X needs. The other form of pointer authentication
    # takes most of the time of an emulated processor.
    Arch("arm64", "aarch64-linux-gnu", "aarch64", "qemu-system-arm",
         "qemu-system-aarch64", "virt,gic-version=3", "max,pauth-impdef=on",
         "arch/arm64/boot/Image", "ttyAMA0", "", ("qemu",)),
]}


def find(name):
    """The architecture of that name."""
    if name not in ARCHES:
        raise Failure(f"guests of architecture {name} are not supported, only "
                      f"{', '.join(ARCHES)}")
    return ARCHES[name]


def host():
    """Debian's name of the host's architecture."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(),
                                                       platform.machine())
