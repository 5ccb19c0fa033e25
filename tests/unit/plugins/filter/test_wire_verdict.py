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
    }
