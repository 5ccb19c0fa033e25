# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: keep the container of before until its successor has proven itself, so that it can come back."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kept_container
short_description: Keep a container until its successor has proven itself
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - A container that makes place for another is stopped and renamed instead of removed. Where the change fails
    it gets its name back and is started again; where the change succeeds it is removed.
  - Only a cluster that served can come back. All other containers are removed at once.
attributes:
  check_mode:
    description: Says what would be done, and does nothing.
    support: full
options:
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  part:
    description: Which container makes place. Required with I(state=retired).
    type: str
    choices: [ray, vllm]
  state:
    description:
      - C(retired) takes the container I(part) down, C(restored) brings back those that were kept, C(dropped)
        removes them.
    type: str
    choices: [retired, restored, dropped]
    required: true
  keep:
    description:
      - Whether a container that is retired is kept. Where this is not said it is kept if it is the server and
        answers its health check.
    type: bool
  brought:
    description:
      - Which containers the change has brought to this host, so that I(state=restored) removes them although
        none of before takes their place.
    type: list
    elements: str
    default: []
  stop_timeout:
    description: Seconds after which a container that does not stop is killed.
    type: int
    default: 10
"""

EXAMPLES = r"""
- name: Take the server down, and keep it if it serves
  samewire.vllm.kept_container:
    cluster: spark-pair
    part: vllm
    state: retired
"""

RETURN = r"""
kept:
  description: Whether there is a container of before, after C(retired).
  returned: always
  type: bool
restored:
  description: Which containers were started again.
  returned: always
  type: list
  elements: str
"""

from collections.abc import Collection, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _engine,
    _kept,
    _local_api,
    _parts,
)


def _serves(found: Mapping[str, Any]) -> bool:
    """Return whether a container is a server that answers its health check."""
    url = _kept.server_url(found["Config"].get("Cmd") or [])
    return (
        bool(found["State"]["Running"])
        and url is not None
        and _local_api.get(f"{url}/health")[0] == 200
    )


class Keeper:
    """The containers of one cluster on this host; raises _engine's exceptions."""

    def __init__(self, engine: _engine.Engine, cluster: str, *, check: bool) -> None:
        self._engine = engine
        self._cluster = cluster
        self._check = check
        self.changed = False

    def name(self, part: str) -> str:
        return f"{self._cluster}-{part}"

    def find(self, name: str) -> dict[str, Any] | None:
        """Return a container of the cluster; that of somebody else is not touched."""
        found = self._engine.container(name)
        labels = (found or {}).get("Config", {}).get("Labels") or {}
        return found if labels.get("samewire.cluster") == self._cluster else None

    def _do(self, order: str, *arguments: Any) -> None:
        self.changed = True
        if not self._check:
            getattr(self._engine, order)(*arguments)

    def retire(self, part: str, keep: bool | None, stop_timeout: int) -> bool:
        """Take a container down; return whether one of before is there."""
        name, before = self.name(part), _kept.before(self.name(part))
        # What a change left unfinished was never proven, so the one before it stays the one to return to.
        has_before = self.find(before) is not None
        found = self.find(name)
        if found is None:
            return has_before
        kept = has_before or (_serves(found) if keep is None else keep)
        self._do("stop", name, stop_timeout)
        if kept and not has_before:
            self._do("rename", name, before)
        else:
            self._do("remove", name)
        return kept

    def restore(self, brought: Collection[str]) -> list[str]:
        """Bring back what was kept; return the names of what runs again."""
        returned = []
        for part in reversed(_parts.PARTS):
            name, before = self.name(part), _kept.before(self.name(part))
            has_before = self.find(before) is not None
            goes = has_before or part in brought
            if goes and self.find(name) is not None:
                self._do("remove", name)
            if has_before:
                self._do("rename", before, name)
                returned.append(name)
        for name in reversed(returned):
            self._do("start", name)
        return returned

    def drop(self) -> None:
        """Remove what was kept."""
        for part in _parts.PARTS:
            before = _kept.before(self.name(part))
            if self.find(before) is not None:
                self._do("remove", before)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "part": {"type": "str", "choices": list(_parts.PARTS)},
            "state": {
                "type": "str",
                "choices": ["retired", "restored", "dropped"],
                "required": True,
            },
            "keep": {"type": "bool"},
            "brought": {"type": "list", "elements": "str", "default": []},
            "stop_timeout": {"type": "int", "default": 10},
        },
        required_if=[("state", "retired", ["part"])],
        supports_check_mode=True,
    )
    given = module.params
    keeper = Keeper(
        # An engine answers to a stop when the container has stopped.
        _engine.Engine(timeout=given["stop_timeout"] + 60),
        given["cluster"],
        check=module.check_mode,
    )
    kept, restored = False, []
    try:
        if given["state"] == "retired":
            kept = keeper.retire(given["part"], given["keep"], given["stop_timeout"])
        elif given["state"] == "restored":
            restored = keeper.restore(given["brought"])
        else:
            keeper.drop()
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        module.fail_json(msg=f"Docker does not obey: {error}; see whether it runs on this host")
    module.exit_json(changed=keeper.changed, kept=kept, restored=restored)


if __name__ == "__main__":
    main()
