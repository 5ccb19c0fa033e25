# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Files of facts that are none: one sentence with the place, exit 2, and never a traceback."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from samewire import cli, facts, page
from tests.unit.facts import host, nic, roce

CORRECT = "correct it or save the facts again."
MILLION = 1_000_000


def document(**changes: Any) -> dict[str, Any]:
    hosts = [
        host(f"spark{n}", nic("eth1", f"10.0.0.{n + 1}/24"), rdma=[roce("mlx5_0", "eth1")])
        for n in (0, 1)
    ]
    return {"cluster": "pair", "hosts": hosts, **changes}


def with_host(**changes: Any) -> str:
    made = document()
    made["hosts"][1].update(changes)
    return json.dumps(made)


def with_interface(**changes: Any) -> str:
    return with_host(interfaces=[{**nic("eth1", "10.0.0.2/24"), **changes}])


BAD = {
    "variables that are a list": (
        with_host(ray_node_environment=["A=1"]),
        "FILE: hosts[1].ray_node_environment: expected a mapping, got a list; " + CORRECT,
    ),
    "variable that is a list": (
        with_host(ray_node_environment={"A": []}),
        "FILE: hosts[1].ray_node_environment.A: expected text or a number, got a list; " + CORRECT,
    ),
    "head that is no host": (
        json.dumps(document(head="spark7")),
        "FILE: head: expected the name of one of the hosts, got 'spark7'; " + CORRECT,
    ),
    "empty": ("", "FILE: expected a mapping, got None; " + CORRECT),
    "no hosts": (
        "a: b\n",
        "FILE holds no facts: expected 'hosts', a list with a name each, got none; save the facts of the "
        "hosts first.",
    ),
    "truncated JSON": (
        json.dumps(document())[:100],
        "FILE cannot be read: expected YAML or JSON, got: did not find expected node content in line 2, "
        "column 1.",
    ),
    "truncated YAML": (
        "hosts:\n  - name: a\n    interfaces: [\n",
        "FILE cannot be read: expected YAML or JSON, got: did not find expected node content in line 4, "
        "column 1.",
    ),
    "another schema": (
        json.dumps(document(schema="samewire.plan/1")),
        "FILE: schema: expected the schema samewire.facts/1, got 'samewire.plan/1'; " + CORRECT,
    ),
    "duplicate hosts": (
        with_host(name="spark0"),
        "FILE: hosts[1].name: expected another name than hosts[0], got 'spark0'; " + CORRECT,
    ),
    "host without a name": (
        with_host(name=None),
        "FILE: hosts[1].name: expected a name without spaces, quotes or control characters, got None; "
        + CORRECT,
    ),
    "hostile name": (
        with_host(name="\x1b[31m<script>"),
        "FILE: hosts[1].name: expected a name without spaces, quotes or control characters, got "
        "'\\x1b[31m<script>'; " + CORRECT,
    ),
    "endless name": (
        with_host(name="x" * 300),
        "FILE: hosts[1].name: expected a name without spaces, quotes or control characters, got "
        f"'{'x' * 76}...; " + CORRECT,
    ),
    "host that is text": (
        json.dumps({"hosts": ["spark0"]}),
        "FILE: hosts[0]: expected a mapping, got 'spark0'; " + CORRECT,
    ),
    "interfaces that are text": (
        with_host(interfaces="eth1"),
        "FILE: hosts[1].interfaces: expected a list, got 'eth1'; " + CORRECT,
    ),
    "interface twice": (
        with_host(interfaces=[nic("eth1"), nic("eth1")]),
        "FILE: hosts[1].interfaces[1].name: expected each interface once, got 'eth1'; " + CORRECT,
    ),
    "invalid CIDR": (
        with_interface(addresses=["10.0.0.1/24", "10.0.0.300/24"]),
        "FILE: hosts[1].interfaces[0].addresses[1]: expected an address with its prefix length, such as "
        "192.168.200.12/24, got '10.0.0.300/24'; " + CORRECT,
    ),
    "MTU that is no number": (
        with_interface(mtu="jumbo"),
        "FILE: hosts[1].interfaces[0].mtu: expected a number, got 'jumbo'; " + CORRECT,
    ),
    "MTU beyond all numbers": (
        f"hosts: [{{name: a, interfaces: [{{name: b, mtu: 0x{'f' * 5000}}}]}}]",
        "FILE: hosts[0].interfaces[0].mtu: expected a number, got a huge number; " + CORRECT,
    ),
    "pin that is no text": (
        json.dumps(document(interconnect_network=["10.0.0.0/24"])),
        "FILE: interconnect_network: expected text, got a list; " + CORRECT,
    ),
    "no text": (
        "\x00\x01",
        "FILE cannot be read: expected YAML or JSON, got: unacceptable character #x0000: control "
        "characters are not allowed.",
    ),
    "lists without end": (
        "[" * 100_000,
        "FILE cannot be read: expected the facts of hosts, got lists within lists without end.",
    ),
    "a million interfaces": (
        '{"hosts": [{"name": "a", "interfaces": [' + ",".join(["{}"] * MILLION) + "]}]}",
        "FILE: hosts[0].interfaces: expected at most 500000 interfaces in all, got 1000000; "
        + CORRECT,
    ),
    "a million interfaces in YAML": (
        "hosts:\n- name: a\n  interfaces:\n" + "  - {name: eth0}\n" * MILLION,
        "FILE cannot be read: expected at most 8 MiB of YAML, got 16 MiB; write it as JSON, which is read "
        "faster.",
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD.keys())
def test_bad_facts(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "facts.yml"
    file.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(cli.app, ["plan", "--facts", str(file)], catch_exceptions=False)
    assert (result.exit_code, result.output.replace(str(file), "FILE")) == (2, message + "\n")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "facts.yml"
    file.write_bytes(b"hosts: \xff\xfe")
    with pytest.raises(
        facts.FactsError, match="cannot be read: expected YAML or JSON, got: 'utf-8'"
    ):
        facts.load(file)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -1, float("inf"), float("nan")]),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(
        ["10.0.0.1/24", "fe80::1%eth0/64", "::/0", "up", "Ethernet", "default", "eth1"]
    ),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    found = [path]
    if isinstance(value, dict):
        return found + [
            place for key, each in value.items() for place in places(each, (*path, key))
        ]
    if isinstance(value, list):
        return found + [
            place for key, each in enumerate(value) for place in places(each, (*path, key))
        ]
    return found


