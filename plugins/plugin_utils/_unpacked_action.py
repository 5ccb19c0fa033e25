# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Actions of modules that run on all hosts each time: their sources are sent, and no archive of Ansible's.

The archive costs each host more than 0.1 s of a processor for each module (docs/performance.md).
"""

from __future__ import annotations

import ast
import base64
import json
import zlib
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.errors import UnsupportedError
from ansible.plugins.action import ActionBase

from ansible_collections.samewire.vllm.plugins.module_utils import _unpacked

_HELPERS = _unpacked.__name__.rpartition(".")[0]
_BASIC = "ansible.module_utils.basic"


class Unpacked(ActionBase):  # type: ignore[misc]
    """Has a module of this collection, whose arguments are judged on the controller."""

    module: ModuleType
    """With SPEC, of which it makes its AnsibleModule."""
    sources: str
    """Of the module and of all that it imports of this collection, packed."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Read the sources once for all hosts: Ansible takes the class before it forks."""
        super().__init_subclass__(**more)
        if "module" in vars(cls):
            cls.sources = _base64(zlib.compress(json.dumps(sources(cls.module)).encode()))

    def module_result(
        self, arguments: Mapping[str, Any], task_vars: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Return what the module says to these arguments on the host of the task."""
        spec = {name: of for name, of in self.module.SPEC.items() if name != "supports_check_mode"}
        spec["argument_spec"] = _unexpanded(spec["argument_spec"])
        judged = ArgumentSpecValidator(**spec).validate(arguments)
        if judged.error_messages:
            # Ansible's own sentence is none where an argument is unknown.
            unknown = f"Unsupported parameters for {self._task.action}: "
            strange = isinstance(judged.errors[0], UnsupportedError)
            return {"failed": True, "msg": f"{unknown if strange else ''}{judged.errors.msg}"}
        given = {
            "module": self.module.__name__,
            "sources": self.sources,
            "arguments": _base64(json.dumps(judged.validated_parameters).encode()),
        }
        done = self._execute_module(
            module_name="samewire.vllm.unpacked", module_args=given, task_vars=task_vars
        )
        return dict(done)


class UnpackedAction(Unpacked):
    """Runs its module with the arguments of the task."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the module's result."""
        result = dict(super().run(tmp, task_vars))
        return {**result, **self.module_result(self._task.args, task_vars)}


def sources(module: ModuleType) -> dict[str, str]:
    """Return the sources of a module and of what it imports, by the names under which they are imported."""
    found: dict[str, str] = {}
    unread = [module.__name__]
    while unread:
        name = unread.pop()
        if name not in found:
            found[name], imported = _source(name)
            unread += imported
    return {**found, _BASIC: _source(_unpacked.__name__)[0]}


def _unexpanded(options: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The options, without what would expand paths: their `~` is the host's, not the controller's."""
    found = {}
    for name, of in options.items():
        texts = {key: "str" for key in ("type", "elements") if of.get(key) == "path"}
        found[name] = {**of, **texts}
        if "options" in of:
            found[name]["options"] = _unexpanded(of["options"])
    return found


@cache
def _source(name: str) -> tuple[str, list[str]]:
    """The source of a module, and the names of the helpers that it imports."""
    source = Path(import_module(name).__file__ or "").read_text(encoding="utf-8")
    imported = []
    for each in ast.walk(ast.parse(source)):
        if isinstance(each, ast.ImportFrom):
            # Helpers also name each other without the collection.
            whence = ".".join(filter(None, (_HELPERS if each.level else "", each.module)))
            if whence == _HELPERS:
                imported += [f"{_HELPERS}.{of.name}" for of in each.names]
            elif whence.startswith(f"{_HELPERS}."):
                imported.append(whence)
    return source, imported


def _base64(of: bytes) -> str:
    return base64.b64encode(of).decode()
