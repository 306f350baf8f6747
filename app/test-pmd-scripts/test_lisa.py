#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
DPDK cases of Microsoft's LISA (github.com/microsoft/lisa, MIT, the folder
lisa/microsoft/testsuites/dpdk): testpmd by LISA's command line, and its output by LISA's
criteria. LISA also demands rates, which say nothing on a model. And the steps of Microsoft's
page "MANA and DPDK on Linux" (learn.microsoft.com/azure/virtual-network/setup-dpdk-mana).
"""

import re
import signal

import machine
from application import Application
from harness import check, check_equal, check_errors, check_report, main
from model import ending, mac, pci, plugin_arguments
from netvsc import STATES, UUID
from testpmd import memory_arguments

# dpdktestpmd.py _testpmd_output_regex
RATES = {"txonly": r"Tx-pps:\s+([0-9]+)", "rxonly": r"Rx-pps:\s+([0-9]+)"}
TX_DROPPED, TX_TOTAL = r"TX-dropped:\s+([0-9]+)", r"TX-packets:\s+([0-9]+)"
# dpdktestpmd.py _split_testpmd_output(), _search_hotplug_regex
REMOVAL = "Port 0: device removal event"
RETURN = re.compile(r"EAL: Probe PCI driver: ([a-z_A-Z0-9\-]+) "
                    r"\([0-9a-fA-F]{4}:[0-9a-fA-F]{4}\) device: "
                    r"[a-fA-F0-9]{4}:[a-fA-F0-9]{2}:[a-fA-F0-9]{2}\.[a-fA-F0-9] \(socket 0\)")
# the driver at the loss, and EAL at its default level
EXPECTED = (r"MANA: .* the kernel removed the RDMA device", r"MANA: .* is gone: ",
            r"MANA: .* no Rx filter", r"MANA: .* always hashes all IP packets",
            r"EAL: (?!Error|Fail|Cannot)", r"TELEMETRY: ")


def command(mode):
    """
    generate_testpmd_command() with net_netvsc on MANA: -a DEV_UUID
    --vdev="PCI_SLOT,mac=MAC", 256 descriptors. testpmd of 22.11 needs the queue states.
    """
    argv = ["dpdk-testpmd", machine.lcores(), *plugin_arguments(),
            *memory_arguments("no-huge", 256), "-a", UUID, f"--vdev={pci(0)},mac={mac(0)}",
            "--", f"--forward-mode={mode}", "-a", "--stats-period", "2", "--nb-cores=1",
            "--txd=256", "--rxd=256", "--stats", "2", "--no-mlockall",
            "--total-num-mbufs=8192"]
    if mode == "txonly":
        argv.append("--tx-ip=10.0.1.4,10.0.1.5")
    return ["sh", "-c", f'LD_PRELOAD="$LD_PRELOAD {STATES}" exec "$@"', "sh", *argv]


# "Example: Testpmd setup and netvsc test", without huge pages and modprobe, which are the
# real machine's. SET is for this test: EAL's lcores, memory, the plug-in.
PAGE = """set -e
PRIMARY="hv0p0"
SECONDARY="`ip -br link show master $PRIMARY | awk '{ print $1 }'`"
MANA_MAC="`ip -br link show master $PRIMARY | awk '{ print $3 }'`"
BUS_INFO="`ethtool -i $SECONDARY | grep bus-info | awk '{ print $2 }'`"
ip link set $PRIMARY down
ip link set $SECONDARY down
DEV_UUID=$(basename $(readlink /sys/class/net/$PRIMARY/device))
NET_UUID="f8615163-df3e-46c5-913f-f2d2f965ed0e"
echo $NET_UUID > /sys/bus/vmbus/drivers/uio_hv_generic/new_id
echo $DEV_UUID > /sys/bus/vmbus/drivers/hv_netvsc/unbind
echo $DEV_UUID > /sys/bus/vmbus/drivers/uio_hv_generic/bind
LD_PRELOAD="$LD_PRELOAD $STATES"
exec dpdk-testpmd $SET --vdev="$BUS_INFO,mac=$MANA_MAC" -- --forward-mode=txonly \\
    --auto-start --txd=128 --rxd=128 --stats 2 --no-mlockall --total-num-mbufs=16384 """


def end(pmd):
    """Returns the report."""
    pmd.model.signal(pmd, "dpdk-testpmd", signal.SIGINT)
    check_equal("exit status", pmd.wait(), 0)
    report = pmd.model.report()
    check_errors(pmd, [*EXPECTED, *pmd.model.expected_lines])
    check_report(report)
    return report


def page(nb_queues):
    """"MANA single queue test" and "MANA multiple queue test": each queue of the VF sends."""
    settings = [machine.lcores(nb_queues + 1), *plugin_arguments(),
                *memory_arguments("no-huge", 512)]
    script = (f"STATES={STATES}\nSET='{' '.join(settings)}'\n{PAGE}"
              f"--nb-cores={nb_queues} --txq={nb_queues} --rxq={nb_queues}")
    with ending([]) as programs:
        pmd = Application(["sh", "-c", script], "--ports", "1", "--netvsc=hv")
        programs.append(pmd)
        await_rate(pmd, "txonly", 0)
        report = pmd.wait_until(lambda report: report.ports[mac(0)]["tx"]["packets"] >= 10000)
        check_equal("path", report.ports[mac(0)]["synthetic"]["path"], "vf")
        end(pmd)
        queues = re.findall(r"TX Port= *\d+/Queue= *(\d+) ", pmd.text)
        if nb_queues > 1:
            check_equal("queues that sent", sorted({int(queue) for queue in queues}),
                        list(range(nb_queues)))


def rates(text, mode):
    """get_data_from_testpmd_output() without the zeros at the beginning."""
    values = [int(value) for value in re.findall(RATES[mode], text)]
    while values and values[0] == 0:
        del values[0]
    return values


def rescind(mode, *options):
    """
    verify_dpdk_sriov_rescind_failover_receiver and _send_only: the host takes the VF away
    and gives it back. testpmd prints the removal and then the probe, and packets flow before,
    between and after.
    """
    with ending([]) as programs:
        pmd = Application(command(mode), "--ports", "1", "--netvsc=uio", *options)
        programs.append(pmd)
        pmd.model.expect_removal()
        # testpmd_start_process()
        pmd.expect("start packet forwarding")
        await_rate(pmd, mode, 0)
        pmd.model.ctl("remove", "fn=0")
        at = pmd.expect(REMOVAL).end()
        await_rate(pmd, mode, at)
        pmd.model.ctl("return", "fn=0")
        at = pmd.expect(RETURN.pattern, since=at).end()
        pmd.wait_until(lambda report: report.ports[mac(0)]["synthetic"]["to_vf"] == 2)
        await_rate(pmd, mode, at)
        report = end(pmd)
        check_output(pmd.text, mode)
        check_carried(report.ports[mac(0)], mode)


def await_rate(pmd, mode, since):
    """Waits for the second statistics with packets behind a place of the output."""
    number = r"[1-9][0-9]*"
    rate = RATES[mode].replace("([0-9]+)", number)
    pmd.expect(rf"{rate}(?s:.*?){rate}", since=since)


def check_output(text, mode):
    removal = text.index(REMOVAL)
    found = RETURN.search(text, removal)
    check_equal("driver", found.group(1), "net_mana")
    for name, part in {"before": text[:removal], "during": text[removal:found.start()],
                       "after": text[found.end():]}.items():
        check(any(rates(part, mode)), f"no packets {name}: {part}")
    # check_process_for_segfault()
    check("Segmentation fault" not in text, text)
    if mode == "txonly":
        # check_tx_packet_drops(): "More than 33% of the tx packets were dropped!"
        dropped, total = (int(re.findall(regex, text)[-1]) for regex in (TX_DROPPED, TX_TOTAL))
        check(total > 0 and dropped / total <= 0.33, f"{dropped} of {total} dropped")


def check_carried(port, mode):
    """Both paths have carried packets."""
    direction = "tx" if mode == "txonly" else "rx"
    check(port[direction]["packets"] > 0 and port["synthetic"][f"{direction}_packets"] > 0,
          port)


if __name__ == "__main__":
    main({"page-single-queue": lambda: page(1), "page-queues": lambda: page(8),
          "rescind-sender": lambda: rescind("txonly"),
          "rescind-receiver": lambda: rescind("rxonly", "--wire", "1=gen:count=0,flows=8")})
