# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the exit status of samewire says."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit status of every samewire command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    UNREACHABLE = 4
    INTERRUPTED = 130


MEANING = {
    ExitCode.DONE: "done",
    ExitCode.FAILED: "failed on the way",
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.REFUSED: "refused before anything was changed",
    ExitCode.UNREACHABLE: "a host is unreachable",
    ExitCode.INTERRUPTED: "interrupted",
}
HELP = "Exit status: " + "; ".join(f"{code:d} {text}" for code, text in MEANING.items()) + "."
