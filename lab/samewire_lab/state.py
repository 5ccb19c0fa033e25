# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Where the lab keeps its files; the lab's inventory refers to this place."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from samewire_lab.errors import LabError


@dataclass(frozen=True)
class State:
    """Paths below one directory, `~/.samewire/lab` unless a test says otherwise."""

    root: Path = Path.home() / ".samewire" / "lab"

    @property
    def key(self) -> Path:
        """Private SSH key for all users of all hosts."""
        return self.root / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        """Host keys, taken from the hosts through their containers."""
        return self.root / "known_hosts"

    @property
    def engine(self) -> Path:
        """How this lab started the machine's Docker Engine; absent when it did not."""
        return self.root / "engine.json"

    @property
    def logs(self) -> Path:
        """Logs of what the lab runs."""
        return self.root / "logs"

    @property
    def cache(self) -> Path:
        """What was downloaded: Python packages and the tool that installs them."""
        return self.root / "cache"

    @property
    def models(self) -> Path:
        """Models by content key."""
        return self.root / "models"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lab for one command; LabError when another command holds it."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LabError("Another lab command is running; wait until it has ended.") from None
            yield
