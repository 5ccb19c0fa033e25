# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Names of a certificate, and when it must give way to another one."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _tls

NOW = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
OWN = ["localhost", "127.0.0.1", "::1"]


def held(
    *names: str, begins: float = -1, ends: float = 90, self_signed: bool = True
) -> _tls.Certificate:
    return _tls.Certificate(frozenset(names), NOW + begins * DAY, NOW + ends * DAY, self_signed)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("spark0", "spark0"),
        ("API.Example.org", "api.example.org"),
        ("*.example.org", "*.example.org"),
        ("10.1.2.3", "10.1.2.3"),
        ("[FD00:0::12]", "fd00::12"),
        ("spark_0", None),
        ("spark 0", None),
        ("-a", None),
        ("a-", None),
        ("a..b", None),
        ("a.*.b", None),
        ("*", None),
        ("", None),
        ("a" * 64, None),
        (".".join(["a" * 60] * 5), None),
        ("fe80::1%eth0", "fe80::1"),
        ("fe80::1/64", None),
    ],
)
def test_name(text: str, name: str | None) -> None:
    assert _tls.name(text) == name


def test_names_are_those_that_can_be_each_once() -> None:
    candidates = ["spark_0", "10.1.2.3", "0.0.0.0", "::", "API", "10.1.2.3", "localhost"]
    assert _tls.names(candidates) == ["10.1.2.3", "api", *OWN]
    assert _tls.names([]) == OWN


@pytest.mark.parametrize(
    ("wanted", "covered"),
    [
        ("api.example.org", True),
        ("gpu.lab.example.org", True),
        ("lab.example.org", False),
        ("a.b.lab.example.org", False),
        ("localhost", False),
    ],
)
def test_a_star_stands_for_one_label(wanted: str, covered: bool) -> None:
    assert _tls.covers(held("api.example.org", "*.lab.example.org"), wanted) is covered


@pytest.mark.parametrize(
    ("certificate", "due"),
    [
        (None, True),
        (held("a", "b"), False),
        (held("a", "b", ends=30), False),
        (held("a", "b", ends=29.9), True),
        (held("a", "b", ends=-1), True),
        (held("a", "b", "c"), False),
        (held("a"), True),
        # One that was given before: what is made now is ours.
        (held("a", "b", self_signed=False), True),
    ],
)
def test_is_due(certificate: _tls.Certificate | None, due: bool) -> None:
    assert _tls.is_due(certificate, ["a", "b"], NOW) is due


def test_out_of_date() -> None:
    assert _tls.out_of_date("node0", held(), NOW) == []
    assert _tls.out_of_date("node0", held(ends=-2), NOW) == [
        "node0: vllm_server_tls_certificate expired on 2026-11-28 12:00 UTC, expected one that is valid now; "
        "renew it"
    ]
    assert _tls.out_of_date("node0", held(begins=1), NOW) == [
        "node0: vllm_server_tls_certificate is valid from 2026-12-01 12:00 UTC on, expected one that is "
        "valid now; wait until then, or correct the controller's clock"
    ]


def test_notes() -> None:
    assert _tls.notes("node0", held("10.1.2.3", ends=14), "10.1.2.3", NOW) == []
    assert _tls.notes("node0", held("node0", "b", ends=13.5), "10.1.2.3", NOW) == [
        "node0: vllm_server_tls_certificate expires on 2026-12-14 00:00 UTC, in 13 days; renew it",
        "node0: vllm_server_tls_certificate is for b, node0, and not for 10.1.2.3, where samewire chat asks; "
        "set ansible_host to a name that it is for, or have it issued for that, too",
    ]
    assert "is for no name, and not for node0" in _tls.notes("node0", held(), "node0", NOW)[0]
