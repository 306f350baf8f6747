#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The checks after each run in a guest fail when they must."""

import json

import vm
from harness import check, check_equal, check_report, fixture, main
from model import Guest

OBJECTS = ("device", "pd", "page", "key", "region", "eq", "cq", "wq", "rnic")
WARNING = "[    9.1] WARNING: CPU: 0 PID: 7 at drivers/infiniband/core/rdma_core.c:936"


def refusal(log="", violations=(), leaks=None, cut_off=0, prepare=None):
    """What the checks say of a guest's log and its adapter's report; None: nothing."""
    model = Guest()
    if prepare:
        prepare(model)
    with open(model.log_path, "w", encoding="utf-8") as file:
        file.write(log)
    with open(model.report_path, "w", encoding="utf-8") as file:
        json.dump({"violations": [{"name": name} for name in violations],
                   "leaks": {**dict.fromkeys(OBJECTS, 0), **(leaks or {})},
                   "functions": [{"cut_off": cut_off}]}, file)
    try:
        check_report(model.report())
    except AssertionError as error:
        return str(error)
    return None


def is_refused(word, **run):
    text = refusal(**run)
    check(text and word in text, f"{run}: {text}")


def is_accepted(**run):
    text = refusal(**run)
    check(text is None, f"{run}: {text}")


def expect_warning(model):
    model.expected_messages.append("WARNING: .*rdma_core")


def expect_reset(model):
    model.expected_cut_off += 1


def expect_doorbells(model):
    model.tolerated_violations.append("doorbell_unknown_queue")


def checks():
    """Each kind of object, each complaint of the kernel, violations."""
    is_accepted(log="[    1.0] mana 0000:01:00.0: Microsoft Azure Network Adapter\n")
    for kind in OBJECTS:
        is_refused("left behind", leaks={kind: 1})
    for line in (WARNING, "[    9.1] BUG: kernel NULL pointer dereference, address: 8",
                 "[    9.1] Oops: Oops: 0002 [#1] SMP NOPTI",
                 "[    9.1] INFO: task testpmd:99 blocked for more than 120 seconds.",
                 "[    9.1] mana 0000:01:00.0: Command 0x2 timed out: 30000 ms",
                 "[    9.1] Call Trace:", "[    9.1] Kernel panic - not syncing: x",
                 "[    9.1] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
                 "[    9.1] Out of memory: Killed process 99 (testpmd)",
                 "[    9.1] NETDEV WATCHDOG: CPU: 1: transmit queue 0 timed out 5 ms",
                 "[    9.1] mana 0000:01:00.0 eth0: Failed to create the queue: -71"):
        is_refused("messages of the guest's kernel", log=line + "\n")
    is_accepted(log="[    9.1] mana 0000:01:00.0: Failed to query vf counters err -95\n")
    is_accepted(log=WARNING + "\n", prepare=expect_warning)
    is_refused("BUG", log=WARNING + "\n[    9.2] BUG: bad page\n", prepare=expect_warning)
    is_refused("violations", violations=["objects_left"])
    is_refused("violations", violations=["doorbell_unknown_queue", "objects_left"],
               prepare=expect_doorbells)
    is_accepted(violations=["doorbell_unknown_queue"], prepare=expect_doorbells)
    is_refused("not closed", cut_off=1)
    is_accepted(cut_off=1, prepare=expect_reset)
    is_refused("not closed", prepare=expect_reset)


def fail_destruction(model):
    model.expected_messages += vm.LEFT_MESSAGES
    model.ctl("fail", "request=destroy_wq_obj")


def left():
    """The adapter refuses to destroy a queue of testpmd's: it is left on the card."""
    with fixture("--ports", "2", "--wire", "pair") as run:
        run.start()
        fail_destruction(run.model)
        check_equal("exit status of testpmd", run.pmd.quit(), 0)
        report = run.model.report()
        check_equal("queues left behind", report.leaks.get("wq"), 1)
        check("objects_left" in [at["name"] for at in report.violations],
              f"violations: {report.violations}")


IN_GUEST = {"left": left}
VARIANTS = {"checks": checks}

if __name__ == "__main__":
    main(VARIANTS, IN_GUEST)
