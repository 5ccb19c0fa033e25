# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the judgement says where no real wire can be had.

The faults of real wires are in tests/netns.
"""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.samewire.vllm.plugins.module_utils import _wire as wire
from ansible_collections.samewire.vllm.plugins.module_utils import _wire_verdict
from tests.unit.plans import plan

NETWORK = "10.77.0.0/24"
HOSTS = ("node0", "node1", "node2")


def listener(number: int) -> wire.Listener:
    return wire.Listener(
        address=f"10.77.0.{number}",
        interface="eth1",
        nonce=f"nonce{number}",
        ports=(wire.Port(40000 + number), wire.Port(6379, live=True)),
        mtu=9000,
        macs=frozenset({f"02:00:00:00:00:0{number}"}),
    )


LISTENERS = {name: listener(number) for number, name in enumerate(HOSTS)}


def crossing(target: str) -> wire.Crossing:
    """A connection as it should be."""
    number = HOSTS.index(target)
    return wire.Crossing(
        target=target,
        attempts=(wire.Attempt(40000 + number, wire.CONNECTED),),
        route_interface="eth1",
        neighbour_mac=f"02:00:00:00:00:0{number}",
        neighbour_state="REACHABLE",
        expected_packet=9000,
        packet=9000,
    )


def judge(*changed: tuple[str, wire.Crossing]) -> _wire_verdict.Verdict:
    """The verdict where all crossings are good but the given ones, each from the named host."""
    bad = {(source, each.target): each for source, each in changed}
    probes = {
        source: wire.Probe(
            crossings=tuple(
                bad.get((source, target), crossing(target)) for target in HOSTS if target != source
            ),
            duplicate=None,
            absent={},
        )
        for source in HOSTS
    }
    return _wire_verdict.judge(NETWORK, LISTENERS, probes)


def failing(target: str, outcome: str, **more: object) -> wire.Crossing:
    good = crossing(target)
    return replace(good, attempts=(replace(good.attempts[0], outcome=outcome),), **more)  # type: ignore[arg-type]


def test_a_whole_wire() -> None:
    assert judge() == _wire_verdict.Verdict((), (), {})


def test_refused_by_the_mac_address_of_another_machine() -> None:
    verdict = judge(
        ("node0", failing("node1", wire.REFUSED, neighbour_mac="02:00:00:00:00:99")),
    )
    assert verdict.problems == (
        "node0 to node1: another machine answers at 10.77.0.1 (MAC address 02:00:00:00:00:99), expected "
        "node1; give one of them another address",
    )


def test_another_mac_address_alone_is_no_fault() -> None:
    # Some clouds answer ARP for all with one MAC address.
    proxied = replace(crossing("node1"), neighbour_mac="12:34:56:78:9a:bc")
    assert judge(("node0", proxied)).problems == ()


def test_unreachable_beyond_a_router() -> None:
    verdict = judge(
        ("node0", failing("node1", wire.HOST_UNREACHABLE, neighbour_mac=None, neighbour_state=None))
    )
    assert verdict.problems == (
        "node0 to node1: nothing answers for 10.77.0.1 behind eth1, expected node1; check that the port of "
        "eth1 on node1 is up and in the same network segment",
    )


def test_a_listener_that_says_nothing() -> None:
    assert judge(("node0", failing("node1", wire.MUTE))).problems == (
        "node0 to node1: connections to 10.77.0.1 open, but nobody answers on them, expected node1 to; look "
        "at the load of node1, and for what stands between them, such as a proxy",
    )


def test_two_hosts_with_the_same_fault_share_a_sentence() -> None:
    verdict = judge(*((source, failing("node1", wire.REFUSED)) for source in ("node0", "node2")))
    assert verdict.problems == (
        "node0 and node2 to node1: TCP to 10.77.0.1 port 40001 is refused, expected a connection (the other "
        "direction works); most likely a firewall: allow TCP from 10.77.0.0/24 on node1",
    )


def test_even_small_packets_are_lost() -> None:
    lost = replace(crossing("node1"), packet=None, lost=True)
    assert judge(("node0", lost)).problems == (
        "node0 to node1: packets of 9000 bytes to 10.77.0.1 are lost and those below 1280 pass, expected the "
        "MTU of eth1 to pass; raise the MTU of the switch ports between them, or set that of the interfaces "
        "to what the path carries",
    )


def test_an_address_on_loopback_leaves_through_any_interface() -> None:
    listeners = {name: replace(each, carries=False) for name, each in LISTENERS.items()}
    routed = replace(crossing("node1"), route_interface="eth7")
    probes = {name: wire.Probe((), None, {}) for name in HOSTS} | {
        "node0": wire.Probe((routed,), None, {})
    }
    assert _wire_verdict.judge(NETWORK, listeners, probes).problems == ()


def test_a_host_that_said_nothing_is_not_taken_for_a_good_one() -> None:
    probes = {name: wire.Probe((), None, {}) for name in HOSTS[:2]}
    assert _wire_verdict.judge(NETWORK, LISTENERS, probes).problems == (
        "node2: what listened at 10.77.0.2 on eth1 was gone before it tried the others, expected it to wait "
        "for that; run the proof again, with more wire_listen_timeout where node2 is slow",
    )


def test_what_could_not_be_checked_is_a_note() -> None:
    probes = {name: wire.Probe((), None, {"routes": "ip is not installed"}) for name in HOSTS}
    assert _wire_verdict.judge(NETWORK, LISTENERS, probes) == _wire_verdict.Verdict(
        (), ("node0, node1 and node2: routes could not be checked: ip is not installed",), {}
    )


def clocks(**ahead: float) -> tuple[str, ...]:
    """The problems where the hosts' clocks are ahead of the true time by so many seconds."""
    return judge(
        *(
            (
                source,
                replace(crossing(target), clock=wire.Clock(ahead[target] - ahead[source], 0.1)),
            )
            for source in ahead
            for target in ahead
            if source != target
        )
    ).problems


