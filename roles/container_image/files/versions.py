# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Runs in a container of the image, on the Python of its vLLM: which versions does it hold?

versions.py [ARCHITECTURE OF THE MODEL]...    whether it knows any of them, too
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import json
import pathlib
import platform
import sys
from collections.abc import Iterator


def version(name: str) -> str | None:
    """Return the version of a distribution."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def text(package: str, path: str) -> str:
    """Return a file of a package, which is not imported: that would take seconds; empty without it."""
    spec = importlib.util.find_spec(package)
    try:
        return (
            pathlib.Path(spec.origin if spec and spec.origin else "")
            .parent.joinpath(path)
            .read_text()
        )
    except OSError:
        return ""


def registered(source: str) -> Iterator[str]:
    """Yield the architectures of vLLM's registry: the keys of its tables of models that it serves."""
    for node in ast.parse(source).body:
        targets = [each.id for each in getattr(node, "targets", ()) if isinstance(each, ast.Name)]
        if (
            targets
            and isinstance(node.value, ast.Dict)
            and not targets[0].startswith(("_PREV", "_OOT"))
        ):
            yield from (key.value for key in node.value.keys if isinstance(key, ast.Constant))


def knows(architectures: list[str]) -> bool:
    """Tell whether vLLM, Transformers or a plugin may serve a model; yes where nobody can tell."""
    registry = text("vllm", "model_executor/models/registry.py")
    plugins = importlib.metadata.entry_points(group="vllm.general_plugins")
    # vLLM brings some of its own, which register no models.
    if not registry or any(not each.value.startswith("vllm.") for each in plugins):
        return True
    fallback = text("transformers", "models/auto/modeling_auto.py")
    known = set(registered(registry))
    return any(each in known or f'"{each}"' in fallback for each in architectures)


found = {
    "python": platform.python_version(),
    "ray": version("ray"),
    "vllm": version("vllm"),
    "transformers": version("transformers"),
    "knows_model": knows(sys.argv[1:]) if sys.argv[1:] else True,
}
print("samewire:versions " + json.dumps(found))
