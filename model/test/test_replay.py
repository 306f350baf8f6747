#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mana-model replay: a recorded trace drives a program.

usage: test_replay.py [unittest arguments]      (see model_test.py)
"""

import os
import re

from model_test import Case as ModelCase, main, program

WORK = program("fixed_work")
MAC = bytes.fromhex("000d3a000001")


def data_line(nb_bytes):
    """The output of fixed_work for a packet that replay has generated."""
    data = (MAC + bytes.fromhex("02000000000188b5") +
            bytes(i & 0xff for i in range(14, nb_bytes)))
    total = 0
    for byte in data[:nb_bytes]:
        total = (total * 31 + byte) & 0xffffffff
    return f"data {nb_bytes} {total:08x}"


class Case(ModelCase):
    asan_options = None

    def setUp(self):
        super().setUp()
        self.recorded = self.path("recorded")

    def record(self, *options, args=("10",)):
        done = self.run_model("--quiet", "--wire=loop", "--trace", self.recorded,
                              *options, "--", WORK, *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def replay(self, *options, args=("10",), parts=()):
        return self.run_model("replay", *parts, self.recorded, "--quiet", *options,
                              "--", WORK, *args)

    def lines(self, path=None):
        with open(path or self.recorded, encoding="ascii") as file:
            return file.read().splitlines()

    def write(self, lines, end="\n"):
        with open(self.recorded, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + end)


def cqes(text):
    return [line for line in text.splitlines() if line[:2] in ("tx", "rx")]


class Completions(Case):
    def test_completions_are_equal(self):
        recorded = self.record(args=("70",))
        self.assertEqual(len(cqes(recorded)), 140)
        # No frame comes from a wire: all are from the recording.
        done = self.replay("--wire=pair", args=("70", "waste"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(cqes(done.stdout), cqes(recorded))

    def test_traces_are_equal(self):
        self.record(args=("70",))
        other = os.path.join(self.base, "other")
        self.replay("--trace", other, args=("70",))
        wanted = re.compile("[0-9]+ (verbs|doorbell|cqe|event) ")
        self.assertEqual([line for line in self.lines(other) if wanted.match(line)],
                         [line for line in self.lines() if wanted.match(line)])

    def test_data_of_packets(self):
        self.record(args=("45",))
        done = self.replay(args=("45",))
        sizes = [60 + n * 37 % 1400 for n in range(45)]
        self.assertEqual([line for line in done.stdout.splitlines()
                          if line.startswith("data")],
                         [data_line(size) for size in sizes])

    def edit(self, which, old, new, keep_raw=False):
        lines = self.lines()
        at = [i for i, line in enumerate(lines) if old in line][which]
        lines[at] = lines[at].replace(old, new)
        if not keep_raw:
            lines[at] = re.sub(" raw=.*", "", lines[at])
        self.write(lines)
        return at + 1

    def test_edited_completions(self):
        recorded = cqes(self.record())
        self.edit(3, "type=TX_OKAY client_type=1 vendor_err=0x0",
                  "type=TX_SA_DROP client_type=1 vendor_err=0x206")
        self.edit(5, "type=RX_OKAY", "type=RX_TRUNCATED")
        self.edit(6, "type=TX_OKAY", "type=63")
        self.edit(8, "ppi0.pkt_len=", "ppi0.pkt_len=1")
        done = self.replay()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        seen = cqes(done.stdout)
        recorded[6] = recorded[6].replace("tx 00000060", "tx 00020661")
        recorded[11] = recorded[11].replace("rx 00000041", "rx 00000044")
        # The first edit has removed a TX_OKAY, so the seventh left is the eighth.
        recorded[14] = recorded[14].replace("tx 00000060", "tx 0000007f")
        changed = [i for i, (a, b) in enumerate(zip(seen, recorded)) if a != b]
        self.assertEqual(changed, [17])
        size = 60 + 8 * 37
        self.assertEqual(seen[17], recorded[17].replace(
            f" {size:08x} ", f" {int('1' + str(size)):08x} "))

    def test_edited_raw(self):
        self.record()
        lines = self.lines()
        at = [i for i, line in enumerate(lines) if "type=TX_OKAY" in line][2]
        lines[at] = re.sub(" type=.* raw=00000060", " raw=0000006a", lines[at])
        self.write(lines)
        done = self.replay()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("tx 0000006a 00000000 ", cqes(done.stdout)[4])

    def test_edited_fields_disagree_with_raw(self):
        self.record()
        number = self.edit(1, "type=TX_OKAY", "type=TX_SA_DROP", keep_raw=True)
        done = self.replay()
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn(f"{self.recorded}:{number}: type= and raw= disagree",
                      done.stderr)

    def test_without_verbs(self):
        recorded = self.record("--trace-classes=doorbell,wqe,cqe,event")
        done = self.replay()
        self.assertEqual(done.returncode, 125)
        self.assertIn("has no lines of the class verbs", done.stderr)
        done = self.replay(parts=("--completions",))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(cqes(done.stdout), cqes(recorded))

    def test_program_posts_less(self):
        self.record()
        done = self.replay(args=("4",), parts=("--completions",))
        self.assertEqual(done.returncode, 4)
        self.assertIn("replay: 12 recorded completions were not written: their "
                      "queues were destroyed", done.stderr)
        done = self.run_model("replay", "--completions", self.recorded, "--quiet",
                              "--", "true")
        self.assertEqual(done.returncode, 4)
        self.assertIn("20 recorded completions were not written: the program "
                      "posted fewer WQEs", done.stderr)

    def test_machine_of_the_recording(self):
        recorded = self.record("--functions=2", "--ports=1,3", "--max-mtu=9000",
                               "--vp-offset=300")
        report = os.path.join(self.base, "report.json")
        done = self.replay("--report", report)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(cqes(done.stdout), cqes(recorded))
        with open(report, encoding="utf-8") as file:
            self.assertEqual(file.read().count('"mac"'), 4)

    def test_mode(self):
        self.record()
        done = self.replay("--mode=thread")
        self.assertEqual(done.returncode, 125)
        self.assertIn("in mode sync only", done.stderr)


class Verbs(Case):
    def test_recorded_failure(self):
        recorded = self.record("--fault=create_wq:1:ENOSPC")
        self.assertIn("up ENOSPC", recorded)
        done = self.replay(parts=("--verbs",))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, recorded)

    def test_edited_failure(self):
        self.record()
        for call, error in (("call=open ", "EACCES"), ("call=mmap ", "ENOMEM"),
                            ("call=reg_mr ", "EFAULT"),
                            ("call=create_rss_qp ", "EPROTO")):
            lines = self.lines()
            at = [i for i, line in enumerate(lines) if call in line][0]
            lines[at] = re.sub(" result=.*", f" result={error}", lines[at])
            self.write(lines)
            done = self.replay(parts=("--verbs",))
            # After a failed bring-up the program makes other calls: differences.
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertTrue(done.stdout.startswith("up E"), done.stdout)
            if call not in ("call=open ", "call=mmap "):
                self.assertEqual(done.stdout.splitlines()[0], f"up {error}")
            self.record()

    def test_differences(self):
        self.record()
        lines = self.lines()
        at = [i for i, line in enumerate(lines) if "call=create_qp " in line][0]
        lines[at] = lines[at].replace("max_send_sge=30", "max_send_sge=29")
        pd = [i for i, line in enumerate(lines) if "call=alloc_pd" in line][0]
        lines.insert(pd, lines[pd].replace("alloc_pd", "query_device"))
        gone = [i for i, line in enumerate(lines) if "call=dereg_mr" in line][0]
        del lines[gone]
        self.write(lines)
        done = self.replay(parts=("--verbs",))
        self.assertEqual(done.returncode, 4)
        said = done.stderr.splitlines()
        self.assertEqual(len(said), 3, done.stderr)
        self.assertRegex(said[0], f"replay: call [0-9]+ is missing: recorded "
                         f"\\(line {pd + 1}\\) \"fn=0 ctx=1 call=query_device\"$")
        self.assertRegex(said[1], "call [0-9]+ differs: recorded .*max_send_sge="
                         "29 .*, made .*max_send_sge=30 ")
        self.assertRegex(said[2], "call [0-9]+ is not recorded: made \"fn=0 "
                         "ctx=1 call=dereg_mr mr=1\"$")

    def test_other_result(self):
        self.record()
        done = self.replay("--fault=create_cq:2:EMFILE", parts=("--verbs",))
        self.assertEqual(done.returncode, 4)
        self.assertIn("ends differently", done.stderr)
        self.assertIn("result=0, now result=EMFILE", done.stderr)


class Malformed(Case):
    def refused(self, lines, number, *words, end="\n"):
        self.write(lines, end)
        done = self.replay()
        self.assertEqual((done.returncode, done.stdout), (125, ""), lines[:3])
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(f"{self.recorded}:{number}: ", done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_files(self):
        done = self.run_model("replay", "/no/such/file", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("cannot read /no/such/file", done.stderr)
        self.refused([], 1, "empty", end="")
        self.refused(["a letter"], 1, "no trace of mana-model")
        self.refused(["0 trace version=9 functions=1 ports=2"], 1, "version 9")
        done = self.run_model("replay")
        self.assertEqual(done.returncode, 125)
        self.assertIn("replay takes a trace", done.stderr)
        done = self.run_model("replay", self.folders, "--", "true")
        self.assertEqual(done.returncode, 125)

    def test_lines(self):
        self.record()
        good = self.lines()
        at = {word: [i for i, line in enumerate(good) if word in line][0]
              for word in (" cqe ", " doorbell ", " wqe ", " verbs ",
                           "queue_created")}
        cases = (
            (" cqe ", "type=TX_OKAY", "type=TX_GOOD", "type=TX_GOOD"),
            (" cqe ", "type=RX_OKAY", "type=RX_GOOD", "type=RX_GOOD"),
            (" cqe ", " cq=", " cq=9", "creates CQ 9"),
            (" cqe ", " cq=", " xx=", "the line has no cq="),
            (" cqe ", " raw=0", " raw=x", "16 words"),
            (" cqe ", ",", ",,", "16 words"),
            (" doorbell ", "reg=", "reg=x", "sq or rq"),
            (" doorbell ", "wqes=", "wqes=-", "wqes=-"),
            (" wqe ", " id=", " id=99", "creates SQ"),
            (" wqe ", " fn=0", " fn=99", "fn=99"),
            (" verbs ", " result=", " rseult=", "result="),
            (" verbs ", " result=0", " result=EFOO", "EFOO"),
            ("queue_created", " port=", " port=x", "port=x"),
        )
        for where, old, new, said in cases:
            if old not in good[at[where]]:
                continue
            lines = list(good)
            lines[at[where]] = lines[at[where]].replace(old, new)
            self.refused(lines, at[where] + 1, said)
        self.refused(good + ["5 nonsense a=b"], len(good) + 1, "'nonsense'")
        self.refused(good + ["cqe a=b"], len(good) + 1, "time")
        self.refused(good + ["9 cq"], len(good) + 1, "ends within", end="")
        # Comments and empty lines are allowed.
        self.write([good[0], "# the first try", "", *good[1:]])
        self.assertEqual(self.replay().returncode, 0)

    def test_truncated_files(self):
        """A file cut at any place gives a message or a replay, no crash."""
        self.record(args=("2",))
        with open(self.recorded, "rb") as file:
            text = file.read()
        for size in range(0, len(text), 1499):
            with open(self.recorded, "wb") as file:
                file.write(text[:size])
            done = self.run_model("replay", self.recorded, "--quiet", "--", "true")
            self.assertIn(done.returncode, (4, 125), (size, done.stderr))
            self.assertNotEqual(done.stderr, "")


if __name__ == "__main__":
    main()
