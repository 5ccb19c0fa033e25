# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How a module runs the programs of its host for the files that know no Ansible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def runner(module: Any) -> Callable[..., tuple[int, str, str]]:
    """Return what takes an argument list, and maybe standard input, and returns exit code, stdout and stderr.

    module: the AnsibleModule. A program that is not there ends with 127, as in a shell.
    """

    def run(argv: Sequence[str], given: str | None = None) -> tuple[int, str, str]:
        program = module.get_bin_path(argv[0], opt_dirs=["/sbin", "/usr/sbin"])
        if program is None:
            return 127, "", f"{argv[0]} is not installed"
        code, out, err = module.run_command([program, *argv[1:]], data=given)
        return code, out, err

    return run