WHOLE = document(
    schema=facts.SCHEMA,
    interconnect_network="",
    hosts=[
        {
            **host(
                f"spark{n}",
                nic("eth1", f"10.0.0.{n + 1}/24", mtu=9000, speed_mbps=100000, pci="0000:01:00.0"),
                nic("bond0", "10.1.0.1/24", type="bond", master=None, parent=None, numa_node=0),
                rdma=[roce("mlx5_0", "eth1", gids=[[3, "RoCE v2", f"::ffff:10.0.0.{n + 1}"]])],
                gpus=[{"pci": "000f:01:00.0", "numa_node": 0}],
                routes=[{"destination": "default", "family": 4, "interface": "eth1"}],
                default_route_interface="bond0",
                absent={"gpus": "no sysfs"},
                interconnect_interface="",
            ),
        }
        for n in (0, 1)
    ],
)
PLACES = places(WHOLE)


@contextmanager
def suppress_faults() -> Iterator[None]:
    """Let pass what is told as one sentence, and nothing else."""
    try:
        yield
    except facts.FactsError as error:
        if "\n" in str(error):
            raise


def judged(made: Any) -> None:
    """Plan for a document and draw it, or be told what is wrong with it: nothing else may happen."""
    known = None
    with suppress_faults():
        known = facts.parse(made, "FILE", "pair")
    if known is None:
        return
    plan = known.plan()
    assert ("error" in plan) != ("hosts" in plan)
    json.dumps(plan)
    page.render(plan, known)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), ANYTHING), min_size=1, max_size=3))
def test_any_value_in_any_place(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    made: Any = copy.deepcopy(WHOLE)
    for path, value in changes:
        if not path:
            made = value
            continue
        inner = made
        try:
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    judged(made)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_text(tmp_path: Path, data: st.DataObject) -> None:
    file = tmp_path / "facts.yml"
    text = json.dumps(WHOLE)
    cut = data.draw(st.integers(0, len(text)))
    file.write_text(text[:cut] + data.draw(st.text(max_size=30)) + text[cut:], encoding="utf-8")
    with suppress_faults():
        known = facts.load(file)
        page.render(known.plan(), known)
