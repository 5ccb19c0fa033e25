# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Judge the desired state of an inventory by itself, before any host is touched."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from . import _forms

# At this similarity difflib finds one wrong, missing or extra word part, and no honest name of others.
_SIMILAR = 0.85


def shape_problems(heads: Sequence[str], workers: Sequence[str]) -> list[str]:
    """Return what is wrong with the roles of the hosts, a sentence each."""
    if not heads and not workers:
        return [
            "the inventory names no host: expected one host in group ray_head and the others in "
            "ray_workers, got none; add them to hosts.yml (and name the inventory with -i)"
        ]
    if not heads:
        return [
            f"group ray_head is empty: expected one host, got none; move one of "
            f"{', '.join(sorted(workers))} from ray_workers to ray_head"
        ]
    if len(heads) > 1:
        return [
            f"group ray_head has {len(heads)} hosts ({', '.join(heads)}): expected one; keep "
            f"{heads[0]} and move {', '.join(heads[1:])} to ray_workers"
        ]
    both = sorted(set(heads) & set(workers))
    if both:
        return [
            f"{both[0]}: is in ray_head and in ray_workers, expected one of them; remove it from "
            "ray_workers (the head's GPUs count without that)"
        ]
    return []


def unknown_variables(
    host: str, names: Iterable[str], known: Iterable[str], prefixes: Iterable[str]
) -> list[str]:
    """Return a sentence for each variable of a host that looks like one of ours and is none.

    names: variables of the host; known: all variables of the roles; prefixes: those of the roles'
    variables, as `ray_head_`. A name of another prefix is reported only when it nearly equals one
    of ours.
    """
    known = sorted(known)
    prefixes = tuple(prefixes)
    problems = []
    for name in sorted(set(names) - set(known)):
        ours = name.startswith(prefixes)
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.6 if ours else _SIMILAR)
        if close:
            problems.append(
                f"{host}: variable {name} is not known; did you mean {close[0]}? "
                "Correct the name in the inventory"
            )
        elif ours:
            problems.append(
                f"{host}: variable {name} is not known to any role; remove it from the inventory "
                "(ansible-doc -t role -l samewire.vllm lists what there is)"
            )
    return problems


def missing_variable(host: str, name: str, description: str) -> str:
    """Return the sentence for a variable that must be set and is not."""
    return (
        f"{host}: variable {name} is not set, expected: {description}; "
        "set it in the inventory's group_vars"
    )


def wrong_type(host: str, name: str, value: object, expected: str) -> str:
    """Return the sentence for a value of the wrong type or outside the choices."""
    return (
        f"{host}: variable {name} is {_forms.shown(value)}, expected {expected}; "
        "correct it in the inventory"
    )
