# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Variables that come from elsewhere than the plan: the user's, which win, and an image's, which lose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _environment
from ansible_collections.samewire.vllm.plugins.module_utils._plan import SCHEMA


def with_overrides(
    plan: Mapping[str, Any], wanted: Mapping[str, Mapping[str, Any] | None], head: str = ""
) -> dict[str, Any]:
    """Return the plan with the user's variables listed for each host, or the error that refuses one.

    plan: of schema samewire.plan/1, returned as it is where it is an error; wanted: variables by name
    of the host; head: the host of the Ray head, without which RAY_ADDRESS is not judged. An entry of
    `overrides` has variable, value, and instead_of, the value of the plan or None where it has none.
    """
    if "error" in plan:
        return dict(plan)
    hosts = {}
    for host, entry in plan["hosts"].items():
        if not isinstance(wanted.get(host) or {}, Mapping):
            return _refusal(
                host,
                f"{host}: ray_node_environment is {wanted[host]!r}, expected a mapping of variables to "
                "values; correct it in the inventory",
            )
        own = {str(name): str(value) for name, value in (wanted.get(host) or {}).items()}
        listed: list[dict[str, str | None]] = []
        # A host whose address the facts do not state has no environment yet.
        if own and entry["address"] is not None:
            try:
                planned = _environment.planned_environment(plan, host, head)
                _environment.check_overrides(host, own, planned)
            except _environment.EnvironmentRefused as refused:
                return _refusal(host, str(refused))
            listed = [
                {
                    "variable": name,
                    "value": _environment.shown(name, own[name]),
                    "instead_of": planned.get(name),
                }
                for name in sorted(own)
                if own[name] != planned.get(name)
            ]
        hosts[host] = {**entry, "overrides": listed}
    return {**plan, "hosts": hosts}


def _refusal(host: str, sentence: str) -> dict[str, Any]:
    error = {"code": "override_refused", "message": f"{sentence}.", "hosts": [host]}
    return {"schema": SCHEMA, "error": error}


def baked_variables(
    image: Iterable[str], environment: Mapping[str, str]
) -> list[dict[str, str | None]]:
    """Return what an image sets and a container is given otherwise, by name of the variable.

    image: NAME=VALUE lines, Config.Env of `docker image inspect`; environment: of node_environment.
    An entry has variable, image, given, which is None where the entry point removes it, and message.
    """
    baked = dict(line.split("=", 1) for line in image if "=" in line)
    removed = set(environment.get("SAMEWIRE_UNSET", "").split())
    return [
        _baked(name, baked[name], environment.get(name))
        for name in sorted(baked)
        if environment.get(name, baked[name]) != baked[name]
        or (name in removed and name not in environment)
    ]


def _baked(name: str, image: str, given: str | None) -> dict[str, str | None]:
    image = _environment.shown(name, image)
    given = None if given is None else _environment.shown(name, given)
    instead = "the entry point removes it" if given is None else f"the containers get {given!r}"
    message = f"the image sets {name}={image!r}; {instead}"
    return {"variable": name, "image": image, "given": given, "message": message}
