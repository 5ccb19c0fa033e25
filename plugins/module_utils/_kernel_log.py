# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernel's log says of containers: whom it killed for want of memory.

Source of the records: https://docs.kernel.org/admin-guide/abi-testing-files.html (dev-kmsg), mm/oom_kill.c.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

_KILL = re.compile(r"\boom-kill:.*\btask_memcg=(?P<group>[^,\s]+).*\bpid=(?P<pid>\d+)")
_KILLED = re.compile(r"\bKilled process (?P<pid>\d+)\b")


def kills(records: Iterable[str], containers: Collection[str], since: float = 0) -> list[str]:
    """Return the lines of kills for want of memory within containers, as dmesg prints them.

    records: as read from /dev/kmsg; containers: their full ids; since: seconds after the start of the kernel.
    """
    kept = []
    killed: set[str] = set()
    for moment, text in _lines(records):
        if moment < since:
            continue
        kill = _KILL.search(text)
        if kill and any(each in kill["group"] for each in containers):
            killed.add(kill["pid"])
            kept.append(f"[{moment:.6f}] {text}")
        elif (done := _KILLED.search(text)) and done["pid"] in killed:
            kept.append(f"[{moment:.6f}] {text}")
    return kept


def _lines(records: Iterable[str]) -> Iterator[tuple[float, str]]:
    """Yield seconds and text of each record: `level,number,microseconds,flags;text`."""
    for record in records:
        head, mark, rest = record.partition(";")
        fields = head.split(",")
        if mark and len(fields) > 2 and fields[2].isdigit():
            yield int(fields[2]) / 1e6, rest.partition("\n")[0]
