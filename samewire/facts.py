# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The facts of a cluster's hosts: read from a file, judged with the place of a fault, and saved.

A file of facts is a mapping in YAML or JSON with `hosts`, a list of what each host says about itself
and its `name`; `cluster`, `head`, `interconnect_network` and, for a host, `interconnect_interface` and
`ray_node_environment` may stand there, too. Other keys are ignored.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _environment,
    _interconnect,
    _overrides,
    _plan,
    _topology,
)

SCHEMA = "samewire.facts/1"

MOST_BYTES = 64 << 20
MOST_YAML_BYTES = 8 << 20  # JSON, in which facts are saved, is read faster
MOST_INTERFACES = 500_000

_NAME = re.compile(r"[^\s\x00-\x1f\x7f-\x9f/\\<>\"'`]{1,253}")
_USB_BY_MAC = re.compile(r"\benx[0-9a-f]{12}\b")
_MAC = re.compile(r"\b(?:[0-9a-f]{2}:){5,19}[0-9a-f]{2}\b", re.IGNORECASE)


class FactsError(ValueError):
    """A file that holds no facts of hosts; the message is one sentence with the place."""


@dataclass(frozen=True)
class Facts:
    """The facts of a cluster, with what the user set: the pins, and variables by host.

    `head` is the host of the Ray head, empty where it is not stated.
    """

    cluster: str
    hosts: tuple[_topology.Host, ...]
    pins: _interconnect.Pins | _plan.PlanError
    overrides: Mapping[str, Mapping[str, Any]]
    head: str = ""

    def plan(self) -> dict[str, Any]:
        """Return the plan, or its error, as schema samewire.plan/1."""
        if isinstance(self.pins, _plan.PlanError):
            return _plan.to_json(self.pins)
        made = _plan.to_json(_interconnect.plan(self.hosts, self.cluster, self.pins))
        return _overrides.with_overrides(made, self.overrides, self.head)


def load(file: Path) -> Facts:
    """Read the facts of a file.

    Raises:
        FactsError: The file cannot be read, or what it holds are no facts of hosts.
    """
    try:
        return parse(_read(file), str(file), file.stem)
    except RecursionError:
        raise FactsError(
            f"{file} cannot be read: expected the facts of hosts, got lists within lists without end."
        ) from None


def parse(document: object, source: str, cluster: str) -> Facts:
    """Judge a document and return its facts; source names it in messages, cluster is the default.

    Raises:
        FactsError: A value is of another kind than expected; the message names its place.
    """
    judge = _Judge(source)
    top = judge.mapping(document, "")
    schema = top.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise judge.fault("schema", f"the schema {SCHEMA}", schema)
    rows = judge.list_of(top.get("hosts"), "hosts")
    if not rows:
        raise FactsError(
            f"{source} holds no facts: expected 'hosts', a list with a name each, got none; "
            "save the facts of the hosts first."
        )
    judge.hosts(rows)
    names = [str(row["name"]) for row in rows]
    head = judge.head(top.get("head"), names)
    pins = _interconnect.parse_pins(
        judge.text(top.get("interconnect_network"), "interconnect_network"),
        {
            str(row["name"]): judge.text(
                row.get("interconnect_interface"), f"hosts[{index}].interconnect_interface"
            )
            for index, row in enumerate(rows)
        },
        alone=bool(head),
    )
    overrides = {
        str(row["name"]): judge.variables(
            row.get("ray_node_environment"), f"hosts[{index}].ray_node_environment"
        )
        for index, row in enumerate(rows)
    }
    stated = top.get("cluster")
    name = cluster if stated is None else judge.name(stated, "cluster")
    return Facts(name, _topology.parse_cluster({"hosts": rows}), pins, overrides, head)


def render(document: Mapping[str, Any]) -> str:
    """Return facts as JSON for others to read, without what tells one device from all others."""
    hosts = [
        {**row, "ray_node_environment": _without_secrets(row["ray_node_environment"])}
        if row.get("ray_node_environment")
        else row
        for row in document["hosts"]
    ]
    return json.dumps(_Discreet()({**document, "hosts": hosts}), indent=2) + "\n"


def _without_secrets(variables: Mapping[str, Any]) -> dict[str, str]:
    return {name: _environment.shown(name, str(value)) for name, value in variables.items()}


