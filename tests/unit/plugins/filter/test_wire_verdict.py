# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verdict as plain data; what it says is in the tests of _wire."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.wire_verdict import wire_verdict
from ansible_collections.samewire.vllm.plugins.module_utils import _wire
from tests.unit.plans import plan


def test_wire_verdict_is_plain_data() -> None:
    listener = _wire.Listener("192.168.200.12", "enp1s0f0np0", "nonce", carrier=False)
    probe = _wire.Probe((), None, {"routes": "ip is not installed"})
    assert wire_verdict(
        plan(), {"spark0": _wire.render_listener(listener)}, {"spark0": _wire.render_probe(probe)}
    ) == {
        "problems": [
            "spark0: enp1s0f0np0 has no carrier, expected a link for 192.168.200.12; check its cable and the "
            "port at the other end"
        ],
        "notes": ["spark0: routes could not be checked: ip is not installed"],
        "clock_offsets": {},
    }


def test_clock_offsets_are_by_pair() -> None:
    listeners = {
        name: _wire.render_listener(_wire.Listener(f"192.168.200.{n}", "enp1s0f0np0", name))
        for n, name in ((12, "spark0"), (13, "spark1"))
    }
    met = _wire.Crossing("spark1", (), clock=_wire.Clock(0.0123456, 0.001))
    probes = {
        "spark0": _wire.render_probe(_wire.Probe((met,), None, {})),
        "spark1": _wire.render_probe(_wire.Probe((), None, {})),
    }
    assert wire_verdict(plan(), listeners, probes) == {
        "problems": [],
        "notes": [],
        "clock_offsets": {"spark0": {"spark1": 0.012}},
    }