def test_clocks_that_agree() -> None:
    assert clocks(node0=0, node1=2.05, node2=-0.1) == ()


def test_a_clock_that_is_ahead_and_one_that_is_behind() -> None:
    assert clocks(node0=0, node1=7.3) == (
        "node1: its clock is 7.3 s ahead of node0's, expected within 2 s; set it with NTP (timedatectl "
        "set-ntp true)",
    )
    assert clocks(node0=0, node1=-3600) == (
        "node1: its clock is 3600.0 s behind node0's, expected within 2 s; set it with NTP (timedatectl "
        "set-ntp true)",
    )


def test_the_clock_that_no_other_agrees_with_is_the_wrong_one() -> None:
    assert clocks(node0=60, node1=0, node2=0.5) == (
        "node0: its clock is 60.0 s ahead of node1's, expected within 2 s; set it with NTP (timedatectl "
        "set-ntp true)",
    )


def test_an_answer_that_took_long_says_little_about_the_clock() -> None:
    slow = replace(crossing("node1"), clock=wire.Clock(3.0, 1.5))
    assert judge(("node0", slow)).problems == ()


def test_clocks_are_part_of_the_verdict() -> None:
    told = wire.Clock(0.002, 0.001)
    verdict = judge(("node0", replace(crossing("node1"), clock=told)))
    assert verdict == _wire_verdict.Verdict((), (), {("node0", "node1"): told})


def test_links_that_are_down_may_be_the_wire_that_was_meant() -> None:
    down = {"address": None, "because": "its link is down"}
    made = plan()
    made["hosts"]["spark0"]["rejected"] = [
        {**down, "interface": "enp1s0f1np1"},
        {**down, "interface": "docker0"},
        {"interface": "wlan0", "address": "10.0.0.1", "because": "it is Wi-Fi"},
    ]
    assert _wire_verdict.idle_links(made) == [
        "spark0: enp1s0f1np1 is down and could not be planned with; if the cable of the cluster is there, "
        "bring it up first: ip link set enp1s0f1np1 up"
    ]
    made["hosts"]["spark0"]["rejected"] = []
    assert _wire_verdict.idle_links(made) == []
