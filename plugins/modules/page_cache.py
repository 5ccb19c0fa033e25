#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: drop the page cache of a host, whose GPU shares the memory."""

from __future__ import annotations

DOCUMENTATION = r"""
module: page_cache
short_description: Drop the page cache of a host
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Where CPU and GPU share one memory CUDA does not count what the page cache holds as free.
  - Nothing is lost; files are read from disk again. So this never counts as a change.
  - Without the right to do it nothing is done, which is no failure.
attributes:
  check_mode:
    description: Drops nothing in check mode.
    support: full
options: {}
"""

EXAMPLES = r"""
- name: Drop the page cache
  samewire.vllm.page_cache:
  become: true
"""

RETURN = r"""
freed:
  description: Bytes that became free.
  returned: always
  type: int
reason:
  description: Why nothing was dropped, empty where it was.
  returned: always
  type: str
"""

import os
import re

from ansible.module_utils.basic import AnsibleModule

_SWITCH = "/proc/sys/vm/drop_caches"


def _free() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        found = re.search(r"^MemFree:\s+(\d+) kB", file.read(), re.MULTILINE)
    return int(found[1]) << 10 if found else 0


def drop(switch: str = _SWITCH) -> dict[str, object]:
    """Drop what is clean, after writing what is not; source: proc_sys_vm(5)."""
    before = _free()
    os.sync()
    try:
        with open(switch, "w", encoding="ascii") as file:
            file.write("3")
    except OSError as error:
        return {"freed": 0, "reason": error.strerror}
    return {"freed": max(_free() - before, 0), "reason": ""}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    module.exit_json(changed=False, **({"freed": 0, "reason": ""} if module.check_mode else drop()))


if __name__ == "__main__":
    main()
