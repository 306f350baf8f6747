# SPDX-License-Identifier: BSD-3-Clause
"""A driver of a PCI function without a virtual machine: a vfio-user client with memory,
interrupts and the hardware channel."""

import contextlib
import mmap
import os
import struct

from model_test import PATIENCE_S, wait_until
from test_pci import BAR0, CONFIG, Client

SET_IRQS = 8
MEMORY_BYTES = 1 << 16
# Guest physical addresses.
EQ, CQ, RQ, SQ, REQUEST, ANSWER = range(0x1000, 0x7000, 0x1000)
EQE_BYTES, CQE_BYTES, PAGE_BYTES = 16, 64, 4096
SQ_WQE_BYTES, RQ_WQE_BYTES = 64, 32
# Sources: Linux gdma.h, hw_channel.h, mana.h.
EQE_COMPLETION, EQE_INIT_DATA, EQE_INIT_DONE = 3, 130, 131
INIT_DATA = {1: "cq", 2: "rq", 3: "sq", 8: "pd", 9: "key"}
HWC, MANA = (1, 0), (2, 1)
REQUEST_HEADER = struct.Struct("<IIHHIIIHHIHHI")
ANSWER_HEADER_BYTES = 32
VERIFY_VERSION, LIST_DEVICES, REGISTER, DEREGISTER = 1, 3, 4, 5
QUERY_VPORT, QUERY_LINK = 0x20008, 0x2000a


class Driver(Client):
    def __init__(self, path):
        try:
            super().__init__(path)
            # Another client may have been there a moment ago.
            if self.open() is None:
                raise ConnectionRefusedError
        except OSError:
            super().close()
            raise
        self.fd = os.memfd_create("guest")
        os.ftruncate(self.fd, MEMORY_BYTES)
        self.memory = mmap.mmap(self.fd, MEMORY_BYTES)
        self.eventfd = os.eventfd(0, os.EFD_NONBLOCK)
        self.map(0, MEMORY_BYTES, self.fd)
        # One eventfd for vector 0 of MSI-X: VFIO_IRQ_SET_DATA_EVENTFD, _TRIGGER.
        self.call(SET_IRQS, struct.pack("=IIIII", 20, 1 << 2 | 1 << 5, 2, 0, 1), self.eventfd)
        self.write(CONFIG, 4, 6, 2)  # memory, bus master
        self.write(CONFIG, 0x82, 0x8000, 2)  # MSI-X
        self.nb_eqes = self.nb_cqes = self.nb_requests = self.nb_buffers = 0
        self.init = {}

    def close(self):
        super().close()
        for fd in (self.fd, self.eventfd):
            with contextlib.suppress(OSError):
                os.close(fd)

    def shm(self, kind, body=b""):
        """Sends a message of the shared-memory channel; returns its status."""
        base = self.read(BAR0, 0x18, 8)
        words = struct.unpack("<7I", body.ljust(28, b"\0"))
        for at, word in enumerate((*words, kind)):
            self.write(BAR0, base + 4 * at, word, 4)
        header = self.read(BAR0, base + 28, 4)
        assert header >> 31 == 0 and header & 0x80
        return header >> 8 & 0xff

    def open_channel(self):
        self.memory[:ANSWER] = bytes(ANSWER)
        self.nb_eqes = self.nb_cqes = self.nb_requests = self.nb_buffers = 0
        frames = b"".join((page >> 12).to_bytes(6, "little") for page in (EQ, CQ, RQ, SQ))
        status = self.shm(1, frames + bytes(4))
        kind = 0
        while kind != EQE_INIT_DONE:
            kind, detail = self.event()
            if kind == EQE_INIT_DATA:
                self.init[INIT_DATA.get(detail >> 24)] = detail & 0xffffff
        return status

    def close_channel(self):
        return self.shm(2)

    def has_event(self):
        """Whether there is an event, except completions of the armed CQ."""
        while True:
            info = self._word(EQ + self.nb_eqes % 256 * EQE_BYTES + 12)
            if info >> 29 != (self.nb_eqes // 256 + 1) & 7:
                return False
            if info & 0xff != EQE_COMPLETION:
                return True
            self.nb_eqes += 1

    def event(self):
        """Type and first detail of the next event."""
        wait_until(self.has_event, "an event", PATIENCE_S)
        at = EQ + self.nb_eqes % 256 * EQE_BYTES
        self.nb_eqes += 1
        return self._word(at + 12) & 0xff, self._word(at)

    def interrupts(self):
        try:
            return os.eventfd_read(self.eventfd)
        except BlockingIOError:
            return 0

    def send(self, code, body=b"", device=HWC, answer_bytes=PAGE_BYTES):
        """Posts a request; answer() receives its answer."""
        size = REQUEST_HEADER.size + len(body)
        header = REQUEST_HEADER.pack(0, code, 1, self.nb_requests, size,
                                     0, code, 1, 0, answer_bytes, *device, 0)
        self.memory[REQUEST:REQUEST + size] = header + body
        self.post_buffer()
        oob = struct.pack("<IIIIII", 0, 0, 0, 0, self.init["cq"], self.init["sq"])
        at = SQ + self.nb_requests * SQ_WQE_BYTES % PAGE_BYTES
        self._wqe(at, 24, self._sge(REQUEST, size), oob)
        self.nb_requests += 1
        self._ring(0, self.init["sq"], self.nb_requests * SQ_WQE_BYTES)

    def post_buffer(self):
        """Room for an answer. All have the same address."""
        at = RQ + self.nb_buffers * RQ_WQE_BYTES % PAGE_BYTES
        self._wqe(at, 8, self._sge(ANSWER, PAGE_BYTES))
        self.nb_buffers += 1
        self._ring(0x400, self.init["rq"], self.nb_buffers * RQ_WQE_BYTES)

    def is_answered(self):
        """Whether both completions of the last request are there."""
        last = self.nb_cqes + 1
        trailer = self._word(CQ + last % 64 * CQE_BYTES + 60)
        return trailer >> 29 == (last // 64 + 1) & 7

    def answer(self):
        """Status of the last request, and the answer behind its header."""
        wait_until(self.is_answered, "an answer", PATIENCE_S)
        at = CQ + (self.nb_cqes + 1) % 64 * CQE_BYTES
        self.nb_cqes += 2
        size = self._word(at + 24)
        return (self._word(ANSWER + 24),
                self.memory[ANSWER + ANSWER_HEADER_BYTES:ANSWER + size])

    def request(self, *args, **more):
        self.send(*args, **more)
        return self.answer()

    def verify_version(self, *texts):
        body = struct.pack("<QQ32xQII16xQ", 1, 1, 0, 1, 0, 0)
        body += b"".join(text.ljust(128, b"\0") for text in texts)
        return self.request(VERIFY_VERSION, body.ljust(600, b"\0"))[0]

    def _word(self, at):
        return int.from_bytes(self.memory[at:at + 4], "little")

    def _sge(self, address, size):
        return struct.pack("<QII", address, self.init["key"], size)

    def _wqe(self, at, oob_bytes, sge, oob=b""):
        wqe = struct.pack("<II", 0, 1 | oob_bytes // 4 << 8) + oob.ljust(oob_bytes, b"\0")
        wqe += sge
        self.memory[at:at + len(wqe)] = wqe

    def _ring(self, register, queue, tail):
        doorbells = self.read(BAR0, 0x08, 8)
        self.write(BAR0, doorbells + register, tail << 32 | queue, 8)
