# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Runs in a container of the image, on the Python of its Ray: which versions does it hold?"""

from __future__ import annotations

import importlib.metadata
import json
import platform

found = {"python": platform.python_version()}
for name in ("ray", "vllm"):
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found[name] = None
print("samewire:versions " + json.dumps(found))
