# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The plan of a cluster from a file of saved facts; the thinking is the collection's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _interconnect,
    _plan,
    _topology,
)


class FactsError(ValueError):
    """A file that holds no facts of hosts; the message is one sentence."""


def plan_file(file: Path) -> dict[str, Any]:
    """Return the plan for the facts in a file, or its error, as schema samewire.plan/1.

    Raises:
        FactsError: The file cannot be read, or holds no facts of hosts.
    """
    document = _read(file)
    hosts = _topology.parse_cluster(document)
    if not hosts:
        raise FactsError(
            f"{file} holds no facts: expected 'hosts', a list with a name each, got none; "
            "save the facts of the hosts first."
        )
    cluster = str(document.get("cluster", file.stem))
    return _plan.to_json(_interconnect.plan(hosts, cluster))


def table(plan: dict[str, Any]) -> list[str]:
    """Return a plan as lines for people: the network and why, a row a host, the warnings."""
    network = plan["network"]
    rows = [("HOST", "ADDRESS", "INTERFACE", "HCAS")]
    rows += [
        (name, str(host["address"]), host["interface"], ",".join(host["hcas"]) or "-")
        for name, host in plan["hosts"].items()
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        f"Network    {network['cidr']}, {plan['transport']}",
        *(f"           because {reason}" for reason in network["chosen_because"]),
        "",
        *("  ".join(f"{c:{w}}" for c, w in zip(r, widths, strict=True)).rstrip() for r in rows),
        *(f"Warning: {warning['message']}" for warning in plan["warnings"]),
    ]


def _read(file: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise FactsError(f"{file} cannot be read: expected YAML or JSON, got: {reason}.") from None
    return document if isinstance(document, dict) else {}
