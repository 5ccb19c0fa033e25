# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What stands for ansible.module_utils.basic on a host to which a module was sent unpacked.

It has what our modules use of it, no more; the controller has judged the arguments.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

GIVEN: dict[str, Any] = {}
"""`arguments`, with their defaults, and `check_mode`."""

_SBIN = ("/sbin", "/usr/sbin", "/usr/local/sbin")


class AnsibleModule:
    """A module that runs, with the methods of Ansible's class of that name.

    Nothing is hidden in its result: a module that returns what it was given in secret must not be unpacked.
    """

    def __init__(self, argument_spec: Mapping[str, Mapping[str, Any]], **_judged: Any) -> None:
        self.params: dict[str, Any] = GIVEN["arguments"]
        self.check_mode: bool = GIVEN["check_mode"]
        self.no_log_values: set[str] = set()
        _expand(argument_spec, self.params)

    def get_bin_path(self, name: str, opt_dirs: Sequence[str] = ()) -> str | None:
        """Return where a program is, None where it is not."""
        places = [*opt_dirs, *os.environ.get("PATH", "").split(os.pathsep), *_SBIN]
        return shutil.which(name, path=os.pathsep.join(places))

    def run_command(
        self, argv: Sequence[str], data: str | None = None, check_rc: bool = False
    ) -> tuple[int, str, str]:
        """Run a program, and return its exit code and what it said; check_rc: end where it failed."""
        done = subprocess.run(
            argv,
            input=data,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
        if check_rc and done.returncode:
            self.fail_json(f"{' '.join(argv)}: {done.stderr.strip()}", rc=done.returncode)
        return done.returncode, done.stdout, done.stderr

    def atomic_move(self, source: str, target: str) -> None:
        """Put a file in the place of another one of the same folder."""
        os.replace(source, target)

    def exit_json(self, **result: Any) -> NoReturn:
        """Tell the result, and end."""
        sys.stdout.write(json.dumps(result))
        raise SystemExit(0)

    def fail_json(self, msg: str, **result: Any) -> NoReturn:
        """Tell why it failed, and end."""
        sys.stdout.write(json.dumps({**result, "failed": True, "msg": msg}))
        raise SystemExit(1)


def _expand(options: Mapping[str, Mapping[str, Any]], given: dict[str, Any]) -> None:
    """Put the home of this host, and its variables, into the paths of arguments."""
    for name, of in options.items():
        value = given.get(name)
        if value is None:
            continue
        several = value if isinstance(value, list) else [value]
        if "path" in (of.get("type"), of.get("elements")):
            paths = [os.path.expanduser(os.path.expandvars(each)) for each in several]
            given[name] = paths if isinstance(value, list) else paths[0]
        for each in several if "options" in of else ():
            _expand(of["options"], each)