class _Judge:
    """Checks of values, each with the place that a message names."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._interfaces = 0

    def fault(self, place: str, expected: str, got: object) -> FactsError:
        where = f"{self._source}: {place}" if place else self._source
        return FactsError(
            f"{where}: expected {expected}, got {_short(got)}; correct it or save the facts again."
        )

    def hosts(self, rows: list[Any]) -> None:
        first: dict[str, int] = {}
        for index, row in enumerate(rows):
            place = f"hosts[{index}]"
            name = self.name(self.mapping(row, place).get("name"), f"{place}.name")
            if name in first:
                raise self.fault(f"{place}.name", f"another name than hosts[{first[name]}]", name)
            first[name] = index
            self._host(row, place)

    def _host(self, row: Mapping[str, Any], place: str) -> None:
        names: set[str] = set()
        for spot, each in self._entries(row, place, "interfaces"):
            self._interfaces += 1
            name = self.name(each.get("name"), f"{spot}.name")
            if name in names:
                raise self.fault(f"{spot}.name", "each interface once", name)
            names.add(name)
            self._number(each.get("mtu"), f"{spot}.mtu")
            self._number(each.get("speed_mbps"), f"{spot}.speed_mbps")
            for number, text in enumerate(self.list_of(each.get("addresses"), f"{spot}.addresses")):
                self._cidr(text, f"{spot}.addresses[{number}]")
        for spot, each in self._entries(row, place, "rdma"):
            self.name(each.get("device"), f"{spot}.device")
            self._number(each.get("port"), f"{spot}.port")
            self._number(each.get("rate_gbps"), f"{spot}.rate_gbps")
        for spot, each in self._entries(row, place, "routes"):
            self.name(each.get("interface"), f"{spot}.interface")

    def _entries(
        self, row: Mapping[str, Any], place: str, key: str
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        values = self.list_of(row.get(key), f"{place}.{key}")
        if self._interfaces + len(values) > MOST_INTERFACES:
            raise self.fault(
                f"{place}.{key}", f"at most {MOST_INTERFACES} interfaces in all", len(values)
            )
        for index, each in enumerate(values):
            spot = f"{place}.{key}[{index}]"
            yield spot, self.mapping(each, spot)

    def mapping(self, value: object, place: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self.fault(place, "a mapping", value)
        return value

    def variables(self, value: object, place: str) -> Mapping[str, Any]:
        if value is None:
            return {}
        for name, each in self.mapping(value, place).items():
            self.name(name, place)
            if not isinstance(each, (str, int, float)) or _is_huge(each):
                raise self.fault(f"{place}.{name}", "text or a number", each)
        return self.mapping(value, place)

    def head(self, value: object, hosts: list[str]) -> str:
        if value is None:
            return ""
        head = self.name(value, "head")
        if head not in hosts:
            raise self.fault("head", "the name of one of the hosts", head)
        return head

    def list_of(self, value: object, place: str) -> list[Any]:
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fault(place, "a list", value)
        return value

    def text(self, value: object, place: str) -> str | None:
        if value is not None and not isinstance(value, str):
            raise self.fault(place, "text", value)
        return value

    def name(self, value: object, place: str) -> str:
        small = isinstance(value, int) and 0 <= value < 1 << 53
        text = str(value) if isinstance(value, str) or small else ""
        if not _NAME.fullmatch(text):
            raise self.fault(place, "a name without spaces, quotes or control characters", value)
        return text

    def _number(self, value: object, place: str) -> None:
        good = isinstance(value, (int, float)) and 0 <= value < 1 << 53
        if not (value is None or good):
            raise self.fault(place, "a number", value)

    def _cidr(self, value: object, place: str) -> None:
        if not (isinstance(value, str) and _is_address(value)):
            raise self.fault(
                place, "an address with its prefix length, such as 192.168.200.12/24", value
            )


def _short(value: object) -> str:
    """What was got, on one line, as far as a reader needs it."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = "a huge number" if _is_huge(value) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _is_huge(value: object) -> bool:
    """Whether a number has up to a million digits, which are better not written out."""
    return isinstance(value, int) and value.bit_length() > 64


def _read(file: Path) -> object:
    try:
        size = file.stat().st_size
        if size > MOST_BYTES:
            raise FactsError(
                f"{file} cannot be read: expected at most {MOST_BYTES >> 20} MiB, got "
                f"{size >> 20} MiB; leave out what is no fact of a host."
            )
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FactsError(f"{file} cannot be read: expected YAML or JSON, got: {error}.") from None
    return _parsed(text, file)


def _parsed(text: str, file: Path) -> object:
    try:
        return json.loads(text)
    except ValueError:
        pass  # YAML, then
    if len(text) > MOST_YAML_BYTES:
        raise FactsError(
            f"{file} cannot be read: expected at most {MOST_YAML_BYTES >> 20} MiB of YAML, got "
            f"{len(text) >> 20} MiB; write it as JSON, which is read faster."
        )
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        reason = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise FactsError(
            f"{file} cannot be read: expected YAML or JSON, got: {reason}{place}."
        ) from None


class _Discreet:
    """Replaces MAC addresses, and names and addresses made from them, alike wherever they stand."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: self(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self(each) for each in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        text = _USB_BY_MAC.sub(lambda found: f"enx{self._number(found[0][3:]):012x}", text)
        return self._address(text) if _is_address(text) else _MAC.sub("(left out)", text)

    def _number(self, hardware: str) -> int:
        return self._numbers.setdefault(hardware, len(self._numbers) + 1)

    def _address(self, text: str) -> str:
        address, slash, prefix = text.partition("/")
        whole = ipaddress.ip_address(address)
        packed = whole.packed
        # RFC 4291, appendix A: an interface identifier made from a MAC address has ff:fe within.
        if whole.version == 4 or packed[11:13] != b"\xff\xfe":
            return text
        mac = packed[8:11] + packed[13:]
        number = self._number(bytes([mac[0] ^ 2, *mac[1:]]).hex())
        made = ipaddress.IPv6Address(packed[:8] + number.to_bytes(8, "big"))
        return f"{made}{slash}{prefix}"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return True
